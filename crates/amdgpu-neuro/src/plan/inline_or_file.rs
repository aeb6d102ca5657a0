//! Lists of a plan: their values stand in the plan, or are read from a file or an array when the network is built.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::external_inputs::Origin;

/// A list whose values stand in the plan, or come from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, bound = "T: Serialize + DeserializeOwned")]
pub enum InlineOrFile<T> {
    Inline(#[serde(with = "shared")] Arc<Vec<T>>),
    External(Box<ExternalList>),
}

/// Values that do not stand in the plan: all of an array, or one column of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalList {
    #[serde(flatten)]
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl<T> InlineOrFile<T> {
    #[must_use]
    pub fn new(values: Vec<T>) -> Self {
        Self::Inline(Arc::new(values))
    }

    /// The values; none before they were taken from where they are.
    #[must_use]
    pub fn values(&self) -> &[T] {
        match self {
            Self::Inline(values) => values,
            Self::External(_) => &[],
        }
    }

    /// Whether the values are there.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::Inline(_))
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
