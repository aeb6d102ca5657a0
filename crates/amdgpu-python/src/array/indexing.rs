//! `a[...]` and `a[...] = values`: views by integers, slices, new axes and the ellipsis; copies by arrays of integers and truth values.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{self as core, Index};
use amdgpu_ops::{DeviceOps, Operand};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use pyo3::{ffi, intern};
use smallvec::{SmallVec, smallvec};

use super::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::number::is_number;
use crate::ops::on_device;

/// The operations of an array's device; memory of other libraries on the host counts as the CPU's.
pub fn ops_of(array: &Bound<'_, Array>) -> PyResult<Arc<DeviceOps>> {
    let py = array.py();
    if let Some(device) = array.get().open_device() {
        return DeviceOps::of(device).into_py_result(py);
    }
    let module = py.import("amdgpu.device")?;
    let device = module.call_method1("default_device", (array.get().device_name(),))?;
    on_device::ops_of(&device)
}

/// What stands between the brackets.
enum Key<'py> {
    /// A view.
    Basic(Indices),
    /// Arrays among the indices: the general way in `amdgpu.ops.indexing`.
    Arrays(Bound<'py, PyAny>),
}

/// Few enough for the stack, as a rule: a view takes less than the heap would.
type Indices = SmallVec<[Index; 4]>;

fn parse<'py>(key: &Bound<'py, PyAny>) -> PyResult<Key<'py>> {
    let Ok(items) = key.cast::<PyTuple>() else {
        return Ok(match index(key)? {
            Some(one) => Key::Basic(smallvec![one]),
            None => Key::Arrays(key.clone()),
        });
    };
    let mut indices = Indices::new();
    for item in items.iter_borrowed() {
        match index(&item)? {
            Some(one) => indices.push(one),
            None => return Ok(Key::Arrays(key.clone())),
        }
    }
    Ok(Key::Basic(indices))
}

/// One index of a view; `None` for arrays and lists.
fn index(item: &Bound<'_, PyAny>) -> PyResult<Option<Index>> {
    let py = item.py();
    if item.is_exact_instance_of::<PyInt>() {
        return place(item).map(Index::At).map(Some);
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return bounds(slice).map(Some);
    }
    // Truth values are arrays without axes, although Python counts them as integers.
    if item.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    if item.is_none() {
        return Ok(Some(Index::NewAxis));
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Index::Ellipsis));
    }
    // Integers of NumPy and of others; arrays, even those without axes, pick copies.
    if !item.is_instance_of::<Array>()
        && !item.hasattr(intern!(py, "ndim"))?
        && item.hasattr(intern!(py, "__index__"))?
    {
        return place(item).map(Index::At).map(Some);
    }
    let is_integer_scalar = item.hasattr(intern!(py, "__index__"))?
        && !item.is_instance_of::<Array>()
        && item.getattr(intern!(py, "ndim"))?.eq(0)?
        && item
            .getattr(intern!(py, "shape"))?
            .is_instance_of::<PyTuple>()
        && item
            .getattr(intern!(py, "dtype"))?
            .getattr(intern!(py, "kind"))
            .is_ok_and(|kind| {
                kind.extract::<String>()
                    .is_ok_and(|kind| "iu".contains(&kind))
            });
    if is_integer_scalar {
        return place(item).map(Index::At).map(Some);
    }
    Ok(None)
}

/// An integer; one beyond 64 bits is beyond every axis.
fn place(item: &Bound<'_, PyAny>) -> PyResult<i64> {
    if item.is_exact_instance_of::<PyInt>()
        && let Ok(fits) = item.extract()
    {
        return Ok(fits);
    }
    let number = item.call_method0(intern!(item.py(), "__index__"))?;
    number.extract::<i64>().map_err(|_| {
        let message = format!("index {number} is out of bounds");
        raise(
            item.py(),
            ErrorCode::IndexOutOfRange,
            Language::Rust,
            &message,
        )
    })
}

