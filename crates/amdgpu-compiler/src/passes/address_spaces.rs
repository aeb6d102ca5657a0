//! Lets loads, stores, atomics and offsets use the address space a pointer came from, in place of a generic pointer made from it.

use super::{Context, Pass};
use crate::ir::{AddressSpace, CastKind, Function, Op, Type, Value};

pub struct AddressSpaces;

impl Pass for AddressSpaces {
    fn name(&self) -> &'static str {
        "address-spaces"
    }

    fn run(&self, function: &mut Function, _: &mut Context<'_>) -> u64 {
        run(function)
    }
}

fn run(function: &mut Function) -> u64 {
    let mut changes = 0;
    for block in 0..function.blocks.len() {
        let values = std::mem::take(&mut function.blocks[block].instructions);
        let mut kept = Vec::with_capacity(values.len());
        for value in values {
            changes += u64::from(rewrite(function, &mut kept, value));
            kept.push(value);
        }
        function.blocks[block].instructions = kept;
    }
    changes
}

/// What a generic pointer was cast from.
fn source(function: &Function, pointer: Value) -> Option<Value> {
    match function.op(pointer) {
        Op::Cast(CastKind::AddressSpace, inner) => Some(*inner),
        _ => None,
    }
}

/// Rewrites one instruction, with what it needs before it at the end of `before`; tells whether it did.
fn rewrite(function: &mut Function, before: &mut Vec<Value>, value: Value) -> bool {
    match *function.op(value) {
        Op::Load(pointer) => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::Load(inner);
            true
        }
        Op::Store {
            pointer,
            value: stored,
        } => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::Store {
                pointer: inner,
                value: stored,
            };
            true
        }
        Op::VolatileLoad(pointer) => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::VolatileLoad(inner);
            true
        }
        Op::VolatileStore {
            pointer,
            value: stored,
        } => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::VolatileStore {
                pointer: inner,
                value: stored,
            };
            true
        }
        Op::NontemporalLoad(pointer) => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::NontemporalLoad(inner);
            true
        }
        Op::NontemporalStore {
            pointer,
            value: stored,
        } => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::NontemporalStore {
                pointer: inner,
                value: stored,
            };
            true
        }
        Op::Clear { to, bytes, align } => {
            let Some(inner) = source(function, to) else {
                return false;
            };
            function.values[value.0 as usize].op = Op::Clear {
                to: inner,
                bytes,
                align,
            };
            true
        }
        Op::Copy {
            to,
            from,
            bytes,
            align,
        } => {
            let (new_to, new_from) = (source(function, to), source(function, from));
            if new_to.is_none() && new_from.is_none() {
                return false;
            }
            function.values[value.0 as usize].op = Op::Copy {
                to: new_to.unwrap_or(to),
                from: new_from.unwrap_or(from),
                bytes,
                align,
            };
            true
        }
        // Atomics on private memory exist by way of generic pointers only.
        Op::Cooperative(operation, ref operands) => {
            let inner = operands.first().and_then(|first| source(function, *first));
            let Some(inner) = inner else {
                return false;
            };
            if function.ty(inner) == Type::Pointer(AddressSpace::Private) {
                return false;
            }
            let mut operands = operands.clone();
            operands[0] = inner;
            function.values[value.0 as usize].op = Op::Cooperative(operation, operands);
            true
        }
        Op::Offset {
            pointer,
            index: offset,
            scale,
        } => {
            let Some(inner) = source(function, pointer) else {
                return false;
            };
            // The offset moves below the cast: users of the offset find the cast in turn.
            let ty: Type = function.ty(inner);
            let line = function.values[value.0 as usize].line;
            let moved = function.add_value(
                Op::Offset {
                    pointer: inner,
                    index: offset,
                    scale,
                },
                ty,
                line,
            );
            before.push(moved);
            function.values[value.0 as usize].op = Op::Cast(CastKind::AddressSpace, moved);
            true
        }
        _ => false,
    }
}
