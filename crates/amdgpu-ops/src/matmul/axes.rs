//! How the axes of the operands become those of the result, by the rules of `numpy.matmul`.

use amdgpu_abi::ErrorCode;
use amdgpu_array::Dims;

use crate::{Error, Result};

/// Shape of the result as the caller sees it, and the axes that it lacks where operands are vectors.
#[derive(Clone, Debug)]
pub struct Axes {
    pub shape: Dims,
    /// `a` is a vector: the result lacks the axis of its rows.
    pub is_row_missing: bool,
    /// `b` is a vector: the result lacks the axis of its columns.
    pub is_column_missing: bool,
}

impl Axes {
    /// The axes of a product of operands of these shapes.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn of(a: &[i64], b: &[i64]) -> Result<Self> {
        let refuse = |message| Err(Error::refused(ErrorCode::ShapeMismatch, message));
        let ([.., columns_of_a], [_, ..]) = (a, b) else {
            return refuse(format!(
                "matrix_multiply takes vectors, matrices and stacks of matrices, not shapes {a:?} and {b:?}"
            ));
        };
        let lead = b.len().saturating_sub(2);
        if *columns_of_a != b[lead] {
            return refuse(format!("inner dimensions differ: {a:?} @ {b:?}"));
        }
        let leads = [&a[..a.len().saturating_sub(2)], &b[..lead]];
        let Some(mut shape) = batch_of(leads) else {
            return refuse(format!(
                "the axes before the matrices do not broadcast to each other: {a:?} @ {b:?}"
            ));
        };
        let is_row_missing = a.len() == 1;
        let is_column_missing = b.len() == 1;
        if !is_row_missing {
            shape.push(a[a.len() - 2]);
        }
        if !is_column_missing {
            shape.push(b[b.len() - 1]);
        }
        Ok(Self {
            shape,
            is_row_missing,
            is_column_missing,
        })
    }

    /// Where axes of one element are inserted into an array of the result's shape, one after the other, so that it has all.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        let rank = self.shape.len();
        let column = self.is_column_missing.then_some(rank);
        let row = rank + usize::from(self.is_column_missing);
        let row = self.is_row_missing.then(|| row - 1);
        column.into_iter().chain(row)
    }
}

fn batch_of(leads: [&[i64]; 2]) -> Option<Dims> {
    if leads[0] == leads[1] {
        return Some(Dims::from_slice(leads[0]));
    }
    amdgpu_array::broadcast_shapes(leads.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_lack_an_axis_of_the_result() {
        let of = |a: &[i64], b: &[i64]| {
            let axes = Axes::of(a, b).unwrap();
            (axes.shape.to_vec(), axes.missing().collect::<Vec<_>>())
        };
        assert_eq!(of(&[2, 3], &[3, 4]), (vec![2, 4], vec![]));
        assert_eq!(of(&[3], &[3, 4]), (vec![4], vec![0]));
        assert_eq!(of(&[2, 3], &[3]), (vec![2], vec![1]));
        assert_eq!(of(&[3], &[3]), (vec![], vec![0, 0]));
        assert_eq!(of(&[5, 1, 2, 3], &[7, 3, 4]), (vec![5, 7, 2, 4], vec![]));
        assert_eq!(of(&[5, 2, 3], &[3]), (vec![5, 2], vec![2]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (a, b) in [
            (&[2, 3][..], &[2, 3][..]),
            (&[], &[3]),
            (&[3], &[]),
            (&[2, 3, 4], &[3, 4, 5]),
        ] {
            let error = Axes::of(a, b).unwrap_err();
            assert!(matches!(
                error,
                Error::Refused {
                    code: ErrorCode::ShapeMismatch,
                    ..
                }
            ));
        }
    }
}
