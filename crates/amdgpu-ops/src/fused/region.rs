//! Elementwise steps, as values.

use std::sync::OnceLock;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{compute_type, is_float};
use smallvec::SmallVec;

use crate::Scalar;
use crate::elementwise::Elementwise;
use crate::generated::elementwise::Body;
use crate::generated::formulas;

/// Where a step's argument comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// An input of the region, by position.
    Input(usize),
    /// The value of an earlier step, by position.
    Step(usize),
    Number(Scalar, Dtype),
}

/// One operation of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub operation: Elementwise,
    /// The slope of `leaky_relu` and the scale of `elu`.
    pub alpha: f64,
    pub arguments: SmallVec<[Source; 3]>,
    /// Of its value.
    pub dtype: Dtype,
}

/// Elementwise steps, the last of which gives the result. Inputs broadcast.
#[derive(Clone, Debug)]
pub struct Region {
    /// Dtypes of the inputs.
    pub inputs: SmallVec<[Dtype; 6]>,
    pub steps: Vec<Step>,
    /// What the kernel computes, written when it is first asked for.
    pub(crate) body: OnceLock<Body>,
}

impl PartialEq for Region {
    fn eq(&self, other: &Self) -> bool {
        (&self.inputs, &self.steps) == (&other.inputs, &other.steps)
    }
}

impl Region {
    #[must_use]
    pub fn new(inputs: SmallVec<[Dtype; 6]>, steps: Vec<Step>) -> Self {
        Self {
            inputs,
            steps,
            body: OnceLock::new(),
        }
    }

    /// The dtype of the result.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.steps.last().map_or(Dtype::F32, |step| step.dtype)
    }

    /// Names of the steps, in order.
    #[must_use]
    pub fn name(&self) -> String {
        let names: Vec<_> = self
            .steps
            .iter()
            .map(|step| step.operation.name())
            .collect();
        names.join("_")
    }

    /// Whether one kernel computes the steps: all in one dtype, each with a formula.
    #[must_use]
    pub fn is_computable(&self) -> bool {
        self.common().is_some_and(|common| {
            let computed = compute_type(common);
            self.steps.iter().all(|step| {
                let name = self.computed_step(step, common).name();
                let is_own = step.operation == Elementwise::Standardize
                    || (step.operation == Elementwise::Power && !is_float(computed));
                !is_own && formulas::formula(name, computed).is_some()
            })
        })
    }

    /// The operation that a kernel computes for a step, in a region whose inputs and values have the dtype `common`.
    #[must_use]
    pub fn computed_step(&self, step: &Step, common: Dtype) -> Elementwise {
        let are_truth_values = step.arguments.iter().all(|source| {
            let dtype = match source {
                Source::Input(index) => self.inputs[*index],
                Source::Step(index) => self.steps[*index].dtype,
                Source::Number(_, dtype) => *dtype,
            };
            dtype == Dtype::BOOL
        });
        let own = if are_truth_values {
            Dtype::BOOL
        } else {
            common
        };
        step.operation.computed_as(own)
    }

    /// The dtype of all inputs and values that are no truth values.
    #[must_use]
    pub fn common(&self) -> Option<Dtype> {
        let all = || {
            self.steps
                .iter()
                .map(|step| step.dtype)
                .chain(self.inputs.iter().copied())
        };
        let first = all().find(|dtype| *dtype != Dtype::BOOL)?;
        all()
            .all(|dtype| dtype == first || dtype == Dtype::BOOL)
            .then_some(first)
    }
}
