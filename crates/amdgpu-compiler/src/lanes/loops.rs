//! Natural loops, and an order of the blocks in which every loop is contiguous.

use crate::ir::{BlockId, Function, cfg::Cfg};

pub struct Loop {
    pub header: BlockId,
    pub parent: Option<usize>,
    /// By block: whether it belongs to the loop.
    contains: Vec<bool>,
    size: usize,
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
        let mut list: Vec<Loop> = Vec::new();
        for &block in &cfg.order {
            let mut is_reducible = true;
            let mut headers: Vec<BlockId> = Vec::new();
            function.blocks[block.0 as usize]
                .terminator
                .for_each_target(|target| {
                    if cfg.position[target.0 as usize] <= cfg.position[block.0 as usize] {
                        is_reducible &= cfg.dominates(target, block);
                        headers.push(target);
                    }
                });
            if !is_reducible {
                return None;
            }
            for header in headers {
                let index = list.iter().position(|item| item.header == header);
                let index = index.unwrap_or_else(|| {
                    let mut contains = vec![false; count];
                    contains[header.0 as usize] = true;
                    list.push(Loop {
                        header,
                        parent: None,
                        contains,
                        size: 1,
                    });
                    list.len() - 1
                });
                list[index].grow(block, cfg);
            }
        }
        list.sort_by_key(|item| item.size);
        let mut of = vec![None; count];
        for (index, item) in list.iter().enumerate() {
            for (block, innermost) in of.iter_mut().enumerate() {
                if item.contains[block] && innermost.is_none() {
                    *innermost = Some(index);
                }
            }
        }
        for index in 0..list.len() {
            let header = list[index].header.0 as usize;
            list[index].parent =
                (index + 1..list.len()).find(|outer| list[*outer].contains[header]);
        }
        Some(Self { list, of })
    }

    pub fn contains(&self, item: usize, block: BlockId) -> bool {
        self.list[item].contains[block.0 as usize]
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

impl Loop {
    fn grow(&mut self, latch: BlockId, cfg: &Cfg) {
        let mut work = vec![latch];
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut self.contains[block.0 as usize], true) {
                self.size += 1;
                work.extend(&cfg.predecessors[block.0 as usize]);
            }
        }
    }
}

/// Targets of a block's end, each once.
pub fn targets(function: &Function, block: BlockId) -> Vec<BlockId> {
    let mut list = Vec::new();
    function.blocks[block.0 as usize]
        .terminator
        .for_each_target(|target| {
            if !list.contains(&target) {
                list.push(target);
            }
        });
    list
}
