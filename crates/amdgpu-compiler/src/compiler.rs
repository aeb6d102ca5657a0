//! The pipeline.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use once_cell::race::OnceBox;

use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::error::Error;
use crate::globals::{GlobalVariable, global_variables};
use crate::library::Library;
use crate::messages::{Message, MessageTable};
use crate::options::{CompileOptions, OptimizationLevel};
use crate::parser::Parser;
use crate::preprocessor::Preprocessor;
use crate::sema::Sema;
use crate::signature::{KernelSignature, signatures};
use crate::source::{SourceMap, Span};
use crate::target::{Target, TargetKind};
use crate::telemetry::CompilerTelemetry;
use crate::{
    checks, cooperative, effort, hir, ir, lanes, llvm, lockstep, lower, memory_limits, passes,
    regions, software, waves, work,
};

/// Largest source: far above any kernel file, small enough that positions fit into 32 bits after macro expansion.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024 * 1024;
/// Longest text that asks for an instance of a kernel.
const MAX_NAME_EXPRESSION_BYTES: usize = 1000;
/// Stack of the thread a compile runs on. The parser bounds nesting (`MAX_NESTING`, `MAX_EXPRESSION_HEIGHT`); the deepest
/// source it lets through needs about a quarter of this in a debug build.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// What a compile gives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompiledUnit {
    pub llvm_ir: String,
    pub kernels: Vec<KernelSignature>,
    /// `__device__` and `__constant__` variables, by which the host reaches into the module.
    pub globals: Vec<GlobalVariable>,
    /// With `checked`: what the hooks' numbers stand for.
    pub check_sites: Vec<checks::Site>,
    /// What kernels may tell the host; empty when none of them does.
    pub messages: MessageTable,
    /// Templates of kernels, as one would ask for them: `scale<T, N>`.
    pub template_kernels: Vec<String>,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
    pub telemetry: CompilerTelemetry,
    /// With `dump_ir`: name of the stage and text of the IR after it.
    pub dumps: Vec<(String, String)>,
}

impl CompiledUnit {
    /// The dumps that are the same for every target.
    pub fn portable_dumps(&self) -> &[(String, String)] {
        let depends_on_target = |name: &str| {
            name.ends_with(passes::PARTIAL_UNROLLING)
                || name.ends_with(passes::WORK_ITEM_VECTORIZATION)
        };
        let mut dumps = self.dumps.iter();
        let end = dumps.position(|(name, _)| depends_on_target(name));
        &self.dumps[..end.unwrap_or(self.dumps.len())]
    }
}

/// The compiler. Cheap to make, may be used from many threads at once; has no state but the device library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiler;

/// Two threads that come first may both load it. What makes one wait for the other would also make a child wait that is forked meanwhile.
static LIBRARY: OnceBox<Result<Library, String>> = OnceBox::new();

fn library() -> Result<&'static Library, Error> {
    let library = LIBRARY.get_or_init(|| Box::new(Library::load()));
    library.as_ref().map_err(|message| Error::Internal {
        message: format!("the device library does not compile: {message}"),
    })
}

impl Compiler {
    pub fn new() -> Self {
        Self
    }

