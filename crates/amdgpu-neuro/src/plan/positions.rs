//! Where neurons are: positions of a population or source.

use serde::{Deserialize, Serialize};

use super::inline_or_file::InlineOrFile;

/// Axes at most: x, y, z.
pub const MAX_DIMENSIONS: usize = 3;

/// Positions of the neurons of a population or source, in one to three dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PositionsPlan {
    /// Neuron `i` stands at `i mod counts[0]` of the first axis, and so on: x changes fastest.
    Grid {
        counts: Vec<usize>,
        spacing: Vec<f64>,
        origin: Vec<f64>,
        /// Whether what leaves on one side comes in on the other, after `counts · spacing`.
        periodic: bool,
    },
    /// `dimensions` coordinates for each neuron, one neuron after the other.
    Points {
        /// Those of the file where it is not said.
        dimensions: Option<usize>,
        coordinates: InlineOrFile<f64>,
        /// What coordinates are multiplied with.
        scale: f64,
        period: Option<Vec<f64>>,
    },
}

impl PositionsPlan {
    /// How many axes there are; 0 before a file was read.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Grid { counts, .. } => counts.len(),
            Self::Points { dimensions, .. } => dimensions.unwrap_or(0),
        }
    }

    /// The length after which each axis begins anew; `None` where nothing does.
    #[must_use]
    pub fn period(&self) -> Option<Vec<f64>> {
        match self {
            Self::Grid {
                counts,
                spacing,
                periodic,
                ..
            } => periodic.then(|| {
                let axes = counts.iter().zip(spacing);
                axes.map(|(count, spacing)| *count as f64 * spacing)
                    .collect()
            }),
            Self::Points { period, .. } => period.clone(),
        }
    }

    /// The position of a neuron; 0 on axes that there are not.
    #[must_use]
    pub fn of(&self, neuron: usize) -> [f64; MAX_DIMENSIONS] {
        let mut position = [0.0; MAX_DIMENSIONS];
        match self {
            Self::Grid {
                counts,
                spacing,
                origin,
                ..
            } => {
                for (axis, place) in places(counts, neuron)
                    .into_iter()
                    .take(counts.len())
                    .enumerate()
                {
                    position[axis] = origin[axis] + place as f64 * spacing[axis];
                }
            }
            Self::Points {
                coordinates, scale, ..
            } => {
                let dimensions = self.dimensions();
                let own = coordinates.values()[neuron * dimensions..].iter();
                for (axis, value) in own.take(dimensions).enumerate() {
                    position[axis] = value * scale;
                }
            }
        }
        position
    }
}

/// Where neuron `index` of a grid stands, in steps of the grid.
#[must_use]
pub fn places(counts: &[usize], index: usize) -> [usize; MAX_DIMENSIONS] {
    let mut places = [0; MAX_DIMENSIONS];
    let mut rest = index;
    for (place, count) in places.iter_mut().zip(counts) {
        *place = rest % count;
        rest /= count;
    }
    places
}
