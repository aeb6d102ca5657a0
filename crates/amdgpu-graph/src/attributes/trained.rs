//! Options of norms, attention, losses and gradients.

use amdgpu_array::Dims;
use amdgpu_ops::Operation;
use amdgpu_ops::attention::AttentionOptions;
use amdgpu_ops::batch_norm::BatchNormOptions;
use amdgpu_ops::loss::{ClassLoss, ClassLossOptions, Reduction};
use amdgpu_ops::normalize::Normalize;
use amdgpu_ops::operation::Normalization;

use super::options::{Attributes, Taken, Value};
use crate::Result;

const ATTENTION: [&str; 2] = [
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_gradient",
];
const LOSSES: [ClassLoss; 2] = [ClassLoss::CrossEntropy, ClassLoss::NegativeLogLikelihood];
const BATCH_NORM_GRADIENT: &str = "batch_norm_gradient";
/// As in PyTorch.
const IGNORED: i64 = -100;

/// Names of all of these.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let losses = LOSSES
        .into_iter()
        .flat_map(|loss| [false, true].map(|is_gradient| loss.name(is_gradient)));
    let norms = Normalize::ALL.into_iter().map(Normalize::gradient_name);
    ATTENTION
        .into_iter()
        .chain([BATCH_NORM_GRADIENT])
        .chain(losses)
        .chain(norms)
}

/// The operation of a name, if it is one of these.
pub(super) fn operation_of(name: &str, taken: &mut Taken<'_>) -> Result<Option<Operation>> {
    if let Some(place) = ATTENTION.iter().position(|known| *known == name) {
        let options = attention_of(taken)?;
        return Ok(Some(match place {
            0 => Operation::Attention(options),
            _ => Operation::AttentionGradient(options),
        }));
    }
    if name == BATCH_NORM_GRADIENT {
        return Ok(Some(Operation::BatchNormGradient(BatchNormOptions {
            channel_axis: taken.int("channel_axis", 1)?,
            epsilon: taken.float("eps", 1e-5)?,
        })));
    }
    let norm = Normalize::ALL
        .into_iter()
        .find(|one| one.gradient_name() == name);
    if let Some(norm) = norm {
        return Ok(Some(Operation::NormalizeGradient(normalization_of(
            norm, taken,
        )?)));
    }
    for loss in LOSSES {
        for is_gradient in [false, true] {
            if loss.name(is_gradient) == name {
                return Ok(Some(loss_of(loss, is_gradient, taken)?));
            }
        }
    }
    Ok(None)
}

pub(super) fn normalization_of(
    operation: Normalize,
    taken: &mut Taken<'_>,
) -> Result<Normalization> {
    let last = taken.ints("normalized_shape")?;
    let are_last = last.is_some();
    let axes = taken.ints("axes")?;
    Ok(Normalization {
        operation,
        axes: last.or(axes).unwrap_or_else(|| Dims::from_slice(&[-1])),
        are_last,
        epsilon: taken.float("eps", operation.default_epsilon())?,
    })
}

fn attention_of(taken: &mut Taken<'_>) -> Result<AttentionOptions> {
    Ok(AttentionOptions {
        is_causal: taken.flag("is_causal", false)?,
        scale: match taken.take("scale") {
            None => None,
            Some(Value::Float(value)) => Some(value),
            Some(Value::Int(value)) => Some(value as f64),
            Some(value) => return taken.wrong("scale", "a number", &value),
        },
        thread_limit: None,
    })
}

fn loss_of(loss: ClassLoss, is_gradient: bool, taken: &mut Taken<'_>) -> Result<Operation> {
    let name = loss.name(is_gradient);
    let reduction = taken.text("reduction")?;
    let reduction = Reduction::from_name(name, reduction.as_deref().unwrap_or("mean"));
    Ok(Operation::ClassLoss {
        options: ClassLossOptions {
            loss,
            reduction: reduction.map_err(amdgpu_ops::Error::from)?,
            ignored: taken.int("ignore_index", IGNORED)?,
            smoothing: taken.float("label_smoothing", 0.0)?,
            thread_limit: None,
        },
        has_weight: taken.flag("weight", false)?,
        is_gradient,
    })
}

/// Options of an operation of these; of another one none.
pub(super) fn attributes_of(operation: &Operation) -> Attributes {
    let made = Attributes::new();
    match operation {
        Operation::Attention(options) | Operation::AttentionGradient(options) => {
            let made = made.with_if(options.is_causal, "is_causal", Value::Flag(true));
            match options.scale {
                Some(scale) => made.with("scale", Value::Float(scale)),
                None => made,
            }
        }
        Operation::BatchNormGradient(options) => made
            .with("channel_axis", Value::Int(options.channel_axis))
            .with("eps", Value::Float(options.epsilon)),
        Operation::NormalizeGradient(norm) => normalization_attributes(norm),
        Operation::ClassLoss {
            options,
            has_weight,
            ..
        } => made
            .with(
                "reduction",
                Value::Text(options.reduction.name().to_owned()),
            )
            .with_if(
                options.ignored != IGNORED,
                "ignore_index",
                Value::Int(options.ignored),
            )
            .with_if(
                options.smoothing > 0.0,
                "label_smoothing",
                Value::Float(options.smoothing),
            )
            .with_if(*has_weight, "weight", Value::Flag(true)),
        _ => made,
    }
}

pub(super) fn normalization_attributes(norm: &Normalization) -> Attributes {
    let name = if norm.are_last {
        "normalized_shape"
    } else {
        "axes"
    };
    let epsilon = norm.operation.default_epsilon();
    Attributes::new()
        .with(name, Value::Ints(norm.axes.clone()))
        .with_if(
            norm.epsilon.to_bits() != epsilon.to_bits(),
            "eps",
            Value::Float(norm.epsilon),
        )
}
