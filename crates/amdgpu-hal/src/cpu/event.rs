//! Events of the CPU backend.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::fork::ForkMark;
use crate::{Error, Event, Result, clock};

/// One recording of an event: it happens once.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Zero until it has happened; the clock never reads zero on a running system.
    timestamp_ns: AtomicU64,
    failure: Mutex<Option<Error>>,
    happened: Condvar,
}

impl Completion {
    /// Lets it happen now, with the error of the stream it was recorded on.
    pub fn complete(&self, failure: Option<&Error>) {
        let mut guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *guard = failure.cloned();
        self.timestamp_ns
            .store(clock::now_ns().max(1), Ordering::Release);
        self.happened.notify_all();
    }

    /// Whether it has happened.
    pub fn is_complete(&self) -> bool {
        self.timestamp_ns.load(Ordering::Acquire) != 0
    }

    /// Waits until it has happened.
    pub fn wait(&self) -> Result<()> {
        let mut guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_complete() {
            guard = self
                .happened
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
        guard.clone().map_or(Ok(()), Err)
    }
}

/// An event: the latest of its recordings.
#[derive(Debug)]
pub struct CpuEvent {
    latest: Mutex<Option<Arc<Completion>>>,
    mark: ForkMark,
}

impl CpuEvent {
    pub(super) fn new() -> Self {
        Self {
            latest: Mutex::new(None),
            mark: ForkMark::current(),
        }
    }

    /// Starts a new recording, which replaces the one before for everyone who looks from now on.
    pub(super) fn begin_recording(&self) -> Arc<Completion> {
        let completion = Arc::new(Completion::default());
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(Arc::clone(&completion));
        completion
    }

    /// The latest recording.
    pub(super) fn latest(&self) -> Option<Arc<Completion>> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Event for CpuEvent {
    fn is_complete(&self) -> bool {
        self.mark.is_current()
            && self
                .latest()
                .is_none_or(|completion| completion.is_complete())
    }

    fn synchronize(&self) -> Result<()> {
        self.mark.check("the event")?;
        self.latest().map_or(Ok(()), |completion| completion.wait())
    }

    fn timestamp_ns(&self) -> Option<u64> {
        if !self.mark.is_current() {
            return None;
        }
        let timestamp_ns = self.latest()?.timestamp_ns.load(Ordering::Acquire);
        (timestamp_ns != 0).then_some(timestamp_ns)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
