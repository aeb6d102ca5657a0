//! What instrumented runs of a kernel counted: what stands where in the counters ([`Sites`]), and what it says about the source ([`Profile`]).
//!
//! How the counting gets into a kernel and what a compilation makes of the counts stands in `profiling`.

mod facts;
mod listing;

use serde::{Deserialize, Serialize};

pub use facts::{Access, Branch, Constant, KernelProfile, LoopCount, Profile, identity};

/// The variable that an instrumented module counts in.
pub const BUFFER: &str = "__amdgpu_profile";
/// Work-items that are looked at one by one: the first of the grid. What the others do is added up only.
pub const SAMPLED_ITEMS: u64 = 1024;
/// Lanes of a wave in the samples; that of NVIDIA's and of RDNA's GPUs.
pub const WAVE: u64 = 32;

/// What the words of [`BUFFER`] stand for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sites {
    pub kernels: Vec<KernelSites>,
    /// Words of 64 bits.
    pub words: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelSites {
    /// Symbol of the kernel.
    pub name: String,
    pub blocks: Vec<BlockSite>,
    pub loops: Vec<LoopSite>,
    pub accesses: Vec<AccessSite>,
}

/// A block: how often it ran, and how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockSite {
    pub line: u32,
    pub runs: u32,
    pub branch: Option<BranchSite>,
}

/// A branch: how often it was taken; and for each sampled work-item how often, and how often it was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BranchSite {
    pub line: u32,
    pub taken: u32,
    pub samples: Option<u32>,
}

/// A loop: its first block, and the edges back to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoopSite {
    pub line: u32,
    pub header: u32,
    pub back: Vec<Edge>,
}

/// An edge from the end of a block; of a branch, that when the condition is as said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edge {
    pub block: u32,
    pub when: Option<bool>,
}

/// An access to memory of the device: for each sampled work-item its last address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccessSite {
    pub line: u32,
    pub is_store: bool,
    pub bytes: u32,
    pub samples: u32,
}
