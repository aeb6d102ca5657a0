//! Runs passes and measures them.
//!
//! Steps that look at one function only are run function by function: what one step brought into the processor's caches the next one
//! finds there, and the graph of a function is found once for all steps that leave it as it is.

use std::time::Instant;

use super::context::{Analyses, Budget, Context, Findings, Memory};
use super::{
    ModulePass, Pass, Step, address_spaces, common_subexpressions, constant_folding, control_flow,
    cost, dead_code, inlining, pipeline, scalar_replacement,
};
use crate::ir::{self, Function, Module};
use crate::options::{CompileOptions, OptimizationLevel};
use crate::target::TargetKind;
use crate::telemetry::PassMetrics;

/// Text of the IR before and after each pass, where it was asked for.
pub type Dumps = Vec<(String, String)>;

/// Runs the passes of the options' level.
pub fn run(
    module: &mut Module,
    options: &CompileOptions,
    kind: TargetKind,
) -> (Vec<PassMetrics>, Dumps) {
    let mut steps = pipeline(options.optimization_level);
    steps.retain(|step| !options.disables(step.name()));
    let mut dumps = Dumps::new();
    let mut dump = |module: &Module, name: &str| {
        let number = dumps.len();
        dumps.push((format!("{number:02}.{name}"), module.to_string()));
    };
    let mut meters: Vec<Meter> = Vec::with_capacity(steps.len());
    let budget = Budget::of(options.optimization_level).on(kind);
    if options.dump_ir {
        dump(module, "start");
        for step in &steps {
            let step = std::slice::from_ref(step);
            meters.extend(run_steps(module, step, budget, true));
            dump(module, step[0].name());
        }
    } else {
        meters = run_steps(module, &steps, budget, true);
    }
    let mut metrics: Vec<PassMetrics> = Vec::new();
    for (step, meter) in steps.iter().zip(meters) {
        let entry = meter.metrics(step.name());
        match metrics.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => known.add(entry),
            None => metrics.push(entry),
        }
    }
    (metrics, dumps)
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
    let mut steps = pipeline(OptimizationLevel::Max).into_iter();
    let step = steps.find(|step| step.name() == name)?;
    let meter = run_steps(module, &[step], Budget::of(level), false).pop()?;
    Some(meter.metrics(name))
}

/// Runs what regions of kernels with barriers need: what lives across barriers goes through memory in them, and ways that were cut
/// off leave phis with one input and branches to one place.
pub(crate) fn clean_regions(module: &mut Module, level: OptimizationLevel) {
    let steps = [
        Step::Function(&scalar_replacement::ScalarReplacement),
        Step::Function(&constant_folding::ConstantFolding),
        Step::Function(&control_flow::ControlFlow),
        Step::Function(&dead_code::DeadCode),
    ];
    run_steps(module, &steps, Budget::of(level), false);
}

/// Runs what shows where pointers lead: calls inlined, address spaces known, equal values joined.
pub(crate) fn show_addresses(module: &mut Module) {
    let steps = [
        Step::Module(&inlining::Inlining),
        Step::Function(&constant_folding::ConstantFolding),
        Step::Function(&address_spaces::AddressSpaces),
        Step::Function(&common_subexpressions::CommonSubexpressions),
        Step::Function(&dead_code::DeadCode),
    ];
    run_steps(module, &steps, Budget::of(OptimizationLevel::High), false);
}

/// What one step did.
#[derive(Default)]
struct Meter {
    duration_ns: u64,
    transformations: u64,
    /// Instructions that came, less those that went.
    growth: i64,
    gain: i64,
    findings: Findings,
}

impl Meter {
    fn metrics(self, name: &str) -> PassMetrics {
        PassMetrics {
            name: name.to_owned(),
            runs: 1,
            duration_ns: self.duration_ns,
            transformations: self.transformations,
            instructions_removed: self.growth.min(0).unsigned_abs(),
            instructions_added: self.growth.max(0).unsigned_abs(),
            estimated_gain: self.gain,
            findings: self.findings.list,
        }
    }
}

/// Runs steps one after the other; gives what each did, with what it gained if that is wanted.
fn run_steps(
    module: &mut Module,
    mut steps: &[Step],
    budget: Budget,
    has_gain: bool,
) -> Vec<Meter> {
    let mut meters = Vec::with_capacity(steps.len());
    while let Some((first, rest)) = steps.split_first() {
        match first {
            Step::Module(pass) => {
                meters.push(run_module_pass(module, *pass, budget, has_gain));
                steps = rest;
            }
            Step::Function(_) => {
                let passes: Vec<&dyn Pass> = steps
                    .iter()
                    .map_while(|step| match step {
                        Step::Function(pass) => Some(*pass),
                        Step::Module(_) => None,
                    })
                    .collect();
                steps = &steps[passes.len()..];
                meters.extend(run_function_passes(module, &passes, budget, has_gain));
            }
        }
    }
    meters
}

