//! Basic indexing: integers, slices, new axes and an ellipsis pick a view.

use amdgpu_abi::ErrorCode;

use crate::{Array, Dims, Error, Result};

/// What stands between the brackets for one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One element of the axis, which goes; negative ones count from the end.
    At(i64),
    /// Every `step`th element of [start, stop), by Python's rules; `None` is the end that the step comes from or goes to.
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    },
    /// A new axis of extent 1.
    NewAxis,
    /// As many whole axes as are left over.
    Ellipsis,
}

impl Index {
    /// The whole axis.
    pub const ALL: Self = Self::Slice {
        start: None,
        stop: None,
        step: 1,
    };

    /// Whether it stands for an axis of the array.
    #[must_use]
    pub fn takes_axis(self) -> bool {
        matches!(self, Self::At(_) | Self::Slice { .. })
    }
}

/// A view by its shape, its strides and the distance of its index 0 from that of what it was taken from, all in elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    pub offset: i64,
    pub shape: Dims,
    pub strides: Dims,
}

impl Picked {
    fn push(&mut self, extent: i64, stride: i64) {
        self.shape.push(extent);
        self.strides.push(stride);
    }
}

/// The view that indices pick of an array with this shape and these strides. Axes that no index stands for are whole.
///
/// # Errors
///
/// `index-out-of-range` for too many indices or one beyond its axis; `invalid-argument` for two ellipses or a step of 0.
pub fn pick(shape: &[i64], strides: &[i64], indices: &[Index]) -> Result<Picked> {
    let used = indices.iter().filter(|index| index.takes_axis()).count();
    if used > shape.len() {
        return Err(Error::refused(
            ErrorCode::IndexOutOfRange,
            format!(
                "too many indices: the array has {} axes, and {used} were indexed",
                shape.len()
            ),
        ));
    }
    let ellipses = indices.iter().filter(|index| **index == Index::Ellipsis);
    if ellipses.count() > 1 {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            "an index has one ellipsis (...) at most",
        ));
    }
    let left_over = shape.len() - used;
    let mut picked = Picked::default();
    let mut axis = 0;
    for index in indices {
        match *index {
            Index::NewAxis => picked.push(1, 0),
            Index::Ellipsis => {
                for _ in 0..left_over {
                    picked.push(shape[axis], strides[axis]);
                    axis += 1;
                }
            }
            Index::At(place) => {
                picked.offset += resolve(place, axis, shape[axis])? * strides[axis];
                axis += 1;
            }
            Index::Slice { start, stop, step } => {
                let (first, count) = span(shape[axis], start, stop, step)?;
                // An empty view points nowhere, so that it stays within the memory.
                picked.offset += if count == 0 { 0 } else { first * strides[axis] };
                picked.push(count, strides[axis].saturating_mul(step));
                axis += 1;
            }
        }
    }
    for axis in axis..shape.len() {
        picked.push(shape[axis], strides[axis]);
    }
    Ok(picked)
}

/// An index into an axis counted from its beginning.
///
/// # Errors
///
/// `index-out-of-range`.
pub fn resolve(place: i64, axis: usize, extent: i64) -> Result<i64> {
    let from_start = if place < 0 {
        place.saturating_add(extent)
    } else {
        place
    };
    if (0..extent).contains(&from_start) {
        return Ok(from_start);
    }
    Err(Error::refused(
        ErrorCode::IndexOutOfRange,
        format!("index {place} is out of bounds for axis {axis} with size {extent}"),
    ))
}

/// First element and number of elements of a slice of an axis, as `slice.indices` of Python counts them.
fn span(extent: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<(i64, i64)> {
    if step == 0 {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            "the step of a slice cannot be zero",
        ));
    }
    let (low, high) = if step > 0 {
        (0, extent)
    } else {
        (-1, extent - 1)
    };
    let clamp = |place: i64| {
        let from_start = if place < 0 {
            place.saturating_add(extent)
        } else {
            place
        };
        from_start.clamp(low, high)
    };
    let (from, to) = if step > 0 { (low, high) } else { (high, low) };
    let first = start.map_or(from, clamp);
    let behind = end.map_or(to, clamp);
    let distance = if step > 0 {
        behind - first
    } else {
        first - behind
    };
    let count = if distance <= 0 {
        0
    } else {
        (distance - 1) / step.saturating_abs() + 1
    };
    Ok((first, count))
}

