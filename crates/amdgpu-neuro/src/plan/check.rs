//! What building and stepping a spiking network rely on. The language's rules are the checker's; this is about plans that did not come
//! from it: afterwards every name and position in the plan is known to exist.

mod positions;
#[cfg(test)]
mod refusals;

use std::collections::HashSet;

use positions::{check_positions, check_space};

use super::expression::Expression;
use super::positions::MAX_DIMENSIONS;
use super::spiking::{
    DrivePlan, GroupPlan, KernelPlan, PatternPlan, Phase, PopulationPlan, ProjectionPlan,
    RangePlan, RecordPlan, RewardPlan, Role, SourcePlan, SpikingNetworkPlan, SpikingPlan,
    SynapseVariablePlan, ValuesPlan,
};
use super::{Initializer, refuse};
use crate::error::Result;

/// Neurons of a group and of a source: their indices are 32-bit words in kernels, and bytes of them must not overflow.
const MAX_NEURONS: usize = 1 << 30;

pub(super) fn check_spiking(plan: &SpikingNetworkPlan) -> Result<()> {
    if !(plan.dt_seconds.is_finite() && plan.dt_seconds > 0.0) {
        return Err(refuse(format!(
            "has the time step {}, which is not above 0",
            plan.dt_seconds
        )));
    }
    let spiking = &plan.spiking;
    let mut names = HashSet::new();
    for group in &spiking.groups {
        check_group(group)?;
        unique(&mut names, &group.name, "groups")?;
    }
    names.clear();
    for population in &spiking.populations {
        check_population(spiking, population)?;
        if let Some(positions) = &population.positions {
            check_positions(&population.name, population.size, positions)?;
        }
        unique(&mut names, &population.name, "populations")?;
    }
    if spiking.populations.is_empty() {
        return Err(refuse("has no populations"));
    }
    for source in &spiking.sources {
        check_source(source)?;
        if let Some(positions) = source.positions() {
            check_positions(source.name(), source.size(), positions)?;
        }
        unique(&mut names, source.name(), "populations or sources")?;
    }
    for drive in &spiking.drives {
        check_drive(spiking, drive)?;
    }
    for reward in &spiking.rewards {
        check_reward(reward)?;
    }
    for projection in &spiking.projections {
        check_projection(spiking, projection)?;
    }
    for kernel in &spiking.kernels {
        check_kernel(spiking, kernel)?;
    }
    check_updates(spiking)?;
    for record in &spiking.records {
        check_record(spiking, record)?;
    }
    Ok(())
}

fn unique<'a>(names: &mut HashSet<&'a str>, name: &'a str, what: &str) -> Result<()> {
    if names.insert(name) {
        return Ok(());
    }
    Err(refuse(format!("has two {what} {name:?}")))
}

fn check_size(what: &str, name: &str, size: usize) -> Result<()> {
    if (1..=MAX_NEURONS).contains(&size) {
        return Ok(());
    }
    Err(refuse(format!(
        "gives {what} {name:?} {size} neurons; 1 to {MAX_NEURONS} are possible"
    )))
}

fn check_value(what: &str, value: &Initializer) -> Result<()> {
    let numbers: &[f64] = match value {
        Initializer::Constant { value } => &[*value],
        Initializer::Random { low, high } => &[*low, *high],
        Initializer::Normal {
            mean,
            standard_deviation,
        } => &[*mean, *standard_deviation],
        Initializer::ClippedNormal {
            mean,
            standard_deviation,
            low,
            high,
        } => &[*mean, *standard_deviation, *low, *high],
        Initializer::Xavier {}
        | Initializer::He {}
        | Initializer::File { .. }
        | Initializer::Array { .. } => &[],
        Initializer::Position { axis } if *axis < MAX_DIMENSIONS => &[],
        Initializer::Position { .. } => {
            return Err(refuse(format!(
                "starts {what} with an axis that there is not"
            )));
        }
        Initializer::Expression { .. } => {
            return Err(refuse(format!(
                "starts {what} with an expression, which is for weights and variables of synapses"
            )));
        }
    };
    if numbers.iter().all(|number| (*number as f32).is_finite()) {
        return Ok(());
    }
    Err(refuse(format!(
        "gives {what} a value that float32 cannot hold"
    )))
}

/// A value that each synapse has its own of.
fn check_synapse_value(what: &str, value: &Initializer) -> Result<()> {
    let Initializer::Expression { code } = value else {
        return check_value(what, value);
    };
    if Expression::new(code).is_some() {
        return Ok(());
    }
    Err(refuse(format!(
        "gives {what} an expression that cannot be computed"
    )))
}

