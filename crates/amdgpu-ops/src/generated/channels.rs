//! The text of batch normalisation: factors of the channels, and what is computed of every element with those of its channel.
//!
//! Products have names, so that they are not fused with the sums: the bits are those of the elementwise operations on the CPU.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;

use super::source;

/// Neighbours that a work-item computes.
pub const PER_ITEM: i64 = 4;
/// Parameters of a channel: mean, scale and shift; level, scale and slope.
pub const ROWS: i64 = 3;

/// Factors of channels lie as float64, then as float32, then as a flag: whether float32 does not hold them in all digits.
const FACTORS: &str = r#"
__device__ int is_beyond(double value) {
    const double size = fabs(value);
    return size != 0.0 && size < INFINITY && !(size >= LEAST && size <= MOST);
}
extern "C" __global__ void channel_factors(const M* mean, const V* variance, const W* weight, const B* bias, double* factors,
                                           unsigned channels, double epsilon) {
    __shared__ int is_wide;
    if (threadIdx.x == 0) is_wide = 0;
    __syncthreads();
    float* narrow = (float*)(factors + 3 * channels);
    int own = 0;
    for (unsigned c = threadIdx.x; c < channels; c += blockDim.x) {
        const double center = (double)mean[c];
#ifdef IS_SCALE
        const double scale = (double)variance[c];
#else
        const double scale = (HAS_WEIGHT ? (double)weight[c] : 1.0) / sqrt((double)variance[c] + epsilon);
#endif
        const double shift = HAS_BIAS ? (double)bias[c] : 0.0;
        factors[c] = center;
        factors[channels + c] = scale;
        factors[2 * channels + c] = shift;
        narrow[c] = (float)center;
        narrow[channels + c] = (float)scale;
        narrow[2 * channels + c] = (float)shift;
        own |= is_beyond(center) | is_beyond(scale);
    }
    if (own) is_wide = 1;
    __syncthreads();
    if (threadIdx.x == 0) *(int*)(narrow + 3 * channels) = is_wide;
}
"#;

/// What VALUE is made of.
const PARTS: &str = r"
template <typename C> __device__ C standard(C x, C mean, C scale, C shift) {
    const C product = (x - mean) * scale;
    return product + shift;
}
template <typename C> __device__ C along(C x, C slope) {
    const C product = x * slope;
    return product;
}
";

/// VALUE of PER neighbours, with `f` the factors of their channel and `s` its slopes.
const FINISH: &str = r"
template <typename C> __device__ void finish(const X* xs, const X* gs, R* rs, I i, I inner, unsigned channels, const C* factors, const C* slopes) {
    const I run = i / inner;
    unsigned channel = (unsigned)(run % channels);
    I left = inner - (i - run * inner);
    // Neighbours are mostly of one channel.
    if (left >= PER) {
        const C f[3] = {factors[channel], factors[channels + channel], factors[2 * channels + channel]};
        const C s[3] = {slopes[channel], slopes[channels + channel], slopes[2 * channels + channel]};
        for (int j = 0; j < PER; ++j) rs[j] = (R)(VALUE);
        return;
    }
    for (int j = 0; j < PER; ++j) {
        const C f[3] = {factors[channel], factors[channels + channel], factors[2 * channels + channel]};
        const C s[3] = {slopes[channel], slopes[channels + channel], slopes[2 * channels + channel]};
        rs[j] = (R)(VALUE);
        if (--left == 0) {
            left = inner;
            channel = channel + 1 == channels ? 0 : channel + 1;
        }
    }
}
";

/// The same where channels are adjacent and whole groups of neighbours: factors are loaded as such groups, and no run is looked for.
const FINISH_ACROSS: &str = r"
template <typename C> struct alignas(sizeof(C) * PER) Factors { C v[PER]; };
template <typename C> __device__ void finish(const X* xs, const X* gs, R* rs, I i, I, unsigned channels, const C* factors, const C* slopes) {
    const unsigned channel = (unsigned)(i % channels);
    Factors<C> fs[3], ss[3];
    for (int k = 0; k < 3; ++k) {
        fs[k] = *(const Factors<C>*)(factors + k * channels + channel);
        ss[k] = *(const Factors<C>*)(slopes + k * channels + channel);
    }
    for (int j = 0; j < PER; ++j) {
        const C f[3] = {fs[0].v[j], fs[1].v[j], fs[2].v[j]};
        const C s[3] = {ss[0].v[j], ss[1].v[j], ss[2].v[j]};
        rs[j] = (R)(VALUE);
    }
}
";

/// What a work-item writes.
const STORE: &str = "    if (is_whole && is_aligned) {
        Pack made;
        for (int j = 0; j < PER; ++j) made.v[j] = rs[j];
        *(Pack*)(out + i) = made;
    } else if (is_whole) {
        for (int j = 0; j < PER; ++j) out[i + j] = rs[j];
    } else {
        for (int j = 0; i + j < (I)count; ++j) out[i + j] = rs[j];
    }
}
";

