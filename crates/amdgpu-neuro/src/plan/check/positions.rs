//! Positions of neurons, and what relies on them.

use super::super::expression::Expression;
use super::super::positions::{MAX_DIMENSIONS, PositionsPlan};
use super::super::spiking::{PatternPlan, ProjectionPlan, SpikingPlan};
use super::super::{Initializer, refuse};
use crate::error::{Error, Result};
use crate::spiking::check_convolution;

/// The positions of `size` neurons; before a file was read only what stands in the plan.
pub(super) fn check_positions(name: &str, size: usize, positions: &PositionsPlan) -> Result<()> {
    let fail = |reason: String| {
        Err(Error::InvalidDescription(format!(
            "the positions of {name:?} {reason}"
        )))
    };
    let is_length = |value: &f64| value.is_finite() && *value > 0.0;
    match positions {
        PositionsPlan::Grid {
            counts,
            spacing,
            origin,
            ..
        } => {
            let axes = counts.len();
            let all = counts
                .iter()
                .try_fold(1_usize, |all, count| all.checked_mul(*count));
            if !(1..=MAX_DIMENSIONS).contains(&axes)
                || spacing.len() != axes
                || origin.len() != axes
            {
                return fail(format!(
                    "have {axes} axes; 1 to {MAX_DIMENSIONS} are possible"
                ));
            }
            if all != Some(size) {
                return fail(format!("are a grid of {counts:?}, for {size} neurons"));
            }
            if !spacing.iter().all(is_length) || !origin.iter().all(|value| value.is_finite()) {
                return fail("have a spacing that is not above 0".to_owned());
            }
        }
        PositionsPlan::Points {
            dimensions,
            coordinates,
            scale,
            period,
        } => {
            if !(scale.is_finite() && *scale > 0.0) {
                return fail(format!("have the scale {scale}"));
            }
            if !coordinates.is_there() {
                return Ok(());
            }
            let axes = dimensions.unwrap_or(0);
            let found = coordinates.values().len();
            if !(1..=MAX_DIMENSIONS).contains(&axes) || size.checked_mul(axes) != Some(found) {
                return fail(format!(
                    "are {found} coordinates in {axes} dimensions, for {size} neurons"
                ));
            }
            if let Some(value) = coordinates.values().iter().find(|value| !value.is_finite()) {
                return fail(format!("hold {value}"));
            }
            if let Some(period) = period
                && (period.len() != axes || !period.iter().all(is_length))
            {
                return fail(format!("in {axes} dimensions have the period {period:?}"));
            }
        }
    }
    Ok(())
}

/// Whether all positions of a projection are read.
fn are_there(positions: &PositionsPlan) -> bool {
    match positions {
        PositionsPlan::Grid { .. } => true,
        PositionsPlan::Points { coordinates, .. } => coordinates.is_there(),
    }
}

/// Both ends begin anew after the same lengths, or neither does; `asks` is whether lengths matter.
fn check_periods(
    what: &str,
    projection: &ProjectionPlan,
    (from, to): (&PositionsPlan, &PositionsPlan),
    asks: bool,
) -> Result<()> {
    let differ = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * a.abs().max(b.abs());
    let (ours, theirs) = (from.period(), to.period());
    let is_same = match (&ours, &theirs) {
        (None, None) => true,
        // What a convolution relies on are places in the two grids, not lengths.
        (Some(ours), Some(theirs)) => !asks || !ours.iter().zip(theirs).any(differ),
        _ => false,
    };
    if !is_same {
        let text = |period: &Option<Vec<f64>>| match period {
            Some(period) => format!("{period:?}"),
            None => "nothing".to_owned(),
        };
        return Err(Error::InvalidDescription(format!(
            "{what}: the positions of {:?} begin anew after {}, those of {:?} after {}",
            projection.from,
            text(&ours),
            projection.to,
            text(&theirs)
        )));
    }
    Ok(())
}

/// A projection whose pattern or values depend on where its neurons are.
pub(super) fn check_space(plan: &SpikingPlan, projection: &ProjectionPlan) -> Result<()> {
    let what = format!("{} -> {}", projection.from, projection.to);
    let variables = projection.variables.iter().map(|variable| &variable.value);
    let values = variables.chain([&projection.weight, &projection.delay_seconds]);
    let programs = values.filter_map(|value| match value {
        Initializer::Expression { code } => Expression::new(code),
        _ => None,
    });
    let (mut asks, mut axes) = (false, 0);
    let is_convolution = matches!(projection.pattern, PatternPlan::Convolution(_));
    for program in programs {
        let (positions, kernel) = program.needs();
        asks |= positions;
        axes = axes.max(program.highest_axis().map_or(0, |axis| axis + 1));
        if kernel && !is_convolution {
            return Err(refuse(format!(
                "gives {what} a value by a kernel, which its pattern does not have"
            )));
        }
    }
    asks |= matches!(projection.pattern, PatternPlan::Gaussian { .. });
    if !asks && !is_convolution {
        return Ok(());
    }
    let of = |name: &str| {
        plan.positions_of(name).ok_or_else(|| {
            refuse(format!(
                "connects {what} by positions, and {name:?} has none"
            ))
        })
    };
    let (from, to) = (of(&projection.from)?, of(&projection.to)?);
    if let PatternPlan::Gaussian { sigma, peak } = &projection.pattern {
        let is_right = sigma.is_finite() && *sigma > 0.0 && (0.0..=1.0).contains(peak);
        if !is_right {
            return Err(refuse(format!(
                "connects {what} by distance with the width {sigma} and the probability {peak}"
            )));
        }
    }
    if !are_there(from) || !are_there(to) {
        return Ok(());
    }
    let dimensions = to.dimensions();
    if from.dimensions() != dimensions {
        return Err(Error::InvalidDescription(format!(
            "{what}: the positions of {:?} have {} dimensions, those of {:?} {dimensions}",
            projection.from,
            from.dimensions(),
            projection.to
        )));
    }
    if axes > dimensions {
        return Err(Error::InvalidDescription(format!(
            "{what}: a value uses {axes} axes, and the positions have {dimensions}"
        )));
    }
    check_periods(&what, projection, (from, to), asks)?;
    if is_convolution {
        check_convolution(plan, projection)
            .map_err(|reason| Error::InvalidDescription(format!("{what}: {reason}")))?;
    }
    Ok(())
}
