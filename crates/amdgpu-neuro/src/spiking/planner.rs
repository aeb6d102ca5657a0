//! Chooses the storage of synapses and predicts the memory of a network before any of it is allocated.

use amdgpu_memory::readable;
use serde::Serialize;

use super::connectivity::Connector;
use super::space::Space;
use super::storage::{LONG_GAP, SHORT_BLOCK};
use crate::error::{Error, Result};
use crate::plan::Initializer;
use crate::plan::spiking::{
    PatternPlan, Phase, ProjectionPlan, Role, SpikingNetworkPlan, StorageKind,
};

/// Part of the free memory that a network may take: the rest is for recordings, the system and others.
pub(crate) const USABLE: f64 = 0.9;
/// Longest delay in steps: rows of an input are kept for each step that is under way.
pub(crate) const MAX_DELAY_STEPS: u32 = 65_535;
/// Steps that delays read from a file are assumed to have when memory is predicted.
const FILE_DELAY_STEPS: u32 = 64;
/// Standard deviations that the prediction of normally distributed delays allows for.
const DELAY_DEVIATIONS: f64 = 6.0;

/// Predicted memory of a network, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryEstimate {
    pub total_bytes: u64,
    /// What the device has free.
    pub free_bytes: u64,
    /// What the host needs beside a device with memory of its own: rows are made there, and kept for `synapses`.
    pub host_bytes: u64,
    /// What the host has free then; `None` where the device is the host.
    pub host_free_bytes: Option<u64>,
    /// State and parameters of the neurons.
    pub neuron_bytes: u64,
    /// Rows of spikes under way.
    pub input_bytes: u64,
    /// Passing need while the largest projection is made.
    pub building_bytes: u64,
    pub projections: Vec<ProjectionEstimate>,
}

/// Predicted memory of a projection.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectionEstimate {
    pub name: String,
    /// Expected number, or an upper bound of it where it is random.
    pub synapses: u64,
    pub storage: StorageKind,
    pub bytes: u64,
    /// Passing need while it is made from plain rows.
    #[serde(skip)]
    building_bytes: u64,
    /// Every kind of storage that this projection could have, smallest first.
    pub alternatives: Vec<(StorageKind, u64)>,
}

/// Names of the projections: `from -> to`, and with a number from the second of a pair on.
pub(crate) fn projection_names(projections: &[ProjectionPlan]) -> Vec<String> {
    let mut seen = std::collections::HashMap::new();
    projections
        .iter()
        .map(|projection| {
            let name = format!("{} -> {}", projection.from, projection.to);
            let count = seen.entry(name.clone()).or_insert(0_u32);
            *count += 1;
            match *count {
                1 => name,
                count => format!("{name} #{count}"),
            }
        })
        .collect()
}

/// How a projection's pairs are made.
pub(crate) fn connector(plan: &SpikingNetworkPlan, number: usize) -> Connector {
    let projection = &plan.spiking.projections[number];
    Connector {
        pattern: projection.pattern.clone(),
        sources: plan.spiking.size_of(&projection.from),
        targets: plan.spiking.size_of(&projection.to),
        skips_self: !projection.allow_autapses && projection.from == projection.to,
        allow_multapses: projection.allow_multapses,
        seed: plan.seed,
        projection: number,
        skip: std::sync::OnceLock::new(),
        space: Space::of(&plan.spiking, projection).map(std::sync::Arc::new),
    }
}

/// Steps that the longest delay of an initial value has, or is predicted to have.
pub(crate) fn longest_delay(value: &Initializer, dt_seconds: f64) -> u32 {
    let seconds = match value {
        Initializer::Constant { value } => *value,
        Initializer::Random { high, .. } | Initializer::ClippedNormal { high, .. } => *high,
        Initializer::Normal {
            mean,
            standard_deviation,
        } => mean + DELAY_DEVIATIONS * standard_deviation.abs(),
        _ => return FILE_DELAY_STEPS,
    };
    (seconds / dt_seconds)
        .round()
        .clamp(0.0, f64::from(MAX_DELAY_STEPS)) as u32
}

