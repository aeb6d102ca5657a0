//! One recording of an event: a driver's event of its own, so that recording again moves nobody's point.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::context::Context;
use super::functions::{Handle, NOT_READY, SUCCESS};
use super::reference::Reference;
use crate::{Error, Result, clock};

const NS_PER_MS: f64 = 1e6;

#[derive(Debug)]
pub(super) struct Recording {
    // Before the context, which the events in it need.
    state: Mutex<State>,
    is_submitted: Condvar,
    /// Zero until asked for the first time after it was reached.
    reached_ns: AtomicU64,
    /// Of the stream that records.
    pub stream_id: u64,
    context: Arc<Context>,
}

#[derive(Debug)]
enum State {
    /// Behind a host function that has not run yet.
    Held,
    Submitted(Mark),
    /// The stream had failed, or the driver refused: there is nothing to wait for.
    Failed(Error, u64),
}

#[derive(Debug)]
struct Mark {
    event: Handle,
    reference: Arc<Reference>,
    submitted_ns: u64,
}

impl Recording {
    pub fn new(context: &Arc<Context>, stream_id: u64) -> Self {
        Self {
            state: Mutex::new(State::Held),
            is_submitted: Condvar::new(),
            reached_ns: AtomicU64::new(0),
            stream_id,
            context: Arc::clone(context),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_held(&self) -> bool {
        matches!(*self.lock(), State::Held)
    }

    fn when_submitted(&self) -> MutexGuard<'_, State> {
        self.is_submitted
            .wait_while(self.lock(), |state| matches!(state, State::Held))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records in the driver's stream, or notes the error that sticks to it.
    pub fn submit(&self, stream: Handle, failure: Option<&Error>) -> Result<()> {
        let outcome = match failure {
            Some(error) => Err(error.clone()),
            None => self.mark(stream),
        };
        let mut state = self.lock();
        let result = match outcome {
            Ok(mark) => {
                *state = State::Submitted(mark);
                Ok(())
            }
            Err(error) => {
                *state = State::Failed(error.clone(), clock::now_ns().max(1));
                // What stuck to the stream is no news to it.
                if failure.is_some() {
                    Ok(())
                } else {
                    Err(error)
                }
            }
        };
        self.is_submitted.notify_all();
        result
    }

    fn mark(&self, stream: Handle) -> Result<Mark> {
        let context = &self.context;
        let _entered = context.enter()?;
        let reference = context.reference()?;
        let event = context.events.take(context)?;
        let submitted_ns = clock::now_ns();
        // SAFETY: event and stream are live and of one context.
        let status = unsafe { (context.functions().event_record)(event, stream) };
        if status != SUCCESS {
            context.events.give_back(context, event);
        }
        context.check("recording an event", status)?;
        Ok(Mark {
            event,
            reference,
            submitted_ns,
        })
    }

    /// Lets a driver's stream of a context, this or another one of the driver, wait for the point, once it is submitted. Fails with the error of
    /// the stream that recorded.
    pub fn hold_back(&self, context: &Context, stream: Handle) -> Result<()> {
        match &*self.when_submitted() {
            State::Held => Ok(()),
            State::Failed(error, _) => Err(error.clone()),
            State::Submitted(mark) => {
                let _entered = context.enter()?;
                // SAFETY: event and stream are live, of contexts of one driver; the flags have to be 0.
                let status =
                    unsafe { (context.functions().stream_wait_event)(stream, mark.event, 0) };
                context.check("letting a stream wait for an event", status)
            }
        }
    }

    /// Whether the point was reached; errors count as reached.
    pub fn is_reached(&self) -> bool {
        match &*self.lock() {
            State::Held => false,
            State::Failed(..) => true,
            State::Submitted(mark) => self.query(mark).unwrap_or(true),
        }
    }

    fn query(&self, mark: &Mark) -> Result<bool> {
        let _entered = self.context.enter()?;
        // SAFETY: the event is live.
        match unsafe { (self.context.functions().event_query)(mark.event) } {
            NOT_READY => Ok(false),
            status => self
                .context
                .check("asking for the state of an event", status)
                .map(|()| true),
        }
    }

    /// Waits for the point; returns the error of the stream there.
    pub fn wait(&self) -> Result<()> {
        let event = match &*self.when_submitted() {
            State::Held => return Ok(()),
            State::Failed(error, _) => return Err(error.clone()),
            // The recording, which destroys the event, lives as long as this call.
            State::Submitted(mark) => mark.event,
        };
        let _entered = self.context.enter()?;
        // SAFETY: the event is live.
        let status = unsafe { (self.context.functions().event_synchronize)(event) };
        self.context.check("waiting for an event", status)
    }

    /// When the point was reached.
    pub fn timestamp_ns(&self) -> Option<u64> {
        let known_ns = self.reached_ns.load(Ordering::Relaxed);
        if known_ns != 0 {
            return Some(known_ns);
        }
        let reached_ns = match &*self.lock() {
            State::Held => return None,
            State::Failed(_, noted_ns) => *noted_ns,
            State::Submitted(mark) => {
                if !self.query(mark).ok()? {
                    return None;
                }
                // The clocks are tied to within microseconds; what the host knows for certain has the last word.
                let from_reference_ns = self.elapsed_ns(mark)?;
                (mark.reference.host_ns.saturating_add(from_reference_ns))
                    .max(mark.submitted_ns)
                    .min(clock::now_ns())
            }
        };
        self.reached_ns.store(reached_ns, Ordering::Relaxed);
        Some(reached_ns)
    }

    /// Nanoseconds from the reference to the point.
    fn elapsed_ns(&self, mark: &Mark) -> Option<u64> {
        let _entered = self.context.enter().ok()?;
        let mut elapsed_ms = 0.0_f32;
        // SAFETY: both events are live and have been reached, and `elapsed_ms` is a valid place for the result.
        let status = unsafe {
            (self.context.functions().event_elapsed_ms)(
                &raw mut elapsed_ms,
                mark.reference.event,
                mark.event,
            )
        };
        (status == SUCCESS).then(|| (f64::from(elapsed_ms) * NS_PER_MS).max(0.0) as u64)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Submitted(mark) = state {
            self.context.events.give_back(&self.context, mark.event);
        }
    }
}
