//! Version 1 of the network plan: a layered network. `docs/plan_schema.md`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{ActivationPlan, Initializer, Warning, refuse};
use crate::error::Result;
use crate::temporal::Temporal;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerPlan {
    pub name: String,
    pub size: usize,
    pub activation: ActivationPlan,
    pub bias: Option<Initializer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionPlan {
    pub from: String,
    pub to: String,
    pub shape: [usize; 2],
    pub weight: Initializer,
}

impl ConnectionPlan {
    /// `from -> to`, as weights are addressed.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} -> {}", self.from, self.to)
    }
}

/// The rules of layered networks.
pub const PLASTICITY_RULES: [&str; 3] = ["hebbian", "oja", "bcm"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlasticityPlan {
    /// One of [`PLASTICITY_RULES`].
    pub rule: String,
    pub learning_rate: f64,
    /// Share of the new in the moving average that `bcm` compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_rate: Option<f64>,
    /// Positions in `connections`.
    pub connections: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayeredNetworkPlan {
    pub schema: String,
    pub version: u64,
    pub name: String,
    pub seed: u64,
    pub dt_seconds: Option<f64>,
    pub layers: Vec<LayerPlan>,
    pub connections: Vec<ConnectionPlan>,
    pub plasticity: Vec<PlasticityPlan>,
    pub input: String,
    pub outputs: Vec<String>,
    pub order: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl LayeredNetworkPlan {
    /// Whether a layer has a state, so that samples have steps.
    #[must_use]
    pub fn is_temporal(&self) -> bool {
        let mut layers = self.layers.iter();
        layers.any(|layer| Temporal::of(&layer.activation).is_some())
    }

    /// Position of a layer.
    #[must_use]
    pub fn layer_index(&self, name: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.name == name)
    }

    /// Positions of all layers; of two with the same name the last one.
    pub(crate) fn layer_indices(&self) -> HashMap<&str, usize> {
        let numbered = self.layers.iter().enumerate();
        numbered
            .map(|(index, layer)| (layer.name.as_str(), index))
            .collect()
    }

    /// What building and stepping rely on, for plans that the compiler of network text did not make.
    pub(super) fn check(&self) -> Result<()> {
        let index_of = self.layer_indices();
        self.check_layers(&index_of)?;
        self.check_structure(&index_of)?;
        self.check_rules()
    }

    fn check_layers(&self, index_of: &HashMap<&str, usize>) -> Result<()> {
        for (index, layer) in self.layers.iter().enumerate() {
            if index_of[layer.name.as_str()] != index {
                return Err(refuse(format!("has two layers {:?}", layer.name)));
            }
            if layer.size == 0 {
                return Err(refuse(format!("gives layer {:?} no size", layer.name)));
            }
            if ![layer.activation.alpha, layer.activation.beta]
                .iter()
                .all(|value| (*value as f32).is_finite())
            {
                return Err(refuse(format!(
                    "gives layer {:?} an activation that float32 cannot hold",
                    layer.name
                )));
            }
            if Temporal::of(&layer.activation).is_some_and(|state| !state.is_valid()) {
                return Err(refuse(format!(
                    "gives layer {:?} the activation {} with numbers out of range",
                    layer.name, layer.activation.kind
                )));
            }
            if layer.activation.to_abi().is_none() {
                return Err(refuse(format!(
                    "gives layer {:?} the unknown activation {:?}",
                    layer.name, layer.activation.kind
                )));
            }
        }
        Ok(())
    }

    /// Every name is that of a layer, the order has all sources of a layer before it, and there is one input.
    fn check_structure(&self, index_of: &HashMap<&str, usize>) -> Result<()> {
        let find = |name: &str| {
            index_of
                .get(name)
                .copied()
                .ok_or_else(|| refuse(format!("names the layer {name:?}, which it does not have")))
        };
        // Layers in order must stand behind all their sources; that also excludes cycles.
        let mut position = vec![None; self.layers.len()];
        for (place, name) in self.order.iter().enumerate() {
            position[find(name)?] = Some(place);
        }
        if self.order.len() != self.layers.len() || position.contains(&None) {
            return Err(refuse("does not order every layer once"));
        }
        let mut has_input = vec![false; self.layers.len()];
        let mut pairs = HashSet::new();
        for connection in &self.connections {
            let (from, to) = (find(&connection.from)?, find(&connection.to)?);
            if connection.shape != [self.layers[from].size, self.layers[to].size] {
                return Err(refuse(format!(
                    "gives {} the shape {:?}, which is not that of its layers",
                    connection.name(),
                    connection.shape
                )));
            }
            if position[from] >= position[to] {
                return Err(refuse(format!("orders {} wrongly", connection.name())));
            }
            if !pairs.insert((from, to)) {
                return Err(refuse(format!("connects {} twice", connection.name())));
            }
            has_input[to] = true;
        }
        self.check_ends(&find, &has_input)
    }

    /// The input and the outputs.
    fn check_ends(&self, find: &dyn Fn(&str) -> Result<usize>, has_input: &[bool]) -> Result<()> {
        let input = find(&self.input)?;
        if has_input[input] || has_input.iter().filter(|has| !**has).count() != 1 {
            return Err(refuse(format!(
                "must have one layer without inputs, {:?}",
                self.input
            )));
        }
        if self.layers[input].activation.kind == "softmax" {
            return Err(refuse("gives its input layer softmax"));
        }
        for name in &self.outputs {
            find(name)?;
        }
        if self.outputs.is_empty() {
            return Err(refuse("has no outputs"));
        }
        Ok(())
    }

    /// Initial values and rules.
    fn check_rules(&self) -> Result<()> {
        let weights = self.connections.iter().map(|connection| &connection.weight);
        let biases = self.layers.iter().filter_map(|layer| layer.bias.as_ref());
        if weights.chain(biases).any(|value| {
            matches!(
                value,
                Initializer::Expression { .. } | Initializer::Position { .. }
            )
        }) {
            return Err(refuse("has expressions, which are for spiking networks"));
        }
        if !self.plasticity.is_empty() && self.is_temporal() {
            return Err(refuse("has plasticity rules beside layers with a state"));
        }
        for rule in &self.plasticity {
            let is_share = |rate: f64| rate > 0.0 && rate <= 1.0;
            if !PLASTICITY_RULES.contains(&rule.rule.as_str())
                || !rule.learning_rate.is_finite()
                || (rule.rule == "bcm" && !rule.threshold_rate.is_some_and(is_share))
            {
                return Err(refuse(format!(
                    "has the plasticity rule {:?} with the rates {} and {:?}; known are {}",
                    rule.rule,
                    rule.learning_rate,
                    rule.threshold_rate,
                    PLASTICITY_RULES.join(", ")
                )));
            }
            if rule
                .connections
                .iter()
                .any(|connection| *connection >= self.connections.len())
            {
                return Err(refuse(
                    "has a plasticity rule on a connection that it does not have",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{NetworkPlan, PlanKind};
    use amdgpu_abi::ACTIVATION_ELU;

    const PLAN: &str = r#"{
        "schema": "amdgpu.network_plan", "version": 1, "name": "net", "seed": 3, "dt_seconds": null,
        "layers": [
            {"name": "a", "size": 2, "activation": {"kind": "identity", "alpha": 0.0, "beta": 0.0}, "bias": null},
            {"name": "b", "size": 3, "activation": {"kind": "elu", "alpha": 0.5, "beta": 0.0},
             "bias": {"kind": "normal", "mean": 0.0, "standard_deviation": 1.0}}
        ],
        "connections": [{"from": "a", "to": "b", "shape": [2, 3], "weight": {"kind": "xavier"}}],
        "plasticity": [{"rule": "hebbian", "learning_rate": 0.1, "connections": [0]}],
        "input": "a", "outputs": ["b"], "order": ["a", "b"], "warnings": [], "added_later": 1
    }"#;

    fn refusal(from: &str, to: &str) -> String {
        let changed = PLAN.replacen(from, to, 1);
        assert_ne!(changed, PLAN, "nothing was changed");
        NetworkPlan::from_json(changed).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_is_read_and_fields_of_later_minor_versions_are_skipped() {
        let plan = NetworkPlan::from_json(PLAN).unwrap();
        let PlanKind::Layered(plan) = plan.kind() else {
            panic!("a plan of version 1 is a layered one");
        };
        assert_eq!(plan.connections[0].name(), "a -> b");
        let activation = plan.layers[1].activation.to_abi().unwrap();
        assert_eq!(activation.kind, ACTIVATION_ELU);
        assert!((activation.alpha - 0.5).abs() < f32::EPSILON);
    }

    #[test]
    fn another_schema_or_version_is_refused() {
        assert!(refusal("amdgpu.network_plan", "other").contains("schema \"other\""));
        assert!(refusal("\"version\": 1", "\"version\": 3").contains("version 3"));
        assert!(refusal("\"version\": 1", "\"version\": 2").contains("cannot be read"));
        assert!(
            NetworkPlan::from_json("[]")
                .unwrap_err()
                .to_string()
                .contains("cannot be read")
        );
        assert!(refusal("\"seed\": 3", "\"seed\": -3").contains("cannot be read"));
    }

    #[test]
    fn plans_that_would_not_build_are_refused() {
        assert!(refusal("\"size\": 3", "\"size\": 4").contains("shape"));
        assert!(refusal("\"size\": 3", "\"size\": 0").contains("no size"));
        assert!(refusal("elu", "elo").contains("unknown activation"));
        assert!(refusal("\"name\": \"b\"", "\"name\": \"a\"").contains("two layers"));
        assert!(
            refusal("\"order\": [\"a\", \"b\"]", "\"order\": [\"b\", \"a\"]").contains("wrongly")
        );
        assert!(
            refusal("\"order\": [\"a\", \"b\"]", "\"order\": [\"a\", \"a\"]")
                .contains("order every")
        );
        assert!(refusal("\"input\": \"a\"", "\"input\": \"b\"").contains("without inputs"));
        assert!(refusal("\"outputs\": [\"b\"]", "\"outputs\": []").contains("no outputs"));
        assert!(refusal("\"connections\": [0]", "\"connections\": [1]").contains("connection"));
        assert!(refusal("hebbian", "stdp").contains("stdp"));
        assert!(refusal("\"alpha\": 0.5", "\"alpha\": 1e300").contains("float32"));
    }
}
