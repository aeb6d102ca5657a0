//! Elementwise steps that one kernel computes: values between the steps stay in registers.
//!
//! Every step rounds its value to the dtype that the operation alone would give, so the result has the same bits as the steps one by one.

mod tiles;

use std::sync::OnceLock;

use amdgpu_abi::promotion::{compute_type, is_float};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use smallvec::SmallVec;

use crate::cpu::{self, Call};
use crate::elementwise::{self, Elementwise};
use crate::generated::elementwise::Body;
use crate::generated::formulas;
use crate::generated::fused::steps;
use crate::operand::{Operand, Target, broadcast};
use crate::{DeviceOps, Error, Result, Scalar, toolchain};

/// Inputs that a kernel of elementwise steps takes at most.
pub const MOST_INPUTS: usize = 6;
const NAME: &str = "fused";
/// Elements from which on a launch on the CPU takes less time than it saves.
const KERNEL_ELEMENTS: i64 = 1 << 16;

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

    /// The result in `out`, or in a new array: by one kernel, on a CPU device in parts that stay in its caches. What no kernel computes is
    /// computed step by step; that is counted, and told once.
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
        if ops.computes_on_host() && self.gains_from_a_kernel(inputs) {
            match self.run_kernel(ops, inputs, out) {
                Err(error) if error.permits_fallback() => {}
                done => return done,
            }
        }
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let call = Call {
            ops,
            family: NAME,
            name: NAME,
            inputs: &named,
            out,
        };
        cpu::run_one(
            &call,
            || self.run_kernel(ops, inputs, out),
            |views, host| tiles::on_host(self, views, host),
        )
    }

    /// Whether a compiled kernel has the bits of the Zig library on the CPU, and enough to do: steps that are correctly rounded take less time
    /// than the loads and stores between them.
    fn gains_from_a_kernel(&self, inputs: &[Operand]) -> bool {
        toolchain::get().is_ok()
            && inputs.iter().any(|one| one.len() >= KERNEL_ELEMENTS)
            && self.steps.iter().all(|step| step.operation.is_exact())
            && self.is_computable()
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
}
