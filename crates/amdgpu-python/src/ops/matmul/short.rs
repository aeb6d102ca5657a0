//! The fast path of `amdgpu.matrix_multiply`: products of `NumPy`'s matrices on the host that ask for nothing else, and of arrays of a
//! device. A frame of Python, which looks up the default of each of eight keyword-only parameters by name, takes as long as a product of
//! 16 x 16.

use amdgpu_matrix::MatmulOptions;
use amdgpu_ops::matmul::Precision;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use super::on_device::{self, Options};
use super::{MATMUL, direct, plain_dtypes};
use crate::short_way::{self, Arguments, Choice, DeviceChoice, Way, is_on_host};

/// Parameters that are given by position: a, b, the device and the precision.
const POSITIONAL: usize = 4;
const ALL: usize = 12;

/// `matrix_multiply` of the façade with its fast path in front. `host` is the table of the dispatcher's findings by device, and the function
/// of this module that the path stands in for; `device` the same for arrays of a GPU.
#[pyfunction]
pub fn matmul_way<'py>(
    function: &Bound<'py, PyAny>,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let way = Short {
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("matrix_multiply", &device.0, &device.1),
        default_device: PyInt::new(function.py(), 0).into_any().unbind(),
    };
    short_way::new(function, Box::new(way))
}

struct Short {
    choice: Choice,
    on_device: DeviceChoice,
    default_device: Py<PyAny>,
}

impl Way for Short {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if arguments.positional.len() > POSITIONAL {
            return Ok(None);
        }
        if arguments.positional.first().is_none_or(is_on_host)
            && let Some((product, device)) = self.plain(py, arguments)
        {
            let Some(_crossing) = self.choice.enter(device, &MATMUL) else {
                return Ok(None);
            };
            return product.compute(&MatmulOptions::default()).map(Some);
        }
        self.take_on_device(py, arguments)
    }
}

impl Short {
    /// The product and its device.
    fn plain<'a, 'py>(
        &'a self,
        py: Python<'py>,
        arguments: &Arguments<'a, 'py>,
    ) -> Option<(direct::Product<'py>, &'a Bound<'py, PyAny>)> {
        let names = [
            intern!(py, "a"),
            intern!(py, "b"),
            intern!(py, "device_id"),
            intern!(py, "precision"),
            intern!(py, "out"),
        ];
        let [a, b, device, precision, out] = arguments.bind(names, arguments.positional)?;
        let precision = match given(precision) {
            None => None,
            Some(precision) => Some(precision.cast::<PyString>().ok()?.to_str().ok()?),
        };
        let (a, b) = (a?, b?);
        let mut dtypes = plain_dtypes(precision).into_iter().flatten();
        let product =
            dtypes.find_map(|dtype| direct::Product::of([a, b], given(out), dtype, [false; 2]))?;
        Some((product, device.unwrap_or(self.default_device.bind(py))))
    }

    /// A product of arrays of one device; what is unusual about its options the general path refuses.
    fn take_on_device<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((operands, out, options)) = options_of(py, arguments) else {
            return Ok(None);
        };
        let others = [options.bias, options.residual, out];
        let all = operands.into_iter().chain(others.into_iter().flatten());
        let Some((ops, _crossing)) = self.on_device.enter(all, &MATMUL) else {
            return Ok(None);
        };
        on_device::compute(py, &ops, operands, out, &options).map(Some)
    }
}

fn given<'a, 'py>(object: Option<&'a Bound<'py, PyAny>>) -> Option<&'a Bound<'py, PyAny>> {
    object.filter(|object| !object.is_none())
}

type Given<'a, 'py> = (
    [&'a Bound<'py, PyAny>; 2],
    Option<&'a Bound<'py, PyAny>>,
    Options<'a, 'py>,
);

/// Operands, `out` and options of a call whose options have the usual types.
fn options_of<'a, 'py>(py: Python<'py>, arguments: &Arguments<'a, 'py>) -> Option<Given<'a, 'py>> {
    let names: [_; ALL] = [
        intern!(py, "a"),
        intern!(py, "b"),
        intern!(py, "device_id"),
        intern!(py, "precision"),
        intern!(py, "out"),
        intern!(py, "transpose_a"),
        intern!(py, "transpose_b"),
        intern!(py, "bias"),
        intern!(py, "activation"),
        intern!(py, "residual"),
        intern!(py, "alpha"),
        intern!(py, "beta"),
    ];
    let [
        a,
        b,
        _,
        precision,
        out,
        transpose_a,
        transpose_b,
        bias,
        activation,
        residual,
        alpha,
        beta,
    ] = arguments.bind(names, arguments.positional)?;
    let text = |object: Option<&'a Bound<'py, PyAny>>| match given(object) {
        None => Some(None),
        Some(object) => on_device::text(object).map(Some),
    };
    let truth = |object: Option<&Bound<'py, PyAny>>| match object {
        None => Some(false),
        Some(object) => Some(object.cast_exact::<PyBool>().ok()?.is_true()),
    };
    let number = |object: Option<&Bound<'py, PyAny>>, usual: f64| match object {
        None => Some(usual),
        Some(object) if object.is_exact_instance_of::<PyFloat>() => object.extract().ok(),
        Some(_) => None,
    };
    // The general path says which precisions there are.
    let precision = text(precision)?;
    if precision.is_some_and(|name| Precision::from_name(name).is_none()) {
        return None;
    }
    let options = Options {
        precision,
        transposes: [truth(transpose_a)?, truth(transpose_b)?],
        bias: given(bias),
        activation: text(activation)?,
        residual: given(residual),
        alpha: number(alpha, 1.0)?,
        beta: number(beta, 0.0)?,
    };
    Some(([a?, b?], given(out), options))
}
