//! Lines in order, the places that their elements come from, and where values belong in a sorted line.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::SortOptions;
use amdgpu_matrix::{Described, Matrix, TensorView, resolve_axes};

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::generated::sort::{
    KeyOrder, NanPlace, Zeros, key_bits, key_source, line_result, search_source,
};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::radix::{Radix, Written, place_type};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

const SEARCH: &str = "searchsorted";

/// x in order along an axis. Equal elements stay in order, whether `stable` asks for it or not; -0.0 equals 0.0; NaN comes last, in both
/// directions.
///
/// # Errors
///
/// `invalid-argument` for an axis that does not exist, `unsupported-dtype`, `out-of-memory`.
pub fn sort(
    ops: &DeviceOps,
    x: &Operand,
    axis: i64,
    descending: bool,
    stable: bool,
) -> Result<Array> {
    sorted(ops, x, &options(axis, descending, stable, false))
}

/// The places, as int64, that the elements of [`sort`] come from.
///
/// # Errors
///
/// As [`sort`].
pub fn argsort(
    ops: &DeviceOps,
    x: &Operand,
    axis: i64,
    descending: bool,
    stable: bool,
) -> Result<Array> {
    sorted(ops, x, &options(axis, descending, stable, true))
}

/// Every order is a stable one: radix sorts are by themselves.
fn options(axis: i64, is_descending: bool, _stable: bool, gives_places: bool) -> SortOptions {
    SortOptions {
        axis,
        is_descending,
        gives_places,
        thread_limit: None,
    }
}

/// [`sort`] or [`argsort`], as the options say.
///
/// # Errors
///
/// As [`sort`].
pub fn sorted(ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    let call = Call {
        ops,
        family: options.name(),
        name: options.name(),
        inputs: &[("x", x)],
        out: None,
    };
    cpu::run_noted(
        &call,
        || Some(Operation::Sort(*options)),
        || on_device(ops, x, options),
        |views, host| on_host(&views[0], options, host),
    )
}

/// [`sort`] or [`argsort`] in memory of the host.
///
/// # Errors
///
/// As [`sort`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    options: &SortOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = Described {
        shape: x.shape().to_vec(),
        dtype: options.result(x.dtype()),
    };
    host.write(&described, cpu::len(x).saturating_mul(16), |out| {
        Ok(Matrix::global()?.sort(x, out, options)?)
    })
}

fn check(x: &Operand, options: &SortOptions) -> Result<()> {
    x.check_dtype(options.name(), "x")?;
    resolve_axes(options.name(), &x.shape, &[options.axis])?;
    Ok(())
}

/// [`sort`] or [`argsort`] by kernels of the device: elements become keys, which are put in order by eight bits at a time.
///
/// # Errors
///
/// As [`sort`]; what the device reports.
pub fn on_device(ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    check(x, options)?;
    let axis = resolve_axes(options.name(), &x.shape, &[options.axis])?[0];
    let made = empty(ops, x.shape.clone(), options.result(x.dtype))?;
    if made.is_empty() {
        return Ok(made);
    }
    let lines = Lines::of(&x.shape, axis, axis);
    let values = dense(ops, x)?;
    let gives_places = options.gives_places;
    let order = KeyOrder {
        is_descending: options.is_descending,
        nan: NanPlace::Last,
        zeros: Zeros::Apart,
    };
    let place = gives_places.then(|| place_type(lines.length));
    let result = line_result(x.dtype, options.is_descending, gives_places);
    let key = KernelKey::new("sort result")
        .dtype(x.dtype)
        .flag(options.is_descending)
        .flag(gives_places);
    radix_of(ops, &values, order, lines, place).write(&Written {
        out: &made,
        result: &result,
        key,
    })?;
    Ok(made)
}

