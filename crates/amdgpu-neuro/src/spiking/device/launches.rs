//! The engine's own launches around the updates of a step: sources, drives, lists of spikes, spikes on their way to synapses with state. One
//! launch for all of a kind, of all members of a batch.

use amdgpu_memory::Allocator;

use super::super::kernels::{EventPair, Events};
use super::super::memory::DeviceArray;
use super::super::parts::Parts;
use super::super::projection::{Projection, ProjectionKind};
use super::super::source::{Chances, Source};
use super::own::{Fields, OwnKernels, Prepared, blocks_of, integer};
use super::{Kept, Line, OriginState};
use crate::error::Result;

/// The networks that are stepped together, and the spikes of their groups and sources, member by member.
#[derive(Clone, Copy)]
pub(super) struct Fleet<'a> {
    pub members: &'a [&'a Parts],
    pub origins: &'a [OriginState],
}

impl<'a> Fleet<'a> {
    /// Origins of each member.
    pub fn width(&self) -> usize {
        self.origins.len() / self.members.len().max(1)
    }

    /// The place of an origin of a member.
    pub fn place(&self, member: usize, origin: usize) -> usize {
        member * self.width() + origin
    }

    /// The flags of a group or source of a member.
    pub fn fired(&self, member: usize, origin: usize) -> &'a DeviceArray<u8> {
        match &self.origins[self.place(member, origin)].fired {
            Some(fired) => fired,
            None => &self.members[member].groups[origin].fired,
        }
    }
}

/// Launches of sources and drives: one for all of a kind.
pub(super) fn launches_before(
    fleet: Fleet<'_>,
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
    allocator: &Allocator,
    kept: &mut Kept,
) -> Result<Vec<Prepared>> {
    let (mut random, mut listed, mut drives) =
        (Table::default(), Table::default(), Table::default());
    for (member, parts) in fleet.members.iter().enumerate() {
        for (number, source) in parts.sources.iter().enumerate() {
            let origin = parts.groups.len() + number;
            let fired = fleet.fired(member, origin).address(0);
            match source {
                Source::Poisson {
                    object,
                    seed,
                    chances,
                } => {
                    let (each, chances) = match chances {
                        Chances::Uniform(chance) => (0, std::slice::from_ref(chance)),
                        Chances::Each(chances) => (1, chances.as_slice()),
                    };
                    let table = DeviceArray::from_slice(allocator, chances)?;
                    let size = fleet.origins[fleet.place(member, origin)].size;
                    let fields = random.row(size);
                    fields.wide(fired).wide(table.address(0)).wide(*seed);
                    fields.number(object.number()).number(each);
                    fields.number(size as u32).number(0);
                    kept.wide.push(table);
                }
                Source::Spikes(spikes) => {
                    let steps: Vec<u64> = spikes.iter().map(|(step, _)| *step).collect();
                    let indices: Vec<u32> = spikes.iter().map(|(_, index)| *index).collect();
                    let steps = DeviceArray::from_slice(allocator, &steps)?;
                    let indices = DeviceArray::from_slice(allocator, &indices)?;
                    let fields = listed.row(1);
                    fields.wide(fired).wide(steps.address(0));
                    fields.wide(indices.address(0)).wide(spikes.len() as u64);
                    kept.wide.push(steps);
                    kept.words.push(indices);
                }
            }
        }
        add_drives(parts, allocator, &mut drives, kept)?;
    }
    let listed_grid = [listed.rows, 1];
    let mut launches = Vec::new();
    for (name, table, grid) in [
        ("agpu_poisson_sources", &random, random.grid()),
        ("agpu_listed_sources", &listed, listed_grid),
        ("agpu_poisson_drives", &drives, drives.grid()),
    ] {
        if table.rows > 0 {
            let rows = DeviceArray::from_slice(allocator, &table.fields.0)?;
            launches.push(own.prepare(name, grid, &[rows.argument(0), clock.argument(0)])?);
            kept.bytes.push(rows);
        }
    }
    Ok(launches)
}

/// A row for each Poisson drive of a member.
fn add_drives(
    parts: &Parts,
    allocator: &Allocator,
    drives: &mut Table,
    kept: &mut Kept,
) -> Result<()> {
    for drive in &parts.poisson_drives {
        let input = &parts.groups[drive.target.group].inputs[drive.input];
        let table = DeviceArray::from_slice(allocator, drive.table())?;
        let fields = drives.row(drive.target.size);
        fields.wide(input.ring.address(0)).wide(table.address(0));
        fields.wide(drive.seed()).number(drive.object().number());
        fields.number(drive.table().len() as u32);
        fields.number(drive.target.size as u32);
        fields.number(drive.target.first as u32);
        fields.number(input.slots).number(input.stride as u32);
        fields.signed(drive.units).number(0);
        kept.words.push(table);
    }
    Ok(())
}

