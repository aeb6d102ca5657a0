//! ops.h: elements in another dtype.

use amdgpu_ops::cast;

use super::{Call, dtype_of};
use crate::borrowed::{Out, Text};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// The elements converted as NumPy converts them, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_cast(x: Handle, dtype: Text, result: Out<Handle>) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let dtype = dtype_of(dtype.required("dtype")?)?;
        let call = Call::of("cast", &[("x", x)], &[], Handle::NULL)?;
        let made = cast(&call.ops, call.operand(0), dtype, None)?;
        place.write(call.insert(made));
        Ok(())
    })
}
