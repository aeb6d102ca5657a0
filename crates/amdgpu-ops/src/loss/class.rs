//! Losses of classes on arrays: rows of any axes, classes as labels or as shares.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{ClassLoss, ClassLossOptions, Classified, Matrix, Reduction, TensorView};
use smallvec::SmallVec;

use super::reduced;
use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::elementwise::{Elementwise, elementwise};
use crate::generated::loss::{ClassKernel, Written, class_weights_source, computed};
use crate::generated::source;
use crate::index_notes::Note;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::offsets;
use crate::operand::Operand;
use crate::reduce::Reduce;
use crate::statistics::{converted, over};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

/// What a loss of classes takes, as [`Classified`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct ClassInputs<'a> {
    pub x: &'a Operand,
    pub target: &'a Operand,
    pub weight: Option<&'a Operand>,
    /// Of the result; the gradient by x is computed then.
    pub gradient: Option<&'a Operand>,
}

impl<'a> ClassInputs<'a> {
    /// Operands in the order of graphs.
    fn named(&self) -> SmallVec<[(&'static str, &'a Operand); 4]> {
        let mut named = SmallVec::new();
        named.extend([("x", self.x), ("target", self.target)]);
        named.extend(self.weight.map(|one| ("weight", one)));
        named.extend(self.gradient.map(|one| ("gradient", one)));
        named
    }

    fn views(&self) -> Classified<'_> {
        Classified {
            x: self.x.view(),
            target: self.target.view(),
            weight: self.weight.map(Operand::view),
            gradient: self.gradient.map(Operand::view),
        }
    }
}

/// A loss of classes, or its gradient by x. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `unsupported-dtype`, `shape-mismatch` and `invalid-argument` as [`Classified::describe`]; `index-out-of-range` for a target that is no class: on a
/// GPU the call waits for that to be known, unless [`crate::index_notes::defer`] has put it off.
pub fn class_loss(
    ops: &DeviceOps,
    inputs: &ClassInputs<'_>,
    options: &ClassLossOptions,
) -> Result<Array> {
    cpu::only(class_loss_into(ops, inputs, options, &[])?)
}

/// [`class_loss`] with memory for the result, or without.
pub(crate) fn class_loss_into(
    ops: &DeviceOps,
    inputs: &ClassInputs<'_>,
    options: &ClassLossOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let named = inputs.named();
    let call = Call {
        ops,
        family: "loss",
        name: options.loss.name(inputs.gradient.is_some()),
        inputs: &named,
        out: None,
    };
    let (has_weight, is_gradient) = (inputs.weight.is_some(), inputs.gradient.is_some());
    cpu::run_into(
        &call,
        outs,
        || Operation::ClassLoss {
            options: *options,
            has_weight,
            is_gradient,
        },
        || Ok(Results::from_iter([on_device(ops, inputs, options)?])),
        |views, host| on_host(&classified(views, has_weight, is_gradient), options, host),
    )
}

/// Views of what [`ClassInputs::named`] gives.
pub(crate) fn classified<'a>(
    views: &[TensorView<'a>],
    has_weight: bool,
    is_gradient: bool,
) -> Classified<'a> {
    Classified {
        x: views[0],
        target: views[1],
        weight: has_weight.then(|| views[2]),
        gradient: if is_gradient {
            views.last().copied()
        } else {
            None
        },
    }
}

/// [`class_loss`] in memory of the host.
///
/// # Errors
///
/// As [`class_loss`], and those of the host.
pub fn on_host<H: Host>(
    classified: &Classified<'_>,
    options: &ClassLossOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = classified.describe(options).map_err(Error::from)?;
    let additions = cpu::len(&classified.x).saturating_mul(12);
    host.write(&described, additions, |out| {
        Ok(Matrix::global()?.class_loss(classified, out, options)?)
    })
}

