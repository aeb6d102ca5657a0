//! Reads and replaces the variables of neurons between runs; a program can feed a network step by step this way.

use super::network::SpikingNetwork;
use crate::error::{Error, Result};
use crate::finite;

/// Where a variable of a population stands.
struct Place {
    group: usize,
    variable: usize,
    first: usize,
    size: usize,
}

impl SpikingNetwork {
    /// Every variable that the network keeps, as `population.variable`.
    #[must_use]
    pub fn state_names(&self) -> Vec<String> {
        let spiking = &self.plan.spiking;
        let populations = spiking.populations.iter();
        populations
            .flat_map(|population| {
                let variables = spiking.groups[population.group].variables.iter();
                variables.map(|variable| format!("{}.{}", population.name, variable.name))
            })
            .collect()
    }

    fn place(&self, name: &str) -> Result<Place> {
        let spiking = &self.plan.spiking;
        let (owner, variable) = name.split_once('.').unwrap_or((name, ""));
        let Some(population) = spiking.population(owner) else {
            let known: Vec<_> = self.state_names().into_iter().take(12).collect();
            return Err(Error::InvalidArgument(format!(
                "the network '{}' has no variable '{name}'; it has {}",
                self.plan.name,
                known.join(", ")
            )));
        };
        let group = &spiking.groups[population.group];
        let Some(variable) = group.variable_index(variable) else {
            let known: Vec<_> = group
                .variables
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            return Err(Error::InvalidArgument(format!(
                "the population '{owner}' keeps no variable '{variable}'; it keeps {}. What nothing changes, feeds or records is a constant of \
                 the kernel: a record statement keeps it",
                known.join(", ")
            )));
        };
        Ok(Place {
            group: population.group,
            variable,
            first: population.first,
            size: population.size,
        })
    }

    /// The values of `population.variable`, without what arrives in the next step.
    ///
    /// # Errors
    ///
    /// There is no such variable; what the device reports.
    pub fn state(&self, name: &str) -> Result<Vec<f32>> {
        let place = self.place(name)?;
        let inner = self.lock();
        let variable = &inner.parts.groups[place.group].variables[place.variable];
        variable.read(place.first..place.first + place.size)
    }

    /// Replace the values of `population.variable`.
    ///
    /// # Errors
    ///
    /// There is no such variable; the number of values is wrong; a value is NaN or infinite. Nothing is changed then.
    pub fn set_state(&self, name: &str, values: &[f32]) -> Result<()> {
        let place = self.place(name)?;
        if values.len() != place.size {
            return Err(Error::ShapeMismatch(format!(
                "{name} has {} values; {} were given",
                place.size,
                values.len()
            )));
        }
        finite::check_vector(name, values)?;
        let inner = self.lock();
        inner.parts.groups[place.group].variables[place.variable].write(place.first, values)
    }
}
