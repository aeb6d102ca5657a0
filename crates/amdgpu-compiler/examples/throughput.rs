//! Measures the front end on a generated source: `cargo run --release -p amdgpu-compiler --example throughput -- [MEGABYTES]`.

use std::fmt::Write;

use amdgpu_compiler::{CompileOptions, Compiler, Target};

fn main() {
    let megabytes: usize = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let mut source = String::from("#include <hip/hip_runtime.h>\n#define TWICE(x) ((x) + (x))\n");
    let mut index = 0;
    while source.len() < megabytes << 20 {
        let _ = write!(
            source,
            "// Kernel number {index} of the generated source.\n__global__ void kernel{index}(const float* __restrict__ in, float* __restrict__ out, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n    float sum = 0.0f;\n    for (int k = 0; k < {}; ++k) {{\n        float value = in[i * {} + k] * 0.5f + TWICE(sum);\n        if (value > 100.0f && k % 3 != 0) {{\n            value = fminf(value, 100.0f); // keep it small\n        }}\n        sum += value;\n    }}\n    out[i] = sum;\n}}\n",
            index % 17 + 2,
            index % 5 + 1
        );
        index += 1;
    }
    let target = Target::parse("x86_64").unwrap_or_else(|| unreachable!("x86_64 is a target"));
    for _ in 0..3 {
        match Compiler::new().compile(&source, &CompileOptions::default(), &target) {
            Ok(unit) => {
                let telemetry = &unit.telemetry;
                let rate =
                    |nanoseconds: u64| source.len() as f64 / 1e6 / (nanoseconds as f64 / 1e9);
                let front = telemetry.preprocess_ns + telemetry.parse_ns + telemetry.check_ns;
                println!(
                    "{} bytes, {} kernels: preprocess {:.1} MB/s, parse {:.1}, check {:.1}, front end {:.1}; lower {:.1}, emit {:.1}, all {:.1} MB/s",
                    source.len(),
                    unit.kernels.len(),
                    rate(telemetry.preprocess_ns),
                    rate(telemetry.parse_ns),
                    rate(telemetry.check_ns),
                    rate(front),
                    rate(telemetry.lower_ns),
                    rate(telemetry.emit_ns),
                    rate(telemetry.total_ns)
                );
                for pass in &telemetry.passes {
                    println!("  {}: {:.1} MB/s", pass.name, rate(pass.duration_ns));
                }
            }
            Err(error) => println!("{error}"),
        }
    }
}
