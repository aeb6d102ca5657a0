//! The synapses of projections without variables in the memory of a GPU, and the launches that deliver spikes through them: one for each
//! kind of storage, whatever the number of projections.

use amdgpu_memory::Allocator;

use super::super::connectivity::Connector;
use super::super::geometric_skip::GeometricSkip;
use super::super::memory::DeviceArray;
use super::super::parts::Parts;
use super::super::projection::{Projection, ProjectionKind};
use super::super::storage::{Delays, Synapses, Targets, Weights};
use super::launches::Fleet;
use super::own::{Fields, OwnKernels, Prepared, integer};
use crate::error::{Error, Result};
use crate::plan::spiking::PatternPlan;

/// Bytes of a gap-coded row that a thread goes through: `MARK_BYTES` of the kernels.
const MARK_BYTES: usize = 128;
/// Blocks of a delivery over all projections: several for each unit of the largest devices.
const DELIVERY_BLOCKS: usize = 4096;
/// Blocks for each projection at least, so that spikes of one do not wait for one another.
const MIN_DELIVERY_BLOCKS: usize = 64;

/// Where the synapses of a projection are.
enum Stored {
    Plain {
        starts: DeviceArray<u64>,
        columns: DeviceArray<u32>,
        weights: Option<DeviceArray<i32>>,
        delays: Option<DeviceArray<u32>>,
    },
    /// `marks`: the target before each part of [`MARK_BYTES`].
    GeometricSkip {
        starts: DeviceArray<u64>,
        skip: DeviceArray<u8>,
        marks: DeviceArray<u32>,
    },
    Drawn {
        thresholds: DeviceArray<u32>,
        per_octave: f32,
        piece: u32,
        object: u32,
        seed: u64,
        skips_self: bool,
    },
}

/// Kernels of the kinds of storage.
const KERNELS: [&str; 3] = [
    "agpu_deliver_rows",
    "agpu_deliver_gaps",
    "agpu_deliver_drawn",
];

impl Stored {
    fn upload(allocator: &Allocator, synapses: &Synapses) -> Result<Self> {
        match &synapses.targets {
            Targets::Long { starts, columns } => {
                let weights = match &synapses.weights {
                    Weights::Uniform(_) => None,
                    Weights::Each(weights) => Some(DeviceArray::from_slice(allocator, weights)?),
                };
                let delays = match &synapses.delays {
                    Delays::Uniform(_) => None,
                    Delays::Each(delays) => {
                        let wide: Vec<u32> = delays.iter().map(|delay| u32::from(*delay)).collect();
                        Some(DeviceArray::from_slice(allocator, &wide)?)
                    }
                };
                Ok(Self::Plain {
                    starts: DeviceArray::from_slice(allocator, starts)?,
                    columns: DeviceArray::from_slice(allocator, columns)?,
                    weights,
                    delays,
                })
            }
            Targets::GeometricSkip { bytes_at, skip, .. } => Ok(Self::GeometricSkip {
                starts: DeviceArray::from_slice(allocator, bytes_at)?,
                skip: DeviceArray::from_slice(allocator, skip)?,
                marks: DeviceArray::from_slice(allocator, &marks_of(bytes_at, skip))?,
            }),
            Targets::Procedural(connector) => Self::drawn(allocator, connector),
            _ => Err(Error::InvalidArgument(
                "synapses of a GPU are plain, gap-coded or procedural".to_owned(),
            )),
        }
    }

    fn drawn(allocator: &Allocator, connector: &Connector) -> Result<Self> {
        let (
            PatternPlan::Probability { probability },
            Some(GeometricSkip::Table {
                thresholds,
                per_octave,
            }),
        ) = (&connector.pattern, connector.gap_table())
        else {
            return Err(Error::InvalidArgument(
                "procedural synapses of a GPU have a probability".to_owned(),
            ));
        };
        let largest = connector.targets.next_power_of_two();
        Ok(Self::Drawn {
            thresholds: DeviceArray::from_slice(allocator, thresholds)?,
            per_octave: *per_octave,
            piece: Connector::piece_targets(*probability).min(largest) as u32,
            object: connector.object().number(),
            seed: connector.seed,
            skips_self: connector.skips_self,
        })
    }

