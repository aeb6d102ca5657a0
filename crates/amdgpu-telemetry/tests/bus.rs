//! The bus as a whole, on hubs of their own with a clock wound by hand.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use amdgpu_telemetry::{
    Core, Hub, Kind, Language, ManualClock, MetricId, NameId, RECENT_RECORDS, RING_CAPACITY,
    Record, Snapshot, Subscription,
};

/// Long enough for the slowest machine; every wait ends early.
const PATIENCE: Duration = Duration::from_secs(60);

fn hub() -> (Arc<Hub>, ManualClock) {
    let clock = ManualClock::default();
    (Hub::with_clock(clock.clone()), clock)
}

fn marker(value: u64) -> Record {
    Record::new(Kind::Marker, NameId::UNNAMED).value(value)
}

/// What waits in a subscription once everything emitted so far was delivered to it.
fn drain(hub: &Hub, subscription: &Subscription) -> Vec<Record> {
    hub.flush();
    let mut records = Vec::new();
    subscription.try_recv_batch(&mut records, usize::MAX);
    records
}

fn values(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.value).collect()
}

#[test]
fn a_snapshot_shows_records_without_a_collector() {
    let (hub, clock) = hub();
    let producer = hub.producer();
    clock.advance_ns(100);
    let name = hub.intern("vector_add");
    hub.name_device(0, "cpu:0");
    producer.emit(
        Record::new(Kind::Launch, name)
            .core(Core::Aura)
            .language(Language::Rust)
            .device(0)
            .stream(2)
            .at(hub.now_ns(), 7),
    );
    let snapshot = hub.snapshot();
    assert_eq!(snapshot.records.len(), 1);
    let record = snapshot.records[0];
    assert_eq!(
        (
            record.kind,
            record.core,
            record.start_ns,
            record.duration_ns
        ),
        (Kind::Launch, Core::Aura, 100, 7)
    );
    assert_eq!(record.to_language(), Some(Language::Rust));
    assert_eq!(snapshot.names.get(record.name), "vector_add");
    assert_eq!(snapshot.names.device(record.device), "cpu:0");
    assert_eq!(snapshot.names.device(9), "device 9");
    let this_thread = std::thread::current();
    assert!(
        snapshot
            .names
            .threads
            .contains(&(record.thread, this_thread.name().unwrap().to_owned()))
    );
    assert_eq!(
        snapshot.clock.unix_ns_at(record.start_ns),
        ManualClock::UNIX_AT_ZERO_NS + 100
    );
}

#[test]
fn the_history_keeps_the_newest_records_of_many_drains() {
    let (hub, _) = hub();
    let producer = hub.producer();
    let total = RECENT_RECORDS as u64 + 500;
    for value in 0..total {
        producer.emit(marker(value));
        if value % 1000 == 0 {
            hub.flush();
        }
    }
    let snapshot = hub.snapshot();
    assert_eq!(values(&snapshot.records), (500..total).collect::<Vec<_>>());
    assert_eq!(
        (snapshot.records_emitted, snapshot.records_lost),
        (total, 0)
    );
}

#[test]
fn a_subscriber_gets_what_is_emitted_after_it_came() {
    let (hub, _) = hub();
    let producer = hub.producer();
    producer.emit(marker(1));
    let subscription = hub.subscribe("late", 16);
    producer.emit(marker(2));
    producer.emit(marker(3));
    assert_eq!(values(&drain(&hub, &subscription)), [2, 3]);
    assert_eq!(subscription.dropped(), 0);
}

#[test]
fn records_of_threads_are_merged_by_the_time_they_ended() {
    let (hub, _) = hub();
    let (first, second) = (hub.producer(), hub.producer());
    first.emit(marker(1).at(0, 100));
    first.emit(marker(2).at(150, 50));
    second.emit(marker(3).at(20, 130));
    second.emit(marker(4).at(140, 20));
    assert_eq!(values(&hub.snapshot().records), [1, 3, 4, 2]);
}

