//! Where a kernel is cut: barriers of the block, and operations of a wave.
//!
//! Lanes of a wave that wait at different operations go on in a fixed order, that of the numbers of the regions behind them: an
//! operation comes after everything that can lead to it, and what stands in a loop comes before what follows the loop. So lanes
//! that parted meet again where their ways do (Diamos et al.: "SIMD Re-Convergence At Thread Frontiers", 2011). Where some
//! lanes could go round a loop while others wait inside of it, all of them wait for each other at its head
//! ([`Cooperation::WaveRejoin`]), last of everything in the loop.

use super::Uniformity;
use super::uniform_branches::Ends;
use crate::cooperative::split_block;
use crate::ir::{BlockId, Cooperation, Function, Op, Terminator, Type, Value, cfg::Cfg};

/// A kernel cut into regions.
pub(super) struct Cut<'f> {
    pub function: &'f Function,
    pub cfg: Cfg,
    /// Of blocks that end where work-items meet: the block behind.
    pub behind: Vec<Option<BlockId>>,
    /// Of these blocks: the operation. It stands in no block any more.
    pub met: Vec<Option<Value>>,
    /// First blocks of the regions: the entry, then those behind operations of a wave in the order in which lanes go on, then
    /// those behind barriers, then those behind decisions ([`super::uniform_branches`]).
    pub starts: Vec<BlockId>,
    /// Place of the first of the last kind.
    pub first_uniform_branch: usize,
}

impl<'f> Cut<'f> {
    pub fn new(function: &'f Function, Ends { behind, met }: Ends) -> Self {
        let cfg = Cfg::new(function);
        let mut cut = Self {
            function,
            cfg,
            behind,
            met,
            starts: vec![BlockId(0)],
            first_uniform_branch: 0,
        };
        let ends: Vec<BlockId> = cut.cfg.order.clone();
        let mut waves: Vec<BlockId> = ends.clone();
        waves.retain(|block| cut.is_wave(*block));
        if !waves.is_empty() {
            let order = Order::new(&cut.cfg, function);
            waves.sort_by_key(|block| order.key(*block, cut.operation(*block)));
        }
        let is_barrier = |block: &&BlockId| cut.operation(**block) == Some(Cooperation::Barrier);
        let is_uniform_branch = |block: &&BlockId| cut.met[block.0 as usize].is_none();
        let barriers = ends.iter().filter(is_barrier);
        let sync_points = waves.iter().chain(barriers);
        let uniform_branches = ends.iter().filter(is_uniform_branch);
        let behind = |block: &BlockId| cut.behind[block.0 as usize];
        let mut starts = cut.starts.clone();
        starts.extend(sync_points.filter_map(behind));
        let first_uniform_branch = starts.len();
        starts.extend(uniform_branches.filter_map(behind));
        (cut.starts, cut.first_uniform_branch) = (starts, first_uniform_branch);
        cut
    }

    pub fn has_waves(&self) -> bool {
        self.cfg.order.iter().any(|block| self.is_wave(*block))
    }

    pub fn operation(&self, end: BlockId) -> Option<Cooperation> {
        let value = self.met[end.0 as usize]?;
        match self.function.op(value) {
            Op::Cooperative(operation, _) => Some(*operation),
            _ => None,
        }
    }

    fn is_wave(&self, end: BlockId) -> bool {
        self.operation(end).is_some_and(Cooperation::is_wave)
    }

    /// The region that starts with a block.
    pub fn region_at(&self, start: BlockId) -> u32 {
        // Blocks behind reachable operations are all starts.
        self.starts
            .iter()
            .position(|block| *block == start)
            .unwrap_or(0) as u32
    }

    /// The region that follows where a block ends one.
    pub fn exit_at(&self, block: BlockId, returned: u32) -> Option<u32> {
        let terminator = &self.function.blocks[block.0 as usize].terminator;
        match (self.behind[block.0 as usize], terminator) {
            (Some(start), _) => Some(self.region_at(start)),
            (None, Terminator::Return(_)) => Some(returned),
            _ => None,
        }
    }

    /// All regions that follow one.
    pub fn exits(&self, number: usize, returned: u32) -> Vec<u32> {
        let mut exits: Vec<u32> = Vec::new();
        for block in self.blocks_of(self.starts[number]) {
            if let Some(exit) = self.exit_at(block, returned)
                && !exits.contains(&exit)
            {
                exits.push(exit);
            }
        }
        exits
    }

