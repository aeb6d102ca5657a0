//! Compiling through the cache: memory, then the folder of cached code, then the compiler. One test, alone in its process: the folder is
//! named by an environment variable, which belongs to all threads. What LLVM would make of the sources, the C compiler made here.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../amdgpu-hal/tests/scene/object.rs"]
mod object;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use amdgpu_abi::environment::CACHE_DIR;
use amdgpu_abi::{Coded, ErrorCode, MetricId};
use amdgpu_aura::{
    Argument, CacheAnswer, CompileJob, CompileRequest, Context, ContextOptions, CoreType, Error,
    GraphRecorder, Kernel, Lane, LaunchRecords, OpenDevice, RemoteCompiler, Result, Toolchain,
    compile_job,
};
use amdgpu_compiler::{CodeGenerator, CodegenRequest, CompileOptions, Target};
use amdgpu_hal::{DevicePointer, LaunchConfig, registry};
use amdgpu_memory::AllocatorOptions;

const SOURCE: &str = r"
__global__ void add(unsigned long long* out) { atomicAdd(out, 1ull); }
__global__ void twice(unsigned long long* out) { atomicAdd(out, 2ull); }
";
const C_SOURCE: &str = r"
typedef unsigned long long u64;
void add(u64 **out, const void *launch, u64 begin, u64 end) { **out += end - begin; }
void twice(u64 **out, const void *launch, u64 begin, u64 end) { **out += 2 * (end - begin); }
";
/// What the compiler makes of the first kernel with checks: it asks before its one access, which is the first of the source.
const CHECKED_C_SOURCE: &str = r"
typedef unsigned long long u64;
int agpu_checked_access(unsigned site, u64 address, u64 bytes, u64 base, u64 value, unsigned thread, u64 block);
void add(u64 **out, const void *launch, u64 begin, u64 end) {
    for (u64 block = begin; block < end; block++)
        if (agpu_checked_access(0, (u64)*out, 8, (u64)*out, 0, 0, block) == 0)
            **out += 1;
}
";

/// Gives the same code whatever it is asked for, and counts.
struct Canned {
    code: Vec<u8>,
    identity: &'static str,
    generated: AtomicU64,
    remote: Option<Elsewhere>,
}

impl Canned {
    fn new(code: Vec<u8>) -> Self {
        Self {
            code,
            identity: "canned",
            generated: AtomicU64::new(0),
            remote: None,
        }
    }

    /// How often it was asked since the last look.
    fn take(&self) -> u64 {
        self.generated.swap(0, Ordering::Relaxed)
    }
}

impl CodeGenerator for Canned {
    fn generate(
        &self,
        llvm_ir: &str,
        _request: &CodegenRequest,
    ) -> std::result::Result<Vec<u8>, amdgpu_compiler::Error> {
        assert!(llvm_ir.contains("define"));
        self.generated.fetch_add(1, Ordering::Relaxed);
        Ok(self.code.clone())
    }

    fn identity(&self) -> String {
        self.identity.to_owned()
    }
}

impl Toolchain for Canned {
    fn host(&self) -> std::result::Result<Target, amdgpu_compiler::Error> {
        Ok(Target::host("x86_64-unknown-linux-gnu", "x86-64-v3", ""))
    }

    fn remote(&self) -> Option<&dyn RemoteCompiler> {
        self.remote.as_ref().map(|remote| remote as _)
    }
}

/// Another process, which answers as it is told to.
struct Elsewhere {
    answer: Vec<u8>,
    asked: Mutex<Vec<CompileJob>>,
}

impl RemoteCompiler for Elsewhere {
    fn compile(&self, job: &CompileJob) -> Result<Vec<u8>> {
        self.asked.lock().unwrap().push(job.clone());
        Ok(self.answer.clone())
    }
}

fn open() -> Context {
    let device = registry::open_device("cpu:0").unwrap();
    let device = OpenDevice::alone(device, 0, AllocatorOptions::default()).unwrap();
    let options = ContextOptions {
        cores: CoreType::ALL.to_vec(),
        launch_records: LaunchRecords::Sampled,
    };
    Context::open(device, options).unwrap()
}

