//! Options of operations by name, as texts and builders give them.

mod indexed;
mod options;
mod trained;

use amdgpu_abi::dtypes::Precision;
use amdgpu_array::Dims;
use amdgpu_ops::batch_norm::BatchNormOptions;
use amdgpu_ops::convolve::{Convolve, ConvolveOptions, ConvolvePass};
use amdgpu_ops::matmul::Activation;
use amdgpu_ops::normalize::Normalize;
use amdgpu_ops::operation::{Product, Reduction};
use amdgpu_ops::pool::{Direction, Pool, PoolOptions};
use amdgpu_ops::reduce::Reduce;
use amdgpu_ops::scan::{Scan, ScanOptions};
use amdgpu_ops::sort::SortOptions;
use amdgpu_ops::{Named, Operation, SPATIAL, Sliding};

use crate::Result;
use options::{Taken, refused};
use trained::{normalization_attributes, normalization_of};

pub use options::{Attributes, Value};

/// The operation of a name with its options.
///
/// # Errors
///
/// `invalid-argument` for names that do not exist, which lists what there is, and for options that the operation does not have.
pub fn operation_of(name: &str, attributes: &Attributes) -> Result<Operation> {
    let mut taken = Taken::of(name, attributes);
    let made = match name {
        "cast" => match taken.dtype("dtype")? {
            Some(dtype) => Operation::Cast { dtype },
            None => return refused("cast: dtype is missing".to_owned()),
        },
        "copy" => Operation::Copy,
        "transpose" => Operation::Transpose {
            axes: taken.ints("axes")?,
        },
        "sort" | "argsort" => Operation::Sort(SortOptions {
            axis: taken.int("axis", -1)?,
            is_descending: taken.flag("descending", false)?,
            gives_places: name == "argsort",
            thread_limit: None,
        }),
        "matmul" => product_of(&mut taken)?,
        "embedding" => Operation::Embedding,
        "gather" => Operation::Gather {
            shape: taken.ints("shape")?.unwrap_or_default(),
            strides: taken.ints("strides")?.unwrap_or_default(),
        },
        "batch_norm" => Operation::BatchNorm {
            options: BatchNormOptions {
                channel_axis: taken.int("channel_axis", 1)?,
                epsilon: taken.float("eps", 1e-5)?,
            },
            has_weight: taken.flag("weight", false)?,
            has_bias: taken.flag("bias", false)?,
        },
        _ => family_of(name, &mut taken)?,
    };
    taken.end(made)
}

/// Operations of the tables.
fn family_of(name: &str, taken: &mut Taken<'_>) -> Result<Operation> {
    if let Some(operation) = Reduce::from_name(name) {
        return Ok(Operation::Reduce(Reduction {
            operation,
            axes: taken.ints("axes")?,
            keeps_axes: taken.flag("keepdims", false)?,
            correction: taken.float("correction", 0.0)?,
            result: taken.dtype("dtype")?,
        }));
    }
    if let Some(operation) = Scan::from_name(name) {
        let options = ScanOptions {
            operation,
            axis: taken.int("axis", -1)?,
            is_exclusive: taken.flag("exclusive", false)?,
            is_reversed: taken.flag("reversed", false)?,
            thread_limit: None,
        };
        return Ok(if taken.flag("indices", false)? {
            Operation::CumulativeBest(options)
        } else {
            Operation::Scan(options)
        });
    }
    if let Some(operation) = Normalize::from_name(name) {
        return Ok(Operation::Normalize(normalization_of(operation, taken)?));
    }
    if let Some(operation) = Pool::from_name(name) {
        return pool_of(operation, taken);
    }
    if let Some(operation) = Convolve::from_name(name) {
        return convolution_of(operation, taken);
    }
    if let Some(operation) = indexed::operation_of(name, taken)? {
        return Ok(operation);
    }
    if let Some(operation) = trained::operation_of(name, taken)? {
        return Ok(operation);
    }
    let Some(operation) = Named::from_name(name) else {
        return refused(format!(
            "there is no operation {name:?}; there are {}",
            names().join(", ")
        ));
    };
    Ok(Operation::Elementwise {
        operation,
        alpha: taken.float("alpha", 0.0)?,
    })
}

fn pool_of(operation: Pool, taken: &mut Taken<'_>) -> Result<Operation> {
    let spatial = operation.spatial;
    let (mut window, mut sliding) = ([1; SPATIAL], Sliding::STILL);
    let mut output = [Some(1); SPATIAL];
    if operation.is_adaptive {
        let wanted = taken.along("output_size", spatial, 1)?;
        output = wanted.map(|extent| (extent > 0).then_some(extent));
    } else {
        window = taken.along("window", spatial, 1)?;
        let stride = taken.along("stride", spatial, 0)?;
        sliding = taken.sliding(spatial)?;
        sliding.stride = if stride == [0; SPATIAL] {
            window
        } else {
            stride.map(|one| one.max(1))
        };
    }
    let options = PoolOptions {
        window,
        sliding,
        ceil_mode: taken.flag("ceil_mode", false)?,
        output,
        layout: taken.layout()?,
        counts_padding: taken.flag("count_include_pad", true)?,
        divisor_override: taken.int("divisor_override", 0)?,
        thread_limit: None,
    };
    let shape = taken.ints("shape")?.unwrap_or_default();
    let direction = match taken.text("direction")?.as_deref() {
        None => return Ok(Operation::Pool { operation, options }),
        Some("with_indices") => Direction::WithIndices,
        Some("gradient") => Direction::Gradient,
        Some("indices_gradient") => Direction::IndicesGradient(shape),
        Some("unpool") => Direction::Unpool(shape),
        Some(other) => {
            return refused(format!(
                "{}: direction is with_indices, gradient, indices_gradient or unpool, not {other:?}",
                operation.name()
            ));
        }
    };
    Ok(Operation::PoolPass {
        operation,
        options,
        direction,
    })
}

