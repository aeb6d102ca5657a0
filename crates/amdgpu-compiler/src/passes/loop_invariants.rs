//! Computes before a loop what is the same in all its iterations.
//!
//! Operations without effect are total and may be computed whether the loop wants them or not; the dear ones move only from where
//! every iteration passes. Loads move only from the head of the loop, which runs whenever the block before it does, and only when nothing
//! in the loop may write what they read or let other work-items write it.

use super::aliasing::Aliasing;
use super::{Context, Pass, cost};
use crate::ir::loops::Loop;
use crate::ir::{BlockId, Function, Op, Value, cfg::Cfg};

pub struct LoopInvariants;

/// From this cost on an operation moves only from where every iteration passes.
const DEAR: u64 = 8;

impl Pass for LoopInvariants {
    fn name(&self) -> &'static str {
        "loop-invariants"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let cfg = ctx.cfg(function);
        let loops = ctx.loops(function);
        if loops.list.is_empty() {
            return 0;
        }
        let mut homes = homes(function);
        let aliasing = Aliasing::new(function, ctx.memory);
        let mut changes = 0;
        for item in &loops.list {
            let Some(preheader) = item.preheader(function, &cfg) else {
                continue;
            };
            changes += hoist(function, &cfg, item, preheader, &mut homes, &aliasing);
        }
        changes
    }
}

/// The block of every value.
fn homes(function: &Function) -> Vec<Option<BlockId>> {
    let mut homes = vec![None; function.values.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        for value in &block.instructions {
            homes[value.0 as usize] = Some(BlockId(index as u32));
        }
    }
    homes
}

fn hoist(
    function: &mut Function,
    cfg: &Cfg,
    item: &Loop,
    preheader: BlockId,
    homes: &mut [Option<BlockId>],
    aliasing: &Aliasing<'_>,
) -> u64 {
    let member = item.membership(function);
    let is_inside = |homes: &[Option<BlockId>], value: Value| {
        homes[value.0 as usize].is_some_and(|home| member[home.0 as usize])
    };
    let writes: Vec<Op> = item
        .blocks
        .iter()
        .flat_map(|block| &function.blocks[block.0 as usize].instructions)
        .map(|value| function.op(*value))
        .filter(|op| op.has_effect())
        .cloned()
        .collect();
    let mut moved = 0;
    for &block in &item.blocks {
        let every_turn = item
            .latches
            .iter()
            .all(|latch| cfg.dominates(block, *latch));
        for value in function.blocks[block.0 as usize].instructions.clone() {
            let op = function.op(value);
            let mut is_invariant = true;
            op.for_each_operand(|operand| is_invariant &= !is_inside(homes, operand));
            let may_move = match op {
                Op::Load(pointer) => {
                    block == item.header
                        && !writes.iter().any(|write| {
                            let size = function.ty(value).bytes();
                            aliasing.may_write(function, write, *pointer, size)
                        })
                }
                // A constant step is part of the access on every target; moving it would only keep a register.
                Op::Offset { index, .. } if function.constant(*index).is_some() => false,
                op if op.is_pure() => {
                    every_turn || cost::of_instruction(function, op, function.ty(value)) < DEAR
                }
                _ => false,
            };
            // The constant step of an address goes with the load that needs it.
            let step = match op {
                Op::Load(pointer) if is_inside(homes, *pointer) => match function.op(*pointer) {
                    Op::Offset {
                        pointer: base,
                        index,
                        ..
                    } if function.constant(*index).is_some() && !is_inside(homes, *base) => {
                        is_invariant = true;
                        Some(*pointer)
                    }
                    _ => None,
                },
                _ => None,
            };
            if !is_invariant || !may_move {
                continue;
            }
            for value in step.into_iter().chain([value]) {
                let Some(home) = homes[value.0 as usize] else {
                    continue;
                };
                function.blocks[home.0 as usize]
                    .instructions
                    .retain(|other| *other != value);
                function.blocks[preheader.0 as usize]
                    .instructions
                    .push(value);
                homes[value.0 as usize] = Some(preheader);
                moved += 1;
            }
        }
    }
    moved
}
