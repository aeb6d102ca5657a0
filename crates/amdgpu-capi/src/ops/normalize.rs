//! ops.h: softmax, normalisations over axes and their gradients.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_ops::normalize::{Normalize, NormalizeOptions, RowAxes};
use amdgpu_ops::{DeviceOps, Operand, norm_parameter_gradients, normalize, normalize_gradient};

use super::{Call, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// The last axis, where the caller names none.
const LAST: &[i64] = &[-1];

/// `agpu_ops_normalize_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CNormalizeOptions {
    size_bytes: u64,
    out: Handle,
    scale: Handle,
    shift: Handle,
    axes: Items<i64>,
    axis_count: u64,
    epsilon: f64,
    has_epsilon: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CNormalizeOptions {
    const NAME: &'static str = "agpu_ops_normalize_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CNormalizeOptions {
    fn options(&self, operation: Normalize) -> Answer<NormalizeOptions<'_>> {
        let axes = self.axes.slice(self.axis_count as usize, "axes")?;
        Ok(NormalizeOptions {
            axes: RowAxes::Named(if axes.is_empty() { LAST } else { axes }),
            epsilon: if self.has_epsilon == 0 {
                operation.default_epsilon()
            } else {
                self.epsilon
            },
            thread_limit: None,
        })
    }

    /// Refuses parameters that the operation does not have.
    fn check(&self, operation: Normalize, name: &str, is_gradient: bool) -> Answer {
        let known = operation.parameter_names().len();
        let is_too_much = |index: usize, handle: Handle| known <= index && !handle.is_null();
        let is_shift_too_much = is_gradient && !self.shift.is_null();
        if is_too_much(0, self.scale) || is_too_much(1, self.shift) || is_shift_too_much {
            let parameters = match known {
                0 => "neither scale nor shift",
                _ => "a scale and no shift",
            };
            return Err(Failure::invalid(format!("{name} has {parameters}")));
        }
        Ok(())
    }
}

fn operation_of(operation: Text) -> Answer<Normalize> {
    let name = operation.required("operation")?;
    let known = Normalize::ALL.into_iter().map(Normalize::name);
    Normalize::from_name(name).ok_or_else(|| unknown("operation", name, known))
}

/// `operation(x)` over axes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_normalize(
    operation: Text,
    x: Handle,
    options: Options<CNormalizeOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let operation = operation_of(operation)?;
        let (name, given) = (operation.name(), options.read()?);
        given.check(operation, name, false)?;
        let more = [("scale", given.scale), ("shift", given.shift)];
        let call = Call::of(name, &[("x", x)], &more, given.out)?;
        let options = given.options(operation)?;
        let mut parameters = Vec::with_capacity(2);
        match (call.optional(0), call.optional(1)) {
            (None, Some(shift)) => {
                parameters.push(ones(&call.ops, &shift.shape)?);
                parameters.push(shift.clone());
            }
            (scale, shift) => parameters.extend(scale.into_iter().chain(shift).cloned()),
        }
        let made = normalize(
            &call.ops,
            operation,
            call.operand(0),
            &parameters,
            call.out(),
            &options,
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// The scale of a norm that has a shift alone.
fn ones(ops: &DeviceOps, shape: &Dims) -> Answer<Operand> {
    let count = amdgpu_array::element_count(shape);
    let bytes = 1.0_f32.to_ne_bytes().repeat(count as usize);
    let made = Array::from_host(ops.device(), &bytes, shape.clone(), Dtype::F32)?;
    Ok(Operand::of_array(made))
}

/// The gradients of [`agpu_ops_normalize`] by x and, where they are asked for, by scale and shift.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_normalize_gradient(
    operation: Text,
    x: Handle,
    gradient: Handle,
    options: Options<CNormalizeOptions>,
    by_x: Out<Handle>,
    by_scale: Out<Handle>,
    by_shift: Out<Handle>,
) -> Status {
    answer(|| {
        let place = by_x.required("by_x")?;
        let places = (by_scale.optional(), by_shift.optional());
        let operation = operation_of(operation)?;
        let (name, given) = (operation.gradient_name(), options.read()?);
        given.check(operation, name, true)?;
        let arrays = [("x", x), ("gradient", gradient)];
        let call = Call::of(name, &arrays, &[("scale", given.scale)], given.out)?;
        let (x, gradient) = (call.operand(0), call.operand(1));
        let options = given.options(operation)?;
        let parameters = if places.0.is_some() || places.1.is_some() {
            let known = operation.parameter_names().len();
            if places.1.is_some() && known < 2 {
                let message = format!("{name} has no gradient by a shift; pass NULL for by_shift");
                return Err(Failure::new(ErrorCode::InvalidArgument, message));
            }
            let (scale, shift) =
                norm_parameter_gradients(&call.ops, operation, x, gradient, &options)?;
            (Some(scale), shift)
        } else {
            (None, None)
        };
        // Last: `out` may be x or the gradient itself.
        let made = normalize_gradient(
            &call.ops,
            operation,
            x,
            gradient,
            call.optional(0),
            call.out(),
            &options,
        )?;
        place.write(call.insert(made));
        for (place, made) in [(places.0, parameters.0), (places.1, parameters.1)] {
            if let (Some(place), Some(made)) = (place, made) {
                place.write(call.insert(made));
            }
        }
        Ok(())
    })
}
