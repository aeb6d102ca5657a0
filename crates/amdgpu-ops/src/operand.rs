//! Arguments and results of operations.

use std::sync::Arc;

use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_FLOAT};
use amdgpu_abi::promotion::{TENSOR_DTYPES, complex_part, is_float, is_tensor_dtype};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, is_row_major};
use amdgpu_aura::OpenDevice;
use amdgpu_compiler::{bfloat16_from_f64, half_from_f64};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::TensorView;

use crate::host_memory::HOST;
use crate::{Error, Result};

/// A number that a launch carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Float(f64),
    Int(i128),
}

impl Scalar {
    /// The value as a launch takes it for numbers of a dtype.
    #[must_use]
    pub fn for_dtype(self, dtype: Dtype) -> Self {
        match (self, is_float(dtype)) {
            (Self::Int(value), true) => Self::Float(value as f64),
            (Self::Float(value), false) => Self::Int(value as i128),
            _ => self,
        }
    }

    /// The value as an element of a dtype, in the first bytes in memory.
    #[must_use]
    pub fn element(self, dtype: Dtype) -> u64 {
        let bytes = match (self.for_dtype(dtype), dtype.code, dtype.bits) {
            (Self::Float(value), DTYPE_FLOAT, 64) => value.to_ne_bytes(),
            (Self::Float(value), DTYPE_FLOAT, 32) => padded(&(value as f32).to_ne_bytes()),
            (Self::Float(value), DTYPE_FLOAT, _) => padded(&half_from_f64(value).to_ne_bytes()),
            (Self::Float(value), DTYPE_BFLOAT, _) => {
                padded(&bfloat16_from_f64(value).to_ne_bytes())
            }
            (Self::Int(value), DTYPE_BOOL, _) => padded(&[u8::from(value != 0)]),
            (Self::Int(value), _, 8) => padded(&(value as u8).to_ne_bytes()),
            (Self::Int(value), _, 16) => padded(&(value as u16).to_ne_bytes()),
            (Self::Int(value), _, 32) => padded(&(value as u32).to_ne_bytes()),
            (Self::Int(value), _, _) => (value as u64).to_ne_bytes(),
            (Self::Float(value), _, _) => (value as i64).to_ne_bytes(),
        };
        u64::from_ne_bytes(bytes)
    }
}

fn padded(bytes: &[u8]) -> [u8; 8] {
    let mut result = [0; 8];
    result[..bytes.len()].copy_from_slice(bytes);
    result
}

/// Values that an operation reads or writes: memory of a device, or one number.
#[derive(Clone, Debug)]
pub struct Operand {
    pub dtype: Dtype,
    pub shape: Dims,
    /// In elements. An axis of one element, whose stride is never walked, has that of the row-major order.
    pub strides: Dims,
    /// The memory; `None` for a number.
    pub array: Option<Array>,
    pub number: Scalar,
    /// Of a complex number, of which `number` is the real part.
    pub imaginary: f64,
    /// The array itself is in row-major order, so that launches take it; else they take its address.
    is_contiguous: bool,
}

impl Operand {
    /// An array on the device.
    #[must_use]
    pub fn of_array(array: Array) -> Self {
        // The stride of the row-major order is counted from the last axis on, as `row_major` does.
        let mut strides = array.strides.clone();
        let (mut dense, mut is_contiguous) = (1_i64, true);
        for (stride, extent) in strides.iter_mut().zip(&array.shape).rev() {
            if *extent == 1 {
                *stride = dense;
            }
            is_contiguous &= *stride == dense;
            dense = dense.saturating_mul((*extent).max(1));
        }
        Self {
            dtype: array.dtype,
            shape: array.shape.clone(),
            strides,
            array: Some(array),
            number: Scalar::Int(0),
            imaginary: 0.0,
            is_contiguous,
        }
    }

    /// A number without axes.
    #[must_use]
    pub fn of_number(number: Scalar, dtype: Dtype) -> Self {
        Self {
            dtype,
            shape: Dims::new(),
            strides: Dims::new(),
            array: None,
            number: number.for_dtype(dtype),
            imaginary: 0.0,
            is_contiguous: true,
        }
    }

    /// A complex number without axes, of a complex dtype.
    #[must_use]
    pub fn of_complex(real: f64, imaginary: f64, dtype: Dtype) -> Self {
        Self {
            number: Scalar::Float(real),
            imaginary,
            ..Self::of_number(Scalar::Int(0), dtype)
        }
    }

