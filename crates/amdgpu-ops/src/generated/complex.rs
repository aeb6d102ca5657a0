//! The text of elementwise kernels of complex numbers: one for each operation, combination of dtypes and rank.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::ops::ComplexResult;
use amdgpu_abi::promotion::{complex_part, is_complex};
use amdgpu_matrix::Complex;

use super::elementwise::Kind;
use super::{complex_math, source};

/// What the text of a kernel depends on.
#[derive(Clone, Debug)]
pub struct ComplexText<'a> {
    pub operation: Complex,
    /// Of the inputs; numbers take no part in the walk.
    pub kinds: &'a [Kind],
    pub result: Dtype,
    /// The complex dtype that is computed in.
    pub computed: Dtype,
    /// For the result and each array: whether it is dense, so that the launch takes a pointer.
    pub are_dense: &'a [bool],
    /// Axes that are walked; 0 where all arrays are dense and of one shape.
    pub rank: usize,
    /// Type of indices.
    pub index: &'static str,
}

impl ComplexText<'_> {
    fn head(&self) -> String {
        let part = complex_part(self.computed);
        let mut text = source::types(&[("C", part), ("R", complex_part(self.result))]);
        for (place, kind) in self.kinds.iter().enumerate() {
            let ctype = source::c_type(complex_part(kind.dtype));
            let _ = writeln!(text, "typedef {ctype} A{place};");
        }
        text += source::functions(part);
        text += complex_math::BASIC;
        if self.operation.row().is_wide {
            text += complex_math::WIDE;
        }
        let values: Vec<_> = ["x", "y", "z"][..self.kinds.len()]
            .iter()
            .map(|name| format!("Z {name}"))
            .collect();
        let returned = match self.operation.row().result {
            ComplexResult::Complex => "Z",
            ComplexResult::Real => "C",
            ComplexResult::Bool => "bool",
        };
        let _ = writeln!(
            text,
            "__device__ inline {returned} one({}) {{ return {}; }}",
            values.join(", "),
            self.operation.row().hip
        );
        text
    }

    fn value(&self, place: usize) -> String {
        let kind = self.kinds[place];
        if !kind.is_array {
            let imaginary = if is_complex(kind.dtype) {
                format!("(C)imaginary{place}")
            } else {
                "(C)0".to_owned()
            };
            return format!("z_of((C)number{place}, {imaginary})");
        }
        if is_complex(kind.dtype) {
            return format!("z_of((C)a{place}[2 * o_a{place}], (C)a{place}[2 * o_a{place} + 1])");
        }
        format!("z_of((C)a{place}[o_a{place}], (C)0)")
    }

    /// The kernel.
    #[must_use]
    pub fn source(&self) -> String {
        let arrays: Vec<usize> = (0..self.kinds.len())
            .filter(|place| self.kinds[*place].is_array)
            .collect();
        let mut parameters = String::new();
        for (place, kind) in self.kinds.iter().enumerate() {
            if !kind.is_array {
                let ctype = source::number_type(complex_part(kind.dtype));
                let _ = write!(parameters, "{ctype} number{place}, ");
                if is_complex(kind.dtype) {
                    let _ = write!(parameters, "{ctype} imaginary{place}, ");
                }
            }
        }
        let names =
            std::iter::once("result".to_owned()).chain(arrays.iter().map(|k| format!("a{k}")));
        let ctypes = std::iter::once("R".to_owned()).chain(arrays.iter().map(|k| format!("A{k}")));
        let (mut setup, mut offsets) = (String::new(), Vec::new());
        for ((name, ctype), is_dense) in names.zip(ctypes).zip(self.are_dense) {
            let (parameter, statement) =
                source::pointer_parameter(*is_dense, &ctype, &name, name == "result");
            let _ = write!(parameters, "{parameter}, ");
            setup += &statement;
            offsets.push(format!("o_{name}"));
        }
        let mut places = String::new();
        for offset in &offsets {
            let first = if self.rank == 0 { "(long long)i" } else { "0" };
            let _ = writeln!(places, "    long long {offset} = {first};");
        }
        let mut walked = String::new();
        if self.rank > 0 {
            walked = source::walk("d", self.rank, &offsets, "i", self.index);
            parameters += "unsigned long long count";
            parameters += &source::walk_parameters("d", self.rank, offsets.len());
        } else {
            parameters += "unsigned long long count";
        }
        let values: Vec<_> = (0..self.kinds.len())
            .map(|place| self.value(place))
            .collect();
        let store = if is_complex(self.result) {
            "    result[2 * o_result] = (R)made.re;\n    result[2 * o_result + 1] = (R)made.im;\n"
        } else {
            "    result[o_result] = (R)made;\n"
        };
        format!(
            r#"{head}
extern "C" __global__ void complex_elementwise({parameters}) {{
{setup}    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{places}{walked}    const auto made = one({values});
{store}}}
"#,
            head = self.head(),
            values = values.join(", "),
        )
    }
}
