//! Values that live across a barrier, and where each is kept meanwhile.

use std::collections::HashSet;

use super::{Cut, Exit, HostKernel, Uniformity};
use crate::ir::{BlockId, Op, Value};

/// Where a value is kept between regions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Home {
    /// Number of the array in [`HostKernel::contexts`].
    Context(usize),
    /// Number in [`HostKernel::uniforms`].
    Uniform(usize),
}

/// What follows from arguments and indices alone.
pub(super) fn recomputed(cut: &Cut<'_>) -> Vec<bool> {
    let function = cut.function;
    let mut is_recomputed: Vec<bool> = function
        .values
        .iter()
        .map(|instruction| {
            instruction.op.is_floating()
                || matches!(instruction.op, Op::Special(_) | Op::Slot { .. })
        })
        .collect();
    for &block in &cut.cfg.order {
        for &value in &function.blocks[block.0 as usize].instructions {
            let op = function.op(value);
            if op.is_pure() {
                let mut follows = true;
                op.for_each_operand(|operand| follows &= is_recomputed[operand.0 as usize]);
                is_recomputed[value.0 as usize] = follows;
            }
        }
    }
    is_recomputed
}

/// Values that are live across regions and phis, each with an input that is live across them too.
fn phi_inputs(cut: &Cut<'_>, is_live_across: &[Option<usize>]) -> Vec<(Value, Value)> {
    let mut pairs = Vec::new();
    for &block in &cut.cfg.order {
        for &phi in &cut.function.blocks[block.0 as usize].instructions {
            let Op::Phi(inputs) = cut.function.op(phi) else {
                break;
            };
            if is_live_across[phi.0 as usize].is_some() {
                let inputs = inputs.iter().map(|(_, input)| *input);
                pairs.extend(
                    inputs
                        .filter(|input| is_live_across[input.0 as usize].is_some())
                        .map(|input| (phi, input)),
                );
            }
        }
    }
    pairs
}

pub(super) struct LiveAcross {
    /// Of values that live across some barrier.
    pub homes: Vec<Option<Home>>,
    /// Arrays of private memory.
    pub slots: Vec<Option<usize>>,
    /// Follows from arguments and indices alone, and is computed anew in every region that needs it.
    pub is_recomputed: Vec<bool>,
    /// By block: the values that live when it starts, for first blocks of regions.
    pub live: Vec<Vec<Value>>,
}

impl LiveAcross {
    pub fn new(cut: &Cut<'_>, uniformity: &Uniformity, kernel: &mut HostKernel) -> Self {
        let function = cut.function;
        let is_recomputed = recomputed(cut);
        let mut home_block: Vec<Option<BlockId>> = vec![None; function.values.len()];
        for &block in &cut.cfg.order {
            for &value in &function.blocks[block.0 as usize].instructions {
                home_block[value.0 as usize] = Some(block);
            }
        }
        for &block in &cut.cfg.order {
            if let Some(met) = cut.met[block.0 as usize] {
                home_block[met.0 as usize] = Some(block);
            }
        }
        let mut live_across = Self {
            homes: vec![None; function.values.len()],
            slots: vec![None; function.values.len()],
            is_recomputed,
            live: vec![Vec::new(); function.blocks.len()],
        };
        live_across.find_live(cut, &home_block);
        let mut is_start = vec![false; function.blocks.len()];
        for start in &cut.starts[1..] {
            is_start[start.0 as usize] = true;
        }
        for (block, live) in live_across.live.iter_mut().enumerate() {
            if !is_start[block] {
                live.clear();
            }
        }
        live_across.find_homes(cut, uniformity, kernel);
        for (index, instruction) in function.values.iter().enumerate() {
            if let Op::Slot { bytes, align } = instruction.op
                && home_block[index].is_some()
            {
                live_across.slots[index] = Some(kernel.contexts.len());
                kernel.contexts.push(bytes.next_multiple_of(align.max(1)));
            }
        }
        live_across
    }

