//! The function of one region.

use super::live_across::{Home, LiveAcross};
use super::{Cut, Entry, Given, HostKernel, Uniformity};
use crate::ir::{
    AddressSpace, Block, BlockId, Function, Instruction, Op, Parameter, Terminator, Type, Value,
};

/// Parameters of a region's function: the kernel's own (shared memory included), then what it uses ([`Given`]): addresses of this
/// work-item's elements of contexts, then uniform values, then where to write these.
pub(super) struct Builder<'a> {
    cut: &'a Cut<'a>,
    live_across: &'a LiveAcross,
    entries: &'a [Entry],
    start: BlockId,
    out: Function,
    /// New values of old ones that do not live across regions.
    map: Vec<Option<Value>>,
    /// Memory within the function of values that live across regions; LLVM turns it into registers.
    slots: Vec<Option<Value>>,
    blocks: Vec<Option<BlockId>>,
    contexts: Vec<Value>,
    uniforms: Vec<Value>,
    uniform_results: Vec<Value>,
    is_written: Vec<bool>,
    /// Phis that need nothing done: they are kept where their inputs are, and used by each other alone.
    stays: Vec<bool>,
    line: u32,
}

impl<'a> Builder<'a> {
    pub fn new(
        cut: &'a Cut<'a>,
        live_across: &'a LiveAcross,
        entries: &'a [Entry],
        kernel: &HostKernel,
        number: usize,
    ) -> Self {
        let source = cut.function;
        let out = Function {
            name: format!("{}.region{number}", source.name),
            is_kernel: false,
            is_never_inlined: false,
            parameters: source.parameters.clone(),
            result: Type::I32,
            values: Vec::new(),
            blocks: Vec::new(),
            launch_bounds: None,
            line: source.line,
        };
        let mut builder = Self {
            cut,
            live_across,
            entries,
            start: cut.starts[number],
            out,
            map: vec![None; source.values.len()],
            slots: vec![None; source.values.len()],
            blocks: vec![None; source.blocks.len()],
            contexts: Vec::new(),
            uniforms: Vec::new(),
            uniform_results: Vec::new(),
            is_written: vec![false; source.values.len()],
            stays: vec![false; source.values.len()],
            line: source.line,
        };
        let pointer = Type::Pointer(AddressSpace::Global);
        for index in 0..kernel.contexts.len() {
            let value = builder.parameter(format!("context{index}"), pointer);
            builder.contexts.push(value);
        }
        for (index, ty) in kernel.uniforms.iter().enumerate() {
            let value = builder.parameter(format!("uniform{index}"), *ty);
            builder.uniforms.push(value);
        }
        for index in 0..kernel.uniforms.len() {
            let value = builder.parameter(format!("uniform_result{index}"), pointer);
            builder.uniform_results.push(value);
        }
        builder
    }

    fn parameter(&mut self, name: String, ty: Type) -> Value {
        let index = self.out.parameters.len() as u32;
        self.out.parameters.push(Parameter {
            name,
            ty,
            is_restrict: false,
        });
        self.out.add_value(Op::Parameter(index), ty, 0)
    }

    /// For a region that only decides: looks for phis that vary and need nothing done.
    pub fn leave_in_place(&mut self, uniformity: &Uniformity) {
        let source = self.cut.function;
        let blocks = self.cut.blocks_of(self.start);
        let mut phis = Vec::new();
        for &block in &blocks {
            for &value in &source.blocks[block.0 as usize].instructions {
                if let Op::Phi(inputs) = source.op(value)
                    && uniformity.varies(value)
                {
                    let home = self.live_across.homes[value.0 as usize];
                    let comes_from_here = |from: BlockId| {
                        blocks.contains(&from) && self.cut.behind[from.0 as usize].is_none()
                    };
                    let moves = home.is_none()
                        || inputs.iter().any(|(from, input)| {
                            comes_from_here(*from)
                                && self.live_across.homes[input.0 as usize] != home
                        });
                    if moves {
                        return;
                    }
                    phis.push(value);
                }
            }
        }
        for phi in phis {
            self.stays[phi.0 as usize] = true;
        }
    }

