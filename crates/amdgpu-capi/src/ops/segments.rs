//! ops.h: values joined row by row.

use amdgpu_ops::segments::{
    self, Join, JoinOptions, ScatterReduce, embedding_gradient, index_add, segment_reduce,
};

use super::{Call, unknown};
use crate::borrowed::{Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Status, answer};

/// `agpu_ops_segment_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSegmentOptions {
    size_bytes: u64,
    axis: i64,
    count: i64,
    has_offsets: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CSegmentOptions {
    const NAME: &'static str = "agpu_ops_segment_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_ops_scatter_reduce_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CScatterReduceOptions {
    size_bytes: u64,
    excludes_self: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CScatterReduceOptions {
    const NAME: &'static str = "agpu_ops_scatter_reduce_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_ops_embedding_gradient_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CEmbeddingGradientOptions {
    size_bytes: u64,
    padding_index: i64,
    has_padding_index: u32,
    scales_by_frequency: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CEmbeddingGradientOptions {
    const NAME: &'static str = "agpu_ops_embedding_gradient_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

fn join_of(reduce: Text) -> Answer<Join> {
    let name = reduce.required("reduce")?;
    Join::from_name(name)
        .ok_or_else(|| unknown("reduce", name, Join::ALL.into_iter().map(Join::name)))
}

/// Values of each segment joined.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_segment_reduce(
    reduce: Text,
    x: Handle,
    segments: Handle,
    options: Options<CSegmentOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let join = join_of(reduce)?;
        let given = options.read()?;
        let options = JoinOptions {
            axis: given.axis,
            has_offsets: given.has_offsets != 0,
            ..JoinOptions::new("segment_reduce", join)
        };
        let arrays = [("x", x), ("segments", segments)];
        let call = Call::of("segment_reduce", &arrays, &[], Handle::NULL)?;
        let [x, rows] = [call.operand(0), call.operand(1)];
        let made = segment_reduce(&call.ops, x, rows, Some(given.count), &options)?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// Values added to the rows that indices name.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_index_add(
    x: Handle,
    axis: i64,
    indices: Handle,
    values: Handle,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("indices", indices), ("values", values)];
        let call = Call::of("index_add", &arrays, &[], Handle::NULL)?;
        let [x, indices, values] = [0, 1, 2].map(|index| call.operand(index));
        place.write(call.insert(index_add(&call.ops, x, indices, values, axis)?));
        Ok(())
    })
}

/// Elements joined with the values whose index names them.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scatter_reduce(
    reduce: Text,
    x: Handle,
    axis: i64,
    indices: Handle,
    values: Handle,
    options: Options<CScatterReduceOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let options = ScatterReduce {
            axis,
            join: join_of(reduce)?,
            includes_self: options.read()?.excludes_self == 0,
            thread_limit: None,
        };
        let arrays = [("x", x), ("indices", indices), ("values", values)];
        let call = Call::of("scatter_reduce", &arrays, &[], Handle::NULL)?;
        let [x, indices, values] = [0, 1, 2].map(|index| call.operand(index));
        let made = segments::scatter_reduce(&call.ops, x, indices, values, &options)?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// The gradient of `agpu_ops_embedding` by the table.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_embedding_gradient(
    gradient: Handle,
    indices: Handle,
    rows: i64,
    options: Options<CEmbeddingGradientOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let given = options.read()?;
        let padding = (given.has_padding_index != 0).then_some(given.padding_index);
        let arrays = [("gradient", gradient), ("indices", indices)];
        let call = Call::of("embedding_gradient", &arrays, &[], Handle::NULL)?;
        let made = embedding_gradient(
            &call.ops,
            call.operand(0),
            call.operand(1),
            rows,
            padding,
            given.scales_by_frequency != 0,
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}
