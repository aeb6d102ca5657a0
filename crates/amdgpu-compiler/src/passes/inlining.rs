//! Puts functions in place of their calls, callees first, and forgets those that nobody calls any more. What follows sees through
//! parameters: address spaces, constants, loops; and LLVM is given less text.

use super::{Budget, ModulePass};
use crate::cooperative::{inline_call, retain};
use crate::ir::{Function, Module, Op, Value};
use crate::libcalls::is_reserved;
use crate::lower::ssa;

pub struct Inlining;

impl ModulePass for Inlining {
    fn name(&self) -> &'static str {
        "inlining"
    }

    fn run(&self, module: &mut Module, budget: Budget) -> u64 {
        let limit = budget.inlined_instructions;
        let Some(order) = callees_first(module) else {
            return 0;
        };
        let mut changes = 0;
        for &index in &order.functions {
            let inlinable = |function: &Function, value: Value| {
                matches!(function.op(value), Op::Call { function, .. }
                    if may_inline(&module.functions[*function as usize], &order, *function as usize))
            };
            // Most functions stay as they are.
            let of = &module.functions[index];
            let mut values = of.blocks.iter().flat_map(|block| &block.instructions);
            if !values.any(|value| inlinable(of, *value)) {
                continue;
            }
            let mut function = of.clone();
            let mut inlined = 0;
            let mut block = 0;
            while block < function.blocks.len() && function.values.len() < limit {
                let call = function.blocks[block]
                    .instructions
                    .iter()
                    .position(|value| inlinable(&function, *value));
                match call {
                    Some(position) => {
                        inline_call(&mut function, block, position, &module.functions);
                        inlined += 1;
                    }
                    None => block += 1,
                }
            }
            if inlined > 0 {
                ssa::finish_if_cut(&mut function);
                module.functions[index] = function;
                changes += inlined;
            }
        }
        if changes > 0 {
            forget_unused(module);
        }
        changes
    }
}

fn may_inline(callee: &Function, order: &Order, index: usize) -> bool {
    !callee.is_kernel && !callee.is_never_inlined && !order.is_recursive[index]
}

struct Order {
    functions: Vec<usize>,
    is_recursive: Vec<bool>,
}

fn callees(function: &Function) -> Vec<usize> {
    let called = function.values.iter().filter_map(|value| match value.op {
        Op::Call { function, .. } => Some(function as usize),
        _ => None,
    });
    called.collect()
}

/// Functions after those they call; `None` when there are no calls.
fn callees_first(module: &Module) -> Option<Order> {
    let graph: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    if graph.iter().all(Vec::is_empty) {
        return None;
    }
    let count = graph.len();
    let mut functions = Vec::with_capacity(count);
    let mut is_recursive = vec![false; count];
    // 0: not seen, 1: on the path, 2: done.
    let mut state = vec![0u8; count];
    for start in 0..count {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut stack = vec![(start, 0)];
        while let Some((index, next)) = stack.last_mut() {
            let index = *index;
            if let Some(&callee) = graph[index].get(*next) {
                *next += 1;
                if state[callee] == 1 {
                    // Everything on the path from the callee on calls itself through the others.
                    let from = stack.iter().position(|(on_path, _)| *on_path == callee);
                    for (on_path, _) in stack.iter().skip(from.unwrap_or(0)) {
                        is_recursive[*on_path] = true;
                    }
                } else if state[callee] == 0 {
                    state[callee] = 1;
                    stack.push((callee, 0));
                }
            } else {
                state[index] = 2;
                functions.push(index);
                stack.pop();
            }
        }
    }
    Some(Order {
        functions,
        is_recursive,
    })
}

/// Removes the functions that nobody calls, but for those that the target may need yet.
fn forget_unused(module: &mut Module) {
    let mut is_used: Vec<bool> = module
        .functions
        .iter()
        .map(|function| function.is_kernel || is_reserved(&function.name))
        .collect();
    let mut work: Vec<usize> = (0..is_used.len()).filter(|index| is_used[*index]).collect();
    while let Some(index) = work.pop() {
        for callee in callees(&module.functions[index]) {
            if !std::mem::replace(&mut is_used[callee], true) {
                work.push(callee);
            }
        }
    }
    retain(module, |index, _| is_used[index]);
}
