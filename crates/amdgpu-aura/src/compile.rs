//! From source to loaded kernels: memory, then disk, then the compiler.

use std::sync::Arc;
use std::time::Instant;

use amdgpu_abi::MetricId;
use amdgpu_abi::layout::PACKAGE_VERSION;
use amdgpu_compiler::link;
use amdgpu_compiler::messages::MessageTable;
use amdgpu_compiler::{CompileOptions, Compiler, KernelSignature, Target};
use amdgpu_hal::DeviceInfo;
use amdgpu_telemetry::{
    Core, Kind, Record, counter, emit, fallback, histogram, intern, now_ns, span,
};

use crate::cache::{CacheAnswer, CacheKey, DiskCache, Lookup};
use crate::checks::Checks;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::facts::facts_of;
use crate::kernel::{Kernel, Origin};
use crate::loaded::LoadedUnit;
use crate::offline::{self, known_target};
use crate::remote::compile_there;
use crate::shared::CoreType;
use crate::toolchain::{CompileJob, Toolchain};
use crate::unit::{UnitFacts, compile_here, note_passes};

/// What to compile and how.
#[derive(Clone, Debug)]
pub struct CompileRequest<'a> {
    pub source: &'a str,
    /// Which kernel is wanted, instances of templates with their arguments (`scale<float, 4>`); `None` is fine when the source has exactly one.
    pub kernel_name: Option<&'a str>,
    pub core: CoreType,
    pub options: CompileOptions,
}

impl Context {
    /// Compile source, or find it in the cache, and load it on this device.
    ///
    /// # Errors
    ///
    /// Errors in the source, an unknown kernel name, a code generator that fails, a closed device.
    pub fn compile(
        &self,
        request: &CompileRequest<'_>,
        generator: &dyn Toolchain,
    ) -> Result<Arc<Kernel>> {
        self.device()?;
        let started = Instant::now();
        let request = &with_instance(request);
        let key = key_of(request, self.info(), generator);
        let begin_ns = now_ns();
        let (unit, answer) = self.find_or_build(request, &key, generator)?;
        let record = Record::new(Kind::CacheRequest, intern(&request.options.name))
            .device(self.shared().index())
            .at(begin_ns, now_ns().saturating_sub(begin_ns));
        emit(record.value(answer.code()));
        counter(MetricId::KernelCacheRequestsTotal, &[answer.name()]).increment();
        let signature = choose(&unit.facts, request.kernel_name)?;
        let function = unit.module.function(&signature.symbol)?;
        let origin = Origin {
            key: key.as_str(),
            core: request.core,
            source: Arc::from(request.source),
            answer,
            compile_seconds: started.elapsed().as_secs_f64(),
            unit: Arc::clone(&unit),
            checks: request
                .options
                .checked
                .then(|| Checks::new(&unit.facts.check_sites, signature, &request.options.name)),
            options: request.options.clone(),
            is_foreign: false,
        };
        let kernel = Arc::new(Kernel::new(
            Arc::clone(self.shared()),
            facts_of(signature),
            function,
            origin,
        ));
        self.keep(&kernel);
        Ok(kernel)
    }

    /// Load code that another compiler made of the source, for this device. What the kernel takes is read from the source by our own front
    /// end; `symbol` is its name in the code.
    ///
    /// # Errors
    ///
    /// As [`Context::compile`]; code that the device does not load.
    pub fn load_compiled(
        &self,
        request: &CompileRequest<'_>,
        code: &[u8],
        symbol: &str,
        generator: &dyn Toolchain,
    ) -> Result<Arc<Kernel>> {
        let started = Instant::now();
        let device = self.device()?;
        let request = &with_instance(request);
        let target = target_of(self.info(), generator)?;
        let unit = Compiler::new().compile(request.source, &request.options, &target)?;
        let metadata_bytes = request.source.len();
        // The other compiler knows nothing of our variables, messages and passes.
        let facts = UnitFacts {
            globals: Vec::new(),
            messages: MessageTable::default(),
            passes: "[]".to_owned(),
            ..UnitFacts::of(unit, Vec::new())
        };
        let module = device.load_module(code)?;
        let unit = LoadedUnit::new(facts, module, device, metadata_bytes, code.len());
        let signature = choose(&unit.facts, request.kernel_name)?;
        let function = unit.module.function(symbol)?;
        let key = CacheKey::new(&[
            key_of(request, self.info(), generator).as_str(),
            "another compiler",
            symbol,
        ]);
        let origin = Origin {
            key: key.as_str(),
            core: request.core,
            source: Arc::from(request.source),
            answer: CacheAnswer::Miss,
            compile_seconds: started.elapsed().as_secs_f64(),
            unit: Arc::clone(&unit),
            checks: None,
            options: request.options.clone(),
            is_foreign: true,
        };
        let shared = Arc::clone(self.shared());
        let kernel = Arc::new(Kernel::new(shared, facts_of(signature), function, origin));
        self.keep(&kernel);
        Ok(kernel)
    }

