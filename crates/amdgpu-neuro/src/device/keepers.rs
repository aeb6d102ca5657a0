//! Which devices hold the numbers of a network, too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use amdgpu_array::Array;

use crate::training::tensors::Tensors;

/// Weights and biases by layer, each a vector; their shapes follow from the plan.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Of the network's numbers.
    pub version: u64,
    pub tensors: Tensors<Array>,
}

/// Networks on a device, until they are dropped or the device is closed.
#[derive(Default)]
pub(crate) struct PlacedNetworks(Mutex<HashMap<u64, Arc<Placed>>>);

impl PlacedNetworks {
    pub fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Placed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A network's name in the tables of devices, which forget it when it is dropped.
pub(crate) struct Keepers {
    pub id: u64,
    tables: Mutex<Vec<Weak<PlacedNetworks>>>,
}

impl Keepers {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            tables: Mutex::default(),
        }
    }

    pub fn note(&self, table: &Arc<PlacedNetworks>) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|known| known.strong_count() > 0);
        let own = Arc::downgrade(table);
        if !tables.iter().any(|known| known.ptr_eq(&own)) {
            tables.push(own);
        }
    }
}

impl std::fmt::Debug for Keepers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Keepers({})", self.id)
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        let tables = self
            .tables
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for table in tables.iter().filter_map(Weak::upgrade) {
            let found = table.lock().remove(&self.id);
            drop(found);
        }
    }
}
