use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use super::*;

fn covered(pool: &Pool, count: u64, grain: u64) -> Vec<u64> {
    let hits: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    pool.parallel_for(count, grain, &|range| {
        for index in range {
            hits[index as usize].fetch_add(1, Ordering::Relaxed);
        }
    })
    .unwrap();
    hits.into_iter().map(AtomicU64::into_inner).collect()
}

#[test]
fn every_index_is_visited_exactly_once() {
    let pool = Pool::new(4);
    for (count, grain) in [
        (0, 1),
        (1, 1),
        (7, 1),
        (1000, 1),
        (1000, 7),
        (1000, 0),
        (1000, 5000),
        (100_000, 64),
    ] {
        assert!(
            covered(&pool, count, grain).iter().all(|&hits| hits == 1),
            "{count} by {grain}"
        );
    }
}

#[test]
fn pieces_respect_the_grain() {
    let pool = Pool::new(3);
    let sizes = Mutex::new(Vec::new());
    pool.parallel_for(1000, 64, &|range| {
        sizes.lock().unwrap().push(range.end - range.start);
    })
    .unwrap();
    let sizes = sizes.into_inner().unwrap();
    assert_eq!(sizes.iter().sum::<u64>(), 1000);
    assert!(sizes.iter().all(|&size| size >= 64), "{sizes:?}");
}

#[test]
fn work_for_one_piece_starts_no_thread() {
    let pool = Pool::new(4);
    let caller = std::thread::current().id();
    pool.parallel_for(10, 10, &|_| assert_eq!(std::thread::current().id(), caller))
        .unwrap();
    assert!(!pool.is_started());
}

#[test]
fn several_threads_take_part() {
    let pool = Pool::new(3);
    // Each piece waits for the two others, so the call can only end when three threads are inside at once.
    let barrier = Barrier::new(3);
    pool.parallel_for(3, 1, &|range| {
        for _ in range {
            barrier.wait();
        }
    })
    .unwrap();
}

#[test]
fn the_call_returns_after_the_last_piece() {
    let pool = Pool::new(2);
    for _ in 0..20 {
        let barrier = Barrier::new(2);
        let caller = std::thread::current().id();
        let finished = AtomicU64::new(0);
        pool.parallel_for(2, 1, &|_| {
            // Both threads are inside; the caller leaves at once, the worker long after it.
            barrier.wait();
            if std::thread::current().id() != caller {
                for round in 0..300_000_u64 {
                    std::hint::black_box(round);
                }
                finished.store(1, Ordering::Relaxed);
            }
        })
        .unwrap();
        assert_eq!(finished.into_inner(), 1);
    }
}

#[test]
fn nested_calls_run_on_the_calling_thread() {
    let pool = Pool::new(4);
    let total = AtomicU64::new(0);
    pool.parallel_for(8, 1, &|outer| {
        let outer_thread = std::thread::current().id();
        for _ in outer {
            pool.parallel_for(100, 1, &|inner| {
                assert_eq!(std::thread::current().id(), outer_thread);
                total.fetch_add(inner.end - inner.start, Ordering::Relaxed);
            })
            .unwrap();
        }
    })
    .unwrap();
    assert_eq!(total.into_inner(), 800);
}

#[test]
fn a_panic_is_returned_and_the_pool_stays_usable() {
    let pool = Pool::new(4);
    for grain in [1, 1000] {
        let error = pool
            .parallel_for(1000, grain, &|range| {
                assert!(!range.contains(&500), "index 500 is bad");
            })
            .unwrap_err();
        assert_eq!(
            error,
            Error::Panicked {
                message: "index 500 is bad".to_string()
            }
        );
        assert!(covered(&pool, 1000, 1).iter().all(|&hits| hits == 1));
    }
}

