//! A spiking network on a device: building it from its plan, stepping it, reading and changing its state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use amdgpu_aura::{Context, Toolchain};
use amdgpu_hal::DeviceKind;
use amdgpu_hal::cpu::{available_bytes, free_host_bytes, pool};
use amdgpu_memory::{OwnerScope, readable};

use super::coupling;
use super::device::DeviceStepper;
use super::kernels::{self, Bindings, BoundKernel, CLOCK_WORDS};
use super::memory::DeviceArray;
use super::parts::Parts;
use super::planner::{self, MemoryEstimate};
use super::projection::ProjectionKind;
use super::recorder::{self, Recorder, RunResult};
use super::report::Reporter;
use super::reward::RewardSchedule;
use super::snapshot_publisher::{self, SnapshotPublisher};
use super::stepper::Stepper;
use super::weights;
use crate::error::{Error, Result};
use crate::external_inputs::{Arrays, ExternalInputs};
use crate::finite;
use crate::plan::NetworkPlan;
use crate::plan::spiking::SpikingNetworkPlan;
use crate::watch::NetworkSnapshot;

/// Steps between two looks for values that are not finite.
pub(super) const CHECK_STEPS: u64 = 64;
/// Wall time between two calls of the watcher of a run.
pub(super) const WATCH_NS: u128 = 50_000_000;

/// How a network is built.
#[derive(Clone, Debug, Default)]
pub struct SpikingOptions {
    /// Where relative paths of files start; empty is the working directory.
    pub base_directory: PathBuf,
    /// What `array("…")` names.
    pub arrays: Arrays,
    /// Threads that step the network on the CPU device; `None`: all of the device.
    pub threads: Option<usize>,
    /// Step by launches on the CPU device too, as GPUs do: slower, for tests of that way where there is no GPU.
    pub by_launches: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub done_steps: u64,
    pub total_steps: u64,
    pub spikes: u64,
}

pub(crate) struct Inner {
    pub parts: Parts,
    pub stepper: Stepper,
    /// The next step.
    pub step: u64,
    /// Given for the next step.
    pub reward: Option<f32>,
    /// Why the network cannot go on.
    pub fault: Option<String>,
}

/// A spiking network that can be stepped. See the crate root for what it promises.
pub struct SpikingNetwork {
    pub(crate) plan: SpikingNetworkPlan,
    pub(crate) names: Vec<String>,
    context: Arc<Context>,
    memory: MemoryEstimate,
    pub(crate) reporter: Reporter,
    pub(crate) snapshot: Arc<NetworkSnapshot>,
    pub(super) rewards: RewardSchedule,
    warnings: Vec<String>,
    pub(crate) inner: Mutex<Inner>,
}

impl std::fmt::Debug for SpikingNetwork {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SpikingNetwork")
            .field("name", &self.plan.name)
            .finish_non_exhaustive()
    }
}

/// The plan of a spiking network with the files and arrays that it names.
fn resolved(plan: &NetworkPlan, options: &SpikingOptions) -> Result<SpikingNetworkPlan> {
    let mut plan = plan.spiking()?.clone();
    plan.resolve(&ExternalInputs {
        base_directory: options.base_directory.clone(),
        arrays: options.arrays.clone(),
    })?;
    Ok(plan)
}

fn is_gpu(context: &Context) -> bool {
    context.info().kind != DeviceKind::Cpu
}

fn free_bytes(context: &Context) -> Result<u64> {
    let device = context.device().map_err(|error| Error::from_core(&error))?;
    let memory = device
        .memory_info()
        .map_err(|error| Error::from_core(&error))?;
    Ok(memory.free_bytes)
}

/// What the host has free beside a device with memory of its own.
fn host_free_bytes(context: &Context) -> Result<Option<u64>> {
    let free = is_gpu(context).then(free_host_bytes).transpose();
    free.map_err(|error| Error::from_core(&error))
}

/// Predict the memory of a network without building it.
///
/// # Errors
///
/// The plan is not one of a spiking network, asks for a storage that a projection cannot have, or names a file or array that does not fit.
pub fn memory_estimate(
    plan: &NetworkPlan,
    context: &Context,
    options: &SpikingOptions,
) -> Result<MemoryEstimate> {
    let plan = resolved(plan, options)?;
    planner::estimate(
        &plan,
        free_bytes(context)?,
        host_free_bytes(context)?,
        is_gpu(context),
    )
}

