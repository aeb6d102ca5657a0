//! Elements picked by index arrays, for `amdgpu.ops.array_indexing`.

use amdgpu_abi::promotion::promote;
use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array::Dims;
use amdgpu_ops::{DeviceOps, Operand, Scatter};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::Array;
use super::element::dtype_of;
use super::indexing::ops_of;
use crate::errors::{IntoPyResult, raise};
use crate::operand::to_numpy_dtype;
use crate::ops::number::is_number;
use crate::ops::on_device;

/// Some axes of an array, picked by index arrays; the others are whole.
struct Picked {
    operands: Vec<Operand>,
    extents: Dims,
    strides: Dims,
    /// Of the other axes.
    block: (Dims, Dims),
}

impl Picked {
    fn of(
        view: &Array,
        axes: &[usize],
        indices: &[Bound<'_, PyAny>],
        ops: &DeviceOps,
    ) -> PyResult<Self> {
        let lent = indices
            .iter()
            .map(|index| on_device::lend("indexing", "an index", index, ops));
        let of_axes = |all: &Dims| axes.iter().map(|axis| all[*axis]).collect();
        let rest = |all: &Dims| {
            let kept = (0..all.len()).filter(|axis| !axes.contains(axis));
            kept.map(|axis| all[axis]).collect()
        };
        Ok(Self {
            operands: lent.collect::<PyResult<_>>()?,
            extents: of_axes(&view.shape),
            strides: of_axes(&view.strides),
            block: (rest(&view.shape), rest(&view.strides)),
        })
    }
}

/// The elements of `view` at index arrays for some of its axes: axes of the indices first, then the others.
#[pyfunction]
pub fn pick_by_arrays<'py>(
    view: &Bound<'py, Array>,
    axes: Vec<usize>,
    indices: Vec<Bound<'py, PyAny>>,
) -> PyResult<Array> {
    let py = view.py();
    let ops = ops_of(view)?;
    let picked = Picked::of(view.get(), &axes, &indices, &ops)?;
    let array = (**view.get()).clone();
    py.detach(|| {
        let offsets =
            amdgpu_ops::offsets(&ops, &picked.operands, &picked.extents, &picked.strides)?;
        let block = (picked.block.0.as_slice(), picked.block.1.as_slice());
        amdgpu_ops::gather(&ops, &array, &offsets, block)
    })
    .map(Array::from)
    .into_py_result(py)
}

/// The shape of what [`pick_by_arrays`] gives.
#[pyfunction]
pub fn picked_shape<'py>(
    view: &Bound<'py, Array>,
    axes: Vec<usize>,
    indices: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = view.py();
    let ops = ops_of(view)?;
    let picked = Picked::of(view.get(), &axes, &indices, &ops)?;
    let named: Vec<_> = picked
        .operands
        .iter()
        .map(|operand| ("an index", operand))
        .collect();
    let shape = amdgpu_ops::broadcast("indexing", &named).into_py_result(py)?;
    let all: Vec<i64> = shape.iter().chain(&picked.block.0).copied().collect();
    PyTuple::new(py, all)
}

/// Values written to the elements that [`pick_by_arrays`] reads. They broadcast to its shape and are converted to the dtype of `view`.
#[pyfunction]
#[pyo3(signature = (view, axes, indices, values, how="assign"))]
pub fn put_by_arrays<'py>(
    view: &Bound<'py, Array>,
    axes: Vec<usize>,
    indices: Vec<Bound<'py, PyAny>>,
    values: &Bound<'py, PyAny>,
    how: &str,
) -> PyResult<()> {
    let py = view.py();
    view.get().check_writable().into_py_result(py)?;
    let ops = ops_of(view)?;
    let picked = Picked::of(view.get(), &axes, &indices, &ops)?;
    let array = (**view.get()).clone();
    let how = Scatter::from_name(how).ok_or_else(|| {
        let message = format!(
            "put_by_arrays: how is {how:?}; assign, add, multiply, maximum and minimum are known"
        );
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })?;
    let mut operand = if is_number(values) {
        on_device::number("assignment", "the value", values, Some(array.dtype), &ops)?
    } else {
        on_device::lend_any("assignment", "the value", values, &ops)?
    };
    py.detach(|| {
        let overlaps = operand.overlaps(&Operand::of_array(array.clone()));
        if overlaps || operand.dtype != array.dtype {
            operand = Operand::of_array(amdgpu_ops::cast(&ops, &operand, array.dtype, None)?);
        }
        let offsets =
            amdgpu_ops::offsets(&ops, &picked.operands, &picked.extents, &picked.strides)?;
        let block = (picked.block.0.as_slice(), picked.block.1.as_slice());
        amdgpu_ops::scatter(&ops, &array, &offsets, block, &operand, how)
    })
    .into_py_result(py)
}

/// What NumPy calls a dtype that is given by a name, a type or a dtype.
#[pyfunction]
pub fn numpy_dtype<'py>(dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(to_numpy_dtype(dtype.py(), dtype_of(dtype)?)?.into_any())
}

/// The dtype of both, as NumPy promotes arrays.
#[pyfunction]
pub fn promoted<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let both = promote(dtype_of(a)?, dtype_of(b)?);
    Ok(to_numpy_dtype(a.py(), both)?.into_any())
}
