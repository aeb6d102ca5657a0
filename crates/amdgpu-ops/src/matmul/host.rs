//! Matrix multiplication in memory of the host: operands in the dtype that is computed in, axes as the Zig library takes them.

use std::ffi::c_void;

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::promotion::{is_complex, is_float};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Dims, row_major};
use amdgpu_matrix::{self as matrix, Epilogue, MatmulOptions, Matrix, TensorView};

use super::axes::Axes;
use super::precision::Kinds;
use crate::cpu::Host;
use crate::cpu::convert::converted;
use crate::fallback::HostTensor;
use crate::host_memory::{HOST, HostMemory};
use crate::{Error, Result};

/// Multiply-adds of a product that take as long as one addition of other operations.
const MULTIPLY_ADDS: u64 = 27;

/// `activation(alpha * (a @ b) + beta * out + bias + residual)`, with the axes of `numpy.matmul`; as [`Matmul`](super::Matmul), in memory of the
/// host. Operands of another dtype than that which is computed in are converted.
#[derive(Clone, Copy, Debug)]
pub struct HostMatmul<'a> {
    pub a: TensorView<'a>,
    pub b: TensorView<'a>,
    /// `None` for what the dtypes ask for.
    pub precision: Option<Precision>,
    /// Whether the last two axes of `a` and of `b` are swapped.
    pub transposes: [bool; 2],
    pub bias: Option<TensorView<'a>>,
    pub residual: Option<TensorView<'a>>,
    pub activation: Option<amdgpu_abi::Activation>,
    pub alpha: f64,
    /// Factor of what `out` holds; 0 does not read it.
    pub beta: f64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl<'a> HostMatmul<'a> {
    /// `a @ b` and nothing else.
    #[must_use]
    pub fn of(a: TensorView<'a>, b: TensorView<'a>) -> Self {
        Self {
            a,
            b,
            precision: None,
            transposes: [false; 2],
            bias: None,
            residual: None,
            activation: None,
            alpha: 1.0,
            beta: 0.0,
            thread_limit: None,
        }
    }

    fn options(&self, kinds: &Kinds) -> MatmulOptions {
        MatmulOptions {
            alpha: self.alpha,
            beta: self.beta,
            precision: rounding_of(kinds.rounding),
            thread_limit: self.thread_limit,
        }
    }
}

/// The result in memory of the host.
///
/// # Errors
///
/// As [`matmul`](super::matmul), and those of the host.
pub fn on_host<H: Host>(call: &HostMatmul<'_>, host: &mut H) -> std::result::Result<(), H::Error> {
    let (a_dtype, b_dtype) = (call.a.dtype(), call.b.dtype());
    let precision = call
        .precision
        .unwrap_or_else(|| Precision::of_dtypes(a_dtype, b_dtype));
    let kinds = Kinds::of(precision, a_dtype, b_dtype);
    let operands = if precision == Precision::Int8 {
        Dtype::I8
    } else {
        kinds.result
    };
    match Matrices::of(call, operands) {
        Some(matrices) => matrices.multiply(call, &kinds, host),
        None => generally(call, &kinds, operands, host),
    }
}

/// Every case, and every refusal.
fn generally<H: Host>(
    call: &HostMatmul<'_>,
    kinds: &Kinds,
    operands: Dtype,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let [copy_a, copy_b] = [
        copied("a", &call.a, operands)?,
        copied("b", &call.b, operands)?,
    ];
    let mut a = Strided::of(&call.a, copy_a.as_ref())?;
    let mut b = Strided::of(&call.b, copy_b.as_ref())?;
    for (operand, is_transposed) in [&mut a, &mut b].into_iter().zip(call.transposes) {
        operand.transpose_if(is_transposed);
    }
    let axes = Axes::of(&a.shape, &b.shape)?;
    if axes.is_row_missing {
        a.insert(0);
    }
    if axes.is_column_missing {
        b.insert(1);
    }
    let [copy_bias, copy_residual] = [("bias", call.bias), ("residual", call.residual)]
        .map(|(name, view)| copy_of_given(name, view, kinds.sums));
    let (copy_bias, copy_residual) = (copy_bias?, copy_residual?);
    let bias = given(call.bias, copy_bias.as_ref())?;
    let mut residual = given(call.residual, copy_residual.as_ref())?;
    if let Some(residual) = &mut residual {
        residual.broadcast_to(&axes.shape)?;
        axes.missing().for_each(|place| residual.insert(place));
    }
    check_beta(call, host)?;
    let memory = host.result(&axes.shape, kinds.result, call.beta != 0.0)?;
    check_out(&memory, &axes.shape, kinds.result)?;
    let mut memory = axes.missing().fold(memory, HostMemory::with_axis);
    let options = call.options(kinds);
    let inner = a.shape.last().copied().unwrap_or(0);
    let work = multiply_adds(inner, &axes.shape) / MULTIPLY_ADDS;
    Ok(host.run(work, || {
        let epilogue = Epilogue {
            bias: bias.as_ref().map(Strided::view).transpose()?,
            residual: residual.as_ref().map(Strided::view).transpose()?,
            activation: call.activation,
        };
        let mut out = memory.view_mut()?;
        Ok(Matrix::global()?.matmul_then(&a.view()?, &b.view()?, &mut out, &options, &epilogue)?)
    })?)
}