fn check_ranges(group: &GroupPlan, values: &ValuesPlan) -> Result<()> {
    let what = format!("{}.{}", group.name, values.name);
    let mut next = 0;
    for RangePlan {
        first,
        count,
        value,
    } in &values.values
    {
        check_value(&what, value)?;
        if matches!(value, Initializer::Xavier {} | Initializer::He {}) {
            return Err(refuse(format!(
                "starts {what} with a rule that is for weights"
            )));
        }
        if *first != next || *count == 0 || *count > group.size - next {
            return Err(refuse(format!(
                "does not give every neuron one value of {what}"
            )));
        }
        next += count;
    }
    if next == group.size {
        return Ok(());
    }
    Err(refuse(format!(
        "does not give every neuron one value of {what}"
    )))
}

fn check_group(group: &GroupPlan) -> Result<()> {
    check_size("group", &group.name, group.size)?;
    let mut names = HashSet::new();
    for values in group.variables.iter().chain(&group.parameters) {
        unique(&mut names, &values.name, "variables or parameters")?;
        check_ranges(group, values)?;
    }
    names.clear();
    for input in &group.inputs {
        unique(&mut names, input, "inputs")?;
    }
    Ok(())
}

fn check_population(plan: &SpikingPlan, population: &PopulationPlan) -> Result<()> {
    check_size("population", &population.name, population.size)?;
    let group = plan.groups.get(population.group).ok_or_else(|| {
        refuse(format!(
            "puts population {:?} into a group that it does not have",
            population.name
        ))
    })?;
    let end = population.first.checked_add(population.size);
    if end.is_none_or(|end| end > group.size) {
        return Err(refuse(format!(
            "gives population {:?} more neurons than its group has",
            population.name
        )));
    }
    Ok(())
}

fn check_source(source: &SourcePlan) -> Result<()> {
    check_size("source", source.name(), source.size())?;
    match source {
        SourcePlan::Poisson { name, rate_hz, .. } => {
            if matches!(rate_hz, Initializer::Xavier {} | Initializer::He {}) {
                return Err(refuse(format!(
                    "gives source {name:?} a rate by a rule that is for weights"
                )));
            }
            check_value(&format!("{name}.rate"), rate_hz)
        }
        SourcePlan::Spikes {
            name,
            size,
            times_seconds,
            indices,
            ..
        } => {
            let is_there = times_seconds.is_there() && indices.is_there();
            let (times_seconds, indices) = (times_seconds.values(), indices.values());
            if is_there && times_seconds.len() != indices.len() {
                return Err(refuse(format!(
                    "gives source {name:?} {} times and {} indices",
                    times_seconds.len(),
                    indices.len()
                )));
            }
            if indices.iter().any(|index| index >= size)
                || times_seconds
                    .iter()
                    .any(|time| !(time.is_finite() && *time >= 0.0))
            {
                return Err(refuse(format!(
                    "gives source {name:?} a spike of a neuron that it does not have, or a time below 0"
                )));
            }
            Ok(())
        }
    }
}

/// The population of a name, with its group.
fn population<'a>(
    plan: &'a SpikingPlan,
    name: &str,
) -> Result<(&'a PopulationPlan, &'a GroupPlan)> {
    plan.populations
        .iter()
        .find(|population| population.name == name)
        .map(|population| (population, &plan.groups[population.group]))
        .ok_or_else(|| {
            refuse(format!(
                "names the population {name:?}, which it does not have"
            ))
        })
}

fn check_input(group: &GroupPlan, input: &str) -> Result<()> {
    if group.input_index(input).is_some() {
        return Ok(());
    }
    Err(refuse(format!(
        "names the input {input:?}, which group {:?} does not have",
        group.name
    )))
}

fn check_interval(plan_name: &str, seconds: f64) -> Result<()> {
    if seconds.is_finite() && seconds > 0.0 {
        return Ok(());
    }
    Err(refuse(format!(
        "has the interval {seconds} s for {plan_name}, which is not above 0"
    )))
}

