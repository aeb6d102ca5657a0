//! The IR as LLVM IR text for one target.

mod cooperation;
mod cpu;
mod cpu_atomic_reductions;
mod cpu_mixed;
mod cpu_outlining;
mod cpu_regions;
mod cpu_rows;
mod cpu_waves;
mod function;
mod intrinsics;
mod lanes;
mod loop_advice;
mod names;
mod nvidia;
mod text;
mod wave_functions;
mod waves;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::time::Instant;

use crate::cooperative::reaching;
use crate::ir::{AddressSpace, CastKind, Function, GlobalKind, Module, Op, Special, Type};
use crate::options::CompileOptions;
use crate::passes;
use crate::regions::HostKernel;
use crate::target::{Target, TargetKind};
use crate::telemetry::{LaneMetrics, PassMetrics};

/// Zeros at the end of a global that are written out rather than as a part of their own.
const SHORT_TAIL_BYTES: u64 = 64;

/// What emission of one module shares.
pub(crate) struct Emitter<'a> {
    module: &'a Module,
    kind: TargetKind,
    fast_math: bool,
    target: &'a Target,
    /// Built-in variables that each function takes as parameters on the CPU.
    specials: Vec<Vec<Special>>,
    /// Functions below which no pointer to private memory hides behind a generic one, so that every access that is not private may
    /// run in parallel between work-items.
    is_parallel: Vec<bool>,
    has_nontemporal_stores: bool,
    declarations: BTreeSet<String>,
    /// Functions that operations are calls of.
    helpers: BTreeSet<String>,
    /// Nodes of metadata about unrolling.
    advice: Vec<String>,
    wave_size: u32,
    /// Permutes 32 words by one instruction.
    has_wide_permutes: bool,
    out: String,
}

/// What emission gives.
pub struct Emitted {
    pub text: String,
    pub lanes: Vec<LaneMetrics>,
    /// Of the pass that makes work-items lanes, where it ran.
    pub vectorization: Option<PassMetrics>,
}

/// The module as text. `lanes` is how many work-items run at once on a CPU; `None` leaves that to LLVM.
pub fn emit(
    module: &Module,
    host_kernels: &[HostKernel],
    target: &Target,
    options: &CompileOptions,
    lanes: Option<u32>,
) -> Emitted {
    let mut emitter = Emitter {
        module,
        kind: target.kind,
        fast_math: options.fast_math,
        target,
        specials: specials(module, target.kind),
        is_parallel: is_parallel(module),
        has_nontemporal_stores: has_nontemporal_stores(module),
        declarations: BTreeSet::new(),
        helpers: BTreeSet::new(),
        advice: Vec::new(),
        wave_size: target.wave_size(),
        has_wide_permutes: target.has_wide_permutes(),
        out: String::with_capacity(
            module
                .functions
                .iter()
                .map(Function::instruction_count)
                .sum::<usize>()
                * 48
                + 1024,
        ),
    };
    emitter.print(format_args!(
        "source_filename = {:?}",
        names::ascii(&options.name)
    ));
    emitter.print(format_args!("target triple = \"{}\"", target.triple));
    emitter.line("");
    for global in &module.globals {
        emitter.global(global);
    }
    if target.kind != TargetKind::Host {
        for shared in &module.shared {
            emitter.shared(shared);
        }
    }
    let mut metrics = Vec::new();
    let mut vectorization = lanes.map(|_| PassMetrics {
        name: passes::WORK_ITEM_VECTORIZATION.to_owned(),
        runs: 1,
        ..PassMetrics::default()
    });
    let mut planned = Vec::new();
    let mut is_replaced = vec![false; module.functions.len()];
    for kernel in host_kernels {
        let start = Instant::now();
        let functions = lanes.map(|lanes| emitter.lane_functions(kernel, lanes));
        if let (Some(metrics), Some(functions)) = (&mut vectorization, &functions) {
            emitter.report_lanes(kernel, functions.as_deref(), metrics);
            metrics.duration_ns += start.elapsed().as_nanos() as u64;
        }
        metrics.extend(functions.as_ref().map(|functions| LaneMetrics {
            kernel: kernel.name.clone(),
            lanes: lanes.filter(|_| functions.is_ok()).unwrap_or(1),
            scalar_fallback: functions.as_ref().err().map(|reason| reason.text()),
        }));
        let functions = functions.and_then(Result::ok).unwrap_or_default();
        for (index, function) in &functions {
            is_replaced[*index] = !function.runs_one_by_one;
        }
        planned.push(functions);
    }
    for (index, is_replaced) in is_replaced.into_iter().enumerate() {
        if !is_replaced {
            emitter.function(index);
        }
    }
    for (kernel, functions) in host_kernels.iter().zip(&planned) {
        let start = Instant::now();
        for (index, function) in functions {
            emitter.lane_function(*index, function);
        }
        if let Some(metrics) = &mut vectorization {
            metrics.duration_ns += start.elapsed().as_nanos() as u64;
        }
        let lanes = lanes.filter(|_| !functions.is_empty());
        if kernel.regions.is_empty() {
            emitter.cpu_entry(kernel, lanes);
        } else if kernel.has_waves() {
            emitter.cpu_wave_entry(kernel, lanes);
        } else {
            emitter.cpu_region_entry(kernel, lanes);
        }
    }
    for helper in std::mem::take(&mut emitter.helpers) {
        emitter.line(&helper);
    }
    let declarations = std::mem::take(&mut emitter.declarations);
    let is_convergent = declarations.iter().any(|text| text.ends_with("#2"));
    for declaration in declarations {
        emitter.line(&declaration);
    }
    emitter.attributes(target, is_convergent);
    for node in std::mem::take(&mut emitter.advice) {
        emitter.line(&node);
    }
    Emitted {
        text: emitter.out,
        lanes: metrics,
        vectorization,
    }
}

