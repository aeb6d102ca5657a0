//! What patterns and values on positions know about two sets of neurons: where each neuron is, which ones are near, which entry of a
//! kernel connects them.

mod convolution;
mod neighbours;

pub(crate) use convolution::Convolution;
pub(crate) use neighbours::Neighbours;

use crate::plan::Initializer;
use crate::plan::expression::{Expression, Pair, Synapse};
use crate::plan::positions::{MAX_DIMENSIONS, PositionsPlan};
use crate::plan::spiking::{PatternPlan, ProjectionPlan, SpikingPlan};

/// Positions of the two ends of a projection.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub sources: PositionsPlan,
    pub targets: PositionsPlan,
    /// Length after which an axis begins anew; 0 where it never does.
    pub period: [f64; MAX_DIMENSIONS],
}

impl Ends {
    fn of(spiking: &SpikingPlan, projection: &ProjectionPlan) -> Option<Self> {
        let sources = spiking.positions_of(&projection.from)?.clone();
        let targets = spiking.positions_of(&projection.to)?.clone();
        let mut period = [0.0; MAX_DIMENSIONS];
        for (own, given) in period.iter_mut().zip(targets.period().unwrap_or_default()) {
            *own = given;
        }
        Some(Self {
            sources,
            targets,
            period,
        })
    }

    /// The square of the distance between two positions: the shorter way round on axes that begin anew.
    pub fn squared(&self, from: [f64; MAX_DIMENSIONS], to: [f64; MAX_DIMENSIONS]) -> f64 {
        let mut sum = 0.0;
        for axis in 0..MAX_DIMENSIONS {
            let mut way = to[axis] - from[axis];
            let period = self.period[axis];
            if period > 0.0 {
                way -= period * (way / period).round();
            }
            sum += way * way;
        }
        sum
    }
}

/// What a projection needs beside its pattern's numbers.
#[derive(Debug)]
pub(crate) struct Space {
    ends: Option<Ends>,
    neighbours: Option<Neighbours>,
    convolution: Option<Convolution>,
}

/// Whether a value of a projection asks where neurons are.
pub(crate) fn asks_for_positions(projection: &ProjectionPlan) -> bool {
    let variables = projection.variables.iter().map(|variable| &variable.value);
    let mut values = variables.chain([&projection.weight, &projection.delay_seconds]);
    values.any(|value| match value {
        Initializer::Expression { code } => {
            Expression::new(code).is_some_and(|expression| expression.needs().0)
        }
        _ => false,
    })
}

impl Space {
    /// `None` where nothing of the projection depends on positions. The plan was checked.
    pub fn of(spiking: &SpikingPlan, projection: &ProjectionPlan) -> Option<Self> {
        let mut space = Self {
            ends: None,
            neighbours: None,
            convolution: None,
        };
        match &projection.pattern {
            PatternPlan::Gaussian { sigma, peak } => {
                let ends = Ends::of(spiking, projection)?;
                let targets = spiking.size_of(&projection.to);
                space.neighbours = Some(Neighbours::new(&ends, targets, *sigma, *peak));
                space.ends = Some(ends);
            }
            PatternPlan::Convolution(plan) => {
                let ends = Ends::of(spiking, projection)?;
                space.convolution = Convolution::new(plan, &ends).ok();
                space.ends = Some(ends);
            }
            _ if asks_for_positions(projection) => space.ends = Ends::of(spiking, projection),
            _ => return None,
        }
        Some(space)
    }

    /// Positions and neighbours of a pattern by distance.
    pub fn neighbours(&self) -> Option<(&Ends, &Neighbours)> {
        self.ends.as_ref().zip(self.neighbours.as_ref())
    }

    pub fn convolution(&self) -> Option<&Convolution> {
        self.convolution.as_ref()
    }
}

/// What does not fit in a convolution whose positions and kernel are there.
pub(crate) fn check_convolution(
    spiking: &SpikingPlan,
    projection: &ProjectionPlan,
) -> Result<(), String> {
    let ends = Ends::of(spiking, projection).ok_or("positions are missing")?;
    match &projection.pattern {
        PatternPlan::Convolution(plan) if plan.kernel.is_there() => {
            Convolution::new(plan, &ends).map(|_| ())
        }
        _ => Ok(()),
    }
}

impl Pair for Space {
    fn coordinate(&self, synapse: Synapse, is_target: bool, axis: usize) -> f64 {
        self.ends.as_ref().map_or(f64::NAN, |ends| {
            if is_target {
                ends.targets.of(synapse.target as usize)[axis]
            } else {
                ends.sources.of(synapse.source as usize)[axis]
            }
        })
    }

    fn distance(&self, synapse: Synapse) -> f64 {
        self.ends.as_ref().map_or(f64::NAN, |ends| {
            let from = ends.sources.of(synapse.source as usize);
            ends.squared(from, ends.targets.of(synapse.target as usize))
                .sqrt()
        })
    }

    fn kernel(&self, synapse: Synapse) -> f64 {
        self.convolution.as_ref().map_or(f64::NAN, |convolution| {
            convolution.between(synapse.source as usize, synapse.target as usize)
        })
    }
}
