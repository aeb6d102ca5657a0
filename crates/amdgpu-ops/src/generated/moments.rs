//! The text of sums over the elements of each channel: mean and variance, and the sums of the gradients of batch normalisation.
//!
//! Blocks sum parts of a channel in float64, in an order that extents alone decide; one more kernel adds the parts in their order.

use amdgpu_abi::Dtype;

use super::source;

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// The distances from the channel's first element and their squares, so that no digits are lost where the mean is large.
    Moments,
    /// The gradient, and its products with the distances from the mean.
    Products,
}

impl Sums {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moments => "moments",
            Self::Products => "products",
        }
    }
}

/// Work-items of a block of sums; where channels are adjacent, it is `LANES` channels wide.
pub const ITEMS: i64 = 256;
pub const LANES: i64 = 32;
/// Groups of elements that a work-item loads before it adds the first one.
const AHEAD: i64 = 4;

const ADD: &str = "
template <typename T> struct alignas(sizeof(T) * GROUP) Group { T v[GROUP]; };
template <typename T> __device__ Group<T> load(const T* from, bool is_aligned) {
    if (is_aligned) return *(const Group<T>*)from;
    Group<T> group;
    for (int k = 0; k < GROUP; ++k) group.v[k] = from[k];
    return group;
}
__device__ void add(double value, double passed, double center, double* own) {
    const double distance = value - center;
    own[0] += FIRST;
    own[1] += SECOND;
}
";

/// Channels whose elements follow each other: a block has one channel, and a work-item takes groups of neighbours, in one load where they are
/// aligned.
const ALONG: &str = "
    const unsigned channel = blockIdx.x % channels, part = blockIdx.x / channels;
    const I groups = (I)count / GROUP, of_run = (I)inner / GROUP;
    const I first = (I)part * (I)part_length / GROUP, last = first + (I)part_length / GROUP, end = last < groups ? last : groups;
    const bool is_aligned = ALIGNED;
    const double center = CENTER;
    double own[2] = {0, 0};
    for (I e = first + threadIdx.x; e < end; e += AHEAD * ITEMS) {
        Group<X> xs[AHEAD];
        Group<G> gs[AHEAD];
        for (int j = 0; j < AHEAD; ++j) {
            const I place = e + j * ITEMS;
            if (place >= end) break;
            const I run = place / of_run, at = (run * channels + channel) * (I)inner + (place - run * of_run) * GROUP;
            xs[j] = load(x + at, is_aligned);
            LOAD
        }
        for (int j = 0; j < AHEAD; ++j) {
            if (e + j * ITEMS >= end) break;
            for (int k = 0; k < GROUP; ++k) add((double)xs[j].v[k], (double)gs[j].v[k], center, own);
        }
    }
    __shared__ double firsts[ITEMS], seconds[ITEMS];
    firsts[threadIdx.x] = own[0];
    seconds[threadIdx.x] = own[1];
    __syncthreads();
    for (unsigned distance = ITEMS / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance) {
            firsts[threadIdx.x] += firsts[threadIdx.x + distance];
            seconds[threadIdx.x] += seconds[threadIdx.x + distance];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[2 * (part * channels + channel)] = firsts[0];
        sums[2 * (part * channels + channel) + 1] = seconds[0];
    }
";

/// Channels that are adjacent: a block has some of them, and each row of its work-items every so manieth of the elements.
const ACROSS: &str = "
    const unsigned groups = (channels + LANES - 1) / LANES;
    const unsigned lane = threadIdx.x % LANES, row = threadIdx.x / LANES, rows = ITEMS / LANES;
    const unsigned channel = blockIdx.x % groups * LANES + lane, part = blockIdx.x / groups;
    const I first = (I)part * (I)part_length, last = first + (I)part_length, end = last < (I)count ? last : (I)count;
    double own[2] = {0, 0};
    if (channel < channels) {
        const bool is_aligned = false;
        const double center = CENTER;
        for (I e = first + row; e < end; e += AHEAD * rows) {
            Group<X> xs[AHEAD];
            Group<G> gs[AHEAD];
            for (int j = 0; j < AHEAD; ++j) {
                if (e + j * rows >= end) break;
                const I at = (e + j * rows) * channels + channel;
                xs[j] = load(x + at, is_aligned);
                LOAD
            }
            for (int j = 0; j < AHEAD; ++j) {
                if (e + j * rows >= end) break;
                add((double)xs[j].v[0], (double)gs[j].v[0], center, own);
            }
        }
    }
    __shared__ double firsts[ITEMS], seconds[ITEMS];
    firsts[threadIdx.x] = own[0];
    seconds[threadIdx.x] = own[1];
    __syncthreads();
    if (row == 0 && channel < channels) {
        double one = 0, two = 0;
        for (unsigned other = 0; other < rows; ++other) {
            one += firsts[other * LANES + lane];
            two += seconds[other * LANES + lane];
        }
        sums[2 * (part * channels + channel)] = one;
        sums[2 * (part * channels + channel) + 1] = two;
    }
";

/// Neighbours that a work-item loads at once, where every run of a channel is whole groups of them.
pub const GROUP: i64 = 4;

/// How the elements of channels lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Each channel has runs of any length.
    Any,
    /// Runs are whole groups.
    Groups,
    /// Channels are adjacent.
    Across,
}

