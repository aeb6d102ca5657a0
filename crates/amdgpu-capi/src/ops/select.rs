//! ops.h: elements where a mask is not zero.

use amdgpu_ops::masked_select;

use super::Call;
use crate::borrowed::Out;
use crate::handles::Handle;
use crate::status::{Status, answer};

/// The elements of x where the mask is not zero, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_masked_select(x: Handle, mask: Handle, result: Out<Handle>) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let given = [("x", x), ("mask", mask)];
        let call = Call::of("masked_select", &given, &[], Handle::NULL)?;
        let made = masked_select(&call.ops, call.operand(0), call.operand(1))?;
        place.write(call.insert(made));
        Ok(())
    })
}
