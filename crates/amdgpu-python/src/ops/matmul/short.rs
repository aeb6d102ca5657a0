//! The short way of `amdgpu.matrix_multiply`: products of `NumPy`'s matrices on the host that ask for nothing else. A frame of Python, which
//! looks up the default of each of eight keyword-only parameters by name, takes as long as a product of 16 x 16.

use amdgpu_matrix::MatmulOptions;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};

use super::{MATMUL, direct, plain_dtypes};
use crate::short_way::{self, Arguments, Choice, Way};

/// Parameters that are given by position: a, b, the device and the precision.
const POSITIONAL: usize = 4;

/// `matrix_multiply` of the façade with its short way in front; the table has the dispatcher's findings by device.
#[pyfunction]
pub fn matmul_way<'py>(
    function: &Bound<'py, PyAny>,
    table: &Bound<'py, PyDict>,
    native: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let way = Short {
        choice: Choice::new(table, native),
        default_device: PyInt::new(function.py(), 0).into_any().unbind(),
    };
    short_way::new(function, Box::new(way))
}

struct Short {
    choice: Choice,
    default_device: Py<PyAny>,
}

impl Way for Short {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((product, device)) = self.plain(py, arguments) else {
            return Ok(None);
        };
        let Some(_crossing) = self.choice.enter(device, &MATMUL) else {
            return Ok(None);
        };
        product.compute(&MatmulOptions::default()).map(Some)
    }
}

impl Short {
    /// The product and its device.
    fn plain<'a, 'py>(
        &'a self,
        py: Python<'py>,
        arguments: &Arguments<'a, 'py>,
    ) -> Option<(direct::Product<'py>, &'a Bound<'py, PyAny>)> {
        if arguments.positional.len() > POSITIONAL {
            return None;
        }
        let names = [
            intern!(py, "a"),
            intern!(py, "b"),
            intern!(py, "device_id"),
            intern!(py, "precision"),
            intern!(py, "out"),
        ];
        let [a, b, device, precision, out] = arguments.bind(names, arguments.positional)?;
        let precision = match precision.filter(|precision| !precision.is_none()) {
            None => None,
            Some(precision) => Some(precision.cast::<PyString>().ok()?.to_str().ok()?),
        };
        let out = out.filter(|out| !out.is_none());
        let (a, b) = (a?, b?);
        let mut dtypes = plain_dtypes(precision).into_iter().flatten();
        let product =
            dtypes.find_map(|dtype| direct::Product::of([a, b], out, dtype, [false; 2]))?;
        Some((product, device.unwrap_or(self.default_device.bind(py))))
    }
}
