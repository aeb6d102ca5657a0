//! Running a kernel: blocks are spread over the thread pool, tiny launches stay on the calling thread.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;

use super::cancel::Cancellation;
use super::module::CpuFunction;
use super::pool;
use super::preempt;
use crate::{Error, LaunchConfig, Result, clock};

/// Estimated rest of a launch from which sharing it out pays: several times what waking a sleeping thread costs
/// its caller (about 5 µs on an AMD EPYC, 13 on a virtual machine of an Intel Xeon).
const PARALLEL_THRESHOLD_NS: u64 = 20_000;
/// Estimated time of the smallest piece given to a thread.
const PIECE_NS: u64 = 10_000;
/// Estimated time between two looks at whether the launch has to stop: far below any limit in milliseconds, far above what a
/// call of the kernel costs.
const CANCELLATION_INTERVAL_NS: u64 = 100_000;
/// Alignment of argument blocks and of shared memory: enough for every vector type of the source language, and a cache line.
const ALIGN_BYTES: usize = 64;

/// What a kernel needs to know of its launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CpuLaunch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory for the one block that the calling thread is in; aligned to 64 bytes, undefined contents.
    pub shared: *mut c_void,
    pub shared_bytes: u64,
}

/// The machine-code signature of a kernel: runs the blocks `block_begin..block_end`, numbered with x fastest.
pub type KernelEntry = unsafe extern "C" fn(
    arguments: *const u8,
    launch: *const CpuLaunch,
    block_begin: u64,
    block_end: u64,
);

/// An argument block kept for later, aligned.
pub(super) struct PackedArguments {
    storage: Box<[AlignedLine]>,
    len_bytes: usize,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct AlignedLine([u8; ALIGN_BYTES]);

impl PackedArguments {
    pub fn new(arguments: &[u8]) -> Self {
        let lines = arguments.chunks(ALIGN_BYTES).map(|chunk| {
            let mut line = AlignedLine([0; ALIGN_BYTES]);
            line.0[..chunk.len()].copy_from_slice(chunk);
            line
        });
        Self {
            storage: lines.collect(),
            len_bytes: arguments.len(),
        }
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `storage` holds at least `len_bytes` initialised bytes, line after line without gaps.
        unsafe { std::slice::from_raw_parts(self.storage.as_ptr().cast(), self.len_bytes) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr().cast(), self.len_bytes) }
    }
}

thread_local! {
    /// Shared memory of the block this thread runs; kept between launches.
    static SHARED: RefCell<Vec<AlignedLine>> = const { RefCell::new(Vec::new()) };
}

/// Runs all blocks of a launch and returns when they are done.
///
/// # Safety
/// As for [`crate::Stream::launch`].
pub(super) unsafe fn run(
    function: &CpuFunction,
    config: &LaunchConfig,
    arguments: &[u8],
) -> Result<()> {
    if !arguments.as_ptr().addr().is_multiple_of(16) {
        // Kernels load vectors from their arguments; 16 bytes is the strictest alignment such a load asks for.
        let packed = PackedArguments::new(arguments);
        // SAFETY: the same bytes, aligned.
        return unsafe { run(function, config, packed.as_slice()) };
    }
    let block_count = config.block_count().ok_or_else(|| Error::DriverFault {
        device: "cpu:0".to_string(),
        operation: "launch",
        reason: format!("a grid of {:?} blocks is more than 2^64", config.grid),
    })?;
    let piece = Piece {
        entry: function.entry(),
        arguments: arguments.as_ptr(),
        config,
        code: function.code_range(),
        cancellation: Cancellation::current(),
    };
    piece.outcome()?;
    if block_count <= 1 {
        piece.run(0..block_count);
        return piece.outcome();
    }
    let pool = pool::global();
    // The first block is the measure for the others: what a block costs cannot be known beforehand.
    let begin_ns = clock::now_ns();
    piece.run(0..1);
    let block_ns = (clock::now_ns() - begin_ns).max(1);
    let rest = block_count - 1;
    if block_ns.saturating_mul(rest) < PARALLEL_THRESHOLD_NS {
        piece.run(1..block_count);
        return piece.outcome();
    }
    let step = (CANCELLATION_INTERVAL_NS / block_ns).max(1);
    if pool.thread_count() == 1 {
        piece.run_in_steps(1..block_count, step);
        return piece.outcome();
    }
    let grain = (PIECE_NS / block_ns).max(1);
    pool.parallel_for(rest, grain, &|range| {
        piece.run_in_steps(range.start + 1..range.end + 1, step);
    })?;
    piece.outcome()
}