/// Two matrices in the dtype that is computed in, with nothing to add to the sums: neither they nor their axes are copied, because a product of
/// 8 x 8 takes no longer than that.
struct Matrices {
    shapes: [[i64; 2]; 2],
    strides: [[i64; 2]; 2],
}

impl Matrices {
    /// `None` for everything that [`generally`] has to look at.
    fn of(call: &HostMatmul<'_>, dtype: Dtype) -> Option<Self> {
        if call.bias.is_some() || call.residual.is_some() {
            return None;
        }
        let (mut shapes, mut strides) = ([[0; 2]; 2], [[0; 2]; 2]);
        for (place, view) in [&call.a, &call.b].into_iter().enumerate() {
            let &[rows, columns] = view.shape() else {
                return None;
            };
            let (down, along) = match view.strides() {
                None => (columns, 1),
                Some(own) => (own[0], own[1]),
            };
            if view.dtype() != dtype {
                return None;
            }
            (shapes[place], strides[place]) = if call.transposes[place] {
                ([columns, rows], [along, down])
            } else {
                ([rows, columns], [down, along])
            };
        }
        (shapes[0][1] == shapes[1][0]).then_some(Self { shapes, strides })
    }

    fn multiply<H: Host>(
        &self,
        call: &HostMatmul<'_>,
        kinds: &Kinds,
        host: &mut H,
    ) -> std::result::Result<(), H::Error> {
        let [[rows, inner], [_, columns]] = self.shapes;
        let shape = [rows, columns];
        check_beta(call, host)?;
        let mut memory = host.result(&shape, kinds.result, call.beta != 0.0)?;
        check_out(&memory, &shape, kinds.result)?;
        let options = call.options(kinds);
        Ok(host.run(multiply_adds(inner, &shape) / MULTIPLY_ADDS, || {
            let epilogue = Epilogue {
                activation: call.activation,
                ..Epilogue::default()
            };
            let (a, b) = (self.view(0, &call.a)?, self.view(1, &call.b)?);
            let mut out = memory.view_mut()?;
            Ok(Matrix::global()?.matmul_then(&a, &b, &mut out, &options, &epilogue)?)
        })?)
    }

    /// An operand, transposed where that was asked for.
    fn view<'a>(&'a self, place: usize, given: &TensorView<'a>) -> Result<TensorView<'a>> {
        let (shape, strides) = (&self.shapes[place], &self.strides[place]);
        // SAFETY: shape and strides reach the same elements as those of the view.
        let view = unsafe {
            TensorView::from_parts(given.data(), given.dtype(), HOST, shape, Some(strides))
        };
        Ok(view?)
    }
}

fn multiply_adds(inner: i64, result: &[i64]) -> u64 {
    let product = |total: u64, extent: &i64| total.saturating_mul(*extent as u64);
    result.iter().fold(inner as u64, product)
}

fn rounding_of(rounding: Option<Dtype>) -> matrix::Precision {
    match rounding {
        None => matrix::Precision::Operands,
        Some(dtype) if dtype == Dtype::BF16 => matrix::Precision::Bf16,
        Some(_) => matrix::Precision::F16,
    }
}

fn unsupported(message: String) -> Error {
    Error::refused(ErrorCode::UnsupportedDtype, message)
}

