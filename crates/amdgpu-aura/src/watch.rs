//! What watchers of this process are told about kernels: what is loaded, how often it ran, and what its texts can be made of again.

mod lanes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use amdgpu_abi::layout::PACKAGE_VERSION;
use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::attach::{Question, Topic, provide};
use serde_json::{Value, json};

use crate::cache::{RecentlyUsed, WeakMap};
use crate::kernel::Kernel;
use crate::offline::target_name;

/// Kernels of one answer: more than anybody looks through, and less than a program that makes up kernels has.
const MAX_KERNELS: usize = 4096;
/// Threads of a block for which the occupancy is told: the size that most kernels are launched with.
const USUAL_BLOCK_THREADS: i64 = 256;

/// The kernels of one context, by handle: those that the program holds, and those that were used last.
pub(crate) struct KernelTable(Mutex<Kernels>);

struct Kernels {
    all: WeakMap<String, Kernel>,
    recent: RecentlyUsed<String, Kernel>,
}

/// Sizes of the tables of an open device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCacheSizes {
    /// Kernels that are kept whether or not the program holds them, ...
    pub kept_kernels: usize,
    /// ... about what they take, and what they may.
    pub kept_bytes: usize,
    pub limit_bytes: usize,
    /// Entries by which kernels and loaded units are found, those of dropped ones that were not swept yet included.
    pub known_kernels: usize,
    pub known_units: usize,
}

impl KernelTable {
    fn new(limit_bytes: usize) -> Self {
        Self(Mutex::new(Kernels {
            all: WeakMap::new(),
            recent: RecentlyUsed::new(limit_bytes),
        }))
    }

    /// The maps hold whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Kernels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of a handle, which is used now.
    pub fn get(&self, handle: &str) -> Option<Arc<Kernel>> {
        let mut kernels = self.lock();
        kernels.recent.touch(handle);
        kernels.all.get(handle)
    }

    pub fn keep(&self, kernel: &Arc<Kernel>) {
        let (handle, bytes) = (kernel.handle().to_owned(), kernel.kept_bytes());
        let mut kernels = self.lock();
        kernels.all.insert(handle.clone(), kernel);
        let dropped = kernels.recent.insert(handle, Arc::clone(kernel), bytes);
        drop(kernels);
        drop(dropped);
    }

    pub fn clear(&self) {
        let mut kernels = self.lock();
        kernels.all.clear();
        let dropped = kernels.recent.clear();
        drop(kernels);
        drop(dropped);
    }

    pub fn sizes(&self, known_units: usize) -> KernelCacheSizes {
        let kernels = self.lock();
        KernelCacheSizes {
            kept_kernels: kernels.recent.len(),
            kept_bytes: kernels.recent.bytes(),
            limit_bytes: kernels.recent.limit_bytes(),
            known_kernels: kernels.all.len(),
            known_units,
        }
    }
}

static TABLES: ForkLocal<Mutex<Vec<Weak<KernelTable>>>> = ForkLocal::new(Mutex::default);

/// A table that watchers may look into as long as its context lives.
pub(crate) fn new_table(limit_bytes: usize) -> Arc<KernelTable> {
    provide(Topic::Kernels, all_kernels);
    provide(Topic::Kernel, one_kernel);
    provide(Topic::Lanes, newest_lanes);
    let table = Arc::new(KernelTable::new(limit_bytes));
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.retain(|other| other.strong_count() > 0);
    tables.push(Arc::downgrade(&table));
    table
}

/// Every loaded kernel once, by handle: a device that was opened twice has the same kernel twice.
fn loaded() -> BTreeMap<String, Arc<Kernel>> {
    let tables: Vec<Arc<KernelTable>> = {
        let tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.iter().filter_map(Weak::upgrade).collect()
    };
    let mut found = BTreeMap::new();
    for table in tables {
        for (handle, kernel) in table.lock().all.values() {
            found.insert(handle.clone(), kernel);
        }
    }
    found
}

#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
fn newest_lanes(_: &Question) -> Result<Value, String> {
    Ok(lanes::newest(&loaded()))
}

#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
pub(crate) fn all_kernels(_: &Question) -> Result<Value, String> {
    let kernels = loaded();
    let mut rows: Vec<(f64, Value)> = kernels
        .values()
        .map(|kernel| row(kernel, &kernels))
        .collect();
    // The busiest first; kernels of one time stay in the order of their handles.
    rows.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    rows.truncate(MAX_KERNELS);
    Ok(Value::Array(rows.into_iter().map(|(_, row)| row).collect()))
}