    /// Values that never live at the same time share a home. Those kept once for a block (or a wave) do so only where all its
    /// work-items are always in one region.
    fn find_homes(&mut self, cut: &Cut<'_>, uniformity: &Uniformity, kernel: &mut HostKernel) {
        let count = cut.starts.len() as u32;
        let parts = (0..cut.starts.len())
            .any(|number| uniformity.exit_of(cut, number, count) == Exit::Varying);
        let mut lives_at: Vec<(Value, Vec<BlockId>)> = Vec::new();
        let mut entry_of: Vec<Option<usize>> = vec![None; cut.function.values.len()];
        for &start in &cut.starts {
            for &value in &self.live[start.0 as usize] {
                let entry = *entry_of[value.0 as usize].get_or_insert_with(|| {
                    lives_at.push((value, Vec::new()));
                    lives_at.len() - 1
                });
                lives_at[entry].1.push(start);
            }
        }
        let related = phi_inputs(cut, &entry_of);
        for (value, starts) in lives_at {
            let ty = cut.function.ty(value);
            let beside = starts.iter().flat_map(|start| &self.live[start.0 as usize]);
            let taken: HashSet<Home> = beside
                .filter_map(|other| self.homes[other.0 as usize])
                .collect();
            let home = if uniformity.varies(value) {
                // A phi best stays where its inputs are: then nothing moves on the way to it.
                let mut kin = related.iter().filter_map(|(one, other)| match () {
                    () if *one == value => Some(*other),
                    () if *other == value => Some(*one),
                    () => None,
                });
                let kept = kin.find_map(|other| match self.homes[other.0 as usize] {
                    Some(home @ Home::Context(_)) if !taken.contains(&home) => Some(home),
                    _ => None,
                });
                if kept.is_some() {
                    self.homes[value.0 as usize] = kept;
                    continue;
                }
                let mut free = (0..kernel.contexts.len()).filter(|index| {
                    kernel.contexts[*index] == ty.bytes() && !taken.contains(&Home::Context(*index))
                });
                Home::Context(free.next().unwrap_or_else(|| {
                    kernel.contexts.push(ty.bytes());
                    kernel.contexts.len() - 1
                }))
            } else {
                let mut free = (0..kernel.uniforms.len()).filter(|index| {
                    !parts
                        && kernel.uniforms[*index] == ty
                        && !taken.contains(&Home::Uniform(*index))
                });
                Home::Uniform(free.next().unwrap_or_else(|| {
                    kernel.uniforms.push(ty);
                    kernel.uniforms.len() - 1
                }))
            };
            self.homes[value.0 as usize] = Some(home);
        }
    }

    /// For each value the blocks at whose start it lives, found backwards from its uses.
    fn find_live(&mut self, cut: &Cut<'_>, home_block: &[Option<BlockId>]) {
        let function = cut.function;
        // Pairs of a value and a block at whose end it is needed, or which it is needed in.
        let mut uses: Vec<Vec<BlockId>> = vec![Vec::new(); function.values.len()];
        for &block in &cut.cfg.order {
            let data = &function.blocks[block.0 as usize];
            for &value in &data.instructions {
                match function.op(value) {
                    Op::Phi(inputs) => {
                        for (from, input) in inputs {
                            uses[input.0 as usize].push(*from);
                        }
                    }
                    op => op.for_each_operand(|operand| uses[operand.0 as usize].push(block)),
                }
            }
            if let Some(operand) = data.terminator.operand() {
                uses[operand.0 as usize].push(block);
            }
            if let Some(met) = cut.met[block.0 as usize] {
                let op = function.op(met);
                op.for_each_operand(|operand| uses[operand.0 as usize].push(block));
            }
        }
        let mut visited_for: Vec<usize> = vec![usize::MAX; function.blocks.len()];
        for (index, users) in uses.into_iter().enumerate() {
            let Some(home) = home_block[index].filter(|_| !self.is_recomputed[index]) else {
                continue;
            };
            let mut work = users;
            while let Some(block) = work.pop() {
                let at = block.0 as usize;
                if block == home || std::mem::replace(&mut visited_for[at], index) == index {
                    continue;
                }
                self.live[at].push(Value(index as u32));
                work.extend(&cut.cfg.predecessors[at]);
            }
        }
    }
}