    /// Part of the key of cached code: changes whenever the same source could give other code.
    pub fn identity() -> &'static str {
        env!("AMDGPU_COMPILER_IDENTITY")
    }

    /// Compiles a source to LLVM IR text for a target.
    ///
    /// ```
    /// use amdgpu_compiler::{CompileOptions, Compiler, Target};
    /// let source = "__global__ void add(float* c, const float* a, const float* b, int n) {
    ///     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ///     if (i < n) c[i] = a[i] + b[i];
    /// }";
    /// let target = Target::parse("x86_64").unwrap();
    /// let unit = Compiler::new().compile(source, &CompileOptions::default(), &target).unwrap();
    /// assert_eq!(unit.kernels[0].name, "add");
    /// assert_eq!(unit.kernels[0].argument_buffer_bytes, 28);
    /// ```
    #[allow(clippy::unused_self)] // An object, so that state may come without changing every caller.
    pub fn compile(
        &self,
        source: &str,
        options: &CompileOptions,
        target: &Target,
    ) -> Result<CompiledUnit, Error> {
        check_options(source, options)?;
        if options.checked && target.kind != TargetKind::Host {
            return Err(Error::InvalidOption {
                message: format!(
                    "checked=True works on the CPU device; this code is for {}",
                    target.name
                ),
            });
        }
        let library = library()?;
        std::thread::scope(|scope| {
            let work = || {
                effort::within(&options.name, source.len(), || {
                    pipeline(library, source, options, target)
                })
            };
            let thread = std::thread::Builder::new()
                .name("amdgpu-compile".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, work);
            let thread = thread.map_err(|error| Error::Internal {
                message: format!("no thread for the compiler: {error}"),
            })?;
            thread.join().unwrap_or_else(|_| {
                Err(Error::Internal {
                    message: "the compiler failed on this source".to_owned(),
                })
            })
        })
    }
}

fn check_options(source: &str, options: &CompileOptions) -> Result<(), Error> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(Error::InvalidOption {
            message: format!(
                "{}: the source has {} bytes; the limit is {MAX_SOURCE_BYTES}",
                options.name,
                source.len()
            ),
        });
    }
    if source.trim().is_empty() {
        return Err(Error::KernelNotFound {
            message: format!(
                "{}: the source is empty; a kernel starts with __global__ void name(...)",
                options.name
            ),
        });
    }
    for name in &options.disabled_passes {
        if !passes::names().contains(&name.as_str()) {
            return Err(Error::InvalidOption {
                message: format!(
                    "there is no pass '{name}'; there are {}",
                    passes::names().join(", ")
                ),
            });
        }
    }
    for expression in &options.name_expressions {
        if expression.len() > MAX_NAME_EXPRESSION_BYTES
            || expression.contains(['\n', '\r', ';', '{', '}', '#', '"'])
        {
            return Err(Error::InvalidOption {
                message: format!(
                    "{expression:?} is not the name of a kernel: write name<float, 4>"
                ),
            });
        }
    }
    for (name, value) in &options.defines {
        let is_name = name.chars().enumerate().all(|(index, character)| {
            character == '_'
                || character.is_ascii_alphabetic()
                || index > 0 && character.is_ascii_digit()
        });
        if name.is_empty() || !is_name || value.contains(['\n', '\r']) {
            return Err(Error::InvalidOption {
                message: format!(
                    "'{name}' cannot be defined as '{value}': a name and one line of text are needed"
                ),
            });
        }
    }
    Ok(())
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

