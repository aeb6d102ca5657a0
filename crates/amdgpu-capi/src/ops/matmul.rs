//! ops.h: matrix multiplication.

use std::sync::Arc;

use amdgpu_ops::matmul::{Activation, HostMatmul, Matmul, NAME, Precision, on_host};
use amdgpu_ops::{DeviceOps, Operand, complex};

use smallvec::SmallVec;

use super::operand::{COperand, MEMORY};
use super::{Call, in_place, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

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

    fn transposes(&self) -> [bool; 2] {
        [self.transpose_a != 0, self.transpose_b != 0]
    }

    /// Alpha and beta.
    fn factors(&self) -> (f64, f64) {
        if self.has_factors == 0 {
            return (1.0, 0.0);
        }
        (self.alpha, self.beta)
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
        [description.transpose_a, description.transpose_b] = options.transposes();
        (description.alpha, description.beta) = options.factors();
        description.activation = options.activation()?;
        description.precision = options.precision()?;
        let made = complex::matmul(&call.ops, &description)?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// The same of memory at addresses, into the memory of `out`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_matmul_at(
    device: Handle,
    a: Items<COperand>,
    b: Items<COperand>,
    bias: Items<COperand>,
    options: Options<MatmulOptions>,
    out: Items<COperand>,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let options = options.read()?;
        if ![options.out, options.bias, options.residual]
            .iter()
            .all(|handle| handle.is_null())
        {
            return Err(Failure::invalid(
                "options has handles; bias and out are operands here",
            ));
        }
        let [a, b, out] =
            [(a, "a"), (b, "b"), (out, "out")].map(|(items, name)| memory(items, name));
        let (a, b, out) = (a?, b?, out?);
        let bias = (!bias.is_null())
            .then(|| memory(bias, "bias"))
            .transpose()?;
        let inputs: SmallVec<[&COperand; 3]> = [a, b].into_iter().chain(bias).collect();
        let (activation, precision) = (options.activation()?, options.precision()?);
        let (alpha, beta) = options.factors();
        let is_done = in_place::multiplied(&device, &inputs, out, |views, host| {
            let call = HostMatmul {
                precision,
                transposes: options.transposes(),
                bias: views.get(2).copied(),
                activation: Some(activation.to_abi()),
                alpha,
                beta,
                ..HostMatmul::of(views[0], views[1])
            };
            on_host(&call, host)
        })?;
        if is_done {
            return Ok(());
        }
        generally(&device, &inputs, &options, out)
    })
}

/// An operand that is memory.
fn memory<'a>(items: Items<COperand>, name: &str) -> Answer<&'a COperand> {
    let operand = &items.slice(1, name)?[0];
    if operand.kind != MEMORY {
        return Err(Failure::invalid(format!("{name} is a number; pass memory")));
    }
    Ok(operand)
}

/// On arrays over the memory.
fn generally(
    device: &Arc<DeviceObject>,
    inputs: &[&COperand],
    options: &MatmulOptions,
    out: &COperand,
) -> Answer {
    let out = out.array(device)?;
    let operands: Vec<Operand> = inputs
        .iter()
        .map(|one| one.operand(device))
        .collect::<Answer<_>>()?;
    toolchain::of_process();
    let ops = DeviceOps::of(device.context.open_device()?)?;
    let mut description = Matmul::of(&operands[0], &operands[1]);
    description.out = Some(&out);
    description.bias = operands.get(2);
    [description.transpose_a, description.transpose_b] = options.transposes();
    (description.alpha, description.beta) = options.factors();
    description.activation = options.activation()?;
    description.precision = options.precision()?;
    complex::matmul(&ops, &description)?;
    Ok(())
}
