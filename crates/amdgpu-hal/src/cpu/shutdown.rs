//! Stopping the work of all queues of the process, when it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::cancel::Cancellation;
use super::queue::Queue;
use crate::attention;
use crate::fork::ForkLocal;
use crate::{Error, Result};

/// Time between two looks whether what was cancelled has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Queues noted since the list was last freed of those that are gone, at least.
const MIN_SWEEP: usize = 64;

static QUEUES: ForkLocal<Mutex<Noted>> = ForkLocal::new(Mutex::default);
static IS_ENDING: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Default)]
struct Noted {
    queues: Vec<Weak<Queue>>,
    next_sweep: usize,
}

fn lock() -> MutexGuard<'static, Noted> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the queue stopped when everything is.
pub(super) fn note(queue: &Arc<Queue>) {
    let mut noted = lock();
    if noted.queues.len() >= noted.next_sweep {
        noted.queues.retain(|queue| queue.strong_count() > 0);
        noted.next_sweep = (2 * noted.queues.len()).max(MIN_SWEEP);
    }
    noted.queues.push(Arc::downgrade(queue));
}

/// Cancels what all CPU streams of the process run, those without a handle included, and waits for it at most `limit`. Tells whether all of it
/// has ended. Streams can be used again afterwards.
#[must_use]
pub fn stop_everything(limit: Duration) -> bool {
    let is_busy = |queue: &Arc<Queue>| queue.cancel().unwrap_or(false);
    let busy: Vec<Arc<Queue>> = queues().into_iter().filter(is_busy).collect();
    is_idle_within(&busy, limit)
}

/// [`stop_everything`], for a process that ends. What ends within `grace` is not cancelled. Threads that waited for what was cancelled do not go on,
/// except the first of the process, because an interpreter that is taken down cannot have them back. Dropping a stream waits for
/// nothing any more.
#[must_use]
pub fn end(grace: Duration, limit: Duration) -> bool {
    if is_idle_within(&queues(), grace) {
        return true;
    }
    IS_ENDING.store(true, Ordering::Release);
    stop_everything(limit)
}

fn queues() -> Vec<Arc<Queue>> {
    lock().queues.iter().filter_map(Weak::upgrade).collect()
}

fn is_idle_within(queues: &[Arc<Queue>], limit: Duration) -> bool {
    let start = Instant::now();
    // Queues of a parent process run nothing here.
    while queues.iter().any(|queue| queue.depth().unwrap_or(0) > 0) {
        if start.elapsed() >= limit {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Whether [`end`] found work that it had to cancel.
#[must_use]
pub fn is_ending() -> bool {
    IS_ENDING.load(Ordering::Acquire)
}

/// Keeps a host thread whose work was stopped because the process ends.
pub(super) fn detain(result: &Result<()>) {
    if !matches!(result, Err(Error::Cancelled { .. })) || !is_ending() {
        return;
    }
    if !Cancellation::current().exists() && !attention::is_first_thread() {
        loop {
            thread::park();
        }
    }
}