    fn find_or_build(
        &self,
        request: &CompileRequest<'_>,
        key: &CacheKey,
        generator: &dyn Toolchain,
    ) -> Result<(Arc<LoadedUnit>, CacheAnswer)> {
        if let Some(unit) = self.loaded().lock().get(key) {
            return Ok((unit, CacheAnswer::Memory));
        }
        let disk = DiskCache::from_environment()?;
        let (unit, answer) = match self.load_from_disk(&disk, key) {
            Some(unit) => (unit, CacheAnswer::Disk),
            None => (
                self.build(request, key, &disk, generator)?,
                CacheAnswer::Miss,
            ),
        };
        // Variables of a module are one set for all its kernels: of two compilations at a time the first to end counts.
        let mut loaded = self.loaded().lock();
        if let Some(first) = loaded.get(key) {
            return Ok((first, answer));
        }
        loaded.insert(key.clone(), &unit);
        Ok((unit, answer))
    }

    fn load_from_disk(&self, disk: &DiskCache, key: &CacheKey) -> Option<Arc<LoadedUnit>> {
        let entry = match disk.get(key) {
            Lookup::Found(entry) => entry,
            Lookup::Absent => return None,
            Lookup::Damaged(reason) => {
                fallback("kernel_cache", reason);
                return None;
            }
        };
        let load = || -> Option<Arc<LoadedUnit>> {
            let facts = serde_json::from_str::<UnitFacts>(&entry.metadata).ok()?;
            let module = self.shared().device().load_module(&entry.code).ok()?;
            let sizes = (entry.metadata.len(), entry.code.len());
            Some(LoadedUnit::new(
                facts,
                module,
                self.shared().device(),
                sizes.0,
                sizes.1,
            ))
        };
        let loaded = load();
        if loaded.is_none() {
            fallback("kernel_cache", "a cached kernel cannot be loaded");
        }
        loaded
    }

    fn build(
        &self,
        request: &CompileRequest<'_>,
        key: &CacheKey,
        disk: &DiskCache,
        generator: &dyn Toolchain,
    ) -> Result<Arc<LoadedUnit>> {
        let target = target_of(self.info(), generator)?;
        let target_name = target.name.as_str();
        let options = &request.options;
        let mut compile_span = span(Kind::Compile, intern(&request.options.name))
            .observe(&histogram(MetricId::CompileSeconds, &[target_name]));
        compile_span.record.core = Core::Aura;
        compile_span.record.value = request.source.len() as u64;
        let (facts, code) = match generator.remote() {
            None => compile_here(request.source, options, &target, generator)?,
            Some(remote) => {
                let job = CompileJob {
                    target: offline::target_name(self.info()).to_owned(),
                    source: request.source.to_owned(),
                    options: options.clone(),
                };
                let made = compile_there(&job, remote)?;
                note_passes(target_name, &made.0.passes);
                made
            }
        };
        let module = self.shared().device().load_module(&code)?;
        let (facts, entry) = facts.into_entry(code);
        if let Err(error) = disk.put(key, &entry) {
            let reason = format!("a compiled kernel cannot be kept: {}", error.kind());
            fallback("kernel_cache", &reason);
        }
        let sizes = (entry.metadata.len(), entry.code.len());
        Ok(LoadedUnit::new(
            facts,
            module,
            self.shared().device(),
            sizes.0,
            sizes.1,
        ))
    }
}

/// The compiler's target for a device.
fn target_of(info: &DeviceInfo, generator: &dyn Toolchain) -> Result<Target> {
    if info.capabilities.compiles_natively {
        return Ok(generator.host()?);
    }
    known_target(&info.architecture).ok_or_else(|| Error::NoTarget {
        device: info.name.clone(),
        architecture: info.architecture.clone(),
    })
}

fn key_of(request: &CompileRequest<'_>, info: &DeviceInfo, generator: &dyn Toolchain) -> CacheKey {
    let options = format!("{:?}", request.options);
    CacheKey::new(&[
        PACKAGE_VERSION,
        Compiler::identity(),
        link::IDENTITY,
        &generator.identity(),
        info.kind.name(),
        // The CPU that LLVM tunes for follows from these.
        &info.architecture,
        &info.features.join(","),
        &options,
        request.source,
    ])
}

