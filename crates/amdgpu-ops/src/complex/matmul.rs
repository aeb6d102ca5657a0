//! Matrix multiplication. That of complex numbers is one of real numbers: the rows of `a`, real and imaginary parts in turns, times a matrix in which
//! every number of `b` is a block of two by two (re, im; -im, re) gives the rows of the result, parts in turns. That is as much arithmetic as
//! four real products take, all of it in the fastest kernel there is, and each part of a result is one sum of 2 k products.

use std::ffi::c_void;

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::promotion::{as_complex, is_complex, promote};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{
    Complex, Elementwise, ElementwiseOptions, MatmulOptions, Matrix, Pairs, TensorView,
    TensorViewMut,
};

use super::{compute, dense_in, pairs, part_of};
use crate::cpu::{self, Call, Host};
use crate::fallback::HostTensor;
use crate::host_memory::{HOST, HostMemory};
use crate::matmul::{Activation, Axes, HostMatmul, Matmul, NAME};
use crate::operand::{Operand, Target};
use crate::operation::Product;
use crate::{DeviceOps, Error, Operation, Result};

const OPTIONS: ElementwiseOptions = ElementwiseOptions {
    alpha: 0.0,
    thread_limit: None,
};

/// Multiply-adds of a product that take as long as one addition of other operations.
const MULTIPLY_ADDS: u64 = 27;

/// The dtype of a product, where nothing is asked for that is of real numbers only.
fn dtype_of(a: Dtype, b: Dtype, precision: Option<Precision>, is_plain: bool) -> Result<Dtype> {
    let dtype = as_complex(promote(a, b));
    let own = if dtype == Dtype::C64 {
        Precision::Fp32
    } else {
        Precision::Fp64
    };
    if is_plain && precision.is_none_or(|given| given == own) {
        return Ok(dtype);
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{NAME}: complex matrices are multiplied in their own precision and without alpha, beta, bias, residual and activation; apply those to the product"
        ),
    ))
}

/// Shape and strides of a matrix or a vector, as a matrix.
struct Matrices {
    shape: Dims,
    strides: Dims,
}

impl Matrices {
    fn of(shape: &[i64], strides: &[i64], is_transposed: bool) -> Self {
        let (mut shape, mut strides) = (Dims::from_slice(shape), Dims::from_slice(strides));
        let rank = shape.len();
        if is_transposed && rank > 1 {
            shape.swap(rank - 1, rank - 2);
            strides.swap(rank - 1, rank - 2);
        }
        Self { shape, strides }
    }

    fn insert(&mut self, place: usize) {
        self.shape.insert(place, 1);
        self.strides.insert(place, 0);
    }
}

/// The shape of a matrix whose columns are pairs.
fn in_parts(shape: &[i64]) -> Dims {
    let mut parts = Dims::from_slice(shape);
    if let Some(last) = parts.last_mut() {
        *last *= 2;
    }
    parts
}

/// The matrix of blocks for matrices of a shape: shape, and the strides in it of what a matrix has at the places of its numbers.
struct Blocks {
    shape: Dims,
    strides: Dims,
    columns: i64,
}

impl Blocks {
    fn of(b: &[i64]) -> Self {
        let rank = b.len();
        let columns = b[rank - 1];
        let mut shape = in_parts(b);
        shape[rank - 2] *= 2;
        let mut strides = row_major(&shape);
        strides[rank - 2] *= 2;
        strides[rank - 1] = 2;
        Self {
            shape,
            strides,
            columns,
        }
    }

    /// Strides of pairs.
    fn pair_strides(&self) -> Dims {
        let mut strides = self.strides.clone();
        strides.push(1);
        strides
    }

    /// Where -im and re of the first number stand.
    fn second_row(&self) -> [i64; 2] {
        [2 * self.columns, 2 * self.columns + 1]
    }
}

