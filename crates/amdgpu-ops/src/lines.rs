//! Operations along an axis of a dense array see it as (outer, length, stride): lines of `length` elements, `stride` apart.

/// How the elements of an array are cut into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    pub count: i64,
    /// Elements of a line.
    pub length: i64,
    /// Distance between consecutive elements of a line, in elements.
    pub stride: i64,
}

impl Lines {
    /// The lines along all axes from `first` to `last`.
    #[must_use]
    pub fn of(shape: &[i64], first: usize, last: usize) -> Self {
        let product = |extents: &[i64]| extents.iter().product::<i64>();
        let stride = product(&shape[last + 1..]);
        Self {
            count: product(&shape[..first]) * stride,
            length: product(&shape[first..=last]),
            stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_run_along_the_named_axes() {
        let lines = |first, last| {
            let Lines {
                count,
                length,
                stride,
            } = Lines::of(&[3, 4, 5], first, last);
            (count, length, stride)
        };
        assert_eq!(lines(1, 1), (15, 4, 5));
        assert_eq!(lines(2, 2), (12, 5, 1));
        assert_eq!(lines(1, 2), (3, 20, 1));
        assert_eq!(lines(0, 0), (20, 3, 20));
    }
}
