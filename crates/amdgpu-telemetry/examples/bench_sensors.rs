//! What sensors cost here: the share of a core that sampling takes, and the time of a frame and of a look at everything.
//!
//! `cargo run --release -p amdgpu-telemetry --example bench_sensors`

use std::hint::black_box;
use std::time::{Duration, Instant};

use amdgpu_telemetry::sampler::{FramePlan, Sampler, monitor, read};

const SAMPLING: Duration = Duration::from_secs(20);
const ROUNDS: u32 = 10_000;
const DEVICES: usize = 8;
const METRICS: usize = 32;

/// Processor time of each source so far, in seconds.
fn spent(sampler: &Sampler) -> Vec<(String, f64)> {
    let readings = sampler.readings().into_iter();
    readings
        .filter(|reading| reading.key.metric.metric().name == "amdgpu_sampling_seconds_total")
        .filter_map(|reading| {
            Some((
                reading.key.label("source")?.to_owned(),
                reading.value.unwrap_or(0.0),
            ))
        })
        .collect()
}

fn microseconds(rounds: u32, mut act: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..rounds).for_each(|_| act());
    begin.elapsed().as_secs_f64() * 1e6 / f64::from(rounds)
}

fn main() -> Result<(), String> {
    let _first = read();
    println!(
        "read, everything: {:.1} us",
        microseconds(100, || drop(black_box(read())))
    );
    let sampler = monitor().sample();
    std::thread::sleep(Duration::from_secs(2));
    let (before, begin) = (spent(&sampler), Instant::now());
    std::thread::sleep(SAMPLING);
    let (after, elapsed) = (spent(&sampler), begin.elapsed().as_secs_f64());
    let mut all = 0.0;
    for (source, seconds) in &after {
        let earlier = before.iter().find(|(name, _)| name == source);
        let share = (seconds - earlier.map_or(0.0, |(_, seconds)| *seconds)) / elapsed;
        all += share;
        println!("sampling {source}: {:.4} % of a core", share * 100.0);
    }
    println!("sampling, all sources: {:.4} % of a core", all * 100.0);

    let mut names: Vec<String> = sampler
        .series()
        .iter()
        .map(|info| info.key.metric.metric().name.to_owned())
        .collect();
    names.dedup();
    let metrics = (0..METRICS).map(|place| (names[place % names.len()].clone(), Vec::new()));
    let devices = (0..DEVICES).map(|number| format!("cpu:{number}"));
    let mut plan = FramePlan::new(devices.collect(), metrics.collect())?;
    let mut frame = Vec::new();
    let frame_us = microseconds(ROUNDS, || {
        frame.clear();
        sampler.frame(&mut plan, &mut frame);
        black_box(&frame);
    });
    println!("frame {DEVICES}x{METRICS}: {frame_us:.3} us");
    println!("histories: {} KiB", sampler.history_bytes() / 1024);
    Ok(())
}
