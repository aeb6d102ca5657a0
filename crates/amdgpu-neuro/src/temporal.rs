//! Layers with a state: their values at a step depend on those before, so a sample has a row for each step.
//!
//! - `lif(decay, slope)`: `u[t] = decay * (u[t-1] - s[t-1]) + x[t]` and `s[t] = 1` where `u[t] > 1`, else 0: a leaky integrate-and-fire
//!   neuron whose reset takes the threshold away (Neftci, Mostafa and Zenke 2019, eq. 5). Backward the step becomes the fast sigmoid of
//!   `SuperSpike`, `ds/du = 1 / (1 + slope * |u - 1|)^2` (Zenke and Ganguli 2018), in the spike and in the reset.
//! - `leaky(decay)`: `u[t] = decay * u[t-1] + x[t]`, the value is u: a readout without spikes.
//!
//! Rows lie sample by sample, in each the steps in their order: a whole sequence is one dense product, and the state is a scan over rows.

use crate::plan::ActivationPlan;

/// Where a neuron spikes; other thresholds are other scales of the weights.
const THRESHOLD: f32 = 1.0;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Temporal {
    Spiking { decay: f32, slope: f32 },
    Leaky { decay: f32 },
}

/// Samples of a network, and the steps of each: 1 where no layer has a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub samples: usize,
    pub steps: usize,
}

impl Batch {
    pub fn rows(self) -> usize {
        self.samples.saturating_mul(self.steps)
    }
}

/// Names in the language.
pub(crate) const SPIKING: &str = "lif";
pub(crate) const LEAKY: &str = "leaky";

impl Temporal {
    /// `None` for an activation without a state.
    pub fn of(activation: &ActivationPlan) -> Option<Self> {
        let (decay, slope) = (activation.alpha as f32, activation.beta as f32);
        match activation.kind.as_str() {
            SPIKING => Some(Self::Spiking { decay, slope }),
            LEAKY => Some(Self::Leaky { decay }),
            _ => None,
        }
    }

    /// Whether its numbers are ones that the language accepts.
    pub fn is_valid(self) -> bool {
        match self {
            Self::Spiking { decay, slope } => {
                (0.0..=1.0).contains(&decay) && slope > 0.0 && slope.is_finite()
            }
            Self::Leaky { decay } => (0.0..=1.0).contains(&decay),
        }
    }

    /// From what arrives at each step to values; `sums[samples, steps, size]` becomes the potentials.
    pub fn forward(self, steps: usize, size: usize, sums: &mut [f32], values: &mut [f32]) {
        match self {
            Self::Spiking { decay, .. } => {
                let step = |u: f32| f32::from(u8::from(u > THRESHOLD));
                spiking_forward(decay, step, steps, size, sums, values);
            }
            Self::Leaky { decay } => {
                for sample in sums.chunks_exact_mut(steps * size) {
                    for place in size..sample.len() {
                        sample[place] += decay * sample[place - size];
                    }
                }
                values.copy_from_slice(sums);
            }
        }
    }

    /// From the gradient by the values to the one by what arrived, in place, through all steps.
    pub fn backward(self, steps: usize, size: usize, potentials: &[f32], delta: &mut [f32]) {
        match self {
            Self::Spiking { decay, slope } => {
                let surrogate = |u: f32| {
                    let root = 1.0 + slope * (u - THRESHOLD).abs();
                    1.0 / (root * root)
                };
                spiking_backward(decay, surrogate, steps, size, potentials, delta);
            }
            Self::Leaky { decay } => {
                for sample in delta.chunks_exact_mut(steps * size) {
                    for place in (0..sample.len() - size).rev() {
                        sample[place] += decay * sample[place + size];
                    }
                }
            }
        }
    }
}

/// `spike` turns a potential into a value: the step, or a smooth function in tests.
fn spiking_forward(
    decay: f32,
    spike: impl Fn(f32) -> f32,
    steps: usize,
    size: usize,
    sums: &mut [f32],
    values: &mut [f32],
) {
    let samples = sums
        .chunks_exact_mut(steps * size)
        .zip(values.chunks_exact_mut(steps * size));
    for (sums, values) in samples {
        for place in 0..sums.len() {
            if place >= size {
                sums[place] += decay * (sums[place - size] - values[place - size] * THRESHOLD);
            }
            values[place] = spike(sums[place]);
        }
    }
}

/// `slope` is the derivative of the spike by the potential.
fn spiking_backward(
    decay: f32,
    slope: impl Fn(f32) -> f32,
    steps: usize,
    size: usize,
    potentials: &[f32],
    delta: &mut [f32],
) {
    let samples = potentials
        .chunks_exact(steps * size)
        .zip(delta.chunks_exact_mut(steps * size));
    for (potentials, delta) in samples {
        for place in (0..delta.len()).rev() {
            let slope = slope(potentials[place]);
            let later = delta.get(place + size).copied().unwrap_or(0.0);
            delta[place] = delta[place] * slope + later * decay * (1.0 - slope * THRESHOLD);
        }
    }
}