    /// A number as an element of its dtype, in the first bytes in memory.
    pub(crate) fn element(&self) -> [u64; 2] {
        let part = complex_part(self.dtype);
        let real = self.number.element(part);
        if part == self.dtype {
            return [real, 0];
        }
        let imaginary = Scalar::Float(self.imaginary).element(part);
        if part == Dtype::F64 {
            return [real, imaginary];
        }
        let [low, high] = [real, imaginary].map(|word| (word as u32).to_ne_bytes());
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&low);
        bytes[4..].copy_from_slice(&high);
        [u64::from_ne_bytes(bytes), 0]
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        amdgpu_array::element_count(&self.shape)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.dtype.size_bytes()
    }

    #[must_use]
    pub fn is_number(&self) -> bool {
        self.array.is_none()
    }

    /// Whether elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.array.is_some() && self.is_contiguous && is_row_major(&self.shape, &self.strides)
    }

    /// The memory.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`] for a number, which no kernel writes.
    pub fn into_array(self) -> Result<Array> {
        self.array
            .ok_or_else(|| Error::no_kernel("the result is a number"))
    }

    /// Shape and dtype, for the rules that describe results.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        TensorView::without_memory(&self.shape, self.dtype)
    }

    /// The values in memory of the host; `number` is the element of a number.
    pub(crate) fn host_view<'a>(&'a self, number: &'a [u64; 2]) -> Result<TensorView<'a>> {
        let data = match &self.array {
            Some(array) => array.data().cast_const(),
            None => std::ptr::from_ref(number).cast(),
        };
        let strides = (!self.is_dense() && !self.is_number()).then_some(self.strides.as_slice());
        // SAFETY: shape and strides stay within the memory, which the operand keeps; who asks has checked that the host reaches it.
        let view = unsafe { TensorView::from_parts(data, self.dtype, HOST, &self.shape, strides) };
        Ok(view?)
    }

    /// Address of index 0; 0 for a number.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.array
            .as_ref()
            .map_or(0, |array| array.address().address())
    }

    /// The same memory with axes in another order.
    #[must_use]
    pub fn permuted(&self, axes: &[usize]) -> Self {
        Self {
            shape: axes.iter().map(|axis| self.shape[*axis]).collect(),
            strides: axes.iter().map(|axis| self.strides[*axis]).collect(),
            ..self.clone()
        }
    }

    /// The same memory seen with another shape and other strides, which stay within it.
    #[must_use]
    pub fn with_layout(&self, shape: Dims, strides: Dims) -> Self {
        Self {
            shape,
            strides,
            ..self.clone()
        }
    }

    /// The same memory, broadcast to a shape that it broadcasts to: new and repeated axes have stride 0.
    #[must_use]
    pub fn broadcast_to(&self, shape: &[i64]) -> Self {
        self.with_layout(Dims::from_slice(shape), self.broadcast_strides(shape.len()))
    }

    /// The strides that [`Self::broadcast_to`] gives an array of so many axes.
    pub(crate) fn broadcast_strides(&self, rank: usize) -> Dims {
        let missing = rank - self.rank();
        let mut strides = Dims::from_elem(0, rank);
        for axis in 0..self.rank() {
            if self.shape[axis] != 1 {
                strides[missing + axis] = self.strides[axis];
            }
        }
        strides
    }

    /// [`Self::is_dense`] of [`Self::broadcast_to`], whose strides are these.
    pub(crate) fn is_dense_as(&self, shape: &[i64], strides: &[i64]) -> bool {
        self.array.is_some() && self.is_contiguous && is_row_major(shape, strides)
    }

    fn byte_range(&self) -> Option<(i128, i128)> {
        let array = self.array.as_ref()?;
        let (low, high) = amdgpu_array::byte_range(&self.shape, &self.strides, self.item_bytes())?;
        let first = i128::from(array.address().address());
        Some((first + i128::from(low), first + i128::from(high)))
    }

    /// Whether both have elements in the same bytes.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.byte_range(), other.byte_range()) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            _ => false,
        }
    }

    /// Whether both see the same elements in the same order.
    #[must_use]
    pub fn is_same_view(&self, other: &Self) -> bool {
        self.address() == other.address()
            && self.dtype == other.dtype
            && self.shape == other.shape
            && (self
                .shape
                .iter()
                .zip(self.strides.iter().zip(&other.strides)))
            .all(|(extent, (own, others))| own == others || *extent == 1)
    }

    /// Refuses element types that operations do not compute.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`.
    pub fn check_dtype(&self, operation: &str, name: &str) -> Result<()> {
        if is_tensor_dtype(self.dtype) {
            return Ok(());
        }
        let known: Vec<_> = TENSOR_DTYPES
            .iter()
            .filter_map(|dtype| dtype.name())
            .collect();
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{operation}: {name} has dtype {}; known are {}",
                self.dtype.name().unwrap_or("?"),
                known.join(", ")
            ),
        ))
    }
}

