//! Transposes and convolutions by archived kernels.

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use smallvec::SmallVec;

use super::Archived;
use super::archive::{ArchivedKernel, Unit};
use super::choice::estimate;
use super::load::Steps;
use super::problem::{Layout, Number, Problem};
use super::split_k::int;
use crate::launch::Shape;
use crate::{Arg, DeviceOps, Error, Result};

/// The last two dimensions of an array without gaps swapped, written out.
///
/// # Errors
///
/// `shape-mismatch` for fewer than two dimensions; [`Error::NoKernel`] where the archive has no kernel for elements of this size; what the
/// device reports.
pub fn transpose(ops: &DeviceOps, x: &Array) -> Result<Array> {
    if x.shape.len() < 2 {
        let shape = x.shape.as_slice();
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!("x has the shape {shape:?}; two or more dimensions are transposed"),
        ));
    }
    push_transpose(&Steps::of(ops)?, x)
}

/// The same as a step of a product.
pub(super) fn push_transpose(steps: &Steps<'_>, x: &Array) -> Result<Array> {
    let rank = x.shape.len();
    let item = x.dtype.size_bytes() as u64;
    let kernel = steps.find(
        "transpose",
        |kernel| kernel.item_bytes == item,
        || format!("{item} bytes"),
    )?;
    let mut shape: SmallVec<[u64; 6]> = x.shape.iter().map(|extent| *extent as u64).collect();
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    shape.swap(rank - 2, rank - 1);
    let result = steps.scratch_of(x.dtype, &shape)?;
    if x.is_empty() {
        return Ok(result);
    }
    let side = kernel.tile.m;
    let tiles = rows.div_ceil(side) * columns.div_ceil(side);
    let args = [Arg::Array(x), Arg::Array(&result), int(rows), int(columns)];
    let shape = Shape {
        grid: [tiles as i64, x.len() / (rows * columns) as i64, 1],
        block: [i64::from(kernel.threads), 1, 1],
        shared_bytes: 0,
    };
    steps.launch(kernel, shape, &args)?;
    Ok(result)
}

/// A convolution of images with their channels last; every array lies on the device without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a> {
    /// Shape (images, height, width, channels).
    pub images: &'a Array,
    /// Shape (rows, columns, channels / groups, filters), or, where [`takes_filters_first`] says so, (filters, rows, columns,
    /// channels / groups).
    pub filters: &'a Array,
    /// Shape (filters,).
    pub bias: Option<&'a Array>,
    /// Shape (images, `out_height`, `out_width`, filters).
    pub result: &'a Array,
    pub stride: i64,
    pub padding: i64,
    pub dilation: i64,
    pub groups: i64,
    /// The product that it is: pixels of the results, filters and taps of a group, groups.
    pub problem: Problem,
}

/// Whether the archive has convolutions of a number format by a unit that reads filters one after the other.
///
/// # Errors
///
/// `library-missing` for a damaged archive.
pub fn takes_filters_first(ops: &DeviceOps, operand: Number, unit: Unit) -> Result<bool> {
    let archive = Archived::of(ops).archive()?;
    Ok(archive.is_some_and(|archive| {
        let is_it = |kernel: &ArchivedKernel| {
            kernel.operand == Some(operand)
                && kernel.unit == Some(unit)
                && kernel.layout == Layout::Nt
        };
        archive.first("convolution", is_it).is_some()
    }))
}

/// The layout of a convolution's kernels.
#[must_use]
pub fn convolution_layout(has_filters_first: bool) -> Layout {
    if has_filters_first {
        Layout::Nt
    } else {
        Layout::Nn
    }
}

/// The kernel of a convolution, given as the product that it is, whose tiles leave the least of the device idle.
///
/// # Errors
///
/// [`Error::NoKernel`].
pub fn convolution_for<'a>(ops: &'a DeviceOps, problem: &Problem) -> Result<&'a ArchivedKernel> {
    let steps = Steps::of(ops)?;
    let fits = |kernel: &&ArchivedKernel| {
        kernel.kind == "convolution"
            && kernel.operand == Some(problem.operand)
            && kernel.epilogue == problem.epilogue
            && kernel.layout == problem.layout
            && (problem.is_aligned || !kernel.is_aligned)
    };
    let timed = steps
        .archive()
        .kernels()
        .iter()
        .filter(fits)
        .map(|kernel| (kernel, estimate(kernel, problem, steps.units(), 1)));
    let best = timed.min_by(|one, other| one.1.total_cmp(&other.1));
    best.map(|(kernel, _)| kernel).ok_or_else(|| {
        let architecture = &Archived::of(ops).facts().architecture;
        Error::no_kernel(format!(
            "the archived kernels for {architecture} have no convolution for {problem:?}"
        ))
    })
}

/// Launches the best archived kernel for a convolution whose result has elements.
///
/// # Errors
///
/// As [`convolution_for`]; `shape-mismatch` for arrays without four axes; what the device reports.
pub fn launch_convolution(ops: &DeviceOps, call: &Convolution<'_>) -> Result<()> {
    let [images, filters, result] = [call.images, call.filters, call.result];
    if [images, filters, result].iter().any(|x| x.shape.len() != 4) {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            "images, filters and results of a convolution have four axes",
        ));
    }
    let kernel = convolution_for(ops, &call.problem)?;
    let (m, n, groups) = (call.problem.m, call.problem.n, call.problem.batch);
    let taps = if kernel.layout == Layout::Nt {
        &filters.shape[1..3]
    } else {
        &filters.shape[..2]
    };
    let maps;
    let mut args: SmallVec<[Arg<'_>; 20]> = SmallVec::new();
    args.extend([images, filters, result, call.bias.unwrap_or(result)].map(Arg::Array));
    args.extend(images.shape.iter().map(|extent| Arg::from(*extent)));
    args.extend(result.shape[1..].iter().map(|extent| Arg::from(*extent)));
    args.extend(taps.iter().map(|extent| Arg::from(*extent)));
    args.extend([call.stride, call.padding, call.dilation, call.groups].map(Arg::from));
    let steps = Steps::of(ops)?;
    let tiles = m.div_ceil(kernel.tile.m) * n.div_ceil(kernel.tile.n);
    let mut grid = [tiles, groups, 1];
    if kernel.unit == Some(Unit::Wgmma) {
        // Blocks stay and compute tile after tile: as many as there are units.
        grid = [(tiles * groups).min(steps.units()), 1, 1];
        maps = Archived::of(ops).maps.of_convolution(ops, kernel, call)?;
        args.push(Arg::Array(&maps));
    }
    let shape = Shape {
        grid: grid.map(|extent| extent as i64),
        block: [i64::from(kernel.threads), 1, 1],
        shared_bytes: 0,
    };
    steps.launch(kernel, shape, &args)
}
