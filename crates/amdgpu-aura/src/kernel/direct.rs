//! Kernels of the CPU device called block by block inside the loop of a core above.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use amdgpu_hal::LaunchConfig;
use amdgpu_hal::cpu::DirectLaunch;
use amdgpu_telemetry::{is_enabled, now_ns};

use super::Kernel;
use super::launches::is_in_sample;
use crate::arguments::Argument;
use crate::error::Result;

/// A kernel with packed arguments that its owner runs on threads of its own choice. Launches are counted by the owner, in bulk.
pub struct DirectKernel {
    kernel: Arc<Kernel>,
    launch: DirectLaunch,
    blocks: u64,
    /// Calls of [`DirectKernel::run`]. Two threads may take one number, which only moves the sample.
    runs: AtomicU32,
    /// Of a sample of them since the last [`DirectKernel::count_launches`].
    sample: Sample,
}

#[derive(Default)]
struct Sample {
    runs: AtomicU64,
    blocks: AtomicU64,
    spent_ns: AtomicU64,
}

impl Sample {
    /// Runs, blocks and nanoseconds since the last call.
    fn take(&self) -> (u64, u64, u64) {
        let taken = |cell: &AtomicU64| cell.swap(0, Ordering::Relaxed);
        (
            taken(&self.runs),
            taken(&self.blocks),
            taken(&self.spent_ns),
        )
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

    /// Count launches that were made this way since the last call. Their time, that of all their blocks one after the other, is estimated
    /// from the blocks that were timed; returns the sum in nanoseconds, zero where none was.
    pub fn count_launches(&self, launches: u64) -> u64 {
        let blocks = self.blocks.saturating_mul(launches);
        Self::count_uneven_launches(launches, self, blocks, &[], 0)
    }

    /// As [`DirectKernel::count_launches`] for launches of different numbers of blocks, some of them run by `parts`, the same kernel with
    /// other arguments: all launches together ran `blocks` blocks of `whole` and `part_blocks` of each part.
    pub fn count_uneven_launches(
        launches: u64,
        whole: &Self,
        blocks: u64,
        parts: &[Self],
        part_blocks: u64,
    ) -> u64 {
        let (mut timed, mut total_ns) = (0, 0.0);
        for (kernel, ran) in
            iter::once((whole, blocks)).chain(parts.iter().map(|part| (part, part_blocks)))
        {
            let (runs, blocks, spent_ns) = kernel.sample.take();
            if blocks > 0 {
                timed += runs;
                total_ns += spent_ns as f64 / blocks as f64 * ran as f64;
            }
        }
        if launches == 0 || timed == 0 {
            whole.kernel.count_launches(launches);
            return 0;
        }
        let launch_ns = total_ns / launches as f64;
        whole
            .kernel
            .launches
            .count_estimated(launches, timed.min(launches), launch_ns as u64);
        total_ns as u64
    }
}
