//! `_native.Stream`: an ordered queue of work, and what its launches keep alive.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura::{Kept, Kernel};
use amdgpu_hal as hal;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::event::Event;
use crate::given;
use crate::graph;
use crate::interrupt;
use crate::numbers;

/// An ordered queue of work on a device; queues run beside each other.
#[pyclass(frozen, module = "amdgpu")]
pub struct Stream {
    queue: Arc<dyn hal::Stream>,
    device: Arc<dyn hal::Device>,
    /// Arguments of launches.
    kept: Kept<Py<PyAny>>,
}

impl Stream {
    pub fn new(queue: Arc<dyn hal::Stream>, device: &Arc<dyn hal::Device>) -> Self {
        Self {
            queue,
            device: Arc::clone(device),
            kept: Kept::default(),
        }
    }

    pub fn inner(&self) -> &Arc<dyn hal::Stream> {
        &self.queue
    }

    pub fn hal_device(&self) -> &Arc<dyn hal::Device> {
        &self.device
    }

    pub fn device_name(&self) -> &str {
        &self.device.info().name
    }

    /// A new event of the stream's device.
    pub fn create_event(&self) -> hal::Result<Arc<dyn hal::Event>> {
        self.device.create_event()
    }

    /// Hold what a launch uses, submitted just now, until the stream has passed it. `bytes` is the memory behind the owners.
    pub fn keep(&self, owners: impl IntoIterator<Item = Py<PyAny>>, bytes: u64) -> hal::Result<()> {
        let (stream, device) = (self.queue.as_ref(), self.device.as_ref());
        self.kept.keep(stream, device, |open| {
            for owner in owners {
                if !open.last().is_some_and(|last| last.is(&owner)) {
                    open.push(owner);
                }
            }
            bytes
        })
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
        self.device_name()
    }

    /// The driver's own handle (`CUstream`, `hipStream_t`) for other libraries; None where there is no driver.
    #[getter]
    fn native_handle(&self) -> Option<u64> {
        self.queue.native_handle()
    }

    /// Whether everything submitted so far is done.
    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.kept.is_idle(self.queue.as_ref()).into_py_result(py)
    }

    /// Wait until everything submitted so far is done; raises the error that a command left.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        graph::check_not_recording(py, "waiting for a stream")?;
        let kept = self.kept.take();
        let result = py.detach(|| Kernel::wait(self.queue.as_ref(), None));
        drop(kept);
        result.into_py_result(py).map(|_| ())
    }

    /// Wait at most `timeout_ms` (None: for ever); tells whether the stream is idle.
    #[pyo3(signature = (timeout_ms=None))]
    fn wait(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::timeout_ms)] timeout_ms: Option<u64>,
    ) -> PyResult<bool> {
        graph::check_not_recording(py, "waiting for a stream")?;
        let limit = timeout_ms.map(Duration::from_millis);
        let kept = self.kept.take();
        let result = py.detach(|| Kernel::wait(self.queue.as_ref(), limit));
        if matches!(result, Ok(false)) {
            self.kept.put_back(kept);
        }
        result.into_py_result(py)
    }

    /// Mark this point of the stream: the event happens when everything submitted so far is done.
    #[pyo3(signature = (event=None))]
    fn record<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = given::event_or_none)] event: Option<Bound<'py, Event>>,
    ) -> PyResult<Bound<'py, Event>> {
        let py = slf.py();
        let stream = slf.get();
        let event = match event {
            Some(event) => event,
            None => Bound::new(py, Event::new(stream.device_name()))?,
        };
        event.get().record(py, stream)?;
        Ok(event)
    }

    /// Hold back what is submitted from now on until `event`, recorded in any stream of the device, has happened.
    fn wait_event(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given::event)] event: Bound<'_, Event>,
    ) -> PyResult<()> {
        event.get().hold_back(py, self)
    }

    /// Stop what the stream still runs, where the device can; tells whether it is idle afterwards.
    fn stop(&self, py: Python<'_>) -> bool {
        py.detach(|| Kernel::stop(self.queue.as_ref()))
    }

    /// In the block of `with stream:` this thread's launches on the device that name no stream go into this one, and return at once.
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        enter(&slf);
        slf
    }

    #[pyo3(signature = (kind, value, trace))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (kind, value, trace);
        leave(slf)
    }

    fn __repr__(&self) -> String {
        format!(
            "<amdgpu.Stream {} of {}>",
            self.queue.id(),
            self.device_name()
        )
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if hal::cpu::is_ending() && !matches!(self.queue.is_idle(), Ok(true)) {
            // What could not be stopped may use its arguments until the process is gone.
            std::mem::forget(self.kept.take());
            return;
        }
        // Arguments may go only when no command uses them; an error that sticks to the stream has nobody left to hear it.
        Python::attach(|py| {
            let _ = py.detach(|| self.queue.synchronize());
            interrupt::tell(py);
        });
    }
}

thread_local! {
    /// Streams whose `with` blocks the thread is in; the innermost is the last.
    static ENTERED: RefCell<Vec<Py<Stream>>> = const { RefCell::new(Vec::new()) };
}

/// The block of `with stream:` begins.
fn enter(stream: &Bound<'_, Stream>) {
    ENTERED.with_borrow_mut(|entered| entered.push(stream.clone().unbind()));
}

/// The block of `with stream:` ends.
///
/// # Errors
///
/// `invalid-argument` where another block was entered later, or another thread entered this one.
fn leave(stream: &Bound<'_, Stream>) -> PyResult<()> {
    let last = ENTERED.with_borrow_mut(|entered| entered.pop_if(|last| last.is(stream)));
    if last.is_some() {
        return Ok(());
    }
    let message =
        "a `with stream:` block ends in the thread that began it, behind the blocks inside it";
    let code = ErrorCode::InvalidArgument;
    Err(raise(stream.py(), code, Language::Rust, message))
}

/// The stream of a launch: the one it names, else the innermost one of the device that the thread entered.
pub fn chosen_stream<'py>(
    py: Python<'py>,
    named: Option<Bound<'py, Stream>>,
    device: &str,
) -> Option<Bound<'py, Stream>> {
    named.or_else(|| {
        ENTERED.with_borrow(|entered| {
            let of_device = |stream: &&Py<Stream>| stream.get().device_name() == device;
            let found = entered.iter().rev().find(of_device);
            found.map(|stream| stream.bind(py).clone())
        })
    })
}

/// The stream of a device in which the calling thread launches: that of the innermost `with stream:`; None outside of such blocks.
#[pyfunction]
pub fn current_stream<'py>(py: Python<'py>, device: &str) -> Option<Bound<'py, Stream>> {
    chosen_stream(py, None, device)
}

/// Refuses an object of another device than the one it is used with.
pub fn check_device(py: Python<'_>, what: &str, device: &str, wanted: &str) -> PyResult<()> {
    if device == wanted {
        return Ok(());
    }
    let message = format!("the {what} is of {device}, and is used on {wanted}");
    Err(raise(py, ErrorCode::WrongDevice, Language::Rust, &message))
}
