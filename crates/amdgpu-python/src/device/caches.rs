//! What Python modules keep with an open device: one object for each class, dropped together when the device is closed.

use std::sync::{Mutex, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A list: there are few classes, and comparing addresses is quicker than hashing them.
#[derive(Default)]
pub struct Caches(Mutex<Option<Vec<(Py<PyType>, Py<PyAny>)>>>);

impl Caches {
    /// The object of `class`, made by calling it where there is none; of two threads that make one, the first one's is kept.
    pub fn get(&self, class: &Bound<'_, PyType>, is_closed: bool) -> PyResult<Py<PyAny>> {
        let py = class.py();
        if let Some(found) = self.find(class) {
            return Ok(found);
        }
        // Made without the lock: it runs Python.
        let made = class.call0()?.unbind();
        if is_closed {
            return Ok(made);
        }
        if let Some(found) = self.find(class) {
            return Ok(found);
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = (class.clone().unbind(), made.clone_ref(py));
        entries.get_or_insert_default().push(entry);
        Ok(made)
    }

    fn find(&self, class: &Bound<'_, PyType>) -> Option<Py<PyAny>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = entries
            .as_ref()?
            .iter()
            .find(|(known, _)| known.is(class))?;
        Some(found.clone_ref(class.py()))
    }

    /// Takes all objects out; those with a method `close` are closed.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut outcome = Ok(());
        for (_, object) in entries.into_iter().flatten() {
            if let Some(close) = object.bind(py).getattr_opt("close")? {
                outcome = outcome.and(close.call0().map(drop));
            }
        }
        outcome
    }

    /// For the garbage collector: a cache may hold the device that holds it.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A thread that is stopped for the collector may be inside; what it looks at is alive anyway.
        let Ok(entries) = self.0.try_lock() else {
            return Ok(());
        };
        for (class, object) in entries.iter().flatten() {
            visit.call(class)?;
            visit.call(object)?;
        }
        Ok(())
    }

    /// For the garbage collector: let go of everything.
    pub fn clear(&self) {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(entries);
    }
}
