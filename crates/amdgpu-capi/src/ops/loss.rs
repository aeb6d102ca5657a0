//! ops.h: losses and their gradients.

use amdgpu_ops::loss::{
    ClassInputs, ClassLoss, ClassLossOptions, Compared, ElementLoss, Reduction, class_loss,
    element_loss, element_loss_gradient,
};

use super::{Call, Given};
use crate::borrowed::{Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Status, answer};

/// `agpu_ops_loss_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLossOptions {
    size_bytes: u64,
    weight: Handle,
    reduction: Text,
    label_smoothing: f64,
    ignored_class: i64,
    has_ignored_class: u32,
    with_logits: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CLossOptions {
    const NAME: &'static str = "agpu_ops_loss_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// The class that counts for nothing where none is named, as in Python.
const IGNORED: i64 = -100;

impl CLossOptions {
    fn reduction(&self, name: &str) -> Answer<Reduction> {
        let given = self.reduction.optional("reduction")?;
        Ok(Reduction::from_name(name, given.unwrap_or("mean")).map_err(amdgpu_ops::Error::from)?)
    }

    /// Of x, target and, of gradients, that of the result.
    fn elements(&self, loss: ElementLoss, arrays: &[Given<'_>]) -> Answer<Handle> {
        let name = loss.name(arrays.len() > 2);
        let reduction = self.reduction(name)?;
        let call = Call::of(name, arrays, &[("weight", self.weight)], Handle::NULL)?;
        let compared = Compared {
            x: call.operand(0),
            target: call.operand(1),
            weight: call.optional(0),
        };
        let made = match call.operands.get(2) {
            Some(given) => element_loss_gradient(&call.ops, loss, &compared, given, reduction)?,
            None => element_loss(&call.ops, loss, &compared, reduction)?,
        };
        Ok(call.insert(made))
    }

    fn classes(&self, loss: ClassLoss, arrays: &[Given<'_>]) -> Answer<Handle> {
        let name = loss.name(arrays.len() > 2);
        let options = ClassLossOptions {
            loss,
            reduction: self.reduction(name)?,
            ignored: if self.has_ignored_class != 0 {
                self.ignored_class
            } else {
                IGNORED
            },
            smoothing: self.label_smoothing,
            thread_limit: None,
        };
        let call = Call::of(name, arrays, &[("weight", self.weight)], Handle::NULL)?;
        let inputs = ClassInputs {
            x: call.operand(0),
            target: call.operand(1),
            weight: call.optional(0),
            gradient: call.operands.get(2),
        };
        let made = class_loss(&call.ops, &inputs, &options)?;
        Ok(call.insert(made))
    }

    const fn binary(&self) -> ElementLoss {
        if self.with_logits == 0 {
            ElementLoss::BinaryCrossEntropy
        } else {
            ElementLoss::BinaryCrossEntropyWithLogits
        }
    }
}

/// The squared error.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_mse_loss(
    x: Handle,
    target: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target)];
        place.write(
            options
                .read()?
                .elements(ElementLoss::SquaredError, &arrays)?,
        );
        Ok(())
    })
}

/// The gradient of [`agpu_ops_mse_loss`] by x.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_mse_loss_gradient(
    x: Handle,
    target: Handle,
    gradient: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target), ("gradient", gradient)];
        place.write(
            options
                .read()?
                .elements(ElementLoss::SquaredError, &arrays)?,
        );
        Ok(())
    })
}

/// The binary cross entropy.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_bce_loss(
    x: Handle,
    target: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let options = options.read()?;
        let arrays = [("x", x), ("target", target)];
        place.write(options.elements(options.binary(), &arrays)?);
        Ok(())
    })
}

/// The gradient of [`agpu_ops_bce_loss`] by x.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_bce_loss_gradient(
    x: Handle,
    target: Handle,
    gradient: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let options = options.read()?;
        let arrays = [("x", x), ("target", target), ("gradient", gradient)];
        place.write(options.elements(options.binary(), &arrays)?);
        Ok(())
    })
}

/// The cross entropy of rows of classes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_cross_entropy_loss(
    x: Handle,
    target: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target)];
        place.write(options.read()?.classes(ClassLoss::CrossEntropy, &arrays)?);
        Ok(())
    })
}

/// The gradient of [`agpu_ops_cross_entropy_loss`] by x.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_cross_entropy_loss_gradient(
    x: Handle,
    target: Handle,
    gradient: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target), ("gradient", gradient)];
        place.write(options.read()?.classes(ClassLoss::CrossEntropy, &arrays)?);
        Ok(())
    })
}

/// The negative log likelihood of rows of classes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_nll_loss(
    x: Handle,
    target: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target)];
        let loss = ClassLoss::NegativeLogLikelihood;
        place.write(options.read()?.classes(loss, &arrays)?);
        Ok(())
    })
}

/// The gradient of [`agpu_ops_nll_loss`] by x.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_nll_loss_gradient(
    x: Handle,
    target: Handle,
    gradient: Handle,
    options: Options<CLossOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("target", target), ("gradient", gradient)];
        let loss = ClassLoss::NegativeLogLikelihood;
        place.write(options.read()?.classes(loss, &arrays)?);
        Ok(())
    })
}
