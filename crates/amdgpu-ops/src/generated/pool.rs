//! The text of pooling and its gradients.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_matrix::{Fold, ImageLayout};

use super::source;

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Forward,
    WithIndices,
    Gradient,
    IndicesGradient,
}

impl Kind {
    fn arrays(self) -> &'static str {
        match self {
            Self::Forward => "const X* images, X* results",
            Self::WithIndices => "const X* images, X* results, long long* indices",
            Self::Gradient => "const X* images, const X* gradients, X* results",
            Self::IndicesGradient => "const X* gradients, const long long* indices, X* results",
        }
    }

    fn is_gradient(self) -> bool {
        matches!(self, Self::Gradient | Self::IndicesGradient)
    }
}

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a piece of the text, with or without the others"
)]
pub struct Signature {
    pub kind: Kind,
    pub fold: Fold,
    pub is_adaptive: bool,
    /// Whether windows reach along depth, too.
    pub has_depth: bool,
    pub dtype: Dtype,
    pub layout: ImageLayout,
    pub counts_padding: bool,
    /// Whether averages are divided by a parameter.
    pub has_divisor: bool,
    /// Whether indices of images and results fit 32 bits, whose division is fast.
    pub is_narrow: bool,
}

/// Axes that windows reach along.
const AXES: [&str; 3] = ["depths", "rows", "columns"];