fn request<'a>(name: Option<&'a str>, options: &CompileOptions) -> CompileRequest<'a> {
    CompileRequest {
        source: SOURCE,
        kernel_name: name,
        core: CoreType::Aura,
        options: options.clone(),
    }
}

fn compile(context: &Context, generator: &Canned) -> (Arc<Kernel>, CacheAnswer) {
    let request = request(Some("add"), &CompileOptions::default());
    let kernel = context.compile(&request, generator).unwrap();
    assert!(adds(&kernel, 1));
    let answer = kernel.cache_answer();
    (kernel, answer)
}

fn adds(kernel: &Kernel, value: u64) -> bool {
    let word = AtomicU64::new(0);
    // SAFETY: the kernel adds to the word, which outlives the launch.
    unsafe { kernel.run(&LaunchConfig::linear(3, 1), &[word_of(&word, 8)], None) }.unwrap();
    word.into_inner() == 3 * value
}

fn counted(id: MetricId, labels: &[&str]) -> u64 {
    let snapshot = amdgpu_telemetry::snapshot();
    snapshot.value(id, labels).unwrap_or_default() as u64
}

fn fallbacks(reason: &str) -> u64 {
    counted(MetricId::FallbacksTotal, &["kernel_cache", reason])
}

fn use_folder(folder: &Path) {
    // SAFETY: this process runs one test, and no other thread reads the environment meanwhile.
    unsafe { std::env::set_var(CACHE_DIR, folder) };
}

/// The cached code in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let folders = list(&folder.join("kernels"));
    folders.iter().flat_map(|folder| list(folder)).collect()
}

#[test]
fn sources_are_compiled_once_and_found_again() {
    let root = std::env::temp_dir().join(format!("agpu-compiling-{}", std::process::id()));
    amdgpu_telemetry::set_notice_handler(|_| {});
    let generator = Canned::new(object::compiled("compiling", C_SOURCE));
    answers_come_from_memory_then_from_disk(&root.join("usual"), &generator);
    damaged_entries_are_compiled_again(&root.join("damaged"), &generator);
    a_folder_that_cannot_be_written_costs_no_kernel(&root, &generator);
    everything_that_changes_the_code_has_an_entry_of_its_own(&root.join("own"));
    another_process_compiles_where_there_is_one(&root.join("remote"));
    kernels_are_asked_for_by_name(&root.join("names"), &generator);
    checked_launches_are_held_to_their_own_arguments(&root.join("checked"));
    fs::remove_dir_all(root).unwrap();
}

fn answers_come_from_memory_then_from_disk(folder: &Path, generator: &Canned) {
    use_folder(folder);
    let requests = || {
        ["miss", "memory", "disk"]
            .map(|answer| counted(MetricId::KernelCacheRequestsTotal, &[answer]))
    };
    let before = requests();
    let context = open();
    let (kernel, answer) = compile(&context, generator);
    assert_eq!((answer, generator.take()), (CacheAnswer::Miss, 1));
    assert!(!kernel.is_foreign() && !kernel.is_checked());
    let (again, answer) = compile(&context, generator);
    assert_eq!((answer, generator.take()), (CacheAnswer::Memory, 0));
    assert_eq!(again.handle(), kernel.handle());
    assert_eq!(entries(folder).len(), 1);
    // Another kernel of the same source is there as well.
    let twice = context
        .compile(
            &request(Some("twice"), &CompileOptions::default()),
            generator,
        )
        .unwrap();
    assert_eq!(twice.cache_answer(), CacheAnswer::Memory);
    assert!(adds(&twice, 2));
    // Other openings have memories of their own, and the folder is for all.
    for _ in 0..2 {
        let (other, answer) = compile(&open(), generator);
        assert_eq!((answer, generator.take()), (CacheAnswer::Disk, 0));
        assert_eq!(other.handle(), kernel.handle());
        assert_eq!(other.passes(), kernel.passes());
        assert_eq!(other.facts().signature, kernel.facts().signature);
    }
    let after = requests();
    assert_eq!(
        [0, 1, 2].map(|index| after[index] - before[index]),
        [1, 2, 2]
    );
    let snapshot = amdgpu_telemetry::snapshot();
    let of = |name| {
        let samples = snapshot.histograms.iter();
        let counts = samples.filter(|sample| sample.metric == name);
        counts.map(|sample| sample.count).sum::<u64>()
    };
    assert_eq!(of("amdgpu_compile_seconds"), 1);
    assert!(of("amdgpu_pass_seconds") > 1);
    context.close().unwrap();
    let closed = context.compile(&request(Some("add"), &CompileOptions::default()), generator);
    assert_eq!(closed.err().unwrap().to_string(), "device cpu:0 is closed");
    // Switched off, nothing is kept anywhere.
    use_folder(Path::new("off"));
    for _ in 0..2 {
        assert_eq!(compile(&open(), generator).1, CacheAnswer::Miss);
    }
    assert_eq!(generator.take(), 2);
    assert!(!Path::new("off").exists());
}

