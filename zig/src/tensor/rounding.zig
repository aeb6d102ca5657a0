//! Division and rounding of sizes.

pub fn divideUp(value: usize, by: usize) usize {
    return (value + by - 1) / by;
}

pub fn roundUp(value: usize, multiple: usize) usize {
    return divideUp(value, multiple) * multiple;
}
