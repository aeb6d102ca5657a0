//! The engine's own kernels. They are compiled once and launched with arguments that never change, because they read the step from the
//! device's memory.

use std::sync::Arc;

use amdgpu_aura::{
    Argument, CompileRequest, Context, CoreType, GraphRecorder, Kernel, Lane, LaunchShape,
    PackedArguments, Toolchain,
};
use amdgpu_compiler::CompileOptions;
use amdgpu_hal::{LaunchConfig, Stream};

use super::super::kernels::BLOCK;
use crate::error::{Error, Result};

const SOURCE: &str = include_str!("kernels.hip");

/// What is launched with the same arguments in every step.
pub(super) struct Prepared {
    pub kernel: Arc<Kernel>,
    pub config: LaunchConfig,
    pub arguments: PackedArguments,
}

impl Prepared {
    pub fn launch(&self, stream: &Arc<dyn Stream>) -> Result<()> {
        launch(&self.kernel, &self.config, &self.arguments, stream)
    }

    pub fn record(&self, recorder: &mut GraphRecorder, lane: Lane) -> Result<()> {
        recorder
            .launch(&self.kernel, self.config, &self.arguments, lane)
            .map_err(|error| Error::from_core(&error))
    }
}

/// Launches with arguments that were packed before.
pub(super) fn launch(
    kernel: &Kernel,
    config: &LaunchConfig,
    arguments: &PackedArguments,
    stream: &Arc<dyn Stream>,
) -> Result<()> {
    // SAFETY: arguments are arrays of this network, which live as long as the stepper and have the lengths that the kernels go through.
    unsafe { kernel.launch_packed(config, arguments, Some(stream)) }
        .map_err(|error| Error::from_core(&error))
}

/// The engine's kernels that a network needs.
#[derive(Default)]
pub(super) struct OwnKernels(Vec<Arc<Kernel>>);

impl OwnKernels {
    pub fn compile(names: &[&str], context: &Context, toolchain: &dyn Toolchain) -> Result<Self> {
        let compile = |name: &&str| {
            let request = CompileRequest {
                source: SOURCE,
                kernel_name: Some(name),
                core: CoreType::Neuromorphic,
                options: CompileOptions {
                    name: "spiking_engine.hip".to_owned(),
                    ..CompileOptions::default()
                },
            };
            let compiled = context.compile(&request, toolchain);
            compiled.map_err(|error| Error::from_core(&error))
        };
        names.iter().map(compile).collect::<Result<_>>().map(Self)
    }

    /// A kernel with its arguments, for `grid` blocks in x and y.
    pub fn prepare(
        &self,
        name: &str,
        grid: [usize; 2],
        arguments: &[Argument],
    ) -> Result<Prepared> {
        let known = self.0.iter().find(|kernel| kernel.facts().name == name);
        let kernel = known.map(Arc::clone).ok_or_else(|| {
            Error::InvalidArgument(format!("the kernel {name} of the engine was not compiled"))
        })?;
        let shape = LaunchShape {
            grid: [grid[0].max(1) as i64, grid[1].max(1) as i64, 1],
            block: [BLOCK as i64, 1, 1],
            shared_bytes: 0,
        };
        let config = kernel
            .check_shape(&shape)
            .map_err(|error| Error::from_core(&error))?;
        let arguments = kernel
            .pack_arguments(arguments)
            .map_err(|error| Error::from_core(&error))?;
        Ok(Prepared {
            kernel,
            config,
            arguments,
        })
    }
}

/// Blocks of kernels with one work-item for each of so many things.
pub(super) fn blocks_of(count: usize) -> usize {
    count.div_ceil(BLOCK).max(1)
}

pub(super) fn integer(value: impl Into<i128>) -> Argument {
    Argument::Int(value.into())
}

/// Structures of the kernels' source as bytes, field by field: addresses and 64-bit numbers first, so that nothing has to be aligned.
#[derive(Default)]
pub(super) struct Fields(pub Vec<u8>);

impl Fields {
    pub fn wide(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn number(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn signed(&mut self, value: i32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn float(&mut self, value: f32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }
}
