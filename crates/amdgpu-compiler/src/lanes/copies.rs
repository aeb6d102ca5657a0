//! Copies and clears of small pieces of memory as loads and stores, element by element: what lies in private memory then takes
//! part in the analysis of [`super::slots`], and ends up in registers.

use crate::ir::{Function, Op, Type, Value};

/// Larger pieces are left to a loop over lanes.
const MOST_ELEMENTS: u64 = 64;

/// Rewrites the copies of a function.
pub fn expand(function: &mut Function) {
    let elements = element_sizes(function);
    for block in 0..function.blocks.len() {
        let has_copies = function.blocks[block]
            .instructions
            .iter()
            .any(|value| matches!(function.op(*value), Op::Copy { .. } | Op::Clear { .. }));
        if !has_copies {
            continue;
        }
        let old = std::mem::take(&mut function.blocks[block].instructions);
        let mut new = Vec::with_capacity(old.len());
        for value in old {
            let (to, from, bytes, align) = match *function.op(value) {
                Op::Copy {
                    to,
                    from,
                    bytes,
                    align,
                } => (to, Some(from), bytes, align),
                Op::Clear { to, bytes, align } => (to, None, bytes, align),
                _ => {
                    new.push(value);
                    continue;
                }
            };
            let size = [Some(to), from]
                .into_iter()
                .flatten()
                .find_map(|pointer| elements[pointer.0 as usize])
                .unwrap_or(align.clamp(1, 4));
            let ty = match size {
                8 => Type::I64,
                4 => Type::I32,
                2 => Type::I16,
                _ => Type::I8,
            };
            let size = ty.bytes();
            if size > align || !bytes.is_multiple_of(size) || bytes / size > MOST_ELEMENTS {
                new.push(value);
                continue;
            }
            let line = function.values[value.0 as usize].line;
            function.values[value.0 as usize].op = Op::Nothing;
            for offset in (0..bytes).step_by(size as usize) {
                let stored = match from {
                    Some(from) => {
                        let pointer = function.offset_by(&mut new, from, offset, line);
                        let loaded = function.add_value(Op::Load(pointer), ty, line);
                        new.push(loaded);
                        loaded
                    }
                    None => function.add_value(Op::Constant(0), ty, 0),
                };
                let pointer = function.offset_by(&mut new, to, offset, line);
                let store = Op::Store {
                    pointer,
                    value: stored,
                };
                new.push(function.add_value(store, Type::Void, line));
            }
        }
        function.blocks[block].instructions = new;
    }
}

/// For pointers into private memory, the size of the loads and stores there.
fn element_sizes(function: &Function) -> Vec<Option<u64>> {
    let count = function.values.len();
    let mut root: Vec<Option<Value>> = vec![None; count];
    for (index, instruction) in function.values.iter().enumerate() {
        if let Op::Slot { .. } = instruction.op {
            root[index] = Some(Value(index as u32));
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (index, instruction) in function.values.iter().enumerate() {
            if let Op::Offset { pointer, .. } = instruction.op
                && root[index].is_none()
                && root[pointer.0 as usize].is_some()
            {
                root[index] = root[pointer.0 as usize];
                changed = true;
            }
        }
    }
    let mut size: Vec<Option<u64>> = vec![None; count];
    for instruction in &function.values {
        let (pointer, bytes) = match instruction.op {
            Op::Load(pointer) | Op::NontemporalLoad(pointer) => (pointer, instruction.ty.bytes()),
            Op::Store { pointer, value } | Op::NontemporalStore { pointer, value } => {
                (pointer, function.ty(value).bytes())
            }
            _ => continue,
        };
        if let Some(slot) = root[pointer.0 as usize] {
            size[slot.0 as usize] = Some(bytes);
        }
    }
    root.iter()
        .map(|slot| slot.and_then(|slot| size[slot.0 as usize]))
        .collect()
}
