//! A device as this process has it open: what all of its contexts share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use amdgpu_hal::registry::{self, DeviceSelector};
use amdgpu_hal::{Device, DeviceInfo, ForkLocal, Stream};
use amdgpu_memory::{Allocator, AllocatorOptions};

use crate::error::{Error, Result};
use crate::order::Order;
use crate::slots::Slots;
use crate::stream_gauges::note_stream;

/// Devices that are open in this process, each once. A child after `fork()` opens its own.
static OPEN: ForkLocal<Mutex<Table>> = ForkLocal::new(Mutex::default);

/// By full name.
#[derive(Default)]
struct Table(Vec<(String, Weak<OpenDevice>)>);

impl Table {
    /// Looks at devices of this name only: what is found for others may be on its way out, which takes as long as its work.
    fn find(&self, name: &str) -> Option<Arc<OpenDevice>> {
        let mut of_name = self.0.iter().filter(|(known, _)| known == name);
        of_name.find_map(|(_, device)| device.upgrade().filter(|one| !one.device.is_lost()))
    }
}

/// One allocator, one default stream and one order of work for everything that this process does on a device. Contexts, arrays and kernels
/// hold it; the device is closed when the last of them is gone.
pub struct OpenDevice {
    device: Arc<dyn Device>,
    /// Of the device's description: asked for each argument of a call.
    is_host_visible: bool,
    allocator: Allocator,
    memory: AllocatorOptions,
    index: u16,
    order: Order,
    /// Streams of launches with a time limit, kept for the next one: a stream is a thread on some devices.
    idle_streams: Mutex<Vec<Arc<dyn Stream>>>,
    /// Contexts that were opened and not closed.
    openings: Mutex<usize>,
    caches: Slots,
}

impl OpenDevice {
    /// The device as it is open in this process, or opened now; one that a fault ended is opened anew. `index` is its place in the list of
    /// devices. The first who opens a device decides about its memory; `AMDGPU_ALLOC_CONF` decides what is not given.
    ///
    /// # Errors
    ///
    /// No such device; allocator options that make no sense, or are not those that the device is open with.
    pub fn get(
        selector: impl Into<DeviceSelector>,
        index: u16,
        memory: AllocatorOptions,
    ) -> Result<Arc<Self>> {
        let name = registry::resolve(selector)?;
        let mut open = lock(&OPEN);
        if let Some(known) = open.find(&name) {
            known.check_memory_options(memory)?;
            return Ok(known);
        }
        let from_environment = AllocatorOptions::from_environment()?;
        let device = registry::open_device(name)?;
        // The driver's own name for it, which may be a shorter one.
        let name = device.info().name.clone();
        if let Some(known) = open.find(&name) {
            known.check_memory_options(memory)?;
            return Ok(known);
        }
        let opened = Self::alone(device, index, memory.or(from_environment))?;
        open.0.retain(|(_, one)| one.strong_count() > 0);
        open.0.push((name, Arc::downgrade(&opened)));
        Ok(opened)
    }

    /// The device as it is open in this process, or opened now, with its place in the list and the usual memory.
    ///
    /// # Errors
    ///
    /// No such device.
    pub fn open(selector: impl Into<DeviceSelector>) -> Result<Arc<Self>> {
        Self::open_with(selector, AllocatorOptions::default())
    }

    /// As [`Self::open`], with memory as asked for.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub fn open_with(
        selector: impl Into<DeviceSelector>,
        memory: AllocatorOptions,
    ) -> Result<Arc<Self>> {
        let name = registry::resolve(selector)?;
        let listed = registry::list_devices()?;
        // Devices that are reached by name only are numbered behind the listed ones.
        let index = listed.iter().position(|info| info.name == name);
        let index = index.unwrap_or(listed.len()) as u16;
        let memory = AllocatorOptions {
            device_index: Some(index),
            ..memory
        };
        Self::get(name, index, memory)
    }

    /// A device that [`Self::get`] does not find, for tests that want one to themselves.
    ///
    /// # Errors
    ///
    /// Allocator options that make no sense.
    pub fn alone(
        device: Arc<dyn Device>,
        index: u16,
        memory: AllocatorOptions,
    ) -> Result<Arc<Self>> {
        amdgpu_telemetry::name_device(index, &device.info().name);
        let allocator = Allocator::new(Arc::clone(&device), memory)?;
        note_stream(&device.info().name, device.default_stream());
        Ok(Arc::new(Self {
            is_host_visible: device.info().capabilities.host_visible,
            device,
            allocator,
            memory,
            index,
            order: Order::default(),
            idle_streams: Mutex::default(),
            openings: Mutex::default(),
            caches: Slots::default(),
        }))
    }

    fn check_memory_options(&self, wanted: AllocatorOptions) -> Result<()> {
        if wanted.agrees_with(self.memory) {
            return Ok(());
        }
        Err(Error::MemoryOptions {
            device: self.name().to_owned(),
        })
    }

    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    #[must_use]
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Whether the host reads its memory at the addresses that the device has for it.
    #[inline]
    #[must_use]
    pub fn is_host_visible(&self) -> bool {
        self.is_host_visible
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Its place in the list of devices.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Says that something was put into the default stream just now and not waited for.
    pub fn note_queued(&self) {
        self.order.note();
    }

    /// Let what `stream` gets from now on wait for what the default stream was given without a wait.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        Ok(self.order.hold_back(self.device.as_ref(), stream)?)
    }

    /// Wait for what was queued; nothing where nothing was.
    ///
    /// # Errors
    ///
    /// What a queued kernel left.
    pub fn settle(&self) -> Result<()> {
        if self.order.is_used() {
            self.device.default_stream().synchronize()?;
        }
        Ok(())
    }

    /// The cache of type `T` that a layer above keeps for all contexts of the device, if there is one.
    #[must_use]
    pub fn find_cache<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.caches.find()
    }

    /// The cache of type `T`, made now where there is none yet. All caches are dropped when a context of the device is closed.
    pub fn cache<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        self.caches.get_or_make(make)
    }

    /// A stream that nobody else uses: one given back earlier, or a new one.
    pub(crate) fn take_stream(&self) -> Result<Arc<dyn Stream>> {
        let idle = lock(&self.idle_streams).pop();
        idle.map_or_else(|| self.create_stream(), Ok)
    }

    /// Keep an idle stream for the next caller of [`Self::take_stream`].
    pub(crate) fn give_stream_back(&self, stream: Arc<dyn Stream>) {
        lock(&self.idle_streams).push(stream);
    }

    pub(crate) fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        let stream = self.device.create_stream()?;
        note_stream(self.name(), &stream);
        Ok(stream)
    }

    /// A context was opened.
    pub(crate) fn enter(&self) {
        let mut openings = lock(&self.openings);
        *openings += 1;
        self.allocator.set_device_closed(false);
    }

    /// A context was dropped that was not closed.
    pub(crate) fn leave(&self) {
        *lock(&self.openings) -= 1;
    }

    /// A context was closed: wait for the device, and give back what only the last one needs.
    pub(crate) fn close(&self) -> Result<()> {
        let is_last = {
            let mut openings = lock(&self.openings);
            *openings -= 1;
            *openings == 0
        };
        // Errors that stick to streams are for those who still have the device open.
        let waited = if is_last {
            self.device.synchronize()
        } else {
            self.device.wait_idle()
        };
        self.caches.clear();
        if is_last {
            let idle = std::mem::take(&mut *lock(&self.idle_streams));
            drop(idle);
            let openings = lock(&self.openings);
            // Nobody opened it meanwhile.
            if *openings == 0 {
                self.allocator.set_device_closed(true);
            }
            drop(openings);
            self.allocator.empty_cache();
        }
        match waited {
            // Whoever closes a lost device knows that it is lost; there is nothing left to wait for.
            Err(amdgpu_hal::Error::DeviceLost { .. }) => Ok(()),
            waited => Ok(waited?),
        }
    }
}

