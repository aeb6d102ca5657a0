//! Random programs of integers with the memory that an interpreter of the IR finds they leave, as JSON: `random_programs FROM COUNT`.
//! Tests in Python compile them to machine code, with our compiler and with another one.

#![allow(clippy::expect_used)] // A program that is refused fails with that text.

#[path = "../tests/support"]
mod support {
    pub mod interpreter;
    pub mod programs;
    pub mod random;
    pub mod stages;
}

use support::programs::{self, DECLARATIONS, PROLOGUE};
use support::stages::same_after_every_pass;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let [from, count] = numbers[..] else {
        panic!("the first seed and how many programs");
    };
    let entries = (from..from + count).map(|seed| {
        let program = programs::program(seed);
        let source = [PROLOGUE, DECLARATIONS, &program.text].concat();
        let memory = same_after_every_pass(&source, &programs::memory(), &program.arguments);
        serde_json::json!({"kernel": program.text, "arguments": program.arguments, "memory": memory})
    });
    let entries: Vec<serde_json::Value> = entries.collect();
    let answer = serde_json::json!({
        "prologue": PROLOGUE,
        "declarations": DECLARATIONS,
        "memory": programs::memory(),
        "programs": entries,
    });
    println!("{answer}");
}
