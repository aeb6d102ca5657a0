//! Conveniences over the generated [`Tensor`](crate::Tensor) and [`Dtype`](crate::Dtype).

use crate::dtypes::DTYPES;
use crate::layout::{DEVICE_CPU, DeviceRef, Dtype, Tensor};

impl PartialEq for Dtype {
    fn eq(&self, other: &Self) -> bool {
        (self.code, self.bits, self.lanes) == (other.code, other.bits, other.lanes)
    }
}

impl Eq for Dtype {}

impl std::hash::Hash for Dtype {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.code, self.bits, self.lanes).hash(state);
    }
}

impl Dtype {
    /// A scalar dtype (one lane).
    #[must_use]
    pub const fn new(code: u8, bits: u8) -> Self {
        Self {
            code,
            bits,
            lanes: 1,
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }

    /// NumPy's name of the dtype, for example `float32`; `None` for what arrays cannot hold.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// The dtype of a NumPy name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        DTYPES
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.dtype)
    }

    /// Every name that [`Dtype::from_name`] knows.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        DTYPES.iter().map(|row| row.name)
    }
}

impl Tensor {
    /// A tensor of host memory. The slices must outlive every use of the result: it holds their addresses.
    #[inline]
    #[must_use]
    pub fn host(
        data: *mut std::ffi::c_void,
        dtype: Dtype,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Self {
        Self {
            data,
            device: DeviceRef {
                device_type: DEVICE_CPU,
                device_id: 0,
            },
            ndim: shape.len() as i32,
            dtype,
            shape: shape.as_ptr().cast_mut(),
            strides: strides.map_or(std::ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
            byte_offset: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtype_names_round_trip() {
        for name in Dtype::known_names() {
            assert_eq!(Dtype::from_name(name).and_then(Dtype::name), Some(name));
        }
        assert_eq!(Dtype::from_name("float8"), None);
        assert_eq!(
            Dtype::from_name("complex128").map(Dtype::size_bytes),
            Some(16)
        );
    }
}
