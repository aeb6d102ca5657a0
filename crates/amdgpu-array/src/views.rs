//! Views with other axes: the same memory, no element moved.

use amdgpu_abi::promotion::complex_part;
use amdgpu_abi::{Dtype, ErrorCode};

use crate::{Array, Dims, Error, Result, row_major};

/// An axis counted from the first; `rank` is the number of axes.
///
/// # Errors
///
/// `index-out-of-range` for an axis that does not exist.
pub fn resolve_axis(axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&from_start) {
        return Ok(from_start as usize);
    }
    Err(Error::refused(
        ErrorCode::IndexOutOfRange,
        format!("axis {axis} is out of bounds for an array with {rank} axes"),
    ))
}

/// Axes counted from the first, each named once.
///
/// # Errors
///
/// As [`resolve_axis`]; `invalid-argument` for an axis that is named twice.
pub fn resolve_axes(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut resolved = Vec::with_capacity(axes.len());
    for axis in axes {
        let known = resolve_axis(*axis, rank)?;
        if resolved.contains(&known) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("axes {axes:?} name axis {known} twice"),
            ));
        }
        resolved.push(known);
    }
    Ok(resolved)
}

/// Strides of the same elements in the same order under another shape of as many elements; `None` where memory would have to move.
fn restride(shape: &[i64], strides: &[i64], wanted: &[i64]) -> Option<Dims> {
    let mut result = Dims::from_elem(0, wanted.len());
    let axes: Vec<_> = (0..shape.len()).filter(|axis| shape[*axis] != 1).collect();
    // Groups of axes of both with the same number of elements are matched from the front.
    let (mut old, mut new) = (0, 0);
    while old < axes.len() && new < wanted.len() {
        let (first_old, first_new) = (old, new);
        let (mut old_count, mut new_count) = (shape[axes[old]], wanted[new]);
        while old_count != new_count {
            if old_count < new_count {
                old += 1;
                old_count *= shape[*axes.get(old)?];
            } else {
                new += 1;
                new_count *= wanted.get(new)?;
            }
        }
        for pair in axes[first_old..=old].windows(2) {
            if strides[pair[0]] != strides[pair[1]] * shape[pair[1]] {
                return None;
            }
        }
        let mut stride = strides[axes[old]];
        for axis in (first_new..=new).rev() {
            result[axis] = stride;
            stride *= wanted[axis];
        }
        old += 1;
        new += 1;
    }
    // What is left has extent 1.
    for axis in (new..wanted.len()).rev() {
        result[axis] = 1;
    }
    Some(result)
}

impl Array {
    /// Complex numbers as their parts, with one more axis, of two elements, behind the others; real numbers as they are.
    #[must_use]
    pub fn pairs(&self) -> Self {
        let part = complex_part(self.dtype);
        if part == self.dtype {
            return self.clone();
        }
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        for stride in &mut strides {
            *stride *= 2;
        }
        shape.push(2);
        strides.push(1);
        let mut view = self.view(shape, strides);
        view.dtype = part;
        view
    }

    /// The real parts of complex numbers, or the imaginary ones, in the same memory; real numbers as they are.
    #[must_use]
    pub fn complex_part(&self, is_imaginary: bool) -> Self {
        let pairs = self.pairs();
        if pairs.dtype == self.dtype {
            return pairs;
        }
        let rank = self.shape.len();
        let (mut shape, mut strides) = (pairs.shape.clone(), pairs.strides.clone());
        shape.truncate(rank);
        strides.truncate(rank);
        pairs.view_at(i64::from(is_imaginary), shape, strides)
    }

    /// The view under another shape, one extent of which may be -1; `None` where elements would have to move.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where the number of elements differs.
    pub fn reshaped_view(&self, shape: &[i64]) -> Result<Option<Self>> {
        let shape = self.resolved_shape(shape)?;
        let strides = if self.is_contiguous() {
            Some(row_major(&shape))
        } else {
            restride(&self.shape, &self.strides, &shape)
        };
        Ok(strides.map(|strides| self.view(shape, strides)))
    }

