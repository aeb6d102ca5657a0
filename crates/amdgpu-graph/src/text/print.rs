//! Graphs to texts.

use std::fmt::{self, Display, Write as _};

use amdgpu_abi::Dtype;
use amdgpu_array::Dims;
use amdgpu_ops::fused::{Region, Source};
use amdgpu_ops::{FusedRows, Operation, RowChain, RowStage, RowValue, Scalar};

use crate::attributes::{Attributes, Value, attributes_of};
use crate::{Graph, Input, Kind, Layout, Node};

impl Display for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, node) in self.ids().zip(self.nodes()) {
            write!(formatter, "{id} = {}", node.operation_name())?;
            if !node.inputs.is_empty() {
                let inputs: Vec<_> = node.inputs.iter().map(input).collect();
                write!(formatter, "({})", inputs.join(", "))?;
            }
            let options = options(node);
            if !options.is_empty() {
                write!(formatter, " {{{options}}}")?;
            }
            writeln!(formatter, " : {}", typed(node.dtype, &node.shape))?;
        }
        let outputs: Vec<_> = self.outputs().iter().map(ToString::to_string).collect();
        writeln!(formatter, "return {}", outputs.join(", "))
    }
}

fn typed(dtype: Dtype, shape: &[i64]) -> String {
    format!("{}{}", dtype.name().unwrap_or("?"), ints(shape))
}

fn ints(values: &[i64]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", values.join(", "))
}

fn input(input: &Input) -> String {
    match input {
        Input::Node(id) => id.to_string(),
        Input::Number(number, dtype) => self::number(*number, *dtype),
    }
}

fn number(number: Scalar, dtype: Dtype) -> String {
    let dtype_name = dtype.name().unwrap_or("?");
    match number {
        Scalar::Float(value) => format!("{} {dtype_name}", float(value)),
        Scalar::Int(value) => format!("{value} {dtype_name}"),
    }
}

/// With a point, so that it is no integer; the shortest text that gives the same number.
fn float(value: f64) -> String {
    format!("{value:?}")
}

fn options(node: &Node) -> String {
    match &node.kind {
        Kind::Operation(operation) => attributes(&attributes_of(operation)),
        Kind::View(layout) => attributes(&of_layout(layout, false)),
        Kind::Assign(layout) => attributes(&of_layout(layout, true)),
        Kind::Fused(region) => steps(region),
        Kind::Rows(chain) => rows(chain),
        Kind::FusedRows(rows) => fused_rows(rows),
        Kind::Result(index) => format!("index = {index}"),
        Kind::Input(_) | Kind::Constant(_) => String::new(),
    }
}

fn of_layout(layout: &Layout, has_shape: bool) -> Attributes {
    let made = Attributes::new().with("offset", Value::Int(layout.offset_bytes));
    let made = if has_shape {
        made.with("shape", Value::Ints(Dims::from_slice(&layout.shape)))
    } else {
        made
    };
    made.with("strides", Value::Ints(layout.strides.clone()))
}

fn attributes(attributes: &Attributes) -> String {
    let each = attributes.iter().map(|(name, value)| {
        let value = match value {
            Value::Flag(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => float(*value),
            Value::Ints(values) => ints(values),
            Value::Text(text) => format!("{text:?}"),
        };
        format!("{name} = {value}")
    });
    each.collect::<Vec<_>>().join(", ")
}

fn rows(chain: &RowChain) -> String {
    let mut text = String::new();
    if let Some(before) = &chain.before {
        let _ = write!(
            text,
            "before({}) {{{}}} ",
            before.inputs.len(),
            steps(before)
        );
    }
    let norm = Operation::Normalize(chain.norm.clone());
    let _ = write!(
        text,
        "{}({}) {{{}}}",
        norm.name(),
        chain.parameters,
        attributes(&attributes_of(&norm))
    );
    if let Some(after) = &chain.after {
        let _ = write!(text, " after {{{}}}", steps(after));
    }
    if chain.keeps_before {
        text.push_str(" kept");
    }
    text
}

/// The axes of a row, then the stages: `rows(1) steps(i0, i1) {add(i0, i1) float32} sum(v0) float32 kept`.
fn fused_rows(rows: &FusedRows) -> String {
    let mut text = format!("rows({})", rows.row_rank);
    for stage in &rows.stages {
        let given = stage.arguments().iter().map(|value| match value {
            RowValue::Input(index) => format!("i{index}"),
            RowValue::Stage(index) => format!("v{index}"),
        });
        let given = given.collect::<Vec<_>>().join(", ");
        let _ = match stage {
            RowStage::Steps { region, .. } => write!(text, " steps({given}) {{{}}}", steps(region)),
            RowStage::Reduce { reduction, .. } => write!(
                text,
                " {}({given}) {} {}",
                reduction.operation.name(),
                float(reduction.correction),
                reduction.dtype.name().unwrap_or("?")
            ),
        };
    }
    if rows.keeps_axes {
        text.push_str(" kept");
    }
    text
}

fn steps(region: &Region) -> String {
    let mut text = String::new();
    for (place, step) in region.steps.iter().enumerate() {
        let arguments: Vec<_> = step
            .arguments
            .iter()
            .map(|source| match source {
                Source::Input(index) => format!("i{index}"),
                Source::Step(index) => format!("s{index}"),
                Source::Number(value, dtype) => number(*value, *dtype),
            })
            .collect();
        let separator = if place == 0 { "" } else { "; " };
        let alpha = if step.alpha == 0.0 {
            String::new()
        } else {
            format!(" alpha {}", float(step.alpha))
        };
        let _ = write!(
            text,
            "{separator}{}({}){alpha} {}",
            step.operation.name(),
            arguments.join(", "),
            step.dtype.name().unwrap_or("?")
        );
    }
    text
}
