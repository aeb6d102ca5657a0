//! Rows of a table, gathered by index.

use std::mem::size_of;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

const NAME: &str = "embedding";

/// Shape and dtype of `table[indices]`.
///
/// # Errors
///
/// `shape-mismatch` when the table has no rows to index, `unsupported-dtype` when the indices are not int32 or int64.
pub fn describe_embedding(table: &TensorView, indices: &TensorView) -> Result<Described, Error> {
    if table.shape().is_empty() {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!("{NAME}: table has no axes; rows are gathered along its first"),
        ));
    }
    if indices.dtype() != Dtype::I32 && indices.dtype() != Dtype::I64 {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{NAME}: indices have dtype {}; they must be int32 or int64",
                element::name(indices.dtype())
            ),
        ));
    }
    let shape = indices.shape().iter().chain(&table.shape()[1..]);
    Ok(Described {
        shape: shape.copied().collect(),
        dtype: table.dtype(),
    })
}

impl Matrix {
    /// `out[i..., :] = table[indices[i...], :]`; negative indices are refused.
    ///
    /// # Errors
    ///
    /// As [`describe_embedding`]; `invalid-argument` for an index that is no row (nothing is written then), or memory shared with `out`.
    pub fn embedding(
        &self,
        table: &TensorView,
        indices: &TensorView,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static EMBEDDING: Boundary = crossing("agpu_matrix_embedding");
        let described = describe_embedding(table, indices)?;
        let layouts = [
            Layout::of(NAME, "table", table)?,
            Layout::of(NAME, "indices", indices)?,
        ];
        let target = Layout::of(NAME, "out", &out.as_view())?;
        target.check_out(NAME, described.dtype, &described.shape)?;
        target.check_apart(NAME, "table", &layouts[0], false)?;
        target.check_apart(NAME, "indices", &layouts[1], false)?;
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len(),
            dtype: described.dtype,
            thread_limit,
        };
        self.run_tensor(&EMBEDDING, &work, |executor| {
            let given = amdgpu_abi::EmbeddingOptions {
                size_bytes: size_of::<amdgpu_abi::EmbeddingOptions>() as u64,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.embedding)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
