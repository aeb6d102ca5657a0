//! The network plan as Rust reads it: schema `amdgpu.network_plan`, described in `docs/plan_schema.md`.

mod check;
pub mod expression;
pub mod listed;
pub mod positions;
pub(crate) mod resolve;
pub mod spiking;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use amdgpu_abi::{
    ACTIVATION_ELU, ACTIVATION_GELU, ACTIVATION_IDENTITY, ACTIVATION_LEAKY_RELU,
    ACTIVATION_NEUROMORPHIC, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_SILU,
    ACTIVATION_SOFTMAX, ACTIVATION_SOFTPLUS, ACTIVATION_TANH, Activation,
};
use serde::{Deserialize, Serialize};
use spiking::SpikingNetworkPlan;

use crate::error::{Error, Result};
use crate::given::Array;
use crate::temporal::Temporal;

pub const SCHEMA: &str = "amdgpu.network_plan";
/// Of layered networks.
pub const VERSION: u64 = 1;
/// Of spiking networks.
pub const SPIKING_VERSION: u64 = 2;

/// Names of the activations and their numbers in agpu.h.
pub const ACTIVATIONS: [(&str, u32); 11] = [
    ("identity", ACTIVATION_IDENTITY),
    ("relu", ACTIVATION_RELU),
    ("leaky_relu", ACTIVATION_LEAKY_RELU),
    ("sigmoid", ACTIVATION_SIGMOID),
    ("tanh", ACTIVATION_TANH),
    ("gelu", ACTIVATION_GELU),
    ("silu", ACTIVATION_SILU),
    ("softplus", ACTIVATION_SOFTPLUS),
    ("elu", ACTIVATION_ELU),
    ("softmax", ACTIVATION_SOFTMAX),
    ("neuromorphic", ACTIVATION_NEUROMORPHIC),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivationPlan {
    pub kind: String,
    pub alpha: f64,
    pub beta: f64,
}

impl ActivationPlan {
    /// What a dense product applies, as the C ABI writes it: nothing where the layer has a state. `None` for a name that is no activation.
    #[must_use]
    pub fn to_abi(&self) -> Option<Activation> {
        if Temporal::of(self).is_some() {
            return Some(crate::forward::IDENTITY);
        }
        let (_, kind) = ACTIVATIONS.iter().find(|(name, _)| *name == self.kind)?;
        Some(Activation {
            kind: *kind,
            alpha: self.alpha as f32,
            beta: self.beta as f32,
            reserved: 0,
        })
    }
}

/// How values start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Initializer {
    Constant {
        value: f64,
    },
    Random {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        standard_deviation: f64,
    },
    /// Values beyond a limit become the limit.
    ClippedNormal {
        mean: f64,
        standard_deviation: f64,
        low: f64,
        high: f64,
    },
    Xavier {},
    He {},
    File {
        path: String,
    },
    /// An array that the program gives.
    Array {
        name: String,
        /// Once it was found.
        #[serde(skip)]
        values: Option<Arc<Array>>,
    },
    /// Of a parameter: where neurons are on an axis.
    Position {
        axis: usize,
    },
    /// Of the positions of a synapse's two neurons.
    Expression {
        code: Vec<expression::Token>,
    },
}

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

/// Something in the text that is allowed and probably not meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub line: u64,
    pub column: u64,
    pub message: String,
    pub hint: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkPlan {
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

/// What every version of the schema has.
#[derive(Deserialize)]
struct Header {
    schema: String,
    version: u64,
}

fn refuse(message: impl Into<String>) -> Error {
    Error::InvalidDescription(format!("the network plan {}", message.into()))
}

/// A plan of either kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyPlan {
    Layered(NetworkPlan),
    Spiking(SpikingNetworkPlan),
}

impl AnyPlan {
    /// Read a plan; unknown fields are skipped, another schema or version is refused.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDescription`] that says what is wrong with it.
    pub fn from_json(json: &str) -> Result<Self> {
        if version_of(json)? != SPIKING_VERSION {
            return NetworkPlan::from_json(json).map(Self::Layered);
        }
        let plan: SpikingNetworkPlan = serde_json::from_str(json)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        check::check_spiking(&plan)?;
        Ok(Self::Spiking(plan))
    }
}

/// Whether a plan is that of a spiking network.
///
/// # Errors
///
/// [`Error::InvalidDescription`] for what is no network plan.
pub fn is_spiking(json: &str) -> Result<bool> {
    Ok(version_of(json)? == SPIKING_VERSION)
}

/// The version of a plan of this schema.
fn version_of(json: &str) -> Result<u64> {
    let header: Header =
        serde_json::from_str(json).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if header.schema != SCHEMA {
        return Err(refuse(format!(
            "has the schema {:?}, expected {SCHEMA:?}",
            header.schema
        )));
    }
    Ok(header.version)
}

impl NetworkPlan {
    /// Read a plan; unknown fields are skipped, another schema or version is refused.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDescription`] that says what is wrong with it.
    pub fn from_json(json: &str) -> Result<Self> {
        let version = version_of(json)?;
        if version == SPIKING_VERSION {
            return Err(refuse(
                "is of a spiking network, where a layered one is needed",
            ));
        }
        if version != VERSION {
            return Err(refuse(format!(
                "has version {version}, this build reads version {VERSION}: compile its network text again"
            )));
        }
        let plan: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        plan.check()?;
        Ok(plan)
    }

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

    /// What building and stepping rely on. The language's rules are the checker's; this is about plans that did not come from it.
    fn check(&self) -> Result<()> {
        let index_of = self.layer_indices();
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
        self.check_rules()
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
    use super::*;

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
        NetworkPlan::from_json(&changed).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_is_read_and_fields_of_later_minor_versions_are_skipped() {
        let plan = NetworkPlan::from_json(PLAN).unwrap();
        assert_eq!(plan.connections[0].name(), "a -> b");
        let activation = plan.layers[1].activation.to_abi().unwrap();
        assert_eq!(activation.kind, ACTIVATION_ELU);
        assert!((activation.alpha - 0.5).abs() < f32::EPSILON);
    }

    #[test]
    fn another_schema_or_version_is_refused() {
        assert!(refusal("amdgpu.network_plan", "other").contains("schema \"other\""));
        assert!(refusal("\"version\": 1", "\"version\": 3").contains("version 3"));
        assert!(refusal("\"version\": 1", "\"version\": 2").contains("spiking"));
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
