//! Driver events that wait for their next use: making and destroying one costs more than recording it.

use std::sync::{Mutex, PoisonError};

use super::context::Context;
use super::functions::Handle;
use crate::Result;

/// With timing, and waiting actively as the context does.
const EVENT_FLAGS: u32 = 0;
/// Enough for what is under way at one time; more are destroyed.
const MAX_SPARE: usize = 256;

/// The spare events of a context. They go with it.
#[derive(Debug, Default)]
pub(super) struct EventPool(Mutex<Vec<Handle>>);

impl EventPool {
    /// An event of the context, which is current: a spare one or a new one.
    pub fn take(&self, context: &Context) -> Result<Handle> {
        let spare = self.lock().pop();
        if let Some(event) = spare {
            return Ok(event);
        }
        let mut event = 0;
        // SAFETY: `event` is a valid place for the result.
        let status = unsafe { (context.functions().event_create)(&raw mut event, EVENT_FLAGS) };
        context.check("making an event", status)?;
        Ok(event)
    }

    /// Takes back an event that nobody looks at any more. Streams that wait for where it was recorded do so whatever becomes of it (CUDA
    /// Driver API, `cuStreamWaitEvent`: the wait is for the most recent recording at the time of the call).
    pub fn give_back(&self, context: &Context, event: Handle) {
        if !context.is_usable() {
            return;
        }
        let mut spare = self.lock();
        if spare.len() < MAX_SPARE {
            spare.push(event);
            return;
        }
        drop(spare);
        if let Ok(_entered) = context.enter() {
            // SAFETY: made in this context and destroyed once; the driver keeps what streams still wait for.
            unsafe { (context.functions().event_destroy)(event) };
        }
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
