//! Lays blocks between which lanes divide one after the other; uniform branches stay branches.
//!
//! Every node is visited after all its predecessors, and carries the nodes that may still have lanes waiting for them; it goes
//! on to the first of those and its own successors. That is the algorithm of Moll and Hack: "Partial Control-Flow Linearization"
//! (2018), with a test in front of a node that may have no lanes. Back edges lead to a latch, a node at the end of the loop.

use std::collections::BTreeSet;

use super::divergence::Divergence;
use super::loops::{Loops, targets};
use crate::effort;
use crate::ir::{BlockId, Function, Op, Terminator, cfg::Cfg};

/// A block, a latch of a loop, or the end of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    Block(BlockId),
    Latch(usize),
    End,
}

/// Where control goes from the end of a block.
#[derive(Clone, PartialEq, Debug)]
pub enum Flow {
    /// To one node, whatever the lanes want.
    Straight(Node),
    /// All lanes the same way: targets, and the nodes that control goes to for them.
    Branch(Vec<(BlockId, Node)>),
}

pub struct Linear {
    pub nodes: Vec<Node>,
    pub flow: Vec<Flow>,
    /// Where control goes instead when no lane wants the block; `None` when there always is one.
    pub skip: Vec<Option<Node>>,
    /// Blocks that run although they may have no lanes.
    pub runs_empty: Vec<bool>,
    /// By loop: where control goes when no lane stays in a divergent loop.
    pub done: Vec<Node>,
}

impl Linear {
    /// `Err` is a loop that must be divergent, because lanes wait inside it for others that leave.
    pub fn new(
        function: &Function,
        cfg: &Cfg,
        loops: &Loops,
        order: &[BlockId],
        divergence: &Divergence,
    ) -> Result<Self, usize> {
        let nodes = node_order(loops, order);
        let (count, latches) = (function.blocks.len(), loops.list.len());
        let mut position = vec![usize::MAX; count + latches + 1];
        for (at, node) in nodes.iter().enumerate() {
            position[index(*node, count, latches)] = at;
        }
        let mut work = Work {
            function,
            loops,
            divergence,
            position,
            count,
            latches,
            waiting: vec![BTreeSet::new(); nodes.len()],
            may_be_empty: vec![false; nodes.len()],
            nodes,
        };
        let mut linear = Self {
            nodes: work.nodes.clone(),
            flow: vec![Flow::Straight(Node::End); count],
            skip: vec![None; count],
            runs_empty: vec![false; count],
            done: vec![Node::End; latches],
        };
        let mut outside: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); latches];
        for at in 0..work.nodes.len() {
            let waiting = std::mem::take(&mut work.waiting[at]);
            match work.nodes[at] {
                Node::End => {}
                Node::Latch(item) if divergence.is_divergent[item] => {
                    let mut all = outside[item].clone();
                    for exit in loops.exits(function, cfg, item) {
                        all.insert(work.place(loops.list[item].parent, exit));
                    }
                    if work.returns_inside(item, order) {
                        all.insert(work.end_place(loops.list[item].parent));
                    }
                    linear.done[item] = work.go(all, true);
                }
                Node::Latch(item) => {
                    if waiting.iter().any(|node| !outside[item].contains(node)) {
                        return Err(item);
                    }
                }
                Node::Block(block) => {
                    if work.may_be_empty[at] && !waiting.is_empty() {
                        linear.skip[block.0 as usize] = Some(work.go(waiting.clone(), true));
                    }
                    let mut waiting = waiting;
                    if let Some(item) = loops.headed_by(block) {
                        outside[item].clone_from(&waiting);
                        if divergence.is_divergent[item] {
                            waiting.clear();
                        }
                    }
                    linear.flow[block.0 as usize] = work.flow(block, &waiting)?;
                    // A few plain operations cost less than a test and a jump.
                    if let Some(skip) = linear.skip[block.0 as usize]
                        && linear.flow[block.0 as usize] == Flow::Straight(skip)
                        && is_cheap(function, block, divergence)
                    {
                        linear.skip[block.0 as usize] = None;
                        linear.runs_empty[block.0 as usize] = true;
                    }
                }
            }
        }
        Ok(linear)
    }
}

struct Work<'a> {
    function: &'a Function,
    loops: &'a Loops,
    divergence: &'a Divergence,
    nodes: Vec<Node>,
    /// Of nodes, by [`index`], where they stand in `nodes`.
    position: Vec<usize>,
    count: usize,
    latches: usize,
    /// By place: places of nodes that may have lanes waiting when control comes there.
    waiting: Vec<BTreeSet<usize>>,
    may_be_empty: Vec<bool>,
}

