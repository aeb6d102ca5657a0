//! `_native.PreparedLaunch`: a launch whose shape and arguments are checked and packed.

use std::sync::Arc;

use amdgpu_array::{Storage, recording};
use amdgpu_aura::{Kernel, PackedArguments};
use amdgpu_hal::LaunchConfig;
use pyo3::prelude::*;

use crate::arguments::{convert, finish, note};
use crate::errors::IntoPyResult;
use crate::graph;
use crate::stream::{Stream, check_device, chosen_stream};

/// A kernel with grid, block and arguments fixed; calling it launches. It keeps its arrays alive.
#[pyclass(frozen, module = "amdgpu")]
pub struct PreparedLaunch {
    kernel: Arc<Kernel>,
    config: LaunchConfig,
    arguments: PackedArguments,
    #[allow(dead_code, reason = "held, not read")]
    owners: Vec<Py<PyAny>>,
    memory: Vec<Arc<Storage>>,
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
            let device = &kernel.device_info().name;
            check_device(py, "stream", stream.get().device_name(), device)?;
        }
        let converted = convert(kernel, args, stream.map(Bound::get))?;
        Ok(Self {
            arguments: kernel
                .pack_arguments(&converted.arguments)
                .into_py_result(py)?,
            memory: converted.storages().to_vec(),
            owners: converted.into_owners(py, args)?,
            kernel: Arc::clone(kernel),
            config,
            stream: stream.map(|stream| stream.clone().unbind()),
        })
    }
}

#[pymethods]
impl PreparedLaunch {
    fn __call__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let named = this.stream.as_ref().map(|stream| stream.bind(py).clone());
        let stream = chosen_stream(py, named, &this.kernel.device_info().name);
        let stream = stream.as_ref().map(Bound::get);
        if recording::is_recording() {
            let owners = vec![slf.clone().unbind().into_any()];
            recording::record_uses(this.memory.iter().map(|storage| storage.uses()));
            let arguments = &this.arguments;
            return graph::record_launch(py, &this.kernel, this.config, arguments, owners, stream);
        }
        let Some(stream) = stream else {
            finish(py, &this.memory)?;
            // SAFETY: packed by this kernel; `owners` holds the memory, and the launch waits.
            return py
                .detach(|| unsafe {
                    this.kernel
                        .launch_packed(&this.config, &this.arguments, None)
                })
                .into_py_result(py);
        };
        note(&this.memory, stream);
        // SAFETY: as above; the stream keeps this object until it has passed the launch.
        let launched = py.detach(|| unsafe {
            this.kernel
                .launch_packed(&this.config, &this.arguments, Some(stream.inner()))
        });
        // Launched again and again, the object is held once; its memory stays with whoever prepared it.
        stream
            .keep([slf.clone().unbind().into_any()], 0)
            .into_py_result(py)?;
        launched.into_py_result(py)
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
