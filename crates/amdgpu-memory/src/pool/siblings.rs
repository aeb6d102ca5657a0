//! Pools that draw on the same memory: when one finds the device full, the others give back what they only cache.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_hal::{Device, DevicePointer, ForkLocal, MemoryKind};

use super::Pool;
use crate::cache::Segment;

static POOLS: ForkLocal<Mutex<Vec<Known>>> = ForkLocal::new(Mutex::default);

/// A pool of this process.
struct Known {
    /// `Device::memory_domain`.
    domain: usize,
    pool: Weak<Pool>,
}

/// Segments of pools that ended inside a command of a stream, where nothing can be waited for.
static LEFT_BEHIND: ForkLocal<Mutex<Vec<LeftBehind>>> = ForkLocal::new(Mutex::default);

struct LeftBehind {
    device: Arc<dyn Device>,
    kind: MemoryKind,
    segments: Vec<Segment>,
}

/// Makes a pool known.
pub(super) fn register(pool: &Arc<Pool>) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|other| other.pool.strong_count() > 0);
    pools.push(Known {
        domain: pool.device.memory_domain(),
        pool: Arc::downgrade(pool),
    });
    drop(pools);
    free_left_behind();
}

/// All pools of this process.
pub(crate) fn all() -> Vec<Arc<Pool>> {
    of(|_| true)
}

fn of(is_wanted: impl Fn(&Known) -> bool) -> Vec<Arc<Pool>> {
    let pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = pools.iter().filter(|known| is_wanted(known));
    wanted.filter_map(|known| known.pool.upgrade()).collect()
}

/// Lets every other pool of the same memory give back what it can. Returns how much that was.
pub(super) fn reclaim(pool: &Pool) -> u64 {
    free_left_behind();
    let domain = pool.device.memory_domain();
    // The list is unlocked again before anything is done with a pool, its end included. Pools of other memory are not held meanwhile: one whose
    // last owner lets go of it would end here, later.
    let others = of(|other| other.domain == domain && !std::ptr::eq(other.pool.as_ptr(), pool));
    others
        .iter()
        .filter(|other| other.is_current())
        .map(|other| other.reclaim(u64::MAX, false))
        .sum()
}

/// Keeps segments until they can be freed safely: with the next allocator that is made, or the next time a device is full.
pub(super) fn leave_behind(device: Arc<dyn Device>, kind: MemoryKind, segments: Vec<Segment>) {
    let mut left = LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(LeftBehind {
        device,
        kind,
        segments,
    });
}

fn free_left_behind() {
    let left = std::mem::take(&mut *LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner));
    for entry in left {
        if entry.device.wait_idle().is_err() {
            leave_behind(entry.device, entry.kind, entry.segments);
            continue;
        }
        for segment in entry.segments {
            let ptr = DevicePointer(segment.address);
            // SAFETY: the segment came from this device with this length and kind; its pool is gone, and no command is under way any
            // more. A failure leaves the memory reserved, which is all that can be done about it.
            let _ = unsafe { entry.device.free(ptr, segment.bytes, entry.kind) };
        }
    }
}
