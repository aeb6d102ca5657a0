//! Sources and drives: what acts on neurons without being simulated as neurons.

use std::ops::Range;
use std::path::Path;

use super::projection::Target;
use super::rng_streams::RngStream;
use super::values::{self, Fans};
use crate::error::{Error, Result};
use crate::philox::lanes::{WORDS, Width};
use crate::philox::{BLOCK_WORDS, Stream};
use crate::plan::Initializer;
use crate::plan::spiking::{DrivePlan, SourcePlan, SpikingNetworkPlan};

/// Random words are 32 bits; probabilities are compared with this many parts.
const PARTS: f64 = 4_294_967_296.0;
/// Standard deviations above the mean that a Poisson count is taken to have at most when sums are bounded.
const COUNT_DEVIATIONS: f64 = 12.0;
/// Mean events in a step beyond which a Poisson drive is refused: its table of probabilities would be long.
const MAX_MEAN: f64 = 10_000.0;

/// Tables up to this long are compared entry by entry, in SIMD lanes; longer ones are searched.
const LINEAR_ENTRIES: usize = 64;

/// Neurons that spike by a rule or a list.
#[derive(Debug)]
pub(crate) enum Source {
    Poisson {
        object: RngStream,
        seed: u64,
        chances: Chances,
    },
    /// Step and index, sorted.
    Spikes(Vec<(u64, u32)>),
}

/// A spike is drawn when a random word is below this.
#[derive(Debug)]
pub(crate) enum Chances {
    Uniform(u64),
    Each(Vec<u64>),
}

fn chance(rate_hz: f64, dt_seconds: f64, name: &str) -> Result<u64> {
    let probability = rate_hz * dt_seconds;
    if (0.0..=1.0).contains(&probability) {
        return Ok((probability * PARTS).round() as u64);
    }
    Err(Error::InvalidDescription(format!(
        "the source {name:?} has a rate of {rate_hz} Hz; with a step of {dt_seconds} s rates from 0 to {} Hz are possible",
        1.0 / dt_seconds
    )))
}

/// The error for spikes of a neuron that fall into one step.
fn twice_in_a_step(name: &str, dt: f64, spikes: &[(u64, u32)], (step, index): (u64, u32)) -> Error {
    let count = spikes.iter().filter(|one| **one == (step, index)).count();
    Error::InvalidDescription(format!(
        "the source {name:?} has {count} spikes of neuron {index} at {} s in one step of {dt} s, and a neuron spikes once in a step: take a smaller dt, or give the other spikes to neurons of their own",
        step as f64 * dt
    ))
}

impl Source {
    pub fn build(plan: &SpikingNetworkPlan, number: usize, base_directory: &Path) -> Result<Self> {
        match &plan.spiking.sources[number] {
            SourcePlan::Poisson {
                name,
                size,
                rate_hz,
                ..
            } => {
                let chances = if let Initializer::Constant { value } = rate_hz {
                    Chances::Uniform(chance(*value, plan.dt_seconds, name)?)
                } else {
                    let rates = values::draw(
                        rate_hz,
                        RngStream::Rate(number),
                        plan.seed,
                        Fans(1.0, 1.0),
                        *size,
                        base_directory,
                        &format!("the rates of {name}"),
                    )?;
                    let chances = rates
                        .into_iter()
                        .map(|rate| chance(f64::from(rate), plan.dt_seconds, name));
                    Chances::Each(chances.collect::<Result<_>>()?)
                };
                Ok(Self::Poisson {
                    object: RngStream::SourceSpikes(number),
                    seed: plan.seed,
                    chances,
                })
            }
            SourcePlan::Spikes {
                name,
                times_seconds,
                indices,
                ..
            } => {
                let steps = times_seconds
                    .values()
                    .iter()
                    .map(|time| (time / plan.dt_seconds).round() as u64);
                let mut spikes: Vec<_> = steps
                    .zip(indices.values().iter().map(|index| *index as u32))
                    .collect();
                spikes.sort_unstable();
                let twice = spikes.windows(2).find(|pair| pair[0] == pair[1]);
                if let Some(&[(step, index), _]) = twice {
                    return Err(twice_in_a_step(
                        name,
                        plan.dt_seconds,
                        &spikes,
                        (step, index),
                    ));
                }
                Ok(Self::Spikes(spikes))
            }
        }
    }

    /// Appends the neurons of a range that spike in a step, in order.
    pub fn spikes_of(&self, step: u64, range: &Range<usize>, out: &mut Vec<u32>) {
        match self {
            Self::Poisson {
                object,
                seed,
                chances,
            } => {
                let stream = object.stream(*seed, step as u32);
                each_run(stream, range, |first, words| {
                    for (index, word) in (first..).zip(words) {
                        let chance = match chances {
                            Chances::Uniform(chance) => *chance,
                            Chances::Each(chances) => chances[index],
                        };
                        if u64::from(*word) < chance {
                            out.push(index as u32);
                        }
                    }
                });
            }
            Self::Spikes(spikes) => {
                let begin = spikes.partition_point(|spike| *spike < (step, range.start as u32));
                let of_step = spikes[begin..].iter();
                let wanted =
                    of_step.take_while(|(at, index)| *at == step && (*index as usize) < range.end);
                out.extend(wanted.map(|(_, index)| *index));
            }
        }
    }
}

