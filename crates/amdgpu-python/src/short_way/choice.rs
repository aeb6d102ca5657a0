//! What the dispatcher has chosen for an operation in memory of the host, and which arguments lie there.

use amdgpu_telemetry::{Boundary, BoundaryGuard};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

use crate::array::Array;
use crate::telemetry::Decision;

/// An entry of a table of the dispatcher: functions and decisions by key. The table is emptied when a plug-in comes or goes.
pub struct Choice {
    table: Py<PyDict>,
    /// The function that a native way stands in for: what a plug-in computes goes the general way.
    native: Py<PyAny>,
}

impl Choice {
    pub fn new(table: &Bound<'_, PyDict>, native: &Bound<'_, PyAny>) -> Self {
        Self {
            table: table.clone().unbind(),
            native: native.clone().unbind(),
        }
    }

    /// Records the decision and enters by `boundary`; `None` where the dispatcher was not asked yet or has chosen another function.
    pub fn enter(
        &self,
        key: &Bound<'_, PyAny>,
        boundary: &'static Boundary,
    ) -> Option<BoundaryGuard> {
        let found = self.table.bind(key.py()).get_item(key).ok()??;
        let found = found.cast_into::<PyTuple>().ok()?;
        if !found.get_borrowed_item(0).ok()?.is(&self.native) {
            return None;
        }
        let decision = found.get_borrowed_item(1).ok()?;
        let decision = decision.cast::<Decision>().ok()?;
        if !amdgpu_telemetry::is_enabled() {
            return Some(boundary.enter());
        }
        let start_ns = amdgpu_telemetry::now_ns();
        decision.get().record_at(start_ns);
        Some(boundary.enter_at(start_ns))
    }
}

/// Whether an argument lies in memory of the host for certain. Subclasses of NumPy's arrays and arrays of other libraries are asked in Python.
pub fn is_on_host(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyUntypedArray>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object
            .cast_exact::<Array>()
            .is_ok_and(|array| array.get().is_plain_host())
        || object.is_exact_instance_of::<PyBool>()
}
