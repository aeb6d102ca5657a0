//! Units that are loaded on a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_hal::{Device, Module};

use crate::cache::{CacheKey, WeakMap};
use crate::messages::PrintfBuffer;
use crate::unit::UnitFacts;

/// What a loaded unit takes beside its code and its texts: tables of the module, its kernels and their meters.
const UNIT_BYTES: usize = 4096;
/// Code is loaded in whole pages: of instructions, of constants, of the tables between them.
const PAGE_BYTES: usize = 4096;

/// Code that is loaded on a device, with what is known about it. Kernels hold their unit; nobody else does for long.
pub(crate) struct LoadedUnit {
    pub facts: UnitFacts,
    pub module: Arc<dyn Module>,
    pub printf_buffer: Option<Arc<PrintfBuffer>>,
    /// About what it takes in memory.
    pub bytes: usize,
}

impl LoadedUnit {
    pub fn new(
        facts: UnitFacts,
        module: Arc<dyn Module>,
        device: &Arc<dyn Device>,
        metadata_bytes: usize,
        code_bytes: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            printf_buffer: PrintfBuffer::of(&facts.messages, &module, device),
            facts,
            module,
            bytes: UNIT_BYTES
                + metadata_bytes
                + 2 * PAGE_BYTES
                + code_bytes.next_multiple_of(PAGE_BYTES),
        })
    }
}

/// The units that are loaded on one device: found as long as a kernel of theirs is held, by the program or by the table of kernels.
pub(crate) struct LoadedUnits(Mutex<WeakMap<CacheKey, LoadedUnit>>);

impl LoadedUnits {
    pub fn new() -> Self {
        Self(Mutex::new(WeakMap::new()))
    }

    /// The map holds whole entries whatever panicked.
    pub fn lock(&self) -> MutexGuard<'_, WeakMap<CacheKey, LoadedUnit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
