//! The text of elementwise steps that one kernel computes.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::is_float;

use super::elementwise::VALUES;
use super::formulas;
use crate::Scalar;
use crate::fused::region::{Region, Source};

/// A function for each step, and the statements that call them and return the last value.
#[must_use]
pub fn steps(region: &Region, computed: Dtype) -> (String, String) {
    let (mut functions, mut text) = (String::new(), String::new());
    let mut own: Vec<&str> = Vec::new();
    for (place, step) in region.steps.iter().enumerate() {
        let common = if step.operation.inputs().is_empty() {
            step.dtype
        } else {
            computed
        };
        let name = step.operation.computed_as(common).name();
        let helpers = formulas::own_helpers(name);
        if !own.contains(&helpers) {
            own.push(helpers);
            functions += helpers;
        }
        let returned = if formulas::is_predicate(name) {
            "bool"
        } else {
            "C"
        };
        let parameters: Vec<_> = VALUES[..step.arguments.len()]
            .iter()
            .map(|name| format!("C {name}"))
            .collect();
        let _ = writeln!(
            functions,
            "__device__ inline {returned} step{place}({}, C alpha) {{ return {}; }}",
            parameters.join(", "),
            formulas::formula(name, computed).unwrap_or("x"),
        );
        let arguments: Vec<_> = step
            .arguments
            .iter()
            .map(|source| match source {
                Source::Input(index) => VALUES[*index].to_owned(),
                Source::Step(index) => format!("(C)t{index}"),
                Source::Number(number, dtype) => format!("(C){}", literal(*number, *dtype)),
            })
            .collect();
        let call = format!(
            "step{place}({}, (C){})",
            arguments.join(", "),
            literal(Scalar::Float(step.alpha), Dtype::F64)
        );
        // A value that an array of a narrow dtype would have rounded.
        let narrow = is_float(step.dtype) && step.dtype.bits == 16;
        let (kind, rounded) = match (returned, narrow) {
            ("bool", _) => ("bool", call),
            (_, true) => ("C", format!("(C)(R){call}")),
            (_, false) => ("C", call),
        };
        let _ = write!(text, "const {kind} t{place} = {rounded}; ");
    }
    let _ = write!(text, "return t{};", region.steps.len() - 1);
    (functions, text)
}

/// A number as it is written in a source, converted to its dtype first.
fn literal(number: Scalar, dtype: Dtype) -> String {
    match number.for_dtype(dtype) {
        Scalar::Float(value) if value.is_nan() => "(0.0 / 0.0)".to_owned(),
        Scalar::Float(value) if value.is_infinite() => {
            format!("({}1.0 / 0.0)", if value < 0.0 { "-" } else { "" })
        }
        // 17 digits tell every float64 from every other.
        Scalar::Float(value) => format!("({value:.16e})"),
        Scalar::Int(value) => format!("({value}LL)"),
    }
}
