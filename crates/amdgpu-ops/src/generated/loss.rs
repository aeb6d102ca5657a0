//! The text of losses with their gradients: a work-item for each row, which goes through its classes or outputs in order, as the CPU's loops do, or
//! for many classes that lie side by side some lanes for each row. Of a row with one right class the others are not looked at where no softmax asks
//! for them.
//!
//! Products have names, so that they are not fused with the sums. One text serves the losses of `amdgpu.ops` and those of the trainer, which wants
//! softmax, gradient and score of a row at once.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_matrix::ClassLoss;

use super::source;

/// What a kernel of classes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A term for each row.
    Terms,
    /// The gradient by x.
    Gradient,
    /// Softmax, gradient and score, which is the term and whether the largest x is where the largest target is.
    Training,
}

/// What the text of a loss of classes depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a line of the text by itself"
)]
pub struct ClassKernel {
    pub loss: ClassLoss,
    pub written: Written,
    pub x: Dtype,
    /// The dtype of targets: that of x where they are shares, else of classes.
    pub target: Dtype,
    pub has_shares: bool,
    pub has_weight: bool,
    pub is_smoothed: bool,
    /// Whether the gradient is divided by a number of the device.
    pub is_divided: bool,
    /// Work-items that share a row: 1, or a multiple of 32.
    pub lanes: i64,
}

const CLASSES: &str = r#"
#if LANES > 1
#define OVER_LANES(own, join) over_lanes(own, waves + ROW * (LANES / 32), join)
#else
#define LANE 0
#define ROW threadIdx.x
#define OVER_LANES(own, join) own
#endif
#define EACH for (unsigned long long i = LANE; i < width; i += LANES)
#if HAS_SHARES
#define SHARE(place) (C)targets[base + (place) * inner]
#else
#define SHARE(place) (wanted_class == (long long)(place) ? (C)1 : (C)0)
#endif
#if IS_SMOOTHED
#define SMOOTHED(place) (((C)1 - smoothing) * SHARE(place) + smoothing / (C)size)
#else
#define SMOOTHED(place) SHARE(place)
#endif
#if HAS_WEIGHT
#define WEIGHT(place) (C)weights[place]
#define TARGET(place) (WEIGHT(place) * SMOOTHED(place))
#else
#define WEIGHT(place) (C)1
#define TARGET(place) SMOOTHED(place)
#endif
#define AT(place) ((C)all[base + (place) * inner])

