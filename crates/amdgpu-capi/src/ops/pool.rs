//! ops.h: pooling of images and its gradients.

use amdgpu_ops::pool::{Pool, PoolOptions, Sliding, pool};

use super::{Call, Given, image_layout, pair, unknown};
use crate::borrowed::{Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Status, answer};

/// `agpu_ops_pool_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPoolOptions {
    size_bytes: u64,
    out: Handle,
    window: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    layout: Text,
    excludes_padding: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CPoolOptions {
    const NAME: &'static str = "agpu_ops_pool_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CPoolOptions {
    fn run(&self, operation: Text, arrays: &[Given<'_>]) -> Answer<Handle> {
        let name = operation.required("operation")?;
        let known = [Pool::Maximum, Pool::Average].into_iter().map(Pool::name);
        let operation = Pool::from_name(name).ok_or_else(|| unknown("operation", name, known))?;
        let options = PoolOptions {
            window: (self.window[0], self.window[1]),
            sliding: Sliding {
                stride: pair(self.stride, self.window),
                padding: pair(self.padding, [0, 0]),
                dilation: pair(self.dilation, [1, 1]),
            },
            layout: image_layout(self.layout)?,
            counts_padding: self.excludes_padding == 0,
            thread_limit: None,
        };
        let call = Call::of(name, arrays, &[], self.out)?;
        let gradient = call.operands.get(1);
        let made = pool(
            &call.ops,
            operation,
            call.operand(0),
            gradient,
            call.out(),
            &options,
        )?;
        Ok(call.insert(made))
    }
}

/// The largest value or the average of each window.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_pool(
    operation: Text,
    x: Handle,
    options: Options<CPoolOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        place.write(options.read()?.run(operation, &[("x", x)])?);
        Ok(())
    })
}

/// The gradient of [`agpu_ops_pool`] by x.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_pool_gradient(
    operation: Text,
    x: Handle,
    gradient: Handle,
    options: Options<CPoolOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("gradient", gradient)];
        place.write(options.read()?.run(operation, &arrays)?);
        Ok(())
    })
}
