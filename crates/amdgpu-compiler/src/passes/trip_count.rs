//! How often a loop runs, where that follows from constants: its exit condition is computed iteration by iteration, whatever it consists of.

use super::constant_folding::evaluate;
use crate::ir::loops::Loop;
use crate::ir::{BlockId, Function, Op, Terminator, Value, cfg::Cfg};

/// Steps of one evaluation: conditions of loops are short.
const MAX_STEPS: usize = 64;

/// A loop with one way out and a known number of iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The block that leaves the loop.
    pub exiting: BlockId,
    pub exit: BlockId,
    /// How often `exiting` decides to go on.
    pub iterations: u64,
}

/// The number of iterations, if it is at most `limit`.
pub fn counted(function: &Function, cfg: &Cfg, item: &Loop, limit: u64) -> Option<Counted> {
    let [latch] = item.latches.as_slice() else {
        return None;
    };
    let exits = item.exits(function);
    let [(exiting, exit)] = exits.as_slice() else {
        return None;
    };
    if !cfg.dominates(*exiting, *latch) {
        return None;
    }
    let Terminator::Branch { condition, yes, .. } = function.blocks[exiting.0 as usize].terminator
    else {
        return None;
    };
    let goes_on_when = !u64::from(yes == *exit) & 1;
    // Phis that the condition needs, with their values in the present iteration.
    let mut state: Vec<(Value, u64)> = Vec::new();
    let mut next_state: Vec<(Value, u64)> = Vec::new();
    let mut needed = Vec::new();
    find_phis(function, item, condition, &mut needed)?;
    let mut index = 0;
    while index < needed.len() {
        let Op::Phi(inputs) = function.op(needed[index]) else {
            return None;
        };
        let start = inputs.iter().find(|(from, _)| from != latch)?.1;
        let next = inputs.iter().find(|(from, _)| from == latch)?.1;
        state.push((needed[index], function.constant(start)?));
        find_phis(function, item, next, &mut needed)?;
        index += 1;
    }
    for iterations in 0..=limit {
        let goes_on = compute(function, &state, condition, &mut 0)?;
        if goes_on & 1 != goes_on_when {
            return Some(Counted {
                exiting: *exiting,
                exit: *exit,
                iterations,
            });
        }
        next_state.clear();
        for &phi in &needed {
            let Op::Phi(inputs) = function.op(phi) else {
                return None;
            };
            let next = inputs.iter().find(|(from, _)| from == latch)?.1;
            next_state.push((phi, compute(function, &state, next, &mut 0)?));
        }
        std::mem::swap(&mut state, &mut next_state);
    }
    None
}

/// Adds the phis of the header that a value follows from; `None` when it follows from something else that varies.
fn find_phis(function: &Function, item: &Loop, value: Value, phis: &mut Vec<Value>) -> Option<()> {
    let mut work = vec![value];
    let mut steps = 0;
    while let Some(value) = work.pop() {
        steps += 1;
        if steps > MAX_STEPS {
            return None;
        }
        match function.op(value) {
            Op::Constant(_) => {}
            Op::Phi(_) if phis.contains(&value) => {}
            Op::Phi(_)
                if function.blocks[item.header.0 as usize]
                    .instructions
                    .contains(&value) =>
            {
                phis.push(value);
            }
            op if is_computable(op) => op.for_each_operand(|operand| work.push(operand)),
            _ => return None,
        }
    }
    Some(())
}

fn is_computable(op: &Op) -> bool {
    matches!(
        op,
        Op::Binary(..) | Op::Compare(..) | Op::Cast(..) | Op::Select(..) | Op::Negate(_)
    )
}

fn compute(
    function: &Function,
    state: &[(Value, u64)],
    value: Value,
    steps: &mut usize,
) -> Option<u64> {
    *steps += 1;
    if *steps > MAX_STEPS {
        return None;
    }
    if let Some((_, bits)) = state.iter().find(|(phi, _)| *phi == value) {
        return Some(*bits);
    }
    if let Some(bits) = function.constant(value) {
        return Some(bits);
    }
    if !is_computable(function.op(value)) {
        return None;
    }
    evaluate(function, value, &mut |operand| {
        compute(function, state, operand, steps)
    })
}
