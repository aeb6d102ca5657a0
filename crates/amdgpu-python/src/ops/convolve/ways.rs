//! What tests and the tuner ask about convolutions on a device: libraries, ways, choices, and convolutions by one of the ways.

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_matrix::vendor::VendorLibrary;
use amdgpu_ops::convolve::{self as core, Convolution, Way};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Given, pass_of};
use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device;
use crate::ops::window::Along;

/// Options of a convolution of planes: stride, padding, dilation, groups, layout, precision.
type Options = (Vec<i64>, Vec<i64>, Vec<i64>, i64, String, String);

/// Calls `work` with a convolution of planes.
fn with_call<T>(
    py: Python<'_>,
    direction: &str,
    shape: &[i64],
    options: Options,
    work: impl FnOnce(&Convolution<'_>) -> PyResult<T>,
) -> PyResult<T> {
    let (stride, padding, dilation, groups, layout, precision) = options;
    let given = Given {
        along: Along {
            stride,
            padding,
            dilation,
        },
        groups,
        layout: &layout,
        operation: "conv2d",
        same: false,
        output_padding: Vec::new(),
        threads: None,
    };
    work(&Convolution {
        pass: pass_of(direction),
        options: given.options(py)?,
        shape,
        is_tf32: precision == "tf32",
    })
}

/// The vendor's libraries of a device that convolve and are there, opened now if they were not.
#[pyfunction]
pub fn convolve_libraries(
    py: Python<'_>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Vec<&'static str>> {
    let ops = on_device::ops_of(device)?;
    let found = py.detach(|| core::libraries(&ops));
    Ok(found.into_iter().map(VendorLibrary::name).collect())
}

/// How convolutions were computed on a device so far, in no order.
#[pyfunction]
pub fn convolve_choices(device: &Bound<'_, PyAny>) -> PyResult<Vec<&'static str>> {
    let ops = on_device::ops_of(device)?;
    let chosen = core::chosen(&ops).into_iter();
    Ok(chosen.map(Way::name).collect())
}

/// What the tuning database calls a convolution of planes, and the ways to compute it on a device: "archived", "lowered", "generated" and
/// libraries; no ways where there is nothing to choose from. `options` are stride, padding, dilation, groups, layout and precision.
#[pyfunction]
pub fn convolve_ways(
    device: &Bound<'_, PyAny>,
    direction: &str,
    dtype: &str,
    x_shape: Vec<i64>,
    weight_shape: Vec<i64>,
    options: Options,
) -> PyResult<(String, Vec<&'static str>)> {
    let py = device.py();
    let ops = on_device::ops_of(device)?;
    let dtype = Dtype::from_name(dtype).ok_or_else(|| {
        let message = format!("dtype is {dtype:?}, which no convolution has");
        raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
    })?;
    with_call(py, direction, &[], options, |call| {
        let shapes = (x_shape.as_slice(), weight_shape.as_slice(), dtype);
        let found = py.detach(|| core::ways(&ops, call, shapes));
        let (subject, ways) = found.into_py_result(py)?;
        Ok((subject, ways.into_iter().map(Way::name).collect()))
    })
}

/// A pass of a convolution of planes on a device by one of its ways; gradients have `shape`.
#[pyfunction]
#[pyo3(signature = (device, way, direction, inputs, options, *, shape=None))]
pub fn convolve_by(
    device: &Bound<'_, PyAny>,
    way: &str,
    direction: &str,
    inputs: &Bound<'_, PyTuple>,
    options: Options,
    shape: Option<Vec<i64>>,
) -> PyResult<Array> {
    let py = device.py();
    let ops = on_device::ops_of(device)?;
    let way = Way::from_name(way).ok_or_else(|| {
        let message = format!("way is {way:?}, which no convolution knows");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })?;
    let shape = shape.unwrap_or_default();
    with_call(py, direction, &shape, options, |call| {
        let names = call.pass.input_names();
        let lent = inputs
            .iter()
            .zip(names)
            .map(|(object, name)| on_device::lend("conv2d", name, &object, &ops))
            .collect::<PyResult<Vec<_>>>()?;
        let made = py.detach(|| core::convolve_by(&ops, &lent, call, way));
        Ok(Array::from(made.into_py_result(py)?))
    })
}
