//! Pooling of images and its gradients: a work-item for each result.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_matrix::{Described, Matrix, PoolGeometry, PoolPass, TensorView};
pub use amdgpu_matrix::{Fold, ImageLayout, Pool, PoolOptions, SPATIAL, Sliding};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::generated::pool::{Kind, Signature};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

/// What a call of [`pool`] computes, from `x` alone or from `x` and one array more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling<'a> {
    /// The result, from `x`.
    Forward,
    /// The result and the indices in their planes of its values, largest ones, from `x`.
    WithIndices,
    /// The gradient by the images, from them and the gradient of the result.
    Gradient,
    /// The gradient by images of this shape, from the gradient of the result and the indices.
    IndicesGradient(&'a [i64]),
    /// Images of this shape that hold values of a result at their indices and zeros elsewhere, from the values and the indices.
    Unpool(&'a [i64]),
}

impl Pooling<'_> {
    fn name(self, operation: Pool) -> &'static str {
        match self {
            Self::Unpool(_) => operation.unpool_name(),
            _ => operation.name(),
        }
    }

    /// What the inputs are called.
    #[must_use]
    pub const fn input_names(self) -> &'static [&'static str] {
        match self {
            Self::Forward | Self::WithIndices => &["x"],
            Self::Gradient => &["x", "gradient"],
            Self::IndicesGradient(_) => &["gradient", "indices"],
            Self::Unpool(_) => &["x", "indices"],
        }
    }
}

/// What a pooling that is a value computes beside its result: as [`Pooling`], with shapes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    WithIndices,
    Gradient,
    IndicesGradient(Dims),
    Unpool(Dims),
}

impl Direction {
    /// `None` for the result alone.
    #[must_use]
    pub fn of(pooling: Pooling<'_>) -> Option<Self> {
        match pooling {
            Pooling::Forward => None,
            Pooling::WithIndices => Some(Self::WithIndices),
            Pooling::Gradient => Some(Self::Gradient),
            Pooling::IndicesGradient(shape) => Some(Self::IndicesGradient(Dims::from_slice(shape))),
            Pooling::Unpool(shape) => Some(Self::Unpool(Dims::from_slice(shape))),
        }
    }

    #[must_use]
    pub fn pooling(&self) -> Pooling<'_> {
        match self {
            Self::WithIndices => Pooling::WithIndices,
            Self::Gradient => Pooling::Gradient,
            Self::IndicesGradient(shape) => Pooling::IndicesGradient(shape),
            Self::Unpool(shape) => Pooling::Unpool(shape),
        }
    }
}

