//! Every rule of the checker: the last value that it takes, and the first that it refuses, with the words of the refusal.

use serde_json::{Value, json};

use crate::plan::NetworkPlan;

const SCHEMA: &str = include_str!("../../../../../docs/plan_schema.md");

/// The documented plan with something of everything that a plan can have.
fn base() -> Value {
    let section = SCHEMA.split_once("\n## Spiking\n").unwrap().1;
    let text = section.split_once("```json\n").unwrap().1;
    let mut plan: Value = serde_json::from_str(text.split_once("```").unwrap().0).unwrap();
    let spiking = &mut plan["spiking"];
    let constant = |value: f64| json!({"kind": "constant", "value": value});
    spiking["sources"] = json!([
        {"kind": "poisson", "name": "noise", "size": 7, "rate_hz": constant(5.0)},
        {"kind": "spikes", "name": "list", "size": 3, "times_seconds": [0.0, 0.5], "indices": [0, 2]},
    ]);
    spiking["drives"] = json!([
        {"kind": "poisson", "population": "inh", "input": "ge", "rate_hz": 9.0, "count": 80.0, "weight": -1.0},
        {"kind": "current", "population": "exc", "variable": "v", "samples": [0.0, 1.0], "every_seconds": 0.1},
    ]);
    spiking["rewards"] = json!([
        {"kind": "times", "times_seconds": [0.0, 1.0], "values": [1.0, -1.0]},
        {"kind": "every", "every_seconds": 0.1, "value": 0.5},
    ]);
    let projections = spiking["projections"].as_array_mut().unwrap();
    projections.push(json!({
        "from": "noise", "to": "exc", "input": null, "pattern": {"kind": "fixed_in", "count": 7},
        "weight": constant(0.0), "weight_bound": 1.0, "delay_seconds": constant(0.0),
        "variables": [{"name": "w", "value": constant(1.0)}],
        "pre_variables": [{"name": "before", "value": constant(0.0)}],
        "post_variables": [{"name": "after", "value": constant(0.0)}],
    }));
    projections.push(json!({
        "from": "exc", "to": "inh", "input": "ge", "weight": constant(0.0), "delay_seconds": constant(0.0),
        "pattern": {"kind": "pairs", "sources": [0, 3199], "targets": [0, 799]},
    }));
    let kernels = spiking["kernels"].as_array_mut().unwrap();
    kernels.push(json!({
        "name": "on_pre", "phase": "on_pre", "projection": 1,
        "arguments": [
            {"role": "spike_list"}, {"role": "spike_count"}, {"role": "row_starts"}, {"role": "columns"},
            {"role": "synapse_state", "name": "w"}, {"role": "pre_state", "name": "before"},
            {"role": "post_state", "name": "after"}, {"role": "target_input", "name": "ge"},
            {"role": "target_state", "name": "v"}, {"role": "parameter", "name": "taum"},
        ],
    }));
    plan
}

fn outcome(changes: &[(&str, Value)]) -> Result<(), String> {
    let mut plan = base();
    for (pointer, value) in changes {
        let place = plan.pointer_mut(&format!("/spiking/{pointer}"));
        *place.unwrap_or_else(|| panic!("{pointer} is in the plan")) = value.clone();
    }
    NetworkPlan::from_json(plan.to_string())
        .map(drop)
        .map_err(|error| error.to_string())
}

fn refused(pointer: &str, value: &Value, reason: &str) {
    match outcome(&[(pointer, value.clone())]) {
        Ok(()) => panic!("{pointer} may not be {value}"),
        Err(text) => assert!(text.contains(reason), "{pointer} of {value}: {text}"),
    }
}

fn accepted(pointer: &str, value: &Value) {
    if let Err(text) = outcome(&[(pointer, value.clone())]) {
        panic!("{pointer} may be {value}: {text}");
    }
}

fn constant(value: f64) -> Value {
    json!({"kind": "constant", "value": value})
}

#[test]
fn the_plan_with_everything_is_accepted() {
    assert_eq!(outcome(&[]), Ok(()));
}

#[test]
fn sources_spike_with_neurons_and_at_times_that_there_are() {
    let out = "a neuron that it does not have, or a time below 0";
    accepted("sources/1/indices", &json!([2, 2]));
    refused("sources/1/indices", &json!([0, 3]), out);
    refused("sources/1/indices", &json!([0]), "2 times and 1 indices");
    refused("sources/1/times_seconds", &json!([0.0, -1e-9]), out);
    refused("sources/0/size", &json!(0), "1 to 1073741824 are possible");
    accepted("sources/0/size", &json!(1 << 30));
    refused(
        "sources/0/size",
        &json!((1 << 30) + 1),
        "1 to 1073741824 are possible",
    );
    refused(
        "sources/0/name",
        &json!("exc"),
        "two populations or sources",
    );
    refused(
        "sources/0/rate_hz",
        &json!({"kind": "he"}),
        "a rule that is for weights",
    );
    refused("sources/0/rate_hz", &constant(1e39), "float32 cannot hold");
}

