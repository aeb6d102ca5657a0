//! Events of a GPU.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::context::Context;
use super::epoch::Epoch;
use super::functions::{Handle, NOT_READY, SUCCESS};
use super::host_call;
use super::reference::Reference;
use super::stream::Queue;
use crate::{Event, Result, clock};

/// With timing, and waiting actively as the context does.
const EVENT_FLAGS: u32 = 0;
const NS_PER_MS: f64 = 1e6;

/// One recording of an event.
#[derive(Debug)]
struct Recording {
    epoch: Arc<Epoch>,
    /// Of the command that records.
    number: u64,
    reference: Arc<Reference>,
    submitted_ns: u64,
    /// Zero until asked for the first time after it was reached.
    reached_ns: AtomicU64,
}

/// An event: the latest of its recordings.
#[derive(Debug)]
pub struct GpuEvent {
    // Before the context, which the reference event in it needs.
    latest: Mutex<Option<Recording>>,
    handle: Handle,
    context: Arc<Context>,
}

impl GpuEvent {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        let _entered = context.enter()?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status = unsafe { (context.functions().event_create)(&raw mut handle, EVENT_FLAGS) };
        context.check("making an event", status)?;
        Ok(Self {
            latest: Mutex::new(None),
            handle,
            context: Arc::clone(context),
        })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, queue: &Queue) -> Result<()> {
        let _entered = self.context.enter()?;
        let reference = self.context.reference()?;
        let mut latest = self.lock();
        let submitted_ns = clock::now_ns();
        let number = queue.progress.submit();
        // SAFETY: event and stream are live and of one context.
        let status = unsafe { (self.context.functions().event_record)(self.handle, queue.handle) };
        self.context.check("recording an event", status)?;
        *latest = Some(Recording {
            epoch: queue.epoch(),
            number,
            reference,
            submitted_ns,
            reached_ns: AtomicU64::new(0),
        });
        Ok(())
    }

    /// Lets a stream wait for the latest recording. Returns the epoch and the number of the command that recorded it.
    pub(super) fn hold_back(&self, queue: &Queue) -> Result<Option<(Arc<Epoch>, u64)>> {
        let _entered = self.context.enter()?;
        let latest = self.lock();
        let Some(recording) = &*latest else {
            return Ok(None);
        };
        // SAFETY: event and stream are live; the flags have to be 0.
        let status =
            unsafe { (self.context.functions().stream_wait_event)(queue.handle, self.handle, 0) };
        self.context
            .check("letting a stream wait for an event", status)?;
        Ok(Some((Arc::clone(&recording.epoch), recording.number)))
    }

    fn is_reached(&self) -> Result<bool> {
        let _entered = self.context.enter()?;
        // SAFETY: the event is live.
        match unsafe { (self.context.functions().event_query)(self.handle) } {
            NOT_READY => Ok(false),
            status => self
                .context
                .check("asking for the state of an event", status)
                .map(|()| true),
        }
    }

    /// Nanoseconds from the reference to the recording.
    fn elapsed_ns(&self, reference: &Reference) -> Option<u64> {
        let _entered = self.context.enter().ok()?;
        let mut elapsed_ms = 0.0_f32;
        // SAFETY: both events are live and have been recorded, and `elapsed_ms` is a valid place for the result.
        let status = unsafe {
            (self.context.functions().event_elapsed_ms)(
                &raw mut elapsed_ms,
                reference.event,
                self.handle,
            )
        };
        (status == SUCCESS).then(|| (f64::from(elapsed_ms) * NS_PER_MS).max(0.0) as u64)
    }
}

impl Event for GpuEvent {
    fn is_complete(&self) -> bool {
        if !self.context.is_own_process() {
            return false;
        }
        // After a fault nothing is left to wait for; waiting tells of it.
        self.lock().is_none() || self.is_reached().unwrap_or(true)
    }

    fn synchronize(&self) -> Result<()> {
        let _entered = self.context.enter()?;
        let Some((epoch, number)) = self
            .lock()
            .as_ref()
            .map(|recording| (Arc::clone(&recording.epoch), recording.number))
        else {
            return Ok(());
        };
        if !self.is_reached()? {
            host_call::refuse_inside("a wait for an event")?;
            // SAFETY: the event is live.
            let status = unsafe { (self.context.functions().event_synchronize)(self.handle) };
            self.context.check("waiting for an event", status)?;
        }
        epoch.failure_before(number).map_or(Ok(()), Err)
    }

    fn timestamp_ns(&self) -> Option<u64> {
        if !self.context.is_own_process() {
            return None;
        }
        let latest = self.lock();
        let recording = latest.as_ref()?;
        let known_ns = recording.reached_ns.load(Ordering::Relaxed);
        if known_ns != 0 {
            return Some(known_ns);
        }
        if !self.is_reached().ok()? {
            return None;
        }
        // The two clocks are tied to within microseconds; what the host knows for certain has the last word.
        let reached_ns = recording
            .reference
            .host_ns
            .saturating_add(self.elapsed_ns(&recording.reference)?)
            .max(recording.submitted_ns)
            .min(clock::now_ns());
        recording.reached_ns.store(reached_ns, Ordering::Relaxed);
        Some(reached_ns)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for GpuEvent {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made in this context and destroyed once; the driver keeps what streams still wait for.
            unsafe { (self.context.functions().event_destroy)(self.handle) };
        }
    }
}
