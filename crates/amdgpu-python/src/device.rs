//! `_native.Device`: an open device.

mod caches;
mod describe;
mod memory;

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_aura::{
    CompileRequest, Context, ContextOptions, CoreType, LaunchRecords, OpenDevice, Toolchain,
};
use amdgpu_compiler::{CompileOptions, OptimizationLevel};
use amdgpu_hal::registry::{self, DeviceSelector};
use amdgpu_memory::AllocatorOptions;
use amdgpu_telemetry::Boundary;
use pyo3::IntoPyObjectExt;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};

use caches::Caches;
use describe::describe;

use crate::array::Array;
use crate::codegen::{PythonCodeGenerator, RemoteToolchain};
use crate::errors::{IntoPyResult, raise};
use crate::graph;
use crate::kernel::Kernel;
use crate::numbers;
use crate::profile::KernelProfile;
use crate::stream::Stream;

static COMPILE: Boundary = Boundary::new(Language::Python, Language::Rust, "Device.compile");

#[pyclass(frozen, module = "amdgpu._native")]
pub struct Device {
    context: Arc<Context>,
    level: OptimizationLevel,
    caches: Caches,
}

impl Device {
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

pub fn parse_level(py: Python<'_>, name: &str) -> PyResult<OptimizationLevel> {
    OptimizationLevel::parse(name).ok_or_else(|| {
        let message = format!("optimization_level is {name:?}; known are none, low, high, max");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

fn parse_selector(device: &Bound<'_, PyAny>) -> PyResult<DeviceSelector> {
    if let Ok(index) = device.extract::<i64>() {
        return Ok(DeviceSelector::Index(index));
    }
    if let Ok(name) = device.extract::<String>() {
        return Ok(DeviceSelector::Name(name));
    }
    let message = format!(
        "a device is an index or a name, not {}",
        device.get_type().name()?
    );
    Err(raise(
        device.py(),
        ErrorCode::InvalidType,
        Language::Rust,
        &message,
    ))
}

impl Device {
    /// A kernel compiled once more, with other options.
    fn again(
        &self,
        py: Python<'_>,
        kernel: &amdgpu_aura::Kernel,
        options: CompileOptions,
        remote: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let request = CompileRequest {
            source: kernel.source(),
            kernel_name: Some(&kernel.facts().name),
            core: kernel.core(),
            options,
        };
        let made = py
            .detach(|| self.context.compile(&request, toolchain(remote).as_ref()))
            .into_py_result(py)?;
        Ok(Kernel::new(made))
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (device, core_types, *, optimization_level="high", telemetry="standard", memory=""))]
    fn new(
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        core_types: Vec<String>,
        optimization_level: &str,
        telemetry: &str,
        memory: &str,
    ) -> PyResult<Self> {
        let level = parse_level(py, optimization_level)?;
        let cores = core_types
            .iter()
            .map(|name| CoreType::from_name(name))
            .collect::<Result<Vec<_>, _>>()
            .into_py_result(py)?;
        let selector = parse_selector(device)?;
        amdgpu_telemetry::attach::start();
        let memory = AllocatorOptions::parse(memory).into_py_result(py)?;
        let opened = py
            .detach(|| OpenDevice::open_with(selector, memory))
            .into_py_result(py)?;
        let options = ContextOptions {
            cores,
            launch_records: LaunchRecords::from_name(telemetry).into_py_result(py)?,
        };
        Ok(Self {
            context: Arc::new(Context::open(opened, options).into_py_result(py)?),
            level,
            caches: Caches::default(),
        })
    }

    /// Name to address the device by, for example `cpu:0`.
    #[getter]
    fn name(&self) -> &str {
        &self.context.info().name
    }

    /// hip, cuda, cpu, sim or null.
    #[getter]
    fn kind(&self) -> &'static str {
        self.context.info().kind.name()
    }

    /// Core types that were enabled.
    #[getter]
    fn core_types(&self) -> Vec<&'static str> {
        self.context
            .cores()
            .iter()
            .map(|core| core.name())
            .collect()
    }

    /// Whether `close()` was called.
    #[getter]
    fn is_closed(&self) -> bool {
        self.context.is_closed()
    }

    /// Whether a fault of the device ended everything made from it; it can be opened again.
    #[getter]
    fn is_lost(&self) -> bool {
        self.context.is_lost()
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = describe(py, self.context.info())?;
        let memory = self
            .context
            .device()
            .into_py_result(py)?
            .memory_info()
            .into_py_result(py)?;
        info.set_item("free_memory_bytes", memory.free_bytes)?;
        Ok(info)
    }

    fn memory_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self
            .context
            .device()
            .into_py_result(py)?
            .memory_info()
            .into_py_result(py)?;
        let result = PyDict::new(py);
        result.set_item("free_bytes", memory.free_bytes)?;
        result.set_item("total_bytes", memory.total_bytes)?;
        result.set_item("used_bytes", memory.used_bytes)?;
        Ok(result)
    }