/// The radix sort of the lines of a dense array.
pub(crate) fn radix_of<'a>(
    ops: &'a DeviceOps,
    values: &'a Array,
    order: KeyOrder,
    lines: Lines,
    place: Option<Dtype>,
) -> Radix<'a> {
    let dtype = values.dtype;
    Radix {
        ops,
        memory: values,
        source: key_source(dtype, order),
        key: KernelKey::new("sort")
            .dtype(dtype)
            .flag(order.is_descending)
            .flag(order.nan == NanPlace::Last)
            .flag(order.zeros == Zeros::Apart),
        lines,
        bits: key_bits(dtype),
        place,
        wanted: None,
    }
}

fn empty(ops: &DeviceOps, shape: impl Into<Dims>, dtype: Dtype) -> Result<Array> {
    Ok(Array::empty(
        ops.device(),
        shape,
        dtype,
        MemoryKind::Device,
    )?)
}

/// For each of the values, how many elements of `sorted` stand before it, as int64: those that are smaller, and with `right` those that are
/// equal, too. NaN counts as larger than any number.
///
/// # Errors
///
/// `shape-mismatch` unless `sorted` has one axis, `unsupported-dtype` where the dtypes of both differ.
pub fn searchsorted(
    ops: &DeviceOps,
    sorted: &Operand,
    values: &Operand,
    right: bool,
) -> Result<Array> {
    cpu::only(searchsorted_into(ops, (sorted, values), right, &[])?)
}

/// [`searchsorted`] with memory for the result, or without.
pub(crate) fn searchsorted_into(
    ops: &DeviceOps,
    (sorted, values): (&Operand, &Operand),
    right: bool,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: "search_sorted",
        name: SEARCH,
        inputs: &[("x", sorted), ("values", values)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::SearchSorted { right },
        || {
            Ok(Results::from_iter([search_on_device(
                ops, sorted, values, right,
            )?]))
        },
        |views, host| search_on_host(&views[0], &views[1], right, None, host),
    )
}

/// [`searchsorted`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`searchsorted`], and those of the host.
pub fn search_on_host<H: Host>(
    sorted: &TensorView<'_>,
    values: &TensorView<'_>,
    right: bool,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = Described {
        shape: values.shape().to_vec(),
        dtype: Dtype::I64,
    };
    host.write(&described, cpu::len(values).saturating_mul(32), |out| {
        Ok(Matrix::global()?.search_sorted(sorted, values, right, out, thread_limit)?)
    })
}

/// [`searchsorted`] by a kernel of the device.
///
/// # Errors
///
/// As [`searchsorted`]; what the device reports.
pub fn search_on_device(
    ops: &DeviceOps,
    sorted: &Operand,
    values: &Operand,
    right: bool,
) -> Result<Array> {
    check_search(sorted, values)?;
    let made = empty(ops, values.shape.clone(), Dtype::I64)?;
    if made.is_empty() {
        return Ok(made);
    }
    let key = KernelKey::new("search_sorted")
        .dtype(values.dtype)
        .flag(right);
    let kernel = ops.kernel(key, "search_sorted", || search_source(values.dtype, right))?;
    let (line, wanted) = (dense(ops, sorted)?, dense(ops, values)?);
    let count = made.len();
    let [line_arg, wanted_arg, out] = [&line, &wanted, &made].map(Arg::Array);
    let args = [
        line_arg,
        wanted_arg,
        out,
        Arg::from(count),
        Arg::from(line.len()),
    ];
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
    Ok(made)
}

/// Refuses lines with another number of axes, and values of another dtype.
fn check_search(sorted: &Operand, values: &Operand) -> Result<()> {
    sorted.check_dtype(SEARCH, "x")?;
    values.check_dtype(SEARCH, "values")?;
    if sorted.rank() != 1 {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{SEARCH}: x has shape {:?}; it must have one axis",
                sorted.shape.as_slice()
            ),
        ));
    }
    if sorted.dtype == values.dtype {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{SEARCH}: x has dtype {}, the values {}; convert one of them",
            sorted.dtype.name().unwrap_or("?"),
            values.dtype.name().unwrap_or("?")
        ),
    ))
}
