//! Operations that some processors lack, as calls of functions of the device library that give the same bits.

use crate::ir::{Intrinsic, Module, Op, Type, Value};
use crate::target::{Target, TargetKind};

const FUSED_FLOAT: &str = "__agpu_fused_float";
const FUSED_DOUBLE: &str = "__agpu_fused_double";
const WIDEN_HALF: &str = "__agpu_widen_half";
const NARROW_HALF: &str = "__agpu_narrow_half";

/// The functions this target needs.
pub fn functions(target: &Target) -> Vec<&'static str> {
    let mut names = Vec::new();
    if !target.has_fused() {
        names.extend([FUSED_FLOAT, FUSED_DOUBLE]);
    }
    if !target.has_half() {
        names.extend([WIDEN_HALF, NARROW_HALF]);
    }
    names
}

/// Whether operations may become calls of this function after the passes.
pub fn is_reserved(name: &str) -> bool {
    let names = [FUSED_FLOAT, FUSED_DOUBLE, WIDEN_HALF, NARROW_HALF];
    names.iter().any(|reserved| name.starts_with(reserved))
}

/// Whether calls of this function are better than its body in every place.
pub fn is_large(name: &str) -> bool {
    name.starts_with(FUSED_DOUBLE)
}

/// Answers which kind of target the code is made for, so that what is meant for the other kind is dropped.
fn resolve(module: &mut Module, target: &Target) {
    let is_processor = target.kind == TargetKind::Host;
    for function in &mut module.functions {
        let mut answers = Vec::new();
        for (index, instruction) in function.values.iter_mut().enumerate() {
            if matches!(instruction.op, Op::Intrinsic(Intrinsic::IsProcessor, _)) {
                instruction.op = Op::Constant(u64::from(is_processor));
                answers.push(Value(index as u32));
            }
        }
        // Constants stand in no block.
        if !answers.is_empty() {
            for block in &mut function.blocks {
                block.instructions.retain(|value| !answers.contains(value));
            }
        }
    }
}

/// Makes what does not depend on the target fit it: puts the calls in place of the operations.
pub fn replace(module: &mut Module, target: &Target) {
    resolve(module, target);
    let needed = functions(target);
    if needed.is_empty() {
        return;
    }
    // Functions are numbered in machine code where names repeat; these do not.
    let numbers: Vec<(&str, u32)> = needed
        .iter()
        .filter_map(|name| {
            let mut functions = module.functions.iter();
            let index = functions.position(|function| function.name.starts_with(name))?;
            Some((*name, index as u32))
        })
        .collect();
    for function in &mut module.functions {
        for instruction in &mut function.values {
            let Op::Intrinsic(intrinsic, arguments) = &instruction.op else {
                continue;
            };
            let wanted = match (intrinsic, instruction.ty) {
                (Intrinsic::FusedMultiplyAdd, Type::F64) => FUSED_DOUBLE,
                (Intrinsic::FusedMultiplyAdd, _) => FUSED_FLOAT,
                (Intrinsic::WidenHalf, _) => WIDEN_HALF,
                (Intrinsic::NarrowHalf, _) => NARROW_HALF,
                _ => continue,
            };
            if let Some((_, number)) = numbers.iter().find(|(name, _)| *name == wanted) {
                instruction.op = Op::Call {
                    function: *number,
                    arguments: arguments.clone(),
                };
            }
        }
    }
}
