//! Computes equal things once: a pure instruction is replaced by an equal one that dominates it.

use super::{Pass, Unit};
use crate::hashing::WordMap;
use crate::ir::{BlockId, Function, Op, Type, Value, cfg::Cfg};

pub struct CommonSubexpressions;

impl Pass for CommonSubexpressions {
    fn name(&self) -> &'static str {
        "common-subexpressions"
    }

    fn run(&self, unit: &mut Unit<'_>) -> u64 {
        unit.each_function(|function, _, _| run(function))
    }
}

fn run(function: &mut Function) -> u64 {
    let cfg = Cfg::new(function);
    let mut replacement: Vec<Option<Value>> = vec![None; function.values.len()];
    let mut known: WordMap<(Op, Type), Vec<(BlockId, Value)>> = WordMap::default();
    let mut constants: WordMap<(Op, Type), Value> = WordMap::default();
    for (index, instruction) in function.values.iter().enumerate() {
        if instruction.op.is_floating() {
            let value = Value(index as u32);
            let first = *constants
                .entry((instruction.op.clone(), instruction.ty))
                .or_insert(value);
            if first != value {
                replacement[index] = Some(first);
            }
        }
    }
    let mut removed = 0;
    // Reverse postorder: whatever dominates a block was seen before it.
    for &block in &cfg.order {
        for position in 0..function.blocks[block.0 as usize].instructions.len() {
            let value = function.blocks[block.0 as usize].instructions[position];
            let find = |mut operand: Value| {
                while let Some(next) = replacement[operand.0 as usize] {
                    operand = next;
                }
                operand
            };
            function.values[value.0 as usize]
                .op
                .for_each_operand_mut(|operand| *operand = find(*operand));
            if !function.op(value).is_pure() {
                continue;
            }
            let key = (function.op(value).clone(), function.ty(value));
            let candidates = known.entry(key).or_default();
            // Recent ones first: they are the likely dominators. The bound keeps odd sources linear.
            let found = candidates
                .iter()
                .rev()
                .take(8)
                .find(|(home, _)| cfg.dominates(*home, block))
                .map(|(_, value)| *value);
            match found {
                Some(earlier) => {
                    replacement[value.0 as usize] = Some(earlier);
                    removed += 1;
                }
                None => candidates.push((block, value)),
            }
        }
    }
    function.replace_uses(&replacement);
    for block in &mut function.blocks {
        block
            .instructions
            .retain(|value| replacement[value.0 as usize].is_none());
    }
    for (index, instruction) in function.values.iter_mut().enumerate() {
        if replacement[index].is_some() {
            instruction.op = Op::Nothing;
        }
    }
    removed
}
