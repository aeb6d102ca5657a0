//! The text of draws: the functions of `amdgpu_philox.h` with the element types at hand.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_matrix::Distribution;

use super::source;

/// What the text of a kernel depends on.
pub struct Kind {
    pub distribution: Distribution,
    pub dtype: Dtype,
    /// Integers take two words.
    pub is_wide: bool,
    /// Which inputs are arrays.
    pub are_arrays: Vec<bool>,
}

impl Kind {
    /// Whether each element has blocks of its own.
    const fn has_own_blocks(&self) -> bool {
        matches!(
            self.distribution,
            Distribution::Gamma
                | Distribution::Beta
                | Distribution::Poisson
                | Distribution::Binomial
                | Distribution::InterleavedBits
                | Distribution::GroupedNormal
        )
    }

    /// Elements that a block of words makes.
    fn elements_each(&self) -> i64 {
        let takes_pairs = match self.distribution {
            Distribution::Uniform
            | Distribution::Normal
            | Distribution::Exponential
            | Distribution::GroupedNormal => self.dtype == Dtype::F64,
            Distribution::Integers => self.is_wide,
            _ => false,
        };
        if takes_pairs { 2 } else { 4 }
    }

    /// Work-items for so many elements behind so many words that are left out.
    #[must_use]
    pub fn work_items(&self, count: i64, skip: i64) -> i64 {
        let each = self.elements_each();
        if self.distribution == Distribution::GroupedNormal {
            return (count + each - 1) / each;
        }
        if self.has_own_blocks() {
            return count;
        }
        (skip * each / 4 + count + each - 1) / each
    }

    /// The type that is computed in.
    fn computed(&self) -> &'static str {
        if self.dtype == Dtype::F64 {
            "double"
        } else {
            "float"
        }
    }
}

/// Blocks that a group takes at most, as in `zig/src/random/grouped_normal_kernel.zig`.
const MOST_ATTEMPTS: u32 = 256;

const TAIL: &str = "unsigned long long key, unsigned long long block, unsigned long long high, unsigned int skip,
                                  unsigned long long count, unsigned long long low, unsigned long long span, double a, double b";

/// The kernel `random` of a kind.
#[must_use]
pub fn random_source(kind: &Kind) -> String {
    let mut text = String::from("#include \"amdgpu_philox.h\"\n");
    text += &source::types(&[("T", kind.dtype)]);
    let _ = writeln!(text, "typedef {} C;", kind.computed());
    text += "extern \"C\" __global__ void random(T* out, ";
    let input = if kind.distribution == Distribution::Dropout {
        "T"
    } else {
        "double"
    };
    let names = ["first", "second"];
    for (is_array, name) in kind.are_arrays.iter().zip(names) {
        if *is_array {
            let _ = write!(text, "const {input}* {name}_values, ");
        } else {
            let _ = write!(text, "double {name}_value, ");
        }
    }
    text += TAIL;
    text += ") {\n    const agpu_stream stream = {key, 0ull, high};\n";
    let each = kind.elements_each();
    let items = if kind.distribution == Distribution::GroupedNormal {
        format!("(count + {each}ull - 1ull) / {each}ull")
    } else if kind.has_own_blocks() {
        "count".to_owned()
    } else {
        format!("(skip * {each}u / 4u + count + {each}ull - 1ull) / {each}ull")
    };
    let _ = write!(
        text,
        "    const unsigned long long items = {items}, step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long t = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; t < items; t += step) {{\n"
    );
    if kind.distribution == Distribution::GroupedNormal {
        text += &grouped(kind.dtype);
    } else if kind.has_own_blocks() {
        text += "    const unsigned long long i = t;\n";
        inputs(&mut text, kind, "    ");
        text += own(kind.distribution);
    } else {
        shared(&mut text, kind);
    }
    text += "    }\n}\n";
    text
}

/// Names for the inputs of element i.
fn inputs(text: &mut String, kind: &Kind, indent: &str) {
    for (is_array, name) in kind.are_arrays.iter().zip(["first", "second"]) {
        let value = if *is_array {
            format!("{name}_values[i]")
        } else {
            format!("{name}_value")
        };
        let _ = writeln!(text, "{indent}const double {name} = (double){value};");
    }
}

