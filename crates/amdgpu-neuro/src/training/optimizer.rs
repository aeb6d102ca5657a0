//! Optimizers: how gradients change weights. Each rule exists twice: here, and on the Math core (Julia) where one runs; both do the same float32
//! operations in the same order, so that a training may move from one to the other without a difference in a bit.

use amdgpu_math::Math;

use crate::error::{Error, Result};
use crate::parameters::zeros;

/// How weights follow their gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimizer {
    /// `weight -= learning_rate * gradient`.
    Sgd,
    /// `velocity = momentum * velocity + gradient; weight -= learning_rate * velocity` (Polyak 1964).
    Momentum { momentum: f32 },
    /// Kingma and Ba 2015, algorithm 1.
    Adam {
        beta_1: f32,
        beta_2: f32,
        epsilon: f32,
    },
    /// The rule of the requirement documents: `mean = decay * mean + (1 - decay) * gradient;
    /// weight -= learning_rate / (1 + |gradient|) * mean`.
    Adaptive { decay: f32 },
}

impl Optimizer {
    /// Names, each with the parameters that it has and their usual values.
    const KNOWN: [(&'static str, &'static [(&'static str, f32)]); 4] = [
        ("sgd", &[]),
        ("momentum", &[("momentum", 0.9)]),
        (
            "adam",
            &[("beta_1", 0.9), ("beta_2", 0.999), ("epsilon", 1e-8)],
        ),
        ("adaptive", &[("decay", 0.9)]),
    ];

    /// The optimizer of a name: sgd, momentum, adam or adaptive. Parameters that are not given have their usual values.
    ///
    /// # Errors
    ///
    /// The name is unknown; the optimizer has no parameter of a name that was given.
    pub fn from_name(name: &str, parameters: &[(String, f32)]) -> Result<Self> {
        let mut entries = Self::KNOWN.iter();
        let Some((_, usual)) = entries.find(|(known, _)| *known == name) else {
            let known = Self::KNOWN.map(|(known, _)| known).join(", ");
            return Err(Error::InvalidArgument(format!(
                "optimizer is {name:?}; known are {known}"
            )));
        };
        let is_known = |key: &str| usual.iter().any(|(known, _)| *known == key);
        if let Some((key, _)) = parameters.iter().find(|(key, _)| !is_known(key)) {
            let known: Vec<&str> = usual.iter().map(|(known, _)| *known).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(Error::InvalidArgument(format!(
                "the optimizer {name} has no parameter {key:?}; it has {known}"
            )));
        }
        let number = |at: usize| {
            let (key, usual) = usual[at];
            let mut given = parameters.iter().rev();
            given
                .find(|(name, _)| name == key)
                .map_or(usual, |given| given.1)
        };
        Ok(match name {
            "momentum" => Self::Momentum {
                momentum: number(0),
            },
            "adam" => Self::Adam {
                beta_1: number(0),
                beta_2: number(1),
                epsilon: number(2),
            },
            "adaptive" => Self::Adaptive { decay: number(0) },
            _ => Self::Sgd,
        })
    }

    /// Numbers kept for each weight.
    #[must_use]
    pub const fn slots(self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum { .. } | Self::Adaptive { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }
}

/// Who does the arithmetic.
#[derive(Clone, Copy)]
pub(crate) enum Arithmetic {
    Rust,
    Julia(&'static Math),
}

/// Learning rate and count of a step; the first one is 1.
#[derive(Clone, Copy, Debug)]
pub struct StepSize {
    pub learning_rate: f64,
    pub step: u64,
}

/// What Adam scales a step with: both moments begin at 0 and are divided by what they lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    pub step: f32,
    pub root: f32,
}

impl AdamStep {
    pub fn of(beta_1: f32, beta_2: f32, size: StepSize) -> Self {
        let bias = |beta: f32| 1.0 - f64::from(beta).powf(size.step as f64);
        Self {
            step: (size.learning_rate / bias(beta_1)) as f32,
            root: bias(beta_2).sqrt() as f32,
        }
    }
}

/// Writes the changed weights over `weights`; `slots` are the numbers kept for them.
pub(crate) fn update(
    optimizer: Optimizer,
    arithmetic: Arithmetic,
    size: StepSize,
    gradients: &[f32],
    slots: &mut [Vec<f32>],
    weights: &mut [f32],
) -> Result<()> {
    let rate = size.learning_rate as f32;
    match (optimizer, slots) {
        (Optimizer::Sgd, _) => {
            for (weight, gradient) in weights.iter_mut().zip(gradients) {
                *weight -= rate * gradient;
            }
            Ok(())
        }
        (Optimizer::Momentum { momentum }, [velocity]) => match arithmetic {
            Arithmetic::Rust => {
                for ((weight, gradient), velocity) in
                    weights.iter_mut().zip(gradients).zip(velocity)
                {
                    *velocity = momentum * *velocity + gradient;
                    *weight -= rate * *velocity;
                }
                Ok(())
            }
            Arithmetic::Julia(math) => math
                .momentum_update(weights, gradients, velocity, rate, momentum)
                .map_err(|error| Error::from_core(&error)),
        },
        (Optimizer::Adaptive { decay }, [mean]) => {
            let mut rates = scratch(gradients.len())?;
            moving_average(arithmetic, gradients, mean, &mut rates, rate, decay)?;
            for ((weight, rate), mean) in weights.iter_mut().zip(&rates).zip(mean) {
                *weight -= rate * *mean;
            }
            Ok(())
        }
        (
            Optimizer::Adam {
                beta_1,
                beta_2,
                epsilon,
            },
            [first, second],
        ) => {
            let AdamStep { step, root } = AdamStep::of(beta_1, beta_2, size);
            match arithmetic {
                Arithmetic::Rust => adam_moments(gradients, first, second, beta_1, beta_2),
                Arithmetic::Julia(_) => {
                    // The moments of Adam are moving averages of the gradient and of its square; the rates are not needed.
                    let mut rates = scratch(gradients.len())?;
                    moving_average(arithmetic, gradients, first, &mut rates, rate, beta_1)?;
                    let mut squares = scratch(gradients.len())?;
                    for (square, gradient) in squares.iter_mut().zip(gradients) {
                        *square = gradient * gradient;
                    }
                    moving_average(arithmetic, &squares, second, &mut rates, rate, beta_2)?;
                }
            }
            for ((weight, first), second) in weights.iter_mut().zip(first).zip(second) {
                *weight -= step * *first / (second.sqrt() / root + epsilon);
            }
            Ok(())
        }
        _ => unreachable!("slots are made by the optimizer's count of them"),
    }
}

fn scratch(len: usize) -> Result<Vec<f32>> {
    zeros(len, || "the learning rates".to_owned())
}

/// `mean = decay * mean + (1 - decay) * gradient; rates = learning_rate / (1 + |gradient|)`.
fn moving_average(
    arithmetic: Arithmetic,
    gradients: &[f32],
    mean: &mut [f32],
    rates: &mut [f32],
    learning_rate: f32,
    decay: f32,
) -> Result<()> {
    match arithmetic {
        Arithmetic::Rust => {
            for ((gradient, mean), rate) in gradients.iter().zip(mean).zip(rates) {
                *mean = decay * *mean + (1.0 - decay) * gradient;
                *rate = learning_rate / (1.0 + gradient.abs());
            }
            Ok(())
        }
        Arithmetic::Julia(math) => math
            .adaptive_learning_rate(gradients, mean, rates, learning_rate, decay)
            .map_err(|error| Error::from_core(&error)),
    }
}

fn adam_moments(
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    beta_1: f32,
    beta_2: f32,
) {
    for ((gradient, first), second) in gradients.iter().zip(first).zip(second) {
        *first = beta_1 * *first + (1.0 - beta_1) * gradient;
        *second = beta_2 * *second + (1.0 - beta_2) * (gradient * gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Optimizer; 4] = [
        Optimizer::Sgd,
        Optimizer::Momentum { momentum: 0.9 },
        Optimizer::Adam {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
        },
        Optimizer::Adaptive { decay: 0.8 },
    ];

    fn run(optimizer: Optimizer, arithmetic: Arithmetic) -> (Vec<f32>, Vec<Vec<f32>>) {
        let len = 1003;
        let mut weights: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut slots = vec![vec![0.0; len]; optimizer.slots()];
        for step in 1..=20 {
            let gradients: Vec<f32> = weights
                .iter()
                .enumerate()
                .map(|(i, w)| w * 3.0 - (i as f32 * 1.7 + step as f32).cos())
                .collect();
            let size = StepSize {
                learning_rate: 0.01,
                step,
            };
            update(
                optimizer,
                arithmetic,
                size,
                &gradients,
                &mut slots,
                &mut weights,
            )
            .unwrap();
        }
        (weights, slots)
    }

    #[test]
    fn the_math_core_gives_the_same_bits() {
        let math = match Math::global() {
            Ok(math) => math,
            Err(error) => {
                println!("skipped: {error}");
                return;
            }
        };
        for optimizer in ALL {
            let bits = |(weights, slots): (Vec<f32>, Vec<Vec<f32>>)| {
                let all = std::iter::once(weights).chain(slots).flatten();
                all.map(f32::to_bits).collect::<Vec<_>>()
            };
            let rust = bits(run(optimizer, Arithmetic::Rust));
            assert_eq!(
                rust,
                bits(run(optimizer, Arithmetic::Julia(math))),
                "{optimizer:?}"
            );
        }
    }

    #[test]
    fn the_first_step_of_adam_is_the_learning_rate_whatever_the_gradient() {
        let mut weights = [0.0_f32; 3];
        let size = StepSize {
            learning_rate: 0.5,
            step: 1,
        };
        let mut slots = vec![vec![0.0; 3]; 2];
        update(
            ALL[2],
            Arithmetic::Rust,
            size,
            &[1e-3, -7.0, 100.0],
            &mut slots,
            &mut weights,
        )
        .unwrap();
        for (weight, wanted) in weights.into_iter().zip([-0.5, 0.5, -0.5]) {
            assert!((weight - wanted).abs() < 1e-4, "{weight}");
        }
    }

    #[test]
    fn every_optimizer_walks_down_a_parabola() {
        for optimizer in ALL {
            let mut weights = [3.0_f32, -2.0];
            let mut slots = vec![vec![0.0; 2]; optimizer.slots()];
            for step in 1..=2000 {
                let gradients = weights.map(|weight| weight - 1.0);
                let size = StepSize {
                    learning_rate: 0.01,
                    step,
                };
                update(
                    optimizer,
                    Arithmetic::Rust,
                    size,
                    &gradients,
                    &mut slots,
                    &mut weights,
                )
                .unwrap();
            }
            assert!(
                weights.iter().all(|w| (w - 1.0).abs() < 1e-2),
                "{optimizer:?}: {weights:?}"
            );
        }
    }
}
