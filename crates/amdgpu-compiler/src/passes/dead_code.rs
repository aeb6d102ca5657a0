//! Removes blocks nothing leads to and instructions nobody needs.

use super::{Context, Pass};
use crate::ir::{BlockId, Function, Op, Terminator, Value};

pub struct DeadCode;

impl Pass for DeadCode {
    fn name(&self) -> &'static str {
        "dead-code"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        unreachable_blocks(function, ctx) + unused_instructions(function, ctx)
    }
}

/// Empties unreachable blocks and forgets the edges that came from them. The graph of what is reachable stays as it was.
pub(super) fn unreachable_blocks(function: &mut Function, ctx: &mut Context<'_>) -> u64 {
    let cfg = ctx.cfg(function);
    let mut removed = 0;
    for index in 0..function.blocks.len() {
        let is_reachable = cfg.is_reachable(BlockId(index as u32));
        let block = &mut function.blocks[index];
        if !is_reachable {
            for value in std::mem::take(&mut block.instructions) {
                function.values[value.0 as usize].op = Op::Nothing;
                removed += 1;
            }
            ctx.is_touched |= block.terminator != Terminator::Unreachable;
            block.terminator = Terminator::Unreachable;
            continue;
        }
        for value in &block.instructions {
            // Phis come first.
            let Op::Phi(inputs) = &mut function.values[value.0 as usize].op else {
                break;
            };
            let before = inputs.len();
            let predecessors = &cfg.predecessors[index];
            inputs.retain(|(from, _)| predecessors.contains(from));
            removed += (before - inputs.len()) as u64;
        }
    }
    removed
}

fn unused_instructions(function: &mut Function, ctx: &mut Context<'_>) -> u64 {
    let mut is_live = vec![false; function.values.len()];
    let mut work: Vec<Value> = Vec::new();
    for block in &function.blocks {
        work.extend(block.terminator.operand());
        work.extend(
            block
                .instructions
                .iter()
                .copied()
                .filter(|value| function.op(*value).has_effect()),
        );
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut is_live[value.0 as usize], true) {
            continue;
        }
        function
            .op(value)
            .for_each_operand(|operand| work.push(operand));
    }
    let mut removed = 0;
    let values = &mut function.values;
    for block in &mut function.blocks {
        block.instructions.retain(|value| {
            let keep = is_live[value.0 as usize];
            if !keep {
                values[value.0 as usize].op = Op::Nothing;
                removed += 1;
            }
            keep
        });
    }
    for (index, instruction) in values.iter_mut().enumerate() {
        if !is_live[index]
            && matches!(
                instruction.op,
                Op::Constant(_) | Op::GlobalAddress(_) | Op::SharedAddress(_)
            )
        {
            instruction.op = Op::Nothing;
            ctx.is_touched = true;
        }
    }
    removed
}
