//! Gradients of layer norm and root-mean-square norm by their parameters; [`crate::normalize_gradient`] computes that by the argument.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use smallvec::SmallVec;

use crate::normalize::{Normalize, NormalizeOptions, normalize};
use crate::operand::Operand;
use crate::reduce::Reduce;
use crate::statistics::{converted, over, product};
use crate::{DeviceOps, Error, Result};

/// The gradients of a norm by its scale and by its shift, of which the root-mean-square norm has none: both have the shape of the normalised
/// axes and the dtype of x. `gradient` is that of the result. Products and sums of float16 and bfloat16 values are float32 until they are
/// rounded once.
///
/// # Errors
///
/// `invalid-argument` for a softmax, which has no parameters, for axes that do not exist or a negative epsilon; `shape-mismatch` and
/// `unsupported-dtype` where `gradient` is not like x.
pub fn norm_parameter_gradients(
    ops: &DeviceOps,
    operation: Normalize,
    x: &Operand,
    gradient: &Operand,
    options: &NormalizeOptions<'_>,
) -> Result<(Array, Option<Array>)> {
    let name = operation.gradient_name();
    let parameters = operation.parameter_names();
    if parameters.is_empty() {
        let message = format!("{name}: {} has no parameters", operation.name());
        return Err(Error::refused(ErrorCode::InvalidArgument, message));
    }
    x.check_dtype(name, "x")?;
    gradient.check_dtype(name, "gradient")?;
    let dtype = operation
        .describe_gradient(&x.view(), &gradient.view())?
        .dtype;
    options.check(name)?;
    let normalised = options.axes.resolve(name, &x.shape)?;
    let others: SmallVec<[i64; 6]> = (0..x.rank())
        .filter(|axis| !normalised.contains(axis))
        .map(|axis| axis as i64)
        .collect();
    let computed = if dtype == Dtype::F64 {
        Dtype::F64
    } else {
        Dtype::F32
    };
    let (x, gradient) = (
        converted(ops, x, computed)?,
        converted(ops, gradient, computed)?,
    );
    let standardized = normalize(ops, operation, &x, &[], None, options)?;
    let products = product(ops, &Operand::of_array(standardized), &gradient)?;
    let summed = |values: &Operand| -> Result<Array> {
        over(ops, Reduce::Sum, values, &others, Some(dtype))?.into_array()
    };
    let by_scale = summed(&products)?;
    let by_shift = (parameters.len() > 1).then(|| summed(&gradient));
    Ok((by_scale, by_shift.transpose()?))
}