fn convolution_of(operation: Convolve, taken: &mut Taken<'_>) -> Result<Operation> {
    let spatial = operation.spatial;
    let options = ConvolveOptions {
        operation,
        sliding: taken.sliding(spatial)?,
        is_same: taken.flag("same", false)?,
        output_padding: taken.along("output_padding", spatial, 0)?,
        groups: taken.int("groups", 1)?,
        layout: taken.layout()?,
        thread_limit: None,
    };
    let is_tf32 = taken.flag("tf32", false)?;
    let shape = taken.ints("shape")?.unwrap_or_default();
    let pass = match taken.text("gradient")?.as_deref() {
        None => return Ok(Operation::Convolve { options, is_tf32 }),
        Some("input") => ConvolvePass::ImageGradient,
        Some("weight") => ConvolvePass::WeightGradient,
        Some(other) => {
            return refused(format!(
                "{}: gradient is input or weight, not {other:?}",
                operation.name()
            ));
        }
    };
    Ok(Operation::ConvolveGradient {
        pass,
        options,
        shape,
        is_tf32,
    })
}

fn product_of(taken: &mut Taken<'_>) -> Result<Operation> {
    let precision = match taken.text("precision")? {
        None => None,
        Some(text) => match Precision::from_name(&text) {
            Some(known) => Some(known),
            None => return refused(format!("matmul: no precision is called {text:?}")),
        },
    };
    let activation = match taken.text("activation")? {
        None => Activation::Identity,
        Some(text) => match Activation::from_name(&text) {
            Some(known) => known,
            None => return refused(format!("matmul: no activation is called {text:?}")),
        },
    };
    Ok(Operation::Matmul(Product {
        precision,
        transpose_a: taken.flag("transpose_a", false)?,
        transpose_b: taken.flag("transpose_b", false)?,
        has_bias: taken.flag("bias", false)?,
        has_residual: taken.flag("residual", false)?,
        activation,
        alpha: taken.float("alpha", 1.0)?,
    }))
}

/// Names of all operations.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let own = [
        "cast",
        "copy",
        "transpose",
        "sort",
        "argsort",
        "matmul",
        "embedding",
        "gather",
        "batch_norm",
    ];
    let mut names: Vec<&'static str> = own
        .into_iter()
        .chain(Reduce::ALL.iter().map(|one| one.name()))
        .chain(Scan::ALL.iter().map(|one| one.name()))
        .chain(Normalize::ALL.iter().map(|one| one.name()))
        .chain(indexed::NAMES)
        .chain(trained::names())
        .chain(Pool::all().map(Pool::name))
        .chain(Convolve::all().map(Convolve::name))
        .chain(Named::names())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Options of an operation that are not the defaults, as [`operation_of`] takes them.
#[must_use]
pub fn attributes_of(operation: &Operation) -> Attributes {
    let made = Attributes::new();
    let text = |text: &str| Value::Text(text.to_owned());
    match operation {
        Operation::Elementwise { alpha, .. } => {
            made.with_if(*alpha != 0.0, "alpha", Value::Float(*alpha))
        }
        Operation::Cast { dtype } => made.with("dtype", text(dtype.name().unwrap_or("?"))),
        Operation::Transpose { axes: Some(axes) } => made.with("axes", Value::Ints(axes.clone())),
        Operation::Copy | Operation::Embedding | Operation::Transpose { axes: None } => made,
        Operation::Gather { shape, strides } => made
            .with("shape", Value::Ints(shape.clone()))
            .with("strides", Value::Ints(strides.clone())),
        Operation::Reduce(one) => reduction_attributes(one),
        Operation::Scan(options) => made
            .with("axis", Value::Int(options.axis))
            .with_if(options.is_exclusive, "exclusive", Value::Flag(true))
            .with_if(options.is_reversed, "reversed", Value::Flag(true)),
        Operation::CumulativeBest(options) => made
            .with("axis", Value::Int(options.axis))
            .with("indices", Value::Flag(true)),
        Operation::Sort(options) => made.with("axis", Value::Int(options.axis)).with_if(
            options.is_descending,
            "descending",
            Value::Flag(true),
        ),
        Operation::Normalize(norm) => normalization_attributes(norm),
        Operation::Matmul(product) => product_attributes(product),
        Operation::Convolve { options, is_tf32 } => convolution_attributes(options, *is_tf32),
        Operation::Pool { operation, options } => pool_attributes(*operation, options),
        Operation::PoolPass {
            operation,
            options,
            direction,
        } => direction_attributes(pool_attributes(*operation, options), direction),
        Operation::ConvolveGradient {
            pass,
            options,
            shape,
            is_tf32,
        } => convolution_attributes(options, *is_tf32)
            .with("gradient", text(gradient_name(*pass)))
            .with("shape", Value::Ints(shape.clone())),
        Operation::BatchNorm {
            options,
            has_weight,
            has_bias,
        } => made
            .with("channel_axis", Value::Int(options.channel_axis))
            .with("eps", Value::Float(options.epsilon))
            .with_if(*has_weight, "weight", Value::Flag(true))
            .with_if(*has_bias, "bias", Value::Flag(true)),
        _ => indexed::attributes_of(operation).unwrap_or_else(|| trained::attributes_of(operation)),
    }
}

