//! Blocks, the tests in front of them, latches, and what edges hand over.

use std::rc::Rc;

use super::super::function::constant;
use super::super::text::Text;
use super::{Body, vector_of};
use crate::effort;
use crate::ir::{BlockId, Op, Terminator, Type, Value};
use crate::lanes::{Flow, Mask, Node, targets};
use rustc_hash::FxHashMap;

impl Body<'_, '_> {
    pub(super) fn run(&mut self) {
        self.declare();
        let nodes = self.plan.linear.nodes.clone();
        self.print(format_args!(
            "  br label %{}",
            Self::label_of(self.plan.linear.skip[0].is_some(), nodes[0])
        ));
        for node in nodes {
            match node {
                Node::Block(block) => self.block(block),
                Node::Latch(item) => self.latch(item),
                Node::End => self.end(),
            }
        }
    }

    fn label_of(has_test: bool, node: Node) -> String {
        match node {
            Node::Block(block) if has_test => format!("g{}", block.0),
            Node::Block(block) => format!("b{}", block.0),
            Node::Latch(item) => format!("l{item}"),
            Node::End => "end".to_owned(),
        }
    }

    fn target(&self, node: Node) -> String {
        let has_test = match node {
            Node::Block(block) => self.plan.linear.skip[block.0 as usize].is_some(),
            _ => false,
        };
        Self::label_of(has_test, node)
    }

    /// Variables of masks, phis, and values that are kept.
    fn declare(&mut self) {
        let mask_type = self.mask_type();
        for &block in &self.plan.order.clone() {
            if self.plan.masks.get(block) == Mask::Of(block) {
                self.variable(&format!("%m{}", block.0), &mask_type, true);
            }
            for &value in &self.function.blocks[block.0 as usize].instructions {
                let ty = self.function.ty(value);
                if ty == Type::Void || self.root(value) != value {
                    continue;
                }
                let (scalar, vector) = (self.scalar_type(ty), self.vector_type(ty));
                let is_scalar = self.plan.divergence.shape(value).is_scalar();
                let index = value.0 as usize;
                let forms = [(false, is_scalar), (true, self.has_vector(value))];
                for (is_vector, _) in forms.into_iter().filter(|(_, exists)| *exists) {
                    let ty = if is_vector { &*vector } else { scalar };
                    if self.demand.is_kept[index] {
                        self.variable(&Self::kept(value, is_vector), ty, false);
                    }
                    if matches!(self.function.op(value), Op::Phi(_)) {
                        self.variable(&phi_variable(value, is_vector), ty, false);
                    }
                }
                if self.demand.is_collected[index] {
                    self.variable(&Self::collected(value), &vector, false);
                }
            }
        }
        for item in 0..self.plan.loops.list.len() {
            if self.plan.divergence.is_divergent[item] {
                self.variable(&format!("%n{item}"), &mask_type, true);
            }
        }
        if self.function.result != Type::Void {
            let ty = self.vector_type(self.function.result);
            self.variable("%result", &ty, true);
        }
    }

    /// Whether a vector of its own is computed for a value.
    pub(super) fn has_vector(&self, value: Value) -> bool {
        let shape = self.plan.divergence.shape(value);
        !shape.is_scalar() || shape.is_inexact() && self.demand.needs_vector[value.0 as usize]
    }

    /// The lanes of the present block.
    pub(super) fn mask(&mut self) -> Text {
        match (self.plan.masks.get(self.block), &self.mask) {
            (Mask::Entry, _) => "%active".into(),
            (_, Some(text)) => text.clone(),
            (Mask::Of(block), None) => {
                let text = self.read(&self.mask_type(), &format!("%m{}", block.0));
                self.mask = Some(text.clone());
                text
            }
        }
    }

    /// Whether every lane of a function that exists is active in the present block.
    pub(super) fn has_all_lanes(&self) -> bool {
        self.plan.masks.get(self.block) == Mask::Entry
    }

    /// A mask as an integer, lane 0 in the lowest bit.
    pub(super) fn bits(&mut self, mask: &str) -> Text {
        let lanes = self.lanes();
        self.emit(format_args!("bitcast <{lanes} x i1> {mask} to i{lanes}"))
    }

    fn any(&mut self, mask: &str) -> Text {
        let bits = self.bits(mask);
        self.emit(format_args!("icmp ne i{} {bits}, 0", self.lanes()))
    }

    fn start(&mut self, label: String) {
        self.print(format_args!("{label}:"));
        self.label = label;
    }

