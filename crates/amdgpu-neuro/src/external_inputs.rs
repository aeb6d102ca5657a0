//! Inputs of a network that are not in its plan: `.npy` files, and arrays that the program hands over by name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::npy;

pub use crate::npy::Array;

/// Arrays of the program, by name.
pub type Arrays = HashMap<String, Arc<Array>>;

/// The source of values that are not in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The path of a `.npy` file.
    File(String),
    /// The name of an array.
    Array(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "the file {path}"),
            Self::Array(name) => write!(formatter, "the array {name:?}"),
        }
    }
}

/// Files and arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExternalInputs {
    /// Where relative paths start; empty is the working directory.
    pub base_directory: PathBuf,
    pub arrays: Arrays,
}

impl ExternalInputs {
    /// The values of an origin; `what` needs them.
    pub fn read(&self, origin: &Origin, what: &str) -> Result<Arc<Array>> {
        match origin {
            Origin::File(path) => {
                let read = npy::read(&self.base_directory.join(path));
                read.map(Arc::new).map_err(|error| {
                    Error::InvalidDescription(format!("{what}: {error}"))
                })
            }
            Origin::Array(name) => self.arrays.get(name).cloned().ok_or_else(|| {
                let mut known: Vec<_> = self.arrays.keys().map(String::as_str).collect();
                known.sort_unstable();
                let known = if known.is_empty() {
                    "none was given".to_owned()
                } else {
                    format!("given are {}", known.join(", "))
                };
                Error::InvalidDescription(format!(
                    "{what}: there is no array {name:?}; {known}. Hand it over as LayeredNetwork(text, arrays={{{name:?}: …}})"
                ))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_found_by_name_and_missing_ones_named_with_those_given() {
        let mut inputs = ExternalInputs::default();
        let origin = Origin::Array("rates".to_owned());
        assert_eq!(origin.to_string(), "the array \"rates\"");
        let missing = |inputs: &ExternalInputs| {
            inputs
                .read(&origin, "the source s")
                .unwrap_err()
                .to_string()
        };
        let text = missing(&inputs);
        assert!(
            text.ends_with(
                "the source s: there is no array \"rates\"; none was given. Hand it over as LayeredNetwork(text, arrays={\"rates\": …})"
            ),
            "{text}"
        );
        let array = Arc::new(Array {
            shape: vec![2],
            values: vec![1.0, 2.0],
        });
        for name in ["weights", "currents"] {
            inputs.arrays.insert(name.to_owned(), Arc::clone(&array));
        }
        let text = missing(&inputs);
        assert!(text.contains("; given are currents, weights. "), "{text}");
        inputs.arrays.insert("rates".to_owned(), Arc::clone(&array));
        assert!(Arc::ptr_eq(&inputs.read(&origin, "").unwrap(), &array));
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_who_needs_it() {
        let inputs = ExternalInputs {
            base_directory: PathBuf::from("/nonexistent"),
            ..ExternalInputs::default()
        };
        let origin = Origin::File("rates.npy".to_owned());
        assert_eq!(origin.to_string(), "the file rates.npy");
        let text = inputs
            .read(&origin, "the source s")
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("the source s: ") && text.contains("/nonexistent/rates.npy"),
            "{text}"
        );
    }
}
