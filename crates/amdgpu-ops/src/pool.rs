//! Pooling of images and its gradients: a work-item for each result.

use amdgpu_array::Array;
use amdgpu_matrix::{Described, Matrix, TensorView, four_axes};
pub use amdgpu_matrix::{ImageLayout, Pool, PoolOptions, Sliding};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::pool::Signature;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

/// Pools `x`; with `gradient`, that of the result, computes the gradient by x instead. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `shape-mismatch` unless x has four axes, the window fits and the gradient is like the result; `unsupported-dtype` for integers;
/// `invalid-argument` for a padding of more than half a window or an `out` that overlaps an input.
pub fn pool(
    ops: &DeviceOps,
    operation: Pool,
    x: &Operand,
    gradient: Option<&Operand>,
    out: Option<&Array>,
    options: &PoolOptions,
) -> Result<Array> {
    let mut inputs: SmallVec<[(&str, &Operand); 2]> = SmallVec::from_slice(&[("x", x)]);
    inputs.extend(gradient.map(|one| ("gradient", one)));
    let call = Call {
        ops,
        family: "pool",
        name: operation.name(),
        inputs: &inputs,
        out,
    };
    let options = *options;
    let describe = || Operation::Pool { operation, options };
    cpu::run_noted(
        &call,
        || gradient.is_none().then(describe),
        || on_device(ops, operation, x, gradient, out, &options),
        |views, host| on_host(operation, &views[0], views.get(1), &options, host),
    )
}

/// [`pool`] in memory of the host.
///
/// # Errors
///
/// As [`pool`], and those of the host.
pub fn on_host<H: Host>(
    operation: Pool,
    x: &TensorView<'_>,
    gradient: Option<&TensorView<'_>>,
    options: &PoolOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let mut described = operation.describe(x, options).map_err(Error::from)?;
    if gradient.is_some() {
        described = Described {
            shape: x.shape().to_vec(),
            dtype: x.dtype(),
        };
    }
    let (rows, columns) = options.window;
    let window = rows.saturating_mul(columns) as u64;
    host.write(&described, cpu::len(x).saturating_mul(window), |out| {
        Ok(Matrix::global()?.pool(operation, x, gradient, out, options)?)
    })
}

/// [`pool`] by a kernel of the device.
///
/// # Errors
///
/// As [`pool`]; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    operation: Pool,
    x: &Operand,
    gradient: Option<&Operand>,
    out: Option<&Array>,
    options: &PoolOptions,
) -> Result<Array> {
    let name = operation.name();
    x.check_dtype(name, "x")?;
    let described = operation.describe(&x.view(), options)?;
    let mut inputs: SmallVec<[&Operand; 2]> = SmallVec::from_slice(&[x]);
    if let Some(gradient) = gradient {
        operation.check_gradient(&gradient.view(), &described)?;
        inputs.push(gradient);
    }
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &inputs,
        may_alias: false,
        is_dense: true,
    };
    let shape = if gradient.is_some() {
        x.shape.as_slice()
    } else {
        &described.shape
    };
    let made = target.resolve(shape, x.dtype)?.into_array()?;
    if made.is_empty() {
        return Ok(made);
    }
    let signature = Signature {
        operation,
        is_gradient: gradient.is_some(),
        dtype: x.dtype,
        layout: options.layout,
        counts_padding: options.counts_padding,
    };
    let kernel = ops.kernel(key_of(signature), "pool", || signature.source())?;
    let dense = inputs
        .iter()
        .map(|one| dense(ops, one))
        .collect::<Result<SmallVec<[Array; 2]>>>()?;
    let mut args: SmallVec<[Arg<'_>; 24]> = dense.iter().map(Arg::Array).collect();
    args.push(Arg::Array(&made));
    args.push(Arg::from(made.len()));
    let [_, channels, rows, columns] = options.layout.extents(four_axes(name, "x", &x.shape)?);
    let result = four_axes(name, "result", &described.shape)?;
    let [_, _, result_rows, result_columns] = options.layout.extents(result);
    args.extend([channels, rows, columns, result_rows, result_columns].map(Arg::from));
    let sliding = options.sliding;
    for (along_rows, along_columns) in [
        options.window,
        sliding.stride,
        sliding.padding,
        sliding.dilation,
    ] {
        args.extend([along_rows, along_columns].map(Arg::from));
    }
    let blocks = made.len().div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
    drop(args);
    Ok(made)
}

fn key_of(signature: Signature) -> KernelKey {
    KernelKey::new("pool")
        .dtype(signature.dtype)
        .flag(signature.operation == Pool::Maximum)
        .flag(signature.is_gradient)
        .flag(signature.layout == ImageLayout::Nchw)
        .flag(signature.counts_padding)
}
