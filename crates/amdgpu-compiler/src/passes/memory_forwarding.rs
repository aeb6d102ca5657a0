//! Uses what is known to be in memory: a load of what was just stored or loaded becomes that value; stores that are overwritten, and
//! stores to private memory that nobody reads, go.
//!
//! Knowledge follows the graph forwards: a block starts with what all its predecessors end with, the head of a loop with nothing.
//! Barriers, fences, atomics and calls end all knowledge of memory that others can reach.

use super::aliasing::{Aliasing, place};
use super::replacement::Replacement;
use super::{Context, Memory, Pass};
use crate::ir::{BlockId, CastKind, Function, GlobalKind, Op, Type, Value};

pub struct MemoryForwarding;

/// Places that are remembered at once; old ones are forgotten.
const MAX_KNOWN: usize = 64;

impl Pass for MemoryForwarding {
    fn name(&self) -> &'static str {
        "memory-forwarding"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let touches_memory = function
            .values
            .iter()
            .any(|value| matches!(value.op, Op::Load(_) | Op::Store { .. }));
        if !touches_memory {
            return 0;
        }
        let aliasing = Aliasing::new(function, ctx.memory);
        forward(function, ctx, &aliasing)
            + overwritten_stores(function, &aliasing)
            + unread_stores(function, &aliasing)
    }
}

/// A place in memory and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    pointer: Value,
    value: Value,
}

fn forward(function: &mut Function, ctx: &mut Context<'_>, aliasing: &Aliasing<'_>) -> u64 {
    let memory = ctx.memory;
    let cfg = ctx.cfg(function);
    let loops = ctx.loops(function);
    let is_header = |block: BlockId| loops.list.iter().any(|item| item.header == block);
    let mut at_end: Vec<Option<Vec<Known>>> = vec![None; function.blocks.len()];
    let mut replacement = Replacement::default();
    let mut changes = 0;
    for &block in &cfg.order {
        let mut known = if is_header(block) {
            Vec::new()
        } else {
            common(&cfg.predecessors[block.0 as usize], &at_end)
        };
        let mut position = 0;
        while position < function.blocks[block.0 as usize].instructions.len() {
            let value = function.blocks[block.0 as usize].instructions[position];
            position += 1;
            replacement.rename(&mut function.values[value.0 as usize].op);
            match *function.op(value) {
                Op::Load(pointer) => {
                    let ty = function.ty(value);
                    let found = constant_content(function, memory, pointer, ty).or_else(|| {
                        let entry = known.iter().rev().find(|entry| {
                            is_same_place(function, entry.pointer, pointer)
                                && function.ty(entry.value).bits() == ty.bits()
                        })?;
                        convertible(function, entry.value, ty)
                    });
                    match found {
                        Some(Content::Same(other)) => replacement.set(function, value, other),
                        Some(Content::Bits(bits)) => {
                            let constant = function.add_value(Op::Constant(bits), ty, 0);
                            replacement.set(function, value, constant);
                        }
                        Some(Content::Reinterpreted(other)) => {
                            function.values[value.0 as usize].op =
                                Op::Cast(CastKind::Reinterpret, other);
                        }
                        None => {
                            remember(&mut known, pointer, value);
                            continue;
                        }
                    }
                    changes += 1;
                }
                Op::Store {
                    pointer,
                    value: stored,
                } => {
                    forget(function, aliasing, &mut known, function.op(value));
                    remember(&mut known, pointer, stored);
                }
                ref op if op.has_effect() => forget(function, aliasing, &mut known, op),
                _ => {}
            }
        }
        at_end[block.0 as usize] = Some(known);
    }
    replacement.apply(function);
    changes
}

fn remember(known: &mut Vec<Known>, pointer: Value, value: Value) {
    if known.len() == MAX_KNOWN {
        known.remove(0);
    }
    known.push(Known { pointer, value });
}

fn forget(function: &Function, aliasing: &Aliasing<'_>, known: &mut Vec<Known>, op: &Op) {
    known.retain(|entry| {
        let size = function.ty(entry.value).bytes();
        !aliasing.may_write(function, op, entry.pointer, size)
    });
}

