//! Atomic reductions: sums that all blocks of a grid add to, as in `atomicAdd(total, part)`. Each call of a kernel's entry, which runs
//! many blocks, keeps a sum of its own and adds it once at its end. Otherwise threads would wait for each other's cache line at every block.
//!
//! Atomics order nothing, so that nobody can tell when an addition happened whose result is not used; where the kernel has fences,
//! volatile accesses, calls, or may read the sum in another way, it stays as it is. Sums of floats depend on the order of work-items
//! with or without it.

use super::{HostKernel, add_parameter};
use crate::ir::{AddressSpace, CastKind, Cooperation, Function, Op, Type, Value};

/// A sum that the entry keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicReduction {
    /// The kernel's argument that points to it.
    pub argument: usize,
    pub ty: Type,
}

/// Finds the atomic reductions of a kernel, and lets its additions go to what the entry keeps.
pub(super) fn keep(function: &mut Function, kernel: &mut HostKernel) {
    let Some(Accesses { additions, touched }) = accesses(function) else {
        return;
    };
    let mut cells: Vec<(AtomicReduction, Value)> = Vec::new();
    for (addition, sum) in additions {
        if !touched.iter().all(|root| is_apart(function, *root, sum)) {
            continue;
        }
        let known = cells.iter().find(|(other, _)| *other == sum);
        let cell = if let Some((_, cell)) = known {
            *cell
        } else {
            let name = format!("sum{}", cells.len());
            let cell = add_parameter(function, &name, Type::Pointer(AddressSpace::Shared));
            cells.push((sum, cell));
            cell
        };
        if let Op::Cooperative(_, operands) = &mut function.values[addition.0 as usize].op {
            operands[0] = cell;
        }
    }
    kernel.atomic_reductions = cells.into_iter().map(|(sum, _)| sum).collect();
}

/// What a kernel does with memory.
struct Accesses {
    /// Additions that the entry might keep.
    additions: Vec<(Value, AtomicReduction)>,
    /// Where all others lead.
    touched: Vec<Value>,
}

/// `None` where nothing may be kept.
fn accesses(function: &Function) -> Option<Accesses> {
    let is_used = used(function);
    let (mut additions, mut touched) = (Vec::new(), Vec::new());
    let values = function.blocks.iter().flat_map(|block| &block.instructions);
    for &value in values {
        match function.op(value) {
            Op::Call { .. } | Op::VolatileLoad(_) | Op::VolatileStore { .. } => return None,
            Op::Load(pointer)
            | Op::NontemporalLoad(pointer)
            | Op::Store { pointer, .. }
            | Op::NontemporalStore { pointer, .. }
            | Op::Clear { to: pointer, .. } => {
                touched.push(root(function, *pointer));
            }
            Op::Copy { to, from, .. } => {
                touched.extend([root(function, *to), root(function, *from)]);
            }
            Op::Cooperative(operation, operands) => match operation {
                Cooperation::FenceBlock | Cooperation::FenceDevice | Cooperation::FenceSystem => {
                    return None;
                }
                _ if operation.is_sync_point() || operation.is_clock() => {}
                Cooperation::AtomicAdd | Cooperation::AtomicAddFloat
                    if !is_used[value.0 as usize] =>
                {
                    match sum_of(function, operands[0], operands[1]) {
                        Some(sum) => additions.push((value, sum)),
                        None => touched.push(root(function, operands[0])),
                    }
                }
                _ => touched.push(root(function, operands[0])),
            },
            _ => {}
        }
    }
    (!additions.is_empty()).then_some(Accesses { additions, touched })
}

fn used(function: &Function) -> Vec<bool> {
    let mut is_used = vec![false; function.values.len()];
    for block in &function.blocks {
        for &value in &block.instructions {
            let op = function.op(value);
            op.for_each_operand(|operand| is_used[operand.0 as usize] = true);
        }
        if let Some(operand) = block.terminator.operand() {
            is_used[operand.0 as usize] = true;
        }
    }
    is_used
}

/// The sum that a pointer leads to, when it is an argument itself.
fn sum_of(function: &Function, mut pointer: Value, added: Value) -> Option<AtomicReduction> {
    let ty = function.ty(added);
    if !matches!(ty, Type::I32 | Type::I64 | Type::F32 | Type::F64) {
        return None;
    }
    while let Op::Cast(CastKind::AddressSpace, inner) = function.op(pointer) {
        pointer = *inner;
    }
    match function.op(pointer) {
        Op::Parameter(number) if function.ty(pointer) != Type::Pointer(AddressSpace::Shared) => {
            Some(AtomicReduction {
                argument: *number as usize,
                ty,
            })
        }
        _ => None,
    }
}

/// What a pointer is computed from.
fn root(function: &Function, mut pointer: Value) -> Value {
    loop {
        match function.op(pointer) {
            Op::Cast(CastKind::AddressSpace, inner) | Op::Offset { pointer: inner, .. } => {
                pointer = *inner;
            }
            _ => return pointer,
        }
    }
}

/// Whether what a pointer leads to cannot be a sum.
fn is_apart(function: &Function, root: Value, sum: AtomicReduction) -> bool {
    if let Type::Pointer(AddressSpace::Shared | AddressSpace::Private | AddressSpace::Constant) =
        function.ty(root)
    {
        return true;
    }
    let Op::Parameter(number) = *function.op(root) else {
        return false;
    };
    let number = number as usize;
    let is_restrict = |number: usize| function.parameters[number].is_restrict;
    number != sum.argument && (is_restrict(number) || is_restrict(sum.argument))
}
