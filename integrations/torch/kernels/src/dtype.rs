//! Element types by torch's numbers, and how they meet.
//!
//! Source: `c10/core/ScalarType.h` and `c10/core/ScalarType.cpp` (`promoteTypes`) of PyTorch.

use std::ffi::CStr;

use crate::failure::{Failure, Outcome};

/// A `ScalarType` by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype(pub i32);

/// What kind of numbers a dtype has, in the order in which kinds take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

impl Dtype {
    pub const U8: Self = Self(0);
    pub const I8: Self = Self(1);
    pub const I16: Self = Self(2);
    pub const I32: Self = Self(3);
    pub const I64: Self = Self(4);
    pub const F16: Self = Self(5);
    pub const F32: Self = Self(6);
    pub const F64: Self = Self(7);
    pub const C64: Self = Self(9);
    pub const C128: Self = Self(10);
    pub const BOOL: Self = Self(11);
    pub const BF16: Self = Self(15);
    pub const U16: Self = Self(27);
    pub const U32: Self = Self(28);
    pub const U64: Self = Self(29);

    /// Name in libamdgpu.
    pub fn name(self) -> Outcome<&'static CStr> {
        Ok(match self {
            Self::U8 => c"uint8",
            Self::I8 => c"int8",
            Self::I16 => c"int16",
            Self::I32 => c"int32",
            Self::I64 => c"int64",
            Self::F16 => c"float16",
            Self::F32 => c"float32",
            Self::F64 => c"float64",
            Self::C64 => c"complex64",
            Self::C128 => c"complex128",
            Self::BOOL => c"bool",
            Self::BF16 => c"bfloat16",
            Self::U16 => c"uint16",
            Self::U32 => c"uint32",
            Self::U64 => c"uint64",
            Self(number) => {
                return Err(Failure::no_kernel(format!(
                    "arrays of amdgpu do not hold torch's dtype number {number}"
                )));
            }
        })
    }

    /// The dtype of a name in libamdgpu.
    pub fn of_name(name: &CStr) -> Outcome<Self> {
        let all = [
            Self::U8,
            Self::I8,
            Self::I16,
            Self::I32,
            Self::I64,
            Self::F16,
            Self::F32,
            Self::F64,
            Self::C64,
            Self::C128,
            Self::BOOL,
            Self::BF16,
            Self::U16,
            Self::U32,
            Self::U64,
        ];
        let found = { all.into_iter() }.find(|one| one.name().is_ok_and(|own| own == name));
        found.ok_or_else(|| Failure::refused(format!("torch has no dtype for {name:?}")))
    }

    pub fn item_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::BOOL => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::C128 => 16,
            _ => 8,
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::BOOL => Kind::Bool,
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 => Kind::Float,
            Self::C64 | Self::C128 => Kind::Complex,
            _ => Kind::Integer,
        }
    }

    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    pub fn is_integral(self) -> bool {
        matches!(self.kind(), Kind::Bool | Kind::Integer)
    }

    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// In which several steps in a row are computed, so that each does not round to half precision.
    pub fn wide(self) -> Self {
        if self.is_half() { Self::F32 } else { self }
    }

    /// The dtype of the parts of complex numbers; of others their own.
    pub fn part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    fn to_complex(self) -> Self {
        match self {
            Self::F64 | Self::C128 => Self::C128,
            _ => Self::C64,
        }
    }

    fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// The dtype that holds values of both, as `torch.promote_types` says.
    pub fn promoted(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let (low, high) = if self.kind() <= other.kind() {
            (self, other)
        } else {
            (other, self)
        };
        if low.kind() != high.kind() {
            return match high.kind() {
                Kind::Complex if low.is_float() => high.promoted(low.to_complex()),
                _ => high,
            };
        }
        match high.kind() {
            Kind::Bool => high,
            Kind::Complex => Self::C128,
            Kind::Float => {
                if self.is_half() && other.is_half() {
                    Self::F32
                } else if self.item_bytes() > other.item_bytes() {
                    self
                } else {
                    other
                }
            }
            Kind::Integer => Self::promoted_integers(self, other),
        }
    }

    fn promoted_integers(a: Self, b: Self) -> Self {
        let (small, large) = if a.item_bytes() <= b.item_bytes() {
            (a, b)
        } else {
            (b, a)
        };
        match (small.is_unsigned(), large.is_unsigned()) {
            (false, false) | (true, true) => large,
            (true, false) if small.item_bytes() < large.item_bytes() => large,
            _ if large.item_bytes() == 1 => Self::I16,
            _ if large.item_bytes() == 2 => Self::I32,
            _ => Self::I64,
        }
    }
}

/// What values of a tensor or number count as where dtypes meet: `torch.result_type`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promotion {
    arrays: Option<Dtype>,
    zero_axes: Option<Dtype>,
    numbers: Option<Dtype>,
}

impl Promotion {
    fn join(place: &mut Option<Dtype>, dtype: Dtype) {
        *place = Some(place.map_or(dtype, |known| known.promoted(dtype)));
    }

    pub fn array(&mut self, dtype: Dtype) {
        Self::join(&mut self.arrays, dtype);
    }

    pub fn without_axes(&mut self, dtype: Dtype) {
        Self::join(&mut self.zero_axes, dtype);
    }

    pub fn number(&mut self, dtype: Dtype) {
        Self::join(&mut self.numbers, dtype);
    }

    /// The common dtype.
    pub fn result(self) -> Dtype {
        let lower = Self::combined(self.zero_axes, self.numbers);
        Self::combined(self.arrays, lower).unwrap_or(Dtype::F32)
    }

    /// `combine_categories` of aten/src/ATen/native/TypeProperties.cpp.
    fn combined(higher: Option<Dtype>, lower: Option<Dtype>) -> Option<Dtype> {
        let (Some(first), Some(second)) = (higher, lower) else {
            return higher.or(lower);
        };
        Some(match first.kind() {
            Kind::Float if second.is_complex() => first.to_complex(),
            Kind::Complex | Kind::Float => first,
            Kind::Integer if second.is_integral() => first,
            Kind::Bool | Kind::Integer => first.promoted(second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_meet_as_in_torch() {
        let cases = [
            (Dtype::I32, Dtype::F32, Dtype::F32),
            (Dtype::U8, Dtype::I8, Dtype::I16),
            (Dtype::U8, Dtype::I64, Dtype::I64),
            (Dtype::BOOL, Dtype::U8, Dtype::U8),
            (Dtype::F16, Dtype::BF16, Dtype::F32),
            (Dtype::I64, Dtype::F16, Dtype::F16),
            (Dtype::F64, Dtype::C64, Dtype::C128),
            (Dtype::F32, Dtype::C64, Dtype::C64),
        ];
        for (a, b, wanted) in cases {
            assert_eq!((a.promoted(b), b.promoted(a)), (wanted, wanted));
        }
    }

    #[test]
    fn numbers_do_not_widen_arrays_of_their_kind() {
        let meet = |array, number| {
            let mut promotion = Promotion::default();
            promotion.array(array);
            promotion.number(number);
            promotion.result()
        };
        assert_eq!(meet(Dtype::F16, Dtype::F64), Dtype::F16);
        assert_eq!(meet(Dtype::I32, Dtype::I64), Dtype::I32);
        assert_eq!(meet(Dtype::I32, Dtype::F32), Dtype::F32);
        assert_eq!(meet(Dtype::BOOL, Dtype::I64), Dtype::I64);
        assert_eq!(meet(Dtype::F64, Dtype::C64), Dtype::C128);
    }
}
