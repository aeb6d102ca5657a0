//! Dense layers, activations and their slopes on a device.

use amdgpu_abi::{
    ACTIVATION_ELU, ACTIVATION_GELU, ACTIVATION_IDENTITY, ACTIVATION_LEAKY_RELU,
    ACTIVATION_NEUROMORPHIC, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_SILU,
    ACTIVATION_SOFTMAX, ACTIVATION_SOFTPLUS, ACTIVATION_TANH, Activation, Dtype,
};
use amdgpu_array::Array;
use amdgpu_hal::MemoryKind;
use amdgpu_ops::generated::elementwise::Body;
use amdgpu_ops::leaky::Neuron;
use amdgpu_ops::matmul::{self, Matmul, Precision};
use amdgpu_ops::normalize::{self, Normalize, NormalizeOptions, RowAxes};
use amdgpu_ops::{DeviceOps, Elementwise, Operand, Scalar, elementwise};

use amdgpu_abi::ops::ACTIVATIONS;

use crate::error::{Error, Result};
use crate::temporal::Temporal;

/// Numbers of activations that matrix multiplications have behind their sums.
const EPILOGUE_LEAKY_SLOPE: f32 = 0.01;
const EPILOGUE_ELU_SCALE: f32 = 1.0;
/// Of each row.
const ROWS: NormalizeOptions<'static> = NormalizeOptions {
    axes: RowAxes::Named(&[1]),
    epsilon: 0.0,
    thread_limit: None,
};

/// `activation(x[rows, inputs] @ weights[inputs, outputs] + bias)`, in `out` or in a new array.
pub(crate) fn dense(
    ops: &DeviceOps,
    x: &Array,
    weights: &Array,
    bias: Option<&Array>,
    activation: Activation,
    out: Option<&Array>,
) -> Result<Array> {
    let [x, weights] = [x, weights].map(|array| Operand::of_array(array.clone()));
    let bias = bias.map(|bias| Operand::of_array(bias.clone()));
    let behind = behind_the_sums(activation);
    let sums = matmul::matmul(
        ops,
        &Matmul {
            out,
            precision: Some(Precision::Fp32),
            bias: bias.as_ref(),
            activation: behind.unwrap_or_default(),
            ..Matmul::of(&x, &weights)
        },
    )?;
    if behind.is_none() {
        activate(ops, activation, &sums, &sums)?;
    }
    Ok(sums)
}

/// The activation as matrix multiplications have it; `None` where a kernel of its own computes it.
fn behind_the_sums(activation: Activation) -> Option<matmul::Activation> {
    let is_behind = match activation.kind {
        ACTIVATION_LEAKY_RELU => activation.alpha == EPILOGUE_LEAKY_SLOPE,
        ACTIVATION_ELU => activation.alpha == EPILOGUE_ELU_SCALE,
        _ => true,
    };
    let name = name_of(activation)?;
    matmul::Activation::from_name(name).filter(|_| is_behind)
}

fn name_of(activation: Activation) -> Option<&'static str> {
    let mut known = ACTIVATIONS.iter();
    let row = known.find(|row| row.number == Some(activation.kind))?;
    Some(row.name)
}

/// `out = activation(sums[rows, size])`; `out` may be `sums` itself.
pub(crate) fn activate(
    ops: &DeviceOps,
    activation: Activation,
    sums: &Array,
    out: &Array,
) -> Result<()> {
    let operand = Operand::of_array(sums.clone());
    match activation.kind {
        ACTIVATION_IDENTITY if sums.address() == out.address() => {}
        ACTIVATION_SOFTMAX => {
            normalize::on_device(ops, Normalize::Softmax, &operand, &[], Some(out), &ROWS)?;
        }
        ACTIVATION_NEUROMORPHIC => {
            let body = Body::Statements {
                name: "neuromorphic".to_owned(),
                text:
                    "const C bell = y * x * F(exp)(-(x * x)); const C wave = F(tanh)(alpha * x); \
                       return wave + bell;"
                        .to_owned(),
            };
            let operands = [operand, number(activation.beta)];
            compute(ops, &body, &operands, out, activation.alpha)?;
        }
        _ => {
            let operation = name_of(activation).and_then(Elementwise::from_name);
            let operation = operation.ok_or_else(unknown)?;
            let (operands, alpha) = ([operand], f64::from(activation.alpha));
            elementwise::on_device(ops, operation, &operands, Some(out), alpha)?;
        }
    }
    Ok(())
}

fn unknown() -> Error {
    Error::InvalidArgument("this activation has no kernel".to_owned())
}

/// A float32 number beside arrays.
pub(crate) fn number(value: f32) -> Operand {
    Operand::of_number(Scalar::Float(f64::from(value)), Dtype::F32)
}

