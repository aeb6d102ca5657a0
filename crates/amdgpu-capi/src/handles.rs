//! The table of handles: what C holds is a number, never an address.
//!
//! A handle says its kind, its place in the table, how often that place was used before, and which process made it. So a handle that was
//! released, that is of another kind, that came through `fork()` or that is no handle at all is recognised, not followed.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use amdgpu_abi::ErrorCode;
use amdgpu_hal::ForkLocal;

use crate::status::{Answer, Failure};

const INDEX_BITS: u32 = 32;
const GENERATION_BITS: u32 = 22;
const PROCESS_BITS: u32 = 6;
/// The last generation of a place; it is not used again after that.
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// What handles stand for.
pub trait Object: Any + Send + Sync {
    /// Number of the kind, 1 to 15.
    const KIND: u8;
}

/// Names of the kinds by number, for messages.
pub const KIND_NAMES: [&str; 16] = [
    "nothing",
    "a device",
    "a stream",
    "an event",
    "memory",
    "a kernel",
    "a prepared launch",
    "a captured graph",
    "a network",
    "a spiking network",
    "the result of a run",
    "a text",
    "an array",
    "a random generator",
    "a trainer",
    "a graph",
];

/// A handle as C has it: an opaque pointer that is never followed.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u64);

impl Handle {
    /// No handle: of what the caller left out.
    pub const NULL: Self = Self(0);

    /// A handle that came as a number, inside of a struct.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The handle as a number.
    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    fn new(kind: u8, process: u64, generation: u32, index: usize) -> Self {
        let process = process & ((1 << PROCESS_BITS) - 1);
        Self(
            u64::from(kind) << (INDEX_BITS + GENERATION_BITS + PROCESS_BITS)
                | process << (INDEX_BITS + GENERATION_BITS)
                | u64::from(generation) << INDEX_BITS
                | index as u64,
        )
    }

    /// Whether it says a kind, as all handles do and addresses of programs do not.
    pub fn has_kind(self) -> bool {
        self.kind() != 0
    }

    fn kind(self) -> usize {
        (self.0 >> (INDEX_BITS + GENERATION_BITS + PROCESS_BITS)) as usize
    }

    fn process(self) -> u64 {
        self.0 >> (INDEX_BITS + GENERATION_BITS) & ((1 << PROCESS_BITS) - 1)
    }

    fn generation(self) -> u32 {
        (self.0 >> INDEX_BITS) as u32 & LAST_GENERATION
    }

    fn index(self) -> usize {
        self.0 as u32 as usize
    }
}

struct Slot {
    generation: u32,
    references: u32,
    kind: u8,
    object: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    free: Vec<usize>,
}

struct Table {
    /// Another number in a child after `fork()`.
    process: u64,
    slots: RwLock<Slots>,
}

static PROCESSES: AtomicU64 = AtomicU64::new(0);
static TABLE: ForkLocal<Table> = ForkLocal::new(|| Table {
    process: PROCESSES.fetch_add(1, Ordering::Relaxed),
    slots: RwLock::default(),
});

/// A new handle with one reference.
pub fn insert<T: Object>(object: Arc<T>) -> Handle {
    let table = &*TABLE;
    let mut slots = table.slots.write().unwrap_or_else(PoisonError::into_inner);
    let index = slots.free.pop().unwrap_or_else(|| {
        slots.all.push(Slot {
            generation: 0,
            references: 0,
            kind: 0,
            object: None,
        });
        slots.all.len() - 1
    });
    let slot = &mut slots.all[index];
    slot.generation += 1;
    slot.references = 1;
    slot.kind = T::KIND;
    slot.object = Some(object);
    Handle::new(T::KIND, table.process, slot.generation, index)
}

/// What a handle stands for; `name` is the parameter, for the message.
pub fn get<T: Object>(handle: Handle, name: &str) -> Answer<Arc<T>> {
    if handle.is_null() {
        return Err(refuse(format!(
            "{name} is NULL; pass {}",
            KIND_NAMES[T::KIND as usize]
        )));
    }
    let table = &*TABLE;
    let slots = table.slots.read().unwrap_or_else(PoisonError::into_inner);
    let slot = find(table, &slots.all, handle, name)?;
    let object = slots.all[slot].object.clone();
    drop(slots);
    object
        .and_then(|object| object.downcast::<T>().ok())
        .ok_or_else(|| {
            let (is, wanted) = (KIND_NAMES[handle.kind()], KIND_NAMES[T::KIND as usize]);
            refuse(format!("{name} is {is}; pass {wanted}"))
        })
}

/// Like [`get`], with `None` for null.
pub fn get_optional<T: Object>(handle: Handle, name: &str) -> Answer<Option<Arc<T>>> {
    if handle.is_null() {
        return Ok(None);
    }
    get(handle, name).map(Some)
}

/// Another reference.
pub fn retain(handle: Handle) -> Answer {
    change(handle, |slot| {
        slot.references = slot
            .references
            .checked_add(1)
            .ok_or_else(|| refuse("the handle has 4294967295 references".to_owned()))?;
        Ok(None)
    })
    .map(drop)
}