    /// Whether an instruction is part of the region's blocks.
    fn is_here(&self, value: Value) -> bool {
        !self.live_across.is_recomputed[value.0 as usize] && !self.stays[value.0 as usize]
    }

    pub fn run(mut self) -> (Function, Given) {
        let source = self.cut.function;
        let blocks = self.cut.blocks_of(self.start);
        self.out.blocks.push(Block::new(self.line));
        for &block in &blocks {
            self.blocks[block.0 as usize] = Some(BlockId(self.out.blocks.len() as u32));
            self.out.blocks.push(Block {
                unroll: source.blocks[block.0 as usize].unroll,
                weights: source.blocks[block.0 as usize].weights,
                ..Block::new(source.blocks[block.0 as usize].line)
            });
        }
        self.prologue(&blocks);
        // Numbers first: phis name values of later blocks.
        for &block in &blocks {
            for &value in &source.blocks[block.0 as usize].instructions {
                if self.is_here(value) {
                    let Instruction { ty, line, .. } = source.values[value.0 as usize];
                    self.map[value.0 as usize] = Some(self.out.add_value(Op::Nothing, ty, line));
                }
            }
        }
        for &block in &blocks {
            self.block(block);
        }
        for &block in &blocks {
            self.phis(block);
        }
        let given = self.remove_unused_parameters();
        (self.out, given)
    }

    fn remove_unused_parameters(&mut self) -> Given {
        let mut is_used = vec![false; self.out.values.len()];
        for block in &self.out.blocks {
            for &value in &block.instructions {
                let op = &self.out.values[value.0 as usize].op;
                op.for_each_operand(|operand| is_used[operand.0 as usize] = true);
            }
            if let Some(operand) = block.terminator.operand() {
                is_used[operand.0 as usize] = true;
            }
        }
        let old = std::mem::take(&mut self.out.parameters);
        let mut old = old.into_iter();
        let own = self.cut.function.parameters.len();
        self.out.parameters.extend(old.by_ref().take(own));
        let mut kept = [Vec::new(), Vec::new(), Vec::new()];
        let groups = [&self.contexts, &self.uniforms, &self.uniform_results];
        for (kept, group) in kept.iter_mut().zip(groups) {
            for (number, (value, parameter)) in group.iter().zip(old.by_ref()).enumerate() {
                let op = &mut self.out.values[value.0 as usize].op;
                if is_used[value.0 as usize] {
                    *op = Op::Parameter(self.out.parameters.len() as u32);
                    self.out.parameters.push(parameter);
                    kept.push(number);
                } else {
                    *op = Op::Nothing;
                }
            }
        }
        let [contexts, uniforms, results] = kept;
        Given {
            contexts,
            uniforms,
            results,
        }
    }

    fn emit(&mut self, block: BlockId, op: Op, ty: Type) -> Value {
        let value = self.out.add_value(op, ty, self.line);
        self.out.blocks[block.0 as usize].instructions.push(value);
        value
    }

