//! Element types by TensorFlow's numbers (`tensorflow/c/tf_datatype.h`).

use std::ffi::CStr;

use crate::failure::{Failure, Outcome};

/// A `TF_DataType` by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dtype(pub i32);

impl Dtype {
    pub const F32: Self = Self(1);
    pub const F64: Self = Self(2);
    pub const I32: Self = Self(3);
    pub const U8: Self = Self(4);
    pub const I16: Self = Self(5);
    pub const I8: Self = Self(6);
    pub const I64: Self = Self(9);
    pub const BOOL: Self = Self(10);
    pub const BF16: Self = Self(14);
    pub const U16: Self = Self(17);
    pub const F16: Self = Self(19);
    pub const U32: Self = Self(22);
    pub const U64: Self = Self(23);

    pub const ALL: [Self; 13] = [
        Self::F32,
        Self::F64,
        Self::I32,
        Self::U8,
        Self::I16,
        Self::I8,
        Self::I64,
        Self::BOOL,
        Self::BF16,
        Self::U16,
        Self::F16,
        Self::U32,
        Self::U64,
    ];

    /// Name in libamdgpu, which is also TensorFlow's.
    pub fn name(self) -> Outcome<&'static CStr> {
        Ok(match self {
            Self::F32 => c"float32",
            Self::F64 => c"float64",
            Self::I32 => c"int32",
            Self::U8 => c"uint8",
            Self::I16 => c"int16",
            Self::I8 => c"int8",
            Self::I64 => c"int64",
            Self::BOOL => c"bool",
            Self::BF16 => c"bfloat16",
            Self::U16 => c"uint16",
            Self::F16 => c"float16",
            Self::U32 => c"uint32",
            Self::U64 => c"uint64",
            Self(number) => {
                return Err(Failure::no_kernel(format!(
                    "arrays of amdgpu do not hold TensorFlow's dtype number {number}"
                )));
            }
        })
    }

    /// The dtype of a name in libamdgpu.
    pub fn of_name(name: &CStr) -> Outcome<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|one| one.name().is_ok_and(|own| own == name));
        found.ok_or_else(|| {
            Failure::refused(format!(
                "TensorFlow has no dtype for {}",
                name.to_string_lossy()
            ))
        })
    }

    pub fn item_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::BOOL => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            _ => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// In which several steps in a row are computed, so that each does not round to half precision.
    pub fn wide(self) -> Self {
        if self.is_half() { Self::F32 } else { self }
    }

    /// The signed integers in which sums of integers are computed.
    pub fn summed(self) -> Self {
        if self.is_float() { self } else { Self::I64 }
    }
}
