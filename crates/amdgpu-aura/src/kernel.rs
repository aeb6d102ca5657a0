//! A loaded kernel and its launches.

mod direct;
mod launches;
mod packed;
mod profile;
mod queued;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use amdgpu_compiler::link::KernelResources;
use amdgpu_compiler::{CompileOptions, GlobalVariable, cpu_shared_bytes};
use amdgpu_hal::cpu::checked::{self, CountedWork, Expectations};
use amdgpu_hal::{
    DeviceInfo, Event, Function, GlobalMemory, LaunchConfig, Module, Stream, attention,
};
use amdgpu_telemetry::{KernelIdentity, KernelSums, now_ns};

use crate::arguments::{Argument, pack};
use crate::cache::CacheAnswer;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::facts::KernelFacts;
use crate::loaded::LoadedUnit;
use crate::messages::{PrintfBuffer, flush_printf};
use crate::open_device::OpenDevice;
use crate::shared::{CoreType, Shared};
pub use direct::{DirectKernel, InsideLaunches};
use launches::{Launches, Timing};
pub use packed::PackedArguments;

/// Of a kernel's key, in its handle and its id on the bus: 64 bits.
const KERNEL_ID_DIGITS: usize = 16;
/// Argument blocks up to this size are packed on the stack; nearly all kernels have fewer than 32 parameters.
const STACK_ARGUMENT_BYTES: usize = 256;
/// A wait with a time limit first looks again and again for this long, since most kernels are short, ...
const SPIN_NS: u64 = 50_000;
/// ... and then at this interval: long enough to leave the core to the kernel, short beside any limit in milliseconds.
const POLL_INTERVAL: Duration = Duration::from_micros(50);
/// How often it looks for signals.
const ATTENTION_NS: u64 = attention::INTERVAL.as_nanos() as u64;
/// How long a kernel that has to stop is waited for: many times what its blocks, or a signal, take.
const STOP_NS: u64 = 100_000_000;

/// Grid, block and dynamic shared memory as the caller gave them; checked by [`Kernel::check_shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    pub grid: [i64; 3],
    pub block: [i64; 3],
    pub shared_bytes: i64,
}

/// A kernel on a device.
pub struct Kernel {
    pub(crate) shared: Arc<Shared>,
    facts: KernelFacts,
    function: Arc<dyn Function>,
    launches: Arc<Launches>,
    handle: String,
    core: CoreType,
    source: Arc<str>,
    answer: CacheAnswer,
    compile_seconds: f64,
    unit: Arc<LoadedUnit>,
    checks: Option<Checks>,
    options: CompileOptions,
    is_foreign: bool,
}

/// What a compilation gives to each of its kernels.
pub(crate) struct Origin<'a> {
    pub key: &'a str,
    pub core: CoreType,
    pub source: Arc<str>,
    pub answer: CacheAnswer,
    pub compile_seconds: f64,
    pub unit: Arc<LoadedUnit>,
    pub checks: Option<Checks>,
    pub options: CompileOptions,
    /// Another compiler made the code.
    pub is_foreign: bool,
}

/// When a launch started and how long it took; the duration is 0 while it still runs, both are where nobody wanted to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchTimes {
    pub start_ns: u64,
    pub duration_ns: u64,
}

impl Kernel {
    pub(crate) fn new(
        shared: Arc<Shared>,
        facts: KernelFacts,
        function: Arc<dyn Function>,
        origin: Origin<'_>,
    ) -> Self {
        // Launches item by item are timed apart from those of the same kernel without checks.
        let watched_name = match &origin.checks {
            Some(_) => format!("{} (checked)", facts.name),
            None => facts.name.clone(),
        };
        let id = &origin.key[..KERNEL_ID_DIGITS];
        let identity = KernelIdentity {
            name: &watched_name,
            // Keys are hexadecimal; were one not, its kernels would share their counters.
            id: u64::from_str_radix(id, 16).unwrap_or_default(),
        };
        let launches = Arc::new(Launches::new(&shared, origin.core, identity));
        let handle = format!("{}:{}:{id}", shared.name(), facts.name);
        Self {
            shared,
            facts,
            function,
            launches,
            handle,
            core: origin.core,
            source: origin.source,
            answer: origin.answer,
            compile_seconds: origin.compile_seconds,
            unit: origin.unit,
            checks: origin.checks,
            options: origin.options,
            is_foreign: origin.is_foreign,
        }
    }