    /// Memory for values that live across regions, what is computed anew, and what the region is given.
    fn prologue(&mut self, blocks: &[BlockId]) {
        let source = self.cut.function;
        let first = BlockId(0);
        let mut is_needed = vec![false; source.values.len()];
        let mut work: Vec<Value> = Vec::new();
        for &block in blocks {
            let data = &source.blocks[block.0 as usize];
            for &value in &data.instructions {
                if self.is_here(value) {
                    source
                        .op(value)
                        .for_each_operand(|operand| work.push(operand));
                    self.is_written[value.0 as usize] = true;
                    work.push(value);
                }
            }
            work.extend(data.terminator.operand());
            if let Some(met) = self.cut.met[block.0 as usize] {
                source
                    .op(met)
                    .for_each_operand(|operand| work.push(operand));
            }
        }
        while let Some(value) = work.pop() {
            if !std::mem::replace(&mut is_needed[value.0 as usize], true)
                && self.live_across.is_recomputed[value.0 as usize]
            {
                source
                    .op(value)
                    .for_each_operand(|operand| work.push(operand));
            }
        }
        for (index, Instruction { op, ty, .. }) in source.values.iter().enumerate() {
            if !is_needed[index] {
                continue;
            }
            if op.is_floating() {
                self.map[index] = Some(self.out.add_value(op.clone(), *ty, 0));
            } else if let Some(context) = self.live_across.slots[index] {
                self.map[index] = Some(self.contexts[context]);
            } else if self.live_across.homes[index].is_some() {
                let op = Op::Slot {
                    bytes: ty.bytes().max(1),
                    align: ty.bytes().max(1),
                };
                let slot = self.emit(first, op, Type::Pointer(AddressSpace::Private));
                self.slots[index] = Some(slot);
            }
        }
        for &block in &self.cut.cfg.order {
            for &value in &source.blocks[block.0 as usize].instructions {
                let index = value.0 as usize;
                if is_needed[index]
                    && self.live_across.is_recomputed[index]
                    && self.map[index].is_none()
                {
                    let Instruction { op, ty, line } = &source.values[index];
                    let mut op = op.clone();
                    self.line = *line;
                    op.for_each_operand_mut(|operand| {
                        *operand = self.map[operand.0 as usize].unwrap_or(*operand);
                    });
                    self.map[index] = Some(self.emit(first, op, *ty));
                }
            }
        }
        for &value in &self.live_across.live[self.start.0 as usize] {
            let index = value.0 as usize;
            let (Some(slot), Some(home)) = (self.slots[index], self.live_across.homes[index])
            else {
                continue;
            };
            let given = match home {
                Home::Context(context) => {
                    let op = Op::Load(self.contexts[context]);
                    self.emit(first, op, source.ty(value))
                }
                Home::Uniform(uniform) => self.uniforms[uniform],
            };
            let store = Op::Store {
                pointer: slot,
                value: given,
            };
            self.emit(first, store, Type::Void);
        }
        if let Some(start) = self.blocks[self.start.0 as usize] {
            self.out.blocks[0].terminator = Terminator::Jump(start);
        }
    }

    /// The new value for a use at the present end of a new block.
    fn used(&mut self, block: BlockId, value: Value) -> Value {
        let index = value.0 as usize;
        match (self.slots[index], self.map[index]) {
            (Some(slot), _) => {
                let ty = self.cut.function.ty(value);
                self.emit(block, Op::Load(slot), ty)
            }
            (None, Some(new)) => new,
            // The verifier would tell of a use before its definition.
            (None, None) => value,
        }
    }

    fn block(&mut self, old: BlockId) {
        let source = self.cut.function;
        let data = &source.blocks[old.0 as usize];
        let Some(block) = self.blocks[old.0 as usize] else {
            return;
        };
        let (phis, others): (Vec<Value>, Vec<Value>) = data
            .instructions
            .iter()
            .copied()
            .filter(|value| self.is_here(*value))
            .partition(|value| matches!(source.op(*value), Op::Phi(_)));
        let stores: Vec<Value> = phis.clone();
        for phi in phis {
            if let Some(new) = self.map[phi.0 as usize] {
                self.out.blocks[block.0 as usize].instructions.push(new);
            }
        }
        for phi in stores {
            self.keep(block, phi);
        }
        for value in others {
            let Some(new) = self.map[value.0 as usize] else {
                continue;
            };
            self.line = source.values[value.0 as usize].line;
            let mut op = source.op(value).clone();
            op.for_each_operand_mut(|operand| *operand = self.used(block, *operand));
            self.out.values[new.0 as usize].op = op;
            self.out.blocks[block.0 as usize].instructions.push(new);
            self.keep(block, value);
        }
        self.line = data.line;
        let terminator = self.terminator(old, block);
        self.out.blocks[block.0 as usize].terminator = terminator;
    }