/// The request, which also asks the compiler for the instance of a template that its name means.
fn with_instance<'a>(request: &CompileRequest<'a>) -> CompileRequest<'a> {
    let mut request = request.clone();
    if let Some(name) = request.kernel_name.filter(|name| name.contains('<')) {
        let asked = &mut request.options.name_expressions;
        // Of a kernel that is compiled once more it is among them.
        if !asked.iter().any(|known| known == name) {
            asked.push(name.to_owned());
        }
    }
    request
}

fn choose<'a>(facts: &'a UnitFacts, wanted: Option<&str>) -> Result<&'a KernelSignature> {
    let kernels = facts.kernels.as_slice();
    let names = || {
        let mut text = kernels
            .iter()
            .map(|kernel| kernel.name.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        if !facts.template_kernels.is_empty() {
            text.push_str("; and templates, to be named with arguments: ");
            text.push_str(&facts.template_kernels.join(", "));
        }
        text
    };
    match wanted {
        Some(name) => kernels
            .iter()
            .find(|kernel| {
                kernel.name == name || kernel.expressions.iter().any(|text| is_same(text, name))
            })
            .ok_or_else(|| Error::KernelNotFound {
                reason: format!("the source has no kernel `{name}`; it has: {}", names()),
            }),
        None => match kernels {
            [only] => Ok(only),
            _ => Err(Error::KernelNotFound {
                reason: format!(
                    "the source has {} kernels; name one of: {}",
                    kernels.len(),
                    names()
                ),
            }),
        },
    }
}

/// Whether two texts name one instance; white space and namespaces around do not matter.
fn is_same(text: &str, name: &str) -> bool {
    let bare = |text: &str| -> String {
        text.chars()
            .filter(|character| !character.is_whitespace())
            .collect()
    };
    bare(name).ends_with(&bare(text))
}

#[cfg(test)]
mod tests {
    use amdgpu_compiler::{CompileOptions, Compiler, Target};

    use super::*;

    const ONE: &str = "__global__ void set(float* p) { p[0] = 1; }";
    const TWO: &str =
        "__global__ void set(float* p) { p[0] = 1; } __global__ void clear(float* p) { p[0] = 0; }
        template <typename T, int N> __global__ void fill(T* p) { p[0] = N; }
        template <typename T> __global__ void zero(T* p) { p[0] = 0; }";

    fn facts(source: &str, asked: &[&str]) -> UnitFacts {
        let options = CompileOptions {
            name_expressions: asked.iter().map(|&text| text.to_owned()).collect(),
            ..CompileOptions::default()
        };
        let target = Target::parse("x86_64").unwrap();
        UnitFacts::of(
            Compiler::new().compile(source, &options, &target).unwrap(),
            Vec::new(),
        )
    }

    fn chosen(facts: &UnitFacts, wanted: Option<&str>) -> String {
        match choose(facts, wanted) {
            Ok(kernel) => kernel.name.clone(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_only_kernel_needs_no_name() {
        let one = facts(ONE, &[]);
        assert_eq!(chosen(&one, None), "set");
        assert_eq!(chosen(&one, Some("set")), "set");
        assert!(chosen(&one, Some("Set")).ends_with("no kernel `Set`; it has: set"));
    }

    #[test]
    fn of_several_kernels_one_is_named() {
        let two = facts(TWO, &[]);
        let templates =
            "set, clear; and templates, to be named with arguments: fill<T, N>, zero<T>";
        assert_eq!(chosen(&two, Some("clear")), "clear");
        let said = chosen(&two, None);
        assert!(
            said.ends_with(&format!("has 2 kernels; name one of: {templates}")),
            "{said}"
        );
        let said = chosen(&two, Some("fill"));
        assert!(
            said.ends_with(&format!("no kernel `fill`; it has: {templates}")),
            "{said}"
        );
    }

    #[test]
    fn instances_are_found_however_they_were_written() {
        let asked = facts(TWO, &["fill<float, 4>"]);
        for name in ["fill<float, 4>", "fill<float,4>", "::fill< float , 4 >"] {
            assert_eq!(chosen(&asked, Some(name)), "fill<float, 4>");
        }
        for name in ["fill<float, 5>", "fill<double, 4>", "fill"] {
            assert!(chosen(&asked, Some(name)).contains("no kernel"), "{name}");
        }
    }
}