/// Calls `take` with the words of each index of a range, many at a time: the first index, and one word for each from there on.
fn each_run(stream: Stream, range: &Range<usize>, mut take: impl FnMut(usize, &[u32])) {
    let width = Width::of_machine();
    let mut words = [0; WORDS];
    let mut index = range.start;
    while index < range.end {
        let first = index - index % BLOCK_WORDS as usize;
        width.words(stream, first as u64 / BLOCK_WORDS, &mut words);
        let end = (first + WORDS).min(range.end);
        take(index, &words[index - first..end - first]);
        index = end;
    }
}

/// Events of a Poisson process at every neuron of a range, added to an input.
#[derive(Debug)]
pub(crate) struct PoissonDrive {
    pub target: Target,
    pub input: usize,
    pub weight: f64,
    /// In units; known when the input has its unit.
    pub units: i32,
    object: RngStream,
    seed: u64,
    /// `k` events happen when a random word is at least entry `k - 1` and below entry `k`.
    table: Vec<u32>,
}

impl PoissonDrive {
    pub fn build(plan: &SpikingNetworkPlan, number: usize) -> Result<Option<Self>> {
        let DrivePlan::Poisson {
            population,
            input,
            rate_hz,
            count,
            weight,
        } = &plan.spiking.drives[number]
        else {
            return Ok(None);
        };
        let mean = rate_hz * count * plan.dt_seconds;
        if mean > MAX_MEAN {
            return Err(Error::InvalidDescription(format!(
                "the Poisson drive of {population:?} has {mean} events a step on average; up to {MAX_MEAN} are possible"
            )));
        }
        let found = plan.spiking.population(population);
        let target = found.map(|population| Target {
            group: population.group,
            first: population.first,
            size: population.size,
        });
        let input = target.and_then(|target| plan.spiking.groups[target.group].input_index(input));
        let (Some(target), Some(input)) = (target, input) else {
            return Ok(None);
        };
        Ok(Some(Self {
            target,
            input,
            weight: *weight,
            units: 0,
            object: RngStream::Drive(number),
            seed: plan.seed,
            table: table_of(mean),
        }))
    }

    pub fn table(&self) -> &[u32] {
        &self.table
    }

    pub const fn object(&self) -> RngStream {
        self.object
    }

    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Events in a step that no neuron ever exceeds.
    pub fn most_events(&self) -> f64 {
        self.table.len() as f64
    }

    /// Adds the events of a step to a range of a row; `row` is where neuron 0 of the group is or would be.
    ///
    /// # Safety
    /// The row has every neuron of the range, and nobody else uses those.
    pub unsafe fn add(&self, step: u64, neurons: &Range<usize>, row: *mut i32) {
        let first = self.target.first;
        let begin = neurons.start.max(first);
        let end = neurons.end.min(first + self.target.size);
        if begin >= end {
            return;
        }
        let stream = self.object.stream(self.seed, step as u32);
        let width = Width::of_machine();
        each_run(stream, &(begin - first..end - first), |index, words| {
            let mut counts = [0; WORDS];
            if self.table.len() <= LINEAR_ENTRIES {
                let mut padded = [0; WORDS];
                padded[..words.len()].copy_from_slice(words);
                width.counts(&padded, &self.table, &mut counts);
            } else {
                for (count, word) in counts.iter_mut().zip(words) {
                    *count = self.table.partition_point(|threshold| word >= threshold) as u32;
                }
            }
            // SAFETY: the neurons are those of the row, and this thread's own.
            let row = unsafe {
                std::slice::from_raw_parts_mut(row.wrapping_add(first + index), words.len())
            };
            for (sum, count) in row.iter_mut().zip(counts) {
                *sum = sum.wrapping_add((count as i32).wrapping_mul(self.units));
            }
        });
    }
}

/// Cumulative probabilities of 0, 1, 2, … events in parts of 2^32, up to where no word is left.
fn table_of(mean: f64) -> Vec<u32> {
    let mut table = Vec::new();
    let most = (mean + COUNT_DEVIATIONS * mean.sqrt() + 24.0) as u32;
    // In logarithms, so that large means do not underflow.
    let mut logarithm = -mean;
    let mut sum = 0.0_f64;
    for count in 0..most {
        sum += logarithm.exp();
        let threshold = (sum * PARTS).round();
        if threshold >= PARTS {
            break;
        }
        table.push(threshold as u32);
        logarithm += mean.ln() - f64::from(count + 1).ln();
    }
    table
}

/// A variable that follows samples.
#[derive(Debug)]
pub(crate) struct CurrentDrive {
    pub target: Target,
    pub variable: usize,
    pub samples: Vec<f32>,
    pub every_steps: u64,
}