    fn block(&mut self, block: BlockId) {
        self.block = block;
        self.mask = None;
        self.scalars.clear();
        self.vectors.clear();
        if let Some(skip) = self.plan.linear.skip[block.0 as usize] {
            self.start(format!("g{}", block.0));
            let mask = self.mask();
            let any = self.any(&mask);
            // The value that was read does not reach into the block when a latch leads there, too.
            self.mask = None;
            let skip = self.target(skip);
            self.print(format_args!(
                "  br i1 {any}, label %b{}, label %{skip}",
                block.0
            ));
        }
        self.start(format!("b{}", block.0));
        self.reset_masks(block);
        let function = self.function;
        let data = &function.blocks[block.0 as usize];
        let is_phi = |value: &&Value| matches!(function.op(**value), Op::Phi(_));
        for &value in data.instructions.iter().take_while(is_phi) {
            self.read_phi(value);
        }
        for &value in data.instructions.iter().take_while(is_phi) {
            self.keep(value);
        }
        for &value in data.instructions.iter().skip_while(is_phi) {
            if self.root(value) == value {
                self.instruction(value);
                self.keep(value);
            }
        }
        self.terminator(block);
    }

    /// Masks of the blocks of a loop start empty at every iteration.
    fn reset_masks(&mut self, header: BlockId) {
        let Some(item) = self.plan.loops.headed_by(header) else {
            return;
        };
        let mask_type = self.mask_type();
        effort::spend(self.plan.order.len() / 4);
        for block in self.plan.order.clone() {
            // The mask of a loop's header belongs to the loop around it.
            let level = match self.plan.loops.headed_by(block) {
                Some(inner) => self.plan.loops.list[inner].parent,
                None => self.plan.loops.of[block.0 as usize],
            };
            if level == Some(item) && self.plan.masks.get(block) == Mask::Of(block) {
                self.write(&mask_type, "zeroinitializer", &format!("%m{}", block.0));
            }
        }
        if self.plan.divergence.is_divergent[item] {
            self.write(&mask_type, "zeroinitializer", &format!("%n{item}"));
        }
    }

    fn read_phi(&mut self, value: Value) {
        let ty = self.function.ty(value);
        if self.plan.divergence.shape(value).is_scalar() {
            let (name, ty) = (self.scalar_name(value), self.scalar_type(ty));
            let variable = phi_variable(value, false);
            self.print(format_args!(
                "  {name} = load {ty}, ptr {variable}, align 64"
            ));
        }
        if self.has_vector(value) {
            let (ty, variable) = (self.vector_type(ty), phi_variable(value, true));
            self.print(format_args!(
                "  %v{} = load {ty}, ptr {variable}, align 64",
                value.0
            ));
        }
    }

    /// Keeps a value that was just computed for blocks that need it.
    fn keep(&mut self, value: Value) {
        let index = value.0 as usize;
        let ty = self.function.ty(value);
        if self.demand.is_kept[index] {
            if self.plan.divergence.shape(value).is_scalar() {
                let (name, ty) = (self.scalar_name(value), self.scalar_type(ty));
                self.write(ty, &name, &Self::kept(value, false));
            }
            if self.has_vector(value) {
                let ty = self.vector_type(ty);
                self.write(&ty, &format!("%v{index}"), &Self::kept(value, true));
            }
        }
        if self.demand.is_collected[index] {
            let new = self.vector(value);
            let mask = self.mask();
            self.blend(&Self::collected(value), ty, &new, &mask);
        }
    }

    /// Writes the lanes of a mask into a variable.
    fn blend(&mut self, variable: &str, ty: Type, new: &str, mask: &str) {
        let (ty, mask_type) = (self.vector_type(ty), self.mask_type());
        let old = self.read(&ty, variable);
        let both = self.emit(format_args!(
            "select {mask_type} {mask}, {ty} {new}, {ty} {old}"
        ));
        self.write(&ty, &both, variable);
    }

    fn latch(&mut self, item: usize) {
        self.start(format!("l{item}"));
        let header = self.plan.loops.list[item].header.0;
        if !self.plan.divergence.is_divergent[item] {
            self.print(format_args!("  br label %b{header}"));
            return;
        }
        let mask_type = self.mask_type();
        let mask = self.read(&mask_type, &format!("%n{item}"));
        self.write(&mask_type, &mask, &format!("%m{header}"));
        let any = self.any(&mask);
        let done = self.target(self.plan.linear.done[item]);
        self.print(format_args!(
            "  br i1 {any}, label %b{header}, label %{done}"
        ));
    }

    fn end(&mut self) {
        self.start("end".to_owned());
        if self.function.result == Type::Void {
            return self.line("  ret void");
        }
        let ty = self.vector_type(self.function.result);
        let result = self.read(&ty, "%result");
        self.print(format_args!("  ret {ty} {result}"));
    }

