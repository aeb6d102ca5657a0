//! Launches of kernels that operations chose.

use std::sync::Arc;

use amdgpu_array::{Array, Storage, recording};
use amdgpu_aura::{Argument, Kernel, LaunchShape};
use amdgpu_hal::LaunchConfig;
use smallvec::SmallVec;

use crate::Result;
use crate::operand::{Operand, Scalar};

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// Memory, for a parameter that is a pointer.
    Array(&'a Array),
    /// Memory, for a parameter that takes the address as an integer: arrays with gaps.
    Address(&'a Array),
    Int(i128),
    Float(f64),
    /// A struct by value.
    Bytes(&'a [u8]),
}

impl<'a> Arg<'a> {
    /// The argument for an operand's memory, as `source::pointer_parameter` declares it.
    ///
    /// # Panics
    ///
    /// The operand is a number.
    #[must_use]
    pub fn pointer(operand: &'a Operand) -> Self {
        match &operand.array {
            Some(array) if operand.is_dense() => Self::Array(array),
            Some(array) => Self::Address(array),
            None => unreachable!("a number has no memory"),
        }
    }

    fn array(self) -> Option<&'a Array> {
        match self {
            Self::Array(array) | Self::Address(array) => Some(array),
            Self::Int(_) | Self::Float(_) | Self::Bytes(_) => None,
        }
    }
}

impl From<Scalar> for Arg<'_> {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Float(value) => Self::Float(value),
            Scalar::Int(value) => Self::Int(value),
        }
    }
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::Int(i128::from(value))
    }
}

impl From<f64> for Arg<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Grid, block and bytes of dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: [i64; 3],
    pub block: [i64; 3],
    pub shared_bytes: i64,
}

impl Shape {
    /// Blocks in a row, each with threads in a row.
    #[must_use]
    pub fn line(blocks: i64, threads: i64) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
        }
    }
}

/// Launch a kernel in the order of its device's default stream. The call returns at once where nobody but the device knows the memory;
/// where the host or another library may look at it, the launch is over when the call returns. While this thread records a graph, the
/// launch becomes part of it.
///
/// # Errors
///
/// A shape beyond the limits of the device, arguments that do not fit, a freed array; what the device reports.
pub fn launch(kernel: &Arc<Kernel>, shape: Shape, args: &[Arg<'_>]) -> Result<()> {
    launch_beside(kernel, shape, args, &[])
}

/// [`launch`] of a kernel that also reaches other arrays, whose addresses it reads from memory.
///
/// # Errors
///
/// As [`launch`].
pub fn launch_beside(
    kernel: &Arc<Kernel>,
    shape: Shape,
    args: &[Arg<'_>],
    others: &[&Array],
) -> Result<()> {
    let config = kernel.check_shape(&LaunchShape {
        grid: shape.grid,
        block: shape.block,
        shared_bytes: shape.shared_bytes,
    })?;
    let mut arguments: SmallVec<[Argument; 16]> = SmallVec::with_capacity(args.len());
    for arg in args {
        arguments.push(convert(*arg)?);
    }
    kernel.check_argument_count(arguments.len())?;
    let arrays = || {
        let own = args.iter().filter_map(|arg| arg.array());
        own.chain(others.iter().copied())
    };
    if recording::is_recording() {
        return record(kernel, config, arrays, &arguments);
    }
    let queue = kernel.hal_device().default_stream();
    for array in arrays() {
        if array.has_uses() {
            let uses = array.storage().uses();
            uses.hold_back(queue, kernel.hal_device())?;
        }
    }
    if knows_all(kernel, arrays()) {
        // SAFETY: all memory is of this device's allocator, which hands it on in the order of the stream that the launch goes into.
        unsafe { kernel.queue(&config, &arguments) }?;
        return Ok(());
    }
    for array in arrays() {
        if let Some(device) = array.open_device()
            && !Arc::ptr_eq(device, kernel.open_device())
        {
            // What another device has queued is not ordered before this kernel.
            device.settle()?;
        }
        array.finish_uses()?;
    }
    let _held: SmallVec<[Arc<Storage>; 8]> =
        arrays().map(|array| Arc::clone(array.storage())).collect();
    // SAFETY: the arrays live until the launch, which is waited for, is over; a thread that frees one finds its memory held.
    unsafe { kernel.run(&config, &arguments, None) }?;
    Ok(())
}

fn convert(arg: Arg<'_>) -> Result<Argument> {
    Ok(match arg {
        Arg::Array(array) => {
            array.check_alive()?;
            Argument::Pointer {
                address: array.address().address(),
                dtype: Some(array.dtype),
                is_read_only: array.is_read_only,
                bytes: array.bytes() as u64,
            }
        }
        Arg::Address(array) => {
            array.check_alive()?;
            Argument::Int(i128::from(array.address().address()))
        }
        Arg::Int(value) => Argument::Int(value),
        Arg::Float(value) => Argument::Float(value),
        Arg::Bytes(bytes) => Argument::Bytes(bytes.into()),
    })
}

/// Whether all memory of a launch is known to this device only, and not to the host.
fn knows_all<'a>(kernel: &Kernel, mut arrays: impl Iterator<Item = &'a Array>) -> bool {
    !kernel.device_info().capabilities.host_visible
        && arrays.all(|array| array.is_private_to(kernel.open_device()))
}

fn record<'a, I: Iterator<Item = &'a Array>>(
    kernel: &Arc<Kernel>,
    config: LaunchConfig,
    arrays: impl Fn() -> I,
    arguments: &[Argument],
) -> Result<()> {
    let packed = kernel.pack_arguments(arguments)?;
    recording::record_uses(arrays().map(|array| array.storage().uses()));
    let owners: Vec<_> = arrays().filter_map(Array::recorded_owner).collect();
    recording::record_launch(kernel, config, &packed, owners, None)?;
    Ok(())
}
