//! The updates of optimizers on a device: the float32 operations of `training::optimizer` in the same order. Products have names, so that they
//! are not fused with sums: the bits are those of the CPU.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_ops::generated::elementwise::Body;
use amdgpu_ops::reduce::{self, Reduce, ReduceOptions};
use amdgpu_ops::{DeviceOps, Operand, elementwise};

use super::layers::{compute, number};
use super::tensor::numbers;
use crate::error::Result;
use crate::training::{AdamStep, Optimizer, StepSize};

/// `x` changed in place by statements of x, y, z … and the numbers behind them.
fn change(
    ops: &DeviceOps,
    name: &str,
    text: &str,
    (x, beside): (&Array, &[&Array]),
    factors: &[f32],
) -> Result<()> {
    let arrays = std::iter::once(&x).chain(beside);
    let arrays = arrays.map(|array| Operand::of_array((*array).clone()));
    let factors = factors.iter().map(|value| number(*value));
    let operands: Vec<Operand> = arrays.chain(factors).collect();
    let body = Body::Statements {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    compute(ops, &body, &operands, x, 0.0)
}

/// `mean = decay * mean + (1 - decay) * gradient`.
fn average(ops: &DeviceOps, mean: &Array, gradient: &Array, decay: f32) -> Result<()> {
    let text = "const C kept = z * x; const C added = w * y; return kept + added;";
    let factors = [decay, 1.0 - decay];
    change(ops, "moving average", text, (mean, &[gradient]), &factors)
}

/// Changes weights by their gradients; `slots` are the numbers that the optimizer keeps for them.
pub(crate) fn update(
    ops: &DeviceOps,
    optimizer: Optimizer,
    size: StepSize,
    gradients: &Array,
    slots: &[Array],
    weights: &Array,
) -> Result<()> {
    let rate = size.learning_rate as f32;
    let descend = |along: &Array| {
        let text = "const C down = z * y; return x - down;";
        change(ops, "descend", text, (weights, &[along]), &[rate])
    };
    match (optimizer, slots) {
        (Optimizer::Momentum { momentum }, [velocity]) => {
            let text = "const C kept = z * x; return kept + y;";
            let beside = (velocity, &[gradients][..]);
            change(ops, "momentum", text, beside, &[momentum])?;
            descend(velocity)
        }
        (Optimizer::Adaptive { decay }, [mean]) => {
            average(ops, mean, gradients, decay)?;
            let text =
                "const C rate = w / ((C)1 + F(fabs)(z)); const C down = rate * y; return x - down;";
            let beside = (weights, &[mean, gradients][..]);
            change(ops, "adaptive", text, beside, &[rate])
        }
        (
            Optimizer::Adam {
                beta_1,
                beta_2,
                epsilon,
            },
            [first, second],
        ) => {
            average(ops, first, gradients, beta_1)?;
            let text = "const C kept = z * x; const C square = y * y; const C added = w * square; return kept + added;";
            let factors = [beta_2, 1.0 - beta_2];
            let beside = (second, &[gradients][..]);
            change(ops, "average of squares", text, beside, &factors)?;
            let AdamStep { step, root } = AdamStep::of(beta_1, beta_2, size);
            let text = "const C scaled = F(sqrt)(z) / v; const C down = w * y / (scaled + u); return x - down;";
            let beside = (weights, &[first, second][..]);
            change(ops, "adam", text, beside, &[step, root, epsilon])
        }
        _ => descend(gradients),
    }
}

/// `gradients += penalty * weights`.
pub(crate) fn add_share(
    ops: &DeviceOps,
    weights: &Array,
    penalty: f32,
    gradients: &Array,
) -> Result<()> {
    let text = "const C added = z * y; return x + added;";
    let beside = (gradients, &[weights][..]);
    change(ops, "penalty", text, beside, &[penalty])
}

/// The sum of squares, in float64.
pub(crate) fn squares(ops: &DeviceOps, weights: &Array) -> Result<f64> {
    if weights.is_empty() {
        return Ok(0.0);
    }
    let shape: Dims = weights.shape.clone();
    let made = Array::empty(ops.device(), shape, Dtype::F64, MemoryKind::Device)?;
    let (operand, result) = (
        [Operand::of_array(weights.clone())],
        Operand::of_array(made),
    );
    let body = Body::Named("square");
    elementwise::compute(ops, &body, &operand, &result, Dtype::F64, 0.0)?;
    let options = ReduceOptions {
        axes: None,
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let sum = reduce::on_device(ops, Reduce::Sum, &result, None, &options)?;
    let sum = numbers(&sum.read()?, f64::from_ne_bytes);
    Ok(sum.first().copied().unwrap_or_default())
}
