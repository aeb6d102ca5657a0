//! Finding, opening and owning a Julia runtime.

mod api;
mod discovery;
mod guest;
mod owner;
mod probe;
mod probe_cache;
mod sources;
mod start;

pub use discovery::Availability;
pub(crate) use discovery::{availability, installation};
pub(crate) use owner::Owner;
pub use sources::matmul_address;
pub(crate) use sources::{find_sources, load_table};
