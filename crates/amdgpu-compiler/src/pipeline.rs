//! The stages of a compilation, in their order: [`run`] is the list, each stage a method of [`Run`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::compiled_unit::CompiledUnit;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::error::Error;
use crate::globals::{GlobalVariable, global_variables};
use crate::interner::Interner;
use crate::ir::Module;
use crate::library::Library;
use crate::messages::{Message, MessageTable};
use crate::options::{CompileOptions, OptimizationLevel};
use crate::parser::{Parser, Program};
use crate::preprocessor::{Pragma, Preprocessor};
use crate::regions::HostKernel;
use crate::sema::{Checked, Sema};
use crate::signature::{KernelSignature, signatures};
use crate::source::{SourceMap, Span};
use crate::target::{Target, TargetKind};
use crate::telemetry::{CompilerTelemetry, PassMetrics};
use crate::token::Token;
use crate::{
    checks, cooperative, effort, hir, ir, lanes, libcalls, llvm, lockstep, lower, memory_limits,
    passes, profile, profiling, regions, waves, work,
};

/// Compiles a source to LLVM IR text.
pub fn run(
    library: &Library,
    source: &str,
    options: &CompileOptions,
    target: &Target,
) -> Result<CompiledUnit, Error> {
    let mut run = Run::new(library, source, options, target);
    let (tokens, pragmas) = run.preprocess();
    let program = run.parse(&tokens, &pragmas);
    let checked = run.check(&program)?;
    let mut unit = run.describe(&checked)?;
    let mut module = run.lower(&checked, &mut unit)?;
    run.warn_about_lockstep(&module);
    run.instrument(&mut module, &mut unit)?;
    run.optimise(&mut module, &mut unit);
    let lanes = run.prepare_lanes(&mut module);
    run.check_shared_memory(&module, &checked, &mut unit)?;
    let host_kernels = run.cut_at_barriers(&mut module, lanes, &mut unit)?;
    run.verify(&module)?;
    run.emit(&module, &host_kernels, lanes, &mut unit)?;
    Ok(run.finish(unit))
}

/// A compilation under way.
struct Run<'a> {
    library: &'a Library,
    source: &'a str,
    options: &'a CompileOptions,
    target: &'a Target,
    start: Instant,
    /// When the stages that generate code began.
    generation: Instant,
    sources: SourceMap,
    interner: Interner,
    diagnostics: Diagnostics,
    /// Where the source ends, for messages about all of it.
    end: Span,
    /// Warnings and notes.
    notes: Vec<Diagnostic>,
    /// What of the vectoriser's time passes before code is emitted.
    preparation_ns: u64,
    telemetry: CompilerTelemetry,
}

/// What the stages make beside the module.
struct Unit {
    kernels: Vec<KernelSignature>,
    globals: Vec<GlobalVariable>,
    messages: MessageTable,
    check_sites: Vec<checks::Site>,
    profile_sites: profile::Sites,
    template_kernels: Vec<String>,
    dumps: Vec<(String, String)>,
    llvm_ir: String,
}

impl<'a> Run<'a> {
    fn new(
        library: &'a Library,
        source: &'a str,
        options: &'a CompileOptions,
        target: &'a Target,
    ) -> Self {
        let start = Instant::now();
        Self {
            library,
            source,
            options,
            target,
            start,
            generation: start,
            sources: library.sources.clone(),
            interner: library.interner.clone(),
            diagnostics: Diagnostics::default(),
            end: Span { start: 0, len: 0 },
            notes: Vec::new(),
            preparation_ns: 0,
            telemetry: CompilerTelemetry {
                source_bytes: source.len() as u64,
                ..CompilerTelemetry::default()
            },
        }
    }

    fn preprocess(&mut self) -> (Vec<Token>, Vec<Pragma>) {
        let text: Arc<str> = self.source.into();
        let mut preprocessor = Preprocessor::new(
            &mut self.sources,
            &mut self.interner,
            &mut self.diagnostics,
            self.library.macros.clone(),
        );
        for (name, value) in &self.options.defines {
            preprocessor.define_text(name, value);
        }
        self.end.start = preprocessor.run(&self.options.name, &text);
        for expression in &self.options.name_expressions {
            let request: Arc<str> = format!("__agpu_instantiate\n{expression};").into();
            preprocessor.run("the name of the kernel", &request);
        }
        let (tokens, pragmas, _) = preprocessor.finish();
        self.telemetry.tokens = tokens.len() as u64;
        self.telemetry.preprocess_ns = nanoseconds(self.start);
        (tokens, pragmas)
    }