/// The kernel `channel_sums` for elements of a dtype; `count` is the number of all elements.
#[must_use]
pub fn sums_source(sums: Sums, x: Dtype, runs: Runs, count: i64) -> String {
    let is_across = runs == Runs::Across;
    let group = if runs == Runs::Groups { GROUP } else { 1 };
    let types = source::types(&[("X", x), ("G", x)]);
    let (parameters, center, load, aligned, first, second) = match sums {
        Sums::Moments => (
            "",
            if is_across {
                "count > 0 ? (double)x[channel] : 0"
            } else {
                "count > 0 ? (double)x[(I)channel * (I)inner] : 0"
            },
            "for (int k = 0; k < GROUP; ++k) gs[j].v[k] = (G)0;",
            "(unsigned long long)x % sizeof(Group<X>) == 0",
            "distance",
            "distance * distance",
        ),
        Sums::Products => (
            ", const G* gradient, const double* factors",
            "factors[channel]",
            "gs[j] = load(gradient + at, is_aligned);",
            "((unsigned long long)x | (unsigned long long)gradient) % sizeof(Group<X>) == 0",
            "passed",
            "passed * distance",
        ),
    };
    let index = source::index_type(count);
    let body = if is_across { ACROSS } else { ALONG };
    format!(
        r#"{types}typedef {index} I;
#define ITEMS {ITEMS}
#define LANES {LANES}
#define AHEAD {AHEAD}
#define GROUP {group}
#define ALIGNED {aligned}
#define CENTER {center}
#define LOAD {load}
#define FIRST {first}
#define SECOND {second}
{ADD}
extern "C" __global__ void channel_sums(const X* x, double* sums{parameters}, unsigned long long count, unsigned long long inner,
                                        unsigned channels, unsigned long long part_length) {{{body}}}
"#
    )
}

/// The kernel `channel_statistics`: mean and variance of each channel from the parts of its sums, and what training keeps of them. The dtypes
/// of x, and of saved mean and scale, running mean and variance.
#[must_use]
pub fn statistics_source(
    x: Dtype,
    [mean, scale, running_mean, running_variance]: [Dtype; 4],
) -> String {
    let types = source::types(&[
        ("X", x),
        ("A", mean),
        ("B", scale),
        ("M", running_mean),
        ("V", running_variance),
    ]);
    format!(
        r#"{types}
extern "C" __global__ void channel_statistics(const double* sums, const X* x, double* mean, double* variance, A* saved_mean, B* saved_scale,
                                              M* running_mean, V* running_variance, unsigned channels, unsigned parts,
                                              unsigned long long inner, double count, double epsilon, double momentum, unsigned is_saved,
                                              unsigned is_running) {{
    const unsigned c = blockIdx.x * {ITEMS} + threadIdx.x;
    if (c >= channels) return;
    double first = 0, second = 0;
    for (unsigned part = 0; part < parts; ++part) {{
        first += sums[2 * (part * channels + c)];
        second += sums[2 * (part * channels + c) + 1];
    }}
    const double distance = first / count;
    const double center = (count > 0 ? (double)x[c * inner] : 0) + distance;
    double spread = second / count - distance * distance;
    if (spread < 0) spread = 0;
    mean[c] = center;
    variance[c] = spread;
    if (is_saved) {{
        saved_mean[c] = (A)center;
        saved_scale[c] = (B)(1.0 / sqrt(spread + epsilon));
    }}
    if (is_running) {{
        const double rest = count > 1 ? count - 1 : 1;
        running_mean[c] = (M)((1.0 - momentum) * (double)running_mean[c] + momentum * center);
        running_variance[c] = (V)((1.0 - momentum) * (double)running_variance[c] + momentum * (spread * (count / rest)));
    }}
}}
"#
    )
}

/// The kernel `channel_slopes`: from the parts of the sums over the elements of each channel, its gradients and what the gradient by x is made of.
/// The dtypes of the weight, where there is one, and of the gradients by weight and bias.
#[must_use]
pub fn slopes_source(weight: Option<Dtype>, by_weight: Dtype, by_bias: Dtype) -> String {
    // In the place of a weight that is not there stand the factors.
    let types = source::types(&[
        ("W", weight.unwrap_or(Dtype::F64)),
        ("A", by_weight),
        ("B", by_bias),
    ]);
    let has_weight = i32::from(weight.is_some());
    format!(
        r#"{types}#define HAS_WEIGHT {has_weight}
extern "C" __global__ void channel_slopes(const double* sums, const W* weight, const double* factors, double* slopes, A* by_weight, B* by_bias,
                                          unsigned channels, unsigned parts, double count) {{
    const unsigned c = blockIdx.x * {ITEMS} + threadIdx.x;
    if (c >= channels) return;
    double passed = 0, products = 0;
    for (unsigned part = 0; part < parts; ++part) {{
        passed += sums[2 * (part * channels + c)];
        products += sums[2 * (part * channels + c) + 1];
    }}
    // A scale of nothing is not a number, and so would be its product with nothing.
    products = count > 0 ? products * factors[channels + c] : 0;
    by_weight[c] = (A)products;
    by_bias[c] = (B)passed;
    float* narrow = (float*)(slopes + 3 * channels);
    const double level = passed / count;
    const double scale = (HAS_WEIGHT ? (double)weight[c] : 1.0) * factors[channels + c];
    const double slope = scale * products / count;
    slopes[c] = level;
    slopes[channels + c] = scale;
    slopes[2 * channels + c] = slope;
    narrow[c] = (float)level;
    narrow[channels + c] = (float)scale;
    narrow[2 * channels + c] = (float)slope;
}}
"#
    )
}