/// `a @ b` of real and complex numbers; see [`crate::matmul::matmul`].
///
/// # Errors
///
/// As there; `unsupported-dtype` for complex operands with options that products of real numbers have.
pub fn matmul(ops: &DeviceOps, call: &Matmul<'_>) -> Result<Array> {
    if !is_complex(call.a.dtype) && !is_complex(call.b.dtype) {
        return crate::matmul::matmul(ops, call);
    }
    let is_plain = call.bias.is_none()
        && call.residual.is_none()
        && call.activation == Activation::Identity
        && (call.alpha, call.beta) == (1.0, 0.0);
    let dtype = dtype_of(call.a.dtype, call.b.dtype, call.precision, is_plain)?;
    let given = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("a", call.a), ("b", call.b)],
        out: call.out,
    };
    cpu::run_noted(
        &given,
        || (call.beta == 0.0).then(|| Operation::Matmul(Product::of(call))),
        || on_device(ops, call, dtype),
        |views, host| {
            let given = HostMatmul {
                transposes: [call.transpose_a, call.transpose_b],
                ..HostMatmul::of(views[0], views[1])
            };
            matmul_on_host(&given, host)
        },
    )
}

/// [`matmul`] in memory of the host.
///
/// # Errors
///
/// As [`matmul`], and those of the host.
pub fn matmul_on_host<H: Host>(
    call: &HostMatmul<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    if !is_complex(call.a.dtype()) && !is_complex(call.b.dtype()) {
        return crate::matmul::on_host(call, host);
    }
    let identity = Activation::Identity.to_abi().kind;
    let is_plain = call.bias.is_none()
        && call.residual.is_none()
        && call.activation.is_none_or(|one| one.kind == identity)
        && (call.alpha, call.beta) == (1.0, 0.0);
    let dtype = dtype_of(call.a.dtype(), call.b.dtype(), call.precision, is_plain)?;
    let [mut a, mut b] = [(&call.a, call.transposes[0]), (&call.b, call.transposes[1])].map(
        |(view, is_transposed)| {
            let dense = row_major(view.shape());
            Matrices::of(
                view.shape(),
                view.strides().unwrap_or(&dense),
                is_transposed,
            )
        },
    );
    let (axes, whole) = axes_of(&mut a, &mut b)?;
    let mut memory = host.result(&axes, dtype, false)?;
    super::reduce::check_out(NAME, &memory, &axes, dtype)?;
    let depth = a.shape.last().map_or(0, |extent| 4 * *extent as u64);
    let elements = whole.iter().map(|extent| *extent as u64).product::<u64>();
    let work = elements.saturating_mul(depth) / MULTIPLY_ADDS;
    Ok(host.run(work, || {
        let a = dense_on_host(&call.a, &a, dtype)?;
        let blocks = blocks_on_host(&call.b, &b, dtype)?;
        multiply_on_host(&a, &blocks, &whole, &mut memory, call.thread_limit)
    })?)
}

/// The shape of the result, and the same with the axes of one element that it lacks; vectors become matrices.
fn axes_of(a: &mut Matrices, b: &mut Matrices) -> Result<(Dims, Dims)> {
    let axes = Axes::of(&a.shape, &b.shape)?;
    if axes.is_row_missing {
        a.insert(0);
    }
    if axes.is_column_missing {
        b.insert(1);
    }
    let mut whole = axes.shape.clone();
    axes.missing().for_each(|place| whole.insert(place, 1));
    Ok((axes.shape, whole))
}