#[test]
fn the_collector_wakes_a_waiting_subscriber() {
    let (hub, _) = hub();
    let subscription = hub.subscribe("waiting", 16);
    let producer = hub.producer();
    for round in 0..50 {
        producer.emit(marker(round));
        let record = subscription.recv_timeout(PATIENCE);
        assert_eq!(record.map(|record| record.value), Some(round));
    }
}

#[test]
fn the_collector_wakes_up_after_a_quiet_time() {
    let (hub, _) = hub();
    let subscription = hub.subscribe("quiet", 16);
    // Long enough for the collector to fall asleep: an empty wait, not a measurement.
    assert_eq!(subscription.recv_timeout(Duration::from_millis(40)), None);
    hub.producer().emit(marker(1));
    assert_eq!(
        subscription
            .recv_timeout(PATIENCE)
            .map(|record| record.value),
        Some(1)
    );
}

#[test]
fn a_slow_subscriber_loses_its_oldest_records_and_nobody_elses() {
    let (hub, _) = hub();
    let producer = hub.producer();
    let (slow, quick) = (hub.subscribe("slow", 10), hub.subscribe("quick", 1000));
    for value in 0..100 {
        producer.emit(marker(value));
    }
    assert_eq!(values(&drain(&hub, &quick)), (0..100).collect::<Vec<_>>());
    assert_eq!(values(&drain(&hub, &slow)), (90..100).collect::<Vec<_>>());
    assert_eq!((slow.dropped(), quick.dropped()), (90, 0));
    let snapshot = hub.snapshot();
    assert_eq!(
        snapshot.value(MetricId::TelemetryDroppedTotal, &["slow"]),
        Some(90.0)
    );
    assert_eq!(
        snapshot.value(MetricId::TelemetryDroppedTotal, &["quick"]),
        Some(0.0)
    );
}

#[test]
fn unsubscribing_and_subscribing_again_restarts_delivery() {
    let (hub, _) = hub();
    let producer = hub.producer();
    for round in 0..20 {
        let subscription = hub.subscribe("again", 16);
        producer.emit(marker(round));
        assert_eq!(
            subscription
                .recv_timeout(PATIENCE)
                .map(|record| record.value),
            Some(round)
        );
    }
}

#[test]
fn emitted_is_delivered_plus_dropped_under_concurrent_producers() {
    const THREADS: u64 = 6;
    const EACH: u64 = 50_000;
    let (hub, _) = hub();
    let subscription = hub.subscribe("all", 4096);
    let mut received = Vec::new();
    std::thread::scope(|scope| {
        let producers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let producer = hub.producer();
                scope.spawn(move || {
                    for number in 0..EACH {
                        // Every word depends on the number, so that a mixture of two records would be seen.
                        let mut record = marker(number)
                            .detail(thread, !number)
                            .stream(number as u32)
                            .at(0, number);
                        record.thread = thread as u32 + 1;
                        producer.emit(record);
                    }
                })
            })
            .collect();
        while !producers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            subscription.recv_batch(&mut received, 512, Duration::from_millis(1));
        }
    });
    received.extend(drain(&hub, &subscription));
    let mut last: HashMap<u64, u64> = HashMap::new();
    let mut seen = 0u64;
    for record in &received {
        let [thread, inverse] = record.detail;
        let number = record.value;
        assert_eq!(
            (inverse, record.stream, record.duration_ns),
            (!number, number as u32, number),
            "torn record"
        );
        assert_eq!(u64::from(record.thread), thread + 1, "torn record");
        if let Some(previous) = last.insert(thread, number) {
            assert!(
                number > previous,
                "repeated or reordered: {previous}, {number}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, subscription.received());
    assert_eq!(seen + subscription.dropped(), THREADS * EACH);
    let snapshot = hub.snapshot();
    assert_eq!(snapshot.records_emitted, THREADS * EACH);
    assert!(snapshot.records_lost <= subscription.dropped());
}

#[test]
fn rings_of_ended_threads_are_taken_over_with_what_they_hold() {
    let (hub, _) = hub();
    let threads = 100;
    for number in 0..threads {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let producer = hub.producer();
                producer.emit(marker(number));
                producer.emit(marker(number));
            });
        });
    }
    let snapshot = hub.snapshot();
    assert_eq!(snapshot.records.len() as u64, 2 * threads);
    assert_eq!(snapshot.records_lost, 0);
    let ids: std::collections::HashSet<u32> = snapshot
        .records
        .iter()
        .map(|record| record.thread)
        .collect();
    assert!(ids.len() > 1, "records tell which thread they are of");
}

