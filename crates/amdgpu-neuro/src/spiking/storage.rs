//! Storage formats for the synapses of a projection without variables, and delivery of spikes into rows of fixed-point numbers.
//!
//! Every kind holds the same synapses in the same order, so that results do not depend on the choice: sources ascending, targets ascending.

use std::ops::Range;

use super::connectivity::{Connector, Rows};
use super::prefetch;
use crate::plan::spiking::StorageKind;

/// This byte goes so many targets further without a synapse; a smaller one is the distance to the next synapse.
pub(crate) const LONG_GAP: u8 = u8::MAX;
/// Targets that 16-bit indices tell apart: rows of more are cut into blocks of as many.
pub(crate) const SHORT_BLOCK: usize = 1 << 16;
/// Targets of a row that are asked for ahead: the processor itself publisher what follows.
const PREFETCHED_TARGETS: usize = 128;

/// Who is connected with whom.
#[derive(Clone, Debug)]
pub(crate) enum Targets {
    /// Every target of every source.
    Dense {
        targets: u32,
        skips_self: bool,
    },
    Short(ShortRows),
    Long {
        starts: Vec<u64>,
        columns: Vec<u32>,
    },
    /// Distances to the target before in bytes, long ones in several. `bytes_at` is where a row begins in `skip`.
    GeometricSkip {
        starts: Vec<u64>,
        bytes_at: Vec<u64>,
        skip: Vec<u8>,
    },
    /// One bit for each pair.
    Bits {
        starts: Vec<u64>,
        words_per_row: usize,
        words: Vec<u64>,
    },
    /// Nothing but how to make the rows again.
    Procedural(Connector),
}

/// Rows of 16-bit indices, inside blocks of [`SHORT_BLOCK`] targets.
#[derive(Clone, Debug)]
pub(crate) struct ShortRows {
    pub starts: Vec<u64>,
    pub columns: Vec<u16>,
    /// Blocks of a row.
    blocks: usize,
    /// For each row the ends of its blocks, counted from the row's beginning; empty where there is one block.
    cuts: Vec<u32>,
}

impl ShortRows {
    fn new(rows: Rows, target_count: usize) -> Self {
        let blocks = target_count.div_ceil(SHORT_BLOCK).max(1);
        let mut cuts = Vec::new();
        if blocks > 1 {
            cuts.reserve_exact(blocks * (rows.starts.len() - 1));
            for source in 0..rows.starts.len() - 1 {
                let row = rows.row(source);
                cuts.extend((1..=blocks).map(|block| {
                    row.partition_point(|column| (*column as usize) < block * SHORT_BLOCK) as u32
                }));
            }
        }
        Self {
            columns: rows.columns.iter().map(|column| *column as u16).collect(),
            starts: rows.starts,
            blocks,
            cuts,
        }
    }

    /// The places of a row's synapses in a block.
    fn segment(&self, source: usize, block: usize) -> Range<usize> {
        let start = self.starts[source] as usize;
        if self.blocks == 1 {
            return start..self.starts[source + 1] as usize;
        }
        let cuts = &self.cuts[source * self.blocks..(source + 1) * self.blocks];
        let begin = if block == 0 { 0 } else { cuts[block - 1] };
        start + begin as usize..start + cuts[block] as usize
    }

    fn visit(&self, source: usize, wanted: &Range<u32>, take: &mut impl FnMut(usize, u32)) {
        let first_block = wanted.start as usize / SHORT_BLOCK;
        let end_block = (wanted.end as usize).div_ceil(SHORT_BLOCK);
        for block in first_block..end_block.min(self.blocks) {
            let base = (block * SHORT_BLOCK) as u32;
            let segment = self.segment(source, block);
            let row = &self.columns[segment.clone()];
            let begin = if wanted.start <= base {
                0
            } else {
                row.partition_point(|column| base + u32::from(*column) < wanted.start)
            };
            for (place, column) in row[begin..].iter().enumerate() {
                let column = base + u32::from(*column);
                if column >= wanted.end {
                    return;
                }
                take(segment.start + begin + place, column);
            }
        }
    }
}

/// Weights in units of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    Uniform(i32),
    Each(Vec<i32>),
}

/// Delays in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delays {
    Uniform(u32),
    Each(Vec<u16>),
}

impl Delays {
    pub fn range(&self) -> (u32, u32) {
        match self {
            Self::Uniform(delay) => (*delay, *delay),
            Self::Each(delays) => {
                let low = delays.iter().copied().min().unwrap_or(0);
                let high = delays.iter().copied().max().unwrap_or(0);
                (u32::from(low), u32::from(high))
            }
        }
    }
}

/// The synapses of a projection.
#[derive(Clone, Debug)]
pub(crate) struct Synapses {
    pub targets: Targets,
    pub weights: Weights,
    pub delays: Delays,
}

