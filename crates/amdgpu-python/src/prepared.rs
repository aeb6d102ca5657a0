//! `_native.PreparedLaunch`: a launch whose shape and arguments are checked and packed.

use std::sync::Arc;

use amdgpu_aura::{Kernel, PackedArguments};
use amdgpu_hal::LaunchConfig;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::kernel::{check_stream, convert};
use crate::stream::Stream;

/// A kernel with grid, block and arguments fixed; calling it launches. It keeps its arrays alive.
#[pyclass(frozen, module = "amdgpu")]
pub struct PreparedLaunch {
    kernel: Arc<Kernel>,
    config: LaunchConfig,
    arguments: PackedArguments,
    owners: Vec<Py<PyAny>>,
    stream: Option<Py<Stream>>,
}

impl PreparedLaunch {
    pub fn new(
        py: Python<'_>,
        kernel: &Arc<Kernel>,
        config: LaunchConfig,
        args: &[Bound<'_, PyAny>],
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<Self> {
        if let Some(stream) = stream {
            check_stream(py, kernel, stream.get())?;
        }
        let converted = convert(kernel, args)?;
        Ok(Self {
            arguments: kernel
                .pack_arguments(&converted.arguments)
                .into_py_result(py)?,
            owners: converted.into_owners(py, args)?,
            kernel: Arc::clone(kernel),
            config,
            stream: stream.map(|stream| stream.clone().unbind()),
        })
    }
}

#[pymethods]
impl PreparedLaunch {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let Some(stream) = self.stream.as_ref().map(Py::get) else {
            // SAFETY: packed by this kernel; `owners` holds the memory, and the launch waits.
            return py
                .detach(|| unsafe {
                    self.kernel
                        .launch_packed(&self.config, &self.arguments, None)
                })
                .map(|_| ())
                .into_py_result(py);
        };
        let event = self.kernel.create_event().into_py_result(py)?;
        let queue = stream.inner();
        let launched = py.detach(|| {
            // SAFETY: as above; the stream keeps the owners until it has passed the launch.
            unsafe {
                self.kernel
                    .launch_packed(&self.config, &self.arguments, Some(queue))
            }
        });
        let owners = self
            .owners
            .iter()
            .map(|owner| owner.clone_ref(py))
            .collect();
        stream.keep(event, owners).into_py_result(py)?;
        launched.map(|_| ()).into_py_result(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "<amdgpu.PreparedLaunch {} grid={:?} block={:?}>",
            self.kernel.facts().name,
            self.config.grid,
            self.config.block
        )
    }
}
