//! ops.h: reductions over axes.

use std::mem::offset_of;

use amdgpu_ops::complex::reduce;
use amdgpu_ops::reduce::{Reduce, ReduceOptions};

use super::{Call, dtype_of, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `agpu_ops_reduce_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CReduceOptions {
    size_bytes: u64,
    out: Handle,
    axes: Items<i64>,
    axis_count: u64,
    correction: f64,
    keeps_axes: u32,
    reserved: u32,
    dtype: Text,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CReduceOptions {
    const NAME: &'static str = "agpu_ops_reduce_options";
    const FIRST_BYTES: usize = offset_of!(Self, dtype);
}

/// `operation(x)` over axes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_reduce(
    operation: Text,
    x: Handle,
    options: Options<CReduceOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let operation = Reduce::from_name(name)
            .ok_or_else(|| unknown("operation", name, Reduce::ALL.into_iter().map(Reduce::name)))?;
        let given = options.read()?;
        let axes = given.axes.slice(given.axis_count as usize, "axes")?;
        let dtype = given.dtype.optional("dtype")?;
        let options = ReduceOptions {
            axes: (given.axis_count > 0).then_some(axes),
            keeps_axes: given.keeps_axes != 0,
            correction: given.correction,
            result: dtype.map(dtype_of).transpose()?,
            thread_limit: None,
        };
        let call = Call::of(name, &[("x", x)], &[], given.out)?;
        let made = reduce(&call.ops, operation, call.operand(0), call.out(), &options)?;
        place.write(call.insert(made));
        Ok(())
    })
}
