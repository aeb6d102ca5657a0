//! Passes over the IR. Each is an object with a name, can be switched off by that name, and reports what it did, how long it took
//! and what that gains.

mod address_spaces;
mod algebraic;
mod aliasing;
mod coalescing;
mod common_subexpressions;
mod constant_folding;
mod context;
mod control_flow;
pub(crate) mod cost;
mod dead_code;
mod inlining;
mod loop_invariants;
mod memory_forwarding;
mod partial_unrolling;
mod prefetch;
mod register_pressure;
mod replacement;
mod run;
mod scalar_replacement;
mod strides;
mod trip_count;
mod unrolling;

pub use context::MAX_FINDINGS;
use context::{Budget, Context, Memory};
pub(crate) use run::{clean_regions, show_addresses};
pub use run::{run, run_pass};
pub(crate) use trip_count::{Counted, counted};
pub(crate) use unrolling::for_each_target_mut;

use crate::ir::{Function, Module};
use crate::options::OptimizationLevel;

/// A transformation of one function, whatever the others are.
pub trait Pass: Sync {
    /// The name used in options and telemetry, in kebab case.
    fn name(&self) -> &'static str;
    /// Transforms the function; returns the number of changes.
    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64;
}

/// A transformation of all functions together.
pub trait ModulePass: Sync {
    fn name(&self) -> &'static str;
    fn run(&self, module: &mut Module, budget: Budget) -> u64;
}

/// One step of a pipeline.
#[derive(Clone, Copy)]
enum Step {
    Function(&'static dyn Pass),
    Module(&'static dyn ModulePass),
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Function(pass) => pass.name(),
            Self::Module(pass) => pass.name(),
        }
    }
}

/// The passes of a level, in the order they run; some run again on what others uncovered.
fn pipeline(level: OptimizationLevel) -> Vec<Step> {
    match level {
        OptimizationLevel::None => Vec::new(),
        OptimizationLevel::Low => vec![
            Step::Function(&constant_folding::ConstantFolding),
            Step::Function(&address_spaces::AddressSpaces),
            Step::Function(&common_subexpressions::CommonSubexpressions),
            Step::Function(&dead_code::DeadCode),
        ],
        OptimizationLevel::High | OptimizationLevel::Max => vec![
            Step::Module(&inlining::Inlining),
            Step::Function(&constant_folding::ConstantFolding),
            Step::Function(&address_spaces::AddressSpaces),
            Step::Function(&common_subexpressions::CommonSubexpressions),
            Step::Function(&control_flow::ControlFlow),
            Step::Function(&dead_code::DeadCode),
            Step::Function(&unrolling::Unrolling),
            Step::Function(&constant_folding::ConstantFolding),
            Step::Function(&address_spaces::AddressSpaces),
            Step::Function(&scalar_replacement::ScalarReplacement),
            Step::Function(&algebraic::AlgebraicSimplification),
            Step::Function(&constant_folding::ConstantFolding),
            Step::Function(&coalescing::Coalescing),
            Step::Function(&common_subexpressions::CommonSubexpressions),
            Step::Function(&memory_forwarding::MemoryForwarding),
            Step::Function(&loop_invariants::LoopInvariants),
            Step::Function(&common_subexpressions::CommonSubexpressions),
            Step::Function(&control_flow::ControlFlow),
            Step::Function(&dead_code::DeadCode),
            Step::Function(&prefetch::Prefetch),
            Step::Function(&register_pressure::RegisterPressure),
            Step::Function(&partial_unrolling::PartialUnrolling),
        ],
    }
}

/// The pass whose result depends on the target, after all that do not.
pub const PARTIAL_UNROLLING: &str = "partial-unrolling";

/// The last pass for CPUs: work-items become SIMD lanes ([`crate::lanes`]). Its result is LLVM text, so that it runs while that is
/// written, is no [`Pass`], and has no meaning for [`run_pass`].
pub const WORK_ITEM_VECTORIZATION: &str = "work-item-vectorization";

/// Names of the passes that make IR of IR: those that [`run_pass`] knows.
pub fn ir_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for pass in pipeline(OptimizationLevel::Max) {
        if !names.contains(&pass.name()) {
            names.push(pass.name());
        }
    }
    names
}

/// Names of all passes: everything that can be switched off.
pub fn names() -> Vec<&'static str> {
    let mut names = ir_names();
    names.push(WORK_ITEM_VECTORIZATION);
    names
}
