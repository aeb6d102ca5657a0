//! Connections from a grid to a grid by a kernel that is moved over it, as in convolutional networks: the target at `t` gets from the
//! source at `t · stride + tap - padding` what the kernel has at `tap`. Entries that are 0 connect nothing.

use std::sync::Arc;

use super::Ends;
use crate::plan::inline_or_file::InlineOrFile;
use crate::plan::positions::{MAX_DIMENSIONS, PositionsPlan, places};
use crate::plan::spiking::ConvolutionPlan;

/// A kernel over two grids.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    /// x changes fastest.
    kernel: Arc<Vec<f64>>,
    axes: Vec<Axis>,
}

/// An axis of the two grids and the kernel.
#[derive(Clone, Copy, Debug)]
struct Axis {
    sources: usize,
    targets: usize,
    taps: usize,
    stride: usize,
    padding: usize,
    is_periodic: bool,
}

impl Axis {
    /// The tap that leads from a source's place to a target's.
    fn tap(&self, source: usize, target: usize) -> Option<usize> {
        let mut tap = source as i64 + self.padding as i64 - (target * self.stride) as i64;
        if self.is_periodic {
            tap = tap.rem_euclid(self.sources as i64);
        }
        usize::try_from(tap).ok().filter(|tap| *tap < self.taps)
    }

    /// Places of targets that a source reaches, with their taps.
    fn reached(&self, source: usize) -> Vec<(usize, usize)> {
        let mut reached = Vec::with_capacity(self.taps);
        for tap in 0..self.taps {
            let mut place = source as i64 + self.padding as i64 - tap as i64;
            if self.is_periodic {
                place = place.rem_euclid(self.sources as i64);
            }
            let Ok(place) = usize::try_from(place) else {
                continue;
            };
            if place.is_multiple_of(self.stride) && place / self.stride < self.targets {
                reached.push((place / self.stride, tap));
            }
        }
        reached
    }

    /// Pairs of source and target that a tap connects.
    fn pairs(&self, tap: usize) -> u64 {
        if self.is_periodic {
            return self.targets as u64;
        }
        let sources = (0..self.targets).map(|target| target * self.stride + tap);
        let inside = self.padding..self.padding + self.sources;
        sources.filter(|source| inside.contains(source)).count() as u64
    }

    /// What does not fit.
    fn problem(&self, name: char, is_same: bool) -> Option<String> {
        let (sources, targets, taps) = (self.sources, self.targets, self.taps);
        if taps > sources {
            return Some(format!(
                "the kernel has {taps} entries along {name}, and the grid of the sources {sources}"
            ));
        }
        let fitting = if self.is_periodic || is_same {
            sources.div_ceil(self.stride)
        } else {
            (sources + 2 * self.padding - taps) / self.stride + 1
        };
        if fitting != targets {
            return Some(format!(
                "along {name} {sources} sources give {fitting} targets with this kernel, stride and padding, and the grid has {targets}"
            ));
        }
        if self.is_periodic && !sources.is_multiple_of(self.stride) {
            return Some(format!(
                "along {name} a stride of {} does not divide the {sources} sources of a periodic grid",
                self.stride
            ));
        }
        None
    }
}

impl Convolution {
    /// The kernel over the grids, or what does not fit.
    pub fn new(plan: &ConvolutionPlan, ends: &Ends) -> Result<Self, String> {
        let ConvolutionPlan {
            kernel,
            shape,
            stride,
            padding,
        } = plan;
        let (
            PositionsPlan::Grid {
                counts: sources,
                periodic,
                ..
            },
            PositionsPlan::Grid {
                counts: targets, ..
            },
        ) = (&ends.sources, &ends.targets)
        else {
            return Err("a convolution is between two grids".to_owned());
        };
        if shape.len() != sources.len() || sources.len() != targets.len() {
            return Err(format!(
                "the kernel has {} axes, and the grids have {} and {}",
                shape.len(),
                sources.len(),
                targets.len()
            ));
        }
        let mut axes = Vec::with_capacity(shape.len());
        for axis in 0..shape.len() {
            // Kernels are written as arrays are: x last.
            let taps = shape[shape.len() - 1 - axis];
            let is_same = padding.is_none();
            let own = Axis {
                sources: sources[axis],
                targets: targets[axis],
                taps,
                stride: stride.get(axis).copied().unwrap_or(1).max(1),
                padding: match padding {
                    Some(padding) if !periodic => padding.get(axis).copied().unwrap_or(0),
                    _ => taps.saturating_sub(1) / 2,
                },
                is_periodic: *periodic,
            };
            let name = ['x', 'y', 'z'][axis.min(MAX_DIMENSIONS - 1)];
            if let Some(problem) = own.problem(name, is_same) {
                return Err(problem);
            }
            axes.push(own);
        }
        let InlineOrFile::Inline(kernel) = kernel else {
            return Err("the kernel was not read".to_owned());
        };
        if kernel.len() != shape.iter().product::<usize>() {
            return Err(format!(
                "the kernel has {} entries, and its shape {shape:?}",
                kernel.len()
            ));
        }
        Ok(Self {
            kernel: Arc::clone(kernel),
            axes,
        })
    }

