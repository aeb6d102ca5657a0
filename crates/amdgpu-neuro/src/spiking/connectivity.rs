//! Connectivity: for each source neuron a sorted row of target indices.
//!
//! Rows come from counters alone: any number of threads makes the same rows, and a row can be made again at any time (procedural storage).

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use amdgpu_hal::cpu::pool;

use super::geometric_skip::GeometricSkip;
use super::rng_streams::RngStream;
use super::space::{Convolution, Space};
use crate::error::{Error, Result};
use crate::philox::lanes::{WORDS, Width};
use crate::philox::{BLOCK_WORDS, Stream};
use crate::plan::spiking::PatternPlan;

/// Rows that are made together: enough work for a thread's interval.
const ROWS_AT_A_TIME: u64 = 64;
/// Draws of a pattern that is made draw by draw, in one range of a thread.
const DRAW_RANGES: usize = 16;

/// Synapses that a piece of a row has on average at least: the draw behind its last one is for nothing.
const PIECE_SYNAPSES: f64 = 256.0;
/// Smallest piece of a row.
const MIN_PIECE_TARGETS: usize = 1 << 12;
/// Largest, far beyond any population.
const MAX_PIECE_TARGETS: usize = 1 << 31;

/// A pattern between two sets of neurons.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub pattern: PatternPlan,
    pub sources: usize,
    pub targets: usize,
    /// Whether index i of the sources and index i of the targets is one neuron, which is not connected with itself.
    pub skips_self: bool,
    pub allow_multapses: bool,
    pub seed: u64,
    pub projection: usize,
    /// Of a pattern with a probability, from its first use on.
    pub skip: OnceLock<GeometricSkip>,
    /// Of patterns and values on positions.
    pub space: Option<Arc<Space>>,
}

/// Rows in one piece: the targets of source `s` are `columns[starts[s]..starts[s + 1]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub starts: Vec<u64>,
    pub columns: Vec<u32>,
}

impl Rows {
    pub fn row(&self, source: usize) -> &[u32] {
        &self.columns[self.starts[source] as usize..self.starts[source + 1] as usize]
    }
}

/// A row's random words: the row number stands where streams have the upper half of the block number.
struct RowWords {
    stream: Stream,
    row: u64,
    next: u64,
    block: [u32; 4],
}

impl RowWords {
    fn new(stream: Stream, row: usize) -> Self {
        Self {
            stream,
            row: (row as u64) << 32,
            next: 0,
            block: [0; 4],
        }
    }

    fn word(&mut self) -> u32 {
        let place = (self.next % 4) as usize;
        if place == 0 {
            self.block = self.stream.block(self.row | (self.next / 4));
        }
        self.next += 1;
        self.block[place]
    }

    /// A number below `count`, with a bias below 2^-32 · count.
    fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.word()) * count as u64) >> 32) as usize
    }
}

fn no_memory(bytes: usize) -> Error {
    Error::OutOfMemory {
        what: "the synapses".to_owned(),
        bytes,
    }
}

fn reserve<T>(values: &mut Vec<T>, count: usize) -> Result<()> {
    values
        .try_reserve_exact(count)
        .map_err(|_| no_memory(count * size_of::<T>()))
}

impl Connector {
    fn stream(&self) -> Stream {
        self.object().stream(self.seed, 0)
    }

    pub const fn object(&self) -> RngStream {
        RngStream::Connectivity(self.projection)
    }

    /// Targets of a piece of a row that is made on its own, of a pattern with a probability: rows are made in pieces so that threads and
    /// work-items can share them. A power of two.
    pub fn piece_targets(probability: f64) -> usize {
        let wanted = (PIECE_SYNAPSES / probability).min(MAX_PIECE_TARGETS as f64);
        (wanted as usize)
            .next_power_of_two()
            .clamp(MIN_PIECE_TARGETS, MAX_PIECE_TARGETS)
    }

    /// Whether each row can be made on its own.
    pub fn is_by_row(&self) -> bool {
        matches!(
            self.pattern,
            PatternPlan::AllToAll {}
                | PatternPlan::OneToOne {}
                | PatternPlan::Probability { .. }
                | PatternPlan::FixedOut { .. }
                | PatternPlan::Gaussian { .. }
                | PatternPlan::Convolution(_)
        )
    }