    fn parse(&mut self, tokens: &[Token], pragmas: &[Pragma]) -> Program {
        effort::phase("parsing");
        let phase = Instant::now();
        let parser = Parser::new(
            tokens,
            pragmas,
            self.end,
            &self.sources,
            &mut self.interner,
            &mut self.diagnostics,
            self.library.type_names.clone(),
        );
        let (program, _) = parser.program();
        self.telemetry.parse_ns = nanoseconds(phase);
        program
    }

    fn check(&mut self, program: &Program) -> Result<Checked, Error> {
        effort::phase("checking");
        let phase = Instant::now();
        let checked = Sema::check(
            &self.library.program,
            program,
            &libcalls::functions(self.target),
            &self.interner,
            &mut self.diagnostics,
        );
        self.telemetry.check_ns = nanoseconds(phase);
        self.notes = self.diagnostics.resolve(&self.sources);
        if self.diagnostics.has_errors() {
            let messages = std::mem::take(&mut self.notes);
            return Err(failure(messages, self.diagnostics.dropped()));
        }
        Ok(checked)
    }

    /// Signatures of kernels and variables, by which the host uses the module.
    fn describe(&mut self, checked: &Checked) -> Result<Unit, Error> {
        let kernels = signatures(&checked.program, &checked.types, &self.sources);
        let globals = global_variables(&checked.program, &checked.types);
        let (name, templates) = (&self.options.name, &checked.template_kernels);
        if kernels.is_empty() {
            let message = if templates.is_empty() {
                format!(
                    "{name}: the source has no kernel; a kernel starts with __global__ void name(...)"
                )
            } else {
                format!(
                    "{name}: the source has templates of kernels only; ask for an instance by name, with arguments in place of the parameters: {}",
                    templates.join(", ")
                )
            };
            return Err(Error::KernelNotFound { message });
        }
        Ok(Unit {
            kernels,
            globals,
            messages: MessageTable::default(),
            check_sites: Vec::new(),
            profile_sites: profile::Sites::default(),
            template_kernels: templates.clone(),
            dumps: Vec::new(),
            llvm_ir: String::new(),
        })
    }

    fn lower(&mut self, checked: &Checked, unit: &mut Unit) -> Result<Module, Error> {
        effort::phase("lowering");
        let phase = Instant::now();
        let program = &checked.program;
        let mut module = lower::lower(program, &checked.types, &self.sources);
        unit.messages = message_table(program, &module, &self.sources);
        if let Err(refusal) = cooperative::inline(&mut module, self.is_for_host()) {
            return Err(self.refused(refusal, program));
        }
        self.telemetry.lower_ns = nanoseconds(phase);
        debug_verify(&module, || "the compiler made malformed code".to_owned())?;
        self.telemetry.functions = module.functions.len() as u64;
        self.telemetry.instructions_before_passes = instruction_count(&module);
        Ok(module)
    }

    /// Waves of AMD GPUs run in lockstep; elsewhere, code that counts on it gets a warning.
    fn warn_about_lockstep(&mut self, module: &Module) {
        if self.target.kind == TargetKind::Amd {
            return;
        }
        for finding in lockstep::find(module) {
            let warning = lockstep_warning(&finding, self.source, self.options);
            self.notes.push(warning);
        }
    }

    /// With `checked`: calls of hooks in front of what they check. With `instrumented`: counting. With a profile: what it says.
    fn instrument(&mut self, module: &mut Module, unit: &mut Unit) -> Result<(), Error> {
        if let Some(profile) = &self.options.profile {
            profile
                .check(&self.options.profile_identity(self.source))
                .and_then(|()| profiling::apply(module, profile))
                .map_err(|message| Error::InvalidOption {
                    message: format!("{}: {message}", self.options.name),
                })?;
            debug_verify(module, || "the profile was applied wrongly".to_owned())?;
        }
        if self.options.instrumented {
            unit.profile_sites = profiling::instrument(module);
            unit.globals.push(profiling::buffer(&unit.profile_sites));
            debug_verify(module, || "the counting was added wrongly".to_owned())?;
        }
        if !self.options.checked {
            return Ok(());
        }
        unit.check_sites = checks::instrument(module);
        debug_verify(module, || "the checks were added wrongly".to_owned())
    }

    fn optimise(&mut self, module: &mut Module, unit: &mut Unit) {
        effort::phase("optimising");
        let options = CompileOptions {
            optimization_level: self.level(),
            ..self.options.clone()
        };
        let (metrics, dumps) = passes::run(module, &options, self.target.kind);
        self.telemetry.passes = metrics;
        unit.dumps = dumps;
        if !self.options.checked {
            for kernel in &mut unit.kernels {
                let mut functions = module.functions.iter();
                let found = functions.find(|function| function.name == kernel.symbol);
                kernel.work = found.map(|function| work::of_kernel(module, function));
            }
        }
        libcalls::replace(module, self.target);
    }

