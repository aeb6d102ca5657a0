//! Borrowed tensors that cannot reach outside the memory they borrow.

use std::ffi::c_void;
use std::marker::PhantomData;

use amdgpu_abi::{DEVICE_CPU, DeviceRef, Dtype, Tensor};

use crate::Error;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Element types of slices that become views.
pub trait Element: sealed::Sealed + Copy {
    const DTYPE: Dtype;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
}

const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// A tensor to read. Strides count elements; `None` means row-major contiguous.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    data: *const c_void,
    dtype: Dtype,
    device: DeviceRef,
    shape: &'a [i64],
    strides: Option<&'a [i64]>,
    memory: PhantomData<&'a [u8]>,
}

/// A tensor to write.
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    view: TensorView<'a>,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a view is a shared borrow of memory without interior mutability.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}
// SAFETY: an exclusive borrow moves between threads as `&mut [u8]` does.
unsafe impl Send for TensorViewMut<'_> {}
// SAFETY: a shared reference to it gives no access to the memory.
unsafe impl Sync for TensorViewMut<'_> {}

impl<'a> TensorView<'a> {
    /// A row-major tensor that fills `data`.
    ///
    /// # Errors
    ///
    /// `invalid-argument` when the shape does not have as many elements as the slice.
    ///
    /// ```
    /// # use amdgpu_matrix::TensorView;
    /// let view = TensorView::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    /// assert_eq!(view.shape(), [2, 3]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn from_slice<T: Element>(data: &'a [T], shape: &'a [i64]) -> Result<Self, Error> {
        check_filled(data.len(), shape)?;
        Ok(Self {
            data: data.as_ptr().cast(),
            dtype: T::DTYPE,
            device: HOST,
            shape,
            strides: None,
            memory: PhantomData,
        })
    }

    /// A strided tensor within `data`; index 0 lies at element `first`.
    ///
    /// # Errors
    ///
    /// `invalid-argument` when some index lies outside the slice, or shape and strides differ in length.
    pub fn from_strided<T: Element>(
        data: &'a [T],
        first: usize,
        shape: &'a [i64],
        strides: &'a [i64],
    ) -> Result<Self, Error> {
        check_strided(data.len(), first, shape, strides)?;
        Ok(Self {
            // An empty tensor may start past the end, where no address may be made.
            data: data.get(first..).unwrap_or_default().as_ptr().cast(),
            dtype: T::DTYPE,
            device: HOST,
            shape,
            strides: Some(strides),
            memory: PhantomData,
        })
    }

    /// Shape and dtype of a tensor whose memory is elsewhere, for the rules that describe a result. Work on it is refused, as on null data.
    #[must_use]
    pub fn without_memory(shape: &'a [i64], dtype: Dtype) -> Self {
        Self {
            data: std::ptr::null(),
            dtype,
            device: HOST,
            shape,
            strides: None,
            memory: PhantomData,
        }
    }

    /// A tensor somewhere, as foreign code describes it. Dtype, device and number of dimensions are checked when it is used.
    ///
    /// # Safety
    ///
    /// Every element that shape and strides reach from `data` must be readable for `'a` and not written by others meanwhile. Null data
    /// is refused at use.
    ///
    /// # Errors
    ///
    /// `invalid-argument` when shape and strides differ in length.
    pub unsafe fn from_parts(
        data: *const c_void,
        dtype: Dtype,
        device: DeviceRef,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
    ) -> Result<Self, Error> {
        if let Some(strides) = strides {
            check_lengths(shape, strides)?;
        }
        Ok(Self {
            data,
            dtype,
            device,
            shape,
            strides,
            memory: PhantomData,
        })
    }

    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        self.shape
    }

    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// In elements; `None` means row-major contiguous.
    #[must_use]
    pub fn strides(&self) -> Option<&'a [i64]> {
        self.strides
    }

    /// Address of index 0.
    #[must_use]
    pub fn data(&self) -> *const c_void {
        self.data
    }

    /// As the C ABI sees it: the very same memory. Borrows the shape and strides of the view.
    pub(crate) fn to_abi(self) -> Tensor {
        Tensor {
            device: self.device,
            ..Tensor::host(self.data.cast_mut(), self.dtype, self.shape, self.strides)
        }
    }
}

impl<'a> TensorViewMut<'a> {
    /// A row-major tensor that fills `data`.
    ///
    /// # Errors
    ///
    /// As [`TensorView::from_slice`].
    pub fn from_slice<T: Element>(data: &'a mut [T], shape: &'a [i64]) -> Result<Self, Error> {
        Ok(Self {
            view: TensorView::from_slice(data, shape)?,
            memory: PhantomData,
        })
    }

