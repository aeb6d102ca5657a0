//! Options of operations that find, read and write elements by their indices.

use amdgpu_array::Dims;
use amdgpu_ops::offsets::IndexedAxis;
use amdgpu_ops::segments::{Join, JoinOptions, ScatterReduce, embedding_options};
use amdgpu_ops::top_k::TopKOptions;
use amdgpu_ops::{Operation, Scatter};

use super::options::{Attributes, Taken, Value, refused};
use crate::Result;

const EMBEDDING_GRADIENT: &str = "embedding_gradient";
const SEGMENT_REDUCE: &str = "segment_reduce";

pub(super) const NAMES: [&str; 8] = [
    "top_k",
    "searchsorted",
    SEGMENT_REDUCE,
    EMBEDDING_GRADIENT,
    "index_add",
    "scatter_reduce",
    "offsets",
    "scatter",
];

/// The operation of a name, if it is one of these.
pub(super) fn operation_of(name: &str, taken: &mut Taken<'_>) -> Result<Option<Operation>> {
    Ok(Some(match name {
        "top_k" => Operation::TopK(TopKOptions {
            k: match optional(taken, "k")? {
                Some(k) => k,
                None => return refused("top_k: k, the number of values, is missing".to_owned()),
            },
            axis: taken.int("axis", -1)?,
            is_largest: taken.flag("largest", true)?,
            thread_limit: None,
        }),
        "searchsorted" => Operation::SearchSorted {
            right: taken.flag("right", false)?,
        },
        SEGMENT_REDUCE => Operation::SegmentReduce {
            count: optional(taken, "count")?,
            options: JoinOptions {
                axis: taken.int("axis", 0)?,
                has_offsets: taken.flag("offsets", false)?,
                ..JoinOptions::new(SEGMENT_REDUCE, join_of(taken)?)
            },
        },
        EMBEDDING_GRADIENT => {
            let rows = taken.int("rows", 0)?;
            let padding = optional(taken, "padding_idx")?;
            let scales = taken.flag("scale_by_frequency", false)?;
            Operation::SegmentReduce {
                options: embedding_options(rows, padding, scales)?,
                count: Some(rows),
            }
        }
        "index_add" => Operation::IndexAdd {
            axis: taken.int("axis", 0)?,
        },
        "scatter_reduce" => Operation::ScatterReduce(ScatterReduce {
            axis: taken.int("axis", 0)?,
            join: join_of(taken)?,
            includes_self: taken.flag("include_self", true)?,
            thread_limit: None,
        }),
        "offsets" => Operation::Offsets(axes_of(taken)?),
        "scatter" => Operation::Scatter {
            shape: taken.ints("shape")?.unwrap_or_default(),
            strides: taken.ints("strides")?.unwrap_or_default(),
            how: match taken.text("how")? {
                None => Scatter::Assign,
                Some(text) => match Scatter::from_name(&text) {
                    Some(known) => known,
                    None => {
                        return refused(format!(
                            "scatter: how is assign, add, multiply, maximum or minimum, not {text:?}"
                        ));
                    }
                },
            },
        },
        _ => return Ok(None),
    }))
}

fn optional(taken: &mut Taken<'_>, name: &'static str) -> Result<Option<i64>> {
    match taken.take(name) {
        None => Ok(None),
        Some(Value::Int(value)) => Ok(Some(value)),
        Some(value) => taken.wrong(name, "an integer", &value),
    }
}

fn join_of(taken: &mut Taken<'_>) -> Result<Join> {
    let text = taken.text("reduce")?;
    let name = text.as_deref().unwrap_or("sum");
    match Join::from_name(name) {
        Some(join) => Ok(join),
        None => refused(format!(
            "{}: reduce is {name:?}; known are {}",
            taken.operation,
            Join::ALL.map(Join::name).join(", ")
        )),
    }
}

/// Extent and stride of each axis; its number in messages is its place where nothing else is given.
fn axes_of(taken: &mut Taken<'_>) -> Result<Vec<IndexedAxis>> {
    let extents = taken.ints("extents")?.unwrap_or_default();
    let strides = taken.ints("strides")?.unwrap_or_default();
    let axes = taken
        .ints("axes")?
        .unwrap_or_else(|| (0..extents.len() as i64).collect());
    if strides.len() != extents.len() || axes.len() != extents.len() {
        return refused(
            "offsets: extents, strides and axes are as many as there are inputs".to_owned(),
        );
    }
    let each = extents.iter().zip(strides.iter()).zip(axes.iter());
    Ok(each
        .map(|((extent, stride), axis)| IndexedAxis {
            axis: *axis,
            extent: *extent,
            stride: *stride,
        })
        .collect())
}

/// Options of an operation, if it is one of these.
pub(super) fn attributes_of(operation: &Operation) -> Option<Attributes> {
    let made = Attributes::new();
    let text = |text: &str| Value::Text(text.to_owned());
    Some(match operation {
        Operation::TopK(options) => made
            .with("k", Value::Int(options.k))
            .with("axis", Value::Int(options.axis))
            .with_if(!options.is_largest, "largest", Value::Flag(false)),
        Operation::SearchSorted { right } => made.with_if(*right, "right", Value::Flag(true)),
        Operation::SegmentReduce { options, count } => segment_attributes(options, *count),
        Operation::IndexAdd { axis } => made.with("axis", Value::Int(*axis)),
        Operation::ScatterReduce(options) => made
            .with("axis", Value::Int(options.axis))
            .with("reduce", text(options.join.name()))
            .with_if(!options.includes_self, "include_self", Value::Flag(false)),
        Operation::Offsets(axes) => {
            let each = |value: fn(&IndexedAxis) -> i64| {
                Value::Ints(axes.iter().map(value).collect::<Dims>())
            };
            made.with("extents", each(|one| one.extent))
                .with("strides", each(|one| one.stride))
                .with("axes", each(|one| one.axis))
        }
        Operation::Scatter {
            shape,
            strides,
            how,
        } => made
            .with("shape", Value::Ints(shape.clone()))
            .with("strides", Value::Ints(strides.clone()))
            .with("how", text(how.name())),
        _ => return None,
    })
}

fn segment_attributes(options: &JoinOptions, count: Option<i64>) -> Attributes {
    let made = Attributes::new();
    let reduce = Value::Text(options.join.name().to_owned());
    if options.name == EMBEDDING_GRADIENT {
        let made = made.with("rows", Value::Int(count.unwrap_or_default()));
        let made = match options.skipped {
            Some(row) => made.with("padding_idx", Value::Int(row)),
            None => made,
        };
        let scales = options.join == Join::Mean;
        return made.with_if(scales, "scale_by_frequency", Value::Flag(true));
    }
    let made = made
        .with("reduce", reduce)
        .with("axis", Value::Int(options.axis))
        .with_if(options.has_offsets, "offsets", Value::Flag(true));
    match count {
        Some(count) => made.with("count", Value::Int(count)),
        None => made,
    }
}