impl Array {
    /// The view that indices pick.
    ///
    /// # Errors
    ///
    /// As [`pick`].
    pub fn pick(&self, indices: &[Index]) -> Result<Self> {
        let picked = pick(&self.shape, &self.strides, indices)?;
        Ok(self.view_at(picked.offset, picked.shape, picked.strides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_major;
    use amdgpu_abi::Coded as _;

    fn slice(start: Option<i64>, end: Option<i64>, step: i64) -> Index {
        Index::Slice {
            start,
            stop: end,
            step,
        }
    }

    fn picked(shape: &[i64], indices: &[Index]) -> Picked {
        pick(shape, &row_major(shape), indices).unwrap()
    }

    #[test]
    fn indices_pick_views() {
        let view = picked(
            &[4, 5, 6],
            &[
                Index::At(-1),
                Index::NewAxis,
                slice(Some(1), None, 2),
                Index::ALL,
            ],
        );
        assert_eq!(view.offset, 3 * 30 + 6);
        assert_eq!(view.shape.as_slice(), [1, 2, 6]);
        assert_eq!(view.strides.as_slice(), [0, 12, 1]);
        let view = picked(&[4, 5, 6], &[Index::Ellipsis, Index::At(2)]);
        assert_eq!((view.offset, view.shape.as_slice()), (2, &[4, 5][..]));
        let view = picked(&[4], &[slice(None, None, -1)]);
        assert_eq!((view.offset, view.strides.as_slice()), (3, &[-1][..]));
        let all = picked(&[4, 5], &[]);
        assert_eq!((all.offset, all.shape.as_slice()), (0, &[4, 5][..]));
    }

    #[test]
    fn slices_are_those_of_python() {
        // Every slice of small axes, counted one by one.
        let bounds = || {
            (-5..=5)
                .map(Some)
                .chain([None, Some(i64::MIN), Some(i64::MAX)])
        };
        for extent in 0..4_i64 {
            for (start, stop) in bounds().flat_map(|start| bounds().map(move |stop| (start, stop)))
            {
                for step in [-4, -3, -2, -1, 1, 2, 3, 4] {
                    let (first, count) = span(extent, start, stop, step).unwrap();
                    let visited: Vec<i64> = (0..count).map(|turn| first + turn * step).collect();
                    assert_eq!(
                        visited,
                        by_hand(extent, start, stop, step),
                        "{extent} {start:?} {stop:?} {step}"
                    );
                }
            }
        }
        assert_eq!(span(3, None, None, i64::MIN).unwrap().1, 1);
    }

    /// What Python's reference says: x[i] with i = start + n * step, for as long as stop is not reached.
    fn by_hand(extent: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Vec<i64> {
        let from_start =
            |place: i64| i128::from(place) + if place < 0 { i128::from(extent) } else { 0 };
        let forwards = step > 0;
        let start = start.map_or(if forwards { 0 } else { i128::from(extent) - 1 }, |start| {
            let (low, high) = if forwards {
                (0, i128::from(extent))
            } else {
                (-1, i128::from(extent) - 1)
            };
            from_start(start).clamp(low, high)
        });
        let behind = end.map_or(if forwards { i128::from(extent) } else { -1 }, |end| {
            from_start(end).max(-1).min(i128::from(extent))
        });
        let mut visited = Vec::new();
        let mut at = start;
        while (forwards && at < behind) || (!forwards && at > behind) {
            visited.push(at as i64);
            at += i128::from(step);
        }
        visited
    }

    #[test]
    fn what_no_axis_has_is_refused() {
        let refuse = |shape: &[i64], indices: &[Index]| {
            let error = pick(shape, &row_major(shape), indices).unwrap_err();
            (error.code(), error.to_string())
        };
        let out_of_range = ErrorCode::IndexOutOfRange;
        assert_eq!(
            refuse(&[2, 3], &[Index::ALL, Index::At(3)]),
            (
                out_of_range,
                "index 3 is out of bounds for axis 1 with size 3".to_owned()
            )
        );
        assert_eq!(refuse(&[2], &[Index::At(-3)]).0, out_of_range);
        assert_eq!(refuse(&[2], &[Index::At(i64::MIN)]).0, out_of_range);
        assert_eq!(refuse(&[2], &[Index::At(0), Index::ALL]).0, out_of_range);
        assert_eq!(refuse(&[], &[Index::At(0)]).0, out_of_range);
        let invalid = ErrorCode::InvalidArgument;
        assert_eq!(refuse(&[2], &[Index::Ellipsis, Index::Ellipsis]).0, invalid);
        assert_eq!(refuse(&[2], &[slice(None, None, 0)]).0, invalid);
    }
}
