//! What telemetry costs: nanoseconds a record, a counter increment, a histogram entry, a boundary guard; switched on and off.
//!
//! `cargo run --release -p amdgpu-telemetry --example bench_record`

use std::hint::black_box;
use std::time::Instant;

use amdgpu_telemetry::{
    Boundary, Core, KernelIdentity, KernelMeter, Kind, Language, MetricId, Record, boundary,
    counter, emit, gauge, histogram, intern, now_ns, set_enabled, snapshot, span, subscribe,
};

/// Enough that one pass takes tens of milliseconds.
const ROUNDS: u32 = 1_000_000;
/// The best pass counts: others share the machine.
const PASSES: u32 = 7;

static SITE: Boundary = Boundary::new(Language::Rust, Language::Zig, "bench_static");
static BRIEF: Boundary = Boundary::new(Language::Rust, Language::Zig, "bench_brief");

fn best_ns(mut once: impl FnMut()) -> f64 {
    (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                once();
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn measure(name: &str, mut once: impl FnMut()) {
    set_enabled(true);
    let on_ns = best_ns(&mut once);
    set_enabled(false);
    let off_ns = best_ns(&mut once);
    set_enabled(true);
    println!("{name:<44} {on_ns:>8.2} {off_ns:>8.2}");
}

fn all() {
    let name = intern("bench");
    let record = Record::new(Kind::Marker, name)
        .core(Core::Aura)
        .device(0)
        .stream(1);
    let launches = counter(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]);
    let depth = gauge(MetricId::QueueDepth, &["cpu:0", "0"]);
    let seconds = histogram(
        MetricId::KernelDurationSeconds,
        &["cpu:0", "aura", "bench", "0000000000000001"],
    );
    let meter = KernelMeter::new(
        "cpu:0",
        0,
        Core::Aura,
        Language::Rust,
        KernelIdentity {
            name: "bench",
            id: 1,
        },
    );
    let mut number = 0u64;
    measure("clock", || {
        black_box(now_ns());
    });
    measure("record", || {
        number += 1;
        emit(record.at(number, 1000));
    });
    measure("counter increment", || launches.increment());
    measure("gauge set", || depth.set(1.0));
    measure("histogram entry", || {
        number += 1;
        seconds.record_ns(number & 0xffff);
    });
    measure("boundary guard, static site", || drop(SITE.enter()));
    measure("boundary guard, brief", || drop(BRIEF.enter_brief()));
    measure("boundary guard, by name", || {
        drop(boundary(Language::Python, Language::Rust, "bench"));
    });
    measure("span", || drop(span(Kind::Compile, name)));
    measure("kernel launch, metrics and record", || {
        meter.finish(0, 0, 1000, 1024, 4);
    });
}

fn main() {
    println!("{:<44} {:>8} {:>8}", "ns each, one thread", "on", "off");
    all();
    let subscription = subscribe(1 << 16);
    println!(
        "\n{:<44} {:>8} {:>8}",
        "the same with a subscriber", "on", "off"
    );
    all();
    let mut sink = Vec::new();
    subscription.try_recv_batch(&mut sink, usize::MAX);
    println!(
        "\nsubscriber: received {}, dropped {}",
        subscription.received(),
        subscription.dropped()
    );
    let start = Instant::now();
    let snapshot = snapshot();
    println!(
        "snapshot: {:.2} ms, overhead ratio of this loop of nothing else: {:?}",
        start.elapsed().as_secs_f64() * 1e3,
        snapshot.overhead_ratio
    );
}
