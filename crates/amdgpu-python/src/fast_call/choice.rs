//! What the dispatcher has chosen for an operation in memory of the host, and which arguments lie there.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use amdgpu_aura::OpenDevice;
use amdgpu_hal::DeviceKind;
use amdgpu_ops::DeviceOps;
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::array::Array;
use crate::operand::exact_numpy;
use crate::ops::number::is_plain_number;
use crate::telemetry::Decision;

/// How often the dispatcher has forgotten what it chose.
static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

/// Tells the fast paths that the tables of the dispatcher were emptied, as they are when a plug-in comes or goes.
#[pyfunction]
pub fn forget_choices() {
    FORGOTTEN.fetch_add(1, Ordering::Release);
}

/// An entry of a table of the dispatcher: functions and decisions by key. The table is emptied when a plug-in comes or goes.
pub struct Choice {
    table: Py<PyDict>,
    /// The function that a fast path replaces: what a plug-in computes takes the general path.
    native: Py<PyAny>,
    /// What was found last, so that a call does not look it up.
    known: AtomicPtr<Known>,
}

/// An entry of the table that is native, for as long as the dispatcher forgets nothing.
struct Known {
    forgotten: usize,
    key: Py<PyAny>,
    decision: Py<Decision>,
}

impl Choice {
    pub fn new(table: &Bound<'_, PyDict>, native: &Bound<'_, PyAny>) -> Self {
        Self {
            table: table.clone().unbind(),
            native: native.clone().unbind(),
            known: AtomicPtr::default(),
        }
    }

    /// Records the decision and enters by `boundary`; `None` where the dispatcher was not asked yet or has chosen another function.
    pub fn enter(
        &self,
        key: &Bound<'_, PyAny>,
        boundary: &'static Boundary,
    ) -> Option<BoundaryGuard> {
        self.with(key, |decision| noted(decision, boundary.enter()))
    }

    /// The same for a call that is brief unless its guard is told that it is not; the decision has a record where the call is timed.
    pub fn enter_brief(
        &self,
        key: &Bound<'_, PyAny>,
        boundary: &'static Boundary,
    ) -> Option<BoundaryGuard> {
        self.with(key, |decision| noted(decision, boundary.enter_brief()))
    }

    #[inline]
    fn with<T>(&self, key: &Bound<'_, PyAny>, act: impl FnOnce(&Decision) -> T) -> Option<T> {
        let forgotten = FORGOTTEN.load(Ordering::Acquire);
        // SAFETY: what is stored there is leaked.
        let known = unsafe { self.known.load(Ordering::Acquire).as_ref() };
        if let Some(known) = known
            && known.forgotten == forgotten
            && known.key.is(key)
        {
            return Some(act(known.decision.get()));
        }
        let decision = self.look_up(key)?;
        if known.is_none_or(|known| known.forgotten != forgotten) {
            // Leaked on purpose: one for each time that a plug-in comes or goes.
            let found = Box::leak(Box::new(Known {
                forgotten,
                key: key.clone().unbind(),
                decision: decision.clone().unbind(),
            }));
            self.known.store(found, Ordering::Release);
        }
        Some(act(decision.get()))
    }

    #[cold]
    fn look_up<'py>(&self, key: &Bound<'py, PyAny>) -> Option<Bound<'py, Decision>> {
        let found = self.table.bind(key.py()).get_item(key).ok()??;
        let found = found.cast_into::<PyTuple>().ok()?;
        if !found.get_borrowed_item(0).ok()?.is(&self.native) {
            return None;
        }
        found.get_item(1).ok()?.cast_into::<Decision>().ok()
    }
}

/// The decision was made when the call began.
fn noted(decision: &Decision, guard: BoundaryGuard) -> BoundaryGuard {
    if let Some(start_ns) = guard.start_ns() {
        decision.record_at(start_ns);
    }
    guard
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
    exact_numpy(object).is_some()
        || object
            .cast_exact::<Array>()
            .is_ok_and(|array| array.get().is_plain_host())
        || is_plain_number(object)
}
