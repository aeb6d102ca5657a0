//! Draws: what is drawn, checked and brought into the form that the CPU and kernels take.

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_matrix::{Described, Distribution, Matrix, RandomOptions};
use smallvec::SmallVec;

use super::Generator;
use super::integer_range::integer_range;
use super::parameters::{Range, check, gapless, spread, value_of};
use super::stream::{BLOCK_WORDS, Stream};
use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::elementwise::{Elementwise, elementwise};
use crate::generated::random::{Kind, random_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Scalar, Target};
use crate::{Arg, DeviceOps, Error, KernelKey, Result, cast, trace};

const NAME: &str = "random";
/// Blocks of words that a work-item makes numbers of, one after the other, where there are many: what they share is computed once.
const ROUNDS: i64 = 4;
const MANY_ITEMS: i64 = 1 << 20;

/// What is drawn. Parameters are numbers or arrays that broadcast to the shape of the result.
#[derive(Clone, Debug)]
pub enum Draw {
    /// `low + (high - low) * [0, 1)`.
    Uniform {
        low: Operand,
        high: Operand,
    },
    Normal {
        mean: Operand,
        deviation: Operand,
    },
    Exponential {
        scale: Operand,
    },
    /// Whole numbers from `low` on below `high`, all equally likely.
    Integers {
        low: i128,
        high: i128,
    },
    /// Whether something of this chance happens.
    Bernoulli {
        chance: Operand,
    },
    Gamma {
        shape: Operand,
        scale: Operand,
    },
    Beta {
        a: Operand,
        b: Operand,
    },
    Poisson {
        mean: Operand,
    },
    Binomial {
        trials: Operand,
        chance: Operand,
    },
}

impl Draw {
    /// NumPy's name of the method.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform { .. } => "uniform",
            Self::Normal { .. } => "normal",
            Self::Exponential { .. } => "exponential",
            Self::Integers { .. } => "integers",
            Self::Bernoulli { .. } => "bernoulli",
            Self::Gamma { .. } => "gamma",
            Self::Beta { .. } => "beta",
            Self::Poisson { .. } => "poisson",
            Self::Binomial { .. } => "binomial",
        }
    }

    /// Parameters with their names and what they may be.
    fn parameters(&self) -> SmallVec<[(&'static str, &Operand, Range); 2]> {
        let mut made = SmallVec::new();
        match self {
            Self::Uniform { low, high } => {
                made.push(("low", low, Range::Finite));
                made.push(("high", high, Range::Finite));
            }
            Self::Normal { mean, deviation } => {
                made.push(("loc", mean, Range::Finite));
                made.push(("scale", deviation, Range::NotNegative));
            }
            Self::Exponential { scale } => made.push(("scale", scale, Range::NotNegative)),
            Self::Integers { .. } => {}
            Self::Bernoulli { chance } => made.push(("p", chance, Range::Chance)),
            Self::Gamma { shape, scale } => {
                made.push(("shape", shape, Range::NotNegative));
                made.push(("scale", scale, Range::NotNegative));
            }
            Self::Beta { a, b } => {
                made.push(("a", a, Range::Positive));
                made.push(("b", b, Range::Positive));
            }
            Self::Poisson { mean } => made.push(("lam", mean, Range::Mean)),
            Self::Binomial { trials, chance } => {
                made.push(("n", trials, Range::Count));
                made.push(("p", chance, Range::Chance));
            }
        }
        made
    }

    /// The shape of the result where none is given: that to which the parameters broadcast.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where they do not.
    pub fn shape(&self) -> Result<amdgpu_array::Dims> {
        let parameters = self.parameters();
        let named: SmallVec<[(&str, &Operand); 2]> = parameters
            .iter()
            .map(|(name, operand, _)| (*name, *operand))
            .collect();
        if named.is_empty() {
            return Ok(amdgpu_array::Dims::new());
        }
        crate::broadcast(self.name(), &named)
    }

    const fn distribution(&self) -> Distribution {
        match self {
            Self::Uniform { .. } => Distribution::Uniform,
            Self::Normal { .. } => Distribution::Normal,
            Self::Exponential { .. } => Distribution::Exponential,
            Self::Integers { .. } => Distribution::Integers,
            Self::Bernoulli { .. } => Distribution::Bernoulli,
            Self::Gamma { .. } => Distribution::Gamma,
            Self::Beta { .. } => Distribution::Beta,
            Self::Poisson { .. } => Distribution::Poisson,
            Self::Binomial { .. } => Distribution::Binomial,
        }
    }

    /// Words of the stream that an element takes.
    fn words_each(&self, dtype: Dtype) -> u64 {
        match self {
            Self::Gamma { .. } | Self::Poisson { .. } | Self::Binomial { .. } => BLOCK_WORDS,
            Self::Beta { .. } => 2 * BLOCK_WORDS,
            Self::Bernoulli { .. } => 1,
            Self::Integers { low, high } => words_of_span(high - low),
            _ if dtype == Dtype::F64 => 2,
            _ => 1,
        }
    }

    fn check_dtype(&self, dtype: Dtype) -> Result<()> {
        let (fits, wanted) = match self {
            Self::Integers { .. } => (
                !is_float(dtype) && amdgpu_abi::promotion::TENSOR_DTYPES.contains(&dtype),
                "an integer or bool",
            ),
            Self::Bernoulli { .. } => (dtype == Dtype::BOOL, "bool"),
            Self::Poisson { .. } | Self::Binomial { .. } => (dtype == Dtype::I64, "int64"),
            _ => (is_float(dtype), "float16, bfloat16, float32 or float64"),
        };
        if fits {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{}: dtype {} cannot be drawn; it must be {wanted}",
                self.name(),
                dtype.name().unwrap_or("?")
            ),
        ))
    }

    /// Refuses bounds of uniform numbers whose distance no float holds.
    fn check_extent(&self) -> Result<()> {
        let Self::Uniform { low, high } = self else {
            return Ok(());
        };
        let extent = value_of(high.number) - value_of(low.number);
        if !low.is_number() || !high.is_number() || extent.is_finite() {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("uniform: high - low is {extent}; it must be finite"),
        ))
    }

    /// Refuses bounds of integers that leave nothing, or that the dtype does not hold.
    fn check_bounds(&self, dtype: Dtype) -> Result<()> {
        let Self::Integers { low, high } = self else {
            return Ok(());
        };
        let refuse = |message: String| Err(Error::refused(ErrorCode::InvalidArgument, message));
        if low >= high {
            return refuse(format!(
                "integers: low is {low} and high {high}; low must be below high, or up to it with endpoint=True"
            ));
        }
        let (first, last) = integer_range(dtype);
        if *low < first || *high - 1 > last {
            return refuse(format!(
                "integers: [{low}, {high}) is outside of {}, which holds {first} to {last}; pass a wider dtype",
                dtype.name().unwrap_or("?")
            ));
        }
        Ok(())
    }
}