fn own(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Gamma => {
            "    const double value = agpu_gamma_of(stream, block + i, first);\n    out[i] = (T)(value * second);\n"
        }
        Distribution::Beta => {
            "    out[i] = (T)agpu_beta_of(stream, block + 2ull * i, first, second);\n"
        }
        Distribution::Poisson => "    out[i] = (T)agpu_poisson_of(stream, block + i, first);\n",
        Distribution::Binomial => {
            "    out[i] = (T)agpu_binomial_of(stream, block + i, first, second);\n"
        }
        _ => {
            "    const unsigned long long round = i / span;\n    const agpu_stream own = {key, 0ull, high + i % span};\n    out[i] = agpu_word_of(agpu_block(own, block + (round >> 2), 0u), (unsigned int)round & 3u);\n"
        }
    }
}

/// The elements of a group: of its own blocks, which the counter of 128 bits numbers, those that are not too large.
fn grouped(dtype: Dtype) -> String {
    let (each, absolute, numbers, candidates) = if dtype == Dtype::F64 {
        (
            2,
            "fabs",
            "const double2 made = agpu_grouped_normals64(words);",
            "{made.x, made.y}",
        )
    } else {
        (
            4,
            "fabsf",
            "const float2 early = agpu_grouped_normals32(words.x, words.y), late = agpu_grouped_normals32(words.z, words.w);",
            "{early.x, early.y, late.x, late.y}",
        )
    };
    format!(
        "    const C limit = (C)a;
    const unsigned long long at = t * {each}ull;
    unsigned int filled = 0u;
    for (unsigned int attempt = 0u; attempt < {MOST_ATTEMPTS}u && filled < {each}u; ++attempt) {{
        const unsigned long long offset = t * span + attempt, low_half = block + offset;
        const agpu_stream own = {{key, 0ull, high + (low_half < offset ? 1ull : 0ull)}};
        const uint4 words = agpu_block(own, low_half, 0u);
        {numbers}
        const C candidates[{each}] = {candidates};
        #pragma unroll
        for (unsigned int j = 0u; j < {each}u; ++j) {{
            if (filled < {each}u && {absolute}(candidates[j]) < limit) {{
                if (at + filled < count) out[at + filled] = (T)candidates[j];
                ++filled;
            }}
        }}
    }}
    for (; filled < {each}u; ++filled)
        if (at + filled < count) out[at + filled] = (T)0.0f;
"
    )
}

/// Elements of a work-item: those of its block that are wanted, in one store where all of them are and the memory is aligned for it.
fn shared(text: &mut String, kind: &Kind) {
    let each = kind.elements_each();
    let item_bytes = kind.dtype.size_bytes() as i64;
    let _ = write!(
        text,
        "    const uint4 words = agpu_block(stream, block + t, 0u);
    const unsigned long long at = t * {each}ull - skip * {each}u / 4u;
    struct __align__({align}) Pack {{ T values[{each}]; }};
    Pack pack;
",
        align = (each * item_bytes).min(16),
    );
    values(text, kind);
    let _ = write!(
        text,
        "    if (skip == 0u && at + {each}ull <= count && ((unsigned long long)out & {mask}ull) == 0ull) {{
{whole}        continue;
    }}
    for (unsigned int j = 0u; j < {each}u; ++j)
        if (at + j < count) out[at + j] = pack.values[j];
",
        mask = (each * item_bytes).min(16) - 1,
        whole = if each * item_bytes == 32 {
            IN_PAIRS
        } else {
            "        *(Pack*)(out + at) = pack;\n"
        },
    );
}

/// Four elements of eight bytes: two neighbours write those of one of them at a time, so that what they write lies side by side. Waves
/// that do not write all of their elements do without.
const IN_PAIRS: &str = r"        const unsigned lane = threadIdx.x % warpSize;
        if ((t - lane + warpSize) * 4ull <= count) {
            const unsigned long long lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
            const bool is_odd = lane & 1u;
            struct __align__(16) Half { T values[2]; };
            Half kept, given;
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                kept.values[j] = is_odd ? pack.values[2 + j] : pack.values[j];
                given.values[j] = __shfl_xor_sync(lanes, is_odd ? pack.values[j] : pack.values[2 + j], 1);
            }
            T* const first = out + at - (is_odd ? 4 : 0);
            *(Half*)(first + (is_odd ? 2 : 0)) = is_odd ? given : kept;
            *(Half*)(first + 4 + (is_odd ? 2 : 0)) = is_odd ? kept : given;
            continue;
        }
        *(Pack*)(out + at) = pack;
