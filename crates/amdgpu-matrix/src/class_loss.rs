//! Cross entropy and negative log likelihood of rows of classes, and their gradients.

use std::mem::size_of;

use amdgpu_abi::layout::{
    CLASS_LOSS_CROSS_ENTROPY, CLASS_LOSS_NEGATIVE_LOG_LIKELIHOOD, LOSS_MEAN, LOSS_NONE, LOSS_SUM,
};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

/// What becomes of the terms of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// They are the result.
    None,
    Mean,
    Sum,
}

impl Reduction {
    pub const ALL: [Self; 3] = [Self::None, Self::Mean, Self::Sum];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Mean => "mean",
            Self::Sum => "sum",
        }
    }

    /// # Errors
    ///
    /// `invalid-argument` for a name that no reduction has.
    pub fn from_name(operation: &str, name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::refused(
                ErrorCode::InvalidArgument,
                format!("{operation}: reduction is {name:?}; known are {known}"),
            )
        })
    }

    const fn code(self) -> u32 {
        match self {
            Self::None => LOSS_NONE,
            Self::Mean => LOSS_MEAN,
            Self::Sum => LOSS_SUM,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassLoss {
    /// `-sum(share log(softmax(x)))` over the classes.
    CrossEntropy,
    /// `-x` of the right class.
    NegativeLogLikelihood,
}

impl ClassLoss {
    /// The name in `amdgpu.ops`, of the loss or of its gradient.
    #[must_use]
    pub const fn name(self, is_gradient: bool) -> &'static str {
        match (self, is_gradient) {
            (Self::CrossEntropy, false) => "cross_entropy_loss",
            (Self::CrossEntropy, true) => "cross_entropy_loss_gradient",
            (Self::NegativeLogLikelihood, false) => "nll_loss",
            (Self::NegativeLogLikelihood, true) => "nll_loss_gradient",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::CrossEntropy, Self::NegativeLogLikelihood]
            .into_iter()
            .find(|loss| loss.name(false) == name)
    }

    const fn code(self) -> u32 {
        match self {
            Self::CrossEntropy => CLASS_LOSS_CROSS_ENTROPY,
            Self::NegativeLogLikelihood => CLASS_LOSS_NEGATIVE_LOG_LIKELIHOOD,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassLossOptions {
    pub loss: ClassLoss,
    pub reduction: Reduction,
    /// The class of rows that count for nothing.
    pub ignored: i64,
    /// The part of each target that all classes share.
    pub smoothing: f64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

/// What a loss of classes compares.
#[derive(Clone, Copy, Debug)]
pub struct Classified<'a> {
    /// Classes are axis 1, of a single row axis 0.
    pub x: TensorView<'a>,
    /// int32 or int64 of the shape of x without the classes, or shares of the shape and dtype of x.
    pub target: TensorView<'a>,
    /// Of each class.
    pub weight: Option<TensorView<'a>>,
    /// Of the result; the gradient by x is computed then.
    pub gradient: Option<TensorView<'a>>,
}

impl Classified<'_> {
    /// Whether targets are shares of all classes.
    #[must_use]
    pub fn has_shares(&self) -> bool {
        ![Dtype::I32, Dtype::I64].contains(&self.target.dtype())
    }

    /// The axis of the classes.
    #[must_use]
    pub fn class_axis(&self) -> usize {
        usize::from(self.x.shape().len() > 1)
    }

    /// The shape of the terms.
    #[must_use]
    pub fn rows(&self) -> Vec<i64> {
        let mut rows = self.x.shape().to_vec();
        if !rows.is_empty() {
            rows.remove(self.class_axis());
        }
        rows
    }

    /// Refuses what does not fit; shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`, `shape-mismatch`; `invalid-argument` for a smoothing that is no part.
    pub fn describe(&self, options: &ClassLossOptions) -> Result<Described, Error> {
        let name = options.loss.name(self.gradient.is_some());
        self.check_dtypes(name, options)?;
        self.check_shapes(name)?;
        let smoothing = options.smoothing;
        if !(0.0..=1.0).contains(&smoothing) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name}: label_smoothing is {smoothing}; it is a part from 0 to 1"),
            ));
        }
        let terms = match options.reduction {
            Reduction::None => self.rows(),
            Reduction::Mean | Reduction::Sum => Vec::new(),
        };
        if let Some(gradient) = self.gradient {
            check_like(name, "gradient", &gradient, self.x.dtype())?;
            if gradient.shape() != terms {
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "{name}: gradient has shape {:?}; the loss with reduction {:?} has {terms:?}",
                        gradient.shape(),
                        options.reduction.name()
                    ),
                ));
            }
        }
        let shape = match self.gradient {
            Some(_) => self.x.shape().to_vec(),
            None => terms,
        };
        Ok(Described {
            shape,
            dtype: self.x.dtype(),
        })
    }

    fn check_dtypes(&self, name: &str, options: &ClassLossOptions) -> Result<(), Error> {
        let x = self.x.dtype();
        if !element::is_float(x) {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: x has dtype {}; losses are of floats, so convert it first",
                    element::name(x)
                ),
            ));
        }
        if self.has_shares() {
            let takes_shares = options.loss == ClassLoss::CrossEntropy;
            if !takes_shares || !element::is_float(self.target.dtype()) {
                let also = if takes_shares {
                    ", or probabilities of the dtype of x"
                } else {
                    ""
                };
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "{name}: target has dtype {}; targets are classes as int32 or int64{also}",
                        element::name(self.target.dtype())
                    ),
                ));
            }
            check_like(name, "target", &self.target, x)?;
        }
        self.weight
            .map_or(Ok(()), |weight| check_like(name, "weight", &weight, x))
    }

    fn check_shapes(&self, name: &str) -> Result<(), Error> {
        let x = self.x.shape();
        if x.is_empty() {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: x has no axes; its classes lie along axis 1, of a single row along axis 0"
                ),
            ));
        }
        let classes = x[self.class_axis()];
        let rows = self.rows();
        let (wanted, kind) = if self.has_shares() {
            (x, "probabilities have the shape of x")
        } else {
            (rows.as_slice(), "classes have its shape without axis 1")
        };
        if self.target.shape() != wanted {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: x has shape {x:?} and target {:?}; {kind}, which is {wanted:?}",
                    self.target.shape()
                ),
            ));
        }
        let Some(weight) = self.weight else {
            return Ok(());
        };
        if weight.shape() == [classes] {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{name}: weight has shape {:?}; it has one value for each of {classes} classes",
                weight.shape()
            ),
        ))
    }
}

