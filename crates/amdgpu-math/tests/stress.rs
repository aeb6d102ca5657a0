//! 100,000 mixed calls from 8 threads: all right, memory flat in Rust and in Julia.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use amdgpu_abi::{ACTIVATION_RELU, ACTIVATION_TANH, Activation};
use amdgpu_math::Math;

#[path = "support/runtime.rs"]
mod runtime;

const THREADS: usize = 8;
const CALLS_PER_THREAD: usize = 12_500;
/// Growth that leaks of one small object per call (100,000 x 16 bytes) would exceed.
const JULIA_ALLOWANCE_BYTES: i64 = 1 << 20;
/// Stacks and allocator pages of the test's own threads.
const RESIDENT_ALLOWANCE_BYTES: i64 = 8 << 20;

fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<i64>().unwrap() * 4096
}

fn julia_bytes(math: &Math) -> i64 {
    math.evaluate("Base.gc_bytes()").unwrap().parse().unwrap()
}

fn activation(kind: u32) -> Activation {
    Activation {
        kind,
        alpha: 0.0,
        beta: 0.0,
        reserved: 0,
    }
}

fn mixed_calls(math: &Math, thread: usize, calls: usize) {
    let value = thread as f32 + 1.0;
    for call in 0..calls {
        match call % 5 {
            0 => {
                let mut y = [0.0; 3];
                math.activation(&[value, -value, 0.0], &mut y, activation(ACTIVATION_RELU))
                    .unwrap();
                assert_eq!(y, [value, 0.0, 0.0]);
            }
            1 => {
                let mut y = [0.0; 4];
                math.softmax(&[value; 4], &mut y, 2, 2).unwrap();
                assert_eq!(y, [0.5; 4]);
            }
            2 => {
                let mut y = [0.0; 6];
                let x = [value; 6];
                math.dense_forward(
                    &x,
                    &[2.0; 4],
                    Some(&[1.0; 2]),
                    &mut y,
                    3,
                    2,
                    2,
                    activation(ACTIVATION_RELU),
                )
                .unwrap();
                assert_eq!(y, [4.0 * value + 1.0; 6]);
            }
            3 => {
                let (mut weights, mut velocity) = ([value; 2], [0.0; 2]);
                math.momentum_update(&mut weights, &[1.0; 2], &mut velocity, 0.5, 0.9)
                    .unwrap();
                assert_eq!((weights, velocity), ([value - 0.5; 2], [1.0; 2]));
            }
            _ => {
                let error = math
                    .activation(&[value], &mut [0.0], activation(99))
                    .unwrap_err();
                assert!(error.to_string().contains("99"));
            }
        }
    }
}

#[test]
fn a_hundred_thousand_calls_from_eight_threads_leave_memory_flat() {
    let Some(math) = runtime::math() else { return };
    let run = |calls| {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || mixed_calls(math, thread, calls));
            }
        });
    };
    run(500);
    let mut y = [0.0];
    math.activation(&[0.0], &mut y, activation(ACTIVATION_TANH))
        .unwrap();
    julia_bytes(math);
    let resident = resident_bytes();
    run(CALLS_PER_THREAD);
    let grown = resident_bytes() - resident;
    assert!(
        grown < RESIDENT_ALLOWANCE_BYTES,
        "resident memory grew by {grown} bytes"
    );

    // Failing calls build a message in Julia; the others must allocate nothing there.
    let before = julia_bytes(math);
    for call in 0..100_000 {
        let x = [call as f32; 3];
        let mut y = [0.0; 3];
        math.activation(&x, &mut y, activation(ACTIVATION_TANH))
            .unwrap();
    }
    let allocated = julia_bytes(math) - before;
    assert!(
        allocated < JULIA_ALLOWANCE_BYTES,
        "Julia allocated {allocated} bytes"
    );
}
