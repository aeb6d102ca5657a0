//! Derivatives of the activations of the language: `delta *= d value / d sum`.

use amdgpu_abi::{
    ACTIVATION_ELU, ACTIVATION_GELU, ACTIVATION_IDENTITY, ACTIVATION_LEAKY_RELU,
    ACTIVATION_NEUROMORPHIC, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_SILU,
    ACTIVATION_SOFTMAX, ACTIVATION_SOFTPLUS, ACTIVATION_TANH, Activation,
};

use crate::error::{Error, Result};

/// Whether the slope cannot be told from the value alone: these functions are not one-to-one.
pub(crate) fn needs_sum(activation: Activation) -> bool {
    match activation.kind {
        ACTIVATION_GELU | ACTIVATION_SILU | ACTIVATION_NEUROMORPHIC => true,
        // The left side turns positive.
        ACTIVATION_LEAKY_RELU | ACTIVATION_ELU => activation.alpha < 0.0,
        _ => false,
    }
}

/// Turns the gradient by a layer's values into the one by its sums, in place. `sums` is read only where [`needs_sum`]; the rest
/// follows from `values`, as sigmoid' = y (1 - y) does. At the corner of relu and its kin the slope is the one of the left side.
pub(crate) fn apply(
    activation: Activation,
    sums: &[f32],
    values: &[f32],
    size: usize,
    delta: &mut [f32],
) -> Result<()> {
    let Activation { alpha, beta, .. } = activation;
    match activation.kind {
        ACTIVATION_IDENTITY => {}
        ACTIVATION_RELU => by_value(values, delta, |y| if y > 0.0 { 1.0 } else { 0.0 }),
        ACTIVATION_LEAKY_RELU => {
            let sides = if alpha < 0.0 { sums } else { values };
            by_value(sides, delta, |side| if side > 0.0 { 1.0 } else { alpha });
        }
        ACTIVATION_SIGMOID => by_value(values, delta, |y| y * (1.0 - y)),
        ACTIVATION_TANH => by_value(values, delta, |y| 1.0 - y * y),
        // 1 - exp(-softplus(x)) = sigmoid(x).
        ACTIVATION_SOFTPLUS => by_value(values, delta, |y| -(-y).exp_m1()),
        ACTIVATION_ELU => {
            let sides = if alpha < 0.0 { sums } else { values };
            by_both(sides, values, delta, |side, y| {
                if side > 0.0 { 1.0 } else { y + alpha }
            });
        }
        // y / x is the normal distribution function to within a rounding.
        ACTIVATION_GELU => by_both(sums, values, delta, |x, y| {
            let below = if x == 0.0 { 0.5 } else { y / x };
            below + x * FRAC_1_SQRT_2PI * (-0.5 * x * x).exp()
        }),
        ACTIVATION_SILU => by_both(sums, values, delta, |x, y| {
            let sigmoid = 1.0 / (1.0 + (-x).exp());
            sigmoid + y * (1.0 - sigmoid)
        }),
        ACTIVATION_NEUROMORPHIC => by_both(sums, values, delta, |x, y| {
            // Past this the bell is 0 in float32, and the square stays finite.
            let square = (x * x).min(200.0);
            let bell = (-square).exp();
            let tanh = y - beta * x * bell;
            alpha * (1.0 - tanh * tanh) + beta * bell * (1.0 - 2.0 * square)
        }),
        ACTIVATION_SOFTMAX => softmax(values, size, delta),
        _ => {
            return Err(Error::InvalidArgument(
                "this activation cannot be trained by back-propagation".to_owned(),
            ));
        }
    }
    Ok(())
}

const FRAC_1_SQRT_2PI: f32 = 0.398_942_3;

fn by_value(values: &[f32], delta: &mut [f32], slope: impl Fn(f32) -> f32) {
    for (delta, &value) in delta.iter_mut().zip(values) {
        *delta *= slope(value);
    }
}

fn by_both(sums: &[f32], values: &[f32], delta: &mut [f32], slope: impl Fn(f32, f32) -> f32) {
    for ((delta, &sum), &value) in delta.iter_mut().zip(sums).zip(values) {
        *delta *= slope(sum, value);
    }
}