/// One reference less; with the last the handle is gone.
pub fn release(handle: Handle) -> Answer {
    let last = change(handle, |slot| {
        slot.references -= 1;
        Ok(if slot.references == 0 {
            slot.object.take()
        } else {
            None
        })
    })?;
    // Outside of the lock: what goes with it may wait for a device.
    drop(last);
    Ok(())
}

/// How many handles there are.
pub fn count() -> usize {
    let slots = TABLE.slots.read().unwrap_or_else(PoisonError::into_inner);
    slots
        .all
        .iter()
        .filter(|slot| slot.object.is_some())
        .count()
}

fn change(
    handle: Handle,
    work: impl FnOnce(&mut Slot) -> Answer<Option<Arc<dyn Any + Send + Sync>>>,
) -> Answer<Option<Arc<dyn Any + Send + Sync>>> {
    if handle.is_null() {
        return Err(refuse("the handle is NULL".to_owned()));
    }
    let table = &*TABLE;
    let mut slots = table.slots.write().unwrap_or_else(PoisonError::into_inner);
    let index = find(table, &slots.all, handle, "the handle")?;
    let removed = work(&mut slots.all[index])?;
    let slot = &slots.all[index];
    if slot.object.is_none() && slot.generation < LAST_GENERATION {
        slots.free.push(index);
    }
    Ok(removed)
}

/// The place of a handle that is alive.
fn find(table: &Table, slots: &[Slot], handle: Handle, name: &str) -> Answer<usize> {
    let stranger = || {
        refuse(format!(
            "{name} is {:#x}, which is no handle of this library",
            handle.0
        ))
    };
    let kind = handle.kind();
    if kind == 0 || KIND_NAMES[kind].is_empty() {
        return Err(stranger());
    }
    let process = handle.process();
    if process != table.process & ((1 << PROCESS_BITS) - 1) {
        // Parents have smaller numbers.
        if process >= table.process {
            return Err(stranger());
        }
        return Err(Failure::new(
            ErrorCode::Forked,
            format!(
                "{name} is {} of the process before fork(); open the device again in the child",
                KIND_NAMES[kind]
            ),
        ));
    }
    let slot = slots.get(handle.index()).ok_or_else(stranger)?;
    let generation = handle.generation();
    if generation == 0 || generation > slot.generation {
        return Err(stranger());
    }
    if generation < slot.generation || slot.object.is_none() {
        return Err(refuse(format!(
            "{name} is {} that was released before",
            KIND_NAMES[kind]
        )));
    }
    if usize::from(slot.kind) != kind {
        return Err(stranger());
    }
    Ok(handle.index())
}

fn refuse(message: String) -> Failure {
    Failure::new(ErrorCode::InvalidHandle, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(u32);
    struct Other;

    impl Object for One {
        const KIND: u8 = 1;
    }

    impl Object for Other {
        const KIND: u8 = 2;
    }

    fn message<T>(answer: Answer<T>) -> String {
        answer
            .err()
            .map(|failure| failure.message)
            .unwrap_or_default()
    }

    #[test]
    fn a_handle_lives_until_its_last_reference_is_released() {
        let handle = insert(Arc::new(One(7)));
        retain(handle).unwrap();
        release(handle).unwrap();
        assert_eq!(get::<One>(handle, "device").unwrap().0, 7);
        release(handle).unwrap();
        assert!(message(release(handle)).contains("released before"));
        assert!(message(retain(handle)).contains("released before"));
        assert!(
            message(get::<One>(handle, "device"))
                .contains("device is a device that was released before")
        );
    }

    #[test]
    fn a_place_that_is_used_again_does_not_revive_old_handles() {
        let old = insert(Arc::new(One(1)));
        release(old).unwrap();
        let handles: Vec<Handle> = (0..64)
            .map(|number| insert(Arc::new(One(number))))
            .collect();
        assert!(message(get::<One>(old, "device")).contains("released before"));
        assert!(!handles.contains(&old));
        for handle in handles {
            release(handle).unwrap();
        }
    }

    #[test]
    fn handles_of_another_kind_and_strangers_are_refused() {
        let handle = insert(Arc::new(Other));
        assert_eq!(
            message(get::<One>(handle, "device")),
            "device is a stream; pass a device"
        );
        assert_eq!(
            message(get::<One>(Handle(0), "device")),
            "device is NULL; pass a device"
        );
        for number in [
            1,
            0x7fff_0000_1234_5678,
            u64::MAX,
            handle.0 | 0xffff,
            handle.0 & !(0xf << 60) | 5 << 60,
        ] {
            assert!(
                message(get::<One>(Handle(number), "device")).contains("no handle"),
                "{number:#x}"
            );
        }
        release(handle).unwrap();
    }

    #[test]
    fn threads_share_a_handle() {
        let handle = insert(Arc::new(One(3)));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        retain(handle).unwrap();
                        assert_eq!(get::<One>(handle, "device").unwrap().0, 3);
                        release(handle).unwrap();
                    }
                });
            }
        });
        release(handle).unwrap();
        assert!(release(handle).is_err());
    }
}