#[test]
fn drives_act_on_what_is_there_with_numbers_in_range() {
    let poisson = "rate, count or weight out of range";
    for name in ["rate_hz", "count"] {
        let pointer = format!("drives/0/{name}");
        accepted(&pointer, &json!(0.0));
        refused(&pointer, &json!(-1e-9), poisson);
        refused(&pointer, &json!(1e39), poisson);
    }
    accepted("drives/0/weight", &json!(-2.5));
    refused("drives/0/weight", &json!(1e39), poisson);
    refused("drives/0/input", &json!("v"), "names the input \"v\"");
    refused(
        "drives/0/population",
        &json!("list"),
        "names the population \"list\"",
    );
    refused(
        "drives/1/variable",
        &json!("taum"),
        "names the variable \"taum\"",
    );
    refused(
        "drives/1/population",
        &json!("cell"),
        "names the population \"cell\"",
    );
    refused(
        "drives/1/every_seconds",
        &json!(0.0),
        "which is not above 0",
    );
    accepted("drives/1/every_seconds", &json!(1e-9));
    refused(
        "drives/1/samples",
        &json!([0.0, 1e39]),
        "a sample that float32 cannot hold",
    );
    accepted("drives/1/samples", &json!([]));
}

#[test]
fn rewards_have_times_and_values_in_range() {
    let reason = "a reward with times or values out of range";
    refused("rewards/0/times_seconds", &json!([0.0]), reason);
    refused("rewards/0/times_seconds", &json!([0.0, -1.0]), reason);
    refused("rewards/0/times_seconds", &json!([0.0, 1e9]), reason);
    accepted("rewards/0/times_seconds", &json!([0.0, 9.9e8]));
    refused("rewards/0/values", &json!([0.0, 1e39]), reason);
    refused("rewards/1/value", &json!(-1e39), reason);
    refused(
        "rewards/1/every_seconds",
        &json!(-0.1),
        "which is not above 0",
    );
    refused(
        "rewards/1/every_seconds",
        &json!(0.0),
        "which is not above 0",
    );
}

#[test]
fn groups_and_populations_have_their_neurons_once() {
    let every = "every neuron one value of cell.v";
    let range =
        |first: u64, count: u64| json!({"first": first, "count": count, "value": constant(0.0)});
    let values = "groups/0/variables/0/values";
    accepted(values, &json!([range(0, 1), range(1, 3999)]));
    accepted(values, &json!([range(0, 4000)]));
    refused(values, &json!([range(0, 3999)]), every);
    refused(values, &json!([range(0, 4001)]), every);
    refused(values, &json!([range(1, 3999)]), every);
    refused(values, &json!([range(0, 0), range(0, 4000)]), every);
    refused(values, &json!([range(0, 2000), range(1999, 2001)]), every);
    let rule = json!([{"first": 0, "count": 4000, "value": {"kind": "xavier"}}]);
    refused(values, &rule, "a rule that is for weights");
    let axis = |axis: u64| json!([{"first": 0, "count": 4000, "value": {"kind": "position", "axis": axis}}]);
    accepted(values, &axis(2));
    refused(values, &axis(3), "an axis that there is not");
    let code = json!([{"first": 0, "count": 4000, "value": {"kind": "expression", "code": ["i"]}}]);
    refused(values, &code, "for weights and variables of synapses");
    refused(
        "groups/0/variables/1/name",
        &json!("v"),
        "two variables or parameters",
    );
    refused(
        "groups/0/parameters/0/name",
        &json!("v"),
        "two variables or parameters",
    );
    refused("groups/0/inputs", &json!(["ge", "ge"]), "two inputs \"ge\"");
    refused(
        "populations/1/first",
        &json!(3201),
        "more neurons than its group has",
    );
    refused(
        "populations/1/first",
        &json!(u64::MAX),
        "more neurons than its group has",
    );
    refused(
        "populations/0/group",
        &json!(1),
        "into a group that it does not have",
    );
    refused("populations", &json!([]), "has no populations");
}

