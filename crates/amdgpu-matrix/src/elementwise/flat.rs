//! Elementwise operations on operands without gaps: lengths instead of shapes, and nothing to check.

use std::ffi::c_void;
use std::mem::size_of;

use amdgpu_abi::{Dtype, Tensor};
use amdgpu_telemetry::Boundary;
use arrayvec::ArrayVec;

use super::{Elementwise, ElementwiseOptions};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, element};

/// Inputs of an elementwise operation at most.
pub const MAX_INPUTS: usize = 4;

/// One operand.
#[derive(Clone, Copy, Debug)]
pub enum Flat {
    /// As many adjacent elements as the result has.
    Each(*const c_void),
    /// One element for all.
    One(*const c_void),
}

/// One operand that was broadcast to the shape of the result.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast<'a> {
    pub data: *const c_void,
    pub dtype: Dtype,
    /// In elements; 0 along axes that it repeats on.
    pub strides: &'a [i64],
}

impl Elementwise {
    /// The dtype of the result where all inputs have `dtype` and meet in it; `None` for everything that [`Matrix::elementwise`] has to look at.
    #[inline]
    #[must_use]
    pub fn flat_result(self, dtype: Dtype) -> Option<Dtype> {
        if matches!(self, Self::Where) {
            return None;
        }
        let (common, result) = self.dtypes_of(dtype)?;
        (common == dtype && self.computed_as(common) == self).then_some(result)
    }
}

impl Matrix {
    /// `out[i] = operation(inputs[0][i], ...)` for i below `len`. Returns the moment of the end, 0 while telemetry is off.
    ///
    /// # Safety
    ///
    /// [`Elementwise::flat_result`] knows the operation for `dtype`, there are as many inputs as it has, and their elements are readable and of
    /// that dtype; `out` is writable for `len` elements of the result's dtype, is the very memory of an input or apart from it, and is used by
    /// nobody else meanwhile. All are aligned to their elements.
    ///
    /// # Errors
    ///
    /// What the executor reports.
    pub unsafe fn elementwise_flat(
        &self,
        operation: Elementwise,
        dtype: Dtype,
        inputs: &[Flat],
        out: (*mut c_void, Dtype),
        len: usize,
        options: &ElementwiseOptions,
    ) -> Result<u64, Error> {
        let shape = [len as i64];
        let (each, one) = ([1_i64], [0_i64]);
        let target = Tensor::host(out.0, out.1, &shape, Some(&each));
        let mut tensors: ArrayVec<Tensor, MAX_INPUTS> = ArrayVec::new();
        for input in inputs {
            let (data, strides) = match input {
                Flat::Each(data) => (data, &each),
                Flat::One(data) => (data, &one),
            };
            tensors.push(Tensor::host(data.cast_mut(), dtype, &shape, Some(strides)));
        }
        self.run_described(operation, dtype, &tensors, &target, len, options)
    }

    /// As [`Self::elementwise_flat`], with operands that were broadcast to the shape of a row-major `out`. Shapes have [`crate::MAX_RANK`]
    /// axes at most.
    ///
    /// # Safety
    ///
    /// As there, but that inputs have dtypes of their own, which meet in `dtype`; the elements that the strides reach are readable.
    ///
    /// # Errors
    ///
    /// What the executor reports.
    pub unsafe fn elementwise_broadcast(
        &self,
        operation: Elementwise,
        dtype: Dtype,
        inputs: &[Broadcast<'_>],
        out: (*mut c_void, Dtype),
        shape: &[i64],
        options: &ElementwiseOptions,
    ) -> Result<u64, Error> {
        let target = Tensor::host(out.0, out.1, shape, None);
        let mut tensors = [target; MAX_INPUTS];
        for (tensor, input) in tensors.iter_mut().zip(inputs) {
            *tensor = Tensor::host(
                input.data.cast_mut(),
                input.dtype,
                shape,
                Some(input.strides),
            );
        }
        let len = shape.iter().product::<i64>() as usize;
        self.run_described(
            operation,
            dtype,
            &tensors[..inputs.len()],
            &target,
            len,
            options,
        )
    }

    /// Both callers vouch for the memory behind the descriptions.
    fn run_described(
        &self,
        operation: Elementwise,
        dtype: Dtype,
        inputs: &[Tensor],
        target: &Tensor,
        len: usize,
        options: &ElementwiseOptions,
    ) -> Result<u64, Error> {
        static ELEMENTWISE: Boundary = crossing("agpu_matrix_elementwise");
        let work = Work {
            operations: (len as u64).saturating_mul(operation.cost()),
            dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor_until(&ELEMENTWISE, &work, |executor| {
            let given = amdgpu_abi::ElementwiseOptions {
                size_bytes: size_of::<amdgpu_abi::ElementwiseOptions>() as u64,
                operation: operation.number(),
                compute: element::compute_type(dtype),
                alpha: options.alpha,
                executor,
            };
            // SAFETY: as the callers' callers promise; the descriptions live until the call returns.
            unsafe {
                (self.symbols.elementwise)(
                    inputs.as_ptr(),
                    inputs.len() as u64,
                    &raw const *target,
                    &raw const given,
                )
            }
        })
    }
}
