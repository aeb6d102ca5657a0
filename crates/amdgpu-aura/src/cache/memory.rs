//! Compiled code in memory: what was used lately stays, the rest is found as long as somebody holds it.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// Entries of values that nobody holds are swept when the map has grown by this factor since the last sweep, ...
const SWEEP_GROWTH: usize = 2;
/// ... and not below this size.
const SWEEP_FROM: usize = 256;

/// Values by key, held by others only.
pub(crate) struct WeakMap<K, V> {
    entries: HashMap<K, Weak<V>>,
    sweep_at: usize,
}

impl<K: Hash + Eq, V> WeakMap<K, V> {
    pub fn new() -> Self {
        Self {
            entries: HashMap::new(),
            sweep_at: SWEEP_FROM,
        }
    }

    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)?.upgrade()
    }

    pub fn insert(&mut self, key: K, value: &Arc<V>) {
        if self.entries.len() >= self.sweep_at {
            self.entries.retain(|_, value| value.strong_count() > 0);
            self.sweep_at = SWEEP_FROM.max(self.entries.len() * SWEEP_GROWTH);
        }
        self.entries.insert(key, Arc::downgrade(value));
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Those that somebody still holds.
    pub fn values(&self) -> impl Iterator<Item = (&K, Arc<V>)> {
        let living = |(key, value): (_, &Weak<V>)| Some((key, value.upgrade()?));
        self.entries.iter().filter_map(living)
    }

    /// Entries, those of dropped values that were not swept yet included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

struct Kept<V> {
    value: Arc<V>,
    bytes: usize,
    used: u64,
}

/// Holds the values that were used last, up to a number of bytes; the one that was used longest ago goes first.
pub(crate) struct RecentlyUsed<K, V> {
    entries: HashMap<K, Kept<V>>,
    /// Keys by the time of their last use.
    order: BTreeMap<u64, K>,
    clock: u64,
    bytes: usize,
    limit_bytes: usize,
}

impl<K: Hash + Eq + Clone, V> RecentlyUsed<K, V> {
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
            bytes: 0,
            limit_bytes,
        }
    }

    /// Say that a value is used now.
    pub fn touch<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(kept) = self.entries.get_mut(key) {
            self.clock += 1;
            let key = self.order.remove(&kept.used);
            kept.used = self.clock;
            self.order.extend(key.map(|key| (kept.used, key)));
        }
    }

    /// Keep a value. Returns those that had to go for it, which the caller drops when no lock is held any more: unloading code takes its time.
    /// A value that is larger than everything that may be kept is the only one kept.
    #[must_use]
    pub fn insert(&mut self, key: K, value: Arc<V>, bytes: usize) -> Vec<Arc<V>> {
        self.clock += 1;
        let kept = Kept {
            value,
            bytes,
            used: self.clock,
        };
        let mut dropped = Vec::new();
        self.bytes += bytes;
        self.order.insert(self.clock, key.clone());
        if let Some(before) = self.entries.insert(key, kept) {
            self.order.remove(&before.used);
            self.bytes -= before.bytes;
            dropped.push(before.value);
        }
        while self.bytes > self.limit_bytes && self.entries.len() > 1 {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            if let Some(kept) = self.entries.remove(&oldest) {
                self.bytes -= kept.bytes;
                dropped.push(kept.value);
            }
        }
        dropped
    }

    /// Forget everything; returns it, to be dropped without a lock.
    #[must_use]
    pub fn clear(&mut self) -> Vec<Arc<V>> {
        self.order.clear();
        self.bytes = 0;
        self.entries.drain().map(|(_, kept)| kept.value).collect()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_goes_first() {
        let mut recent = RecentlyUsed::new(100);
        assert!(recent.insert("a", Arc::new(1), 50).is_empty());
        assert!(recent.insert("b", Arc::new(2), 50).is_empty());
        recent.touch("a");
        let dropped = recent.insert("c", Arc::new(3), 50);
        assert_eq!(dropped.iter().map(|value| **value).collect::<Vec<_>>(), [2]);
        assert_eq!((recent.len(), recent.bytes()), (2, 100));
        recent.touch("b");
        assert_eq!(recent.insert("d", Arc::new(4), 50), [Arc::new(1)]);
        assert_eq!(recent.clear().len(), 2);
        assert_eq!((recent.len(), recent.bytes()), (0, 0));
        // Nothing of before is in the way of what comes.
        assert!(recent.insert("a", Arc::new(5), 60).is_empty());
        assert!(recent.insert("b", Arc::new(6), 40).is_empty());
        assert_eq!(recent.order.len(), 2);
        assert_eq!(recent.insert("c", Arc::new(7), 60), [Arc::new(5)]);
        assert_eq!((recent.len(), recent.bytes()), (2, 100));
    }

    #[test]
    fn a_key_that_comes_again_counts_once() {
        let mut recent = RecentlyUsed::new(100);
        for size in [60, 40, 80] {
            let _ = recent.insert("a", Arc::new(size), size);
        }
        assert_eq!(
            (recent.len(), recent.bytes(), recent.order.len()),
            (1, 80, 1)
        );
    }

    #[test]
    fn a_value_larger_than_the_limit_is_kept_alone() {
        let mut recent = RecentlyUsed::new(100);
        let _ = recent.insert("a", Arc::new(1), 30);
        assert_eq!(recent.insert("b", Arc::new(2), 300), [Arc::new(1)]);
        assert_eq!((recent.len(), recent.bytes()), (1, 300));
        assert_eq!(recent.insert("c", Arc::new(3), 30), [Arc::new(2)]);
    }

    #[test]
    fn a_weak_map_finds_what_is_held_and_does_not_grow() {
        let mut map = WeakMap::new();
        let held = Arc::new(7);
        map.insert(usize::MAX, &held);
        for number in 0..100 * SWEEP_FROM {
            map.insert(number, &Arc::new(0));
            assert!(map.len() <= SWEEP_FROM + 1);
        }
        assert_eq!(map.get(&usize::MAX), Some(Arc::clone(&held)));
        assert_eq!(map.get(&0), None);
        assert_eq!(map.values().count(), 1);
        drop(held);
        assert_eq!(map.get(&usize::MAX), None);
    }
}
