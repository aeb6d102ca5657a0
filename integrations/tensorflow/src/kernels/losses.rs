//! Cross entropy of logits, with its gradient, which TensorFlow computes at the same time.

use super::elementwise::plain;
use super::normalization::softmax_to;
use super::reduction::reduce;
use super::{FLOATS, T, row};
use crate::call::Call;
use crate::compute::cast;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::Row;
use crate::tensor::{broadcast, shown};

const INDICES: &[Dtype] = &[Dtype::I32, Dtype::I64];

pub const ROWS: &[Row] = &[
    row(
        c"SoftmaxCrossEntropyWithLogits",
        &[(T, FLOATS)],
        &[],
        |_| plain(of_chances),
    ),
    row(
        c"SparseSoftmaxCrossEntropyWithLogits",
        &[(T, FLOATS), (c"Tlabels", INDICES)],
        &[],
        |_| plain(of_classes),
    ),
];

/// Outputs: -sum(labels log(softmax)) of each row, and softmax - labels.
fn of_chances(c: &Call) -> Outcome {
    let (logits, labels) = (c.input(0)?, c.input(1)?);
    let shape = broadcast(&logits.shape, &labels.shape)?;
    let [rows, classes] = shape[..] else {
        return Err(Failure::refused(format!(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional, not {}",
            shown(&shape)
        )));
    };
    let loss = c.output(0, logits.dtype, &[rows])?;
    let gradient = c.output(1, logits.dtype, &shape)?;
    if rows == 0 {
        return Ok(());
    }
    let s = c.steps(logits.dtype);
    let logits = s.of(&logits)?;
    let (logits, labels) = (
        c.contiguous(&logits.expanded(&[rows, classes])?)?,
        s.of(&labels)?,
    );
    let logarithm = c.temporary(s.dtype, &shape)?;
    softmax_to(c"log_softmax", &logits, &logarithm)?;
    let terms = s.made(c"multiply", &[(&labels).into(), (&logarithm).into()])?;
    // Classes that have no part add nothing, even where the logarithm is infinite.
    let is_zero = s.test(c"equal", &[(&labels).into(), 0.0.into()])?;
    let terms = s.made(c"where", &[(&is_zero).into(), 0.0.into(), (&terms).into()])?;
    let sum = c.temporary(s.dtype, &[rows])?;
    reduce(c, c"sum", &terms, &[1], false, &sum)?;
    s.into(c"negative", &[(&sum).into()], &loss)?;
    let chances = s.made(c"exp", &[(&logarithm).into()])?;
    s.into(
        c"subtract",
        &[(&chances).into(), (&labels).into()],
        &gradient,
    )
}

/// As above, where labels are the classes. Of a label that is no class the loss and its gradient are NaN, as on other devices.
fn of_classes(c: &Call) -> Outcome {
    let (logits, labels) = (c.input(0)?, c.input(1)?);
    let [rows, classes] = logits.shape[..] else {
        return Err(Failure::refused(format!(
            "logits must be 2-D, but got shape {}",
            shown(&logits.shape)
        )));
    };
    if labels.shape[..] != [rows] {
        return Err(Failure::refused(format!(
            "logits and labels must have the same first dimension, got logits shape {} and labels shape {}",
            shown(&logits.shape),
            shown(&labels.shape)
        )));
    }
    if classes == 0 {
        return Err(Failure::refused(
            "Must have at least one class, but got logits shape [...,0]",
        ));
    }
    let loss = c.output(0, logits.dtype, &[rows])?;
    let gradient = c.output(1, logits.dtype, &logits.shape)?;
    if rows == 0 {
        return Ok(());
    }
    let s = c.steps(logits.dtype);
    let logits = s.of(&logits)?;
    let logarithm = c.temporary(s.dtype, &logits.shape)?;
    softmax_to(c"log_softmax", &logits, &logarithm)?;
    let labels = c.converted(&labels, Dtype::I64)?;
    let column = labels.with_axis(1);
    let whole = c.steps(Dtype::I64);
    let is_label = whole.test(
        c"equal",
        &[(&*c.counted(classes)?).into(), (&column).into()],
    )?;
    let nearest = whole.made(
        c"clip",
        &[(&column).into(), 0_i64.into(), (classes - 1).into()],
    )?;
    let is_class = whole.test(c"equal", &[(&nearest).into(), (&column).into()])?;
    let terms = s.made(
        c"where",
        &[(&is_label).into(), (&logarithm).into(), 0.0.into()],
    )?;
    let sum = c.temporary(s.dtype, &[rows])?;
    reduce(c, c"sum", &terms, &[1], false, &sum)?;
    let negative = s.made(c"negative", &[(&sum).into()])?;
    let of_row = is_class.without_axis(1);
    s.into(
        c"where",
        &[(&of_row).into(), (&negative).into(), f64::NAN.into()],
        &loss,
    )?;
    let chances = s.made(c"exp", &[(&logarithm).into()])?;
    let truth = c.temporary(s.dtype, &logits.shape)?;
    cast(&is_label, &truth)?;
    let difference = s.made(c"subtract", &[(&chances).into(), (&truth).into()])?;
    s.into(
        c"where",
        &[(&is_class).into(), (&difference).into(), f64::NAN.into()],
        &gradient,
    )
}
