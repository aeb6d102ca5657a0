//! Which values are the same for every work-item of a block that computes them; of a wave, in kernels where waves go their own
//! ways.
//!
//! A value varies when it follows from `threadIdx`, from private memory, from an atomic or a call, or from the way taken at a
//! branch that varies: phis where such ways meet, and everything that a loop left at different iterations keeps. Loads through a
//! pointer that is the same everywhere count as uniform: between two barriers another result would be a race.

use super::{Cut, Exit};
use crate::ir::{BlockId, Cooperation, Op, SpecialKind, Terminator, Value};

pub(super) struct Uniformity {
    varies: Vec<bool>,
}

impl Uniformity {
    pub fn new(cut: &Cut<'_>) -> Self {
        let function = cut.function;
        let mut analysis = Self {
            varies: vec![false; function.values.len()],
        };
        for (index, instruction) in function.values.iter().enumerate() {
            analysis.varies[index] = match &instruction.op {
                Op::Special(special) => special.kind == SpecialKind::ThreadIndex,
                // Lanes that arrive together get the same ballot.
                Op::Cooperative(Cooperation::WaveBallot, _) => false,
                // Work-items may read a volatile place at different times.
                Op::Slot { .. } | Op::Call { .. } | Op::Cooperative(..) | Op::VolatileLoad(_) => {
                    true
                }
                _ => false,
            };
        }
        let count = function.blocks.len();
        // Blocks whose phis vary, and whose loads do.
        let (mut meets, mut left_unevenly) = (vec![false; count], vec![false; count]);
        let mut is_known = vec![false; count];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &cut.cfg.order {
                let at = block.0 as usize;
                for &value in &function.blocks[at].instructions {
                    let index = value.0 as usize;
                    if analysis.varies[index] {
                        continue;
                    }
                    let op = function.op(value);
                    let mut varies = match op {
                        Op::Phi(_) => meets[at] || left_unevenly[at],
                        Op::Load(_) | Op::NontemporalLoad(_) => left_unevenly[at],
                        _ => false,
                    };
                    op.for_each_operand(|operand| varies |= analysis.varies[operand.0 as usize]);
                    analysis.varies[index] = varies;
                    changed |= varies;
                }
                if let Some(met) = cut.met[at]
                    && left_unevenly[at]
                    && !std::mem::replace(&mut analysis.varies[met.0 as usize], true)
                {
                    changed = true;
                }
                if !is_known[at] && analysis.branches_unevenly(&function.blocks[at].terminator) {
                    is_known[at] = true;
                    changed = true;
                    spread(cut, block, &mut meets, &mut left_unevenly);
                }
            }
        }
        analysis
    }

    pub fn varies(&self, value: Value) -> bool {
        self.varies[value.0 as usize]
    }

    pub fn branches_unevenly(&self, terminator: &Terminator) -> bool {
        !matches!(terminator, Terminator::Return(_))
            && terminator.operand().is_some_and(|value| self.varies(value))
    }

    /// Where the work-items of a region go.
    pub fn exit_of(&self, cut: &Cut<'_>, number: usize, returned: u32) -> Exit {
        let blocks = cut.blocks_of(cut.starts[number]);
        let exits = cut.exits(number, returned);
        let exit_of = |block: BlockId| cut.exit_at(block, returned);
        match exits.as_slice() {
            // A loop without an end leads nowhere.
            [] => return Exit::One(returned),
            [only] => return Exit::One(*only),
            _ => {}
        }
        // For each block the exits it can reach; another one of two ways matters only where both can be reached.
        let mut ways = vec![0u32; cut.function.blocks.len()];
        for &exit in &exits {
            let mut reaches = vec![false; cut.function.blocks.len()];
            let mut changed = true;
            while changed {
                changed = false;
                for &block in blocks.iter().rev() {
                    let at = block.0 as usize;
                    if reaches[at] {
                        continue;
                    }
                    let mut found = exit_of(block) == Some(exit);
                    if cut.behind[at].is_none() {
                        cut.function.blocks[at]
                            .terminator
                            .for_each_target(|target| found |= reaches[target.0 as usize]);
                    }
                    reaches[at] = found;
                    changed |= found;
                }
            }
            for &block in &blocks {
                ways[block.0 as usize] += u32::from(reaches[block.0 as usize]);
            }
        }
        let is_uneven = blocks.iter().any(|block| {
            ways[block.0 as usize] > 1
                && self.branches_unevenly(&cut.function.blocks[block.0 as usize].terminator)
        });
        if is_uneven {
            Exit::Varying
        } else {
            Exit::Uniform
        }
    }
}

/// Marks what the ways from a branch that varies have in common. Every way carries the label of its first block, and from
/// where two labels meet, that of the block where they do.
fn spread(cut: &Cut<'_>, branch: BlockId, meets: &mut [bool], left_unevenly: &mut [bool]) {
    let count = cut.function.blocks.len();
    let mut label: Vec<Option<BlockId>> = vec![None; count];
    let mut is_first = vec![false; count];
    cut.function.blocks[branch.0 as usize]
        .terminator
        .for_each_target(|target| {
            label[target.0 as usize] = Some(target);
            is_first[target.0 as usize] = true;
        });
    let mut is_sync_point = vec![false; count];
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &cut.cfg.order {
            let at = block.0 as usize;
            if is_sync_point[at] {
                continue;
            }
            let mut seen = if is_first[at] { Some(block) } else { None };
            let mut is_join = false;
            for &from in &cut.cfg.predecessors[at] {
                if from == branch {
                    continue;
                }
                let Some(other) = label[from.0 as usize] else {
                    continue;
                };
                is_join |= seen.is_some_and(|one| one != other);
                seen = seen.or(Some(other));
            }
            let new = if is_join { Some(block) } else { seen };
            is_sync_point[at] = is_join;
            if new != label[at] {
                label[at] = new;
                changed = true;
            }
        }
    }
    for at in 0..count {
        meets[at] |= is_sync_point[at];
    }
    let Some(again) = label[branch.0 as usize] else {
        return;
    };
    // The branch is in a loop. If work-items leave it at different iterations, what they take along differs.
    let mut in_loop = vec![false; count];
    in_loop[branch.0 as usize] = true;
    let mut work = vec![branch];
    while let Some(block) = work.pop() {
        for &from in &cut.cfg.predecessors[block.0 as usize] {
            if label[from.0 as usize].is_some()
                && !std::mem::replace(&mut in_loop[from.0 as usize], true)
            {
                work.push(from);
            }
        }
    }
    let leaves = (0..count).any(|at| !in_loop[at] && label[at].is_some_and(|other| other != again));
    if leaves {
        for at in 0..count {
            left_unevenly[at] |= in_loop[at];
        }
    }
}