fn multiply_on_host(
    a: &HostRows<'_>,
    blocks: &HostTensor,
    whole: &Dims,
    memory: &mut HostMemory,
    thread_limit: Option<u32>,
) -> Result<()> {
    let matrix = Matrix::global()?;
    let (dtype, part) = (memory.dtype(), part_of(memory.dtype()));
    let options = MatmulOptions {
        thread_limit,
        ..MatmulOptions::default()
    };
    let (rows, blocks) = (a.as_matrix()?, blocks.view()?);
    if memory.is_dense() {
        // SAFETY: the memory of the result, of as many parts.
        let mut parts = unsafe { HostMemory::dense(memory.data(), part, &in_parts(whole)) };
        return Ok(matrix.matmul(&rows, &blocks, &mut parts.view_mut()?, &options)?);
    }
    let mut product = HostTensor::new(&in_parts(whole), part)?;
    matrix.matmul(
        &rows,
        &blocks,
        &mut product.memory_mut().view_mut()?,
        &options,
    )?;
    let data = product.memory_mut().data();
    // SAFETY: the product, whose parts are pairs.
    let made = unsafe { HostMemory::dense(data, dtype, memory.shape()) };
    Ok(matrix.complex_elementwise(
        Complex::Identity,
        &[made.view()?],
        &mut memory.view_mut()?,
        &OPTIONS,
    )?)
}

/// A matrix in a complex dtype, without gaps: what the caller lends, or a copy.
enum HostRows<'a> {
    Lent(TensorView<'a>, Dims, Dtype),
    Copied(HostTensor, Dims, Dtype),
}

impl HostRows<'_> {
    /// The parts as one matrix.
    fn as_matrix(&self) -> Result<TensorView<'_>> {
        let (data, shape, dtype) = match self {
            Self::Lent(view, shape, dtype) => (view.data(), shape, dtype),
            Self::Copied(copy, shape, dtype) => (copy.view()?.data(), shape, dtype),
        };
        // SAFETY: as many parts as the matrix has, without gaps.
        Ok(unsafe { TensorView::from_parts(data, *dtype, HOST, shape, None) }?)
    }
}

fn dense_on_host<'a>(view: &TensorView<'a>, own: &Matrices, dtype: Dtype) -> Result<HostRows<'a>> {
    let shape = in_parts(&own.shape);
    let is_dense = amdgpu_array::is_contiguous(&own.shape, &own.strides);
    if view.dtype() == dtype && is_dense {
        return Ok(HostRows::Lent(*view, shape, part_of(dtype)));
    }
    // SAFETY: the elements of the view with its axes in another order.
    let moved = unsafe {
        TensorView::from_parts(
            view.data(),
            view.dtype(),
            HOST,
            &own.shape,
            Some(&own.strides),
        )
    }?;
    let mut copy = HostTensor::new(&own.shape, dtype)?;
    convert_on_host(moved, dtype, &mut copy)?;
    Ok(HostRows::Copied(copy, shape, part_of(dtype)))
}

/// Writes values in a complex dtype that holds them.
fn convert_on_host(values: TensorView<'_>, dtype: Dtype, copy: &mut HostTensor) -> Result<()> {
    let matrix = Matrix::global()?;
    let mut copy = copy.memory_mut();
    let mut target = copy.view_mut()?;
    if as_complex(values.dtype()) == dtype {
        return Ok(matrix.complex_elementwise(
            Complex::Identity,
            &[values],
            &mut target,
            &OPTIONS,
        )?);
    }
    // What is narrower meets a zero of the wider dtype.
    let zero = HostTensor::new(&[], dtype)?;
    Ok(matrix.complex_elementwise(Complex::Add, &[values, zero.view()?], &mut target, &OPTIONS)?)
}

fn blocks_on_host(view: &TensorView<'_>, own: &Matrices, dtype: Dtype) -> Result<HostTensor> {
    let is_aligned = view
        .data()
        .addr()
        .is_multiple_of(part_of(dtype).size_bytes());
    let is_dense = amdgpu_array::is_contiguous(&own.shape, &own.strides);
    if view.dtype() == dtype && is_aligned && is_dense {
        // SAFETY: the numbers of the view without gaps, whose parts have this type.
        return unsafe {
            if dtype == Dtype::C64 {
                packed::<f32>(view.data(), &own.shape, dtype)
            } else {
                packed::<f64>(view.data(), &own.shape, dtype)
            }
        };
    }
    moved_blocks(view, own, dtype)
}

