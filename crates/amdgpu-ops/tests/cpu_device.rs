//! Every family on arrays of the CPU device, in a process without a code generator: the Zig library computes, where the arrays lie.

#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::sync::Arc;

use amdgpu_abi::{Coded, Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_aura::OpenDevice;
use amdgpu_hal::MemoryKind;
use amdgpu_ops::attention::{Attention, AttentionOptions};
use amdgpu_ops::convolve::{Convolution, Convolve, ConvolveOptions, ConvolvePass};
use amdgpu_ops::elementwise::Elementwise;
use amdgpu_ops::geam::Geam;
use amdgpu_ops::loss::{
    ClassInputs, ClassLoss, ClassLossOptions, Compared, ElementLoss, Reduction,
};
use amdgpu_ops::matmul::{Activation, Matmul, Precision, matmul};
use amdgpu_ops::normalize::{Normalize, NormalizeOptions, RowAxes};
use amdgpu_ops::pool::{ImageLayout, Pool, PoolOptions, Pooling, Sliding};
use amdgpu_ops::reduce::{Reduce, ReduceOptions};
use amdgpu_ops::scan::{Scan, ScanOptions};
use amdgpu_ops::top_k::TopKOptions;
use amdgpu_ops::{DeviceOps, Operand, Scalar};

struct Cpu {
    device: Arc<OpenDevice>,
    ops: Arc<DeviceOps>,
}

impl Cpu {
    fn open() -> Self {
        let device = OpenDevice::open("cpu:0").unwrap();
        let ops = DeviceOps::of(&device).unwrap();
        assert!(ops.computes_on_host());
        Self { device, ops }
    }

    fn array(&self, shape: &[i64], values: &[f32]) -> Array {
        let bytes: Vec<u8> = values.iter().flat_map(|one| one.to_ne_bytes()).collect();
        Array::from_host(&self.device, &bytes, shape, Dtype::F32).unwrap()
    }

    fn operand(&self, shape: &[i64], values: &[f32]) -> Operand {
        Operand::of_array(self.array(shape, values))
    }
}

fn floats(array: &Array) -> Vec<f32> {
    assert_eq!(array.dtype, Dtype::F32);
    let bytes = array.read().unwrap();
    let numbers = bytes.chunks_exact(4);
    numbers
        .map(|one| f32::from_ne_bytes(one.try_into().unwrap()))
        .collect()
}

#[test]
fn elementwise_operations_take_arrays_numbers_and_out() {
    let cpu = Cpu::open();
    let x = cpu.operand(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let row = cpu.operand(&[3], &[10.0, 20.0, 30.0]);
    let two = Operand::of_number(Scalar::Float(2.0), Dtype::F32);
    let run = |operation, inputs: &[Operand], out: Option<&Array>| {
        amdgpu_ops::elementwise(&cpu.ops, operation, inputs, out, 0.0)
    };
    let sum = run(Elementwise::Add, &[x.clone(), row.clone()], None).unwrap();
    assert_eq!(floats(&sum), [11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
    let inputs = [two, x.clone()];
    let doubled = run(Elementwise::Multiply, &inputs, Some(&sum)).unwrap();
    assert_eq!(doubled.address(), sum.address());
    assert_eq!(floats(&sum), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    let transposed = x.permuted(&[1, 0]);
    let negative = run(Elementwise::Negative, &[transposed], None).unwrap();
    assert_eq!(floats(&negative), [-1.0, -4.0, -2.0, -5.0, -3.0, -6.0]);
    let powers = run(Elementwise::Power, &[x.clone(), x.clone()], None).unwrap();
    assert_eq!(floats(&powers)[..3], [1.0, 4.0, 27.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let cpu = Cpu::open();
    let x = cpu.operand(&[4], &[1.0; 4]);
    let code = |inputs: &[Operand], out: Option<&Array>| {
        amdgpu_ops::elementwise(&cpu.ops, Elementwise::Add, inputs, out, 0.0)
            .unwrap_err()
            .code()
    };
    let both = [x.clone(), x.clone()];
    let other = cpu.operand(&[3], &[1.0; 3]);
    assert_eq!(code(&[x.clone(), other], None), ErrorCode::ShapeMismatch);
    assert_eq!(
        code(&both, Some(&cpu.array(&[5], &[0.0; 5]))),
        ErrorCode::ShapeMismatch
    );
    let mut fixed = cpu.array(&[4], &[0.0; 4]);
    fixed.is_read_only = true;
    assert_eq!(code(&both, Some(&fixed)), ErrorCode::ReadOnly);
    let whole = cpu.array(&[6], &[0.0; 6]);
    let head = Operand::of_array(whole.view([4][..].into(), [1][..].into()));
    let tail = amdgpu_ops::transpose(
        &cpu.ops,
        &head,
        None,
        Some(&whole.view([4][..].into(), [1][..].into())),
    );
    assert_eq!(tail.unwrap_err().code(), ErrorCode::InvalidArgument);
    let freed = cpu.array(&[4], &[0.0; 4]);
    freed.free().unwrap();
    assert_eq!(
        code(&[x.clone(), Operand::of_array(freed)], None),
        ErrorCode::UseAfterFree
    );
    let null = OpenDevice::open("null:gfx1100").unwrap();
    let far = Array::empty(&null, &[4][..], Dtype::F32, MemoryKind::Device).unwrap();
    let inputs = [x, Operand::of_array(far.clone())];
    assert_eq!(code(&inputs, None), ErrorCode::WrongDevice);
    assert_eq!(code(&both, Some(&far)), ErrorCode::WrongDevice);
}

#[test]
fn kernels_of_the_cpu_device_are_there_for_who_asks_for_them() {
    let cpu = Cpu::open();
    let kernels = DeviceOps::of_kernels(&cpu.device).unwrap();
    assert!(!kernels.computes_on_host());
    let x = cpu.operand(&[2], &[1.0, 2.0]);
    let error = amdgpu_ops::elementwise(&kernels, Elementwise::Exp, &[x], None, 0.0).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CodeGeneratorMissing);
}

#[test]
fn reductions_normalisations_and_moves_are_computed() {
    let cpu = Cpu::open();
    let ops = &cpu.ops;
    let x = cpu.operand(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]);
    let options = ReduceOptions {
        axes: Some(&[-1]),
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let sums = amdgpu_ops::reduce(ops, Reduce::Sum, &x, None, &options).unwrap();
    assert_eq!(floats(&sums), [6.0, 18.0]);
    let axes = NormalizeOptions {
        axes: RowAxes::Named(&[1]),
        epsilon: 0.0,
        thread_limit: None,
    };
    let soft = amdgpu_ops::normalize(ops, Normalize::Softmax, &x, &[], None, &axes).unwrap();
    let rows: Vec<f32> = floats(&soft)
        .chunks(3)
        .map(|row| row.iter().sum())
        .collect();
    assert!(rows.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
    let scale = cpu.operand(&[3], &[1.0, 1.0, 2.0]);
    let rms = amdgpu_ops::normalize(
        ops,
        Normalize::RmsNorm,
        &x,
        std::slice::from_ref(&scale),
        None,
        &axes,
    );
    assert!(floats(&rms.unwrap())[2] > 2.0);
    let soft = Operand::of_array(soft);
    let gradient = Normalize::Softmax;
    let made = amdgpu_ops::normalize_gradient(ops, gradient, &soft, &x, None, None, &axes).unwrap();
    let total: f32 = floats(&made).iter().sum();
    assert!(total.abs() < 1e-5);
    let norm = Normalize::LayerNorm;
    let made =
        amdgpu_ops::normalize_gradient(ops, norm, &x, &x, Some(&scale), None, &axes).unwrap();
    assert_eq!(made.shape.as_slice(), [2, 3]);
    let running = amdgpu_ops::scan(ops, &x, &ScanOptions::new(Scan::Sum, 1), None).unwrap();
    assert_eq!(floats(&running), [1.0, 3.0, 6.0, 4.0, 9.0, 18.0]);
    let best = TopKOptions {
        k: 2,
        axis: 1,
        is_largest: true,
        thread_limit: None,
    };
    let (values, indices) = amdgpu_ops::top_k(ops, &x, &best).unwrap();
    assert_eq!(floats(&values), [3.0, 2.0, 9.0, 5.0]);
    assert_eq!(indices.dtype, Dtype::I64);
    assert_eq!(indices.read().unwrap()[..8], 2_i64.to_ne_bytes());
    let transposed = amdgpu_ops::transpose(ops, &x, None, None).unwrap();
    assert_eq!(floats(&transposed), [1.0, 4.0, 2.0, 5.0, 3.0, 9.0]);
    let picked = [1_i32, 0, 1].map(i32::to_ne_bytes).concat();
    let picked = Array::from_host(&cpu.device, &picked, &[3][..], Dtype::I32).unwrap();
    let picked = Operand::of_array(picked);
    let rows = amdgpu_ops::embedding(ops, &x, &picked, None).unwrap();
    assert_eq!(floats(&rows)[..6], [4.0, 5.0, 9.0, 1.0, 2.0, 3.0]);
}

#[test]
fn losses_attention_and_sums_of_matrices_are_computed() {
    let cpu = Cpu::open();
    let ops = &cpu.ops;
    let x = cpu.operand(&[2, 2], &[0.0, 0.0, 1.0, 1.0]);
    let y = cpu.operand(&[2, 2], &[0.0, 2.0, 0.0, 1.0]);
    let compared = Compared {
        x: &x,
        target: &y,
        weight: None,
    };
    let loss = ElementLoss::SquaredError;
    let mean = amdgpu_ops::element_loss(ops, loss, &compared, Reduction::Mean).unwrap();
    assert_eq!(
        (mean.shape.as_slice(), floats(&mean)),
        (&[][..], vec![1.25])
    );
    let upper = cpu.operand(&[], &[2.0]);
    let slopes =
        amdgpu_ops::element_loss_gradient(ops, loss, &compared, &upper, Reduction::Sum).unwrap();
    assert_eq!(floats(&slopes), [0.0, -8.0, 4.0, 0.0]);
    let labels = [1_i32, 0].map(i32::to_ne_bytes).concat();
    let labels = Array::from_host(&cpu.device, &labels, &[2][..], Dtype::I32).unwrap();
    let labels = Operand::of_array(labels);
    let options = ClassLossOptions {
        loss: ClassLoss::NegativeLogLikelihood,
        reduction: Reduction::None,
        ignored: -100,
        smoothing: 0.0,
        thread_limit: None,
    };
    let inputs = ClassInputs {
        x: &y,
        target: &labels,
        weight: None,
        gradient: None,
    };
    let terms = amdgpu_ops::class_loss(ops, &inputs, &options).unwrap();
    assert_eq!(floats(&terms), [-2.0, 0.0]);
    let seen = Attention {
        q: &x,
        k: &x,
        v: &y,
        mask: None,
    };
    let options = AttentionOptions {
        is_causal: true,
        scale: Some(0.0),
        thread_limit: None,
    };
    let made = amdgpu_ops::attention(ops, &seen, &options).unwrap();
    assert_eq!(floats(&made), [0.0, 2.0, 0.0, 1.5]);
    let [by_q, _, by_v] = amdgpu_ops::attention_gradient(ops, &seen, &y, &options).unwrap();
    assert_eq!(floats(&by_q), [0.0; 4]);
    assert_eq!(floats(&by_v), [0.0, 2.5, 0.0, 0.5]);
    let sum = Geam {
        a: &x,
        b: &y,
        alpha: 2.0,
        beta: -1.0,
        transpose_a: true,
        transpose_b: false,
        out: None,
    };
    let made = amdgpu_ops::geam(ops, &sum).unwrap();
    assert_eq!(floats(&made), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn images_are_convolved_and_pooled() {
    let cpu = Cpu::open();
    let ops = &cpu.ops;
    let image = cpu.operand(&[1, 1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let weight = cpu.operand(&[1, 1, 1, 2], &[1.0, -1.0]);
    let bias = cpu.operand(&[1], &[0.5]);
    let options = ConvolveOptions {
        operation: Convolve::CONV2D,
        sliding: Sliding::STILL,
        is_same: false,
        output_padding: [0; 3],
        groups: 1,
        layout: ImageLayout::Nchw,
        thread_limit: None,
    };
    let call = |pass, shape| Convolution {
        pass,
        options,
        shape,
        is_tf32: false,
    };
    let inputs = [image.clone(), weight.clone(), bias];
    let forward = call(ConvolvePass::Forward, &[]);
    let made = amdgpu_ops::convolve(ops, &inputs, None, &forward).unwrap();
    assert_eq!(floats(&made), [-0.5; 4]);
    let gradient = cpu.operand(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let back = call(ConvolvePass::ImageGradient, &[1, 1, 2, 3]);
    let inputs = [gradient.clone(), weight];
    let made = amdgpu_ops::convolve(ops, &inputs, None, &back).unwrap();
    assert_eq!(floats(&made), [1.0, 1.0, -2.0, 3.0, 1.0, -4.0]);
    let of_weight = call(ConvolvePass::WeightGradient, &[1, 1, 1, 2]);
    let inputs = [image.clone(), gradient];
    let made = amdgpu_ops::convolve(ops, &inputs, None, &of_weight).unwrap();
    assert_eq!(floats(&made), [37.0, 47.0]);
    let options = PoolOptions {
        window: [1, 2, 2],
        sliding: Sliding::STILL,
        ceil_mode: false,
        output: [None; 3],
        layout: ImageLayout::Nchw,
        counts_padding: true,
        divisor_override: 0,
        thread_limit: None,
    };
    let pool = |name, pooling, inputs: &[Operand]| {
        let operation = Pool::from_name(name).unwrap();
        amdgpu_ops::pool(ops, operation, (pooling, inputs), None, &options).unwrap()
    };
    let images = std::slice::from_ref(&image);
    let made = pool("max_pool2d", Pooling::Forward, images);
    assert_eq!(floats(&made[0]), [5.0, 6.0]);
    let both = pool("max_pool2d", Pooling::WithIndices, images);
    assert_eq!(floats(&both[0]), [5.0, 6.0]);
    let indices = both[1].read().unwrap();
    assert_eq!(indices, [4_i64, 5].map(i64::to_ne_bytes).concat());
    let inputs: Vec<Operand> = both.into_iter().map(Operand::of_array).collect();
    let made = pool("max_pool2d", Pooling::Unpool(&[1, 1, 2, 3]), &inputs);
    assert_eq!(floats(&made[0]), [0.0, 0.0, 0.0, 0.0, 5.0, 6.0]);
    let gradient = cpu.operand(&[1, 1, 1, 2], &[4.0, 8.0]);
    let inputs = [image, gradient];
    let made = pool("avg_pool2d", Pooling::Gradient, &inputs);
    assert_eq!(floats(&made[0]), [1.0, 3.0, 2.0, 1.0, 3.0, 2.0]);
}

#[test]
fn matrices_are_multiplied_in_every_precision_and_what_follows_too() {
    let cpu = Cpu::open();
    let a = cpu.operand(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let vector = cpu.operand(&[2], &[1.0, -1.0]);
    for precision in [
        Precision::Fp32,
        Precision::Tf32,
        Precision::Fp16,
        Precision::Bf16,
    ] {
        let call = Matmul {
            precision: Some(precision),
            ..Matmul::of(&a, &a)
        };
        assert_eq!(
            floats(&matmul(&cpu.ops, &call).unwrap()),
            [7.0, 10.0, 15.0, 22.0]
        );
    }
    let wide = Matmul {
        precision: Some(Precision::Fp64),
        ..Matmul::of(&a, &a)
    };
    let made = matmul(&cpu.ops, &wide).unwrap();
    assert_eq!((made.dtype, made.read().unwrap().len()), (Dtype::F64, 32));
    assert_eq!(
        floats(&matmul(&cpu.ops, &Matmul::of(&a, &vector)).unwrap()),
        [-1.0, -1.0]
    );
    let out = cpu.array(&[2, 2], &[100.0, 100.0, 100.0, -900.0]);
    let call = Matmul {
        out: Some(&out),
        bias: Some(&vector),
        residual: Some(&a),
        activation: Activation::Relu,
        transpose_b: true,
        alpha: 2.0,
        beta: 0.5,
        ..Matmul::of(&a, &a)
    };
    matmul(&cpu.ops, &call).unwrap();
    assert_eq!(floats(&out), [62.0, 73.0, 76.0, 0.0]);
    let without = Matmul {
        beta: 1.0,
        ..Matmul::of(&a, &a)
    };
    let error = matmul(&cpu.ops, &without).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    let itself = a.array.clone().unwrap();
    let overlapping = Matmul {
        out: Some(&itself),
        ..Matmul::of(&a, &a)
    };
    let error = matmul(&cpu.ops, &overlapping).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
}
