//! Memory of the host that operations write results to.

use std::ffi::c_void;

use amdgpu_abi::layout::DEVICE_CPU;
use amdgpu_abi::promotion::complex_part;
use amdgpu_abi::{DeviceRef, Dtype};
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_matrix::{TensorView, TensorViewMut};

use crate::Result;

/// Memory of the host, as the Zig library names it.
pub const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// Memory of the host to which a result is written.
#[derive(Debug)]
pub struct HostMemory {
    data: *mut c_void,
    dtype: Dtype,
    shape: Dims,
    /// In elements; `None` for the row-major order without gaps. Apart, since this is handed on by value and strides are rare.
    strides: Option<Box<Dims>>,
}

// SAFETY: whoever makes one says that its memory is nobody else's meanwhile.
unsafe impl Send for HostMemory {}

impl HostMemory {
    /// Memory without gaps.
    ///
    /// # Safety
    ///
    /// The elements of this shape and dtype from `data` on are writable as long as this lives, and used by nobody else but as inputs.
    #[must_use]
    pub unsafe fn dense(data: *mut c_void, dtype: Dtype, shape: &[i64]) -> Self {
        Self {
            data,
            dtype,
            shape: Dims::from_slice(shape),
            strides: None,
        }
    }

    /// Memory with strides, counted in elements.
    ///
    /// # Safety
    ///
    /// As [`Self::dense`], of the elements that the strides reach.
    #[must_use]
    pub unsafe fn strided(data: *mut c_void, dtype: Dtype, shape: &[i64], strides: Dims) -> Self {
        Self {
            data,
            dtype,
            shape: Dims::from_slice(shape),
            strides: Some(Box::new(strides)),
        }
    }

    /// The memory of an array, which stays alive and is reachable from the host.
    pub(crate) fn of_array(array: &Array) -> Self {
        Self {
            data: array.data(),
            dtype: array.dtype,
            shape: array.shape.clone(),
            strides: (!array.is_contiguous()).then(|| Box::new(array.strides.clone())),
        }
    }

    #[must_use]
    pub fn data(&self) -> *mut c_void {
        self.data
    }

    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Whether elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.strides.is_none()
    }

    /// In elements.
    pub(crate) fn strides(&self) -> Dims {
        self.strides
            .as_ref()
            .map_or_else(|| row_major(&self.shape), |own| (**own).clone())
    }

    /// Memory of complex numbers as memory of their parts, with one more axis, of two elements, behind the others.
    pub(crate) fn pairs(self) -> Self {
        let mut strides = self.strides();
        for stride in &mut strides {
            *stride *= 2;
        }
        strides.push(1);
        let mut shape = self.shape;
        shape.push(2);
        Self {
            data: self.data,
            dtype: complex_part(self.dtype),
            shape,
            strides: Some(Box::new(strides)),
        }
    }

    /// The real parts of complex numbers, or the imaginary ones.
    pub(crate) fn part(&self, is_imaginary: bool) -> Self {
        let mut strides = self.strides();
        for stride in &mut strides {
            *stride *= 2;
        }
        let dtype = complex_part(self.dtype);
        let behind = if is_imaginary { dtype.size_bytes() } else { 0 };
        Self {
            data: self.data.wrapping_byte_add(behind),
            dtype,
            shape: self.shape.clone(),
            strides: Some(Box::new(strides)),
        }
    }

    /// The tensor to read.
    ///
    /// # Errors
    ///
    /// None for strides as long as the shape.
    pub(crate) fn view(&self) -> Result<TensorView<'_>> {
        let strides = self.strides.as_deref().map(Dims::as_slice);
        // SAFETY: as was promised when this was made.
        let view =
            unsafe { TensorView::from_parts(self.data, self.dtype, HOST, &self.shape, strides) };
        Ok(view?)
    }

    /// The same memory with one more axis, of one element.
    pub(crate) fn with_axis(mut self, place: usize) -> Self {
        self.shape.insert(place, 1);
        if let Some(strides) = &mut self.strides {
            strides.insert(place, 1);
        }
        self
    }

    /// The tensor to write.
    ///
    /// # Errors
    ///
    /// None for strides as long as the shape.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        // SAFETY: as was promised when this was made.
        let view = unsafe {
            TensorViewMut::from_parts(
                self.data,
                self.dtype,
                HOST,
                &self.shape,
                self.strides.as_deref().map(Dims::as_slice),
            )
        };
        Ok(view?)
    }
}
