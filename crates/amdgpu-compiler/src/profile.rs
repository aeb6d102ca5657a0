//! Profile-guided optimisation: an instrumented kernel counts what it does into a variable of its module, and a later compilation of the
//! same source uses the counts.
//!
//! Contract
//! - [`instrument`] and [`apply`] work on the same code: kernels as they were lowered, with what they call inlined. So blocks have the same
//!   numbers in both.
//! - Counting uses atomic additions on a `__device__` variable ([`BUFFER`]), so it works on every device. The order of work-items does not
//!   change what is counted.
//! - Applying a profile changes how fast a kernel is and never a bit of its results: loops are unrolled by how often they ran, parameters
//!   that had one value get a copy of the kernel in which they are constants, behind a comparison, and branches get weights.
//! - A profile of another source, or of the same source with other macros, is refused ([`Profile::check`]).

mod apply;
mod facts;
mod instrument;
mod listing;

use serde::{Deserialize, Serialize};

pub(crate) use apply::apply;
pub use facts::{Access, Branch, Constant, KernelProfile, LoopCount, Profile, identity};
pub(crate) use instrument::instrument;

use crate::checks::inline_all;
use crate::globals::GlobalVariable;
use crate::ir::Module;
use crate::signature::Dtype;

/// The variable that an instrumented module counts in.
pub const BUFFER: &str = "__amdgpu_profile";
/// Work-items that are looked at one by one: the first of the grid. What the others do is added up only.
pub const SAMPLED_ITEMS: u64 = 1024;
/// Lanes of a wave in the samples; that of NVIDIA's and of RDNA's GPUs.
pub const WAVE: u64 = 32;

/// Instructions of one kernel up to which what it calls is inlined; that of the pass that inlines.
const MAX_INLINED_INSTRUCTIONS: usize = 20_000;

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

/// The variable as the host knows it.
pub(crate) fn buffer(sites: &Sites) -> GlobalVariable {
    GlobalVariable {
        name: BUFFER.to_owned(),
        type_name: format!("unsigned long long[{}]", sites.words),
        dtype: Some(Dtype::Uint64),
        shape: vec![sites.words],
        size_bytes: sites.words * 8,
        is_constant: false,
    }
}

/// The code that counts and that counts are applied to.
fn prepare(module: &mut Module) {
    inline_all(module, MAX_INLINED_INSTRUCTIONS);
}
