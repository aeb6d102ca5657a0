//! The control-flow graph of a function: order, predecessors, dominators.

use std::cell::OnceCell;

use super::{BlockId, Function};
use crate::effort;

/// Facts about the blocks of a function, as of when it was made.
#[derive(Debug)]
pub struct Cfg {
    /// Reachable blocks, every one after its dominators.
    pub order: Vec<BlockId>,
    /// Position in `order`; `None` for unreachable blocks.
    pub position: Vec<Option<u32>>,
    pub predecessors: Predecessors,
    /// Immediate dominator; the entry is its own.
    pub dominator: Vec<Option<BlockId>>,
    /// By block: when a walk through the tree of dominators comes to it, and when it leaves what lies below. Found when first asked for.
    spans: OnceCell<Vec<(u32, u32)>>,
}

/// The reachable blocks that lead to each block, all in one list; indexed by block.
#[derive(Debug)]
pub struct Predecessors {
    /// Where the part of each block starts and ends.
    parts: Vec<(u32, u32)>,
    list: Vec<BlockId>,
}

impl std::ops::Index<usize> for Predecessors {
    type Output = [BlockId];

    fn index(&self, block: usize) -> &[BlockId] {
        let (start, end) = self.parts[block];
        &self.list[start as usize..end as usize]
    }
}

impl Predecessors {
    fn new(function: &Function, position: &[Option<u32>]) -> Self {
        let mut parts = vec![(0u32, 0u32); function.blocks.len()];
        for block in &function.blocks {
            block
                .terminator
                .for_each_target(|target| parts[target.0 as usize].1 += 1);
        }
        let mut start = 0;
        for part in &mut parts {
            let most = part.1;
            *part = (start, start);
            start += most;
        }
        let mut list = vec![BlockId(0); start as usize];
        for (index, block) in function.blocks.iter().enumerate() {
            if position[index].is_none() {
                continue;
            }
            let from = BlockId(index as u32);
            block.terminator.for_each_target(|target| {
                let (start, end) = &mut parts[target.0 as usize];
                // A switch may name one block twice; it is one predecessor. The blocks come in order, so that it is the last.
                if start == end || list[*end as usize - 1] != from {
                    list[*end as usize] = from;
                    *end += 1;
                }
            });
        }
        Self { parts, list }
    }
}

impl Cfg {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        effort::spend(count);
        let mut position = vec![None; count];
        let order = reverse_postorder(function, &mut position);
        for (index, block) in (0..).zip(&order) {
            position[block.0 as usize] = Some(index);
        }
        let predecessors = Predecessors::new(function, &position);
        let mut cfg = Self {
            order,
            position,
            predecessors,
            dominator: vec![None; count],
            spans: OnceCell::new(),
        };
        cfg.find_dominators();
        cfg
    }

    /// Whether another graph of as many blocks has the same order, edges and dominators.
    pub fn is_same(&self, other: &Self) -> bool {
        self.order == other.order
            && self.dominator == other.dominator
            && (0..self.position.len())
                .all(|block| self.predecessors[block] == other.predecessors[block])
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.position[block.0 as usize].is_some()
    }

    /// Whether every way to `block` passes `dominator`.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        if dominator == block {
            return true;
        }
        if !self.is_reachable(dominator) || !self.is_reachable(block) {
            return false;
        }
        let spans = self.spans.get_or_init(|| self.find_spans());
        let (outer, inner) = (spans[dominator.0 as usize], spans[block.0 as usize]);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }

    /// Blocks come after their dominators in `order`: counted from the end it gives the sizes of the trees, from the start their places.
    fn find_spans(&self) -> Vec<(u32, u32)> {
        let mut sizes = vec![1u32; self.position.len()];
        let above = |block: BlockId| self.dominator[block.0 as usize].filter(|up| *up != block);
        for &block in self.order.iter().rev() {
            if let Some(up) = above(block) {
                sizes[up.0 as usize] += sizes[block.0 as usize];
            }
        }
        let mut spans = vec![(0, 0); self.position.len()];
        // Where the next tree below a block starts.
        let mut next = vec![0u32; self.position.len()];
        for &block in &self.order {
            let at = block.0 as usize;
            let start = match above(block) {
                Some(up) => {
                    let place = &mut next[up.0 as usize];
                    let start = *place;
                    *place += sizes[at];
                    start
                }
                None => 0,
            };
            spans[at] = (start, start + sizes[at]);
            next[at] = start + 1;
        }
        spans
    }

    /// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm" (2001).
    fn find_dominators(&mut self) {
        let Some(&entry) = self.order.first() else {
            return;
        };
        self.dominator[entry.0 as usize] = Some(entry);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &self.order[1..] {
                let mut new: Option<BlockId> = None;
                for &predecessor in &self.predecessors[block.0 as usize] {
                    if self.dominator[predecessor.0 as usize].is_none() {
                        continue;
                    }
                    new = Some(new.map_or(predecessor, |other| self.meet(predecessor, other)));
                }
                if new.is_some() && self.dominator[block.0 as usize] != new {
                    self.dominator[block.0 as usize] = new;
                    changed = true;
                }
            }
        }
    }

    fn meet(&self, one: BlockId, other: BlockId) -> BlockId {
        let (mut one, mut other) = (one, other);
        while one != other {
            effort::spend(1);
            while self.position[one.0 as usize] > self.position[other.0 as usize] {
                one = self.dominator[one.0 as usize].unwrap_or(one);
            }
            while self.position[other.0 as usize] > self.position[one.0 as usize] {
                other = self.dominator[other.0 as usize].unwrap_or(other);
            }
        }
        one
    }
}

/// Depth first without recursion: sources may have a hundred thousand blocks in a row. Blocks that were visited are marked by any
/// position.
fn reverse_postorder(function: &Function, position: &mut [Option<u32>]) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(function.blocks.len());
    if function.blocks.is_empty() {
        return order;
    }
    // Targets are visited from the last to the first; what is kept is how many are left.
    let targets = |block: BlockId| function.blocks[block.0 as usize].terminator.target_count();
    let mut stack = Vec::with_capacity(function.blocks.len().min(64));
    stack.push((BlockId(0), targets(BlockId(0))));
    position[0] = Some(0);
    while let Some((block, remaining)) = stack.last_mut() {
        let next = remaining.checked_sub(1).and_then(|number| {
            *remaining = number;
            function.blocks[block.0 as usize].terminator.target(number)
        });
        match next {
            Some(next) if position[next.0 as usize].is_none() => {
                position[next.0 as usize] = Some(0);
                stack.push((next, targets(next)));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