fn check_drive(plan: &SpikingPlan, drive: &DrivePlan) -> Result<()> {
    match drive {
        DrivePlan::Poisson {
            population: name,
            input,
            rate_hz,
            count,
            weight,
        } => {
            check_input(population(plan, name)?.1, input)?;
            let numbers = [*rate_hz, *count, *weight];
            if numbers.iter().all(|number| (*number as f32).is_finite())
                && *rate_hz >= 0.0
                && *count >= 0.0
            {
                return Ok(());
            }
            Err(refuse(format!(
                "has a Poisson drive of {name:?} with a rate, count or weight out of range"
            )))
        }
        DrivePlan::Current {
            population: name,
            variable,
            samples,
            every_seconds,
        } => {
            check_variable(population(plan, name)?.1, variable)?;
            check_interval(name, *every_seconds)?;
            if samples
                .values()
                .iter()
                .all(|sample| (*sample as f32).is_finite())
            {
                return Ok(());
            }
            Err(refuse(format!(
                "drives {name:?} with a sample that float32 cannot hold"
            )))
        }
    }
}

fn check_reward(reward: &RewardPlan) -> Result<()> {
    let is_value = |value: &f64| (*value as f32).is_finite();
    let is_right = match reward {
        RewardPlan::Times {
            times_seconds,
            values,
        } => {
            times_seconds.len() == values.len()
                && times_seconds.iter().all(|time| (0.0..1e9).contains(time))
                && values.iter().all(is_value)
        }
        RewardPlan::Every {
            every_seconds,
            value,
        } => {
            check_interval("a reward", *every_seconds)?;
            is_value(value)
        }
    };
    if is_right {
        return Ok(());
    }
    Err(refuse("has a reward with times or values out of range"))
}

fn check_variable(group: &GroupPlan, variable: &str) -> Result<()> {
    if group.variable_index(variable).is_some() {
        return Ok(());
    }
    Err(refuse(format!(
        "names the variable {variable:?}, which group {:?} does not have",
        group.name
    )))
}

/// Neurons of what a projection comes from.
fn source_size(plan: &SpikingPlan, name: &str) -> Result<usize> {
    let source = plan.sources.iter().find(|source| source.name() == name);
    match source {
        Some(source) => Ok(source.size()),
        None => Ok(population(plan, name)?.0.size),
    }
}

fn check_projection(plan: &SpikingPlan, projection: &ProjectionPlan) -> Result<()> {
    let what = format!("{} -> {}", projection.from, projection.to);
    let from = source_size(plan, &projection.from)?;
    let (target, group) = population(plan, &projection.to)?;
    let to = target.size;
    if let Some(input) = &projection.input {
        check_input(group, input)?;
    } else if projection.variables.is_empty() {
        return Err(refuse(format!("gives {what} neither input nor variables")));
    }
    check_synapse_value(&format!("the weight of {what}"), &projection.weight)?;
    check_synapse_value(&format!("the delay of {what}"), &projection.delay_seconds)?;
    check_space(plan, projection)?;
    for (variables, check) in [
        (
            &projection.variables,
            check_synapse_value as fn(&str, &Initializer) -> Result<()>,
        ),
        (&projection.pre_variables, check_value),
        (&projection.post_variables, check_value),
    ] {
        let mut names = HashSet::new();
        for variable in variables {
            unique(&mut names, &variable.name, "synapse variables")?;
            check(&format!("{what}.{}", variable.name), &variable.value)?;
        }
    }
    if !projection.variables.is_empty()
        && !matches!(projection.delay_seconds, Initializer::Constant { .. })
    {
        return Err(refuse(format!(
            "gives {what} synapses with variables and more than one delay"
        )));
    }
    check_pattern(&what, projection, (from, to))
}

/// Who is connected with whom, `from` neurons with `to`.
fn check_pattern(
    what: &str,
    projection: &ProjectionPlan,
    (from, to): (usize, usize),
) -> Result<()> {
    match &projection.pattern {
        PatternPlan::OneToOne {} if from != to => Err(refuse(format!(
            "connects {what} one to one with {from} and {to} neurons"
        ))),
        PatternPlan::Probability { probability } if !(0.0..=1.0).contains(probability) => {
            Err(refuse(format!(
                "connects {what} with the probability {probability}"
            )))
        }
        PatternPlan::Pairs { sources, targets }
            if sources.is_there()
                && targets.is_there()
                && sources.values().len() != targets.values().len() =>
        {
            Err(refuse(format!(
                "connects {what} by pairs of {} sources and {} targets",
                sources.values().len(),
                targets.values().len()
            )))
        }
        PatternPlan::Pairs { sources, targets } => {
            let outside = |list: &[u32], size: usize, side: &str| {
                let mut rows = list.iter().enumerate();
                let wrong = rows.find(|(_, index)| **index as usize >= size)?;
                Some(refuse(format!(
                    "connects {what} by pairs of which number {} has the {side} {}; there are {size}",
                    wrong.0, wrong.1
                )))
            };
            let wrong = outside(sources.values(), from, "source");
            match wrong.or_else(|| outside(targets.values(), to, "target")) {
                Some(error) => Err(error),
                None => Ok(()),
            }
        }
        PatternPlan::FixedIn { count } if !projection.allow_multapses && *count > from => {
            Err(refuse(format!(
                "gives each target of {what} {count} of {from} sources without multapses"
            )))
        }
        PatternPlan::FixedOut { count } if !projection.allow_multapses && *count > to => {
            Err(refuse(format!(
                "gives each source of {what} {count} of {to} targets without multapses"
            )))
        }
        _ => Ok(()),
    }
}

