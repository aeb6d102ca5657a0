//! Where a region begins with decisions that all work-items of a block take alike, it is cut behind them: the decisions then
//! run once for the block, and what they lead to runs vector after vector without them. Regions that decide the same, such as
//! the one in front of a loop with barriers and the one at its end, share what they lead to.
//!
//! A cut of this kind is no sync point: what stands behind it belongs to the iteration of what stands before it. It is made only where
//! all who come there come from one region.

use super::live_across::recomputed;
use super::sync_points::Cut;
use super::{Exit, Uniformity};
use crate::cooperative::split_block;
use crate::ir::{Block, BlockId, Function, Op, Terminator, Value};
use crate::lanes::targets;
use crate::passes::for_each_target_mut;

/// Regions of a kernel in which decisions are looked for; with more, each is a function of its own, and calls cost more than
/// decisions.
const MOST_REGIONS: usize = 12;

/// Where blocks end because work-items meet or a decision was taken, as [`Cut`] has it.
#[derive(Clone)]
pub(super) struct Ends {
    pub behind: Vec<Option<BlockId>>,
    pub met: Vec<Option<Value>>,
}

/// The way from a decision to what is more than one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    from: BlockId,
    to: BlockId,
    /// The target is in a loop without a barrier, which stays in one piece: the cut is on the way to it.
    leads_to_loop: bool,
}

/// Cuts a function behind its decisions, unless they lead to `refused` blocks; gives the ends and their targets.
pub(super) fn add(
    function: &mut Function,
    ends: &mut Ends,
    refused: &[BlockId],
) -> Vec<(BlockId, BlockId)> {
    let mut ways: Vec<Way> = Vec::new();
    {
        let cut = Cut::new(function, ends.clone());
        if cut.starts.len() > MOST_REGIONS || cut.has_waves() {
            return Vec::new();
        }
        let light = light_blocks(&cut, &Uniformity::new(&cut));
        for &start in &cut.starts {
            for way in ways_of(&cut, &light, start) {
                let is_known = |other: &Way| {
                    other.to == way.to && (!way.leads_to_loop || other.from == way.from)
                };
                if !ways.iter().any(is_known) && !refused.contains(&way.to) {
                    ways.push(way);
                }
            }
        }
    }
    let mut uniform_branches = Vec::with_capacity(ways.len());
    for way in ways {
        let end = if way.leads_to_loop {
            between(function, ends, way)
        } else {
            way.to
        };
        cut_behind_phis(function, ends, end);
        uniform_branches.push((end, way.to));
    }
    uniform_branches
}

/// Targets of uniform branches that cannot stay: some work-items come there while others go elsewhere, or by two decisions in a row.
pub(super) fn unfit(
    cut: &Cut<'_>,
    uniformity: &Uniformity,
    branches: &[(BlockId, BlockId)],
) -> Vec<BlockId> {
    let mut refused = Vec::new();
    let returned = cut.starts.len() as u32;
    for number in 0..cut.starts.len() {
        let is_even = uniformity.exit_of(cut, number, returned) != Exit::Varying;
        if is_even && number < cut.first_uniform_branch {
            continue;
        }
        for (end, to) in branches {
            let is_left_to = cut.blocks_of(cut.starts[number]).contains(end);
            if is_left_to && !refused.contains(to) {
                refused.push(*to);
            }
        }
    }
    refused
}

/// Blocks that only decide: they compute what is the same for all work-items, or what follows from indices alone, and all go the
/// same way from there.
pub(super) fn light_blocks(cut: &Cut<'_>, uniformity: &Uniformity) -> Vec<bool> {
    let function = cut.function;
    let is_recomputed = recomputed(cut);
    let is_light = |value: &Value| {
        let op = function.op(*value);
        is_recomputed[value.0 as usize]
            || matches!(op, Op::Phi(_))
            || !uniformity.varies(*value) && (op.is_pure() || matches!(op, Op::Load(_)))
    };
    let mut light = vec![false; function.blocks.len()];
    for &block in &cut.cfg.order {
        let data = &function.blocks[block.0 as usize];
        light[block.0 as usize] = data.instructions.iter().all(is_light)
            && !uniformity.branches_unevenly(&data.terminator);
    }
    light
}

/// Where the decisions at the start of a region lead, if there are any.
fn ways_of(cut: &Cut<'_>, light: &[bool], start: BlockId) -> Vec<Way> {
    let mut inside = vec![false; light.len()];
    let mut work = vec![start];
    let mut ways = Vec::new();
    let mut decides = false;
    if !light[start.0 as usize] || is_in_loop(cut, start) {
        return ways;
    }
    inside[start.0 as usize] = true;
    while let Some(from) = work.pop() {
        if cut.behind[from.0 as usize].is_some() {
            continue;
        }
        let targets = targets(cut.function, from);
        decides |= targets.len() > 1;
        for to in targets {
            let leads_to_loop = is_in_loop(cut, to);
            if light[to.0 as usize] && !leads_to_loop {
                if !std::mem::replace(&mut inside[to.0 as usize], true) {
                    work.push(to);
                }
            } else {
                ways.push(Way {
                    from,
                    to,
                    leads_to_loop,
                });
            }
        }
    }
    if !decides {
        ways.clear();
    }
    ways
}

/// Whether a block can be reached from itself without a sync point.
fn is_in_loop(cut: &Cut<'_>, block: BlockId) -> bool {
    let mut seen = vec![false; cut.function.blocks.len()];
    let mut work = vec![block];
    while let Some(from) = work.pop() {
        if cut.behind[from.0 as usize].is_some() {
            continue;
        }
        for to in targets(cut.function, from) {
            if to == block {
                return true;
            }
            if !std::mem::replace(&mut seen[to.0 as usize], true) {
                work.push(to);
            }
        }
    }
    false
}

/// A new block on a way.
fn between(function: &mut Function, ends: &mut Ends, way: Way) -> BlockId {
    let new = BlockId(function.blocks.len() as u32);
    let line = function.blocks[way.to.0 as usize].line;
    function.blocks.push(Block {
        terminator: Terminator::Jump(way.to),
        ..Block::new(line)
    });
    ends.behind.push(None);
    ends.met.push(None);
    let terminator = &mut function.blocks[way.from.0 as usize].terminator;
    for_each_target_mut(terminator, |target| {
        if *target == way.to {
            *target = new;
        }
    });
    for index in 0..function.blocks[way.to.0 as usize].instructions.len() {
        let value = function.blocks[way.to.0 as usize].instructions[index];
        let Op::Phi(inputs) = &mut function.values[value.0 as usize].op else {
            break;
        };
        for (from, _) in inputs.iter_mut().filter(|(from, _)| *from == way.from) {
            *from = new;
        }
    }
    new
}

/// Ends a block behind its phis; they belong to those who come there.
fn cut_behind_phis(function: &mut Function, ends: &mut Ends, block: BlockId) {
    let at = block.0 as usize;
    let is_phi = |value: &&Value| matches!(function.op(**value), Op::Phi(_));
    let instructions = &function.blocks[at].instructions;
    let phis = instructions.iter().take_while(is_phi).count();
    let rest = split_block(function, at, phis);
    ends.behind.push(ends.behind[at]);
    ends.met.push(ends.met[at]);
    (ends.behind[at], ends.met[at]) = (Some(rest), None);
}
