//! Arguments and results of operations on devices.

use std::sync::Arc;

use amdgpu_abi::promotion::{is_complex, promote};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_array::{Dims, tracing};
use amdgpu_hal::MemoryKind;
use amdgpu_ops::{DeviceOps, Operand, Scalar};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyInt};

use crate::array::Array;
use crate::device::Device;
use crate::errors::{IntoPyResult, raise};
use crate::operand;
use crate::ops::host;
use crate::ops::number::{beyond, dtype_beside, is_number, plain, refused};

/// Operations by kernels of a device, a CPU device included, but in place while a function is traced: of a `_native.Device`, or of an object that has one as `native`.
pub fn ops_of(device: &Bound<'_, PyAny>) -> PyResult<Arc<DeviceOps>> {
    if tracing::is_tracing() {
        return own_ops_of(device);
    }
    let (py, native) = (device.py(), native_of(device)?);
    let context = native.get().context();
    let opened = context.open_device().into_py_result(py)?;
    DeviceOps::of_kernels(opened).into_py_result(py)
}

/// Operations as the device computes them by itself, a CPU device in place.
pub fn own_ops_of(device: &Bound<'_, PyAny>) -> PyResult<Arc<DeviceOps>> {
    let (py, native) = (device.py(), native_of(device)?);
    let context = native.get().context();
    let opened = context.open_device().into_py_result(py)?;
    DeviceOps::of(opened).into_py_result(py)
}

fn native_of<'py>(device: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Device>> {
    match device.cast::<Device>() {
        Ok(native) => Ok(native.clone()),
        Err(_) => Ok(device.getattr("native")?.cast_into::<Device>()?),
    }
}

/// An argument as real values on the device; host memory that is no device's is copied there.
pub fn lend(
    operation: &str,
    name: &str,
    object: &Bound<'_, PyAny>,
    ops: &DeviceOps,
) -> PyResult<Operand> {
    let operand = lend_any(operation, name, object, ops)?;
    operand
        .check_dtype(operation, name)
        .into_py_result(object.py())?;
    Ok(operand)
}

/// The same, for operations that know about complex numbers.
pub fn lend_any(
    operation: &str,
    name: &str,
    object: &Bound<'_, PyAny>,
    ops: &DeviceOps,
) -> PyResult<Operand> {
    let py = object.py();
    if let Ok(array) = object.cast::<Array>() {
        let array = array.get();
        array.check_alive().into_py_result(py)?;
        let operand = Operand::of_array((**array).clone());
        amdgpu_ops::check_device(operation, name, array, ops.device()).into_py_result(py)?;
        return Ok(operand);
    }
    let is_numpy = object.is_instance_of::<PyUntypedArray>();
    if !is_numpy
        && let Some(lent) = operand::Operand::borrow(object, None)?
        && lent.location.gpu().is_some()
    {
        let array = lent.into_array(py)?;
        amdgpu_ops::check_device(operation, name, &array, ops.device()).into_py_result(py)?;
        return Ok(Operand::of_array(array));
    }
    upload(operation, name, object, ops)
}

/// Real values where they lie: memory that is lent, on a device or not, or what NumPy makes of it.
pub fn lend_in_place(operation: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    let operand = lend_any_in_place(operation, name, object)?;
    operand
        .check_dtype(operation, name)
        .into_py_result(object.py())?;
    Ok(operand)
}