/// Words that an integer takes out of so many.
pub(crate) fn words_of_span(span: i128) -> u64 {
    if span > 1 << 32 { 2 } else { 1 }
}

/// Random numbers of a shape and dtype from the stream of a generator, in `out` or a new array. `None` for the shape is that of the parameters.
///
/// # Errors
///
/// `invalid-argument` for parameters outside of their range, `unsupported-dtype`, `shape-mismatch`; what does not fit about `out`.
pub fn draw(
    ops: &DeviceOps,
    generator: &Generator,
    what: &Draw,
    shape: Option<&[i64]>,
    dtype: Dtype,
    out: Option<&Array>,
) -> Result<Array> {
    trace::check_repeatable("a draw of random numbers")?;
    what.check_dtype(dtype)?;
    what.check_bounds(dtype)?;
    for (name, parameter, range) in what.parameters() {
        check(ops, what.name(), name, parameter, range)?;
    }
    what.check_extent()?;
    let shape = result_shape(what, shape, out)?;
    let target = Target {
        operation: what.name(),
        device: ops.device(),
        out,
        inputs: &[],
        may_alias: true,
        is_dense: false,
    };
    let target = target.resolve(&shape, dtype)?;
    let count = amdgpu_array::element_count(&shape) as u64;
    let stream = generator.take(what.words_each(dtype), count);
    if count == 0 {
        return target.into_array();
    }
    let made = target.clone().into_array()?;
    if target.is_dense() {
        fill(ops, what, stream, &made)?;
        return Ok(made);
    }
    let dense = Array::empty(ops.device(), shape, dtype, amdgpu_hal::MemoryKind::Device)?;
    fill(ops, what, stream, &dense)?;
    let axes: Vec<i64> = (0..target.rank() as i64).collect();
    crate::transpose(ops, &Operand::of_array(dense), Some(&axes), Some(&made))
}

