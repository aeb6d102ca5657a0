//! What the dispatcher has chosen for an operation in memory of the host, and which arguments lie there.

use std::sync::Arc;

use amdgpu_aura::OpenDevice;
use amdgpu_hal::DeviceKind;
use amdgpu_ops::DeviceOps;
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::array::Array;
use crate::telemetry::Decision;

/// An entry of a table of the dispatcher: functions and decisions by key. The table is emptied when a plug-in comes or goes.
pub struct Choice {
    table: Py<PyDict>,
    /// The function that a fast path replaces: what a plug-in computes takes the general path.
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

/// The same for arrays of a GPU: the table's keys name the operation and the kind of device.
pub struct DeviceChoice {
    choice: Choice,
    keys: Vec<(DeviceKind, Py<PyString>)>,
}

impl DeviceChoice {
    pub fn new(operation: &str, table: &Bound<'_, PyDict>, native: &Bound<'_, PyAny>) -> Self {
        let py = table.py();
        let kinds = [DeviceKind::Cuda, DeviceKind::Hip, DeviceKind::Null];
        let key = |kind: DeviceKind| {
            let text = format!("{operation} on {}", kind.name());
            (kind, PyString::intern(py, &text).unbind())
        };
        Self {
            choice: Choice::new(table, native),
            keys: kinds.map(key).into(),
        }
    }

    /// The operations of the device that all of these arguments are on, numbers aside; `None` where the general path has to decide.
    pub fn enter<'a, 'py: 'a>(
        &self,
        arguments: impl Iterator<Item = &'a Bound<'py, PyAny>>,
        boundary: &'static Boundary,
    ) -> Option<(Arc<DeviceOps>, BoundaryGuard)> {
        let mut found: Option<(&Arc<OpenDevice>, Python<'py>)> = None;
        for argument in arguments {
            let Ok(array) = argument.cast_exact::<Array>() else {
                let is_number = argument.is_exact_instance_of::<PyFloat>()
                    || argument.is_exact_instance_of::<PyInt>();
                if is_number {
                    continue;
                }
                return None;
            };
            let device = array.get().open_device()?;
            match found {
                None => found = Some((device, argument.py())),
                Some((known, _)) if Arc::ptr_eq(known, device) => {}
                Some(_) => return None,
            }
        }
        let (device, py) = found?;
        let kind = device.info().kind;
        let (_, key) = self.keys.iter().find(|(known, _)| *known == kind)?;
        let guard = self.choice.enter(key.bind(py).as_any(), boundary)?;
        Some((DeviceOps::of(device).ok()?, guard))
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
