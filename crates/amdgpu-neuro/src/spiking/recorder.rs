//! Records a run: spikes, states, counts, and a hash that is equal for equal runs.

use amdgpu_memory::readable;

use super::projection::{Origin, origin_of};
use super::source::steps_of;
use crate::error::{Error, Result};
use crate::plan::spiking::{RecordPlan, SourcePlan, SpikingNetworkPlan};
use crate::watch::RasterSample;

/// Spikes of a population or source.
#[derive(Clone, Debug, PartialEq)]
pub struct SpikeRecord {
    pub name: String,
    pub times_seconds: Vec<f64>,
    /// Inside the population.
    pub indices: Vec<u32>,
}

/// A variable of some neurons over time.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRecord {
    /// `population.variable`.
    pub name: String,
    pub times_seconds: Vec<f64>,
    /// First recorded neuron inside the population.
    pub first: usize,
    pub count: usize,
    /// `[times, neurons]`, row-major.
    pub values: Vec<f32>,
}

/// What a run gives back.
#[derive(Clone, Debug)]
pub struct RunResult {
    pub first_step: u64,
    pub steps: u64,
    pub dt_seconds: f64,
    pub wall_seconds: f64,
    pub spikes: Vec<SpikeRecord>,
    pub states: Vec<StateRecord>,
    /// Name, size and number of spikes of each population and source.
    pub counts: Vec<(String, usize, u64)>,
    /// Equal for runs whose every spike is equal, recorded or not.
    pub spike_hash: u64,
    /// The run was ended by its watcher before all steps were done.
    pub is_interrupted: bool,
}

impl RunResult {
    /// Wall time over model time: below 1 the network runs faster than what it models.
    #[must_use]
    pub fn realtime_factor(&self) -> f64 {
        let seconds = self.steps as f64 * self.dt_seconds;
        self.wall_seconds / seconds.max(f64::MIN_POSITIVE)
    }
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the finisher of `SplitMix64`.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Spikes of a group or source during a run.
#[derive(Debug)]
struct Log {
    is_kept: bool,
    steps: Vec<u32>,
    indices: Vec<u32>,
    /// Of each neuron.
    counts: Vec<u32>,
}

/// A state that is recorded.
#[derive(Debug)]
pub(crate) struct StateProbe {
    pub name: String,
    pub group: usize,
    pub variable: usize,
    /// An input whose row is added, since it arrives with the step.
    pub input: Option<usize>,
    /// In the group.
    pub first: usize,
    pub count: usize,
    pub first_in_population: usize,
    pub every_steps: u64,
    pub steps: Vec<u64>,
    pub values: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    logs: Vec<Log>,
    pub probes: Vec<StateProbe>,
    hash: u64,
    first_step: u64,
    spikes: u64,
    /// What watchers see of the spikes.
    pub raster: RasterSample,
}

/// Bytes that a recorded spike may still take: a list that grows is copied, and times and indices are handed over beside it.
const SPIKE_BYTES: u64 = 2 * 8 + 12;
/// Spikes that are recorded without a look at the memory.
const UNCHECKED_SPIKES: u64 = 1 << 20;

fn no_memory(what: &str) -> Error {
    Error::OutOfMemory {
        what: format!(
            "the recording of {what}; record fewer neurons or less often, or run in shorter pieces"
        ),
        bytes: 0,
    }
}

impl Recorder {
    /// For a run of `steps` steps from `first_step` on. Memory for states is taken here, so that a long run does not end for want of it.
    pub fn new(plan: &SpikingNetworkPlan, first_step: u64, steps: u64) -> Result<Self> {
        let spiking = &plan.spiking;
        let groups = spiking.groups.iter().map(|group| group.size);
        let sizes = groups.chain(spiking.sources.iter().map(SourcePlan::size));
        let mut logs = Vec::new();
        for size in sizes {
            logs.push(Log {
                is_kept: false,
                steps: Vec::new(),
                indices: Vec::new(),
                counts: super::values::zeros(size, "the counts of spikes")?,
            });
        }
        let mut probes = Vec::new();
        for record in &spiking.records {
            match record {
                RecordPlan::Spikes { population } => {
                    logs[origin_of(plan, population)?.index].is_kept = true;
                }
                RecordPlan::State { .. } => probes.extend(probe(plan, record, steps)?),
            }
        }
        Ok(Self {
            logs,
            probes,
            hash: 0,
            first_step,
            spikes: 0,
            raster: RasterSample::default(),
        })
    }

