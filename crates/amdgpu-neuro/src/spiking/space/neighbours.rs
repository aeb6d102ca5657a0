//! Connections whose probability falls with distance: targets in cells, so that a row looks only at those that it can reach.
//!
//! A pair is connected when the random word of its place, plus one, is at most its probability in parts of 2^32: the word is number
//! `target mod 4` of the block `[target / 4, source]` of the projection's connectivity. So who is connected depends on neither cells nor
//! threads, and pairs that are further apart than the last part of the probability are not looked at.

use std::ops::Range;

use super::Ends;
use crate::philox::{BLOCK_WORDS, Stream};
use crate::plan::positions::MAX_DIMENSIONS;

/// Probabilities are compared in parts of this.
const PARTS: f64 = 4_294_967_296.0;
/// Targets for each cell that are worth a cell of their own.
const TARGETS_PER_CELL: usize = 4;
/// Cells of an axis at most.
const MAX_CELLS: usize = 4096;
/// What rounding may add to the reach.
const SLACK: f64 = 1.0 + 1e-9;
/// Rows from which the number of synapses is predicted.
const SAMPLED_ROWS: usize = 256;
/// Standard deviations that the prediction allows for.
const DEVIATIONS: f64 = 6.0;

/// The targets of a projection by where they are.
#[derive(Debug)]
pub(crate) struct Neighbours {
    sigma: f64,
    peak: f64,
    reach: f64,
    axes: [Axis; MAX_DIMENSIONS],
    /// Where each cell begins in `members`.
    starts: Vec<u32>,
    /// Targets, cell after cell.
    members: Vec<u32>,
}

/// How an axis is cut.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: f64,
    /// Of all cells together.
    extent: f64,
    cells: usize,
    is_periodic: bool,
}

impl Axis {
    fn cell(&self, position: f64) -> usize {
        let mut part = (position - self.low) / self.extent;
        if self.is_periodic {
            part -= part.floor();
        }
        // Beyond an end, NaN of an axis without extent included: the cell there.
        ((part * self.cells as f64) as usize).min(self.cells - 1)
    }

    /// Cells that have positions within `reach`.
    fn near(&self, position: f64, reach: f64) -> Vec<usize> {
        let count = self.cells;
        if count == 1 || (self.is_periodic && 2.0 * reach >= self.extent) {
            return (0..count).collect();
        }
        // On an axis that begins anew within its first round, however far away the position is.
        let rounds = if self.is_periodic {
            ((position - self.low) / self.extent).floor()
        } else {
            0.0
        };
        let place = |way: f64| {
            let part = (position - self.low) / self.extent - rounds + way / self.extent;
            part * count as f64
        };
        let (first, last) = (place(-reach), place(reach));
        if !self.is_periodic {
            let most = count as f64 - 1.0;
            let first = first.floor().clamp(0.0, most) as usize;
            return (first..=last.floor().clamp(0.0, most) as usize).collect();
        }
        // One more on either side, for the rounding of positions that were moved by whole periods.
        let (first, last) = (first.floor() as i64 - 1, last.floor() as i64 + 1);
        if last - first + 1 >= count as i64 {
            return (0..count).collect();
        }
        (first..=last)
            .map(|cell| cell.rem_euclid(count as i64) as usize)
            .collect()
    }
}

