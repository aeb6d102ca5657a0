//! The memory that a launch may touch.

use std::ops::Range;

use super::fault::Cause;
use super::{Array, OtherMemory, Site, Target};

/// Addresses below are taken for null pointers with an index.
const NULL_PAGES: u64 = 1 << 16;

pub(super) struct Targets {
    arrays: Vec<Array>,
    others: Vec<OtherMemory>,
    dynamic_shared_bytes: u64,
    /// Scratch memory of the block, shared memory included.
    shared: Range<u64>,
    /// Data of the module.
    module: Range<u64>,
    /// Of this thread.
    stack: Range<u64>,
}

/// Where an access lies.
pub(super) enum Place {
    Array(usize, i128),
    Shared(String, i128),
    Global(String, i128),
    Private(i128),
    /// Memory that no name is known of.
    Other(u64),
}

impl Place {
    /// Whether other work-items reach it.
    pub fn is_watched(&self) -> bool {
        !matches!(self, Self::Private(_))
    }

    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(..))
    }
}

impl Targets {
    pub fn new(
        arrays: Vec<Array>,
        others: Vec<OtherMemory>,
        dynamic_shared_bytes: u64,
        module: Range<u64>,
    ) -> Self {
        Self {
            arrays,
            others,
            dynamic_shared_bytes,
            shared: 0..0,
            module,
            stack: stack_of_this_thread(),
        }
    }

    pub fn set_shared(&mut self, shared: Range<u64>) {
        self.shared = shared;
    }

    /// Where `bytes` bytes at an address lie; the error is what is wrong with that.
    pub fn place(&self, site: &Site, address: u64, bytes: u64, base: u64) -> Result<Place, Cause> {
        let within = |size: u64, place: fn(i128) -> Place, name: &dyn Fn() -> String| {
            let offset = i128::from(address) - i128::from(base);
            if offset >= 0 && offset + i128::from(bytes) <= i128::from(size) {
                Ok(place(offset))
            } else {
                Err(Cause::Outside {
                    kind: site.kind,
                    bytes,
                    place: format!("{} at byte offset {offset} of {size}", name()),
                })
            }
        };
        match &site.target {
            Target::Argument(number) => {
                let Some(array) = self.arrays.get(*number) else {
                    return self.search(site, address, bytes);
                };
                let place = within_array(array, *number, address, bytes);
                place.ok_or_else(|| Self::outside(array, site, address, bytes))
            }
            Target::Private { bytes: extent } => within(*extent, Place::Private, &|| {
                "a variable of the work-item".to_string()
            }),
            Target::Shared {
                name,
                bytes: extent,
            } => {
                let extent = if *extent == 0 {
                    self.dynamic_shared_bytes
                } else {
                    *extent
                };
                within(extent, Place::Private, &|| {
                    format!("the shared variable `{name}`")
                })?;
                let offset = i128::from(address) - i128::from(base);
                Ok(Place::Shared(name.clone(), offset))
            }
            Target::Global {
                name,
                bytes: extent,
            } => {
                within(*extent, Place::Private, &|| {
                    format!("the variable `{name}`")
                })?;
                let offset = i128::from(address) - i128::from(base);
                Ok(Place::Global(name.clone(), offset))
            }
            Target::Unknown => self.search(site, address, bytes),
        }
    }

    fn outside(array: &Array, site: &Site, address: u64, bytes: u64) -> Cause {
        if array.address == 0 {
            return Cause::Null {
                kind: site.kind,
                bytes,
                place: format!(", argument `{}`", array.name),
            };
        }
        let offset = i128::from(address) - i128::from(array.address);
        Cause::Outside {
            kind: site.kind,
            bytes,
            place: format!(
                "argument `{}` at byte offset {offset} of {}",
                array.name, array.bytes
            ),
        }
    }

    /// A pointer of unknown origin may lead into anything that belongs to the launch.
    fn search(&self, site: &Site, address: u64, bytes: u64) -> Result<Place, Cause> {
        for (number, array) in self.arrays.iter().enumerate() {
            if let Some(place) = within_array(array, number, address, bytes) {
                return Ok(place);
            }
        }
        let Some(end) = address.checked_add(bytes) else {
            return Err(Self::nowhere(site, address, bytes));
        };
        let is_in = |range: &Range<u64>| address >= range.start && end <= range.end;
        if is_in(&self.stack) {
            return Ok(Place::Private(0));
        }
        if is_in(&self.shared) {
            let offset = i128::from(address) - i128::from(self.shared.start);
            return Ok(Place::Shared("shared memory".to_string(), offset));
        }
        if is_in(&self.module) {
            return Ok(Place::Other(address));
        }
        for other in &self.others {
            if is_in(&(other.address..other.address.saturating_add(other.bytes))) {
                if other.is_freed {
                    return Err(Cause::Freed {
                        kind: site.kind,
                        bytes,
                    });
                }
                return Ok(Place::Other(address));
            }
        }
        // Just past an array is most likely an index too far.
        let near = self.arrays.iter().find(|array| {
            let past = array.address.saturating_add(array.bytes);
            array.address > 0 && address >= array.address && address <= past
        });
        if let Some(array) = near {
            return Err(Self::outside(array, site, address, bytes));
        }
        Err(Self::nowhere(site, address, bytes))
    }

    fn nowhere(site: &Site, address: u64, bytes: u64) -> Cause {
        if address < NULL_PAGES {
            return Cause::Null {
                kind: site.kind,
                bytes,
                place: String::new(),
            };
        }
        Cause::Nowhere {
            kind: site.kind,
            bytes,
            address,
        }
    }

    pub fn describe(&self, place: &Place) -> String {
        match place {
            Place::Array(number, offset) => {
                format!(
                    "argument `{}` at byte offset {offset}",
                    self.arrays[*number].name
                )
            }
            Place::Shared(name, offset) => format!("shared `{name}` at byte offset {offset}"),
            Place::Global(name, offset) => format!("variable `{name}` at byte offset {offset}"),
            Place::Private(offset) => {
                format!("a variable of the work-item at byte offset {offset}")
            }
            Place::Other(address) => format!("memory at {address:#x}"),
        }
    }
}

fn within_array(array: &Array, number: usize, address: u64, bytes: u64) -> Option<Place> {
    let offset = address.checked_sub(array.address)?;
    let fits = offset
        .checked_add(bytes)
        .is_some_and(|end| end <= array.bytes);
    (fits && array.address > 0).then_some(Place::Array(number, i128::from(offset)))
}

/// The stack of this thread, where private memory of work-items lies.
fn stack_of_this_thread() -> Range<u64> {
    // SAFETY: the attributes are filled by the first call before they are read, and given back.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0..0;
        }
        let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
        let status =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut begin, &raw mut bytes);
        libc::pthread_attr_destroy(&raw mut attributes);
        if status != 0 {
            return 0..0;
        }
        let begin = begin.expose_provenance() as u64;
        begin..begin.saturating_add(bytes as u64)
    }
}
