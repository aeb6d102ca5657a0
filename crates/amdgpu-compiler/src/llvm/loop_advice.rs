//! What LLVM is told about the loops of a function: what the source says about unrolling them.

use super::{Emitter, cpu};
use crate::ir::cfg::Cfg;
use crate::ir::loops::Loops;
use crate::ir::{Function, Unroll};

impl Emitter<'_> {
    /// For each block what its jump back to the start of a loop is marked with; empty when there is nothing to tell.
    pub(super) fn loop_advice(&mut self, function: &Function) -> Vec<String> {
        if function.blocks.iter().all(|block| block.unroll.is_none()) {
            return Vec::new();
        }
        let cfg = Cfg::new(function);
        let loops = Loops::new(function, &cfg);
        let mut advice = vec![String::new(); function.blocks.len()];
        for item in &loops.list {
            let Some(unroll) = function.blocks[item.header.0 as usize].unroll else {
                continue;
            };
            let number = self.advise(unroll);
            for latch in &item.latches {
                advice[latch.0 as usize] = format!(", !llvm.loop !{number}");
            }
        }
        advice
    }

    /// Adds a node of metadata; each loop has one of its own.
    fn advise(&mut self, unroll: Unroll) -> usize {
        let number = cpu::loop_metadata(self.module.functions.len()) + self.advice.len();
        let what = match unroll {
            Unroll::Full => "!\"llvm.loop.unroll.enable\"".to_owned(),
            Unroll::Times(times) => format!("!\"llvm.loop.unroll.count\", i32 {times}"),
            Unroll::Never => "!\"llvm.loop.unroll.disable\"".to_owned(),
        };
        self.advice
            .push(format!("!{number} = distinct !{{!{number}, !{{{what}}}}}"));
        number
    }
}
