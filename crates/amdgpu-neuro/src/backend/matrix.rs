//! The Matrix core, in Zig.

use amdgpu_abi::Language;
use amdgpu_matrix::{DenseOptions, Matrix, TensorView, TensorViewMut};

use super::{DenseBackend, DenseBackendKind, DenseCall};
use crate::error::{Error, Result};

pub struct MatrixBackend {
    matrix: &'static Matrix,
}

impl MatrixBackend {
    /// # Errors
    ///
    /// `libagpu_matrix.so` is missing or stale.
    pub fn open() -> Result<Self> {
        let matrix = Matrix::global().map_err(|error| Error::from_core(&error))?;
        Ok(Self { matrix })
    }

    fn run(
        &self,
        call: &DenseCall<'_>,
        out: &mut [f32],
    ) -> std::result::Result<(), amdgpu_matrix::Error> {
        let x_shape = [call.batch as i64, call.inputs as i64];
        let weight_shape = [call.inputs as i64, call.outputs as i64];
        let bias_shape = [call.outputs as i64];
        let out_shape = [call.batch as i64, call.outputs as i64];
        let bias = call
            .bias
            .map(|bias| TensorView::from_slice(bias, &bias_shape))
            .transpose()?;
        self.matrix.dense_forward(
            &TensorView::from_slice(call.x, &x_shape)?,
            &TensorView::from_slice(call.weight, &weight_shape)?,
            bias.as_ref(),
            &mut TensorViewMut::from_slice(out, &out_shape)?,
            &DenseOptions {
                activation: call.activation,
                thread_limit: None,
            },
        )
    }
}

impl DenseBackend for MatrixBackend {
    fn name(&self) -> &'static str {
        DenseBackendKind::Matrix.name()
    }

    fn language(&self) -> Language {
        Language::Zig
    }

    fn dense_forward(&self, call: &DenseCall<'_>, out: &mut [f32]) -> Result<()> {
        call.check(out)?;
        self.run(call, out)
            .map_err(|error| Error::from_core(&error))
    }
}
