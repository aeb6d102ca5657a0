//! ops.h: elementwise operations.

use amdgpu_abi::ErrorCode;
use amdgpu_ops::Named;

use super::{Call, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Failure, Status, answer};

/// `agpu_ops_elementwise_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElementwiseOptions {
    size_bytes: u64,
    out: Handle,
    alpha: f64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for ElementwiseOptions {
    const NAME: &'static str = "agpu_ops_elementwise_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `operation(inputs...)`, broadcast.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_elementwise(
    operation: Text,
    inputs: Items<Handle>,
    count: usize,
    options: Options<ElementwiseOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let operation =
            Named::from_name(name).ok_or_else(|| unknown("operation", name, Named::names()))?;
        let wanted = operation.inputs();
        if wanted.len() != count {
            let message = format!(
                "{name} takes {} arrays ({}); {count} were given",
                wanted.len(),
                wanted.join(", ")
            );
            return Err(Failure::new(ErrorCode::ArgumentCount, message));
        }
        let given = inputs.slice(count, "inputs")?;
        let given: Vec<_> = wanted.iter().copied().zip(given.iter().copied()).collect();
        let options = options.read()?;
        let call = Call::of(name, &given, &[], options.out)?;
        let made = operation.compute(&call.ops, &call.operands, call.out(), options.alpha)?;
        place.write(call.insert(made));
        Ok(())
    })
}
