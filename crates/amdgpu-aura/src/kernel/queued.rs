//! Launches that go behind each other on the default stream, without a wait.

use amdgpu_hal::{LaunchConfig, Stream};

use super::Kernel;
use crate::arguments::Argument;
use crate::error::Result;

impl Kernel {
    /// Launch on the default stream and return at once. Streams that get work later wait for it on the device; copies to the host and
    /// [`Context::device`](crate::Context::device)'s own wait hear of its errors, which name the kernel.
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`].
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`]. Memory of the context's own allocator for the default stream may be given back before the launch has run.
    pub unsafe fn queue(&self, config: &LaunchConfig, arguments: &[Argument]) -> Result<()> {
        let stream = self.shared.device().default_stream();
        // SAFETY: as the caller promises.
        unsafe { self.launch(config, arguments, Some(stream))? };
        self.shared.open_device().note_queued();
        Ok(())
    }

    /// Let what `stream` gets from now on wait for what was queued.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        self.shared.hold_back(stream)
    }
}
