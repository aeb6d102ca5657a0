//! The child of a fork starts with an empty bus and goes on working, whatever the parent's threads were doing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amdgpu_telemetry::{
    Counter, Kind, Language, MetricId, Record, Subscription, boundary, counter, emit, intern,
    snapshot, subscribe,
};

/// After this many seconds a child that hangs is killed, and the test fails.
const CHILD_LIMIT_SECONDS: u32 = 30;

/// What the child sees; the answer is its exit status, 0 for "all well".
fn child(launches: &Counter, inherited: &Subscription) -> i32 {
    let fresh = snapshot();
    if !fresh.records.is_empty() || fresh.records_emitted != 0 || !fresh.boundaries.is_empty() {
        return 2;
    }
    if !inherited.is_closed() || inherited.recv_timeout(Duration::from_secs(20)).is_some() {
        return 3;
    }
    launches.increment();
    if snapshot().value(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]) != Some(1.0) {
        return 4;
    }
    let subscription = subscribe(64);
    emit(Record::new(Kind::Marker, intern("in the child")).value(7));
    if subscription
        .recv_timeout(Duration::from_secs(20))
        .map(|record| record.value)
        != Some(7)
    {
        return 5;
    }
    drop(boundary(Language::Python, Language::Rust, "in the child"));
    let worker = std::thread::spawn(|| emit(Record::new(Kind::Marker, intern("worker"))));
    if worker.join().is_err() {
        return 6;
    }
    let after = snapshot();
    // SAFETY: takes nothing, touches no memory.
    let own_thread = unsafe { libc::gettid() } as u32;
    if after.records.len() != 3
        || after.boundaries.len() != 1
        || after.records[0].thread != own_thread
    {
        return 7;
    }
    0
}

/// Forks, lets the child judge, and returns its wait status; -1 where forking or waiting failed.
fn status_of_child(launches: &Counter, inherited: &Subscription) -> i32 {
    // SAFETY: the child calls only this crate, the standard library and `_exit`; that the crate works there is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: plain system calls; `_exit` keeps the test harness of the child from running on.
        unsafe {
            libc::alarm(CHILD_LIMIT_SECONDS);
            libc::_exit(child(launches, inherited));
        }
    }
    let mut status = -1;
    // SAFETY: `status` is a valid place for the answer.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if pid > 0 && waited == pid { status } else { -1 }
}

#[test]
fn children_of_a_busy_process_start_empty_and_do_not_hang() {
    let stop = AtomicBool::new(false);
    let launches = counter(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]);
    launches.add(100);
    let inherited = subscribe(1024);
    let failure = std::thread::scope(|scope| {
        for number in 0..3 {
            let (stop, inherited) = (&stop, &inherited);
            scope.spawn(move || {
                let mut round = 0u64;
                let mut sink = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    drop(boundary(Language::Rust, Language::Nim, "busy"));
                    emit(Record::new(
                        Kind::Marker,
                        intern(&format!("name {number} {}", round % 50)),
                    ));
                    counter(MetricId::SpikesTotal, &[&format!("net {}", round % 7)]).increment();
                    if round.is_multiple_of(100) {
                        let _ = snapshot();
                    }
                    inherited.try_recv_batch(&mut sink, 16);
                    sink.clear();
                }
            });
        }
        emit(Record::new(Kind::Marker, intern("in the parent")));
        // Judged after the scope: a panic in it would wait for threads that nobody stops.
        let failure = (0..20)
            .map(|_| status_of_child(&launches, &inherited))
            .find(|&status| status != 0);
        stop.store(true, Ordering::Relaxed);
        failure
    });
    assert_eq!(
        failure, None,
        "wait status: the child's answer times 256, or the signal that ended it"
    );
    assert_eq!(
        snapshot().value(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]),
        Some(100.0)
    );
    assert!(!inherited.is_closed());
}
