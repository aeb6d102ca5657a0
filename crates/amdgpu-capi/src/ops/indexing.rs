//! ops.h: elements at arrays of indices, where elements are not zero, lines in order.

use amdgpu_abi::ErrorCode;
use amdgpu_array::{Array, Dims};
use amdgpu_ops::sort::{argsort, sort};
use amdgpu_ops::{Operand, Scatter, cast, nonzero, offsets};

use super::{Call, Given, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// `agpu_ops_sort_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSortOptions {
    size_bytes: u64,
    is_descending: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CSortOptions {
    const NAME: &'static str = "agpu_ops_sort_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Lines in a stable order, and the places that their elements come from.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_sort(
    x: Handle,
    axis: i64,
    options: Options<CSortOptions>,
    values: Out<Handle>,
    indices: Out<Handle>,
) -> Status {
    answer(|| {
        let (place, place_of_indices) = (values.optional(), indices.optional());
        let is_descending = options.read()?.is_descending != 0;
        let call = Call::of("sort", &[("x", x)], &[], Handle::NULL)?;
        let x = call.operand(0);
        let made = place
            .is_some()
            .then(|| sort(&call.ops, x, axis, is_descending, true))
            .transpose()?;
        let places = place_of_indices
            .is_some()
            .then(|| argsort(&call.ops, x, axis, is_descending, true))
            .transpose()?;
        for (place, made) in [(place, made), (place_of_indices, places)] {
            if let (Some(place), Some(made)) = (place, made) {
                place.write(call.insert(made));
            }
        }
        Ok(())
    })
}

/// The indices of the elements that are not zero.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_nonzero(x: Handle, result: Out<Handle>) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let call = Call::of("nonzero", &[("x", x)], &[], Handle::NULL)?;
        let made = nonzero(&call.ops, call.operand(0))?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// Some axes of an array, picked by index arrays; the others are a block.
struct Picked {
    offsets: Array,
    shape: Dims,
    strides: Dims,
}

impl Picked {
    /// The operands of a call behind the first one are the indices.
    fn of(call: &Call, axes: &[i64], indices: &[Operand]) -> Answer<Self> {
        let x = &call.first.array;
        let rank = x.shape.len() as i64;
        let mut places = Vec::with_capacity(axes.len());
        for axis in axes {
            let place = if *axis < 0 { axis + rank } else { *axis };
            if !(0..rank).contains(&place) || places.contains(&(place as usize)) {
                let message = format!(
                    "axes has {axis}; each is one of the {rank} axes of x, and none occurs twice"
                );
                return Err(Failure::new(ErrorCode::InvalidArgument, message));
            }
            places.push(place as usize);
        }
        let of_axes = |all: &Dims| -> Vec<i64> { places.iter().map(|axis| all[*axis]).collect() };
        let rest = |all: &Dims| -> Dims {
            let kept = (0..all.len()).filter(|axis| !places.contains(axis));
            kept.map(|axis| all[axis]).collect()
        };
        let (extents, strides) = (of_axes(&x.shape), of_axes(&x.strides));
        Ok(Self {
            offsets: offsets(&call.ops, indices, &extents, &strides)?,
            shape: rest(&x.shape),
            strides: rest(&x.strides),
        })
    }

    fn block(&self) -> (&[i64], &[i64]) {
        (&self.shape, &self.strides)
    }
}

fn with_indices(first: Handle, indices: &[Handle]) -> Vec<Given<'static>> {
    let indices = indices.iter().map(|one| ("indices", *one));
    std::iter::once(("x", first)).chain(indices).collect()
}

/// The elements at index arrays for some axes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_pick(
    x: Handle,
    axes: Items<i64>,
    indices: Items<Handle>,
    count: usize,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let axes = axes.slice(count, "axes")?;
        let given = with_indices(x, indices.slice(count, "indices")?);
        let call = Call::of("pick", &given, &[], Handle::NULL)?;
        let picked = Picked::of(&call, axes, &call.operands[1..])?;
        let made = amdgpu_ops::gather(
            &call.ops,
            &call.first.array,
            &picked.offsets,
            picked.block(),
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// Values to the elements that [`agpu_ops_pick`] reads.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_put(
    x: Handle,
    axes: Items<i64>,
    indices: Items<Handle>,
    count: usize,
    values: Handle,
    how: Text,
) -> Status {
    answer(|| {
        let axes = axes.slice(count, "axes")?;
        let name = how.optional("how")?.unwrap_or("assign");
        let how = Scatter::from_name(name).ok_or_else(|| {
            let known = ["assign", "add", "multiply", "maximum", "minimum"];
            unknown("how", name, known.into_iter())
        })?;
        let mut given = with_indices(x, indices.slice(count, "indices")?);
        given.push(("values", values));
        let call = Call::of("put", &given, &[], Handle::NULL)?;
        let target = call.first.array.clone();
        target.check_writable()?;
        let picked = Picked::of(&call, axes, &call.operands[1..=count])?;
        let mut values = call.operand(count + 1).clone();
        if values.dtype != target.dtype || values.overlaps(call.operand(0)) {
            values = Operand::of_array(cast(&call.ops, &values, target.dtype, None)?);
        }
        amdgpu_ops::scatter(
            &call.ops,
            &target,
            &picked.offsets,
            picked.block(),
            &values,
            how,
        )?;
        Ok(())
    })
}
