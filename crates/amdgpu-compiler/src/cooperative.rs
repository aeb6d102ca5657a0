//! Inlines functions that have barriers, operations of a wave or shared memory into the kernels that call them, whatever the
//! passes do later: the CPU cuts kernels where work-items meet, shared memory is laid out by kernel, and a failed assertion ends
//! the kernel.

use crate::effort;
use crate::ir::{BlockId, Function, Module, Op, Terminator, Type, Value};

/// Instructions of one kernel after inlining: far above any kernel, small enough to compile in seconds.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Barriers and operations of waves in one kernel on the CPU: each becomes a loop, which takes LLVM about 10 ms.
const MAX_SYNC_POINTS: usize = 1000;

/// Why a function could not be inlined: it calls itself, or a kernel grows past all bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    Recursion(usize),
    Size(usize),
    SyncPoints(usize),
}

/// Inlines, and removes the functions that are then unused.
pub fn inline(module: &mut Module, is_host: bool) -> Result<(), Refusal> {
    let is_cooperative = inline_kernels(module)?;
    let meets = |function: &&Function| {
        let values = function.blocks.iter().flat_map(|block| &block.instructions);
        let sync_points = values.filter(|value| matches!(function.op(**value), Op::Cooperative(operation, _) if operation.is_sync_point()));
        is_host && function.is_kernel && sync_points.count() > MAX_SYNC_POINTS
    };
    if let Some(index) = module
        .functions
        .iter()
        .position(|function| meets(&function))
    {
        return Err(Refusal::SyncPoints(index));
    }
    remove(module, &is_cooperative);
    Ok(())
}

/// Gives the functions that were inlined.
fn inline_kernels(module: &mut Module) -> Result<Vec<bool>, Refusal> {
    let is_cooperative = reaching(module, is_cooperative);
    let callees = |function: &Function| -> Vec<usize> {
        let called = function.values.iter().filter_map(|value| match value.op {
            Op::Call { function, .. } => Some(function as usize),
            _ => None,
        });
        called.filter(|callee| is_cooperative[*callee]).collect()
    };
    if !module
        .functions
        .iter()
        .any(|function| !callees(function).is_empty())
    {
        return Ok(is_cooperative);
    }
    let graph: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    for start in (0..graph.len()).filter(|index| is_cooperative[*index]) {
        let mut seen = vec![false; graph.len()];
        let mut work = graph[start].clone();
        while let Some(function) = work.pop() {
            if function == start {
                return Err(Refusal::Recursion(start));
            }
            if !std::mem::replace(&mut seen[function], true) {
                work.extend(&graph[function]);
            }
        }
    }
    for index in 0..module.functions.len() {
        if !module.functions[index].is_kernel || !is_cooperative[index] {
            continue;
        }
        let mut kernel = module.functions[index].clone();
        let kernels = module.functions[..index].iter();
        let number = kernels.filter(|function| function.is_kernel).count();
        let mut block = 0;
        while block < kernel.blocks.len() {
            let call = kernel.blocks[block].instructions.iter().position(|value| {
                matches!(kernel.op(*value), Op::Call { function, .. } if is_cooperative[*function as usize])
            });
            match call {
                Some(position) => call_in_kernel(&mut kernel, number, block, position, module),
                None => block += 1,
            }
            if kernel.values.len() > MAX_INSTRUCTIONS {
                return Err(Refusal::Size(index));
            }
        }
        // Ends of work-items leave code behind that nothing leads to.
        crate::lower::ssa::finish(&mut kernel);
        module.functions[index] = kernel;
    }
    Ok(is_cooperative)
}

/// Calls of these functions of `device_lib/messages.hip` stand for something else in each kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// The number of the kernel.
    KernelNumber,
    /// The end of the work-item.
    End,
}

fn marker(function: &Function) -> Option<Marker> {
    let (name, _) = function.name.split_once('.')?;
    match name {
        "__agpu_kernel_number" => Some(Marker::KernelNumber),
        "__agpu_end_item" => Some(Marker::End),
        _ => None,
    }
}