/// The blocks of numbers of any dtype that lie anywhere.
fn moved_blocks(view: &TensorView<'_>, own: &Matrices, dtype: Dtype) -> Result<HostTensor> {
    let matrix = Matrix::global()?;
    let copy;
    // SAFETY: the elements of the view with its axes in another order.
    let mut moved = unsafe {
        TensorView::from_parts(
            view.data(),
            view.dtype(),
            HOST,
            &own.shape,
            Some(&own.strides),
        )
    }?;
    if view.dtype() != dtype {
        let HostRows::Copied(made, ..) = dense_on_host(view, own, dtype)? else {
            unreachable!("what has another dtype is copied");
        };
        copy = made;
        moved = copy.view()?;
    }
    let blocks = Blocks::of(&own.shape);
    let mut made = HostTensor::new(&blocks.shape, part_of(dtype))?;
    let data = made.memory_mut().data();
    let size = part_of(dtype).size_bytes();
    let at = |place: i64| data.wrapping_byte_add(place as usize * size);
    let mut pair_shape = own.shape.clone();
    pair_shape.push(2);
    let pair_strides = blocks.pair_strides();
    let parts = Pairs::of(&moved);
    // SAFETY: places within the blocks, which outlive the calls; `moved` outlives the views of its parts.
    unsafe {
        let mut first = TensorViewMut::from_parts(
            at(0),
            part_of(dtype),
            HOST,
            &pair_shape,
            Some(&pair_strides),
        )?;
        matrix.elementwise(
            Elementwise::Identity,
            &[parts.view()?],
            &mut first,
            &OPTIONS,
        )?;
        let [minus_imaginary, real] = blocks.second_row();
        let [real_part, imaginary_part] = [parts.part(0)?, parts.part(1)?];
        let strides = Some(blocks.strides.as_slice());
        let mut second = TensorViewMut::from_parts(
            at(minus_imaginary),
            part_of(dtype),
            HOST,
            &own.shape,
            strides,
        )?;
        matrix.elementwise(
            Elementwise::Negative,
            &[imaginary_part],
            &mut second,
            &OPTIONS,
        )?;
        let mut third =
            TensorViewMut::from_parts(at(real), part_of(dtype), HOST, &own.shape, strides)?;
        matrix.elementwise(Elementwise::Identity, &[real_part], &mut third, &OPTIONS)?;
    }
    Ok(made)
}

/// The blocks of adjacent numbers: one pass over small matrices takes less than the calls that move any of them.
///
/// # Safety
///
/// As many numbers as the shape says, with parts of this type and aligned to those, are readable without gaps.
unsafe fn packed<T: Copy + std::ops::Neg<Output = T>>(
    data: *const c_void,
    shape: &[i64],
    dtype: Dtype,
) -> Result<HostTensor> {
    let blocks = Blocks::of(shape);
    let mut made = HostTensor::new(&blocks.shape, part_of(dtype))?;
    let (row, count) = (2 * blocks.columns as usize, shape.iter().product::<i64>());
    if count == 0 {
        return Ok(made);
    }
    // SAFETY: as promised; the tensor is of such parts.
    let (source, target) = unsafe {
        let parts = 2 * count as usize;
        let source = std::slice::from_raw_parts(data.cast::<T>(), parts);
        (source, made.elements_mut::<T>())
    };
    for (numbers, rows) in source
        .chunks_exact(row)
        .zip(target.chunks_exact_mut(2 * row))
    {
        let (first, second) = rows.split_at_mut(row);
        first.copy_from_slice(numbers);
        for (number, pair) in numbers.chunks_exact(2).zip(second.chunks_exact_mut(2)) {
            pair[0] = -number[1];
            pair[1] = number[0];
        }
    }
    Ok(made)
}

