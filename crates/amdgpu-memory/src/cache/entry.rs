//! What is known of one block.

use amdgpu_telemetry::NameId;

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The entry describes no block.
    Vacant,
    Free,
    /// Free, and not yet joined with its neighbours nor in a free list.
    Recent,
    Allocated,
    /// Given back, but streams may still use it.
    Pending,
}

/// One block, or a place for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub address: u64,
    pub bytes: u64,
    pub requested_bytes: u64,
    /// When it was given back, in ticks of the cache; the latest of the blocks that were joined into it.
    pub freed_tick: u64,
    /// Raised with every hand-out, so that stale handles are told from live ones. Survives vacancy.
    pub generation: u32,
    /// Slot of the stream it belongs to.
    pub stream: u32,
    /// Neighbours in the segment.
    pub previous: u32,
    pub next: u32,
    /// Neighbours in the free list.
    pub free_previous: u32,
    pub free_next: u32,
    pub state: State,
    pub small: bool,
    /// Whom a block in use is for.
    pub owner: NameId,
}

impl Entry {
    pub const VACANT: Self = Self {
        address: 0,
        bytes: 0,
        requested_bytes: 0,
        freed_tick: 0,
        generation: 0,
        stream: NONE,
        previous: NONE,
        next: NONE,
        free_previous: NONE,
        free_next: NONE,
        state: State::Vacant,
        small: true,
        owner: NameId::UNNAMED,
    };

    /// Whether it shares its segment with other blocks.
    pub fn is_split(&self) -> bool {
        self.previous != NONE || self.next != NONE
    }
}
