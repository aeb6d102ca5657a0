//! Typed caches that layers above keep beside an open device or context: at most one value of each type, dropped together.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Value = Arc<dyn Any + Send + Sync>;

/// One value of each type. There are few of them, so a list is searched faster than a map.
#[derive(Default)]
pub(crate) struct Slots(Mutex<Vec<(TypeId, Value)>>);

impl Slots {
    /// The value of type `T`, if it was made.
    pub fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        find_in(&self.lock())
    }

    /// The value of type `T`, made now where there is none. Of two threads that make one at the same time, the first one's is kept.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(found) = self.find() {
            return found;
        }
        // Made without the lock: `make` may ask for values of other types.
        let value = Arc::new(make());
        let mut slots = self.lock();
        if let Some(found) = find_in(&slots) {
            return found;
        }
        slots.push((TypeId::of::<T>(), value.clone()));
        value
    }

    /// Drops all values. Those that somebody else holds live on until they let go.
    pub fn clear(&self) {
        // Dropped without the lock: a value may hold anything, this device included.
        let values = std::mem::take(&mut *self.lock());
        drop(values);
    }

    /// What is locked here is whole whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Vec<(TypeId, Value)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find_in<T: Any + Send + Sync>(slots: &[(TypeId, Value)]) -> Option<Arc<T>> {
    let (_, value) = slots.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
    Arc::clone(value).downcast().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Names(Mutex<Vec<&'static str>>);

    #[test]
    fn each_type_has_one_value_until_all_are_dropped() {
        let slots = Slots::default();
        assert!(slots.find::<u32>().is_none());
        assert_eq!(*slots.get_or_make(|| 1_u32), 1);
        assert_eq!(*slots.get_or_make(|| 2_u32), 1);
        let names = slots.get_or_make(Names::default);
        names.0.lock().unwrap().push("kept");
        assert!(Arc::ptr_eq(&names, &slots.find::<Names>().unwrap()));
        slots.clear();
        assert!(slots.find::<u32>().is_none() && slots.find::<Names>().is_none());
        assert_eq!(*names.0.lock().unwrap(), ["kept"]);
        assert_eq!(Arc::strong_count(&names), 1);
    }

    #[test]
    fn making_a_value_may_ask_for_another() {
        let slots = Slots::default();
        let sum = slots.get_or_make(|| u64::from(*slots.get_or_make(|| 20_u32)) + 1);
        assert_eq!(*sum, 21);
    }
}
