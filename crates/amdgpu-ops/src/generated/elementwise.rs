//! The text of elementwise kernels: one for each operation, combination of dtypes and rank.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::is_float;

use super::formulas;
use super::source;

/// Bytes that a work-item reads and writes at once.
pub const VECTOR_BYTES: usize = 16;
/// Names of the operands in expressions.
pub const VALUES: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

/// What a kernel computes of each element.
#[derive(Clone, Debug)]
pub enum Body {
    /// An operation of the table, by name.
    Named(&'static str),
    /// (x - mean) * scale + shift, with the product rounded before the sum.
    Standardize,
    /// Statements of the caller's own that return the result, of x, y, z, w, v, u and alpha, all of type C; the name is for messages and
    /// the kernel's key.
    Statements { name: String, text: String },
    /// The same, with functions that the statements call.
    Steps {
        name: String,
        functions: String,
        text: String,
        /// Of both texts: what tells the steps from others in the tuning database.
        digest: u64,
    },
}

impl Body {
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Standardize => "standardize",
            Self::Statements { name, .. } | Self::Steps { name, .. } => name,
        }
    }

    /// Packs that a work-item asks for before it computes the first: memory is idle where every work-item computes for long.
    #[must_use]
    pub fn packs_in_flight(&self) -> i64 {
        match self {
            Self::Named(name) if !formulas::is_long(name) => 1,
            Self::Standardize => 1,
            Self::Named(_) | Self::Statements { .. } | Self::Steps { .. } => 2,
        }
    }

    fn is_predicate(&self) -> bool {
        matches!(self, Self::Named(name) if formulas::is_predicate(name))
    }
}

/// An operand's dtype, and whether it is an array or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub dtype: Dtype,
    pub is_array: bool,
}

/// What the text of a kernel depends on, beside how its arrays are walked.
#[derive(Clone, Debug)]
pub struct Signature<'a> {
    pub body: &'a Body,
    pub kinds: &'a [Kind],
    pub result: Dtype,
    pub computed: Dtype,
}

/// How a kernel walks arrays with strides.
#[derive(Clone, Debug)]
pub struct Walk {
    /// For the result and each array: whether it is dense, so that the launch takes a pointer.
    pub are_dense: Vec<bool>,
    pub rank: usize,
    /// Type of indices.
    pub index: &'static str,
    /// Neighbours along the last axis that a work-item computes.
    pub pack: usize,
    /// For the result and each array, whether it has one value for all neighbours of a pack.
    pub repeats: Vec<bool>,
    /// Packs that a work-item asks for before it computes the first.
    pub ahead: i64,
}

/// How a kernel that walks strides takes its arrays.
#[derive(Default)]
struct Pointers {
    parameters: Vec<String>,
    /// Statements that make pointers of addresses.
    setup: String,
    /// Names of the offsets of each, and their declarations.
    offsets: Vec<String>,
    declarations: String,
}

/// How a kernel walks arrays row by row.
#[derive(Clone, Debug)]
pub struct Rows {
    /// For the result and each array: whether it is dense, so that the launch takes a pointer.
    pub are_dense: Vec<bool>,
    /// Axes in front of the rows.
    pub rank: usize,
    /// For each array, whether it has one value for all of a row.
    pub repeats: Vec<bool>,
    /// Whether the blocks of a row differ in y, not in x, which more rows than a grid has in y ask for.
    pub is_row_first: bool,
    /// Whether stores bypass the caches: blocks begin with cache lines of the result then, the first one of a row before it if need be.
    pub streams: bool,
}

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

