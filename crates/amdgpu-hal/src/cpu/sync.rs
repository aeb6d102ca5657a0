//! Locks, atomics and threads of the queues: those of the standard library, or with the feature `model` those of a model checker that
//! chooses every order in which threads go on (`tests/order_model.rs`).

#[cfg(feature = "model")]
pub(super) use shuttle::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle, ThreadId},
    thread_local,
};
#[cfg(not(feature = "model"))]
pub(super) use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle, ThreadId},
    thread_local,
};

use std::sync::PoisonError;

use crate::attention;

/// Sleeps until the condition is signalled. On a thread that signal handlers need, at most for [`attention::INTERVAL`], which the second
/// value tells.
pub(super) fn sleep<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
) -> (MutexGuard<'a, T>, bool) {
    if !attention::is_needed() {
        let guard = condition
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner);
        return (guard, false);
    }
    let (guard, result) = condition
        .wait_timeout(guard, attention::INTERVAL)
        .unwrap_or_else(PoisonError::into_inner);
    (guard, result.timed_out())
}
