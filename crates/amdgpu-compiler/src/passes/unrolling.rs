//! Full unrolling: a loop whose number of iterations is a small constant becomes its iterations, one after the other, so that indices into
//! local arrays become constants and nothing is left of counting.
//!
//! What the source says about a loop (`#pragma unroll`) comes before what is worth it. What stays a loop keeps what is said about
//! it, for LLVM.
//!
//! Loops in which work-items meet stay: on the CPU every copy of a barrier would be a region of its own.

use super::cost::registers;
use super::trip_count::{Counted, counted};
use super::{Context, Pass};
use crate::ir::loops::Loop;
use crate::ir::{Block, BlockId, Function, Instruction, Op, Terminator, Unroll, Value, cfg::Cfg};

pub struct Unrolling;

/// Loops of one function that are unrolled in one run: each is found anew, so the number is bounded.
const MAX_LOOPS: usize = 64;

/// Live registers above which the iterations of a loop are better kept apart: half of what a work-item has on current GPUs (256 VGPRs on
/// gfx9 to gfx12, 255 on `sm_70` to `sm_90`), since iterations that overlap double what is alive.
const MAX_LIVE_REGISTERS: u64 = 128;

/// What a loop that the source wants unrolled may become; past it LLVM decides. Ten times what is unrolled unasked, and still
/// compiled in less than a second.
const MAX_ASKED_INSTRUCTIONS: usize = 10_000;
const MAX_ASKED_TURNS: u64 = 1024;

/// What a loop may become of which a profile says that it runs often: more than what is unrolled unasked, less than what is asked for.
const MAX_MEASURED_INSTRUCTIONS: usize = 2048;
const MAX_MEASURED_TURNS: u64 = 64;

impl Pass for Unrolling {
    fn name(&self) -> &'static str {
        "unrolling"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let mut changes = 0;
        let mut refused = Vec::new();
        while changes < MAX_LOOPS as u64 && unroll_one(function, &mut refused, ctx) {
            changes += 1;
        }
        changes
    }
}

/// Unrolls the first loop that is worth it.
fn unroll_one(function: &mut Function, refused: &mut Vec<BlockId>, ctx: &mut Context<'_>) -> bool {
    let budget = ctx.budget;
    let cfg = ctx.cfg(function);
    let loops = ctx.loops(function);
    for item in &loops.list {
        if refused.contains(&item.header) {
            continue;
        }
        let size: usize = item
            .blocks
            .iter()
            .map(|block| function.blocks[block.0 as usize].instructions.len() + 1)
            .sum();
        let has_sync_point = item.any(
            function,
            |op| matches!(op, Op::Cooperative(operation, _) if operation.is_sync_point()),
        );
        let said = function.blocks[item.header.0 as usize].unroll;
        let (instructions, iterations) = match said {
            None => (budget.unrolled_instructions, budget.unrolled_turns),
            Some(Unroll::Full) => (MAX_ASKED_INSTRUCTIONS, MAX_ASKED_TURNS),
            Some(Unroll::Times(times)) => (
                MAX_ASKED_INSTRUCTIONS,
                u64::from(times).min(MAX_ASKED_TURNS),
            ),
            Some(Unroll::Measured(_)) => (MAX_MEASURED_INSTRUCTIONS, MAX_MEASURED_TURNS),
            Some(Unroll::Never) => (0, 0),
        };
        let limit = (instructions / size.max(1)) as u64;
        let plan = (!has_sync_point && limit > 0)
            .then(|| counted(function, &cfg, item, limit.min(iterations)))
            .flatten();
        let Some(plan) = plan else {
            refused.push(item.header);
            continue;
        };
        if item.preheader(function, &cfg).is_none() {
            refused.push(item.header);
            continue;
        }
        let line = function.blocks[item.header.0 as usize].line;
        let pressure = registers::most_live_in(function, &cfg, &item.blocks);
        if pressure > MAX_LIVE_REGISTERS && said.is_none() {
            refused.push(item.header);
            ctx.findings.add(function, line, || {
                format!(
                    "loop of {} iterations kept: {pressure} registers are live in its body",
                    plan.iterations
                )
            });
            continue;
        }
        ctx.findings.add(function, line, || {
            format!(
                "loop of {} iterations unrolled; about {pressure} registers are live in its body",
                plan.iterations
            )
        });
        copy_iterations(function, &cfg, item, &plan);
        ctx.blocks_changed();
        super::dead_code::unreachable_blocks(function, ctx);
        return true;
    }
    false
}

