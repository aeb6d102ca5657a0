//! The text of gathers and scatters of blocks.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_FLOAT};
use amdgpu_matrix::Scatter;

use super::source;
use super::transpose::word;
use crate::{KernelKey, Operand};

/// What the texts of both depend on.
pub struct BlockKernel<'a> {
    /// What offsets lead into.
    pub memory: &'a Operand,
    /// Axes that are walked.
    pub rank: usize,
    /// Whether numbers of elements fit 32 bits.
    pub is_narrow: bool,
}

impl BlockKernel<'_> {
    /// The beginning of a kernel's key.
    #[must_use]
    pub fn key(&self, family: &'static str) -> KernelKey {
        KernelKey::new(family)
            .with(self.rank as u64)
            .flag(self.is_narrow)
            .flag(self.memory.is_dense())
    }

    fn index(&self) -> &'static str {
        if self.is_narrow {
            "unsigned"
        } else {
            "unsigned long long"
        }
    }
}

/// The definition of the type that elements of so many bytes are moved as.
pub(super) fn moved_type(item_bytes: usize) -> String {
    if item_bytes == 16 {
        // Complex numbers are aligned as their parts are.
        return "struct T { unsigned long long a, b; };\n".to_owned();
    }
    format!("typedef {} T;\n", word(item_bytes))
}

/// The kernel that gathers: an element for each work-item.
#[must_use]
pub fn gather_source(kernel: &BlockKernel<'_>) -> String {
    let (parameter, setup) = source::operand_parameter(kernel.memory, "void", "memory", false);
    let index = kernel.index();
    format!(
        r#"{types}
extern "C" __global__ void gather({parameter}, const long long* offsets, void* out, unsigned long long count,
                                  unsigned long long length, long long lowest, long long highest{walk_parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{setup}    const long long offset = offsets[({index})i / ({index})length];
    if (offset < lowest || offset > highest) return;
    long long from = offset;
    const {index} within = ({index})i % ({index})length;
{walk}    ((T*)out)[i] = ((const T*)memory)[from];
}}
"#,
        types = moved_type(kernel.memory.item_bytes()),
        walk_parameters = source::walk_parameters("d", kernel.rank, 1),
        walk = source::walk("d", kernel.rank, &["from"], "within", index),
    )
}

/// The kernel that scatters: a value for each work-item.
#[must_use]
pub fn scatter_source(kernel: &BlockKernel<'_>, values: &Operand, how: Scatter) -> String {
    let dtype = kernel.memory.dtype;
    let (parameter, setup) = source::operand_parameter(kernel.memory, "void", "memory", true);
    let (given, read, read_setup) = if values.is_number() {
        let wide = source::number_type(dtype);
        let text = if how == Scatter::Assign {
            format!("moved(({})number)", source::c_type(dtype))
        } else {
            "(T)number".to_owned()
        };
        (format!("{wide} number"), text, String::new())
    } else {
        let (parameter, statement) = source::operand_parameter(values, "void", "values", false);
        (parameter, "((const T*)values)[value]".to_owned(), statement)
    };
    let types = if how == Scatter::Assign {
        let number = if values.is_number() {
            format!(
                "__device__ inline T moved({own} x) {{ return *(const T*)&x; }}\n",
                own = source::c_type(dtype)
            )
        } else {
            String::new()
        };
        moved_type(kernel.memory.item_bytes()) + &number
    } else {
        source::types(&[("T", dtype)])
    };
    format!(
        r#"{types}{take_in}
extern "C" __global__ void scatter({parameter}, const long long* offsets, {given}, unsigned long long count,
                                   long long lowest, long long highest{walk_parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{setup}{read_setup}    long long within = 0, place = 0, value = 0;
{walk}    const long long offset = offsets[place];
    if (offset < lowest || offset > highest) return;
    take_in((T*)memory + offset + within, {read});
}}
"#,
        take_in = take_in(dtype, how),
        walk_parameters = source::walk_parameters("d", kernel.rank, 3),
        walk = source::walk(
            "d",
            kernel.rank,
            &["within", "place", "value"],
            "i",
            kernel.index()
        ),
    )
}

