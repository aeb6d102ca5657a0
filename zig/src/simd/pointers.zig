//! Pointers moved by a signed number of elements: strides may be negative.

pub inline fn offset(comptime T: type, ptr: [*]T, elements: isize) [*]T {
    return ptr + @as(usize, @bitCast(elements));
}

pub inline fn offsetConst(comptime T: type, ptr: [*]const T, elements: isize) [*]const T {
    return ptr + @as(usize, @bitCast(elements));
}
