//! `_native.Graph`: what a thread submits inside `with Graph():`, to be replayed.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura as aura;
use amdgpu_aura::{GraphRecorder, Lane, OpenDevice, PackedArguments};
use amdgpu_hal::{CopyDirection, DevicePointer, LaunchConfig};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::{NamedOwners, convert, replace};
use crate::array::{Storage, Uses};
use crate::errors::{IntoPyResult, raise};
use crate::given;
use crate::numbers;
use crate::plan::trace;
use crate::stream::{Stream, check_device};

static NEXT_RECORDING: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// What this thread records.
struct Recording {
    number: u64,
    recorder: GraphRecorder,
    /// What the commands use.
    owners: Vec<Py<PyAny>>,
    /// Streams that the graph is replayed in.
    uses: Arc<Uses>,
}

/// Whether this thread records a graph: then nothing it submits runs.
pub fn is_recording() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Whether this thread is inside `with amdgpu.Graph():`.
#[pyfunction]
pub fn is_recording_graph() -> bool {
    is_recording()
}

/// Refuses what a graph cannot hold.
pub fn check_not_recording(py: Python<'_>, what: &str) -> PyResult<()> {
    if !is_recording() {
        return Ok(());
    }
    let message = format!(
        "{what} is not possible while this thread records a graph: nothing runs before the replay"
    );
    Err(raise(
        py,
        ErrorCode::NotCapturable,
        Language::Rust,
        &message,
    ))
}

fn record<T>(
    py: Python<'_>,
    owners: impl IntoIterator<Item = Py<PyAny>>,
    command: impl FnOnce(&mut GraphRecorder) -> aura::Result<T>,
) -> PyResult<T> {
    let outcome = CURRENT.with_borrow_mut(|current| {
        current.as_mut().map(|recording| {
            recording.owners.extend(owners);
            command(&mut recording.recorder)
        })
    });
    outcome
        .unwrap_or_else(|| {
            // Callers asked a moment ago, on this thread.
            Err(aura::Error::NotCapturable {
                what: "a command".to_owned(),
                reason: "no graph is being recorded".to_owned(),
            })
        })
        .into_py_result(py)
}

/// The graph that this thread records works on this memory.
pub fn record_uses(memory: &[Arc<Storage>]) {
    CURRENT.with_borrow(|current| {
        if let Some(recording) = current {
            for storage in memory {
                storage.uses().join(&recording.uses);
            }
        }
    });
}

/// Record a launch whose arguments are packed.
pub fn record_launch(
    py: Python<'_>,
    kernel: &Arc<aura::Kernel>,
    config: LaunchConfig,
    arguments: &PackedArguments,
    owners: Vec<Py<PyAny>>,
    stream: Option<&Stream>,
) -> PyResult<()> {
    let lane = Lane::of(stream.map(Stream::inner));
    record(py, owners, |recorder| {
        recorder.launch(kernel, config, arguments, lane)
    })
}

/// Record a copy; the owners hold both sides.
pub fn record_copy(
    py: Python<'_>,
    device: &Arc<OpenDevice>,
    (destination, source): (DevicePointer, DevicePointer),
    bytes: u64,
    direction: CopyDirection,
    owners: Vec<Py<PyAny>>,
) -> PyResult<()> {
    record(py, owners, |recorder| {
        recorder.copy(device, destination, source, bytes, direction)
    })
}

/// Record a fill; the owner holds the memory.
pub fn record_fill(
    py: Python<'_>,
    device: &Arc<OpenDevice>,
    destination: DevicePointer,
    value: u8,
    bytes: u64,
    owner: Py<PyAny>,
) -> PyResult<()> {
    record(py, [owner], |recorder| {
        recorder.fill(device, destination, value, bytes)
    })
}

/// Mark a point of a stream in the graph that this thread records; `None` when it records none.
pub fn record_mark(stream: &Stream) -> Option<(u64, usize)> {
    CURRENT.with_borrow_mut(|current| {
        let recording = current.as_mut()?;
        let mark = recording.recorder.mark(Lane::Stream(stream.inner().id()));
        Some((recording.number, mark))
    })
}

