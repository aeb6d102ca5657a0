//! ops.h: matrix multiplication.

use amdgpu_ops::complex;
use amdgpu_ops::matmul::{Activation, Matmul, NAME, Precision};

use super::{Call, unknown};
use crate::borrowed::{Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Status, answer};

/// `agpu_ops_matmul_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MatmulOptions {
    size_bytes: u64,
    out: Handle,
    bias: Handle,
    residual: Handle,
    activation: Text,
    precision: Text,
    alpha: f64,
    beta: f64,
    has_factors: u32,
    transpose_a: u32,
    transpose_b: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for MatmulOptions {
    const NAME: &'static str = "agpu_ops_matmul_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl MatmulOptions {
    fn activation(&self) -> Answer<Activation> {
        let Some(name) = self.activation.optional("activation")? else {
            return Ok(Activation::Identity);
        };
        let known = Activation::ALL.into_iter().map(Activation::name);
        Activation::from_name(name).ok_or_else(|| unknown("activation", name, known))
    }

    fn precision(&self) -> Answer<Option<Precision>> {
        let Some(name) = self.precision.optional("precision")? else {
            return Ok(None);
        };
        let known = Precision::ALL.into_iter().map(Precision::name);
        let found = Precision::from_name(name).ok_or_else(|| unknown("precision", name, known))?;
        Ok(Some(found))
    }
}

/// `activation(alpha * (a @ b) + beta * out + bias + residual)`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_matmul(
    a: Handle,
    b: Handle,
    options: Options<MatmulOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let options = options.read()?;
        let more = [("bias", options.bias), ("residual", options.residual)];
        let call = Call::of(NAME, &[("a", a), ("b", b)], &more, options.out)?;
        let mut description = Matmul::of(call.operand(0), call.operand(1));
        description.out = call.out();
        description.bias = call.optional(0);
        description.residual = call.optional(1);
        description.transpose_a = options.transpose_a != 0;
        description.transpose_b = options.transpose_b != 0;
        if options.has_factors != 0 {
            (description.alpha, description.beta) = (options.alpha, options.beta);
        }
        description.activation = options.activation()?;
        description.precision = options.precision()?;
        let made = complex::matmul(&call.ops, &description)?;
        place.write(call.insert(made));
        Ok(())
    })
}