fn result_shape(
    what: &Draw,
    shape: Option<&[i64]>,
    out: Option<&Array>,
) -> Result<amdgpu_array::Dims> {
    let natural = what.shape()?;
    let Some(given) = shape.or_else(|| out.map(|out| out.shape.as_slice())) else {
        return Ok(natural);
    };
    if let Some(extent) = given.iter().find(|extent| **extent < 0) {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{}: the size {given:?} has the extent {extent}; extents are not negative",
                what.name()
            ),
        ));
    }
    let joint = amdgpu_array::broadcast_shapes([given, natural.as_slice()].into_iter());
    if joint.as_deref() != Some(given) {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{}: parameters of shape {:?} do not broadcast to the size {given:?}",
                what.name(),
                natural.as_slice()
            ),
        ));
    }
    Ok(amdgpu_array::Dims::from_slice(given))
}

/// Draws into dense memory.
fn fill(ops: &DeviceOps, what: &Draw, stream: Stream, out: &Array) -> Result<()> {
    let number = |operand: &Operand| operand.is_number().then(|| value_of(operand.number));
    match what {
        Draw::Uniform { low, high } => {
            if let (Some(low), Some(high)) = (number(low), number(high)) {
                return plain(ops, what, stream, (low, high - low), out);
            }
            let bounds = [wide(ops, high)?, wide(ops, low)?];
            let extent = elementwise(ops, Elementwise::Subtract, &bounds, None, 0.0)?;
            plain(ops, what, stream, (0.0, 1.0), out)?;
            relocate(ops, out, &Operand::of_array(extent), Some(low))
        }
        Draw::Normal { mean, deviation } => {
            if let (Some(mean), Some(deviation)) = (number(mean), number(deviation)) {
                return plain(ops, what, stream, (mean, deviation), out);
            }
            plain(ops, what, stream, (0.0, 1.0), out)?;
            relocate(ops, out, deviation, Some(mean))
        }
        Draw::Exponential { scale } => {
            if let Some(scale) = number(scale) {
                return plain(ops, what, stream, (0.0, scale), out);
            }
            plain(ops, what, stream, (0.0, 1.0), out)?;
            relocate(ops, out, scale, None)
        }
        Draw::Integers { low, high } => {
            let mut options = options(what.distribution(), stream);
            options.low = *low as u64;
            options.span = (high - low) as u64;
            run(ops, &options, &[], out)
        }
        Draw::Bernoulli { chance } => {
            let mut options = options(what.distribution(), stream);
            if let Some(chance) = number(chance) {
                options.a = chance;
                return run(ops, &options, &[], out);
            }
            run(ops, &options, &[spread(ops, chance, &out.shape)?], out)
        }
        _ => {
            let inputs = what
                .parameters()
                .iter()
                .map(|(_, parameter, _)| spread(ops, parameter, &out.shape))
                .collect::<Result<SmallVec<[Operand; 2]>>>()?;
            run(ops, &options(what.distribution(), stream), &inputs, out)
        }
    }
}

fn options(distribution: Distribution, stream: Stream) -> RandomOptions {
    RandomOptions {
        distribution,
        key: stream.key,
        block: stream.position / BLOCK_WORDS,
        high: stream.high(),
        skip: (stream.position % BLOCK_WORDS) as u32,
        a: 0.0,
        b: 1.0,
        low: 0,
        span: 0,
    }
}

fn plain(
    ops: &DeviceOps,
    what: &Draw,
    stream: Stream,
    (a, b): (f64, f64),
    out: &Array,
) -> Result<()> {
    let options = RandomOptions {
        a,
        b,
        ..options(what.distribution(), stream)
    };
    run(ops, &options, &[], out)
}

fn wide(ops: &DeviceOps, parameter: &Operand) -> Result<Operand> {
    if parameter.is_number() {
        let value = Scalar::Float(value_of(parameter.number));
        return Ok(Operand::of_number(value, Dtype::F64));
    }
    Ok(Operand::of_array(cast(ops, parameter, Dtype::F64, None)?))
}

