//! Labels of one series: names and values in the order of the catalogue, an object in JSON.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<(Cow<'static, str>, Arc<str>)>);

impl Labels {
    pub(crate) fn of(names: &'static [&'static str], values: &[Arc<str>]) -> Self {
        Self(
            names
                .iter()
                .map(|name| Cow::Borrowed(*name))
                .zip(values.iter().cloned())
                .collect(),
        )
    }

    /// Names and values in the order of the catalogue.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, value)| &**value)
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Labels;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of label names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Arc<str>>()? {
                    labels.push((Cow::Owned(name), value));
                }
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