fn check_kernel(plan: &SpikingPlan, kernel: &KernelPlan) -> Result<()> {
    let fail = |reason: &str| Err(refuse(format!("has a kernel {:?} {reason}", kernel.name)));
    let is_known = match (kernel.group, kernel.projection) {
        (Some(group), None) => group < plan.groups.len(),
        (None, Some(projection)) => projection < plan.projections.len(),
        _ => false,
    };
    if !is_known {
        return fail("that is not for one group or one projection");
    }
    let fits = match kernel.phase {
        Phase::Update => kernel.group.is_some(),
        Phase::Start
        | Phase::OnPre
        | Phase::OnPost
        | Phase::TracePre
        | Phase::TracePost
        | Phase::OnReward => kernel.projection.is_some(),
        Phase::Initialize | Phase::Clocked => true,
    };
    if !fits {
        return fail("whose phase does not fit what it is for");
    }
    for argument in &kernel.arguments {
        let name = argument.name.as_str();
        let is_known = if let Some(group) = kernel.group {
            let group = &plan.groups[group];
            match argument.role {
                Role::Count | Role::Step | Role::Seed | Role::Fired => true,
                Role::Refractory => group.has_refractory,
                Role::Parameter => is_uniform(group, name),
                Role::ParameterArray => group.parameter_index(name).is_some(),
                Role::State => group.variable_index(name).is_some(),
                Role::Input | Role::Unit | Role::WideInput | Role::WideUnit => {
                    group.input_index(name).is_some()
                }
                _ => false,
            }
        } else {
            let projection = &plan.projections[kernel.projection.unwrap_or_default()];
            is_synapse_argument(plan, projection, kernel.phase, argument.role, name)?
        };
        if !is_known {
            return fail(&format!(
                "with the argument {:?} {name:?}, which it cannot have",
                argument.role
            ));
        }
    }
    Ok(())
}

fn is_uniform(group: &GroupPlan, name: &str) -> bool {
    group.parameter_index(name).is_some_and(|index| {
        matches!(
            group.parameters[index].values.as_slice(),
            [RangePlan {
                value: Initializer::Constant { .. },
                ..
            }]
        )
    })
}

fn is_synapse_argument(
    plan: &SpikingPlan,
    projection: &ProjectionPlan,
    phase: Phase,
    role: Role,
    name: &str,
) -> Result<bool> {
    let target = population(plan, &projection.to)?.1;
    let source = population(plan, &projection.from).ok();
    let source = source.map(|(_, group)| group);
    let has =
        |variables: &[SynapseVariablePlan]| variables.iter().any(|variable| variable.name == name);
    let is_event = matches!(phase, Phase::OnPre | Phase::OnPost);
    Ok(match role {
        Role::Count
        | Role::Step
        | Role::Seed
        | Role::RowStarts
        | Role::RowEnds
        | Role::Columns
        | Role::SynapseSources
        | Role::ColumnStarts
        | Role::ColumnEnds
        | Role::ColumnSynapses
        | Role::ColumnSources
        | Role::LastUpdate
        | Role::Reward => true,
        Role::SpikeList | Role::SpikeCount => is_event,
        Role::Events => matches!(phase, Phase::TracePre | Phase::TracePost),
        Role::SynapseState => has(&projection.variables),
        Role::PreState => has(&projection.pre_variables),
        Role::PostState => has(&projection.post_variables),
        Role::Parameter => is_uniform(target, name),
        Role::TargetState => target.variable_index(name).is_some(),
        Role::TargetParameter => target.parameter_index(name).is_some(),
        Role::SourceState => source.is_some_and(|group| group.variable_index(name).is_some()),
        Role::SourceParameter => source.is_some_and(|group| group.parameter_index(name).is_some()),
        Role::TargetInput | Role::PerUnit | Role::MostUnits => {
            if projection.weight_bound.is_none() {
                return Err(refuse(format!(
                    "has kernels of {} -> {} that add to {name:?} and no weight_bound; without one they add to wide_target_input",
                    projection.from, projection.to
                )));
            }
            target.input_index(name).is_some()
        }
        Role::WideTargetInput | Role::PerWideUnit | Role::MostWideUnits => {
            projection.amounts.is_some() && target.input_index(name).is_some()
        }
        Role::Overflow => projection.amounts.is_some(),
        _ => false,
    })
}

