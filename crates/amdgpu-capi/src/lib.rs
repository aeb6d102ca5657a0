//! The C interface of the core: the functions of `include/amdgpu/*.h`, exported by `libamdgpu.so`.
//!
//! Contract
//! - Each function checks what it was given, calls one core and answers with a status. Nothing unwinds out of it; the description of a
//!   failure stays with the thread ([`status`]).
//! - Handles are numbers of a table ([`handles`]), so that null, released, foreign and forked ones are recognised. The table and the device
//!   table of `amdgpu-aura` are all the state there is.
//! - Pointers of the caller are wrapped where they come in ([`borrowed`]), and nowhere else is C's memory touched.
//! - Every function may be called from any thread. Objects keep what they need: handles may be released in any order.
//! - The headers say what each function does for C; comments here do not repeat it.

mod arguments;
mod array;
mod borrowed;
mod captured_graph;
mod device;
mod folder;
mod graph;
mod handles;
mod interpreter;
mod kernel;
mod memory;
mod network;
mod objects;
mod ops;
mod raw;
mod rocm;
mod runtime;
mod spiking;
mod status;
mod stream;
mod telemetry;
mod text;
mod toolchain;
mod trainer;
mod tuning;

pub use raw::array_within;

use std::sync::atomic::{AtomicBool, Ordering};

pub use folder::register_own_directory;

/// What the first call that opens something does once.
fn prepare() {
    // Not a `Once`: a child forked while another thread is inside would wait for that thread for ever. Doing both twice is as good as once.
    static IS_PREPARED: AtomicBool = AtomicBool::new(false);
    if !IS_PREPARED.load(Ordering::Acquire) {
        register_own_directory();
        amdgpu_telemetry::attach::start();
        IS_PREPARED.store(true, Ordering::Release);
    }
}
