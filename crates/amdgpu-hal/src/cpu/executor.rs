//! The thread pool as the C ABI hands it to other languages.

use std::ffi::c_void;

use amdgpu_abi::{Coded, Executor, TaskFn};

use super::pool;

/// An executor over the pool of the process. Valid for ever and after `fork()`: the pool is looked up with each call.
#[must_use]
pub fn executor() -> Executor {
    Executor {
        size_bytes: size_of::<Executor>() as u64,
        context: std::ptr::null_mut(),
        thread_count: pool::global().thread_count(),
        reserved: 0,
        parallel_for: Some(parallel_for),
    }
}

/// A pointer that is handed to several threads, as the C ABI demands of tasks.
struct TaskData(*mut c_void);
// SAFETY: the contract of `agpu_parallel_for_fn` lets several threads use the task's data at the same time.
unsafe impl Sync for TaskData {}

unsafe extern "C" fn parallel_for(
    _context: *mut c_void,
    count: u64,
    task: TaskFn,
    data: *mut c_void,
) -> i32 {
    let data = TaskData(data);
    let data = &data;
    let outcome = pool::global().parallel_for(count, 1, &|range| {
        // SAFETY: the caller of the C function gives a task that may be called with its data, from any thread, and does not unwind.
        unsafe { task(data.0, range.start, range.end) }
    });
    outcome.map_or_else(|error| error.code().code(), |()| 0)
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
    fn executor_covers_the_range() {
        let executor = executor();
        assert_eq!(executor.size_bytes, size_of::<Executor>() as u64);
        assert_eq!(executor.reserved, 0, "what the interface demands");
        assert_eq!(executor.thread_count, pool::global().thread_count());
        let sum = AtomicU64::new(0);
        let run = executor.parallel_for.unwrap();
        // SAFETY: `add` matches the data it is given.
        let status = unsafe {
            run(
                executor.context,
                1000,
                add,
                (&raw const sum).cast_mut().cast(),
            )
        };
        assert_eq!(status, 0);
        assert_eq!(sum.into_inner(), 499_500);
    }
}