extern "C" __global__ void class_loss(const X* all, const I* targets,
#if HAS_WEIGHT
    const X* weights,
#endif
#if WRITES_TERMS
    C* terms,
#elif WRITES_GRADIENT
    const X* gradient, unsigned long long gradient_step,
#if IS_DIVIDED
    const double* divisor,
#endif
    X* delta, double factor,
#else
    float* values, float* delta, double* scores, float factor,
#endif
    double given_smoothing, long long ignored, unsigned long long size, unsigned long long inner, unsigned long long rows) {
    const unsigned long long row = (unsigned long long)blockIdx.x * ROWS + ROW;
#if LANES > 1
    // Lanes without a row meet the others at barriers.
    __shared__ C waves[ROWS * LANES / 32];
#if WRITES_TERMS && !IS_SINGLE
    __shared__ double wide_waves[ROWS * LANES / 32];
#endif
    const unsigned long long width = row < rows ? size : 0;
    const auto larger = [](C a, C b) { return F(fmax)(a, b); };
    const auto plus = [](C a, C b) { return a + b; };
#else
    if (row >= rows) return;
    const unsigned long long width = size;
#endif
    const unsigned long long base = row / inner * size * inner + row % inner;
    const C smoothing = (C)given_smoothing;
#if !HAS_SHARES
    const long long wanted_class = width > 0 ? (long long)targets[row] : ignored;
    const bool is_ignored = wanted_class == ignored;
#else
    const bool is_ignored = false;
#endif
    C top = -INFINITY, weight = 0, total = 0;
#if IS_TRAINING
    unsigned long long best = 0, wanted = 0;
#endif
#if IS_SINGLE
    const bool is_there = wanted_class >= 0 && wanted_class < (long long)width;
    if (is_there) weight = WEIGHT(wanted_class);
#endif
#if HAS_SOFTMAX || !IS_SINGLE
    EACH {
        top = F(fmax)(top, AT(i));
#if !IS_SINGLE
        const C target = TARGET(i);
        weight = weight + target;
#endif
#if IS_TRAINING
        if (AT(i) > AT(best)) best = i;
        if (TARGET(i) > TARGET(wanted)) wanted = i;
#endif
    }
#endif
#if !IS_SINGLE
    weight = OVER_LANES(weight, plus);
#endif
#if HAS_SOFTMAX
    top = OVER_LANES(top, larger);
    EACH total = total + F(exp)(AT(i) - top);
    total = OVER_LANES(total, plus);
    const double logarithm = log((double)total);
    const C inverse = (C)1 / total;
#else
    const double logarithm = 0.0;
    top = 0;
#endif
#if WRITES_GRADIENT
    C share = 0;
    if (width > 0) {
        share = (C)((double)gradient[row * gradient_step] * factor);
#if IS_DIVIDED
        share = (C)((double)gradient[row * gradient_step] / *divisor);
#endif
    }
#elif IS_TRAINING
    const C share = factor;
#endif
#if !WRITES_GRADIENT
    double loss = 0.0;
#if IS_SINGLE
    if (is_there && weight != 0) loss = (double)weight * (logarithm - (double)(AT(wanted_class) - top));
#endif
#endif
#if !WRITES_TERMS || !IS_SINGLE
    EACH {
        const C target = TARGET(i);
#if HAS_SOFTMAX || !WRITES_GRADIENT
        const C above = AT(i) - top;
#endif
#if !WRITES_GRADIENT && !IS_SINGLE
        if (target != 0) {
            const double part = (double)target * (logarithm - (double)above);
            loss = loss + part;
        }
#endif
#if !WRITES_TERMS
#if HAS_SOFTMAX
        const C value = F(exp)(above) * inverse;
#else
        const C value = 0;
#endif
        const C weighted = value * weight;
#if IS_TRAINING
        values[base + i * inner] = value;
#endif
        delta[base + i * inner] = is_ignored ? (C)0 : share * (weighted - target);
#endif
    }
#endif
#if WRITES_TERMS
#if !IS_SINGLE && LANES > 1
    loss = over_lanes(loss, wide_waves + ROW * (LANES / 32), [](double a, double b) { return a + b; });
#endif
    if (width > 0 && LANE == 0) terms[row] = is_ignored ? (C)0 : (C)loss;
#elif IS_TRAINING
    scores[2 * row] = loss;
    scores[2 * row + 1] = best == wanted ? 1.0 : 0.0;
#endif
}
"#;

/// Work-items of a block where each has a row of its own. Rows are few: small blocks spread them over more units.
const SERIAL_ROWS: i64 = 64;

impl ClassKernel {
    /// The kernel of the trainer for rows of float32.
    #[must_use]
    pub fn training(has_labels: bool) -> Self {
        Self {
            loss: ClassLoss::CrossEntropy,
            written: Written::Training,
            x: Dtype::F32,
            target: if has_labels { Dtype::I32 } else { Dtype::F32 },
            has_shares: !has_labels,
            has_weight: false,
            is_smoothed: false,
            is_divided: false,
            lanes: 1,
        }
    }

    /// Rows of a block.
    #[must_use]
    pub fn rows(&self) -> i64 {
        if self.lanes == 1 {
            SERIAL_ROWS
        } else {
            source::BLOCK / self.lanes
        }
    }

    /// Whether one class of a row has all of the target.
    fn is_single(&self) -> bool {
        !self.has_shares && !self.is_smoothed && self.written != Written::Training
    }

