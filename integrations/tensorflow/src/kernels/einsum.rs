//! Sums of products by Einstein's notation: operands are brought into the order batch, own axes, summed axes, and multiplied as matrices.

use super::matmul::product;
use super::reduction::reduced;
use super::{FLOATS, T, row};
use crate::call::Call;
use crate::compute::{Held, cast};
use crate::failure::{Failure, Outcome};
use crate::registry::Row;
use crate::tensor::{Dims, View, shown};

pub const ROWS: &[Row] = &[row(c"Einsum", &[(T, FLOATS)], &[], |a| {
    let equation = Equation::parse(&a.text(c"equation")?)?;
    Ok(Box::new(move |c| equation.compute(c)))
})];

/// Labels of the operands' axes and of the result's. "." stands for all axes of an ellipsis.
struct Equation {
    operands: Vec<Vec<char>>,
    result: Vec<char>,
}

/// An operand with a label for each axis.
struct Labelled {
    labels: Vec<char>,
    view: Held,
}

impl Equation {
    fn parse(text: &str) -> Outcome<Self> {
        let plain: String = text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect();
        let refused = || {
            Failure::refused(format!(
                "the equation {text:?} is not of the form \"ab,bc->ac\""
            ))
        };
        let (left, right) = plain.split_once("->").ok_or_else(refused)?;
        let labels = |part: &str| part.replace("...", ".").chars().collect::<Vec<char>>();
        let operands: Vec<_> = left.split(',').map(labels).collect();
        let result = labels(right);
        let is_plain = |labels: &Vec<char>| {
            labels.iter().enumerate().all(|(place, label)| {
                (label.is_alphabetic() || *label == '.') && !labels[..place].contains(label)
            })
        };
        let has_kernel = operands.len() <= 2 && operands.iter().all(is_plain) && is_plain(&result);
        if !has_kernel {
            return Err(Failure::no_kernel(format!(
                "{text:?} has no kernel: one or two operands without repeated labels have one"
            )));
        }
        Ok(Self { operands, result })
    }

    fn compute(&self, c: &Call) -> Outcome {
        let inputs = c.inputs(0)?;
        if inputs.len() != self.operands.len() {
            return Err(Failure::refused(format!(
                "the equation names {} operands, but {} are given",
                self.operands.len(),
                inputs.len()
            )));
        }
        // Axes of an ellipsis are numbered from the end, since they broadcast.
        let mut widest = 0;
        let mut labelled = Vec::new();
        for (labels, view) in self.operands.iter().zip(&inputs) {
            let named = labels.iter().filter(|label| **label != '.').count();
            let hidden = view
                .rank()
                .checked_sub(named)
                .filter(|hidden| *hidden == 0 || labels.contains(&'.'));
            let hidden = hidden.ok_or_else(|| {
                Failure::refused(format!(
                    "an operand of shape {} has not as many axes as labels",
                    shown(&view.shape)
                ))
            })?;
            widest = widest.max(hidden);
            labelled.push((spelled(labels, hidden), view));
        }
        let result = spelled(&self.result, widest);
        let mut operands = Vec::new();
        for (place, (labels, view)) in labelled.iter().enumerate() {
            let is_kept = |label: &char| {
                let mut others = labelled.iter().enumerate();
                result.contains(label)
                    || others.any(|(at, (labels, _))| at != place && labels.contains(label))
            };
            operands.push(summed(c, labels, view, is_kept)?);
        }
        match operands.as_slice() {
            [only] => {
                let permuted = only.permuted_to(&result)?;
                cast(&permuted, &*c.output(0, permuted.dtype, &permuted.shape)?)
            }
            [a, b] => multiply(c, a, b, &result),
            _ => Err(Failure::refused("one or two operands are expected")),
        }
    }
}

/// Labels with those of the ellipsis in its place: characters that no equation has.
fn spelled(labels: &[char], hidden: usize) -> Vec<char> {
    let of_ellipsis = (0..hidden)
        .rev()
        .filter_map(|place| char::from_u32(0xE000 + place as u32));
    let of_ellipsis: Vec<char> = of_ellipsis.collect();
    { labels.iter() }
        .flat_map(|label| {
            if *label == '.' {
                of_ellipsis.clone()
            } else {
                vec![*label]
            }
        })
        .collect()
}

