//! The caching allocator: one for each open device, over any backend of the hardware layer.
//!
//! Promises
//! - [`Allocator::allocate`] gives a [`Block`], an owned handle: dropping it returns the memory to the cache, not to the device. A hit
//!   costs a lock and a few list operations.
//! - Sizes, segments and knobs are those of PyTorch's allocator: blocks are multiples of 512 bytes; up to 1 MiB they are cut from 2 MiB
//!   segments, larger ones from segments of 20 MiB or their size rounded to 2 MiB; free neighbours are joined.
//! - Reuse follows the order of streams: a block given back is handed out again only on the stream it was allocated for, or after the
//!   events of every stream named with [`Block::record_stream`] have passed. Memory that the host can reach is also held back until its
//!   own stream is idle.
//! - Before out-of-memory is reported, cached segments are given back to the device: those of this pool, then those of other allocators
//!   that share the device's limit.
//! - Every byte is accounted for: [`Allocator::stats`] under PyTorch's names, [`Allocator::snapshot`] block by block, and
//!   [`Allocator::close`] tells what is still alive.
//! - Blocks allocated while an [`OwnerScope`] is alive are listed under its name for watchers of the process.
//! - [`HostBlock`] is memory of the host in huge pages.
//! - [`SubPool`] cuts one block further with a strategy of the Zig library: slab, buddy or arena.
//!
//! Refusals
//! - Freeing or looking up an address that is not live is an error (301), as is any use after [`Allocator::close`] (203) or in a child
//!   after `fork()` (206); none of them changes anything.
//! - Copies check their bounds here; addresses given to kernels are checked by the core that launches.
//!
//! Everything may be called from any thread. Sizes of zero are allowed and give a block of zero length with an address of its own.

mod allocator;
mod block;
mod cache;
mod copy;
mod error;
mod host;
mod options;
mod owner;
mod pool;
mod report;
mod sizes;
mod snapshot;
mod stats;
mod strategy;
mod watch;

pub use allocator::{Allocator, CloseReport};
pub use block::Block;
pub use error::{Error, Result};
pub use host::{HostBlock, HostMemoryStats, HostPages, host_memory_stats};
pub use options::AllocatorOptions;
pub use owner::{Owner, OwnerScope};
pub use sizes::readable;
pub use snapshot::{BlockSnapshot, BlockState, SegmentSnapshot};
pub use stats::{MemoryStats, Stat, StatValue, StatsByPool};
pub use strategy::{Strategy, SubBlock, SubPool, SubPoolStats};