const fn is_constant(value: &Initializer) -> bool {
    matches!(value, Initializer::Constant { .. })
}

/// Bytes for each kind of storage that fits. On a GPU those that its delivery goes through.
fn alternatives(
    projection: &ProjectionPlan,
    connector: &Connector,
    dt_seconds: f64,
    is_gpu: bool,
) -> Vec<(StorageKind, u64)> {
    let (sources, targets) = (connector.sources as u64, connector.targets as u64);
    let synapses = connector.bound();
    let mut values = 0;
    if !is_constant(&projection.weight) {
        values += 4 * synapses;
    }
    if !is_constant(&projection.delay_seconds) {
        values += 2 * synapses;
    }
    let is_complete = matches!(projection.pattern, PatternPlan::AllToAll {});
    let repeats = projection.allow_multapses
        || matches!(
            projection.pattern,
            PatternPlan::FixedTotal { .. } | PatternPlan::Pairs { .. }
        );
    let starts = 8 * (sources + 1);
    let density = synapses as f64 / (sources as f64 * targets as f64);
    let long_gap = (1.0 - density.min(1.0)).powi(i32::from(LONG_GAP));
    let skip = (synapses as f64 / (1.0 - long_gap).max(f64::MIN_POSITIVE)) as u64;
    let is_by_rule = values == 0 && connector.is_by_row();
    if is_gpu {
        let mut kinds = vec![(StorageKind::Csr32, starts + 4 * synapses + values)];
        if values == 0 {
            kinds.push((StorageKind::GapCoded, starts + skip));
        }
        if is_by_rule && connector.gap_table().is_some() {
            kinds.push((StorageKind::Procedural, 0));
        }
        kinds.sort_by_key(|(_, bytes)| *bytes);
        return kinds;
    }
    let mut plain = values;
    if !is_constant(&projection.delay_seconds) {
        // The rows are kept a second time, in the order of delays.
        plain += (2 + if is_constant(&projection.weight) {
            0
        } else {
            4
        }) * synapses;
        plain += 4 * sources * u64::from(longest_delay(&projection.delay_seconds, dt_seconds) + 1);
    }
    let mut cuts = 0;
    if targets > SHORT_BLOCK as u64 {
        cuts = 4 * sources * targets.div_ceil(SHORT_BLOCK as u64);
    }
    let mut kinds = vec![
        (StorageKind::Csr32, starts + 4 * synapses + plain),
        (StorageKind::Csr16, starts + cuts + 2 * synapses + plain),
    ];
    kinds.push((StorageKind::GapCoded, 2 * starts + skip + values));
    if !repeats {
        let words = sources * targets.div_ceil(64);
        kinds.push((StorageKind::BitMask, starts + 8 * words + values));
    }
    if is_complete {
        kinds.push((StorageKind::Dense, values));
    }
    if is_by_rule {
        kinds.push((StorageKind::Procedural, 0));
    }
    kinds.sort_by_key(|(_, bytes)| *bytes);
    kinds
}

/// Bytes of a projection whose synapses have state.
fn stateful_bytes(plan: &SpikingNetworkPlan, number: usize, connector: &Connector) -> u64 {
    let projection = &plan.spiking.projections[number];
    let uses = |role: Role| plan.spiking.projection_uses(number, role);
    let synapses = connector.bound();
    let (sources, targets) = (connector.sources as u64, connector.targets as u64);
    let mut words = sources + 1 + synapses;
    words += synapses * projection.variables.len() as u64;
    words += sources * projection.pre_variables.len() as u64;
    words += targets * projection.post_variables.len() as u64;
    if uses(Role::SynapseSources) {
        words += synapses;
    }
    if plan.spiking.has_phase(number, Phase::OnPost) {
        words += targets + 1 + synapses;
    }
    if uses(Role::ColumnSources) {
        words += synapses;
    }
    if uses(Role::LastUpdate) {
        words += synapses;
    }
    4 * words
}