    fn terminator(&mut self, block: BlockId) {
        let function = self.function;
        let terminator = &function.blocks[block.0 as usize].terminator;
        if let Terminator::Return(Some(value)) = terminator {
            let (new, mask) = (self.vector(*value), self.mask());
            self.blend("%result", function.result, &new, &mask);
        }
        let targets = targets(function, block);
        let flow = self.plan.linear.flow[block.0 as usize].clone();
        match flow {
            Flow::Branch(links) => self.branch(block, terminator, &links),
            Flow::Straight(node) => {
                if let [target] = targets.as_slice() {
                    self.edge(block, *target, None);
                } else {
                    for &target in &targets {
                        let condition = self.condition(terminator, target);
                        self.edge(block, target, Some(&condition));
                    }
                }
                let to = self.target(node);
                self.print(format_args!("  br label %{to}"));
            }
        }
    }

    /// A branch that all lanes take the same way; each way hands over in a block of its own.
    fn branch(&mut self, block: BlockId, terminator: &Terminator, links: &[(BlockId, Node)]) {
        let numbers: FxHashMap<BlockId, usize> = (0..)
            .zip(links)
            .map(|(number, (to, _))| (*to, number))
            .collect();
        let label = |target: BlockId| {
            let number = numbers.get(&target).copied().unwrap_or(0);
            format!("label %e{}.{number}", block.0)
        };
        match terminator {
            Terminator::Branch { condition, yes, no } => {
                let condition = self.scalar(*condition);
                self.print(format_args!(
                    "  br i1 {condition}, {}, {}",
                    label(*yes),
                    label(*no)
                ));
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let ty = self.function.ty(*value);
                let text = self.scalar(*value);
                let ty_text = self.scalar_type(ty);
                let cases: Vec<String> = cases
                    .iter()
                    .map(|(bits, to)| format!("{ty_text} {}, {}", constant(ty, *bits), label(*to)))
                    .collect();
                self.print(format_args!(
                    "  switch {ty_text} {text}, {} [ {} ]",
                    label(*default),
                    cases.join(" ")
                ));
            }
            _ => {}
        }
        // What one way computes, the other does not have.
        let before = (
            self.scalars.clone(),
            self.vectors.clone(),
            self.mask.clone(),
        );
        for (number, (target, node)) in links.iter().enumerate() {
            effort::spend(1 + before.0.len() + before.1.len());
            (self.scalars, self.vectors, self.mask) = before.clone();
            self.start(format!("e{}.{number}", block.0));
            self.edge(block, *target, None);
            let to = self.target(*node);
            self.print(format_args!("  br label %{to}"));
        }
    }

    /// Whether a lane takes a branch to a target: the text of a vector, or of a scalar and that it is one.
    fn condition(&mut self, terminator: &Terminator, target: BlockId) -> Condition {
        let Some(operand) = terminator.operand() else {
            return Condition::Scalar("true".into());
        };
        let is_scalar = self.shape(operand).is_uniform();
        let (text, ty) = if is_scalar {
            (self.scalar(operand), "i1".into())
        } else {
            (self.vector(operand), self.mask_type())
        };
        let text = match terminator {
            Terminator::Branch { yes, .. } if *yes == target => text,
            Terminator::Switch { cases, default, .. } => {
                let is_default = *default == target;
                let operand_type = self.function.ty(operand);
                let scalar_type = self.scalar_type(operand_type);
                let mut any: Option<Text> = None;
                effort::spend(1 + cases.len() / 16);
                for (bits, _) in cases.iter().filter(|(_, to)| (*to == target) != is_default) {
                    let number = constant(operand_type, *bits);
                    let equal = if is_scalar {
                        self.emit(format_args!("icmp eq {scalar_type} {text}, {number}"))
                    } else {
                        let vector_type = vector_of(self.lanes(), scalar_type);
                        self.emit(format_args!(
                            "icmp eq {vector_type} {text}, splat ({scalar_type} {number})"
                        ))
                    };
                    any = Some(match any {
                        None => equal,
                        Some(other) => self.emit(format_args!("or {ty} {other}, {equal}")),
                    });
                }
                let any = any.unwrap_or_else(|| {
                    if is_scalar {
                        "false"
                    } else {
                        "zeroinitializer"
                    }
                    .into()
                });
                if is_default {
                    self.negate(&ty, &any)
                } else {
                    any
                }
            }
            _ => self.negate(&ty, &text),
        };
        if is_scalar {
            Condition::Scalar(text)
        } else {
            Condition::Vector(text)
        }
    }

