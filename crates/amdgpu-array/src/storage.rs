//! Memory behind arrays, and who keeps it.

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{DeviceKind, Module};
use amdgpu_memory::Block;

use crate::{MemoryLocation, Owner, Result, Uses, recording, tracing};

/// Memory, held by all that use it.
pub struct Storage {
    memory: Memory,
    uses: Uses,
    /// Of all views: freeing one ends the use of all.
    is_freed: AtomicBool,
    /// An interface told the address to somebody who holds the array object and nothing else.
    is_pinned: AtomicBool,
    /// A function that is traced computes with it: the paths for memory of the host, where nothing is noted, leave it alone.
    is_traced: AtomicBool,
    /// A function that was traced made it.
    made_in_trace: bool,
}

/// Memory and who owns it.
enum Memory {
    /// From the allocator of a device. The block is taken out when the array is freed and nobody else looks at it.
    Block {
        block: Mutex<Option<Block>>,
        device: Arc<OpenDevice>,
        /// Somebody else was told the address, and may look there without asking.
        is_lent: AtomicBool,
    },
    /// A variable of a module.
    Module {
        device: Arc<OpenDevice>,
        #[allow(dead_code, reason = "held, not read")]
        module: Arc<dyn Module>,
    },
    External(External),
}

/// Memory of another library, kept alive by its owner.
pub struct External {
    pub location: MemoryLocation,
    /// The GPU that reaches it; none for host memory.
    pub device: Option<Arc<dyn hal::Device>>,
    pub owner: Owner,
}

// SAFETY: the owner is Send and is never accessed, only dropped; everything else is Sync.
unsafe impl Sync for External {}

impl Storage {
    fn new(memory: Memory) -> Arc<Self> {
        Arc::new(Self {
            memory,
            uses: Uses::default(),
            is_freed: AtomicBool::new(false),
            is_pinned: AtomicBool::new(false),
            is_traced: AtomicBool::new(false),
            made_in_trace: tracing::is_active(),
        })
    }

    pub(crate) fn of_block(device: Arc<OpenDevice>, block: Block) -> Arc<Self> {
        Self::new(Memory::Block {
            block: Mutex::new(Some(block)),
            device,
            is_lent: AtomicBool::new(false),
        })
    }

    pub(crate) fn of_module(device: Arc<OpenDevice>, module: Arc<dyn Module>) -> Arc<Self> {
        Self::new(Memory::Module { device, module })
    }

    pub(crate) fn of_external(external: External) -> Arc<Self> {
        Self::new(Memory::External(external))
    }

    /// The streams that were given work on the memory.
    #[inline]
    #[must_use]
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Waits for what streams were given to do with the memory; nothing while this thread records a graph.
    ///
    /// # Errors
    ///
    /// What a stream has failed with.
    pub fn finish_uses(&self) -> Result<()> {
        if self.uses.is_used() && !recording::is_recording() {
            self.uses.finish()?;
        }
        Ok(())
    }

    /// The device whose memory it is; `None` for memory of other libraries.
    #[inline]
    #[must_use]
    pub fn open_device(&self) -> Option<&Arc<OpenDevice>> {
        match &self.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Some(device),
            Memory::External(_) => None,
        }
    }

    /// The device through which the memory is reached; `None` for host memory of other libraries.
    #[must_use]
    pub fn hal_device(&self) -> Option<&Arc<dyn hal::Device>> {
        match &self.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Some(device.device()),
            Memory::External(external) => external.device.as_ref(),
        }
    }

    /// Name of the device; `None` for host memory of other libraries.
    #[must_use]
    pub fn device_name(&self) -> Option<&str> {
        match &self.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Some(device.name()),
            Memory::External(external) => external.location.device(),
        }
    }

    #[must_use]
    pub fn location(&self) -> MemoryLocation {
        match &self.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => {
                MemoryLocation::Device(device.name().to_owned())
            }
            Memory::External(external) => external.location.clone(),
        }
    }

    #[must_use]
    pub fn device_kind(&self) -> DeviceKind {
        self.hal_device()
            .map_or(DeviceKind::Cpu, |device| device.info().kind)
    }

    /// Whether the memory is the host's: it is no device's, or that of a device whose memory the host reads at its address.
    #[must_use]
    pub fn is_host_visible(&self) -> bool {
        self.hal_device()
            .is_none_or(|device| device.info().capabilities.host_visible)
    }

    /// Notes that the values depend on what a function that is traced was given.
    pub fn set_traced(&self) {
        self.is_traced.store(true, Ordering::Relaxed);
    }

    /// Whether the values depend on what a function that is traced was given.
    #[inline]
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.is_traced.load(Ordering::Relaxed)
    }

    /// Whether a function that was traced made it.
    #[must_use]
    pub fn made_in_trace(&self) -> bool {
        self.made_in_trace
    }

    /// The memory of the allocator that it is, as its first address and its length in bytes; `None` for other memory, and once it is freed.
    #[must_use]
    pub fn block_range(&self) -> Option<(u64, u64)> {
        let Memory::Block { block, .. } = &self.memory else {
            return None;
        };
        let block = block.lock().unwrap_or_else(PoisonError::into_inner);
        let block = block.as_ref()?;
        Some((block.ptr().address(), block.len_bytes()))
    }

    /// Whether the host reads the memory and nobody, a GPU or who traces a function, has to be asked before.
    #[inline]
    #[must_use]
    pub fn is_plain_host(&self) -> bool {
        !self.is_traced()
            && match &self.memory {
                Memory::Block { device, .. } | Memory::Module { device, .. } => {
                    device.is_host_visible()
                }
                Memory::External(external) => external.location == MemoryLocation::Host,
            }
    }

    /// The device whose allocator the memory is from, and whether somebody else knows the memory, too.
    #[must_use]
    pub fn allocated_by(&self) -> Option<(&Arc<OpenDevice>, bool)> {
        match &self.memory {
            Memory::Block {
                device, is_lent, ..
            } => Some((device, is_lent.load(Ordering::Acquire))),
            Memory::Module { .. } | Memory::External(_) => None,
        }
    }

    pub(crate) fn lend(&self) -> bool {
        match &self.memory {
            Memory::Block { is_lent, .. } => !is_lent.swap(true, Ordering::AcqRel),
            Memory::Module { .. } | Memory::External(_) => false,
        }
    }

    pub(crate) fn pin(&self) {
        self.is_pinned.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_freed(&self) -> bool {
        self.is_freed.load(Ordering::Acquire)
    }

    /// Ends the use of all views; false where that was done before. The block goes back now, where only the caller's reference is left and
    /// nobody holds the address unseen.
    pub(crate) fn free(self: &Arc<Self>) -> bool {
        if self.is_freed.swap(true, Ordering::AcqRel) {
            return false;
        }
        if let Memory::Block { block, .. } = &self.memory
            && Arc::strong_count(self) == 1
            && !self.is_pinned.load(Ordering::Acquire)
        {
            drop(block.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        true
    }
}

impl Debug for Storage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Storage")
            .field("location", &self.location())
            .finish_non_exhaustive()
    }
}