/// `out = out * scale + offset` with arrays of parameters, in the dtype of `out`.
fn relocate(ops: &DeviceOps, out: &Array, scale: &Operand, offset: Option<&Operand>) -> Result<()> {
    let values = Operand::of_array(out.clone());
    let alike = |parameter: &Operand| -> Result<Operand> {
        if parameter.is_number() {
            return Ok(Operand::of_number(parameter.number, out.dtype));
        }
        Ok(Operand::of_array(cast(ops, parameter, out.dtype, None)?))
    };
    let inputs = [values.clone(), alike(scale)?];
    elementwise(ops, Elementwise::Multiply, &inputs, Some(out), 0.0)?;
    if let Some(offset) = offset {
        let inputs = [values, alike(offset)?];
        elementwise(ops, Elementwise::Add, &inputs, Some(out), 0.0)?;
    }
    Ok(())
}

/// x with elements set to zero that a chance of `p` hits, the others divided by `1 - p`. The stream says which: the same one gives the same
/// elements, so that the gradient of x is the dropout of the result's.
///
/// # Errors
///
/// `invalid-argument` for p outside of [0, 1]; `unsupported-dtype` unless x holds floats; what does not fit about `out`.
pub fn dropout(
    ops: &DeviceOps,
    x: &Operand,
    p: f64,
    stream: Stream,
    out: Option<&Array>,
) -> Result<Array> {
    const DROPOUT: &str = "dropout";
    let chance = Operand::of_number(Scalar::Float(p), Dtype::F64);
    check(ops, DROPOUT, "p", &chance, Range::Chance)?;
    if !is_float(x.dtype) {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{DROPOUT}: x has dtype {}; floats are scaled",
                x.dtype.name().unwrap_or("?")
            ),
        ));
    }
    let target = Target {
        operation: DROPOUT,
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: true,
        is_dense: true,
    };
    let made = target.resolve(&x.shape, x.dtype)?.into_array()?;
    if made.is_empty() {
        return Ok(made);
    }
    let options = RandomOptions {
        a: 1.0 - p,
        b: if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 },
        ..options(Distribution::Dropout, stream)
    };
    let x = if x.is_number() {
        x.clone()
    } else {
        Operand::of_array(gapless(ops, x)?)
    };
    run(ops, &options, &[x], &made)?;
    Ok(made)
}

/// Computes where the arrays lie.
pub(crate) fn run(
    ops: &DeviceOps,
    options: &RandomOptions,
    inputs: &[Operand],
    out: &Array,
) -> Result<()> {
    let named: SmallVec<[(&str, &Operand); 2]> =
        inputs.iter().map(|one| ("a parameter", one)).collect();
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &named,
        out: Some(out),
    };
    let described = Described {
        shape: out.shape.to_vec(),
        dtype: out.dtype,
    };
    cpu::run_one(
        &call,
        || {
            on_device(ops, options, inputs, out)?;
            Ok(out.clone())
        },
        |views, host| {
            host.write(&described, out.len() as u64, |target| {
                Ok(Matrix::global()?.random(options, views, target, None)?)
            })
        },
    )?;
    Ok(())
}

/// Launches the kernel of a draw: a work-item for each block of words, or for each element that has blocks of its own.
fn on_device(
    ops: &DeviceOps,
    options: &RandomOptions,
    inputs: &[Operand],
    out: &Array,
) -> Result<()> {
    let kind = Kind {
        distribution: options.distribution,
        dtype: out.dtype,
        is_wide: options.span == 0 || options.span > 1 << 32,
        are_arrays: inputs.iter().map(|one| !one.is_number()).collect(),
    };
    let mut key = KernelKey::new(NAME)
        .with(options.distribution as u64)
        .dtype(out.dtype)
        .flag(kind.is_wide)
        .with(inputs.len() as u64);
    for is_array in &kind.are_arrays {
        key = key.flag(*is_array);
    }
    let kernel = ops.kernel(key, NAME, || random_source(&kind))?;
    let mut args: SmallVec<[Arg<'_>; 12]> = SmallVec::new();
    args.push(Arg::Array(out));
    for input in inputs {
        args.push(if input.is_number() {
            Arg::Float(value_of(input.number))
        } else {
            Arg::pointer(input)
        });
    }
    let words = [
        options.key,
        options.block,
        options.high,
        u64::from(options.skip),
        out.len() as u64,
        options.low,
        options.span,
    ];
    args.extend(words.map(|word| Arg::Int(i128::from(word))));
    args.extend([options.a, options.b].map(Arg::Float));
    let items = kind.work_items(out.len(), i64::from(options.skip));
    let rounds = if items < MANY_ITEMS { 1 } else { ROUNDS };
    let blocks = items.div_ceil_positive(source::BLOCK * rounds);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}
