//! The control-flow graph of a function: order, predecessors, dominators.

use super::{BlockId, Function};

/// Facts about the blocks of a function, as of when it was made.
#[derive(Debug)]
pub struct Cfg {
    /// Reachable blocks, every one after its dominators.
    pub order: Vec<BlockId>,
    /// Position in `order`; `None` for unreachable blocks.
    pub position: Vec<Option<usize>>,
    pub predecessors: Vec<Vec<BlockId>>,
    /// Immediate dominator; the entry is its own.
    pub dominator: Vec<Option<BlockId>>,
}

impl Cfg {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut predecessors = vec![Vec::new(); count];
        for (index, block) in function.blocks.iter().enumerate() {
            block.terminator.for_each_target(|target| {
                let list: &mut Vec<BlockId> = &mut predecessors[target.0 as usize];
                // A switch may name one block twice; it is one predecessor.
                if list.last() != Some(&BlockId(index as u32))
                    && !list.contains(&BlockId(index as u32))
                {
                    list.push(BlockId(index as u32));
                }
            });
        }
        let order = reverse_postorder(function);
        let mut position = vec![None; count];
        for (index, block) in order.iter().enumerate() {
            position[block.0 as usize] = Some(index);
        }
        for list in &mut predecessors {
            list.retain(|block| position[block.0 as usize].is_some());
        }
        let mut cfg = Self {
            order,
            position,
            predecessors,
            dominator: vec![None; count],
        };
        cfg.find_dominators();
        cfg
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.position[block.0 as usize].is_some()
    }

    /// Whether every way to `block` passes `dominator`.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let mut current = block;
        loop {
            if current == dominator {
                return true;
            }
            match self.dominator[current.0 as usize] {
                Some(next)
                    if next != current
                        && self.position[next.0 as usize]
                            >= self.position[dominator.0 as usize] =>
                {
                    current = next;
                }
                _ => return false,
            }
        }
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

/// Depth first without recursion: sources may have a hundred thousand blocks in a row.
fn reverse_postorder(function: &Function) -> Vec<BlockId> {
    let mut visited = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    if function.blocks.is_empty() {
        return order;
    }
    let targets = |block: BlockId| {
        let mut list = Vec::new();
        function.blocks[block.0 as usize]
            .terminator
            .for_each_target(|target| list.push(target));
        list
    };
    let mut stack = vec![(BlockId(0), targets(BlockId(0)))];
    visited[0] = true;
    while let Some((block, remaining)) = stack.last_mut() {
        match remaining.pop() {
            Some(next) if !visited[next.0 as usize] => {
                visited[next.0 as usize] = true;
                let list = targets(next);
                stack.push((next, list));
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