fn damaged_entries_are_compiled_again(folder: &Path, generator: &Canned) {
    use_folder(folder);
    compile(&open(), generator);
    let path = entries(folder).remove(0);
    let whole = fs::read(&path).unwrap();
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let job = CompileJob {
        target: "host".to_owned(),
        source: SOURCE.to_owned(),
        options: CompileOptions::default(),
    };
    // A whole entry whose code the device does not load.
    let unloadable = compile_job(&job, &Canned::new(b"no object".to_vec())).unwrap();
    generator.take();
    for (bytes, reason) in [
        (&whole[..20], "the file is too short"),
        (&wrong, "its checksum is wrong"),
        (&unloadable, "a cached kernel cannot be loaded"),
    ] {
        fs::write(&path, bytes).unwrap();
        let before = fallbacks(reason);
        assert_eq!(compile(&open(), generator).1, CacheAnswer::Miss, "{reason}");
        assert_eq!(generator.take(), 1);
        assert_eq!(fallbacks(reason), before + 1, "{reason}");
        assert_eq!(entries(folder), std::slice::from_ref(&path));
        assert_eq!(compile(&open(), generator).1, CacheAnswer::Disk, "{reason}");
        assert_eq!(generator.take(), 0);
    }
}

fn a_folder_that_cannot_be_written_costs_no_kernel(root: &Path, generator: &Canned) {
    let file = root.join("file");
    fs::write(&file, "").unwrap();
    use_folder(&file);
    let reason = "a compiled kernel cannot be kept: not a directory";
    let before = fallbacks(reason);
    for number in 1..3 {
        assert_eq!(compile(&open(), generator).1, CacheAnswer::Miss);
        assert_eq!(fallbacks(reason), before + number);
    }
    assert_eq!(generator.take(), 2);
}

fn everything_that_changes_the_code_has_an_entry_of_its_own(folder: &Path) {
    use_folder(folder);
    let code = object::compiled("own", C_SOURCE);
    let context = open();
    let defines = CompileOptions {
        defines: vec![("N".to_owned(), "1".to_owned())],
        ..CompileOptions::default()
    };
    let mut handles = Vec::new();
    for (identity, options) in [
        ("canned", CompileOptions::default()),
        ("canned", defines),
        ("newer", CompileOptions::default()),
    ] {
        let generator = Canned {
            identity,
            ..Canned::new(code.clone())
        };
        let kernel = context.compile(&request(Some("add"), &options), &generator);
        let kernel = kernel.unwrap();
        assert_eq!(generator.take(), 1);
        handles.push(kernel.handle().to_owned());
    }
    handles.sort();
    handles.dedup();
    assert_eq!((handles.len(), entries(folder).len()), (3, 3));
    assert_eq!(context.kernel_cache_sizes().known_units, 3);
}

