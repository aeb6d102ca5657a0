//! The text of pooling and its gradients.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_matrix::{ImageLayout, Pool};

use super::source;

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub operation: Pool,
    pub is_gradient: bool,
    pub dtype: Dtype,
    pub layout: ImageLayout,
    pub counts_padding: bool,
}

impl Signature {
    /// The index in memory of the element at row `y` and column `x` of image `n` and channel `c`; `kind` is image or result.
    fn at(self, kind: &str, y: &str, x: &str) -> String {
        match self.layout {
            ImageLayout::Nchw => {
                format!("((n * channels + c) * {kind}_rows + {y}) * {kind}_columns + {x}")
            }
            ImageLayout::Nhwc => {
                format!("((n * {kind}_rows + {y}) * {kind}_columns + {x}) * channels + c")
            }
        }
    }

    /// Statements that take the index of an element apart.
    fn taken(self) -> String {
        let own = if self.is_gradient { "image" } else { "result" };
        match self.layout {
            ImageLayout::Nchw => format!(
                "const long long own_x = index % {own}_columns, own_y = index / {own}_columns % {own}_rows;
    const long long c = index / ({own}_columns * {own}_rows) % channels;
    const long long n = index / ({own}_columns * {own}_rows * channels);"
            ),
            ImageLayout::Nhwc => format!(
                "const long long c = index % channels, own_x = index / channels % {own}_columns;
    const long long own_y = index / (channels * {own}_columns) % {own}_rows;
    const long long n = index / (channels * {own}_columns * {own}_rows);"
            ),
        }
    }

    /// The first of a window's largest values.
    fn largest(self) -> String {
        format!(
            "
    C best = -(C)INFINITY;
    long long best_y = -1, best_x = -1;
    for (long long v = 0; v < window_rows; v++) {{
        for (long long u = 0; u < window_columns; u++) {{
            const long long y = top + v * dilation_rows, x = left + u * dilation_columns;
            if (y < 0 || x < 0 || y >= image_rows || x >= image_columns) continue;
            const C value = (C)images[{at}];
            if (best_y < 0 || (best == best && (value > best || value != value))) {{
                best = value;
                best_y = y;
                best_x = x;
            }}
        }}
    }}
",
            at = self.at("image", "y", "x"),
        )
    }

    /// The number of values that an average is over. One over the padding, too, ends where the padding does.
    fn divisor(self) -> String {
        let border = if self.counts_padding {
            "padding"
        } else {
            "0 * padding"
        };
        format!(
            "
    const long long low = {border}_rows, aside = {border}_columns;
    const C count = (C)(COUNT(larger_of(top, -low), smaller_of(top + window_rows, image_rows + low))
                        * COUNT(larger_of(left, -aside), smaller_of(left + window_columns, image_columns + aside)));
"
        )
    }

    fn forward_body(self) -> String {
        const START: &str = "    const long long top = own_y * stride_rows - padding_rows, left = own_x * stride_columns - padding_columns;";
        match self.operation {
            Pool::Maximum => {
                format!(
                    "{START}{largest}    results[index] = (X)best;\n",
                    largest = self.largest()
                )
            }
            Pool::Average => format!(
                "{START}{divisor}
    C sum = 0;
    for (long long y = larger_of(top, 0); y < smaller_of(top + window_rows, image_rows); y++)
        for (long long x = larger_of(left, 0); x < smaller_of(left + window_columns, image_columns); x++)
            sum += (C)images[{at}];
    results[index] = (X)(sum / count);
",
                divisor = self.divisor(),
                at = self.at("image", "y", "x"),
            ),
        }
    }

    /// Windows that hold this pixel, in row-major order.
    fn gradient_body(self) -> String {
        let at = self.at("result", "r", "s");
        let share = match self.operation {
            Pool::Maximum => format!(
                "{largest}            if (best_y == own_y && best_x == own_x) sum += (C)gradients[{at}];",
                largest = self.largest()
            ),
            Pool::Average => format!(
                "{divisor}            sum += (C)gradients[{at}] / count;",
                divisor = self.divisor()
            ),
        };
        format!(
            "
    C sum = 0;
    for (long long a = window_rows - 1; a >= 0; a--) {{
        const long long row = own_y + padding_rows - a * dilation_rows;
        if (row < 0 || row % stride_rows != 0 || row / stride_rows >= result_rows) continue;
        for (long long b = window_columns - 1; b >= 0; b--) {{
            const long long column = own_x + padding_columns - b * dilation_columns;
            if (column < 0 || column % stride_columns != 0 || column / stride_columns >= result_columns) continue;
            const long long r = row / stride_rows, s = column / stride_columns;
            const long long top = r * stride_rows - padding_rows, left = s * stride_columns - padding_columns;
{share}
        }}
    }}
    results[index] = (X)sum;
"
        )
    }

    #[must_use]
    pub fn source(&self) -> String {
        let (body, parameters) = if self.is_gradient {
            (
                self.gradient_body(),
                "const X* images, const X* gradients, X* results",
            )
        } else {
            (self.forward_body(), "const X* images, X* results")
        };
        format!(
            r#"{types}{HEAD}
extern "C" __global__ void pool({parameters}, long long elements, {PARAMETERS}) {{
    const long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= elements) return;
    {taken}
{body}}}
"#,
            types = source::types(&[("X", self.dtype), ("C", compute_type(self.dtype))]),
            taken = self.taken(),
        )
    }
}

const PARAMETERS: &str = "long long channels, long long image_rows, long long image_columns, long long result_rows, long long result_columns, \
long long window_rows, long long window_columns, long long stride_rows, long long stride_columns, \
long long padding_rows, long long padding_columns, long long dilation_rows, long long dilation_columns";

const HEAD: &str = "
#define COUNT(begin, end) ((begin) < (end) ? (end) - (begin) : 0)
__device__ inline long long larger_of(long long a, long long b) { return a > b ? a : b; }
__device__ inline long long smaller_of(long long a, long long b) { return a < b ? a : b; }
";