/// Every group is updated by one kernel, and one that takes all its inputs.
fn check_updates(plan: &SpikingPlan) -> Result<()> {
    for (number, group) in plan.groups.iter().enumerate() {
        let mut updates = plan
            .kernels
            .iter()
            .filter(|kernel| kernel.phase == Phase::Update && kernel.group == Some(number));
        let (Some(update), None) = (updates.next(), updates.next()) else {
            return Err(refuse(format!(
                "must have one update kernel for group {:?}",
                group.name
            )));
        };
        for input in &group.inputs {
            let takes = |argument: &super::spiking::ArgumentPlan| {
                argument.role == Role::Input && argument.name == *input
            };
            if !update.arguments.iter().any(takes) {
                return Err(refuse(format!(
                    "has an update kernel of group {:?} that never takes the input {input:?}",
                    group.name
                )));
            }
        }
    }
    Ok(())
}

fn check_record(plan: &SpikingPlan, record: &RecordPlan) -> Result<()> {
    match record {
        RecordPlan::Spikes { population } => source_size(plan, population).map(|_| ()),
        RecordPlan::State {
            population: name,
            variable,
            first,
            count,
            every_seconds,
        } => {
            let (population, group) = population(plan, name)?;
            check_variable(group, variable)?;
            check_interval(name, *every_seconds)?;
            let end = first.checked_add(*count);
            if end.is_none_or(|end| end > population.size) {
                return Err(refuse(format!(
                    "records neurons that population {name:?} does not have"
                )));
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::NetworkPlan;

    const SCHEMA: &str = include_str!("../../../../docs/plan_schema.md");

    /// The plan that the documentation shows.
    fn documented() -> String {
        let section = SCHEMA.split_once("\n## Spiking\n").unwrap().1;
        let json = section.split_once("```json\n").unwrap().1;
        json.split_once("```").unwrap().0.to_owned()
    }

    fn refusal(from: &str, to: &str) -> String {
        let changed = documented().replacen(from, to, 1);
        assert_ne!(changed, documented(), "nothing was changed");
        NetworkPlan::from_json(changed).unwrap_err().to_string()
    }

    #[test]
    fn the_documented_plan_is_read_and_written_back() {
        let plan = NetworkPlan::from_json(documented()).unwrap();
        let written = serde_json::to_string(plan.spiking().unwrap()).unwrap();
        let again = NetworkPlan::from_json(written).unwrap();
        assert_eq!(again.kind(), plan.kind());
    }

    #[test]
    fn plans_that_name_what_is_not_there_are_refused() {
        for (from, to, reason) in [
            ("0.0001,", "0.0,", "time step"),
            ("\"count\": 3200", "\"count\": 3100", "every neuron"),
            ("\"size\": 800", "\"size\": 801", "more neurons"),
            (
                "\"group\": 0, \"first\"",
                "\"group\": 7, \"first\"",
                "group",
            ),
            ("\"name\": \"inh\"", "\"name\": \"exc\"", "two populations"),
            ("\"to\": \"inh\"", "\"to\": \"in\"", "population \"in\""),
            ("\"input\": \"ge\"", "\"input\": \"gx\"", "input \"gx\""),
            ("0.02}, \"allow", "1.5}, \"allow", "probability 1.5"),
            ("\"phase\": \"update\"", "\"phase\": \"on_pre\"", "phase"),
            (
                "\"phase\": \"update\"",
                "\"phase\": \"clocked\"",
                "one update kernel",
            ),
            (
                "          {\"role\": \"input\", \"name\": \"ge\", \"type\": \"int*\", \"identifier\": \"row_ge\"},\n",
                "",
                "never takes",
            ),
            (
                "\"role\": \"state\", \"name\": \"v\"",
                "\"role\": \"state\", \"name\": \"x\"",
                "State \"x\"",
            ),
            (
                "\"variable\": \"v\"",
                "\"variable\": \"u\"",
                "variable \"u\"",
            ),
            ("\"count\": 10", "\"count\": 3201", "records neurons"),
        ] {
            let message = refusal(from, to);
            assert!(message.contains(reason), "{message}");
        }
    }
}
