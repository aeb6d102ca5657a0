//! Operations by archived kernels alone, whose absence is an error: for whoever tests and measures these kernels.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use super::archive::Unit;
use super::operations::{Convolution, convolution_layout, launch_convolution, takes_filters_first};
use super::problem::{Epilogue, Number, Problem, VECTOR_BYTES};
use crate::{DeviceOps, Error, Result};

fn refused<T>(code: ErrorCode, message: String) -> Result<T> {
    Err(Error::refused(code, message))
}

fn empty(ops: &DeviceOps, shape: &[i64], like: &Array) -> Result<Array> {
    let shape = Dims::from_slice(shape);
    Ok(Array::empty(
        ops.device(),
        shape,
        like.dtype,
        MemoryKind::Device,
    )?)
}

fn described(x: &Array) -> String {
    format!("{}{:?}", x.dtype.name().unwrap_or("?"), x.shape.as_slice())
}

/// What a convolution is asked for, beside its arrays.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Pixels from one result to the next.
    pub stride: i64,
    /// Zeros around each image.
    pub padding: i64,
    /// Pixels from one tap to the next.
    pub dilation: i64,
    /// Groups of channels that are convolved apart.
    pub groups: i64,
    /// Negative results become 0.
    pub clips: bool,
    /// The matrix units may cut float32 numbers to 11 significant bits.
    pub is_tf32: bool,
}

/// A convolution of images (images, height, width, channels) with filters (rows, columns, channels / groups, filters), or, where
/// tf32 is computed by kernels that read filters so, (filters, rows, columns, channels / groups); `bias` has shape (filters,). All without gaps.
///
/// # Errors
///
/// `shape-mismatch` for shapes that do not fit or a result without pixels, `unsupported-dtype` for formats that differ,
/// `invalid-argument` for steps or groups below 1, a padding below 0, or clipping without a bias; [`Error::NoKernel`].
pub fn convolve(
    ops: &DeviceOps,
    [images, filters]: [&Array; 2],
    bias: Option<&Array>,
    window: &Window,
) -> Result<Array> {
    let Window {
        stride,
        padding,
        dilation,
        groups,
        ..
    } = *window;
    if stride.min(dilation).min(groups) < 1 || padding < 0 {
        return refused(
            ErrorCode::InvalidArgument,
            format!(
                "stride {stride}, dilation {dilation}, groups {groups} and padding {padding} are not possible"
            ),
        );
    }
    let is_first = window.is_tf32
        && images.dtype == Dtype::F32
        && takes_filters_first(ops, Number::Tf32, Unit::Mma)?;
    let shapes = shapes_of(images, filters, bias, groups, is_first)?;
    let [count, height, width, _] = shapes.images;
    let [rows, columns, _, out_channels] = shapes.filters;
    let extent = |size: i64, taps: i64| {
        (size + 2 * padding - dilation * (taps - 1) - 1).div_euclid(stride) + 1
    };
    let (out_height, out_width) = (extent(height, rows), extent(width, columns));
    if out_height.min(out_width) < 1 {
        return refused(
            ErrorCode::ShapeMismatch,
            format!("images of {height} x {width} have no place for filters of {rows} x {columns}"),
        );
    }
    let result = empty(ops, &[count, out_height, out_width, out_channels], images)?;
    if result.is_empty() {
        return Ok(result);
    }
    // Arrays of other libraries may begin anywhere.
    let are_aligned = [images, filters, &result]
        .iter()
        .all(|one| one.address().address().is_multiple_of(VECTOR_BYTES));
    let product = product_of(images, shapes.filters, bias.is_some(), (window, is_first))?;
    let problem = Problem {
        m: (count * out_height * out_width) as u64,
        is_aligned: are_aligned && product.is_aligned,
        ..product
    };
    let call = Convolution {
        images,
        filters,
        bias,
        result: &result,
        stride,
        padding,
        dilation,
        groups,
        problem,
    };
    launch_convolution(ops, &call)?;
    Ok(result)
}

/// The product that a convolution is, but for its pixels and where its arrays begin.
fn product_of(
    images: &Array,
    [rows, columns, own_channels, out_channels]: [i64; 4],
    has_bias: bool,
    (window, is_first): (&Window, bool),
) -> Result<Problem> {
    let number = Number::of_dtype(images.dtype)
        .ok_or_else(|| Error::no_kernel(format!("no kernel takes {}", described(images))))?;
    let vector = (VECTOR_BYTES / number.bytes()) as i64;
    let own_filters = out_channels / window.groups;
    let epilogue = match (has_bias, window.clips) {
        (false, false) => Epilogue::None,
        (true, false) => Epilogue::Bias,
        (true, true) => Epilogue::Relu,
        (false, true) => {
            let message = "a convolution that clips needs a bias".to_owned();
            return refused(ErrorCode::InvalidArgument, message);
        }
    };
    Ok(Problem {
        m: 0,
        n: own_filters as u64,
        k: (rows * columns * own_channels) as u64,
        batch: window.groups as u64,
        operand: if is_first { Number::Tf32 } else { number },
        output: number,
        layout: convolution_layout(is_first),
        epilogue,
        is_aligned: own_channels % vector == 0 && own_filters % vector == 0,
    })
}

/// Images, and filters as (rows, columns, channels / groups, filters).
struct Shapes {
    images: [i64; 4],
    filters: [i64; 4],
}

fn shapes_of(
    images: &Array,
    filters: &Array,
    bias: Option<&Array>,
    groups: i64,
    is_first: bool,
) -> Result<Shapes> {
    let given = (images.shape.as_slice(), filters.shape.as_slice());
    let (Ok(own), Ok(stored)) = (<[i64; 4]>::try_from(given.0), <[i64; 4]>::try_from(given.1))
    else {
        return refused(
            ErrorCode::ShapeMismatch,
            format!(
                "images have the shape {:?}, filters {:?}; both have four axes",
                given.0, given.1
            ),
        );
    };
    let [first, second, third, fourth] = stored;
    let shape = if is_first {
        [second, third, fourth, first]
    } else {
        stored
    };
    let [_, _, own_channels, out_channels] = shape;
    if own[3] != own_channels * groups || out_channels % groups != 0 {
        return refused(
            ErrorCode::ShapeMismatch,
            format!(
                "images have the shape {:?}, filters {:?}, in {groups} groups",
                given.0, given.1
            ),
        );
    }
    if images.dtype != filters.dtype || bias.is_some_and(|bias| bias.dtype != images.dtype) {
        return refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "images are {} and filters {}",
                described(images),
                described(filters)
            ),
        );
    }
    if let Some(bias) = bias.filter(|bias| bias.shape.as_slice() != [out_channels]) {
        return refused(
            ErrorCode::ShapeMismatch,
            format!(
                "bias has the shape {:?}; there are {out_channels} filters",
                bias.shape.as_slice()
            ),
        );
    }
    Ok(Shapes {
        images: own,
        filters: shape,
    })
}