impl Signature<'_> {
    /// Elements that a work-item computes at once: 16 bytes of the widest array.
    #[must_use]
    pub fn pack(&self) -> usize {
        let arrays = self.kinds.iter().filter(|kind| kind.is_array);
        let widest = arrays
            .map(|kind| kind.dtype.size_bytes())
            .fold(self.result.size_bytes(), usize::max);
        VECTOR_BYTES / widest
    }

    fn arrays(&self) -> Vec<usize> {
        (0..self.kinds.len())
            .filter(|index| self.kinds[*index].is_array)
            .collect()
    }

    /// Types and the function of one element; parameters for the numbers.
    fn head(&self) -> (String, String) {
        let mut text = source::types(&[("C", self.computed), ("R", self.result)]);
        for (index, kind) in self.kinds.iter().enumerate() {
            let _ = writeln!(text, "typedef {} A{index};", source::c_type(kind.dtype));
        }
        text += source::functions(self.computed);
        let floats = is_float(self.computed);
        if floats {
            text += &helpers(self.result);
            text += formulas::own_helpers(self.body.name());
        }
        let values: Vec<_> = VALUES[..self.kinds.len()]
            .iter()
            .map(|name| format!("C {name}"))
            .collect();
        let body = match self.body {
            Body::Statements { text, .. } => text.clone(),
            Body::Steps {
                functions,
                text: own,
                ..
            } => {
                text += functions;
                own.clone()
            }
            // The product has a name, so it is not fused with the sum.
            Body::Standardize => "const C scaled = (x - y) * z; return scaled + w;".to_owned(),
            Body::Named(name) => {
                let formula = formulas::formula(name, self.computed).unwrap_or("x");
                format!("return {formula};")
            }
        };
        let returned = if self.body.is_predicate() {
            "bool"
        } else {
            "C"
        };
        let _ = writeln!(
            text,
            "__device__ inline {returned} one({}, C alpha) {{ {body} }}",
            values.join(", ")
        );
        let wide = if floats { "double" } else { "long long" };
        let mut numbers = String::new();
        for (index, kind) in self.kinds.iter().enumerate() {
            if !kind.is_array {
                let _ = write!(numbers, ", {wide} number{index}");
            }
        }
        (text, numbers)
    }

    /// The result and the arrays; for each, whether it is dense.
    fn pointers(&self, are_dense: &[bool]) -> Pointers {
        let arrays = self.arrays();
        let names =
            std::iter::once("result".to_owned()).chain(arrays.iter().map(|k| format!("a{k}")));
        let ctypes = std::iter::once("R".to_owned()).chain(arrays.iter().map(|k| format!("A{k}")));
        let mut all = Pointers::default();
        for ((name, ctype), is_dense) in names.zip(ctypes).zip(are_dense) {
            let (parameter, statement) =
                source::pointer_parameter(*is_dense, &ctype, &name, name == "result");
            all.parameters.push(parameter);
            all.setup += &statement;
            let _ = writeln!(all.declarations, "        long long o_{name} = 0;");
            all.offsets.push(format!("o_{name}"));
        }
        all
    }

    /// A call of the function of one element; `element` says how the array of an index is read.
    fn call(&self, element: impl Fn(usize) -> String) -> String {
        let values: Vec<_> = self
            .kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                if kind.is_array {
                    format!("(C){}", element(index))
                } else {
                    format!("(C)number{index}")
                }
            })
            .collect();
        format!("(R)one({}, (C)alpha)", values.join(", "))
    }

    /// The kernel for dense arrays of one shape; work-items ask for `parts` packs before they compute the first.
    #[must_use]
    pub fn flat_source(&self, parts: i64) -> String {
        let (text, numbers) = self.head();
        let width = self.pack();
        let (mut parameters, mut declared, mut loads) =
            (String::new(), String::new(), String::new());
        for k in self.arrays() {
            let _ = write!(parameters, ", const A{k}* a{k}");
            let _ = writeln!(declared, "        Pack<A{k}> p{k}[{parts}];");
            let _ = write!(
                loads,
                " p{k}[part] = *(const Pack<A{k}>*)(a{k} + first + part * step);"
            );
        }
        let packed = self.call(|index| format!("p{index}[part].v[j]"));
        let single = self.call(|index| format!("a{index}[i]"));
        format!(
            "{text}
template <typename T> struct alignas(sizeof(T) * {width}) Pack {{ T v[{width}]; }};

extern \"C\" __global__ void elementwise(double alpha{numbers}, R* result{parameters}, unsigned long long count) {{
    const unsigned long long step = (unsigned long long)blockDim.x * {width};
    const unsigned long long first = blockIdx.x * step * {parts} + threadIdx.x * {width};
    if (first + {last} * step + {width} <= count) {{
{declared}        #pragma unroll
        for (int part = 0; part < {parts}; part++) {{{loads} }}
        #pragma unroll
        for (int part = 0; part < {parts}; part++) {{
            Pack<R> r;
            #pragma unroll
            for (int j = 0; j < {width}; j++) r.v[j] = {packed};
            *(Pack<R>*)(result + first + part * step) = r;
        }}
    }} else {{
        for (int part = 0; part < {parts}; part++) {{
            const unsigned long long begin = first + part * step;
            for (unsigned long long i = begin; i < begin + {width} && i < count; i++)
                result[i] = {single};
        }}
    }}
}}
",
            last = parts - 1,
        )
    }

    /// The kernel of processors whose neighbouring work-items are lanes of one vector: they compute neighbouring elements of a row, whose place
    /// every block computes once, as it asks once whether all of its elements are there.
    #[must_use]
    pub fn rows_source(&self, rows: &Rows) -> String {
        let (text, numbers) = self.head();
        let arrays = self.arrays();
        let Pointers {
            parameters,
            setup,
            offsets,
            declarations,
        } = self.pointers(&rows.are_dense);
        let call = self.call(|k| {
            let position = arrays.iter().position(|index| *index == k);
            let repeats = position.is_some_and(|position| rows.repeats[position]);
            let place = if repeats { "" } else { " + i" };
            format!("a{k}[o_a{k}{place}]")
        });
        let (row, chunk) = if rows.is_row_first {
            ("blockIdx.x", "blockIdx.y")
        } else {
            ("blockIdx.y", "blockIdx.x")
        };
        let single = format!("result[o_result + i] = {call};");
        let (before, is_inside, whole) = if rows.streams {
            let before =
                format!(" - (unsigned long long)(result + o_result) % {LINE_BYTES} / sizeof(R)");
            let whole = format!("__builtin_nontemporal_store({call}, result + o_result + i);");
            (before, "(long long)first >= 0 && ", whole)
        } else {
            (String::new(), "", single.clone())
        };
        format!(
            "{text}
extern \"C\" __global__ void elementwise(double alpha{numbers}, {parameters},
                                       unsigned long long width{walk_parameters}) {{
{setup}{declarations}{walked}    const unsigned long long first = (unsigned long long){chunk} * blockDim.x{before};
    const unsigned long long i = first + threadIdx.x;
    if ({is_inside}first + blockDim.x <= width) {{
        {whole}
    }} else if (i < width) {{
        {single}
    }}
}}
",
            parameters = parameters.join(", "),
            walk_parameters = source::walk_parameters("d", rows.rank, offsets.len()),
            walked = source::walk("d", rows.rank, &offsets, row, "unsigned"),
        )
    }

    /// The kernel for arrays with strides.
    #[must_use]
    pub fn strided_source(&self, walk: &Walk) -> String {
        let (text, numbers) = self.head();
        let arrays = self.arrays();
        let parts = walk.ahead;
        let repeats = |k: usize| {
            let position = arrays.iter().position(|index| *index == k);
            position.is_some_and(|position| walk.repeats[position + 1])
        };
        let Pointers {
            parameters,
            setup,
            offsets,
            declarations,
        } = self.pointers(&walk.are_dense);
        let (mut declared, mut loads) = (String::new(), String::new());
        for k in &arrays {
            if repeats(*k) {
                let _ = writeln!(declared, "    A{k} p{k}[{parts}];");
                let _ = writeln!(loads, "        p{k}[part] = a{k}[o_a{k}];");
            } else {
                let _ = writeln!(declared, "    Pack<A{k}> p{k}[{parts}];");
                let _ = writeln!(
                    loads,
                    "        p{k}[part] = *(const Pack<A{k}>*)(a{k} + o_a{k});"
                );
            }
        }
        let call = self.call(|k| {
            let lane = if repeats(k) { "" } else { ".v[j]" };
            format!("p{k}[part]{lane}")
        });
        let pack = walk.pack;
        format!(
            "{text}
template <typename T> struct alignas(sizeof(T) * {pack}) Pack {{ T v[{pack}]; }};

extern \"C\" __global__ void elementwise(double alpha{numbers}, {parameters},
                                       unsigned long long count{walk_parameters}) {{
    const unsigned long long step = (unsigned long long)blockDim.x * {pack};
    const unsigned long long begin = blockIdx.x * step * {parts} + threadIdx.x * {pack};
{setup}{declared}    long long places[{parts}];
    #pragma unroll
    for (int part = 0; part < {parts}; part++) {{
        const unsigned long long index = begin + part * step;
        if (index >= count) break;
{declarations}{walked}{loads}        places[part] = o_result;
    }}
    #pragma unroll
    for (int part = 0; part < {parts}; part++) {{
        if (begin + part * step >= count) return;
        Pack<R> r;
        #pragma unroll
        for (int j = 0; j < {pack}; j++) r.v[j] = {call};
        *(Pack<R>*)(result + places[part]) = r;
    }}
}}
",
            parameters = parameters.join(", "),
            walk_parameters = source::walk_parameters("d", walk.rank, offsets.len()),
            walked = source::walk("d", walk.rank, &offsets, "index", walk.index),
        )
    }
}

/// Functions that expressions use, for results of a dtype.
#[must_use]
pub fn helpers(result: Dtype) -> String {
    let narrow = is_float(result) && result.bits == 16;
    let own = if narrow {
        formulas::NARROW_HELPERS
    } else {
        formulas::WIDE_HELPERS
    };
    format!("{}{own}", formulas::COMMON_HELPERS)
}
