//! Elementwise steps that one kernel computes: values between the steps stay in registers.
//!
//! Every step rounds its value to the dtype that the operation alone would give, so the result has the same bits as the steps one by one.

pub mod region;
mod tiles;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use smallvec::SmallVec;

use crate::cpu::{self, Call};
use crate::elementwise;
use crate::generated::elementwise::Body;
use crate::generated::fused::steps;
use crate::operand::{Operand, Target, broadcast};
use crate::{DeviceOps, Error, Result};

pub use region::{Region, Source, Step};
pub(crate) use tiles::on_host;

/// Inputs that a kernel of elementwise steps takes at most.
pub const MOST_INPUTS: usize = 6;
const NAME: &str = "fused";

impl Region {
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