/// Pools images, or computes a gradient of that, as [`Pooling`] says. Where the device has no kernel, the CPU computes it. Indices are the
/// second result.
///
/// # Errors
///
/// `shape-mismatch` unless images have as many axes as the operation says, windows fit and the other array is like the result;
/// `unsupported-dtype` for integers; `invalid-argument` for a padding of more than half a window, indices that are in no plane or an `out`
/// that overlaps an input.
pub fn pool(
    ops: &DeviceOps,
    operation: Pool,
    (pooling, inputs): (Pooling<'_>, &[Operand]),
    out: Option<&Array>,
    options: &PoolOptions,
) -> Result<SmallVec<[Array; 1]>> {
    pool_into(ops, operation, (pooling, inputs), &[out], options)
}

/// [`pool`] with memory for each result, or without.
pub(crate) fn pool_into(
    ops: &DeviceOps,
    operation: Pool,
    (pooling, inputs): (Pooling<'_>, &[Operand]),
    outs: &Outs<'_>,
    options: &PoolOptions,
) -> Result<Results> {
    let out = outs.first().copied().flatten();
    let names = pooling.input_names().iter().copied();
    let operands: SmallVec<[(&str, &Operand); 2]> = names.zip(inputs).collect();
    let call = Call {
        ops,
        family: "pool",
        name: pooling.name(operation),
        inputs: &operands,
        out,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::pool(operation, options, pooling),
        || on_device(ops, operation, (pooling, inputs), out, options),
        |views, host| on_host(operation, (pooling, views), options, host),
    )
}

/// [`pool`] in memory of the host, which is asked for the values first and then for the indices.
///
/// # Errors
///
/// As [`pool`], and those of the host.
pub fn on_host<H: Host>(
    operation: Pool,
    (pooling, inputs): (Pooling<'_>, &[TensorView<'_>]),
    options: &PoolOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let (described, _) = describe(operation, (pooling, inputs), options)?;
    let window = options.window.iter().fold(1_u64, |count, extent| {
        count.saturating_mul(extent.unsigned_abs())
    });
    let additions = cpu::len(&inputs[0]).saturating_mul(window);
    let first = &inputs[0];
    let pass = match pooling {
        Pooling::Forward | Pooling::WithIndices => PoolPass::Forward(first),
        Pooling::Gradient => PoolPass::Gradient(first, &inputs[1]),
        Pooling::IndicesGradient(_) => PoolPass::Add(first, &inputs[1]),
        Pooling::Unpool(_) => PoolPass::Set(first, &inputs[1]),
    };
    if pooling != Pooling::WithIndices {
        return host.write(&described, additions, |out| {
            Ok(Matrix::global()?.pool(operation, pass, out, None, options)?)
        });
    }
    let mut values = host.result(&described.shape, described.dtype, false)?;
    let mut indices = host.result(&described.shape, Dtype::I64, false)?;
    Ok(host.run(additions, || {
        let (out, places) = (&mut values.view_mut()?, &mut indices.view_mut()?);
        Ok(Matrix::global()?.pool(operation, pass, out, Some(places), options)?)
    })?)
}

/// What is computed, with the extents of images and results but for [`Pooling::Unpool`], whose windows do not matter.
fn describe(
    operation: Pool,
    (pooling, inputs): (Pooling<'_>, &[TensorView<'_>]),
    options: &PoolOptions,
) -> Result<(Described, Option<PoolGeometry>)> {
    if inputs.len() != pooling.input_names().len() {
        let names = pooling.input_names().join(" and ");
        return Err(refused(operation, &format!("the inputs are {names}")));
    }
    let dtype = inputs[0].dtype();
    let needs_maxima = !matches!(pooling, Pooling::Forward | Pooling::Gradient);
    if needs_maxima && operation.fold != Fold::Maximum {
        return Err(refused(operation, "only largest values have indices"));
    }
    let of = |view: &TensorView<'_>| (Dims::from_slice(view.shape()), view.dtype());
    match pooling {
        Pooling::Forward | Pooling::WithIndices => {
            let geometry = operation.geometry((inputs[0].shape(), dtype), options)?;
            Ok((geometry.described.clone(), Some(geometry)))
        }
        Pooling::Gradient => {
            let geometry = operation.geometry((inputs[0].shape(), dtype), options)?;
            let result = (&*geometry.described.shape, dtype);
            let (shape, of_gradient) = of(&inputs[1]);
            operation.check_gradient("gradient", (&shape, of_gradient), result)?;
            let shape = inputs[0].shape().to_vec();
            Ok((Described { shape, dtype }, Some(geometry)))
        }
        Pooling::IndicesGradient(shape) | Pooling::Unpool(shape) => {
            let (values, indices) = (of(&inputs[0]), of(&inputs[1]));
            let given = [(&*values.0, values.1), (&*indices.0, indices.1)];
            operation.check_indices(pooling.name(operation), given, shape, options.layout)?;
            let made = Described {
                shape: shape.to_vec(),
                dtype,
            };
            if matches!(pooling, Pooling::Unpool(_)) {
                return Ok((made, None));
            }
            let geometry = operation.geometry((shape, dtype), options)?;
            let result = (&*geometry.described.shape, dtype);
            operation.check_gradient("gradient", given[0], result)?;
            Ok((made, Some(geometry)))
        }
    }
}

fn refused(operation: Pool, message: &str) -> Error {
    Error::refused(
        ErrorCode::InvalidArgument,
        format!("{}: {message}", operation.name()),
    )
}

