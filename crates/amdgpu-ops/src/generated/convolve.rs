//! The text of convolutions and their gradients, as tiled matrix multiplications of patches that are never written out.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_matrix::ConvolvePass;

use super::source;
use super::tiled::Tiled;

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub pass: ConvolvePass,
    pub dtype: Dtype,
    /// Whether something is added to each channel of images that are computed.
    pub has_bias: bool,
    /// Whether windows slide along depth, too.
    pub has_depth: bool,
}

/// Parameters that every pass takes behind its arrays. `channels` and `outputs` are those of a group; the group is `batch` of the product.
const WINDOW: &str = ", Index channels, Index image_rows, Index image_columns, Index outputs, Index result_rows, Index result_columns\
, Index window_rows, Index window_columns, long long stride_rows, long long stride_columns, long long padding_rows\
, long long padding_columns, long long dilation_rows, long long dilation_columns\
, Index image_batch, Index image_channel, Index image_row, Index image_column\
, Index result_batch, Index result_channel, Index result_row, Index result_column";

/// Those behind them where windows slide along depth.
const DEPTH: &str = ", Index image_depths, Index result_depths, Index window_depths, long long stride_depths, long long padding_depths\
, long long dilation_depths, Index image_depth, Index result_depth";

const FUNCTIONS: &str = "
// The element of an image, zero outside.
__device__ inline S pixel(const X* image, long long y, long long x, unsigned long long rows, unsigned long long columns,
                          unsigned long long row_stride, unsigned long long column_stride) {
    if (y < 0 || x < 0 || y >= (long long)rows || x >= (long long)columns) return (S)0;
    return (S)image[(unsigned long long)y * row_stride + (unsigned long long)x * column_stride];
}
";