/// The rows of an input, as a delivery sees them: `slots` rows of `stride` neurons each, in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub rows: *mut i32,
    pub slots: u32,
    pub stride: usize,
    /// Index in the group of the projection's first target.
    pub first: usize,
}

// SAFETY: each thread adds to the neurons of its own partition only.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// Beginning of the row that a spike of step `step` reaches after `delay` steps, at the projection's first target.
    fn row(self, step: u64, delay: u32) -> *mut i32 {
        let slot = (step + 1 + u64::from(delay)) % u64::from(self.slots);
        // SAFETY: the slot is one of the ring, and `first` a neuron of the row.
        unsafe { self.rows.add(slot as usize * self.stride + self.first) }
    }
}

impl Targets {
    /// Rows as a storage kind keeps them. `Auto` and `Procedural` are decided by the planner before rows are made.
    pub fn from_rows(kind: StorageKind, rows: Rows, target_count: usize) -> Self {
        match kind {
            StorageKind::Csr32 | StorageKind::Auto | StorageKind::Procedural => Self::Long {
                starts: rows.starts,
                columns: rows.columns,
            },
            StorageKind::Csr16 | StorageKind::Dense => {
                Self::Short(ShortRows::new(rows, target_count))
            }
            StorageKind::GapCoded => gaps_of(rows),
            StorageKind::BitMask => bits_of(rows, target_count),
        }
    }

    /// How many synapses the rows of `sources` have.
    pub fn count(&self, sources: usize) -> usize {
        let mut count = 0;
        for source in 0..sources {
            self.visit(source, &(0..u32::MAX), |_, _| count += 1);
        }
        count
    }

    /// Targets that a delivery goes through together, so that what it adds to stays in a core's cache: where they end behind `first`.
    pub fn piece_end(&self, first: u32) -> u32 {
        match self {
            Self::Short(rows) if rows.blocks > 1 => {
                (first / SHORT_BLOCK as u32 + 1).saturating_mul(SHORT_BLOCK as u32)
            }
            _ => u32::MAX,
        }
    }

    /// Asks for the memory that tells where the row of `source` is.
    #[inline]
    pub fn prefetch_index(&self, source: usize, first: u32) {
        if let Self::Short(rows) = self {
            prefetch::element(&rows.starts, source);
            let block = first as usize / SHORT_BLOCK;
            prefetch::element(&rows.cuts, source * rows.blocks + block);
        }
    }

    /// Asks for the row of `source` from target `first` on.
    #[inline]
    pub fn prefetch_row(&self, source: usize, first: u32) {
        if let Self::Short(rows) = self {
            let segment = rows.segment(source, first as usize / SHORT_BLOCK);
            let end = segment.end.min(segment.start + PREFETCHED_TARGETS);
            prefetch::range(&rows.columns, segment.start, end);
        }
    }

    /// Number of the first synapse of a source among all, where that is kept.
    fn start(&self, source: usize) -> usize {
        match self {
            Self::Short(ShortRows { starts, .. })
            | Self::Long { starts, .. }
            | Self::GeometricSkip { starts, .. }
            | Self::Bits { starts, .. } => starts[source] as usize,
            Self::Dense {
                targets,
                skips_self,
            } => source * (*targets as usize - usize::from(*skips_self)),
            Self::Procedural(_) => 0,
        }
    }

    /// Calls `take` with number and target of each synapse of `source` whose target is in `wanted`, in order.
    pub fn visit(&self, source: usize, wanted: &Range<u32>, mut take: impl FnMut(usize, u32)) {
        let start = self.start(source);
        match self {
            Self::Short(rows) => rows.visit(source, wanted, &mut take),
            Self::Long { starts, columns } => {
                let row = &columns[start..starts[source + 1] as usize];
                let begin = row.partition_point(|column| *column < wanted.start);
                for (place, column) in row[begin..].iter().enumerate() {
                    if *column >= wanted.end {
                        return;
                    }
                    take(start + begin + place, *column);
                }
            }
            Self::Dense {
                targets,
                skips_self,
            } => {
                for target in wanted.start..wanted.end.min(*targets) {
                    let index = target as usize;
                    if !skips_self || index != source {
                        let behind = *skips_self && index > source;
                        take(start + index - usize::from(behind), target);
                    }
                }
            }
            Self::GeometricSkip { bytes_at, skip, .. } => {
                let mut number = start;
                let mut target = 0_u32;
                for byte in &skip[bytes_at[source] as usize..bytes_at[source + 1] as usize] {
                    target += u32::from(*byte);
                    if *byte == LONG_GAP {
                        continue;
                    }
                    if target >= wanted.end {
                        return;
                    }
                    if target >= wanted.start {
                        take(number, target);
                    }
                    number += 1;
                }
            }
            Self::Bits {
                words_per_row,
                words,
                ..
            } => {
                let row = &words[source * words_per_row..(source + 1) * words_per_row];
                let mut number = start;
                for (place, word) in row.iter().enumerate() {
                    let mut left = *word;
                    while left != 0 {
                        let target = (place * 64) as u32 + left.trailing_zeros();
                        left &= left - 1;
                        if wanted.contains(&target) {
                            take(number, target);
                        }
                        number += 1;
                    }
                }
            }
            Self::Procedural(connector) => {
                let mut number = 0;
                connector.row_within(source, wanted, |target| {
                    take(number, target);
                    number += 1;
                });
            }
        }
    }
}

