//! A checked plan of either kind, which networks are built from without another check.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::inline_or_file::InlineOrFile;
use super::spiking::{SourcePlan, SpikingNetworkPlan};
use super::{LayeredNetworkPlan, SCHEMA, SPIKING_VERSION, VERSION, Warning, check, refuse};
use crate::error::{Error, Result};
use crate::library::NeuroLibrary;

/// What every version of the schema has.
#[derive(Deserialize)]
struct Header {
    schema: String,
    version: u64,
}

/// The plan of a layered or of a spiking network.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanKind {
    Layered(LayeredNetworkPlan),
    Spiking(SpikingNetworkPlan),
}

/// A plan that was checked when this was made: by the compiler of network text, or by [`NetworkPlan::from_json`].
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    kind: PlanKind,
    json: Arc<str>,
}

impl NetworkPlan {
    /// Compile network text. The compiler checks it; of its plan only the version is looked at here. Relative paths of `include` statements
    /// start at `base_directory`; empty is the working directory.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every finding of the text; the Nim library is missing or stale.
    pub fn compile(text: &str, base_directory: impl AsRef<Path>) -> Result<Self> {
        let json = NeuroLibrary::global()?.compile(text, base_directory.as_ref())?;
        let plan = Self::read(json)?;
        debug_assert!(plan.check().is_ok(), "{:?}", plan.check());
        Ok(plan)
    }

    /// Read and check a plan from elsewhere; unknown fields are skipped.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDescription`] that says what is wrong with it: another schema or version, a field that is missing or does not fit.
    pub fn from_json(json: impl Into<String>) -> Result<Self> {
        let plan = Self::read(json.into())?;
        plan.check()?;
        Ok(plan)
    }

    fn read(json: String) -> Result<Self> {
        fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T> {
            serde_json::from_str(json).map_err(|error| refuse(format!("cannot be read: {error}")))
        }
        let Header { schema, version } = parse(&json)?;
        if schema != SCHEMA {
            return Err(refuse(format!(
                "has the schema {schema:?}, expected {SCHEMA:?}"
            )));
        }
        let kind = match version {
            VERSION => PlanKind::Layered(parse(&json)?),
            SPIKING_VERSION => PlanKind::Spiking(parse(&json)?),
            _ => {
                return Err(refuse(format!(
                    "has version {version}, this build reads versions {VERSION} and {SPIKING_VERSION}: compile its network text again"
                )));
            }
        };
        Ok(Self {
            kind,
            json: json.into(),
        })
    }

    fn check(&self) -> Result<()> {
        match &self.kind {
            PlanKind::Layered(plan) => plan.check(),
            PlanKind::Spiking(plan) => check::check_spiking(plan),
        }
    }

    #[must_use]
    pub const fn kind(&self) -> &PlanKind {
        &self.kind
    }

    /// The plan of a layered network.
    ///
    /// # Errors
    ///
    /// It is that of a spiking one.
    pub fn layered(&self) -> Result<&LayeredNetworkPlan> {
        match &self.kind {
            PlanKind::Layered(plan) => Ok(plan),
            PlanKind::Spiking(_) => Err(refuse(
                "is of a spiking network, where a layered one is needed",
            )),
        }
    }

    /// The plan of a spiking network.
    ///
    /// # Errors
    ///
    /// It is that of a layered one.
    pub fn spiking(&self) -> Result<&SpikingNetworkPlan> {
        match &self.kind {
            PlanKind::Spiking(plan) => Ok(plan),
            PlanKind::Layered(_) => Err(refuse(
                "is of a layered network, where a spiking one is needed",
            )),
        }
    }

    #[must_use]
    pub const fn is_spiking(&self) -> bool {
        matches!(self.kind, PlanKind::Spiking(_))
    }

    /// The JSON that the plan was read from: without what [`NetworkPlan::with_seed`] and [`NetworkPlan::with_spikes`] changed.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            PlanKind::Layered(plan) => &plan.name,
            PlanKind::Spiking(plan) => &plan.name,
        }
    }

    #[must_use]
    pub const fn seed(&self) -> u64 {
        match &self.kind {
            PlanKind::Layered(plan) => plan.seed,
            PlanKind::Spiking(plan) => plan.seed,
        }
    }

    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        match &self.kind {
            PlanKind::Layered(plan) => &plan.warnings,
            PlanKind::Spiking(plan) => &plan.warnings,
        }
    }

    /// The same plan with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        match &mut self.kind {
            PlanKind::Layered(plan) => plan.seed = seed,
            PlanKind::Spiking(plan) => plan.seed = seed,
        }
        self
    }

    /// The same plan with other spikes of a source that lists its spikes. `what` says in messages where the spikes come from.
    ///
    /// # Errors
    ///
    /// There is no such source; numbers of times and indices differ; a time is negative or not finite; an index is not below the source's size.
    pub fn with_spikes(
        mut self,
        source: &str,
        times: &[f64],
        indices: &[i64],
        what: &str,
    ) -> Result<Self> {
        self.spiking()?;
        let PlanKind::Spiking(plan) = &mut self.kind else {
            return Ok(self);
        };
        let listed = plan.spiking.sources.iter();
        let listed = listed.filter(|one| matches!(one, SourcePlan::Spikes { .. }));
        let known: Vec<_> = listed.map(|one| one.name().to_owned()).collect();
        let found = plan.spiking.sources.iter_mut().find_map(|one| match one {
            SourcePlan::Spikes {
                name,
                size,
                times_seconds,
                indices,
                ..
            } if name == source => Some((*size, times_seconds, indices)),
            _ => None,
        });
        let Some((size, own_times, own_indices)) = found else {
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(Error::InvalidArgument(format!(
                "{what} is for no such source; sources with listed spikes are: {known}"
            )));
        };
        if times.len() != indices.len() {
            return Err(Error::InvalidArgument(format!(
                "{what} has {} times and {} indices; both have one entry for each spike",
                times.len(),
                indices.len()
            )));
        }
        if !times.iter().all(|time| time.is_finite() && *time >= 0.0) {
            return Err(Error::InvalidArgument(format!(
                "{what} has times below 0 or that are not finite"
            )));
        }
        let index_of = |index: &i64| usize::try_from(*index).ok().filter(|index| *index < size);
        let Some(indices) = indices.iter().map(index_of).collect() else {
            return Err(Error::InvalidArgument(format!(
                "{what} has indices outside 0 to {}",
                size.saturating_sub(1)
            )));
        };
        *own_times = InlineOrFile::new(times.to_vec());
        *own_indices = InlineOrFile::new(indices);
        Ok(self)
    }
}
