//! ops.h: layer norm of memory at addresses, with the statistics that training keeps, and its gradients.

use amdgpu_ops::Operand;
use amdgpu_ops::layer_norm::{
    LayerNorm, LayerNormGradients, LayerNormSlopes, layer_norm_training,
    layer_norm_training_gradient,
};

use smallvec::SmallVec;

use super::at::CallAt as Call;
use super::in_place;
use super::operand::COperand;
use crate::borrowed::Items;
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Answer, Status, answer};

/// Layer norm of rows, the mean of each and one over its deviation.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_layer_norm_training_at(
    device: Handle,
    x: Items<COperand>,
    scale: Items<COperand>,
    shift: Items<COperand>,
    row_axes: u64,
    epsilon: f64,
    result: Items<COperand>,
    mean: Items<COperand>,
    inverse: Items<COperand>,
) -> Status {
    answer(|| {
        if is_done_in_place(
            device,
            [x, scale, shift],
            row_axes,
            epsilon,
            [result, mean, inverse],
        )? {
            return Ok(());
        }
        let call = Call::of(device)?;
        let x = call.operand(x, "x")?;
        let [scale, shift] =
            [(scale, "scale"), (shift, "shift")].map(|(one, name)| call.optional(one, name));
        let [scale, shift] = [scale?, shift?].map(|one| one.map(Operand::of_array));
        let of = LayerNorm {
            x: &x,
            row_rank: row_axes as usize,
            scale: scale.as_ref(),
            shift: shift.as_ref(),
        };
        let result = call.array(result, "result")?;
        let (mean, inverse) = (call.array(mean, "mean")?, call.array(inverse, "inverse")?);
        layer_norm_training(&call.ops, &of, epsilon, [&result, &mean, &inverse])?;
        Ok(())
    })
}

/// Whether the call was the usual one, of memory of a CPU device.
fn is_done_in_place(
    device: Handle,
    [x, scale, shift]: [Items<COperand>; 3],
    row_axes: u64,
    epsilon: f64,
    outs: [Items<COperand>; 3],
) -> Answer<bool> {
    if [x].into_iter().chain(outs).any(|one| one.is_null()) || scale.is_null() && !shift.is_null() {
        return Ok(false);
    }
    let device = handles::get::<DeviceObject>(device, "device")?;
    let first = |one: Items<COperand>| one.slice(1, "operand").map(|all| &all[0]);
    let given = { [x, scale, shift].into_iter() }
        .filter(|one| !one.is_null())
        .map(first)
        .collect::<Answer<SmallVec<[&COperand; 3]>>>()?;
    let [result, mean, inverse] = outs.map(first);
    let outs = [result?, mean?, inverse?];
    in_place::layer_normed(&device, &given, row_axes as usize, epsilon, outs)
}

/// The gradients of [`agpu_ops_layer_norm_training_at`] by x, scale and shift, of those whose places are not null.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_layer_norm_training_gradient_at(
    device: Handle,
    x: Items<COperand>,
    gradient: Items<COperand>,
    mean: Items<COperand>,
    inverse: Items<COperand>,
    scale: Items<COperand>,
    row_axes: u64,
    by_x: Items<COperand>,
    by_scale: Items<COperand>,
    by_shift: Items<COperand>,
) -> Status {
    answer(|| {
        let call = Call::of(device)?;
        let x = call.operand(x, "x")?;
        let scale = call.optional(scale, "scale")?.map(Operand::of_array);
        let of = LayerNorm {
            x: &x,
            row_rank: row_axes as usize,
            scale: scale.as_ref(),
            shift: None,
        };
        let (gradient, mean) = (
            call.operand(gradient, "gradient")?,
            call.operand(mean, "mean")?,
        );
        let slopes = LayerNormSlopes {
            gradient: &gradient,
            mean: &mean,
            inverse: &call.operand(inverse, "inverse")?,
        };
        let (by_x, by_scale) = (
            call.optional(by_x, "by_x")?,
            call.optional(by_scale, "by_scale")?,
        );
        let by_shift = call.optional(by_shift, "by_shift")?;
        let outs = LayerNormGradients {
            by_x: by_x.as_ref(),
            by_scale: by_scale.as_ref(),
            by_shift: by_shift.as_ref(),
        };
        layer_norm_training_gradient(&call.ops, &of, &slopes, &outs)?;
        Ok(())
    })
}
