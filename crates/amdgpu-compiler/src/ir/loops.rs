//! The loops of a function: natural loops, found from edges back to a block that dominates their start.

use std::cell::OnceCell;

use super::cfg::Cfg;
use super::{BinaryOp, BlockId, Function, Op, Terminator, Value};
use crate::effort;
use rustc_hash::FxHashMap;

/// One loop; several edges back to one header make one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    pub header: BlockId,
    /// Where the edges back start.
    pub latches: Vec<BlockId>,
    /// All blocks, those of inner loops too, in the order of the graph.
    pub blocks: Vec<BlockId>,
    /// The same by number.
    sorted: Vec<BlockId>,
}

/// The loops of a function, as of when they were found.
#[derive(Debug)]
pub struct Loops {
    /// Inner loops before those around them.
    pub list: Vec<Loop>,
    /// Number of loops around each block.
    pub depth: Vec<u32>,
    /// By block the loops around it; found when first asked for.
    around: OnceCell<Vec<Vec<u32>>>,
}

impl Loops {
    pub fn new(function: &Function, cfg: &Cfg) -> Self {
        let mut list: Vec<Loop> = Vec::new();
        let mut headed: FxHashMap<BlockId, usize> = FxHashMap::default();
        for &block in &cfg.order {
            function.blocks[block.0 as usize]
                .terminator
                .for_each_target(|target| {
                    if !cfg.dominates(target, block) {
                        return;
                    }
                    match headed.get(&target) {
                        // A switch may name one block twice.
                        Some(&at) if list[at].latches.last() == Some(&block) => {}
                        Some(&at) => list[at].latches.push(block),
                        None => {
                            headed.insert(target, list.len());
                            list.push(Loop {
                                header: target,
                                latches: vec![block],
                                blocks: Vec::new(),
                                sorted: Vec::new(),
                            });
                        }
                    }
                });
        }
        let mut depth = vec![0; function.blocks.len()];
        let mut mark = vec![usize::MAX; function.blocks.len()];
        for (number, entry) in list.iter_mut().enumerate() {
            mark[entry.header.0 as usize] = number;
            let mut members = vec![entry.header];
            let mut work = entry.latches.clone();
            while let Some(block) = work.pop() {
                if std::mem::replace(&mut mark[block.0 as usize], number) != number {
                    members.push(block);
                    work.extend(&cfg.predecessors[block.0 as usize]);
                }
            }
            for block in &members {
                depth[block.0 as usize] += 1;
            }
            effort::spend(members.len());
            entry.sorted.clone_from(&members);
            entry.sorted.sort_unstable();
            members.sort_by_key(|block| cfg.position[block.0 as usize]);
            entry.blocks = members;
        }
        list.sort_by_key(|entry| entry.blocks.len());
        Self {
            list,
            depth,
            around: OnceCell::new(),
        }
    }

    /// The loops around a block, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = &Loop> + Clone {
        self.numbers_around(block).map(|number| &self.list[number])
    }

    /// The same as indices into the list.
    pub fn numbers_around(&self, block: BlockId) -> impl Iterator<Item = usize> + Clone {
        let around = self.around.get_or_init(|| {
            let mut around = vec![Vec::new(); self.depth.len()];
            for (number, entry) in (0..).zip(&self.list) {
                for block in &entry.blocks {
                    around[block.0 as usize].push(number);
                }
            }
            around
        });
        around[block.0 as usize]
            .iter()
            .map(|number| *number as usize)
    }

    /// Whether no other loop is inside of one.
    pub fn is_innermost(&self, item: &Loop) -> bool {
        let depth = |block: BlockId| self.depth[block.0 as usize];
        let of_header = depth(item.header);
        item.blocks.iter().all(|block| depth(*block) == of_header)
    }
}

impl Loop {
    pub fn contains(&self, block: BlockId) -> bool {
        self.sorted.binary_search(&block).is_ok()
    }

    /// The block before the loop, which leads nowhere else.
    pub fn preheader(&self, function: &Function, cfg: &Cfg) -> Option<BlockId> {
        let mut outside = cfg.predecessors[self.header.0 as usize]
            .iter()
            .filter(|block| !self.latches.contains(block));
        let only = *outside.next()?;
        let leads_on = function.blocks[only.0 as usize].terminator == Terminator::Jump(self.header);
        (outside.next().is_none() && leads_on).then_some(only)
    }

    /// Edges out of the loop: where they start and end.
    pub fn exits(&self, function: &Function) -> Vec<(BlockId, BlockId)> {
        let mut exits = Vec::new();
        for &block in &self.blocks {
            let terminator = &function.blocks[block.0 as usize].terminator;
            terminator.for_each_target(|target| {
                if !self.contains(target) {
                    exits.push((block, target));
                }
            });
        }
        exits
    }

    /// Whether an instruction of the loop answers to `test`.
    pub fn any(&self, function: &Function, mut test: impl FnMut(&Op) -> bool) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| {
            let mut values = function.blocks[block.0 as usize].instructions.iter();
            values.any(|value| test(function.op(*value)))
        })
    }

    /// For each block whether it belongs to the loop.
    pub fn membership(&self, function: &Function) -> Vec<bool> {
        let mut member = vec![false; function.blocks.len()];
        for block in &self.blocks {
            member[block.0 as usize] = true;
        }
        member
    }

    /// The value and the constant step of a phi of the header that a constant is added to in every iteration.
    pub fn induction(&self, function: &Function, phi: Value) -> Option<(Value, u64)> {
        let Op::Phi(inputs) = function.op(phi) else {
            return None;
        };
        let [latch] = self.latches.as_slice() else {
            return None;
        };
        let next = inputs.iter().find(|(from, _)| from == latch)?.1;
        let start = inputs.iter().find(|(from, _)| from != latch)?.1;
        match function.op(next) {
            Op::Binary(BinaryOp::Add, a, b) if *a == phi => Some((start, function.constant(*b)?)),
            Op::Binary(BinaryOp::Add, a, b) if *b == phi => Some((start, function.constant(*a)?)),
            _ => None,
        }
    }
}
