//! Least recently used map from key to loaded module.

use std::collections::HashMap;
use std::hash::Hash;

/// Kept entries; the oldest in use goes first when the map is full. Modules that kernels still hold stay loaded through them.
pub(crate) struct MemoryCache<K, V> {
    entries: HashMap<K, (V, u64)>,
    capacity: usize,
    clock: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> MemoryCache<K, V> {
    pub fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            capacity,
            clock: 0,
        }
    }

    pub fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let (value, used) = self.entries.get_mut(key)?;
        *used = self.clock;
        Some(value.clone())
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.clock += 1;
        if self.entries.len() >= self.capacity
            && !self.entries.contains_key(&key)
            && let Some(oldest) = self.oldest()
        {
            self.entries.remove(&oldest);
        }
        self.entries.insert(key, (value, self.clock));
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    fn oldest(&self) -> Option<K> {
        self.entries
            .iter()
            .min_by_key(|(_, (_, used))| *used)
            .map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_goes_first() {
        let mut cache = MemoryCache::new(2);
        cache.insert("a", 1);
        cache.insert("b", 2);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.insert("c", 3);
        assert_eq!(cache.get(&"b"), None);
        assert_eq!((cache.get(&"a"), cache.get(&"c")), (Some(1), Some(3)));
        cache.clear();
        assert_eq!(cache.get(&"a"), None);
    }
}