/// The kind that is fastest: nothing at all for complete connectivity, else the narrowest plain rows.
fn fastest(kinds: &[(StorageKind, u64)]) -> (StorageKind, u64) {
    let find = |kind: StorageKind| kinds.iter().copied().find(|(known, _)| *known == kind);
    let plain = [find(StorageKind::Csr16), find(StorageKind::Csr32)];
    let narrowest = plain.into_iter().flatten().min_by_key(|(_, bytes)| *bytes);
    find(StorageKind::Dense).or(narrowest).unwrap_or(kinds[0])
}

fn choose(
    projection: &ProjectionPlan,
    name: &str,
    kinds: &[(StorageKind, u64)],
) -> Result<(StorageKind, u64)> {
    if projection.storage == StorageKind::Auto {
        return Ok(fastest(kinds));
    }
    let found = kinds.iter().find(|(kind, _)| *kind == projection.storage);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = kinds.iter().map(|(kind, _)| kind.name()).collect();
        Error::InvalidDescription(format!(
            "{name} cannot be stored as {}: with its pattern, weights, delays and device it can be {}",
            projection.storage.name(),
            known.join(", ")
        ))
    })
}

/// Plan the memory of a network: the fastest storage if it fits, else smaller ones for the largest projections. `host_free_bytes` is of the
/// host beside a GPU.
///
/// # Errors
///
/// A storage that a projection cannot have.
pub(crate) fn estimate(
    plan: &SpikingNetworkPlan,
    free_bytes: u64,
    host_free_bytes: Option<u64>,
    is_gpu: bool,
) -> Result<MemoryEstimate> {
    let spiking = &plan.spiking;
    let names = projection_names(&spiking.projections);
    let mut projections = Vec::with_capacity(names.len());
    for (number, name) in names.iter().enumerate() {
        let projection = &spiking.projections[number];
        let connector = connector(plan, number);
        let synapses = connector.bound();
        let building_bytes = 8 * connector.sources as u64 + 4 * synapses;
        let estimate = if projection.variables.is_empty() {
            let kinds = alternatives(projection, &connector, plan.dt_seconds, is_gpu);
            let (storage, bytes) = choose(projection, name, &kinds)?;
            ProjectionEstimate {
                name: name.clone(),
                synapses,
                storage,
                bytes,
                building_bytes,
                alternatives: kinds,
            }
        } else {
            ProjectionEstimate {
                name: name.clone(),
                synapses,
                storage: StorageKind::Csr32,
                bytes: stateful_bytes(plan, number, &connector),
                building_bytes,
                alternatives: Vec::new(),
            }
        };
        projections.push(estimate);
    }
    let neuron_bytes = spiking
        .groups
        .iter()
        .map(|group| {
            let words = group.variables.len() + group.parameters.len() + 1;
            group.size as u64 * (4 * words as u64 + 1)
        })
        .sum();
    let input_bytes = input_bytes(plan);
    let mut result = MemoryEstimate {
        total_bytes: 0,
        free_bytes,
        host_bytes: 0,
        host_free_bytes,
        neuron_bytes,
        input_bytes,
        building_bytes: 0,
        projections,
    };
    result.shrink(plan);
    Ok(result)
}

/// Rows of an input: one for each step that any spike can be under way.
fn predicted_slots(plan: &SpikingNetworkPlan) -> u64 {
    let projections = plan.spiking.projections.iter();
    let fed = projections.filter(|projection| projection.input.is_some());
    let longest = fed.map(|projection| longest_delay(&projection.delay_seconds, plan.dt_seconds));
    u64::from(longest.max().unwrap_or(0)) + 1
}

fn input_bytes(plan: &SpikingNetworkPlan) -> u64 {
    let rows = plan.spiking.groups.iter();
    let neurons: u64 = rows
        .map(|group| group.inputs.len() as u64 * group.size as u64)
        .sum();
    predicted_slots(plan) * neurons * 4
}

/// What a network may take of free memory.
fn usable(free_bytes: u64) -> u64 {
    (free_bytes as f64 * USABLE) as u64
}

