//! Which values differ between lanes, and where lanes part ways.
//!
//! A branch whose condition is not uniform parts the lanes; where two ways from it meet, phis differ between lanes. A loop that
//! lanes leave at different iterations is divergent: it runs until none is left, and what it computed differs between lanes as soon
//! as it is used outside, even where all lanes inside agree. Labels of ways are those of Rosemann, Moll, Hack: "An Abstract
//! Interpretation for SPMD Divergence on Reducible Control Flow Graphs" (2021).

use super::loops::{Loops, targets};
use super::shape::{Shape, of_operation};
use super::slots::Slots;
use crate::effort;
use crate::ir::{BlockId, Function, Op, Terminator, Value, cfg::Cfg};

pub struct Divergence {
    shapes: Vec<Option<Shape>>,
    /// Blocks whose terminators part the lanes.
    pub parts: Vec<bool>,
    /// Blocks where lanes meet that took different ways; of loop headers, from outside the loop.
    pub meets: Vec<bool>,
    /// Loop headers at whose next iteration lanes meet that took different ways.
    pub meets_again: Vec<bool>,
    /// Loops that lanes leave at different iterations.
    pub is_divergent: Vec<bool>,
    home: Vec<Option<BlockId>>,
}

pub struct Context<'a> {
    pub function: &'a Function,
    pub cfg: &'a Cfg,
    pub loops: &'a Loops,
    pub order: &'a [BlockId],
    pub slots: &'a Slots,
    pub parameters: &'a [Shape],
    pub lanes: u32,
}

impl Divergence {
    /// `forced` are loops to treat as divergent whatever their conditions.
    pub fn new(ctx: &Context<'_>, forced: &[usize]) -> Self {
        let function = ctx.function;
        let count = function.blocks.len();
        let mut this = Self {
            shapes: vec![None; function.values.len()],
            parts: vec![false; count],
            meets: vec![false; count],
            meets_again: vec![false; count],
            is_divergent: vec![false; ctx.loops.list.len()],
            home: vec![None; function.values.len()],
        };
        for &block in ctx.order {
            for &value in &function.blocks[block.0 as usize].instructions {
                this.home[value.0 as usize] = Some(block);
            }
        }
        for (index, instruction) in function.values.iter().enumerate() {
            if instruction.op.is_floating() {
                this.shapes[index] = Some(this.of_operation(ctx, Value(index as u32), BlockId(0)));
            }
        }
        for &item in forced {
            this.diverge(ctx, item);
        }
        // Each round settles at least one value or branch, and each settles at most twice.
        while this.round(ctx) {}
        this
    }

    fn round(&mut self, ctx: &Context<'_>) -> bool {
        effort::spend(ctx.function.values.len());
        let mut changed = false;
        for &block in ctx.order {
            let at = block.0 as usize;
            for &value in &ctx.function.blocks[at].instructions {
                let index = value.0 as usize;
                if self.shapes[index] == Some(Shape::Varying) {
                    continue;
                }
                let shape = match ctx.function.op(value) {
                    Op::Phi(inputs) => self.of_phi(ctx, block, inputs),
                    _ => Some(self.of_operation(ctx, value, block)),
                };
                if shape != self.shapes[index] {
                    // What has been known to differ in one way and now does in another differs anyhow.
                    let is_first = self.shapes[index].is_none_or(Shape::is_uniform);
                    let weakens = matches!(
                        (self.shapes[index], shape),
                        (
                            Some(Shape::Affine { stride: old, .. }),
                            Some(Shape::Affine { stride: new, is_exact: false })
                        ) if old == new
                    );
                    self.shapes[index] = match shape {
                        _ if is_first || weakens => shape,
                        _ => Some(Shape::Varying),
                    };
                    changed = true;
                }
            }
            let terminator = &ctx.function.blocks[at].terminator;
            let varies = !matches!(terminator, Terminator::Return(_))
                && terminator
                    .operand()
                    .is_some_and(|value| !self.shape_at(ctx.loops, value, block).is_uniform());
            if varies && !self.parts[at] {
                self.parts[at] = true;
                changed = true;
                let sources = targets(ctx.function, block);
                self.spread(ctx, ctx.loops.of[at], sources);
            }
        }
        changed
    }

    pub fn shape(&self, value: Value) -> Shape {
        // Values of unreachable blocks have none.
        self.shapes[value.0 as usize].unwrap_or(Shape::Uniform)
    }

    /// The shape of a value where a block uses it.
    pub fn shape_at(&self, loops: &Loops, value: Value, block: BlockId) -> Shape {
        if self.outlives_loop(loops, value, block) {
            Shape::Varying
        } else {
            self.shape(value)
        }
    }

    /// Whether lanes left the loop that computes a value at different iterations before they come to a block.
    pub fn outlives_loop(&self, loops: &Loops, value: Value, block: BlockId) -> bool {
        let Some(home) = self.home[value.0 as usize] else {
            return false;
        };
        let mut around = loops.around(home);
        around.any(|item| self.is_divergent[item] && !loops.contains(item, block))
    }

