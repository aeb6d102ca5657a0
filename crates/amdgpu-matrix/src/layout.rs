//! A tensor's description on its way to Zig: checked, broadcast, its axes put in the order that an operation wants.

use std::ffi::c_void;

use amdgpu_abi::{DEVICE_CPU, Dtype, ErrorCode, Tensor};

use crate::{Error, TensorView, element};

/// Axes of a tensor at most: `max_rank` in `zig/src/tensor/strided.zig`.
pub const MAX_RANK: usize = 16;

/// Complex numbers are aligned as their parts are.
const LARGEST_ALIGNMENT_BYTES: usize = 8;

/// A checked description; owns its shape and strides.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    data: *mut c_void,
    pub dtype: Dtype,
    rank: usize,
    shape: [i64; MAX_RANK],
    /// In elements.
    strides: [i64; MAX_RANK],
}

impl Layout {
    /// Checks everything about one tensor that does not depend on others.
    pub(crate) fn of(operation: &str, argument: &str, view: &TensorView) -> Result<Self, Error> {
        element::check(operation, argument, view.dtype())?;
        Self::of_any(operation, argument, view)
    }

    /// As [`Self::of`], for elements that are only moved.
    pub(crate) fn of_any(
        operation: &str,
        argument: &str,
        view: &TensorView,
    ) -> Result<Self, Error> {
        let tensor = view.to_abi();
        if tensor.device.device_type != DEVICE_CPU {
            return Err(Error::refused(
                ErrorCode::WrongDevice,
                format!("{operation}: {argument} is not in memory of the host"),
            ));
        }
        let rank = view.shape().len();
        if rank > MAX_RANK {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!("{operation}: {argument} has {rank} axes; at most {MAX_RANK} are handled"),
            ));
        }
        let mut layout = Self {
            data: tensor.data,
            dtype: view.dtype(),
            rank,
            shape: [1; MAX_RANK],
            strides: [0; MAX_RANK],
        };
        let mut dense = 1_i64;
        for axis in (0..rank).rev() {
            let extent = view.shape()[axis];
            if extent < 0 {
                return Err(Error::refused(
                    ErrorCode::InvalidArgument,
                    format!(
                        "{operation}: {argument} has shape {:?}; extents are not negative",
                        view.shape()
                    ),
                ));
            }
            layout.shape[axis] = extent;
            layout.strides[axis] = view.strides().map_or(dense, |strides| strides[axis]);
            dense = dense.saturating_mul(extent);
        }
        if layout.is_empty() {
            return Ok(layout);
        }
        let item_bytes = layout.dtype.size_bytes();
        let align_bytes = item_bytes.min(LARGEST_ALIGNMENT_BYTES);
        if layout.data.is_null() || !layout.data.addr().is_multiple_of(align_bytes) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{operation}: the memory of {argument} is not aligned to its {item_bytes}-byte elements; pass a copy of it"
                ),
            ));
        }
        Ok(layout)
    }

    pub(crate) fn shape(&self) -> &[i64] {
        &self.shape[..self.rank]
    }

    pub(crate) fn strides(&self) -> &[i64] {
        &self.strides[..self.rank]
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn len(&self) -> u64 {
        self.shape()
            .iter()
            .fold(1_u64, |len, extent| len.saturating_mul(*extent as u64))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// The same memory seen in a larger shape that [`broadcast`] gave: new and repeated axes have stride 0.
    pub(crate) fn broadcast_to(&self, shape: &[i64]) -> Self {
        let mut wide = Self {
            rank: shape.len(),
            shape: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            ..*self
        };
        let missing = shape.len() - self.rank;
        for (axis, extent) in shape.iter().enumerate() {
            wide.shape[axis] = *extent;
            if axis >= missing && self.shape[axis - missing] == *extent && *extent != 1 {
                wide.strides[axis] = self.strides[axis - missing];
            }
        }
        wide
    }

    /// [`Self::broadcast_to`] a shape that the caller names.
    pub(crate) fn broadcast_into(
        &self,
        operation: &str,
        argument: &str,
        shape: &[i64],
    ) -> Result<Self, Error> {
        let own = self.shape();
        let fits = own.len() <= shape.len()
            && own
                .iter()
                .rev()
                .zip(shape.iter().rev())
                .all(|(extent, wanted)| *extent == 1 || extent == wanted);
        if fits {
            return Ok(self.broadcast_to(shape));
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{operation}: {argument} has shape {own:?}, which does not broadcast to {shape:?}"
            ),
        ))
    }

    /// The same memory with its axes in another order, some of them dropped where `order` does not name them (extent 1 only).
    pub(crate) fn permuted(&self, order: &[usize]) -> Self {
        let mut turned = Self {
            rank: order.len(),
            shape: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            ..*self
        };
        for (axis, from) in order.iter().enumerate() {
            turned.shape[axis] = self.shape[*from];
            turned.strides[axis] = self.strides[*from];
        }
        turned
    }

    /// The same memory with another axis, of one element.
    pub(crate) fn with_axis(&self, at: usize) -> Self {
        let mut wide = self.clone();
        wide.rank += 1;
        wide.shape[..wide.rank].copy_within(at..self.rank, at + 1);
        wide.strides[..wide.rank].copy_within(at..self.rank, at + 1);
        (wide.shape[at], wide.strides[at]) = (1, 0);
        wide
    }

    /// The same memory with the last axis from its last element to the first.
    pub(crate) fn reversed_last(&self) -> Self {
        let mut reversed = self.clone();
        let last = self.rank - 1;
        let reach = self.strides[last].wrapping_mul((self.shape[last] - 1).max(0));
        reversed.data = self.moved(reach);
        reversed.strides[last] = -self.strides[last];
        reversed
    }

    /// So many elements of the last axis, from `first` on.
    pub(crate) fn narrowed_last(&self, first: i64, len: i64) -> Self {
        let mut narrowed = self.clone();
        let last = self.rank - 1;
        narrowed.data = self.moved(self.strides[last].wrapping_mul(first));
        narrowed.shape[last] = len;
        narrowed
    }

    /// Where an element lies that is so many away from index 0.
    fn moved(&self, elements: i64) -> *mut c_void {
        let bytes = elements.wrapping_mul(self.dtype.size_bytes() as i64);
        self.data.wrapping_byte_offset(bytes as isize)
    }

    /// As the C ABI sees it; borrows shape and strides.
    pub(crate) fn to_abi(&self) -> Tensor {
        Tensor::host(
            self.data,
            self.dtype,
            &self.shape[..self.rank],
            Some(&self.strides[..self.rank]),
        )
    }

    /// Bytes touched, as [low, high).
    fn extent(&self) -> (i128, i128) {
        let item = self.dtype.size_bytes() as i128;
        let start = self.data.addr() as i128;
        let (mut low, mut high) = (start, start + item);
        for axis in 0..self.rank {
            let reach = i128::from(self.strides[axis]) * i128::from(self.shape[axis] - 1) * item;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        (low, high)
    }

    /// Whether the two name the same elements in the same order.
    pub(crate) fn is_same_view(&self, other: &Self) -> bool {
        self.data == other.data
            && self.dtype == other.dtype
            && self.shape() == other.shape()
            && (0..self.rank)
                .all(|axis| self.shape[axis] == 1 || self.strides[axis] == other.strides[axis])
    }

    /// Whether two views may share an element: their ranges overlap, no common divisor of the strides keeps them apart (as it does the even
    /// and the odd columns of a matrix), and they are not in different parts of the same period (as even and odd rows are). Never misses a
    /// shared element.
    fn may_share(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        let (a, b) = (self.extent(), other.extent());
        if a.1 <= b.0 || b.1 <= a.0 {
            return false;
        }
        let item = self.dtype.size_bytes();
        if item != other.dtype.size_bytes() {
            return true;
        }
        let mut divisor = 0_u128;
        for layout in [self, other] {
            for axis in (0..layout.rank).filter(|axis| layout.shape[*axis] > 1) {
                divisor = greatest_common_divisor(
                    divisor,
                    u128::from(layout.strides[axis].unsigned_abs()),
                );
            }
        }
        let distance = self.data.addr().abs_diff(other.data.addr());
        if !distance.is_multiple_of(item) {
            return true;
        }
        if divisor != 0 && !((distance / item) as u128).is_multiple_of(divisor) {
            return false;
        }
        !self.alternates_with(other)
    }

    /// Whether two views have the same largest stride, and between two steps of it each touches a part that the other does not.
    fn alternates_with(&self, other: &Self) -> bool {
        let (Some((period, reach)), Some((other_period, other_reach))) =
            (self.period(), other.period())
        else {
            return false;
        };
        let item = self.dtype.size_bytes() as i128;
        let phase = ((other.extent().0 - self.extent().0) / item).rem_euclid(period);
        period == other_period && reach < phase && phase + other_reach < period
    }

    /// The largest stride, and how far the other axes reach from their lowest element.
    fn period(&self) -> Option<(i128, i128)> {
        let axes = (0..self.rank).filter(|axis| self.shape[*axis] > 1);
        let largest = axes
            .clone()
            .max_by_key(|axis| self.strides[*axis].unsigned_abs())?;
        let reach = axes
            .filter(|axis| *axis != largest)
            .map(|axis| i128::from(self.strides[axis]).abs() * i128::from(self.shape[axis] - 1))
            .sum();
        let period = i128::from(self.strides[largest]).abs();
        (period > 0).then_some((period, reach))
    }

    /// Whether two indices may name the same element. Never misses a pair.
    fn may_share_with_itself(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut axes: Vec<_> = (0..self.rank)
            .filter(|axis| self.shape[*axis] > 1)
            .map(|axis| {
                (
                    u128::from(self.strides[axis].unsigned_abs()),
                    (self.shape[axis] - 1) as u128,
                )
            })
            .collect();
        axes.sort_unstable();
        let mut reach = 0_u128;
        for (stride, steps) in axes {
            if stride <= reach {
                return true;
            }
            reach += stride * steps;
        }
        false
    }

    /// Refuses an `out` that has another dtype or shape than the result, or shares memory with itself.
    pub(crate) fn check_out(
        &self,
        operation: &str,
        dtype: Dtype,
        shape: &[i64],
    ) -> Result<(), Error> {
        if self.dtype != dtype {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{operation}: out has dtype {}, the result {}",
                    element::name(self.dtype),
                    element::name(dtype)
                ),
            ));
        }
        if self.shape() != shape {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{operation}: out has shape {:?}, the result {shape:?}",
                    self.shape()
                ),
            ));
        }
        if self.may_share_with_itself() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{operation}: out has elements that share memory: shape {:?}, strides {:?}",
                    self.shape(),
                    &self.strides[..self.rank]
                ),
            ));
        }
        Ok(())
    }

    /// Refuses an `out` with gaps or in another order than row-major.
    pub(crate) fn check_dense(&self, operation: &str) -> Result<(), Error> {
        let mut dense = 1_i64;
        let mut is_dense = true;
        for axis in (0..self.rank).rev() {
            is_dense &= self.shape[axis] == 1 || self.strides[axis] == dense;
            dense = dense.saturating_mul(self.shape[axis]);
        }
        if is_dense || self.is_empty() {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("{operation}: out must be row-major without gaps"),
        ))
    }

    /// Refuses an `out` that shares memory with an input; with `in_place` it may be the input itself.
    pub(crate) fn check_apart(
        &self,
        operation: &str,
        argument: &str,
        input: &Self,
        in_place: bool,
    ) -> Result<(), Error> {
        if !self.may_share(input) || (in_place && self.is_same_view(input)) {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{operation}: out may share memory with {argument} without being the same view of it"
            ),
        ))
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The shape that all shapes broadcast to (NumPy's rule: from the last axis on, extents are equal or 1).
pub(crate) fn broadcast(operation: &str, inputs: &[(&str, &Layout)]) -> Result<Vec<i64>, Error> {
    let rank = inputs
        .iter()
        .map(|(_, layout)| layout.rank)
        .max()
        .unwrap_or(0);
    let mut shape = vec![1_i64; rank];
    for (_, layout) in inputs {
        for (axis, extent) in layout.shape().iter().enumerate() {
            let at = &mut shape[rank - layout.rank + axis];
            if *at == 1 {
                *at = *extent;
            } else if *extent != 1 && *extent != *at {
                let shapes: Vec<_> = inputs
                    .iter()
                    .map(|(name, layout)| format!("{name} {:?}", layout.shape()))
                    .collect();
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "{operation}: shapes do not broadcast together: {}",
                        shapes.join(", ")
                    ),
                ));
            }
        }
    }
    Ok(shape)
}