#[test]
fn a_full_ring_keeps_the_newest_and_counts_the_rest() {
    let (hub, _) = hub();
    let producer = hub.producer();
    let total = RING_CAPACITY as u64 * 3 + 5;
    (0..total).for_each(|value| producer.emit(marker(value)));
    let snapshot = hub.snapshot();
    assert_eq!(
        values(&snapshot.records),
        (total - RING_CAPACITY as u64..total).collect::<Vec<_>>()
    );
    assert_eq!(
        (snapshot.records_emitted, snapshot.records_lost),
        (total, total - RING_CAPACITY as u64)
    );
}

#[test]
fn boundaries_are_summed_by_site_and_by_languages() {
    let (hub, _) = hub();
    let producer = hub.producer();
    for duration in 1..=100 {
        hub.record_boundary(
            &producer,
            Language::Rust,
            Language::Zig,
            "matmul",
            0,
            duration * 1000,
        );
    }
    hub.record_boundary(
        &producer,
        Language::Rust,
        Language::Zig,
        "allocate",
        0,
        500_000,
    );
    hub.record_boundary(
        &producer,
        Language::Python,
        Language::Rust,
        "execute",
        0,
        2_000,
    );
    let snapshot = hub.snapshot();
    let names: Vec<_> = snapshot
        .boundaries
        .iter()
        .map(|row| (&*row.from, &*row.to, &*row.name, row.count))
        .collect();
    assert_eq!(
        names,
        [
            ("python", "rust", "execute", 1),
            ("rust", "zig", "allocate", 1),
            ("rust", "zig", "matmul", 100)
        ]
    );
    let matmul = &snapshot.boundaries[2];
    assert!((matmul.total_seconds - 5050e-6).abs() < 1e-12);
    assert!((matmul.max_seconds - 100e-6).abs() < 1e-12);
    assert!(
        (40e-6..=63e-6).contains(&matmul.p50_seconds),
        "{}",
        matmul.p50_seconds
    );
    assert!(
        (90e-6..=100e-6).contains(&matmul.p99_seconds),
        "{}",
        matmul.p99_seconds
    );
    assert_eq!(
        snapshot.value(MetricId::BoundaryCallsTotal, &["rust", "zig"]),
        Some(101.0)
    );
    assert_eq!(
        snapshot.value(MetricId::BoundaryCallsTotal, &["python", "rust"]),
        Some(1.0)
    );
    let seconds: Vec<_> = snapshot
        .histograms
        .iter()
        .filter(|row| row.metric == "amdgpu_boundary_seconds")
        .map(|row| row.count)
        .collect();
    assert_eq!(seconds, [1, 101]);
    assert_eq!(
        snapshot
            .records
            .iter()
            .filter(|record| record.kind == Kind::Boundary)
            .count(),
        102
    );
}

#[test]
fn switched_off_counters_go_on_and_boundaries_do_not() {
    let (hub, _) = hub();
    let producer = hub.producer();
    let launches = hub.counter(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]);
    let seconds = hub.histogram(MetricId::CompileSeconds, &["x86_64"]);
    hub.set_enabled(false);
    launches.increment();
    seconds.record_ns(5);
    hub.record_boundary(&producer, Language::Rust, Language::Zig, "matmul", 0, 5);
    let snapshot = hub.snapshot();
    assert!(!snapshot.enabled);
    assert!(snapshot.records.is_empty() && snapshot.boundaries.is_empty());
    assert_eq!(
        snapshot.value(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]),
        Some(1.0)
    );
    assert_eq!(snapshot.histograms[0].count, 0);
}

