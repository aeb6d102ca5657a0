//! `_native.CapturedGraph`: what a thread submits inside `with CapturedGraph():`, to be replayed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array::{Owner, Uses, recording};
use amdgpu_aura as aura;
use amdgpu_aura::{Lane, PackedArguments};
use amdgpu_hal::LaunchConfig;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::{NamedOwners, convert, replace};
use crate::errors::{IntoPyResult, raise};
use crate::given;
use crate::numbers;
use crate::stream::{Stream, check_device, chosen_stream};

/// Whether this thread is inside `with amdgpu.CapturedGraph():`.
#[pyfunction]
pub fn is_recording_graph() -> bool {
    recording::is_recording()
}

/// Refuses what a graph cannot hold.
pub fn check_not_recording(py: Python<'_>, what: &str) -> PyResult<()> {
    recording::check_not_recording(what).into_py_result(py)
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
    let owners = owners.into_iter().map(|owner| Box::new(owner) as Owner);
    recording::record_launch(kernel, config, arguments, owners, stream.map(Stream::inner))
        .into_py_result(py)
}

/// Launches, copies and fills that are recorded once and replayed with one call.
///
/// Inside `with amdgpu.CapturedGraph() as graph:` nothing that this thread submits runs; `graph.replay()` runs all of it. The graph keeps every
/// array alive that it uses.
#[pyclass(frozen, module = "amdgpu")]
pub struct CapturedGraph {
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
        owners: Vec<Owner>,
        /// By node, what later arguments use. Never changed: replays under way hold the one they were submitted with.
        updates: Py<PyDict>,
    },
    /// The block was left by an exception.
    Abandoned,
}

impl CapturedGraph {
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
impl CapturedGraph {
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
                    "a graph is recorded once: make a new amdgpu.CapturedGraph()",
                ));
            }
            let uses = Arc::clone(&slf.get().uses);
            *state = State::Recording(recording::begin(uses).into_py_result(py)?);
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
        let Some(recording) = recording::end(number) else {
            return Err(Self::refuse(
                py,
                "the recording was begun by another thread, which alone can end it",
            ));
        };
        *self.lock() = State::Abandoned;
        if !kind.is_none() {
            return Ok(false);
        }
        let (recorder, owners) = (recording.recorder, recording.owners);
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
        let (graph, updates) = slf.get().ready_with_updates(py)?;
        let device = graph.device_name().unwrap_or_default();
        let stream = chosen_stream(py, stream, device);
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
            State::Fresh => "<amdgpu.CapturedGraph, not recorded>".to_owned(),
            State::Recording(_) => "<amdgpu.CapturedGraph, being recorded>".to_owned(),
            State::Abandoned => "<amdgpu.CapturedGraph, abandoned>".to_owned(),
            State::Ready { graph, .. } => format!(
                "<amdgpu.CapturedGraph of {} nodes on {}>",
                graph.nodes().len(),
                graph.device_name().unwrap_or("no device")
            ),
        }
    }
}