/// The Jacobian of a row is diag(y) - y yᵀ.
fn softmax(values: &[f32], size: usize, delta: &mut [f32]) {
    for (delta, values) in delta.chunks_exact_mut(size).zip(values.chunks_exact(size)) {
        let mean: f32 = delta.iter().zip(values).map(|(d, y)| d * y).sum();
        for (delta, value) in delta.iter_mut().zip(values) {
            *delta = value * (*delta - mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_abi::ops::ACTIVATIONS;

    /// The activations in float64; erf from its series, which converges everywhere.
    fn value(kind: u32, alpha: f64, beta: f64, x: f64) -> f64 {
        match kind {
            ACTIVATION_IDENTITY => x,
            ACTIVATION_RELU => x.max(0.0),
            ACTIVATION_LEAKY_RELU => {
                if x > 0.0 {
                    x
                } else {
                    alpha * x
                }
            }
            ACTIVATION_SIGMOID => 1.0 / (1.0 + (-x).exp()),
            ACTIVATION_TANH => x.tanh(),
            ACTIVATION_GELU => {
                let z = x / std::f64::consts::SQRT_2;
                let (mut term, mut sum) = (z, z);
                for n in 1..200 {
                    term *= -z * z / f64::from(n);
                    sum += term / f64::from(2 * n + 1);
                }
                0.5 * x * (1.0 + sum * std::f64::consts::FRAC_2_SQRT_PI)
            }
            ACTIVATION_SILU => x / (1.0 + (-x).exp()),
            ACTIVATION_SOFTPLUS => x.exp().ln_1p(),
            ACTIVATION_ELU => {
                if x > 0.0 {
                    x
                } else {
                    alpha * x.exp_m1()
                }
            }
            ACTIVATION_NEUROMORPHIC => (alpha * x).tanh() + beta * x * (-x * x).exp(),
            _ => unreachable!("softmax is no function of one value"),
        }
    }

    #[test]
    fn slopes_equal_finite_differences_in_float64() {
        const STEP: f64 = 1e-5;
        for row in ACTIVATIONS {
            let name = row.name;
            let Some(kind) = row.number.filter(|kind| *kind != ACTIVATION_SOFTMAX) else {
                continue;
            };
            for (alpha, beta) in [(0.7, 0.3), (-0.4, 1.1)] {
                let activation = Activation {
                    kind,
                    alpha,
                    beta,
                    reserved: 0,
                };
                let (alpha, beta) = (f64::from(alpha), f64::from(beta));
                // None of them is the corner at 0.
                for step in -41..=41 {
                    let x = (f64::from(step) + 0.5) / 10.0;
                    let x = f64::from(x as f32);
                    let difference = (value(kind, alpha, beta, x + STEP)
                        - value(kind, alpha, beta, x - STEP))
                        / (2.0 * STEP);
                    let mut delta = [2.0];
                    let y = value(kind, alpha, beta, x) as f32;
                    apply(activation, &[x as f32], &[y], 1, &mut delta).unwrap();
                    let slope = f64::from(delta[0]) / 2.0;
                    assert!(
                        (slope - difference).abs() < 3e-6,
                        "{name} at {x}: {slope}, {difference}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_softmax_slope_equals_finite_differences_in_float64() {
        let sums = [0.3_f64, -1.2, 2.0, 0.1];
        let softmax = |sums: [f64; 4]| {
            let exps = sums.map(f64::exp);
            let total: f64 = exps.iter().sum();
            exps.map(|value| value / total)
        };
        let weights = [1.0, -2.0, 0.5, 3.0];
        let loss = |sums| {
            softmax(sums)
                .iter()
                .zip(weights)
                .map(|(y, w)| y * w)
                .sum::<f64>()
        };
        let mut delta = weights.map(|w| w as f32);
        let activation = Activation {
            kind: ACTIVATION_SOFTMAX,
            alpha: 0.0,
            beta: 0.0,
            reserved: 0,
        };
        apply(
            activation,
            &[],
            &softmax(sums).map(|y| y as f32),
            4,
            &mut delta,
        )
        .unwrap();
        for (place, found) in delta.into_iter().enumerate() {
            let shifted = |step: f64| {
                let mut sums = sums;
                sums[place] += step;
                loss(sums)
            };
            let difference = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (f64::from(found) - difference).abs() < 1e-6,
                "{place}: {found}, {difference}"
            );
        }
    }
}
