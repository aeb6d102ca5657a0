//! Inputs of a network that are not in its plan: `.npy` files, and arrays that the program hands over by name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::npy;

/// Numbers in a shape, row-major.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

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
