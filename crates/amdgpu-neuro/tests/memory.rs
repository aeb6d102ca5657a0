//! Memory of the process stays flat, whatever succeeds or fails. Alone in its process, because it measures the process.

// Helpers of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

use amdgpu_neuro::{DenseBackendKind, LayeredNetwork, NetworkPlan};

const GOOD: &str = "neuralNetwork good:\n  layer a(32)\n  layer b(16, activation: relu)\n  layer c(4, activation: softmax)\n  \
    connect a -> [b, c] (weight: he)\n  connect b -> c\n  plasticity hebbian(0.001)\n";
const BAD: &str = "neuralNetwork bad:\n  layer a(0, activation: rellu)\n  layer a(3 3)\n  connect a -> (b\n  conect\n  x = = 3\n";

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm
        .split(' ')
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|pages| pages * 4096)
}

fn round() {
    // New threads each time: what a thread leaves behind would add up.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let Ok(nim) = DenseBackendKind::Nim.open() else {
                    return;
                };
                for _ in 0..60 {
                    let network = LayeredNetwork::from_text(GOOD).unwrap();
                    network.hebbian_step(&[0.25; 64], 2, nim.as_ref()).unwrap();
                    network.forward(&[0.25; 64], 3, nim.as_ref()).unwrap_err();
                    NetworkPlan::compile(BAD, "").unwrap_err();
                }
            });
        }
    });
}

#[test]
fn compiling_stepping_and_failing_leaves_no_memory_behind() {
    let (Ok(_), Some(_)) = (DenseBackendKind::Nim.open(), resident_bytes()) else {
        println!("skipped: no Nim library or no /proc");
        return;
    };
    for _ in 0..5 {
        round();
    }
    let before = resident_bytes().unwrap_or(0);
    for _ in 0..15 {
        round();
    }
    let after = resident_bytes().unwrap_or(0);
    // 7,200 networks of 4 KiB and as many failures: a leak of one object for each would be beyond this.
    assert!(
        after < before + (4 << 20),
        "resident memory grew from {before} to {after} bytes"
    );
}