    fn entry(&self, taps: &[usize]) -> f64 {
        let mut place = 0;
        for (axis, tap) in self.axes.iter().zip(taps).rev() {
            place = place * axis.taps + tap;
        }
        self.kernel[place]
    }

    /// The entry that connects two neurons; 0 for two that are not connected.
    pub fn between(&self, source: usize, target: usize) -> f64 {
        let count = |of: fn(&Axis) -> usize| self.axes.iter().map(of).collect::<Vec<_>>();
        let sources = places(&count(|axis| axis.sources), source);
        let targets = places(&count(|axis| axis.targets), target);
        let mut taps = [0; MAX_DIMENSIONS];
        for (number, axis) in self.axes.iter().enumerate() {
            let Some(tap) = axis.tap(sources[number], targets[number]) else {
                return 0.0;
            };
            taps[number] = tap;
        }
        self.entry(&taps[..self.axes.len()])
    }

    /// The targets of a source, ascending.
    pub fn row(&self, source: usize) -> Vec<u32> {
        let counts: Vec<_> = self.axes.iter().map(|axis| axis.sources).collect();
        let own = places(&counts, source);
        // Index of the target, its stride among targets, taps so far.
        let mut reached: Vec<(usize, [usize; MAX_DIMENSIONS])> = vec![(0, [0; MAX_DIMENSIONS])];
        let mut weight = 1;
        for (number, axis) in self.axes.iter().enumerate() {
            let along = axis.reached(own[number]);
            let before = std::mem::take(&mut reached);
            for (target, taps) in before {
                for (place, tap) in &along {
                    let mut taps = taps;
                    taps[number] = *tap;
                    reached.push((target + place * weight, taps));
                }
            }
            weight *= axis.targets;
        }
        let connected = reached
            .into_iter()
            .filter(|(_, taps)| self.entry(&taps[..self.axes.len()]) != 0.0);
        let mut row: Vec<_> = connected.map(|(target, _)| target as u32).collect();
        row.sort_unstable();
        row
    }

    /// Synapses that there will be, exactly.
    pub fn count(&self) -> u64 {
        let taps: Vec<_> = self.axes.iter().map(|axis| axis.taps).collect();
        let entries = self.kernel.iter().enumerate();
        let connecting = entries.filter(|(_, value)| **value != 0.0);
        connecting
            .map(|(entry, _)| {
                let place = places(&taps, entry);
                let axes = self.axes.iter().zip(place);
                axes.map(|(axis, tap)| axis.pairs(tap)).product::<u64>()
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(counts: &[usize], periodic: bool) -> PositionsPlan {
        PositionsPlan::Grid {
            counts: counts.to_vec(),
            spacing: vec![1.0; counts.len()],
            origin: vec![0.0; counts.len()],
            periodic,
        }
    }

    fn convolution(
        sources: &[usize],
        targets: &[usize],
        shape: &[usize],
        (stride, padding): (usize, Option<usize>),
        periodic: bool,
    ) -> Result<Convolution, String> {
        let entries = shape.iter().product();
        let kernel = (0..entries).map(|entry| (entry % 3) as f64).collect();
        let plan = ConvolutionPlan {
            kernel: InlineOrFile::new(kernel),
            shape: shape.to_vec(),
            stride: vec![stride; sources.len()],
            padding: padding.map(|padding| vec![padding; sources.len()]),
        };
        let ends = Ends {
            sources: grid(sources, periodic),
            targets: grid(targets, periodic),
            period: [0.0; MAX_DIMENSIONS],
        };
        Convolution::new(&plan, &ends)
    }

    #[test]
    fn rows_entries_and_count_agree() {
        for (sources, targets, shape, steps, periodic) in [
            (vec![9], vec![7], vec![3], (1, Some(0)), false),
            (vec![9, 6], vec![5, 3], vec![2, 4], (2, None), false),
            (vec![8, 6], vec![4, 3], vec![3, 5], (2, None), true),
            (
                vec![4, 5, 6],
                vec![4, 5, 6],
                vec![3, 3, 3],
                (1, Some(1)),
                false,
            ),
        ] {
            let made = convolution(&sources, &targets, &shape, steps, periodic).unwrap();
            let (from, to): (usize, usize) = (sources.iter().product(), targets.iter().product());
            let mut count = 0;
            for source in 0..from {
                let naive: Vec<u32> = (0..to as u32)
                    .filter(|target| made.between(source, *target as usize) != 0.0)
                    .collect();
                assert_eq!(made.row(source), naive);
                count += naive.len() as u64;
            }
            assert_eq!(made.count(), count);
        }
    }

    #[test]
    fn kernels_and_grids_that_do_not_fit_are_refused() {
        let problem = |sources: &[usize], targets: &[usize], shape: &[usize], steps, periodic| {
            convolution(sources, targets, shape, steps, periodic).unwrap_err()
        };
        assert!(problem(&[4], &[4], &[5], (1, None), false).contains("5 entries along x"));
        assert!(problem(&[4], &[4], &[3], (1, Some(0)), false).contains("2 targets"));
        assert!(problem(&[5], &[3], &[3], (2, None), true).contains("does not divide"));
        assert!(problem(&[4, 4], &[4], &[3], (1, None), false).contains("axes"));
    }
}