/// What all predecessors know.
fn common(predecessors: &[BlockId], at_end: &[Option<Vec<Known>>]) -> Vec<Known> {
    let Some((first, rest)) = predecessors.split_first() else {
        return Vec::new();
    };
    let Some(mut known) = at_end[first.0 as usize].clone() else {
        return Vec::new();
    };
    for other in rest {
        match &at_end[other.0 as usize] {
            Some(list) => known.retain(|entry| list.contains(entry)),
            None => known.clear(),
        }
    }
    known
}

fn is_same_place(function: &Function, one: Value, other: Value) -> bool {
    one == other || place(function, one) == place(function, other)
}

enum Content {
    Same(Value),
    Reinterpreted(Value),
    Bits(u64),
}

fn convertible(function: &Function, value: Value, ty: Type) -> Option<Content> {
    let from = function.ty(value);
    if from == ty {
        Some(Content::Same(value))
    } else if !from.is_pointer() && !ty.is_pointer() && from.bits() == ty.bits() {
        Some(Content::Reinterpreted(value))
    } else {
        None
    }
}

/// What a constant variable holds.
fn constant_content(
    function: &Function,
    memory: Memory<'_>,
    pointer: Value,
    ty: Type,
) -> Option<Content> {
    if ty.is_pointer() {
        return None;
    }
    let place = place(function, pointer);
    let Op::GlobalAddress(number) = function.op(place.base) else {
        return None;
    };
    let global = memory.globals.get(*number as usize)?;
    let start = u64::try_from(place.bytes).ok()?;
    let end = start.checked_add(ty.bytes())?;
    if global.kind != GlobalKind::Table || end > global.size_bytes || !place.terms.is_empty() {
        return None;
    }
    let mut word = [0; 8];
    for (byte, at) in word.iter_mut().zip(start..end) {
        // What the bytes do not say is zero.
        *byte = global.bytes.get(at as usize).copied().unwrap_or(0);
    }
    Some(Content::Bits(u64::from_le_bytes(word)))
}

/// Removes stores that a later one of the same block overwrites before anybody could read them.
fn overwritten_stores(function: &mut Function, aliasing: &Aliasing<'_>) -> u64 {
    let mut removed = 0;
    for index in 0..function.blocks.len() {
        // What later stores of this block write, with nothing in between that may read it.
        let mut later: Vec<(Value, u64)> = Vec::new();
        let mut dead = Vec::new();
        for &value in function.blocks[index].instructions.iter().rev() {
            let op = function.op(value);
            if let Op::Store {
                pointer,
                value: stored,
            } = op
            {
                let size = function.ty(*stored).bytes();
                let is_overwritten = later.iter().any(|(other, other_size)| {
                    *other_size >= size && is_same_place(function, *other, *pointer)
                });
                if is_overwritten {
                    dead.push(value);
                } else if later.len() < MAX_KNOWN {
                    later.push((*pointer, size));
                }
                continue;
            }
            let ty = function.ty(value);
            later.retain(|target| !aliasing.may_read(function, op, ty, *target));
        }
        removed += dead.len() as u64;
        delete(function, index, &dead);
    }
    removed
}

/// Removes stores to private memory that is never read.
fn unread_stores(function: &mut Function, aliasing: &Aliasing<'_>) -> u64 {
    let mut is_read = vec![false; function.values.len()];
    for value in function.blocks.iter().flat_map(|block| &block.instructions) {
        if let Op::Load(from) | Op::Copy { from, .. } = function.op(*value) {
            is_read[place(function, *from).base.0 as usize] = true;
        }
    }
    let mut removed = 0;
    for index in 0..function.blocks.len() {
        let mut dead = Vec::new();
        for &value in &function.blocks[index].instructions {
            if let Op::Store { pointer: to, .. } | Op::Clear { to, .. } | Op::Copy { to, .. } =
                function.op(value)
            {
                let base = place(function, *to).base;
                if aliasing.is_contained(base) && !is_read[base.0 as usize] {
                    dead.push(value);
                }
            }
        }
        removed += dead.len() as u64;
        delete(function, index, &dead);
    }
    removed
}

fn delete(function: &mut Function, block: usize, dead: &[Value]) {
    if dead.is_empty() {
        return;
    }
    for value in dead {
        function.values[value.0 as usize].op = Op::Nothing;
    }
    let values = &function.values;
    function.blocks[block]
        .instructions
        .retain(|value| !matches!(values[value.0 as usize].op, Op::Nothing));
}