    /// The distances of a pattern whose rows come from a table of them: what a device can make without our help.
    pub fn gap_table(&self) -> Option<&GeometricSkip> {
        match &self.pattern {
            PatternPlan::Probability { probability }
                if *probability > 0.0 && *probability < 1.0 =>
            {
                let skip = self.skip.get_or_init(|| GeometricSkip::new(*probability));
                matches!(skip, GeometricSkip::Table { .. }).then_some(skip)
            }
            _ => None,
        }
    }

    /// Synapses that there will be: exact, or expected and six standard deviations more.
    pub fn bound(&self) -> u64 {
        let pairs = self.sources as u64 * self.targets as u64;
        match &self.pattern {
            PatternPlan::AllToAll {} => pairs,
            PatternPlan::OneToOne {} => self.sources as u64,
            PatternPlan::Probability { probability } => {
                let mean = pairs as f64 * probability;
                let spread = (mean * (1.0 - probability)).sqrt();
                ((mean + 6.0 * spread + 16.0) as u64).min(pairs)
            }
            PatternPlan::FixedIn { count } => self.targets as u64 * *count as u64,
            PatternPlan::FixedOut { count } => self.sources as u64 * *count as u64,
            PatternPlan::FixedTotal { count } => *count,
            PatternPlan::Pairs { sources, .. } => sources.values().len() as u64,
            PatternPlan::Gaussian { .. } => {
                let neighbours = self.space.as_ref().and_then(|space| space.neighbours());
                let bound = neighbours.map_or(pairs, |(ends, neighbours)| {
                    neighbours.bound(ends, self.sources)
                });
                bound.min(pairs)
            }
            PatternPlan::Convolution(_) => {
                let convolution = self.space.as_ref().and_then(|space| space.convolution());
                convolution.map_or(pairs, Convolution::count)
            }
        }
    }

    /// Calls `take` with each target of `source`, in ascending order. Patterns that are not by row have none here.
    pub fn row(&self, source: usize, take: impl FnMut(u32)) {
        self.row_within(source, &(0..u32::MAX), take);
    }

    /// Calls `take` with each target of `source` in a range, in ascending order.
    pub fn row_within(&self, source: usize, wanted: &Range<u32>, mut take: impl FnMut(u32)) {
        let skipped = self.skips_self.then_some(source);
        let begin = wanted.start as usize;
        let end = (wanted.end as usize).min(self.targets);
        let mut take_other = |target: usize| {
            if Some(target) != skipped && (begin..end).contains(&target) {
                take(target as u32);
            }
        };
        match &self.pattern {
            PatternPlan::AllToAll {} => (begin..end).for_each(take_other),
            PatternPlan::OneToOne {} => take_other(source),
            PatternPlan::Probability { probability } if *probability >= 1.0 => {
                (begin..end).for_each(take_other);
            }
            PatternPlan::Probability { probability } if *probability > 0.0 => {
                let skip = self.skip.get_or_init(|| GeometricSkip::new(*probability));
                let size = Self::piece_targets(*probability);
                for piece in begin / size..end.div_ceil(size) {
                    self.piece(skip, source, piece * size, size, &mut take_other);
                }
            }
            PatternPlan::FixedOut { count } => {
                let drawn = self.draw(source, *count, self.targets, skipped);
                let targets = drawn.into_iter().map(|target| target as usize);
                targets.for_each(take_other);
            }
            PatternPlan::Gaussian { .. } => {
                if let Some((ends, near)) = self.space.as_ref().and_then(|space| space.neighbours())
                {
                    let row = near.row(ends, self.stream(), source, &(begin..end));
                    for target in row {
                        take_other(target as usize);
                    }
                }
            }
            PatternPlan::Convolution(_) => {
                if let Some(kernel) = self.space.as_ref().and_then(|space| space.convolution()) {
                    for target in kernel.row(source) {
                        take_other(target as usize);
                    }
                }
            }
            _ => {}
        }
    }

