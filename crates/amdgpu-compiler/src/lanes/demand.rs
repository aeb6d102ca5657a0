//! What must be kept of values beyond the block that computes them, and which need a vector beside their scalar.

use super::Plan;
use super::linearise::{Flow, Node};
use crate::ir::{Block, BlockId, Function, Op, Terminator, Value, cfg::Cfg};

pub struct Demand {
    /// Values used where the block that computes them may not have run.
    pub is_kept: Vec<bool>,
    /// Values used after lanes left the loop that computes them at different iterations.
    pub is_collected: Vec<bool>,
    /// Inexact values ([`super::Shape::Affine`]) whose lanes are used as numbers.
    pub needs_vector: Vec<bool>,
    /// Values that something uses.
    pub is_used: Vec<bool>,
}

impl Demand {
    /// `root` gives the value that another is only a different name of.
    pub fn new(function: &Function, plan: &Plan, root: impl Fn(Value) -> Value) -> Self {
        let count = function.values.len();
        let mut demand = Self {
            is_kept: vec![false; count],
            is_collected: vec![false; count],
            needs_vector: vec![false; count],
            is_used: vec![false; count],
        };
        let skeleton = skeleton(function, plan);
        let cfg = Cfg::new(&skeleton);
        let mut derived: Vec<(Value, Value)> = Vec::new();
        let mut vectors: Vec<Value> = Vec::new();
        let visit = |demand: &mut Self, value: Value, block: BlockId| {
            let value = root(value);
            demand.is_used[value.0 as usize] = true;
            let Some(home) = plan.divergence.home(value) else {
                return;
            };
            if plan.divergence.outlives_loop(&plan.loops, value, block) {
                demand.is_collected[value.0 as usize] = true;
            } else if home != block && !cfg.dominates(home, block) {
                demand.is_kept[value.0 as usize] = true;
            }
        };
        for &block in &plan.order {
            let data = &function.blocks[block.0 as usize];
            for &value in &data.instructions {
                let op = function.op(value);
                if let Op::Phi(inputs) = op {
                    for (from, input) in inputs
                        .iter()
                        .filter(|(from, _)| plan.cfg.is_reachable(*from))
                    {
                        visit(&mut demand, *input, *from);
                    }
                } else {
                    op.for_each_operand(|operand| visit(&mut demand, operand, block));
                }
                let is_scalar = plan.divergence.shape(value).is_scalar();
                op.for_each_operand(|operand| {
                    let operand = root(operand);
                    if !plan.divergence.shape(operand).is_inexact() {
                        return;
                    }
                    let is_address = match op {
                        Op::Load(_) | Op::NontemporalLoad(_) | Op::Offset { .. } => true,
                        Op::Store { pointer, .. } | Op::NontemporalStore { pointer, .. } => {
                            root(*pointer) == operand
                        }
                        _ => false,
                    };
                    if is_scalar && (op.is_pure() || matches!(op, Op::Phi(_))) {
                        derived.push((value, operand));
                    } else if !is_address {
                        vectors.push(operand);
                    } else if let Op::Store { value: stored, .. }
                    | Op::NontemporalStore { value: stored, .. } = op
                        && root(*stored) == operand
                    {
                        vectors.push(operand);
                    }
                });
            }
            if let Some(operand) = data.terminator.operand() {
                visit(&mut demand, operand, block);
                vectors.push(root(operand));
            }
        }
        for index in 0..count {
            if demand.is_collected[index] {
                vectors.push(Value(index as u32));
            }
        }
        let mut work = vectors;
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut demand.needs_vector[value.0 as usize], true) {
                continue;
            }
            work.extend(
                derived
                    .iter()
                    .filter(|(user, _)| *user == value)
                    .map(|(_, operand)| *operand),
            );
        }
        demand
    }
}

/// The graph that control takes: blocks under their own numbers, then tests in front of them, latches, and the end.
fn skeleton(function: &Function, plan: &Plan) -> Function {
    let count = function.blocks.len();
    let linear = &plan.linear;
    let end = 2 * count + plan.loops.list.len();
    let place = |node: Node| {
        BlockId(match node {
            Node::Block(block) if linear.skip[block.0 as usize].is_some() => count as u32 + block.0,
            Node::Block(block) => block.0,
            Node::Latch(item) => (2 * count + item) as u32,
            Node::End => end as u32,
        })
    };
    let mut blocks = vec![Block::new(0); end + 1];
    let several = |targets: Vec<BlockId>| Terminator::Switch {
        value: Value(0),
        cases: targets.iter().map(|target| (0, *target)).collect(),
        default: targets[0],
    };
    for &block in &plan.order {
        let at = block.0 as usize;
        blocks[at].terminator = match &linear.flow[at] {
            Flow::Straight(node) => Terminator::Jump(place(*node)),
            Flow::Branch(links) => several(links.iter().map(|(_, node)| place(*node)).collect()),
        };
        if let Some(skip) = linear.skip[at] {
            blocks[count + at].terminator = several(vec![block, place(skip)]);
        }
    }
    for (item, data) in plan.loops.list.iter().enumerate() {
        let mut targets = vec![data.header];
        if plan.divergence.is_divergent[item] {
            targets.push(place(linear.done[item]));
        }
        blocks[2 * count + item].terminator = several(targets);
    }
    Function {
        name: String::new(),
        is_kernel: false,
        is_never_inlined: false,
        parameters: Vec::new(),
        result: crate::ir::Type::Void,
        values: Vec::new(),
        blocks,
        launch_bounds: None,
        line: 0,
    }
}
