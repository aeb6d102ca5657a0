//! What a matrix multiplication computes in.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::is_float;

/// What a matrix multiplication computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    Fp64,
    Fp32,
    /// Operands may lose digits to the matrix units of NVIDIA; sums are float32.
    Tf32,
    Fp16,
    Bf16,
    Int8,
}

impl Precision {
    pub const ALL: [Self; 6] = [
        Self::Fp64,
        Self::Fp32,
        Self::Tf32,
        Self::Fp16,
        Self::Bf16,
        Self::Int8,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// What is computed in where the caller does not say it: float64 for values with digits that float32 has not.
    #[must_use]
    pub fn of_dtypes(a: Dtype, b: Dtype) -> Self {
        let is_wide = |dtype: Dtype| dtype == Dtype::F64 || (!is_float(dtype) && dtype.bits >= 32);
        if is_wide(a) || is_wide(b) {
            Self::Fp64
        } else {
            Self::Fp32
        }
    }
}

/// Dtypes of the result and of the sums, and what operands are rounded to.
pub struct Kinds {
    pub result: Dtype,
    pub sums: Dtype,
    pub rounding: Option<Dtype>,
}

impl Kinds {
    pub fn of(precision: Precision, a: Dtype, b: Dtype) -> Self {
        let alike = |dtype| Self {
            result: dtype,
            sums: dtype,
            rounding: None,
        };
        let narrow = |dtype| {
            if a == dtype && b == dtype {
                Self {
                    result: dtype,
                    ..alike(Dtype::F32)
                }
            } else {
                Self {
                    rounding: Some(dtype),
                    ..alike(Dtype::F32)
                }
            }
        };
        match precision {
            Precision::Int8 => alike(Dtype::I32),
            Precision::Fp64 => alike(Dtype::F64),
            Precision::Fp32 | Precision::Tf32 => alike(Dtype::F32),
            Precision::Fp16 => narrow(Dtype::F16),
            Precision::Bf16 => narrow(Dtype::BF16),
        }
    }
}