fn gaps_of(rows: Rows) -> Targets {
    let mut skip = Vec::with_capacity(rows.columns.len());
    let mut bytes_at = Vec::with_capacity(rows.starts.len());
    for source in 0..rows.starts.len() - 1 {
        bytes_at.push(skip.len() as u64);
        let mut before = 0;
        for column in rows.row(source) {
            let gap = column - before;
            let long = gap / u32::from(LONG_GAP);
            skip.extend(std::iter::repeat_n(LONG_GAP, long as usize));
            skip.push((gap - long * u32::from(LONG_GAP)) as u8);
            before = *column;
        }
    }
    bytes_at.push(skip.len() as u64);
    Targets::GeometricSkip {
        starts: rows.starts,
        bytes_at,
        skip,
    }
}

fn bits_of(rows: Rows, target_count: usize) -> Targets {
    let words_per_row = target_count.div_ceil(64);
    let mut words = vec![0_u64; words_per_row * (rows.starts.len() - 1)];
    for source in 0..rows.starts.len() - 1 {
        for column in rows.row(source) {
            words[source * words_per_row + *column as usize / 64] |= 1 << (column % 64);
        }
    }
    Targets::Bits {
        starts: rows.starts,
        words_per_row,
        words,
    }
}

impl Synapses {
    /// Adds the weights of a spike of `source` in step `step` to the rows they reach, for targets in `wanted`.
    ///
    /// # Safety
    ///
    /// The ring is as large as it says and has a slot for every delay; targets are neurons of its rows; nobody else uses the neurons in
    /// `wanted`.
    pub unsafe fn deliver(&self, source: usize, step: u64, wanted: &Range<u32>, ring: Ring) {
        match (&self.weights, &self.delays) {
            (Weights::Uniform(weight), Delays::Uniform(delay)) => {
                let row = ring.row(step, *delay);
                self.targets.visit(source, wanted, |_, target| {
                    // SAFETY: the target is a neuron of the row, and this thread's own.
                    unsafe { add(row, target, *weight) };
                });
            }
            (Weights::Each(weights), Delays::Uniform(delay)) => {
                let row = ring.row(step, *delay);
                self.targets.visit(source, wanted, |number, target| {
                    // SAFETY: as above.
                    unsafe { add(row, target, weights[number]) };
                });
            }
            (weights, Delays::Each(delays)) => {
                self.targets.visit(source, wanted, |number, target| {
                    let weight = match weights {
                        Weights::Uniform(weight) => *weight,
                        Weights::Each(weights) => weights[number],
                    };
                    let row = ring.row(step, u32::from(delays[number]));
                    // SAFETY: as above.
                    unsafe { add(row, target, weight) };
                });
            }
        }
    }
}

