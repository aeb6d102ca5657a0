//! Kernels that their owner calls block by block on threads of its own choice, for loops in which even an idle stream would cost more
//! than the kernel.

use std::ops::Range;

use super::launch::{self, PackedArguments};
use super::module::CpuFunction;
use crate::{Function, LaunchConfig};

/// A kernel of the CPU backend with its launch and its arguments.
pub struct DirectLaunch {
    function: CpuFunction,
    config: LaunchConfig,
    arguments: PackedArguments,
}

impl DirectLaunch {
    /// `None` for a kernel of another backend.
    #[must_use]
    pub fn new(function: &dyn Function, config: &LaunchConfig, arguments: &[u8]) -> Option<Self> {
        let function = function.as_any().downcast_ref::<CpuFunction>()?;
        Some(Self {
            function: function.clone(),
            config: *config,
            arguments: PackedArguments::new(arguments),
        })
    }

    /// Replaces bytes of the argument block.
    ///
    /// # Panics
    ///
    /// Panics if the range is not inside the block.
    pub fn set(&mut self, offset_bytes: usize, bytes: &[u8]) {
        self.arguments.as_mut_slice()[offset_bytes..offset_bytes + bytes.len()]
            .copy_from_slice(bytes);
    }

    /// Runs these blocks of the launch on this thread.
    ///
    /// # Safety
    /// As for [`crate::Stream::launch`]; `blocks` are blocks of the launch.
    pub unsafe fn run(&self, blocks: Range<u64>) {
        // SAFETY: as the caller promises.
        unsafe {
            launch::run_blocks(
                &self.function,
                &self.config,
                self.arguments.as_slice(),
                blocks,
                |_| {},
            );
        }
    }
}

impl std::fmt::Debug for DirectLaunch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("DirectLaunch")
            .field("function", &self.function)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