/// By kernels of the device.
fn on_device(
    ops: &DeviceOps,
    inputs: &ClassInputs<'_>,
    options: &ClassLossOptions,
) -> Result<Array> {
    let name = options.loss.name(inputs.gradient.is_some());
    for (argument, operand) in inputs.named() {
        operand.check_dtype(name, argument)?;
    }
    let classified = inputs.views();
    classified.describe(options)?;
    let axis = classified.class_axis();
    let rows = RowLoss {
        ops,
        options,
        inputs,
        has_shares: classified.has_shares(),
        lines: Lines::of(&inputs.x.shape, axis, axis),
        shape: Dims::from_slice(&classified.rows()),
        x: dense(ops, inputs.x)?,
        target: dense(ops, inputs.target)?,
        weight: inputs.weight.map(|one| dense(ops, one)).transpose()?,
    };
    let divisor = rows.divisor()?;
    match inputs.gradient {
        Some(gradient) => rows.gradient(gradient, divisor.as_ref()),
        None => rows.loss(divisor),
    }
}

/// A loss of rows with everything checked but the classes.
struct RowLoss<'a> {
    ops: &'a DeviceOps,
    options: &'a ClassLossOptions,
    inputs: &'a ClassInputs<'a>,
    has_shares: bool,
    lines: Lines,
    /// Of the terms.
    shape: Dims,
    x: Array,
    target: Array,
    weight: Option<Array>,
}

