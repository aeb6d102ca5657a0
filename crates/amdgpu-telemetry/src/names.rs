//! Names as numbers: records carry a `NameId`, the table turns it back into text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Distinct names one process may intern. A program that makes up names (one per call, say) must not grow without bound; past the
/// limit every new name reads "other" and is counted.
pub const MAX_NAMES: usize = 16_384;
/// Longer names are cut at a character boundary: C++ template instances can be pages long.
pub const MAX_NAME_BYTES: usize = 256;
/// What a name or label past its limit is called.
pub const OTHER: &str = "other";

/// Number of an interned name; valid for the life of the process.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
#[repr(transparent)]
pub struct NameId(u32);

impl NameId {
    /// The empty name.
    pub const UNNAMED: Self = Self(0);
    /// The name of what came after the table was full.
    pub const OTHER: Self = Self(1);

    /// The number itself, for a record's `detail`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The inverse of [`NameId::number`].
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// `text`, at most `max_bytes` long, cut between characters.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The table: number to text, text to number.
pub(crate) struct NameTable {
    inner: Mutex<Inner>,
}

pub(crate) struct Inner {
    by_text: HashMap<Arc<str>, NameId>,
    by_number: Vec<Arc<str>>,
    refused: u64,
}

impl NameTable {
    pub(crate) fn new() -> Self {
        let mut inner = Inner {
            by_text: HashMap::new(),
            by_number: Vec::new(),
            refused: 0,
        };
        inner.add("");
        inner.add(OTHER);
        Self {
            inner: Mutex::new(inner),
        }
    }

    /// A panic while the lock is held leaves the table whole: both halves are changed by `add` alone, which does not panic in between.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn intern(&self, text: &str) -> NameId {
        let text = cut(text, MAX_NAME_BYTES);
        let mut inner = self.lock();
        if let Some(id) = inner.by_text.get(text) {
            return *id;
        }
        if inner.by_number.len() >= MAX_NAMES {
            inner.refused += 1;
            return NameId::OTHER;
        }
        inner.add(text)
    }

    pub(crate) fn all(&self) -> Vec<Arc<str>> {
        self.from(0)
    }

    /// Names from number `first` on.
    pub(crate) fn from(&self, first: usize) -> Vec<Arc<str>> {
        let names = self.lock();
        names.by_number.get(first..).unwrap_or_default().to_vec()
    }

    pub(crate) fn refused(&self) -> u64 {
        self.lock().refused
    }
}

impl Inner {
    fn add(&mut self, text: &str) -> NameId {
        let id = NameId(self.by_number.len() as u32);
        let text: Arc<str> = Arc::from(text);
        self.by_number.push(Arc::clone(&text));
        self.by_text.insert(text, id);
        id
    }
}

/// Text for the numbers in records: a copy of the hub's tables at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Indexed by [`NameId::number`].
    pub names: Vec<Arc<str>>,
    /// Thread id and name, for threads that had one.
    pub threads: Vec<(u32, String)>,
    /// Indexed by a record's `device`.
    pub devices: Vec<String>,
}

impl Names {
    /// The text of a name; empty for a number that is not in the table.
    #[must_use]
    pub fn get(&self, id: NameId) -> &str {
        self.names.get(id.0 as usize).map_or("", |name| name)
    }

    /// `cpu:0` and the like, or `device N` for one that was never named.
    #[must_use]
    pub fn device(&self, index: u16) -> String {
        match self.devices.get(usize::from(index)) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("device {index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_number() {
        let table = NameTable::new();
        let first = table.intern("matmul");
        assert_eq!(table.intern("matmul"), first);
        assert_ne!(table.intern("softmax"), first);
        assert_eq!(&*table.all()[first.number() as usize], "matmul");
        assert_eq!(table.intern(""), NameId::UNNAMED);
        assert_eq!(table.intern(OTHER), NameId::OTHER);
    }

    #[test]
    fn names_past_the_limit_read_other_and_are_counted() {
        let table = NameTable::new();
        for number in 0..MAX_NAMES + 10 {
            table.intern(&format!("name {number}"));
        }
        assert_eq!(table.all().len(), MAX_NAMES);
        assert_eq!(table.refused(), 12);
        assert_eq!(table.intern("one more"), NameId::OTHER);
        assert_ne!(table.intern("name 0"), NameId::OTHER);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        let table = NameTable::new();
        let id = table.intern(&"é".repeat(MAX_NAME_BYTES));
        assert_eq!(table.all()[id.number() as usize].len(), MAX_NAME_BYTES);
    }
}
