//! Elementwise steps that one kernel computes: values between the steps stay in registers.
//!
//! Every step rounds its value to the dtype that the operation alone would give, so the result has the same bits as the steps one by one.

pub mod region;
mod tiles;

use amdgpu_abi::promotion::compute_type;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, element_count};
use smallvec::SmallVec;

use crate::cpu::{self, Call};
use crate::elementwise;
use crate::generated::elementwise::Body;
use crate::generated::fused::steps;
use crate::operand::{Operand, Target, broadcast};
use crate::{DeviceOps, Error, Result};

pub use region::{Region, Source, Step};
pub(crate) use tiles::{Slot, broadcast_strides, on_host};

/// Inputs that a kernel of elementwise steps takes at most.
pub const MOST_INPUTS: usize = 6;
/// Results of fewer elements are computed in parts sooner than a kernel is started.
const FEWEST_ELEMENTS: i64 = 1 << 15;
const NAME: &str = "fused";

impl Region {
    /// The result in `out`, or in a new array: by one kernel. A CPU device computes small results, and such with short rows, in parts that
    /// stay in its caches, and what no kernel computes is computed step by step; the latter is counted, and told once.
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
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let call = Call {
            ops,
            family: NAME,
            name: NAME,
            inputs: &named,
            out,
        };
        if ops.computes_on_host()
            && let Some(made) = self.run_rows(&call, inputs)?
        {
            return Ok(made);
        }
        cpu::run_one(
            &call,
            || self.run_kernel(&call, inputs),
            |views, host| tiles::on_host(self, views, host),
        )
    }

    /// The result by a kernel of the CPU; `None` where it is computed in parts: small results, short rows, what no kernel computes or not to the
    /// same bits.
    fn run_rows(&self, call: &Call<'_>, inputs: &[Operand]) -> Result<Option<Array>> {
        let shape = broadcast(NAME, call.inputs)?;
        // The bits of functions such as `exp` are those of the operations one by one.
        let is_exact = self.steps.iter().all(|step| step.operation.is_exact());
        let (Some(common), true) = (self.common(), is_exact) else {
            return Ok(None);
        };
        if element_count(&shape) < FEWEST_ELEMENTS {
            return Ok(None);
        }
        cpu::check_inputs(call)?;
        let made = self.target(call, inputs, &shape)?;
        let (body, computed) = (self.body(common), compute_type(common));
        match elementwise::compute_rows(call.ops, body, inputs, &made, computed) {
            Ok(true) => made.into_array().map(Some),
            Ok(false) => Ok(None),
            Err(error) if error.permits_fallback() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Memory for the result.
    fn target(&self, call: &Call<'_>, inputs: &[Operand], shape: &[i64]) -> Result<Operand> {
        let reads: SmallVec<[&Operand; 6]> = inputs.iter().collect();
        let target = Target {
            operation: NAME,
            device: call.ops.device(),
            out: call.out,
            inputs: &reads,
            may_alias: true,
            is_dense: false,
        };
        target.resolve(shape, self.dtype())
    }

    /// What a kernel computes of each element.
    fn body(&self, common: Dtype) -> &Body {
        self.body.get_or_init(|| {
            let (functions, text) = steps(self, common);
            Body::Steps {
                name: self.name(),
                functions,
                text,
            }
        })
    }

    fn run_kernel(&self, call: &Call<'_>, inputs: &[Operand]) -> Result<Array> {
        let Some(common) = self.common() else {
            return Err(Error::no_kernel("the steps are computed in several dtypes"));
        };
        let shape = broadcast(NAME, call.inputs)?;
        let made = self.target(call, inputs, &shape)?;
        let computed = compute_type(common);
        elementwise::compute(call.ops, self.body(common), inputs, &made, computed, 0.0)?;
        made.into_array()
    }
}
