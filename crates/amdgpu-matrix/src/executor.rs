//! The shared thread pool as Zig sees it, with an upper limit on the threads of one call.

use std::ffi::c_void;
use std::ops::Range;

use amdgpu_abi::{Coded, Executor, Status, TaskFn};
use amdgpu_hal::cpu::pool;

/// Threads that a call may use at most; lives on the caller's stack for the duration of the call.
#[derive(Debug)]
pub(crate) struct ThreadLimit(u32);

impl ThreadLimit {
    pub(crate) fn new(threads: u32) -> Self {
        Self(threads)
    }

    /// `None` for one thread. The result holds the address of `self`.
    pub(crate) fn executor(&self) -> Option<Executor> {
        if self.0 <= 1 {
            return None;
        }
        let available = amdgpu_hal::cpu::executor();
        if available.thread_count <= 1 {
            return None;
        }
        if self.0 >= available.thread_count {
            return Some(available);
        }
        Some(Executor {
            context: (&raw const *self).cast_mut().cast(),
            thread_count: self.0,
            parallel_for: Some(limited_parallel_for),
            ..available
        })
    }
}

struct TaskData(*mut c_void);
// SAFETY: the contract of `agpu_parallel_for_fn` lets several threads use the task's data at the same time.
unsafe impl Sync for TaskData {}

/// Cuts the range into as many pieces as threads are allowed: no more than that can work at a time.
unsafe extern "C" fn limited_parallel_for(
    context: *mut c_void,
    count: u64,
    task: TaskFn,
    data: *mut c_void,
) -> Status {
    // SAFETY: the context is the ThreadLimit on the stack of the call under way.
    let limit = unsafe { &*context.cast::<ThreadLimit>() };
    let pieces = u64::from(limit.0).min(count).max(1);
    let data = TaskData(data);
    let data = &data;
    let outcome = pool::global().parallel_for(pieces, 1, &|range: Range<u64>| {
        for piece in range {
            // SAFETY: the caller gives a task that may be called with its data, from any thread, and does not unwind.
            unsafe {
                task(
                    data.0,
                    piece_start(piece, pieces, count),
                    piece_start(piece + 1, pieces, count),
                );
            }
        }
    });
    outcome.map_or_else(|error| error.code().code(), |()| 0)
}

/// First index of a piece when `count` is cut into `pieces` of nearly the same length.
fn piece_start(piece: u64, pieces: u64, count: u64) -> u64 {
    piece * (count / pieces) + piece.min(count % pieces)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    unsafe extern "C" fn add(data: *mut c_void, begin: u64, end: u64) {
        // SAFETY: the test passes an AtomicU64 that outlives the call.
        let sum = unsafe { &*data.cast::<AtomicU64>() };
        sum.fetch_add((begin..end).sum(), Ordering::Relaxed);
    }

    #[test]
    fn a_limited_executor_covers_every_index_once() {
        for threads in [2, 3, 7] {
            for count in [1_u64, 2, 6, 7, 8, 1000] {
                let limit = ThreadLimit::new(threads);
                let sum = AtomicU64::new(0);
                // SAFETY: context and data are what the function expects.
                let status = unsafe {
                    limited_parallel_for(
                        (&raw const limit).cast_mut().cast(),
                        count,
                        add,
                        (&raw const sum).cast_mut().cast(),
                    )
                };
                assert_eq!(status, 0);
                assert_eq!(sum.into_inner(), count * (count - 1) / 2);
            }
        }
    }

    #[test]
    fn one_thread_needs_no_executor() {
        assert!(ThreadLimit::new(1).executor().is_none());
    }
}
