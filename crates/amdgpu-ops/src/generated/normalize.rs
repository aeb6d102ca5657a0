//! The text of softmax, of normalisations and of their gradients.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_matrix::Normalize;

use super::source;

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    pub operation: Normalize,
    pub is_gradient: bool,
    pub x: Dtype,
    pub result: Dtype,
    /// Of scale and shift, as far as there are.
    pub parameters: &'a [Dtype],
    /// Work-items that share a row.
    pub lanes: i64,
    /// Neighbours in memory belong to different rows.
    pub is_column: bool,
}

impl Signature<'_> {
    /// Rows of a block.
    #[must_use]
    pub fn rows(&self) -> i64 {
        source::BLOCK / self.lanes
    }

    #[must_use]
    pub fn source(&self) -> String {
        let computed = compute_type(self.result);
        let (row, lane) = if self.is_column {
            ("x", "y")
        } else {
            ("y", "x")
        };
        // Neighbours of a block write neighbouring banks of shared memory.
        let at = if self.is_column {
            "(lane) * ROWS + ROW"
        } else {
            "ROW * LANES + (lane)"
        };
        let mut types = source::types(&[("X", self.x), ("R", self.result), ("C", computed)]);
        let mut given = String::new();
        if self.is_gradient {
            given += ", const X* gradient";
        }
        for (index, dtype) in self.parameters.iter().enumerate() {
            let _ = writeln!(types, "typedef {} P{index};", source::c_type(*dtype));
            let _ = write!(given, ", const P{index}* parameter{index}");
        }
        let finished = match self.parameters.len() {
            0 => "value",
            1 => "scaled(value, (C)parameter0[at])",
            _ => "shifted(scaled(value, (C)parameter0[at]), (C)parameter1[at])",
        };
        let weighted = if self.parameters.is_empty() {
            "(C)gradient[i]"
        } else {
            "((C)gradient[i] * (C)parameter0[(i - row.first) / row.step])"
        };
        format!(
            r#"{types}{macros}
#define LANES {lanes}
#define ROWS {rows}
#define ROW threadIdx.{row}
#define LANE threadIdx.{lane}
#define AT(lane) shared[{at}]
#define FINISHED {finished}
// Squares of float16 stay within float32; those of what has its range do not.
typedef {wide} W;
#define WEIGHTED {weighted}
{HELPERS}
extern "C" __global__ void normalize(const X* x, R* out{given}, unsigned long long rows, unsigned long long length,
                                     unsigned long long inner, double epsilon) {{
    __shared__ double shared[{block}];
    const unsigned long long number = (unsigned long long)blockIdx.x * ROWS + ROW;
    Row row;
    row.first = number / inner * length * inner + number % inner;
    row.step = inner;
    row.end = number < rows ? length : 0;
{steps}
}}
"#,
            macros = source::functions(computed),
            lanes = self.lanes,
            rows = self.rows(),
            wide = if self.x == Dtype::F16 { "C" } else { "double" },
            block = source::BLOCK,
            steps = steps(self.operation, self.is_gradient),
        )
    }
}