    /// Takes the spikes of a group or source in a step.
    pub fn take(&mut self, origin: usize, step: u64, indices: &[u32]) -> Result<()> {
        if indices.is_empty() {
            return Ok(());
        }
        let log = &mut self.logs[origin];
        let key = mix(step ^ (origin as u64) << 48);
        for index in indices {
            // The finisher keeps 0, which would leave a spike of the first neuron in step 0 out.
            let own = mix(key ^ u64::from(*index)).max(1);
            self.hash = self.hash.wrapping_add(own);
            log.counts[*index as usize] += 1;
        }
        self.spikes += indices.len() as u64;
        self.raster.take(origin, step, indices);
        if log.is_kept {
            let more = indices.len();
            log.steps
                .try_reserve(more)
                .and_then(|()| log.indices.try_reserve(more))
                .map_err(|_| no_memory("spikes"))?;
            let relative = (step - self.first_step) as u32;
            log.steps.extend(std::iter::repeat_n(relative, more));
            log.indices.extend(indices);
        }
        Ok(())
    }

    /// Whether the free memory still has room for spikes to be kept and handed over.
    ///
    /// # Errors
    ///
    /// It has not: said before the system ends the process for it.
    pub fn check_room(&self, step: u64, free_bytes: impl FnOnce() -> Option<u64>) -> Result<()> {
        let kept = self.logs.iter().map(|log| log.indices.len() as u64);
        let spikes: u64 = kept.sum();
        if spikes < UNCHECKED_SPIKES {
            return Ok(());
        }
        let needed = spikes * SPIKE_BYTES;
        let Some(free) = free_bytes().filter(|free| *free < needed) else {
            return Ok(());
        };
        Err(Error::OutOfMemory {
            what: format!(
                "more than the {spikes} spikes that were recorded by step {step}, where {} are free: record fewer populations, or run in shorter pieces; the network can go on from here",
                readable(free)
            ),
            bytes: usize::try_from(needed).unwrap_or(usize::MAX),
        })
    }

    /// Spikes of a population or source so far.
    pub fn count_of(&self, origin: Origin) -> u64 {
        let of_neurons = &self.logs[origin.index].counts[origin.first..][..origin.size];
        of_neurons.iter().map(|count| u64::from(*count)).sum()
    }

    /// Spikes so far.
    pub fn spikes(&self) -> u64 {
        self.spikes
    }

    /// Whether a state is recorded at `step`.
    pub fn is_due(&self, step: u64) -> bool {
        let mut probes = self.probes.iter();
        probes.any(|probe| step.is_multiple_of(probe.every_steps))
    }

    /// Steps from `step` on that can be made before a state is recorded again.
    pub fn steps_until_next(&self, step: u64) -> u64 {
        let probes = self.probes.iter();
        let until = probes.map(|probe| probe.every_steps - step % probe.every_steps);
        until.min().unwrap_or(u64::MAX)
    }

