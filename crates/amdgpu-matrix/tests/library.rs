//! The wrapper over the real library. Without the library every test says so and passes.

// The sums are exact, so equality is what is meant.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

use amdgpu_abi::library::LibraryError;
use amdgpu_abi::{
    ACTIVATION_RELU, ACTIVATION_SOFTMAX, Activation, Coded, DEVICE_CUDA, DeviceRef, Dtype,
    ErrorCode, Language, MetricId,
};
use amdgpu_matrix::{
    DenseOptions, Error, MatmulOptions, Matrix, Precision, TensorView, TensorViewMut,
};

fn library() -> Option<&'static Matrix> {
    match Matrix::global() {
        Ok(matrix) => Some(matrix),
        Err(Error::Library(error @ LibraryError::Missing { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Small integers: every sum below is exact in float32.
fn ramp(len: usize, seed: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i * 7 + seed * 13) % 11) as f32 - 5.0)
        .collect()
}

fn naive(a: &[f32], b: &[f32], rows: usize, depth: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    for i in 0..rows {
        for j in 0..columns {
            out[i * columns + j] = (0..depth)
                .map(|k| a[i * depth + k] * b[k * columns + j])
                .sum();
        }
    }
    out
}

fn multiply(
    matrix: &Matrix,
    a: &[f32],
    b: &[f32],
    (rows, depth, columns): (usize, usize, usize),
    options: &MatmulOptions,
) -> Vec<f32> {
    let mut out = vec![f32::NAN; rows * columns];
    let shapes = [[rows, depth], [depth, columns], [rows, columns]]
        .map(|shape| shape.map(|extent| extent as i64));
    matrix
        .matmul(
            &TensorView::from_slice(a, &shapes[0]).unwrap(),
            &TensorView::from_slice(b, &shapes[1]).unwrap(),
            &mut TensorViewMut::from_slice(&mut out, &shapes[2]).unwrap(),
            options,
        )
        .unwrap();
    out
}

#[test]
fn products_agree_with_plain_loops_for_any_number_of_threads() {
    let Some(matrix) = library() else { return };
    for shape @ (rows, depth, columns) in [
        (1, 1, 1),
        (3, 5, 7),
        (64, 64, 64),
        (100, 33, 130),
        (257, 129, 63),
        (1, 784, 256),
        (200, 300, 1),
    ] {
        let (a, b) = (ramp(rows * depth, 1), ramp(depth * columns, 2));
        let expected = naive(&a, &b, rows, depth, columns);
        for thread_limit in [None, Some(1), Some(2), Some(3)] {
            let options = MatmulOptions {
                thread_limit,
                ..MatmulOptions::default()
            };
            assert_eq!(
                multiply(matrix, &a, &b, shape, &options),
                expected,
                "{shape:?} {thread_limit:?}"
            );
        }
    }
}

#[test]
fn zig_reads_and_writes_the_buffers_of_rust_in_place() {
    let Some(matrix) = library() else { return };
    let a = ramp(12, 3);
    let b = ramp(12, 4);
    let mut out = vec![f32::NAN; 9];
    let (a_address, out_address) = (a.as_ptr(), out.as_ptr());
    let a_view = TensorView::from_slice(&a, &[3, 4]).unwrap();
    assert_eq!(a_view.data(), a_address.cast());
    let b_view = TensorView::from_slice(&b, &[4, 3]).unwrap();
    let mut out_view = TensorViewMut::from_slice(&mut out, &[3, 3]).unwrap();
    matrix
        .matmul(&a_view, &b_view, &mut out_view, &MatmulOptions::default())
        .unwrap();
    // The result stands in the very memory that Rust allocated, and the input was not touched.
    assert_eq!(out.as_ptr(), out_address);
    assert_eq!(out, naive(&a, &b, 3, 4, 3));
    assert_eq!(a, ramp(12, 3));
}

#[test]
fn transposed_and_reversed_views_need_no_copy() {
    let Some(matrix) = library() else { return };
    let (rows, depth, columns) = (40_usize, 50_usize, 60_usize);
    let (a, b) = (ramp(rows * depth, 5), ramp(depth * columns, 6));
    // a stored column by column, b stored back to front.
    let a_columns: Vec<f32> = (0..depth * rows)
        .map(|i| a[i % rows * depth + i / rows])
        .collect();
    let b_reversed: Vec<f32> = b.iter().rev().copied().collect();
    let mut out = vec![0.0_f32; rows * columns];
    let a_view = TensorView::from_strided(&a_columns, 0, &[40, 50], &[1, 40]).unwrap();
    let b_view =
        TensorView::from_strided(&b_reversed, depth * columns - 1, &[50, 60], &[-60, -1]).unwrap();
    let mut out_view = TensorViewMut::from_strided(&mut out, 0, &[40, 60], &[1, 40]).unwrap();
    matrix
        .matmul(&a_view, &b_view, &mut out_view, &MatmulOptions::default())
        .unwrap();
    let expected = naive(&a, &b, rows, depth, columns);
    for i in 0..rows {
        for j in 0..columns {
            assert_eq!(
                out[j * rows + i].to_bits(),
                expected[i * columns + j].to_bits()
            );
        }
    }
}

#[test]
fn alpha_and_beta_scale_and_an_empty_depth_gives_zeros() {
    let Some(matrix) = library() else { return };
    let a = [1.0_f64, 2.0];
    let mut out = [10.0_f64];
    let (row, column) = ([1, 2], [2, 1]);
    let options = MatmulOptions {
        alpha: 2.0,
        beta: 0.5,
        precision: Precision::Operands,
        thread_limit: None,
    };
    matrix
        .matmul(
            &TensorView::from_slice(&a, &row).unwrap(),
            &TensorView::from_slice(&a, &column).unwrap(),
            &mut TensorViewMut::from_slice(&mut out, &[1, 1]).unwrap(),
            &options,
        )
        .unwrap();
    assert_eq!(out[0].to_bits(), 15.0_f64.to_bits());

    let empty: [f32; 0] = [];
    let mut out = [f32::NAN; 4];
    matrix
        .matmul(
            &TensorView::from_slice(&empty, &[2, 0]).unwrap(),
            &TensorView::from_slice(&empty, &[0, 2]).unwrap(),
            &mut TensorViewMut::from_slice(&mut out, &[2, 2]).unwrap(),
            &MatmulOptions::default(),
        )
        .unwrap();
    assert_eq!(out, [0.0; 4]);
}

#[test]
fn refusals_come_from_zig_with_both_shapes_and_leave_the_core_usable() {
    let Some(matrix) = library() else { return };
    let data = ramp(12, 1);
    let doubles = [0.0_f64; 12];
    let mut out = [0.0_f32; 9];
    let mut attempt = |a: &TensorView, b: &TensorView| {
        let error = matrix
            .matmul(
                a,
                b,
                &mut TensorViewMut::from_slice(&mut out, &[3, 3]).unwrap(),
                &MatmulOptions::default(),
            )
            .unwrap_err();
        assert_eq!(error.language(), Language::Zig);
        (error.code(), error.to_string())
    };
    let view = TensorView::from_slice(&data, &[3, 4]).unwrap();
    let (code, message) = attempt(&view, &view);
    assert_eq!(code, ErrorCode::ShapeMismatch);
    assert!(
        message.contains("a is (3, 4)") && message.contains("b is (3, 4)"),
        "{message}"
    );

    let (code, message) = attempt(&view, &TensorView::from_slice(&doubles, &[4, 3]).unwrap());
    assert_eq!(code, ErrorCode::UnsupportedDtype);
    assert!(
        message.contains("f32") && message.contains("f64"),
        "{message}"
    );

    let (code, message) = attempt(&TensorView::from_slice(&data, &[12]).unwrap(), &view);
    assert_eq!(code, ErrorCode::ShapeMismatch);
    assert!(message.contains("1 dimensions"), "{message}");

    let elsewhere = DeviceRef {
        device_type: DEVICE_CUDA,
        device_id: 0,
    };
    // SAFETY: memory of another device is refused before it is read.
    let foreign = unsafe {
        TensorView::from_parts(data.as_ptr().cast(), Dtype::F32, elsewhere, &[3, 4], None)
    };
    assert_eq!(attempt(&foreign.unwrap(), &view).0, ErrorCode::WrongDevice);

    let product = multiply(matrix, &data, &data, (3, 4, 3), &MatmulOptions::default());
    assert_eq!(product, naive(&data, &data, 3, 4, 3));
}

#[test]
fn a_result_that_shares_memory_with_an_operand_is_refused() {
    let Some(matrix) = library() else { return };
    let mut data = ramp(16, 1);
    let host = TensorView::from_slice(&[0.0_f32], &[1, 1]).unwrap().dtype();
    let device = DeviceRef {
        device_type: amdgpu_abi::DEVICE_CPU,
        device_id: 0,
    };
    let address = data.as_mut_ptr();
    // SAFETY: overlap is what is being refused; nothing is written then.
    let (input, mut out) = unsafe {
        (
            TensorView::from_parts(address.cast(), host, device, &[4, 4], None).unwrap(),
            TensorViewMut::from_parts(address.add(0).cast(), host, device, &[4, 4], None).unwrap(),
        )
    };
    let error = matrix
        .matmul(&input, &input, &mut out, &MatmulOptions::default())
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(
        error.to_string().contains("out shares memory with a"),
        "{error}"
    );
}

#[test]
fn eight_threads_multiply_at_the_same_time() {
    let Some(matrix) = library() else { return };
    let shape @ (rows, depth, columns) = (96, 80, 112);
    let (a, b) = (ramp(rows * depth, 7), ramp(depth * columns, 8));
    let expected = naive(&a, &b, rows, depth, columns);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (a, b, expected) = (&a, &b, &expected);
            scope.spawn(move || {
                for round in 0..50_u32 {
                    let options = MatmulOptions {
                        thread_limit: Some(1 + (thread + round) % 3),
                        ..MatmulOptions::default()
                    };
                    assert_eq!(&multiply(matrix, a, b, shape, &options), expected);
                    // A refusal on one thread must not show on another.
                    if round % 10 == thread {
                        let wrong = TensorView::from_slice(a, &[80, 96]).unwrap();
                        let mut out = vec![0.0_f32; 80 * 80];
                        let shape = [80, 80];
                        let mut out = TensorViewMut::from_slice(&mut out, &shape).unwrap();
                        let error = matrix
                            .matmul(&wrong, &wrong, &mut out, &options)
                            .unwrap_err();
                        assert_eq!(error.code(), ErrorCode::ShapeMismatch);
                    }
                }
            });
        }
    });
}