fn call_in_kernel(
    kernel: &mut Function,
    number: usize,
    block: usize,
    position: usize,
    module: &Module,
) {
    let call = kernel.blocks[block].instructions[position];
    let Op::Call { function, .. } = *kernel.op(call) else {
        return;
    };
    match marker(&module.functions[function as usize]) {
        None => inline_call(kernel, block, position, &module.functions),
        Some(Marker::KernelNumber) => {
            kernel.blocks[block].instructions.remove(position);
            kernel.values[call.0 as usize].op = Op::Constant(number as u64);
        }
        Some(Marker::End) => {
            split_block(kernel, block, position + 1);
            kernel.blocks[block].instructions.pop();
            kernel.values[call.0 as usize].op = Op::Nothing;
            kernel.blocks[block].terminator = Terminator::Return(None);
        }
    }
}

/// Inlines everything that kernels call, as far as it does not call itself and a kernel stays below `limit` values: lanes go
/// through calls one by one.
pub fn inline_everything(module: &mut Module, limit: usize) {
    let graph: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    let reachable = |roots: &[usize]| {
        let mut seen = vec![false; graph.len()];
        let mut work = roots.to_vec();
        while let Some(function) = work.pop() {
            if !std::mem::replace(&mut seen[function], true) {
                work.extend(&graph[function]);
            }
        }
        seen
    };
    let is_recursive: Vec<bool> = (0..graph.len())
        .map(|index| reachable(&graph[index])[index])
        .collect();
    for (index, called) in graph.iter().enumerate() {
        let has_waves = module.functions[index]
            .values
            .iter()
            .any(|value| matches!(value.op, Op::Cooperative(operation, _) if operation.is_wave()));
        // Work-items of waves run one by one anyway.
        if !module.functions[index].is_kernel || called.is_empty() || has_waves {
            continue;
        }
        let mut kernel = module.functions[index].clone();
        let mut block = 0;
        while block < kernel.blocks.len() && kernel.values.len() < limit {
            let call = kernel.blocks[block].instructions.iter().position(|value| {
                matches!(kernel.op(*value), Op::Call { function, .. } if !is_recursive[*function as usize])
            });
            match call {
                Some(position) => inline_call(&mut kernel, block, position, &module.functions),
                None => block += 1,
            }
        }
        crate::lower::ssa::finish_if_cut(&mut kernel);
        module.functions[index] = kernel;
    }
}

/// Removes functions that no kernel calls.
pub fn remove_unused(module: &mut Module) {
    let graph: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    let mut is_unused = vec![true; graph.len()];
    let mut work: Vec<usize> = (0..graph.len())
        .filter(|index| module.functions[*index].is_kernel)
        .collect();
    while let Some(function) = work.pop() {
        if std::mem::replace(&mut is_unused[function], false) {
            work.extend(&graph[function]);
        }
    }
    remove(module, &is_unused);
}

fn callees(function: &Function) -> Vec<usize> {
    let called = function.values.iter().filter_map(|value| match value.op {
        Op::Call { function, .. } => Some(function as usize),
        _ => None,
    });
    called.collect()
}

fn is_cooperative(function: &Function) -> bool {
    if marker(function).is_some() {
        return true;
    }
    function.values.iter().any(|value| match value.op {
        Op::Cooperative(operation, _) => operation.is_sync_point(),
        Op::SharedAddress(_) => true,
        _ => false,
    })
}

/// Functions that have a property themselves or through calls.
pub fn reaching(module: &Module, has: impl Fn(&Function) -> bool) -> Vec<bool> {
    let mut reaches: Vec<bool> = module.functions.iter().map(has).collect();
    let mut changed = true;
    // At most as many rounds as functions: each round marks one more or ends.
    while changed {
        changed = false;
        for (index, function) in module.functions.iter().enumerate() {
            let mut values = function.values.iter();
            if !reaches[index]
                && values.any(|value| matches!(value.op, Op::Call { function, .. } if reaches[function as usize]))
            {
                reaches[index] = true;
                changed = true;
            }
        }
    }
    reaches
}

fn remove(module: &mut Module, is_cooperative: &[bool]) {
    retain(module, |index, function| {
        function.is_kernel || !is_cooperative[index]
    });
}

/// Keeps the functions that `is_wanted` names, which must not call others.
pub fn retain(module: &mut Module, is_wanted: impl Fn(usize, &Function) -> bool) {
    let mut numbers = vec![0; module.functions.len()];
    let mut kept = Vec::with_capacity(module.functions.len());
    for (index, function) in std::mem::take(&mut module.functions)
        .into_iter()
        .enumerate()
    {
        numbers[index] = kept.len() as u32;
        if is_wanted(index, &function) {
            kept.push(function);
        }
    }
    for value in kept.iter_mut().flat_map(|function| &mut function.values) {
        if let Op::Call { function, .. } = &mut value.op {
            *function = numbers[*function as usize];
        }
    }
    module.functions = kept;
}