impl SpikingNetwork {
    /// Build the network of a plan on a device.
    ///
    /// # Errors
    ///
    /// The plan is inconsistent or its network does not fit into memory; a file is wrong; a kernel does not compile; the device fails.
    pub fn build(
        plan: &NetworkPlan,
        context: &Arc<Context>,
        toolchain: &dyn Toolchain,
        options: &SpikingOptions,
    ) -> Result<Self> {
        let by_launches = options.by_launches || is_gpu(context);
        let clock = by_launches.then(|| {
            let allocator = context
                .allocator()
                .map_err(|error| Error::from_core(&error))?;
            DeviceArray::zeros(allocator, CLOCK_WORDS)
        });
        let clock = clock.transpose()?;
        let (mut network, bound) =
            Self::assemble(plan, context, toolchain, options, clock.as_ref())?;
        let inner = network
            .inner
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        inner.stepper = if let Some(clock) = clock {
            let (plan, parts) = (&network.plan, &[&inner.parts]);
            let stepper = DeviceStepper::new(plan, parts, vec![bound], clock, context, toolchain)?;
            Stepper::Device(Box::new(stepper))
        } else {
            let threads = options.threads;
            let threads = threads.unwrap_or_else(|| pool::global().thread_count() as usize);
            Stepper::with_threads(&inner.parts, &bound, threads)?
        };
        Ok(network)
    }

    /// A network that nothing steps yet, and its kernels, which take the step from the `clock` on devices that step by launches.
    pub(super) fn assemble(
        plan: &NetworkPlan,
        context: &Arc<Context>,
        toolchain: &dyn Toolchain,
        options: &SpikingOptions,
        clock: Option<&DeviceArray<u64>>,
    ) -> Result<(Self, Vec<BoundKernel>)> {
        let plan = resolved(plan, options)?;
        let owner = format!("network {}", plan.name);
        let _owner = OwnerScope::of(amdgpu_telemetry::intern(&owner));
        let by_launches = clock.is_some();
        let (free, host_free) = (free_bytes(context)?, host_free_bytes(context)?);
        let memory = planner::estimate(&plan, free, host_free, by_launches)?;
        memory.check()?;
        let names = planner::projection_names(&plan.spiking.projections);
        let parts = Parts::build(&plan, &names, &memory, context, &options.base_directory)?;
        let bindings = Bindings {
            plan: &plan,
            groups: &parts.groups,
            projections: &parts.projections,
            events: &parts.events,
            clock,
        };
        let bound = plan
            .spiking
            .kernels
            .iter()
            .map(|kernel| kernels::bind(kernel, &bindings, context, toolchain))
            .collect::<Result<Vec<BoundKernel>>>()?;
        let warnings = coupling::warnings(&plan, &names, &parts, |number| {
            weights::variable_of(&plan.spiking.projections[number])
        })?;
        let reporter = Reporter::new(&plan.name, &context.info().name, !by_launches);
        let snapshot = snapshot_publisher::new_snapshot(&plan, &context.info().name)?;
        let network = Self {
            rewards: RewardSchedule::build(&plan),
            plan,
            names,
            context: Arc::clone(context),
            memory,
            reporter,
            snapshot,
            warnings,
            inner: Mutex::new(Inner {
                parts,
                stepper: Stepper::Shared,
                step: 0,
                reward: None,
                fault: None,
            }),
        };
        Ok((network, bound))
    }

    #[must_use]
    pub fn plan(&self) -> &SpikingNetworkPlan {
        &self.plan
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// What will probably go wrong, found when the network was built.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What was predicted before the network was built.
    #[must_use]
    pub fn memory(&self) -> &MemoryEstimate {
        &self.memory
    }

    /// The number of the next step.
    #[must_use]
    pub fn step_number(&self) -> u64 {
        self.lock().step
    }

    /// Whether steps are replayed as graphs of the device.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.lock().stepper.is_replayed()
    }

    /// Whole steps of a time.
    ///
    /// # Errors
    ///
    /// A time below 0 or beyond what steps count.
    pub fn steps_of(&self, seconds: f64) -> Result<u64> {
        let steps = (seconds / self.plan.dt_seconds).round();
        if (0.0..9e15).contains(&steps) {
            return Ok(steps as u64);
        }
        Err(Error::InvalidArgument(format!(
            "a run of {seconds} s is not possible; with the step {} s it takes from 0 to 9e15 steps",
            self.plan.dt_seconds
        )))
    }

    /// What rewards learning kernels get in the next step.
    pub fn reward(&self, value: f32) {
        self.lock().reward = Some(value);
    }

