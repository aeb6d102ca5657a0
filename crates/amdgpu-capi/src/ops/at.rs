//! ops.h: elementwise operations on memory at addresses and on numbers. No handles are made, and nothing is kept.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_abi::promotion::is_complex;
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_ops::{DeviceOps, Named, Operand, Scalar, cast};

use super::unknown;
use crate::array::{dims_of, dtype_of};
use crate::borrowed::{Items, Text};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::raw::array_at;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// `AGPU_OPERAND_MEMORY` and so on.
const MEMORY: u32 = 0;
const INTEGER: u32 = 1;
const REAL: u32 = 2;

/// `agpu_operand`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COperand {
    kind: u32,
    dimensions: u32,
    dtype: Text,
    address: *const c_void,
    shape: Items<i64>,
    strides: Items<i64>,
    integer: i64,
    real: f64,
    imaginary: f64,
}

impl COperand {
    fn array(&self, device: &Arc<DeviceObject>) -> Answer<Array> {
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
    pub(super) fn memory(&self, device: &Arc<DeviceObject>, name: &str) -> Answer<Array> {
        if self.kind == MEMORY {
            return self.array(device);
        }
        Err(Failure::invalid(format!("{name} is a number; pass memory")))
    }

    fn operand(&self, device: &Arc<DeviceObject>) -> Answer<Operand> {
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

/// `operation(inputs...)` into the memory of `out`; "cast" converts one input to the dtype of `out`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_elementwise_at(
    device: Handle,
    operation: Text,
    inputs: Items<COperand>,
    count: usize,
    alpha: f64,
    out: Items<COperand>,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let name = operation.required("operation")?;
        let given = inputs.slice(count, "inputs")?;
        let out = out.slice(1, "out")?[0].memory(&device, "out")?;
        let operands: Vec<Operand> = given
            .iter()
            .map(|one| one.operand(&device))
            .collect::<Answer<_>>()?;
        toolchain::of_process();
        let ops = DeviceOps::of(device.context.open_device()?)?;
        if name == "cast" {
            check_count(name, &["x"], count)?;
            cast(&ops, &operands[0], out.dtype, Some(&out))?;
            return Ok(());
        }
        let operation =
            Named::from_name(name).ok_or_else(|| unknown("operation", name, Named::names()))?;
        check_count(name, operation.inputs(), count)?;
        operation.compute(&ops, &operands, Some(&out), alpha)?;
        Ok(())
    })
}

fn check_count(name: &str, wanted: &[&str], count: usize) -> Answer {
    if wanted.len() == count {
        return Ok(());
    }
    let message = format!(
        "{name} takes {} operands ({}); {count} were given",
        wanted.len(),
        wanted.join(", ")
    );
    Err(Failure::new(ErrorCode::ArgumentCount, message))
}
