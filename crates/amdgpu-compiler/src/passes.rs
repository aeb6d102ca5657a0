//! Passes over the IR. Each is an object with a name, can be switched off by that name, and reports what it did, how long it took
//! and what that gains.

mod address_spaces;
mod algebraic;
mod aliasing;
mod coalescing;
mod common_subexpressions;
mod constant_folding;
mod control_flow;
pub(crate) mod cost;
mod dead_code;
mod inlining;
mod loop_invariants;
mod memory_forwarding;
mod prefetch;
mod register_pressure;
mod scalar_replacement;
mod strides;
mod trip_count;
mod unrolling;

use std::time::Instant;

use crate::ir::{self, Function, Global, Module, Shared};
use crate::options::{CompileOptions, OptimizationLevel};
use crate::telemetry::{Finding, PassMetrics};

/// A transformation of a module.
pub trait Pass {
    /// The name used in options and telemetry, in kebab case.
    fn name(&self) -> &'static str;
    /// Transforms the module; returns the number of changes.
    fn run(&self, unit: &mut Unit<'_>) -> u64;
}

/// What a pass works on.
pub struct Unit<'m> {
    pub module: &'m mut Module,
    pub budget: Budget,
    pub findings: Findings,
    /// Numbers of the functions that changed; `None` where functions may have come or gone.
    changed: Option<Vec<usize>>,
}

/// What a function refers to outside of itself.
#[derive(Clone, Copy)]
pub struct Memory<'m> {
    pub globals: &'m [Global],
    pub shared: &'m [Shared],
}

impl Unit<'_> {
    /// Runs a transformation on every function; returns the sum of the changes.
    fn each_function(
        &mut self,
        mut transform: impl FnMut(&mut Function, Memory<'_>, &mut Findings) -> u64,
    ) -> u64 {
        let Module {
            globals,
            shared,
            functions,
        } = &mut *self.module;
        let memory = Memory { globals, shared };
        let mut changed_functions = Vec::new();
        let mut changes = 0;
        for (index, function) in functions.iter_mut().enumerate() {
            let own = transform(function, memory, &mut self.findings);
            if own > 0 {
                changed_functions.push(index);
            }
            changes += own;
        }
        self.changed = Some(changed_functions);
        changes
    }
}

/// How much code passes may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Instructions of one loop after unrolling.
    pub unrolled_instructions: usize,
    pub unrolled_turns: u64,
    /// Instructions of one function after inlining.
    pub inlined_instructions: usize,
}

impl Budget {
    /// Sizes that the benchmark `./x bench passes` chose: more unrolling made compiles slower and no kernel faster.
    fn of(level: OptimizationLevel) -> Self {
        Self {
            unrolled_instructions: if level == OptimizationLevel::Max {
                1024
            } else {
                320
            },
            unrolled_turns: if level == OptimizationLevel::Max {
                128
            } else {
                32
            },
            inlined_instructions: 20_000,
        }
    }
}

/// Largest number of findings of one pass that are kept: they are for people to read.
pub const MAX_FINDINGS: usize = 100;

/// What passes noticed, for the user to read.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    /// Notes something about a line of a function.
    pub fn add(&mut self, function: &Function, line: u32, text: impl FnOnce() -> String) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(Finding {
                function: function.name.clone(),
                line,
                text: text(),
            });
        }
    }
}

/// The passes of a level, in the order they run; some run again on what others uncovered.
fn pipeline(level: OptimizationLevel) -> Vec<Box<dyn Pass>> {
    match level {
        OptimizationLevel::None => Vec::new(),
        OptimizationLevel::Low => vec![
            Box::new(constant_folding::ConstantFolding),
            Box::new(address_spaces::AddressSpaces),
            Box::new(common_subexpressions::CommonSubexpressions),
            Box::new(dead_code::DeadCode),
        ],
        OptimizationLevel::High | OptimizationLevel::Max => vec![
            Box::new(inlining::Inlining),
            Box::new(constant_folding::ConstantFolding),
            Box::new(address_spaces::AddressSpaces),
            Box::new(common_subexpressions::CommonSubexpressions),
            Box::new(control_flow::ControlFlow),
            Box::new(dead_code::DeadCode),
            Box::new(unrolling::Unrolling),
            Box::new(constant_folding::ConstantFolding),
            Box::new(address_spaces::AddressSpaces),
            Box::new(scalar_replacement::ScalarReplacement),
            Box::new(algebraic::AlgebraicSimplification),
            Box::new(constant_folding::ConstantFolding),
            Box::new(coalescing::Coalescing),
            Box::new(common_subexpressions::CommonSubexpressions),
            Box::new(memory_forwarding::MemoryForwarding),
            Box::new(loop_invariants::LoopInvariants),
            Box::new(common_subexpressions::CommonSubexpressions),
            Box::new(control_flow::ControlFlow),
            Box::new(dead_code::DeadCode),
            Box::new(prefetch::Prefetch),
            Box::new(register_pressure::RegisterPressure),
        ],
    }
}

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