impl Emitter<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A line that is put together where it belongs.
    fn print(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
        self.out.push('\n');
    }

    fn global(&mut self, global: &crate::ir::Global) {
        let mut bytes = String::with_capacity(global.bytes.len() * 3);
        for byte in &global.bytes {
            // Writing to a String cannot fail.
            let _ = write!(bytes, "\\{byte:02X}");
        }
        let (name, align) = (names::quoted(&global.name), global.align.max(1));
        let space = self.space_prefix(global.kind.space());
        let mut zeros = global.size_bytes.saturating_sub(global.bytes.len() as u64);
        if !global.bytes.is_empty() && zeros <= SHORT_TAIL_BYTES {
            bytes.push_str(&"\\00".repeat(zeros as usize));
            zeros = 0;
        }
        let (ty, value) = match (global.bytes.len(), zeros) {
            (0, size) => (format!("[{size} x i8]"), "zeroinitializer".to_owned()),
            (_, 0) => (
                format!("[{} x i8]", global.size_bytes),
                format!("c\"{bytes}\""),
            ),
            (size, rest) => (
                format!("<{{ [{size} x i8], [{rest} x i8] }}>"),
                format!("<{{ [{size} x i8] c\"{bytes}\", [{rest} x i8] zeroinitializer }}>"),
            ),
        };
        let linkage = match (global.is_exported, self.kind) {
            (false, _) => "internal",
            (true, TargetKind::Host) => "dso_local",
            // In the dynamic symbols, and still reached without a table.
            (true, TargetKind::Amd) => "protected",
            (true, TargetKind::Nvidia) => "",
        };
        let text = match global.kind {
            GlobalKind::Table => {
                format!(
                    "@{name} = {linkage} unnamed_addr {space}constant {ty} {value}, align {align}"
                )
            }
            // The value here is only what the host finds first, so nothing may be concluded from it.
            GlobalKind::Constant | GlobalKind::Variable => format!(
                "@{name} = {linkage} {space}externally_initialized global {ty} {value}, align {align}"
            ),
        };
        self.line(&text);
    }

    /// LLVM's number of an address space on this target.
    fn space(&self, space: AddressSpace) -> u32 {
        match (self.kind, space) {
            (TargetKind::Host, _)
            | (_, AddressSpace::Generic)
            | (TargetKind::Nvidia, AddressSpace::Private) => 0,
            (_, AddressSpace::Global) => 1,
            (_, AddressSpace::Shared) => 3,
            (_, AddressSpace::Constant) => 4,
            (TargetKind::Amd, AddressSpace::Private) => 5,
        }
    }

    fn space_prefix(&self, space: AddressSpace) -> String {
        match self.space(space) {
            0 => String::new(),
            number => format!("addrspace({number}) "),
        }
    }

    fn type_text(&self, ty: Type) -> &'static str {
        match ty {
            Type::Void => "void",
            Type::I1 => "i1",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "float",
            Type::F64 => "double",
            Type::Pointer(space) => match self.space(space) {
                1 => "ptr addrspace(1)",
                3 => "ptr addrspace(3)",
                4 => "ptr addrspace(4)",
                5 => "ptr addrspace(5)",
                _ => "ptr",
            },
        }
    }

    fn attributes(&mut self, target: &Target, is_convergent: bool) {
        let mut attributes = String::from("nounwind");
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = write!(attributes, " \"{name}\"=\"{value}\"");
            }
        };
        match target.kind {
            TargetKind::Host => {
                add("target-cpu", &target.cpu);
                add("target-features", &target.features);
                if target.features.contains("+avx512f") || target.cpu == "x86-64-v4" {
                    add("prefer-vector-width", "512");
                }
            }
            TargetKind::Amd => {
                add("target-cpu", &target.cpu);
                add("target-features", &target.features);
                add("uniform-work-group-size", "true");
            }
            // A PTX processor in the text would override the version of PTX that goes with it.
            TargetKind::Nvidia => {}
        }
        self.print(format_args!("attributes #0 = {{ {attributes} }}"));
        self.line("attributes #1 = { nocallback nofree nosync nounwind willreturn }");
        if is_convergent {
            self.line("attributes #2 = { convergent nocallback nounwind willreturn }");
        }
        if target.kind == TargetKind::Host {
            self.line("");
            self.line("!0 = distinct !{}");
        }
    }
}

