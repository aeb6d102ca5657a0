//! The Math core, in Julia.

use amdgpu_abi::Language;
use amdgpu_math::Math;

use super::{DenseBackend, DenseBackendKind, DenseCall};
use crate::error::{Error, Result};

pub struct MathBackend {
    math: &'static Math,
}

impl MathBackend {
    /// Starts the Julia runtime when it does not run yet.
    ///
    /// # Errors
    ///
    /// There is no usable Julia, or its kernels are missing or stale.
    pub fn open() -> Result<Self> {
        let math = Math::global().map_err(|error| Error::from_core(&error))?;
        Ok(Self { math })
    }
}

impl DenseBackend for MathBackend {
    fn name(&self) -> &'static str {
        DenseBackendKind::Math.name()
    }

    fn language(&self) -> Language {
        Language::Julia
    }

    fn dense_forward(&self, call: &DenseCall<'_>, out: &mut [f32]) -> Result<()> {
        call.check(out)?;
        self.math
            .dense_forward(
                call.x,
                call.weight,
                call.bias,
                out,
                call.batch,
                call.inputs,
                call.outputs,
                call.activation,
            )
            .map_err(|error| Error::from_core(&error))
    }
}
