//! Arguments packed once for launches that repeat: prepared launches and graphs.

use std::sync::Arc;

use amdgpu_hal::cpu::checked::{self, Expectations};
use amdgpu_hal::{GraphCommand, GraphFunction, LaunchConfig, Stream};

use super::{Kernel, STACK_ARGUMENT_BYTES};
use crate::arguments::{Argument, pack};
use crate::error::Result;

/// The argument block of a kernel, checked and packed.
#[derive(Clone, Debug)]
pub struct PackedArguments {
    pub(crate) block: Arc<[u8]>,
    /// What was packed, which a kernel with checks is held to.
    checked: Option<Arc<[Argument]>>,
}

impl PackedArguments {
    /// The argument block: every parameter at its alignment in C, in order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.block
    }
}

impl Kernel {
    /// Check and pack arguments once, for launches that repeat.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit the parameters.
    pub fn pack_arguments(&self, arguments: &[Argument]) -> Result<PackedArguments> {
        let mut block = vec![0; self.facts.argument_block_bytes];
        self.pack(arguments, &mut block)?;
        Ok(PackedArguments {
            block: block.into(),
            checked: self.checks.is_some().then(|| arguments.into()),
        })
    }

    /// Like [`Kernel::run`], with arguments that this kernel packed before.
    ///
    /// # Errors
    ///
    /// A closed device, or what the device reports.
    ///
    /// # Safety
    ///
    /// `arguments` came from [`Kernel::pack_arguments`] of this kernel, and its pointers are still valid until the launch has run.
    pub unsafe fn launch_packed(
        &self,
        config: &LaunchConfig,
        arguments: &PackedArguments,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        self.shared.check_open()?;
        let expected = self.packed_expectations(config, arguments);
        // SAFETY: as the caller promises.
        unsafe { self.submit(config, &arguments.block, expected, stream, false) }.map(drop)
    }

    /// Like [`Kernel::queue`], with arguments that this kernel packed before and other memory: `addresses` are pairs of a parameter's offset
    /// in the block and what stands there instead. With `is_awaited` it returns when the launch has run.
    ///
    /// # Errors
    ///
    /// As [`Kernel::queue`].
    ///
    /// # Safety
    ///
    /// As [`Kernel::queue`]; the addresses fit parameters that are pointers, or numbers that the kernel takes for addresses.
    pub unsafe fn queue_packed(
        &self,
        config: &LaunchConfig,
        arguments: &PackedArguments,
        addresses: impl Iterator<Item = (usize, u64)>,
        is_awaited: bool,
    ) -> Result<()> {
        self.shared.check_open()?;
        let mut stack = [0_u8; STACK_ARGUMENT_BYTES];
        let mut heap = Vec::new();
        let packed = arguments.bytes();
        let block = if packed.len() <= STACK_ARGUMENT_BYTES {
            &mut stack[..packed.len()]
        } else {
            heap.resize(packed.len(), 0);
            &mut heap[..]
        };
        block.copy_from_slice(packed);
        for (offset, address) in addresses {
            block[offset..offset + size_of::<u64>()].copy_from_slice(&address.to_le_bytes());
        }
        let stream = (!is_awaited).then(|| self.shared.device().default_stream());
        // SAFETY: as the caller promises.
        unsafe { self.submit(config, block, None, stream, false)? };
        if !is_awaited {
            self.shared.open_device().note_queued();
        }
        Ok(())
    }

    /// Check one argument and write it into a block that this kernel packed before.
    ///
    /// # Errors
    ///
    /// An argument that does not fit the parameter.
    pub fn replace_argument(
        &self,
        packed: &PackedArguments,
        index: usize,
        argument: &Argument,
    ) -> Result<PackedArguments> {
        let parameter = &self.facts.parameters[index];
        let mut block = packed.block.to_vec();
        pack(parameter, argument, &mut block)
            .map_err(|misfit| misfit.at(&self.facts.name, index, parameter))?;
        let checked = packed.checked.as_ref().map(|arguments| {
            let mut arguments = arguments.to_vec();
            arguments[index] = argument.clone();
            arguments.into()
        });
        Ok(PackedArguments {
            block: block.into(),
            checked,
        })
    }

    /// The launch as a command of a graph. Kernels with checks become host code that watches them.
    pub(crate) fn graph_command(
        self: &Arc<Self>,
        config: LaunchConfig,
        packed: &PackedArguments,
    ) -> GraphCommand {
        let function = Arc::clone(&self.function);
        if self.checks.is_none() {
            return GraphCommand::Launch {
                function,
                config,
                arguments: Arc::clone(&packed.block),
            };
        }
        let (kernel, packed) = (Arc::clone(self), packed.clone());
        GraphCommand::Call(GraphFunction(Arc::new(move || {
            match kernel.packed_expectations(&config, &packed) {
                // SAFETY: the memory is valid while the graph is replayed: the promise of whoever replays.
                Some(expected) => unsafe {
                    checked::run(function.as_ref(), &config, &packed.block, expected)
                },
                None => Ok(()),
            }
        })))
    }

    fn packed_expectations(
        &self,
        config: &LaunchConfig,
        packed: &PackedArguments,
    ) -> Option<Expectations> {
        let arguments = packed.checked.as_deref()?;
        self.expectations(config, arguments)
    }
}