    /// Writes a value that is live across regions to its memory in this function.
    fn keep(&mut self, block: BlockId, value: Value) {
        if let (Some(slot), Some(new)) = (self.slots[value.0 as usize], self.map[value.0 as usize])
        {
            let store = Op::Store {
                pointer: slot,
                value: new,
            };
            self.emit(block, store, Type::Void);
        }
    }

    fn terminator(&mut self, old: BlockId, block: BlockId) -> Terminator {
        if let Some(start) = self.cut.behind[old.0 as usize] {
            self.hand_over(block, start);
            let number = self.cut.region_at(start);
            if let (Entry::Wave(Some(exchange)), Some(met)) =
                (&self.entries[number as usize], self.cut.met[old.0 as usize])
            {
                let cut = self.cut;
                for (operand, context) in exchange.operands(cut.function.op(met)) {
                    let value = self.used(block, operand);
                    let pointer = self.contexts[context];
                    self.emit(block, Op::Store { pointer, value }, Type::Void);
                }
            }
            return self.exit(number);
        }
        let to = |builder: &Self, target: BlockId| {
            builder.blocks[target.0 as usize].unwrap_or(BlockId(0))
        };
        match &self.cut.function.blocks[old.0 as usize].terminator {
            Terminator::Jump(target) => Terminator::Jump(to(self, *target)),
            Terminator::Branch { condition, yes, no } => Terminator::Branch {
                condition: self.used(block, *condition),
                yes: to(self, *yes),
                no: to(self, *no),
            },
            Terminator::Switch {
                value,
                cases,
                default,
            } => Terminator::Switch {
                value: self.used(block, *value),
                cases: cases
                    .iter()
                    .map(|(bits, target)| (*bits, to(self, *target)))
                    .collect(),
                default: to(self, *default),
            },
            Terminator::Return(_) => self.exit(self.entries.len() as u32),
            Terminator::Unreachable => Terminator::Unreachable,
        }
    }

    fn exit(&mut self, number: u32) -> Terminator {
        let op = Op::Constant(u64::from(number));
        Terminator::Return(Some(self.out.add_value(op, Type::I32, 0)))
    }

    /// Writes what lives across regions and is computed by this one to where the next one finds them.
    fn hand_over(&mut self, block: BlockId, start: BlockId) {
        for &value in &self.live_across.live[start.0 as usize] {
            let index = value.0 as usize;
            let Some(home) = self.live_across.homes[index].filter(|_| self.is_written[index])
            else {
                continue;
            };
            let value = self.used(block, value);
            let pointer = match home {
                Home::Context(context) => self.contexts[context],
                Home::Uniform(uniform) => self.uniform_results[uniform],
            };
            self.emit(block, Op::Store { pointer, value }, Type::Void);
        }
    }

    /// Inputs of phis, from the blocks of this region.
    fn phis(&mut self, old: BlockId) {
        let source = self.cut.function;
        for &phi in &source.blocks[old.0 as usize].instructions {
            let Op::Phi(inputs) = source.op(phi) else {
                break;
            };
            if !self.is_here(phi) {
                continue;
            }
            let mut new_inputs = Vec::with_capacity(inputs.len());
            for (from, input) in inputs {
                let is_cut = self.cut.behind[from.0 as usize].is_some();
                if let Some(block) = self.blocks[from.0 as usize].filter(|_| !is_cut) {
                    new_inputs.push((block, self.used(block, *input)));
                }
            }
            if let Some(new) = self.map[phi.0 as usize] {
                self.out.values[new.0 as usize].op = Op::Phi(new_inputs);
            }
        }
    }
}