    const fn kernel(&self) -> usize {
        match self {
            Self::Plain { .. } => 0,
            Self::GeometricSkip { .. } => 1,
            Self::Drawn { .. } => 2,
        }
    }
}

/// Names of the kernels that deliver through the synapses of a network, or end a step where there are none.
pub(super) fn kernel_names(parts: &Parts) -> Vec<&'static str> {
    let mut is_used = [false; KERNELS.len()];
    for projection in &parts.projections {
        if let ProjectionKind::Static { synapses, .. } = &projection.kind {
            match synapses.targets {
                Targets::GeometricSkip { .. } => is_used[1] = true,
                Targets::Procedural(_) => is_used[2] = true,
                _ => is_used[0] = true,
            }
        }
    }
    let kernels = KERNELS.into_iter().zip(is_used);
    let used: Vec<_> = kernels
        .filter_map(|(name, is_used)| is_used.then_some(name))
        .collect();
    if used.is_empty() {
        return vec!["agpu_tick"];
    }
    used
}

/// The target before each part of a row. The marks of row r begin at its first byte's number by [`MARK_BYTES`], plus r.
fn marks_of(bytes_at: &[u64], skip: &[u8]) -> Vec<u32> {
    let rows = bytes_at.len() - 1;
    let mut marks = vec![0; skip.len() / MARK_BYTES + rows + 1];
    for row in 0..rows {
        let first = bytes_at[row] as usize;
        let mut target = 0_u32;
        let parts = skip[first..bytes_at[row + 1] as usize].chunks(MARK_BYTES);
        for (number, part) in parts.enumerate() {
            marks[first / MARK_BYTES + row + number] = target;
            target += part.iter().map(|gap| u32::from(*gap)).sum::<u32>();
        }
    }
    marks
}

/// The synapses of all projections, and the launches through them.
pub(super) struct Deliveries {
    /// Kept for the kernels, with the tables that name them.
    _stored: Vec<Stored>,
    _tables: Vec<DeviceArray<u8>>,
    pub launches: Vec<Prepared>,
}

impl Deliveries {
    pub fn new(
        fleet: Fleet<'_>,
        counts: &DeviceArray<u32>,
        clock: &DeviceArray<u64>,
        own: &OwnKernels,
        allocator: &Allocator,
    ) -> Result<Self> {
        let mut stored = Vec::new();
        let mut tables: [(Fields, usize, usize); 3] = Default::default();
        let members = fleet.members.iter().enumerate();
        let projections = members.flat_map(|(member, parts)| {
            let projections = parts.projections.iter();
            projections.map(move |projection| (member, *parts, projection))
        });
        for (member, parts, projection) in projections {
            let ProjectionKind::Static { input, synapses } = &projection.kind else {
                continue;
            };
            let one = Stored::upload(allocator, synapses)?;
            let (fields, count, most) = &mut tables[one.kernel()];
            let place = fleet.place(member, projection.origin.index);
            let list = [
                fleet.origins[place].list.address(0),
                counts.address(2 * place),
            ];
            describe(fields, list, parts, projection, *input, synapses, &one);
            *count += 1;
            let pieces = match &one {
                Stored::Drawn { piece, .. } => {
                    let pieces = projection.target.size.div_ceil(*piece as usize);
                    (projection.origin.size * pieces).div_ceil(super::BLOCK)
                }
                _ => projection.origin.size,
            };
            *most = (*most).max(pieces);
            stored.push(one);
        }
        let mut launches = Vec::new();
        let mut kept = Vec::new();
        let used = tables.iter().filter(|(_, count, _)| *count > 0).count();
        for ((fields, count, most), name) in tables.into_iter().zip(KERNELS) {
            if count == 0 {
                continue;
            }
            let table = DeviceArray::from_slice(allocator, &fields.0)?;
            let blocks = (DELIVERY_BLOCKS / count).max(MIN_DELIVERY_BLOCKS).min(most);
            let is_last = launches.len() + 1 == used;
            launches.push(own.prepare(
                name,
                [blocks, count],
                &[
                    table.argument(0),
                    clock.argument(0),
                    integer(u32::from(is_last)),
                ],
            )?);
            kept.push(table);
        }
        if launches.is_empty() {
            launches.push(own.prepare("agpu_tick", [1, 1], &[clock.argument(0)])?);
        }
        Ok(Self {
            _stored: stored,
            _tables: kept,
            launches,
        })
    }
}