/// The shape that all operands broadcast to.
///
/// # Errors
///
/// `shape-mismatch` where there is none, with the names and shapes.
pub fn broadcast(operation: &str, operands: &[(&str, &Operand)]) -> Result<Dims> {
    let shapes = operands.iter().map(|(_, operand)| operand.shape.as_slice());
    amdgpu_array::broadcast_shapes(shapes).ok_or_else(|| {
        let shapes: Vec<_> = operands
            .iter()
            .map(|(name, operand)| format!("{name} {:?}", operand.shape.as_slice()))
            .collect();
        Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{operation}: shapes do not broadcast: {}",
                shapes.join(", ")
            ),
        )
    })
}

/// Where a result goes.
pub struct Target<'a> {
    pub operation: &'a str,
    pub device: &'a Arc<OpenDevice>,
    /// What the caller gave; `None` for a new array.
    pub out: Option<&'a Array>,
    /// What kernels read meanwhile.
    pub inputs: &'a [&'a Operand],
    /// `out` may be an input itself.
    pub may_alias: bool,
    /// The kernels write row-major memory only.
    pub is_dense: bool,
}

impl Target<'_> {
    /// The memory for a result of this shape and dtype.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`, `unsupported-dtype`, `read-only`, `wrong-device` or `invalid-argument` where `out` does not fit or overlaps an
    /// input; `out-of-memory`.
    pub fn resolve(&self, shape: &[i64], dtype: Dtype) -> Result<Operand> {
        let operation = self.operation;
        let Some(out) = self.out else {
            let shape = Dims::from_slice(shape);
            let made = Array::empty(self.device, shape, dtype, MemoryKind::Device)?;
            return Ok(Operand::of_array(made));
        };
        if out.dtype != dtype {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{operation}: out has dtype {}; the result has {}",
                    out.dtype.name().unwrap_or("?"),
                    dtype.name().unwrap_or("?")
                ),
            ));
        }
        if out.shape.as_slice() != shape {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{operation}: out has shape {:?}; the result has {shape:?}",
                    out.shape.as_slice()
                ),
            ));
        }
        out.check_alive()?;
        if out.is_read_only {
            return Err(Error::refused(
                ErrorCode::ReadOnly,
                format!("{operation}: out is read-only"),
            ));
        }
        check_device(operation, "out", out, self.device)?;
        let operand = Operand::of_array(out.clone());
        for input in self.inputs {
            if operand.overlaps(input) && !(self.may_alias && operand.is_same_view(input)) {
                return Err(Error::refused(
                    ErrorCode::InvalidArgument,
                    format!("{operation}: out overlaps an input"),
                ));
            }
        }
        if self.is_dense && !operand.is_dense() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{operation}: out on a GPU must be row-major without gaps"),
            ));
        }
        Ok(operand)
    }
}

/// Refuses an array of another device.
///
/// # Errors
///
/// `wrong-device`, naming both.
pub fn check_device(
    operation: &str,
    name: &str,
    array: &Array,
    device: &Arc<OpenDevice>,
) -> Result<()> {
    let own = array.device_name();
    let wanted = device.name();
    if own == wanted {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::WrongDevice,
        format!(
            "{operation}: {name} is on {own} and the operation runs on {wanted}; copy it with amdgpu.array(x, device={wanted:?})"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_become_elements_of_both_widths() {
        let bytes = |dtype| {
            let words = Operand::of_complex(1.5, -2.0, dtype).element();
            words.map(u64::to_ne_bytes).concat()
        };
        let narrow = [1.5_f32, -2.0].map(f32::to_ne_bytes).concat();
        assert_eq!(bytes(Dtype::C64)[..8], narrow);
        assert_eq!(
            bytes(Dtype::C128),
            [1.5_f64, -2.0].map(f64::to_ne_bytes).concat()
        );
    }

    #[test]
    fn numbers_become_elements_of_every_width() {
        let first = |number: Scalar, dtype: Dtype| {
            number.element(dtype).to_ne_bytes()[..dtype.size_bytes()].to_vec()
        };
        assert_eq!(first(Scalar::Float(1.5), Dtype::F32), 1.5_f32.to_ne_bytes());
        assert_eq!(first(Scalar::Int(3), Dtype::F64), 3.0_f64.to_ne_bytes());
        assert_eq!(
            first(Scalar::Float(1.0), Dtype::F16),
            0x3c00_u16.to_ne_bytes()
        );
        assert_eq!(
            first(Scalar::Float(1.0), Dtype::BF16),
            0x3f80_u16.to_ne_bytes()
        );
        assert_eq!(first(Scalar::Int(-2), Dtype::I8), (-2_i8).to_ne_bytes());
        assert_eq!(first(Scalar::Int(-2), Dtype::I32), (-2_i32).to_ne_bytes());
        assert_eq!(first(Scalar::Int(2), Dtype::BOOL), [1]);
        assert_eq!(
            first(Scalar::Int(i128::from(u64::MAX)), Dtype::U64),
            u64::MAX.to_ne_bytes()
        );
    }
}
