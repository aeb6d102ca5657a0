//! ops.h: axes in another order, copies without gaps.

use amdgpu_ops::transpose;

use super::{Call, OpsOptions};
use crate::borrowed::{Items, Options, Out};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// A row-major copy with the axes in another order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_transpose(
    x: Handle,
    axes: Items<i64>,
    axis_count: usize,
    options: Options<OpsOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let axes = axes.slice(axis_count, "axes")?;
        let call = Call::of("transpose", &[("x", x)], &[], options.out()?)?;
        let axes = (axis_count > 0).then_some(axes);
        let made = transpose::transpose(&call.ops, call.operand(0), axes, call.out())?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// The elements in row-major order without gaps.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_contiguous(
    x: Handle,
    options: Options<OpsOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let call = Call::of("contiguous", &[("x", x)], &[], options.out()?)?;
        let x = call.operand(0);
        let made = match (&x.array, call.out()) {
            (Some(array), None) if x.is_dense() => array.clone(),
            (_, out) => {
                let order: Vec<i64> = (0..x.rank() as i64).collect();
                transpose::transpose(&call.ops, x, Some(&order), out)?
            }
        };
        place.write(call.insert(made));
        Ok(())
    })
}
