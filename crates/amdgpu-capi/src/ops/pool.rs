//! ops.h: pooling of images and its gradients.

use amdgpu_ops::pool::{Fold, Pool, PoolOptions, Pooling, Sliding, pool};

use super::{Call, Given, along, image_layout, unknown};
use crate::array::{ArrayObject, dims_of};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

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
    window_depth: i64,
    stride_depth: i64,
    padding_depth: i64,
    dilation_depth: i64,
    output_size: [i64; 3],
    divisor_override: i64,
    ceil_mode: u32,
    reserved_end: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CPoolOptions {
    const NAME: &'static str = "agpu_ops_pool_options";
    const FIRST_BYTES: usize = std::mem::offset_of!(Self, window_depth);
}

impl CPoolOptions {
    fn options(&self, operation: Pool) -> Answer<PoolOptions> {
        // A window must be given along the axes that images have.
        let mut least = [0; 3];
        least[..3 - operation.spatial].fill(1);
        let window = along(self.window_depth, self.window, least);
        Ok(PoolOptions {
            window: if operation.is_adaptive {
                [1; 3]
            } else {
                window
            },
            sliding: Sliding {
                stride: along(self.stride_depth, self.stride, window),
                padding: along(self.padding_depth, self.padding, [0; 3]),
                dilation: along(self.dilation_depth, self.dilation, [1; 3]),
            },
            ceil_mode: self.ceil_mode != 0,
            output: self
                .output_size
                .map(|extent| (extent != 0).then_some(extent)),
            layout: image_layout(self.layout, operation.spatial)?,
            counts_padding: self.excludes_padding == 0,
            divisor_override: self.divisor_override,
            thread_limit: None,
        })
    }

    fn run(
        &self,
        operation: Pool,
        pooling: Pooling<'_>,
        handles: &[Handle],
    ) -> Answer<Vec<Handle>> {
        let names = pooling.input_names().iter().copied();
        let arrays: Vec<Given<'_>> = names.zip(handles.iter().copied()).collect();
        let options = self.options(operation)?;
        let call = Call::of(operation.name(), &arrays, &[], self.out)?;
        let made = pool(
            &call.ops,
            operation,
            (pooling, &call.operands),
            call.out(),
            &options,
        )?;
        Ok(made.into_iter().map(|array| call.insert(array)).collect())
    }
}

fn known(operation: Text) -> Answer<Pool> {
    let name = operation.required("operation")?;
    Pool::from_name(name).ok_or_else(|| unknown("operation", name, Pool::all().map(Pool::name)))
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
        let operation = known(operation)?;
        place.write(options.read()?.run(operation, Pooling::Forward, &[x])?[0]);
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
        let handles = [x, gradient];
        let operation = known(operation)?;
        place.write(
            options
                .read()?
                .run(operation, Pooling::Gradient, &handles)?[0],
        );
        Ok(())
    })
}

/// The largest value of each window, and its index in the plane that it is of.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_pool_with_indices(
    operation: Text,
    x: Handle,
    options: Options<CPoolOptions>,
    values: Out<Handle>,
    indices: Out<Handle>,
) -> Status {
    answer(|| {
        let place = values.required("values")?;
        let place_of_indices = indices.required("indices")?;
        let operation = known(operation)?;
        let made = options.read()?.run(operation, Pooling::WithIndices, &[x])?;
        place.write(made[0]);
        place_of_indices.write(made[1]);
        Ok(())
    })
}

/// The gradient of [`agpu_ops_pool_with_indices`] by x, from that of the values and the indices.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_pool_indices_gradient(
    operation: Text,
    gradient: Handle,
    indices: Handle,
    dimensions: u32,
    shape: Items<i64>,
    options: Options<CPoolOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let operation = known(operation)?;
        let shape = dims_of(shape, dimensions, "shape")?;
        let pooling = Pooling::IndicesGradient(&shape);
        let handles = [gradient, indices];
        place.write(options.read()?.run(operation, pooling, &handles)?[0]);
        Ok(())
    })
}

/// Images with values at indices and zeros elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_max_unpool(
    x: Handle,
    indices: Handle,
    dimensions: u32,
    shape: Items<i64>,
    options: Options<CPoolOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let rank = ArrayObject::alive("x", x)?.array.shape.len();
        let spatial = rank
            .checked_sub(2)
            .filter(|spatial| (1..=3).contains(spatial));
        let spatial = spatial.ok_or_else(|| {
            Failure::invalid(format!("x has {rank} axes; pooled images have 3 to 5"))
        })?;
        let operation = Pool {
            fold: Fold::Maximum,
            spatial,
            is_adaptive: false,
        };
        let shape = dims_of(shape, dimensions, "shape")?;
        let pooling = Pooling::Unpool(&shape);
        place.write(options.read()?.run(operation, pooling, &[x, indices])?[0]);
        Ok(())
    })
}