#[test]
fn what_was_never_set_is_absent() {
    let (hub, _) = hub();
    let power = hub.gauge(MetricId::PowerWatts, &["cpu:0", "package"]);
    assert_eq!(
        hub.snapshot()
            .value(MetricId::PowerWatts, &["cpu:0", "package"]),
        None
    );
    power.set(0.0);
    assert_eq!(
        hub.snapshot()
            .value(MetricId::PowerWatts, &["cpu:0", "package"]),
        Some(0.0)
    );
    power.clear();
    assert_eq!(
        hub.snapshot()
            .value(MetricId::PowerWatts, &["cpu:0", "package"]),
        None
    );
}

#[test]
fn a_snapshot_survives_json() {
    let (hub, clock) = hub();
    clock.advance_ns(1_000_000);
    let producer = hub.producer();
    hub.record_boundary(
        &producer,
        Language::Rust,
        Language::Julia,
        "softmax",
        5,
        1234,
    );
    hub.counter(MetricId::SpikesTotal, &["a \"quoted\" net"])
        .add(3);
    hub.gauge(MetricId::QueueDepth, &["cpu:0", "0"]).set(2.5);
    producer.emit(
        Record::new(Kind::Copy, hub.intern("copy"))
            .device(3)
            .value(4096),
    );
    let snapshot = hub.snapshot();
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    let counters = object["counters"].as_array().unwrap();
    let labels = |metric: &str| {
        let found = counters.iter().find(|row| row["metric"] == metric);
        &found.unwrap()["labels"]
    };
    assert_eq!(labels("amdgpu_boundary_calls_total")["from"], "rust");
    assert_eq!(labels("amdgpu_core_busy_seconds_total")["core"], "math");
    assert_eq!(object["records"][1]["device"], serde_json::Value::Null);
    assert_eq!(object["records"][0]["device"], 3);
}

#[test]
fn overhead_is_absent_before_the_process_used_time_and_at_most_one_after() {
    let (hub, clock) = hub();
    assert_eq!(hub.snapshot().overhead_ratio, None);
    clock.advance_ns(10);
    let ratio = hub.snapshot().overhead_ratio;
    assert!(
        ratio.is_some_and(|ratio| (0.0..=1.0).contains(&ratio)),
        "{ratio:?}"
    );
}

#[test]
fn a_subscription_outlives_the_last_handle_of_its_hub() {
    let (hub, _) = hub();
    let subscription = hub.subscribe("orphan", 4);
    hub.producer().emit(marker(1));
    drop(hub);
    assert_eq!(
        subscription
            .recv_timeout(PATIENCE)
            .map(|record| record.value),
        Some(1)
    );
}

#[test]
fn a_small_queue_that_is_seldom_read_does_not_want_every_record() {
    let (hub, _) = hub();
    let interval = Duration::from_millis(16);
    assert!(!hub.wants_every_record());
    let patient = hub.subscribe_patiently("viewer", 256, interval);
    assert!(!hub.wants_every_record());
    let large = hub.subscribe_patiently("recording", 1 << 16, interval);
    assert!(hub.wants_every_record());
    drop(large);
    assert!(!hub.wants_every_record());
    let at_once = hub.subscribe("events", 256);
    assert!(hub.wants_every_record());
    drop(patient);
    assert!(hub.wants_every_record());
    drop(at_once);
    assert!(!hub.wants_every_record());
}

#[test]
fn what_a_patient_subscriber_gets_and_loses_is_what_was_emitted() {
    let (hub, _) = hub();
    let producer = hub.producer();
    let patient = hub.subscribe_patiently("viewer", 256, Duration::from_millis(16));
    let emitted = 5 * RING_CAPACITY as u64;
    (0..emitted).for_each(|number| producer.emit(marker(number)));
    let received = values(&drain(&hub, &patient));
    let newest: Vec<u64> = (emitted - 256..emitted).collect();
    assert_eq!(received, newest);
    assert_eq!(patient.dropped(), emitted - 256);
}

#[test]
fn a_record_wakes_the_collector_of_a_patient_subscriber() {
    let (hub, _) = hub();
    let producer = hub.producer();
    // An hour: only being woken brings a record before the test's own patience ends.
    let patient = hub.subscribe_patiently("viewer", 256, Duration::from_secs(3600));
    producer.emit(marker(1));
    let first = patient.recv_timeout(PATIENCE);
    assert_eq!(first.map(|record| record.value), Some(1));
}
