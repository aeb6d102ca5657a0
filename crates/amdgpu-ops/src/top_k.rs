//! The best values of each line and their indices.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
pub use amdgpu_matrix::TopKOptions;
use amdgpu_matrix::{Matrix, TensorView, resolve_axes};

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::generated::sort::{KeyOrder, NanPlace, Zeros};
use crate::generated::source;
use crate::generated::top_k::{take_source, top_k_source};
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::{Operand, Target};
use crate::radix::place_type;
use crate::select;
use crate::sort::radix_of;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

const NAME: &str = "top_k";
/// Every value taken costs a round of the block; for more of them sorting is faster.
const TAKEN_LIMIT: i64 = 16;
/// Lines that a block reads so often.
const BLOCK_LIMIT: i64 = 4096;

/// The k best values of each line along an axis, best first, and their indices. Of equal values the first is better; NaN is larger than any
/// number. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `invalid-argument` for an axis that does not exist or a k beyond its extent; `unsupported-dtype`.
pub fn top_k(ops: &DeviceOps, x: &Operand, options: &TopKOptions) -> Result<(Array, Array)> {
    cpu::pair(top_k_into(ops, x, options, &[])?)
}

/// [`top_k`] with memory for values and indices, or without.
pub(crate) fn top_k_into(
    ops: &DeviceOps,
    x: &Operand,
    options: &TopKOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("x", x)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::TopK(*options),
        || on_device(ops, x, options).map(|both| Results::from_iter([both.0, both.1])),
        |views, host| on_host(&views[0], options, host),
    )
}

/// [`top_k`] in memory of the host, which is asked for the values first and then for the indices.
///
/// # Errors
///
/// As [`top_k`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    options: &TopKOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = options.describe(x).map_err(Error::from)?;
    let mut values = host.result(&described.shape, described.dtype, false)?;
    let mut indices = host.result(&described.shape, Dtype::I64, false)?;
    Ok(host.run(cpu::len(x), || {
        let targets = (&mut values.view_mut()?, &mut indices.view_mut()?);
        Ok(Matrix::global()?.top_k(x, targets.0, targets.1, options)?)
    })?)
}

/// [`top_k`] by kernels of the device: a few values are taken one by one, more of them from sorted lines, and
/// from long lines they are selected.
///
/// # Errors
///
/// As [`top_k`]; what the device reports.
pub fn on_device(ops: &DeviceOps, x: &Operand, options: &TopKOptions) -> Result<(Array, Array)> {
    x.check_dtype(NAME, "x")?;
    let described = options.describe(&x.view())?;
    let axis = resolve_axes(NAME, &x.shape, &[options.axis])?[0];
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out: None,
        inputs: &[],
        may_alias: false,
        is_dense: true,
    };
    let best = target
        .resolve(&described.shape, described.dtype)?
        .into_array()?;
    let indices = target.resolve(&described.shape, Dtype::I64)?.into_array()?;
    if best.is_empty() {
        return Ok((best, indices));
    }
    let lines = Lines::of(&x.shape, axis, axis);
    let values = dense(ops, x)?;
    if options.k > TAKEN_LIMIT || lines.length > BLOCK_LIMIT {
        take_first(ops, &values, lines, options, [&best, &indices])?;
        return Ok((best, indices));
    }
    let key = KernelKey::new(NAME).dtype(x.dtype).flag(options.is_largest);
    let kernel = ops.kernel(key, NAME, || top_k_source(x.dtype, options.is_largest))?;
    let [values, found, at] = [&values, &best, &indices].map(Arg::Array);
    let [length, stride, k] = [lines.length, lines.stride, options.k].map(Arg::from);
    let args = [values, found, at, length, stride, k];
    launch(&kernel, Shape::line(lines.count, source::BLOCK), &args)?;
    Ok((best, indices))
}

/// The first k of lines, in the order of their keys, and where they come from: of sorted short lines, selected from long ones.
fn take_first(
    ops: &DeviceOps,
    values: &Array,
    lines: Lines,
    options: &TopKOptions,
    [best, indices]: [&Array; 2],
) -> Result<()> {
    let order = KeyOrder {
        is_descending: options.is_largest,
        nan: NanPlace::Largest,
        zeros: Zeros::Equal,
    };
    let radix = radix_of(ops, values, order, lines, Some(place_type(lines.length)));
    if !radix.fits_block() && select::fits_block(lines, options.k) {
        return select::write_first(&radix, options.k, [best, indices]);
    }
    // Where the keys of a line are: in the order of the keys themselves, or by way of the selected ones.
    let (order, places, row) = if radix.fits_block() {
        (radix.places()?, None, lines.length)
    } else {
        let selected = select::first_keys(&radix, options.k)?;
        (selected.order, Some(selected.places), options.k)
    };
    let item_bytes = values.dtype.size_bytes();
    let through = places.as_ref().map(|places| places.dtype);
    let mut key = KernelKey::new("top_k take")
        .with(item_bytes as u64)
        .dtype(order.dtype);
    if let Some(dtype) = through {
        key = key.dtype(dtype);
    }
    let kernel = ops.kernel(key, "top_k_take", || {
        take_source(item_bytes, order.dtype, through)
    })?;
    let mut args = [values, &order].map(Arg::Array).to_vec();
    args.extend(places.as_ref().map(Arg::Array));
    args.extend([best, indices].map(Arg::Array));
    let count = lines.count * options.k;
    args.extend([count, lines.length, lines.stride, options.k, row].map(Arg::from));
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}
