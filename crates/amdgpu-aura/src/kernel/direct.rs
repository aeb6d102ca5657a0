//! Kernels of the CPU device called block by block inside the loop of a core above.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use amdgpu_hal::LaunchConfig;
use amdgpu_hal::cpu::DirectLaunch;
use amdgpu_telemetry::{is_enabled, is_in_sample, now_ns};

use super::Kernel;
use crate::arguments::Argument;
use crate::error::Result;

/// A kernel with packed arguments that its owner runs on threads of its own choice. Launches are counted by the owner, in bulk.
pub struct DirectKernel {
    kernel: Arc<Kernel>,
    launch: DirectLaunch,
    blocks: u64,
    /// Calls of [`DirectKernel::run`]. Two threads may take one number, which only moves the sample.
    runs: AtomicU32,
    /// Of a sample of them.
    sample: Sample,
    /// Runs of the sample that were told of.
    told: AtomicU64,
}

#[derive(Default)]
struct Sample {
    runs: AtomicU64,
    blocks: AtomicU64,
    spent_ns: AtomicU64,
}

impl Sample {
    /// How often, and nanoseconds of a block on average; zero where nothing was timed.
    fn mean(&self) -> (u64, f64) {
        let [runs, blocks, spent_ns] =
            [&self.runs, &self.blocks, &self.spent_ns].map(|cell| cell.load(Ordering::Relaxed));
        (runs, spent_ns as f64 / blocks.max(1) as f64)
    }
}

/// Launches of a kernel inside of something that is measured as a whole, before they are counted.
pub struct InsideLaunches<'a> {
    kernel: &'a Kernel,
    launches: u64,
    timed: u64,
    /// Of all blocks one after the other, estimated from those that were timed.
    pub time_ns: f64,
}

impl InsideLaunches<'_> {
    /// Counts them. `factor` makes the estimate fit into the time of the whole.
    pub fn count(self, factor: f64) {
        if self.launches > 0 {
            let each_ns = self.time_ns * factor / self.launches as f64;
            let timed = self.timed.min(self.launches);
            self.kernel
                .launches
                .count_inside(self.launches, timed, each_ns as u64);
        }
    }
}

impl DirectKernel {
    /// `None` where the kernel is not one of the CPU device.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit the parameters.
    pub fn new(
        kernel: &Arc<Kernel>,
        config: &LaunchConfig,
        arguments: &[Argument],
    ) -> Result<Option<Self>> {
        let packed = kernel.pack_arguments(arguments)?;
        let launch = DirectLaunch::new(kernel.function.as_ref(), config, &packed.block);
        Ok(launch.map(|launch| Self {
            kernel: Arc::clone(kernel),
            launch,
            blocks: config.block_count().unwrap_or(u64::MAX),
            runs: AtomicU32::new(0),
            sample: Sample::default(),
            told: AtomicU64::new(0),
        }))
    }

    /// Put the bytes of a scalar or an address in place of those before.
    ///
    /// # Panics
    ///
    /// Panics if the parameter has another size.
    pub fn set_bytes(&mut self, index: usize, bytes: &[u8]) {
        let parameter = &self.kernel.facts.parameters[index];
        assert_eq!(
            parameter.size_bytes,
            bytes.len(),
            "an argument keeps its size"
        );
        self.launch.set(parameter.offset_bytes, bytes);
    }

    /// Run these blocks on this thread.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`]; `blocks` are blocks of the launch.
    pub unsafe fn run(&self, blocks: Range<u64>) {
        let number = self.runs.load(Ordering::Relaxed);
        self.runs.store(number.wrapping_add(1), Ordering::Relaxed);
        if !is_in_sample(number) || !is_enabled() {
            // SAFETY: as the caller promises.
            unsafe { self.launch.run(blocks) };
            return;
        }
        let (count, begin_ns) = (blocks.end.saturating_sub(blocks.start), now_ns());
        // SAFETY: as the caller promises.
        unsafe { self.launch.run(blocks) };
        let spent_ns = now_ns().saturating_sub(begin_ns);
        self.sample.runs.fetch_add(1, Ordering::Relaxed);
        self.sample.blocks.fetch_add(count, Ordering::Relaxed);
        self.sample.spent_ns.fetch_add(spent_ns, Ordering::Relaxed);
    }

    /// Launches that were made this way since the last call.
    pub fn take_launches(&self, launches: u64) -> InsideLaunches<'_> {
        let blocks = self.blocks.saturating_mul(launches);
        Self::take_uneven_launches(launches, self, blocks, &[], 0)
    }

    /// As [`DirectKernel::take_launches`] for launches of different numbers of blocks, some of them run by `parts`, the same kernel with
    /// other arguments: all launches together ran `blocks` blocks of `whole` and `part_blocks` of each part.
    pub fn take_uneven_launches<'a>(
        launches: u64,
        whole: &'a Self,
        blocks: u64,
        parts: &[Self],
        part_blocks: u64,
    ) -> InsideLaunches<'a> {
        let mut taken = InsideLaunches {
            kernel: &whole.kernel,
            launches,
            timed: 0,
            time_ns: 0.0,
        };
        for (kernel, ran) in
            iter::once((whole, blocks)).chain(parts.iter().map(|part| (part, part_blocks)))
        {
            let (runs, block_ns) = kernel.sample.mean();
            taken.timed += runs - kernel.told.swap(runs, Ordering::Relaxed).min(runs);
            taken.time_ns += block_ns * ran as f64;
        }
        taken
    }
}