    /// The synapses of a row with `size` targets from `first` on: the words of a piece begin at twice its first target, which is more than
    /// the pieces before it can use.
    fn piece(
        &self,
        skip: &GeometricSkip,
        source: usize,
        first: usize,
        size: usize,
        take: &mut impl FnMut(usize),
    ) {
        let end = (first + size).min(self.targets) as u64;
        let (width, stream) = (Width::of_machine(), self.stream());
        let mut words = [0; WORDS];
        let mut block = ((source as u64) << 32) | (2 * first as u64 / BLOCK_WORDS);
        let mut position = first as u64;
        loop {
            width.words(stream, block, &mut words);
            for word in words {
                position = position.saturating_add(skip.of(word));
                if position >= end {
                    return;
                }
                take(position as usize);
                position += 1;
            }
            block += WORDS as u64 / BLOCK_WORDS;
        }
    }

    /// `count` of `choices` numbers for row or column `line`, sorted; without repetition unless multapses are allowed.
    fn draw(&self, line: usize, count: usize, choices: usize, skipped: Option<usize>) -> Vec<u32> {
        let mut words = RowWords::new(self.stream(), line);
        let available = choices - usize::from(skipped.is_some_and(|skipped| skipped < choices));
        let around = |choice: usize| match skipped {
            Some(skipped) if choice >= skipped => choice as u32 + 1,
            _ => choice as u32,
        };
        if available == 0 {
            return Vec::new();
        }
        let mut drawn: Vec<u32> = if self.allow_multapses {
            (0..count).map(|_| around(words.below(available))).collect()
        } else {
            // Floyd 1987: `count` draws for `count` different numbers.
            let count = count.min(available);
            let mut seen = std::collections::HashSet::with_capacity(count);
            for last in available - count..available {
                let choice = words.below(last + 1);
                if !seen.insert(choice) {
                    seen.insert(last);
                }
            }
            seen.into_iter().map(around).collect()
        };
        drawn.sort_unstable();
        drawn
    }

    /// All rows.
    pub fn rows(&self) -> Result<Rows> {
        match &self.pattern {
            PatternPlan::Pairs { sources, targets } => {
                let (sources, targets) = (sources.values(), targets.values());
                let pair = |index: u64| (sources[index as usize], targets[index as usize]);
                self.rows_of_draws(sources.len() as u64, &pair)
            }
            PatternPlan::FixedTotal { count } => {
                let stream = self.stream();
                let pair = |index: u64| {
                    let block = stream.block(index);
                    let scale =
                        |word: u32, count: usize| ((u64::from(word) * count as u64) >> 32) as u32;
                    let source = scale(block[0], self.sources);
                    let mut target = scale(block[1], self.targets);
                    if self.skips_self && self.targets > 1 {
                        target = scale(block[1], self.targets - 1);
                        target += u32::from(target >= source);
                    }
                    (source, target)
                };
                self.rows_of_draws(*count, &pair)
            }
            PatternPlan::FixedIn { .. } => self.rows_of_columns(),
            _ => self.rows_by_row(),
        }
    }

    fn rows_by_row(&self) -> Result<Rows> {
        let mut starts = Vec::new();
        reserve(&mut starts, self.sources + 1)?;
        starts.resize(self.sources + 1, 0_u64);
        let counts = Shared::new(&mut starts[1..]);
        pool::global()
            .parallel_for(self.sources as u64, ROWS_AT_A_TIME, &|range| {
                for source in range {
                    let mut count = 0;
                    self.row(source as usize, |_| count += 1);
                    // SAFETY: every source is in one range.
                    unsafe { counts.write(source as usize, count) };
                }
            })
            .map_err(|error| Error::from_core(&error))?;
        let total = accumulate(&mut starts);
        let mut columns = Vec::new();
        reserve(&mut columns, total)?;
        columns.resize(total, 0_u32);
        let places = Shared::new(&mut columns);
        let starts_of = &starts;
        pool::global()
            .parallel_for(self.sources as u64, ROWS_AT_A_TIME, &|range| {
                for source in range {
                    let mut place = starts_of[source as usize] as usize;
                    self.row(source as usize, |target| {
                        // SAFETY: rows do not overlap, and this one is as long as it was when it was counted.
                        unsafe { places.write(place, target) };
                        place += 1;
                    });
                }
            })
            .map_err(|error| Error::from_core(&error))?;
        Ok(Rows { starts, columns })
    }

