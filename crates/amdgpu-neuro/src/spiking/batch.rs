//! A batch of networks whose plans differ in seeds and listed spikes only, stepped on a device by the same launches. Every member has the
//! spikes that it has when it runs alone.

use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use amdgpu_aura::{Context, Toolchain};

use super::device::DeviceStepper;
use super::kernels::CLOCK_WORDS;
use super::memory::DeviceArray;
use super::network::{CHECK_STEPS, Inner, Progress, SpikingNetwork, SpikingOptions, WATCH_NS};
use super::parts::Parts;
use super::recorder::{Recorder, RunResult};
use super::snapshot_publisher::SnapshotPublisher;
use crate::error::{Error, Result};
use crate::plan::NetworkPlan;

/// See the module.
pub struct SpikingBatch {
    networks: Vec<SpikingNetwork>,
    stepper: DeviceStepper,
}

/// A run of all members.
struct Run<'a> {
    members: Vec<(&'a SpikingNetwork, MutexGuard<'a, Inner>)>,
    recorders: Vec<Recorder>,
    publishers: Vec<SnapshotPublisher>,
    begin: Instant,
}

impl SpikingBatch {
    /// Build the networks of plans that differ in seeds and listed spikes only.
    ///
    /// # Errors
    ///
    /// Plans that differ in more; what [`SpikingNetwork::build`] refuses.
    pub fn build(
        plans: &[NetworkPlan],
        context: &Arc<Context>,
        toolchain: &dyn Toolchain,
        options: &SpikingOptions,
    ) -> Result<Self> {
        let allocator = context
            .allocator()
            .map_err(|error| Error::from_core(&error))?;
        let clock = DeviceArray::zeros(allocator, CLOCK_WORDS)?;
        let (mut networks, mut kernels) = (Vec::with_capacity(plans.len()), Vec::new());
        for plan in plans {
            let (network, bound) =
                SpikingNetwork::assemble(plan, context, toolchain, options, Some(&clock))?;
            networks.push(network);
            kernels.push(bound);
        }
        let first = networks
            .first()
            .ok_or_else(|| Error::InvalidArgument("a batch has at least one member".to_owned()))?;
        let plan = first.plan.clone();
        for (number, network) in networks.iter().enumerate() {
            let (one, other) = (&plan.spiking, &network.plan.spiking);
            let is_same = one.source == other.source
                && one.kernels == other.kernels
                && one.groups.len() == other.groups.len()
                && one.sources.len() == other.sources.len();
            if !is_same {
                return Err(Error::InvalidArgument(format!(
                    "member {number} of the batch has another plan than the first: only seeds and listed spikes may differ"
                )));
            }
        }
        let inners: Vec<_> = networks.iter().map(SpikingNetwork::lock).collect();
        let parts: Vec<&Parts> = inners.iter().map(|inner| &inner.parts).collect();
        let stepper = DeviceStepper::new(&plan, &parts, kernels, clock, context, toolchain)?;
        drop(parts);
        drop(inners);
        Ok(Self { networks, stepper })
    }

    /// Steps of a time, and the seconds of one.
    ///
    /// # Errors
    ///
    /// As [`SpikingNetwork::steps_of`].
    pub fn steps_of(&self, seconds: f64) -> Result<u64> {
        self.networks[0].steps_of(seconds)
    }

    #[must_use]
    pub fn dt_seconds(&self) -> f64 {
        self.networks[0].plan.dt_seconds
    }

    /// Whether steps are replayed as graphs of the device.
    #[must_use]
    pub const fn is_replayed(&self) -> bool {
        self.stepper.is_replayed()
    }