/// The bounds and the step of a slice, as Python reads them: an end that is not given is the one beyond all others.
fn bounds(slice: &Bound<'_, PySlice>) -> PyResult<Index> {
    let py = slice.py();
    let (mut start, mut stop, mut stride) = (0, 0, 0);
    // SAFETY: a slice, and places for its three numbers.
    let outcome = unsafe {
        ffi::PySlice_Unpack(
            slice.as_ptr(),
            &raw mut start,
            &raw mut stop,
            &raw mut stride,
        )
    };
    if outcome == 0 {
        return Ok(Index::Slice {
            start: Some(start as i64),
            stop: Some(stop as i64),
            step: stride as i64,
        });
    }
    // What Python refuses is refused with a message of ours.
    PyErr::take(py);
    let part = |name| -> PyResult<Option<i64>> {
        let bound = slice.getattr(name)?;
        if bound.is_none() {
            return Ok(None);
        }
        clamped(&bound).map(Some)
    };
    Ok(Index::Slice {
        start: part(intern!(py, "start"))?,
        stop: part(intern!(py, "stop"))?,
        step: part(intern!(py, "step"))?.unwrap_or(1),
    })
}

/// A bound of a slice; those beyond 64 bits are as good as the last that fits.
fn clamped(bound: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = bound.py();
    if !bound.hasattr(intern!(py, "__index__"))? {
        let message = format!(
            "a slice takes integers or None, not {}",
            bound.get_type().name()?
        );
        return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
    }
    let number = bound.call_method0(intern!(py, "__index__"))?;
    if let Ok(fits) = number.extract::<i64>() {
        return Ok(fits);
    }
    Ok(if number.lt(0)? { i64::MIN } else { i64::MAX })
}

/// `array[key]`.
pub fn get<'py>(array: &Bound<'py, Array>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    array.get().check_alive().into_py_result(py)?;
    match parse(key)? {
        Key::Basic(indices) => {
            let view = array.get().pick(&indices).into_py_result(py)?;
            Ok(Bound::new(py, Array::from(view))?.into_any())
        }
        Key::Arrays(key) => general(py)?.call_method1(intern!(py, "get"), (array, key)),
    }
}

/// `array[key] = values`.
pub fn set<'py>(
    array: &Bound<'py, Array>,
    key: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = array.py();
    array.get().check_writable().into_py_result(py)?;
    match parse(key)? {
        Key::Basic(indices) => {
            let view = array.get().pick(&indices).into_py_result(py)?;
            write(&Bound::new(py, Array::from(view))?, values)
        }
        Key::Arrays(key) => general(py)?
            .call_method1(intern!(py, "assign"), (array, key, values))
            .map(drop),
    }
}

/// Indexing by arrays is composed of operations.
fn general(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("amdgpu.ops.array_indexing")
}

/// Values, of any dtype and broadcast, written to an array; where both overlap, all are read before the first is written.
pub fn write(target: &Bound<'_, Array>, values: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = target.py();
    let ops = ops_of(target)?;
    let array: core::Array = (**target.get()).clone();
    let mut operand = if is_number(values) {
        on_device::number("assignment", "the value", values, Some(array.dtype), &ops)?
    } else {
        on_device::lend_any("assignment", "the value", values, &ops)?
    };
    py.detach(|| {
        if operand.overlaps(&Operand::of_array(array.clone())) {
            operand = Operand::of_array(amdgpu_ops::cast(&ops, &operand, operand.dtype, None)?);
        }
        amdgpu_ops::cast(&ops, &operand, array.dtype, Some(&array)).map(drop)
    })
    .into_py_result(py)
}

/// An array of another dtype with the same values.
pub fn cast<'py>(array: &Bound<'py, Array>, dtype: Dtype) -> PyResult<Bound<'py, Array>> {
    let py = array.py();
    let ops = ops_of(array)?;
    let operand = Operand::of_array((**array.get()).clone());
    let made = py
        .detach(|| amdgpu_ops::cast(&ops, &operand, dtype, None))
        .into_py_result(py)?;
    Bound::new(py, Array::from(made))
}
