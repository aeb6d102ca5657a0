//! The CPU device: the Zig library works on the memory of the arrays itself.

use std::sync::Arc;

use amdgpu_abi::DeviceRef;
use amdgpu_abi::layout::DEVICE_CPU;
use amdgpu_array::{Array, Storage, recording};
use amdgpu_hal::DeviceKind;
use amdgpu_matrix::{TensorView, TensorViewMut};

use crate::fallback::HostTensor;
use crate::{DeviceOps, Operand, Result};

const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// Whether operations of a device are the Zig library's: it is the CPU, and no graph is recorded, which could not hold the call.
#[must_use]
pub fn is_direct(ops: &DeviceOps) -> bool {
    ops.device().info().kind == DeviceKind::Cpu && !recording::is_recording()
}

/// An operand whose work is over, held while the library reads it.
pub enum Input<'a> {
    Memory {
        operand: &'a Operand,
        array: &'a Array,
        _held: Arc<Storage>,
    },
    Number(HostTensor),
}

impl<'a> Input<'a> {
    /// Waits for what was given to do with the operand's memory.
    ///
    /// # Errors
    ///
    /// The array was freed; what the work has failed with.
    pub fn of(operand: &'a Operand) -> Result<Self> {
        let Some(array) = &operand.array else {
            return Ok(Self::Number(HostTensor::of_operand(operand)?));
        };
        array.check_alive()?;
        let held = Arc::clone(array.storage());
        array.wait()?;
        Ok(Self::Memory {
            operand,
            array,
            _held: held,
        })
    }

    /// The tensor to read.
    ///
    /// # Errors
    ///
    /// None for an operand whose shape and strides are of one length.
    pub fn view(&self) -> Result<TensorView<'_>> {
        match self {
            Self::Number(tensor) => tensor.view(),
            Self::Memory { operand, array, .. } => {
                // SAFETY: shape and strides stay within the memory, which is held.
                let view = unsafe {
                    TensorView::from_parts(
                        array.data(),
                        operand.dtype,
                        HOST,
                        &operand.shape,
                        Some(&operand.strides),
                    )
                };
                Ok(view?)
            }
        }
    }
}

/// An array whose work is over, held while the library writes it.
pub struct Output<'a> {
    array: &'a Array,
    _held: Arc<Storage>,
}

impl<'a> Output<'a> {
    /// Waits for what was given to do with the array's memory.
    ///
    /// # Errors
    ///
    /// The array was freed or is read-only; what the work has failed with.
    pub fn of(array: &'a Array) -> Result<Self> {
        array.check_writable()?;
        let held = Arc::clone(array.storage());
        array.wait()?;
        Ok(Self { array, _held: held })
    }

    /// The tensor to write.
    ///
    /// # Errors
    ///
    /// None: an array's shape and strides are of one length.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        // SAFETY: shape and strides stay within the memory, which is held; callers that write it from two threads get mixed values.
        let view = unsafe {
            TensorViewMut::from_parts(
                self.array.data(),
                self.array.dtype,
                HOST,
                &self.array.shape,
                Some(&self.array.strides),
            )
        };
        Ok(view?)
    }
}
