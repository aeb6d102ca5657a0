//! The text of generated matrix multiplications: operands are read where and as they lie, and what follows the sums is part of the kernel.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::ops::ActivationRow;
use amdgpu_abi::promotion::is_float;

use super::elementwise::{Body, helpers};
use super::tiled::Tiled;
use super::{formulas, source};

/// Memory that a kernel reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// `a`, `b`, `out`, `bias`, `residual` or `held`.
    pub name: &'static str,
    pub dtype: Dtype,
    /// The launch takes a pointer, and an address otherwise.
    pub is_dense: bool,
}

/// What the text of a kernel depends on.
#[derive(Clone, Debug)]
pub struct Signature<'a> {
    /// `a`, `b` and `out`, then what is combined with the sums.
    pub memory: &'a [Memory],
    pub sums: Dtype,
    /// Operands are rounded to it first.
    pub rounding: Option<Dtype>,
    pub activation: &'static str,
    /// Axes of the batch.
    pub rank: usize,
    /// Neighbours in memory of `a` are neighbours along k.
    pub is_a_inner: bool,
    /// The same of `b`.
    pub is_b_inner: bool,
}

impl Signature<'_> {
    fn has(&self, name: &str) -> bool {
        self.memory.iter().any(|one| one.name == name)
    }

    fn result(&self) -> Dtype {
        let out = self.memory.iter().find(|one| one.name == "out");
        out.map_or(self.sums, |one| one.dtype)
    }

    /// The pieces of the tiled kernel.
    #[must_use]
    pub fn tiled(&self) -> Tiled {
        let wide = if is_float(self.sums) {
            "double"
        } else {
            "long long"
        };
        let (mut parameters, mut setup, mut strides) =
            (String::new(), String::new(), String::new());
        let mut offsets = Vec::new();
        for one in self.memory {
            let ctype = source::c_type(one.dtype);
            let (parameter, statement) =
                source::pointer_parameter(one.is_dense, ctype, one.name, one.name == "out");
            let _ = write!(parameters, ", {parameter}");
            let _ = write!(
                strides,
                ", long long {name}_row, long long {name}_column",
                name = one.name
            );
            setup += &statement;
            offsets.push(format!("{}_first", one.name));
        }
        for offset in &offsets {
            let _ = writeln!(setup, "    long long {offset} = 0;");
        }
        setup += &source::walk("s", self.rank, &offsets, "batch", "unsigned long long");
        let walk = source::walk_parameters("s", self.rank, offsets.len());
        let _ = write!(parameters, "{strides}, {wide} alpha, {wide} beta{walk}");
        let rounded = self.rounding.map_or(String::new(), |dtype| {
            format!("({})(S)", source::c_type(dtype))
        });
        Tiled {
            head: self.head(),
            parameters,
            setup,
            left: format!("{rounded}{}", element("a", "row", "inner")),
            right: format!("{rounded}{}", element("b", "inner", "column")),
            store: self.store(),
            is_left_inner: self.is_a_inner,
            is_right_inner: self.is_b_inner,
        }
    }

    fn head(&self) -> String {
        let result = self.result();
        let mut text = source::types(&[("S", self.sums), ("C", self.sums), ("R", result)]);
        text += source::functions(self.sums);
        if is_float(self.sums) {
            text += &helpers(result);
        }
        let _ = writeln!(
            text,
            "__device__ inline C activated(C x) {{ const C alpha = {}; return {}; }}",
            slope(self.activation),
            formulas::formula(self.activation, self.sums).unwrap_or("x"),
        );
        text
    }

    fn store(&self) -> String {
        let mut steps = vec!["C sum = (C)alpha * value;".to_owned()];
        if self.has("held") {
            let held = element("held", "row", "column");
            steps.push(format!(
                "const C old = (C){held}; sum = (C)beta * old + sum;"
            ));
        }
        for name in ["bias", "residual"] {
            if self.has(name) {
                steps.push(format!(
                    "sum = sum + (C){};",
                    element(name, "row", "column")
                ));
            }
        }
        let out = element("out", "row", "column");
        steps.push(format!("{out} = (R)activated(sum);"));
        steps.join("\n                ")
    }
}

/// An element of a matrix, as an expression.
fn element(name: &str, row: &str, column: &str) -> String {
    format!(
        "{name}[{name}_first + (long long){row} * {name}_row + (long long){column} * {name}_column]"
    )
}

/// The parameter of an activation with its default, as a float32; 1 where there is none.
fn slope(activation: &str) -> String {
    let row = ActivationRow::of_name(activation).filter(|row| !row.parameters.is_empty());
    match row.map(|row| row.default_of(0)) {
        Some(value) if value.to_bits() != 1.0_f64.to_bits() => format!("(C){value}f"),
        _ => "(C)1".to_owned(),
    }
}

/// What follows sums that another kernel left, as an elementwise kernel of the sums, then of what the result held and beta, of the bias
/// and of the residual, as far as there are any.
#[must_use]
pub fn after_sums(activation: &'static str, computed: Dtype, has_held: bool, added: usize) -> Body {
    let mut steps = vec!["C sum = alpha * x;".to_owned()];
    let mut names = ["y", "z", "w", "v", "u"].into_iter();
    let mut next = || names.next().unwrap_or("u");
    if has_held {
        let (held, beta) = (next(), next());
        steps.push(format!("sum = {held} * {beta} + sum;"));
    }
    for _ in 0..added {
        steps.push(format!("sum = sum + {};", next()));
    }
    steps.push(format!(
        "{{ const C x = sum; const C alpha = {}; return {}; }}",
        slope(activation),
        formulas::formula(activation, computed).unwrap_or("x"),
    ));
    // The operands that the kernel takes tell apart what else the text depends on.
    Body::Statements {
        name: format!("{activation} of a product"),
        text: steps.join(" "),
    }
}