/// A copy of an operand in `dtype`; `None` where it has it.
fn copied(name: &str, view: &TensorView<'_>, dtype: Dtype) -> Result<Option<HostTensor>> {
    let own = view.dtype();
    if own == dtype {
        return Ok(None);
    }
    if is_complex(own) {
        return Err(unsupported(format!(
            "{name} is complex; it follows products of real numbers"
        )));
    }
    if dtype == Dtype::I8 {
        return Err(unsupported(format!(
            "{name} is not an int8 array: precision 'int8' multiplies int8 operands; quantise them first"
        )));
    }
    if dtype == Dtype::I32 && is_float(own) {
        return Err(unsupported(format!(
            "{name} has dtype {}; an integer product takes integers",
            own.name().unwrap_or("?")
        )));
    }
    converted(view, dtype).map(Some).map_err(|error| {
        let known = dtype.name().unwrap_or("?");
        let message = format!("{name} cannot be converted to {known}: {error}");
        Error::refused(amdgpu_abi::Coded::code(&error), message)
    })
}

fn copy_of_given(
    name: &str,
    view: Option<TensorView<'_>>,
    dtype: Dtype,
) -> Result<Option<HostTensor>> {
    match view {
        Some(view) => copied(name, &view, dtype),
        None => Ok(None),
    }
}

fn given(view: Option<TensorView<'_>>, copy: Option<&HostTensor>) -> Result<Option<Strided>> {
    view.map(|view| Strided::of(&view, copy)).transpose()
}

fn check_beta<H: Host>(call: &HostMatmul<'_>, host: &H) -> Result<()> {
    if call.beta != 0.0 && !host.has_out() {
        let message = "beta scales what out holds, and no out was given";
        return Err(Error::refused(ErrorCode::InvalidArgument, message));
    }
    Ok(())
}

fn check_out(memory: &HostMemory, shape: &[i64], dtype: Dtype) -> Result<()> {
    let name = |dtype: Dtype| dtype.name().unwrap_or("?");
    if memory.dtype() != dtype {
        return Err(unsupported(format!(
            "out has dtype {}, the product {}",
            name(memory.dtype()),
            name(dtype)
        )));
    }
    if memory.shape() != shape {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!("out has shape {:?}, the product {shape:?}", memory.shape()),
        ));
    }
    Ok(())
}

/// An operand with axes of its own.
struct Strided {
    data: *const c_void,
    dtype: Dtype,
    shape: Dims,
    strides: Dims,
}

// SAFETY: made of views, which are shared borrows, and used while those live.
unsafe impl Sync for Strided {}

impl Strided {
    /// Of a copy where there is one.
    fn of(view: &TensorView<'_>, copy: Option<&HostTensor>) -> Result<Self> {
        let view = match copy {
            Some(copy) => copy.view()?,
            None => *view,
        };
        let shape = Dims::from_slice(view.shape());
        Ok(Self {
            data: view.data(),
            dtype: view.dtype(),
            strides: view
                .strides()
                .map_or_else(|| row_major(&shape), Dims::from_slice),
            shape,
        })
    }

    fn transpose_if(&mut self, is_transposed: bool) {
        let rank = self.shape.len();
        if is_transposed && rank >= 2 {
            self.shape.swap(rank - 2, rank - 1);
            self.strides.swap(rank - 2, rank - 1);
        }
    }

    /// An axis of one element.
    fn insert(&mut self, place: usize) {
        self.shape.insert(place, 1);
        self.strides.insert(place, 1);
    }

    /// A residual, repeated along the axes in which the result is longer.
    fn broadcast_to(&mut self, shape: &[i64]) -> Result<()> {
        let both = [self.shape.as_slice(), shape].into_iter();
        if amdgpu_array::broadcast_shapes(both).as_deref() != Some(shape) {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "residual has shape {:?}, which does not broadcast to the product's {shape:?}",
                    self.shape.as_slice()
                ),
            ));
        }
        let lead = shape.len() - self.shape.len();
        let mut strides = Dims::from_elem(0, shape.len());
        for (axis, stride) in self.strides.iter().enumerate() {
            if self.shape[axis] == shape[lead + axis] {
                strides[lead + axis] = *stride;
            }
        }
        self.shape = Dims::from_slice(shape);
        self.strides = strides;
        Ok(())
    }

    fn view(&self) -> Result<TensorView<'_>> {
        // SAFETY: shape and strides reach the same elements as those of the view that this was made of.
        let view = unsafe {
            TensorView::from_parts(
                self.data,
                self.dtype,
                HOST,
                &self.shape,
                Some(&self.strides),
            )
        };
        Ok(view?)
    }
}
