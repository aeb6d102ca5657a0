//! What the wrapper costs above the Zig call, and from which size on threads pay: the measurements behind the constants of
//! `algorithm.rs`. Run with `cargo bench -p amdgpu-matrix`.

// A measurement that cannot be set up has no other answer.
#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::time::Instant;

use amdgpu_abi::library::NativeLibrary;
use amdgpu_abi::{MatrixSymbols, Tensor};
use amdgpu_matrix::{Dtype, Element, MatmulOptions, Matrix, TensorView, TensorViewMut};

/// Fastest of several runs, in nanoseconds per call.
fn best_ns(calls: u32, mut call: impl FnMut()) -> f64 {
    (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

/// Median of single calls with pauses between them, in nanoseconds: the pool has gone to sleep each time.
fn rested_ns(matrix: &Matrix, size: usize, threads: u32) -> f64 {
    let (a, mut out) = (vec![0.5_f32; size * size], vec![0.0_f32; size * size]);
    let shape = [size as i64; 2];
    let options = MatmulOptions {
        thread_limit: Some(threads),
        ..MatmulOptions::default()
    };
    let mut times: Vec<u128> = (0..300)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_micros(300));
            let view = TensorView::from_slice(&a, &shape).expect("the shape fits the slice");
            let mut result =
                TensorViewMut::from_slice(&mut out, &shape).expect("the shape fits the slice");
            let start = Instant::now();
            matrix
                .matmul(&view, &view, &mut result, &options)
                .expect("operands are valid");
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

fn wrapped_ns<T: Element>(matrix: &Matrix, value: T, size: usize, threads: u32) -> f64 {
    let (a, mut out) = (vec![value; size * size], vec![value; size * size]);
    let shape = [size as i64; 2];
    let options = MatmulOptions {
        thread_limit: Some(threads),
        ..MatmulOptions::default()
    };
    let calls = (40_000_000 / (size * size * size + 20_000)).max(1) as u32;
    best_ns(calls, || {
        let view = TensorView::from_slice(&a, &shape).expect("the shape fits the slice");
        let mut result =
            TensorViewMut::from_slice(&mut out, &shape).expect("the shape fits the slice");
        matrix
            .matmul(&view, &view, &mut result, &options)
            .expect("operands are valid");
    })
}

fn bare_ns(symbols: &MatrixSymbols, size: usize) -> f64 {
    let (a, mut out) = (vec![0.5_f32; size * size], vec![0.0_f32; size * size]);
    let shape = [size as i64; 2];
    let input = Tensor::host(a.as_ptr().cast_mut().cast(), Dtype::F32, &shape, None);
    let mut output = Tensor::host(out.as_mut_ptr().cast(), Dtype::F32, &shape, None);
    let options = amdgpu_abi::MatmulOptions {
        size_bytes: size_of::<amdgpu_abi::MatmulOptions>() as u64,
        alpha: 1.0,
        beta: 0.0,
        executor: std::ptr::null(),
        bias: std::ptr::null(),
        residual: std::ptr::null(),
        activation: std::ptr::null(),
        precision: 0,
        reserved: 0,
    };
    best_ns(1000, || {
        // SAFETY: all structs and buffers live in this function.
        let status = unsafe {
            (symbols.matmul)(
                &raw const input,
                &raw const input,
                &raw mut output,
                &raw const options,
            )
        };
        assert_eq!(black_box(status), 0);
    })
}

fn main() {
    let matrix = match Matrix::global() {
        Ok(matrix) => matrix,
        Err(error) => return println!("skipped: {error}"),
    };
    let library = NativeLibrary::open("matrix").expect("it was just opened");
    // SAFETY: the library passed the check of its ABI hash.
    let symbols = unsafe { MatrixSymbols::resolve(|name| library.symbol(name)) }
        .expect("it was just resolved");
    println!(
        "call overhead, 1 x 1 float32: {:.0} ns bare, {:.0} ns wrapped",
        bare_ns(&symbols, 1),
        wrapped_ns(matrix, 0.5_f32, 1, 1)
    );
    amdgpu_telemetry::set_enabled(false);
    println!(
        "telemetry off:                {:.0} ns wrapped",
        wrapped_ns(matrix, 0.5_f32, 1, 1)
    );
    amdgpu_telemetry::set_enabled(true);
    let threads = amdgpu_hal::cpu::pool::global().thread_count();
    for size in [
        32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512, 1024, 2048,
    ] {
        let (one, all) = (
            wrapped_ns(matrix, 0.5_f32, size, 1),
            wrapped_ns(matrix, 0.5_f32, size, threads),
        );
        let operations = 2.0 * (size as f64).powi(3);
        println!(
            "{size:5}: {:6.1} GFLOP/s on 1 thread, {:6.1} on {threads}, speed-up {:.2}",
            operations / one,
            operations / all,
            one / all
        );
        if size <= 256 {
            let (one, all) = (rested_ns(matrix, size, 1), rested_ns(matrix, size, threads));
            println!(
                "       after a pause: {:.1} us, {:.1} us, speed-up {:.2}",
                one / 1e3,
                all / 1e3,
                one / all
            );
        }
    }
    for size in [64, 128, 256, 512, 1024, 2048] {
        let one = wrapped_ns(matrix, 0.5_f64, size, 1);
        let all = wrapped_ns(matrix, 0.5_f64, size, threads);
        let operations = 2.0 * (size as f64).powi(3);
        println!(
            "{size:5}: {:6.1} GFLOP/s in float64 on 1 thread, {:6.1} on {threads}, speed-up {:.2}",
            operations / one,
            operations / all,
            one / all
        );
    }
}