/// Moves what follows `position` into a new block, which the old one jumps to, and returns it.
pub fn split_block(function: &mut Function, block: usize, position: usize) -> BlockId {
    let rest = BlockId(function.blocks.len() as u32);
    let old = BlockId(block as u32);
    let instructions = function.blocks[block].instructions.split_off(position);
    let terminator = std::mem::replace(
        &mut function.blocks[block].terminator,
        Terminator::Jump(rest),
    );
    let line = function.blocks[block].line;
    let weights = function.blocks[block].weights.take();
    let mut targets = Vec::new();
    terminator.for_each_target(|target| targets.push(target));
    function.blocks.push(crate::ir::Block {
        instructions,
        terminator,
        line,
        unroll: None,
        weights,
    });
    for target in targets {
        for index in 0..function.blocks[target.0 as usize].instructions.len() {
            let value = function.blocks[target.0 as usize].instructions[index];
            let Op::Phi(inputs) = &mut function.values[value.0 as usize].op else {
                break;
            };
            for (from, _) in inputs.iter_mut().filter(|(from, _)| *from == old) {
                *from = rest;
            }
        }
    }
    rest
}

/// Puts the body of a called function in place of the call at `position`.
pub fn inline_call(caller: &mut Function, block: usize, position: usize, functions: &[Function]) {
    let call = caller.blocks[block].instructions[position];
    let Op::Call {
        function,
        arguments,
    } = caller.op(call).clone()
    else {
        return;
    };
    let body = &functions[function as usize];
    let after = split_block(caller, block, position + 1);
    caller.blocks[block].instructions.pop();
    let first_block = caller.blocks.len() as u32;
    let first_value = caller.values.len() as u32;
    let map_value = |value: Value| match body.op(value) {
        Op::Parameter(index) => arguments[*index as usize],
        _ => Value(value.0 + first_value),
    };
    let map_block = |block: BlockId| BlockId(block.0 + first_block);
    for instruction in &body.values {
        let mut instruction = instruction.clone();
        match &mut instruction.op {
            Op::Parameter(_) => instruction.op = Op::Nothing,
            op => op.for_each_operand_mut(|operand| *operand = map_value(*operand)),
        }
        if let Op::Phi(inputs) = &mut instruction.op {
            for (from, _) in inputs {
                *from = map_block(*from);
            }
        }
        caller.values.push(instruction);
    }
    let mut results = Vec::new();
    let mut slots = Vec::new();
    for (index, source) in body.blocks.iter().enumerate() {
        let mut copy = source.clone();
        for value in &mut copy.instructions {
            *value = map_value(*value);
        }
        copy.instructions.retain(|value| {
            let is_slot = matches!(caller.op(*value), Op::Slot { .. });
            if is_slot {
                slots.push(*value);
            }
            !is_slot
        });
        match &mut copy.terminator {
            Terminator::Return(value) => {
                results.push((BlockId(first_block + index as u32), value.map(map_value)));
                copy.terminator = Terminator::Jump(after);
            }
            Terminator::Jump(to) => *to = map_block(*to),
            Terminator::Branch { condition, yes, no } => {
                *condition = map_value(*condition);
                *yes = map_block(*yes);
                *no = map_block(*no);
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                *value = map_value(*value);
                *default = map_block(*default);
                for (_, to) in cases {
                    *to = map_block(*to);
                }
            }
            Terminator::Unreachable => {}
        }
        caller.blocks.push(copy);
    }
    // What lies behind the call moves once more with each call of a block.
    effort::spend(
        caller.blocks[after.0 as usize].instructions.len() / 16
            + caller.blocks[0].instructions.len() / 64,
    );
    caller.blocks[block].terminator = Terminator::Jump(BlockId(first_block));
    caller.blocks[0].instructions.splice(0..0, slots);
    let inputs: Option<Vec<(BlockId, Value)>> = results
        .iter()
        .map(|(from, value)| value.map(|value| (*from, value)))
        .collect();
    caller.values[call.0 as usize].op = match inputs {
        _ if body.result == Type::Void => Op::Nothing,
        Some(inputs) if !inputs.is_empty() => {
            caller.blocks[after.0 as usize].instructions.insert(0, call);
            Op::Phi(inputs)
        }
        // The callee never returns; what follows is unreachable.
        _ => Op::Constant(0),
    };
}
