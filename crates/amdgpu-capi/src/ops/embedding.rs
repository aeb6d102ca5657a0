//! ops.h: rows of a table, gathered by index.

use amdgpu_ops::embedding;

use super::{Call, OpsOptions};
use crate::borrowed::{Options, Out};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `table[indices]`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_embedding(
    indices: Handle,
    table: Handle,
    options: Options<OpsOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("indices", indices), ("table", table)];
        let call = Call::of("embedding", &arrays, &[], options.out()?)?;
        let made = embedding(&call.ops, call.operand(1), call.operand(0), call.out())?;
        place.write(call.insert(made));
        Ok(())
    })
}
