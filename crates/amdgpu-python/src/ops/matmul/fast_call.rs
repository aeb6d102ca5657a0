//! The fast path of `amdgpu.matrix_multiply`: arrays in memory of the host, and arrays of a device. A frame of Python, which looks up the default of each of eight keyword-only parameters by name, takes as long as a product of
//! 16 x 16.

use amdgpu_ops::matmul::Precision;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};

use super::options::{MATMUL, Options, given, text as text_of};
use super::{compute_on_host, on_device};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};

/// Parameters that are given by position: a, b, the device and the precision.
const POSITIONAL: usize = 4;
const ALL: usize = 12;

/// `matrix_multiply` of the façade with its fast path in front. `host` is the table of the dispatcher's findings by device, and the function
/// of this module that the path replaces; `device` the same for arrays of a GPU.
#[pyfunction]
pub fn matmul_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastMatmul {
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("matrix_multiply", &device.0, &device.1),
        default_device: PyInt::new(function.py(), 0).into_any().unbind(),
    };
    fast_call::new(function, Box::new(path))
}

struct FastMatmul {
    choice: Choice,
    on_device: DeviceChoice,
    default_device: Py<PyAny>,
}

impl FastPath for FastMatmul {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if arguments.positional.len() > POSITIONAL {
            return Ok(None);
        }
        let Some(call) = Call::of(py, arguments) else {
            return Ok(None);
        };
        let Call {
            operands,
            out,
            options,
            ..
        } = call;
        if call.arrays().all(is_on_host) {
            let device = call.device.unwrap_or(self.default_device.bind(py));
            let Some(_crossing) = self.choice.enter(device, &MATMUL) else {
                return Ok(None);
            };
            let named;
            let inputs = if let Some(both) = arguments.positional.first_chunk::<2>() {
                both
            } else {
                named = operands.map(Clone::clone);
                &named
            };
            return compute_on_host(py, inputs, out, &options, None).map(Some);
        }
        let Some((ops, _crossing)) = self.on_device.enter(call.arrays(), &MATMUL) else {
            return Ok(None);
        };
        on_device::compute(py, &ops, operands, out, &options).map(Some)
    }
}

/// A call whose options have the usual types; what is unusual about them the general path refuses.
struct Call<'a, 'py> {
    operands: [&'a Bound<'py, PyAny>; 2],
    device: Option<&'a Bound<'py, PyAny>>,
    out: Option<&'a Bound<'py, PyAny>>,
    options: Options<'a, 'py>,
}

impl<'a, 'py> Call<'a, 'py> {
    fn arrays(&self) -> impl Iterator<Item = &'a Bound<'py, PyAny>> {
        let others = [self.options.bias, self.options.residual, self.out];
        self.operands
            .into_iter()
            .chain(others.into_iter().flatten())
    }

    fn of(py: Python<'py>, arguments: &Arguments<'a, 'py>) -> Option<Self> {
        let names = || -> [_; ALL] {
            [
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
            ]
        };
        let [
            a,
            b,
            device,
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
            Some(object) => text_of(object).map(Some),
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
        Some(Self {
            operands: [a?, b?],
            device,
            out: given(out),
            options,
        })
    }
}