/// The same, for operations that know about complex numbers.
pub fn lend_any_in_place(
    operation: &str,
    name: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Operand> {
    let py = object.py();
    let array = if let Ok(array) = object.cast::<Array>() {
        array.get().check_alive().into_py_result(py)?;
        (**array.get()).clone()
    } else {
        let lent = match operand::Operand::borrow(object, None)? {
            Some(lent) => lent,
            None => host::converted(operation, name, object)?,
        };
        lent.into_array(py)?
    };
    Ok(Operand::of_array(array))
}

/// A host array, or whatever NumPy makes one of, copied to the device; a value without axes becomes a number.
fn upload(
    operation: &str,
    name: &str,
    object: &Bound<'_, PyAny>,
    ops: &DeviceOps,
) -> PyResult<Operand> {
    let py = object.py();
    let refuse = |why: &str| {
        let message = format!("{operation}: {name} is no array of numbers: {why}");
        raise(py, ErrorCode::InvalidType, Language::Rust, &message)
    };
    let numpy = py.import("numpy")?;
    let values = numpy
        .call_method1("ascontiguousarray", (object,))
        .map_err(|error| refuse(&error.value(py).to_string()))?;
    // `ascontiguousarray` gives arrays without axes one.
    let rank = numpy.call_method1("ndim", (object,))?.extract::<usize>()?;
    let kind = values
        .getattr("dtype")?
        .getattr("kind")?
        .extract::<String>()?;
    if "OUSMm".contains(&kind) {
        return Err(refuse(&format!("it becomes {}", values.getattr("dtype")?)));
    }
    if object.is_instance_of::<PyUntypedArray>() {
        operand::check_mask(object.cast::<PyUntypedArray>()?)?;
    }
    let array = values.cast::<PyUntypedArray>()?;
    let dtype = operand::numpy_dtype(&array.dtype())?;
    // Launches carry real numbers; a complex one is an array without axes.
    if rank == 0 && !is_complex(dtype) {
        let number = Operand::of_number(scalar(&values.call_method0("item")?)?, dtype);
        return Ok(number);
    }
    let (data, _) = operand::numpy_memory(array);
    let mut shape: Dims = array.shape().iter().map(|extent| *extent as i64).collect();
    shape.truncate(rank);
    let made = core::Array::empty(ops.device(), shape, dtype, MemoryKind::Device);
    let made = made.into_py_result(py)?;
    let from = core::Side {
        address: amdgpu_hal::DevicePointer::from_host(data),
        device: None,
    };
    let bytes = made.bytes() as u64;
    // SAFETY: both hold as many bytes, and live until the wait is over.
    py.detach(|| unsafe { core::copy(&made.side(), &from, bytes) })
        .into_py_result(py)?;
    Ok(Operand::of_array(made))
}

/// A number of Python's.
fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if value.is_instance_of::<PyInt>() {
        return value.extract().map(Scalar::Int);
    }
    value.extract().map(Scalar::Float)
}

