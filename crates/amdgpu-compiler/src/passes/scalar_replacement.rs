//! Private arrays and structs that are only used element by element, at constant places, become values: after unrolling, local arrays
//! live in registers. Of a struct that is copied from elsewhere only the elements are loaded that something reads.
//!
//! Braun et al. (2013), as in the lowering: definitions are looked up through the predecessors, a phi where they meet.

mod copies;

use super::aliasing::{Aliasing, place};
use super::replacement::Replacement;
use super::{Context, Memory, Pass};
use crate::ir::{BlockId, CastKind, Function, Op, Type, Value, cfg::Cfg};
use crate::lower::ssa;
use copies::CopyIn;
use rustc_hash::{FxHashMap, FxHashSet};

pub struct ScalarReplacement;

/// Elements of one variable: more would not fit into registers.
const MAX_ELEMENTS: usize = 64;

impl Pass for ScalarReplacement {
    fn name(&self) -> &'static str {
        "scalar-replacement"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        run(function, ctx)
    }
}

/// Parts of variables, by variable and offset, with the type their values have.
type Elements = FxHashMap<(Value, i64), Type>;

fn run(function: &mut Function, ctx: &mut Context<'_>) -> u64 {
    let slots: Vec<Value> = (0..function.values.len() as u32)
        .map(Value)
        .filter(|value| matches!(function.op(*value), Op::Slot { .. }))
        .collect();
    if slots.is_empty() {
        return 0;
    }
    let elements = elements(function, ctx.memory, &slots);
    if elements.is_empty() {
        return 0;
    }
    copies::expand(function, &elements);
    let cfg = ctx.cfg(function);
    Rewriter {
        elements,
        definitions: FxHashMap::default(),
        starts: FxHashMap::default(),
        zeros: FxHashMap::default(),
        cfg: &cfg,
    }
    .run(function)
}

/// The elements of all variables that can be replaced.
fn elements(function: &Function, memory: Memory<'_>, slots: &[Value]) -> Elements {
    let aliasing = Aliasing::new(function, memory);
    let mut elements: Elements = Elements::default();
    let mut refused: FxHashSet<Value> = slots
        .iter()
        .copied()
        .filter(|slot| !aliasing.is_contained(*slot))
        .collect();
    let mut copies = Vec::new();
    for value in function.blocks.iter().flat_map(|block| &block.instructions) {
        let (pointer, ty) = match function.op(*value) {
            Op::Load(pointer) => (*pointer, function.ty(*value)),
            Op::Store { pointer, value } => (*pointer, function.ty(*value)),
            copy @ Op::Copy { to, from, .. } => {
                match CopyIn::new(function, copy) {
                    Some(copy) => copies.push(copy),
                    // What is copied to memory is read as bytes, those between the elements too.
                    None => {
                        refused.extend([*to, *from].map(|pointer| place(function, pointer).base));
                    }
                }
                continue;
            }
            Op::Clear { to, bytes, .. } => {
                let place = place(function, *to);
                let is_whole = matches!(function.op(place.base), Op::Slot { bytes: size, .. } if size == bytes);
                if !is_whole || place.bytes != 0 || !place.terms.is_empty() {
                    refused.insert(place.base);
                }
                continue;
            }
            _ => continue,
        };
        let place = place(function, pointer);
        let Op::Slot { bytes, .. } = function.op(place.base) else {
            continue;
        };
        let end = place.bytes.saturating_add(ty.bytes() as i64);
        if !place.terms.is_empty() || place.bytes < 0 || end as u64 > *bytes {
            refused.insert(place.base);
            continue;
        }
        add(&mut elements, &mut refused, (place.base, place.bytes), ty);
    }
    copies::pass_on(&mut elements, &mut refused, &copies);
    for slot in slots {
        let mut ranges: Vec<(i64, i64)> = elements
            .iter()
            .filter(|((base, _), _)| base == slot)
            .map(|((_, start), ty)| (*start, start + ty.bytes() as i64))
            .collect();
        ranges.sort_unstable();
        let overlap = ranges.windows(2).any(|pair| pair[0].1 > pair[1].0);
        let widest = ranges.iter().map(|range| (range.1 - range.0) as u64).max();
        // Elements are copied whole or not at all.
        let is_cut = copies
            .iter()
            .any(|copy| copy.to == *slot && ranges.iter().any(|range| copy.cuts(*range)));
        let is_pack = copies
            .iter()
            .any(|copy| copy.to == *slot && copy.is_pack(widest.unwrap_or(0)));
        if overlap || is_cut || is_pack || ranges.len() > MAX_ELEMENTS {
            refused.insert(*slot);
        }
    }
    copies::refuse_sources(&mut refused, &copies);
    elements.retain(|(base, _), _| !refused.contains(base));
    elements
}

fn add(
    elements: &mut Elements,
    refused: &mut FxHashSet<Value>,
    element: (Value, i64),
    ty: Type,
) -> bool {
    let before = elements.len();
    let first = *elements.entry(element).or_insert(ty);
    let fits = first == ty || first.bits() == ty.bits() && !first.is_pointer() && !ty.is_pointer();
    if !fits {
        refused.insert(element.0);
    }
    elements.len() > before
}

struct Rewriter<'c> {
    elements: Elements,
    /// What an element holds at the end of a block, as far as it was looked at.
    definitions: FxHashMap<((Value, i64), BlockId), Value>,
    /// What it holds where a block starts, as far as it was asked for.
    starts: FxHashMap<((Value, i64), BlockId), Value>,
    zeros: FxHashMap<Type, Value>,
    cfg: &'c Cfg,
}