    /// By region: whether it can follow itself, be it later.
    pub fn repeated(&self) -> Vec<bool> {
        let count = self.starts.len();
        let exits: Vec<Vec<u32>> = (0..count)
            .map(|number| self.exits(number, count as u32))
            .collect();
        let comes_back = |number: usize| {
            let mut seen = vec![false; count + 1];
            let mut work = exits[number].clone();
            while let Some(next) = work.pop() {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    work.extend(exits.get(next as usize).into_iter().flatten());
                }
            }
            seen[number]
        };
        (0..count).map(comes_back).collect()
    }

    /// Blocks of a region, each after those that dominate it.
    pub fn blocks_of(&self, start: BlockId) -> Vec<BlockId> {
        let mut seen = vec![false; self.function.blocks.len()];
        let mut work = vec![start];
        seen[start.0 as usize] = true;
        while let Some(block) = work.pop() {
            if self.behind[block.0 as usize].is_some() {
                continue;
            }
            self.function.blocks[block.0 as usize]
                .terminator
                .for_each_target(|target| {
                    if !std::mem::replace(&mut seen[target.0 as usize], true) {
                        work.push(target);
                    }
                });
        }
        let mut blocks = self.cfg.order.clone();
        blocks.retain(|block| seen[block.0 as usize] && *block != start);
        blocks.insert(0, start);
        blocks
    }
}

/// Ends blocks where work-items meet; gives the blocks behind and the operations.
pub(super) fn cut(function: &mut Function) -> Ends {
    let mut behind = vec![None; function.blocks.len()];
    let mut met = behind.iter().map(|_| None).collect::<Vec<_>>();
    let mut block = 0;
    while block < function.blocks.len() {
        let is_sync_point = |value: &Value| matches!(function.op(*value), Op::Cooperative(operation, _) if operation.is_sync_point());
        let position = function.blocks[block]
            .instructions
            .iter()
            .position(is_sync_point);
        if let Some(position) = position {
            let rest = split_block(function, block, position + 1);
            met[block] = function.blocks[block].instructions.pop();
            met.push(None);
            behind.push(None);
            behind[block] = Some(rest);
        }
        block += 1;
    }
    Ends { behind, met }
}

/// Lets lanes wait at the heads of loops where that is needed.
pub(super) fn add_rejoins(function: &mut Function) {
    let is_wave = |op: &Op| matches!(op, Op::Cooperative(operation, _) if operation.is_wave());
    if !function.values.iter().any(|value| is_wave(&value.op)) {
        return;
    }
    let mut copy = function.clone();
    let ends = cut(&mut copy);
    let cut = Cut::new(&copy, ends);
    let uniformity = Uniformity::new(&cut);
    for found in loops(&cut.cfg, &copy) {
        if !must_rejoin(&cut, &uniformity, &found) {
            continue;
        }
        let head = found.head.0 as usize;
        let line = function.blocks[head].line;
        let op = Op::Cooperative(Cooperation::WaveRejoin, Vec::new());
        let rejoin = function.add_value(op, Type::Void, line);
        let instructions = &function.blocks[head].instructions;
        let is_phi = |value: &&Value| matches!(function.op(**value), Op::Phi(_));
        let phis = instructions.iter().take_while(is_phi).count();
        function.blocks[head].instructions.insert(phis, rejoin);
    }
}

/// Whether lanes that part in a loop may come to different operations, or to one and to the next iteration.
fn must_rejoin(cut: &Cut<'_>, uniformity: &Uniformity, found: &Loop) -> bool {
    let is_inside = |block: BlockId| found.is_inside[block.0 as usize];
    if !(cut.cfg.order.iter())
        .any(|block| is_inside(*block) && cut.behind[block.0 as usize].is_some())
    {
        return false;
    }
    let mut branches = cut.cfg.order.iter().filter(|block| is_inside(**block));
    branches.any(|branch| {
        let terminator = &cut.function.blocks[branch.0 as usize].terminator;
        if !uniformity.branches_unevenly(terminator) {
            return false;
        }
        let mut seen = vec![false; cut.function.blocks.len()];
        let mut work = Vec::new();
        terminator.for_each_target(|target| work.push(target));
        let mut ends = 0;
        while let Some(block) = work.pop() {
            let at = block.0 as usize;
            if !is_inside(block) || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if block == found.head || cut.behind[at].is_some() {
                ends += 1;
            } else {
                let terminator = &cut.function.blocks[at].terminator;
                terminator.for_each_target(|target| work.push(target));
            }
        }
        ends > 1
    })
}

