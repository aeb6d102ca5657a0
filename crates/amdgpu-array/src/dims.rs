//! Shapes and strides: row-major order, broadcasting, fewer axes for the same elements.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// Extents or strides of an array; arrays of up to six axes need no memory of the heap for them.
///
/// A type of its own, because `SmallVec` copies and collects one element at a time, with a check of its capacity for each: a call on small
/// arrays makes a dozen of these, which took longer than its kernel's arguments.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Dims(SmallVec<[i64; INLINE]>);

/// Axes that need no memory of the heap.
const INLINE: usize = 6;

impl Dims {
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self(SmallVec::new_const())
    }

    #[must_use]
    #[inline]
    pub fn from_slice(values: &[i64]) -> Self {
        if values.len() > INLINE {
            return Self(SmallVec::from_slice(values));
        }
        // One by one: to call a function that copies bytes takes longer than to copy the few that there are.
        let mut inline = [0; INLINE];
        for (index, place) in inline.iter_mut().enumerate() {
            if let Some(value) = values.get(index) {
                *place = *value;
            }
        }
        Self(SmallVec::from_buf_and_len(inline, values.len()))
    }

    #[must_use]
    pub fn from_vec(values: Vec<i64>) -> Self {
        Self(SmallVec::from_vec(values))
    }

    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        &self.0
    }

    #[inline]
    pub fn push(&mut self, value: i64) {
        self.0.push(value);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<i64> {
        self.0.pop()
    }

    /// Puts a value before the one at `index`.
    ///
    /// # Panics
    ///
    /// The index is beyond the end.
    pub fn insert(&mut self, index: usize, value: i64) {
        self.0.insert(index, value);
    }

    /// Takes the value at `index` out.
    ///
    /// # Panics
    ///
    /// There is none.
    pub fn remove(&mut self, index: usize) -> i64 {
        self.0.remove(index)
    }

    /// Keeps the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    pub fn extend_from_slice(&mut self, values: &[i64]) {
        self.0.extend_from_slice(values);
    }

    /// As many equal values.
    #[must_use]
    #[inline]
    pub fn from_elem(value: i64, count: usize) -> Self {
        Self(SmallVec::from_elem(value, count))
    }
}

impl Clone for Dims {
    #[inline]
    fn clone(&self) -> Self {
        Self::from_slice(&self.0)
    }
}

impl From<&[i64]> for Dims {
    #[inline]
    fn from(values: &[i64]) -> Self {
        Self::from_slice(values)
    }
}

impl Deref for Dims {
    type Target = [i64];

    #[inline]
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl DerefMut for Dims {
    #[inline]
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut self.0
    }
}

impl Extend<i64> for Dims {
    #[inline]
    fn extend<I: IntoIterator<Item = i64>>(&mut self, values: I) {
        for value in values {
            self.0.push(value);
        }
    }
}

impl FromIterator<i64> for Dims {
    #[inline]
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut made = Self::new();
        made.extend(values);
        made
    }
}

impl<'a> IntoIterator for &'a mut Dims {
    type Item = &'a mut i64;
    type IntoIter = std::slice::IterMut<'a, i64>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<'a> IntoIterator for &'a Dims {
    type Item = &'a i64;
    type IntoIter = std::slice::Iter<'a, i64>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Strides, in elements, of the row-major order without gaps. Empty axes count as one element, so that no stride is zero.
#[must_use]
#[inline]
pub fn row_major(shape: &[i64]) -> Dims {
    let mut strides = Dims::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
    }
    strides
}

/// Whether strides are those of [`row_major`].
#[must_use]
#[inline]
pub fn is_row_major(shape: &[i64], strides: &[i64]) -> bool {
    let mut dense = 1_i64;
    shape.iter().zip(strides).rev().all(|(extent, stride)| {
        let is_dense = *stride == dense;
        dense = dense.saturating_mul((*extent).max(1));
        is_dense
    })
}

/// Whether elements follow each other in row-major order. Axes of extent 1 do not matter; empty arrays are contiguous.
#[must_use]
#[inline]
pub fn is_contiguous(shape: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1_i64;
    let mut is_dense = true;
    for (extent, stride) in shape.iter().zip(strides).rev() {
        if *extent == 0 {
            return true;
        }
        is_dense &= *extent == 1 || *stride == expected;
        expected = expected.saturating_mul(*extent);
    }
    is_dense
}

/// Number of elements; `i64::MAX` where it is beyond 64 bits.
#[must_use]
pub fn element_count(shape: &[i64]) -> i64 {
    if shape.contains(&0) {
        return 0;
    }
    shape
        .iter()
        .fold(1_i64, |count, extent| count.saturating_mul(*extent))
}

/// The shape that all of these broadcast to, by NumPy's rules; `None` where there is none.
#[must_use]
pub fn broadcast_shapes<'a>(shapes: impl Iterator<Item = &'a [i64]> + Clone) -> Option<Dims> {
    let rank = shapes.clone().map(<[i64]>::len).max().unwrap_or(0);
    let mut result = Dims::from_elem(1, rank);
    for shape in shapes {
        let missing = rank - shape.len();
        for (axis, extent) in shape.iter().enumerate() {
            let known = &mut result[missing + axis];
            if *extent != 1 {
                if *known != 1 && *known != *extent {
                    return None;
                }
                *known = *extent;
            }
        }
    }
    Some(result)
}