fn another_process_compiles_where_there_is_one(folder: &Path) {
    use_folder(folder);
    let here = Canned::new(object::compiled("remote", C_SOURCE));
    let job = CompileJob {
        target: "host".to_owned(),
        source: SOURCE.to_owned(),
        options: CompileOptions::default(),
    };
    let answer = compile_job(&job, &here).unwrap();
    let with = |answer: Vec<u8>| Canned {
        remote: Some(Elsewhere {
            answer,
            asked: Mutex::default(),
        }),
        ..Canned::new(Vec::new())
    };
    let broken = with(b"nonsense".to_vec());
    let refused = open().compile(&request(Some("add"), &job.options), &broken);
    let error = refused.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert_eq!(
        error.to_string(),
        "the compiler's process answered nonsense: the file is too short"
    );
    assert!(entries(folder).is_empty());
    let elsewhere = with(answer);
    assert_eq!(compile(&open(), &elsewhere).1, CacheAnswer::Miss);
    assert_eq!(elsewhere.take(), 0, "nothing is generated here");
    let asked = &elsewhere.remote.as_ref().unwrap().asked;
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].target.as_str(), &*asked[0].source),
        ("host", SOURCE)
    );
    // What came from there is kept like any other.
    assert_eq!(compile(&open(), &elsewhere).1, CacheAnswer::Disk);
    let target = CompileJob {
        target: "gfx1".to_owned(),
        ..job
    };
    let error = compile_job(&target, &here).unwrap_err().to_string();
    assert!(error.starts_with("there is no target 'gfx1'"), "{error}");
}

/// Memory of which a kernel may use so many bytes.
fn word_of(word: &AtomicU64, bytes: u64) -> Argument {
    Argument::Pointer {
        address: DevicePointer::from_host(word.as_ptr()).address(),
        dtype: None,
        is_read_only: false,
        bytes,
    }
}

fn checked_launches_are_held_to_their_own_arguments(folder: &Path) {
    use_folder(folder);
    let generator = Canned::new(object::compiled("checked", CHECKED_C_SOURCE));
    let options = CompileOptions {
        checked: true,
        ..CompileOptions::default()
    };
    let context = open();
    let kernel = context.compile(&request(Some("add"), &options), &generator);
    let kernel = kernel.unwrap();
    assert!(kernel.is_checked());
    let (word, config) = (AtomicU64::new(0), LaunchConfig::linear(3, 1));
    let (whole, half) = ([word_of(&word, 8)], [word_of(&word, 4)]);
    let outside = |outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), ErrorCode::MemoryFault);
        let text = error.to_string();
        assert!(
            text.contains("argument `out` at byte offset 0 of 4"),
            "{text}"
        );
    };
    let packed = kernel.pack_arguments(&whole).unwrap();
    let smaller = kernel.replace_argument(&packed, 0, &half[0]).unwrap();
    let stream = context.create_stream().unwrap();
    // SAFETY: the kernel adds to the word, which outlives the launches.
    unsafe {
        kernel.run(&config, &whole, None).unwrap();
        outside(kernel.run(&config, &half, None));
        kernel.launch_packed(&config, &packed, None).unwrap();
        outside(kernel.launch_packed(&config, &smaller, None));
        kernel
            .launch_packed(&config, &packed, Some(&stream))
            .unwrap();
        Kernel::wait(stream.as_ref(), None).unwrap();
        kernel
            .launch_packed(&config, &smaller, Some(&stream))
            .unwrap();
        outside(Kernel::wait(stream.as_ref(), None).map(drop));
    }
    let mut recorder = GraphRecorder::default();
    recorder
        .launch(&kernel, config, &packed, Lane::Waited)
        .unwrap();
    let graph = recorder.finish().unwrap();
    // SAFETY: as above.
    let replay = || unsafe { graph.replay(None) }.map(drop);
    replay().unwrap();
    graph.set_arguments(0, &smaller);
    outside(replay());
    graph.set_arguments(0, &packed);
    replay().unwrap();
    assert_eq!(word.into_inner(), 5 * 3, "what is refused writes nothing");
}

fn kernels_are_asked_for_by_name(folder: &Path, generator: &Canned) {
    use_folder(folder);
    let context = open();
    for (name, message) in [
        (None, "the source has 2 kernels; name one of: add, twice"),
        (
            Some("subtract"),
            "the source has no kernel `subtract`; it has: add, twice",
        ),
    ] {
        let options = CompileOptions::default();
        let error = context.compile(&request(name, &options), generator);
        let error = error.err().unwrap();
        assert_eq!(error.to_string(), message);
        assert!(matches!(error, Error::KernelNotFound { .. }));
    }
}