impl CurrentDrive {
    pub fn build(plan: &SpikingNetworkPlan, number: usize) -> Option<Self> {
        let DrivePlan::Current {
            population,
            variable,
            samples,
            every_seconds,
        } = &plan.spiking.drives[number]
        else {
            return None;
        };
        let population = plan.spiking.population(population)?;
        Some(Self {
            target: Target {
                group: population.group,
                first: population.first,
                size: population.size,
            },
            variable: plan.spiking.groups[population.group].variable_index(variable)?,
            samples: samples
                .values()
                .iter()
                .map(|sample| *sample as f32)
                .collect(),
            every_steps: steps_of(*every_seconds, plan.dt_seconds),
        })
    }

    /// The new value at a step, if it changes there.
    pub fn sample(&self, step: u64) -> Option<f32> {
        if !step.is_multiple_of(self.every_steps) {
            return None;
        }
        let number = (step / self.every_steps) as usize;
        match number.cmp(&self.samples.len()) {
            std::cmp::Ordering::Less => Some(self.samples[number]),
            std::cmp::Ordering::Equal => Some(0.0),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// Whole steps of an interval, at least one.
pub(crate) fn steps_of(seconds: f64, dt_seconds: f64) -> u64 {
    ((seconds / dt_seconds).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_tables_have_the_mean_and_variance_of_their_process() {
        for mean in [0.01, 0.8, 1.28, 30.0, 5000.0] {
            let table = table_of(mean);
            let mut below = 0.0;
            let (mut first, mut second) = (0.0, 0.0);
            for (count, threshold) in table.iter().map(|entry| f64::from(*entry)).enumerate() {
                let probability = (threshold - below) / PARTS;
                first += probability * count as f64;
                second += probability * (count as f64 - mean).powi(2);
                below = threshold;
            }
            assert!((first / mean - 1.0).abs() < 1e-6, "{mean}: {first}");
            assert!((second / mean - 1.0).abs() < 1e-5, "{mean}: {second}");
        }
    }

    #[test]
    fn any_split_of_a_source_spikes_alike() {
        let source = Source::Poisson {
            object: RngStream::SourceSpikes(0),
            seed: 5,
            chances: Chances::Uniform(1 << 30),
        };
        let mut whole = Vec::new();
        source.spikes_of(17, &(0..1000), &mut whole);
        assert!((200..300).contains(&whole.len()), "{}", whole.len());
        let mut parts = Vec::new();
        for range in [0..3, 3..256, 256..999, 999..1000] {
            source.spikes_of(17, &range, &mut parts);
        }
        assert_eq!(parts, whole);
        let mut other = Vec::new();
        source.spikes_of(18, &(0..1000), &mut other);
        assert_ne!(other, whole);
    }

    #[test]
    fn times_become_the_nearest_steps_and_a_neuron_spikes_once_in_each() {
        let text = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../nim/tests/golden/cuba.txt"
        ));
        let plan = crate::NetworkPlan::from_json(text.unwrap()).unwrap();
        let mut plan = plan.spiking().unwrap().clone();
        assert!((plan.dt_seconds - 1e-4).abs() < 1e-15);
        let mut built = |times_seconds: &[f64], indices: &[usize]| {
            let source = SourcePlan::Spikes {
                name: "s".to_owned(),
                size: 9,
                times_seconds: crate::plan::inline_or_file::InlineOrFile::new(
                    times_seconds.to_vec(),
                ),
                indices: crate::plan::inline_or_file::InlineOrFile::new(indices.to_vec()),
                positions: None,
            };
            plan.spiking.sources = vec![source];
            Source::build(&plan, 0, Path::new(""))
        };
        let Source::Spikes(spikes) =
            built(&[3e-4, 1.1e-4, 2.6e-4, 0.0, 5.0], &[4, 2, 1, 8, 0]).unwrap()
        else {
            panic!("a list stays a list");
        };
        assert_eq!(spikes, [(0, 8), (1, 2), (3, 1), (3, 4), (50_000, 0)]);
        let twice = built(&[2e-4, 1.9e-4, 2.1e-4], &[3, 3, 3])
            .unwrap_err()
            .to_string();
        assert!(
            twice.contains("has 3 spikes of neuron 3 at 0.0002 s"),
            "{twice}"
        );
        assert!(built(&[2e-4, 2e-4], &[3, 4]).is_ok());
    }

    #[test]
    fn intervals_are_whole_steps_and_at_least_one() {
        assert_eq!(steps_of(1e-3, 1e-4), 10);
        assert_eq!(steps_of(1.46e-3, 1e-4), 15);
        assert_eq!(steps_of(1e-9, 1e-4), 1);
        assert_eq!(steps_of(1e-4, 1e-4), 1);
    }

    #[test]
    fn listed_spikes_come_in_their_step_and_range() {
        let source = Source::Spikes(vec![(2, 1), (3, 0), (3, 4), (3, 7), (9, 0)]);
        let at = |step, range| {
            let mut out = Vec::new();
            source.spikes_of(step, &range, &mut out);
            out
        };
        assert_eq!(at(3, 0..8), [0, 4, 7]);
        assert_eq!(at(3, 1..7), [4]);
        assert!(at(4, 0..8).is_empty());
        assert_eq!(at(2, 0..8), [1]);
    }
}
