//! The text of losses with their gradients: a work-item for each sample, which goes through its outputs in order, as the CPU's loops do.
//!
//! Products have names, so that they are not fused with the sums.

const HEAD: &str = r"
#if HAS_LABELS
typedef int Target;
#define TARGET(column) (targets[row] == (int)(column) ? 1.0f : 0.0f)
#else
typedef float Target;
#define TARGET(column) targets[row * size + (column)]
#endif
";

const CROSS_ENTROPY: &str = r#"
extern "C" __global__ void cross_entropy(const float* all_sums, const Target* targets, float* all_values, float* all_delta, double* scores,
                                         float share, unsigned long long size, unsigned long long rows) {
    const unsigned long long row = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* sums = all_sums + row * size;
    float *values = all_values + row * size, *delta = all_delta + row * size;
    float top = -INFINITY, weight = 0.0f;
    unsigned long long best = 0, wanted = 0;
    for (unsigned long long i = 0; i < size; i++) {
        const float target = TARGET(i);
        top = fmaxf(top, sums[i]);
        weight = weight + target;
        if (sums[i] > sums[best]) best = i;
        if (target > TARGET(wanted)) wanted = i;
    }
    float total = 0.0f;
    for (unsigned long long i = 0; i < size; i++) {
        const float value = expf(sums[i] - top);
        values[i] = value;
        total = total + value;
    }
    const double logarithm = log((double)total);
    const float inverse = 1.0f / total;
    double loss = 0.0;
    for (unsigned long long i = 0; i < size; i++) {
        const float target = TARGET(i), above = sums[i] - top;
        if (target != 0.0f) {
            const double part = (double)target * (logarithm - (double)above);
            loss = loss + part;
        }
        const float value = values[i] * inverse;
        const float weighted = value * weight;
        values[i] = value;
        delta[i] = share * (weighted - target);
    }
    scores[2 * row] = loss;
    scores[2 * row + 1] = best == wanted ? 1.0 : 0.0;
}
"#;

const SQUARED_ERROR: &str = r#"
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

fn source(has_labels: bool, text: &str) -> String {
    format!("#define HAS_LABELS {}\n{HEAD}{text}", i32::from(has_labels))
}

/// The kernel `cross_entropy`; targets are the right columns, or shares of all.
#[must_use]
pub fn cross_entropy_source(has_labels: bool) -> String {
    source(has_labels, CROSS_ENTROPY)
}

/// The kernel `squared_error`; targets are the right columns, which are 1 where others are 0, or values.
#[must_use]
pub fn squared_error_source(has_labels: bool) -> String {
    source(has_labels, SQUARED_ERROR)
}
