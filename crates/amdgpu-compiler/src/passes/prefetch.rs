//! Names the global loads that a block could share through local memory: those in loops that read, at every iteration, what all
//! work-items of a row or column of the block read as well.
//!
//! It only reports. Moving such a load into shared memory adds a barrier to the loop and needs to know that all work-items of the
//! block make the same iterations and that nobody writes the memory meanwhile; caches of current processors serve loads of one address by
//! a whole wave at once, so that what could be gained is small against that.

use super::aliasing::place;
use super::strides::Strides;
use super::{Context, Pass};
use crate::ir::{AddressSpace, Function, Op, Type};

pub struct Prefetch;

impl Pass for Prefetch {
    fn name(&self) -> &'static str {
        "prefetch"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        if !function.is_kernel {
            return 0;
        }
        let cfg = ctx.cfg(function);
        let loops = ctx.loops(function);
        if loops.list.is_empty() {
            return 0;
        }
        let mut along_x = Strides::new(function, 0);
        let mut along_y = Strides::new(function, 1);
        for &block in &cfg.order {
            if loops.depth[block.0 as usize] == 0 {
                continue;
            }
            for value in &function.blocks[block.0 as usize].instructions {
                let Op::Load(pointer) = function.op(*value) else {
                    continue;
                };
                if function.ty(*pointer) != Type::Pointer(AddressSpace::Global) {
                    continue;
                }
                let place = place(function, *pointer);
                let shared_by = match (along_x.of_place(&place), along_y.of_place(&place)) {
                    (Some(0), Some(0)) => "all work-items of a block",
                    (Some(0), _) => "the work-items of a row of a block",
                    (_, Some(0)) => "the work-items of a column of a block",
                    _ => continue,
                };
                let line = function.values[value.0 as usize].line;
                ctx.findings.add(function, line, || {
                    format!("this load in a loop is the same for {shared_by}; a __shared__ tile would read it once")
                });
            }
        }
        0
    }
}