/// A kernel's line of the list, and its time in seconds.
fn row(kernel: &Kernel, all: &BTreeMap<String, Arc<Kernel>>) -> (f64, Value) {
    let sums = kernel.sums();
    let facts = kernel.facts();
    let occupancy = occupancy_of(kernel);
    let resources = kernel.resources();
    let seconds = sums.map(|sums| sums.seconds);
    let of_occupancy = |key: &str| occupancy.get(key).cloned().unwrap_or_default();
    let row = json!({
        "handle": kernel.handle(),
        "id": kernel.id(),
        "name": facts.name,
        "signature": facts.signature,
        "target": target_name(kernel.device_info()),
        "device": kernel.device_info().name,
        "language": "hip-c",
        "core": kernel.core().name(),
        "calls": sums.map(|sums| sums.calls as u64),
        "timed_calls": sums.map(|sums| sums.timed_calls as u64),
        "seconds": seconds,
        "calls_are_sampled": sums.is_some_and(|sums| sums.timed_calls < sums.calls),
        "mean_seconds": sums.filter(|sums| sums.timed_calls > 0.0).map(|sums| sums.seconds / sums.calls),
        "compile_seconds": kernel.compile_seconds(),
        "cache_answer": kernel.cache_answer().name(),
        "is_checked": kernel.is_checked(),
        "registers": resources.map_or_else(|| of_occupancy("registers"), |found| json!(found.vgpr_count)),
        "shared_bytes": facts.static_shared_bytes,
        "scratch_bytes": resources.map_or_else(|| of_occupancy("scratch_bytes"), |found| json!(found.scratch_bytes)),
        "occupancy": occupancy,
        "work": facts.work,
        "counted": counted(kernel, all),
    });
    (seconds.unwrap_or_default(), row)
}

/// What a checked launch of a kernel, or of its twin with checks, computed and moved.
fn counted(kernel: &Kernel, all: &BTreeMap<String, Arc<Kernel>>) -> Value {
    let is_twin = |other: &&Arc<Kernel>| {
        other.is_checked()
            && other.facts().name == kernel.facts().name
            && other.source() == kernel.source()
            && other.options().defines == kernel.options().defines
    };
    let found = if kernel.is_checked() {
        kernel.counted()
    } else {
        all.values().filter(is_twin).find_map(|twin| twin.counted())
    };
    found.map_or(Value::Null, |work| {
        json!({
            "operations": work.operations,
            "bytes": work.bytes,
            "work_items": work.work_items,
        })
    })
}

/// For blocks of the usual size, or the largest that the kernel takes.
fn occupancy_of(kernel: &Kernel) -> Value {
    let limit = kernel
        .facts()
        .max_threads_per_block
        .unwrap_or(kernel.device_info().max_threads_per_block);
    let threads = USUAL_BLOCK_THREADS.min(i64::from(limit));
    match kernel.occupancy([threads, 1, 1], 0) {
        Ok(Some(found)) => {
            let mut value = json!(found);
            value["threads"] = json!(threads);
            value
        }
        Ok(None) | Err(_) => Value::Null,
    }
}

pub(crate) fn one_kernel(question: &Question) -> Result<Value, String> {
    let handle = question.handle.as_deref().unwrap_or_default();
    let kernels = loaded();
    let kernel = kernels.get(handle).ok_or_else(|| {
        format!(
            "there is no kernel with the handle {handle:?}; {} are loaded",
            kernels.len()
        )
    })?;
    let options = kernel.options();
    let (_, mut answer) = row(kernel, &kernels);
    answer["source"] = json!(kernel.source());
    answer["options"] = json!({
        "name": options.name,
        "optimization_level": options.optimization_level.name(),
        "defines": options.defines,
        "name_expressions": options.name_expressions,
        "fast_math": options.fast_math,
        "checked": options.checked,
        "disabled_passes": options.disabled_passes,
    });
    answer["version"] = json!(PACKAGE_VERSION);
    answer["notes"] = json!(kernel.notes());
    answer["passes"] = serde_json::from_str(kernel.passes()).unwrap_or_default();
    answer["resources"] = json!(kernel.resources());
    answer["is_foreign"] = json!(kernel.is_foreign());
    Ok(answer)
}