    #[must_use]
    pub fn facts(&self) -> &KernelFacts {
        &self.facts
    }

    /// Text that names the kernel on its device.
    #[must_use]
    pub fn handle(&self) -> &str {
        &self.handle
    }

    #[must_use]
    pub fn core(&self) -> CoreType {
        self.core
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    #[must_use]
    pub fn cache_answer(&self) -> CacheAnswer {
        self.answer
    }

    /// Seconds that getting the kernel took, from source or cache.
    #[must_use]
    pub fn compile_seconds(&self) -> f64 {
        self.compile_seconds
    }

    /// Remarks of the compiler, for example host code that was skipped.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.unit.facts.notes
    }

    /// JSON list of the passes with time and number of transformations.
    #[must_use]
    pub fn passes(&self) -> &str {
        &self.unit.facts.passes
    }

    /// What the kernel occupies; known for AMD code objects.
    #[must_use]
    pub fn resources(&self) -> Option<&KernelResources> {
        let mut resources = self.unit.facts.resources.iter();
        resources.find(|entry| entry.kernel == self.facts.name)
    }

    /// `__device__` and `__constant__` variables of the kernel's module. All kernels of one source share them.
    #[must_use]
    pub fn globals(&self) -> &[GlobalVariable] {
        &self.unit.facts.globals
    }

    /// A variable of the kernel's module and its memory, which lives as long as the module does.
    ///
    /// # Errors
    ///
    /// `global-not-found`, listing those that there are; a closed device.
    pub fn global(&self, name: &str) -> Result<(&GlobalVariable, GlobalMemory, Arc<dyn Module>)> {
        self.shared.check_open()?;
        let names = || self.globals().iter().map(|global| global.name.as_str());
        let variable = self.globals().iter().find(|global| global.name == name);
        let variable =
            variable.ok_or_else(|| amdgpu_hal::Error::global_not_found(name, names()))?;
        let memory = self.unit.module.global(&variable.name)?;
        Ok((variable, memory, Arc::clone(&self.unit.module)))
    }

    #[must_use]
    pub fn device_info(&self) -> &DeviceInfo {
        self.shared.info()
    }

    /// Check grid, block and shared memory against the limits of the device.
    ///
    /// # Errors
    ///
    /// `invalid-launch`, naming what is wrong and the limit.
    pub fn check_shape(&self, shape: &LaunchShape) -> Result<LaunchConfig> {
        let info = self.shared.info();
        let refuse = |reason: String| Error::Launch {
            kernel: self.facts.name.clone(),
            reason,
        };
        let axis = |what: &str, values: [i64; 3], limits: [u32; 3]| -> Result<[u32; 3]> {
            let mut checked = [1; 3];
            for (index, (value, limit)) in values.into_iter().zip(limits).enumerate() {
                checked[index] = u32::try_from(value)
                    .ok()
                    .filter(|value| (1..=limit).contains(value))
                    .ok_or_else(|| {
                        let name = ["x", "y", "z"][index];
                        refuse(format!(
                            "{what}.{name} is {value}; {} allows 1 to {limit}",
                            info.name
                        ))
                    })?;
            }
            Ok(checked)
        };
        let dynamic_bytes = self.check_shared_bytes(shape.shared_bytes)?;
        let mut config = LaunchConfig {
            grid: axis("grid", shape.grid, info.max_grid)?,
            block: axis("block", shape.block, info.max_block)?,
            shared_bytes: dynamic_bytes,
        };
        let limit = self
            .facts
            .max_threads_per_block
            .map_or(info.max_threads_per_block, |bound| {
                bound.min(info.max_threads_per_block)
            });
        if config.threads_per_block() > u64::from(limit) {
            let why = if limit < info.max_threads_per_block {
                "__launch_bounds__ allows"
            } else {
                "the limit is"
            };
            return Err(refuse(format!(
                "a block has {} threads; {why} {limit}",
                config.threads_per_block()
            )));
        }
        if config.block_count().is_none() {
            return Err(refuse("the grid has more than 2^64 blocks".to_owned()));
        }
        if info.capabilities.context_in_shared_memory {
            let bytes = cpu_shared_bytes(
                self.facts.scratch_bytes_per_thread,
                self.facts.static_shared_bytes,
                config.threads_per_block(),
                u64::from(dynamic_bytes),
            );
            config.shared_bytes = u32::try_from(bytes).map_err(|_| {
                refuse(format!(
                    "a block of {} threads needs {bytes} bytes for what they keep across barriers; the limit is {}",
                    config.threads_per_block(),
                    u32::MAX
                ))
            })?;
        }
        Ok(config)
    }

