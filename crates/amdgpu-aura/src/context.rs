//! An opening of a device: core types and compiled kernels.

use std::sync::Arc;

use amdgpu_hal::{Device, DeviceInfo, Stream};
use amdgpu_memory::Allocator;

use crate::cache::CacheLimits;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::loaded::LoadedUnits;
use crate::open_device::OpenDevice;
use crate::shared::{CoreType, LaunchRecords, Shared};
use crate::slots::Slots;
use crate::watch::{self, KernelCacheSizes, KernelTable};

/// How to open a device.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    pub cores: Vec<CoreType>,
    pub launch_records: LaunchRecords,
}

/// An opening of a device: its core types, its kernels and what it records. Memory, streams and the order of work are the device's
/// ([`OpenDevice`]). Dropping it closes nothing: kernels and arrays made from it keep what they need.
pub struct Context {
    shared: Arc<Shared>,
    cores: Vec<CoreType>,
    kernels: Arc<KernelTable>,
    loaded: LoadedUnits,
    caches: Slots,
}

impl Context {
    /// Another opening of a device.
    ///
    /// # Errors
    ///
    /// Cache limits in the environment that make no sense.
    pub fn open(device: Arc<OpenDevice>, options: ContextOptions) -> Result<Self> {
        let limits = CacheLimits::from_environment()?;
        device.enter();
        Ok(Self {
            shared: Arc::new(Shared::new(device, options.launch_records)),
            cores: options.cores,
            kernels: watch::new_table(limits.memory_bytes),
            loaded: LoadedUnits::new(),
            caches: Slots::default(),
        })
    }

    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.shared.info()
    }

    #[must_use]
    pub fn cores(&self) -> &[CoreType] {
        &self.cores
    }

    /// The device, as long as the context is open.
    ///
    /// # Errors
    ///
    /// `closed`.
    pub fn device(&self) -> Result<&Arc<dyn Device>> {
        self.shared.check_open()?;
        Ok(self.shared.device())
    }

    /// The allocator, as long as the context is open.
    ///
    /// # Errors
    ///
    /// `closed`.
    pub fn allocator(&self) -> Result<&Allocator> {
        self.shared.check_open()?;
        Ok(self.shared.allocator())
    }

    /// What the context shares with the others of its device, as long as it is open.
    ///
    /// # Errors
    ///
    /// `closed`.
    pub fn open_device(&self) -> Result<&Arc<OpenDevice>> {
        self.shared.check_open()?;
        Ok(self.shared.open_device())
    }

    /// A new stream.
    ///
    /// # Errors
    ///
    /// `closed`, or what the device reports.
    pub fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        self.open_device()?.create_stream()
    }

    /// The cache of type `T` that a layer above keeps with this opening, made now where there is none yet: whatever must not outlive it, such
    /// as its kernels. [`Self::close`] drops all of them.
    ///
    /// # Errors
    ///
    /// `closed`.
    pub fn cache<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Result<Arc<T>> {
        self.shared.check_open()?;
        Ok(self.caches.get_or_make(make))
    }

    /// How many kernels are kept and known.
    #[must_use]
    pub fn kernel_cache_sizes(&self) -> KernelCacheSizes {
        self.kernels.sizes(self.loaded.len())
    }

    /// A kernel by its handle: one that somebody holds, or that was used lately.
    #[must_use]
    pub fn kernel(&self, handle: &str) -> Option<Arc<Kernel>> {
        self.kernels.get(handle)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn loaded(&self) -> &LoadedUnits {
        &self.loaded
    }

    pub(crate) fn keep(&self, kernel: &Arc<Kernel>) {
        self.kernels.keep(kernel);
    }

    /// Whether a fault of the device ended everything made from this context. Opening the device again is possible.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.shared.device().is_lost()
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Wait for the device, forget the kernels and, with the last context of the device, give cached memory back. Blocks that are still held
    /// stay valid until they are dropped. Closing twice changes nothing.
    ///
    /// # Errors
    ///
    /// What the device reports; it is closed all the same.
    pub fn close(&self) -> Result<()> {
        if !self.shared.close() {
            return Ok(());
        }
        let closed = self.shared.open_device().close();
        self.caches.clear();
        self.kernels.clear();
        self.loaded.clear();
        closed
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.is_closed() {
            self.shared.open_device().leave();
        }
    }
}
