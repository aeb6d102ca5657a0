//! Spikes of a few neurons of each population: what a raster shows.

use std::ops::Range;

/// Neurons that are shown, of all populations together: as many rows as a screen has room for.
const SHOWN_NEURONS: usize = 256;
/// Spikes that are kept between two looks; those past it are counted.
const MAX_SPIKES: usize = 2048;

/// The neurons of a population that are shown: its first ones.
#[derive(Clone, Debug)]
struct Window {
    origin: usize,
    /// Inside the origin.
    neurons: Range<u32>,
    population: u32,
}

/// One spike that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spike {
    pub step: u64,
    pub population: u32,
    /// Inside the population.
    pub neuron: u32,
}

/// Takes spikes as they happen. What it costs does not grow with the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct RasterSample {
    windows: Vec<Window>,
    spikes: Vec<Spike>,
    left_out: u64,
}

impl RasterSample {
    /// For populations given by the origin of their spikes, their first neuron in it, and their size.
    pub fn new(populations: impl IntoIterator<Item = (usize, usize, usize)>) -> Self {
        let populations: Vec<_> = populations.into_iter().collect();
        let each = (SHOWN_NEURONS / populations.len().max(1)).max(1);
        let windows = populations.iter().take(SHOWN_NEURONS).enumerate();
        Self {
            windows: windows
                .map(|(number, (origin, first, size))| Window {
                    origin: *origin,
                    neurons: *first as u32..(*first + each.min(*size)) as u32,
                    population: number as u32,
                })
                .collect(),
            spikes: Vec::with_capacity(MAX_SPIKES),
            left_out: 0,
        }
    }

    /// Neurons shown of each population.
    pub fn shown(&self) -> Vec<u32> {
        let windows = self.windows.iter();
        windows.map(|window| window.neurons.len() as u32).collect()
    }

    /// Takes the spikes of an origin in a step. They are in the order of neurons, which makes finding the few that are shown cheap.
    pub fn take(&mut self, origin: usize, step: u64, indices: &[u32]) {
        for window in self.windows.iter().filter(|window| window.origin == origin) {
            let begin = indices.partition_point(|index| *index < window.neurons.start);
            for index in indices[begin..]
                .iter()
                .take_while(|index| **index < window.neurons.end)
            {
                if self.spikes.len() == MAX_SPIKES {
                    self.left_out += 1;
                    continue;
                }
                self.spikes.push(Spike {
                    step,
                    population: window.population,
                    neuron: index - window.neurons.start,
                });
            }
        }
    }

    /// Hands out what came since the last call, and how many were left out.
    pub fn drain(&mut self) -> (std::vec::Drain<'_, Spike>, u64) {
        (self.spikes.drain(..), std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_neurons_of_each_population_are_shown() {
        // Two populations in one group, and a source.
        let mut raster = RasterSample::new([(0, 0, 1000), (0, 1000, 10), (1, 0, 40)]);
        assert_eq!(raster.shown(), [85, 10, 40]);
        raster.take(0, 5, &[0, 84, 85, 999, 1000, 1009]);
        raster.take(1, 6, &[39]);
        raster.take(2, 6, &[1]);
        let (spikes, left_out) = raster.drain();
        let found: Vec<_> = spikes
            .map(|spike| (spike.step, spike.population, spike.neuron))
            .collect();
        assert_eq!(
            found,
            [(5, 0, 0), (5, 0, 84), (5, 1, 0), (5, 1, 9), (6, 2, 39)]
        );
        assert_eq!(left_out, 0);
    }

    #[test]
    fn memory_is_bounded_and_what_is_left_out_counted() {
        let mut raster = RasterSample::new([(0, 0, 4)]);
        for step in 0..1000 {
            raster.take(0, step, &[0, 1, 2, 3]);
        }
        let (count, left_out) = {
            let (spikes, left_out) = raster.drain();
            (spikes.len(), left_out)
        };
        assert_eq!(count, MAX_SPIKES);
        assert_eq!(left_out, 4000 - MAX_SPIKES as u64);
        raster.take(0, 0, &[2]);
        assert_eq!(raster.drain().0.len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_what_a_filter_finds(
            sizes in proptest::collection::vec(0..400usize, 1..6), mut spikes: Vec<u16>,
        ) {
            let mut first = 0;
            let populations: Vec<_> = sizes
                .iter()
                .map(|size| {
                    let begin = first;
                    first += size;
                    (0, begin, *size)
                })
                .collect();
            let total = first.max(1) as u16;
            for spike in &mut spikes {
                *spike %= total;
            }
            spikes.sort_unstable();
            spikes.dedup();
            let spikes: Vec<u32> = spikes.into_iter().map(u32::from).collect();
            let mut raster = RasterSample::new(populations.iter().copied());
            let shown = raster.shown();
            raster.take(0, 1, &spikes);
            let found: Vec<_> = raster.drain().0.map(|spike| (spike.population, spike.neuron)).collect();
            let mut wanted = Vec::new();
            for (number, (_, begin, _)) in populations.iter().enumerate() {
                for spike in &spikes {
                    if (*begin as u32..*begin as u32 + shown[number]).contains(spike) {
                        wanted.push((number as u32, *spike - *begin as u32));
                    }
                }
            }
            proptest::prop_assert_eq!(found, wanted);
        }
    }
}
