//! The best values of each line and their indices.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
pub use amdgpu_matrix::TopKOptions;
use amdgpu_matrix::{Matrix, resolve_axes};

use crate::fallback::{self, HostTensor};
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
    let done = on_device(ops, x, options);
    fallback::or_on_host(NAME, ops, done, || {
        let host = HostTensor::of_operand(x)?;
        let view = host.view()?;
        let described = options.describe(&view)?;
        let mut values = HostTensor::of_described(&described);
        let mut indices = HostTensor::new(&described.shape, Dtype::I64);
        let targets = (&mut values.view_mut()?, &mut indices.view_mut()?);
        Matrix::global()?.top_k(&view, targets.0, targets.1, options)?;
        Ok((
            values.deliver(ops, NAME, None)?,
            indices.deliver(ops, NAME, None)?,
        ))
    })
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
