//! The owned handle of a piece of memory.

use std::sync::Arc;

use amdgpu_hal::{Device, DevicePointer, MemoryKind, Stream};

use crate::Result;
use crate::cache::{Handle, Taken};
use crate::pool::Pool;

/// Memory of a device; dropping it gives it back to the cache.
///
/// The memory belongs to the stream it was allocated for: commands of that stream that were submitted before the drop still find it
/// intact. Other streams must be named with [`Self::record_stream`].
#[derive(Debug)]
pub struct Block {
    pool: Arc<Pool>,
    handle: Handle,
    ptr: DevicePointer,
    len_bytes: u64,
    capacity_bytes: u64,
    /// `None`: the default stream of the device.
    stream: Option<Arc<dyn Stream>>,
}

impl Block {
    pub(crate) fn new(
        pool: Arc<Pool>,
        taken: Taken,
        len_bytes: u64,
        stream: Option<Arc<dyn Stream>>,
    ) -> Self {
        Self {
            pool,
            handle: taken.handle,
            ptr: DevicePointer(taken.address),
            len_bytes,
            capacity_bytes: taken.bytes,
            stream,
        }
    }

    /// Where it begins; a multiple of 256 on GPUs and of 64 on the CPU.
    #[must_use]
    pub fn ptr(&self) -> DevicePointer {
        self.ptr
    }

    /// What was asked for.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// What the block really has: the request rounded up.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The device it belongs to.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.pool.device
    }

    /// What kind of memory it is.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.pool.kind
    }

    /// The stream it was allocated for.
    #[must_use]
    pub fn stream(&self) -> &Arc<dyn Stream> {
        self.stream
            .as_ref()
            .unwrap_or_else(|| self.pool.device.default_stream())
    }

    /// Says that `stream` uses the block, too: when the block is dropped, it is held back until what `stream` was told by then is done.
    pub fn record_stream(&self, stream: &Arc<dyn Stream>) -> Result<()> {
        self.pool
            .record_stream(self.handle, self.ptr.address(), stream)
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Fails only in a forked child, where the memory is a copy that goes with the process: a live handle is always known.
        let _ = self
            .pool
            .free(self.handle, self.ptr.address(), self.stream.as_ref());
    }
}