#[test]
fn many_threads_may_call_at_once() {
    let pool = Pool::new(4);
    let rounds = if cfg!(debug_assertions) { 200 } else { 2000 };
    std::thread::scope(|scope| {
        // More callers than slots, so that the lone path is taken too.
        for _ in 0..40 {
            scope.spawn(|| {
                for round in 0..rounds {
                    let sum = AtomicU64::new(0);
                    pool.parallel_for(50 + round % 7, 3, &|range| {
                        sum.fetch_add(range.sum::<u64>(), Ordering::Relaxed);
                    })
                    .unwrap();
                    let count = 50 + round % 7;
                    assert_eq!(sum.into_inner(), count * (count - 1) / 2);
                }
            });
        }
    });
}

#[test]
fn dropping_the_pool_ends_its_threads() {
    let pool = Pool::new(4);
    covered(&pool, 1000, 1);
    let shared = Arc::downgrade(&pool.shared);
    drop(pool);
    assert!(shared.upgrade().is_none());
}

#[test]
fn a_pool_has_a_thread_at_least_and_as_many_as_are_allowed_at_most() {
    for (asked, given) in [
        (0, 1),
        (1, 1),
        (7, 7),
        (MAX_THREADS, MAX_THREADS),
        (u32::MAX, MAX_THREADS),
    ] {
        assert_eq!(Pool::new(asked).thread_count(), given);
    }
}

#[test]
fn a_call_that_finds_no_slot_runs_alone_and_is_counted() {
    let pool = Pool::new(2);
    let (callers_inside, is_open) = (AtomicU64::new(0), AtomicBool::new(false));
    let alone = Mutex::new(Vec::new());
    let before = std::thread::scope(|scope| {
        for _ in 0..SLOT_COUNT {
            scope.spawn(|| {
                let caller = std::thread::current().id();
                pool.parallel_for(2, 1, &|_| {
                    if std::thread::current().id() == caller {
                        callers_inside.fetch_add(1, Ordering::Relaxed);
                    }
                    while !is_open.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                })
                .unwrap();
            });
        }
        while callers_inside.load(Ordering::Relaxed) < SLOT_COUNT as u64 {
            std::thread::yield_now();
        }
        let before = pool.slot_exhaustions();
        let outcome = pool.parallel_for(10, 1, &|range| alone.lock().unwrap().push(range));
        is_open.store(true, Ordering::Relaxed);
        outcome.unwrap();
        before
    });
    assert_eq!((before, pool.slot_exhaustions()), (0, 1));
    let alone = alone.into_inner().unwrap();
    assert_eq!((alone.len(), &alone[0]), (1, &(0..10)));
    // The slots are free again.
    assert!(covered(&pool, 100, 1).iter().all(|&hits| hits == 1));
    assert_eq!(pool.slot_exhaustions(), 1);
}

/// Cores that the calling thread may run on.
fn allowed_cores() -> usize {
    // SAFETY: all-zero is the empty set, which the call fills.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        let status = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cores);
        assert_eq!(status, 0);
        libc::CPU_COUNT(&cores) as usize
    }
}

#[test]
fn a_woken_worker_may_not_run_on_the_core_of_its_waker() {
    const MAX_ROUNDS: u32 = 1000;
    let allowed = allowed_cores();
    if allowed < 2 {
        println!("skipped: there is one core");
        return;
    }
    let pool = Pool::new(2);
    let caller = std::thread::current().id();
    let cores_of_worker = AtomicU64::new(0);
    // Only workers that sleep are placed; when one falls asleep is the scheduler's affair.
    for _ in 0..MAX_ROUNDS {
        let barrier = Barrier::new(2);
        pool.parallel_for(2, 1, &|_| {
            barrier.wait();
            if std::thread::current().id() != caller {
                cores_of_worker.store(allowed_cores() as u64, Ordering::Relaxed);
            }
        })
        .unwrap();
        if cores_of_worker.load(Ordering::Relaxed) as usize == allowed - 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it may run on {cores_of_worker:?} of {allowed} cores");
}