impl MemoryEstimate {
    fn sum(&mut self) {
        let has_rows = |one: &&ProjectionEstimate| {
            !matches!(one.storage, StorageKind::Procedural | StorageKind::Dense)
        };
        let made = self.projections.iter().filter(has_rows);
        self.building_bytes = made.map(|one| one.building_bytes).max().unwrap_or(0);
        let synapses: u64 = self.projections.iter().map(|one| one.bytes).sum();
        self.total_bytes = self.neuron_bytes + self.input_bytes + synapses;
        if self.host_free_bytes.is_some() {
            self.host_bytes = self.building_bytes + synapses;
        } else {
            self.total_bytes += self.building_bytes;
        }
    }

    /// Whether the device has room.
    fn fits_device(&self) -> bool {
        self.total_bytes <= usable(self.free_bytes)
    }

    /// Whether the host beside it has room.
    fn fits_host(&self) -> bool {
        self.host_free_bytes
            .is_none_or(|free| self.host_bytes <= usable(free))
    }

    /// Takes the smallest storage for the largest projections that leave the choice, until everything fits.
    fn shrink(&mut self, plan: &SpikingNetworkPlan) {
        self.sum();
        while !(self.fits_device() && self.fits_host()) {
            let choices = self.projections.iter_mut().enumerate();
            let largest = choices
                .filter(|(number, one)| {
                    plan.spiking.projections[*number].storage == StorageKind::Auto
                        && one
                            .alternatives
                            .first()
                            .is_some_and(|first| first.1 < one.bytes)
                })
                .max_by_key(|(_, one)| one.bytes);
            let Some((_, one)) = largest else { return };
            (one.storage, one.bytes) = one.alternatives[0];
            self.sum();
        }
    }