impl Work<'_> {
    /// Goes to the first of some places; the others wait.
    fn go(&mut self, mut places: BTreeSet<usize>, may_be_empty: bool) -> Node {
        effort::spend(2 * places.len());
        let Some(first) = places.pop_first() else {
            return Node::End;
        };
        self.may_be_empty[first] |= may_be_empty;
        self.waiting[first].extend(places);
        self.nodes[first]
    }

    fn flow(&mut self, block: BlockId, waiting: &BTreeSet<usize>) -> Result<Flow, usize> {
        let level = self.loops.of[block.0 as usize];
        let targets = match self.function.blocks[block.0 as usize].terminator {
            Terminator::Return(_) | Terminator::Unreachable => {
                let end = self.end_place(level);
                self.check_exits(level, None, waiting)?;
                let mut all = waiting.clone();
                all.insert(end);
                let is_certain = all.first() == Some(&end);
                return Ok(Flow::Straight(self.go(all, !is_certain)));
            }
            _ => targets(self.function, block),
        };
        if self.divergence.parts[block.0 as usize] {
            let mut all = waiting.clone();
            for target in targets {
                all.insert(self.place(level, target));
            }
            return Ok(Flow::Straight(self.go(all, true)));
        }
        let mut links = Vec::new();
        for target in targets {
            self.check_exits(level, Some(target), waiting)?;
            let place = self.place(level, target);
            let mut all = waiting.clone();
            all.insert(place);
            let is_certain = all.first() == Some(&place);
            links.push((target, self.go(all, !is_certain)));
        }
        let first = links[0].1;
        Ok(if links.iter().all(|(_, node)| *node == first) {
            // Lanes may want only one of several targets.
            if links.len() > 1 {
                let at = self.position[index(first, self.count, self.latches)];
                self.may_be_empty[at] = true;
            }
            Flow::Straight(first)
        } else {
            Flow::Branch(links)
        })
    }

    /// All lanes leave a uniform loop together, so none may wait inside it.
    fn check_exits(
        &self,
        level: Option<usize>,
        target: Option<BlockId>,
        waiting: &BTreeSet<usize>,
    ) -> Result<(), usize> {
        for item in std::iter::successors(level, |item| self.loops.list[*item].parent) {
            if target.is_some_and(|target| self.loops.contains(item, target)) {
                break;
            }
            if self.divergence.is_divergent[item] {
                break;
            }
            let latch = self.position[self.count + item];
            effort::spend(1 + waiting.len() / 8);
            if waiting.iter().any(|place| *place <= latch) {
                return Err(item);
            }
        }
        Ok(())
    }

    /// The place where control goes for a target, from a place in `level`: the latch for the header of a loop around it, and
    /// for what lies outside a divergent loop.
    fn place(&self, level: Option<usize>, target: BlockId) -> usize {
        for item in std::iter::successors(level, |item| self.loops.list[*item].parent) {
            if self.loops.list[item].header == target
                || self.divergence.is_divergent[item] && !self.loops.contains(item, target)
            {
                return self.position[self.count + item];
            }
        }
        self.position[target.0 as usize]
    }

    fn end_place(&self, level: Option<usize>) -> usize {
        for item in std::iter::successors(level, |item| self.loops.list[*item].parent) {
            if self.divergence.is_divergent[item] {
                return self.position[self.count + item];
            }
        }
        self.nodes.len() - 1
    }

    fn returns_inside(&self, item: usize, order: &[BlockId]) -> bool {
        order.iter().any(|block| {
            self.loops.contains(item, *block)
                && matches!(
                    self.function.blocks[block.0 as usize].terminator,
                    Terminator::Return(_) | Terminator::Unreachable
                )
        })
    }
}

fn index(node: Node, count: usize, latches: usize) -> usize {
    match node {
        Node::Block(block) => block.0 as usize,
        Node::Latch(item) => count + item,
        Node::End => count + latches,
    }
}

fn node_order(loops: &Loops, order: &[BlockId]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(order.len() + loops.list.len() + 1);
    for (at, block) in order.iter().enumerate() {
        nodes.push(Node::Block(*block));
        for item in loops.around(*block) {
            let goes_on = order
                .get(at + 1)
                .is_some_and(|next| loops.contains(item, *next));
            if !goes_on {
                nodes.push(Node::Latch(item));
            }
        }
    }
    nodes.push(Node::End);
    nodes
}

/// Whether a block may run without any lane: it only computes, little, and what it hands on is chosen by lanes.
fn is_cheap(function: &Function, block: BlockId, divergence: &Divergence) -> bool {
    const MOST_INSTRUCTIONS: usize = 6;
    let data = &function.blocks[block.0 as usize];
    let Terminator::Jump(target) = data.terminator else {
        return data.instructions.is_empty() && matches!(data.terminator, Terminator::Return(None));
    };
    let phis_vary = function.blocks[target.0 as usize]
        .instructions
        .iter()
        .filter(|value| matches!(function.op(**value), Op::Phi(_)))
        .all(|value| !divergence.shape(*value).is_scalar());
    phis_vary
        && data.instructions.len() <= MOST_INSTRUCTIONS
        && data.instructions.iter().all(|value| {
            let op = function.op(*value);
            let is_slow = matches!(op, Op::Binary(operation, ..) if operation.text().starts_with("divide")
                || operation.text().starts_with("remainder"));
            op.is_pure() && !is_slow
        })
}
