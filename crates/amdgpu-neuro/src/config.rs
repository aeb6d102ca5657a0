//! The dict form of a network, as in the requirement documents' `neural_network_forward(network_config: Dict, …)`.
//!
//! Two forms, both JSON objects:
//!
//! ```json
//! {"architecture": [784, 256, 10], "activation": "relu", "output_activation": "softmax"}
//! {"layers": [{"name": "input", "size": 784}, {"size": 256, "activation": "relu"}, {"size": 10, "activation": "softmax"}]}
//! ```
//!
//! Common keys: `name`, `seed`, `learning_rate` (adds a Hebbian rule), `weights` and `biases`. `weights` is an initial value for all
//! connections (`"xavier"`, `"random(-0.5, 0.5)"`, `0.1`), or a list with one entry for each connection: an initial value or the matrix
//! itself as nested lists `[inputs][outputs]`. `biases` is a list with one entry for each layer behind the input: a list of numbers or an
//! initial value. Layers are connected one after the other.
//!
//! A configuration is written as network text, so that the language's checker judges it; only what text cannot express is judged here.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::layered_network::{BuildOptions, LayeredNetwork};
use crate::plan::NetworkPlan;

const ARCHITECTURE_KEYS: [&str; 8] = [
    "architecture",
    "activation",
    "output_activation",
    "name",
    "seed",
    "learning_rate",
    "weights",
    "biases",
];
const LAYERS_KEYS: [&str; 6] = [
    "layers",
    "name",
    "seed",
    "learning_rate",
    "weights",
    "biases",
];
const LAYER_KEYS: [&str; 4] = ["name", "size", "activation", "bias"];

/// A network in dict form.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    name: String,
    seed: Option<Value>,
    learning_rate: Option<Value>,
    layers: Vec<LayerConfig>,
    weights: Option<Value>,
    biases: Option<Value>,
}

#[derive(Clone, Debug)]
struct LayerConfig {
    name: String,
    size: Value,
    activation: Option<String>,
    bias: Option<Value>,
}

fn refuse(message: impl std::fmt::Display) -> Error {
    Error::InvalidDescription(format!("the network configuration {message}"))
}

/// Python writes NaN and infinity as words that JSON does not have: that is a wrong weight, not a wrong text.
fn unreadable(json: &str, error: &serde_json::Error) -> Error {
    let line = json
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or("");
    let at = line.get(error.column().saturating_sub(1)..).unwrap_or("");
    let before = line.get(..error.column()).unwrap_or("");
    for (word, value) in [("NaN", f32::NAN), ("Infinity", f32::INFINITY)] {
        if at.starts_with(word) || before.ends_with('-') && line[before.len()..].starts_with(word) {
            return Error::NotFinite {
                what: "the network configuration".to_owned(),
                value,
                place: format!("line {}, column {}", error.line(), error.column()),
            };
        }
    }
    refuse(format_args!("cannot be read: {error}"))
}

/// What JSON calls a value, for messages.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "a truth value".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a dict".to_owned(),
    }
}

fn check_keys(what: &str, object: &Map<String, Value>, known: &[&str]) -> Result<()> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(refuse(format_args!(
            "has {what}an unknown key {key:?}; known: {}",
            known.join(", ")
        ))),
    }
}

/// Text that goes into a network text as it is: on one line, so that it can only be what it stands for or a finding of the checker.
fn inline(what: &str, text: &str) -> Result<String> {
    if text.is_empty() || text.chars().any(char::is_control) || text.contains('#') {
        return Err(refuse(format_args!("gives {what} as {text:?}")));
    }
    Ok(text.to_owned())
}

fn name_of(what: &str, value: &Value) -> Result<String> {
    let text = value
        .as_str()
        .ok_or_else(|| refuse(format_args!("names {what} by {}", describe(value))))?;
    let mut characters = text.chars();
    let starts_well = characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts_well || !characters.all(|next| next.is_alphanumeric() || next == '_') {
        return Err(refuse(format_args!(
            "names {what} {text:?}; a name has letters, digits and _ and starts with no digit"
        )));
    }
    Ok(text.to_owned())
}

