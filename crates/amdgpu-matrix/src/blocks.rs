//! Blocks of elements that lie at offsets from the beginning of an array: gathered to an array of their own, and scattered from one.

use std::mem::size_of;

use amdgpu_abi::layout::{
    DTYPE_COMPLEX, SCATTER_ADD, SCATTER_ASSIGN, SCATTER_MAXIMUM, SCATTER_MINIMUM, SCATTER_MULTIPLY,
};
use amdgpu_abi::{BlocksOptions, Dtype, ErrorCode, Executor, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

const GATHER: &str = "gather";
const SCATTER: &str = "scatter";

/// What a scatter does with a value and the element that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    Assign,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

impl Scatter {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assign => "assign",
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Assign,
            Self::Add,
            Self::Multiply,
            Self::Maximum,
            Self::Minimum,
        ]
        .into_iter()
        .find(|mode| mode.name() == name)
    }

    const fn code(self) -> u32 {
        match self {
            Self::Assign => SCATTER_ASSIGN,
            Self::Add => SCATTER_ADD,
            Self::Multiply => SCATTER_MULTIPLY,
            Self::Maximum => SCATTER_MAXIMUM,
            Self::Minimum => SCATTER_MINIMUM,
        }
    }

    /// Refuses what values of a dtype cannot do.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`: complex numbers are only assigned.
    pub fn check(self, dtype: Dtype) -> Result<(), Error> {
        if self == Self::Assign || dtype.code != DTYPE_COMPLEX {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{SCATTER}: {} is not known for values of dtype {}",
                self.name(),
                element::name(dtype)
            ),
        ))
    }
}

/// The elements at an offset.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    pub shape: &'a [i64],
    /// In elements.
    pub strides: &'a [i64],
}

impl Block<'_> {
    /// The offsets at which a block lies within an array of this shape and strides, from the lowest to the highest; none where the highest
    /// is below the lowest.
    ///
    /// # Errors
    ///
    /// `invalid-argument` where shape and strides differ in length or an extent is negative.
    pub fn bounds(&self, shape: &[i64], strides: &[i64]) -> Result<(i64, i64), Error> {
        if self.shape.len() != self.strides.len() || self.shape.iter().any(|extent| *extent < 0) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "a block has shape {:?} and strides {:?}",
                    self.shape, self.strides
                ),
            ));
        }
        if shape.contains(&0) {
            return Ok((0, -1));
        }
        let whole = reach(shape, strides);
        let own = reach(self.shape, self.strides);
        Ok((whole.0.saturating_sub(own.0), whole.1.saturating_sub(own.1)))
    }
}

/// The lowest and the highest element, from the first.
fn reach(shape: &[i64], strides: &[i64]) -> (i64, i64) {
    let mut reach = (0_i64, 0_i64);
    for (extent, stride) in shape.iter().zip(strides) {
        let step = (extent - 1).max(0).saturating_mul(*stride);
        reach.0 = reach.0.saturating_add(step.min(0));
        reach.1 = reach.1.saturating_add(step.max(0));
    }
    reach
}

/// What both operations hand over.
struct Call<'a> {
    block: Block<'a>,
    bounds: (i64, i64),
    mode: u32,
}

impl Call<'_> {
    fn options(&self, executor: *const Executor) -> BlocksOptions {
        BlocksOptions {
            size_bytes: size_of::<BlocksOptions>() as u64,
            block_rank: self.block.shape.len() as u64,
            block_shape: self.block.shape.as_ptr(),
            block_strides: self.block.strides.as_ptr(),
            lowest: self.bounds.0,
            highest: self.bounds.1,
            mode: self.mode,
            reserved: 0,
            executor,
        }
    }
}

fn bounds_of(block: &Block, layout: &Layout) -> Result<(i64, i64), Error> {
    block.bounds(layout.shape(), layout.strides())
}

/// Offsets as the library takes them.
fn offsets_layout(operation: &str, offsets: &TensorView) -> Result<Layout, Error> {
    let layout = Layout::of(operation, "offsets", offsets)?;
    if layout.dtype == Dtype::I64 {
        return Ok(layout);
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{operation}: offsets have dtype {}; they must be int64",
            element::name(layout.dtype)
        ),
    ))
}