    /// The same memory as elements of another dtype. Where those have another size, the last axis is cut or joined, which has no gaps then.
    ///
    /// # Errors
    ///
    /// `invalid-argument` where the elements of the last axis do not make whole ones of the dtype, `not-contiguous` where it has gaps, or
    /// where elements of the dtype would not begin at multiples of their size.
    pub fn viewed_as(&self, dtype: Dtype) -> Result<Self> {
        let (own, wanted) = (self.dtype.size_bytes() as i64, dtype.size_bytes() as i64);
        if own == wanted {
            return Ok(self.view_in(dtype, self.shape.clone(), self.strides.clone()));
        }
        let Some((&extent, outer)) = self.shape.split_last() else {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                "an array without axes has no view in a dtype of another size",
            ));
        };
        if extent * own % wanted != 0 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "the last axis has {extent} elements of {own} bytes, which are no whole number of {wanted} bytes"
                ),
            ));
        }
        let is_whole = |stride: &i64| stride * own % wanted == 0;
        let strides = &self.strides[..outer.len()];
        let begins_well = self.address().address().is_multiple_of(wanted as u64);
        let has_gaps = extent > 1 && self.strides[outer.len()] != 1;
        if has_gaps || !strides.iter().all(is_whole) || !begins_well {
            return Err(Error::refused(
                ErrorCode::NotContiguous,
                "a view in a dtype of another size needs elements without gaps along the last axis, which begin at a multiple of that size; view a copy",
            ));
        }
        let shape = outer.iter().copied().chain([extent * own / wanted]);
        let strides = strides
            .iter()
            .map(|stride| stride * own / wanted)
            .chain([1]);
        Ok(self.view_in(dtype, shape.collect(), strides.collect()))
    }

    /// Axes in another order: axis k of the view is `axes[k]` of this array.
    ///
    /// # Errors
    ///
    /// `invalid-argument` unless every axis is named once, `index-out-of-range` for one that does not exist.
    pub fn permuted(&self, axes: &[i64]) -> Result<Self> {
        let order = resolve_axes(axes, self.shape.len())?;
        if order.len() != self.shape.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "axes {axes:?} name {} of the {} axes of the array",
                    order.len(),
                    self.shape.len()
                ),
            ));
        }
        let shape = order.iter().map(|axis| self.shape[*axis]).collect();
        let strides = order.iter().map(|axis| self.strides[*axis]).collect();
        Ok(self.view(shape, strides))
    }

    /// The array with its axes in opposite order.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let reversed = |all: &Dims| all.iter().rev().copied().collect();
        self.view(reversed(&self.shape), reversed(&self.strides))
    }

    /// The array repeated along new axes and axes of extent 1, without a copy: those have stride 0, and the view is read-only.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where the array does not broadcast to the shape.
    pub fn broadcast_to(&self, shape: &[i64]) -> Result<Self> {
        let refuse = || {
            Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "an array of shape {:?} does not broadcast to {shape:?}",
                    self.shape.as_slice()
                ),
            )
        };
        let missing = shape
            .len()
            .checked_sub(self.shape.len())
            .ok_or_else(refuse)?;
        let mut strides = Dims::from_elem(0, shape.len());
        for (axis, extent) in self.shape.iter().enumerate() {
            let wanted = shape[missing + axis];
            if *extent == wanted {
                strides[missing + axis] = self.strides[axis];
            } else if *extent != 1 {
                return Err(refuse());
            }
        }
        if shape.iter().any(|extent| *extent < 0) {
            return Err(refuse());
        }
        let mut view = self.view(Dims::from_slice(shape), strides);
        view.is_read_only |= shape != self.shape.as_slice();
        Ok(view)
    }

    /// The array without these axes of extent 1; `None` takes all of them.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis of another extent or one that is named twice, `index-out-of-range`.
    pub fn squeezed(&self, axes: Option<&[i64]>) -> Result<Self> {
        let rank = self.shape.len();
        let gone = match axes {
            Some(axes) => resolve_axes(axes, rank)?,
            None => (0..rank).filter(|axis| self.shape[*axis] == 1).collect(),
        };
        if let Some(axis) = gone.iter().find(|axis| self.shape[**axis] != 1) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "axis {axis} has {} elements; only axes of 1 are squeezed",
                    self.shape[*axis]
                ),
            ));
        }
        let kept = (0..rank).filter(|axis| !gone.contains(axis));
        let shape = kept.clone().map(|axis| self.shape[axis]).collect();
        let strides = kept.map(|axis| self.strides[axis]).collect();
        Ok(self.view(shape, strides))
    }

    /// The array with a new axis of extent 1 at each of these places of the result.
    ///
    /// # Errors
    ///
    /// `index-out-of-range`, `invalid-argument` for a place that is named twice.
    pub fn expanded(&self, axes: &[i64]) -> Result<Self> {
        let rank = self.shape.len() + axes.len();
        let new = resolve_axes(axes, rank)?;
        let mut own = self.shape.iter().zip(&self.strides);
        let (mut shape, mut strides) = (Dims::new(), Dims::new());
        for axis in 0..rank {
            let (extent, stride) = if new.contains(&axis) {
                (1, 0)
            } else {
                own.next()
                    .map_or((1, 0), |(extent, stride)| (*extent, *stride))
            };
            shape.push(extent);
            strides.push(stride);
        }
        Ok(self.view(shape, strides))
    }

    /// The array with its elements in opposite order along these axes; `None` takes all.
    ///
    /// # Errors
    ///
    /// `index-out-of-range`, `invalid-argument` for an axis that is named twice.
    pub fn flipped(&self, axes: Option<&[i64]>) -> Result<Self> {
        let rank = self.shape.len();
        let opposite = match axes {
            Some(axes) => resolve_axes(axes, rank)?,
            None => (0..rank).collect(),
        };
        let mut strides = self.strides.clone();
        let mut offset = 0;
        for axis in opposite {
            strides[axis] = -strides[axis];
            offset -= strides[axis] * (self.shape[axis] - 1).max(0);
        }
        let offset = if self.is_empty() { 0 } else { offset };
        Ok(self.view_at(offset, self.shape.clone(), strides))
    }

    /// The elements whose indices along two axes differ by `offset`, as the last axis of a view that is read-only.
    ///
    /// # Errors
    ///
    /// `index-out-of-range`, `invalid-argument` where both axes are the same.
    pub fn diagonal(&self, offset: i64, axes: (i64, i64)) -> Result<Self> {
        let rank = self.shape.len();
        let order = resolve_axes(&[axes.0, axes.1], rank)?;
        let (rows, columns) = (order[0], order[1]);
        let begin_row = (-offset).max(0).min(self.shape[rows]);
        let begin_column = offset.max(0).min(self.shape[columns]);
        let count = (self.shape[rows] - begin_row).min(self.shape[columns] - begin_column);
        let kept = (0..rank).filter(|axis| !order.contains(axis));
        let mut shape: Dims = kept.clone().map(|axis| self.shape[axis]).collect();
        let mut strides: Dims = kept.map(|axis| self.strides[axis]).collect();
        shape.push(count);
        strides.push(self.strides[rows] + self.strides[columns]);
        let begin = if count == 0 {
            0
        } else {
            begin_row * self.strides[rows] + begin_column * self.strides[columns]
        };
        Ok(self.view_at(begin, shape, strides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_axes_are_restrided() {
        let joined = |shape: &[i64], strides: &[i64], wanted: &[i64]| {
            restride(shape, strides, wanted).map(|strides| strides.to_vec())
        };
        let dense = row_major(&[4, 6]);
        assert_eq!(
            joined(&[4, 6], &dense, &[2, 2, 3, 2]),
            Some(vec![12, 6, 2, 1])
        );
        // Every second row: the rows cannot be joined, but each can be split.
        assert_eq!(joined(&[4, 6], &[12, 1], &[4, 2, 3]), Some(vec![12, 3, 1]));
        assert_eq!(joined(&[4, 6], &[12, 1], &[24]), None);
        assert_eq!(joined(&[4, 6], &[12, 2], &[24]), Some(vec![2]));
        assert_eq!(joined(&[2, 1, 3], &[3, 99, 1], &[6, 1]), Some(vec![1, 1]));
        assert_eq!(joined(&[6], &[-1], &[2, 3]), Some(vec![-3, -1]));
        assert_eq!(joined(&[3, 4], &[1, 3], &[2, 6]), None);
    }

    #[test]
    fn axes_are_counted_from_both_ends_and_named_once() {
        assert_eq!(resolve_axes(&[-1, 0], 3).unwrap(), [2, 0]);
        assert!(resolve_axes(&[0, -3], 3).is_err());
        assert!(resolve_axis(3, 3).is_err());
        assert!(resolve_axis(-4, 3).is_err());
    }
}