fn check_like(name: &str, argument: &str, view: &TensorView, x: Dtype) -> Result<(), Error> {
    if view.dtype() == x {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{name}: x has dtype {} and {argument} {}; they have one dtype, so convert one of them",
            element::name(x),
            element::name(view.dtype())
        ),
    ))
}

/// Operations of one element, as measured against an addition: the exponential leads.
const COST: u64 = 12;

impl Matrix {
    /// A loss of classes, or its gradient by x, into `out`. Terms are added in float64, in their order for any number of threads.
    ///
    /// # Errors
    ///
    /// As [`Classified::describe`]; `index-out-of-range` for a target that is no class, before anything is written; `invalid-argument` for memory
    /// shared with `out`.
    pub fn class_loss(
        &self,
        classified: &Classified<'_>,
        out: &mut TensorViewMut,
        options: &ClassLossOptions,
    ) -> Result<(), Error> {
        static CLASS_LOSS: Boundary = crossing("agpu_matrix_class_loss");
        let name = options.loss.name(classified.gradient.is_some());
        let described = classified.describe(options)?;
        let x = Layout::of(name, "x", &classified.x)?;
        let target = Layout::of(name, "target", &classified.target)?;
        let result = Layout::of(name, "out", &out.as_view())?;
        result.check_out(name, described.dtype, &described.shape)?;
        let order = axes_last(x.rank(), &[classified.class_axis()]);
        let mut layouts = vec![x.permuted(&order)];
        layouts.push(if classified.has_shares() {
            target.permuted(&order)
        } else {
            target
        });
        if let Some(weight) = &classified.weight {
            layouts.push(Layout::of(name, "weight", weight)?);
        }
        if let Some(gradient) = &classified.gradient {
            let rows = classified.rows();
            layouts.push(Layout::of(name, "gradient", gradient)?.broadcast_to(&rows));
        }
        for (layout, argument) in layouts.iter().zip(["x", "target", "an input", "an input"]) {
            result.check_apart(name, argument, layout, false)?;
        }
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let result = if classified.gradient.is_some() {
            result.permuted(&order)
        } else {
            result
        };
        let result_tensor = result.to_abi();
        let work = Work {
            operations: x.len().saturating_mul(COST),
            dtype: described.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&CLASS_LOSS, &work, |executor| {
            let given = amdgpu_abi::ClassLossOptions {
                size_bytes: size_of::<amdgpu_abi::ClassLossOptions>() as u64,
                operation: options.loss.code(),
                reduction: options.reduction.code(),
                compute: element::compute_type(described.dtype),
                has_shares: u32::from(classified.has_shares()),
                has_weight: u32::from(classified.weight.is_some()),
                is_gradient: u32::from(classified.gradient.is_some()),
                ignored: options.ignored,
                smoothing: options.smoothing,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.class_loss)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const result_tensor,
                    &raw const given,
                )
            }
        })
    }
}
