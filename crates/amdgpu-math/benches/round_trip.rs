//! What a call into Julia costs: `cargo bench -p amdgpu-math`. Prints percentiles in microseconds.

// A bench may stop with a panic when the runtime it measures is missing.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use amdgpu_abi::{ACTIVATION_IDENTITY, Activation};
use amdgpu_math::Math;

const IDENTITY: Activation = Activation {
    kind: ACTIVATION_IDENTITY,
    alpha: 0.0,
    beta: 0.0,
    reserved: 0,
};

fn report(name: &str, mut samples: Vec<Duration>) {
    samples.sort();
    let at =
        |share: f64| samples[((samples.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3;
    println!(
        "{name:<40} p50 {:8.2} µs   p90 {:8.2} µs   p99 {:8.2} µs",
        at(0.5),
        at(0.9),
        at(0.99)
    );
}

fn call_once(math: &Math) -> Duration {
    let mut y = [0.0_f32; 4];
    let started = Instant::now();
    math.activation(&[1.0, 2.0, 3.0, 4.0], &mut y, IDENTITY)
        .unwrap();
    started.elapsed()
}

fn main() {
    let started = Instant::now();
    let availability = Math::availability();
    println!(
        "availability {:?} in {:.1} ms",
        availability,
        started.elapsed().as_secs_f64() * 1e3
    );
    let started = Instant::now();
    let math = Math::global().unwrap();
    println!("start {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    for _ in 0..1000 {
        call_once(math);
    }
    report(
        "one thread, call after call",
        (0..100_000).map(|_| call_once(math)).collect(),
    );
    report(
        "one thread, 1 ms pause between calls",
        (0..500)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(1));
                call_once(math)
            })
            .collect(),
    );
    for threads in [2, 8] {
        let samples = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(move || (0..20_000).map(|_| call_once(math)).collect::<Vec<_>>())
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap())
                .collect()
        });
        report(&format!("{threads} threads, call after call"), samples);
    }
    for (batch, inputs, outputs) in [
        (64, 784, 256),
        (64, 256, 10),
        (1, 784, 256),
        (1024, 1024, 1024),
    ] {
        let x = vec![0.5_f32; batch * inputs];
        let weight = vec![0.25_f32; inputs * outputs];
        let mut y = vec![0.0_f32; batch * outputs];
        let best = (0..20)
            .map(|_| {
                let started = Instant::now();
                math.dense_forward(&x, &weight, None, &mut y, batch, inputs, outputs, IDENTITY)
                    .unwrap();
                started.elapsed()
            })
            .min()
            .unwrap();
        let flops = 2.0 * (batch * inputs * outputs) as f64;
        println!(
            "dense_forward {batch} x {inputs} x {outputs}: {:.1} µs, {:.1} GFLOP/s",
            best.as_secs_f64() * 1e6,
            flops / best.as_secs_f64() / 1e9
        );
    }
}
