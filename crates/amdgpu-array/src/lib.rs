//! Arrays: memory of any device seen with a shape, strides and a dtype.
//!
//! Contract
//! - An [`Array`] is a view of [`Storage`]. Views share storage; the memory goes back when the last view and the last borrower are gone,
//!   or at once when [`Array::free`] finds that nobody else looks at it.
//! - Memory is the allocator's, a variable of a loaded module, or another library's ([`External`]), which an owner keeps alive.
//! - Whoever is told the address of an array is counted: [`Array::lend`] for borrowers who may look at any time, [`Array::pin`] for those
//!   who hold the array object itself. Operations on lent memory end before their call returns.
//! - Storage knows the streams that were given work on it ([`Uses`]), so that readers wait for them. Work on a device's default stream is
//!   ordered by the device itself.
//! - While a thread records a graph ([`recording`]), copies and fills become commands of the graph and nothing runs.
//! - While a thread traces a function ([`tracing`]), values are not shown to it.
//! - Shapes and strides count elements. Functions check what they are given and answer with [`Error`]; nothing here knows Python.
//! - Everything may be called from any thread. Two threads that write the same elements get mixed values, as with plain memory.

mod array;
mod copy;
mod create;
mod dims;
mod dlpack;
mod error;
mod external;
mod fill;
pub mod index;
mod location;
mod owner;
mod read;
pub mod recording;
mod storage;
pub mod tracing;
mod uses;
mod views;

pub use array::Array;
pub use copy::{Side, copy, copy_direction};
pub use dims::{
    Dims, broadcast_shapes, byte_range, coalesce, coalesce_all, element_count, is_contiguous,
    is_row_major, row_major,
};
pub use dlpack::{
    Capsule, Imported, ManagedTensor, ManagedTensorVersioned, VERSION as DLPACK_VERSION,
};
pub use error::{Error, Result};
pub use external::{cuda_device_of, device_for_external, order_before, wait_for};
pub use index::Index;
pub use location::MemoryLocation;
pub use owner::Owner;
pub use storage::{External, Storage};
pub use uses::Uses;
pub use views::{resolve_axes, resolve_axis};