impl Rewriter<'_> {
    fn run(mut self, function: &mut Function) -> u64 {
        let mut replacement = Replacement::default();
        let mut pending: Vec<((Value, i64), BlockId, Value)> = Vec::new();
        // Loads that found no definition in their block, to be answered when all blocks are known.
        let mut open: Vec<(Value, (Value, i64), BlockId)> = Vec::new();
        let (mut changes, mut has_phis) = (0, false);
        for &block in &self.cfg.order {
            let mut here: FxHashMap<(Value, i64), Value> = FxHashMap::default();
            for value in function.blocks[block.0 as usize].instructions.clone() {
                match function.op(value).clone() {
                    Op::Load(pointer) => {
                        let Some(key) = self.key(function, pointer) else {
                            continue;
                        };
                        changes += 1;
                        match here.get(&key) {
                            Some(known) => {
                                become_value(function, &mut replacement, value, *known);
                            }
                            None => open.push((value, key, block)),
                        }
                    }
                    Op::Store {
                        pointer,
                        value: stored,
                    } => {
                        let Some(key) = self.key(function, pointer) else {
                            continue;
                        };
                        changes += 1;
                        let ty = self.elements[&key];
                        if function.ty(stored) == ty {
                            here.insert(key, stored);
                            function.values[value.0 as usize].op = Op::Nothing;
                        } else {
                            let op = &mut function.values[value.0 as usize];
                            op.op = Op::Cast(CastKind::Reinterpret, stored);
                            op.ty = ty;
                            here.insert(key, value);
                        }
                    }
                    Op::Clear { to, .. } => {
                        let base = place(function, to).base;
                        let keys: Vec<(Value, i64)> = self
                            .elements
                            .keys()
                            .filter(|(slot, _)| *slot == base)
                            .copied()
                            .collect();
                        if keys.is_empty() {
                            continue;
                        }
                        changes += 1;
                        for key in keys {
                            let zero = self.zero(function, self.elements[&key]);
                            here.insert(key, zero);
                        }
                        function.values[value.0 as usize].op = Op::Nothing;
                    }
                    _ => {}
                }
            }
            for (key, value) in here {
                self.definitions.insert((key, block), value);
            }
        }
        for (load, key, block) in open {
            let known = self.at_start(function, key, block, &mut pending);
            become_value(function, &mut replacement, load, known);
        }
        while let Some((key, block, phi)) = pending.pop() {
            let inputs = self.cfg.predecessors[block.0 as usize]
                .iter()
                .map(|from| (*from, self.at_end(function, key, *from, &mut pending)))
                .collect();
            function.values[phi.0 as usize].op = Op::Phi(inputs);
            has_phis = true;
        }
        replacement.apply(function);
        let values = &function.values;
        for block in &mut function.blocks {
            block
                .instructions
                .retain(|value| values[value.0 as usize].op != Op::Nothing);
        }
        if has_phis {
            // Where ways meet on which nothing was written; lanes would take such a phi for a choice between values.
            ssa::finish(function);
        }
        changes
    }

    fn key(&self, function: &Function, pointer: Value) -> Option<(Value, i64)> {
        let place = place(function, pointer);
        let key = (place.base, place.bytes);
        (place.terms.is_empty() && self.elements.contains_key(&key)).then_some(key)
    }

    fn at_end(
        &mut self,
        function: &mut Function,
        key: (Value, i64),
        block: BlockId,
        pending: &mut Vec<((Value, i64), BlockId, Value)>,
    ) -> Value {
        match self.definitions.get(&(key, block)) {
            Some(value) => *value,
            None => self.at_start(function, key, block, pending),
        }
    }

    /// What an element holds where a block starts, if nothing of the block itself defines it.
    fn at_start(
        &mut self,
        function: &mut Function,
        key: (Value, i64),
        block: BlockId,
        pending: &mut Vec<((Value, i64), BlockId, Value)>,
    ) -> Value {
        let mut path = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&known) = self.starts.get(&(key, at)) {
                break known;
            }
            path.push(at);
            match &self.cfg.predecessors[at.0 as usize] {
                // Memory that was never written holds anything; zero is as good.
                [] => break self.zero(function, self.elements[&key]),
                [only] if *only != at => {
                    at = *only;
                    if let Some(&known) = self.definitions.get(&(key, at)) {
                        break known;
                    }
                }
                _ => {
                    let line = function.blocks[at.0 as usize].line;
                    let phi = function.add_value(Op::Phi(Vec::new()), self.elements[&key], line);
                    function.blocks[at.0 as usize].instructions.insert(0, phi);
                    pending.push((key, at, phi));
                    break phi;
                }
            }
        };
        for block in path {
            self.starts.insert((key, block), value);
        }
        value
    }

    fn zero(&mut self, function: &mut Function, ty: Type) -> Value {
        *self
            .zeros
            .entry(ty)
            .or_insert_with(|| function.add_value(Op::Constant(0), ty, 0))
    }
}

/// A load becomes the value that its element holds, in the load's own type.
fn become_value(function: &mut Function, replacement: &mut Replacement, load: Value, known: Value) {
    if function.ty(known) == function.ty(load) {
        replacement.set(function, load, known);
    } else {
        function.values[load.0 as usize].op = Op::Cast(CastKind::Reinterpret, known);
    }
}