impl Signature {
    fn axes(self) -> &'static [&'static str] {
        &AXES[usize::from(!self.has_depth)..]
    }

    /// One piece of text for each axis.
    fn each(self, text: impl Fn(&str) -> String) -> String {
        self.axes().iter().map(|axis| text(axis)).collect()
    }

    /// The index in a plane of the pixel at `{prefix}_{axis}`; `kind` is image or result.
    fn in_plane(self, kind: &str, prefix: &str) -> String {
        let (first, others) = self.axes().split_first().unwrap_or((&"columns", &[]));
        let start = format!("{prefix}_{first}");
        others.iter().fold(start, |index, axis| {
            format!("({index}) * {kind}_{axis} + {prefix}_{axis}")
        })
    }

    /// The index in memory of the element of image `n` and channel `c` at `{prefix}_{axis}`.
    fn at(self, kind: &str, prefix: &str) -> String {
        let place = self.in_plane(kind, prefix);
        let extents: Vec<_> = self
            .axes()
            .iter()
            .map(|axis| format!("{kind}_{axis}"))
            .collect();
        let pixels = extents.join(" * ");
        match self.layout {
            ImageLayout::Nchw => format!("(n * channels + c) * {pixels} + {place}"),
            ImageLayout::Nhwc => format!("(n * {pixels} + {place}) * channels + c"),
        }
    }

    /// Statements that take the index of an element apart.
    fn taken(self) -> String {
        let own = if self.kind.is_gradient() {
            "image"
        } else {
            "result"
        };
        let mut text = String::from("    I rest = index;\n");
        let mut take = |name: &str, extent: &str| {
            let _ = write!(
                text,
                "    const I {name} = rest % {extent};\n    rest /= {extent};\n"
            );
        };
        if self.layout == ImageLayout::Nhwc {
            take("c", "channels");
        }
        for axis in self.axes().iter().rev() {
            take(&format!("own_{axis}"), &format!("{own}_{axis}"));
        }
        if self.layout == ImageLayout::Nchw {
            take("c", "channels");
        }
        text + "    const I n = rest;\n"
    }

    /// Where the window at `{prefix}_{axis}` begins and ends in the image, its padding included.
    fn bounds(self, prefix: &str) -> String {
        self.each(|axis| {
            if self.is_adaptive {
                format!(
                    "    const I begin_{axis} = {prefix}_{axis} * image_{axis} / result_{axis};
    const I end_{axis} = (({prefix}_{axis} + 1) * image_{axis} + result_{axis} - 1) / result_{axis};
    const I step_{axis} = 1;
"
                )
            } else {
                format!(
                    "    const I begin_{axis} = {prefix}_{axis} * stride_{axis} - padding_{axis};
    const I step_{axis} = dilation_{axis};
    const I end_{axis} = begin_{axis} + (window_{axis} - 1) * step_{axis} + 1;
"
                )
            }
        })
    }

    /// Loops over the pixels of a window, at `at_{axis}`, around a body.
    fn over_window(self, body: &str) -> String {
        let mut text = String::new();
        for axis in self.axes() {
            let _ = write!(
                text,
                "    for (I at_{axis} = begin_{axis}; at_{axis} < end_{axis} && at_{axis} < image_{axis}; at_{axis} += step_{axis}) {{
    if (at_{axis} < 0) continue;
"
            );
        }
        text + body + &"    }\n".repeat(self.axes().len())
    }

    /// The first of a window's largest values, and its index in the plane; -1 where the window has no pixel.
    fn largest(self) -> String {
        let body = format!(
            "    const C value = (C)images[{at}];
    if (best_place < 0 || (best == best && (value > best || value != value))) {{
        best = value;
        best_place = {place};
    }}
",
            at = self.at("image", "at"),
            place = self.in_plane("image", "at"),
        );
        format!(
            "    C best = -(C)INFINITY;
    I best_place = -1;
{}",
            self.over_window(&body)
        )
    }

    /// The number of values that an average is over. One over the padding, too, ends where the padding does.
    fn divisor(self) -> String {
        if self.has_divisor {
            return "    const C count = (C)divisor;\n".to_owned();
        }
        let border = |axis: &str| {
            if self.counts_padding && !self.is_adaptive {
                format!("padding_{axis}")
            } else {
                "0".to_owned()
            }
        };
        let counts: Vec<_> = self
            .axes()
            .iter()
            .map(|axis| {
                let border = border(axis);
                format!(
                    "COUNT(larger_of(begin_{axis}, -{border}), smaller_of(end_{axis}, image_{axis} + {border}))"
                )
            })
            .collect();
        format!("    const C count = (C)({});\n", counts.join(" * "))
    }

    fn forward_body(self) -> String {
        let bounds = self.bounds("own");
        let indices = if self.kind == Kind::WithIndices {
            "    indices[index] = best_place;\n"
        } else {
            ""
        };
        match self.fold {
            Fold::Maximum => format!(
                "{bounds}{largest}    results[index] = (X)best;\n{indices}",
                largest = self.largest()
            ),
            Fold::Average => format!(
                "{bounds}{divisor}    C sum = 0;\n{sum}    results[index] = (X)(sum / count);\n",
                divisor = self.divisor(),
                sum = self.over_window(&format!(
                    "    sum += (C)images[{}];\n",
                    self.at("image", "at")
                )),
            ),
        }
    }

    /// The loop over the windows of an axis that may hold this pixel, ascending, at `window_at_{axis}`.
    fn windows_of_pixel(self, axis: &str) -> String {
        if self.is_adaptive {
            return format!(
                "    for (I of_{axis} = own_{axis} * result_{axis} / image_{axis};
         of_{axis} < ((own_{axis} + 1) * result_{axis} + image_{axis} - 1) / image_{axis}; of_{axis}++) {{
"
            );
        }
        format!(
            "    for (I tap_{axis} = window_{axis} - 1; tap_{axis} >= 0; tap_{axis}--) {{
    const I first_{axis} = own_{axis} + padding_{axis} - tap_{axis} * dilation_{axis};
    if (first_{axis} < 0 || first_{axis} % stride_{axis} != 0 || first_{axis} / stride_{axis} >= result_{axis}) continue;
    const I of_{axis} = first_{axis} / stride_{axis};
"
        )
    }

    /// Windows that hold this pixel, in row-major order.
    fn gradient_body(self) -> String {
        let at = self.at("result", "of");
        let own = self.in_plane("image", "own");
        let share = match (self.kind, self.fold) {
            (Kind::IndicesGradient, _) => {
                format!("    if (indices[{at}] == {own}) sum += (C)gradients[{at}];\n")
            }
            (_, Fold::Maximum) => format!(
                "{bounds}{largest}    if (best_place == {own}) sum += (C)gradients[{at}];\n",
                bounds = self.bounds("of"),
                largest = self.largest(),
            ),
            (_, Fold::Average) => format!(
                "{bounds}{divisor}    sum += (C)gradients[{at}] / count;\n",
                bounds = self.bounds("of"),
                divisor = self.divisor(),
            ),
        };
        let loops = self.each(|axis| self.windows_of_pixel(axis));
        format!(
            "    C sum = 0;\n{loops}{share}{ends}    results[index] = (X)sum;\n",
            ends = "    }\n".repeat(self.axes().len()),
        )
    }

    #[must_use]
    pub fn source(&self) -> String {
        let body = if self.kind.is_gradient() {
            self.gradient_body()
        } else {
            self.forward_body()
        };
        let along = ["image", "result", "window", "stride", "padding", "dilation"];
        let all = |text: &dyn Fn(&str, &str) -> String| -> String {
            let of_axes = |name: &&str| self.each(|axis| text(name, axis));
            along.iter().map(of_axes).collect()
        };
        let parameters = all(&|name, axis| format!(", long long given_{name}_{axis}"));
        let extents =
            all(&|name, axis| format!("    const I {name}_{axis} = (I)given_{name}_{axis};\n"));
        let index = if self.is_narrow { "int" } else { "long long" };
        format!(
            r#"{types}typedef {index} I;
{HEAD}
extern "C" __global__ void pool({arrays}, long long elements, long long given_channels, long long divisor{parameters}) {{
    const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= elements) return;
    const I index = (I)place, channels = (I)given_channels;
{extents}{taken}{body}}}
"#,
            types = source::types(&[("X", self.dtype), ("C", compute_type(self.dtype))]),
            arrays = self.kind.arrays(),
            taken = self.taken(),
        )
    }
}

const HEAD: &str = "
#define COUNT(begin, end) ((begin) < (end) ? (end) - (begin) : 0)
__device__ inline I larger_of(I a, I b) { return a > b ? a : b; }
__device__ inline I smaller_of(I a, I b) { return a < b ? a : b; }
";