fn activation_of(what: &str, value: &Value) -> Result<String> {
    let Value::Object(object) = value else {
        let text = value.as_str().ok_or_else(|| {
            refuse(format_args!(
                "gives the activation of {what} as {}",
                describe(value)
            ))
        })?;
        return inline(&format!("the activation of {what}"), text);
    };
    check_keys("in an activation ", object, &["kind", "alpha", "beta"])?;
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .ok_or_else(|| refuse(format_args!("gives the activation of {what} no kind")))?;
    let mut text = inline(&format!("the activation of {what}"), kind)?;
    let parameters: Vec<String> = ["alpha", "beta"]
        .iter()
        .filter_map(|key| object.get(*key).map(|value| format!("{key}: {value}")))
        .collect();
    if !parameters.is_empty() {
        let _ = write!(text, "({})", parameters.join(", "));
    }
    Ok(text)
}

/// An initial value as network text; `None` for explicit numbers, which are set after the network is built.
fn initializer_of(what: &str, value: &Value) -> Result<Option<String>> {
    match value {
        Value::String(text) => inline(what, text).map(Some),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Array(_) => Ok(None),
        other => Err(refuse(format_args!("gives {what} as {}", describe(other)))),
    }
}

/// The names of layers that were not named: input, hidden1 …, output.
fn default_name(index: usize, count: usize) -> String {
    if index == 0 {
        "input".to_owned()
    } else if index + 1 == count {
        "output".to_owned()
    } else {
        format!("hidden{index}")
    }
}

impl NetworkConfig {
    /// # Errors
    ///
    /// [`Error::InvalidDescription`] when it is no JSON object of one of the two forms.
    pub fn from_json(json: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(json).map_err(|error| unreadable(json, &error))?;
        let Value::Object(object) = value else {
            return Err(refuse(format_args!(
                "is {}, expected a dict",
                describe(&value)
            )));
        };
        let layers = match (object.get("architecture"), object.get("layers")) {
            (Some(architecture), None) => {
                check_keys("", &object, &ARCHITECTURE_KEYS)?;
                Self::layers_of_architecture(architecture, &object)?
            }
            (None, Some(layers)) => {
                check_keys("", &object, &LAYERS_KEYS)?;
                Self::layers_of_list(layers)?
            }
            _ => {
                return Err(refuse(
                    "needs either 'architecture' (a list of sizes) or 'layers' (a list of dicts with 'size')",
                ));
            }
        };
        let name = object
            .get("name")
            .map_or(Ok("network".to_owned()), |name| {
                name_of("the network", name)
            })?;
        Ok(Self {
            name,
            seed: object.get("seed").cloned(),
            learning_rate: object.get("learning_rate").cloned(),
            layers,
            weights: object.get("weights").cloned(),
            biases: object.get("biases").cloned(),
        })
    }

    fn layers_of_architecture(
        architecture: &Value,
        object: &Map<String, Value>,
    ) -> Result<Vec<LayerConfig>> {
        let sizes = architecture.as_array().ok_or_else(|| {
            refuse(format_args!(
                "gives 'architecture' as {}, expected a list of sizes",
                describe(architecture)
            ))
        })?;
        let hidden = object
            .get("activation")
            .map(|value| activation_of("the hidden layers", value))
            .transpose()?;
        let last = object
            .get("output_activation")
            .map(|value| activation_of("the output", value))
            .transpose()?;
        let layers = sizes.iter().enumerate().map(|(index, size)| LayerConfig {
            name: default_name(index, sizes.len()),
            size: size.clone(),
            activation: if index == 0 {
                None
            } else if index + 1 == sizes.len() {
                last.clone().or_else(|| hidden.clone())
            } else {
                hidden.clone()
            },
            bias: None,
        });
        Ok(layers.collect())
    }

    fn layers_of_list(layers: &Value) -> Result<Vec<LayerConfig>> {
        let layers = layers.as_array().ok_or_else(|| {
            refuse(format_args!(
                "gives 'layers' as {}, expected a list of dicts",
                describe(layers)
            ))
        })?;
        let count = layers.len();
        let one = |(index, layer): (usize, &Value)| {
            let what = format!("layer {index}");
            let object = layer.as_object().ok_or_else(|| {
                refuse(format_args!(
                    "gives {what} as {}, expected a dict",
                    describe(layer)
                ))
            })?;
            check_keys(&format!("in {what} "), object, &LAYER_KEYS)?;
            Ok(LayerConfig {
                name: object.get("name").map_or_else(
                    || Ok(default_name(index, count)),
                    |name| name_of(&what, name),
                )?,
                size: object
                    .get("size")
                    .cloned()
                    .ok_or_else(|| refuse(format_args!("gives {what} no 'size'")))?,
                activation: object
                    .get("activation")
                    .map(|value| activation_of(&what, value))
                    .transpose()?,
                bias: object.get("bias").cloned(),
            })
        };
        layers.iter().enumerate().map(one).collect()
    }

