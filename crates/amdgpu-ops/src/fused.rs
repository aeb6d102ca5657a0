//! Elementwise steps that one kernel computes: values between the steps stay in registers.
//!
//! Every step rounds its value to the dtype that the operation alone would give, so the result has the same bits as the steps one by one.

use std::sync::OnceLock;

use amdgpu_abi::promotion::{compute_type, is_float};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_telemetry::Fallback;
use smallvec::SmallVec;

use crate::elementwise::{self, Elementwise};
use crate::generated::elementwise::Body;
use crate::generated::formulas;
use crate::generated::fused::steps;
use crate::operand::{Operand, Target, broadcast};
use crate::{DeviceOps, Error, Named, Result, Scalar, toolchain};

/// Inputs that a kernel of elementwise steps takes at most.
pub const MOST_INPUTS: usize = 6;
const NAME: &str = "fused";

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
    body: OnceLock<Body>,
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
        self.computed().is_some_and(|computed| {
            self.steps.iter().all(|step| {
                let name = step.operation.computed_as(computed).name();
                let is_own = matches!(
                    step.operation,
                    Elementwise::Standardize | Elementwise::Power
                );
                formulas::formula(name, computed).is_some()
                    && !(is_own && !is_float(computed))
                    && step.operation != Elementwise::Standardize
            })
        })
    }

    /// The float in which all steps are computed; `None` where they differ, so that no kernel computes the region.
    #[must_use]
    pub fn computed(&self) -> Option<Dtype> {
        let floats = || {
            self.steps
                .iter()
                .map(|step| step.dtype)
                .chain(self.inputs.iter().copied())
        };
        let first = floats().find(|dtype| *dtype != Dtype::BOOL)?;
        floats()
            .all(|dtype| dtype == first || dtype == Dtype::BOOL)
            .then(|| compute_type(first))
    }

    /// The result in `out`, or in a new array. Without a compiler the steps are computed one by one; that is counted, and told once.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of [`elementwise::elementwise`].
    pub fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{} takes {} inputs, not {}",
                    self.name(),
                    self.inputs.len(),
                    inputs.len()
                ),
            ));
        }
        if toolchain::get().is_err() {
            Fallback::new(
                NAME,
                "the steps are computed one by one: there is no compiler",
            )
            .count();
            return self.run_steps(ops, inputs, out);
        }
        match self.run_kernel(ops, inputs, out) {
            Err(error) if error.permits_fallback() => {
                Fallback::new(NAME, &format!("the steps are computed one by one: {error}")).count();
                self.run_steps(ops, inputs, out)
            }
            done => done,
        }
    }

    fn run_kernel(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Array> {
        let Some(computed) = self.computed() else {
            return Err(Error::no_kernel("the steps are computed in several dtypes"));
        };
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let shape = broadcast(NAME, &named)?;
        let reads: SmallVec<[&Operand; 6]> = inputs.iter().collect();
        let target = Target {
            operation: NAME,
            device: ops.device(),
            out,
            inputs: &reads,
            may_alias: true,
            is_dense: false,
        };
        let made = target.resolve(&shape, self.dtype())?;
        let body = self.body.get_or_init(|| {
            let (functions, text) = steps(self, computed);
            Body::Steps {
                name: self.name(),
                functions,
                text,
            }
        });
        elementwise::compute(ops, body, inputs, &made, computed, 0.0)?;
        made.into_array()
    }

    /// The operations one after the other.
    ///
    /// # Errors
    ///
    /// Those of [`elementwise::elementwise`].
    pub fn run_steps(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Array> {
        let mut values: Vec<Operand> = Vec::with_capacity(self.steps.len());
        for (place, step) in self.steps.iter().enumerate() {
            let arguments: SmallVec<[Operand; 3]> = step
                .arguments
                .iter()
                .map(|source| match source {
                    Source::Input(index) => inputs[*index].clone(),
                    Source::Step(index) => values[*index].clone(),
                    Source::Number(number, dtype) => Operand::of_number(*number, *dtype),
                })
                .collect();
            let is_last = place + 1 == self.steps.len();
            let made = Named::Any(step.operation).compute(
                ops,
                &arguments,
                out.filter(|_| is_last),
                step.alpha,
            )?;
            if is_last {
                return Ok(made);
            }
            values.push(Operand::of_array(made));
        }
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            "a fused node has no steps",
        ))
    }
}
