//! Every operation against a float64 oracle, through the real runtime.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use amdgpu_abi::{
    ACTIVATION_ELU, ACTIVATION_IDENTITY, ACTIVATION_LEAKY_RELU, ACTIVATION_NEUROMORPHIC,
    ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_SILU, ACTIVATION_SOFTMAX, ACTIVATION_SOFTPLUS,
    ACTIVATION_TANH, Activation, Coded, ErrorCode, Language,
};
use amdgpu_math::Error;

#[path = "support/runtime.rs"]
mod runtime;

/// One rounding to float32 of a value that is exact to far more digits.
const ROUNDING: f64 = 6.0e-8;
const ALPHA: f32 = 0.3;
const BETA: f32 = -1.5;

fn kind(kind: u32) -> Activation {
    Activation {
        kind,
        alpha: ALPHA,
        beta: BETA,
        reserved: 0,
    }
}

/// Reproducible values in [-1, 1): multiples of an irrational number, folded.
fn noise(len: usize, seed: f64) -> Vec<f32> {
    (1..=len)
        .map(|index| ((index as f64 * 0.754_877_666_246_692_8 + seed).fract() * 2.0 - 1.0) as f32)
        .collect()
}

fn oracle(kind: u32, x: f64) -> f64 {
    let (alpha, beta) = (f64::from(ALPHA), f64::from(BETA));
    match kind {
        ACTIVATION_IDENTITY => x,
        ACTIVATION_RELU => x.max(0.0),
        ACTIVATION_LEAKY_RELU => {
            if x < 0.0 {
                alpha * x
            } else {
                x
            }
        }
        ACTIVATION_SIGMOID => 1.0 / (1.0 + (-x).exp()),
        ACTIVATION_TANH => x.tanh(),
        ACTIVATION_SILU => x / (1.0 + (-x).exp()),
        ACTIVATION_SOFTPLUS => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        ACTIVATION_ELU => {
            if x < 0.0 {
                alpha * x.exp_m1()
            } else {
                x
            }
        }
        ACTIVATION_NEUROMORPHIC => (alpha * x).tanh() + beta * x * (-x * x).exp(),
        other => unreachable!("kind {other} has no oracle here"),
    }
}

fn assert_close(value: f32, expected: f64, scale: f64, tolerance: f64) {
    let error = (f64::from(value) - expected).abs();
    assert!(
        error <= tolerance * scale.max(f64::MIN_POSITIVE),
        "{value} instead of {expected}"
    );
}

#[test]
fn activations_agree_with_float64() {
    let Some(math) = runtime::math() else { return };
    let x: Vec<f32> = noise(1001, 0.5).iter().map(|value| value * 9.0).collect();
    let mut y = vec![0.0; x.len()];
    for code in [
        ACTIVATION_IDENTITY,
        ACTIVATION_RELU,
        ACTIVATION_LEAKY_RELU,
        ACTIVATION_SIGMOID,
        ACTIVATION_TANH,
        ACTIVATION_SILU,
        ACTIVATION_SOFTPLUS,
        ACTIVATION_ELU,
        ACTIVATION_NEUROMORPHIC,
    ] {
        math.activation(&x, &mut y, kind(code)).unwrap();
        for (input, output) in x.iter().zip(&y) {
            let expected = oracle(code, f64::from(*input));
            // The two terms of neuromorphic may cancel: its bound is relative to them.
            let scale = if code == ACTIVATION_NEUROMORPHIC {
                1.0
            } else {
                expected.abs()
            };
            assert_close(*output, expected, scale, ROUNDING);
        }
    }
}

#[test]
fn gelu_is_the_exact_form() {
    let Some(math) = runtime::math() else { return };
    // x * Phi(x) from tables of the normal distribution (Abramowitz and Stegun, table 26.1).
    let x = [1.0_f32, -1.0, 2.0, -2.0, 0.5];
    let phi = [
        0.841_344_746_068_543,
        0.158_655_253_931_457,
        0.977_249_868_051_821,
        0.022_750_131_948_179,
        0.691_462_461_274_013,
    ];
    let mut y = [0.0; 5];
    math.activation(&x, &mut y, kind(amdgpu_abi::ACTIVATION_GELU))
        .unwrap();
    for ((input, output), phi) in x.iter().zip(y).zip(phi) {
        let expected = f64::from(*input) * phi;
        assert_close(output, expected, expected.abs(), ROUNDING);
    }
}

