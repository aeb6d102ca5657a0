//! The same where the CPU computes in place: by the Zig library's functions, a few of them one after the other.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_matrix::Matrix;
use smallvec::SmallVec;

use super::arguments::{LayerNorm, LayerNormGradients, LayerNormSlopes, NAME};
use crate::complex::{cast, reduce};
use crate::cpu::{self, Call, Host};
use crate::elementwise::{Elementwise, elementwise};
use crate::generated::loss::computed;
use crate::normalize;
use crate::operand::{Operand, Scalar};
use crate::reduce::{Reduce, ReduceOptions};
use crate::transpose::dense;
use crate::{DeviceOps, Error, Result};

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
        let options = ReduceOptions {
            axes: Some(&[axis]),
            keeps_axes: true,
            correction: 0.0,
            result: Some(self.wide),
            thread_limit: None,
        };
        let made = reduce(self.ops, operation, x, None, &options)?;
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
        let x = self.seen(of.x, [self.count, self.length])?;
        let row = |one: &Operand| -> Result<Operand> {
            Ok(Operand::of_array(seen(
                &dense(self.ops, one)?,
                &[self.length],
            )))
        };
        // The library takes a shift behind a scale only.
        let last = of.shift.filter(|_| of.scale.is_none());
        let given = of.scale.map(|scale| [Some(scale), of.shift]);
        let parameters = { given.into_iter().flatten().flatten().map(row) }
            .collect::<Result<SmallVec<[Operand; 2]>>>()?;
        let out = seen(result, &x.shape);
        self.normalized(&x, &parameters, epsilon, [&out, mean, inverse])?;
        let Some(shift) = last else { return Ok(()) };
        let inputs = [&Operand::of_array(out.clone()), &row(shift)?];
        let moved = self.each(Elementwise::Add, &inputs)?;
        self.deliver(&moved, &out)
    }

    /// The rows of a matrix with their statistics.
    fn normalized(
        &self,
        x: &Operand,
        parameters: &[Operand],
        epsilon: f64,
        [out, mean, inverse]: [&Array; 3],
    ) -> Result<()> {
        let mut inputs: SmallVec<[(&str, &Operand); 3]> = SmallVec::from_slice(&[("x", x)]);
        inputs.extend(["scale", "shift"].into_iter().zip(parameters));
        let call = Call {
            ops: self.ops,
            family: "normalize",
            name: NAME,
            inputs: &inputs,
            out: None,
        };
        let [mean, inverse] = [mean, inverse].map(|one| seen(one, &[self.count]));
        let outs = [Some(out), Some(&mean), Some(&inverse)];
        let on_device = || Err(Error::no_kernel("it runs on the host"));
        cpu::run_outs(&call, &outs, on_device, |views, host| {
            let mut memory = host.result(&x.shape, out.dtype, false)?;
            let mut means = host.result(&[self.count], self.wide, false)?;
            let mut inverses = host.result(&[self.count], self.wide, false)?;
            host.run(cpu::len(&views[0]).saturating_mul(normalize::COST), || {
                Matrix::global()?.layer_norm_with_statistics(
                    &views[0],
                    &views[1..],
                    &mut memory.view_mut()?,
                    [&mut means.view_mut()?, &mut inverses.view_mut()?],
                    epsilon,
                )?;
                Ok(())
            })
        })
        .map(drop)
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