const VOXEL: &str = "
// The same of a volume.
__device__ inline S voxel(const X* image, long long z, unsigned long long depths, unsigned long long depth_stride, long long y, long long x,
                          unsigned long long rows, unsigned long long columns, unsigned long long row_stride, unsigned long long column_stride) {
    if (z < 0 || z >= (long long)depths) return (S)0;
    return pixel(image + (unsigned long long)z * depth_stride, y, x, rows, columns, row_stride, column_stride);
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

impl Signature {
    /// The kernel of a pass.
    #[must_use]
    pub fn text(self) -> Tiled {
        match self.pass {
            ConvolvePass::Forward => self.forward(),
            ConvolvePass::ImageGradient => self.image_gradient(),
            ConvolvePass::WeightGradient => self.weight_gradient(),
        }
    }

    fn head(self) -> String {
        let types = source::types(&[("X", self.dtype), ("S", compute_type(self.dtype))]);
        let volume = if self.has_depth { VOXEL } else { "" };
        format!("{types}{FUNCTIONS}{volume}")
    }

    fn parameters(self, arrays: &str) -> String {
        let depth = if self.has_depth { DEPTH } else { "" };
        format!("{arrays}{WINDOW}{depth}")
    }

    fn setup(self) -> &'static str {
        if self.has_depth {
            "    const Index taps = window_depths * window_rows * window_columns;\n"
        } else {
            "    const Index taps = window_rows * window_columns;\n"
        }
    }

    /// Which image of a batch a pixel is of: `index` counts the pixels of images or results (`kind`).
    fn batch(self, kind: &str, index: &str) -> String {
        let plane = format!("{index} / ({kind}_rows * {kind}_columns)");
        if self.has_depth {
            format!("{plane} / {kind}_depths")
        } else {
            plane
        }
    }

    /// Where a pixel is stored, from its channel on.
    fn place(self, kind: &str, index: &str) -> String {
        let depth = if self.has_depth {
            format!(" + {index} / ({kind}_rows * {kind}_columns) % {kind}_depths * {kind}_depth")
        } else {
            String::new()
        };
        format!(
            "{index} / {kind}_columns % {kind}_rows * {kind}_row + {index} % {kind}_columns * {kind}_column{depth}"
        )
    }

    /// The element of `kind` whose first is at `start`, at the place that `along` gives for the axes depths, rows and columns.
    fn look(self, kind: &str, start: &str, along: impl Fn(&str) -> String) -> String {
        let plane = format!(
            "{},
                {},
                {kind}_rows, {kind}_columns, {kind}_row, {kind}_column)",
            along("rows"),
            along("columns")
        );
        if self.has_depth {
            format!(
                "voxel({start},
                {}, {kind}_depths, {kind}_depth, {plane}",
                along("depths")
            )
        } else {
            format!(
                "pixel({start},
                {plane}"
            )
        }
    }

    /// The pixel of an image that a tap of a window is, from the indices of the window and of the tap.
    fn image_at(self, start: &str, window: &str, tap: &str) -> String {
        self.look("image", start, |axis| {
            format!(
                "(long long)({window}) * stride_{axis} - padding_{axis} + (long long)({tap}) * dilation_{axis}",
                window = coordinate("result", window, axis),
                tap = coordinate("window", tap, axis),
            )
        })
    }

    /// Rows are pixels of the result, columns outputs of a group, the inner dimension taps of all channels.
    fn forward(self) -> Tiled {
        let bias = if self.has_bias {
            " + (S)bias[output]"
        } else {
            ""
        };
        let batch = self.batch("result", "row");
        let start = format!(
            "x + {batch} * image_batch + (batch * channels + inner / taps) * image_channel"
        );
        Tiled {
            head: self.head(),
            parameters: self.parameters(", const X* x, const X* weight, X* out, const X* bias"),
            setup: self.setup().to_owned(),
            left: self.image_at(&start, "row", "inner"),
            right: "weight[(batch * outputs + column) * depth + inner]".to_owned(),
            store: format!(
                "const Index output = batch * outputs + column;
                out[{batch} * result_batch + output * result_channel
                    + {place}] = (X)(value{bias});",
                place = self.place("result", "row"),
            ),
            is_left_inner: false,
            is_right_inner: true,
        }
    }

    /// Rows are pixels of the images, columns channels of a group, the inner dimension taps of all outputs.
    fn image_gradient(self) -> Tiled {
        let bias = if self.has_bias {
            " + (S)bias[channel]"
        } else {
            ""
        };
        let batch = self.batch("image", "row");
        let start = format!(
            "gradient + {batch} * result_batch + (batch * outputs + inner / taps) * result_channel"
        );
        let left = self.look("result", &start, |axis| {
            format!(
                "window_at((long long)({pixel}) + padding_{axis}, (long long)({tap}) * dilation_{axis}, stride_{axis}, result_{axis})",
                pixel = coordinate("image", "row", axis),
                tap = coordinate("window", "inner", axis),
            )
        });
        Tiled {
            head: self.head() + WINDOW_AT,
            parameters: self.parameters(", const X* gradient, const X* weight, X* out, const X* bias"),
            setup: self.setup().to_owned(),
            left,
            right: "weight[((batch * outputs + inner / taps) * channels + column) * taps + inner % taps]".to_owned(),
            store: format!(
                "const Index channel = batch * channels + column;
                out[{batch} * image_batch + channel * image_channel
                    + {place}] = (X)(value{bias});",
                place = self.place("image", "row"),
            ),
            is_left_inner: false,
            is_right_inner: true,
        }
    }

    /// Rows are outputs of a group, columns taps of all channels, the inner dimension pixels of the result, summed in parts.
    fn weight_gradient(self) -> Tiled {
        let batch = self.batch("result", "inner");
        let start = format!(
            "x + {batch} * image_batch + (batch * channels + column / taps) * image_channel"
        );
        Tiled {
            head: self.head(),
            parameters: self.parameters(", const X* x, const X* gradient, S* sums_of_parts"),
            setup: format!("{}    const Index groups = gridDim.y;\n", self.setup()),
            left: format!(
                "gradient[{batch} * result_batch + (batch * outputs + row) * result_channel
                    + {place}]",
                place = self.place("result", "inner"),
            ),
            right: self.image_at(&start, "inner", "column"),
            store: "sums_of_parts[(((Index)blockIdx.z * groups + batch) * rows + row) * columns + column] = value;".to_owned(),
            is_left_inner: true,
            is_right_inner: true,
        }
    }
}

/// Where a pixel or tap is along an axis; `index` counts those of all images, of all results, or of the windows of all channels.
fn coordinate(kind: &str, index: &str, axis: &str) -> String {
    match axis {
        "depths" => format!("{index} / ({kind}_rows * {kind}_columns) % {kind}_depths"),
        "rows" => format!("{index} / {kind}_columns % {kind}_rows"),
        _ => format!("{index} % {kind}_columns"),
    }
}