    fn memory_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let allocator = self.context.allocator().into_py_result(py)?;
        memory::stats(py, allocator)
    }

    fn reset_peak_memory_stats(&self, py: Python<'_>) -> PyResult<()> {
        let allocator = self.context.allocator().into_py_result(py)?;
        allocator.reset_peak_stats();
        Ok(())
    }

    /// Every segment of the allocator with its blocks, under the names of `torch.cuda.memory_snapshot`.
    fn memory_snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let allocator = self.context.allocator().into_py_result(py)?;
        memory::snapshot(py, allocator)
    }

    /// The object of a class that is kept with this device until it is closed, made now where there is none.
    fn cache(&self, class_: &Bound<'_, PyType>) -> PyResult<Py<PyAny>> {
        self.caches.get(class_, self.context.is_closed())
    }

    fn empty_cache(&self, py: Python<'_>) -> PyResult<u64> {
        let allocator = self.context.allocator().into_py_result(py)?;
        Ok(py.detach(|| allocator.empty_cache()))
    }

    /// Reserves memory for blocks of these sizes in bytes; tells how many bytes more are reserved.
    fn warm_up(&self, py: Python<'_>, sizes: Vec<u64>, kind: &str) -> PyResult<u64> {
        let kind = memory::kind_of(py, kind)?;
        let allocator = self.context.allocator().into_py_result(py)?;
        py.detach(|| allocator.warm_up(kind, &sizes))
            .into_py_result(py)
    }

    #[pyo3(signature = (shape, dtype, kind="device"))]
    fn empty(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::extents)] shape: core::Dims,
        dtype: &str,
        kind: &str,
    ) -> PyResult<Array> {
        let dtype = Dtype::from_name(dtype).ok_or_else(|| {
            let known = Dtype::known_names().collect::<Vec<_>>().join(", ");
            let message =
                format!("dtype {dtype} is not a type of device memory; supported: {known}");
            raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
        })?;
        let kind = memory::kind_of(py, kind)?;
        let device = self.context.open_device().into_py_result(py)?;
        py.detach(|| core::Array::empty(device, shape, dtype, kind))
            .map(Array::from)
            .into_py_result(py)
    }

    #[pyo3(signature = (source, name=None, *, core_type="aura", file_name="kernel.hip", optimization_level=None, fast_math=false, defines=None, disabled_passes=None, checked=false, profile=None, remote=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn compile(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        name: Option<&str>,
        core_type: &str,
        file_name: &str,
        optimization_level: Option<&str>,
        fast_math: bool,
        defines: Option<Vec<(String, String)>>,
        disabled_passes: Option<Vec<String>>,
        checked: bool,
        profile: Option<&KernelProfile>,
        remote: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let _crossing = COMPILE.enter();
        let level = match optimization_level {
            Some(level) => parse_level(py, level)?,
            None => self.level,
        };
        let options = CompileOptions {
            name: file_name.to_owned(),
            optimization_level: level,
            fast_math,
            checked,
            defines: defines.unwrap_or_default(),
            disabled_passes: disabled_passes.unwrap_or_default(),
            profile: profile.map(KernelProfile::boxed),
            ..CompileOptions::default()
        };
        let text = source_text(source)?;
        let request = CompileRequest {
            source: &text,
            kernel_name: name,
            core: CoreType::from_name(core_type).into_py_result(py)?,
            options,
        };
        let kernel = py
            .detach(|| self.context.compile(&request, toolchain(remote).as_ref()))
            .into_py_result(py)?;
        Ok(Kernel::new(kernel))
    }

    /// The same kernel with checks; itself when it has them.
    #[pyo3(signature = (kernel, *, remote=None))]
    fn with_checks(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        remote: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let plain = kernel.inner();
        if plain.is_checked() {
            return Ok(Kernel::new(Arc::clone(plain)));
        }
        let options = CompileOptions {
            checked: true,
            profile: None,
            ..plain.options().clone()
        };
        self.again(py, plain, options, remote)
    }

    /// The same kernel that counts what it does; `Kernel.read_profile` gives that.
    #[pyo3(signature = (kernel, *, remote=None))]
    fn with_counting(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        remote: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let options = CompileOptions {
            instrumented: true,
            checked: false,
            profile: None,
            ..kernel.inner().options().clone()
        };
        self.again(py, kernel.inner(), options, remote)
    }

    /// Load code that a vendor's compiler made of the source; `symbol` is the kernel's name in it.
    #[pyo3(signature = (source, name, code, symbol, *, core_type="aura", file_name="kernel.hip", defines=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn load_compiled(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        name: &str,
        code: &[u8],
        symbol: &str,
        core_type: &str,
        file_name: &str,
        defines: Option<Vec<(String, String)>>,
    ) -> PyResult<Kernel> {
        let text = source_text(source)?;
        let request = CompileRequest {
            source: &text,
            kernel_name: Some(name),
            core: CoreType::from_name(core_type).into_py_result(py)?,
            options: CompileOptions {
                name: file_name.to_owned(),
                defines: defines.unwrap_or_default(),
                ..CompileOptions::default()
            },
        };
        let context = &self.context;
        let kernel = py
            .detach(|| context.load_compiled(&request, code, symbol, &PythonCodeGenerator))
            .into_py_result(py)?;
        Ok(Kernel::new(kernel))
    }

    fn kernel(&self, py: Python<'_>, handle: &str) -> PyResult<Kernel> {
        let found = self.context.kernel(handle);
        let found = found.map(Kernel::new);
        found.ok_or_else(|| {
            let message = format!("{} has no kernel with the handle {handle:?}", self.name());
            raise(py, ErrorCode::InvalidHandle, Language::Rust, &message)
        })
    }

    /// How many kernels are kept and known: `kept_kernels`, `kept_bytes`, `limit_bytes`, `known_kernels`, `known_units`.
    fn kernel_cache_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sizes = self.context.kernel_cache_sizes();
        let result = PyDict::new(py);
        for (name, size) in [
            ("kept_kernels", sizes.kept_kernels),
            ("kept_bytes", sizes.kept_bytes),
            ("limit_bytes", sizes.limit_bytes),
            ("known_kernels", sizes.known_kernels),
            ("known_units", sizes.known_units),
        ] {
            result.set_item(name, size)?;
        }
        Ok(result)
    }

    fn create_stream(&self, py: Python<'_>) -> PyResult<Stream> {
        let device = self.context.device().into_py_result(py)?;
        let queue = self.context.create_stream().into_py_result(py)?;
        Ok(Stream::new(queue, device))
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        graph::check_not_recording(py, "waiting for the device")?;
        let device = self.context.device().into_py_result(py)?;
        py.detach(|| device.synchronize()).into_py_result(py)?;
        py.detach(|| amdgpu_aura::flush_printf(None))
            .into_py_result(py)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = self.caches.close(py);
        py.detach(|| self.context.close()).into_py_result(py)?;
        closed
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.caches.traverse(&visit)
    }

    fn __clear__(&self) {
        self.caches.clear();
    }
}