/// The first byte of the elements relative to index 0 and the one behind their last; `None` where there are no elements, or where the
/// range is beyond 64 bits.
#[must_use]
pub fn byte_range(shape: &[i64], strides: &[i64], item_bytes: usize) -> Option<(i64, i64)> {
    let (mut low, mut high) = (0_i64, 1_i64);
    for (extent, stride) in shape.iter().zip(strides) {
        if *extent < 1 {
            return None;
        }
        let step = (extent - 1).checked_mul(*stride)?;
        low = low.checked_add(step.min(0))?;
        high = high.checked_add(step.max(0))?;
    }
    let bytes = item_bytes as i64;
    Some((low.checked_mul(bytes)?, high.checked_mul(bytes)?))
}

/// The same elements in the same order with as few axes as there can be: extents, at least one, and the strides of each array.
#[must_use]
pub fn coalesce<const N: usize>(shape: &[i64], strides: [&[i64]; N]) -> (Dims, [Dims; N]) {
    let mut merged = std::array::from_fn(|_| Dims::new());
    let extents = join_axes(shape, &strides, &mut merged);
    (extents, merged)
}

/// [`coalesce`] of any number of arrays.
#[must_use]
pub fn coalesce_all(shape: &[i64], strides: &[&[i64]]) -> (Dims, Vec<Dims>) {
    let mut merged = vec![Dims::new(); strides.len()];
    let extents = join_axes(shape, strides, &mut merged);
    (extents, merged)
}

/// Puts strides into `merged`, which are empty, and returns the extents.
fn join_axes(shape: &[i64], strides: &[&[i64]], merged: &mut [Dims]) -> Dims {
    let mut extents = Dims::new();
    for (axis, extent) in shape.iter().enumerate() {
        if *extent == 1 {
            continue;
        }
        let mut arrays = merged.iter().zip(strides);
        let joins = !extents.is_empty()
            && arrays.all(|(kept, own)| kept.last() == Some(&own[axis].wrapping_mul(*extent)));
        if let (true, Some(last)) = (joins, extents.last_mut()) {
            *last *= extent;
            for (kept, own) in merged.iter_mut().zip(strides) {
                kept.pop();
                kept.push(own[axis]);
            }
        } else {
            extents.push(*extent);
            for (kept, own) in merged.iter_mut().zip(strides) {
                kept.push(own[axis]);
            }
        }
    }
    if extents.is_empty() {
        extents.push(1);
        for kept in merged {
            kept.push(0);
        }
    }
    extents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broadcast(shapes: &[&[i64]]) -> Option<Vec<i64>> {
        broadcast_shapes(shapes.iter().copied()).map(|shape| shape.to_vec())
    }

    #[test]
    fn row_major_strides_and_contiguity_agree() {
        for shape in [&[][..], &[3], &[2, 3, 4], &[1, 5, 1], &[0, 7]] {
            assert!(is_contiguous(shape, &row_major(shape)), "{shape:?}");
            assert!(is_row_major(shape, &row_major(shape)), "{shape:?}");
        }
        assert_eq!(row_major(&[2, 3, 4]).as_slice(), [12, 4, 1]);
        assert_eq!(row_major(&[2, 0, 4]).as_slice(), [4, 4, 1]);
        assert!(is_contiguous(&[1, 3], &[99, 1]));
        assert!(!is_row_major(&[1, 3], &[99, 1]));
        assert!(!is_contiguous(&[2, 3], &[4, 1]));
        assert!(is_contiguous(&[2, 0], &[4, 9]));
    }

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        assert_eq!(broadcast(&[&[2, 1], &[3]]), Some(vec![2, 3]));
        assert_eq!(broadcast(&[&[], &[4, 1, 5]]), Some(vec![4, 1, 5]));
        assert_eq!(broadcast(&[&[0, 1], &[1, 3]]), Some(vec![0, 3]));
        assert_eq!(broadcast(&[&[2], &[3]]), None);
        assert_eq!(broadcast(&[&[0], &[3]]), None);
    }

    #[test]
    fn axes_without_gaps_join_and_others_stay() {
        let (extents, strides) = coalesce(&[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]]);
        assert_eq!(
            (extents.as_slice(), strides[1].as_slice()),
            (&[24][..], &[1][..])
        );
        let (extents, strides) = coalesce(&[2, 1, 4], [&[4, 4, 1], &[1, 0, 2]]);
        assert_eq!(extents.as_slice(), [2, 4]);
        assert_eq!(strides[1].as_slice(), [1, 2]);
        let (extents, strides) = coalesce(&[1, 1], [&[5, 5]]);
        assert_eq!(
            (extents.as_slice(), strides[0].as_slice()),
            (&[1][..], &[0][..])
        );
    }

    #[test]
    fn byte_ranges_follow_negative_strides() {
        assert_eq!(byte_range(&[3], &[-1], 4), Some((-8, 4)));
        assert_eq!(byte_range(&[2, 3], &[3, 1], 2), Some((0, 12)));
        assert_eq!(byte_range(&[0, 3], &[3, 1], 2), None);
        assert_eq!(byte_range(&[i64::MAX], &[i64::MAX], 8), None);
    }
}