/// Means over the steps: `[samples, steps, size]` to `[samples, size]`.
pub(crate) fn mean_of_steps(rows: &[f32], steps: usize, size: usize, means: &mut [f32]) {
    let share = 1.0 / steps as f32;
    let samples = rows
        .chunks_exact(steps * size)
        .zip(means.chunks_exact_mut(size));
    for (rows, means) in samples {
        means.fill(0.0);
        for row in rows.chunks_exact(size) {
            for (mean, value) in means.iter_mut().zip(row) {
                *mean += value;
            }
        }
        for mean in means {
            *mean *= share;
        }
    }
}

/// The gradient by rows from the one by their mean.
pub(crate) fn spread_over_steps(means: &[f32], steps: usize, size: usize, rows: &mut [f32]) {
    let share = 1.0 / steps as f32;
    let samples = means
        .chunks_exact(size)
        .zip(rows.chunks_exact_mut(steps * size));
    for (mean, rows) in samples {
        for row in rows.chunks_exact_mut(size) {
            for (value, mean) in row.iter_mut().zip(mean) {
                *value = mean * share;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: usize = 7;
    const SIZE: usize = 3;
    const SAMPLES: usize = 2;
    const SLOPE: f32 = 4.0;

    fn inputs() -> Vec<f32> {
        (0..SAMPLES * STEPS * SIZE)
            .map(|place| 0.9 * (place as f32 * 1.7).sin() + 0.5)
            .collect()
    }

    fn weights() -> Vec<f32> {
        (0..SAMPLES * STEPS * SIZE)
            .map(|place| (place as f32 * 0.9).cos())
            .collect()
    }

    /// The function whose derivative the surrogate is.
    fn fast_sigmoid(u: f32) -> f32 {
        let x = u - THRESHOLD;
        x / (1.0 + SLOPE * x.abs())
    }

    fn loss(model: impl Fn(&mut [f32], &mut [f32]), sums: &[f32]) -> f64 {
        let mut potentials = sums.to_vec();
        let mut values = vec![0.0; sums.len()];
        model(&mut potentials, &mut values);
        let terms = values.iter().zip(weights());
        terms
            .map(|(value, weight)| f64::from(*value) * f64::from(weight))
            .sum()
    }

    fn check_slopes(
        model: impl Fn(&mut [f32], &mut [f32]) + Copy,
        backward: impl Fn(&[f32], &mut [f32]),
    ) {
        const STEP: f32 = 1e-3;
        let (mut potentials, mut values, mut delta) =
            (inputs(), vec![0.0; inputs().len()], weights());
        model(&mut potentials, &mut values);
        backward(&potentials, &mut delta);
        for (place, found) in delta.iter().enumerate() {
            let shifted = |step: f32| {
                let mut sums = inputs();
                sums[place] += step;
                loss(model, &sums)
            };
            let difference = (shifted(STEP) - shifted(-STEP)) / f64::from(2.0 * STEP);
            assert!(
                (f64::from(*found) - difference).abs() < 3e-3,
                "{place}: {found}, {difference}"
            );
        }
    }

    fn check_near(found: &[f32], wanted: &[f32]) {
        let mut pairs = found.iter().zip(wanted);
        assert!(
            pairs.all(|(found, wanted)| (found - wanted).abs() < 1e-6),
            "{found:?}"
        );
    }

    #[test]
    fn the_slope_through_time_is_that_of_the_smoothed_neuron() {
        let decay = 0.8;
        check_slopes(
            |sums, values| spiking_forward(decay, fast_sigmoid, STEPS, SIZE, sums, values),
            |potentials, delta| {
                Temporal::Spiking {
                    decay,
                    slope: SLOPE,
                }
                .backward(STEPS, SIZE, potentials, delta);
            },
        );
    }

    #[test]
    fn the_slope_through_time_of_the_integrator_is_exact() {
        let leaky = Temporal::Leaky { decay: 0.7 };
        check_slopes(
            |sums, values| leaky.forward(STEPS, SIZE, sums, values),
            |potentials, delta| leaky.backward(STEPS, SIZE, potentials, delta),
        );
    }

    #[test]
    fn a_neuron_spikes_above_the_threshold_and_loses_it() {
        let lif = Temporal::Spiking {
            decay: 0.5,
            slope: 1.0,
        };
        let mut potentials = [0.8, 0.8, 0.0, 2.5, 0.0];
        let mut values = [0.0; 5];
        lif.forward(5, 1, &mut potentials, &mut values);
        check_near(&values, &[0.0, 1.0, 0.0, 1.0, 0.0]);
        check_near(&potentials, &[0.8, 1.2, 0.1, 2.55, 0.775]);
    }

    #[test]
    fn means_and_their_gradients_fit() {
        let rows: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let mut means = [0.0; 4];
        mean_of_steps(&rows, 3, 2, &mut means);
        check_near(&means, &[2.0, 3.0, 8.0, 9.0]);
        let mut spread = [0.0; 12];
        spread_over_steps(&[3.0, 6.0, -3.0, 0.0], 3, 2, &mut spread);
        check_near(&spread[..6], &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
        check_near(&spread[6..], &[-1.0, 0.0, -1.0, 0.0, -1.0, 0.0]);
    }
}