    /// The same network as text.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDescription`] for values that have no text.
    pub fn to_network_text(&self) -> Result<String> {
        let mut text = format!("neuralNetwork {}:\n", self.name);
        // Writing to a String cannot fail.
        if let Some(seed) = &self.seed {
            let _ = writeln!(text, "  seed = {}", inline("the seed", &seed.to_string())?);
        }
        for (index, layer) in self.layers.iter().enumerate() {
            let size = inline("a size", &layer.size.to_string())?;
            let _ = write!(text, "  layer {}({size}", layer.name);
            if let Some(activation) = &layer.activation {
                let _ = write!(text, ", activation: {activation}");
            }
            if let Some(bias) = self.bias_of(index)
                && let Some(initializer) = initializer_of("a bias", bias)?
            {
                let _ = write!(text, ", bias: {initializer}");
            }
            text.push_str(")\n");
        }
        for (index, pair) in self.layers.windows(2).enumerate() {
            let _ = write!(text, "  connect {} -> {}", pair[0].name, pair[1].name);
            if let Some(weight) = self.weight_of(index)?
                && let Some(initializer) = initializer_of("a weight", weight)?
            {
                let _ = write!(text, " (weight: {initializer})");
            }
            text.push('\n');
        }
        if let Some(rate) = &self.learning_rate {
            let rate = inline("the learning rate", &rate.to_string())?;
            let _ = writeln!(text, "  plasticity hebbian(learning_rate: {rate})");
        }
        Ok(text)
    }

    /// The bias of a layer: its own, or the entry of `biases`, which has none for the input.
    fn bias_of(&self, layer: usize) -> Option<&Value> {
        let from_list = || self.biases.as_ref()?.as_array()?.get(layer.checked_sub(1)?);
        self.layers[layer].bias.as_ref().or_else(from_list)
    }

    fn weight_of(&self, connection: usize) -> Result<Option<&Value>> {
        match &self.weights {
            None => Ok(None),
            Some(Value::Array(list)) => {
                let count = self.layers.len().saturating_sub(1);
                if list.len() != count {
                    return Err(refuse(format_args!(
                        "has {} weights for {count} connections",
                        list.len()
                    )));
                }
                Ok(list.get(connection))
            }
            Some(for_all) => Ok(Some(for_all)),
        }
    }

    /// Sets the weights and biases that were given as numbers.
    pub(crate) fn apply_values(&self, network: &LayeredNetwork) -> Result<()> {
        if let Some(Value::Array(list)) = &self.biases
            && list.len() + 1 != self.layers.len()
        {
            return Err(refuse(format_args!(
                "has {} biases for {} layers behind the input",
                list.len(),
                self.layers.len().saturating_sub(1)
            )));
        }
        for (index, pair) in self.layers.windows(2).enumerate() {
            if let Some(Value::Array(rows)) = self.weight_of(index)? {
                let name = format!("{} -> {}", pair[0].name, pair[1].name);
                network.set_weights(&name, &matrix_of(&name, rows, &pair[1].size)?)?;
            }
        }
        for (index, layer) in self.layers.iter().enumerate() {
            if let Some(Value::Array(values)) = self.bias_of(index) {
                network.set_biases(
                    &layer.name,
                    &numbers_of(&format!("the bias of {}", layer.name), values)?,
                )?;
            }
        }
        Ok(())
    }
}

fn numbers_of(what: &str, values: &[Value]) -> Result<Vec<f32>> {
    let number = |value: &Value| {
        value.as_f64().map(|number| number as f32).ok_or_else(|| {
            refuse(format_args!(
                "has {} in {what}, expected numbers",
                describe(value)
            ))
        })
    };
    values.iter().map(number).collect()
}

fn matrix_of(connection: &str, rows: &[Value], columns: &Value) -> Result<Vec<f32>> {
    let what = format!("the weights of {connection}");
    let mut matrix = Vec::new();
    for row in rows {
        let row = row.as_array().ok_or_else(|| {
            refuse(format_args!(
                "has {} in {what}, expected a list of rows",
                describe(row)
            ))
        })?;
        if columns.as_u64() != Some(row.len() as u64) {
            return Err(Error::ShapeMismatch(format!(
                "{what} have a row of {} values, expected {columns}",
                row.len()
            )));
        }
        matrix.extend(numbers_of(&what, row)?);
    }
    Ok(matrix)
}

/// A network built from a configuration, with what it went through.
#[derive(Debug)]
pub struct Built {
    pub network: LayeredNetwork,
    pub plan: NetworkPlan,
    /// The network text that the configuration stands for.
    pub text: String,
}