/// Hold a stream back until a mark of the graph that this thread records.
pub fn record_wait(py: Python<'_>, stream: &Stream, number: u64, mark: usize) -> PyResult<()> {
    let is_own = CURRENT.with_borrow_mut(|current| match current {
        Some(recording) if recording.number == number => {
            let lane = Lane::Stream(stream.inner().id());
            recording.recorder.wait(lane, mark);
            true
        }
        _ => false,
    });
    if is_own {
        return Ok(());
    }
    let message = "the event belongs to another graph, which alone can wait for it";
    Err(raise(py, ErrorCode::NotCapturable, Language::Rust, message))
}

/// Launches, copies and fills that are recorded once and replayed with one call.
///
/// Inside `with amdgpu.Graph() as graph:` nothing that this thread submits runs; `graph.replay()` runs all of it. The graph keeps every
/// array alive that it uses.
#[pyclass(frozen, module = "amdgpu")]
pub struct Graph {
    state: Mutex<State>,
    /// Streams that it was replayed in, for readers of the memory it works on.
    uses: Arc<Uses>,
}

enum State {
    Fresh,
    /// By the thread that entered the block.
    Recording(u64),
    Ready {
        graph: Arc<aura::Graph>,
        #[allow(dead_code, reason = "held, not read")]
        owners: Vec<Py<PyAny>>,
        /// By node, what later arguments use. Never changed: replays under way hold the one they were submitted with.
        updates: Py<PyDict>,
    },
    /// The block was left by an exception.
    Abandoned,
}

impl Graph {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(py: Python<'_>, message: &str) -> PyErr {
        raise(py, ErrorCode::NotCapturable, Language::Rust, message)
    }

    fn ready(&self, py: Python<'_>) -> PyResult<Arc<aura::Graph>> {
        self.ready_with_updates(py).map(|(graph, _)| graph)
    }

    fn ready_with_updates(&self, py: Python<'_>) -> PyResult<(Arc<aura::Graph>, Py<PyDict>)> {
        match &*self.lock() {
            State::Ready { graph, updates, .. } => Ok((Arc::clone(graph), updates.clone_ref(py))),
            State::Fresh => Err(Self::refuse(
                py,
                "nothing was recorded yet: write `with graph:` around the launches",
            )),
            State::Recording(_) => Err(Self::refuse(
                py,
                "the graph is still being recorded: use it after the `with` block",
            )),
            State::Abandoned => Err(Self::refuse(
                py,
                "an exception ended the recording: make a new graph",
            )),
        }
    }
}

#[pymethods]
impl Graph {
    #[new]
    fn new() -> Self {
        Self {
            state: Mutex::new(State::Fresh),
            uses: Arc::default(),
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let py = slf.py();
        check_not_recording(py, "recording a second graph")?;
        {
            let mut state = slf.get().lock();
            if !matches!(*state, State::Fresh) {
                return Err(Self::refuse(
                    py,
                    "a graph is recorded once: make a new amdgpu.Graph()",
                ));
            }
            let number = NEXT_RECORDING.fetch_add(1, Ordering::Relaxed);
            *state = State::Recording(number);
            let recording = Recording {
                number,
                recorder: GraphRecorder::default(),
                owners: Vec::new(),
                uses: Arc::clone(&slf.get().uses),
            };
            CURRENT.set(Some(recording));
        }
        Ok(slf)
    }

    #[pyo3(signature = (kind, value, trace))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        trace: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let _ = (value, trace);
        let State::Recording(number) = *self.lock() else {
            return Err(Self::refuse(py, "the graph is not being recorded"));
        };
        let recording = CURRENT.with_borrow_mut(|current| {
            let is_own = current.as_ref().is_some_and(|own| own.number == number);
            if is_own { current.take() } else { None }
        });
        let Some(recording) = recording else {
            return Err(Self::refuse(
                py,
                "the recording was begun by another thread, which alone can end it",
            ));
        };
        *self.lock() = State::Abandoned;
        if !kind.is_none() {
            return Ok(false);
        }
        let Recording {
            recorder, owners, ..
        } = recording;
        let graph = Arc::new(py.detach(|| recorder.finish()).into_py_result(py)?);
        *self.lock() = State::Ready {
            graph,
            owners,
            updates: PyDict::new(py).unbind(),
        };
        Ok(false)
    }