/// An operand without the axes whose label nobody else has.
fn summed(
    c: &Call,
    labels: &[char],
    view: &View,
    is_kept: impl Fn(&char) -> bool,
) -> Outcome<Labelled> {
    let axes: Vec<i64> = { labels.iter().enumerate() }
        .filter(|(_, label)| !is_kept(label))
        .map(|(axis, _)| axis as i64)
        .collect();
    let kept = labels
        .iter()
        .copied()
        .filter(|label| is_kept(label))
        .collect();
    let view = if axes.is_empty() {
        Held::Given(view.clone())
    } else {
        Held::Made(reduced(c, c"sum", view, &axes, false)?)
    };
    Ok(Labelled { labels: kept, view })
}

impl Labelled {
    fn axis(&self, label: char) -> Option<usize> {
        self.labels.iter().position(|own| *own == label)
    }

    fn extent(&self, label: char) -> Option<i64> {
        self.axis(label).map(|axis| self.view.shape[axis])
    }

    /// The view with its axes in the order of labels.
    fn permuted_to(&self, labels: &[char]) -> Outcome<View> {
        let axes: Option<Vec<usize>> = labels.iter().map(|label| self.axis(*label)).collect();
        let axes =
            axes.ok_or_else(|| Failure::refused("the result has a label that no operand has"))?;
        Ok(self.view.permuted(&axes))
    }

    /// Matrices of a batch: axes of three groups, each joined to one.
    fn as_matrices(&self, c: &Call, groups: [&[char]; 3]) -> Outcome<(Held, [i64; 3])> {
        let order: Vec<char> = groups.concat();
        let permuted = self.permuted_to(&order)?;
        let extent = |labels: &[char]| {
            labels
                .iter()
                .filter_map(|label| self.extent(*label))
                .product()
        };
        let extents: [i64; 3] = groups.map(extent);
        Ok((c.contiguous(&permuted)?, extents))
    }
}

fn multiply(c: &Call, a: &Labelled, b: &Labelled, result: &[char]) -> Outcome {
    let (mut batch, mut inner, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for label in &a.labels {
        let (own, other) = (a.extent(*label), b.extent(*label));
        if other.is_some() && own != other {
            return Err(Failure::refused(format!(
                "operands of shapes {} and {} differ in an extent that has one label",
                shown(&a.view.shape),
                shown(&b.view.shape)
            )));
        }
        match (other.is_some(), result.contains(label)) {
            (true, true) => batch.push(*label),
            (true, false) => inner.push(*label),
            (false, _) => left.push(*label),
        }
    }
    let right: Vec<char> = b
        .labels
        .iter()
        .copied()
        .filter(|label| a.axis(*label).is_none())
        .collect();
    let (first, [count, m, depth]) = a.as_matrices(c, [&batch, &left, &inner])?;
    let (second, [_, _, n]) = b.as_matrices(c, [&batch, &inner, &right])?;
    let order: Vec<char> = [&batch[..], &left, &right].concat();
    let shape: Dims = { order.iter() }
        .filter_map(|label| a.extent(*label).or_else(|| b.extent(*label)))
        .collect();
    let made = Labelled {
        labels: order,
        view: Held::Made(c.temporary(first.dtype, &shape)?),
    };
    let matrices = (
        first.reshaped(&[count, m, depth]),
        second.reshaped(&[count, depth, n]),
    );
    product(
        c,
        (&matrices.0, &matrices.1),
        [false, false],
        &made.view.reshaped(&[count, m, n]),
    )?;
    let permuted = made.permuted_to(result)?;
    if permuted.is_contiguous()
        && let Held::Made(tensor) = &made.view
    {
        return c.set_output(0, tensor, &permuted.shape);
    }
    cast(&permuted, &*c.output(0, permuted.dtype, &permuted.shape)?)
}
