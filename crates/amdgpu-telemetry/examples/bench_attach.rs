//! What being watched costs a loop of launches, and how long a record takes to whoever watches, here and in another process.
//!
//! `cargo run --release -p amdgpu-telemetry --example bench_attach`. The launches do a microsecond or two of arithmetic, as the cheapest kernels of
//! the CPU device do; each way of running is repeated in turns and its least processor time counts.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Duration;

use amdgpu_telemetry as telemetry;
use telemetry::attach::{self, RecordStream, SubscribeOptions, Watcher};
use telemetry::{Core, KernelIdentity, KernelMeter, Kind, Language, now_ns};

const ROLE: &str = "AGPU_BENCH_ROLE";
const LAUNCHES: u64 = 20_000;
const TURNS: usize = 40;
const RECORDS: usize = 500;

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("watch") => watch(),
        Ok("emit") => emit(),
        _ => measure(),
    }
}

/// A dashboard: sixty looks a second.
fn watch() {
    let options = SubscribeOptions {
        interval: Duration::from_millis(16),
        totals_every: Some(Duration::from_millis(100)),
        ..SubscribeOptions::default()
    };
    let mut watcher = Watcher::new(options);
    loop {
        black_box(watcher.poll_lines(Duration::from_millis(16), 256));
    }
}

/// A launch every ten milliseconds.
fn emit() {
    attach::start();
    let meter = meter();
    loop {
        meter.finish(0, now_ns(), 0, 64, 1);
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn meter() -> KernelMeter {
    KernelMeter::new(
        "cpu:0",
        0,
        Core::Aura,
        Language::Rust,
        KernelIdentity {
            name: "bench",
            id: 1,
        },
    )
}

fn child(role: &str) -> Option<std::process::Child> {
    let own = std::env::current_exe().ok()?;
    let mut command = Command::new(own);
    command.env(ROLE, role).stdout(Stdio::null()).spawn().ok()
}

/// Processor time of this thread.
fn thread_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer, and the clock exists on every supported system.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of a launch that computes for a while and then reports.
fn launches(meter: Option<&KernelMeter>) -> f64 {
    let begin_ns = thread_ns();
    for number in 0..LAUNCHES {
        // A launch reads the clock on both sides whoever asks: its caller gets the times.
        let start_ns = now_ns();
        let mut value = number;
        for _ in 0..1500 {
            value = black_box(value.wrapping_mul(0x9E37_79B9).rotate_left(7));
        }
        let duration_ns = now_ns() - start_ns;
        match meter {
            Some(meter) => meter.finish(0, start_ns, duration_ns, 64, 1),
            None => drop(black_box((start_ns, duration_ns))),
        }
    }
    (thread_ns() - begin_ns) as f64 / LAUNCHES as f64
}

fn in_turns(what: &str) {
    let meter = meter();
    let (mut bare, mut off, mut on) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..TURNS {
        bare = bare.min(launches(None));
        telemetry::set_enabled(false);
        off = off.min(launches(Some(&meter)));
        telemetry::set_enabled(true);
        on = on.min(launches(Some(&meter)));
    }
    let share = |time: f64| (time / bare - 1.0) * 100.0;
    println!(
        "{what}: bare {bare:.1} ns, off {off:.1} ns ({:+.2} %), on {on:.1} ns ({:+.2} %)",
        share(off),
        share(on)
    );
}

fn latency(what: &str, stream: &mut RecordStream) {
    let mut times = Vec::new();
    while times.len() < RECORDS {
        let Ok(batch) = stream.recv(Duration::from_secs(5)) else {
            break;
        };
        let now = now_ns();
        let launches = batch.records.iter().filter(|one| one.kind == Kind::Launch);
        times.extend(launches.map(|one| now.saturating_sub(one.end_ns())));
    }
    times.sort_unstable();
    let of = |share: f64| {
        times
            .get((times.len() as f64 * share) as usize)
            .copied()
            .unwrap_or(0) as f64
            / 1e3
    };
    println!(
        "{what}: median {:.0} us, 95 % {:.0} us, {} records",
        of(0.5),
        of(0.95),
        times.len()
    );
}

fn measure() {
    attach::start();
    in_turns("nobody watches");
    if let Some(mut watcher) = child("watch") {
        std::thread::sleep(Duration::from_secs(1));
        in_turns("a watcher in another process");
        let _ = watcher.kill();
        let _ = watcher.wait();
    }
    let mut own = RecordStream::own(&SubscribeOptions::default());
    std::thread::spawn(emit);
    latency("record to a subscriber in this process", &mut own);
    if let Some(mut emitter) = child("emit") {
        std::thread::sleep(Duration::from_millis(500));
        match RecordStream::connect(emitter.id(), &SubscribeOptions::default()) {
            Ok(mut stream) => latency("record to a subscriber in another process", &mut stream),
            Err(error) => println!("the emitter cannot be watched: {error}"),
        }
        let _ = emitter.kill();
        let _ = emitter.wait();
    }
}
