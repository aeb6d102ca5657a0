//! Losses and their gradients, as `PyTorch` defines them: of elements (squared errors, binary cross entropy) and of classes.
//!
//! Terms of float16 and bfloat16 are float32 until they are rounded once, unless they are the result. The mean of no terms is NaN.

mod class;
mod training;

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;

use crate::elementwise::{Elementwise, elementwise};
use crate::operand::{Operand, broadcast};
use crate::reduce::Reduce;
use crate::statistics::{converted, over, product};
use crate::{DeviceOps, Error, Result};

pub use amdgpu_matrix::{ClassLoss, ClassLossOptions, Classified, Reduction};
pub use class::{ClassInputs, class_loss, on_host as class_loss_on_host};
pub(crate) use class::{class_loss_into, classified};
pub use training::{Rows, cross_entropy, squared_error};

/// A loss whose terms are of one element each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementLoss {
    /// `(x - target)^2`
    SquaredError,
    /// `-(target log(x) + (1 - target) log(1 - x))`, with logarithms of at least -100.
    BinaryCrossEntropy,
    /// The same of the sigmoid of x, without overflow.
    BinaryCrossEntropyWithLogits,
}

impl ElementLoss {
    /// By the name of the loss; `bce_with_logits_loss` is `bce_loss` of the sigmoid of x.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mse_loss" => Some(Self::SquaredError),
            "bce_loss" => Some(Self::BinaryCrossEntropy),
            "bce_with_logits_loss" => Some(Self::BinaryCrossEntropyWithLogits),
            _ => None,
        }
    }

    /// The name in `amdgpu.ops`, of the loss or of its gradient.
    #[must_use]
    pub const fn name(self, is_gradient: bool) -> &'static str {
        match (self, is_gradient) {
            (Self::SquaredError, false) => "mse_loss",
            (Self::SquaredError, true) => "mse_loss_gradient",
            (_, false) => "bce_loss",
            (_, true) => "bce_loss_gradient",
        }
    }

    const fn operation(self) -> Elementwise {
        match self {
            Self::SquaredError => Elementwise::SquaredError,
            Self::BinaryCrossEntropy => Elementwise::Bce,
            Self::BinaryCrossEntropyWithLogits => Elementwise::BceWithLogits,
        }
    }

    const fn gradient(self) -> Elementwise {
        match self {
            Self::SquaredError => Elementwise::SquaredErrorGradient,
            Self::BinaryCrossEntropy => Elementwise::BceGradient,
            Self::BinaryCrossEntropyWithLogits => Elementwise::BceWithLogitsGradient,
        }
    }
}

/// What a loss of elements compares: floats of one shape and dtype. The terms are multiplied by the weight, which is broadcast to them.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    pub x: &'a Operand,
    pub target: &'a Operand,
    pub weight: Option<&'a Operand>,
}

/// A loss of elements: of the shape of x, or one value.
///
/// # Errors
///
/// `unsupported-dtype` unless all are floats of one dtype, `shape-mismatch` unless x and target have one shape, to which the weight broadcasts.
pub fn element_loss(
    ops: &DeviceOps,
    loss: ElementLoss,
    compared: &Compared<'_>,
    reduction: Reduction,
) -> Result<Array> {
    compared.check(loss.name(false))?;
    let dtype = compared.x.dtype;
    let computed = match reduction {
        Reduction::None => dtype,
        _ => wide(dtype),
    };
    let inputs = [
        converted(ops, compared.x, computed)?,
        converted(ops, compared.target, computed)?,
    ];
    let made = elementwise(ops, loss.operation(), &inputs, None, 0.0)?;
    let mut terms = Operand::of_array(made);
    if let Some(weight) = compared.weight {
        terms = product(ops, &terms, &converted(ops, weight, computed)?)?;
    }
    reduced(ops, &terms, reduction, dtype)
}

