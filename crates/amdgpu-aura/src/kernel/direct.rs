//! Kernels of the CPU device called block by block inside the loop of a core above.

use std::ops::Range;
use std::sync::Arc;

use amdgpu_hal::LaunchConfig;
use amdgpu_hal::cpu::DirectLaunch;

use super::Kernel;
use crate::arguments::Argument;
use crate::error::Result;

/// A kernel with packed arguments that its owner runs on threads of its own choice. Launches are counted by the owner, in bulk.
pub struct DirectKernel {
    kernel: Arc<Kernel>,
    launch: DirectLaunch,
}

impl DirectKernel {
    /// `None` where the kernel is not one of the CPU device.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit the parameters.
    pub fn new(
        kernel: &Arc<Kernel>,
        config: &LaunchConfig,
        arguments: &[Argument],
    ) -> Result<Option<Self>> {
        let packed = kernel.pack_arguments(arguments)?;
        let launch = DirectLaunch::new(kernel.function.as_ref(), config, &packed.block);
        Ok(launch.map(|launch| Self {
            kernel: Arc::clone(kernel),
            launch,
        }))
    }

    /// Put the bytes of a scalar or an address in place of those before.
    ///
    /// # Panics
    ///
    /// Panics if the parameter has another size.
    pub fn set_bytes(&mut self, index: usize, bytes: &[u8]) {
        let parameter = &self.kernel.facts.parameters[index];
        assert_eq!(
            parameter.size_bytes,
            bytes.len(),
            "an argument keeps its size"
        );
        self.launch.set(parameter.offset_bytes, bytes);
    }

    /// Run these blocks on this thread.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`]; `blocks` are blocks of the launch.
    pub unsafe fn run(&self, blocks: Range<u64>) {
        // SAFETY: as the caller promises.
        unsafe { self.launch.run(blocks) }
    }

    /// Count launches that were made this way.
    pub fn count_launches(&self, launches: u64) {
        self.kernel.count_launches(launches);
    }
}