fn reduction_attributes(one: &Reduction) -> Attributes {
    let made = match &one.axes {
        Some(axes) => Attributes::new().with("axes", Value::Ints(axes.clone())),
        None => Attributes::new(),
    };
    let made = made
        .with_if(one.keeps_axes, "keepdims", Value::Flag(true))
        .with_if(
            one.correction != 0.0,
            "correction",
            Value::Float(one.correction),
        );
    match one.result {
        Some(dtype) => made.with("dtype", Value::Text(dtype.name().unwrap_or("?").to_owned())),
        None => made,
    }
}

fn direction_attributes(made: Attributes, direction: &Direction) -> Attributes {
    let (name, shape) = match direction {
        Direction::WithIndices => ("with_indices", None),
        Direction::Gradient => ("gradient", None),
        Direction::IndicesGradient(shape) => ("indices_gradient", Some(shape)),
        Direction::Unpool(shape) => ("unpool", Some(shape)),
    };
    let made = made.with("direction", Value::Text(name.to_owned()));
    match shape {
        Some(shape) => made.with("shape", Value::Ints(shape.clone())),
        None => made,
    }
}

/// What a gradient of a convolution is by.
fn gradient_name(pass: ConvolvePass) -> &'static str {
    match pass {
        ConvolvePass::WeightGradient => "weight",
        _ => "input",
    }
}

fn product_attributes(product: &Product) -> Attributes {
    let text = |text: &str| Value::Text(text.to_owned());
    let made = match product.precision {
        Some(precision) => Attributes::new().with("precision", text(precision.name())),
        None => Attributes::new(),
    };
    made.with_if(product.transpose_a, "transpose_a", Value::Flag(true))
        .with_if(product.transpose_b, "transpose_b", Value::Flag(true))
        .with_if(product.has_bias, "bias", Value::Flag(true))
        .with_if(product.has_residual, "residual", Value::Flag(true))
        .with_if(
            product.activation != Activation::Identity,
            "activation",
            text(product.activation.name()),
        )
        .with_if(
            product.alpha.to_bits() != 1.0_f64.to_bits(),
            "alpha",
            Value::Float(product.alpha),
        )
}

/// The values for the axes that windows slide along.
fn own(values: [i64; SPATIAL], spatial: usize) -> Value {
    Value::Ints(Dims::from_slice(&values[SPATIAL - spatial..]))
}

fn convolution_attributes(options: &ConvolveOptions, is_tf32: bool) -> Attributes {
    let spatial = options.operation.spatial;
    sliding_attributes(Attributes::new(), options.sliding, spatial)
        .with_if(options.is_same, "same", Value::Flag(true))
        .with_if(
            options.output_padding != [0; SPATIAL],
            "output_padding",
            own(options.output_padding, spatial),
        )
        .with_if(options.groups != 1, "groups", Value::Int(options.groups))
        .with_if(is_tf32, "tf32", Value::Flag(true))
        .with_layout(options.layout)
}

fn pool_attributes(operation: Pool, options: &PoolOptions) -> Attributes {
    let spatial = operation.spatial;
    let made = if operation.is_adaptive {
        let wanted = options.output.map(|extent| extent.unwrap_or(0));
        Attributes::new().with("output_size", own(wanted, spatial))
    } else {
        let made = Attributes::new().with("window", own(options.window, spatial));
        sliding_attributes(made, options.sliding, spatial)
    };
    made.with_if(options.ceil_mode, "ceil_mode", Value::Flag(true))
        .with_if(
            !options.counts_padding,
            "count_include_pad",
            Value::Flag(false),
        )
        .with_if(
            options.divisor_override != 0,
            "divisor_override",
            Value::Int(options.divisor_override),
        )
        .with_layout(options.layout)
}

fn sliding_attributes(made: Attributes, sliding: Sliding, spatial: usize) -> Attributes {
    made.with("stride", own(sliding.stride, spatial))
        .with_if(
            sliding.padding != [0; SPATIAL],
            "padding",
            own(sliding.padding, spatial),
        )
        .with_if(
            sliding.dilation != [1; SPATIAL],
            "dilation",
            own(sliding.dilation, spatial),
        )
}
