//! Arrays that depend on nothing but the addresses of others, as descriptors for a copy engine do: made once for each combination.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::errors::IntoPyResult;

/// Combinations that one derivation keeps, some hundred bytes each.
const MAX_KEPT: usize = 512;

/// `derivation(*arrays)` is the array that `make(*addresses)` gives for their addresses, kept.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct Derivation(Arc<Inner>);

struct Inner {
    make: Py<PyAny>,
    kept: Mutex<HashMap<Vec<u64>, Py<Array>>>,
}

impl Inner {
    /// The array for these addresses, and where it lies.
    pub fn get<'py>(&self, py: Python<'py>, addresses: Vec<u64>) -> PyResult<Bound<'py, Array>> {
        if let Some(found) = self.lock().get(&addresses) {
            return Ok(found.bind(py).clone());
        }
        let made = self.make.bind(py).call1(PyTuple::new(py, &addresses)?)?;
        let made = made.cast_into::<Array>()?;
        let is_full = self.lock().len() >= MAX_KEPT;
        if is_full {
            // Launches in streams may still read what is let go of.
            if let Some(device) = made.get().hal_device() {
                py.detach(|| device.synchronize()).into_py_result(py)?;
            }
            let old = std::mem::take(&mut *self.lock());
            drop(old);
        }
        self.lock().insert(addresses, made.clone().unbind());
        Ok(made)
    }

    /// The map holds whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u64>, Py<Array>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Derivation {
    #[new]
    fn new(make: Py<PyAny>) -> Self {
        Self(Arc::new(Inner {
            make,
            kept: Mutex::default(),
        }))
    }

    #[pyo3(signature = (*arrays))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, Array>> {
        let mut addresses = Vec::with_capacity(arrays.len());
        for array in arrays.iter_borrowed() {
            let array = array.cast::<Array>()?.get();
            array.check_alive().into_py_result(py)?;
            addresses.push(array.data().expose_provenance() as u64);
        }
        self.0.get(py, addresses)
    }

    fn __repr__(&self) -> String {
        format!("<amdgpu.Derivation of {} arrays>", self.0.lock().len())
    }
}