    pub fn home(&self, value: Value) -> Option<BlockId> {
        self.home[value.0 as usize]
    }

    fn of_operation(&self, ctx: &Context<'_>, value: Value, block: BlockId) -> Shape {
        let scale_up = if ctx.slots.is_interleaved(value) {
            u64::from(ctx.lanes)
        } else {
            1
        };
        of_operation(
            ctx.function,
            value,
            ctx.parameters,
            scale_up,
            ctx.slots.stride(value),
            |operand| self.shape_at(ctx.loops, operand, block),
        )
    }

    fn of_phi(
        &self,
        ctx: &Context<'_>,
        block: BlockId,
        inputs: &[(BlockId, Value)],
    ) -> Option<Shape> {
        let mut result: Option<Shape> = None;
        let at = block.0 as usize;
        let header = ctx.loops.headed_by(block);
        for (from, input) in inputs {
            if !ctx.cfg.is_reachable(*from) {
                continue;
            }
            // Not computed yet: an input from the next iteration of a loop.
            if self.shapes[input.0 as usize].is_none() {
                continue;
            }
            let is_again = header.is_some_and(|item| ctx.loops.contains(item, *from));
            if if is_again {
                self.meets_again[at]
            } else {
                self.meets[at]
            } && inputs.len() > 1
            {
                return Some(Shape::Varying);
            }
            let shape = self.shape_at(ctx.loops, *input, block);
            result = Some(match (result, shape) {
                (None, shape) => shape,
                (Some(one), other) if one == other => one,
                (Some(Shape::Affine { stride: one, .. }), Shape::Affine { stride: other, .. })
                    if one == other =>
                {
                    Shape::Affine {
                        stride: one,
                        is_exact: false,
                    }
                }
                _ => Shape::Varying,
            });
        }
        result
    }

    /// Follows the ways from `sources`, which lanes take differently, within one iteration of a loop.
    fn spread(&mut self, ctx: &Context<'_>, level: Option<usize>, sources: Vec<BlockId>) {
        let count = ctx.function.blocks.len();
        effort::spend(count / 2);
        let end = BlockId(count as u32);
        let header = level.map(|item| ctx.loops.list[item].header);
        let is_inside = |block: BlockId| {
            level.is_none_or(|item| block != end && ctx.loops.contains(item, block))
        };
        let mut label: Vec<Option<BlockId>> = vec![None; count];
        let (mut again, mut left): (Vec<BlockId>, Vec<BlockId>) = (Vec::new(), Vec::new());
        let mut arrive =
            |this: &mut Self, label: &mut [Option<BlockId>], target: BlockId, way: BlockId| {
                if Some(target) == header {
                    again.push(way);
                } else if target == end || !is_inside(target) {
                    left.push(way);
                } else {
                    let at = target.0 as usize;
                    match label[at] {
                        Some(other) if other != way => {
                            label[at] = Some(target);
                            this.meets[at] = true;
                        }
                        _ => label[at] = Some(way),
                    }
                }
            };
        for source in sources {
            arrive(self, &mut label, source, source);
        }
        for &block in ctx.order.iter().filter(|block| is_inside(**block)) {
            let Some(way) = label[block.0 as usize] else {
                continue;
            };
            match ctx.function.blocks[block.0 as usize].terminator {
                Terminator::Return(_) | Terminator::Unreachable => {
                    arrive(self, &mut label, end, way);
                }
                _ => {
                    for target in targets(ctx.function, block) {
                        let is_back = Some(target) != header
                            && ctx
                                .loops
                                .headed_by(target)
                                .is_some_and(|item| ctx.loops.contains(item, block));
                        if !is_back {
                            arrive(self, &mut label, target, way);
                        }
                    }
                }
            }
        }
        let Some(item) = level else {
            return;
        };
        again.sort();
        again.dedup();
        if again.len() > 1 {
            self.meets_again[ctx.loops.list[item].header.0 as usize] = true;
        }
        if left.is_empty() {
            return;
        }
        again.extend(&left);
        again.sort();
        again.dedup();
        if again.len() > 1 {
            self.diverge(ctx, item);
        }
    }

    /// Lanes leave a loop at different iterations.
    fn diverge(&mut self, ctx: &Context<'_>, item: usize) {
        if std::mem::replace(&mut self.is_divergent[item], true) {
            return;
        }
        let mut exits = ctx.loops.exits(ctx.function, ctx.cfg, item);
        let returns = ctx.order.iter().any(|block| {
            ctx.loops.contains(item, *block)
                && matches!(
                    ctx.function.blocks[block.0 as usize].terminator,
                    Terminator::Return(_) | Terminator::Unreachable
                )
        });
        exits.sort();
        for pair in exits.windows(2).filter(|pair| pair[0] == pair[1]) {
            self.meets[pair[0].0 as usize] = true;
        }
        exits.dedup();
        if returns {
            exits.push(BlockId(ctx.function.blocks.len() as u32));
        }
        self.spread(ctx, ctx.loops.list[item].parent, exits);
    }
}