struct Loop {
    head: BlockId,
    is_inside: Vec<bool>,
    size: usize,
}

/// Natural loops, one for each head.
fn loops(cfg: &Cfg, function: &Function) -> Vec<Loop> {
    let mut found: Vec<Loop> = Vec::new();
    for &latch in &cfg.order {
        function.blocks[latch.0 as usize]
            .terminator
            .for_each_target(|head| {
                if !cfg.dominates(head, latch) {
                    return;
                }
                let index = found.iter().position(|other| other.head == head);
                let index = index.unwrap_or_else(|| {
                    let mut is_inside = vec![false; function.blocks.len()];
                    is_inside[head.0 as usize] = true;
                    found.push(Loop {
                        head,
                        is_inside,
                        size: 1,
                    });
                    found.len() - 1
                });
                let mut work = vec![latch];
                while let Some(block) = work.pop() {
                    let is_inside = &mut found[index].is_inside[block.0 as usize];
                    if !std::mem::replace(is_inside, true) {
                        found[index].size += 1;
                        work.extend(&cfg.predecessors[block.0 as usize]);
                    }
                }
            });
    }
    found
}

/// Blocks in an order in which each comes after what leads to it, loops turning back excepted, and loops stay in one piece.
struct Order {
    position: Vec<usize>,
    loops: Vec<Loop>,
}

impl Order {
    fn new(cfg: &Cfg, function: &Function) -> Self {
        let loops = loops(cfg, function);
        let count = function.blocks.len();
        let mut waits_for = vec![0usize; count];
        for &block in &cfg.order {
            let from = &cfg.predecessors[block.0 as usize];
            let forward = from.iter().filter(|from| !cfg.dominates(block, **from));
            waits_for[block.0 as usize] = forward.count();
        }
        let mut position = vec![usize::MAX; count];
        let mut ready = vec![BlockId(0)];
        // Loops that were begun, inner ones last, with what is missing of each.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for number in 0..cfg.order.len() {
            open.retain(|(_, missing)| *missing > 0);
            let innermost = open.last().map(|(index, _)| &loops[*index]);
            let fits =
                |block: &BlockId| innermost.is_none_or(|found| found.is_inside[block.0 as usize]);
            let earliest = |candidates: &mut dyn Iterator<Item = &BlockId>| {
                candidates
                    .min_by_key(|block| cfg.position[block.0 as usize])
                    .copied()
            };
            let is_left = |block: &&BlockId| position[block.0 as usize] == usize::MAX;
            // Without jumps into loops the first always finds one.
            let next = earliest(&mut ready.iter().filter(|block| fits(block)))
                .or_else(|| earliest(&mut ready.iter()))
                .or_else(|| earliest(&mut cfg.order.iter().filter(is_left)));
            let Some(block) = next else { break };
            ready.retain(|other| *other != block);
            position[block.0 as usize] = number;
            if let Some(index) = loops.iter().position(|found| found.head == block) {
                open.push((index, loops[index].size));
            }
            for (index, missing) in &mut open {
                *missing -= usize::from(loops[*index].is_inside[block.0 as usize]);
            }
            function.blocks[block.0 as usize]
                .terminator
                .for_each_target(|target| {
                    let at = target.0 as usize;
                    if cfg.dominates(target, block) || position[at] != usize::MAX {
                        return;
                    }
                    waits_for[at] = waits_for[at].saturating_sub(1);
                    if waits_for[at] == 0 && !ready.contains(&target) {
                        ready.push(target);
                    }
                });
        }
        Self { position, loops }
    }

    /// What operations are sorted by; the head of a loop counts as its end, an inner one before the outer one.
    fn key(&self, end: BlockId, operation: Option<Cooperation>) -> (usize, usize) {
        let own = (self.position[end.0 as usize], 0);
        if operation != Some(Cooperation::WaveRejoin) {
            return own;
        }
        let found = self.loops.iter().find(|found| found.head == end);
        found.map_or(own, |found| {
            let inside = found.is_inside.iter().zip(&self.position);
            let last = inside.filter_map(|(inside, position)| inside.then_some(*position));
            (last.max().unwrap_or(own.0), found.size)
        })
    }
}
