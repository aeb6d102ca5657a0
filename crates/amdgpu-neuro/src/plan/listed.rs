//! Lists of a plan: written there, or taken from a file or an array when the network is built.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::given::Origin;

/// A list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, bound = "T: Serialize + DeserializeOwned")]
pub enum Listed<T> {
    Values(#[serde(with = "shared")] Arc<Vec<T>>),
    Given(Box<Given>),
}

/// Values that do not stand in the plan: all of an array, or one column of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    #[serde(flatten)]
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl<T> Listed<T> {
    #[must_use]
    pub fn new(values: Vec<T>) -> Self {
        Self::Values(Arc::new(values))
    }

    /// The values; none before they were taken from where they are.
    #[must_use]
    pub fn values(&self) -> &[T] {
        match self {
            Self::Values(values) => values,
            Self::Given(_) => &[],
        }
    }

    /// Whether the values are there.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::Values(_))
    }
}

/// Lists are shared, so that plans can be copied.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(
        values: &Arc<Vec<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        values.as_slice().serialize(serializer)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<T>>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::new)
    }
}