/// Runs one pass alone on a module, with the budget of a level; nothing when there is no such pass.
///
/// ```
/// let text = "kernel @k(p: ptr.global) -> void line 1 {\nb0:\n  return !1\n}\n";
/// let mut module = amdgpu_compiler::ir::parse(text).unwrap();
/// let metrics = amdgpu_compiler::run_pass("dead-code", &mut module, Default::default()).unwrap();
/// assert_eq!(metrics.transformations, 0);
/// ```
pub fn run_pass(name: &str, module: &mut Module, level: OptimizationLevel) -> Option<PassMetrics> {
    let mut passes = pipeline(OptimizationLevel::Max).into_iter();
    let pass = passes.find(|pass| pass.name() == name)?;
    Some(metered(pass.as_ref(), module, level).0)
}

/// Runs a pass; gain and cost are the caller's to find, from the functions that changed.
fn metered(
    pass: &dyn Pass,
    module: &mut Module,
    level: OptimizationLevel,
) -> (PassMetrics, Option<Vec<usize>>) {
    let count = |module: &Module| -> u64 {
        let functions = module.functions.iter();
        functions
            .map(|function| function.instruction_count() as u64)
            .sum()
    };
    let before = count(module);
    let start = Instant::now();
    let mut unit = Unit {
        module,
        budget: Budget::of(level),
        findings: Findings::default(),
        changed: None,
    };
    let transformations = pass.run(&mut unit);
    let (findings, changed) = (unit.findings.list, unit.changed);
    let duration_ns = start.elapsed().as_nanos() as u64;
    let after = count(module);
    let metrics = PassMetrics {
        name: pass.name().to_owned(),
        runs: 1,
        duration_ns,
        transformations,
        instructions_removed: before.saturating_sub(after),
        instructions_added: after.saturating_sub(before),
        estimated_gain: 0,
        findings,
    };
    (metrics, changed)
}

/// What functions cost, as of the last time they changed.
struct Costs(Vec<u64>);

impl Costs {
    fn new(module: &Module) -> Self {
        Self(module.functions.iter().map(cost::of_function).collect())
    }

    fn total(&self) -> u64 {
        self.0.iter().copied().fold(0, u64::saturating_add)
    }

    fn update(&mut self, module: &Module, changed: Option<&[usize]>) {
        match changed {
            Some(changed) => {
                for &index in changed {
                    self.0[index] = cost::of_function(&module.functions[index]);
                }
            }
            None => *self = Self::new(module),
        }
    }
}

/// Text of the IR before and after each pass, where it was asked for.
pub type Dumps = Vec<(String, String)>;

/// Runs the passes of the options' level.
pub fn run(module: &mut Module, options: &CompileOptions) -> (Vec<PassMetrics>, Dumps) {
    let mut metrics: Vec<PassMetrics> = Vec::new();
    let mut dumps = Dumps::new();
    if options.dump_ir {
        dumps.push(("00.start".to_owned(), module.to_string()));
    }
    let mut costs = Costs::new(module);
    for pass in pipeline(options.optimization_level) {
        if options.disables(pass.name()) {
            continue;
        }
        let (mut entry, changed) = metered(pass.as_ref(), module, options.optimization_level);
        if cfg!(debug_assertions)
            && let Err(message) = ir::verify(module)
        {
            debug_assert!(false, "after {}: {message}\n{module}", pass.name());
        }
        if entry.transformations > 0 {
            let before = costs.total();
            costs.update(module, changed.as_deref());
            entry.estimated_gain = before as i64 - costs.total() as i64;
        }
        match metrics.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => known.add(entry),
            None => metrics.push(entry),
        }
        if options.dump_ir {
            let number = dumps.len();
            dumps.push((format!("{number:02}.{}", pass.name()), module.to_string()));
        }
    }
    (metrics, dumps)
}