fn pipeline(
    library: &Library,
    source: &str,
    options: &CompileOptions,
    target: &Target,
) -> Result<CompiledUnit, Error> {
    let start = Instant::now();
    let mut telemetry = CompilerTelemetry {
        source_bytes: source.len() as u64,
        ..CompilerTelemetry::default()
    };
    let mut sources = library.sources.clone();
    let mut interner = library.interner.clone();
    let mut diagnostics = Diagnostics::default();
    let text: Arc<str> = source.into();

    let mut preprocessor = Preprocessor::new(
        &mut sources,
        &mut interner,
        &mut diagnostics,
        library.macros.clone(),
    );
    for (name, value) in &options.defines {
        preprocessor.define_text(name, value);
    }
    let end = preprocessor.run(&options.name, &text);
    for expression in &options.name_expressions {
        let request: Arc<str> = format!("__agpu_instantiate\n{expression};").into();
        preprocessor.run("the name of the kernel", &request);
    }
    let (tokens, pragmas, _) = preprocessor.finish();
    telemetry.tokens = tokens.len() as u64;
    telemetry.preprocess_ns = nanoseconds(start);

    effort::phase("parsing");
    let phase = Instant::now();
    let parser = Parser::new(
        &tokens,
        &pragmas,
        Span { start: end, len: 0 },
        &sources,
        &mut interner,
        &mut diagnostics,
        library.type_names.clone(),
    );
    let (program, _) = parser.program();
    telemetry.parse_ns = nanoseconds(phase);

    effort::phase("checking");
    let phase = Instant::now();
    let checked = Sema::check(
        &library.program,
        &program,
        &software::functions(target),
        &interner,
        &mut diagnostics,
    );
    let (types, template_kernels) = (checked.types, checked.template_kernels);
    let checked = checked.program;
    telemetry.check_ns = nanoseconds(phase);
    let mut messages = diagnostics.resolve(&sources);
    if diagnostics.has_errors() {
        return Err(failure(messages, diagnostics.dropped()));
    }
    let mut kernels = signatures(&checked, &types, &sources);
    let globals = global_variables(&checked, &types);
    if kernels.is_empty() && !template_kernels.is_empty() {
        let message = format!(
            "{}: the source has templates of kernels only; ask for an instance by name, with arguments in place of the parameters: {}",
            options.name,
            template_kernels.join(", ")
        );
        return Err(Error::KernelNotFound { message });
    }
    if kernels.is_empty() {
        let message = format!(
            "{}: the source has no kernel; a kernel starts with __global__ void name(...)",
            options.name
        );
        return Err(Error::KernelNotFound { message });
    }

    effort::phase("lowering");
    let phase = Instant::now();
    let mut module = lower::lower(&checked, &types, &sources);
    let table = message_table(&checked, &module, &sources);
    if let Err(refusal) = cooperative::inline(&mut module, target.kind == TargetKind::Host) {
        return Err(refused(refusal, &checked, &mut diagnostics, &sources));
    }
    telemetry.lower_ns = nanoseconds(phase);
    if cfg!(debug_assertions)
        && let Err(message) = ir::verify(&module)
    {
        return Err(Error::Internal {
            message: format!("the compiler made malformed code: {message}"),
        });
    }
    telemetry.functions = module.functions.len() as u64;
    telemetry.instructions_before_passes = module
        .functions
        .iter()
        .map(|function| function.instruction_count() as u64)
        .sum();
    // Waves of AMD GPUs run in lockstep.
    if target.kind != TargetKind::Amd {
        for finding in lockstep::find(&module) {
            messages.push(lockstep_warning(&finding, source, options));
        }
    }
    let mut check_sites = Vec::new();
    let mut pass_options = options.clone();
    if options.checked {
        check_sites = checks::instrument(&mut module);
        pass_options.optimization_level = OptimizationLevel::None;
        if cfg!(debug_assertions)
            && let Err(message) = ir::verify(&module)
        {
            return Err(Error::Internal {
                message: format!("the checks were added wrongly: {message}\n{module}"),
            });
        }
    }
    effort::phase("optimising");
    let (metrics, mut dumps) = passes::run(&mut module, &pass_options, target.kind);
    if !options.checked {
        for kernel in &mut kernels {
            let mut functions = module.functions.iter();
            let found = functions.find(|function| function.name == kernel.symbol);
            kernel.work = found.map(|function| work::of_kernel(&module, function));
        }
    }
    software::replace(&mut module, target);
    let lanes = (target.kind == TargetKind::Host
        && pass_options.optimization_level != OptimizationLevel::None
        && !options.disables(passes::WORK_ITEM_VECTORIZATION))
    .then(|| lanes::width(target));
    let preparation = Instant::now();
    if lanes.is_some() {
        cooperative::inline_everything(&mut module, lanes::MAX_INSTRUCTIONS);
        cooperative::remove_unused(&mut module);
        module.functions.iter_mut().for_each(lanes::expand_copies);
    }
    let mut preparation_ns = nanoseconds(preparation);
    telemetry.passes = metrics;
    telemetry.instructions_after_passes = module
        .functions
        .iter()
        .map(|function| function.instruction_count() as u64)
        .sum();

    effort::phase("generating code for");
    let phase = Instant::now();
    let by_name: HashMap<&str, &ir::Function> = module
        .functions
        .iter()
        .filter(|function| function.is_kernel)
        .map(|function| (function.name.as_str(), function))
        .collect();
    for kernel in &mut kernels {
        if let Some(function) = by_name.get(kernel.symbol.as_str()) {
            kernel.static_shared_bytes = regions::shared_layout(&module, function).1;
        }
    }
    if let Some(excess) = memory_limits::find_excess(&module, target) {
        let mut functions = checked.functions.iter();
        let function = functions.find(|function| function.name == excess.kernel);
        let span = function.map_or(Span { start: end, len: 0 }, |function| function.span);
        diagnostics.error(span, excess.message, Some(excess.hint));
        return Err(failure(
            diagnostics.resolve(&sources),
            diagnostics.dropped(),
        ));
    }
    let host_kernels = if target.kind == TargetKind::Host {
        waves::resolve(&mut module, target.wave_size());
        let (split, mut host_kernels) = regions::split(module);
        module = split;
        if lanes.is_some() && host_kernels.iter().any(|kernel| !kernel.regions.is_empty()) {
            let preparation = Instant::now();
            passes::clean_regions(&mut module, options.optimization_level);
            regions::add_bounds(&mut module, &mut host_kernels);
            preparation_ns += nanoseconds(preparation);
        }
        let by_name: HashMap<&str, &regions::HostKernel> = host_kernels
            .iter()
            .map(|host| (host.name.as_str(), host))
            .collect();
        for kernel in &mut kernels {
            if let Some(host) = by_name.get(kernel.symbol.as_str()) {
                kernel.scratch_bytes_per_thread = host.scratch_bytes_per_thread();
            }
        }
        if cfg!(debug_assertions)
            && let Err(message) = ir::verify(&module)
        {
            return Err(Error::Internal {
                message: format!("the compiler cut a kernel wrongly: {message}\n{module}"),
            });
        }
        host_kernels
    } else {
        Vec::new()
    };
    let verification = Instant::now();
    if let Err(message) = ir::verify(&module) {
        return Err(Error::Internal {
            message: format!(
                "{}: the compiler made malformed code and stops before it could run: {message}",
                options.name
            ),
        });
    }
    telemetry.verify_ns = nanoseconds(verification);
    let emitted = llvm::emit(&module, &host_kernels, target, options, lanes);
    telemetry.lanes = emitted.lanes;
    if let Some(mut metrics) = emitted.vectorization {
        metrics.duration_ns += preparation_ns;
        if options.dump_ir {
            // The functions that lanes run: kernels cut at their barriers, everything in them inlined.
            dumps.push((
                format!("{:02}.{}", dumps.len(), metrics.name),
                module.to_string(),
            ));
        }
        telemetry.passes.push(metrics);
    }
    let llvm_ir = emitted.text;
    effort::check_llvm_bytes(&options.name, source.len(), llvm_ir.len())?;
    telemetry.emit_ns = nanoseconds(phase);
    telemetry.work_units = effort::used(effort::limit(source.len()));
    telemetry.total_ns = nanoseconds(start);
    Ok(CompiledUnit {
        llvm_ir,
        kernels,
        globals,
        messages: table,
        check_sites,
        template_kernels,
        notes: messages,
        telemetry,
        dumps,
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

fn refused(
    refusal: cooperative::Refusal,
    program: &hir::Program,
    diagnostics: &mut Diagnostics,
    sources: &SourceMap,
) -> Error {
    let (index, feature) = match refusal {
        cooperative::Refusal::Recursion(index) => (
            index,
            "recursion of a function with barriers, __shared__ memory or assert is not supported",
        ),
        cooperative::Refusal::Size(index) => (
            index,
            "a kernel with this many calls of functions with barriers, __shared__ memory or assert is not supported",
        ),
        cooperative::Refusal::Meetings(index) => (
            index,
            "a kernel with more than 1000 barriers and operations of waves is not supported on the CPU",
        ),
    };
    let hint = match refusal {
        cooperative::Refusal::Meetings(_) => "put them into a loop",
        _ => "keep barriers, __shared__ memory and assert in the kernel itself",
    };
    diagnostics.unsupported(program.functions[index].span, feature, Some(hint));
    failure(diagnostics.resolve(sources), diagnostics.dropped())
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