    fn negate(&mut self, ty: &str, text: &str) -> Text {
        let ones = if ty == "i1" {
            "true"
        } else {
            "splat (i1 true)"
        };
        self.emit(format_args!("xor {ty} {text}, {ones}"))
    }

    /// Hands masks and phis over to a target; without a condition all lanes of the block go there.
    fn edge(&mut self, from: BlockId, to: BlockId, condition: Option<&Condition>) {
        let (ty, mut lanes) = (self.mask_type(), None);
        let item = self.plan.loops.headed_by(to);
        let again = item.filter(|item| self.plan.loops.contains(*item, from));
        let leaves = self.plan.loops.around(from).any(|item| {
            self.plan.divergence.is_divergent[item] && !self.plan.loops.contains(item, to)
        });
        let mut edge_mask = |body: &mut Self| -> Text {
            if let Some(text) = &lanes {
                return Text::clone(text);
            }
            let mask = body.mask();
            let text = match condition {
                None => mask,
                Some(Condition::Vector(text)) => body.emit(format_args!(
                    "select {ty} {mask}, {ty} {text}, {ty} zeroinitializer"
                )),
                Some(Condition::Scalar(text)) => body.emit(format_args!(
                    "select i1 {text}, {ty} {mask}, {ty} zeroinitializer"
                )),
            };
            lanes = Some(text.clone());
            text
        };
        let counted = match again {
            Some(item) => self.plan.divergence.is_divergent[item].then(|| format!("%n{item}")),
            None => (self.plan.masks.get(to) == Mask::Of(to)).then(|| format!("%m{}", to.0)),
        };
        let siblings = self.edges_to(to, again);
        if let Some(variable) = counted {
            let mut mask = edge_mask(self);
            if siblings.len() > 1 || leaves {
                let old = self.read(&ty, &variable);
                mask = self.emit(format_args!("or {ty} {old}, {mask}"));
            }
            self.write(&ty, &mask, &variable);
        }
        let at = to.0 as usize;
        let meets = match again {
            Some(_) => self.plan.divergence.meets_again[at],
            None => self.plan.divergence.meets[at],
        };
        let is_sure = condition.is_none() && !self.plan.linear.runs_empty[from.0 as usize];
        let overwrites = !leaves && (siblings.first() == Some(&from) || !meets && is_sure);
        let function = self.function;
        for &phi in &function.blocks[at].instructions {
            let Op::Phi(inputs) = function.op(phi) else {
                break;
            };
            effort::spend(1 + inputs.len() / 16);
            let Some((_, input)) = inputs.iter().find(|(block, _)| *block == from) else {
                continue;
            };
            let phi_type = function.ty(phi);
            if self.plan.divergence.shape(phi).is_scalar() {
                let mut new = self.scalar(*input);
                let (ty, variable) = (self.scalar_type(phi_type), phi_variable(phi, false));
                if let Some(Condition::Scalar(condition)) = condition {
                    let old = self.read(ty, &variable);
                    new = self.emit(format_args!(
                        "select i1 {condition}, {ty} {new}, {ty} {old}"
                    ));
                }
                self.write(ty, &new, &variable);
            }
            if self.has_vector(phi) {
                let new = self.vector(*input);
                let variable = phi_variable(phi, true);
                if overwrites {
                    let ty = self.vector_type(phi_type);
                    self.write(&ty, &new, &variable);
                } else {
                    let mask = edge_mask(self);
                    self.blend(&variable, phi_type, &new, &mask);
                }
            }
        }
    }

    /// Blocks that lead to a block, in the order they run: those of the loop it heads, or those outside.
    fn edges_to(&mut self, to: BlockId, again: Option<usize>) -> Rc<[BlockId]> {
        let before = &self.plan.cfg.predecessors[to.0 as usize];
        if before.len() == 1 {
            return before.into();
        }
        if let Some(known) = self.edges.get(&(to, again.is_some())) {
            return Rc::clone(known);
        }
        let headed = self.plan.loops.headed_by(to);
        let is_inside =
            |block: &BlockId| headed.is_some_and(|item| self.plan.loops.contains(item, *block));
        let mut blocks: Vec<BlockId> = before
            .iter()
            .copied()
            .filter(|block| is_inside(block) == again.is_some())
            .collect();
        blocks.sort_by_key(|block| self.place_in_order[block.0 as usize]);
        let blocks: Rc<[BlockId]> = blocks.into();
        self.edges.insert((to, again.is_some()), Rc::clone(&blocks));
        blocks
    }
}

/// Which lanes take an edge.
enum Condition {
    Vector(Text),
    Scalar(Text),
}

fn phi_variable(value: Value, is_vector: bool) -> Text {
    Text::numbered(if is_vector { "%pv" } else { "%ps" }, value.0)
}
