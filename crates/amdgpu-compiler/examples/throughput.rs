//! Measures the compiler, up to LLVM text, on a generated source of many kernels, or on a file:
//! `cargo run --release -p amdgpu-compiler --example throughput -- [MEGABYTES | FILE] [--json] [--write FILE]`.
//!
//! `--json` prints one object with the least nanoseconds of each stage; `--write` writes the source and measures nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use amdgpu_compiler::{CompileOptions, Compiler, Target};

const ROUNDS: usize = 5;

fn generated(bytes: usize) -> String {
    let mut source = String::from("#include <hip/hip_runtime.h>\n#define TWICE(x) ((x) + (x))\n");
    let mut index = 0;
    while source.len() < bytes {
        let _ = write!(
            source,
            "// Kernel number {index} of the generated source.\n__global__ void kernel{index}(const float* __restrict__ in, float* __restrict__ out, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n    float sum = 0.0f;\n    for (int k = 0; k < {}; ++k) {{\n        float value = in[i * {} + k] * 0.5f + TWICE(sum);\n        if (value > 100.0f && k % 3 != 0) {{\n            value = fminf(value, 100.0f); // keep it small\n        }}\n        sum += value;\n    }}\n    out[i] = sum;\n}}\n",
            index % 17 + 2,
            index % 5 + 1
        );
        index += 1;
    }
    source
}

/// Nanoseconds of each stage, the least of several rounds.
fn measure(source: &str) -> Result<BTreeMap<String, u64>, String> {
    let target = Target::parse("x86_64").ok_or("x86_64 is a target")?;
    let mut least: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let unit = Compiler::new()
            .compile(source, &CompileOptions::default(), &target)
            .map_err(|error| error.to_string())?;
        let times = &unit.telemetry;
        let front = times.preprocess_ns + times.parse_ns + times.check_ns;
        let mut stages = vec![
            ("preprocess".to_owned(), times.preprocess_ns),
            ("parse".to_owned(), times.parse_ns),
            ("check".to_owned(), times.check_ns),
            ("front end".to_owned(), front),
            ("lower".to_owned(), times.lower_ns),
            ("emit".to_owned(), times.emit_ns),
            ("all".to_owned(), times.total_ns),
        ];
        let passes = times.passes.iter();
        stages.extend(passes.map(|pass| (format!("pass {}", pass.name), pass.duration_ns)));
        for (stage, nanoseconds) in stages {
            let entry = least.entry(stage).or_insert(u64::MAX);
            *entry = nanoseconds.min(*entry);
        }
    }
    Ok(least)
}

fn main() -> Result<(), String> {
    let (mut source, mut is_json, mut written) = (None, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => is_json = true,
            "--write" => written = Some(arguments.next().ok_or("--write needs a file")?),
            text => {
                source = Some(match text.parse::<usize>() {
                    Ok(megabytes) => generated(megabytes * 1_000_000),
                    Err(_) => std::fs::read_to_string(text).map_err(|error| error.to_string())?,
                });
            }
        }
    }
    let source = source.unwrap_or_else(|| generated(4_000_000));
    if let Some(file) = written {
        return std::fs::write(file, source).map_err(|error| error.to_string());
    }
    let stages = measure(&source)?;
    if is_json {
        let stages = serde_json::to_string(&stages).map_err(|error| error.to_string())?;
        println!("{{\"bytes\": {}, \"ns\": {stages}}}", source.len());
        return Ok(());
    }
    println!("{} bytes", source.len());
    for (stage, nanoseconds) in stages {
        let seconds = nanoseconds as f64 / 1e9;
        let rate = source.len() as f64 / 1e6 / seconds;
        println!("{stage:<28} {:>9.2} ms {rate:>9.1} MB/s", seconds * 1e3);
    }
    Ok(())
}
