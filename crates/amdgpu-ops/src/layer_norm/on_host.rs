//! The same where the CPU computes in place: by the Zig library's functions, a few of them one after the other.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, row_major};
use smallvec::SmallVec;

use super::arguments::{LayerNorm, LayerNormGradients, LayerNormSlopes};
use crate::complex::{cast, reduce};
use crate::elementwise::{Elementwise, elementwise};
use crate::generated::loss::computed;
use crate::normalize::{Normalize, NormalizeOptions, RowAxes, normalize};
use crate::operand::{Operand, Scalar};
use crate::reduce::{Reduce, ReduceOptions};
use crate::transpose::dense;
use crate::{DeviceOps, Result};

/// The functions for matrices of rows.
pub(super) struct Rows<'a> {
    pub ops: &'a DeviceOps,
    pub count: i64,
    pub length: i64,
    pub wide: Dtype,
}

impl<'a> Rows<'a> {
    pub fn of(ops: &'a DeviceOps, x: Dtype, [rows, length]: [i64; 2]) -> Self {
        Self {
            ops,
            count: rows,
            length,
            wide: computed(x),
        }
    }

    /// The elements as an array of a shape.
    fn seen(&self, x: &Operand, shape: [i64; 2]) -> Result<Operand> {
        Ok(Operand::of_array(seen(&dense(self.ops, x)?, &shape)))
    }

    /// In the dtype that is computed in.
    fn widened(&self, x: &Operand, shape: [i64; 2]) -> Result<Operand> {
        let x = self.seen(x, shape)?;
        if x.dtype == self.wide {
            return Ok(x);
        }
        Ok(Operand::of_array(cast(self.ops, &x, self.wide, None)?))
    }

    fn number(&self, value: f64) -> Operand {
        Operand::of_number(Scalar::Float(value), self.wide)
    }

    fn each(&self, operation: Elementwise, inputs: &[&Operand]) -> Result<Operand> {
        let inputs: SmallVec<[Operand; 4]> = inputs.iter().map(|one| (*one).clone()).collect();
        Ok(Operand::of_array(elementwise(
            self.ops, operation, &inputs, None, 0.0,
        )?))
    }

    fn over(&self, operation: Reduce, x: &Operand, axis: i64) -> Result<Operand> {
        self.over_into(operation, x, axis, None)
    }

    fn over_into(
        &self,
        operation: Reduce,
        x: &Operand,
        axis: i64,
        out: Option<&Array>,
    ) -> Result<Operand> {
        let options = ReduceOptions {
            axes: Some(&[axis]),
            keeps_axes: true,
            correction: 0.0,
            result: Some(self.wide),
            thread_limit: None,
        };
        let made = reduce(self.ops, operation, x, out, &options)?;
        Ok(Operand::of_array(made))
    }

    fn deliver(&self, made: &Operand, out: &Array) -> Result<()> {
        let out = seen(out, &made.shape);
        cast(self.ops, made, out.dtype, Some(&out)).map(drop)
    }

    /// Result, means, and one over the deviations.
    pub fn forward(
        &self,
        of: &LayerNorm<'_>,
        epsilon: f64,
        [result, mean, inverse]: [&Array; 3],
    ) -> Result<()> {
        let shape = [self.count, self.length];
        let x = self.seen(of.x, shape)?;
        let options = NormalizeOptions {
            axes: RowAxes::Named(&[-1]),
            epsilon,
            thread_limit: None,
        };
        let row = |one: &Operand| -> Result<Operand> {
            Ok(Operand::of_array(seen(
                &dense(self.ops, one)?,
                &[self.length],
            )))
        };
        let mut parameters: SmallVec<[Operand; 2]> = SmallVec::new();
        if let Some(scale) = of.scale {
            parameters.push(row(scale)?);
            parameters.extend(of.shift.map(row).transpose()?);
        }
        let out = seen(result, &shape);
        let operation = Normalize::LayerNorm;
        normalize(self.ops, operation, &x, &parameters, Some(&out), &options)?;
        if let (None, Some(shift)) = (of.scale, of.shift) {
            let out_of = Operand::of_array(out.clone());
            let moved = self.each(Elementwise::Add, &[&out_of, &row(shift)?])?;
            self.deliver(&moved, &out)?;
        }
        let [mean, inverse] = [mean, inverse].map(|one| seen(one, &[self.count, 1]));
        self.over_into(Reduce::Mean, &x, 1, Some(&mean))?;
        let variance = self.over_into(Reduce::Variance, &x, 1, Some(&inverse))?;
        // In place: calls for a few rows take longer than their numbers.
        let steps = [
            (Elementwise::Add, Some(self.number(epsilon))),
            (Elementwise::Sqrt, None),
            (Elementwise::Reciprocal, None),
        ];
        for (operation, other) in steps {
            let inputs: SmallVec<[Operand; 2]> =
                std::iter::once(variance.clone()).chain(other).collect();
            elementwise(self.ops, operation, &inputs, Some(&inverse), 0.0)?;
        }
        Ok(())
    }

    /// The gradients that are wanted.
    pub fn gradients(
        &self,
        of: &LayerNorm<'_>,
        slopes: &LayerNormSlopes<'_>,
        outs: &LayerNormGradients<'_>,
    ) -> Result<()> {
        let (shape, column) = ([self.count, self.length], [self.count, 1]);
        let zero = self.number(0.0);
        let mean = self.widened(slopes.mean, column)?;
        let inverse = self.widened(slopes.inverse, column)?;
        let given = self.widened(slopes.gradient, shape)?;
        let x = self.widened(of.x, shape)?;
        let values = self.each(Elementwise::Standardize, &[&x, &mean, &inverse, &zero])?;
        if let Some(by_scale) = outs.by_scale {
            let products = self.each(Elementwise::Multiply, &[&given, &values])?;
            self.deliver(&self.over(Reduce::Sum, &products, 0)?, by_scale)?;
        }
        if let Some(by_shift) = outs.by_shift {
            self.deliver(&self.over(Reduce::Sum, &given, 0)?, by_shift)?;
        }
        let Some(by_x) = outs.by_x else { return Ok(()) };
        let by_values = match of.scale {
            Some(scale) => {
                let scale = self.widened(scale, [1, self.length])?;
                self.each(Elementwise::Multiply, &[&given, &scale])?
            }
            None => given,
        };
        let products = self.each(Elementwise::Multiply, &[&by_values, &values])?;
        let along = self.over(Reduce::Mean, &products, 1)?;
        let level = self.over(Reduce::Mean, &by_values, 1)?;
        let off = self.each(Elementwise::Standardize, &[&values, &zero, &along, &level])?;
        let inputs = [&by_values, &off, &inverse, &zero];
        self.deliver(&self.each(Elementwise::Standardize, &inputs)?, by_x)
    }
}

/// The memory of an array without gaps under another shape.
fn seen(x: &Array, shape: &[i64]) -> Array {
    let shape = Dims::from_slice(shape);
    let strides = row_major(&shape);
    x.view(shape, strides)
}