/// SUM and LARGEST fold a value of every index i of a row; EACH does something at every one. In gradients x is what was normalised, of
/// softmax its result; WEIGHTED is the gradient times the scale, where there is one.
fn steps(operation: Normalize, is_gradient: bool) -> &'static str {
    match (operation, is_gradient) {
        (Normalize::Softmax, false) => {
            "    const C most = (C)LARGEST((double)x[i]);
    const C factor = (C)(1.0 / SUM(F(exp)((C)x[i] - most)));
    EACH { const C power = F(exp)((C)x[i] - most); out[i] = (R)(power * factor); }"
        }
        (Normalize::LogSoftmax, false) => {
            "    const C most = (C)LARGEST((double)x[i]);
    const C taken = (C)log(SUM(F(exp)((C)x[i] - most)));
    EACH out[i] = (R)(((C)x[i] - most) - taken);"
        }
        (Normalize::LayerNorm, false) => {
            "    const W center = (W)(SUM((C)x[i]) / (double)length);
    FACTOR(SUM(squared((W)(C)x[i] - center)));
    const C mean = (C)((double)center * (double)lift);
    EACH { const C value = ((C)x[i] * lift - mean) * factor; out[i] = (R)FINISHED; }"
        }
        (Normalize::RmsNorm, false) => {
            "    FACTOR(SUM(squared((W)(C)x[i])));
    EACH { const C value = (C)x[i] * lift * factor; out[i] = (R)FINISHED; }"
        }
        (Normalize::Softmax, true) => {
            "    const C total = (C)SUM((C)x[i] * (C)gradient[i]);
    EACH out[i] = (R)((C)x[i] * ((C)gradient[i] - total));"
        }
        (Normalize::LogSoftmax, true) => {
            "    const C total = (C)SUM((C)gradient[i]);
    EACH out[i] = (R)((C)gradient[i] - F(exp)((C)x[i]) * total);"
        }
        (Normalize::LayerNorm, true) => {
            "    const W center = (W)(SUM((C)x[i]) / (double)length);
    FACTOR(SUM(squared((W)(C)x[i] - center)));
    const C mean = (C)((double)center * (double)lift);
    const C level = (C)(SUM(WEIGHTED) / (double)length);
    const C slope = (C)(SUM(WEIGHTED * (((C)x[i] * lift - mean) * factor)) / (double)length);
    EACH out[i] = (R)(lift * (factor * (WEIGHTED - level - ((C)x[i] * lift - mean) * factor * slope)));"
        }
        (Normalize::RmsNorm, true) => {
            "    FACTOR(SUM(squared((W)(C)x[i])));
    const C slope = (C)(SUM(WEIGHTED * ((C)x[i] * lift * factor)) / (double)length);
    EACH out[i] = (R)(lift * (factor * (WEIGHTED - (C)x[i] * lift * factor * slope)));"
        }
    }
}

const HELPERS: &str = r"
template <typename T> __device__ inline T squared(T a) { return a * a; }

// Every value of the row that this lane has: i is its place in the array, at that in the row.
#define EACH for (unsigned long long at = LANE, i = row.first + at * row.step; at < row.end; at += LANES, i += LANES * row.step)
#define SUM(value) folded(row, shared, 0.0, [&](unsigned long long i) { return (double)(value); }, \
                          [](double a, double b) { return a + b; })
#define LARGEST(value) folded(row, shared, -(double)INFINITY, [&](unsigned long long i) { return value; }, \
                              [](double a, double b) { return a != a ? a : b != b ? b : a >= b ? a : b; })

// 1 / sqrt(mean of squares + epsilon) as factor * lift. The lift is 1 unless the whole is outside of what float32 holds in all digits.
#define FACTOR(squares) \
    const double whole = 1.0 / sqrt((squares) / (double)length + epsilon); \
    const C lift = (C)(whole > 0x1p64 ? 0x1p64 : whole < 0x1p-64 ? 0x1p-64 : 1.0), factor = (C)(whole / (double)lift)

struct Row { unsigned long long first, step, end; };

// What all values of a row give together; the same for every lane of the row.
template <typename Part, typename Join>
__device__ inline double folded(Row row, double* shared, double start, Part part, Join join) {
    double own = start;
    EACH own = join(own, part(i));
    // The result of the fold before was read by all.
    __syncthreads();
    AT(LANE) = own;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (LANE < half) AT(LANE) = join(AT(LANE), AT(LANE + half));
        __syncthreads();
    }
    return AT(0);
}

// Steps of their own: a product is not fused with a sum.
__device__ inline C scaled(C a, C scale) { return a * scale; }
__device__ inline C shifted(C a, C shift) { return a + shift; }
";
