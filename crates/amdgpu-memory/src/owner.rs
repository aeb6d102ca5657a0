//! Who memory is for: a name that blocks carry for watchers of the process.

use std::cell::Cell;

use amdgpu_telemetry::NameId;
use once_cell::race::OnceNonZeroUsize;

thread_local! {
    static CURRENT: Cell<NameId> = const { Cell::new(NameId::UNNAMED) };
}

/// Whom blocks that this thread allocates now are for.
pub(crate) fn current() -> NameId {
    CURRENT.get()
}

/// A name in a fixed place of the source, looked up once: `static ARRAY: Owner = Owner::new("array")`.
pub struct Owner {
    name: &'static str,
    number: OnceNonZeroUsize,
}

impl Owner {
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            number: OnceNonZeroUsize::new(),
        }
    }

    /// From here on blocks of this thread are this owner's.
    pub fn enter(&self) -> OwnerScope {
        // Number 0 is the empty name, so that names of owners have larger ones.
        let number = self.number.get_or_init(|| {
            let id = amdgpu_telemetry::intern(self.name);
            std::num::NonZeroUsize::MIN.saturating_add(id.number() as usize)
        });
        OwnerScope::of(NameId::from_number(number.get() as u32 - 1))
    }
}

/// As long as it lives, blocks that its thread allocates carry its name.
#[must_use = "the blocks are its own as long as it lives"]
pub struct OwnerScope {
    before: NameId,
    /// Scopes end on the thread on which they began.
    _thread: std::marker::PhantomData<*const ()>,
}

impl OwnerScope {
    /// For a name that is known only now, as that of a network.
    pub fn of(name: NameId) -> Self {
        Self {
            before: CURRENT.replace(name),
            _thread: std::marker::PhantomData,
        }
    }
}

impl Drop for OwnerScope {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_belong_to_their_thread() {
        static OUTER: Owner = Owner::new("outer");
        assert_eq!(current(), NameId::UNNAMED);
        {
            let _outer = OUTER.enter();
            let outer = current();
            assert_eq!(outer, amdgpu_telemetry::intern("outer"));
            {
                let _inner = OwnerScope::of(amdgpu_telemetry::intern("inner"));
                assert_ne!(current(), outer);
                let elsewhere = std::thread::spawn(current).join().unwrap();
                assert_eq!(elsewhere, NameId::UNNAMED);
            }
            assert_eq!(current(), outer);
        }
        assert_eq!(current(), NameId::UNNAMED);
    }
}