#[test]
fn patterns_connect_neurons_that_there_are() {
    let pattern = "projections/1/pattern";
    refused(
        pattern,
        &json!({"kind": "fixed_in", "count": 8}),
        "8 of 7 sources without multapses",
    );
    let many = [
        (pattern, json!({"kind": "fixed_in", "count": 8})),
        ("projections/1", {
            let mut one = base()["spiking"]["projections"][1].clone();
            one["allow_multapses"] = json!(true);
            one["pattern"] = json!({"kind": "fixed_in", "count": 8});
            one
        }),
    ];
    assert_eq!(outcome(&many), Ok(()));
    accepted(pattern, &json!({"kind": "fixed_out", "count": 3200}));
    refused(
        pattern,
        &json!({"kind": "fixed_out", "count": 3201}),
        "3201 of 3200 targets",
    );
    refused(
        pattern,
        &json!({"kind": "one_to_one"}),
        "one to one with 7 and 3200 neurons",
    );
    let probability = |probability: f64| json!({"kind": "probability", "probability": probability});
    accepted(pattern, &probability(0.0));
    accepted(pattern, &probability(1.0));
    refused(pattern, &probability(1.0 + 1e-9), "with the probability");
    refused(pattern, &probability(-1e-9), "with the probability");
    let pairs = |sources: Value, targets: Value| json!({"kind": "pairs", "sources": sources, "targets": targets});
    let pattern = "projections/2/pattern";
    refused(
        pattern,
        &pairs(json!([0]), json!([0, 1])),
        "pairs of 1 sources and 2 targets",
    );
    refused(
        pattern,
        &pairs(json!([1, 3200]), json!([0, 1])),
        "number 1 has the source 3200; there are 3200",
    );
    refused(
        pattern,
        &pairs(json!([1, 2]), json!([800, 1])),
        "number 0 has the target 800; there are 800",
    );
}

#[test]
fn projections_have_ends_an_input_and_values_that_can_be_computed() {
    let nothing = [("projections/0/input", Value::Null)];
    assert!(
        outcome(&nothing)
            .unwrap_err()
            .contains("neither input nor variables")
    );
    refused(
        "projections/0/from",
        &json!("nobody"),
        "population \"nobody\"",
    );
    refused("projections/0/to", &json!("list"), "population \"list\"");
    refused(
        "projections/0/weight",
        &constant(1e39),
        "the weight of exc -> inh",
    );
    refused(
        "projections/0/delay_seconds",
        &constant(1e39),
        "the delay of exc -> inh",
    );
    let unknown = json!({"kind": "expression", "code": ["i", "unknown"]});
    refused(
        "projections/0/weight",
        &unknown,
        "an expression that cannot be computed",
    );
    accepted(
        "projections/0/weight",
        &json!({"kind": "expression", "code": ["i", "j", "+"]}),
    );
    let kernel = json!({"kind": "expression", "code": ["kernel"]});
    refused(
        "projections/0/weight",
        &kernel,
        "a kernel, which its pattern does not have",
    );
    let distance = json!({"kind": "expression", "code": ["distance"]});
    refused("projections/0/weight", &distance, "\"exc\" has none");
    let spread = json!({"kind": "random", "low": 0.0, "high": 0.1});
    refused(
        "projections/1/delay_seconds",
        &spread,
        "variables and more than one delay",
    );
    accepted("projections/0/delay_seconds", &spread);
    let twice =
        json!([{"name": "w", "value": constant(1.0)}, {"name": "w", "value": constant(1.0)}]);
    for kind in ["variables", "pre_variables", "post_variables"] {
        refused(
            &format!("projections/1/{kind}"),
            &twice,
            "two synapse variables \"w\"",
        );
    }
}

#[test]
fn kernels_belong_to_one_thing_and_take_what_it_has() {
    refused("kernels/1/phase", &json!("update"), "phase does not fit");
    refused(
        "kernels/1/projection",
        &json!(3),
        "not for one group or one projection",
    );
    refused(
        "kernels/0/group",
        &json!(1),
        "not for one group or one projection",
    );
    refused(
        "kernels/0/projection",
        &json!(0),
        "not for one group or one projection",
    );
    refused(
        "kernels/0/phase",
        &json!("initialize"),
        "one update kernel for group \"cell\"",
    );
    let argument = |number: usize| format!("kernels/1/arguments/{number}");
    let cannot = "which it cannot have";
    for (number, role) in [(4, "synapse_state"), (5, "pre_state"), (6, "post_state")] {
        refused(
            &argument(number),
            &json!({"role": role, "name": "ge"}),
            cannot,
        );
    }
    refused(
        &argument(7),
        &json!({"role": "target_input", "name": "v"}),
        cannot,
    );
    refused(
        &argument(8),
        &json!({"role": "target_state", "name": "w"}),
        cannot,
    );
    refused(
        &argument(9),
        &json!({"role": "parameter", "name": "v"}),
        cannot,
    );
    accepted(
        &argument(9),
        &json!({"role": "target_parameter", "name": "taum"}),
    );
    refused(
        &argument(9),
        &json!({"role": "target_parameter", "name": "v"}),
        cannot,
    );
    // Where the spikes come from there are neither states nor parameters.
    refused(
        &argument(9),
        &json!({"role": "source_state", "name": "v"}),
        cannot,
    );
    refused(
        &argument(9),
        &json!({"role": "source_parameter", "name": "taum"}),
        cannot,
    );
    refused(&argument(9), &json!({"role": "events"}), cannot);
    refused(
        &argument(9),
        &json!({"role": "wide_target_input", "name": "ge"}),
        cannot,
    );
    refused(&argument(9), &json!({"role": "overflow"}), cannot);
    refused(&argument(9), &json!({"role": "refractory"}), cannot);
    refused(
        "projections/1/weight_bound",
        &Value::Null,
        "and no weight_bound",
    );
    refused("kernels/1/phase", &json!("trace_pre"), cannot);
    let of_group = |role: &str, name: &str| json!({"role": role, "name": name});
    refused("kernels/0/arguments/1", &of_group("spike_list", ""), cannot);
    refused(
        "kernels/0/arguments/1",
        &of_group("parameter_array", "v"),
        cannot,
    );
    accepted(
        "kernels/0/arguments/1",
        &of_group("parameter_array", "taum"),
    );
    refused("kernels/0/arguments/5", &of_group("unit", "v"), cannot);
    refused("groups/0/has_refractory", &json!(false), cannot);
    // A parameter is one number, or it is an array.
    let half = |first: u64| json!({"first": first, "count": 2000, "value": constant(1.0)});
    refused(
        "groups/0/parameters/0/values",
        &json!([half(0), half(2000)]),
        cannot,
    );
}