    /// Make `steps` steps. `watch` is called now and then and ends the run by returning `false`: the network is then whole, and the result
    /// holds what was done.
    ///
    /// # Errors
    ///
    /// A variable became NaN or infinite: the network stops there. Recordings that do not fit into memory. What the device reports.
    pub fn run(&self, steps: u64, watch: &mut dyn FnMut(Progress) -> bool) -> Result<RunResult> {
        self.check_recording(steps, 0)?;
        let mut inner = self.lock();
        inner.check_fault()?;
        let inner = &mut *inner;
        let begin = Instant::now();
        let mut recorder = Recorder::new(&self.plan, inner.step, steps)?;
        let mut publisher = SnapshotPublisher::begin(&self.plan, inner.step, &mut recorder)?;
        let outcome = self.go(inner, &mut recorder, &mut publisher, steps, begin, watch);
        // Also behind an error: what was delivered twice or not at all would be a state that no run can reach.
        let flushed = inner.stepper.flush(&inner.parts, inner.step);
        let (done, is_interrupted) = outcome?;
        flushed?;
        let wall_seconds = begin.elapsed().as_secs_f64();
        recorder.finish(&self.plan, done, wall_seconds, is_interrupted)
    }

    /// Bytes of the recorded states of so many steps, beside others; refused where they do not fit.
    pub(super) fn check_recording(&self, steps: u64, beside: u64) -> Result<u64> {
        let needed = recorder::state_bytes(&self.plan, steps);
        // Recordings are kept on this machine, whatever steps the network.
        let free = match host_free_bytes(&self.context)? {
            Some(bytes) => bytes,
            None => free_bytes(&self.context)?,
        };
        if needed.saturating_add(beside) > free {
            return Err(Error::OutOfMemory {
                what: format!(
                    "the recorded states of {steps} steps, {}, where {} are free: record fewer neurons or less often, or run in shorter pieces",
                    readable(needed),
                    readable(free)
                ),
                bytes: usize::try_from(needed).unwrap_or(usize::MAX),
            });
        }
        Ok(needed)
    }

