//! What was chosen for problems, remembered until what it was chosen by changes.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;

/// Problems whose choice is remembered; looking through an archive takes longer than a launch.
const CHOICES_LIMIT: usize = 4096;

/// The choices of a device.
pub struct Choices<K, V> {
    known: RwLock<FxHashMap<K, V>>,
    /// The state that the choices were made in.
    state: AtomicU64,
}

impl<K, V> Default for Choices<K, V> {
    fn default() -> Self {
        Self {
            known: RwLock::default(),
            state: AtomicU64::new(0),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Copy> Choices<K, V> {
    /// What was chosen so far, in no order.
    pub fn all(&self) -> Vec<V> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().copied().collect()
    }

    /// The choice for a problem, made by `decide` where it is not known in this state; `state` counts changes.
    pub fn get<E>(
        &self,
        key: &K,
        state: impl Fn() -> u64,
        decide: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        if self.state.load(Ordering::Acquire) == state() {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known.get(key) {
                return Ok(*found);
            }
        }
        let made = decide()?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // A change that was made for this very choice changes nothing about it.
        let now = state();
        if self.state.swap(now, Ordering::AcqRel) != now || known.len() >= CHOICES_LIMIT {
            known.clear();
        }
        known.insert(key.clone(), made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_made_once_in_each_state() {
        let choices = Choices::<u32, u32>::default();
        let get =
            |key, state, made: Result<u32, &'static str>| choices.get(&key, || state, || made);
        assert_eq!(get(1, 5, Ok(10)), Ok(10));
        assert_eq!(get(1, 5, Ok(11)), Ok(10));
        assert_eq!(get(2, 5, Err("none")), Err("none"));
        assert_eq!(choices.all(), [10]);
        assert_eq!(get(2, 6, Ok(20)), Ok(20));
        // What was chosen before the change is forgotten.
        assert_eq!(choices.all(), [20]);
        assert_eq!(get(1, 6, Ok(11)), Ok(11));
    }
}
