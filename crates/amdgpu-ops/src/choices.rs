//! What was chosen for problems, remembered until measurements change.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::Result;

/// Problems whose choice is remembered; looking through an archive takes longer than a launch.
const CHOICES_LIMIT: usize = 4096;

/// The choices of a device.
pub struct Choices<K, V> {
    known: RwLock<FxHashMap<K, V>>,
    /// The state of the tuning databases that the choices were made in.
    changes: AtomicU64,
}

impl<K, V> Default for Choices<K, V> {
    fn default() -> Self {
        Self {
            known: RwLock::default(),
            changes: AtomicU64::new(0),
        }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> Choices<K, V> {
    /// What was chosen so far, in no order.
    pub fn all(&self) -> Vec<V> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().copied().collect()
    }

    /// The choice for a problem, made by `decide` where it is not known since measurements changed last.
    pub fn get(&self, key: &K, decide: impl FnOnce() -> Result<V>) -> Result<V> {
        let changes = crate::tuning::changes();
        if self.changes.load(Ordering::Acquire) == changes {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known.get(key) {
                return Ok(*found);
            }
        }
        let made = decide()?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // A measurement that was made for this very choice changes nothing about it.
        let changes = crate::tuning::changes();
        if self.changes.swap(changes, Ordering::AcqRel) != changes || known.len() >= CHOICES_LIMIT {
            known.clear();
        }
        known.insert(*key, made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_made_once() {
        let choices = Choices::<u32, u32>::default();
        assert_eq!(choices.get(&1, || Ok(10)).unwrap(), 10);
        // Databases of tests beside this one may change meanwhile, and then it is made again.
        let again = choices.get(&1, || Ok(11)).unwrap();
        assert!([10, 11].contains(&again));
        assert_eq!(choices.all(), [again]);
        let failing = || Err(crate::Error::no_kernel("none"));
        assert!(choices.get(&2, failing).is_err());
        assert_eq!(choices.all().len(), 1);
    }
}