/// The built-in variables that each function takes: those that it or what it calls reads, and all if it is a kernel.
fn specials(module: &Module, kind: TargetKind) -> Vec<Vec<Special>> {
    let mut taken = vec![Vec::new(); module.functions.len()];
    if kind != TargetKind::Host {
        return taken;
    }
    let mut is_read = HashSet::new();
    for value in module
        .functions
        .iter()
        .flat_map(|function| &function.values)
    {
        if let Op::Special(special) = value.op {
            is_read.insert(special);
        }
    }
    for special in intrinsics::all_specials() {
        let reads = if is_read.contains(&special) {
            reaching(module, |function| {
                let mut values = function.values.iter();
                values.any(|value| value.op == Op::Special(special))
            })
        } else {
            vec![false; module.functions.len()]
        };
        for (index, function) in module.functions.iter().enumerate() {
            if function.is_kernel || reads[index] {
                taken[index].push(special);
            }
        }
    }
    taken
}

fn has_nontemporal_stores(module: &Module) -> bool {
    let mut values = (module.functions.iter()).flat_map(|function| &function.values);
    values.any(|value| matches!(value.op, Op::NontemporalStore { .. }))
}

fn is_parallel(module: &Module) -> Vec<bool> {
    let hides_private = reaching(module, |function| {
        function.values.iter().any(|value| match value.op {
            Op::Cast(CastKind::AddressSpace, inner) => {
                function.ty(inner) == Type::Pointer(AddressSpace::Private)
            }
            _ => false,
        })
    });
    hides_private.into_iter().map(|hides| !hides).collect()
}