/// Addresses of starts, columns, distances, marks, thresholds, weights and delays; 0 for what a storage does not have.
fn addresses_of(stored: &Stored) -> [u64; 7] {
    let optional = |array: Option<u64>| array.unwrap_or(0);
    match stored {
        Stored::Plain {
            starts,
            columns,
            weights,
            delays,
        } => [
            starts.address(0),
            columns.address(0),
            0,
            0,
            0,
            optional(weights.as_ref().map(|all| all.address(0))),
            optional(delays.as_ref().map(|all| all.address(0))),
        ],
        Stored::GeometricSkip {
            starts,
            skip,
            marks,
        } => [
            starts.address(0),
            0,
            skip.address(0),
            marks.address(0),
            0,
            0,
            0,
        ],
        Stored::Drawn { thresholds, .. } => [0, 0, 0, 0, thresholds.address(0), 0, 0],
    }
}

/// The structure `Delivery` of the kernels.
fn describe(
    fields: &mut Fields,
    list: [u64; 2],
    parts: &Parts,
    projection: &Projection,
    input: usize,
    synapses: &Synapses,
    stored: &Stored,
) {
    let input = &parts.groups[projection.target.group].inputs[input];
    let addresses = addresses_of(stored);
    let (threshold_count, piece, object, seed, skips_self, per_octave) = match stored {
        Stored::Drawn {
            thresholds,
            per_octave,
            piece,
            object,
            seed,
            skips_self,
        } => (
            thresholds.len(),
            *piece,
            *object,
            *seed,
            *skips_self,
            *per_octave,
        ),
        _ => (0, 1, 0, 0, false, 0.0),
    };
    let weight = match &synapses.weights {
        Weights::Uniform(weight) => *weight,
        Weights::Each(_) => 0,
    };
    let delay = match &synapses.delays {
        Delays::Uniform(delay) => *delay,
        Delays::Each(_) => 0,
    };
    list.into_iter().chain(addresses).for_each(|address| {
        fields.wide(address);
    });
    fields
        .wide(input.ring.address(0))
        .wide(seed)
        .signed(weight)
        .number(delay)
        .number(projection.origin.first as u32)
        .number(projection.origin.size as u32)
        .number(input.slots)
        .number(input.stride as u32)
        .number(projection.target.first as u32)
        .number(projection.target.size as u32)
        .number(threshold_count as u32)
        .number(piece)
        .number(object)
        .number(u32::from(skips_self))
        .float(per_octave)
        .number(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_hold_the_target_before_each_part_and_rows_do_not_share_them() {
        let lengths = [0_usize, 1, 127, 128, 129, 1000, 0, 3];
        let mut bytes_at = vec![0_u64];
        let mut skip = Vec::new();
        for (row, length) in lengths.iter().enumerate() {
            skip.extend((0..*length).map(|place| ((place * 7 + row) % 256) as u8));
            bytes_at.push(skip.len() as u64);
        }
        let marks = marks_of(&bytes_at, &skip);
        let mut used = std::collections::HashSet::new();
        for (row, length) in lengths.iter().enumerate() {
            let first = bytes_at[row] as usize;
            for part in 0..length.div_ceil(MARK_BYTES) {
                let place = first / MARK_BYTES + row + part;
                assert!(used.insert(place), "row {row}, part {part}");
                let before = &skip[first..first + part * MARK_BYTES];
                let target: u32 = before.iter().map(|gap| u32::from(*gap)).sum();
                assert_eq!(marks[place], target);
            }
        }
    }
}
