//! Copies of structs and arrays into variables that may become values.

use super::super::aliasing::place;
use super::{Elements, add};
use crate::ir::{Function, Op, Type, Value};
use rustc_hash::FxHashSet;

/// A copy into a part of a variable.
pub struct CopyIn {
    pub to: Value,
    first: i64,
    bytes: i64,
    align: u64,
    /// The variable it is copied from, and where in it, if it is one.
    from: Option<(Value, i64)>,
}

impl CopyIn {
    /// The copy, if its target is a part of a variable and its source no other part of the same one.
    pub fn new(function: &Function, copy: &Op) -> Option<Self> {
        let Op::Copy {
            to,
            from,
            bytes,
            align,
        } = *copy
        else {
            return None;
        };
        let part_of_slot = |pointer: Value| {
            let place = place(function, pointer);
            let Op::Slot { bytes: size, .. } = function.op(place.base) else {
                return Some(None);
            };
            let end = place.bytes.saturating_add(bytes as i64);
            let is_inside = place.bytes >= 0 && end as u64 <= *size;
            (place.terms.is_empty() && is_inside).then_some(Some((place.base, place.bytes)))
        };
        let (to, from) = (part_of_slot(to)??, part_of_slot(from)?);
        if from.is_some_and(|(base, _)| base == to.0) {
            return None;
        }
        Some(Self {
            to: to.0,
            first: to.1,
            bytes: bytes as i64,
            align,
            from,
        })
    }

    /// Whether it is one access to memory, as of a `float4` or of eight numbers of 16 bits, which are read by elements of at most `widest`
    /// bytes: those would be as many accesses.
    pub fn is_pack(&self, widest: u64) -> bool {
        self.from.is_none()
            && self.align > widest
            && (self.align > 8 || self.align == self.bytes as u64)
    }

    /// Whether a part of these bytes of the target is written, and a part not.
    pub fn cuts(&self, (start, end): (i64, i64)) -> bool {
        [self.first, self.first + self.bytes]
            .iter()
            .any(|edge| start < *edge && *edge < end)
    }
}

/// What is read of a variable is read of those that are copied into it.
pub fn pass_on(elements: &mut Elements, refused: &mut FxHashSet<Value>, copies: &[CopyIn]) {
    let mut changed = true;
    while changed {
        changed = false;
        for copy in copies {
            let Some((from, first)) = copy.from else {
                continue;
            };
            let inside: Vec<(i64, Type)> = elements
                .iter()
                .filter(|((base, start), ty)| {
                    *base == copy.to
                        && *start >= copy.first
                        && start + ty.bytes() as i64 <= copy.first + copy.bytes
                })
                .map(|((_, start), ty)| (start - copy.first + first, *ty))
                .collect();
            for (start, ty) in inside {
                changed |= add(elements, refused, (from, start), ty);
            }
        }
    }
}

/// A copy that stays one reads its source from memory.
pub fn refuse_sources(refused: &mut FxHashSet<Value>, copies: &[CopyIn]) {
    loop {
        let before = refused.len();
        for copy in copies {
            if let Some((from, _)) = copy.from
                && refused.contains(&copy.to)
            {
                refused.insert(from);
            }
        }
        if refused.len() == before {
            break;
        }
    }
}

/// Copies into variables that become values are loads and stores of their elements.
pub fn expand(function: &mut Function, elements: &Elements) {
    for block in 0..function.blocks.len() {
        let old = std::mem::take(&mut function.blocks[block].instructions);
        let mut new = Vec::with_capacity(old.len());
        for value in old {
            let Op::Copy {
                to, from, bytes, ..
            } = *function.op(value)
            else {
                new.push(value);
                continue;
            };
            let target = place(function, to);
            if !matches!(function.op(target.base), Op::Slot { .. }) {
                new.push(value);
                continue;
            }
            let mut read: Vec<(u64, Type)> = elements
                .iter()
                .filter(|((base, _), _)| *base == target.base)
                .map(|((_, start), ty)| (start.wrapping_sub(target.bytes) as u64, *ty))
                .filter(|(offset, _)| *offset < bytes)
                .collect();
            if read.is_empty() && !elements.keys().any(|(base, _)| *base == target.base) {
                new.push(value);
                continue;
            }
            read.sort_unstable_by_key(|(offset, _)| *offset);
            let line = function.values[value.0 as usize].line;
            function.values[value.0 as usize].op = Op::Nothing;
            for (offset, ty) in read {
                let pointer = function.offset_by(&mut new, from, offset, line);
                let loaded = function.add_value(Op::Load(pointer), ty, line);
                new.push(loaded);
                let pointer = function.offset_by(&mut new, to, offset, line);
                let store = Op::Store {
                    pointer,
                    value: loaded,
                };
                new.push(function.add_value(store, Type::Void, line));
            }
        }
        function.blocks[block].instructions = new;
    }
}