    /// Whether a row is known from its right class alone.
    #[must_use]
    pub fn is_picked(&self) -> bool {
        self.is_single()
            && self.loss == ClassLoss::NegativeLogLikelihood
            && self.written == Written::Terms
    }

    /// The kernel `class_loss`.
    #[must_use]
    pub fn source(&self) -> String {
        let computed = computed(self.x);
        let mut text = source::types(&[("X", self.x), ("C", computed), ("I", self.target)]);
        text += source::functions(computed);
        for (name, is_set) in [
            ("HAS_SHARES", self.has_shares),
            ("HAS_WEIGHT", self.has_weight),
            ("IS_SMOOTHED", self.is_smoothed),
            ("IS_DIVIDED", self.is_divided),
            ("HAS_SOFTMAX", self.loss == ClassLoss::CrossEntropy),
            ("WRITES_TERMS", self.written == Written::Terms),
            ("WRITES_GRADIENT", self.written == Written::Gradient),
            ("IS_TRAINING", self.written == Written::Training),
            ("IS_SINGLE", self.is_single()),
        ] {
            let _ = writeln!(text, "#define {name} {}", i32::from(is_set));
        }
        let _ = writeln!(
            text,
            "#define LANES {}\n#define ROWS {}",
            self.lanes,
            self.rows()
        );
        if self.lanes > 1 {
            text += "#define LANE threadIdx.x\n#define ROW threadIdx.y\n";
            text += source::OVER_LANES;
        }
        text + CLASSES
    }
}

/// The dtype that the terms of floats are computed in.
#[must_use]
pub fn computed(x: Dtype) -> Dtype {
    if x == Dtype::F64 {
        Dtype::F64
    } else {
        Dtype::F32
    }
}

/// The kernel that makes the weight of the class of each row, 0 where it counts for nothing; it notes the complement of the first row whose class is none.
#[must_use]
pub fn class_weights_source(x: Dtype, target: Dtype, has_weight: bool) -> String {
    let (parameter, weight) = if has_weight {
        ("const X* weights, ", "(C)weights[given]")
    } else {
        ("", "(C)1")
    };
    format!(
        r#"{types}{note}
extern "C" __global__ void class_weights(const I* targets, {parameter}C* out, unsigned long long* notes, long long ignored, long long classes,
                                         unsigned long long rows) {{
    const unsigned long long row = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long given = (long long)targets[row];
    const bool is_ignored = given == ignored, is_good = given >= 0 && given < classes;
    if (!is_good && !is_ignored) note_bad_index(notes, row, given, classes);
    out[row] = is_good && !is_ignored ? {weight} : (C)0;
}}
"#,
        types = source::types(&[("X", x), ("C", computed(x)), ("I", target)]),
        note = source::NOTE_BAD_INDEX,
    )
}

const SQUARED_ERROR: &str = r#"
#if HAS_LABELS
typedef int Target;
#define TARGET(column) (targets[row] == (int)(column) ? 1.0f : 0.0f)
#else
typedef float Target;
#define TARGET(column) targets[row * size + (column)]
#endif

extern "C" __global__ void squared_error(const float* values, const Target* targets, float* delta, double* scores, float share,
                                         unsigned long long size, unsigned long long rows) {
    const unsigned long long row = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double loss = 0.0;
    for (unsigned long long i = 0; i < size; i++) {
        const float error = values[row * size + i] - TARGET(i);
        const double square = (double)error * (double)error;
        loss = loss + square;
        delta[row * size + i] = share * error;
    }
    scores[row] = loss;
}
"#;

/// The kernel `squared_error` of the trainer, which wants the sum of a row and its gradient at once; targets are the right columns, which are 1 where
/// others are 0, or values.
#[must_use]
pub fn squared_error_source(has_labels: bool) -> String {
    format!(
        "#define HAS_LABELS {}\n{SQUARED_ERROR}",
        i32::from(has_labels)
    )
}