    /// Everything recorded, of a run that did `steps` steps.
    pub fn finish(
        self,
        plan: &SpikingNetworkPlan,
        steps: u64,
        wall_seconds: f64,
        is_interrupted: bool,
    ) -> Result<RunResult> {
        let dt_seconds = plan.dt_seconds;
        let mut spikes = Vec::new();
        for record in &plan.spiking.records {
            if let RecordPlan::Spikes { population } = record {
                let origin = origin_of(plan, population)?;
                spikes.push(self.record_of(population, origin, dt_seconds));
            }
        }
        let populations = plan.spiking.populations.iter().map(|one| &one.name);
        let names = populations.map(String::as_str);
        let sources = plan.spiking.sources.iter().map(SourcePlan::name);
        let mut counts = Vec::new();
        for name in names.chain(sources) {
            let origin = origin_of(plan, name)?;
            counts.push((name.to_owned(), origin.size, self.count_of(origin)));
        }
        let states = self.probes.into_iter().map(|probe| StateRecord {
            name: probe.name,
            times_seconds: times(&probe.steps, dt_seconds),
            first: probe.first_in_population,
            count: probe.count,
            values: probe.values,
        });
        Ok(RunResult {
            first_step: self.first_step,
            steps,
            dt_seconds,
            wall_seconds,
            spikes,
            states: states.collect(),
            counts,
            spike_hash: self.hash,
            is_interrupted,
        })
    }

    fn record_of(&self, name: &str, origin: Origin, dt_seconds: f64) -> SpikeRecord {
        let log = &self.logs[origin.index];
        let range = origin.first as u32..(origin.first + origin.size) as u32;
        let mut record = SpikeRecord {
            name: name.to_owned(),
            times_seconds: Vec::new(),
            indices: Vec::new(),
        };
        for (step, index) in log.steps.iter().zip(&log.indices) {
            if range.contains(index) {
                let step = self.first_step + u64::from(*step);
                record.times_seconds.push(step as f64 * dt_seconds);
                record.indices.push(index - range.start);
            }
        }
        record
    }
}

fn times(steps: &[u64], dt_seconds: f64) -> Vec<f64> {
    steps.iter().map(|step| *step as f64 * dt_seconds).collect()
}

fn probe(plan: &SpikingNetworkPlan, record: &RecordPlan, steps: u64) -> Result<Option<StateProbe>> {
    let RecordPlan::State {
        population: name,
        variable,
        first,
        count,
        every_seconds,
    } = record
    else {
        return Ok(None);
    };
    let Some(population) = plan.spiking.population(name) else {
        return Ok(None);
    };
    let group = &plan.spiking.groups[population.group];
    let Some(index) = group.variable_index(variable) else {
        return Ok(None);
    };
    let every_steps = steps_of(*every_seconds, plan.dt_seconds);
    let name = format!("{name}.{variable}");
    let samples = steps / every_steps + 1;
    let mut values = Vec::new();
    let mut at = Vec::new();
    let len = usize::try_from(samples.saturating_mul(*count as u64)).unwrap_or(usize::MAX);
    values
        .try_reserve_exact(len)
        .and_then(|()| at.try_reserve_exact(samples as usize))
        .map_err(|_| no_memory(&format!("{name} ({len} values)")))?;
    Ok(Some(StateProbe {
        name,
        group: population.group,
        variable: index,
        input: group.input_index(variable),
        first: population.first + first,
        count: *count,
        first_in_population: *first,
        every_steps,
        steps: at,
        values,
    }))
}

/// Bytes that the states of a run will take.
pub(crate) fn state_bytes(plan: &SpikingNetworkPlan, steps: u64) -> u64 {
    let bytes = plan.spiking.records.iter().map(|record| match record {
        RecordPlan::Spikes { .. } => 0,
        RecordPlan::State {
            count,
            every_seconds,
            ..
        } => (steps / steps_of(*every_seconds, plan.dt_seconds) + 1)
            .saturating_mul(4 * *count as u64 + 16),
    });
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_spikes(count: usize) -> Recorder {
        Recorder {
            logs: vec![Log {
                is_kept: true,
                steps: vec![0; count],
                indices: vec![0; count],
                counts: vec![count as u32],
            }],
            probes: Vec::new(),
            hash: 0,
            first_step: 0,
            spikes: count as u64,
            raster: RasterSample::default(),
        }
    }

    fn empty(origins: usize, size: usize) -> Recorder {
        let log = || Log {
            is_kept: true,
            steps: Vec::new(),
            indices: Vec::new(),
            counts: vec![0; size],
        };
        Recorder {
            logs: (0..origins).map(|_| log()).collect(),
            probes: Vec::new(),
            hash: 0,
            first_step: 0,
            spikes: 0,
            raster: RasterSample::default(),
        }
    }

    fn hash_of(spikes: &[(usize, u64, &[u32])]) -> u64 {
        let mut recorder = empty(3, 200);
        for (origin, step, indices) in spikes {
            recorder.take(*origin, *step, indices).unwrap();
        }
        recorder.hash
    }

    #[test]
    fn every_spike_has_a_hash_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for origin in 0..3 {
            for step in 0..64 {
                for index in 0..128 {
                    assert!(
                        seen.insert(hash_of(&[(origin, step, &[index])])),
                        "{origin} {step} {index}"
                    );
                }
            }
        }
        assert!(seen.insert(hash_of(&[])));
    }