/// The shape of the offsets, and behind it that of the block.
#[must_use]
pub fn blocks_shape(offsets: &[i64], block: &[i64]) -> Vec<i64> {
    offsets.iter().chain(block).copied().collect()
}

impl Matrix {
    /// `out[i..., b...] = x[offsets[i...] + sum of b * strides]`, counted in elements from index 0 of x, for elements of any dtype. `out` is
    /// row-major.
    ///
    /// # Errors
    ///
    /// `index-out-of-range` for an offset whose block leaves x; `shape-mismatch`, `unsupported-dtype`, `invalid-argument` for memory that is
    /// shared.
    pub fn gather(
        &self,
        x: &TensorView,
        offsets: &TensorView,
        block: Block,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static BOUNDARY: Boundary = crossing("agpu_matrix_gather");
        let source = Layout::of_any(GATHER, "x", x)?;
        let at = offsets_layout(GATHER, offsets)?;
        let target = Layout::of_any(GATHER, "out", &out.as_view())?;
        let shape = blocks_shape(at.shape(), block.shape);
        target.check_out(GATHER, source.dtype, &shape)?;
        target.check_dense(GATHER)?;
        target.check_apart(GATHER, "x", &source, false)?;
        target.check_apart(GATHER, "offsets", &at, false)?;
        let call = Call {
            block,
            bounds: bounds_of(&block, &source)?,
            mode: SCATTER_ASSIGN,
        };
        let tensors: [Tensor; 2] = [source.to_abi(), at.to_abi()];
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(2),
            dtype: source.dtype,
            thread_limit,
        };
        self.run_tensor(&BOUNDARY, &work, |executor| {
            let given = call.options(executor);
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.gather)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }

    /// The element at `offsets[i...] + sum of b * strides` of `target` takes in `values[i..., b...]`, in the order of the values, which
    /// broadcast to the shape of the offsets and behind it that of the block. Nothing is written where an offset is refused.
    ///
    /// # Errors
    ///
    /// As [`Self::gather`]; `unsupported-dtype` where values have another dtype than `target`, or complex ones are not just assigned.
    pub fn scatter(
        &self,
        target: &mut TensorViewMut,
        offsets: &TensorView,
        block: Block,
        values: &TensorView,
        mode: Scatter,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static BOUNDARY: Boundary = crossing("agpu_matrix_scatter");
        mode.check(values.dtype())?;
        let memory = Layout::of_any(SCATTER, "target", &target.as_view())?;
        let at = offsets_layout(SCATTER, offsets)?;
        let given = Layout::of_any(SCATTER, "values", values)?;
        if given.dtype != memory.dtype {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{SCATTER}: values have dtype {}, the target {}",
                    element::name(given.dtype),
                    element::name(memory.dtype)
                ),
            ));
        }
        let shape = blocks_shape(at.shape(), block.shape);
        let given = given.broadcast_into(SCATTER, "values", &shape)?;
        memory.check_apart(SCATTER, "values", &given, false)?;
        memory.check_apart(SCATTER, "offsets", &at, false)?;
        let call = Call {
            block,
            bounds: bounds_of(&block, &memory)?,
            mode: mode.code(),
        };
        let tensors: [Tensor; 2] = [at.to_abi(), given.to_abi()];
        let target_tensor = memory.to_abi();
        let work = Work {
            operations: given.len().saturating_mul(2),
            dtype: memory.dtype,
            thread_limit,
        };
        self.run_tensor(&BOUNDARY, &work, |executor| {
            let given = call.options(executor);
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.scatter)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_within_their_array() {
        let block = Block {
            shape: &[3],
            strides: &[-2],
        };
        // Rows of ten elements from the last to the first.
        assert_eq!(block.bounds(&[4, 10], &[-10, 1]).unwrap(), (-26, 9));
        assert_eq!(block.bounds(&[4, 0], &[-10, 1]).unwrap(), (0, -1));
        let wrong = Block {
            shape: &[3],
            strides: &[],
        };
        assert!(wrong.bounds(&[4], &[1]).is_err());
    }
}
