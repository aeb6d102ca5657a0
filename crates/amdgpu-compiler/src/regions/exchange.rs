//! How a region is entered, and what lanes of a wave exchange on the way: the region before leaves the operands in arrays that
//! have an element for every work-item, the entry of the kernel computes the result when the lanes are there, and the region
//! behind finds it like any other value that lives across.

use super::live_across::LiveAcross;
use super::{Cut, Home, HostKernel};
use crate::ir::{Cooperation, Op, Type, Value};

/// What work-items wait for before they run a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The region is the first one.
    Start,
    /// The other work-items of the block.
    Barrier,
    /// Nobody: it goes on where another region took a decision.
    UniformBranch,
    /// The other lanes of the wave; then something is computed, unless it is a barrier or nobody wants the result.
    Wave(Option<Exchange>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    pub operation: Cooperation,
    /// Of the value that is exchanged.
    pub word: Type,
    /// Arrays in [`HostKernel::contexts`]: of that value, and of the lane that a shuffle takes it from.
    pub words: usize,
    pub lanes: Option<usize>,
    pub result: Home,
}

impl Exchange {
    /// Operands of the operation, and the arrays they belong into.
    pub fn operands(&self, op: &Op) -> Vec<(Value, usize)> {
        let Op::Cooperative(_, operands) = op else {
            return Vec::new();
        };
        // The mask is first; here those who are there take part.
        let arrays = std::iter::once(self.words).chain(self.lanes);
        operands.iter().copied().skip(1).zip(arrays).collect()
    }
}

/// How each region is entered. Operations of one type share their arrays: a lane waits at one at a time.
pub(super) fn entries(
    cut: &Cut<'_>,
    live_across: &LiveAcross,
    kernel: &mut HostKernel,
) -> Vec<Entry> {
    let mut entries = vec![Entry::Start; cut.starts.len()];
    let mut arrays: Vec<(Type, usize)> = Vec::new();
    let mut lanes = None;
    for &end in &cut.cfg.order {
        let Some(start) = cut.behind[end.0 as usize] else {
            continue;
        };
        let Some(met) = cut.met[end.0 as usize] else {
            entries[cut.region_at(start) as usize] = Entry::UniformBranch;
            continue;
        };
        let Op::Cooperative(operation, operands) = cut.function.op(met) else {
            continue;
        };
        entries[cut.region_at(start) as usize] =
            match (live_across.homes[met.0 as usize], operands.get(1)) {
                _ if *operation == Cooperation::Barrier => Entry::Barrier,
                (Some(result), Some(operand)) => {
                    let word = cut.function.ty(*operand);
                    let known = arrays.iter().find(|(ty, _)| *ty == word);
                    let words = known.map_or(kernel.contexts.len(), |(_, array)| *array);
                    if known.is_none() {
                        arrays.push((word, words));
                        kernel.contexts.push(word.bytes());
                    }
                    if operands.len() > 2 && lanes.is_none() {
                        lanes = Some(kernel.contexts.len());
                        kernel.contexts.push(Type::I32.bytes());
                    }
                    Entry::Wave(Some(Exchange {
                        operation: *operation,
                        word,
                        words,
                        lanes: lanes.filter(|_| operands.len() > 2),
                        result,
                    }))
                }
                _ => Entry::Wave(None),
            };
    }
    entries
}