impl Neighbours {
    pub fn new(ends: &Ends, targets: usize, sigma: f64, peak: f64) -> Self {
        // exp(-d² / (2 sigma²)) · peak · 2^32 is 1 at the reach.
        let reach = sigma * (2.0 * (peak * PARTS).ln().max(0.0)).sqrt() * SLACK;
        let dimensions = ends.targets.dimensions();
        let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); MAX_DIMENSIONS];
        for target in 0..targets {
            for (bound, value) in bounds.iter_mut().zip(ends.targets.of(target)) {
                *bound = (bound.0.min(value), bound.1.max(value));
            }
        }
        let mut axes = [Axis {
            low: 0.0,
            extent: 1.0,
            cells: 1,
            is_periodic: false,
        }; MAX_DIMENSIONS];
        let most = (targets / TARGETS_PER_CELL).max(1) as f64;
        let most = most.powf(1.0 / dimensions.max(1) as f64) as usize;
        for (number, axis) in axes.iter_mut().enumerate().take(dimensions) {
            let period = ends.period[number];
            axis.is_periodic = period > 0.0;
            axis.low = if axis.is_periodic {
                0.0
            } else {
                bounds[number].0
            };
            axis.extent = if axis.is_periodic {
                period
            } else {
                bounds[number].1 - bounds[number].0
            };
            // Half the reach: fewer targets that are looked at in vain.
            let wanted = 2.0 * axis.extent / reach;
            axis.cells = (wanted as usize).clamp(1, most.clamp(1, MAX_CELLS));
        }
        let mut neighbours = Self {
            sigma,
            peak,
            reach,
            axes,
            starts: Vec::new(),
            members: Vec::new(),
        };
        neighbours.sort(ends, targets);
        neighbours
    }

    fn number(&self, cells: [usize; MAX_DIMENSIONS]) -> usize {
        (cells[2] * self.axes[1].cells + cells[1]) * self.axes[0].cells + cells[0]
    }

    /// A counting sort of the targets by cell.
    fn sort(&mut self, ends: &Ends, targets: usize) {
        let cells = self.axes.iter().map(|axis| axis.cells).product::<usize>();
        let cell_of = |target: usize| {
            let position = ends.targets.of(target);
            self.number(std::array::from_fn(|axis| {
                self.axes[axis].cell(position[axis])
            }))
        };
        let mut starts = vec![0_u32; cells + 1];
        for target in 0..targets {
            starts[cell_of(target) + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        let mut next = starts.clone();
        let mut members = vec![0_u32; targets];
        for target in 0..targets {
            let place = &mut next[cell_of(target)];
            members[*place as usize] = target as u32;
            *place += 1;
        }
        self.starts = starts;
        self.members = members;
    }

    /// Calls `visit` with each target within reach of a position and its probability in parts of 2^32, cell by cell.
    fn around(
        &self,
        ends: &Ends,
        position: [f64; MAX_DIMENSIONS],
        mut visit: impl FnMut(u32, f64),
    ) {
        let near: [Vec<usize>; MAX_DIMENSIONS] =
            std::array::from_fn(|axis| self.axes[axis].near(position[axis], self.reach));
        let limit = self.reach * self.reach;
        for &z in &near[2] {
            for &y in &near[1] {
                for &x in &near[0] {
                    let cell = self.number([x, y, z]);
                    let members = self.starts[cell] as usize..self.starts[cell + 1] as usize;
                    for &target in &self.members[members] {
                        let squared = ends.squared(position, ends.targets.of(target as usize));
                        if squared <= limit {
                            let part = squared / (2.0 * self.sigma * self.sigma);
                            visit(target, self.peak * (-part).exp() * PARTS);
                        }
                    }
                }
            }
        }
    }

    /// The targets of a source in a range, ascending.
    pub fn row(
        &self,
        ends: &Ends,
        stream: Stream,
        source: usize,
        wanted: &Range<usize>,
    ) -> Vec<u32> {
        let mut row = Vec::new();
        let high = (source as u64) << 32;
        let (mut number, mut block) = (u64::MAX, [0; 4]);
        self.around(ends, ends.sources.of(source), |target, parts| {
            if !wanted.contains(&(target as usize)) {
                return;
            }
            let of_target = high | (u64::from(target) / BLOCK_WORDS);
            if of_target != number {
                number = of_target;
                block = stream.block(number);
            }
            let word = block[(u64::from(target) % BLOCK_WORDS) as usize];
            if f64::from(word) + 1.0 <= parts {
                row.push(target);
            }
        });
        row.sort_unstable();
        row
    }

    /// Synapses that there will be: those expected of some rows, taken for all, and six standard deviations more.
    pub fn bound(&self, ends: &Ends, sources: usize) -> u64 {
        let rows = sources.min(SAMPLED_ROWS);
        let (mut sum, mut squares) = (0.0, 0.0);
        for row in 0..rows {
            // Spread over all rows, the first and the last included.
            let source = row * (sources - 1) / (rows - 1).max(1);
            let mut expected = 0.0;
            self.around(ends, ends.sources.of(source), |_, parts| {
                expected += parts.floor().max(0.0) / PARTS;
            });
            sum += expected;
            squares += expected * expected;
        }
        let count = rows as f64;
        let mean = sum / count;
        let of_rows = if rows == sources {
            0.0
        } else {
            let variance = (squares / count - mean * mean).max(0.0);
            sources as f64 * (variance / count).sqrt()
        };
        let total = mean * sources as f64;
        (total + DEVIATIONS * (total.sqrt() + of_rows) + 16.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::inline_or_file::InlineOrFile;
    use crate::plan::positions::PositionsPlan;

    fn points(dimensions: usize, count: usize, period: Option<f64>) -> PositionsPlan {
        let mut values = vec![0.0_f32; dimensions * count];
        Stream::new(5, 0, 0).fill_uniform(0, -3.0, 7.0, &mut values);
        PositionsPlan::Points {
            dimensions: Some(dimensions),
            coordinates: InlineOrFile::new(values.into_iter().map(f64::from).collect()),
            scale: 1.0,
            period: period.map(|period| vec![period; dimensions]),
        }
    }

    #[test]
    fn positions_at_the_ends_of_what_floats_hold_have_rows_too() {
        for period in [None, Some(4.0), Some(1e-300)] {
            let far = PositionsPlan::Points {
                dimensions: Some(1),
                coordinates: InlineOrFile::new(vec![1e300, -1e300, 0.0, 3.9, 1e-300, 2e17]),
                scale: 1e10,
                period: period.map(|period| vec![period]),
            };
            let ends = Ends {
                sources: far.clone(),
                targets: far,
                period: [period.unwrap_or(0.0), 0.0, 0.0],
            };
            for sigma in [1e-200, 0.5, 1e200] {
                let near = Neighbours::new(&ends, 6, sigma, 1.0);
                for source in 0..6 {
                    let row = near.row(&ends, Stream::new(3, 9, 0), source, &(0..6));
                    assert!(row.windows(2).all(|pair| pair[0] < pair[1]));
                }
                assert!(near.bound(&ends, 6) > 0);
            }
        }
    }

    /// Memory is set aside for the bound: above what is expected of all pairs, and not by far.
    #[test]
    fn the_bound_is_the_expected_number_and_six_deviations() {
        for sources in [SAMPLED_ROWS / 4, SAMPLED_ROWS * 3] {
            let ends = Ends {
                sources: points(2, sources, Some(10.0)),
                targets: points(2, 500, Some(10.0)),
                period: [10.0; MAX_DIMENSIONS],
            };
            let near = Neighbours::new(&ends, 500, 0.4, 0.8);
            let of_row = |source: usize| -> f64 {
                (0..500)
                    .map(|target| {
                        let apart = ends.squared(ends.sources.of(source), ends.targets.of(target));
                        0.8 * (-apart / (2.0 * 0.4 * 0.4)).exp()
                    })
                    .sum()
            };
            let expected: f64 = (0..sources).map(of_row).sum();
            let bound = near.bound(&ends, sources) as f64;
            // Samples of the rows are off by some percent, for which the bound makes room.
            let room = DEVIATIONS * expected.sqrt() + 16.0;
            let (least, most) = if sources <= SAMPLED_ROWS {
                (expected + 0.99 * room - 2.0, expected + room + 2.0)
            } else {
                (expected + 0.5 * room, 1.5 * expected + room)
            };
            assert!(least < bound && bound < most, "{least} {bound} {most}");
        }
    }

    /// Cells only save work: rows equal those of a look at every pair.
    #[test]
    fn rows_are_those_of_a_look_at_every_pair() {
        for dimensions in 1..=3 {
            for (period, sigma) in [
                (None, 0.02),
                (None, 0.4),
                (None, 50.0),
                (Some(4.0), 0.1),
                (Some(4.0), 0.5),
            ] {
                let sources = points(dimensions, 60, period);
                let targets = points(dimensions, 700, period);
                let ends = Ends {
                    sources,
                    targets,
                    period: [period.unwrap_or(0.0); MAX_DIMENSIONS],
                };
                let near = Neighbours::new(&ends, 700, sigma, 0.9);
                let stream = Stream::new(3, 9, 0);
                let mut total = 0;
                for source in 0..60 {
                    let row = near.row(&ends, stream, source, &(0..700));
                    let naive: Vec<u32> = (0..700_u32)
                        .filter(|target| {
                            let block = ((source as u64) << 32) | u64::from(target / 4);
                            let word = stream.block(block)[(target % 4) as usize];
                            let (from, to) =
                                (ends.sources.of(source), ends.targets.of(*target as usize));
                            let part = ends.squared(from, to) / (2.0 * sigma * sigma);
                            f64::from(word) + 1.0 <= 0.9 * (-part).exp() * PARTS
                        })
                        .collect();
                    assert_eq!(row, naive, "{dimensions} {period:?} {sigma} {source}");
                    let mut halves = near.row(&ends, stream, source, &(0..333));
                    halves.extend(near.row(&ends, stream, source, &(333..700)));
                    assert_eq!(halves, row);
                    total += row.len() as u64;
                }
                assert!(near.bound(&ends, 60) >= total);
            }
        }
    }
}