fn run_module_pass(
    module: &mut Module,
    pass: &dyn ModulePass,
    budget: Budget,
    has_gain: bool,
) -> Meter {
    let count = |module: &Module| -> i64 {
        let functions = module.functions.iter();
        functions
            .map(|function| function.instruction_count() as i64)
            .sum()
    };
    let cost = |module: &Module| -> i64 {
        let costs = module.functions.iter().map(|function| {
            let mut analyses = Analyses::default();
            cost_of(function, &mut analyses)
        });
        costs.fold(0, i64::saturating_add)
    };
    let size = count(module);
    crate::effort::spend(size as usize);
    let before = if has_gain { cost(module) } else { 0 };
    let start = Instant::now();
    let transformations = pass.run(module, budget);
    let duration_ns = start.elapsed().as_nanos() as u64;
    if cfg!(debug_assertions)
        && let Err(message) = ir::verify(module)
    {
        debug_assert!(false, "after {}: {message}\n{module}", pass.name());
    }
    let gain = if has_gain && transformations > 0 {
        before.saturating_sub(cost(module))
    } else {
        0
    };
    Meter {
        duration_ns,
        transformations,
        growth: count(module) - size,
        gain,
        findings: Findings::default(),
    }
}

fn cost_of(function: &Function, analyses: &mut Analyses) -> i64 {
    let (cfg, loops) = (analyses.cfg(function), analyses.loops(function));
    i64::try_from(cost::of_function(function, &cfg, &loops)).unwrap_or(i64::MAX)
}

fn run_function_passes(
    module: &mut Module,
    passes: &[&dyn Pass],
    budget: Budget,
    has_gain: bool,
) -> Vec<Meter> {
    let declarations = cfg!(debug_assertions).then(|| declarations(module));
    let Module {
        globals,
        shared,
        functions,
    } = module;
    let mut meters: Vec<Meter> = passes.iter().map(|_| Meter::default()).collect();
    let mut work = Work {
        memory: Memory { globals, shared },
        budget,
        analyses: Analyses::default(),
        cost: has_gain.then_some(0),
        size: 0,
        version: 0,
        clean: Vec::new(),
    };
    for function in functions {
        work.start(function, passes.len());
        for (number, pass) in passes.iter().enumerate() {
            // Runs of one pass share what is known of them.
            let first = passes.iter().position(|other| other.name() == pass.name());
            work.run(
                function,
                *pass,
                first.unwrap_or(number),
                &mut meters[number],
            );
            if let Some(declarations) = &declarations
                && let Err(message) = ir::verify_function(declarations, function)
            {
                debug_assert!(false, "after {}: {message}", pass.name());
            }
        }
    }
    meters
}

/// The module without the bodies of its functions.
fn declarations(module: &Module) -> Module {
    let functions = module.functions.iter().map(|function| Function {
        name: function.name.clone(),
        is_kernel: function.is_kernel,
        is_never_inlined: function.is_never_inlined,
        parameters: function.parameters.clone(),
        result: function.result,
        values: Vec::new(),
        blocks: Vec::new(),
        launch_bounds: function.launch_bounds,
        line: function.line,
    });
    Module {
        globals: module.globals.clone(),
        shared: module.shared.clone(),
        functions: functions.collect(),
    }
}

/// What is known of the function that passes work on.
struct Work<'m> {
    memory: Memory<'m>,
    budget: Budget,
    analyses: Analyses,
    /// What a call costs, where that is wanted.
    cost: Option<i64>,
    size: usize,
    /// Goes up with every change.
    version: u32,
    /// For each pass the version that it found nothing to do in.
    clean: Vec<Option<u32>>,
}

impl Work<'_> {
    /// Iterations to another function.
    fn start(&mut self, function: &Function, passes: usize) {
        self.analyses = Analyses::default();
        if let Some(cost) = &mut self.cost {
            *cost = cost_of(function, &mut self.analyses);
        }
        self.size = function.instruction_count();
        self.version = 0;
        self.clean.clear();
        self.clean.resize(passes, None);
    }

    /// Runs a pass, unless nothing changed since it last found nothing to do.
    fn run(&mut self, function: &mut Function, pass: &dyn Pass, first: usize, meter: &mut Meter) {
        let is_clean = self.clean[first] == Some(self.version);
        if is_clean && !cfg!(debug_assertions) {
            return;
        }
        crate::effort::spend(self.size + function.blocks.len());
        let before = cfg!(debug_assertions).then(|| function.clone());
        let values = function.values.len();
        let start = Instant::now();
        let mut ctx = Context {
            memory: self.memory,
            budget: self.budget,
            findings: &mut meter.findings,
            analyses: &mut self.analyses,
            is_touched: false,
        };
        let changes = pass.run(function, &mut ctx);
        let is_changed = changes > 0 || ctx.is_touched || function.values.len() != values;
        meter.duration_ns += start.elapsed().as_nanos() as u64;
        debug_assert!(
            is_changed || before.is_none_or(|before| before == *function),
            "{} changed a function and did not say so",
            pass.name()
        );
        debug_assert!(
            !(is_clean && is_changed),
            "{} found something where it had found nothing",
            pass.name()
        );
        debug_assert!(
            self.analyses.still_hold(function),
            "{} changed the graph and did not say so",
            pass.name()
        );
        if !is_changed {
            self.clean[first] = Some(self.version);
            return;
        }
        self.version += 1;
        let size = function.instruction_count();
        meter.transformations += changes;
        meter.growth += size as i64 - self.size as i64;
        self.size = size;
        if changes > 0
            && let Some(cost) = &mut self.cost
        {
            let before = *cost;
            *cost = cost_of(function, &mut self.analyses);
            meter.gain = meter.gain.saturating_add(before.saturating_sub(*cost));
        }
    }
}
