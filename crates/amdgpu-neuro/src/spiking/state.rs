//! The state of a network as named arrays, for checkpoints. A network that restores them continues with the same bits.

use super::memory::{DeviceArray, Element};
use super::network::{Inner, SpikingNetwork};
use super::projection::{Projection, ProjectionKind};
use super::stepper::DelayLine;
use super::storage::{Synapses, Weights};
use super::weights::storage_of_one_weight;
use crate::error::{Error, Result};

/// Values of one array.
#[derive(Clone, Debug, PartialEq)]
pub enum StateArray {
    F32(Vec<f32>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
}

impl StateArray {
    /// As messages name it.
    fn describe(&self) -> String {
        match self {
            Self::F32(values) => format!("float32 [{}]", values.len()),
            Self::I32(values) => format!("int32 [{}]", values.len()),
            Self::U32(values) => format!("uint32 [{}]", values.len()),
            Self::I64(values) => format!("int64 [{}]", values.len()),
        }
    }
}

trait Kept: Element {
    fn wrap(values: Vec<Self>) -> StateArray;
    fn unwrap(array: &StateArray) -> Option<&[Self]>;
}

macro_rules! kept {
    ($type:ty, $variant:ident) => {
        impl Kept for $type {
            fn wrap(values: Vec<Self>) -> StateArray {
                StateArray::$variant(values)
            }

            fn unwrap(array: &StateArray) -> Option<&[Self]> {
                match array {
                    StateArray::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

kept!(f32, F32);
kept!(i32, I32);
kept!(u32, U32);
kept!(i64, I64);

/// What is done with each array of a network.
enum Errand<'a> {
    Export(Vec<(String, StateArray)>),
    /// Compare with what there is, and change nothing.
    Check(&'a [(String, StateArray)], usize),
    Import(&'a [(String, StateArray)], usize),
}

fn misfit(expected: &str, given: Option<&(String, StateArray)>) -> Error {
    let given = given.map_or_else(
        || "nothing".to_owned(),
        |(name, array)| format!("{name}: {}", array.describe()),
    );
    Error::InvalidArgument(format!(
        "the state is that of another network: {expected} is expected, {given} was given"
    ))
}

impl Errand<'_> {
    fn next(&mut self) -> Option<&(String, StateArray)> {
        match self {
            Self::Export(_) => None,
            Self::Check(arrays, place) | Self::Import(arrays, place) => {
                *place += 1;
                arrays.get(*place - 1)
            }
        }
    }

    fn device<T: Kept>(&mut self, name: String, array: &DeviceArray<T>) -> Result<()> {
        if let Self::Export(arrays) = self {
            arrays.push((name, T::wrap(array.read(0..array.len())?)));
            return Ok(());
        }
        let is_import = matches!(self, Self::Import(..));
        let given = self.next();
        let values = given
            .filter(|(given, _)| *given == name)
            .and_then(|(_, values)| T::unwrap(values))
            .filter(|values| values.len() == array.len())
            .ok_or_else(|| misfit(&format!("{name} [{}]", array.len()), given))?;
        if is_import {
            array.write(0, values)?;
        }
        Ok(())
    }

    /// Spikes under way: for each step their number, then all indices.
    fn line(&mut self, name: String, line: &mut DelayLine, neurons: usize) -> Result<()> {
        if let Self::Export(arrays) = self {
            let counts = line.steps.iter().map(|spikes| spikes.len() as u32);
            let all = counts.chain(line.steps.iter().flatten().copied());
            arrays.push((name, StateArray::U32(all.collect())));
            return Ok(());
        }
        let is_import = matches!(self, Self::Import(..));
        let slots = line.steps.len();
        let given = self.next();
        let values = given
            .filter(|(given, _)| *given == name)
            .and_then(|(_, values)| u32::unwrap(values))
            .filter(|values| {
                values.len() >= slots
                    && values[..slots]
                        .iter()
                        .map(|count| *count as usize)
                        .sum::<usize>()
                        == values.len() - slots
                    && values[slots..]
                        .iter()
                        .all(|index| (*index as usize) < neurons)
            })
            .ok_or_else(|| misfit(&name, given))?;
        if is_import {
            let (counts, mut rest) = values.split_at(slots);
            for (spikes, count) in line.steps.iter_mut().zip(counts) {
                let (own, others) = rest.split_at(*count as usize);
                spikes.clear();
                spikes.extend(own);
                rest = others;
            }
        }
        Ok(())
    }

    /// Weights of their own may come where there was one for all, if `room` says for how many, and the other way round: programs set weights.
    fn weights(
        &mut self,
        name: String,
        weights: &mut Weights,
        room: impl FnOnce() -> Option<usize>,
    ) -> Result<()> {
        if let Self::Export(arrays) = self {
            let values = match weights {
                Weights::Uniform(weight) => vec![*weight],
                Weights::Each(weights) => weights.clone(),
            };
            arrays.push((name, StateArray::I32(values)));
            return Ok(());
        }
        let is_import = matches!(self, Self::Import(..));
        let given = self.next();
        let values = given
            .filter(|(given, _)| *given == name)
            .and_then(|(_, values)| i32::unwrap(values))
            .filter(|values| {
                values.len() == 1
                    || match weights {
                        Weights::Uniform(_) => room() == Some(values.len()),
                        Weights::Each(weights) => values.len() == weights.len(),
                    }
            })
            .ok_or_else(|| misfit(&name, given))?;
        if is_import {
            match weights {
                Weights::Each(weights) if weights.len() == values.len() => {
                    weights.copy_from_slice(values);
                }
                weights if values.len() == 1 => *weights = Weights::Uniform(values[0]),
                weights => *weights = Weights::Each(values.to_vec()),
            }
        }
        Ok(())
    }
}

impl SpikingNetwork {
    /// Every array of the state with its name, and the number of the next step.
    ///
    /// # Errors
    ///
    /// Memory is out, or what the device reports.
    pub fn export_state(&self) -> Result<(u64, Vec<(String, StateArray)>)> {
        let mut inner = self.lock();
        let mut errand = Errand::Export(Vec::new());
        self.visit(&mut inner, &mut errand)?;
        let Errand::Export(arrays) = errand else {
            return Ok((inner.step, Vec::new()));
        };
        Ok((inner.step, arrays))
    }

    /// Give a network the state that [`SpikingNetwork::export_state`] of an equal one gave.
    ///
    /// # Errors
    ///
    /// The arrays are not those of this network: nothing is changed then.
    pub fn import_state(&self, step: u64, arrays: &[(String, StateArray)]) -> Result<()> {
        let mut inner = self.lock();
        self.visit(&mut inner, &mut Errand::Check(arrays, 0))?;
        self.visit(&mut inner, &mut Errand::Import(arrays, 0))?;
        let Inner { parts, stepper, .. } = &mut *inner;
        stepper.all_weights_changed(parts)?;
        inner.step = step;
        inner.reward = None;
        inner.fault = None;
        Ok(())
    }

    fn visit(&self, inner: &mut Inner, errand: &mut Errand<'_>) -> Result<()> {
        let Inner { parts, stepper, .. } = inner;
        for (group, plan) in parts.groups.iter().zip(&self.plan.spiking.groups) {
            for (array, variable) in group.variables.iter().zip(&plan.variables) {
                errand.device(format!("state.{}.{}", plan.name, variable.name), array)?;
            }
            for (input, name) in group.inputs.iter().zip(&plan.inputs) {
                errand.device(format!("input.{}.{name}", plan.name), &input.ring)?;
                if let Some(wide) = &input.wide {
                    errand.device(format!("wide.{}.{name}", plan.name), &wide.sums)?;
                }
            }
            if let Some(array) = &group.refractory {
                errand.device(format!("refractory.{}", plan.name), array)?;
            }
        }
        for (number, projection) in parts.projections.iter_mut().enumerate() {
            let Projection {
                name, origin, kind, ..
            } = projection;
            match kind {
                ProjectionKind::Static { synapses, .. } => {
                    let Synapses {
                        targets, weights, ..
                    } = synapses;
                    let room = || {
                        let one = storage_of_one_weight(targets, stepper.is_by_launches());
                        one.is_none().then(|| targets.count(origin.size))
                    };
                    errand.weights(format!("weights.{name}"), weights, room)?;
                }
                ProjectionKind::Stateful(synapses) => {
                    let plan = &self.plan.spiking.projections[number];
                    for (kind, arrays, plans) in [
                        ("synapse", &synapses.variables, &plan.variables),
                        ("pre", &synapses.pre_variables, &plan.pre_variables),
                        ("post", &synapses.post_variables, &plan.post_variables),
                    ] {
                        for (array, variable) in arrays.iter().zip(plans) {
                            errand.device(format!("{kind}.{name}.{}", variable.name), array)?;
                        }
                    }
                    if let Some(array) = &synapses.last_update {
                        errand.device(format!("last_update.{name}"), array)?;
                    }
                    let mut line = stepper.delay_line(number)?;
                    errand.line(format!("delay.{name}"), &mut line, origin.size)?;
                    if matches!(errand, Errand::Import(..)) {
                        stepper.set_delay_line(number, line)?;
                    }
                }
            }
        }
        match errand {
            Errand::Check(arrays, place) if *place < arrays.len() => {
                Err(misfit("nothing more", arrays.get(*place)))
            }
            _ => Ok(()),
        }
    }
}
