//! Computes equal things once: a pure instruction is replaced by an equal one that dominates it.

use std::collections::hash_map::Entry as MapEntry;
use std::hash::{Hash, Hasher};

use super::replacement::Replacement;
use super::{Context, Pass};
use crate::ir::{BlockId, Function, Op, Type, Value, cfg::Cfg};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

pub struct CommonSubexpressions;

impl Pass for CommonSubexpressions {
    fn name(&self) -> &'static str {
        "common-subexpressions"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        run(function, ctx)
    }
}

/// Pure instructions so far, with the blocks they stand in. Lists of those with equal hashes are linked, the latest first, so that
/// no operation is copied.
struct Known {
    latest: FxHashMap<u64, u32>,
    list: Vec<Entry>,
}

struct Entry {
    block: BlockId,
    value: Value,
    before: Option<u32>,
}

impl Known {
    /// Equal instructions that are tried. The bound keeps odd sources linear.
    const MAX_TRIED: usize = 8;

    fn new(function: &Function) -> Self {
        let count = function.instruction_count();
        Self {
            latest: FxHashMap::with_capacity_and_hasher(count, FxBuildHasher),
            list: Vec::with_capacity(count),
        }
    }

    /// An equal instruction that dominates; without one the instruction is remembered.
    fn find_or_add(
        &mut self,
        function: &Function,
        cfg: &Cfg,
        block: BlockId,
        value: Value,
    ) -> Option<Value> {
        let (op, ty) = (function.op(value), function.ty(value));
        let mut hasher = FxHasher::default();
        (op, ty).hash(&mut hasher);
        let latest = self.latest.entry(hasher.finish());
        let first = match &latest {
            MapEntry::Occupied(entry) => Some(*entry.get()),
            MapEntry::Vacant(_) => None,
        };
        // Recent ones first: they are the likely dominators.
        let found = std::iter::successors(first, |number| self.list[*number as usize].before)
            .map(|number| &self.list[number as usize])
            .filter(|entry| function.op(entry.value) == op && function.ty(entry.value) == ty)
            .take(Self::MAX_TRIED)
            .find(|entry| cfg.dominates(entry.block, block));
        if let Some(entry) = found {
            return Some(entry.value);
        }
        latest.insert_entry(self.list.len() as u32);
        self.list.push(Entry {
            block,
            value,
            before: first,
        });
        None
    }
}

fn run(function: &mut Function, ctx: &mut Context<'_>) -> u64 {
    let cfg = ctx.cfg(function);
    let mut replacement = Replacement::default();
    let mut known = Known::new(function);
    let mut constants: FxHashMap<(Op, Type), Value> = FxHashMap::default();
    for (index, instruction) in function.values.iter().enumerate() {
        if instruction.op.is_floating() {
            let value = Value(index as u32);
            let first = *constants
                .entry((instruction.op.clone(), instruction.ty))
                .or_insert(value);
            if first != value {
                replacement.set(function, value, first);
            }
        }
    }
    let mut removed = 0;
    // Reverse postorder: whatever dominates a block was seen before it.
    for &block in &cfg.order {
        for position in 0..function.blocks[block.0 as usize].instructions.len() {
            let value = function.blocks[block.0 as usize].instructions[position];
            replacement.rename(&mut function.values[value.0 as usize].op);
            if !function.op(value).is_pure() {
                continue;
            }
            if let Some(earlier) = known.find_or_add(function, &cfg, block, value) {
                replacement.set(function, value, earlier);
                removed += 1;
            }
        }
    }
    ctx.is_touched |= !replacement.is_empty();
    replacement.apply(function);
    removed
}
