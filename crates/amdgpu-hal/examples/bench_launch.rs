//! What the CPU backend costs beside the work itself: `cargo run --release -p amdgpu-hal --example bench_launch`. Needs `cc`.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use amdgpu_hal::cpu::pool;
use amdgpu_hal::{Error, LaunchConfig, MemoryKind, Result, registry};

/// The best of several runs: the others were disturbed.
const REPEATS: u32 = 7;
/// Calls of the empty parallel loop; each sleeps a millisecond, so there are not many.
const ROUNDS: u32 = 200;

const SOURCE: &str = "
typedef unsigned long long u64;
struct launch { unsigned grid[3], block[3]; void *shared; u64 shared_bytes; };
struct arguments { float *out; const float *a, *b; u64 count; };
void add(const struct arguments *arguments, const struct launch *launch, u64 begin, u64 end) {
    u64 first = begin * launch->block[0], last = end * launch->block[0];
    if (last > arguments->count) last = arguments->count;
    float *restrict out = arguments->out;
    for (u64 i = first; i < last; i++) out[i] = arguments->a[i] + arguments->b[i];
}
";

fn compile() -> std::io::Result<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("agpu-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (source, object) = (folder.join("kernel.c"), folder.join("kernel.o"));
    std::fs::write(&source, SOURCE)?;
    let flags = ["-c", "-O3", "-march=native", "-fPIC", "-ffreestanding"];
    Command::new("cc")
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()?;
    let bytes = std::fs::read(&object);
    std::fs::remove_dir_all(folder)?;
    bytes
}

fn best_ns(rounds: u32, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let begin = Instant::now();
        for _ in 0..rounds {
            work()?;
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    Ok(best)
}

fn main() -> Result<()> {
    let image = compile().map_err(|error| Error::InvalidModule {
        reason: error.to_string(),
    })?;
    let device = registry::open_device("cpu:0")?;
    let load = best_ns(100, || device.load_module(&image).map(drop))?;
    println!("load module                          {load:10.0} ns");
    let function = device.load_module(&image)?.function("add")?;
    let streams = [
        ("default stream", device.default_stream().clone()),
        ("own stream, with wait", device.create_stream()?),
    ];
    for count in [1_u64 << 10, 1 << 16, 1 << 20, 10_000_000] {
        let bytes = count * 4;
        let blocks = [(); 3].map(|()| device.allocate(bytes, MemoryKind::Device));
        let [out, left, right] = blocks;
        let (out, left, right) = (out?, left?, right?);
        let arguments: Vec<u8> = [out.address(), left.address(), right.address(), count]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        let config = LaunchConfig::linear(count.div_ceil(256) as u32, 256);
        for (name, stream) in &streams {
            let rounds = (20_000_000 / count).clamp(5, 20_000) as u32;
            let time = best_ns(rounds, || {
                // SAFETY: the kernel reads and writes `count` elements of three live blocks.
                unsafe { stream.launch(&*function, &config, &arguments) }?;
                stream.synchronize()
            })?;
            let rate = 3.0 * bytes as f64 / time;
            println!("add {count:>9}, {name:<22} {time:10.0} ns {rate:6.1} GB/s");
        }
        for ptr in [out, left, right] {
            // SAFETY: live, and nothing uses it any more.
            unsafe { device.free(ptr, bytes, MemoryKind::Device) }?;
        }
    }
    let pool = pool::global();
    for (name, pause) in [("busy", 0), ("asleep", 1)] {
        let mut total = 0.0;
        for _ in 0..ROUNDS {
            std::thread::sleep(Duration::from_millis(pause));
            let begin = Instant::now();
            pool.parallel_for(64, 1, &|range| {
                black_box(range);
            })?;
            total += begin.elapsed().as_nanos() as f64;
        }
        println!(
            "parallel_for of nothing, pool {name:<7} {:10.0} ns",
            total / f64::from(ROUNDS)
        );
    }
    let begin = Instant::now();
    for _ in 0..100_000 {
        std::hint::spin_loop();
    }
    println!(
        "spin_loop                            {:10.1} ns",
        begin.elapsed().as_nanos() as f64 / 1e5
    );
    Ok(())
}