    /// Makes the kernels ready to run work-items as lanes of vectors; how many, where they do.
    fn prepare_lanes(&mut self, module: &mut Module) -> Option<u32> {
        let lanes = (self.is_for_host()
            && self.level() != OptimizationLevel::None
            && !self.options.disables(passes::WORK_ITEM_VECTORIZATION))
        .then(|| lanes::width(self.target));
        let preparation = Instant::now();
        if lanes.is_some() {
            cooperative::inline_everything(module, lanes::MAX_INSTRUCTIONS);
            cooperative::remove_unused(module);
            module.functions.iter_mut().for_each(lanes::expand_copies);
        }
        self.preparation_ns = nanoseconds(preparation);
        self.telemetry.instructions_after_passes = instruction_count(module);
        lanes
    }

    /// How much shared memory each kernel has; more than the target has is an error.
    fn check_shared_memory(
        &mut self,
        module: &Module,
        checked: &Checked,
        unit: &mut Unit,
    ) -> Result<(), Error> {
        effort::phase("generating code for");
        self.generation = Instant::now();
        let kernels = module
            .functions
            .iter()
            .filter(|function| function.is_kernel);
        let by_name: HashMap<&str, &ir::Function> = kernels
            .map(|function| (function.name.as_str(), function))
            .collect();
        for kernel in &mut unit.kernels {
            if let Some(function) = by_name.get(kernel.symbol.as_str()) {
                kernel.static_shared_bytes = regions::shared_layout(module, function).1;
            }
        }
        let Some(excess) = memory_limits::find_excess(module, self.target) else {
            return Ok(());
        };
        let mut functions = checked.program.functions.iter();
        let function = functions.find(|function| function.name == excess.kernel);
        let span = function.map_or(self.end, |function| function.span);
        self.diagnostics
            .error(span, excess.message, Some(excess.hint));
        Err(self.failure())
    }

    /// For the CPU: kernels become regions between their barriers.
    fn cut_at_barriers(
        &mut self,
        module: &mut Module,
        lanes: Option<u32>,
        unit: &mut Unit,
    ) -> Result<Vec<HostKernel>, Error> {
        if !self.is_for_host() {
            return Ok(Vec::new());
        }
        waves::resolve(module, self.target.wave_size());
        let (split, mut host_kernels) = regions::split(std::mem::take(module));
        *module = split;
        if lanes.is_some() && host_kernels.iter().any(|kernel| !kernel.regions.is_empty()) {
            let preparation = Instant::now();
            passes::clean_regions(module, self.options.optimization_level);
            regions::add_bounds(module, &mut host_kernels);
            self.preparation_ns += nanoseconds(preparation);
        }
        let by_name: HashMap<&str, &HostKernel> = host_kernels
            .iter()
            .map(|host| (host.name.as_str(), host))
            .collect();
        for kernel in &mut unit.kernels {
            if let Some(host) = by_name.get(kernel.symbol.as_str()) {
                kernel.scratch_bytes_per_thread = host.scratch_bytes_per_thread();
            }
        }
        debug_verify(module, || "the compiler cut a kernel wrongly".to_owned())?;
        Ok(host_kernels)
    }

    /// Malformed code must not run, whatever made it so.
    fn verify(&mut self, module: &Module) -> Result<(), Error> {
        let verification = Instant::now();
        ir::verify(module).map_err(|message| Error::Internal {
            message: format!(
                "{}: the compiler made malformed code and stops before it could run: {message}",
                self.options.name
            ),
        })?;
        self.telemetry.verify_ns = nanoseconds(verification);
        Ok(())
    }

    fn emit(
        &mut self,
        module: &Module,
        host_kernels: &[HostKernel],
        lanes: Option<u32>,
        unit: &mut Unit,
    ) -> Result<(), Error> {
        let emitted = llvm::emit(module, host_kernels, self.target, self.options, lanes);
        self.telemetry.lanes = emitted.lanes;
        if let Some(metrics) = emitted.vectorization {
            self.note_vectorization(metrics, module, unit);
        }
        unit.llvm_ir = emitted.text;
        effort::check_llvm_bytes(&self.options.name, self.source.len(), unit.llvm_ir.len())?;
        self.telemetry.emit_ns = nanoseconds(self.generation);
        Ok(())
    }

    fn note_vectorization(&mut self, mut metrics: PassMetrics, module: &Module, unit: &mut Unit) {
        metrics.duration_ns += self.preparation_ns;
        if self.options.dump_ir {
            // The functions that lanes run: kernels cut at their barriers, everything in them inlined.
            let stage = format!("{:02}.{}", unit.dumps.len(), metrics.name);
            unit.dumps.push((stage, module.to_string()));
        }
        self.telemetry.passes.push(metrics);
    }

