//! Measures the compiler, up to LLVM text, on a generated source of many kernels, on a file, or on all files of a folder, each for
//! itself: `cargo run --release -p amdgpu-compiler --example throughput -- [MEGABYTES | FILE | FOLDER] [--json] [--write FILE]`.
//!
//! `--json` prints one object with the least nanoseconds of each stage; `--write` writes the source and measures nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

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

/// The sources of a folder and of those in it. Some belong to tests of what is refused, and do not count.
fn sources_in(folder: &Path, sources: &mut Vec<String>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            sources_in(&path, sources)?;
        } else if path
            .extension()
            .is_some_and(|end| end == "hip" || end == "cu")
        {
            let source = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
            if measure(&source, 1).is_ok() {
                sources.push(source);
            }
        }
    }
    Ok(())
}

/// What compiling cost and gave.
#[derive(Default)]
struct Measured {
    source_bytes: usize,
    llvm_bytes: usize,
    nanoseconds: BTreeMap<String, u64>,
}

/// Nanoseconds of each stage, the least of several rounds.
fn measure(source: &str, rounds: usize) -> Result<Measured, String> {
    let target = Target::parse("x86_64").ok_or("x86_64 is a target")?;
    let mut least: BTreeMap<String, u64> = BTreeMap::new();
    let mut llvm_bytes = 0;
    for _ in 0..rounds {
        let unit = Compiler::new()
            .compile(source, &CompileOptions::default(), &target)
            .map_err(|error| error.to_string())?;
        llvm_bytes = unit.llvm_ir.len();
        let times = &unit.telemetry;
        // Work-items become lanes while their text is written: that pass is part of emission.
        let is_emission = |name: &str| name == "work-item-vectorization";
        let passes = times.passes.iter();
        let passes_ns = passes
            .filter(|pass| !is_emission(&pass.name))
            .map(|pass| pass.duration_ns)
            .sum();
        let front = times.preprocess_ns + times.parse_ns + times.check_ns;
        let mut stages = vec![
            ("preprocess".to_owned(), times.preprocess_ns),
            ("parse".to_owned(), times.parse_ns),
            ("check".to_owned(), times.check_ns),
            ("front end".to_owned(), front),
            ("lower".to_owned(), times.lower_ns),
            ("passes".to_owned(), passes_ns),
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
    Ok(Measured {
        source_bytes: source.len(),
        llvm_bytes,
        nanoseconds: least,
    })
}

fn main() -> Result<(), String> {
    let (mut sources, mut is_json, mut written) = (Vec::new(), false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => is_json = true,
            "--write" => written = Some(arguments.next().ok_or("--write needs a file")?),
            text => match text.parse::<usize>() {
                Ok(megabytes) => sources.push(generated(megabytes * 1_000_000)),
                Err(_) if Path::new(text).is_dir() => sources_in(Path::new(text), &mut sources)?,
                Err(_) => {
                    let source = std::fs::read_to_string(text);
                    sources.push(source.map_err(|error| error.to_string())?);
                }
            },
        }
    }
    if sources.is_empty() {
        sources.push(generated(4_000_000));
    }
    if let Some(file) = written {
        return std::fs::write(file, sources.concat()).map_err(|error| error.to_string());
    }
    let mut all = Measured::default();
    for source in &sources {
        let one = measure(source, ROUNDS)?;
        all.source_bytes += one.source_bytes;
        all.llvm_bytes += one.llvm_bytes;
        for (stage, nanoseconds) in one.nanoseconds {
            *all.nanoseconds.entry(stage).or_default() += nanoseconds;
        }
    }
    let Measured {
        source_bytes,
        llvm_bytes,
        nanoseconds,
    } = all;
    if is_json {
        let stages = serde_json::to_string(&nanoseconds).map_err(|error| error.to_string())?;
        let sources = sources.len();
        println!(
            "{{\"sources\": {sources}, \"bytes\": {source_bytes}, \"llvm_bytes\": {llvm_bytes}, \"ns\": {stages}}}"
        );
        return Ok(());
    }
    println!(
        "{} sources, {source_bytes} bytes; {llvm_bytes} bytes of LLVM text",
        sources.len()
    );
    let total = nanoseconds.get("all").copied().unwrap_or(0) as f64;
    for (stage, nanoseconds) in nanoseconds {
        let nanoseconds = nanoseconds as f64;
        let (rate, share) = (source_bytes as f64 * 1e3 / nanoseconds, nanoseconds / total);
        let milliseconds = nanoseconds / 1e6;
        println!(
            "{stage:<28} {milliseconds:>9.2} ms {rate:>9.1} MB/s {:>6.1} %",
            share * 1e2
        );
    }
    Ok(())
}
