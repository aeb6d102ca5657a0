//! What it is expected to gain that work-items run as lanes, by the model of cost that all passes share.

use super::{Plan, Shape};
use crate::ir::loops::Loops;
use crate::ir::{Function, Op, Value};
use crate::passes::cost;

/// The instructions of one planned function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// Done once for all lanes.
    pub at_once: u64,
    /// Done by one lane after the other: accesses at scattered addresses, atomics, calls.
    pub one_by_one: u64,
    /// What one work-item is spared.
    pub gain: u64,
}

impl Estimate {
    pub fn new(function: &Function, plan: &Plan) -> Self {
        let weights = cost::weights(function, &plan.cfg, &Loops::new(function, &plan.cfg));
        let lanes = u64::from(plan.lanes);
        let mut estimate = Self::default();
        let mut shared = 0u64;
        for &block in &plan.cfg.order {
            for &value in &function.blocks[block.0 as usize].instructions {
                if !runs_at_once(function, plan, value) {
                    estimate.one_by_one += 1;
                    continue;
                }
                estimate.at_once += 1;
                let own = cost::of_instruction(function, function.op(value), function.ty(value));
                shared = shared.saturating_add(own * weights[block.0 as usize]);
            }
        }
        estimate.gain = shared - shared / lanes;
        estimate
    }

    pub fn add(&mut self, other: Self) {
        self.at_once += other.at_once;
        self.one_by_one += other.one_by_one;
        self.gain = self.gain.saturating_add(other.gain);
    }
}

fn runs_at_once(function: &Function, plan: &Plan, value: Value) -> bool {
    let shape = |value: Value| plan.divergence.shape(value);
    let are_neighbours = |pointer: Value, accessed: Value| match shape(pointer) {
        Shape::Uniform => true,
        Shape::Affine { stride, .. } => stride.unsigned_abs() <= function.ty(accessed).bytes(),
        Shape::Varying => false,
    };
    match function.op(value) {
        Op::Load(pointer) | Op::NontemporalLoad(pointer) => are_neighbours(*pointer, value),
        Op::Store {
            pointer,
            value: stored,
        }
        | Op::NontemporalStore {
            pointer,
            value: stored,
        } => are_neighbours(*pointer, *stored),
        op @ (Op::Call { .. } | Op::Cooperative(..) | Op::Copy { .. } | Op::Clear { .. }) => {
            let mut is_uniform = true;
            op.for_each_operand(|operand| is_uniform &= shape(operand).is_uniform());
            is_uniform && !matches!(op, Op::Call { .. })
        }
        _ => true,
    }
}
