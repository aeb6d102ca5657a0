//! What code costs, roughly: every instruction by its kind, times how often its loops are expected to run. Good enough to tell
//! whether a pass gained; not a prediction of time.

pub mod registers;

use super::trip_count::counted;
use crate::ir::loops::Loops;
use crate::ir::{AddressSpace, BinaryOp, BlockId, Function, Intrinsic, Op, Type, cfg::Cfg};

/// Iterations of a loop whose number is not known.
const UNKNOWN_TURNS: u64 = 10;
/// Iterations are not counted further than this, nor loops inside loops weighed more than the last.
const MAX_COUNTED_TURNS: u64 = 64;
const MAX_WEIGHT: u64 = 1_000_000;

/// The cost of one call.
pub fn of_function(function: &Function, cfg: &Cfg, loops: &Loops) -> u64 {
    let weight = weights(function, cfg, loops);
    let mut total = 0u64;
    for &BlockId(block) in &cfg.order {
        let data = &function.blocks[block as usize];
        let mut sum = 1;
        for value in &data.instructions {
            sum += of_instruction(function, function.op(*value), function.ty(*value));
        }
        total = total.saturating_add(sum * weight[block as usize]);
    }
    total
}

/// How often each block is expected to run in one call.
pub fn weights(function: &Function, cfg: &Cfg, loops: &Loops) -> Vec<u64> {
    let mut weight = vec![1u64; function.blocks.len()];
    for item in &loops.list {
        let iterations = counted(function, cfg, item, MAX_COUNTED_TURNS)
            .map_or(UNKNOWN_TURNS, |plan| plan.iterations.max(1));
        for block in &item.blocks {
            let entry = &mut weight[block.0 as usize];
            *entry = entry.saturating_mul(iterations).min(MAX_WEIGHT);
        }
    }
    weight
}

/// The cost of one instruction, in those of an addition. Ratios are those of throughput tables of current GPUs and CPUs, rounded.
pub fn of_instruction(function: &Function, op: &Op, ty: Type) -> u64 {
    let memory = |space: AddressSpace| match space {
        AddressSpace::Private => 2,
        AddressSpace::Shared => 4,
        AddressSpace::Constant => 6,
        AddressSpace::Global | AddressSpace::Generic => 12,
    };
    let access = |pointer| match function.ty(pointer) {
        Type::Pointer(space) => memory(space),
        _ => 12,
    };
    match op {
        Op::Binary(
            BinaryOp::DivideSigned
            | BinaryOp::DivideUnsigned
            | BinaryOp::RemainderSigned
            | BinaryOp::RemainderUnsigned,
            ..,
        ) => 24,
        Op::Binary(BinaryOp::DivideFloat, ..) | Op::Intrinsic(Intrinsic::Sqrt, _) => 12,
        Op::Binary(BinaryOp::Multiply, ..) => 2,
        Op::Load(pointer)
        | Op::VolatileLoad(pointer)
        | Op::NontemporalLoad(pointer)
        | Op::Store { pointer, .. }
        | Op::VolatileStore { pointer, .. }
        | Op::NontemporalStore { pointer, .. } => access(*pointer),
        Op::Copy {
            to, from, bytes, ..
        } => (access(*to) + access(*from)) * bytes.div_ceil(16),
        Op::Clear { to, bytes, .. } => access(*to) * bytes.div_ceil(16),
        Op::Call { .. } => 50,
        Op::Cooperative(..) => 30,
        Op::Phi(_) | Op::Slot { .. } | Op::Nothing => 0,
        _ if ty == Type::Void => 0,
        _ => 1,
    }
}