/// What is locked here is whole whatever panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, ContextOptions};
    use crate::shared::{CoreType, LaunchRecords};

    const DEVICE: &str = "null:gfx1100";

    fn open(device: &Arc<OpenDevice>) -> Context {
        let options = ContextOptions {
            cores: CoreType::ALL.to_vec(),
            launch_records: LaunchRecords::Sampled,
        };
        Context::open(Arc::clone(device), options).unwrap()
    }

    #[test]
    fn a_device_is_open_once_whatever_it_is_called() {
        let first = OpenDevice::get("cpu", 0, AllocatorOptions::default()).unwrap();
        let second = OpenDevice::get("cpu:0", 0, AllocatorOptions::default()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let other = OpenDevice::get(DEVICE, 1, AllocatorOptions::default()).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
    }

    #[test]
    fn the_first_who_opens_a_device_decides_about_its_memory() {
        let limited = AllocatorOptions {
            limit_bytes: Some(1 << 30),
            ..AllocatorOptions::default()
        };
        let name = "null:gfx90a";
        let first = OpenDevice::get(name, 1, limited).unwrap();
        for same in [limited, AllocatorOptions::default()] {
            assert!(Arc::ptr_eq(
                &first,
                &OpenDevice::get(name, 1, same).unwrap()
            ));
        }
        let other = AllocatorOptions {
            limit_bytes: Some(2 << 30),
            ..limited
        };
        let error = OpenDevice::get(name, 1, other).err().unwrap();
        assert!(error.to_string().contains(name), "{error}");
        drop(first);
        assert!(OpenDevice::get(name, 1, other).is_ok());
    }

    /// What was queued is over when it was settled, however little it was; and whatever was not queued is not waited for.
    #[test]
    fn settling_waits_for_what_was_queued() {
        let hal = registry::open_device("cpu:0").unwrap();
        let device = OpenDevice::alone(hal, 0, AllocatorOptions::default()).unwrap();
        let failing = || {
            let failure = amdgpu_hal::Error::Panicked {
                message: "on purpose".to_owned(),
            };
            let stream = device.device().default_stream();
            stream.call(Box::new(move || Err(failure))).unwrap();
        };
        failing();
        device.settle().unwrap();
        // The error is still there for whoever waits.
        assert!(device.device().default_stream().synchronize().is_err());
        failing();
        device.note_queued();
        assert!(
            device
                .settle()
                .unwrap_err()
                .to_string()
                .contains("on purpose")
        );
        device.settle().unwrap();
    }

    #[test]
    fn closing_one_context_leaves_the_others_their_memory_and_drops_typed_caches() {
        let hal = registry::open_device(DEVICE).unwrap();
        let device = OpenDevice::alone(hal, 1, AllocatorOptions::default()).unwrap();
        let (first, second) = (open(&device), open(&device));
        drop(device.allocator().allocate(1 << 20, None).unwrap());
        device.cache(|| 1_u32);
        let of_first = first.cache(|| 2_u32).unwrap();
        let reserved = || device.allocator().stats().reserved_bytes.all.current;
        assert!(reserved() > 0);
        first.close().unwrap();
        assert!(reserved() > 0 && device.find_cache::<u32>().is_none());
        assert!(second.allocator().is_ok() && first.allocator().is_err());
        assert!(Arc::strong_count(&of_first) == 1 && first.cache(|| 3_u32).is_err());
        second.close().unwrap();
        assert_eq!(reserved(), 0);
    }
}
