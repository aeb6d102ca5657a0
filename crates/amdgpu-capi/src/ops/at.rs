//! ops.h: elementwise operations on memory at addresses and on numbers. No handles are made, and nothing is kept.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_ops::{DeviceOps, Named, Operand, cast};

use super::operand::{COperand, MEMORY};
use super::{in_place, unknown};
use crate::borrowed::{Items, Text};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// What functions of memory at addresses begin with.
pub(super) struct CallAt {
    device: Arc<DeviceObject>,
    pub ops: Arc<DeviceOps>,
}

impl CallAt {
    pub fn of(device: Handle) -> Answer<Self> {
        let device = handles::get::<DeviceObject>(device, "device")?;
        toolchain::of_process();
        let ops = DeviceOps::of(device.context.open_device()?)?;
        Ok(Self { device, ops })
    }

    pub fn optional(&self, given: Items<COperand>, name: &str) -> Answer<Option<Array>> {
        if given.is_null() {
            return Ok(None);
        }
        self.array(given, name).map(Some)
    }

    pub fn array(&self, given: Items<COperand>, name: &str) -> Answer<Array> {
        let [operand] = given.slice(1, name)? else {
            return Err(Failure::invalid(format!("{name} is NULL; pass memory")));
        };
        operand.memory(&self.device, name)
    }

    /// Memory that is one of several inputs.
    pub fn memory(&self, given: &COperand) -> Answer<Array> {
        given.memory(&self.device, "an input")
    }

    pub fn operand(&self, given: Items<COperand>, name: &str) -> Answer<Operand> {
        self.array(given, name).map(Operand::of_array)
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
        let out = out.slice(1, "out")?[0];
        if out.kind != MEMORY {
            return Err(Failure::invalid("out is a number; pass memory"));
        }
        let operation = operation_of(name)?;
        check_count(name, operation.map_or(&["x"], Named::inputs), count)?;
        let real = match operation {
            None => Some(None),
            Some(Named::Any(known)) => Some(Some(known)),
            Some(Named::Complex(_)) => None,
        };
        if let Some(real) = real
            && in_place::computed(&device, real, given, &out, alpha)?
        {
            return Ok(());
        }
        generally(&device, operation, given, &out, alpha)
    })
}

/// The operation of a name, `None` for a conversion.
fn operation_of(name: &str) -> Answer<Option<Named>> {
    if name == "cast" {
        return Ok(None);
    }
    let found = Named::from_name(name);
    found
        .map(Some)
        .ok_or_else(|| unknown("operation", name, Named::names()))
}

/// On arrays over the memory.
fn generally(
    device: &Arc<DeviceObject>,
    operation: Option<Named>,
    given: &[COperand],
    out: &COperand,
    alpha: f64,
) -> Answer {
    let out = out.array(device)?;
    let operands: Vec<Operand> = given
        .iter()
        .map(|one| one.operand(device))
        .collect::<Answer<_>>()?;
    toolchain::of_process();
    let ops = DeviceOps::of(device.context.open_device()?)?;
    match operation {
        None => cast(&ops, &operands[0], out.dtype, Some(&out))?,
        Some(operation) => operation.compute(&ops, &operands, Some(&out), alpha)?,
    };
    Ok(())
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