/// [`pool`] by a kernel of the device.
///
/// # Errors
///
/// As [`pool`]; `no-implementation` for too many axes, and for [`Pooling::Unpool`].
pub fn on_device(
    ops: &DeviceOps,
    operation: Pool,
    (pooling, inputs): (Pooling<'_>, &[Operand]),
    out: Option<&Array>,
    options: &PoolOptions,
) -> Result<Results> {
    let name = pooling.name(operation);
    for (input, argument) in inputs.iter().zip(pooling.input_names()) {
        input.check_dtype(name, argument)?;
    }
    let views: SmallVec<[TensorView<'_>; 2]> = inputs.iter().map(Operand::view).collect();
    let (described, geometry) = describe(operation, (pooling, &views), options)?;
    let Some(geometry) = geometry else {
        return Err(Error::no_kernel("values at indices are put by the CPU"));
    };
    let reads: SmallVec<[&Operand; 2]> = inputs.iter().collect();
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &reads,
        may_alias: false,
        is_dense: true,
    };
    let mut made = Results::new();
    made.push(
        target
            .resolve(&described.shape, described.dtype)?
            .into_array()?,
    );
    if pooling == Pooling::WithIndices {
        let fresh = Target {
            out: None,
            ..target
        };
        made.push(fresh.resolve(&described.shape, Dtype::I64)?.into_array()?);
    }
    if made[0].is_empty() {
        return Ok(made);
    }
    let signature = Signature {
        kind: match pooling {
            Pooling::Forward => Kind::Forward,
            Pooling::WithIndices => Kind::WithIndices,
            Pooling::Gradient => Kind::Gradient,
            Pooling::IndicesGradient(_) | Pooling::Unpool(_) => Kind::IndicesGradient,
        },
        fold: operation.fold,
        is_adaptive: operation.is_adaptive,
        has_depth: operation.spatial == SPATIAL,
        dtype: described.dtype,
        layout: options.layout,
        counts_padding: options.counts_padding,
        has_divisor: options.divisor_override != 0,
        is_narrow: is_narrow(&geometry, options),
    };
    let dense = inputs
        .iter()
        .map(|one| dense(ops, one))
        .collect::<Result<SmallVec<[Array; 2]>>>()?;
    launch_pool(ops, signature, (&dense, &made), &geometry, options)?;
    Ok(made)
}

fn launch_pool(
    ops: &DeviceOps,
    signature: Signature,
    (inputs, made): (&[Array], &[Array]),
    geometry: &PoolGeometry,
    options: &PoolOptions,
) -> Result<()> {
    let kernel = ops.kernel(key_of(signature), "pool", || signature.source())?;
    let mut args: SmallVec<[Arg<'_>; 32]> = inputs.iter().chain(made).map(Arg::Array).collect();
    let elements = made[0].len();
    let PoolGeometry { image, result, .. } = geometry;
    args.extend([elements, image[1], options.divisor_override].map(Arg::from));
    let Sliding {
        stride,
        padding,
        dilation,
    } = options.sliding;
    let along = [
        &image[2..],
        &result[2..],
        &options.window,
        &stride,
        &padding,
        &dilation,
    ];
    let first = usize::from(!signature.has_depth);
    for values in along {
        args.extend(values[first..].iter().map(|value| Arg::from(*value)));
    }
    let blocks = elements.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}

/// Whether the indices of images and results, and those that windows reach beyond them, fit 32 bits.
fn is_narrow(geometry: &PoolGeometry, options: &PoolOptions) -> bool {
    const INDICES: i64 = 1 << 30;
    const STEPS: i64 = 1 << 14;
    let count = |extents: &[i64; 5]| {
        let all = extents.iter().map(|extent| i128::from(*extent));
        all.product::<i128>()
    };
    let pairs = geometry.image.iter().zip(&geometry.result).skip(2);
    let Sliding {
        stride,
        padding,
        dilation,
    } = &options.sliding;
    let mut steps = [&options.window, stride, padding, dilation]
        .into_iter()
        .flatten();
    [&geometry.image, &geometry.result]
        .into_iter()
        .all(|extents| count(extents) < i128::from(INDICES))
        // Adaptive windows begin at products of both extents.
        && { pairs }.all(|(image, result)| image.saturating_mul(result + 1) < INDICES)
        && steps.all(|step| *step < STEPS)
}

fn key_of(signature: Signature) -> KernelKey {
    KernelKey::new("pool")
        .dtype(signature.dtype)
        .with(signature.kind as u64)
        .flag(signature.fold == Fold::Maximum)
        .flag(signature.is_adaptive)
        .flag(signature.has_depth)
        .flag(signature.layout == ImageLayout::Nchw)
        .flag(signature.counts_padding)
        .flag(signature.has_divisor)
        .flag(signature.is_narrow)
}
