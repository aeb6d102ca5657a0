//! What the GPU backends cost beside the work itself: `cargo run --release -p amdgpu-hal --example bench_gpu [cuda:0]`.

use std::sync::Arc;
use std::time::Instant;

use amdgpu_hal::{
    CopyDirection, Device, DevicePointer, Function, LaunchConfig, MemoryKind, Result, Stream,
    registry,
};

const REPEATS: u32 = 7;
/// Below what drivers queue before a submission waits, about a thousand commands.
const BURST: u32 = 500;

fn report(
    what: &str,
    rounds: u32,
    mut work: impl FnMut() -> Result<()>,
    mut finish: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begin = Instant::now();
        for _ in 0..rounds {
            work()?;
        }
        times.push(begin.elapsed().as_nanos() as f64 / f64::from(rounds));
        finish()?;
    }
    times.sort_by(f64::total_cmp);
    println!("{what:<44} {:10.0} ns", times[times.len() / 2]);
    Ok(())
}

fn main() -> Result<()> {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "cuda:0".to_string());
    let begin = Instant::now();
    let listed = registry::list_devices()?;
    println!(
        "list_devices, first time                     {:10.3} ms",
        begin.elapsed().as_secs_f64() * 1e3
    );
    println!("{:#?}", listed.first());
    let begin = Instant::now();
    let device = registry::open_device(name)?;
    println!(
        "open_device, first time                      {:10.3} ms",
        begin.elapsed().as_secs_f64() * 1e3
    );
    println!("{:?}", device.memory_info()?);
    let image = include_bytes!("../tests/conformance/kernels.ptx");
    let begin = Instant::now();
    let function = device.load_module(image)?.function("index")?;
    println!(
        "load two kernels of PTX                      {:10.3} ms",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let ptr = device.allocate(32 * 8, MemoryKind::Device)?;
    let arguments: Vec<u8> = [ptr.address(), 0]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    let config = LaunchConfig::linear(1, 32);
    let stream = device.create_stream()?;
    launches(&device, &stream, &*function, &config, &arguments)?;
    copies(&device, &stream)
}

/// Submitting and waiting.
fn launches(
    device: &Arc<dyn Device>,
    stream: &Arc<dyn Stream>,
    function: &dyn Function,
    config: &LaunchConfig,
    arguments: &[u8],
) -> Result<()> {
    // SAFETY: the kernel changes 32 words of live memory.
    let launch = || unsafe { stream.launch(function, config, arguments) };
    let wait = || stream.synchronize();
    report("launch, queued", BURST, launch, wait)?;
    report(
        "launch and wait",
        2000,
        || launch().and_then(|()| wait()),
        wait,
    )?;
    report("wait for an idle stream", 2000, wait, wait)?;
    report(
        "depth of an idle stream",
        2000,
        || {
            std::hint::black_box(stream.depth());
            Ok(())
        },
        wait,
    )?;
    report(
        "host function, queued",
        BURST,
        || stream.call(Box::new(|| Ok(()))),
        wait,
    )?;
    report(
        "host function and wait",
        BURST,
        || stream.call(Box::new(|| Ok(()))).and_then(|()| wait()),
        wait,
    )?;
    report(
        "event: make and drop",
        BURST,
        || device.create_event().map(drop),
        wait,
    )?;
    let event = device.create_event()?;
    report(
        "event: record, queued",
        BURST,
        || stream.record(&event),
        wait,
    )?;
    report(
        "event: time, first time",
        BURST,
        || {
            stream.record(&event).and_then(|()| wait()).map(|()| {
                std::hint::black_box(event.timestamp_ns());
            })
        },
        wait,
    )?;
    report(
        "stream: make and drop",
        20,
        || device.create_stream().map(drop),
        wait,
    )?;
    for bytes in [4096, 64 << 20] {
        report(
            &format!("allocate and free {bytes} bytes"),
            20,
            || {
                let ptr = device.allocate(bytes, MemoryKind::Device)?;
                // SAFETY: live, unused and freed once.
                unsafe { device.free(ptr, bytes, MemoryKind::Device) }
            },
            wait,
        )?;
    }
    Ok(())
}

/// Bandwidth between host and device.
fn copies(device: &Arc<dyn Device>, stream: &Arc<dyn Stream>) -> Result<()> {
    let bytes = 256 << 20;
    let (on_device, pinned) = (
        device.allocate(bytes, MemoryKind::Device)?,
        device.allocate(bytes, MemoryKind::PinnedHost)?,
    );
    let pageable = vec![1_u8; bytes as usize];
    for (what, host) in [
        ("pageable", DevicePointer::from_host(pageable.as_ptr())),
        ("pinned", pinned),
    ] {
        let begin = Instant::now();
        // SAFETY: both ranges hold that many bytes and outlive the wait.
        unsafe { stream.copy(on_device, host, bytes, CopyDirection::HostToDevice) }?;
        stream.synchronize()?;
        println!(
            "copy from {what} memory: {:.1} GB/s",
            bytes as f64 / begin.elapsed().as_nanos() as f64
        );
    }
    Ok(())
}