    /// A strided tensor within `data`; index 0 lies at element `first`.
    ///
    /// # Errors
    ///
    /// As [`TensorView::from_strided`].
    pub fn from_strided<T: Element>(
        data: &'a mut [T],
        first: usize,
        shape: &'a [i64],
        strides: &'a [i64],
    ) -> Result<Self, Error> {
        Ok(Self {
            view: TensorView::from_strided(data, first, shape, strides)?,
            memory: PhantomData,
        })
    }

    /// A tensor somewhere, as foreign code describes it.
    ///
    /// # Safety
    ///
    /// Every element that shape and strides reach from `data` must be writable for `'a`, and used by nobody else meanwhile; views to read
    /// may overlap it, because that is checked and refused.
    ///
    /// # Errors
    ///
    /// As [`TensorView::from_parts`].
    pub unsafe fn from_parts(
        data: *mut c_void,
        dtype: Dtype,
        device: DeviceRef,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
    ) -> Result<Self, Error> {
        // SAFETY: passed on from the caller.
        let view = unsafe { TensorView::from_parts(data, dtype, device, shape, strides) }?;
        Ok(Self {
            view,
            memory: PhantomData,
        })
    }

    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        self.view.shape
    }

    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.view.dtype
    }

    /// In elements; `None` means row-major contiguous.
    #[must_use]
    pub fn strides(&self) -> Option<&'a [i64]> {
        self.view.strides
    }

    /// Address of index 0.
    #[must_use]
    pub fn data(&self) -> *mut c_void {
        self.view.data.cast_mut()
    }

    pub(crate) fn as_abi(&mut self) -> Tensor {
        self.view.to_abi()
    }

    /// The description alone; the memory is not read through it.
    pub(crate) fn as_view(&mut self) -> TensorView<'a> {
        self.view
    }
}

fn check_filled(len: usize, shape: &[i64]) -> Result<(), Error> {
    let elements = shape
        .iter()
        .try_fold(1_usize, |total, &extent| {
            total.checked_mul(usize::try_from(extent).ok()?)
        })
        .ok_or_else(|| {
            Error::InvalidView(format!(
                "the shape {shape:?} is negative or larger than memory"
            ))
        })?;
    if elements == len {
        return Ok(());
    }
    Err(Error::InvalidView(format!(
        "the shape {shape:?} has {elements} elements, the slice has {len}"
    )))
}

fn check_lengths(shape: &[i64], strides: &[i64]) -> Result<(), Error> {
    if shape.len() == strides.len() {
        return Ok(());
    }
    Err(Error::InvalidView(format!(
        "shape {shape:?} and strides {strides:?} differ in length"
    )))
}

fn check_strided(len: usize, first: usize, shape: &[i64], strides: &[i64]) -> Result<(), Error> {
    check_lengths(shape, strides)?;
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        return Err(Error::InvalidView(format!(
            "the shape {shape:?} holds {extent}; extents are not negative"
        )));
    }
    if shape.contains(&0) {
        return Ok(());
    }
    let (mut lowest, mut highest) = (first as i128, first as i128);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let reach = i128::from(extent - 1) * i128::from(stride);
        if reach < 0 {
            lowest += reach;
        } else {
            highest += reach;
        }
    }
    if lowest >= 0 && highest < len as i128 {
        return Ok(());
    }
    Err(Error::InvalidView(format!(
        "shape {shape:?} with strides {strides:?} reaches elements {lowest} to {highest} of a slice of {len}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_cannot_leave_its_slice() {
        let data = [0.0_f32; 12];
        assert!(TensorView::from_slice(&data, &[3, 4]).is_ok());
        assert!(TensorView::from_slice(&data, &[3, 5]).is_err());
        assert!(TensorView::from_slice(&data, &[-3, -4]).is_err());
        assert!(TensorView::from_slice(&data, &[i64::MAX, i64::MAX]).is_err());
        assert!(TensorView::from_strided(&data, 11, &[3, 4], &[-4, -1]).is_ok());
        assert!(TensorView::from_strided(&data, 10, &[3, 4], &[-4, -1]).is_err());
        assert!(TensorView::from_strided(&data, 0, &[3, 4], &[4]).is_err());
        assert!(TensorView::from_strided(&data, 0, &[4, 4], &[4, 1]).is_err());
        assert!(TensorView::from_strided(&data, 0, &[2, 2], &[i64::MAX, i64::MAX]).is_err());
        assert!(TensorView::from_strided(&data, 99, &[0, 4], &[4, 1]).is_ok());
    }

    #[test]
    fn the_abi_tensor_names_the_same_memory() {
        let mut data = [0.0_f64; 6];
        let address = data.as_ptr().addr();
        let shape = [2, 3];
        let tensor = TensorViewMut::from_slice(&mut data, &shape)
            .unwrap()
            .as_abi();
        assert_eq!(tensor.data.addr(), address);
        assert_eq!(tensor.ndim, 2);
        assert!(tensor.strides.is_null());
    }
}
