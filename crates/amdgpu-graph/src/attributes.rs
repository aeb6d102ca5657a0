//! Options of operations by name, as texts and builders give them.

mod indexed;
mod trained;

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Dims;
use amdgpu_ops::batch_norm::BatchNormOptions;
use amdgpu_ops::convolve::{Convolve, ConvolveOptions, ConvolvePass};
use amdgpu_ops::matmul::Activation;
use amdgpu_ops::normalize::Normalize;
use amdgpu_ops::operation::{Normalization, Product, Reduction};
use amdgpu_ops::pool::{Direction, Pool, PoolOptions};
use amdgpu_ops::reduce::Reduce;
use amdgpu_ops::scan::{Scan, ScanOptions};
use amdgpu_ops::sort::SortOptions;
use amdgpu_ops::{ImageLayout, Named, Operation, SPATIAL, Sliding};

use crate::{Error, Result};

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Flag(bool),
    Int(i64),
    Float(f64),
    Ints(Dims),
    Text(String),
}

/// Options by name. Options that are not given have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    values: Vec<(String, Value)>,
}

fn refused<T>(message: String) -> Result<T> {
    Err(Error::refused(ErrorCode::InvalidArgument, message))
}

impl Attributes {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.values.push((name.to_owned(), value));
        self
    }

    fn with_if(self, is_wanted: bool, name: &str, value: Value) -> Self {
        if is_wanted {
            self.with(name, value)
        } else {
            self
        }
    }

    fn with_layout(self, layout: ImageLayout) -> Self {
        let is_last = layout == ImageLayout::Nhwc;
        self.with_if(is_last, "layout", Value::Text("NHWC".to_owned()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Takes options out, so that those nobody knows are left.
struct Taken<'a> {
    operation: &'a str,
    left: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl<'a> Taken<'a> {
    fn of(operation: &'a str, attributes: &Attributes) -> Self {
        Self {
            operation,
            left: attributes.values.clone(),
            known: Vec::new(),
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let place = self.left.iter().position(|(known, _)| known == name)?;
        Some(self.left.remove(place).1)
    }

    fn wrong<T>(&self, name: &str, wanted: &str, value: &Value) -> Result<T> {
        refused(format!(
            "{}: {name} is {wanted}, not {value:?}",
            self.operation
        ))
    }

    fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Flag(value)) => Ok(value),
            Some(value) => self.wrong(name, "true or false", &value),
        }
    }

    fn int(&mut self, name: &'static str, default: i64) -> Result<i64> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Int(value)) => Ok(value),
            Some(value) => self.wrong(name, "an integer", &value),
        }
    }

    fn float(&mut self, name: &'static str, default: f64) -> Result<f64> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Float(value)) => Ok(value),
            Some(Value::Int(value)) => Ok(value as f64),
            Some(value) => self.wrong(name, "a number", &value),
        }
    }

    fn ints(&mut self, name: &'static str) -> Result<Option<Dims>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Ints(values)) => Ok(Some(values)),
            Some(Value::Int(value)) => Ok(Some(Dims::from_slice(&[value]))),
            Some(value) => self.wrong(name, "a list of integers", &value),
        }
    }

    /// A number for each of the axes that windows slide along; those that images lack have the default.
    fn along(
        &mut self,
        name: &'static str,
        spatial: usize,
        default: i64,
    ) -> Result<[i64; SPATIAL]> {
        let mut values = [default; SPATIAL];
        let own = &mut values[SPATIAL - spatial..];
        match self.take(name) {
            None => {}
            Some(Value::Int(value)) => own.fill(value),
            Some(Value::Ints(given)) if given.len() == spatial => own.copy_from_slice(&given),
            Some(value) => {
                return self.wrong(name, &format!("an integer or {spatial} of them"), &value);
            }
        }
        Ok(values)
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(value) => self.wrong(name, "a text", &value),
        }
    }

    fn dtype(&mut self, name: &'static str) -> Result<Option<Dtype>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match Dtype::from_name(&text) {
            Some(dtype) => Ok(Some(dtype)),
            None => refused(format!("{}: no dtype is called {text:?}", self.operation)),
        }
    }

    fn sliding(&mut self, spatial: usize) -> Result<Sliding> {
        Ok(Sliding {
            stride: self.along("stride", spatial, 1)?,
            padding: self.along("padding", spatial, 0)?,
            dilation: self.along("dilation", spatial, 1)?,
        })
    }

    fn layout(&mut self) -> Result<ImageLayout> {
        match self.text("layout")?.as_deref() {
            None | Some("NCHW") => Ok(ImageLayout::Nchw),
            Some("NHWC") => Ok(ImageLayout::Nhwc),
            Some(other) => refused(format!(
                "{}: layout is NCHW or NHWC, not {other:?}",
                self.operation
            )),
        }
    }

    fn end<T>(self, made: T) -> Result<T> {
        match self.left.first() {
            None => Ok(made),
            Some((name, _)) if self.known.is_empty() => {
                refused(format!("{} has no options, so no {name}", self.operation))
            }
            Some((name, _)) => refused(format!(
                "{} has no option {name}; there are {}",
                self.operation,
                self.known.join(", ")
            )),
        }
    }
}

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

fn normalization_of(operation: Normalize, taken: &mut Taken<'_>) -> Result<Normalization> {
    let last = taken.ints("normalized_shape")?;
    let are_last = last.is_some();
    let axes = taken.ints("axes")?;
    Ok(Normalization {
        operation,
        axes: last.or(axes).unwrap_or_else(|| Dims::from_slice(&[-1])),
        are_last,
        epsilon: taken.float("eps", operation.default_epsilon())?,
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
        Operation::Reduce(one) => {
            let made = match &one.axes {
                Some(axes) => made.with("axes", Value::Ints(axes.clone())),
                None => made,
            };
            let made = made
                .with_if(one.keeps_axes, "keepdims", Value::Flag(true))
                .with_if(
                    one.correction != 0.0,
                    "correction",
                    Value::Float(one.correction),
                );
            match one.result {
                Some(dtype) => made.with("dtype", text(dtype.name().unwrap_or("?"))),
                None => made,
            }
        }
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
        } => {
            let made = pool_attributes(*operation, options);
            match direction {
                Direction::WithIndices => made.with("direction", text("with_indices")),
                Direction::Gradient => made.with("direction", text("gradient")),
                Direction::IndicesGradient(shape) => made
                    .with("direction", text("indices_gradient"))
                    .with("shape", Value::Ints(shape.clone())),
                Direction::Unpool(shape) => made
                    .with("direction", text("unpool"))
                    .with("shape", Value::Ints(shape.clone())),
            }
        }
        Operation::ConvolveGradient {
            pass,
            options,
            shape,
            is_tf32,
        } => {
            let by = match pass {
                ConvolvePass::WeightGradient => "weight",
                _ => "input",
            };
            convolution_attributes(options, *is_tf32)
                .with("gradient", text(by))
                .with("shape", Value::Ints(shape.clone()))
        }
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

fn normalization_attributes(norm: &Normalization) -> Attributes {
    let name = if norm.are_last {
        "normalized_shape"
    } else {
        "axes"
    };
    let epsilon = norm.operation.default_epsilon();
    Attributes::new()
        .with(name, Value::Ints(norm.axes.clone()))
        .with_if(
            norm.epsilon.to_bits() != epsilon.to_bits(),
            "eps",
            Value::Float(norm.epsilon),
        )
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