/// LLVM in this process, or `remote`, which has another one compile.
fn toolchain(remote: Option<Py<PyAny>>) -> Box<dyn Toolchain + Send> {
    match remote {
        None => Box::new(PythonCodeGenerator),
        Some(function) => Box::new(RemoteToolchain::new(function)),
    }
}

/// The text of a kernel; text that has no UTF-8 form (lone surrogates) is refused too.
pub fn source_text(source: &Bound<'_, PyAny>) -> PyResult<String> {
    source.extract::<String>().map_err(|error| {
        let py = source.py();
        let name = source
            .get_type()
            .name()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let message = format!(
            "source must be the text of a kernel (str), not {name}: {}",
            error.value(py)
        );
        raise(py, ErrorCode::InvalidType, Language::Rust, &message)
    })
}

/// Names of the dtypes that memory of devices has.
#[pyfunction]
pub fn dtype_names() -> Vec<&'static str> {
    Dtype::known_names().collect()
}

/// The devices of this machine, best first.
#[pyfunction]
pub fn list_devices(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let devices = py.detach(registry::list_devices).into_py_result(py)?;
    let result = PyList::empty(py);
    for info in &devices {
        let described = describe(py, info)?;
        // A GPU that sleeps is not woken for this.
        if info.capabilities.host_visible {
            let free_bytes = amdgpu_hal::cpu::free_host_bytes().into_py_result(py)?;
            described.set_item("free_memory_bytes", free_bytes)?;
        }
        result.append(described)?;
    }
    Ok(result)
}

/// Make a device the current one of the calling thread: what is meant where neither an operand nor an argument names one.
#[pyfunction]
pub fn set_current_device(device: &Bound<'_, PyAny>) -> PyResult<()> {
    let selector = parse_selector(device)?;
    amdgpu_aura::set_current_device(selector).into_py_result(device.py())
}

/// The calling thread's current device: the full name of the one it chose, else 0, the first of the list.
#[pyfunction]
pub fn current_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    match amdgpu_aura::current_device() {
        DeviceSelector::Index(index) => index.into_bound_py_any(py),
        DeviceSelector::Name(name) => name.into_bound_py_any(py),
    }
}

/// Full name of a device that is asked for by index or name, without opening it.
#[pyfunction]
pub fn device_name(device: &Bound<'_, PyAny>) -> PyResult<String> {
    registry::resolve(parse_selector(device)?).into_py_result(device.py())
}
