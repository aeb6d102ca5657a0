//! How many values are live at once: an estimate of the 32-bit registers a work-item needs.

use crate::ir::{BlockId, Function, Op, Type, Value, cfg::Cfg};

/// Rounds over the graph after which liveness is taken as it is: reducible graphs settle in loop depth + 2.
const MAX_ROUNDS: usize = 32;

/// The most registers that are live anywhere in a function.
pub fn most_live(function: &Function, cfg: &Cfg) -> u64 {
    most_live_in(function, cfg, &cfg.order)
}

/// The most registers that are live in some of the blocks.
pub fn most_live_in(function: &Function, cfg: &Cfg, blocks: &[BlockId]) -> u64 {
    let live_out = live_out(function, cfg);
    let (mut most, mut live) = (0, Set::default());
    for &block in blocks {
        live.0.clone_from(&live_out[block.0 as usize].0);
        let mut count: u64 = live.iter().map(|index| size(function, index)).sum();
        most = most.max(count);
        let data = &function.blocks[block.0 as usize];
        let add = |live: &mut Set, value: Value| {
            if occupies(function, value) && live.insert(value.0) {
                size(function, value.0)
            } else {
                0
            }
        };
        if let Some(operand) = data.terminator.operand() {
            count += add(&mut live, operand);
        }
        for &value in data.instructions.iter().rev() {
            if live.remove(value.0) {
                count -= size(function, value.0);
            }
            if !matches!(function.op(value), Op::Phi(_)) {
                function
                    .op(value)
                    .for_each_operand(|operand| count += add(&mut live, operand));
            }
            most = most.max(count);
        }
    }
    most
}

/// Constants, addresses and built-in variables are made where they are needed or lie in scalar registers.
fn occupies(function: &Function, value: Value) -> bool {
    !function.op(value).is_floating() && !matches!(function.op(value), Op::Slot { .. })
}

/// 32-bit registers of a value.
fn size(function: &Function, index: u32) -> u64 {
    match function.values[index as usize].ty {
        Type::Void => 0,
        ty => u64::from(ty.bits().div_ceil(32)),
    }
}

/// A set of values.
#[derive(Clone, PartialEq, Eq, Default)]
struct Set(Vec<u64>);

impl Set {
    fn insert(&mut self, index: u32) -> bool {
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn remove(&mut self, index: u32) -> bool {
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        let Some(entry) = self.0.get_mut(word) else {
            return false;
        };
        let was_there = *entry & bit != 0;
        *entry &= !bit;
        was_there
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            // Each step clears the lowest bit.
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
            std::iter::successors(Some(*bits).filter(|bits| *bits != 0), rest)
                .map(move |bits| word as u32 * 64 + bits.trailing_zeros())
        })
    }

    fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
}

fn live_out(function: &Function, cfg: &Cfg) -> Vec<Set> {
    let mut live_in = vec![Set::default(); function.blocks.len()];
    let mut live_out = vec![Set::default(); function.blocks.len()];
    // Blocks in front of which something changed since they were looked at.
    let mut is_open = vec![true; function.blocks.len()];
    let mut live = Set::default();
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for &block in cfg.order.iter().rev() {
            if !std::mem::take(&mut is_open[block.0 as usize]) {
                continue;
            }
            let data = &function.blocks[block.0 as usize];
            live.0.clear();
            data.terminator.for_each_target(|target| {
                live.add_all(&live_in[target.0 as usize]);
                for &phi in &function.blocks[target.0 as usize].instructions {
                    let Op::Phi(inputs) = function.op(phi) else {
                        break;
                    };
                    for (from, input) in inputs {
                        if *from == block && occupies(function, *input) {
                            live.insert(input.0);
                        }
                    }
                }
            });
            live_out[block.0 as usize].0.clone_from(&live.0);
            if let Some(operand) = data.terminator.operand()
                && occupies(function, operand)
            {
                live.insert(operand.0);
            }
            for &value in data.instructions.iter().rev() {
                live.remove(value.0);
                if !matches!(function.op(value), Op::Phi(_)) {
                    function.op(value).for_each_operand(|operand| {
                        if occupies(function, operand) {
                            live.insert(operand.0);
                        }
                    });
                }
            }
            let before = &mut live_in[block.0 as usize];
            if *before != live {
                before.0.clone_from(&live.0);
                changed = true;
                for from in &cfg.predecessors[block.0 as usize] {
                    is_open[from.0 as usize] = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    live_out
}
