//! Uses a profile: loops that ran often are unrolled, branches get weights, and a kernel whose parameters had one value each gets a copy
//! for these values.

use super::prepare;
use crate::cooperative::inline_call;
use crate::ir::{
    BinaryOp, Block, BlockId, CastKind, Function, Module, Op, Predicate, Terminator, Type, Unroll,
    Value,
};
use crate::profile::{KernelProfile, Profile};

/// Iterations of one entry from which a loop is unrolled, and from which by twice as much.
const MANY_ITERATIONS: u64 = 4;
const VERY_MANY_ITERATIONS: u64 = 16;
/// Iterations at a time for these.
const TIMES: u32 = 4;
const MORE_TIMES: u32 = 8;
/// A loop that went back less often than this, for each work-item that ran, is not worth code.
const MIN_ITERATIONS_PER_ITEM: u64 = 1;
/// Of 100 waves so many have lanes that leave a loop together, for it to be unrolled.
const MIN_UNIFORM_PERCENT: u64 = 90;
/// A kernel of more instructions is not copied: on the CPU, everything of a kernel becomes one function, whose size is limited.
const MAX_COPIED_INSTRUCTIONS: usize = 4000;

/// Transforms the kernel of the profile, or says why it does not fit.
pub(crate) fn apply(module: &mut Module, profile: &Profile) -> Result<(), String> {
    if !profile.uses_constants && !profile.uses_counts {
        return Ok(());
    }
    prepare(module);
    let kernel = &profile.kernel;
    let found = module
        .functions
        .iter_mut()
        .find(|function| function.is_kernel && function.name == kernel.name);
    let function = found.filter(|function| function.blocks.len() == kernel.blocks.len());
    let Some(function) = function else {
        return Err(format!(
            "the profile of `{}` does not fit the kernel; measure it again with profile_kernel",
            kernel.name
        ));
    };
    if profile.uses_counts {
        weigh_branches(function, kernel);
        mark_loops(function, kernel);
    }
    if profile.uses_constants {
        specialise(function, kernel);
    }
    Ok(())
}

fn weigh_branches(function: &mut Function, profile: &KernelProfile) {
    for branch in &profile.branches {
        if let Some(block) = function.blocks.get_mut(branch.block as usize)
            && branch.runs > 0
        {
            block.weights = Some(weights(branch.taken, branch.runs));
        }
    }
}

/// Counts as 32-bit numbers of the same proportion, neither of them zero: what did not happen in one run may happen in another.
fn weights(taken: u64, runs: u64) -> (u32, u32) {
    let other = runs.saturating_sub(taken);
    let shift = 64_u32.saturating_sub(31 + taken.max(other).leading_zeros());
    (
        (taken >> shift).max(1) as u32,
        (other >> shift).max(1) as u32,
    )
}

fn mark_loops(function: &mut Function, profile: &KernelProfile) {
    let items = profile.blocks.first().map_or(0, |(_, runs)| *runs);
    for item in &profile.loops {
        let Some(header) = function.blocks.get_mut(item.header as usize) else {
            continue;
        };
        let is_hot = item.iterations >= items.saturating_mul(MIN_ITERATIONS_PER_ITEM);
        let average = item.iterations / item.entries.max(1);
        if header.unroll.is_some()
            || !is_hot
            || average < MANY_ITERATIONS
            || !is_uniform(profile, item.header)
        {
            continue;
        }
        header.unroll = Some(Unroll::Measured(if average >= VERY_MANY_ITERATIONS {
            MORE_TIMES
        } else {
            TIMES
        }));
    }
}

/// Whether the lanes of most waves leave a loop together, as far as that was sampled. Where each leaves by itself, lanes that are done would
/// wait for several iterations at a time.
fn is_uniform(profile: &KernelProfile, header: u32) -> bool {
    let mut branches = profile.branches.iter();
    let at_start = branches.find(|branch| branch.block == header);
    at_start.is_none_or(|branch| {
        u64::from(branch.uniform_waves) * 100 >= u64::from(branch.waves) * MIN_UNIFORM_PERCENT
    })
}

/// Puts a comparison of the parameters before two copies of the kernel: one in which those that had one value are constants, and one as it was.
fn specialise(function: &mut Function, profile: &KernelProfile) {
    if profile.constants.is_empty() || function.instruction_count() > MAX_COPIED_INSTRUCTIONS {
        return;
    }
    let mut general = function.clone();
    general.is_kernel = false;
    let mut kernel = Function {
        values: Vec::new(),
        blocks: vec![Block::new(function.line)],
        ..function.clone()
    };
    let mut own = Vec::with_capacity(function.parameters.len());
    for (number, parameter) in (0..).zip(&function.parameters) {
        own.push(kernel.add_value(Op::Parameter(number), parameter.ty, 0));
    }
    let mut constants = own.clone();
    let mut condition = None;
    for constant in &profile.constants {
        let mut parameters = function.parameters.iter();
        let place = parameters.position(|parameter| parameter.name == constant.name);
        let Some(place) = place else { continue };
        if let Some((value, is_equal)) = compare(&mut kernel, own[place], constant.bits) {
            constants[place] = value;
            condition = Some(match condition {
                None => is_equal,
                Some(known) => emit(
                    &mut kernel,
                    Op::Binary(BinaryOp::And, known, is_equal),
                    Type::I1,
                ),
            });
        }
    }
    let Some(condition) = condition else { return };
    let functions = [general];
    let sides = [constants, own].map(|arguments| {
        let block = kernel.blocks.len();
        let op = Op::Call {
            function: 0,
            arguments,
        };
        let call = kernel.add_value(op, function.result, 0);
        kernel.blocks.push(Block {
            instructions: vec![call],
            terminator: Terminator::Return(None),
            ..Block::new(function.line)
        });
        block
    });
    let [yes, no] = sides.map(|block| BlockId(block as u32));
    kernel.blocks[0].terminator = Terminator::Branch { condition, yes, no };
    for block in sides {
        inline_call(&mut kernel, block, 0, &functions);
    }
    crate::lower::ssa::finish(&mut kernel);
    *function = kernel;
}

fn emit(function: &mut Function, op: Op, ty: Type) -> Value {
    let value = function.add_value(op, ty, 0);
    function.blocks[0].instructions.push(value);
    value
}

/// The constant of these bits, and whether a parameter has them; `None` for pointers and structs. Floats are compared by their bits.
fn compare(function: &mut Function, parameter: Value, bits: u64) -> Option<(Value, Value)> {
    let ty = function.ty(parameter);
    let integer = match ty {
        Type::F32 => Type::I32,
        Type::F64 => Type::I64,
        ty if ty.is_integer() => ty,
        _ => return None,
    };
    let bits = if integer == Type::I1 { bits & 1 } else { bits };
    let constant = function.add_value(Op::Constant(bits), ty, 0);
    let wanted = function.add_value(Op::Constant(bits), integer, 0);
    let given = if integer == ty {
        parameter
    } else {
        emit(
            function,
            Op::Cast(CastKind::Reinterpret, parameter),
            integer,
        )
    };
    let is_equal = Op::Compare(Predicate::Equal, given, wanted);
    Some((constant, emit(function, is_equal, Type::I1)))
}
