//! Simplifies the graph of blocks: chains become one block, branches around a few cheap instructions become selects, empty blocks
//! on the way are skipped.
//!
//! Every operation without effect is total, so computing one that the source would have skipped changes nothing; only cheap ones
//! are, and no loads.

use super::replacement::Replacement;
use super::{Context, Pass, cost};
use crate::ir::{BlockId, Function, Op, Terminator, Type, Value, cfg::Cfg};

pub struct ControlFlow;

/// Cost of what one side of a branch may compute in vain.
const MAX_SPECULATED_COST: u64 = 6;
/// Selects that one branch may become.
const MAX_SELECTS: usize = 3;

impl Pass for ControlFlow {
    fn name(&self) -> &'static str {
        "control-flow"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let mut changes = 0;
        // Each round makes at least one block unreachable; nests of branches close from the inside out.
        for _ in 0..function.blocks.len() {
            let skipped = skip_empty_blocks(function);
            if skipped > 0 {
                ctx.blocks_changed();
            }
            let merged = merge_chains(function, &ctx.cfg(function));
            if merged > 0 {
                ctx.blocks_changed();
            }
            let selected = make_selects(function, &ctx.cfg(function));
            if selected > 0 {
                ctx.blocks_changed();
            }
            let round = skipped + merged + selected;
            if round == 0 {
                break;
            }
            changes += round;
            super::dead_code::unreachable_blocks(function, ctx);
        }
        changes
    }
}

/// A block with one predecessor that leads nowhere else becomes its end.
fn merge_chains(function: &mut Function, cfg: &Cfg) -> u64 {
    let mut changes = 0;
    let mut replacement = Replacement::default();
    // Blocks that became parts of others; empty as long as there are none.
    let mut home: Vec<BlockId> = Vec::new();
    for &block in &cfg.order {
        let [predecessor] = &cfg.predecessors[block.0 as usize] else {
            continue;
        };
        let into = home
            .get(predecessor.0 as usize)
            .copied()
            .unwrap_or(*predecessor);
        if block.0 == 0
            || into == block
            || function.blocks[into.0 as usize].terminator != Terminator::Jump(block)
        {
            continue;
        }
        let moved = std::mem::take(&mut function.blocks[block.0 as usize].instructions);
        for value in moved {
            match function.op(value) {
                Op::Phi(inputs) => {
                    if let Some(&(_, input)) = inputs.first() {
                        replacement.set(function, value, input);
                    }
                    function.values[value.0 as usize].op = Op::Nothing;
                }
                _ => function.blocks[into.0 as usize].instructions.push(value),
            }
        }
        let data = &mut function.blocks[block.0 as usize];
        let terminator = std::mem::replace(&mut data.terminator, Terminator::Unreachable);
        let line = data.line;
        terminator.for_each_target(|target| rename_predecessor(function, target, block, into));
        function.blocks[into.0 as usize].terminator = terminator;
        function.blocks[into.0 as usize].line = line;
        if home.is_empty() {
            home.extend((0..function.blocks.len() as u32).map(BlockId));
        }
        home[block.0 as usize] = into;
        changes += 1;
    }
    replacement.apply(function);
    changes
}

fn rename_predecessor(function: &mut Function, block: BlockId, old: BlockId, new: BlockId) {
    for index in 0..function.blocks[block.0 as usize].instructions.len() {
        let value = function.blocks[block.0 as usize].instructions[index];
        let Op::Phi(inputs) = &mut function.values[value.0 as usize].op else {
            break;
        };
        for (from, _) in inputs.iter_mut().filter(|(from, _)| *from == old) {
            *from = new;
        }
    }
}

/// Whether a block starts with a phi.
fn has_phis(function: &Function, block: BlockId) -> bool {
    function.blocks[block.0 as usize]
        .instructions
        .first()
        .is_some_and(|value| matches!(function.op(*value), Op::Phi(_)))
}

/// Edges to an empty block go where it leads, where no phi tells the ways apart.
fn skip_empty_blocks(function: &mut Function) -> u64 {
    let mut onward = Onward::default();
    for index in 1..function.blocks.len() {
        let block = BlockId(index as u32);
        let Terminator::Jump(target) = function.blocks[index].terminator else {
            continue;
        };
        // What is said about a loop stands where it starts.
        let data = &function.blocks[index];
        if !data.instructions.is_empty() || data.unroll.is_some() {
            continue;
        }
        let (target, _) = onward.end(target);
        if target != block && !has_phis(function, target) {
            onward.links.resize(function.blocks.len(), None);
            onward.links[index] = Some((target, 1));
        }
    }
    let mut changes = 0;
    if !onward.links.is_empty() {
        for block in &mut function.blocks {
            super::unrolling::for_each_target_mut(&mut block.terminator, |to| {
                let (end, steps) = onward.end(*to);
                *to = end;
                changes += steps;
            });
        }
    }
    changes + join_equal_ways(function)
}

/// Where edges to each block go instead, and over how many blocks; empty as long as all stay.
#[derive(Default)]
struct Onward {
    links: Vec<Option<(BlockId, u64)>>,
}

impl Onward {
    /// Where an edge to a block ends. The blocks on the way remember it.
    fn end(&mut self, block: BlockId) -> (BlockId, u64) {
        let link = |links: &[Option<(BlockId, u64)>], block: BlockId| {
            links.get(block.0 as usize).copied().flatten()
        };
        let Some(first) = link(&self.links, block) else {
            return (block, 0);
        };
        if link(&self.links, first.0).is_none() {
            return first;
        }
        let mut way = Vec::new();
        let mut end = block;
        while let Some((next, steps)) = link(&self.links, end) {
            way.push((end, steps));
            end = next;
        }
        let mut total = 0;
        for (block, steps) in way.into_iter().rev() {
            total += steps;
            self.links[block.0 as usize] = Some((end, total));
        }
        (end, total)
    }
}