/// Axes as indices from 0, in ascending order; negative ones count from the end.
///
/// # Errors
///
/// `invalid-argument` for axes that x of this shape does not have or that are named twice.
pub fn resolve_axes(operation: &str, shape: &[i64], axes: &[i64]) -> Result<Vec<usize>, Error> {
    let rank = shape.len();
    let mut resolved = Vec::with_capacity(axes.len());
    for axis in axes {
        let index = if *axis < 0 { axis + rank as i64 } else { *axis };
        let index = usize::try_from(index)
            .ok()
            .filter(|index| *index < rank)
            .ok_or_else(|| {
                Error::refused(
                    ErrorCode::InvalidArgument,
                    format!("{operation}: axis {axis} is out of range for x of shape {shape:?}"),
                )
            })?;
        if resolved.contains(&index) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{operation}: axis {axis} is named twice in {axes:?}"),
            ));
        }
        resolved.push(index);
    }
    resolved.sort_unstable();
    Ok(resolved)
}

/// The axes that are not in `axes`, then those that are.
pub(crate) fn axes_last(rank: usize, axes: &[usize]) -> Vec<usize> {
    let kept = (0..rank).filter(|axis| !axes.contains(axis));
    kept.chain(axes.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(data: &[f32], shape: &[i64], strides: &[i64], first: usize) -> Layout {
        Layout::of(
            "test",
            "x",
            &TensorView::from_strided(data, first, shape, strides).unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn interleaved_views_are_apart_and_shared_elements_are_found() {
        let data = [0.0_f32; 64];
        let even = layout(&data, &[4, 4], &[8, 2], 0);
        let odd = layout(&data, &[4, 4], &[8, 2], 1);
        assert!(even.check_apart("test", "x", &odd, false).is_ok());
        assert!(even.check_apart("test", "x", &even, false).is_err());
        assert!(even.check_apart("test", "x", &even, true).is_ok());
        let even_rows = layout(&data, &[4, 8], &[16, 1], 0);
        let odd_rows = layout(&data, &[4, 8], &[-16, -1], 63);
        assert!(even_rows.check_apart("test", "x", &odd_rows, false).is_ok());
        assert!(odd_rows.check_apart("test", "x", &even_rows, false).is_ok());
        let late_rows = layout(&data, &[3, 8], &[16, 1], 9);
        assert!(
            even_rows
                .check_apart("test", "x", &late_rows, false)
                .is_err()
        );
        let shifted = layout(&data, &[4, 4], &[8, 2], 2);
        assert!(even.check_apart("test", "x", &shifted, true).is_err());
    }

    #[test]
    fn shared_elements_are_never_missed() {
        let data = [0.0_f32; 200];
        let mut state = 12345_u64;
        let mut next = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut apart = 0;
        for _ in 0..20_000 {
            let mut views = Vec::new();
            for _ in 0..2 {
                let shape = [next(4) as i64 + 1, next(4) as i64 + 1];
                let strides = [next(25) as i64 - 12, next(9) as i64 - 4];
                views.push((100 + next(12) as usize, shape, strides));
            }
            let touched: Vec<Vec<i64>> = views
                .iter()
                .map(|(first, shape, strides)| {
                    (0..shape[0] * shape[1])
                        .map(|i| {
                            *first as i64 + i / shape[1] * strides[0] + i % shape[1] * strides[1]
                        })
                        .collect()
                })
                .collect();
            let [a, b] = [0, 1].map(|k| layout(&data, &views[k].1, &views[k].2, views[k].0));
            let shares = touched[0].iter().any(|at| touched[1].contains(at));
            assert!(a.may_share(&b) || !shares, "{views:?}");
            assert_eq!(a.may_share(&b), b.may_share(&a), "{views:?}");
            let mut own = touched[0].clone();
            own.sort_unstable();
            own.dedup();
            assert!(a.may_share_with_itself() || own.len() == touched[0].len());
            apart += u32::from(!a.may_share(&b));
        }
        assert!(apart > 1000);
    }

    #[test]
    fn an_out_that_meets_itself_is_refused() {
        let data = [0.0_f32; 64];
        let spread = layout(&data, &[3, 4], &[0, 1], 0);
        assert!(spread.check_out("test", Dtype::F32, &[3, 4]).is_err());
        let window = layout(&data, &[3, 4], &[1, 1], 0);
        assert!(window.check_out("test", Dtype::F32, &[3, 4]).is_err());
        let reversed = layout(&data, &[3, 4], &[-4, -1], 11);
        assert!(reversed.check_out("test", Dtype::F32, &[3, 4]).is_ok());
        assert!(reversed.check_out("test", Dtype::F64, &[3, 4]).is_err());
        assert!(reversed.check_out("test", Dtype::F32, &[4, 3]).is_err());
    }

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        let data = [0.0_f32; 64];
        let matrix = layout(&data, &[3, 4], &[4, 1], 0);
        let column = layout(&data, &[3, 1], &[1, 1], 0);
        let row = layout(&data, &[2, 1, 4], &[4, 4, 1], 0);
        let shape = broadcast("test", &[("a", &matrix), ("b", &column), ("c", &row)]).unwrap();
        assert_eq!(shape, [2, 3, 4]);
        let wide = column.broadcast_to(&shape);
        assert_eq!(&wide.strides[..3], [0, 1, 0]);
        let other = layout(&data, &[5], &[1], 0);
        assert!(broadcast("test", &[("a", &matrix), ("b", &other)]).is_err());
    }

    #[test]
    fn axes_are_counted_from_both_ends() {
        assert_eq!(resolve_axes("test", &[1, 2, 3], &[-1, 0]).unwrap(), [0, 2]);
        assert!(resolve_axes("test", &[1, 2, 3], &[3]).is_err());
        assert!(resolve_axes("test", &[1, 2, 3], &[2, -1]).is_err());
        assert_eq!(axes_last(4, &[1, 2]), [0, 3, 1, 2]);
    }
}
