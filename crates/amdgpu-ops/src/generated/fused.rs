//! The text of elementwise steps that one kernel computes.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;

use super::elementwise::VALUES;
use super::formulas;
use super::source::c_type;
use crate::Scalar;
use crate::fused::region::{Region, Source};

/// A function for each step, and the statements that call them and return the last value; `common` is the dtype of inputs and values.
#[must_use]
pub fn steps(region: &Region, common: Dtype) -> (String, String) {
    steps_named("step", region, common, &mut Vec::new())
}

/// As [`steps`], with functions whose names begin with `prefix`; `own` has the helpers that the source has already.
pub fn steps_named(
    prefix: &str,
    region: &Region,
    common: Dtype,
    own: &mut Vec<&'static str>,
) -> (String, String) {
    let computed = compute_type(common);
    let (mut functions, mut text) = (String::new(), String::new());
    for (place, step) in region.steps.iter().enumerate() {
        let name = region.computed_step(step, common).name();
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
            "__device__ inline {returned} {prefix}{place}({}, C alpha) {{ return {}; }}",
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
            "{prefix}{place}({}, (C){})",
            arguments.join(", "),
            literal(Scalar::Float(step.alpha), Dtype::F64)
        );
        // An array of a narrower dtype would have rounded the value, or kept its low bits.
        let (kind, rounded) = match (returned, step.dtype == computed) {
            ("bool", _) => ("bool", call),
            (_, true) => ("C", call),
            (_, false) => ("C", format!("(C)({}){call}", c_type(step.dtype))),
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
