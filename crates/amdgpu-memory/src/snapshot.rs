//! The allocator's memory, segment by segment and block by block, with the words of PyTorch's snapshots.

use amdgpu_telemetry::NameId;

/// What a block is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// In use.
    ActiveAllocated,
    /// Given back, but a stream may still use it.
    ActiveAwaitingFree,
    /// Free.
    Inactive,
}

impl BlockState {
    /// PyTorch's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveAllocated => "active_allocated",
            Self::ActiveAwaitingFree => "active_awaiting_free",
            Self::Inactive => "inactive",
        }
    }
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSnapshot {
    pub address: u64,
    pub size_bytes: u64,
    /// What the caller asked for; 0 for a free block.
    pub requested_bytes: u64,
    pub state: BlockState,
    /// Whom a block in use is for; what it says of a free block is whom it was for.
    pub owner: NameId,
}

/// One segment: memory that was reserved from the device at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentSnapshot {
    pub address: u64,
    pub total_bytes: u64,
    pub allocated_bytes: u64,
    pub active_bytes: u64,
    pub requested_bytes: u64,
    /// Identifier of the stream whose blocks it holds.
    pub stream: u64,
    /// `small` or `large`.
    pub segment_type: &'static str,
    /// Kind of memory: `device`, `pinned`, `unified`.
    pub pool: &'static str,
    /// In address order, without gaps.
    pub blocks: Vec<BlockSnapshot>,
}