    /// As JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers and names are always representable.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Refuses a network that does not fit, naming what would.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn check(&self) -> Result<()> {
        let (memory, free, needed) = if !self.fits_device() {
            ("", self.free_bytes, self.total_bytes)
        } else if !self.fits_host() {
            let free = self.host_free_bytes.unwrap_or_default();
            (
                " in the memory of the host, where rows are made",
                free,
                self.host_bytes,
            )
        } else {
            return Ok(());
        };
        let mut largest: Vec<_> = self.projections.iter().collect();
        largest.sort_by_key(|one| std::cmp::Reverse(one.bytes));
        let named: Vec<_> = largest
            .iter()
            .take(3)
            .map(|one| {
                let smaller: Vec<_> = one
                    .alternatives
                    .iter()
                    .filter(|(_, bytes)| *bytes < one.bytes)
                    .map(|(kind, bytes)| format!("{} {}", kind.name(), readable(*bytes)))
                    .collect();
                let offer = if smaller.is_empty() {
                    "nothing smaller holds it".to_owned()
                } else {
                    format!("smaller: {}", smaller.join(", "))
                };
                format!(
                    "{} takes {} as {} ({offer})",
                    one.name,
                    readable(one.bytes),
                    one.storage.name()
                )
            })
            .collect();
        Err(Error::OutOfMemory {
            what: format!(
                "the network, {}, where {} are free{memory}: {}; fewer neurons, a lower density, or uniform weights and delays take less",
                readable(needed),
                readable(free),
                named.join("; ")
            ),
            bytes: usize::try_from(needed).unwrap_or(usize::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::connectivity::tests::connector;
    use super::super::storage::Targets;
    use super::*;
    use crate::plan::NetworkPlan;

    const DT: f64 = 1e-4;

    fn projection(
        pattern: &PatternPlan,
        weight: &Initializer,
        delay: &Initializer,
    ) -> ProjectionPlan {
        serde_json::from_value(json!({
            "from": "a", "to": "b", "input": "i", "pattern": pattern, "weight": weight, "delay_seconds": delay,
        }))
        .unwrap()
    }

    fn golden(name: &str) -> SpikingNetworkPlan {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../nim/tests/golden");
        let text = std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap();
        let plan = NetworkPlan::from_json(text).unwrap();
        plan.spiking().unwrap().clone()
    }

    const NOTHING: Initializer = Initializer::Constant { value: 0.0 };
    const SPREAD: Initializer = Initializer::Random {
        low: 0.0,
        high: 3e-4,
    };

    #[test]
    fn predicted_bytes_are_those_that_each_storage_takes() {
        for (pattern, sources, targets) in [
            (PatternPlan::FixedOut { count: 20 }, 60, 1500),
            (PatternPlan::FixedIn { count: 7 }, 60, 130),
            (PatternPlan::AllToAll {}, 9, 64),
            // Beyond 16 bits rows are cut into blocks.
            (PatternPlan::FixedOut { count: 500 }, 11, 140_000),
        ] {
            let plan = projection(&pattern, &NOTHING, &NOTHING);
            let made = connector(pattern, sources, targets);
            let rows = made.rows().unwrap();
            assert_eq!(rows.columns.len() as u64, made.bound());
            for (kind, predicted) in alternatives(&plan, &made, DT, false) {
                if matches!(kind, StorageKind::Dense | StorageKind::Procedural) {
                    assert_eq!(predicted, 0, "{}", kind.name());
                    continue;
                }
                let taken = Targets::from_rows(kind, rows.clone(), targets).bytes();
                let slack = match kind {
                    // Long distances take more than a byte: their number is a mean.
                    StorageKind::GapCoded => taken / 8,
                    _ => 0,
                };
                assert!(
                    predicted.abs_diff(taken) <= slack,
                    "{}: {predicted}, {taken}",
                    kind.name()
                );
            }
        }
    }

    #[test]
    fn a_device_holds_plain_rows_gaps_and_what_it_can_draw() {
        let kinds = |pattern: PatternPlan, weight: &Initializer| -> Vec<(StorageKind, u64)> {
            let plan = projection(&pattern, weight, &NOTHING);
            alternatives(&plan, &connector(pattern, 60, 1500), DT, true)
        };
        let exact = PatternPlan::FixedOut { count: 500 };
        let starts = 8 * 61;
        let (plain, coded) = (starts + 4 * 30_000, starts + 30_000);
        assert_eq!(
            kinds(exact.clone(), &NOTHING),
            [(StorageKind::GapCoded, coded), (StorageKind::Csr32, plain)]
        );
        assert_eq!(
            kinds(exact, &SPREAD),
            [(StorageKind::Csr32, plain + 4 * 30_000)]
        );
        let drawn = PatternPlan::Probability { probability: 0.1 };
        assert_eq!(
            kinds(drawn.clone(), &NOTHING)[0],
            (StorageKind::Procedural, 0)
        );
        let of_each = kinds(drawn, &SPREAD);
        assert_eq!(of_each.len(), 1);
        assert_eq!(of_each[0].0, StorageKind::Csr32);
    }

    /// Rows in the order of delays are kept beside the others: columns of 16 bits, weights of their own, and where each delay begins.
    #[test]
    fn weights_and_delays_of_their_own_take_room_for_each_synapse() {
        let pattern = PatternPlan::FixedOut { count: 10 };
        let bytes = |weight: &Initializer, delay: &Initializer, wanted: StorageKind| {
            let plan = projection(&pattern, weight, delay);
            let kinds = alternatives(&plan, &connector(pattern.clone(), 50, 1000), DT, false);
            kinds.iter().find(|(kind, _)| *kind == wanted).unwrap().1
        };
        for kind in [StorageKind::Csr16, StorageKind::Csr32] {
            let none = bytes(&NOTHING, &NOTHING, kind);
            assert_eq!(bytes(&SPREAD, &NOTHING, kind), none + 4 * 500);
            // Delays of 0 to 3 steps.
            let late = 2 * 500 + 4 * 50 * 4;
            assert_eq!(bytes(&NOTHING, &SPREAD, kind), none + 2 * 500 + late);
            assert_eq!(
                bytes(&SPREAD, &SPREAD, kind),
                none + 6 * 500 + late + 4 * 500
            );
        }
        let none = bytes(&NOTHING, &NOTHING, StorageKind::GapCoded);
        assert_eq!(
            bytes(&SPREAD, &SPREAD, StorageKind::GapCoded),
            none + 6 * 500
        );
        let plan = projection(&pattern, &SPREAD, &NOTHING);
        let kinds = alternatives(&plan, &connector(pattern.clone(), 50, 1000), DT, false);
        assert!(
            kinds
                .iter()
                .all(|(kind, _)| *kind != StorageKind::Procedural)
        );
    }

    #[test]
    fn rows_that_repeat_or_are_partial_have_no_bits_and_no_dense_form() {
        let has = |pattern: PatternPlan, allow_multapses: bool, wanted: StorageKind| {
            let mut plan = projection(&pattern, &NOTHING, &NOTHING);
            plan.allow_multapses = allow_multapses;
            let kinds = alternatives(&plan, &connector(pattern, 40, 100), DT, false);
            kinds.iter().any(|(kind, _)| *kind == wanted)
        };
        let out = PatternPlan::FixedOut { count: 3 };
        assert!(has(out.clone(), false, StorageKind::BitMask));
        assert!(!has(out.clone(), true, StorageKind::BitMask));
        assert!(!has(
            PatternPlan::FixedTotal { count: 30 },
            false,
            StorageKind::BitMask
        ));
        assert!(!has(out, false, StorageKind::Dense));
        assert!(has(PatternPlan::AllToAll {}, false, StorageKind::Dense));
        assert!(!has(
            PatternPlan::FixedIn { count: 3 },
            false,
            StorageKind::Procedural
        ));
    }

    #[test]
    fn the_longest_delay_is_the_upper_end_of_what_is_drawn() {
        let steps = |value: &Initializer| longest_delay(value, DT);
        assert_eq!(steps(&Initializer::Constant { value: 1.5e-3 }), 15);
        assert_eq!(steps(&Initializer::Constant { value: 1.46e-3 }), 15);
        assert_eq!(
            steps(&Initializer::Random {
                low: 1e-4,
                high: 2e-3
            }),
            20
        );
        let normal = |standard_deviation| Initializer::Normal {
            mean: 2e-3,
            standard_deviation,
        };
        assert_eq!(steps(&normal(1e-4)), 26);
        assert_eq!(steps(&normal(-1e-4)), 26);
        assert_eq!(steps(&Initializer::Constant { value: -1.0 }), 0);
        assert_eq!(
            steps(&Initializer::Constant { value: 1e9 }),
            MAX_DELAY_STEPS
        );
    }

    /// Of the golden network with learning synapses: 3200 and 800 neurons, a fiftieth of all pairs.
    #[test]
    fn learning_synapses_take_an_array_for_each_variable_and_list() {
        let plan = golden("stdp");
        let estimate = estimate(&plan, u64::MAX, None, false).unwrap();
        let [first, second, third, _] = &estimate.projections[..] else {
            panic!("four projections");
        };
        let pairs = 3200 * 3200;
        assert!(first.synapses > pairs / 50 && first.synapses < pairs / 50 + 3000);
        // Rows, traces of sources and targets, columns; columns and `w` of each synapse, its place and its source by target.
        let lists = 3200 + 1 + 3200 + 3200 + (3200 + 1);
        assert_eq!(first.bytes, 4 * (lists + 4 * first.synapses));
        // `c`, when it was last brought up to date, and the source by synapse beside these.
        let lists = 3200 + 1 + 3200 + 800 + (800 + 1);
        assert_eq!(second.bytes, 4 * (lists + 7 * second.synapses));
        assert!(first.alternatives.is_empty() && !third.alternatives.is_empty());
    }

    #[test]
    fn the_sum_is_of_neurons_rows_synapses_and_what_building_takes() {
        let plan = golden("cuba");
        let here = estimate(&plan, u64::MAX, None, false).unwrap();
        // Three variables, nine parameters and the refractory time in words of four bytes, and whether it fired.
        assert_eq!(here.neuron_bytes, 4000 * (4 * (3 + 9 + 1) + 1));
        // Two inputs of one row each: nothing is late.
        assert_eq!(here.input_bytes, 4 * 2 * 4000);
        let synapses: u64 = here.projections.iter().map(|one| one.bytes).sum();
        let largest = here.projections[0].synapses;
        assert_eq!(here.building_bytes, 8 * 3200 + 4 * largest);
        assert_eq!(
            here.total_bytes,
            here.neuron_bytes + here.input_bytes + synapses + here.building_bytes
        );
        assert_eq!((here.host_bytes, here.host_free_bytes), (0, None));
        // Beside a device the host builds, and keeps the rows.
        let there = estimate(&plan, u64::MAX, Some(u64::MAX), true).unwrap();
        let synapses: u64 = there.projections.iter().map(|one| one.bytes).sum();
        assert_eq!(there.host_bytes, there.building_bytes + synapses);
        assert_eq!(
            there.total_bytes,
            there.neuron_bytes + there.input_bytes + synapses
        );
        let mut late = plan;
        late.spiking.projections[1].delay_seconds = Initializer::Constant { value: 7e-4 };
        let late = estimate(&late, u64::MAX, None, false).unwrap();
        assert_eq!(late.input_bytes, 8 * here.input_bytes);
    }

    #[test]
    fn the_fastest_storage_is_taken_while_it_fits_and_the_largest_shrinks_first() {
        let plan = golden("cuba");
        let ample = estimate(&plan, u64::MAX, None, false).unwrap();
        assert!(
            ample
                .projections
                .iter()
                .all(|one| one.storage == StorageKind::Csr16)
        );
        assert!(ample.check().is_ok());
        // As much as is needed by the part that may be used, and a little less.
        let enough = (ample.total_bytes as f64 / USABLE).ceil() as u64 + 1;
        let fits = estimate(&plan, enough, None, false).unwrap();
        assert_eq!(fits.total_bytes, ample.total_bytes);
        let short = estimate(&plan, enough - 10, None, false).unwrap();
        assert_eq!(short.projections[0].storage, StorageKind::Procedural);
        assert!(
            short.projections[1..]
                .iter()
                .all(|one| one.storage == StorageKind::Csr16)
        );
        assert!(short.total_bytes < ample.total_bytes && short.check().is_ok());
        // The host beside a device is asked as well.
        let host = estimate(&plan, u64::MAX, Some(1000), true).unwrap();
        assert!(
            host.projections
                .iter()
                .all(|one| one.storage == StorageKind::Procedural)
        );
        assert!(host.check().is_ok());
    }

    #[test]
    fn a_network_that_does_not_fit_names_its_largest_projections_and_what_is_smaller() {
        let mut plan = golden("cuba");
        for one in &mut plan.spiking.projections {
            one.storage = StorageKind::Csr32;
        }
        let wanted = estimate(&plan, 1000, None, false).unwrap();
        let Err(Error::OutOfMemory { what, bytes }) = wanted.check() else {
            panic!("a kilobyte is not enough");
        };
        assert_eq!(bytes as u64, wanted.total_bytes);
        assert!(
            what.contains("where 1000 bytes are free: exc -> exc takes"),
            "{what}"
        );
        assert!(
            what.contains("as csr32 (smaller: procedural 0 bytes, gap_coded"),
            "{what}"
        );
        assert!(!what.contains("inh -> inh"), "{what}");
        assert!(!what.contains("csr32 8"), "{what}");
        let host = estimate(&plan, u64::MAX, Some(1000), true);
        let Err(Error::OutOfMemory { what, bytes }) = host.as_ref().unwrap().check() else {
            panic!("nor is it for the host");
        };
        assert_eq!(bytes as u64, host.unwrap().host_bytes);
        assert!(
            what.contains("in the memory of the host, where rows are made"),
            "{what}"
        );
    }

    #[test]
    fn projections_of_one_pair_are_told_apart_by_number() {
        let mut plan = golden("cuba");
        let first = plan.spiking.projections[0].clone();
        plan.spiking.projections.push(first.clone());
        plan.spiking.projections.push(first);
        let names = projection_names(&plan.spiking.projections);
        assert_eq!(names[0], "exc -> exc");
        assert_eq!(names[3..], ["inh -> inh", "exc -> exc #2", "exc -> exc #3"]);
    }
}