/// Build the network of a configuration; see the module.
///
/// # Errors
///
/// [`Error::InvalidDescription`] for a configuration of another form, [`Error::Invalid`] with the findings of the text that it stands for;
/// otherwise as [`LayeredNetwork::build`].
pub fn build(json: &str, options: &BuildOptions) -> Result<Built> {
    let config = NetworkConfig::from_json(json)?;
    let text = config.to_network_text()?;
    let plan =
        NetworkPlan::compile(&text, &options.base_directory).map_err(|error| match error {
            Error::Invalid { findings } => Error::Invalid {
                findings: format!(
                    "in the network text that the configuration stands for, {findings}"
                ),
            },
            other => other,
        })?;
    let network = LayeredNetwork::build(&plan, options)?;
    config.apply_values(&network)?;
    Ok(Built {
        network,
        plan,
        text,
    })
}

/// The network text of a configuration.
///
/// # Errors
///
/// [`Error::InvalidDescription`] when it is of neither form.
pub fn network_text_of_config(json: &str) -> Result<String> {
    NetworkConfig::from_json(json)?.to_network_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_becomes_the_layers_of_the_language() {
        let text = network_text_of_config(
            r#"{"architecture": [784, 256, 10], "activation": "relu", "output_activation": "softmax",
                "weights": "random(-0.5, 0.5)", "seed": 7, "learning_rate": 0.001}"#,
        )
        .unwrap();
        assert_eq!(
            text,
            "neuralNetwork network:\n  seed = 7\n  layer input(784)\n  layer hidden1(256, activation: relu)\n  \
             layer output(10, activation: softmax)\n  connect input -> hidden1 (weight: random(-0.5, 0.5))\n  \
             connect hidden1 -> output (weight: random(-0.5, 0.5))\n  plasticity hebbian(learning_rate: 0.001)\n"
        );
    }

    #[test]
    fn layers_keep_their_names_and_parameters() {
        let text = network_text_of_config(
            r#"{"name": "net", "layers": [{"name": "retina", "size": 4}, {"size": 3, "bias": "none",
                "activation": {"kind": "neuromorphic", "alpha": 1.5, "beta": -0.3}}, {"name": "cortex", "size": 2}],
                "weights": ["he", [[1, 2], [3, 4], [5, 6]]], "biases": [[0, 0, 0], 0.5]}"#,
        )
        .unwrap();
        assert_eq!(
            text,
            "neuralNetwork net:\n  layer retina(4)\n  \
             layer hidden1(3, activation: neuromorphic(alpha: 1.5, beta: -0.3), bias: none)\n  \
             layer cortex(2, bias: 0.5)\n  connect retina -> hidden1 (weight: he)\n  connect hidden1 -> cortex\n"
        );
    }

    #[test]
    fn other_forms_are_refused_by_what_is_wrong_with_them() {
        let message = |json: &str| network_text_of_config(json).unwrap_err().to_string();
        assert!(message("nonsense").contains("cannot be read"));
        for word in ["NaN", "Infinity", "-Infinity"] {
            let text = message(&format!(
                "{{\"architecture\": [1, 1],\n\"weights\": [[[{word}]]]}}"
            ));
            assert!(
                text.contains("the network configuration holds") && text.contains("line 2"),
                "{text}"
            );
        }
        assert!(message("[784, 10]").contains("a list, expected a dict"));
        assert!(message("{}").contains("'architecture'"));
        assert!(message(r#"{"architecture": 3}"#).contains("the number 3"));
        assert!(message(r#"{"architecture": [1], "activaton": "relu"}"#).contains("\"activaton\""));
        assert!(message(r#"{"layers": [3]}"#).contains("layer 0 as the number 3"));
        assert!(message(r#"{"layers": [{"units": 3}]}"#).contains("\"units\""));
        assert!(message(r#"{"layers": [{"activation": "relu"}]}"#).contains("no 'size'"));
        assert!(message(r#"{"layers": [{"name": "a b", "size": 1}]}"#).contains("\"a b\""));
        assert!(
            message(r#"{"layers": [{"size": 1, "activation": "relu)\n  x"}]}"#)
                .contains("activation")
        );
        assert!(
            message(r#"{"architecture": [2, 1], "weights": ["he", "he"]}"#)
                .contains("2 weights for 1")
        );
        assert!(message(r#"{"architecture": [2, 1], "weights": true}"#).contains("truth value"));
    }
}