/// `out = body(operands...)`, computed in float32.
pub(crate) fn compute(
    ops: &DeviceOps,
    body: &Body,
    operands: &[Operand],
    out: &Array,
    alpha: f32,
) -> Result<()> {
    let result = Operand::of_array(out.clone());
    Ok(elementwise::compute(
        ops,
        body,
        operands,
        &result,
        Dtype::F32,
        f64::from(alpha),
    )?)
}

/// The neurons of a layer with a state.
pub(crate) fn neuron_of(temporal: Temporal) -> Neuron {
    match temporal {
        Temporal::Spiking { decay, slope } => Neuron::Spiking { decay, slope },
        Temporal::Leaky { decay } => Neuron::Leaky { decay },
    }
}

/// Copies the values of an array to another one of the same shape.
pub(crate) fn copy(ops: &DeviceOps, from: &Array, to: &Array) -> Result<()> {
    let operand = [Operand::of_array(from.clone())];
    elementwise::on_device(ops, Elementwise::Identity, &operand, Some(to), 0.0)?;
    Ok(())
}

/// A new float32 array.
pub(crate) fn empty(ops: &DeviceOps, shape: amdgpu_array::Dims) -> Result<Array> {
    Ok(Array::empty(
        ops.device(),
        shape,
        Dtype::F32,
        MemoryKind::Device,
    )?)
}

/// `delta *= d value / d sum` of shape (rows, size), as `training::slope` computes it. `sums` is read only where the slope cannot be told
/// from the value.
pub(crate) fn apply_slope(
    ops: &DeviceOps,
    activation: Activation,
    sums: &Array,
    values: &Array,
    delta: &Array,
) -> Result<()> {
    if activation.kind == ACTIVATION_IDENTITY {
        return Ok(());
    }
    if activation.kind == ACTIVATION_SOFTMAX {
        let [values, gradient] = [values, delta].map(|array| Operand::of_array(array.clone()));
        let softmax = Normalize::Softmax;
        normalize::gradient_on_device(ops, softmax, &values, &gradient, None, Some(delta), &ROWS)?;
        return Ok(());
    }
    let (text, reads_sums) = slope(activation).ok_or_else(unknown)?;
    // The side of the corner: the left side of a negative slope turns positive.
    let side = if reads_sums || activation.alpha < 0.0 {
        sums
    } else {
        values
    };
    let mut operands = vec![delta, values];
    let has_side = text.contains('z');
    operands.extend(has_side.then_some(side));
    let mut operands: Vec<Operand> = operands
        .into_iter()
        .map(|array| Operand::of_array(array.clone()))
        .collect();
    if activation.kind == ACTIVATION_NEUROMORPHIC {
        operands.push(number(activation.beta));
    }
    let body = Body::Statements {
        name: format!("{} slope", name_of(activation).unwrap_or_default()),
        text: text.to_owned(),
    };
    compute(ops, &body, &operands, delta, activation.alpha)
}

/// Statements with x the gradient, y the value, z the sum (or whatever has its sign), w beta; and whether z is the sum itself. Products have
/// names, so that they are not fused with sums: what has no exponential has the bits of the CPU.
fn slope(activation: Activation) -> Option<(&'static str, bool)> {
    Some(match activation.kind {
        ACTIVATION_RELU => ("return x * (y > (C)0 ? (C)1 : (C)0);", false),
        ACTIVATION_LEAKY_RELU => ("return x * (z > (C)0 ? (C)1 : alpha);", false),
        ACTIVATION_SIGMOID => (
            "const C rest = (C)1 - y; const C share = y * rest; return x * share;",
            false,
        ),
        ACTIVATION_TANH => (
            "const C part = y * y; const C share = (C)1 - part; return x * share;",
            false,
        ),
        ACTIVATION_SOFTPLUS => ("const C share = -F(expm1)(-y); return x * share;", false),
        ACTIVATION_ELU => ("return x * (z > (C)0 ? (C)1 : y + alpha);", false),
        ACTIVATION_GELU => (
            "const C below = z == (C)0 ? (C)0.5 : y / z; const C part = z * (C)0.3989423; \
             const C bell = part * F(exp)((C)-0.5 * z * z); return x * (below + bell);",
            true,
        ),
        ACTIVATION_SILU => (
            "const C share = (C)1 / ((C)1 + F(exp)(-z)); const C part = y * ((C)1 - share); return x * (share + part);",
            true,
        ),
        ACTIVATION_NEUROMORPHIC => (
            "const C whole = z * z; const C part = whole < (C)200 ? whole : (C)200; const C bell = F(exp)(-part); \
             const C wide = w * z * bell; const C wave = y - wide; const C square = wave * wave; \
             const C first = alpha * ((C)1 - square); const C twice = (C)2 * part; \
             const C second = w * bell * ((C)1 - twice); return x * (first + second);",
            true,
        ),
        _ => return None,
    })
}