    /// Steps done, and whether the watcher ended the run.
    fn go(
        &self,
        inner: &mut Inner,
        recorder: &mut Recorder,
        publisher: &mut SnapshotPublisher,
        steps: u64,
        begin: Instant,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(u64, bool)> {
        let first = inner.step;
        let end = first + steps;
        let mut watched_ns = 0;
        let mut reported = (first, 0);
        let mut next_check = first + CHECK_STEPS;
        let mut is_interrupted = false;
        while inner.step < end && !is_interrupted {
            let step = inner.step;
            inner.change_currents()?;
            if step == 0 {
                inner.stepper.start()?;
            }
            inner.record(recorder)?;
            let limit = (end - step)
                .min(recorder.steps_until_next(step))
                .min(inner.steps_until_current(step))
                .min(self.rewards.steps_until_next(step));
            let reward = self.rewards.at(step, inner.reward.take());
            let made = inner
                .stepper
                .advance(&inner.parts, step, limit, reward, recorder)?;
            inner.step += made;
            if inner.step >= next_check || inner.step == end {
                next_check = inner.step + CHECK_STEPS;
                self.check_amounts(inner)?;
                self.check_finite(inner)?;
                if inner.step == end || publisher.is_due() {
                    publisher.publish(self, inner, first, recorder);
                }
                let elapsed_ns = begin.elapsed().as_nanos();
                if elapsed_ns - watched_ns >= WATCH_NS || inner.step == end {
                    let spikes = recorder.spikes();
                    let wall_ns = (elapsed_ns - watched_ns) as u64;
                    inner
                        .stepper
                        .count_launches(inner.step - reported.0, wall_ns);
                    self.reporter.report(
                        inner.step - reported.0,
                        spikes - reported.1,
                        wall_ns,
                        begin.elapsed().as_secs_f64()
                            / ((inner.step - first) as f64 * self.plan.dt_seconds),
                    );
                    recorder.check_room(inner.step, available_bytes)?;
                    watched_ns = elapsed_ns;
                    reported = (inner.step, spikes);
                    is_interrupted = !watch(Progress {
                        done_steps: inner.step - first,
                        total_steps: steps,
                        spikes,
                    }) && inner.step < end;
                }
            }
        }
        Ok((inner.step - first, is_interrupted))
    }

    pub(super) fn check_finite(&self, inner: &mut Inner) -> Result<()> {
        for (number, group) in inner.parts.groups.iter().enumerate() {
            for (index, variable) in group.variables.iter().enumerate() {
                let values = variable.look()?;
                let Some(place) = finite::first_not_finite(&values) else {
                    continue;
                };
                let name = &self.plan.spiking.groups[number].variables[index].name;
                let populations = &self.plan.spiking.populations;
                let population = populations.iter().find(|population| {
                    population.group == number
                        && (population.first..population.first + population.size).contains(&place)
                });
                let (owner, local) = match population {
                    Some(population) => (population.name.as_str(), place - population.first),
                    None => (self.plan.spiking.groups[number].name.as_str(), place),
                };
                let error = Error::NotFinite {
                    what: format!(
                        "the variable {name} of population {owner} at step {} ({} s)",
                        inner.step,
                        inner.step as f64 * self.plan.dt_seconds
                    ),
                    value: values[place],
                    place: format!(
                        "[{local}], at most {CHECK_STEPS} steps after it became so, and the network stopped: look for divisions by 0, roots and logarithms of negative values, and growth that a smaller dt would follow"
                    ),
                };
                inner.fault = Some(error.to_string());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Refuses to go on when synapses added an amount that the sums of its input had no place for.
    pub(super) fn check_amounts(&self, inner: &mut Inner) -> Result<()> {
        let plans = &self.plan.spiking.projections;
        for (projection, plan) in inner.parts.projections.iter().zip(plans) {
            let ProjectionKind::Stateful(synapses) = &projection.kind else {
                continue;
            };
            if plan.amounts.is_none() {
                continue;
            }
            let bits = synapses.overflow.look()?[0];
            if bits == 0 {
                continue;
            }
            synapses.overflow.write(0, &[0])?;
            let group = &inner.parts.groups[projection.target.group];
            // With several inputs of the kind the coarsest one.
            let wide = group.inputs.iter().filter_map(|input| input.wide.as_ref());
            let needs = wide.map(|wide| (wide.need.unit.value(), wide.need.most));
            let (unit, most) = needs.fold(
                (0.0, 0.0),
                |one, other| if other.0 > one.0 { other } else { one },
            );
            let amount = f64::from(f32::from_bits(bits));
            let message = format!(
                "a synapse of {} added {:.4e} to its target by step {}, at most {CHECK_STEPS} steps ago; sums have room for amounts up to {:.4e}. Bound what is added, as in target += clip(w*v_pre, low, high), or look for growth without end",
                projection.name,
                amount * unit,
                inner.step,
                most * unit
            );
            inner.fault = Some(message.clone());
            return Err(Error::InvalidDescription(message));
        }
        Ok(())
    }

    /// The state holds whole values whatever panicked; kernels do not panic.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Refuses to go on after what stopped the network.
    pub(super) fn check_fault(&self) -> Result<()> {
        let Some(fault) = &self.fault else {
            return Ok(());
        };
        Err(Error::InvalidArgument(format!(
            "the network cannot go on ({fault}); restore a checkpoint or build it again"
        )))
    }

    /// Gives variables that follow samples their value of this step.
    pub(super) fn change_currents(&self) -> Result<()> {
        for drive in &self.parts.current_drives {
            if let Some(sample) = drive.sample(self.step) {
                let variable = &self.parts.groups[drive.target.group].variables[drive.variable];
                variable.write(drive.target.first, &vec![sample; drive.target.size])?;
            }
        }
        Ok(())
    }

    pub(super) fn steps_until_current(&self, step: u64) -> u64 {
        let until = self
            .parts
            .current_drives
            .iter()
            .map(|drive| drive.every_steps - step % drive.every_steps);
        until.min().unwrap_or(u64::MAX)
    }

    /// Records the states that are due at this step, with what arrives in it.
    pub(super) fn record(&mut self, recorder: &mut Recorder) -> Result<()> {
        let step = self.step;
        if !recorder.is_due(step) {
            return Ok(());
        }
        self.stepper.settle(&self.parts, step)?;
        for probe in &mut recorder.probes {
            if !step.is_multiple_of(probe.every_steps) {
                continue;
            }
            let group = &self.parts.groups[probe.group];
            let range = probe.first..probe.first + probe.count;
            let mut values = group.variables[probe.variable].read(range)?;
            if let Some(input) = probe.input {
                let input = &group.inputs[input];
                let row = input.row(step) + probe.first;
                let arriving = input.ring.read(row..row + probe.count)?;
                for (value, units) in values.iter_mut().zip(arriving) {
                    *value += units as f32 * input.unit.value() as f32;
                }
                if let Some(wide) = &input.wide {
                    let range = probe.first..probe.first + probe.count;
                    for (value, units) in values.iter_mut().zip(wide.sums.read(range)?) {
                        *value += units as f32 * wide.need.unit.value() as f32;
                    }
                }
            }
            probe.steps.push(step);
            probe.values.extend(values);
        }
        Ok(())
    }
}