/// What is computed of every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The normalised value.
    Normalised,
    /// The gradient by x.
    Gradient,
}

impl Body {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normalised => "normalised",
            Self::Gradient => "gradient",
        }
    }

    /// VALUE of [`FINISH`].
    const fn value(self) -> &'static str {
        match self {
            Self::Normalised => "standard<C>((C)xs[j], f[0], f[1], f[2])",
            Self::Gradient => {
                "standard<C>((C)gs[j], s[0], s[1], (C)0) - along<C>(standard<C>((C)xs[j], f[0], f[1], (C)0), s[2])"
            }
        }
    }
}

/// The kernel `channel_factors`; the dtypes of mean, variance, weight and bias.
#[must_use]
pub fn factors_source(
    statistics: [Dtype; 2],
    parameters: [Option<Dtype>; 2],
    (least, most): (f64, f64),
) -> String {
    // In the place of what is not there stands the mean.
    let [weight, bias] = parameters.map(|dtype| dtype.unwrap_or(statistics[0]));
    let types = source::types(&[
        ("M", statistics[0]),
        ("V", statistics[1]),
        ("W", weight),
        ("B", bias),
    ]);
    let [has_weight, has_bias] = parameters.map(|dtype| i32::from(dtype.is_some()));
    format!(
        "{types}#define HAS_WEIGHT {has_weight}\n#define HAS_BIAS {has_bias}\n#define LEAST {least:e}\n#define MOST {most:e}\n{FACTORS}"
    )
}

/// The kernel `channel_factors` of scales that are known; the dtypes of mean and scale.
#[must_use]
pub fn saved_factors_source(statistics: [Dtype; 2], range: (f64, f64)) -> String {
    let text = factors_source(statistics, [None, None], range);
    format!("#define IS_SCALE 1\n{text}")
}

/// Whether the kernel for adjacent channels computes so many elements of channels with runs of `inner`.
#[must_use]
pub const fn is_across(channels: i64, inner: i64) -> bool {
    inner == 1 && channels % PER_ITEM == 0
}

/// The kernel `channels` for elements of a dtype; whether [`is_across`].
#[must_use]
pub fn source(body: Body, x: Dtype, count: i64, is_across: bool) -> String {
    let computed = compute_type(x);
    let types = source::types(&[("X", x), ("R", x)]);
    let (parameters, loads, packs, taken, addresses) = match body {
        Body::Normalised => (
            "",
            "",
            "",
            "",
            "(unsigned long long)x | (unsigned long long)out",
        ),
        Body::Gradient => (
            ", const X* gradient, const double* slopes",
            " gs[j] = gradient[i + j];",
            "\n        const Pack passed = *(const Pack*)(gradient + i);",
            " gs[j] = passed.v[j];",
            "(unsigned long long)x | (unsigned long long)out | (unsigned long long)gradient",
        ),
    };
    let mut text = format!(
        "{types}typedef {index} I;\n#define PER {PER_ITEM}\n#define VALUE {value}\nstruct alignas(sizeof(X) * PER) Pack {{ X v[PER]; }};\n{PARTS}{finish}",
        finish = if is_across { FINISH_ACROSS } else { FINISH },
        index = source::index_type(count),
        value = body.value(),
    );
    let _ = write!(
        text,
        r#"extern "C" __global__ void channels(const X* x, R* out, const double* factors{parameters}, unsigned long long count, unsigned long long inner,
                                    unsigned channels) {{
    const I i = ((I)blockIdx.x * blockDim.x + threadIdx.x) * PER;
    if (i >= (I)count) return;
    const float* narrow = (const float*)(factors + 3 * channels);
    X xs[PER], gs[PER];
    R rs[PER];
    const bool is_whole = i + PER <= (I)count, is_aligned = ({addresses}) % sizeof(Pack) == 0;
    if (is_whole && is_aligned) {{
        const Pack own = *(const Pack*)(x + i);{packs}
        for (int j = 0; j < PER; ++j) {{ xs[j] = own.v[j];{taken} }}
    }} else if (is_whole) {{
        for (int j = 0; j < PER; ++j) {{ xs[j] = x[i + j];{loads} }}
    }} else {{
        for (int j = 0; i + j < (I)count; ++j) {{ xs[j] = x[i + j];{loads} }}
    }}
"#
    );
    // What a body does not read is a pointer that it has.
    let [wide_slopes, narrow_slopes] = if body == Body::Gradient {
        ["slopes", "(const float*)(slopes + 3 * channels)"]
    } else {
        ["factors", "narrow"]
    };
    let wide =
        format!("finish<double>(xs, gs, rs, i, (I)inner, channels, factors, {wide_slopes});");
    if computed == Dtype::F64 {
        let _ = writeln!(text, "    {wide}");
    } else {
        let _ = writeln!(
            text,
            "    if (*(const int*)(narrow + 3 * channels)) {wide}\n    else finish<float>(xs, gs, rs, i, (I)inner, channels, narrow, {narrow_slopes});"
        );
    }
    text += STORE;
    text
}