#[test]
fn a_dense_layer_adds_bias_and_activates() {
    let Some(matrix) = library() else { return };
    let (batch, inputs, outputs) = (5_usize, 12_usize, 20_usize);
    let (x, weight, bias) = (
        ramp(batch * inputs, 1),
        ramp(inputs * outputs, 2),
        ramp(outputs, 3),
    );
    let product = naive(&x, &weight, batch, inputs, outputs);
    let forward = |kind: u32, bias: Option<&[f32]>| {
        let mut out = vec![f32::NAN; batch * outputs];
        let options = DenseOptions {
            activation: Activation {
                kind,
                alpha: 0.0,
                beta: 0.0,
                reserved: 0,
            },
            thread_limit: None,
        };
        let result = matrix.dense_forward(
            &TensorView::from_slice(&x, &[5, 12]).unwrap(),
            &TensorView::from_slice(&weight, &[12, 20]).unwrap(),
            bias.map(|bias| TensorView::from_slice(bias, &[20]).unwrap())
                .as_ref(),
            &mut TensorViewMut::from_slice(&mut out, &[5, 20]).unwrap(),
            &options,
        );
        result.map(|()| out)
    };
    let relu = forward(ACTIVATION_RELU, Some(&bias)).unwrap();
    for (i, value) in relu.iter().enumerate() {
        assert_eq!(
            value.to_bits(),
            (product[i] + bias[i % outputs]).max(0.0).to_bits()
        );
    }
    let softmax = forward(ACTIVATION_SOFTMAX, None).unwrap();
    for row in softmax.chunks(outputs) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
    let error = forward(99, None).unwrap_err();
    assert_eq!(
        (error.code(), error.language()),
        (ErrorCode::InvalidArgument, Language::Zig)
    );
    assert!(error.to_string().contains("99"), "{error}");
}

#[test]
fn calls_are_counted_and_crossings_timed() {
    let Some(matrix) = library() else { return };
    let count = || {
        let snapshot = amdgpu_telemetry::snapshot();
        let operations = snapshot
            .value(MetricId::OperationsTotal, &["cpu:0", "matrix", "zig"])
            .unwrap_or(0.0);
        let crossings = snapshot
            .boundaries
            .iter()
            .find(|site| &*site.name == "agpu_matrix_matmul");
        (operations, crossings.map_or(0, |site| site.count))
    };
    let before = count();
    for _ in 0..10 {
        multiply(matrix, &[1.0], &[2.0], (1, 1, 1), &MatmulOptions::default());
    }
    let after = count();
    // Other tests of this file run at the same time and count too.
    assert!(
        after.0 >= before.0 + 10.0 && after.1 >= before.1 + 10,
        "{before:?} {after:?}"
    );
}
