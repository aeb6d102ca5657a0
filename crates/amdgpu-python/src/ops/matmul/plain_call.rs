//! `amdgpu.matrix_multiply` where it asks for nothing but a product of `NumPy`'s matrices on the host: without a frame of Python, which takes as
//! long as a product of 16 x 16. Python looks up the default of every keyword-only parameter by name, and there are eight.

use amdgpu_matrix::MatmulOptions;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use super::{MATMUL, direct, plain_dtype};

/// Calls `general`, or does what it would do. In front of the Python function it has that one's name, documentation and signature
/// (`functools.update_wrapper`).
#[pyclass(frozen, dict, module = "amdgpu._native")]
pub struct PlainCall {
    general: Py<PyAny>,
    /// What the dispatcher has found, by device: the function, and what records the decision.
    host_functions: Py<PyDict>,
    /// The function that this stands in for: the choice of a plug-in goes the general way.
    native: Py<PyAny>,
    default_device: Py<PyAny>,
}

#[pymethods]
impl PlainCall {
    #[new]
    fn new(
        py: Python<'_>,
        general: Py<PyAny>,
        host_functions: Py<PyDict>,
        native: Py<PyAny>,
    ) -> Self {
        Self {
            general,
            host_functions,
            native,
            default_device: PyInt::new(py, 0).into_any().unbind(),
        }
    }

    #[pyo3(signature = (*args, **options))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(plain) = self.plain(py, args, options) {
            plain.record.call0()?;
            let _crossing = MATMUL.enter();
            return plain.product.compute(&MatmulOptions::default());
        }
        self.general.bind(py).call(args, options)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<Py<PyString>> {
        Ok(self.general.bind(py).repr()?.unbind())
    }

    /// Pickled as functions are: by name.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.general.getattr(py, intern!(py, "__qualname__"))
    }
}

struct Plain<'py> {
    product: direct::Product<'py>,
    record: Bound<'py, PyAny>,
}

impl PlainCall {
    /// `None` for anything unusual, errors included: the general way says what is wrong.
    fn plain<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Option<Plain<'py>> {
        let out = match options {
            None => None,
            Some(options) if options.len() == 1 => {
                Some(options.get_item(intern!(py, "out")).ok()??)
            }
            Some(_) => return None,
        };
        let out = out.filter(|out| !out.is_none());
        let count = args.len();
        if !(2..=4).contains(&count) {
            return None;
        }
        let dtype = if count == 4 {
            plain_dtype(
                args.get_item(3)
                    .ok()?
                    .cast::<PyString>()
                    .ok()?
                    .to_str()
                    .ok()?,
            )
        } else {
            plain_dtype("fp32")
        }?;
        let device = if count >= 3 {
            args.get_item(2).ok()?
        } else {
            self.default_device.bind(py).clone()
        };
        let found = self.host_functions.bind(py).get_item(device).ok()??;
        let found = found.cast_into::<PyTuple>().ok()?;
        if !found.get_item(0).ok()?.is(&self.native) {
            return None;
        }
        let operands = [args.get_item(0).ok()?, args.get_item(1).ok()?];
        let product = direct::Product::of(
            [&operands[0], &operands[1]],
            out.as_ref(),
            dtype,
            [false; 2],
        )?;
        let record = found.get_item(1).ok()?;
        Some(Plain { product, record })
    }
}