    /// Run everything that was recorded: in `stream` and return at once, or wait for it.
    #[pyo3(signature = (stream=None))]
    fn replay(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given::stream)] stream: Option<Bound<'_, Stream>>,
    ) -> PyResult<()> {
        let py = slf.py();
        check_not_recording(py, "replaying a graph")?;
        trace::give_up();
        let (graph, updates) = slf.get().ready_with_updates(py)?;
        let Some(stream) = stream.as_ref().map(Bound::get) else {
            // SAFETY: the graph holds the owners of all memory it uses, and the replay waits.
            return py
                .detach(|| unsafe { graph.replay(None) })
                .map(|_| ())
                .into_py_result(py);
        };
        if let Some(device) = graph.device_name() {
            check_device(py, "stream", stream.device_name(), device)?;
        }
        slf.get().uses.note(stream.inner(), stream.hal_device());
        // SAFETY: as above; the stream keeps this object until it has passed the replay.
        let replayed = py.detach(|| unsafe { graph.replay(Some(stream.inner())) });
        let owners = [slf.clone().unbind().into_any(), updates.into_any()];
        stream.keep(owners, 0).into_py_result(py)?;
        replayed.map(|_| ()).into_py_result(py)
    }

    /// Give the launch at position `node` of `nodes` other arguments, from the next replay on: all of them in order, or some by name.
    #[pyo3(signature = (node, *args, **named))]
    fn update(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::node)] node: usize,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (graph, updates) = self.ready_with_updates(py)?;
        let refuse =
            |message: String| raise(py, ErrorCode::InvalidArgument, Language::Rust, &message);
        let kernel = graph
            .nodes()
            .get(node)
            .and_then(|entry| entry.kernel.as_ref())
            .ok_or_else(|| {
                refuse(format!(
                    "node {node} is no launch; the graph has {} nodes, see graph.nodes",
                    graph.nodes().len()
                ))
            })?;
        let args: Vec<Bound<'_, PyAny>> = args.iter().collect();
        // What all arguments use stands under an empty name.
        let mut owners = NamedOwners::new();
        let mut packed = if args.is_empty() && named.is_some() {
            graph
                .arguments(node)
                .ok_or_else(|| refuse(format!("node {node} has no arguments")))?
        } else {
            let converted = convert(kernel, &args, None)?;
            let packed = kernel
                .pack_arguments(&converted.arguments)
                .into_py_result(py)?;
            converted.join(&self.uses);
            if converted.bytes > 0 {
                owners.push((String::new(), converted.into_owners(py, &args)?));
            }
            packed
        };
        if let Some(named) = named {
            packed = replace(py, kernel, &packed, named, &mut owners, &self.uses)?;
        }
        graph.set_arguments(node, &packed);
        if owners.is_empty() {
            return Ok(());
        }
        let fresh = updates.bind(py).copy()?;
        for (name, owner) in owners {
            fresh.set_item((node, name), PyTuple::new(py, owner)?)?;
        }
        if let State::Ready { updates, .. } = &mut *self.lock() {
            *updates = fresh.unbind();
        }
        Ok(())
    }

    /// Name of the device; None for a graph without commands.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.ready(py)?.device_name().map(str::to_owned))
    }

    /// One dict per launch, copy and fill, in the order of recording: `kind`, `kernel`, `grid`, `block`, `bytes`, `stream`.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let graph = self.ready(py)?;
        let result = PyList::empty(py);
        for node in graph.nodes() {
            let entry = PyDict::new(py);
            entry.set_item("kind", node.kind)?;
            let kernel = node.kernel.as_ref();
            entry.set_item("kernel", kernel.map(|kernel| kernel.facts().name.as_str()))?;
            entry.set_item("grid", node.config.map(|config| config.grid))?;
            entry.set_item("block", node.config.map(|config| config.block))?;
            entry.set_item("bytes", node.bytes)?;
            let stream = match node.lane {
                Lane::Waited => None,
                Lane::Stream(id) => Some(id),
            };
            entry.set_item("stream", stream)?;
            result.append(entry)?;
        }
        Ok(result)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.ready(py)?.nodes().len())
    }

    fn __repr__(&self) -> String {
        match &*self.lock() {
            State::Fresh => "<amdgpu.Graph, not recorded>".to_owned(),
            State::Recording(_) => "<amdgpu.Graph, being recorded>".to_owned(),
            State::Abandoned => "<amdgpu.Graph, abandoned>".to_owned(),
            State::Ready { graph, .. } => format!(
                "<amdgpu.Graph of {} nodes on {}>",
                graph.nodes().len(),
                graph.device_name().unwrap_or("no device")
            ),
        }
    }
}
