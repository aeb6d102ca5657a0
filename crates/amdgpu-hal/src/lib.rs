//! The hardware layer: one set of traits, one folder per backend.
//!
//! Promises
//! - A [`Driver`] lists devices and opens them; a [`Device`] gives memory, streams, events and modules; a [`Stream`] runs commands in
//!   order and asynchronously (on the CPU too); an [`Event`] marks a point of a stream; a [`Module`] holds loaded code, a [`Function`]
//!   is one kernel of it. All traits are dyn-safe and handed out as `Arc<dyn …>`; each object keeps alive what it needs.
//! - Every object may be used from every thread at the same time. Commands that one thread submits to one stream run in that order.
//! - Errors say what the caller could not foresee: out of memory, device lost, driver fault, code that cannot be loaded. An error
//!   inside a stream sticks to it: later commands are skipped, events recorded after it carry it, and [`Stream::synchronize`] returns
//!   it once and clears it.
//! - Waits, and long kernels of the CPU, run the signal handlers of an interpreter that asks for it ([`attention`]).
//! - What is not known is `None`, never a sentinel value.
//!
//! Refusals
//! - Nothing is validated twice: shapes, bounds, argument types and launch limits are checked by the cores above. Calls whose safety
//!   rests on that are `unsafe fn`. The `null` backend checks bounds all the same, because checking is what it is for.
//! - No statistics and no telemetry: crates above report.
//! - A device opened before `fork()` answers [`Error::Forked`] in the child; opening it again there works.
//!
//! Kernel arguments are one packed block of bytes laid out like the C struct of the parameters (what AMD calls the kernarg segment),
//! the same for every backend.
//!
//! Code above asks what a device can do ([`Capabilities`]); [`DeviceKind`] is the first part of its name and nothing more.
//!
//! Backends: [`hip`] and [`cuda`] drive GPUs through their vendor's driver, opened when first needed; [`cpu`] executes on this machine's
//! cores; [`null`] keeps accounts and checks, and executes nothing. [`registry::register`] adds the driver of another crate.

pub mod attention;
pub mod clock;
pub mod cpu;
pub mod cuda;
pub mod hip;
pub mod null;
pub mod registry;

mod device;
mod driver;
mod elf;
mod error;
mod event;
mod fork;
mod gpu;
mod graph;
mod info;
mod module;
mod stream;

pub use device::{Device, DevicePointer, MemoryInfo, MemoryKind};
pub use driver::Driver;
pub use error::{Error, Result};
pub use event::Event;
pub use fork::{ForkLocal, ForkMark};
pub use gpu::vendor_open_flags;
pub use graph::{Graph, GraphCommand, GraphFunction, GraphPlan, GraphStep};
pub use info::{CacheSizes, Capabilities, DeviceInfo, DeviceKind, Peaks};
pub use module::{Function, GlobalMemory, Module, Residence};
pub use stream::{CopyDirection, HostFunction, LaunchConfig, Notification, Stream};
