//! Variables to SSA values while blocks are made.
//!
//! Braun, Buchwald, Hack, Leißa, Mallon, Zwinkau: "Simple and Efficient Construction of Static Single Assignment Form" (2013),
//! with a worklist in place of the recursion, because sources may have a hundred thousand blocks in a row.

use crate::ir::{BlockId, Function, Op, Type, Value, cfg::Cfg};
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
struct BlockState {
    predecessors: Vec<BlockId>,
    is_sealed: bool,
    /// Phis made before all predecessors were known.
    incomplete: Vec<(usize, Value)>,
}

#[derive(Debug, Default)]
pub(super) struct Variables {
    types: Vec<Type>,
    definitions: FxHashMap<(usize, BlockId), Value>,
    blocks: Vec<BlockState>,
    zeros: FxHashMap<Type, Value>,
}

impl Variables {
    pub fn add(&mut self, ty: Type) -> usize {
        self.types.push(ty);
        self.types.len() - 1
    }

    pub fn add_block(&mut self) {
        self.blocks.push(BlockState::default());
    }

    pub fn add_predecessor(&mut self, block: BlockId, predecessor: BlockId) {
        let list = &mut self.blocks[block.0 as usize].predecessors;
        if !list.contains(&predecessor) {
            list.push(predecessor);
        }
    }

    pub fn write(&mut self, variable: usize, block: BlockId, value: Value) {
        self.definitions.insert((variable, block), value);
    }

    pub fn read(&mut self, variable: usize, block: BlockId, function: &mut Function) -> Value {
        let mut work = Vec::new();
        let value = self.find(variable, block, function, &mut work);
        self.complete(work, function);
        value
    }

    pub fn seal(&mut self, block: BlockId, function: &mut Function) {
        let state = &mut self.blocks[block.0 as usize];
        state.is_sealed = true;
        let work = std::mem::take(&mut state.incomplete)
            .into_iter()
            .map(|(variable, phi)| (variable, block, phi))
            .collect();
        self.complete(work, function);
    }

    /// Fills the phis of the worklist, and those that this makes.
    fn complete(&mut self, mut work: Vec<(usize, BlockId, Value)>, function: &mut Function) {
        while let Some((variable, block, phi)) = work.pop() {
            let predecessors = self.blocks[block.0 as usize].predecessors.clone();
            let inputs = predecessors
                .into_iter()
                .map(|predecessor| {
                    (
                        predecessor,
                        self.find(variable, predecessor, function, &mut work),
                    )
                })
                .collect();
            function.values[phi.0 as usize].op = Op::Phi(inputs);
        }
    }

    /// The definition that reaches the end of `block` as things stand.
    fn find(
        &mut self,
        variable: usize,
        block: BlockId,
        function: &mut Function,
        work: &mut Vec<(usize, BlockId, Value)>,
    ) -> Value {
        let mut path = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&value) = self.definitions.get(&(variable, at)) {
                break value;
            }
            let state = &self.blocks[at.0 as usize];
            let ty = self.types[variable];
            match (state.is_sealed, state.predecessors.as_slice()) {
                (true, []) => break self.zero(ty, function),
                (true, &[only]) if only != at => {
                    path.push(at);
                    at = only;
                }
                (is_sealed, _) => {
                    let line = function.blocks[at.0 as usize].line;
                    let phi = function.add_value(Op::Phi(Vec::new()), ty, line);
                    function.blocks[at.0 as usize].instructions.insert(0, phi);
                    self.definitions.insert((variable, at), phi);
                    if is_sealed {
                        work.push((variable, at, phi));
                    } else {
                        self.blocks[at.0 as usize].incomplete.push((variable, phi));
                    }
                    break phi;
                }
            }
        };
        for block in path {
            self.definitions.insert((variable, block), value);
        }
        value
    }

    /// What a variable holds that was never written.
    fn zero(&mut self, ty: Type, function: &mut Function) -> Value {
        *self
            .zeros
            .entry(ty)
            .or_insert_with(|| function.add_value(Op::Constant(0), ty, 0))
    }
}

/// [`finish`] where nothing leads to some block any more: to what is behind the call of a function that never returns, once that is inlined.
pub(crate) fn finish_if_cut(function: &mut Function) {
    let cfg = Cfg::new(function);
    let is_cut = |(index, block): (usize, &crate::ir::Block)| {
        !cfg.is_reachable(BlockId(index as u32))
            && block.terminator != crate::ir::Terminator::Unreachable
    };
    if function.blocks.iter().enumerate().any(is_cut) {
        finish(function);
    }
}

/// Drops unreachable blocks from phis and removes phis that choose between one value and themselves.
pub(crate) fn finish(function: &mut Function) {
    let cfg = Cfg::new(function);
    let mut replacement: Vec<Option<Value>> = vec![None; function.values.len()];
    let find = |replacement: &[Option<Value>], mut value: Value| {
        while let Some(next) = replacement[value.0 as usize] {
            value = next;
        }
        value
    };
    for index in 0..function.blocks.len() {
        let block = BlockId(index as u32);
        if !cfg.is_reachable(block) {
            function.blocks[index].instructions.clear();
            function.blocks[index].terminator = crate::ir::Terminator::Unreachable;
            continue;
        }
        for position in 0..function.blocks[index].instructions.len() {
            let value = function.blocks[index].instructions[position];
            match &mut function.values[value.0 as usize].op {
                Op::Phi(inputs) => inputs.retain(|(from, _)| cfg.is_reachable(*from)),
                _ => break,
            }
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &cfg.order {
            for &phi in &function.blocks[block.0 as usize].instructions {
                let Op::Phi(inputs) = function.op(phi) else {
                    break;
                };
                if replacement[phi.0 as usize].is_some() {
                    continue;
                }
                let mut inputs = inputs
                    .iter()
                    .map(|(_, input)| find(&replacement, *input))
                    .filter(|input| *input != phi);
                if let Some(first) = inputs.next()
                    && inputs.all(|input| input == first)
                {
                    replacement[phi.0 as usize] = Some(first);
                    changed = true;
                }
            }
        }
    }
    function.replace_uses(&replacement);
    for block in &mut function.blocks {
        block
            .instructions
            .retain(|value| replacement[value.0 as usize].is_none());
    }
    for (value, replacement) in function.values.iter_mut().zip(&replacement) {
        if replacement.is_some() {
            value.op = Op::Nothing;
        }
    }
}
