//! Natural loops, and an order of the blocks in which every loop is contiguous.

use crate::effort;
use crate::ir::{BlockId, Function, cfg::Cfg};
use rustc_hash::{FxHashMap, FxHashSet};

pub struct Loop {
    pub header: BlockId,
    pub parent: Option<usize>,
}

/// A loop that is being found: its header, where the edges back start, and its blocks.
struct Found {
    header: BlockId,
    latches: Vec<BlockId>,
    blocks: Vec<BlockId>,
}

pub struct Loops {
    pub list: Vec<Loop>,
    /// The innermost loop of each block.
    pub of: Vec<Option<usize>>,
}

impl Loops {
    /// `None` when a loop has a second way in.
    pub fn new(function: &Function, cfg: &Cfg) -> Option<Self> {
        let count = function.blocks.len();
        let mut list: Vec<Found> = Vec::new();
        let mut headed: FxHashMap<BlockId, usize> = FxHashMap::default();
        for &block in &cfg.order {
            let mut is_reducible = true;
            function.blocks[block.0 as usize]
                .terminator
                .for_each_target(|target| {
                    if cfg.position[target.0 as usize] <= cfg.position[block.0 as usize] {
                        is_reducible &= cfg.dominates(target, block);
                        let at = *headed.entry(target).or_insert_with(|| {
                            list.push(Found {
                                header: target,
                                latches: Vec::new(),
                                blocks: Vec::new(),
                            });
                            list.len() - 1
                        });
                        list[at].latches.push(block);
                    }
                });
            if !is_reducible {
                return None;
            }
        }
        let mut mark = vec![usize::MAX; count];
        for (number, found) in list.iter_mut().enumerate() {
            found.find_blocks(number, &mut mark, cfg);
        }
        // Inner loops come before those around them.
        list.sort_by_key(|found| found.blocks.len());
        let mut of = vec![None; count];
        let mut parents = vec![None; list.len()];
        for (index, found) in list.iter().enumerate() {
            effort::spend(found.blocks.len());
            for block in &found.blocks {
                match of[block.0 as usize] {
                    None => of[block.0 as usize] = Some(index),
                    Some(inner) => {
                        let outermost = std::iter::successors(Some(inner), |item| parents[*item]);
                        if let Some(outermost) = outermost.last()
                            && outermost != index
                        {
                            parents[outermost] = Some(index);
                        }
                    }
                }
            }
        }
        let list = list.into_iter().zip(parents).map(|(found, parent)| Loop {
            header: found.header,
            parent,
        });
        Some(Self {
            list: list.collect(),
            of,
        })
    }

    pub fn contains(&self, item: usize, block: BlockId) -> bool {
        self.around(block).any(|around| around == item)
    }

    /// The loop that starts with a block.
    pub fn headed_by(&self, block: BlockId) -> Option<usize> {
        self.of[block.0 as usize].filter(|item| self.list[*item].header == block)
    }

    /// The loops that contain a block, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.of[block.0 as usize], |item| self.list[*item].parent)
    }

    /// Blocks outside a loop that its blocks lead to, one for every edge.
    pub fn exits(&self, function: &Function, cfg: &Cfg, item: usize) -> Vec<BlockId> {
        let mut exits = Vec::new();
        for &block in cfg
            .order
            .iter()
            .filter(|block| self.contains(item, **block))
        {
            for target in targets(function, block) {
                if !self.contains(item, target) {
                    exits.push(target);
                }
            }
        }
        exits
    }

    /// All reachable blocks: each after its predecessors, back edges excepted, and the blocks of a loop one after the other.
    pub fn order(&self, function: &Function, cfg: &Cfg) -> Vec<BlockId> {
        let mut out = Vec::with_capacity(cfg.order.len());
        self.order_level(function, cfg, None, BlockId(0), &mut out);
        out
    }

    /// Recursion is as deep as loops are nested, which the parser bounds.
    fn order_level(
        &self,
        function: &Function,
        cfg: &Cfg,
        level: Option<usize>,
        entry: BlockId,
        out: &mut Vec<BlockId>,
    ) {
        // A node is a block of this level, or the header of a loop within it.
        let node_of = |block: BlockId| -> Option<BlockId> {
            let mut inner = None;
            for item in self.around(block) {
                if Some(item) == level {
                    return Some(inner.map_or(block, |item: usize| self.list[item].header));
                }
                inner = Some(item);
            }
            match level {
                None => Some(inner.map_or(block, |item| self.list[item].header)),
                Some(_) => None,
            }
        };
        let is_loop = |node: BlockId| self.headed_by(node).filter(|item| Some(*item) != level);
        let successors = |node: BlockId| -> Vec<BlockId> {
            let edges = match is_loop(node) {
                Some(item) => self.exits(function, cfg, item),
                None => targets(function, node),
            };
            let edges = edges.into_iter().filter_map(node_of);
            edges.filter(|next| *next != entry).collect()
        };
        let mut visited = vec![false; function.blocks.len()];
        visited[entry.0 as usize] = true;
        let mut finished = Vec::new();
        let mut stack = vec![(entry, successors(entry))];
        while let Some((node, remaining)) = stack.last_mut() {
            match remaining.pop() {
                Some(next) if !std::mem::replace(&mut visited[next.0 as usize], true) => {
                    let list = successors(next);
                    stack.push((next, list));
                }
                Some(_) => {}
                None => {
                    finished.push(*node);
                    stack.pop();
                }
            }
        }
        for node in finished.into_iter().rev() {
            match is_loop(node) {
                Some(item) => self.order_level(function, cfg, Some(item), node, out),
                None => out.push(node),
            }
        }
    }
}

impl Found {
    /// The blocks from which an edge back is reached without leaving by the header; `mark` has other numbers than that of the loop.
    fn find_blocks(&mut self, number: usize, mark: &mut [usize], cfg: &Cfg) {
        mark[self.header.0 as usize] = number;
        self.blocks.push(self.header);
        let mut work = std::mem::take(&mut self.latches);
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut mark[block.0 as usize], number) != number {
                self.blocks.push(block);
                work.extend(&cfg.predecessors[block.0 as usize]);
            }
        }
        effort::spend(self.blocks.len());
    }
}

/// Targets of a block's end, each once.
pub fn targets(function: &Function, block: BlockId) -> Vec<BlockId> {
    /// Up to here a search of the list is quickest.
    const FEW: usize = 16;
    let terminator = &function.blocks[block.0 as usize].terminator;
    let mut list = Vec::new();
    if terminator.target_count() <= FEW {
        terminator.for_each_target(|target| {
            if !list.contains(&target) {
                list.push(target);
            }
        });
        return list;
    }
    effort::spend(terminator.target_count());
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    terminator.for_each_target(|target| {
        if seen.insert(target) {
            list.push(target);
        }
    });
    list
}