    fn finish(mut self, unit: Unit) -> CompiledUnit {
        self.telemetry.work_units = effort::used(effort::limit(self.source.len()));
        self.telemetry.total_ns = nanoseconds(self.start);
        CompiledUnit {
            llvm_ir: unit.llvm_ir,
            kernels: unit.kernels,
            globals: unit.globals,
            messages: unit.messages,
            check_sites: unit.check_sites,
            profile_sites: unit.profile_sites,
            template_kernels: unit.template_kernels,
            notes: self.notes,
            telemetry: self.telemetry,
            dumps: unit.dumps,
        }
    }

    fn is_for_host(&self) -> bool {
        self.target.kind == TargetKind::Host
    }

    /// Checked code is left as it was written.
    fn level(&self) -> OptimizationLevel {
        if self.options.checked {
            OptimizationLevel::None
        } else {
            self.options.optimization_level
        }
    }

    fn failure(&self) -> Error {
        failure(
            self.diagnostics.resolve(&self.sources),
            self.diagnostics.dropped(),
        )
    }

    fn refused(&mut self, refusal: cooperative::Refusal, program: &hir::Program) -> Error {
        let (index, feature) = match refusal {
            cooperative::Refusal::Recursion(index) => (
                index,
                "recursion of a function with barriers, __shared__ memory or assert is not supported",
            ),
            cooperative::Refusal::Size(index) => (
                index,
                "a kernel with this many calls of functions with barriers, __shared__ memory or assert is not supported",
            ),
            cooperative::Refusal::SyncPoints(index) => (
                index,
                "a kernel with more than 1000 barriers and operations of waves is not supported on the CPU",
            ),
        };
        let hint = match refusal {
            cooperative::Refusal::SyncPoints(_) => "put them into a loop",
            _ => "keep barriers, __shared__ memory and assert in the kernel itself",
        };
        self.diagnostics
            .unsupported(program.functions[index].span, feature, Some(hint));
        self.failure()
    }
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

fn instruction_count(module: &Module) -> u64 {
    let functions = module.functions.iter();
    functions
        .map(|function| function.instruction_count() as u64)
        .sum()
}

/// In debug builds: whether a stage left the module well formed.
fn debug_verify(module: &Module, what: impl FnOnce() -> String) -> Result<(), Error> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    ir::verify(module).map_err(|message| Error::Internal {
        message: format!("{}: {message}\n{module}", what()),
    })
}

/// The messages of a program, with their places; kernels are numbered in the order of the module.
fn message_table(program: &hir::Program, module: &ir::Module, sources: &SourceMap) -> MessageTable {
    if program.messages.is_empty() {
        return MessageTable::default();
    }
    let messages = program.messages.iter().map(|(message, span)| {
        let mut message = message.clone();
        if let Message::Failure { file, line, .. } = &mut message {
            let place = sources.location(span.start);
            (*file, *line) = (place.file, place.line);
        }
        message
    });
    let kernels = module
        .functions
        .iter()
        .filter(|function| function.is_kernel);
    let shown = kernels.map(|kernel| {
        let mut functions = program.functions.iter();
        let found = functions.find(|function| function.is_kernel && function.name == kernel.name);
        found.map_or_else(|| kernel.name.clone(), |function| function.display.clone())
    });
    MessageTable {
        messages: messages.collect(),
        kernels: shown.collect(),
    }
}

fn lockstep_warning(
    finding: &lockstep::Finding,
    source: &str,
    options: &CompileOptions,
) -> Diagnostic {
    let text = source
        .lines()
        .nth((finding.line as usize).saturating_sub(1));
    let text = text.unwrap_or("").trim_start();
    Diagnostic {
        severity: Severity::Warning,
        file: options.name.clone(),
        line: finding.line,
        column: 1,
        message: format!(
            "this reads volatile __shared__ memory that other threads of the warp write in line {}, without a barrier between: warps do \
             not run in lockstep on this device, and the result may be wrong",
            finding.stored_line
        ),
        hint: Some(
            "put __syncwarp() between the write and the read, or use __shfl_down_sync".to_owned(),
        ),
        line_text: text.to_owned(),
        caret: 0,
        caret_length: text.chars().count().max(1) as u32,
        is_unsupported: false,
        instances: Vec::new(),
    }
}

fn failure(diagnostics: Vec<Diagnostic>, not_shown: usize) -> Error {
    let diagnostics: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(|message| message.severity == Severity::Error)
        .collect();
    if diagnostics.iter().all(|message| message.is_unsupported) {
        Error::UnsupportedFeature {
            diagnostics,
            not_shown,
        }
    } else {
        Error::CompileFailed {
            diagnostics,
            not_shown,
        }
    }
}