    /// Make `steps` steps of every member; the results stand in the order of the plans. `watch` ends the run by returning `false`.
    ///
    /// # Errors
    ///
    /// As [`SpikingNetwork::run`]; the first member that cannot go on ends the batch.
    pub fn run(
        &mut self,
        steps: u64,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Vec<RunResult>> {
        let Self { networks, stepper } = self;
        let mut needed = 0;
        for network in &*networks {
            needed += network.check_recording(steps, needed)?;
        }
        let mut run = Run {
            members: Vec::new(),
            recorders: Vec::new(),
            publishers: Vec::new(),
            begin: Instant::now(),
        };
        for network in &*networks {
            let inner = network.lock();
            inner.check_fault()?;
            let mut recorder = Recorder::new(&network.plan, inner.step, steps)?;
            let publisher = SnapshotPublisher::begin(&network.plan, inner.step, &mut recorder)?;
            run.members.push((network, inner));
            run.recorders.push(recorder);
            run.publishers.push(publisher);
        }
        let (done, is_interrupted) = run.go(stepper, steps, watch)?;
        let seconds = run.begin.elapsed().as_secs_f64();
        let Run {
            members, recorders, ..
        } = run;
        let results = members
            .iter()
            .zip(recorders)
            .map(|((network, _), recorder)| {
                recorder.finish(&network.plan, done, seconds, is_interrupted)
            });
        results.collect()
    }
}

impl Run<'_> {
    /// Steps done, and whether the watcher ended the run.
    fn go(
        &mut self,
        stepper: &mut DeviceStepper,
        steps: u64,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(u64, bool)> {
        let first = self.members[0].1.step;
        let end = first + steps;
        let mut watched_ns = 0;
        let mut next_check = first + CHECK_STEPS;
        let mut reported = (first, vec![0; self.members.len()]);
        let mut step = first;
        while step < end {
            step += self.advance(stepper, step, end)?;
            if step < next_check && step < end {
                continue;
            }
            next_check = step + CHECK_STEPS;
            for (number, (network, inner)) in self.members.iter_mut().enumerate() {
                network.check_amounts(inner)?;
                network.check_finite(inner)?;
                if step == end || self.publishers[number].is_due() {
                    self.publishers[number].publish(
                        network,
                        inner,
                        first,
                        &mut self.recorders[number],
                    );
                }
            }
            let elapsed_ns = self.begin.elapsed().as_nanos();
            if elapsed_ns - watched_ns < WATCH_NS && step < end {
                continue;
            }
            let dt_seconds = self.members[0].0.plan.dt_seconds;
            let factor = self.begin.elapsed().as_secs_f64() / ((step - first) as f64 * dt_seconds);
            for (number, (network, _)) in self.members.iter().enumerate() {
                let spikes = self.recorders[number].spikes();
                network.reporter.report(
                    step - reported.0,
                    spikes - reported.1[number],
                    (elapsed_ns - watched_ns) as u64,
                    factor,
                );
                reported.1[number] = spikes;
            }
            reported.0 = step;
            watched_ns = elapsed_ns;
            let goes_on = watch(Progress {
                done_steps: step - first,
                total_steps: steps,
                spikes: self.recorders.iter().map(Recorder::spikes).sum(),
            });
            if !goes_on && step < end {
                return Ok((step - first, true));
            }
        }
        Ok((steps, false))
    }

    /// Makes the steps of all members up to the next one that the host has something to do in.
    fn advance(&mut self, stepper: &mut DeviceStepper, step: u64, end: u64) -> Result<u64> {
        let mut limit = end - step;
        if step == 0 {
            stepper.start()?;
        }
        for ((_, inner), recorder) in self.members.iter_mut().zip(&mut self.recorders) {
            inner.change_currents()?;
            inner.record(recorder)?;
            limit = limit
                .min(recorder.steps_until_next(step))
                .min(inner.steps_until_current(step));
        }
        let rewards = &self.members[0].0.rewards;
        let limit = limit.min(rewards.steps_until_next(step));
        let reward = rewards.at(step, None);
        let parts: Vec<&Parts> = self.members.iter().map(|(_, inner)| &inner.parts).collect();
        let mut recorders: Vec<&mut Recorder> = self.recorders.iter_mut().collect();
        let made = stepper.advance(&parts, step, limit, reward, &mut recorders)?;
        for (_, inner) in &mut self.members {
            inner.step += made;
        }
        Ok(made)
    }
}
