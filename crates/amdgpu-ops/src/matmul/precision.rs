//! What a matrix multiplication computes in.

use amdgpu_abi::Dtype;
use amdgpu_abi::dtypes::Precision;

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
