//! An open device: memory, streams, events, modules.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::{DeviceInfo, Event, Graph, GraphPlan, Module, Result, Stream};

/// An address in a device's address space; on the CPU an ordinary pointer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address of host memory, for copies to and from the host.
    pub fn from_host<T>(ptr: *const T) -> Self {
        Self(ptr.expose_provenance() as u64)
    }

    /// The address as a host pointer. Meaningful for host, pinned and unified memory and for everything on the CPU device.
    #[must_use]
    pub fn as_mut_ptr<T>(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }

    /// The address as a number.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0
    }

    /// The address `bytes` further on.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl Debug for DevicePointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}

/// Where memory lives and who can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// Memory of the device.
    Device,
    /// Host memory that the device can reach and the system does not page out.
    PinnedHost,
    /// One address for host and device; pages move on demand.
    Unified,
}

impl MemoryKind {
    /// All kinds, in index order.
    pub const ALL: [Self; 3] = [Self::Device, Self::PinnedHost, Self::Unified];

    /// Position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::PinnedHost => "pinned",
            Self::Unified => "unified",
        }
    }
}

/// What memory a device has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that an allocation could still get, other processes considered where the system tells.
    pub free_bytes: u64,
    /// Bytes the device lets this process use.
    pub total_bytes: u64,
    /// Bytes that live allocations of this process hold.
    pub used_bytes: u64,
}

/// An open device.
pub trait Device: Debug + Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// What memory it has left.
    fn memory_info(&self) -> Result<MemoryInfo>;

    /// Equal for devices that share one memory limit, so that one can give back what another needs.
    fn memory_domain(&self) -> usize;

    /// Allocates `bytes` (at least 1), aligned to at least 256 bytes on GPUs and 64 on the CPU. The contents are undefined.
    fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer>;

    /// Frees an allocation.
    ///
    /// # Safety
    /// `ptr`, `bytes` and `kind` are those of one [`Self::allocate`] of this device, which is freed once, and no command that uses the
    /// memory is still to run.
    unsafe fn free(&self, ptr: DevicePointer, bytes: u64, kind: MemoryKind) -> Result<()>;

    /// The stream that exists from the start. On the CPU it runs a command on the calling thread when it is idle.
    fn default_stream(&self) -> &Arc<dyn Stream>;

    /// A new stream, asynchronous to every other one.
    fn create_stream(&self) -> Result<Arc<dyn Stream>>;

    /// A new event that counts as complete until it is recorded.
    fn create_event(&self) -> Result<Arc<dyn Event>>;

    /// Loads machine code: on the CPU a relocatable ELF object, on AMD a code object, on NVIDIA PTX or a cubin.
    fn load_module(&self, image: &[u8]) -> Result<Arc<dyn Module>>;

    /// Makes a graph that [`Stream::replay`] runs. It holds the kernels it launches, not the memory they use.
    fn create_graph(&self, plan: GraphPlan) -> Result<Arc<dyn Graph>>;

    /// The number of the device that an address belongs to, as the driver of this one numbers them; `None` where the driver does not know
    /// the address or addresses tell nothing.
    fn ordinal_of_address(&self, ptr: DevicePointer) -> Option<u32> {
        let _ = ptr;
        None
    }

    /// Lets the work of a stream of another library, given by the driver's own handle, begin only after everything submitted here so far.
    ///
    /// # Safety
    /// `native_handle` is a live stream of this driver, or one of the driver's numbers for its own streams.
    unsafe fn order_before(&self, native_handle: u64) -> Result<()> {
        let _ = native_handle;
        self.wait_idle()
    }

    /// Waits on the host for a stream of another library, given by the driver's own handle.
    ///
    /// # Safety
    /// As for [`Self::order_before`].
    unsafe fn wait_for_native(&self, native_handle: u64) -> Result<()> {
        let _ = native_handle;
        Ok(())
    }

    /// Runs code of another library on this thread while the device is the one that the driver takes for current here; afterwards what was
    /// current before is so again. Without a driver that knows a current device it just runs.
    fn with_current(&self, work: &mut dyn FnMut()) -> Result<()> {
        work();
        Ok(())
    }

    /// Whether a fault ended the driver's context: everything on this object fails, and opening the device again makes a new context.
    fn is_lost(&self) -> bool {
        false
    }

    /// Waits for every stream of this device and leaves the errors that stick to them where they are. Afterwards nothing that was submitted
    /// before the call uses memory any more, not even through a stream whose last handle is gone.
    fn wait_idle(&self) -> Result<()>;

    /// Waits for every stream of this device, on a GPU those of its other openings too. Reports the first error that sticks to one of its own,
    /// and clears it.
    fn synchronize(&self) -> Result<()>;
}
