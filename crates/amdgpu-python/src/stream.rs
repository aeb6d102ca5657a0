//! `_native.Stream`: an ordered queue of work, and what its launches keep alive.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amdgpu_aura::Kernel;
use amdgpu_hal as hal;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;

/// An ordered queue of work on a device; queues run beside each other.
#[pyclass(frozen, module = "amdgpu")]
pub struct Stream {
    queue: Arc<dyn hal::Stream>,
    device: String,
    /// In the order of the stream.
    kept: Mutex<VecDeque<Kept>>,
}

/// Arguments of a launch, until the event behind it is reached.
struct Kept {
    passed: Arc<dyn hal::Event>,
    #[allow(dead_code, reason = "held, not read")]
    arguments: Vec<Py<PyAny>>,
}

impl Stream {
    pub fn new(queue: Arc<dyn hal::Stream>, device: &str) -> Self {
        Self {
            queue,
            device: device.to_owned(),
            kept: Mutex::new(VecDeque::new()),
        }
    }

    pub fn inner(&self) -> &Arc<dyn hal::Stream> {
        &self.queue
    }

    pub fn device_name(&self) -> &str {
        &self.device
    }

    /// Hold `arguments` until the stream has passed everything submitted so far.
    pub fn keep(
        &self,
        event: Arc<dyn hal::Event>,
        arguments: Vec<Py<PyAny>>,
    ) -> Result<(), hal::Error> {
        self.queue.record(&event)?;
        self.release_passed();
        self.lock().push_back(Kept {
            passed: event,
            arguments,
        });
        Ok(())
    }

    fn release_passed(&self) {
        // Taken out first: dropping Python objects can run Python code, which may come back here.
        let passed: Vec<Kept> = {
            let mut kept = self.lock();
            // An event is reached only after those before it, so one question too many is asked, not one for each that waits.
            let waiting = kept.iter().position(|entry| !entry.passed.is_complete());
            let count = waiting.unwrap_or(kept.len());
            kept.drain(..count).collect()
        };
        drop(passed);
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Stream {
    /// Number of the stream, unique in the process.
    #[getter]
    fn id(&self) -> u64 {
        self.queue.id()
    }

    /// Name of the device, for example `cpu:0`.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// Whether everything submitted so far is done.
    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.queue.is_idle().into_py_result(py)
    }

    /// Wait until everything submitted so far is done; raises the error that a command left.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let result = py.detach(|| self.queue.synchronize());
        self.release_passed();
        result.into_py_result(py)
    }

    /// Wait at most `timeout_ms` (None: for ever); tells whether the stream is idle.
    #[pyo3(signature = (timeout_ms=None))]
    fn wait(&self, py: Python<'_>, timeout_ms: Option<u64>) -> PyResult<bool> {
        let limit = timeout_ms.map(Duration::from_millis);
        let result = py.detach(|| Kernel::wait(self.queue.as_ref(), limit));
        self.release_passed();
        result.into_py_result(py)
    }

    fn __repr__(&self) -> String {
        format!("<amdgpu.Stream {} of {}>", self.queue.id(), self.device)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Arguments may go only when no command uses them; an error that sticks to the stream has nobody left to hear it.
        Python::attach(|py| {
            let _ = py.detach(|| self.queue.synchronize());
        });
    }
}