/// Arguments of an operation on the device. A number of Python's takes the dtype of the arrays beside it (NumPy's rule, NEP 50).
pub fn lend_all(
    operation: &str,
    names: &[&str],
    inputs: &[Bound<'_, PyAny>],
    ops: &DeviceOps,
) -> PyResult<Vec<Operand>> {
    let mut common: Option<Dtype> = None;
    let mut lent = Vec::with_capacity(inputs.len());
    let mut has_numbers = false;
    for (name, object) in names.iter().zip(inputs) {
        if is_number(object) {
            has_numbers = true;
            // Until the dtype of the arrays beside it is known.
            lent.push(Operand::of_number(Scalar::Int(0), Dtype::BOOL));
            continue;
        }
        let operand = lend_any(operation, name, object, ops)?;
        // The condition of `where` does not take part.
        if *name != "condition" {
            let dtype = operand.dtype;
            common = Some(common.map_or(dtype, |before| promote(before, dtype)));
        }
        lent.push(operand);
    }
    if has_numbers {
        for (operand, (name, object)) in lent.iter_mut().zip(names.iter().zip(inputs)) {
            if is_number(object) {
                let beside = common.filter(|_| *name != "condition");
                *operand = match complex_number(object, beside) {
                    Some(number) => number,
                    None => number(operation, name, object, beside, ops)?,
                };
            }
        }
    }
    Ok(lent)
}

/// A complex number of Python's that a launch carries; `None` for other numbers, and for parts that the dtype does not hold.
fn complex_number(value: &Bound<'_, PyAny>, common: Option<Dtype>) -> Option<Operand> {
    let number = value.cast::<PyComplex>().ok()?;
    let dtype = dtype_beside(value, common?);
    let exact = [number.real(), number.imag()];
    let is_narrow = dtype == Dtype::C64;
    let rounded = |part: f64| {
        if is_narrow {
            f64::from(part as f32)
        } else {
            part
        }
    };
    let [real, imaginary] = exact.map(rounded);
    let fits =
        real.is_finite() == exact[0].is_finite() && imaginary.is_finite() == exact[1].is_finite();
    (is_complex(dtype) && fits).then(|| Operand::of_complex(real, imaginary, dtype))
}

/// A number of Python's beside arrays of a dtype, or alone.
pub fn number(
    operation: &str,
    name: &str,
    value: &Bound<'_, PyAny>,
    common: Option<Dtype>,
    ops: &DeviceOps,
) -> PyResult<Operand> {
    let py = value.py();
    let dtype = common.map(|common| dtype_beside(value, common));
    if let Some(dtype) = dtype
        && let Some(number) = plain(value, dtype)
    {
        return Ok(Operand::of_number(number, dtype));
    }
    if let Some(dtype) = dtype
        && let Some(infinity) = beyond(operation, value, dtype)?
    {
        return Ok(Operand::of_number(Scalar::Float(infinity), Dtype::F64));
    }
    let descr = dtype.map(|dtype| operand::to_numpy_dtype(py, dtype));
    let made = py
        .import("numpy")?
        .call_method1("array", (value, descr.transpose()?))
        .map_err(|error| refused(operation, name, value, dtype, error))?;
    let array = made.cast::<PyUntypedArray>()?;
    let dtype = operand::numpy_dtype(&array.dtype())?;
    if is_complex(dtype) {
        return upload(operation, name, &made, ops);
    }
    // Read back: NumPy rounded it to the dtype.
    let rounded = made.call_method1("astype", (if is_real(dtype) { "f8" } else { "O" },))?;
    let operand = Operand::of_number(scalar(&rounded.call_method0("item")?)?, dtype);
    operand.check_dtype(operation, name).into_py_result(py)?;
    Ok(operand)
}

fn is_real(dtype: Dtype) -> bool {
    amdgpu_abi::promotion::is_float(dtype)
}

/// Where a caller wants a result.
pub enum Out<'a, 'py> {
    /// In a new array.
    New,
    /// In memory that kernels of the device write: the caller's object, and the array that it is or lends.
    Device(&'a Bound<'py, PyAny>, core::Array),
    /// In host memory, to which a result of the device is copied.
    Host(&'a Bound<'py, PyAny>),
}

impl<'a, 'py> Out<'a, 'py> {
    pub fn of(
        operation: &str,
        out: Option<&'a Bound<'py, PyAny>>,
        ops: &DeviceOps,
    ) -> PyResult<Self> {
        let Some(object) = out.filter(|out| !out.is_none()) else {
            return Ok(Self::New);
        };
        let py = object.py();
        if let Ok(array) = object.cast::<Array>() {
            return Ok(Self::Device(object, (**array.get()).clone()));
        }
        if !object.hasattr("shape")? || !object.hasattr("dtype")? {
            let message = format!("{operation}: out must be an array to write to");
            return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
        }
        if object.hasattr("__cuda_array_interface__")?
            && let Some(lent) = operand::Operand::borrow(object, None)?
        {
            let array = lent.into_array(py)?;
            amdgpu_ops::check_device(operation, "out", &array, ops.device()).into_py_result(py)?;
            return Ok(Self::Device(object, array));
        }
        Ok(Self::Host(object))
    }

    /// What kernels write to.
    pub fn array(&self) -> Option<&core::Array> {
        match self {
            Self::Device(_, array) => Some(array),
            Self::New | Self::Host(_) => None,
        }
    }

    /// The caller's result, when the kernels were launched.
    pub fn deliver(
        &self,
        py: Python<'py>,
        operation: &str,
        made: core::Array,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::New => Ok(Bound::new(py, Array::from(made))?.into_any()),
            Self::Device(object, _) => Ok((*object).clone()),
            Self::Host(object) => {
                check_host(operation, object, &made)?;
                let values = Bound::new(py, Array::from(made))?.call_method0("numpy")?;
                object.set_item(py.Ellipsis(), values)?;
                Ok((*object).clone())
            }
        }
    }
}

/// Refuses host memory that does not fit a result.
fn check_host(operation: &str, out: &Bound<'_, PyAny>, made: &core::Array) -> PyResult<()> {
    let py = out.py();
    let refuse = |code, message: String| Err(raise(py, code, Language::Rust, &message));
    let (dtype, wanted) = (out.getattr("dtype")?, made.dtype.name().unwrap_or("?"));
    if dtype.str()?.to_string_lossy() != wanted {
        let message = format!("{operation}: out has dtype {dtype}; the result has {wanted}");
        return refuse(ErrorCode::UnsupportedDtype, message);
    }
    let shape = out.getattr("shape")?.extract::<Vec<i64>>()?;
    if shape != made.shape.as_slice() {
        let wanted = made.shape.as_slice();
        let message = format!("{operation}: out has shape {shape:?}; the result has {wanted:?}");
        return refuse(ErrorCode::ShapeMismatch, message);
    }
    let is_writable = match out.getattr("flags") {
        Ok(flags) => flags.getattr("writeable")?.is_truthy()?,
        Err(_) => true,
    };
    if !is_writable {
        let message = format!("{operation}: out is read-only");
        return refuse(ErrorCode::ReadOnly, message);
    }
    Ok(())
}
