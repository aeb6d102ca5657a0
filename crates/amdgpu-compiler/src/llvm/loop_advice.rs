//! What LLVM is told about the loops and branches of a function: what the source says about unrolling, and what a profile counted.

use super::{Emitter, cpu};
use crate::ir::cfg::Cfg;
use crate::ir::loops::Loops;
use crate::ir::{Block, Function, Terminator, Unroll};

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
            let said = function.blocks[item.header.0 as usize].unroll;
            let Some(unroll) = said.filter(|said| !matches!(said, Unroll::Measured(_))) else {
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
            // Weights of branches tell LLVM what the profile knows.
            Unroll::Measured(_) | Unroll::Full => "!\"llvm.loop.unroll.enable\"".to_owned(),
            Unroll::Times(times) => format!("!\"llvm.loop.unroll.count\", i32 {times}"),
            Unroll::Never => "!\"llvm.loop.unroll.disable\"".to_owned(),
        };
        self.advice
            .push(format!("!{number} = distinct !{{!{number}, !{{{what}}}}}"));
        number
    }

    /// Marks the branch that was written last with what a profile counted.
    pub(super) fn branch_weights(&mut self, block: &Block) {
        let (Some((yes, no)), Terminator::Branch { .. }) = (block.weights, &block.terminator)
        else {
            return;
        };
        let number = cpu::loop_metadata(self.module.functions.len()) + self.advice.len();
        self.advice.push(format!(
            "!{number} = !{{!\"branch_weights\", i32 {yes}, i32 {no}}}"
        ));
        let line_end = self.out.len() - 1;
        self.out.insert_str(line_end, &format!(", !prof !{number}"));
    }
}
