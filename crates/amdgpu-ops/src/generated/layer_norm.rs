//! The text of layer norm that keeps its statistics, and of its gradients where they are known.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;

use super::loss::computed;
use super::source;

/// What the texts depend on.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormKernel {
    pub x: Dtype,
    /// Of the scale and of the shift; of gradients by them, where they are asked for.
    pub scale: Option<Dtype>,
    pub shift: Option<Dtype>,
    /// Work-items that share a row, a multiple of 32.
    pub lanes: i64,
}

/// Columns and rows of a block that adds up rows.
pub const PART_BLOCK: [i64; 2] = [32, 8];

const FORWARD: &str = r#"
extern "C" __global__ void layer_norm(const X* x, PARAMETERS X* out, C* means, C* inverses, unsigned long long rows, unsigned long long length,
                                      double epsilon) {
    ROW_SETUP
    __shared__ double waves[ROWS * LANES / 32];
    double* const own_waves = waves + ROW * (LANES / 32);
    const auto plus = [](double a, double b) { return a + b; };
    double sum = 0, squares = 0;
    EACH sum += (double)x[at];
    const double mean = over_lanes(sum, own_waves, plus) / (double)length;
    EACH {
        const double off = (double)x[at] - mean;
        squares += off * off;
    }
    const double inverse = 1.0 / sqrt(over_lanes(squares, own_waves, plus) / (double)length + epsilon);
    if (width > 0 && LANE == 0) {
        means[row] = (C)mean;
        inverses[row] = (C)inverse;
    }
    const C center = (C)mean, factor = (C)inverse;
    EACH {
        C value = ((C)x[at] - center) * factor;
#if HAS_SCALE
        value = value * (C)scale[i];
#endif
#if HAS_SHIFT
        value = value + (C)shift[i];
#endif
        out[at] = (X)value;
    }
}
"#;

const BY_X: &str = r#"
extern "C" __global__ void layer_norm_by_x(const X* x, const X* gradient, const C* means, const C* inverses, PARAMETERS X* by_x,
                                           unsigned long long rows, unsigned long long length) {
    ROW_SETUP
    __shared__ C waves[ROWS * LANES / 32];
    C* const own_waves = waves + ROW * (LANES / 32);
    const auto plus = [](C a, C b) { return a + b; };
    const C mean = width > 0 ? means[row] : (C)0, inverse = width > 0 ? inverses[row] : (C)0;
#if HAS_SCALE
#define WEIGHTED ((C)gradient[at] * (C)scale[i])
#else
#define WEIGHTED (C)gradient[at]
#endif
    C level = 0, slope = 0;
    EACH {
        const C weighted = WEIGHTED;
        level += weighted;
        slope += weighted * (((C)x[at] - mean) * inverse);
    }
    level = over_lanes(level, own_waves, plus) / (C)length;
    slope = over_lanes(slope, own_waves, plus) / (C)length;
    EACH by_x[at] = (X)(inverse * (WEIGHTED - level - ((C)x[at] - mean) * inverse * slope));
}
"#;

/// Sums over some rows, for each column.
const PARTS: &str = r#"
extern "C" __global__ void layer_norm_parts(const X* x, const X* gradient, const C* means, const C* inverses, C* parts, unsigned long long rows,
                                            unsigned long long length, unsigned long long part_rows) {
    __shared__ C sums[2][ACROSS][COLUMNS];
    const unsigned long long column = (unsigned long long)blockIdx.x * COLUMNS + threadIdx.x, first = blockIdx.y * part_rows;
    const unsigned long long end = first + part_rows < rows ? first + part_rows : rows;
    C by_scale = 0, by_shift = 0;
    if (column < length) {
        for (unsigned long long row = first + threadIdx.y; row < end; row += ACROSS) {
            const C slope = (C)gradient[row * length + column];
            by_scale += slope * (((C)x[row * length + column] - means[row]) * inverses[row]);
            by_shift += slope;
        }
    }
    sums[0][threadIdx.y][threadIdx.x] = by_scale;
    sums[1][threadIdx.y][threadIdx.x] = by_shift;
    __syncthreads();
    if (threadIdx.y < 2 && column < length) {
        C sum = 0;
        for (int other = 0; other < ACROSS; other++) sum += sums[threadIdx.y][other][threadIdx.x];
        parts[(blockIdx.y * 2ull + threadIdx.y) * length + column] = sum;
    }
}
"#;

const PARAMETERS: &str = r#"
extern "C" __global__ void layer_norm_parameters(const C* parts, PARAMETERS unsigned long long count, unsigned long long length) {
    const unsigned long long column = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= length) return;
    C by_scale = 0, by_shift = 0;
    for (unsigned long long part = 0; part < count; part++) {
        by_scale += parts[part * 2 * length + column];
        by_shift += parts[(part * 2 + 1) * length + column];
    }
#if HAS_SCALE
    scale[column] = (P0)by_scale;
#endif
#if HAS_SHIFT
    shift[column] = (P1)by_shift;
#endif
}
"#;

impl LayerNormKernel {
    /// Rows of a block.
    #[must_use]
    pub fn rows(&self) -> i64 {
        source::BLOCK / self.lanes
    }

    /// The kernel `layer_norm`: the result, means of rows, and one over their deviations.
    #[must_use]
    pub fn forward(&self) -> String {
        self.text(FORWARD, "const ")
    }

    /// The kernel `layer_norm_by_x`.
    #[must_use]
    pub fn by_x(&self) -> String {
        self.text(BY_X, "const ")
    }

    /// The kernel `layer_norm_parts`: sums of some rows for the gradients by scale and shift.
    #[must_use]
    pub fn parts(&self) -> String {
        self.text(PARTS, "")
    }

    /// The kernel `layer_norm_parameters`, which adds those sums up.
    #[must_use]
    pub fn parameters(&self) -> String {
        self.text(PARAMETERS, "")
    }

    fn text(&self, body: &str, constant: &str) -> String {
        let computed = computed(self.x);
        let mut text = source::types(&[("X", self.x), ("C", computed)]);
        let mut parameters = String::new();
        for (place, name, dtype) in [(0, "scale", self.scale), (1, "shift", self.shift)] {
            let is_there = i32::from(dtype.is_some());
            let _ = writeln!(text, "#define HAS_{} {is_there}", name.to_uppercase());
            if let Some(dtype) = dtype {
                let _ = writeln!(text, "typedef {} P{place};", source::c_type(dtype));
                let _ = write!(parameters, "{constant}P{place}* {name}, ");
            }
        }
        let [columns, across] = PART_BLOCK;
        let row_setup = "const unsigned long long row = (unsigned long long)blockIdx.x * ROWS + ROW, width = row < rows ? length : 0, base = row * length;";
        format!(
            "{text}
#define LANES {lanes}
#define ROWS {rows}
#define LANE threadIdx.x
#define ROW threadIdx.y
#define COLUMNS {columns}
#define ACROSS {across}
// Every element of the row that this lane has: i is its place in the row, at that in the array.
#define EACH for (unsigned long long i = LANE, at = base + LANE; i < width; i += LANES, at += LANES)
{OVER_LANES}{body}",
            lanes = self.lanes,
            rows = self.rows(),
            OVER_LANES = source::OVER_LANES,
            body = body
                .replace("PARAMETERS ", &parameters)
                .replace("ROW_SETUP", row_setup),
        )
    }
}
