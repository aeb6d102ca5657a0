//! Allocations that programs know by their addresses.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_aura::OpenDevice;
use amdgpu_hal::{DeviceKind, ForkLocal, MemoryKind};

use crate::objects::DeviceObject;
use crate::status::{Answer, Failure};

/// An allocation, as an array of its bytes.
pub struct Allocation {
    // First: the device goes after its memory.
    pub bytes: Array,
    pub device: Arc<DeviceObject>,
    pub kind: MemoryKind,
}

impl Allocation {
    pub fn first(&self) -> u64 {
        self.bytes.address().address()
    }

    pub fn len_bytes(&self) -> u64 {
        self.bytes.bytes() as u64
    }

    /// Whether a CPU device sees memory of the host that was allocated for a GPU: it is the host's own, and nobody orders its uses but the program.
    pub fn is_of_host_for(&self, device: &DeviceObject) -> bool {
        self.kind == MemoryKind::PinnedHost
            && device.context.info().kind == DeviceKind::Cpu
            && matches!(
                self.device.context.info().kind,
                DeviceKind::Hip | DeviceKind::Cuda
            )
    }

    /// Refuses a range of addresses that leaves the allocation, and one of another device than the one it is used on.
    pub fn check(&self, what: &str, address: u64, bytes: u64, device: &DeviceObject) -> Answer {
        self.device.check_same(device, what)?;
        self.check_range(what, address, bytes)
    }

    /// Refuses a range of addresses that leaves the allocation.
    pub fn check_range(&self, what: &str, address: u64, bytes: u64) -> Answer {
        let end = self.first() + self.len_bytes();
        if address.checked_add(bytes).is_some_and(|last| last <= end) {
            return Ok(());
        }
        let (offset, len) = (address - self.first(), self.len_bytes());
        Err(Failure::invalid(format!(
            "{what}: {bytes} bytes from byte {offset} on leave the allocation of {len} bytes at {:#x}",
            self.first()
        )))
    }
}

/// Allocations by their first address. Most addresses that are looked for are one, which a hash finds at once; others lie inside of the allocation
/// before them.
#[derive(Default)]
struct Table {
    by_first: HashMap<u64, Arc<Allocation>, BuildHasherDefault<AddressHasher>>,
    in_order: BTreeMap<u64, Arc<Allocation>>,
}

impl Table {
    /// The allocation that an address lies in.
    fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        let found = match self.by_first.get(&address) {
            Some(found) => found,
            None => self.in_order.range(..=address).next_back()?.1,
        };
        (address - found.first() < found.len_bytes()).then_some(found)
    }

    fn insert(&mut self, allocation: Arc<Allocation>) {
        let first = allocation.first();
        self.by_first.insert(first, Arc::clone(&allocation));
        self.in_order.insert(first, allocation);
    }

    fn remove(&mut self, first: u64) -> Option<Arc<Allocation>> {
        self.by_first.remove(&first)?;
        self.in_order.remove(&first)
    }
}

/// Of addresses, whose lowest bits are zero: their product with an odd number, as Knuth chose it (The Art of Computer Programming, 6.4), whose upper
/// bits depend on all of theirs.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A child after `fork()` has none: it opens its own devices.
static LIVE: ForkLocal<Mutex<Table>> = ForkLocal::new(Mutex::default);

fn lock() -> MutexGuard<'static, Table> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn insert(allocation: Allocation) {
    lock().insert(Arc::new(allocation));
}

/// The allocation that an address lies in.
pub fn find(address: u64) -> Option<Arc<Allocation>> {
    lock().find(address).cloned()
}

/// Whether ranges of addresses, first byte and length, can be used at once: those in our allocations lie inside, are of this device, and no
/// stream was ever given work on them.
pub fn are_settled(ranges: &[(u64, u64)], device: &DeviceObject) -> bool {
    let table = lock();
    ranges.iter().all(|(first, bytes)| {
        let Some(found) = table.find(*first) else {
            return true;
        };
        first - found.first() + bytes <= found.len_bytes()
            && (found.is_of_host_for(device)
                || !found.bytes.storage().uses().is_used()
                    && (std::ptr::eq(&raw const *found.device, device)
                        || found.device.name() == device.name()))
    })
}

/// Whether ranges of addresses lie in our allocations on this device that nobody else was told of and no stream was given work on.
pub fn are_private(mut ranges: impl Iterator<Item = (u64, u64)>, device: &Arc<OpenDevice>) -> bool {
    let table = lock();
    ranges.all(|(first, bytes)| {
        table.find(first).is_some_and(|found| {
            (first - found.first()).saturating_add(bytes) <= found.len_bytes()
                && found.bytes.is_private_to(device)
                && !found.bytes.has_uses()
        })
    })
}

/// Takes an allocation out of the table by its first address.
pub fn remove(address: u64) -> Answer<Arc<Allocation>> {
    if let Some(found) = lock().remove(address) {
        return Ok(found);
    }
    Err(match find(address) {
        Some(inside) => Failure::invalid(format!(
            "{address:#x} lies inside of an allocation, {} bytes behind its beginning {:#x}, which is what can be freed",
            address - inside.first(),
            inside.first()
        )),
        None => no_allocation(address),
    })
}

pub fn no_allocation(address: u64) -> Failure {
    let message = format!(
        "{address:#x} is no memory that agpu_raw_allocate gave and that is still there: it was freed, or is of another library"
    );
    Failure::new(ErrorCode::UseAfterFree, message)
}
