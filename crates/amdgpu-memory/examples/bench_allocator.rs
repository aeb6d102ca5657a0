//! What an allocation costs: `cargo run --release -p amdgpu-memory --example bench_allocator`.

use std::hint::black_box;
use std::time::Instant;

use amdgpu_hal::registry;
use amdgpu_memory::{Allocator, AllocatorOptions, Result};

const ROUNDS: u32 = 1_000_000;
/// The best of several runs: the others were disturbed.
const REPEATS: u32 = 5;

fn best_ns(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            work()?;
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    Ok(best)
}

fn main() -> Result<()> {
    for telemetry in [true, false] {
        amdgpu_telemetry::set_enabled(telemetry);
        println!("telemetry {}", if telemetry { "on" } else { "off" });
        for device_name in ["cpu:0", "null:gfx1100"] {
            let device = registry::open_device(device_name)?;
            let stream = device.create_stream()?;
            let allocator = Allocator::new(device, AllocatorOptions::default())?;
            for (name, bytes) in [
                ("1 KiB", 1 << 10),
                ("256 KiB", 256 << 10),
                ("4 MiB", 4 << 20),
            ] {
                for (stream_name, stream) in
                    [("default stream", None), ("own stream", Some(&stream))]
                {
                    let pair = best_ns(|| {
                        black_box(allocator.allocate(black_box(bytes), stream)?);
                        Ok(())
                    })?;
                    println!(
                        "  {device_name:<14} {name:>8} {stream_name:<15} hit and free {pair:6.1} ns"
                    );
                }
            }
            let mut held = Vec::with_capacity(ROUNDS as usize);
            let fill_begin = Instant::now();
            for _ in 0..ROUNDS {
                held.push(allocator.allocate(512, None)?);
            }
            let grow = fill_begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
            let free_begin = Instant::now();
            held.clear();
            let free = free_begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
            let hit_begin = Instant::now();
            for _ in 0..ROUNDS {
                held.push(allocator.allocate(512, None)?);
            }
            let hit = hit_begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
            println!(
                "  {device_name:<14} 1,000,000 x 512 B: first {grow:6.1} ns, free {free:6.1} ns, hit {hit:6.1} ns"
            );
        }
    }
    Ok(())
}