";

const WORDS: [&str; 4] = ["words.x", "words.y", "words.z", "words.w"];
const PAIRS: [&str; 2] = [
    "agpu_pair_of(words.x, words.y)",
    "agpu_pair_of(words.z, words.w)",
];

fn values(text: &mut String, kind: &Kind) {
    match kind.distribution {
        Distribution::Uniform => uniform(text, kind.dtype),
        Distribution::Normal => normal(text, kind.dtype),
        Distribution::Exponential if kind.dtype == Dtype::F64 => {
            each(text, &PAIRS, |pair| {
                format!("b * agpu_exponential64({pair})")
            });
        }
        Distribution::Exponential => each(text, &WORDS, |word| {
            format!("(T)((float)b * agpu_exponential32({word}))")
        }),
        Distribution::Integers => integers(text, kind.is_wide),
        Distribution::Bernoulli if kind.are_arrays.is_empty() => {
            text.push_str("    const unsigned long long threshold = agpu_threshold(a);\n");
            each(text, &WORDS, |word| format!("{word} < threshold"));
        }
        _ => for_each_input(text, kind),
    }
}

/// A value of each of these words.
fn each(text: &mut String, words: &[&str], value: impl Fn(&str) -> String) {
    for (place, word) in words.iter().enumerate() {
        let _ = writeln!(text, "    pack.values[{place}] = {};", value(word));
    }
}

fn uniform(text: &mut String, dtype: Dtype) {
    if dtype == Dtype::F64 {
        return each(text, &PAIRS, |pair| {
            format!("fma(agpu_unit64({pair}), b, a)")
        });
    }
    // Of float16 and bfloat16 the bits that they hold, so that none is rounded up to 1.
    let bits = if dtype == Dtype::F16 {
        11
    } else if dtype == Dtype::BF16 {
        8
    } else {
        24
    };
    let (shift, unit) = (32 - bits, (-f64::from(bits)).exp2());
    each(text, &WORDS, |word| {
        format!("(T)fmaf((float)(int)({word} >> {shift}) * {unit:e}f, (float)b, (float)a)")
    });
}

fn normal(text: &mut String, dtype: Dtype) {
    if dtype == Dtype::F64 {
        let _ = writeln!(
            text,
            "    const double2 normal = agpu_normals64({}, {});",
            PAIRS[0], PAIRS[1]
        );
        return each(text, &["normal.x", "normal.y"], |one| {
            format!("fma({one}, b, a)")
        });
    }
    text.push_str(
        "    const float2 early = agpu_normals32(words.x, words.y), late = agpu_normals32(words.z, words.w);\n",
    );
    each(text, &["early.x", "early.y", "late.x", "late.y"], |one| {
        format!("(T)fmaf({one}, (float)b, (float)a)")
    });
}

fn integers(text: &mut String, is_wide: bool) {
    let (words, function, step): (&[&str], _, _) = if is_wide {
        (&PAIRS, "agpu_below64", 2)
    } else {
        (&WORDS, "agpu_below32", 1)
    };
    for (place, word) in words.iter().enumerate() {
        let first = step * place;
        let _ = writeln!(
            text,
            "    pack.values[{place}] = (T)(low + {function}(stream, block + t, {first}u, {word}, span));"
        );
    }
}

/// Draws that read something for each element.
fn for_each_input(text: &mut String, kind: &Kind) {
    let is_dropout = kind.distribution == Distribution::Dropout;
    if is_dropout {
        text.push_str("    const unsigned long long threshold = agpu_threshold(a);\n");
    }
    text.push_str("    for (unsigned int j = 0u; j < 4u; ++j) {\n        const unsigned long long i = at + j;\n        if (i >= count) continue;\n        const unsigned int word = agpu_word_of(words, j);\n");
    if is_dropout {
        let value = if kind.are_arrays[0] {
            "first_values[i]"
        } else {
            "first_value"
        };
        let _ = writeln!(
            text,
            "        const C scaled = (C){value} * (C)b;\n        pack.values[j] = word < threshold ? (T)scaled : (T)0.0f;"
        );
    } else {
        inputs(text, kind, "        ");
        text.push_str("        pack.values[j] = word < agpu_threshold(first);\n");
    }
    text.push_str("    }\n");
}
