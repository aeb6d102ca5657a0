//! Conveniences over the generated [`Tensor`](crate::Tensor) and [`Dtype`](crate::Dtype).

use crate::layout::{
    DEVICE_CPU, DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_COMPLEX, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT,
    DeviceRef, Dtype, Tensor,
};

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

/// Every dtype that arrays may have, with the name NumPy gives it.
const NAMES: &[(&str, Dtype)] = &[
    ("bool", Dtype::new(DTYPE_BOOL, 8)),
    ("int8", Dtype::new(DTYPE_INT, 8)),
    ("int16", Dtype::new(DTYPE_INT, 16)),
    ("int32", Dtype::new(DTYPE_INT, 32)),
    ("int64", Dtype::new(DTYPE_INT, 64)),
    ("uint8", Dtype::new(DTYPE_UINT, 8)),
    ("uint16", Dtype::new(DTYPE_UINT, 16)),
    ("uint32", Dtype::new(DTYPE_UINT, 32)),
    ("uint64", Dtype::new(DTYPE_UINT, 64)),
    ("float16", Dtype::new(DTYPE_FLOAT, 16)),
    ("float32", Dtype::F32),
    ("float64", Dtype::F64),
    ("bfloat16", Dtype::new(DTYPE_BFLOAT, 16)),
    ("complex64", Dtype::new(DTYPE_COMPLEX, 64)),
    ("complex128", Dtype::new(DTYPE_COMPLEX, 128)),
];

impl Dtype {
    pub const F32: Self = Self::new(DTYPE_FLOAT, 32);
    pub const F64: Self = Self::new(DTYPE_FLOAT, 64);
    pub const F16: Self = Self::new(DTYPE_FLOAT, 16);
    pub const BF16: Self = Self::new(DTYPE_BFLOAT, 16);
    pub const I8: Self = Self::new(DTYPE_INT, 8);
    pub const I32: Self = Self::new(DTYPE_INT, 32);
    pub const I64: Self = Self::new(DTYPE_INT, 64);
    pub const U64: Self = Self::new(DTYPE_UINT, 64);
    pub const BOOL: Self = Self::new(DTYPE_BOOL, 8);

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
        NAMES
            .iter()
            .find(|(_, dtype)| *dtype == self)
            .map(|(name, _)| *name)
    }

    /// The dtype of a NumPy name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, dtype)| *dtype)
    }

    /// Every name that [`Dtype::from_name`] knows.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl Tensor {
    /// A tensor of host memory. The slices must outlive every use of the result: it holds their addresses.
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