    /// Columns are drawn, one for each target; rows then have their targets in ascending order.
    fn rows_of_columns(&self) -> Result<Rows> {
        let PatternPlan::FixedIn { count } = self.pattern else {
            return Ok(Rows::default());
        };
        let column = |target: usize| {
            let skipped = self.skips_self.then_some(target);
            self.draw(target, count, self.sources, skipped)
        };
        let ranges = split(self.targets as u64, DRAW_RANGES);
        self.fill(&ranges, &|range, take| {
            for target in range {
                for source in column(target as usize) {
                    take(source, target as u32);
                }
            }
        })
    }

    /// Rows of pairs in any order.
    fn rows_of_draws(&self, count: u64, pair: &(dyn Fn(u64) -> (u32, u32) + Sync)) -> Result<Rows> {
        let ranges = split(count, DRAW_RANGES);
        let mut rows = self.fill(&ranges, &|range, take| {
            for index in range {
                let (source, target) = pair(index);
                if !(self.skips_self && source == target) {
                    take(source, target);
                }
            }
        })?;
        let starts = &rows.starts;
        let places = Shared::new(&mut rows.columns);
        pool::global()
            .parallel_for(self.sources as u64, ROWS_AT_A_TIME, &|range| {
                for source in range {
                    let (begin, end) = (starts[source as usize], starts[source as usize + 1]);
                    // SAFETY: rows do not overlap.
                    unsafe { places.slice(begin as usize..end as usize) }.sort_unstable();
                }
            })
            .map_err(|error| Error::from_core(&error))?;
        Ok(rows)
    }

    /// A counting sort by source of what `visit` tells of each range, twice: first the counts, then the places. Ranges are in order within
    /// each row, so the rows depend on neither threads nor the number of ranges.
    fn fill(&self, ranges: &[Range<u64>], visit: &Visit<'_>) -> Result<Rows> {
        let mut places = Vec::new();
        reserve(&mut places, ranges.len() * self.sources)?;
        places.resize(ranges.len() * self.sources, 0_u64);
        let sources = self.sources;
        let counts = Shared::new(&mut places);
        let run = |work: &(dyn Fn(usize) + Sync)| {
            pool::global()
                .parallel_for(ranges.len() as u64, 1, &|interval| {
                    interval.for_each(|number| work(number as usize));
                })
                .map_err(|error| Error::from_core(&error))
        };
        run(&|number| {
            // SAFETY: each range has counters of its own.
            let counts = unsafe { counts.slice(number * sources..(number + 1) * sources) };
            visit(ranges[number].clone(), &mut |source, _| {
                counts[source as usize] += 1;
            });
        })?;
        let mut starts = Vec::new();
        reserve(&mut starts, sources + 1)?;
        let mut total = 0;
        for source in 0..sources {
            starts.push(total);
            for number in 0..ranges.len() {
                let place = &mut places[number * sources + source];
                total += std::mem::replace(place, total);
            }
        }
        starts.push(total);
        let mut columns = Vec::new();
        reserve(&mut columns, total as usize)?;
        columns.resize(total as usize, 0_u32);
        let next = Shared::new(&mut places);
        let written = Shared::new(&mut columns);
        run(&|number| {
            // SAFETY: each range has places of its own.
            let next = unsafe { next.slice(number * sources..(number + 1) * sources) };
            visit(ranges[number].clone(), &mut |source, target| {
                let place = &mut next[source as usize];
                // SAFETY: the first visit counted this place for this range alone.
                unsafe { written.write(*place as usize, target) };
                *place += 1;
            });
        })?;
        Ok(Rows { starts, columns })
    }
}

/// Tells every pair of a range.
type Visit<'a> = dyn Fn(Range<u64>, &mut dyn FnMut(u32, u32)) + Sync + 'a;

fn split(count: u64, parts: usize) -> Vec<Range<u64>> {
    let parts = parts as u64;
    (0..parts)
        .map(|part| part * count / parts..(part + 1) * count / parts)
        .collect()
}

/// Counts, each one entry further on, become starts; the sum is returned.
fn accumulate(starts: &mut [u64]) -> usize {
    let mut total = 0;
    for start in starts {
        total += *start;
        *start = total;
    }
    total as usize
}

