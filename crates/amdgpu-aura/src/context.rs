//! An open device: allocator, streams, compiled kernels.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_hal::{Device, DeviceInfo, Stream};
use amdgpu_memory::{Allocator, AllocatorOptions};

use crate::cache::CacheLimits;
use crate::compile::LoadedUnits;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::order::Order;
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
    pub memory: AllocatorOptions,
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
    device: Arc<dyn Device>,
    allocator: Allocator,
    index: u16,
    launch_records: LaunchRecords,
    is_closed: AtomicBool,
    /// Streams of launches with a time limit, kept for the next one: a stream is a thread on some devices.
    idle_streams: Mutex<Vec<Arc<dyn Stream>>>,
    order: Order,
}

impl Shared {
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    pub fn name(&self) -> &str {
        &self.info().name
    }

    pub fn index(&self) -> u16 {
        self.index
    }

    pub fn launch_records(&self) -> LaunchRecords {
        self.launch_records
    }

    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Lets what `stream` gets from now on wait for what the default stream was given without a wait.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        Ok(self.order.hold_back(self.device.as_ref(), stream)?)
    }

    /// A stream that nobody else uses: one given back earlier, or a new one.
    pub fn take_stream(&self) -> Result<Arc<dyn Stream>> {
        self.check_open()?;
        let idle = self.lock_streams().pop();
        if let Some(stream) = idle {
            return Ok(stream);
        }
        let stream = self.device.create_stream()?;
        watch::note_stream(self.name(), &stream);
        Ok(stream)
    }

    /// Keep an idle stream for the next caller of [`Shared::take_stream`].
    pub fn give_stream_back(&self, stream: Arc<dyn Stream>) {
        if self.check_open().is_ok() {
            self.lock_streams().push(stream);
        }
    }

    /// The list holds whole entries whatever panicked.
    fn lock_streams(&self) -> std::sync::MutexGuard<'_, Vec<Arc<dyn Stream>>> {
        self.idle_streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

/// An open device. Dropping it closes nothing: kernels and arrays made from it keep what they need.
pub struct Context {
    shared: Arc<Shared>,
    cores: Vec<CoreType>,
    kernels: Arc<KernelTable>,
    loaded: LoadedUnits,
    attached: Mutex<Option<Attachment>>,
}

/// What a layer above keeps beside an open device.
pub type Attachment = Arc<dyn Any + Send + Sync>;

impl Context {
    /// Take over an open device; `index` is its place in the list of devices.
    ///
    /// # Errors
    ///
    /// Allocator options that make no sense.
    pub fn open(device: Arc<dyn Device>, index: u16, options: ContextOptions) -> Result<Self> {
        let limits = CacheLimits::from_environment()?;
        amdgpu_telemetry::name_device(index, &device.info().name);
        let allocator = Allocator::new(Arc::clone(&device), options.memory)?;
        watch::note_stream(&device.info().name, device.default_stream());
        Ok(Self {
            shared: Arc::new(Shared {
                device,
                allocator,
                index,
                launch_records: options.launch_records,
                is_closed: AtomicBool::new(false),
                idle_streams: Mutex::new(Vec::new()),
                order: Order::default(),
            }),
            cores: options.cores,
            kernels: watch::new_table(limits.memory_bytes),
            loaded: LoadedUnits::new(),
            attached: Mutex::new(None),
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
        Ok(&self.shared.allocator)
    }

    /// A new stream.
    ///
    /// # Errors
    ///
    /// `closed`, or what the device reports.
    pub fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        let stream = self.device()?.create_stream()?;
        watch::note_stream(self.shared.name(), &stream);
        Ok(stream)
    }

    /// Says that something was put into the default stream just now and not waited for.
    pub fn note_queued(&self) {
        self.shared.order.note();
    }

    /// Let what `stream` gets from now on wait for what was queued.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        self.shared.hold_back(stream)
    }

    /// Wait for what was queued; nothing where nothing was.
    ///
    /// # Errors
    ///
    /// What a queued kernel left.
    pub fn settle(&self) -> Result<()> {
        if self.shared.order.is_used() {
            self.shared.device.default_stream().synchronize()?;
        }
        Ok(())
    }

    /// Whether a kernel is of this context.
    #[must_use]
    pub fn owns(&self, kernel: &Kernel) -> bool {
        Arc::ptr_eq(&self.shared, &kernel.shared)
    }

    /// What a layer above attached; nothing once the context is closed.
    #[must_use]
    pub fn attachment(&self) -> Option<Attachment> {
        self.lock_attached().clone()
    }

    /// What a layer above attached, made now where there is none yet. It is let go of when the context is closed.
    ///
    /// # Errors
    ///
    /// `closed`.
    pub fn attach(&self, make: impl FnOnce() -> Attachment) -> Result<Attachment> {
        let mut attached = self.lock_attached();
        // Under the lock, so that nothing is attached behind the back of `close`.
        self.shared.check_open()?;
        Ok(Arc::clone(attached.get_or_insert_with(make)))
    }

    /// The place holds a whole value whatever panicked.
    fn lock_attached(&self) -> std::sync::MutexGuard<'_, Option<Attachment>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.shared.device.is_lost()
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// Wait for the device, forget the kernels and give cached memory back. Blocks that are still held stay valid until they are
    /// dropped. Closing twice changes nothing.
    ///
    /// # Errors
    ///
    /// What the device reports; it is closed all the same.
    pub fn close(&self) -> Result<()> {
        if self.shared.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let waited = self.shared.device.synchronize();
        // Whoever closes a lost device knows that it is lost; there is nothing left to wait for.
        let waited = waited.or_else(|error| match error {
            amdgpu_hal::Error::DeviceLost { .. } => Ok(()),
            other => Err(other),
        });
        // Dropped without the lock: what is attached may hold anything.
        let attached = self.lock_attached().take();
        drop(attached);
        self.kernels.clear();
        self.loaded.clear();
        self.shared.lock_streams().clear();
        self.shared.allocator.device_closed();
        self.shared.allocator.empty_cache();
        Ok(waited?)
    }
}
