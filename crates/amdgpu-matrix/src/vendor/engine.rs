//! How a library is driven, whatever it computes.

use amdgpu_telemetry::Boundary;

use super::library::VendorLibrary;
use super::open::Found;
use crate::Error;

/// What a library says about work.
#[derive(Clone, Copy)]
pub enum Answer {
    Computes { workspace_bytes: u64 },
    Refuses,
}

/// Device memory that work may use while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workspace {
    pub address: u64,
    pub bytes: u64,
}

/// A library's handle on one device. All calls come while the device's context is current.
pub trait Engine<W>: Send {
    /// What [`Engine::prepare`] said before, if it was asked.
    fn known(&self, work: &W) -> Option<Answer>;

    /// Asks the library about work.
    fn prepare(&mut self, work: &W) -> Result<Answer, Error>;

    /// Puts prepared work into the driver's stream; `false` when the library does not take it after all.
    ///
    /// # Safety
    /// The addresses of `work` are device memory that holds arrays of its extents, `workspace` is as large as [`Engine::prepare`] said, and all of
    /// it stays valid until the stream has passed the work. `stream` is a live stream of the driver.
    unsafe fn submit(&mut self, work: &W, workspace: Workspace, stream: u64)
    -> Result<bool, Error>;

    /// Gives the handle back. Nothing is called afterwards.
    fn close(&mut self);
}

/// What a library can be asked to compute: a matrix product, a convolution, a sum of matrices.
pub trait Work: Copy + Send + 'static {
    /// The libraries that do such work, best first.
    const LIBRARIES: &'static [VendorLibrary];

    /// Whether the libraries' integers hold it and there is something to compute.
    fn is_representable(&self) -> bool;

    /// Multiplications and additions.
    fn floating_point_operations(&self) -> u64;

    /// How a call is named in telemetry, by the function that does the work.
    #[doc(hidden)]
    fn boundary(library: VendorLibrary) -> &'static Boundary;

    /// Looks the functions up and makes a handle.
    #[doc(hidden)]
    fn start(found: &Found) -> Result<Box<dyn Engine<Self>>, Error>;
}