/// A slice whose disjoint parts are written by several threads.
pub(crate) struct Shared<T> {
    ptr: *mut T,
    len: usize,
}

// SAFETY: whoever writes promises to write places that nobody else uses.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(values: &mut [T]) -> Self {
        Self {
            ptr: values.as_mut_ptr(),
            len: values.len(),
        }
    }

    /// # Safety
    /// Nobody else uses this place, and the slice it came from is alive.
    pub unsafe fn write(&self, index: usize, value: T) {
        assert!(index < self.len, "a place inside the slice");
        // SAFETY: inside the slice, as just checked; the caller vouches for the rest.
        unsafe { self.ptr.add(index).write(value) };
    }

    /// # Safety
    /// Nobody else uses this range, and the slice it came from is alive.
    #[expect(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub unsafe fn slice(&self, range: Range<usize>) -> &mut [T] {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "a range inside the slice"
        );
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(range.start), range.len()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::plan::inline_or_file::InlineOrFile;

    pub fn connector(pattern: PatternPlan, sources: usize, targets: usize) -> Connector {
        Connector {
            pattern,
            sources,
            targets,
            skips_self: false,
            allow_multapses: false,
            seed: 11,
            projection: 3,
            skip: OnceLock::new(),
            space: None,
        }
    }

    /// Every row is sorted and inside, and what `rows` gives is what each row gives.
    fn rows_of(connector: &Connector) -> Rows {
        let rows = connector.rows().unwrap();
        assert_eq!(rows.starts.len(), connector.sources + 1);
        assert_eq!(*rows.starts.last().unwrap(), rows.columns.len() as u64);
        for source in 0..connector.sources {
            let row = rows.row(source);
            assert!(row.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(
                row.iter()
                    .all(|target| (*target as usize) < connector.targets)
            );
            if connector.is_by_row() {
                let mut alone = Vec::new();
                connector.row(source, |target| alone.push(target));
                assert_eq!(alone, row);
                let middle = connector.targets as u32 / 3;
                let mut halves = Vec::new();
                connector.row_within(source, &(0..middle), |target| halves.push(target));
                connector.row_within(source, &(middle..u32::MAX), |target| halves.push(target));
                assert_eq!(halves, row);
            }
            if connector.skips_self {
                assert!(!row.contains(&(source as u32)));
            }
        }
        rows
    }

    #[test]
    fn probability_gives_a_binomial_number_and_every_pair_alike() {
        let connector = connector(PatternPlan::Probability { probability: 0.05 }, 800, 500);
        let rows = rows_of(&connector);
        // 20000 expected, standard deviation 138.
        let count = rows.columns.len() as f64;
        assert!((count - 20_000.0).abs() < 700.0, "{count}");
        // In-degrees: mean 40, variance 38; the mean of 500 squared deviations is within 25 %.
        let mut degrees = vec![0.0; 500];
        for target in &rows.columns {
            degrees[*target as usize] += 1.0;
        }
        let mean = count / 500.0;
        let variance = degrees
            .iter()
            .map(|d: &f64| (d - mean).powi(2))
            .sum::<f64>()
            / 500.0;
        assert!((variance / 38.0 - 1.0).abs() < 0.25, "{variance}");
        for row in 0..800 {
            let distinct: HashSet<_> = rows.row(row).iter().collect();
            assert_eq!(distinct.len(), rows.row(row).len());
        }
    }

    #[test]
    fn rows_of_many_targets_are_made_in_pieces_with_one_density() {
        let size = Connector::piece_targets(0.1);
        let connector = connector(
            PatternPlan::Probability { probability: 0.1 },
            40,
            5 * size / 2,
        );
        let rows = rows_of(&connector);
        let of_piece = |piece: usize| {
            let inside = |target: &&u32| **target as usize / size == piece;
            rows.columns.iter().filter(inside).count() as f64
        };
        // 16384 expected in a whole piece of 40 rows, standard deviation 121.
        for (piece, wanted) in [(0, 16_384.0), (1, 16_384.0), (2, 8192.0)] {
            assert!((of_piece(piece) - wanted).abs() < 600.0, "{piece}");
        }
        let row = rows.row(3);
        let local = |piece: usize| {
            let base = (piece * size) as u32;
            let of_piece = row
                .iter()
                .filter(|target| **target as usize / size == piece);
            of_piece.map(|target| target - base).collect::<Vec<_>>()
        };
        assert_ne!(local(0), local(1));
    }

    #[test]
    fn extreme_probabilities_are_none_and_all() {
        let none = connector(PatternPlan::Probability { probability: 0.0 }, 9, 7);
        assert!(rows_of(&none).columns.is_empty());
        let all = connector(PatternPlan::Probability { probability: 1.0 }, 9, 7);
        assert_eq!(
            rows_of(&all),
            rows_of(&connector(PatternPlan::AllToAll {}, 9, 7))
        );
    }

    /// A device makes rows of its own from a table, so there must be one exactly where rows are drawn by one.
    #[test]
    fn rows_are_drawn_by_a_table_for_probabilities_between_none_and_all() {
        for (probability, has_table) in [
            (0.0, false),
            (1e-30, false),
            (1e-7, false),
            (3e-5, true),
            (0.5, true),
            (0.999, true),
            (1.0, false),
        ] {
            let drawn = connector(PatternPlan::Probability { probability }, 3, 5000);
            assert_eq!(drawn.gap_table().is_some(), has_table, "{probability}");
            assert!(rows_of(&drawn).columns.len() as u64 <= drawn.bound());
        }
        assert!(
            connector(PatternPlan::AllToAll {}, 3, 5)
                .gap_table()
                .is_none()
        );
    }

    #[test]
    fn fixed_in_gives_every_target_its_number_of_different_sources() {
        let mut fixed = connector(PatternPlan::FixedIn { count: 6 }, 40, 300);
        let degrees = |rows: &Rows| {
            let mut sources = vec![Vec::new(); 300];
            for source in 0..40 {
                for target in rows.row(source) {
                    sources[*target as usize].push(source);
                }
            }
            sources
        };
        for sources in degrees(&rows_of(&fixed)) {
            assert_eq!(sources.len(), 6);
            assert_eq!(sources.iter().collect::<HashSet<_>>().len(), 6);
        }
        fixed.allow_multapses = true;
        let repeated = degrees(&rows_of(&fixed));
        assert!(repeated.iter().all(|sources| sources.len() == 6));
        assert!(
            repeated
                .iter()
                .any(|sources| sources.iter().collect::<HashSet<_>>().len() < 6)
        );
    }

    #[test]
    fn fixed_out_total_pairs_and_one_to_one_have_their_numbers() {
        let fixed = connector(PatternPlan::FixedOut { count: 5 }, 30, 12);
        let rows = rows_of(&fixed);
        assert!((0..30).all(|source| rows.row(source).len() == 5));
        let total = connector(PatternPlan::FixedTotal { count: 1234 }, 30, 12);
        assert_eq!(rows_of(&total).columns.len(), 1234);
        let pairs = connector(
            PatternPlan::Pairs {
                sources: InlineOrFile::new(vec![3, 0, 3]),
                targets: InlineOrFile::new(vec![2, 1, 0]),
            },
            4,
            3,
        );
        assert_eq!(rows_of(&pairs).row(3), [0, 2]);
        assert_eq!(rows_of(&pairs).row(0), [1]);
        let single = connector(PatternPlan::OneToOne {}, 5, 5);
        assert_eq!(rows_of(&single).columns, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn autapses_are_left_out_where_they_are_not_wanted() {
        for pattern in [
            PatternPlan::AllToAll {},
            PatternPlan::Probability { probability: 0.5 },
            PatternPlan::FixedIn { count: 7 },
            PatternPlan::FixedOut { count: 7 },
            PatternPlan::FixedTotal { count: 500 },
        ] {
            let mut connector = connector(pattern, 8, 8);
            connector.skips_self = true;
            assert!(!rows_of(&connector).columns.is_empty());
        }
    }

    #[test]
    fn seed_and_projection_change_the_rows() {
        let first = connector(PatternPlan::Probability { probability: 0.5 }, 20, 20);
        let mut other = first.clone();
        other.seed += 1;
        assert_ne!(first.rows().unwrap(), other.rows().unwrap());
        let mut other = first.clone();
        other.projection += 1;
        assert_ne!(first.rows().unwrap(), other.rows().unwrap());
    }
}
