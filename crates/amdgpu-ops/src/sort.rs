//! Lines in order, the places that their elements come from, and where values belong in a sorted line.

use std::sync::Arc;

use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::SortOptions;
use amdgpu_matrix::{Described, Matrix, TensorView, resolve_axes};

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::sort::{
    CHUNK, DIGIT_BITS, DIGITS, count_source, finish_source, is_wide, key_bits, keys_source,
    place_source, search_source,
};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::scan::{self, Scan};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

const UINT32: Dtype = Dtype::new(DTYPE_UINT, 32);
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
    run(ops, x, &options(axis, descending, stable, false))
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
    run(ops, x, &options(axis, descending, stable, true))
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

fn run(ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    let call = Call {
        ops,
        family: options.name(),
        name: options.name(),
        inputs: &[("x", x)],
        out: None,
    };
    cpu::run_one(
        &call,
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

/// [`sort`] or [`argsort`] by kernels of the device: elements become keys, which are put in order by four bits at a time.
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
    let sorter = Sorter::new(ops, x.dtype, Lines::of(&x.shape, axis, axis))?;
    let values = dense(ops, x)?;
    sorter.make_keys(&values, options.is_descending)?;
    let places = sorter.sort()?;
    sorter.finish(&values, places, &made, options.gives_places)?;
    Ok(made)
}

fn empty(ops: &DeviceOps, shape: impl Into<Dims>, dtype: Dtype) -> Result<Array> {
    Ok(Array::empty(
        ops.device(),
        shape,
        dtype,
        MemoryKind::Device,
    )?)
}

/// Keys and places of all lines, twice: from one to the other and back, digit by digit.
struct Sorter<'a> {
    ops: &'a DeviceOps,
    dtype: Dtype,
    lines: Lines,
    chunks: i64,
    /// The type of places within a line.
    place: Dtype,
    keys: [Array; 2],
    places: [Array; 2],
    counts: Array,
}

impl<'a> Sorter<'a> {
    fn new(ops: &'a DeviceOps, dtype: Dtype, lines: Lines) -> Result<Self> {
        let chunks = lines.length.div_ceil_positive(CHUNK);
        let place = if source::is_narrow(lines.length) {
            Dtype::I32
        } else {
            Dtype::I64
        };
        let key = if is_wide(dtype) { Dtype::U64 } else { UINT32 };
        let array = |dtype| empty(ops, Dims::from_slice(&[lines.count * lines.length]), dtype);
        Ok(Self {
            ops,
            dtype,
            lines,
            chunks,
            place,
            keys: [array(key)?, array(key)?],
            places: [array(place)?, array(place)?],
            counts: empty(
                ops,
                Dims::from_slice(&[lines.count, DIGITS * chunks]),
                Dtype::I64,
            )?,
        })
    }

    fn launch_elements(&self, kernel: &Arc<Kernel>, arrays: [&Array; 3]) -> Result<()> {
        let count = self.lines.count * self.lines.length;
        let [a, b, c] = arrays.map(Arg::Array);
        let [all, length, inner] = [count, self.lines.length, self.lines.stride].map(Arg::from);
        let blocks = count.div_ceil_positive(source::BLOCK);
        launch(
            kernel,
            Shape::line(blocks, source::BLOCK),
            &[a, b, c, all, length, inner],
        )
    }

    fn make_keys(&self, values: &Array, is_descending: bool) -> Result<()> {
        let key = KernelKey::new("sort keys")
            .dtype(self.dtype)
            .dtype(self.place)
            .flag(is_descending);
        let kernel = self.ops.kernel(key, "sort_keys", || {
            keys_source(self.dtype, is_descending, self.place)
        })?;
        self.launch_elements(&kernel, [values, &self.keys[0], &self.places[0]])
    }

    /// Puts keys and places in order; which of the two places holds the result.
    fn sort(&self) -> Result<&Array> {
        let is_wide = is_wide(self.dtype);
        let key = KernelKey::new("sort count").flag(is_wide);
        let count = self
            .ops
            .kernel(key, "sort_count", || count_source(is_wide))?;
        let key = KernelKey::new("sort place").flag(is_wide).dtype(self.place);
        let place = self
            .ops
            .kernel(key, "sort_place", || place_source(is_wide, self.place))?;
        let shape = Shape::line(self.lines.count * self.chunks, source::BLOCK);
        let [length, chunks] = [self.lines.length, self.chunks].map(Arg::from);
        let (first, end) = key_bits(self.dtype);
        let counts = Operand::of_array(self.counts.clone());
        let mut from = 0;
        let mut shift = first;
        while shift < end {
            let to = 1 - from;
            let [keys, counted] = [&self.keys[from], &self.counts].map(Arg::Array);
            let args = [keys, counted, length, chunks, Arg::from(shift)];
            launch(&count, shape, &args)?;
            let ends = scan::on_device(self.ops, Scan::Sum, &counts, 1, None)?;
            let arrays = [
                &self.keys[from],
                &self.places[from],
                &self.keys[to],
                &self.places[to],
                &ends,
            ];
            let mut args = arrays.map(Arg::Array).to_vec();
            args.extend([length, chunks, Arg::from(shift)]);
            launch(&place, shape, &args)?;
            from = to;
            shift += DIGIT_BITS;
        }
        Ok(&self.places[from])
    }

    fn finish(
        &self,
        values: &Array,
        places: &Array,
        out: &Array,
        gives_places: bool,
    ) -> Result<()> {
        let item_bytes = self.dtype.size_bytes();
        let key = KernelKey::new("sort finish")
            .with(item_bytes as u64)
            .flag(gives_places)
            .dtype(self.place);
        let kernel = self.ops.kernel(key, "sort_finish", || {
            finish_source(item_bytes, gives_places, self.place)
        })?;
        self.launch_elements(&kernel, [values, places, out])
    }
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
    let call = Call {
        ops,
        family: "search_sorted",
        name: SEARCH,
        inputs: &[("x", sorted), ("values", values)],
        out: None,
    };
    cpu::run_one(
        &call,
        || search_on_device(ops, sorted, values, right),
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
