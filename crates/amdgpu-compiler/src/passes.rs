//! Passes over the IR. Each is an object with a name, can be switched off by that name, and reports what it did and how long
//! it took.

mod address_spaces;
mod common_subexpressions;
mod constant_folding;
mod dead_code;

use std::time::Instant;

use crate::ir::{self, Function, Module};
use crate::options::{CompileOptions, OptimizationLevel};
use crate::telemetry::PassMetrics;

/// A transformation of one function. Functions are independent of each other as long as passes are.
pub trait Pass {
    /// The name used in options and telemetry, in kebab case.
    fn name(&self) -> &'static str;
    /// Transforms the function; returns the number of changes.
    fn run(&self, function: &mut Function) -> u64;
}

/// Rounds of the pipeline by level: a second round uses what the first uncovered.
fn rounds(level: OptimizationLevel) -> usize {
    match level {
        OptimizationLevel::None => 0,
        OptimizationLevel::Low => 1,
        OptimizationLevel::High | OptimizationLevel::Max => 2,
    }
}

/// All passes, in the order they run.
pub fn standard() -> Vec<Box<dyn Pass>> {
    vec![
        Box::new(constant_folding::ConstantFolding),
        Box::new(address_spaces::AddressSpaces),
        Box::new(common_subexpressions::CommonSubexpressions),
        Box::new(dead_code::DeadCode),
    ]
}

/// Names of all passes, for messages about a wrong one.
pub fn names() -> Vec<&'static str> {
    standard().iter().map(|pass| pass.name()).collect()
}

/// Text of the IR before and after each pass, where it was asked for.
pub type Dumps = Vec<(String, String)>;

/// Runs the pipeline.
pub fn run(module: &mut Module, options: &CompileOptions) -> (Vec<PassMetrics>, Dumps) {
    let passes = standard();
    let mut metrics: Vec<PassMetrics> = Vec::new();
    let mut dumps = Dumps::new();
    if options.dump_ir {
        dumps.push(("start".to_owned(), module.to_string()));
    }
    for round in 0..rounds(options.optimization_level) {
        for pass in &passes {
            if options
                .disabled_passes
                .iter()
                .any(|name| name == pass.name())
            {
                continue;
            }
            let before: usize = module
                .functions
                .iter()
                .map(Function::instruction_count)
                .sum();
            let start = Instant::now();
            let transformations: u64 = module
                .functions
                .iter_mut()
                .map(|function| pass.run(function))
                .sum();
            let duration_ns = start.elapsed().as_nanos() as u64;
            let after: usize = module
                .functions
                .iter()
                .map(Function::instruction_count)
                .sum();
            if cfg!(debug_assertions)
                && let Err(message) = ir::verify(module)
            {
                debug_assert!(false, "after {}: {message}\n{module}", pass.name());
            }
            let removed = before.saturating_sub(after) as u64;
            match metrics.iter_mut().find(|entry| entry.name == pass.name()) {
                Some(entry) => {
                    entry.duration_ns += duration_ns;
                    entry.transformations += transformations;
                    entry.instructions_removed += removed;
                }
                None => metrics.push(PassMetrics {
                    name: pass.name().to_owned(),
                    duration_ns,
                    transformations,
                    instructions_removed: removed,
                }),
            }
            if options.dump_ir {
                dumps.push((format!("{}.{round}", pass.name()), module.to_string()));
            }
        }
    }
    (metrics, dumps)
}