    /// The dynamic shared memory of a launch, which together with that of the kernel must fit the device.
    fn check_shared_bytes(&self, dynamic_bytes: i64) -> Result<u32> {
        let info = self.shared.info();
        let (limit, of_kernel) = (
            info.shared_memory_per_block_bytes,
            self.facts.static_shared_bytes,
        );
        let fits = |bytes: &u32| u64::from(*bytes) + of_kernel <= limit;
        u32::try_from(dynamic_bytes)
            .ok()
            .filter(fits)
            .ok_or_else(|| {
                let own = if of_kernel > 0 {
                    format!(" beside the {of_kernel} bytes that the kernel declares")
                } else {
                    String::new()
                };
                let left = limit.saturating_sub(of_kernel);
                let reason = if of_kernel > limit {
                    format!(
                        "the kernel declares {of_kernel} bytes of __shared__ memory; {} has {limit}",
                        info.name
                    )
                } else {
                    format!(
                        "shared memory is {dynamic_bytes} bytes; {} allows 0 to {left}{own}",
                        info.name
                    )
                };
                Error::Launch {
                    kernel: self.facts.name.clone(),
                    reason,
                }
            })
    }

    /// Launch on the default stream and wait, or in `stream` and return at once.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit the parameters, a closed device, or what the device reports.
    ///
    /// # Safety
    ///
    /// Every pointer argument must be valid for what the kernel does with it until the launch has run.
    pub unsafe fn launch(
        &self,
        config: &LaunchConfig,
        arguments: &[Argument],
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<LaunchTimes> {
        // SAFETY: as the caller promises.
        unsafe { self.launch_with(config, arguments, stream, true) }
    }

    /// Like [`Kernel::launch`], for callers that do not want to know the times: those of short launches are not taken each time.
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`].
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`].
    pub unsafe fn run(
        &self,
        config: &LaunchConfig,
        arguments: &[Argument],
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.launch_with(config, arguments, stream, false) }.map(drop)
    }

    unsafe fn launch_with(
        &self,
        config: &LaunchConfig,
        arguments: &[Argument],
        stream: Option<&Arc<dyn Stream>>,
        wants_times: bool,
    ) -> Result<LaunchTimes> {
        self.shared.check_open()?;
        let mut stack = [0_u8; STACK_ARGUMENT_BYTES];
        let mut heap = Vec::new();
        let needed = self.facts.argument_block_bytes;
        let block = if needed <= STACK_ARGUMENT_BYTES {
            &mut stack[..needed]
        } else {
            heap.resize(needed, 0);
            &mut heap[..]
        };
        self.pack(arguments, block)?;
        let expected = self.expectations(config, arguments);
        // SAFETY: the block was packed to the kernel's own layout; pointers are the caller's promise.
        unsafe { self.submit(config, block, expected, stream, wants_times) }
    }

    unsafe fn submit(
        &self,
        config: &LaunchConfig,
        block: &[u8],
        expected: Option<Expectations>,
        stream: Option<&Arc<dyn Stream>>,
        wants_times: bool,
    ) -> Result<LaunchTimes> {
        match stream {
            // SAFETY: as the callers promise.
            None => unsafe { self.launch_and_wait(config, block, expected, wants_times) },
            // SAFETY: as above.
            Some(stream) => unsafe { self.launch_in(config, block, expected, stream) },
        }
    }

    /// Check that `given` arguments are as many as the kernel has parameters.
    ///
    /// # Errors
    ///
    /// `argument-count`, showing the signature.
    pub fn check_argument_count(&self, given: usize) -> Result<()> {
        if given == self.facts.parameters.len() {
            return Ok(());
        }
        Err(Error::ArgumentCount {
            signature: self.facts.signature.clone(),
            expected: self.facts.parameters.len(),
            given,
        })
    }

    fn pack(&self, arguments: &[Argument], block: &mut [u8]) -> Result<()> {
        self.check_argument_count(arguments.len())?;
        for (index, (parameter, argument)) in
            self.facts.parameters.iter().zip(arguments).enumerate()
        {
            pack(parameter, argument, block)
                .map_err(|misfit| misfit.at(&self.facts.name, index, parameter))?;
        }
        Ok(())
    }

    /// Puts the launch into a stream: as a launch, or as host code that watches it.
    unsafe fn enqueue(
        &self,
        stream: &dyn Stream,
        config: &LaunchConfig,
        block: &[u8],
        expected: Option<Expectations>,
    ) -> Result<()> {
        let Some(expected) = expected else {
            // SAFETY: as the callers promise.
            unsafe { stream.launch(self.function.as_ref(), config, block)? };
            return Ok(());
        };
        let (function, config, block) = (Arc::clone(&self.function), *config, block.to_vec());
        // SAFETY: as above; the caller keeps the memory until the command has run.
        let run = move || unsafe { checked::run(function.as_ref(), &config, &block, expected) };
        Ok(stream.call(Box::new(run))?)
    }

    unsafe fn launch_and_wait(
        &self,
        config: &LaunchConfig,
        block: &[u8],
        expected: Option<Expectations>,
        wants_times: bool,
    ) -> Result<LaunchTimes> {
        let stream = self.shared.device().default_stream();
        let timing = self.launches.next_waited_for();
        let is_timed = wants_times || timing != Timing::Untimed;
        let start_ns = if is_timed { now_ns() } else { 0 };
        // SAFETY: as `launch`; the wait below ends the use of the arguments.
        unsafe { self.enqueue(stream.as_ref(), config, block, expected)? };
        stream.synchronize()?;
        let duration_ns = if is_timed { now_ns() - start_ns } else { 0 };
        self.launches.count(1);
        self.launches
            .time(timing, stream.id() as u32, start_ns, duration_ns, config);
        if let Some(buffer) = &self.unit.printf_buffer {
            buffer.flush()?;
        }
        Ok(LaunchTimes {
            start_ns,
            duration_ns,
        })
    }

    unsafe fn launch_in(
        &self,
        config: &LaunchConfig,
        block: &[u8],
        expected: Option<Expectations>,
        stream: &Arc<dyn Stream>,
    ) -> Result<LaunchTimes> {
        self.shared.hold_back(stream.as_ref())?;
        // What kernels print is fetched behind an event, so those that do have one each.
        let timing = match self.unit.printf_buffer {
            None => self.launches.next_in_stream(),
            Some(_) => Timing::ALONE,
        };
        if timing == Timing::Untimed {
            let start_ns = now_ns();
            // SAFETY: as `launch`.
            unsafe { self.enqueue(stream.as_ref(), config, block, expected)? };
            self.count_launches(1);
            return Ok(LaunchTimes {
                start_ns,
                duration_ns: 0,
            });
        }
        let device = self.shared.device();
        let (begin, end) = (device.create_event()?, device.create_event()?);
        let submitted_ns = now_ns();
        stream.record(&begin)?;
        // SAFETY: as `launch`.
        unsafe { self.enqueue(stream.as_ref(), config, block, expected)? };
        stream.record(&end)?;
        // Now: who waits for the stream finds it counted, whenever its times are known.
        self.launches.count(1);
        if let Some(buffer) = &self.unit.printf_buffer {
            buffer.launched(stream.id(), &end);
        }
        let (launches, config, id) = (Arc::clone(&self.launches), *config, stream.id() as u32);
        let reached = Arc::clone(&end);
        stream.notify(
            &end,
            Box::new(move || {
                if let (Some(begin), Some(end)) = (begin.timestamp_ns(), reached.timestamp_ns()) {
                    let duration_ns = end.saturating_sub(begin);
                    launches.time(timing, id, begin, duration_ns, &config);
                }
            }),
        )?;
        Ok(LaunchTimes {
            start_ns: submitted_ns,
            duration_ns: 0,
        })
    }

    /// The device of the kernel as this process has it open.
    #[must_use]
    pub fn open_device(&self) -> &Arc<OpenDevice> {
        self.shared.open_device()
    }

    /// Whether the opening that it was made from was not closed yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.shared.check_open().is_ok()
    }

    /// The device of the kernel, for streams and events beside its launches.
    #[must_use]
    pub fn hal_device(&self) -> &Arc<dyn amdgpu_hal::Device> {
        self.shared.device()
    }

    pub(crate) fn function(&self) -> &Arc<dyn Function> {
        &self.function
    }

    /// Where the kernel leaves what it prints.
    pub(crate) fn printf_buffer(&self) -> Option<&Arc<PrintfBuffer>> {
        self.unit.printf_buffer.as_ref()
    }

    /// Launches that ran as part of something that is measured as a whole.
    pub(crate) fn count_launches(&self, launches: u64) {
        self.launches.count(launches);
    }

    /// Launches of a graph's replay, of about this time each.
    pub(crate) fn count_in_replay(&self, launches: u64, each_ns: u64) {
        self.launches.count_untimed(launches, each_ns);
    }

    /// About what a launch takes; 0 where none was timed.
    pub(crate) fn typical_ns(&self) -> u64 {
        self.launches.typical_ns()
    }

    /// Nothing where the device was opened without telemetry.
    pub(crate) fn sums(&self) -> Option<KernelSums> {
        self.launches.sums()
    }

    /// What tells the kernel from others of its name, on the bus and at the end of its handle.
    pub(crate) fn id(&self) -> &str {
        self.handle.rsplit(':').next().unwrap_or_default()
    }

    /// Whether another compiler made its code.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Whether accesses are checked while it runs.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.checks.is_some()
    }

    /// What the newest checked launch computed and moved.
    pub(crate) fn counted(&self) -> Option<CountedWork> {
        self.checks.as_ref()?.counted()
    }

    /// About what keeping it takes: a share of its unit, and its source.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.unit.bytes / self.unit.facts.kernels.len().max(1) + self.source.len()
    }

    /// The options it was compiled with.
    #[must_use]
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// What a checked launch is held to.
    fn expectations(&self, config: &LaunchConfig, arguments: &[Argument]) -> Option<Expectations> {
        let checks = self.checks.as_ref()?;
        let fixed = cpu_shared_bytes(
            self.facts.scratch_bytes_per_thread,
            self.facts.static_shared_bytes,
            config.threads_per_block(),
            0,
        );
        let dynamic = u64::from(config.shared_bytes).saturating_sub(fixed);
        Some(checks.expectations(&self.facts, self.shared.allocator(), dynamic, arguments))
    }

    /// Wait for a stream, at most `limit`; tells whether it became idle.
    ///
    /// # Errors
    ///
    /// What the stream reports.
    pub fn wait(stream: &dyn Stream, limit: Option<Duration>) -> Result<bool> {
        let Some(limit) = limit else {
            stream.synchronize()?;
            flush_printf(Some(stream.id()))?;
            return Ok(true);
        };
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let start_ns = now_ns();
        let mut attended_ns = 0;
        while !stream.is_idle()? {
            let waited_ns = now_ns() - start_ns;
            if waited_ns >= limit_ns {
                return Ok(false);
            }
            if waited_ns - attended_ns >= ATTENTION_NS {
                attended_ns = waited_ns;
                if attention::is_wait_over() {
                    if stream.cancel()? {
                        // Leaves the error that says so, which is told in another way here.
                        let _ = stream.synchronize();
                    }
                    return Err(amdgpu_hal::Error::Interrupted.into());
                }
            }
            if waited_ns < SPIN_NS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        stream.synchronize()?;
        flush_printf(Some(stream.id()))?;
        Ok(true)
    }

    /// Stop what a stream still runs, where the device can. Tells whether the stream is idle and free of errors afterwards.
    #[must_use]
    pub fn stop(stream: &dyn Stream) -> bool {
        if !stream.cancel().unwrap_or(false) {
            return false;
        }
        let is_idle = || stream.is_idle().unwrap_or(false);
        let start_ns = now_ns();
        while !is_idle() && now_ns() - start_ns < STOP_NS {
            std::thread::sleep(POLL_INTERVAL);
        }
        if !is_idle() {
            return false;
        }
        // Takes the error that says it was stopped, which has been heard here.
        let _ = stream.synchronize();
        true
    }

    /// A new event of the kernel's device.
    ///
    /// # Errors
    ///
    /// A closed device, or what the device reports.
    pub fn create_event(&self) -> Result<Arc<dyn Event>> {
        self.shared.check_open()?;
        Ok(self.shared.device().create_event()?)
    }

    /// A stream of the kernel's device that nobody else uses; give it back when it is idle.
    ///
    /// # Errors
    ///
    /// A closed device, or what the device reports.
    pub fn take_stream(&self) -> Result<Arc<dyn Stream>> {
        self.shared.take_stream()
    }

    /// Give back a stream of [`Kernel::take_stream`] that is idle.
    pub fn give_stream_back(&self, stream: Arc<dyn Stream>) {
        self.shared.give_stream_back(stream);
    }
}