/// The gradient of [`element_loss`] by x; `gradient` is that of its result.
///
/// # Errors
///
/// As [`element_loss`]; `shape-mismatch` and `unsupported-dtype` where `gradient` is not like the result.
pub fn element_loss_gradient(
    ops: &DeviceOps,
    loss: ElementLoss,
    compared: &Compared<'_>,
    gradient: &Operand,
    reduction: Reduction,
) -> Result<Array> {
    let name = loss.name(true);
    compared.check(name)?;
    let x = compared.x;
    check_gradient(name, gradient, &x.shape, x.dtype, reduction)?;
    let gradient = match compared.weight {
        Some(weight) => product(ops, gradient, weight)?,
        None => gradient.clone(),
    };
    let factor = match reduction {
        Reduction::Mean => 1.0 / x.len() as f64,
        Reduction::None | Reduction::Sum => 1.0,
    };
    let inputs = [x.clone(), compared.target.clone(), gradient];
    elementwise(ops, loss.gradient(), &inputs, None, factor)
}

impl Compared<'_> {
    fn check(&self, operation: &str) -> Result<()> {
        let (x, target) = (self.x, self.target);
        check_floats(operation, x)?;
        check_like(operation, "target", target, x.dtype)?;
        if x.shape != target.shape {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{operation}: x has shape {:?} and target {:?}; they have one shape, so broadcast one of them first",
                    x.shape.as_slice(),
                    target.shape.as_slice()
                ),
            ));
        }
        let Some(weight) = self.weight else {
            return Ok(());
        };
        check_like(operation, "weight", weight, x.dtype)?;
        let both = broadcast(operation, &[("x", x), ("weight", weight)])?;
        if both == x.shape {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{operation}: weight has shape {:?}, which does not broadcast to x of shape {:?}",
                weight.shape.as_slice(),
                x.shape.as_slice()
            ),
        ))
    }
}

/// The terms of a loss, their mean or their sum, in a dtype.
fn reduced(ops: &DeviceOps, terms: &Operand, reduction: Reduction, dtype: Dtype) -> Result<Array> {
    let operation = match reduction {
        Reduction::None => return converted(ops, terms, dtype)?.into_array(),
        Reduction::Mean => Reduce::Mean,
        Reduction::Sum => Reduce::Sum,
    };
    let axes: Vec<i64> = (0..terms.rank() as i64).collect();
    over(ops, operation, terms, &axes, Some(dtype))?.into_array()
}

/// The dtype of terms that are summed.
fn wide(dtype: Dtype) -> Dtype {
    if dtype == Dtype::F64 {
        Dtype::F64
    } else {
        Dtype::F32
    }
}

fn name_of(dtype: Dtype) -> &'static str {
    dtype.name().unwrap_or("an unknown dtype")
}

fn check_floats(operation: &str, x: &Operand) -> Result<()> {
    x.check_dtype(operation, "x")?;
    if is_float(x.dtype) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{operation}: x has dtype {}; losses are of floats, so convert it first",
            name_of(x.dtype)
        ),
    ))
}

fn check_like(operation: &str, name: &str, given: &Operand, dtype: Dtype) -> Result<()> {
    if given.dtype == dtype {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{operation}: x has dtype {} and {name} {}; they have one dtype, so convert one of them",
            name_of(dtype),
            name_of(given.dtype)
        ),
    ))
}

/// Refuses a gradient that is not like a loss whose terms have a shape.
fn check_gradient(
    operation: &str,
    gradient: &Operand,
    terms: &[i64],
    dtype: Dtype,
    reduction: Reduction,
) -> Result<()> {
    check_like(operation, "gradient", gradient, dtype)?;
    let wanted = match reduction {
        Reduction::None => terms,
        Reduction::Mean | Reduction::Sum => &[],
    };
    if gradient.shape.as_slice() == wanted {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{operation}: gradient has shape {:?}; the loss with reduction {:?} has {wanted:?}",
            gradient.shape.as_slice(),
            reduction.name()
        ),
    ))
}