/// Rows of a table, each with work-items of its own.
#[derive(Default)]
struct Table {
    fields: Fields,
    rows: usize,
    most: usize,
}

impl Table {
    /// Begins a row of so many work-items.
    fn row(&mut self, items: usize) -> &mut Fields {
        self.rows += 1;
        self.most = self.most.max(items);
        &mut self.fields
    }

    fn grid(&self) -> [usize; 2] {
        [blocks_of(self.most), self.rows]
    }
}

/// The launch that lists the spikes of a step, and clears the counters of projections with state.
pub(super) fn list_launch(
    fleet: Fleet<'_>,
    counts: &DeviceArray<u32>,
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
    allocator: &Allocator,
    kept: &mut Kept,
) -> Result<Prepared> {
    let mut table = Table::default();
    for (place, origin) in fleet.origins.iter().enumerate() {
        let (member, number) = (place / fleet.width(), place % fleet.width());
        let fields = table.row(origin.size);
        fields.wide(fleet.fired(member, number).address(0));
        fields.wide(origin.list.address(0));
        fields.wide(counts.address(2 * place));
        fields.wide(origin.log_indices.address(0));
        fields.wide(origin.log_steps.address(0));
        fields.wide(counts.address(2 * fleet.origins.len() + place));
        fields.number(origin.size as u32).number(0);
    }
    let pairs = fleet.members.iter().flat_map(|parts| &parts.events);
    let cleared: Vec<u64> = pairs
        .flatten()
        .flat_map(|EventPair { pre, post }| [pre.count.address(0), post.count.address(0)])
        .collect();
    let rows = DeviceArray::from_slice(allocator, &table.fields.0)?;
    let cleared_table = DeviceArray::from_slice(allocator, &cleared)?;
    let prepared = own.prepare(
        "agpu_list_spikes",
        table.grid(),
        &[
            rows.argument(0),
            clock.argument(0),
            cleared_table.argument(0),
            integer(cleared.len() as u32),
        ],
    )?;
    kept.bytes.push(rows);
    kept.wide.push(cleared_table);
    Ok(prepared)
}

/// Spikes under way in the projections with state, member by member.
pub(super) fn lines_of(fleet: Fleet<'_>, allocator: &Allocator) -> Result<Vec<Option<Line>>> {
    let line = |projection: &Projection| match &projection.kind {
        ProjectionKind::Static { .. } => Ok(None),
        ProjectionKind::Stateful(synapses) => {
            let pre_slots = synapses.delay + 1;
            let pre = projection.origin.size * pre_slots as usize;
            Ok(Some(Line {
                pre: DeviceArray::zeros(allocator, pre)?,
                pre_slots,
                post: DeviceArray::zeros(allocator, projection.target.size)?,
            }))
        }
    };
    let projections = fleet.members.iter().flat_map(|parts| &parts.projections);
    projections.map(line).collect()
}

/// The launch that shows spikes of both ends of projections with state to their kernels; `None` without such projections.
pub(super) fn collect_launch(
    fleet: Fleet<'_>,
    lines: &[Option<Line>],
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
    allocator: &Allocator,
    kept: &mut Kept,
) -> Result<Option<Prepared>> {
    let mut table = Table::default();
    let mut lines = lines.iter();
    for (member, parts) in fleet.members.iter().enumerate() {
        for ((projection, pair), line) in
            parts.projections.iter().zip(&parts.events).zip(&mut lines)
        {
            let (Some(line), Some(EventPair { pre, post })) = (line, pair) else {
                continue;
            };
            let (origin, target) = (projection.origin, projection.target);
            let mut end = |fired: &DeviceArray<u8>,
                           (first, size): (usize, usize),
                           line: &DeviceArray<u8>,
                           slots: u32,
                           events: &Events| {
                let fields = table.row(size);
                fields.wide(fired.address(0)).wide(line.address(0));
                fields.wide(events.flags.address(0));
                fields.wide(events.list.address(0));
                fields.wide(events.count.address(0));
                fields.number(size as u32).number(first as u32);
                fields.number(slots).number(0);
            };
            let fired = fleet.fired(member, origin.index);
            let range = (origin.first, origin.size);
            end(fired, range, &line.pre, line.pre_slots, pre);
            let fired = fleet.fired(member, target.group);
            end(fired, (target.first, target.size), &line.post, 1, post);
        }
    }
    if table.rows == 0 {
        return Ok(None);
    }
    let rows = DeviceArray::from_slice(allocator, &table.fields.0)?;
    let arguments = [rows.argument(0), clock.argument(0)];
    let prepared = own.prepare("agpu_collect", table.grid(), &arguments)?;
    kept.bytes.push(rows);
    Ok(Some(prepared))
}
