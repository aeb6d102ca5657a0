//! Streams: ordered, asynchronous command queues.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{DevicePointer, Event, Function, Graph, Result};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number that no other stream of the process has.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Host code that runs as a command of a stream. An error it returns sticks to the stream.
pub type HostFunction = Box<dyn FnOnce() -> Result<()> + Send>;

/// Host code that only looks: it runs beside the streams, and nothing waits for it.
pub type Notification = Box<dyn FnOnce() + Send>;

/// Which sides a copy connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyDirection {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

impl CopyDirection {
    /// The name used in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "host-to-device",
            Self::DeviceToHost => "device-to-host",
            Self::DeviceToDevice => "device-to-device",
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks in x, y, z; none is zero.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; none is zero.
    pub block: [u32; 3],
    /// Dynamic shared memory of each block.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// A one-dimensional launch without dynamic shared memory.
    #[must_use]
    pub const fn linear(blocks: u32, threads_per_block: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads_per_block, 1, 1],
            shared_bytes: 0,
        }
    }

    /// Blocks of the whole grid; `None` past the range of `u64`.
    #[must_use]
    pub fn block_count(&self) -> Option<u64> {
        let plane = u64::from(self.grid[0]) * u64::from(self.grid[1]);
        plane.checked_mul(u64::from(self.grid[2]))
    }

    /// Threads of one block.
    #[must_use]
    pub fn threads_per_block(&self) -> u64 {
        u64::from(self.block[0])
            .saturating_mul(u64::from(self.block[1]))
            .saturating_mul(u64::from(self.block[2]))
    }
}

/// An ordered queue of commands.
///
/// Submitting does not wait for the command, with one exception: the default stream of the CPU runs it at once, on the calling thread,
/// when nothing is queued before it.
pub trait Stream: Debug + Send + Sync {
    /// Unique in the process, never reused.
    fn id(&self) -> u64;

    /// Copies `bytes` from `source` to `destination`; the ranges do not overlap.
    ///
    /// # Safety
    /// Both ranges are valid for the copy, and stay so until the command has run.
    unsafe fn copy(
        &self,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    ) -> Result<()>;

    /// Sets `bytes` bytes to `value`.
    ///
    /// # Safety
    /// The range is valid device memory and stays so until the command has run.
    unsafe fn fill(&self, destination: DevicePointer, value: u8, bytes: u64) -> Result<()>;

    /// Launches a kernel. `arguments` is the packed argument block; it is copied before the call returns, or used before it.
    ///
    /// # Safety
    /// `arguments` matches the kernel's parameters, `config` respects the limits of the device, and all memory the kernel reaches stays
    /// valid until the command has run.
    unsafe fn launch(
        &self,
        function: &dyn Function,
        config: &LaunchConfig,
        arguments: &[u8],
    ) -> Result<()>;

    /// Runs a graph of the same device as one command of this stream. Replays of one graph never overlap: each waits for the one before.
    ///
    /// # Safety
    /// Every launch in it matches its kernel's parameters and the limits of the device, and all memory that its commands reach stays valid
    /// until the command has run.
    unsafe fn replay(&self, graph: &dyn Graph) -> Result<()>;

    /// Records `event` behind everything submitted so far.
    fn record(&self, event: &Arc<dyn Event>) -> Result<()>;

    /// Holds later commands back until what `event` was last recorded behind is done, in a stream of this or another device of the same driver.
    /// An event never recorded holds nothing back.
    fn wait(&self, event: &Arc<dyn Event>) -> Result<()>;

    /// Runs host code in the order of the stream. It may submit to any stream, but not wait for this one.
    fn call(&self, function: HostFunction) -> Result<()>;

    /// Runs host code some time after `event`, recorded in this stream, was reached: for statistics. Unlike [`Self::call`] it need not hold
    /// later commands back, and on a GPU it runs also when the stream has failed.
    fn notify(&self, event: &Arc<dyn Event>, notification: Notification) -> Result<()> {
        // Where streams are threads of ours, a command costs no more than watching the event would.
        let _ = event;
        self.call(Box::new(move || {
            notification();
            Ok(())
        }))
    }

    /// Waits until everything submitted so far is done; returns and clears the error that sticks to the stream.
    fn synchronize(&self) -> Result<()>;

    /// Whether everything submitted so far is done.
    fn is_idle(&self) -> Result<bool>;

    /// The driver's own handle of the stream, for other libraries that order their work with it; `None` where there is no driver.
    fn native_handle(&self) -> Option<u64> {
        None
    }

    /// Lets another library submit to the driver's stream behind everything submitted so far: `work` is called once with the driver's handle,
    /// while the device's context is current on this thread and no other thread submits. Commands held behind host functions are waited for.
    /// An error of `work` is returned and does not stick. `false` where there is no driver: `work` was not called.
    ///
    /// # Safety
    /// Whatever `work` submits uses memory that stays valid until the stream has passed it.
    unsafe fn lend(
        &self,
        name: &Arc<str>,
        work: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        let _ = (name, work);
        Ok(false)
    }

    /// Asks what was submitted so far to stop: commands that have not begun are left out, waits for other streams end, and
    /// kernels stop between blocks, or after some milliseconds in the middle of them. What stopped leaves
    /// [`crate::Error::Cancelled`] in the stream. Tells whether there was anything to stop and the backend can.
    fn cancel(&self) -> Result<bool> {
        Ok(false)
    }

    /// Commands submitted and not yet finished.
    fn depth(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_count_their_blocks_and_threads() {
        const MOST: u32 = u32::MAX;
        for (grid, blocks, threads) in [
            ([1, 1, 1], Some(1), 1),
            ([2, 3, 5], Some(30), 30),
            ([7, 1, 1], Some(7), 7),
            ([1, 1, 9], Some(9), 9),
            ([0, 3, 5], Some(0), 0),
            (
                [MOST, MOST, 1],
                Some(18_446_744_065_119_617_025),
                18_446_744_065_119_617_025,
            ),
            ([MOST, MOST, 2], None, u64::MAX),
        ] {
            let config = LaunchConfig {
                grid,
                block: grid,
                shared_bytes: 0,
            };
            assert_eq!(config.block_count(), blocks, "{grid:?}");
            assert_eq!(config.threads_per_block(), threads, "{grid:?}");
        }
        let line = LaunchConfig::linear(6, 64);
        assert_eq!(
            (line.block_count(), line.threads_per_block()),
            (Some(6), 64)
        );
    }
}
