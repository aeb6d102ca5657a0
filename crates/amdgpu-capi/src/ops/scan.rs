//! ops.h: prefix sums and products.

use amdgpu_ops::complex::scan;
use amdgpu_ops::scan::Scan;

use super::{Call, OpsOptions, unknown};
use crate::borrowed::{Options, Out, Text};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `cumsum` or `cumprod` along an axis.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scan(
    operation: Text,
    x: Handle,
    axis: i64,
    options: Options<OpsOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let known = [Scan::Sum, Scan::Product].into_iter().map(Scan::name);
        let operation = Scan::from_name(name).ok_or_else(|| unknown("operation", name, known))?;
        let call = Call::of(name, &[("x", x)], &[], options.out()?)?;
        let made = scan(&call.ops, operation, call.operand(0), axis, call.out())?;
        place.write(call.insert(made));
        Ok(())
    })
}
