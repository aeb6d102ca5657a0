//! Events of a GPU.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::queue;
use super::recording::Recording;
use crate::{Error, Event, Result};

/// An event: the latest of its recordings.
#[derive(Debug)]
pub struct GpuEvent {
    latest: Mutex<Option<Arc<Recording>>>,
    context: Arc<Context>,
}

impl GpuEvent {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            latest: Mutex::new(None),
            context: Arc::clone(context),
        }
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn latest(&self) -> Option<Arc<Recording>> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Starts a new recording, which replaces the one before for everyone who looks from now on.
    pub(super) fn begin_recording(&self, stream_id: u64) -> Arc<Recording> {
        let recording = Arc::new(Recording::new(&self.context, stream_id));
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        // The one before is dropped after the lock.
        let before = latest.replace(Arc::clone(&recording));
        drop(latest);
        drop(before);
        recording
    }
}

impl Event for GpuEvent {
    fn is_complete(&self) -> bool {
        self.context.is_own_process()
            && self.latest().is_none_or(|recording| recording.is_reached())
    }

    fn synchronize(&self) -> Result<()> {
        self.context.check_process()?;
        let Some(recording) = self.latest() else {
            return Ok(());
        };
        if recording.is_held() && queue::is_inside(recording.stream_id) {
            return Err(Error::WouldDeadlock {
                operation: "a wait for an event",
            });
        }
        recording.wait()
    }

    fn timestamp_ns(&self) -> Option<u64> {
        if !self.context.is_own_process() {
            return None;
        }
        self.latest()?.timestamp_ns()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
