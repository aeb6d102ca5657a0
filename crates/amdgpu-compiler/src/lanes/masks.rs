//! Which blocks have the same lanes.

use super::divergence::Divergence;
use super::linearise::{Flow, Linear, Node};
use super::loops::{Loops, targets};
use crate::effort;
use crate::ir::{BlockId, Function, Terminator, cfg::Cfg};

/// The lanes of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mask {
    /// All that the function was called for.
    Entry,
    /// Those that were counted on the edges to this block.
    Of(BlockId),
}

pub struct Masks(Vec<Mask>);

impl Masks {
    pub fn new(
        function: &Function,
        cfg: &Cfg,
        loops: &Loops,
        order: &[BlockId],
        divergence: &Divergence,
        linear: &Linear,
    ) -> Self {
        let mut masks = Self(vec![Mask::Entry; function.blocks.len()]);
        for &block in &order[1..] {
            masks.0[block.0 as usize] = masks
                .find(function, cfg, loops, divergence, linear, block)
                .unwrap_or(Mask::Of(block));
        }
        masks
    }

    pub fn get(&self, block: BlockId) -> Mask {
        self.0[block.0 as usize]
    }

    /// The mask of an earlier block with the same lanes.
    fn find(
        &self,
        function: &Function,
        cfg: &Cfg,
        loops: &Loops,
        divergence: &Divergence,
        linear: &Linear,
        block: BlockId,
    ) -> Option<Mask> {
        let headed = loops.headed_by(block);
        if headed.is_some_and(|item| divergence.is_divergent[item]) {
            return None;
        }
        let level = match headed {
            Some(item) => loops.list[item].parent,
            None => loops.of[block.0 as usize],
        };
        let mut above = cfg.dominator[block.0 as usize]?;
        while loops.of[above.0 as usize] != level {
            let next = cfg.dominator[above.0 as usize]?;
            if next == above {
                return None;
            }
            above = next;
        }
        if always_follows(function, loops, level, above, block) {
            return Some(self.get(above));
        }
        let mut before = cfg.predecessors[block.0 as usize].iter().copied();
        let is_back = |from: BlockId| headed.is_some_and(|item| loops.contains(item, from));
        let mut before = before.by_ref().filter(|from| !is_back(*from));
        let (Some(from), None) = (before.next(), before.next()) else {
            return None;
        };
        // An edge that all lanes take whenever control does.
        let takes_all = match &linear.flow[from.0 as usize] {
            Flow::Straight(_) => targets(function, from).len() == 1,
            Flow::Branch(links) => {
                effort::spend(links.len() / 8);
                links.contains(&(block, Node::Block(block)))
            }
        };
        takes_all.then(|| self.get(from))
    }
}

/// Whether all lanes of `above` come to `block` within the same iteration of the loop around both.
fn always_follows(
    function: &Function,
    loops: &Loops,
    level: Option<usize>,
    above: BlockId,
    block: BlockId,
) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    seen[above.0 as usize] = true;
    let mut work = vec![above];
    effort::spend(seen.len() / 32);
    while let Some(current) = work.pop() {
        effort::spend(1);
        if matches!(
            function.blocks[current.0 as usize].terminator,
            Terminator::Return(_) | Terminator::Unreachable
        ) {
            return false;
        }
        let mut leaves = false;
        let terminator = &function.blocks[current.0 as usize].terminator;
        effort::spend(terminator.target_count() / 8);
        terminator.for_each_target(|target| {
            if target == block {
                return;
            }
            leaves |= level.is_some_and(|item| {
                loops.list[item].header == target || !loops.contains(item, target)
            });
            if !std::mem::replace(&mut seen[target.0 as usize], true) {
                work.push(target);
            }
        });
        if leaves {
            return false;
        }
    }
    true
}