#[test]
fn records_are_of_neurons_that_there_are() {
    refused(
        "records/1/count",
        &json!(3201),
        "records neurons that population",
    );
    accepted("records/1/count", &json!(3200));
    refused(
        "records/1/first",
        &json!(3191),
        "records neurons that population",
    );
    accepted("records/1/first", &json!(3190));
    refused(
        "records/1/first",
        &json!(u64::MAX),
        "records neurons that population",
    );
    refused(
        "records/1/every_seconds",
        &json!(0.0),
        "which is not above 0",
    );
    refused(
        "records/0/population",
        &json!("none"),
        "population \"none\"",
    );
    accepted("records/0/population", &json!("list"));
}

#[test]
fn positions_are_as_many_as_neurons_and_have_lengths() {
    let plan = |positions: &Value| {
        let mut population = base()["spiking"]["populations"][1].clone();
        population["positions"] = positions.clone();
        outcome(&[("populations/1", population)])
    };
    let grid = |counts: Value, spacing: Value, origin: Value| json!({"kind": "grid", "counts": counts, "spacing": spacing, "origin": origin, "periodic": false});
    let good = grid(json!([40, 20]), json!([1.0, 2.0]), json!([0.0, -1.0]));
    assert_eq!(plan(&good), Ok(()));
    for (positions, reason) in [
        (
            grid(json!([40, 21]), json!([1.0, 2.0]), json!([0.0, 0.0])),
            "for 800 neurons",
        ),
        (
            grid(json!([800]), json!([1.0, 2.0]), json!([0.0, 0.0])),
            "have 1 axes",
        ),
        (
            grid(json!([40, 20]), json!([1.0, 2.0]), json!([0.0])),
            "have 2 axes",
        ),
        (grid(json!([]), json!([]), json!([])), "have 0 axes"),
        (
            grid(
                json!([40, 20, 1, 1]),
                json!([1.0, 1.0, 1.0, 1.0]),
                json!([0.0, 0.0, 0.0, 0.0]),
            ),
            "have 4 axes",
        ),
        (
            grid(json!([40, 20]), json!([1.0, 0.0]), json!([0.0, 0.0])),
            "not above 0",
        ),
        (
            grid(json!([40, 20]), json!([-1.0, 1.0]), json!([0.0, 0.0])),
            "not above 0",
        ),
    ] {
        let text = plan(&positions).unwrap_err();
        assert!(text.contains(reason), "{positions}: {text}");
    }
    let points = |axes: usize, count: usize, scale: f64, period: Value| json!({"kind": "points", "dimensions": axes, "coordinates": vec![0.5; count], "scale": scale, "period": period});
    assert_eq!(plan(&points(3, 2400, 1.0, json!([1.0, 1.0, 2.0]))), Ok(()));
    for (positions, reason) in [
        (
            points(2, 1599, 1.0, Value::Null),
            "1599 coordinates in 2 dimensions",
        ),
        (
            points(4, 3200, 1.0, Value::Null),
            "3200 coordinates in 4 dimensions",
        ),
        (points(1, 800, 0.0, Value::Null), "have the scale 0"),
        (
            points(1, 800, 1.0, json!([1.0, 1.0])),
            "have the period [1.0, 1.0]",
        ),
        (points(1, 800, 1.0, json!([0.0])), "have the period [0.0]"),
    ] {
        let text = plan(&positions).unwrap_err();
        assert!(text.contains(reason), "{reason}: {text}");
    }
}