/// A branch both of whose ways are one is a jump.
fn join_equal_ways(function: &mut Function) -> u64 {
    let mut changes = 0;
    for block in &mut function.blocks {
        if let Terminator::Branch { yes, no, .. } = block.terminator
            && yes == no
        {
            block.terminator = Terminator::Jump(yes);
            changes += 1;
        }
    }
    changes
}

/// A branch whose sides only compute cheap values and meet again.
struct Diamond {
    condition: Value,
    /// The sides, where they have a block of their own.
    sides: [Option<BlockId>; 2],
    join: BlockId,
}

fn make_selects(function: &mut Function, cfg: &Cfg) -> u64 {
    let mut is_changed: Vec<bool> = Vec::new();
    let mut changes = 0;
    for &block in &cfg.order {
        let Some(diamond) = diamond(function, cfg, block) else {
            continue;
        };
        let touched = [
            Some(block),
            diamond.sides[0],
            diamond.sides[1],
            Some(diamond.join),
        ];
        if touched
            .iter()
            .flatten()
            .any(|block| is_changed.get(block.0 as usize) == Some(&true))
        {
            continue;
        }
        is_changed.resize(function.blocks.len(), false);
        for block in touched.iter().flatten() {
            is_changed[block.0 as usize] = true;
        }
        convert(function, block, &diamond);
        changes += 1;
    }
    changes
}

fn diamond(function: &Function, cfg: &Cfg, block: BlockId) -> Option<Diamond> {
    let Terminator::Branch { condition, yes, no } = function.blocks[block.0 as usize].terminator
    else {
        return None;
    };
    if yes == no {
        return None;
    }
    let side = |start: BlockId| -> Option<BlockId> {
        let Terminator::Jump(to) = function.blocks[start.0 as usize].terminator else {
            return None;
        };
        (cfg.predecessors[start.0 as usize] == [block] && to != start).then_some(to)
    };
    let (sides, join) = match (side(yes), side(no)) {
        (Some(one), Some(other)) if one == other => ([Some(yes), Some(no)], one),
        (Some(to), _) if to == no => ([Some(yes), None], no),
        (_, Some(to)) if to == yes => ([None, Some(no)], yes),
        _ => return None,
    };
    // A join that is the head of a loop around the branch keeps its edges: loops stay recognisable.
    if join == block || cfg.dominates(join, block) {
        return None;
    }
    for side in sides.iter().flatten() {
        let mut cost = 0;
        for value in &function.blocks[side.0 as usize].instructions {
            let op = function.op(*value);
            if !op.is_pure() {
                return None;
            }
            cost += cost::of_instruction(function, op, function.ty(*value));
        }
        if cost > MAX_SPECULATED_COST {
            return None;
        }
    }
    let phis = function.blocks[join.0 as usize]
        .instructions
        .iter()
        .take_while(|value| matches!(function.op(**value), Op::Phi(_)));
    (phis.count() <= MAX_SELECTS).then_some(Diamond {
        condition,
        sides,
        join,
    })
}

fn convert(function: &mut Function, block: BlockId, diamond: &Diamond) {
    let ends = diamond.sides.map(|side| side.unwrap_or(block));
    for side in diamond.sides.iter().flatten() {
        let moved = std::mem::take(&mut function.blocks[side.0 as usize].instructions);
        function.blocks[block.0 as usize].instructions.extend(moved);
    }
    for index in 0..function.blocks[diamond.join.0 as usize].instructions.len() {
        let phi = function.blocks[diamond.join.0 as usize].instructions[index];
        let Op::Phi(inputs) = function.op(phi).clone() else {
            break;
        };
        let input = |from: BlockId| {
            inputs
                .iter()
                .find(|(end, _)| *end == from)
                .map(|(_, value)| *value)
        };
        let (Some(when_yes), Some(when_no)) = (input(ends[0]), input(ends[1])) else {
            continue;
        };
        let chosen = select(function, block, diamond.condition, when_yes, when_no, phi);
        let rest = inputs
            .into_iter()
            .filter(|(from, _)| !ends.contains(from))
            .chain([(block, chosen)])
            .collect();
        function.values[phi.0 as usize].op = Op::Phi(rest);
    }
    function.blocks[block.0 as usize].terminator = Terminator::Jump(diamond.join);
}

fn select(
    function: &mut Function,
    block: BlockId,
    condition: Value,
    yes: Value,
    no: Value,
    phi: Value,
) -> Value {
    if yes == no {
        return yes;
    }
    let (ty, line) = (function.ty(phi), function.values[phi.0 as usize].line);
    let known = |value: Value| function.constant(value).map(|bits| bits & 1);
    // Conditions joined by && and || come as branches over constants.
    let op = match (ty, known(yes), known(no)) {
        (Type::I1, None, Some(0)) => Op::Binary(crate::ir::BinaryOp::And, condition, yes),
        (Type::I1, Some(1), None) => Op::Binary(crate::ir::BinaryOp::Or, condition, no),
        (Type::I1, Some(1), Some(0)) => return condition,
        _ => Op::Select(condition, yes, no),
    };
    let value = function.add_value(op, ty, line);
    function.blocks[block.0 as usize].instructions.push(value);
    value
}