/// # Safety
/// `target` is a neuron of the row.
#[inline]
unsafe fn add(row: *mut i32, target: u32, weight: i32) {
    // SAFETY: as the caller promises. Sums cannot leave the range: the unit was chosen for their largest possible value.
    unsafe {
        let place = row.add(target as usize);
        *place = (*place).wrapping_add(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::super::connectivity::tests::connector;
    use super::*;
    use crate::plan::spiking::PatternPlan;

    impl Targets {
        /// Bytes of its arrays.
        pub(in crate::spiking) fn bytes(&self) -> u64 {
            let bytes = match self {
                Self::Dense { .. } | Self::Procedural(_) => 0,
                Self::Short(rows) => {
                    8 * rows.starts.len() + 2 * rows.columns.len() + 4 * rows.cuts.len()
                }
                Self::Long { starts, columns } => 8 * starts.len() + 4 * columns.len(),
                Self::GeometricSkip {
                    starts,
                    bytes_at,
                    skip,
                } => 8 * (starts.len() + bytes_at.len()) + skip.len(),
                Self::Bits { starts, words, .. } => 8 * (starts.len() + words.len()),
            };
            bytes as u64
        }

        fn row(&self, source: usize) -> Vec<u32> {
            let mut row = Vec::new();
            self.visit(source, &(0..u32::MAX), |_, target| row.push(target));
            row
        }
    }

    const SOURCES: usize = 60;
    const TARGETS: usize = 1500;

    fn every_kind(pattern: &PatternPlan) -> Vec<Targets> {
        let made = connector(pattern.clone(), SOURCES, TARGETS);
        let mut kinds = vec![Targets::Procedural(made.clone())];
        for kind in [
            StorageKind::Csr16,
            StorageKind::Csr32,
            StorageKind::GapCoded,
            StorageKind::BitMask,
        ] {
            kinds.push(Targets::from_rows(kind, made.rows().unwrap(), TARGETS));
        }
        if matches!(pattern, PatternPlan::AllToAll {}) {
            kinds.push(Targets::Dense {
                targets: TARGETS as u32,
                skips_self: false,
            });
        }
        kinds
    }

    #[test]
    fn every_storage_holds_the_same_synapses_in_the_same_order() {
        for pattern in [
            PatternPlan::Probability { probability: 0.2 },
            // GeometricSkip beyond one byte.
            PatternPlan::Probability { probability: 0.002 },
            PatternPlan::AllToAll {},
        ] {
            let rows = connector(pattern.clone(), SOURCES, TARGETS).rows().unwrap();
            for targets in every_kind(&pattern) {
                for source in 0..SOURCES {
                    assert_eq!(targets.row(source), rows.row(source));
                    for wanted in [0..700, 700..1500, 511..513] {
                        let mut part = Vec::new();
                        targets.visit(source, &wanted, |number, target| {
                            if !matches!(targets, Targets::Procedural(_)) {
                                assert_eq!(rows.columns[number], target);
                            }
                            part.push(target);
                        });
                        let expected: Vec<_> = rows.row(source).to_vec();
                        let expected: Vec<_> = expected
                            .into_iter()
                            .filter(|target| wanted.contains(target))
                            .collect();
                        assert_eq!(part, expected);
                    }
                }
            }
        }
    }

    /// Deliveries against a dense matrix that knows nothing of rows, rings and partitions: exactly once, with its weight, after its delay.
    #[test]
    fn deliveries_equal_a_dense_oracle_for_every_split_of_the_targets() {
        const SLOTS: u32 = 9;
        let made = connector(
            PatternPlan::Probability { probability: 0.1 },
            SOURCES,
            TARGETS,
        );
        let rows = made.rows().unwrap();
        let count = rows.columns.len();
        let weights: Vec<i32> = (0..count)
            .map(|number| (number as i32 * 37) % 1001 - 500)
            .collect();
        let delays: Vec<u16> = (0..count)
            .map(|number| (number * 7 % SLOTS as usize) as u16)
            .collect();
        let spikes: Vec<(u64, usize)> = (0..40)
            .map(|number| (number % 4, (number * 13 % SOURCES as u64) as usize))
            .collect();
        for (weights, delays) in [
            (Weights::Uniform(-3), Delays::Uniform(4)),
            (Weights::Each(weights.clone()), Delays::Uniform(0)),
            (Weights::Uniform(5), Delays::Each(delays.clone())),
            (Weights::Each(weights), Delays::Each(delays)),
        ] {
            let mut oracle = vec![0_i64; SLOTS as usize * TARGETS];
            for (step, source) in &spikes {
                for place in rows.starts[*source] as usize..rows.starts[source + 1] as usize {
                    let weight = match &weights {
                        Weights::Uniform(weight) => *weight,
                        Weights::Each(weights) => weights[place],
                    };
                    let delay = match &delays {
                        Delays::Uniform(delay) => u64::from(*delay),
                        Delays::Each(delays) => u64::from(delays[place]),
                    };
                    let slot = (step + 1 + delay) % u64::from(SLOTS);
                    oracle[slot as usize * TARGETS + rows.columns[place] as usize] +=
                        i64::from(weight);
                }
            }
            let synapses = Synapses {
                targets: Targets::from_rows(StorageKind::Csr16, rows.clone(), TARGETS),
                weights,
                delays,
            };
            for split in [
                std::iter::once(0..1500).collect(),
                vec![0..256, 256..1500],
                vec![0..1, 1..2, 2..1499, 1499..1500],
            ] {
                let mut ring = vec![0_i32; SLOTS as usize * TARGETS];
                for wanted in &split {
                    for (step, source) in &spikes {
                        let rows = Ring {
                            rows: ring.as_mut_ptr(),
                            slots: SLOTS,
                            stride: TARGETS,
                            first: 0,
                        };
                        // SAFETY: the ring has nine slots of 1500 neurons; one thread delivers.
                        unsafe { synapses.deliver(*source, *step, wanted, rows) };
                    }
                }
                let sums: Vec<i64> = ring.into_iter().map(i64::from).collect();
                assert_eq!(sums, oracle);
            }
        }
    }
}
