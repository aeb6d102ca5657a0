//! Checked launches: kernels that were compiled with checks ask here before every access, at barriers and in loops.
//!
//! Blocks run one after the other on the calling thread, so one [`Watch`] sees all of a launch in order. The first fault is kept and
//! the rest counted; the work-item of a fault ends, all others go on. [`shadow`] remembers who touched what, for races.

mod counts;
mod fault;
mod hooks;
mod lanes;
mod shadow;
mod targets;

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::cancel::Cancellation;
use super::launch::{self, PackedArguments};
use super::module::CpuFunction;
use crate::{Error, Function, LaunchConfig, Result};

pub use counts::{CountedWork, Counts};
pub use lanes::{KEPT_LAUNCHES, LANES, LaneActivity, LaneRow, lane_activity};

pub(super) use hooks::address_of;

use fault::Fault;
use lanes::LaneCounts;
use shadow::Shadow;
use targets::Targets;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// What the compiler knows of the memory behind an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Unknown,
    /// Number of the array among those of the launch.
    Argument(usize),
    Private {
        bytes: u64,
    },
    /// 0 bytes: as much as the launch gives.
    Shared {
        name: String,
        bytes: u64,
    },
    Global {
        name: String,
        bytes: u64,
    },
}

/// A place in the source where something is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub line: u32,
    pub kind: AccessKind,
    pub align: u64,
    pub target: Target,
}

/// An array of the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Of the parameter.
    pub name: String,
    pub address: u64,
    pub bytes: u64,
}

/// Other memory that pointers inside of arrays and structs may lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherMemory {
    pub address: u64,
    pub bytes: u64,
    pub is_freed: bool,
}

/// Everything a launch is checked against.
#[derive(Clone, Debug)]
pub struct Expectations {
    pub kernel: String,
    pub file: String,
    pub sites: Arc<[Site]>,
    pub arrays: Vec<Array>,
    pub others: Vec<OtherMemory>,
    /// Dynamic shared memory.
    pub dynamic_shared_bytes: u64,
    /// Told what the launch did.
    pub counts: Arc<Counts>,
}

/// A launch that is watched.
struct Watch {
    kernel: String,
    file: String,
    sites: Arc<[Site]>,
    targets: Targets,
    shadow: Shadow,
    lanes: LaneCounts,
    work: CountedWork,
    counts: Arc<Counts>,
    block_size: [u32; 3],
    grid: [u32; 3],
    fault: Option<Fault>,
    others: u64,
    /// The block that runs, and its work-items.
    block: u64,
    items: Vec<Item>,
    /// Lines of the barriers that the block has met, in order.
    barriers: Vec<u32>,
    cancellation: Cancellation,
    is_cancelled: bool,
    /// Questions until the cancellation is looked at again.
    patience: u32,
}

/// Where a work-item of the running block is.
#[derive(Clone, Copy, Default)]
struct Item {
    /// Barriers it has passed.
    barriers: u32,
    /// Operations of its wave it has taken part in.
    waves: u32,
    is_stopped: bool,
}

/// Questions between two looks at the cancellation: microseconds.
const PATIENCE: u32 = 256;
/// Kept barriers of a block: enough to compare any real one; past it they are not compared.
const MAX_BARRIERS: usize = 1 << 20;

thread_local! {
    /// The watch of the launch that this thread runs.
    static CURRENT: Cell<*mut Watch> = const { Cell::new(ptr::null_mut()) };
}

/// Gives the thread its former watch back.
struct Restore(*mut Watch);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs a kernel that was compiled with checks, to be called as a command of a stream.
///
/// # Errors
/// The first fault, with the number of the others; `Cancelled`.
///
/// # Safety
/// As for [`crate::Stream::launch`]; accesses outside of what is expected do not happen, but all of what is expected must be valid.
pub unsafe fn run(
    function: &dyn Function,
    config: &LaunchConfig,
    arguments: &[u8],
    expected: Expectations,
) -> Result<()> {
    let function: &CpuFunction =
        function
            .as_any()
            .downcast_ref()
            .ok_or_else(|| Error::WrongBackend {
                what: "the kernel",
                device: "cpu:0".to_string(),
            })?;
    let packed = PackedArguments::new(arguments);
    let mut watch = Watch {
        lanes: LaneCounts::new(expected.sites.len()),
        work: CountedWork::default(),
        counts: expected.counts,
        kernel: expected.kernel,
        file: expected.file,
        sites: expected.sites,
        targets: Targets::new(
            expected.arrays,
            expected.others,
            expected.dynamic_shared_bytes,
            function.data_range(),
        ),
        shadow: Shadow::default(),
        block_size: config.block,
        grid: config.grid,
        fault: None,
        others: 0,
        block: u64::MAX,
        items: vec![Item::default(); config.threads_per_block() as usize],
        barriers: Vec::new(),
        cancellation: Cancellation::current(),
        is_cancelled: false,
        patience: PATIENCE,
    };
    let blocks = config.block_count().unwrap_or(u64::MAX);
    {
        let _restore = Restore(CURRENT.replace(&raw mut watch));
        for block in 0..blocks {
            // SAFETY: hooks borrow the watch only while the kernel runs, on this thread.
            let is_cancelled = unsafe { (*CURRENT.get()).begin(block) };
            if is_cancelled {
                break;
            }
            // SAFETY: the caller vouches for the kernel and its arguments.
            unsafe {
                launch::run_blocks(
                    function,
                    config,
                    packed.as_slice(),
                    block..block + 1,
                    |shared| {
                        (*CURRENT.get()).targets.set_shared(shared);
                    },
                );
            };
        }
    }
    watch.outcome()
}

impl Watch {
    /// Starts a block; tells whether the launch has to stop instead.
    fn begin(&mut self, block: u64) -> bool {
        self.block = block;
        self.items.fill(Item::default());
        self.barriers.clear();
        self.is_cancelled |= self.cancellation.is_requested();
        self.is_cancelled
    }

    fn outcome(self) -> Result<()> {
        self.lanes.keep(
            &self.sites,
            &self.kernel,
            &self.file,
            self.grid,
            self.block_size,
        );
        if let Some(fault) = self.fault {
            return Err(fault.into_error(&self.kernel, &self.file, self.others));
        }
        if self.is_cancelled {
            return Err(Error::cancelled());
        }
        let extents = self.grid.iter().chain(&self.block_size);
        self.counts.keep(CountedWork {
            work_items: extents.fold(1, |items: u64, &extent| {
                items.saturating_mul(u64::from(extent))
            }),
            ..self.work
        });
        Ok(())
    }
}
