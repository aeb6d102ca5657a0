//! `agpu_operand` of ops.h: memory at an address, or a number.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::promotion::is_complex;
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_ops::{Operand, Scalar};

use crate::array::{dims_of, dtype_of};
use crate::borrowed::{Items, Text};
use crate::objects::DeviceObject;
use crate::raw::array_at;
use crate::status::{Answer, Failure};

/// `AGPU_OPERAND_MEMORY` and so on.
pub const MEMORY: u32 = 0;
pub const INTEGER: u32 = 1;
pub const REAL: u32 = 2;

/// `agpu_operand`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COperand {
    pub kind: u32,
    pub dimensions: u32,
    pub dtype: Text,
    pub address: *const c_void,
    pub shape: Items<i64>,
    pub strides: Items<i64>,
    pub integer: i64,
    pub real: f64,
    imaginary: f64,
}

impl COperand {
    /// An array over the memory.
    pub fn array(&self, device: &Arc<DeviceObject>) -> Answer<Array> {
        let dtype = dtype_of(self.dtype.required("dtype")?)?;
        let shape = dims_of(self.shape, self.dimensions, "shape")?;
        let strides: Dims = if self.strides.is_null() {
            row_major(&shape)
        } else {
            dims_of(self.strides, self.dimensions, "strides")?
        };
        array_at(device, self.address as u64, dtype, (shape, strides))
    }

    /// The memory; a number is refused.
    pub fn memory(&self, device: &Arc<DeviceObject>, name: &str) -> Answer<Array> {
        if self.kind == MEMORY {
            return self.array(device);
        }
        Err(Failure::invalid(format!("{name} is a number; pass memory")))
    }

    /// What operations on arrays take.
    pub fn operand(&self, device: &Arc<DeviceObject>) -> Answer<Operand> {
        if self.kind == MEMORY {
            return Ok(Operand::of_array(self.array(device)?));
        }
        let dtype = dtype_of(self.dtype.required("dtype")?)?;
        Ok(match self.kind {
            INTEGER if is_complex(dtype) => Operand::of_complex(self.integer as f64, 0.0, dtype),
            INTEGER => Operand::of_number(Scalar::Int(i128::from(self.integer)), dtype),
            REAL if is_complex(dtype) => Operand::of_complex(self.real, self.imaginary, dtype),
            REAL => Operand::of_number(Scalar::Float(self.real), dtype),
            other => {
                return Err(Failure::invalid(format!(
                    "kind of an operand is {other}; known are 0 (memory), 1 (integer), 2 (real)"
                )));
            }
        })
    }
}