/// The function that an element takes a value in by.
fn take_in(dtype: Dtype, how: Scatter) -> String {
    if how == Scatter::Assign {
        return "__device__ inline void take_in(T* element, T value) { *element = value; }\n"
            .to_owned();
    }
    let is_whole = dtype.bits >= 32;
    if how == Scatter::Add && is_whole && dtype.code != DTYPE_BOOL {
        // Sums wrap, so that those of numbers with a sign are those of the same bits without.
        let atomic = match (dtype.code, dtype.bits) {
            (DTYPE_FLOAT, _) => "atomicAdd(element, value);",
            (_, 64) => "atomicAdd((unsigned long long*)element, (unsigned long long)value);",
            _ => "atomicAdd((unsigned*)element, (unsigned)value);",
        };
        return format!("__device__ inline void take_in(T* element, T value) {{ {atomic} }}\n");
    }
    let join = joined(dtype, how);
    // Elements narrower than what can be compared and swapped lie in a word together with others.
    let swap = match dtype.bits {
        64 => SWAP_64,
        32 => SWAP_32,
        _ => SWAP_NARROW,
    };
    let bits = match dtype.bits {
        8 => "unsigned char",
        16 => "unsigned short",
        32 => "unsigned",
        _ => "unsigned long long",
    };
    format!("typedef {bits} B;\n__device__ inline T joined(T a, T b) {{ {join} }}\n{swap}")
}

/// Statements that join two values of type T.
fn joined(dtype: Dtype, how: Scatter) -> String {
    let is_float = dtype.code == DTYPE_FLOAT || dtype.code == DTYPE_BFLOAT;
    if dtype.code == DTYPE_BOOL {
        return match how {
            Scatter::Add | Scatter::Maximum => "return a || b;",
            _ => "return a && b;",
        }
        .to_owned();
    }
    let wide = match (is_float, dtype.bits) {
        (true, 16 | 32) => "float",
        (true, _) => "double",
        (false, 64) => "unsigned long long",
        (false, _) => "unsigned",
    };
    match how {
        Scatter::Assign => "return b;".to_owned(),
        Scatter::Add => format!("return (T)(({wide})a + ({wide})b);"),
        Scatter::Multiply => format!("return (T)(({wide})a * ({wide})b);"),
        Scatter::Maximum | Scatter::Minimum => {
            let sign = if how == Scatter::Maximum { ">" } else { "<" };
            if is_float {
                format!(
                    "const {wide} x = ({wide})a, y = ({wide})b; return x != x || x {sign} y ? a : b;"
                )
            } else {
                format!("return a {sign} b ? a : b;")
            }
        }
    }
}

const SWAP_64: &str = r"
__device__ inline void take_in(T* element, T value) {
    unsigned long long* const word = (unsigned long long*)element;
    unsigned long long seen = *(volatile unsigned long long*)word, before;
    do {
        before = seen;
        T own = *(const T*)&before;
        own = joined(own, value);
        seen = atomicCAS(word, before, *(const B*)&own);
    } while (seen != before);
}
";

const SWAP_32: &str = r"
__device__ inline void take_in(T* element, T value) {
    unsigned* const word = (unsigned*)element;
    unsigned seen = *(volatile unsigned*)word, before;
    do {
        before = seen;
        T own = *(const T*)&before;
        own = joined(own, value);
        seen = atomicCAS(word, before, *(const B*)&own);
    } while (seen != before);
}
";

const SWAP_NARROW: &str = r"
__device__ inline void take_in(T* element, T value) {
    const unsigned long long address = (unsigned long long)element;
    unsigned* const word = (unsigned*)(address & ~3ull);
    const unsigned shift = (unsigned)(address & 3) * 8, mask = (unsigned)(B)~(B)0 << shift;
    unsigned seen = *(volatile unsigned*)word, before;
    do {
        before = seen;
        const B bits = (B)(before >> shift);
        T own = *(const T*)&bits;
        own = joined(own, value);
        seen = atomicCAS(word, before, (before & ~mask) | (unsigned)*(const B*)&own << shift);
    } while (seen != before);
}
";