/// Runs some blocks on this thread; `tell` is given the memory that the block has as shared memory.
///
/// # Safety
/// As for [`crate::Stream::launch`].
pub(super) unsafe fn run_blocks(
    function: &CpuFunction,
    config: &LaunchConfig,
    arguments: &[u8],
    blocks: Range<u64>,
    tell: impl Fn(Range<u64>),
) {
    let piece = Piece {
        entry: function.entry(),
        arguments: arguments.as_ptr(),
        config,
        code: function.code_range(),
        cancellation: Cancellation::current(),
    };
    piece.with_shared(|shared| {
        let begin = shared.expose_provenance() as u64;
        tell(begin..begin + u64::from(config.shared_bytes));
        piece.enter(shared, blocks.clone());
    });
}

struct Piece<'a> {
    entry: KernelEntry,
    arguments: *const u8,
    config: &'a LaunchConfig,
    /// Where the kernel's module lies.
    code: Range<usize>,
    cancellation: Cancellation,
}

// SAFETY: the argument block is only read, and the kernel is code that its launcher declared fit for running on many threads.
unsafe impl Sync for Piece<'_> {}

impl Piece<'_> {
    fn outcome(&self) -> Result<()> {
        if self.cancellation.is_requested() {
            return Err(Error::cancelled());
        }
        Ok(())
    }

    /// Runs blocks until all are done or the launch has to stop.
    fn run_in_steps(&self, mut blocks: Range<u64>, step: u64) {
        while !blocks.is_empty() && !self.cancellation.is_requested() {
            let end = blocks.end.min(blocks.start.saturating_add(step));
            self.run(blocks.start..end);
            blocks.start = end;
        }
    }

    fn run(&self, blocks: Range<u64>) {
        self.with_shared(|shared| self.enter(shared, blocks.clone()));
    }

    /// Calls with memory for one block; null when the launch needs none.
    fn with_shared(&self, work: impl Fn(*mut c_void)) {
        let shared_bytes = self.config.shared_bytes as usize;
        if shared_bytes == 0 {
            work(std::ptr::null_mut());
            return;
        }
        // Taken out: a signal handler may run another kernel in the middle of this one.
        let mut storage = SHARED.take();
        let lines = shared_bytes.div_ceil(ALIGN_BYTES);
        if storage.len() < lines {
            storage.resize(lines, AlignedLine([0; ALIGN_BYTES]));
        }
        work(storage.as_mut_ptr().cast());
        SHARED.set(storage);
    }

    fn enter(&self, shared: *mut c_void, blocks: Range<u64>) {
        let launch = CpuLaunch {
            grid: self.config.grid,
            block: self.config.block,
            shared,
            shared_bytes: u64::from(self.config.shared_bytes),
        };
        if !self.cancellation.exists() {
            // SAFETY: the launcher vouches for the kernel and its arguments; `launch` lives through the call.
            unsafe { (self.entry)(self.arguments, &raw const launch, blocks.start, blocks.end) };
            return;
        }
        let code = self.code.clone();
        // SAFETY: as above.
        unsafe {
            preempt::call(
                self.entry,
                self.arguments,
                &launch,
                blocks,
                code,
                self.cancellation,
            );
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_arguments_keep_bytes_and_are_aligned() {
        for len in [0_usize, 1, 63, 64, 65, 4096] {
            let bytes: Vec<u8> = (0..len).map(|index| index as u8).collect();
            let packed = PackedArguments::new(&bytes);
            assert_eq!(packed.as_slice(), bytes);
            assert!(
                packed
                    .as_slice()
                    .as_ptr()
                    .addr()
                    .is_multiple_of(ALIGN_BYTES)
            );
        }
    }

    #[test]
    fn launch_block_layout_is_the_one_kernels_are_compiled_for() {
        assert_eq!(std::mem::offset_of!(CpuLaunch, grid), 0);
        assert_eq!(std::mem::offset_of!(CpuLaunch, block), 12);
        assert_eq!(std::mem::offset_of!(CpuLaunch, shared), 24);
        assert_eq!(std::mem::offset_of!(CpuLaunch, shared_bytes), 32);
        assert_eq!(size_of::<CpuLaunch>(), 40);
    }
}
