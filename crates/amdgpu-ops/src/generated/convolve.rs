//! The text of convolutions and their gradients, as tiled matrix multiplications of patches that are never written out.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_matrix::ConvolvePass;

use super::source;
use super::tiled::Tiled;

/// Parameters that every pass takes behind its arrays. `channels` and `outputs` are those of a group; the group is `batch` of the product.
const WINDOW: &str = ", Index channels, Index image_rows, Index image_columns, Index outputs, Index result_rows, Index result_columns\
, Index window_rows, Index window_columns, long long stride_rows, long long stride_columns, long long padding_rows\
, long long padding_columns, long long dilation_rows, long long dilation_columns\
, Index image_batch, Index image_channel, Index image_row, Index image_column\
, Index result_batch, Index result_channel, Index result_row, Index result_column";

const FUNCTIONS: &str = "
// The element of an image, zero outside.
__device__ inline S pixel(const X* image, long long y, long long x, unsigned long long rows, unsigned long long columns,
                          unsigned long long row_stride, unsigned long long column_stride) {
    if (y < 0 || x < 0 || y >= (long long)rows || x >= (long long)columns) return (S)0;
    return (S)image[(unsigned long long)y * row_stride + (unsigned long long)x * column_stride];
}
";

const WINDOW_AT: &str = "
// The gradient of the result whose window has the pixel at `place` at a tap, if there is one.
__device__ inline long long window_at(long long place, long long tap, long long stride, unsigned long long count) {
    const long long first = place - tap;
    if (first < 0 || first % stride != 0 || first / stride >= (long long)count) return -1;
    return first / stride;
}
";

const TAPS: &str = "    const Index taps = window_rows * window_columns;\n";

/// The kernel of a pass for a dtype; a bias is that of the forward pass alone.
#[must_use]
pub fn convolve_text(pass: ConvolvePass, dtype: Dtype, has_bias: bool) -> Tiled {
    let types = source::types(&[("X", dtype), ("S", compute_type(dtype))]);
    let head = format!("{types}{FUNCTIONS}");
    match pass {
        ConvolvePass::Forward => forward(head, has_bias),
        ConvolvePass::ImageGradient => image_gradient(head),
        ConvolvePass::WeightGradient => weight_gradient(head),
    }
}

/// Rows are pixels of the result, columns outputs of a group, the inner dimension taps of all channels.
fn forward(head: String, has_bias: bool) -> Tiled {
    let bias = if has_bias { " + (S)bias[output]" } else { "" };
    Tiled {
        head,
        parameters: format!(", const X* x, const X* weight, X* out, const X* bias{WINDOW}"),
        setup: TAPS.to_owned(),
        left: "pixel(x + row / (result_rows * result_columns) * image_batch + (batch * channels + inner / taps) * image_channel,
                (long long)(row / result_columns % result_rows) * stride_rows - padding_rows
                    + (long long)(inner / window_columns % window_rows) * dilation_rows,
                (long long)(row % result_columns) * stride_columns - padding_columns
                    + (long long)(inner % window_columns) * dilation_columns,
                image_rows, image_columns, image_row, image_column)"
            .to_owned(),
        right: "weight[(batch * outputs + column) * depth + inner]".to_owned(),
        store: format!(
            "const Index output = batch * outputs + column;
                out[row / (result_rows * result_columns) * result_batch + output * result_channel
                    + row / result_columns % result_rows * result_row + row % result_columns * result_column] =
                    (X)(value{bias});"
        ),
        is_left_inner: false,
        is_right_inner: true,
    }
}

/// Rows are pixels of the images, columns channels of a group, the inner dimension taps of all outputs.
fn image_gradient(head: String) -> Tiled {
    Tiled {
        head: head + WINDOW_AT,
        parameters: format!(", const X* gradient, const X* weight, X* out{WINDOW}"),
        setup: TAPS.to_owned(),
        left: "pixel(gradient + row / (image_rows * image_columns) * result_batch
                    + (batch * outputs + inner / taps) * result_channel,
                window_at((long long)(row / image_columns % image_rows) + padding_rows,
                          (long long)(inner / window_columns % window_rows) * dilation_rows, stride_rows, result_rows),
                window_at((long long)(row % image_columns) + padding_columns,
                          (long long)(inner % window_columns) * dilation_columns, stride_columns, result_columns),
                result_rows, result_columns, result_row, result_column)"
            .to_owned(),
        right: "weight[((batch * outputs + inner / taps) * channels + column) * taps + inner % taps]"
            .to_owned(),
        store: "out[row / (image_rows * image_columns) * image_batch + (batch * channels + column) * image_channel
                    + row / image_columns % image_rows * image_row + row % image_columns * image_column] = (X)value;"
            .to_owned(),
        is_left_inner: false,
        is_right_inner: true,
    }
}

/// Rows are outputs of a group, columns taps of all channels, the inner dimension pixels of the result, summed in parts.
fn weight_gradient(head: String) -> Tiled {
    Tiled {
        head,
        parameters: format!(", const X* x, const X* gradient, S* sums_of_parts{WINDOW}"),
        setup: format!("{TAPS}    const Index groups = gridDim.y;\n"),
        left: "gradient[inner / (result_rows * result_columns) * result_batch + (batch * outputs + row) * result_channel
                    + inner / result_columns % result_rows * result_row + inner % result_columns * result_column]"
            .to_owned(),
        right: "pixel(x + inner / (result_rows * result_columns) * image_batch
                    + (batch * channels + column / taps) * image_channel,
                (long long)(inner / result_columns % result_rows) * stride_rows - padding_rows
                    + (long long)(column / window_columns % window_rows) * dilation_rows,
                (long long)(inner % result_columns) * stride_columns - padding_columns
                    + (long long)(column % window_columns) * dilation_columns,
                image_rows, image_columns, image_row, image_column)"
            .to_owned(),
        store: "sums_of_parts[(((Index)blockIdx.z * groups + batch) * rows + row) * columns + column] = value;"
            .to_owned(),
        is_left_inner: true,
        is_right_inner: true,
    }
}
