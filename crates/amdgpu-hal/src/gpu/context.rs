//! The primary context of a device, and making it current.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::api::Api;
use super::event_pool::EventPool;
use super::functions::{Functions, Handle, SUCCESS, Status};
use super::loss::Loss;
use super::queue::Queue;
use super::recording::Recording;
use super::reference::Reference;
use super::watcher::Watcher;
use crate::fork::ForkMark;
use crate::{Error, Notification, Result, clock};

/// A reference event older than this is replaced: elapsed times come as 32-bit floats of milliseconds, which after a second still tell
/// 60 ns apart, and the clocks of host and device drift.
const REFERENCE_LIFE_NS: u64 = 1_000_000_000;

/// A retained primary context. All devices opened for one ordinal share it.
#[derive(Debug)]
pub(crate) struct Context {
    pub api: &'static Api,
    pub ordinal: i32,
    /// `cuda:0`.
    pub name: String,
    pub total_memory_bytes: u64,
    /// Bytes that live allocations of ours hold, of all kinds.
    used_bytes: AtomicU64,
    handle: Handle,
    mark: ForkMark,
    /// The driver counts this context no more.
    is_given_up: AtomicBool,
    pub(super) loss: Loss,
    pub(super) events: EventPool,
    reference: Mutex<Option<Arc<Reference>>>,
    watcher: Mutex<Option<Watcher>>,
    /// Every stream that lives, of all devices that were opened for the ordinal.
    queues: Mutex<Vec<Weak<Queue>>>,
}

/// The context is current on this thread; the one that was before comes back at the end.
#[must_use]
pub(crate) struct Entered<'a> {
    context: &'a Context,
    /// What has to come back; `None` where the context was current already, or may stay.
    before: Option<Handle>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // Another library's context must not be changed behind its back. A failure would show in that library's next call.
            // SAFETY: the driver itself named this context a moment ago, or none.
            unsafe { (self.context.api.functions.context_set_current)(before) };
        }
    }
}

impl Context {
    pub fn retain(api: &'static Api, ordinal: i32) -> Result<Self> {
        let name = format!("{}:{ordinal}", api.vendor.kind);
        let (mut device, mut handle, mut bytes) = (0, 0, 0_usize);
        // SAFETY: each result has a valid place; the device is the one the driver just named.
        unsafe {
            let functions = &api.functions;
            let found = (functions.device_at)(&raw mut device, ordinal);
            api.check(&name, "finding the device", found)?;
            let memory = (functions.device_memory_bytes)(&raw mut bytes, device);
            api.check(&name, "asking for the size of memory", memory)?;
            let retained = (functions.context_retain)(&raw mut handle, device);
            api.check(&name, "making a context", retained)?;
        }
        Ok(Self {
            api,
            ordinal: device,
            name,
            total_memory_bytes: bytes as u64,
            used_bytes: AtomicU64::new(0),
            handle,
            mark: ForkMark::current(),
            is_given_up: AtomicBool::new(false),
            loss: Loss::default(),
            events: EventPool::default(),
            reference: Mutex::new(None),
            watcher: Mutex::new(None),
            queues: Mutex::default(),
        })
    }

    /// Notes a new stream.
    pub(super) fn add_queue(&self, queue: &Arc<Queue>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// The streams of all openings.
    pub(super) fn live_queues(&self) -> Vec<Arc<Queue>> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether this is still the process that opened the device.
    pub fn is_own_process(&self) -> bool {
        self.mark.is_current()
    }

    /// An error in a forked child: a driver does not survive `fork()`.
    pub fn check_process(&self) -> Result<()> {
        self.mark.check(self.api.vendor.driver)
    }

    /// Whether objects of the context may still be given to the driver.
    pub fn is_usable(&self) -> bool {
        self.is_own_process() && !self.loss.is_lost()
    }

    /// An error in a forked child and after a fault.
    pub fn check_usable(&self) -> Result<()> {
        self.check_process()?;
        self.loss.error().map_or(Ok(()), Err)
    }

    /// Gives the context back to the driver before its time, because it is lost: nothing of it is ever used again.
    pub(super) fn give_up(&self) {
        if self.is_own_process() && !self.is_given_up.swap(true, Ordering::AcqRel) {
            // SAFETY: gives back what `retain` took, once.
            unsafe { (self.functions().context_release)(self.ordinal) };
        }
    }

    /// Makes the context current on this thread for as long as the guard lives.
    ///
    /// The driver is asked each time rather than a note of ours: other libraries change the current context too, and an allocation in the
    /// wrong one would succeed. When it is current already, that is one cheap call.
    pub fn enter(&self) -> Result<Entered<'_>> {
        self.check_usable()?;
        let mut current = 0;
        // SAFETY: `current` is a valid place for the result.
        let status = unsafe { (self.functions().context_current)(&raw mut current) };
        self.check("asking for the current context", status)?;
        // A thread without a context is on device 0 for the vendors' runtimes. They would take another device that stays current for the
        // one that their user chose; leaving device 0 current spares every later call of this thread two calls of the driver.
        let may_stay = current == self.handle || (current == 0 && self.ordinal == 0);
        let before = (!may_stay).then_some(current);
        if current != self.handle {
            // SAFETY: the context is retained until `self` is dropped.
            let status = unsafe { (self.functions().context_set_current)(self.handle) };
            self.check("making the context current", status)?;
        }
        Ok(Entered {
            context: self,
            before,
        })
    }

    /// Runs `notification` some time after `recording` was reached.
    pub(super) fn watch(
        &self,
        recording: Arc<Recording>,
        notification: Notification,
    ) -> Result<()> {
        self.check_process()?;
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if watcher.is_none() {
            *watcher = Some(Watcher::start(&self.name)?);
        }
        if let Some(watcher) = &*watcher {
            watcher.watch(recording, notification);
        }
        Ok(())
    }

    pub fn functions(&self) -> &'static Functions {
        &self.api.functions
    }

    pub fn check(&self, operation: &'static str, status: Status) -> Result<()> {
        if status == SUCCESS {
            return Ok(());
        }
        Err(self.error(operation, status))
    }

    /// The error of a status that is not success. One that ends the context is remembered, and names the kernels under way.
    #[cold]
    pub fn error(&self, operation: &'static str, status: Status) -> Error {
        self.loss
            .note(self.api.error(&self.name, operation, status))
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub fn count_allocated(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn count_freed(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A reference event that lies before everything submitted from now on.
    pub fn reference(self: &Arc<Self>) -> Result<Arc<Reference>> {
        let mut latest = self
            .reference
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reference) = &*latest
            && clock::now_ns().saturating_sub(reference.host_ns) < REFERENCE_LIFE_NS
        {
            return Ok(Arc::clone(reference));
        }
        let reference = Arc::new(Reference::take(self)?);
        *latest = Some(Arc::clone(&reference));
        Ok(reference)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The events belong to the context and go with it. At the end of the process the driver may be gone already, which it answers with
        // an error that concerns nobody any more.
        self.give_up();
    }
}