/// [`matmul`] of complex operands by kernels of the device.
fn on_device(ops: &DeviceOps, call: &Matmul<'_>, dtype: Dtype) -> Result<Array> {
    let mut a = Matrices::of(&call.a.shape, &call.a.strides, call.transpose_a);
    let mut b = Matrices::of(&call.b.shape, &call.b.strides, call.transpose_b);
    let (shape, whole) = axes_of(&mut a, &mut b)?;
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out: call.out,
        inputs: &[call.a, call.b],
        may_alias: false,
        is_dense: false,
    };
    let result = target.resolve(&shape, dtype)?;
    let rows = dense_in(ops, &call.a.with_layout(a.shape.clone(), a.strides), dtype)?;
    let rows = as_parts(&rows, &in_parts(&a.shape))?;
    let blocks = blocks_on_device(ops, &call.b.with_layout(b.shape, b.strides), dtype)?;
    let made = if result.is_dense() {
        result.clone()
    } else {
        let made = Array::empty(ops.device(), shape, dtype, MemoryKind::Device)?;
        Operand::of_array(made)
    };
    let out = as_parts(&made, &in_parts(&whole))?.into_array()?;
    let product = Matmul {
        out: Some(&out),
        ..Matmul::of(&rows, &blocks)
    };
    crate::matmul::on_device(ops, &product)?;
    if !result.is_dense() {
        compute(ops, Complex::Identity, &[made], &result, dtype)?;
    }
    result.into_array()
}

/// A dense array of complex numbers as one of parts of a shape.
fn as_parts(x: &Operand, shape: &[i64]) -> Result<Operand> {
    let array = pairs(x).into_array()?;
    let strides = row_major(shape);
    Ok(Operand::of_array(
        array.view(Dims::from_slice(shape), strides),
    ))
}

fn blocks_on_device(ops: &DeviceOps, b: &Operand, dtype: Dtype) -> Result<Operand> {
    let b = if b.dtype == dtype {
        b.clone()
    } else {
        dense_in(ops, b, dtype)?
    };
    let blocks = Blocks::of(&b.shape);
    let part = part_of(dtype);
    let made = Array::empty(ops.device(), blocks.shape.clone(), part, MemoryKind::Device)?;
    let parts = pairs(&b);
    let first = made.view(parts.shape.clone(), blocks.pair_strides());
    crate::elementwise::on_device(ops, Elementwise::Identity, &[parts], Some(&first), 0.0)?;
    let own = b.into_array()?;
    let [minus_imaginary, real] = blocks.second_row();
    let at = |place: i64| made.view_at(place, own.shape.clone(), blocks.strides.clone());
    let [real_part, imaginary_part] =
        [false, true].map(|is_imaginary| Operand::of_array(own.complex_part(is_imaginary)));
    crate::elementwise::on_device(
        ops,
        Elementwise::Negative,
        &[imaginary_part],
        Some(&at(minus_imaginary)),
        0.0,
    )?;
    crate::elementwise::on_device(
        ops,
        Elementwise::Identity,
        &[real_part],
        Some(&at(real)),
        0.0,
    )?;
    Ok(Operand::of_array(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_blocks_of_two_by_two() {
        let blocks = Blocks::of(&[5, 3, 4]);
        assert_eq!(blocks.shape.as_slice(), [5, 6, 8]);
        assert_eq!(blocks.strides.as_slice(), [48, 16, 2]);
        assert_eq!(blocks.second_row(), [8, 9]);
    }

    #[test]
    fn complex_products_take_no_options_of_real_ones() {
        let of = |precision, is_plain| dtype_of(Dtype::C64, Dtype::F32, precision, is_plain);
        assert_eq!(of(None, true).unwrap(), Dtype::C64);
        assert_eq!(of(Some(Precision::Fp32), true).unwrap(), Dtype::C64);
        assert!(of(Some(Precision::Bf16), true).is_err());
        assert!(of(None, false).is_err());
        assert_eq!(
            dtype_of(Dtype::C64, Dtype::F64, None, true).unwrap(),
            Dtype::C128
        );
    }
}