    #[test]
    fn the_hash_is_of_all_spikes_in_any_order() {
        let one = hash_of(&[(0, 1, &[3, 5]), (1, 1, &[3]), (0, 2, &[3])]);
        assert_eq!(
            one,
            hash_of(&[(1, 1, &[3]), (0, 1, &[5]), (0, 1, &[3]), (0, 2, &[3])])
        );
        assert_ne!(one, hash_of(&[(0, 1, &[3, 5]), (1, 1, &[3])]));
        // Published hashes stay: this one was computed apart from here.
        assert_eq!(
            hash_of(&[(1, 2, &[3]), (0, 5, &[7])]),
            0xbc4d_73d2_24bd_763e
        );
        // Twice the same spike is two spikes.
        let (single, double) = (hash_of(&[(0, 7, &[9])]), hash_of(&[(0, 7, &[9, 9])]));
        assert_eq!(double, single.wrapping_add(single));
    }

    #[test]
    fn spikes_are_counted_for_each_neuron_and_origin() {
        let mut recorder = empty(2, 6);
        recorder.first_step = 10;
        recorder.take(0, 10, &[0, 5]).unwrap();
        recorder.take(0, 12, &[5]).unwrap();
        recorder.take(1, 12, &[2, 3, 4]).unwrap();
        assert_eq!(recorder.spikes(), 6);
        assert_eq!(recorder.logs[0].counts, [1, 0, 0, 0, 0, 2]);
        assert_eq!(recorder.logs[0].steps, [0, 0, 2]);
        assert_eq!(recorder.logs[0].indices, [0, 5, 5]);
        let origin = |first, size| Origin {
            index: 1,
            first,
            size,
        };
        assert_eq!(recorder.count_of(origin(0, 6)), 3);
        assert_eq!(recorder.count_of(origin(3, 2)), 2);
        assert_eq!(recorder.count_of(origin(5, 1)), 0);
        let record = recorder.record_of("part", origin(3, 2), 0.5);
        assert_eq!(record.indices, [0, 1]);
        assert_eq!(record.times_seconds, [6.0, 6.0]);
    }

    #[test]
    fn recorded_spikes_end_a_run_before_memory_does() {
        let many = UNCHECKED_SPIKES as usize;
        let recorder = with_spikes(many);
        let needed = UNCHECKED_SPIKES * SPIKE_BYTES;
        assert!(recorder.check_room(7, || Some(needed)).is_ok());
        assert!(recorder.check_room(7, || None).is_ok());
        let error = recorder.check_room(7, || Some(needed - 1)).unwrap_err();
        assert!(
            matches!(error, Error::OutOfMemory { bytes, .. } if bytes as u64 == needed),
            "{error}"
        );
        assert!(error.to_string().contains("by step 7"), "{error}");
        assert!(with_spikes(many - 1).check_room(7, || Some(0)).is_ok());
    }
}
