//! Makes neighbouring accesses recognisable: constant steps of an address move to its end, so that addresses that differ by a constant
//! share everything else and the constant becomes part of the access; and reports how the work-items of a wave access global memory.

use super::aliasing::place;
use super::context::Findings;
use super::strides::Strides;
use super::{Context, Pass};
use crate::ir::{AddressSpace, Function, Op, Type};

pub struct Coalescing;

impl Pass for Coalescing {
    fn name(&self) -> &'static str {
        "coalescing"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let changes = constants_last(function);
        if function.is_kernel {
            report(function, ctx.findings);
        }
        changes
    }
}

/// `(p + constant) + index` becomes `(p + index) + constant`.
fn constants_last(function: &mut Function) -> u64 {
    let mut changes = 0;
    for block in 0..function.blocks.len() {
        let mut position = 0;
        while position < function.blocks[block].instructions.len() {
            let value = function.blocks[block].instructions[position];
            position += 1;
            let Op::Offset {
                pointer,
                index,
                scale,
            } = *function.op(value)
            else {
                continue;
            };
            let Op::Offset {
                pointer: base,
                index: step,
                scale: step_scale,
            } = *function.op(pointer)
            else {
                continue;
            };
            if function.constant(index).is_some() || function.constant(step).is_none() {
                continue;
            }
            let (ty, line) = (function.ty(value), function.values[value.0 as usize].line);
            let moved = function.add_value(
                Op::Offset {
                    pointer: base,
                    index,
                    scale,
                },
                ty,
                line,
            );
            function.blocks[block]
                .instructions
                .insert(position - 1, moved);
            position += 1;
            function.values[value.0 as usize].op = Op::Offset {
                pointer: moved,
                index: step,
                scale: step_scale,
            };
            changes += 1;
        }
    }
    changes
}

/// By how many bytes the addresses of neighbouring work-items differ, where that is one number.
fn report(function: &Function, findings: &mut Findings) {
    let mut strides = Strides::new(function, 0);
    for value in function.blocks.iter().flat_map(|block| &block.instructions) {
        let (pointer, size, verb) = match function.op(*value) {
            Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
                (*pointer, function.ty(*value).bytes(), "load")
            }
            Op::Store { pointer, value }
            | Op::VolatileStore { pointer, value }
            | Op::NontemporalStore { pointer, value } => {
                (*pointer, function.ty(*value).bytes(), "store")
            }
            _ => continue,
        };
        if function.ty(pointer) != Type::Pointer(AddressSpace::Global) {
            continue;
        }
        let line = function.values[value.0 as usize].line;
        let stride = strides.of_place(&place(function, pointer));
        findings.add(function, line, || match stride {
            Some(0) => format!("{verb} of {size} bytes at one address for a whole wave"),
            Some(stride) if stride.unsigned_abs() == size => {
                format!("{verb} of {size} bytes, coalesced")
            }
            Some(stride) => {
                format!("{verb} of {size} bytes, {stride} bytes apart between work-items")
            }
            None => format!("{verb} of {size} bytes at addresses that follow no fixed stride"),
        });
    }
}