impl RowLoss<'_> {
    fn empty(&self, shape: &[i64], dtype: Dtype) -> Result<Array> {
        Ok(Array::empty(
            self.ops.device(),
            shape,
            dtype,
            MemoryKind::Device,
        )?)
    }

    /// What a mean of labels is divided by: the weights of the classes of all rows. Refuses labels that are no classes.
    fn divisor(&self) -> Result<Option<Operand>> {
        if self.has_shares {
            return Ok(None);
        }
        let weights = self.empty(&self.shape, computed(self.x.dtype))?;
        let name = self.options.loss.name(self.inputs.gradient.is_some());
        let note = Note::of(self.ops, name)?;
        let key = KernelKey::new("class weights")
            .dtype(self.x.dtype)
            .dtype(self.target.dtype)
            .flag(self.weight.is_some());
        let kernel = self.ops.kernel(key, "class_weights", || {
            class_weights_source(self.x.dtype, self.target.dtype, self.weight.is_some())
        })?;
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        args.push(Arg::Array(&self.target));
        args.extend(self.weight.as_ref().map(Arg::Array));
        args.extend([Arg::Array(&weights), note.argument()]);
        let Lines { count, length, .. } = self.lines;
        args.extend([self.options.ignored, length, count].map(Arg::from));
        if count > 0 {
            let block = source::BLOCK;
            launch(
                &kernel,
                Shape::line(count.div_ceil_positive(block), block),
                &args,
            )?;
        }
        drop(args);
        note.end()?;
        self.refuse(note)?;
        if self.options.reduction != Reduction::Mean {
            return Ok(None);
        }
        let axes: Vec<i64> = (0..self.shape.len() as i64).collect();
        let weights = Operand::of_array(weights);
        Ok(Some(over(
            self.ops,
            Reduce::Sum,
            &weights,
            &axes,
            Some(Dtype::F64),
        )?))
    }

    /// Refuses a label that a kernel has noted, where that is looked at now.
    fn refuse(&self, note: Note<'_>) -> Result<()> {
        let Some(noted) = note.read()? else {
            return Ok(());
        };
        let place = noted as i64;
        let class = offsets::element(&Operand::of_array(self.target.clone()), place)?;
        Err(Error::refused(
            ErrorCode::IndexOutOfRange,
            format!(
                "class {class} at place {place} of the targets is none of {} classes, nor ignore_index",
                self.lines.length
            ),
        ))
    }

    fn kernel(&self, written: Written, is_divided: bool) -> ClassKernel {
        let mut kernel = ClassKernel {
            loss: self.options.loss,
            written,
            x: self.x.dtype,
            target: self.target.dtype,
            has_shares: self.has_shares,
            has_weight: self.weight.is_some(),
            // The shares of a single class are themselves.
            is_smoothed: self.options.smoothing > 0.0
                && self.options.loss == ClassLoss::CrossEntropy,
            is_divided,
            lanes: 1,
        };
        if !kernel.is_picked() {
            kernel.lanes = lanes(self.lines);
        }
        kernel
    }

    /// Launches a kernel of classes with what it writes and what that depends on.
    fn launch(&self, text: &ClassKernel, own: &[Arg<'_>]) -> Result<()> {
        let key = KernelKey::new("class loss")
            .with(text.written as u64)
            .flag(text.loss == ClassLoss::CrossEntropy)
            .dtype(text.x)
            .dtype(text.target)
            .flag(text.has_shares)
            .flag(text.has_weight)
            .flag(text.is_smoothed)
            .flag(text.is_divided)
            .with(text.lanes as u64);
        let kernel = self.ops.kernel(key, "class_loss", || text.source())?;
        let mut args: SmallVec<[Arg<'_>; 16]> = SmallVec::new();
        args.extend([&self.x, &self.target].map(Arg::Array));
        args.extend(self.weight.as_ref().map(Arg::Array));
        args.extend_from_slice(own);
        args.push(Arg::Float(self.options.smoothing));
        let Lines {
            count,
            length,
            stride,
        } = self.lines;
        args.extend([self.options.ignored, length, stride, count].map(Arg::from));
        if count == 0 {
            return Ok(());
        }
        let rows = text.rows();
        let shape = Shape {
            block: if text.lanes == 1 {
                [rows, 1, 1]
            } else {
                [text.lanes, rows, 1]
            },
            ..Shape::line(count.div_ceil_positive(rows), 1)
        };
        launch(&kernel, shape, &args)
    }

    fn loss(&self, divisor: Option<Operand>) -> Result<Array> {
        let (ops, dtype) = (self.ops, self.inputs.x.dtype);
        let terms = self.empty(&self.shape, computed(dtype))?;
        self.launch(&self.kernel(Written::Terms, false), &[Arg::Array(&terms)])?;
        let terms = Operand::of_array(terms);
        let Some(divisor) = divisor else {
            return reduced(ops, &terms, self.options.reduction, dtype);
        };
        let sum = Operand::of_array(reduced(ops, &terms, Reduction::Sum, Dtype::F64)?);
        let mean = elementwise(ops, Elementwise::Divide, &[sum, divisor], None, 0.0)?;
        converted(ops, &Operand::of_array(mean), dtype)?.into_array()
    }

    fn gradient(&self, gradient: &Operand, divisor: Option<&Operand>) -> Result<Array> {
        let made = self.empty(&self.x.shape, self.x.dtype)?;
        let given = dense(self.ops, gradient)?;
        let is_mean = self.options.reduction == Reduction::Mean;
        let factor = if is_mean && divisor.is_none() {
            1.0 / self.lines.count as f64
        } else {
            1.0
        };
        let step = i64::from(self.options.reduction == Reduction::None);
        let divisor = divisor.map(|one| dense(self.ops, one)).transpose()?;
        let mut own: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        own.extend([Arg::Array(&given), Arg::from(step)]);
        own.extend(divisor.as_ref().map(Arg::Array));
        own.extend([Arg::Array(&made), Arg::Float(factor)]);
        self.launch(&self.kernel(Written::Gradient, divisor.is_some()), &own)?;
        drop(own);
        Ok(made)
    }
}

/// Work-items that share a row of classes. Rows that lie beside each other have one each, as their neighbours in memory are other rows.
fn lanes(lines: Lines) -> i64 {
    match lines.length {
        ..64 => 1,
        _ if lines.stride > 1 => 1,
        64..2048 => 32,
        _ => source::BLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_classes_beside_each_other_are_shared_by_lanes() {
        let of = |length, stride| {
            lanes(Lines {
                count: 1,
                length,
                stride,
            })
        };
        assert_eq!(
            [1, 63, 64, 2047, 2048, 30_522].map(|length| of(length, 1)),
            [1, 1, 32, 32, 256, 256]
        );
        assert_eq!(of(30_522, 7), 1);
    }
}
