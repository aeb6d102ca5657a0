//! Elementwise operations of libamdgpu on tensors and numbers, and steps of kernels that compose them.

use std::ffi::CStr;

use smallvec::SmallVec;

use crate::amdgpu::{OPERAND_INTEGER, OPERAND_REAL, Operand, agpu};
use crate::call::Call;
use crate::dtype::Dtype;
use crate::failure::Outcome;
use crate::tensor::{Dims, Made, Tensor, View, broadcast};

/// What an operation is given.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    View(&'a View),
    Int(i64),
    Real(f64),
}

impl<'a> From<&'a View> for Input<'a> {
    fn from(view: &'a View) -> Self {
        Self::View(view)
    }
}

impl<'a> From<&'a Tensor> for Input<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::View(tensor)
    }
}

impl<'a> From<&'a Held> for Input<'a> {
    fn from(held: &'a Held) -> Self {
        Self::View(held)
    }
}

impl From<f64> for Input<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<i64> for Input<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl Input<'_> {
    /// The operand; a number counts as one of `dtype`.
    fn operand(&self, dtype: Dtype) -> Outcome<Operand> {
        let (kind, integer, real) = match *self {
            Self::View(view) => return view.operand(),
            Self::Int(value) => (OPERAND_INTEGER, value, 0.0),
            Self::Real(value) if !dtype.is_float() => (OPERAND_INTEGER, value as i64, 0.0),
            Self::Real(value) => (OPERAND_REAL, 0, value),
        };
        Ok(Operand {
            kind,
            dimensions: 0,
            dtype: dtype.name()?.as_ptr(),
            address: std::ptr::null_mut(),
            shape: std::ptr::null(),
            strides: std::ptr::null(),
            integer,
            real,
            imaginary: 0.0,
        })
    }
}

/// A view that somebody else keeps, or a tensor of this call.
pub enum Held {
    Given(View),
    Made(Tensor),
}

impl std::ops::Deref for Held {
    type Target = View;

    fn deref(&self) -> &View {
        match self {
            Self::Given(view) => view,
            Self::Made(tensor) => tensor,
        }
    }
}

/// `operation(inputs...)` to a place, whose shape the inputs broadcast to. Tensors have the dtype that the operation computes in.
pub fn launch(operation: &CStr, inputs: &[Input<'_>], out: &View, alpha: f64) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    // Behind the condition of "where", which is a truth value.
    let first = usize::from(operation == c"where");
    let dtype = inputs.iter().skip(first).find_map(|input| match input {
        Input::View(view) => Some(view.dtype),
        _ => None,
    });
    let dtype = dtype.unwrap_or(out.dtype);
    let operands: SmallVec<[Operand; 4]> = { inputs.iter() }
        .map(|input| input.operand(dtype))
        .collect::<Outcome<_>>()?;
    let to = out.operand()?;
    agpu!(agpu_ops_elementwise_at(
        out.place.0,
        operation.as_ptr(),
        operands.as_ptr(),
        operands.len(),
        alpha,
        &raw const to,
    ))
}

/// Converts and broadcasts.
pub fn cast<'a>(from: impl Into<Input<'a>>, to: &View) -> Outcome {
    launch_cast(from.into(), to)
}

fn launch_cast(from: Input<'_>, to: &View) -> Outcome {
    if to.is_empty() {
        return Ok(());
    }
    let operand = from.operand(to.dtype)?;
    let out = to.operand()?;
    agpu!(agpu_ops_elementwise_at(
        to.place.0,
        c"cast".as_ptr(),
        &raw const operand,
        1,
        0.0,
        &raw const out,
    ))
}

/// The shape that inputs broadcast to.
pub fn broadcast_shape(inputs: &[Input<'_>]) -> Outcome<Dims> {
    inputs
        .iter()
        .try_fold(Dims::new(), |shape, input| match input {
            Input::View(view) => broadcast(&shape, &view.shape),
            _ => Ok(shape),
        })
}

impl Call<'_> {
    /// The values as another dtype: the view itself, or a copy.
    pub fn converted(&self, view: &View, dtype: Dtype) -> Outcome<Held> {
        if view.dtype == dtype {
            return Ok(Held::Given(view.clone()));
        }
        let made = self.temporary(dtype, &view.shape)?;
        cast(view, &made)?;
        Ok(Held::Made(made))
    }

    /// The values in row-major order: the view itself, or a copy.
    pub fn contiguous(&self, view: &View) -> Outcome<Held> {
        if view.is_contiguous() {
            return Ok(Held::Given(view.clone()));
        }
        Ok(Held::Made(self.copied(view)?))
    }

    /// A copy in row-major order.
    pub fn copied(&self, view: &View) -> Outcome<Tensor> {
        let made = self.temporary(view.dtype, &view.shape)?;
        cast(view, &made)?;
        Ok(made)
    }

    /// A tensor whose elements are all one number.
    pub fn filled(&self, number: Input<'_>, dtype: Dtype, shape: &[i64]) -> Outcome<Tensor> {
        let made = self.temporary(dtype, shape)?;
        launch_cast(number, &made)?;
        Ok(made)
    }

    /// The int64 numbers from 0 to `count` - 1.
    pub fn counted(&self, count: i64) -> Outcome<Made> {
        let one = self.filled(1_i64.into(), Dtype::I64, &[1])?;
        let options = crate::amdgpu::Scan {
            is_exclusive: 1,
            ..crate::amdgpu::Scan::default()
        };
        let (ones, mut result) = (one.expanded(&[count])?.array()?, 0);
        agpu!(agpu_ops_scan(
            c"cumsum".as_ptr(),
            ones.0,
            0,
            &raw const options,
            &raw mut result
        ))?;
        Made::of(result, self.device)
    }

    pub fn steps(&self, dtype: Dtype) -> Steps<'_> {
        Steps {
            call: self,
            dtype: dtype.wide(),
        }
    }
}

/// Steps of a kernel that all compute in one dtype, with new tensors between them. Half precision is computed in float32.
#[derive(Clone, Copy)]
pub struct Steps<'c> {
    call: &'c Call<'c>,
    pub dtype: Dtype,
}

impl Steps<'_> {
    /// A view in the dtype of the steps.
    pub fn of(self, view: &View) -> Outcome<Held> {
        self.call.converted(view, self.dtype)
    }

    /// `operation(inputs...)` as a new tensor.
    pub fn made(self, operation: &CStr, inputs: &[Input<'_>]) -> Outcome<Tensor> {
        let made = self.call.temporary(self.dtype, &broadcast_shape(inputs)?)?;
        launch(operation, inputs, &made, 0.0)?;
        Ok(made)
    }

    /// A truth value for each element.
    pub fn test(self, operation: &CStr, inputs: &[Input<'_>]) -> Outcome<Tensor> {
        let made = self
            .call
            .temporary(Dtype::BOOL, &broadcast_shape(inputs)?)?;
        launch(operation, inputs, &made, 0.0)?;
        Ok(made)
    }

    /// `operation(inputs...)` to a place, converted where that has another dtype.
    pub fn into(self, operation: &CStr, inputs: &[Input<'_>], out: &View) -> Outcome {
        if out.dtype == self.dtype {
            return launch(operation, inputs, out, 0.0);
        }
        let made = self.call.temporary(self.dtype, &out.shape)?;
        launch(operation, inputs, &made, 0.0)?;
        cast(&made, out)
    }
}
