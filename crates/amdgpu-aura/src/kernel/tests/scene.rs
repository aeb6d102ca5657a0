//! A device with kernels whose machine code the C compiler made: what they take is read from a source by our own front end.

#[path = "../../../../amdgpu-hal/tests/scene/object.rs"]
mod object;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use amdgpu_compiler::{CodeGenerator, CodegenRequest, CompileOptions, Error, Target};
use amdgpu_hal::{DevicePointer, LaunchConfig, Stream, registry};
use amdgpu_memory::AllocatorOptions;

use super::super::Kernel;
use crate::arguments::Argument;
use crate::compile::CompileRequest;
use crate::context::{Context, ContextOptions};
use crate::open_device::OpenDevice;
use crate::shared::{CoreType, LaunchRecords};
use crate::toolchain::Toolchain;

/// `add` adds a value for each block; `sum` adds the numbers of a struct that is larger than what arguments usually take.
pub(crate) const SOURCE: &str = r"
struct Numbers { unsigned long long values[40]; };
__global__ void add(unsigned long long* out, unsigned long long value) { atomicAdd(out, value); }
__global__ void sum(unsigned long long* out, Numbers numbers) {
    for (int i = 0; i < 40; i++) atomicAdd(out, numbers.values[i]);
}
__global__ void __launch_bounds__(64) bounded(unsigned long long* out) { out[0] = 1; }
__global__ void staged(unsigned long long* out) {
    __shared__ unsigned long long tile[1000];
    tile[threadIdx.x] = out[0];
    out[0] = tile[threadIdx.x];
}
__global__ void full(unsigned long long* out) {
    __shared__ unsigned long long tile[8192];
    tile[threadIdx.x] = out[0];
    out[0] = tile[threadIdx.x];
}
";

const C_SOURCE: &str = r"
typedef unsigned long long u64;
struct add { u64 *out; u64 value; };
void add(const struct add *a, const void *launch, u64 begin, u64 end) {
    __atomic_fetch_add(a->out, a->value * (end - begin), __ATOMIC_RELAXED);
}
struct sum { u64 *out; u64 values[40]; };
void sum(const struct sum *a, const void *launch, u64 begin, u64 end) {
    for (u64 block = begin; block < end; block++)
        for (int i = 0; i < 40; i++)
            __atomic_fetch_add(a->out, a->values[i], __ATOMIC_RELAXED);
}
void bounded(u64 **out, const void *launch, u64 begin, u64 end) { **out = 1; }
void staged(u64 **out, const void *launch, u64 begin, u64 end) {}
void full(u64 **out, const void *launch, u64 begin, u64 end) {}
";

fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| object::compiled("aura", C_SOURCE))
}

/// Knows the machine and generates nothing.
struct NoGenerator;

impl CodeGenerator for NoGenerator {
    fn generate(&self, _llvm_ir: &str, _request: &CodegenRequest) -> Result<Vec<u8>, Error> {
        panic!("the code is there already")
    }

    fn identity(&self) -> String {
        "none".to_owned()
    }
}

impl Toolchain for NoGenerator {
    fn host(&self) -> Result<Target, Error> {
        Ok(Target::host("x86_64-unknown-linux-gnu", "x86-64-v3", ""))
    }
}

/// An opening of the CPU device that no other test shares, and a word that its kernels add to.
pub(crate) struct Scene {
    pub context: Context,
    pub word: Box<AtomicU64>,
}

impl Scene {
    pub fn new(launch_records: LaunchRecords) -> Self {
        Self::numbered(0, launch_records)
    }

    /// With a place in the list of devices that no other test's has.
    pub fn numbered(index: u16, launch_records: LaunchRecords) -> Self {
        let device = registry::open_device("cpu:0").unwrap();
        let device = OpenDevice::alone(device, index, AllocatorOptions::default()).unwrap();
        Self::of(device, launch_records)
    }

    /// Another opening of the same device.
    pub fn again(&self, launch_records: LaunchRecords) -> Self {
        Self::of(
            Arc::clone(self.context.open_device().unwrap()),
            launch_records,
        )
    }

    fn of(device: Arc<OpenDevice>, launch_records: LaunchRecords) -> Self {
        let options = ContextOptions {
            cores: CoreType::ALL.to_vec(),
            launch_records,
        };
        Self {
            context: Context::open(device, options).unwrap(),
            word: Box::default(),
        }
    }

    pub fn kernel(&self, name: &str) -> Arc<Kernel> {
        self.kernel_of(name, CoreType::Aura)
    }

    /// A kernel that shares its counters with no other: each has another text.
    pub fn kernel_of(&self, name: &str, core: CoreType) -> Arc<Kernel> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let source = format!("{SOURCE}// {number}\n");
        let request = CompileRequest {
            source: &source,
            kernel_name: Some(name),
            core,
            options: CompileOptions::default(),
        };
        self.context
            .load_compiled(&request, image(), name, &NoGenerator)
            .unwrap()
    }

    pub fn pointer(&self) -> Argument {
        pointer(&self.word)
    }

    /// The arguments of `add`.
    pub fn add_arguments(&self, value: u64) -> [Argument; 2] {
        [self.pointer(), Argument::Int(i128::from(value))]
    }

    /// The word, which is zero afterwards.
    pub fn take(&self) -> u64 {
        self.word.swap(0, Ordering::Relaxed)
    }

    pub fn default_stream(&self) -> Arc<dyn Stream> {
        Arc::clone(self.context.device().unwrap().default_stream())
    }

    /// Keeps the default stream from going on until the sender is used or dropped.
    pub fn hold_default_stream(&self) -> (Sender<()>, Arc<dyn Stream>) {
        let device = self.context.device().unwrap();
        let blocked = device.create_stream().unwrap();
        let release = super::occupy(blocked.as_ref());
        let event = device.create_event().unwrap();
        blocked.record(&event).unwrap();
        device.default_stream().wait(&event).unwrap();
        (release, blocked)
    }
}

pub(crate) fn pointer(word: &AtomicU64) -> Argument {
    Argument::Pointer {
        address: address(word),
        dtype: None,
        is_read_only: false,
        bytes: 8,
    }
}

pub(crate) fn address(word: &AtomicU64) -> u64 {
    DevicePointer::from_host(word.as_ptr()).address()
}

pub(crate) fn blocks(count: u32) -> LaunchConfig {
    LaunchConfig::linear(count, 1)
}

/// Launches of the kernel, and those of them that were timed.
pub(crate) fn calls(kernel: &Kernel) -> (u64, u64) {
    let sums = kernel.sums().unwrap();
    (sums.calls as u64, sums.timed_calls as u64)
}
