//! The best values of each line and their indices.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
pub use amdgpu_matrix::TopKOptions;
use amdgpu_matrix::{Matrix, TensorView, resolve_axes};

use crate::cpu::{self, Call, Host, Results};
use crate::generated::source;
use crate::generated::top_k::top_k_source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::{Operand, Target};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

const NAME: &str = "top_k";
/// Every value taken costs a round of the block; for more of them sorting is faster.
const TAKEN_LIMIT: i64 = 1024;

/// The k best values of each line along an axis, best first, and their indices. Of equal values the first is better; NaN is larger than any
/// number. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `invalid-argument` for an axis that does not exist or a k beyond its extent; `unsupported-dtype`.
pub fn top_k(ops: &DeviceOps, x: &Operand, options: &TopKOptions) -> Result<(Array, Array)> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("x", x)],
        out: None,
    };
    let on_device = || on_device(ops, x, options).map(|both| Results::from_iter([both.0, both.1]));
    let made = cpu::run(&call, on_device, |views, host| {
        on_host(&views[0], options, host)
    })?;
    let mut made = made.into_iter();
    match (made.next(), made.next()) {
        (Some(values), Some(indices)) => Ok((values, indices)),
        _ => unreachable!("top_k has two results"),
    }
}

/// [`top_k`] in memory of the host, which is asked for the values first and then for the indices.
///
/// # Errors
///
/// As [`top_k`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    options: &TopKOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = options.describe(x).map_err(Error::from)?;
    let mut values = host.result(&described.shape, described.dtype, false)?;
    let mut indices = host.result(&described.shape, Dtype::I64, false)?;
    Ok(host.run(cpu::len(x), || {
        let targets = (&mut values.view_mut()?, &mut indices.view_mut()?);
        Ok(Matrix::global()?.top_k(x, targets.0, targets.1, options)?)
    })?)
}

/// [`top_k`] by a kernel of the device.
///
/// # Errors
///
/// As [`top_k`]; [`Error::NoKernel`] for a k that sorting is faster for.
pub fn on_device(ops: &DeviceOps, x: &Operand, options: &TopKOptions) -> Result<(Array, Array)> {
    x.check_dtype(NAME, "x")?;
    let described = options.describe(&x.view())?;
    let axis = resolve_axes(NAME, &x.shape, &[options.axis])?[0];
    if options.k > TAKEN_LIMIT {
        return Err(Error::no_kernel(format!(
            "top_k of more than {TAKEN_LIMIT} values"
        )));
    }
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out: None,
        inputs: &[],
        may_alias: false,
        is_dense: true,
    };
    let best = target
        .resolve(&described.shape, described.dtype)?
        .into_array()?;
    let indices = target.resolve(&described.shape, Dtype::I64)?.into_array()?;
    if best.is_empty() {
        return Ok((best, indices));
    }
    let lines = Lines::of(&x.shape, axis, axis);
    let key = KernelKey::new(NAME).dtype(x.dtype).flag(options.is_largest);
    let kernel = ops.kernel(key, NAME, || top_k_source(x.dtype, options.is_largest))?;
    let values = dense(ops, x)?;
    let [values, found, at] = [&values, &best, &indices].map(Arg::Array);
    let [length, stride, k] = [lines.length, lines.stride, options.k].map(Arg::from);
    let args = [values, found, at, length, stride, k];
    launch(&kernel, Shape::line(lines.count, source::BLOCK), &args)?;
    Ok((best, indices))
}