fn copy_iterations(function: &mut Function, cfg: &Cfg, item: &Loop, plan: &Counted) {
    let Some(preheader) = item.preheader(function, cfg) else {
        return;
    };
    let latch = item.latches[0];
    let values_before = function.values.len();
    let header_phis: Vec<Value> = function.blocks[item.header.0 as usize]
        .instructions
        .iter()
        .copied()
        .take_while(|value| matches!(function.op(*value), Op::Phi(_)))
        .collect();
    let copied: Vec<Value> = item
        .blocks
        .iter()
        .flat_map(|block| &function.blocks[block.0 as usize].instructions)
        .copied()
        .filter(|value| !header_phis.contains(value))
        .collect();
    let mut position_of: Vec<Option<u32>> = vec![None; function.blocks.len()];
    for (position, block) in (0..).zip(&item.blocks) {
        position_of[block.0 as usize] = Some(position);
    }
    let mut mapped: Vec<Option<Value>> = vec![None; values_before];
    let mut entries: Vec<Option<Value>> = Vec::with_capacity(header_phis.len());
    let mut entry_of_next = BlockId(0);
    // In the last iteration the exiting block leaves; what would follow it is dropped as unreachable.
    for iteration in 0..=plan.iterations {
        let first_block = function.blocks.len() as u32;
        let new_block = |block: BlockId| {
            let position = position_of.get(block.0 as usize).copied().flatten();
            position.map(|position| BlockId(first_block + position))
        };
        // All of them are those of the iteration before, until they are all known.
        entries.clear();
        entries.extend(header_phis.iter().map(|phi| {
            let Op::Phi(inputs) = function.op(*phi) else {
                return None;
            };
            let is_wanted = |from: BlockId| (from == latch) == (iteration > 0);
            let (_, value) = *inputs.iter().find(|(from, _)| is_wanted(*from))?;
            let known = (iteration > 0).then(|| mapped[value.0 as usize]).flatten();
            Some(known.unwrap_or(value))
        }));
        for (phi, entry) in header_phis.iter().zip(&entries) {
            mapped[phi.0 as usize] = *entry;
        }
        for (number, value) in (function.values.len() as u32..).zip(&copied) {
            mapped[value.0 as usize] = Some(Value(number));
        }
        let rename = |value: Value| {
            mapped
                .get(value.0 as usize)
                .copied()
                .flatten()
                .unwrap_or(value)
        };
        for value in &copied {
            let Instruction { op, ty, line } = function.values[value.0 as usize].clone();
            let mut op = op;
            op.for_each_operand_mut(|operand| *operand = rename(*operand));
            if let Op::Phi(inputs) = &mut op {
                for (from, _) in inputs {
                    *from = new_block(*from).unwrap_or(*from);
                }
            }
            function.add_value(op, ty, line);
        }
        let header_copy = new_block(item.header).unwrap_or(item.header);
        // The back edge of this iteration enters the next one, whose blocks come right behind these.
        let next_header = BlockId(header_copy.0 + item.blocks.len() as u32);
        for &block in &item.blocks {
            let source = &function.blocks[block.0 as usize];
            let instructions = source
                .instructions
                .iter()
                .filter(|value| !header_phis.contains(value))
                .map(|value| rename(*value))
                .collect();
            let mut terminator = source.terminator.clone();
            if let Some(operand) = terminator.operand_mut() {
                *operand = rename(*operand);
            }
            let (line, weights) = (source.line, source.weights);
            let unroll = source.unroll.filter(|_| block != item.header);
            if block == plan.exiting {
                let onward = onward(&source.terminator, plan.exit);
                terminator = Terminator::Jump(if iteration == plan.iterations {
                    plan.exit
                } else {
                    onward
                });
            }
            let is_last = iteration == plan.iterations;
            for_each_target_mut(&mut terminator, |target| {
                if *target == item.header && block == latch {
                    *target = if is_last { header_copy } else { next_header };
                } else if let Some(new) = new_block(*target) {
                    *target = new;
                }
            });
            function.blocks.push(Block {
                instructions,
                terminator,
                line,
                unroll,
                weights,
            });
        }
        if iteration == 0 {
            entry_of_next = header_copy;
        }
        if iteration == plan.iterations {
            let exiting_copy = new_block(plan.exiting).unwrap_or(plan.exiting);
            leave(function, item, plan, exiting_copy, &mapped, values_before);
        }
    }
    function.blocks[preheader.0 as usize].terminator = Terminator::Jump(entry_of_next);
}

/// Names the values of the last iteration behind the loop.
fn leave(
    function: &mut Function,
    item: &Loop,
    plan: &Counted,
    exiting_copy: BlockId,
    mapped: &[Option<Value>],
    values_before: usize,
) {
    let member = item.membership(function);
    let rename = |value: Value| {
        mapped
            .get(value.0 as usize)
            .copied()
            .flatten()
            .unwrap_or(value)
    };
    let outside: Vec<usize> = (0..function.blocks.len())
        .filter(|block| !member.get(*block).copied().unwrap_or(false))
        .collect();
    for block in outside {
        for index in 0..function.blocks[block].instructions.len() {
            let value = function.blocks[block].instructions[index];
            // The copies refer to what they should already.
            if value.0 as usize >= values_before {
                continue;
            }
            let op = &mut function.values[value.0 as usize].op;
            op.for_each_operand_mut(|operand| *operand = rename(*operand));
            if let Op::Phi(inputs) = op
                && block == plan.exit.0 as usize
            {
                for (from, _) in inputs.iter_mut().filter(|(from, _)| *from == plan.exiting) {
                    *from = exiting_copy;
                }
            }
        }
        if let Some(operand) = function.blocks[block].terminator.operand_mut()
            && (operand.0 as usize) < values_before
        {
            *operand = rename(*operand);
        }
    }
}

fn onward(terminator: &Terminator, exit: BlockId) -> BlockId {
    match terminator {
        Terminator::Branch { yes, no, .. } => {
            if *yes == exit {
                *no
            } else {
                *yes
            }
        }
        _ => exit,
    }
}

pub(crate) fn for_each_target_mut(
    terminator: &mut Terminator,
    mut visit: impl FnMut(&mut BlockId),
) {
    match terminator {
        Terminator::Jump(to) => visit(to),
        Terminator::Branch { yes, no, .. } => {
            visit(yes);
            visit(no);
        }
        Terminator::Switch { cases, default, .. } => {
            for (_, to) in cases {
                visit(to);
            }
            visit(default);
        }
        Terminator::Return(_) | Terminator::Unreachable => {}
    }
}