#[test]
fn softmax_rows_sum_to_one_and_agree_with_float64() {
    let Some(math) = runtime::math() else { return };
    let (rows, cols) = (7, 33);
    let x: Vec<f32> = noise(rows * cols, 0.1)
        .iter()
        .map(|value| value * 50.0)
        .collect();
    let mut y = vec![0.0; x.len()];
    math.softmax(&x, &mut y, rows, cols).unwrap();
    for (input, output) in x.chunks(cols).zip(y.chunks(cols)) {
        let highest = input.iter().copied().fold(f32::MIN, f32::max);
        let weights: Vec<f64> = input
            .iter()
            .map(|value| (f64::from(*value) - f64::from(highest)).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        for (value, weight) in output.iter().zip(&weights) {
            // 1e-38: below it float32 has fewer digits
            assert_close(
                *value,
                weight / total,
                (weight / total).max(1e-37),
                4.0 * ROUNDING,
            );
        }
        assert!((output.iter().map(|value| f64::from(*value)).sum::<f64>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn dense_forward_agrees_with_float64() {
    let Some(math) = runtime::math() else { return };
    for (batch, inputs, outputs) in [
        (1, 784, 256),
        (64, 784, 256),
        (64, 256, 10),
        (5, 300, 17),
        (0, 3, 4),
        (3, 0, 4),
    ] {
        let x = noise(batch * inputs, 0.3);
        let weight = noise(inputs * outputs, 0.6);
        let bias = noise(outputs, 0.9);
        for bias in [Some(bias.as_slice()), None] {
            let mut y = vec![f32::NAN; batch * outputs];
            math.dense_forward(
                &x,
                &weight,
                bias,
                &mut y,
                batch,
                inputs,
                outputs,
                kind(ACTIVATION_RELU),
            )
            .unwrap();
            for row in 0..batch {
                for col in 0..outputs {
                    let offset = bias.map_or(0.0, |bias| f64::from(bias[col]));
                    let terms = (0..inputs).map(|k| {
                        f64::from(x[row * inputs + k]) * f64::from(weight[k * outputs + col])
                    });
                    let (sum, magnitude) = terms
                        .fold((offset, offset.abs()), |(sum, magnitude), term| {
                            (sum + term, magnitude + term.abs())
                        });
                    // n * eps/2 * sum |x| |w|: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1
                    assert_close(
                        y[row * outputs + col],
                        sum.max(0.0),
                        magnitude,
                        (inputs + 2) as f64 * ROUNDING,
                    );
                }
            }
        }
    }
}

#[test]
fn dense_forward_with_softmax_gives_distributions() {
    let Some(math) = runtime::math() else { return };
    let (batch, inputs, outputs) = (9, 256, 10);
    let mut y = vec![0.0; batch * outputs];
    math.dense_forward(
        &noise(batch * inputs, 0.2),
        &noise(inputs * outputs, 0.4),
        None,
        &mut y,
        batch,
        inputs,
        outputs,
        kind(ACTIVATION_SOFTMAX),
    )
    .unwrap();
    for row in y.chunks(outputs) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn optimizer_steps_follow_their_formulas() {
    let Some(math) = runtime::math() else { return };
    let gradients: Vec<f32> = noise(37, 0.2).iter().map(|value| value * 5.0).collect();
    let before = noise(37, 0.7);
    let (mut momentum, mut rates) = (before.clone(), vec![0.0; 37]);
    math.adaptive_learning_rate(&gradients, &mut momentum, &mut rates, 0.01, 0.9)
        .unwrap();
    for index in 0..37 {
        let (gradient, old) = (f64::from(gradients[index]), f64::from(before[index]));
        let decay = f64::from(0.9_f32);
        assert_close(
            momentum[index],
            decay * old + (1.0 - decay) * gradient,
            5.0,
            4.0 * ROUNDING,
        );
        assert_close(
            rates[index],
            f64::from(0.01_f32) / (1.0 + gradient.abs()),
            0.01,
            4.0 * ROUNDING,
        );
    }
    let start = noise(37, 0.4);
    let (mut weights, mut velocity) = (start.clone(), before.clone());
    math.momentum_update(&mut weights, &gradients, &mut velocity, 0.1, 0.9)
        .unwrap();
    for index in 0..37 {
        let expected = f64::from(0.9_f32) * f64::from(before[index]) + f64::from(gradients[index]);
        assert_close(velocity[index], expected, 6.0, 4.0 * ROUNDING);
        assert_close(
            weights[index],
            f64::from(start[index]) - f64::from(0.1_f32) * expected,
            2.0,
            4.0 * ROUNDING,
        );
    }
}

#[test]
fn wrong_lengths_are_refused_before_julia_is_asked() {
    let Some(math) = runtime::math() else { return };
    let mut four = [0.0; 4];
    let mut three = [0.0; 3];
    let failures = [
        math.activation(&[0.0; 3], &mut four, kind(ACTIVATION_RELU)),
        math.softmax(&[0.0; 5], &mut four, 2, 2),
        math.dense_forward(
            &[0.0; 2],
            &[0.0; 4],
            Some(&[0.0; 3]),
            &mut [0.0; 2],
            1,
            2,
            2,
            kind(ACTIVATION_RELU),
        ),
        math.dense_forward(
            &[0.0; 2],
            &[0.0; 4],
            None,
            &mut three,
            1,
            2,
            2,
            kind(ACTIVATION_RELU),
        ),
        math.adaptive_learning_rate(&[0.0; 3], &mut four, &mut three, 0.1, 0.9),
        math.momentum_update(&mut four, &[0.0; 4], &mut three, 0.1, 0.9),
    ];
    for failure in failures {
        let error = failure.unwrap_err();
        assert_eq!(
            (error.code(), error.language()),
            (ErrorCode::ShapeMismatch, Language::Rust),
            "{error}"
        );
    }
}

#[test]
fn a_kernels_refusal_carries_its_kind_and_julias_words() {
    let Some(math) = runtime::math() else { return };
    let mut y = [0.0; 2];
    let error = math.activation(&[1.0, 2.0], &mut y, kind(77)).unwrap_err();
    assert_eq!(
        (error.code(), error.language()),
        (ErrorCode::InvalidArgument, Language::Julia)
    );
    assert!(error.to_string().contains("77"), "{error}");
    let error = math
        .activation(&[1.0, 2.0], &mut y, kind(ACTIVATION_SOFTMAX))
        .unwrap_err();
    assert!(error.to_string().contains("not elementwise"), "{error}");
    math.activation(&[1.0, -2.0], &mut y, kind(ACTIVATION_RELU))
        .unwrap();
    assert_eq!(y, [1.0, 0.0]);
}

#[test]
fn exceptions_arrive_with_julias_message_and_leave_the_runtime_usable() {
    let Some(math) = runtime::math() else { return };
    assert_eq!(math.evaluate("6 * 7").unwrap(), "42");
    for (code, words) in [
        ("error(\"the moon is full\")", "the moon is full"),
        ("sqrt(-1.0)", "DomainError"),
        ("[1, 2][3]", "BoundsError"),
        ("no_such_name", "no_such_name"),
        ("1 +", "syntax"),
        (
            "struct Odd <: Exception end; Base.showerror(io::IO, ::Odd) = print(io, \"odd words\"); throw(Odd())",
            "odd words",
        ),
        (
            "struct Mute <: Exception end; Base.showerror(io::IO, ::Mute) = error(\"none\"); throw(Mute())",
            "Mute",
        ),
        (
            "f(n) = n == 0 ? throw(ArgumentError(\"deep\")) : f(n - 1) + 1; f(1000)",
            "deep",
        ),
    ] {
        let error = math.evaluate(code).unwrap_err();
        assert_eq!(
            (error.code(), error.language()),
            (ErrorCode::ForeignError, Language::Julia),
            "{code}"
        );
        assert!(error.to_string().contains(words), "{code}: {error}");
        assert_eq!(math.evaluate("\"größer \\$1\"").unwrap(), "größer $1");
    }
    assert!(matches!(
        math.evaluate("\0"),
        Err(Error::InvalidArgument(_))
    ));
    let mut y = [0.0; 1];
    math.activation(&[-1.0], &mut y, kind(ACTIVATION_RELU))
        .unwrap();
}

#[test]
fn julia_runs_single_threaded_with_the_version_that_was_announced() {
    let Some(math) = runtime::math() else { return };
    assert_eq!(math.evaluate("Threads.nthreads()").unwrap(), "1");
    assert_eq!(math.evaluate("VERSION").unwrap(), math.julia_version());
    assert!(math.kernel_source().ends_with("julia/src/AgpuKernels.jl"));
    let running = amdgpu_math::Math::availability();
    assert!(running.found && running.version.as_deref() == Some(math.julia_version()));
}

#[test]
fn calls_are_counted_and_timed_as_crossings_to_julia() {
    let Some(math) = runtime::math() else { return };
    let mut y = [0.0; 1];
    math.softmax(&[1.0], &mut y, 1, 1).unwrap();
    let snapshot = amdgpu_telemetry::snapshot();
    assert!(
        snapshot
            .boundaries
            .iter()
            .any(|crossing| &*crossing.name == "softmax"
                && crossing.from == "rust"
                && crossing.to == "julia"
                && crossing.count >= 1)
    );
}
