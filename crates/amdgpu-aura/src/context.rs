//! An opening of a device: core types and compiled kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_hal::{Device, DeviceInfo, Stream};
use amdgpu_memory::Allocator;

use crate::cache::CacheLimits;
use crate::compile::LoadedUnits;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::open_device::OpenDevice;
use crate::watch::{self, KernelCacheSizes, KernelTable};

/// Kinds of work, counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreType {
    Aura,
    Matrix,
    Neuromorphic,
}

impl CoreType {
    pub const ALL: [Self; 3] = [Self::Aura, Self::Matrix, Self::Neuromorphic];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aura => "aura",
            Self::Matrix => "matrix",
            Self::Neuromorphic => "neuromorphic",
        }
    }

    /// The core type of a name.
    ///
    /// # Errors
    ///
    /// `unknown-core-type`, listing the known ones.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|core| core.name() == name)
            .ok_or_else(|| Error::UnknownCoreType {
                name: name.to_owned(),
            })
    }
}

/// How to open a device.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    pub cores: Vec<CoreType>,
    pub launch_records: LaunchRecords,
}

/// Which launches write records and histograms; all are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchRecords {
    None,
    /// Of short ones that are waited for, and of those in a stream of a GPU, a sample; see `kernel::launches`.
    Sampled,
    All,
}

impl LaunchRecords {
    /// off, standard or detailed.
    ///
    /// # Errors
    ///
    /// Any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "off" => Ok(Self::None),
            "standard" => Ok(Self::Sampled),
            "detailed" => Ok(Self::All),
            _ => Err(Error::UnknownTelemetryLevel {
                name: name.to_owned(),
            }),
        }
    }
}

/// What kernels keep alive of their context.
pub(crate) struct Shared {
    device: Arc<OpenDevice>,
    launch_records: LaunchRecords,
    is_closed: AtomicBool,
}

impl Shared {
    pub fn open_device(&self) -> &Arc<OpenDevice> {
        &self.device
    }

    pub fn device(&self) -> &Arc<dyn Device> {
        self.device.device()
    }

    pub fn allocator(&self) -> &Allocator {
        self.device.allocator()
    }

    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    pub fn name(&self) -> &str {
        self.device.name()
    }

    pub fn index(&self) -> u16 {
        self.device.index()
    }

    pub fn launch_records(&self) -> LaunchRecords {
        self.launch_records
    }

    /// Lets what `stream` gets from now on wait for what the default stream was given without a wait.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        self.device.hold_back(stream)
    }

    /// A stream that nobody else uses: one given back earlier, or a new one.
    pub fn take_stream(&self) -> Result<Arc<dyn Stream>> {
        self.check_open()?;
        self.device.take_stream()
    }

    /// Keep an idle stream for the next caller of [`Shared::take_stream`].
    pub fn give_stream_back(&self, stream: Arc<dyn Stream>) {
        if self.check_open().is_ok() {
            self.device.give_stream_back(stream);
        }
    }

    pub fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed {
                device: self.name().to_owned(),
            });
        }
        Ok(())
    }
}

/// An opening of a device: its core types, its kernels and what it records. Memory, streams and the order of work are the device's
/// ([`OpenDevice`]). Dropping it closes nothing: kernels and arrays made from it keep what they need.
pub struct Context {
    shared: Arc<Shared>,
    cores: Vec<CoreType>,
    kernels: Arc<KernelTable>,
    loaded: LoadedUnits,
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
            shared: Arc::new(Shared {
                device,
                launch_records: options.launch_records,
                is_closed: AtomicBool::new(false),
            }),
            cores: options.cores,
            kernels: watch::new_table(limits.memory_bytes),
            loaded: LoadedUnits::new(),
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
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// Wait for the device, forget the kernels and, with the last context of the device, give cached memory back. Blocks that are still held
    /// stay valid until they are dropped. Closing twice changes nothing.
    ///
    /// # Errors
    ///
    /// What the device reports; it is closed all the same.
    pub fn close(&self) -> Result<()> {
        if self.shared.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let closed = self.shared.device.close();
        self.kernels.clear();
        self.loaded.clear();
        closed
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.is_closed() {
            self.shared.device.leave();
        }
    }
}
