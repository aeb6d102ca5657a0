//! `_native.Kernel` and `_native.Launcher`: the launch path.

use std::sync::Arc;
use std::time::Duration;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{self as core, Dims, recording};
use amdgpu_aura as aura;
use amdgpu_aura::{LaunchShape, LaunchTimes, ParameterKind};
use amdgpu_compiler::profile;
use amdgpu_hal::{self as hal, LaunchConfig};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::{convert, finish, settle};
use crate::array::Array;
use crate::compile::to_python;
use crate::errors::{IntoPyResult, from_coded, raise};
use crate::given;
use crate::graph;
use crate::numbers;
use crate::prepared::PreparedLaunch;
use crate::profile::KernelProfile;
use crate::stream::{Stream, check_device, chosen_stream};

/// Threads of a block that `resources` tells the occupancy for: the size that most kernels are launched with.
const USUAL_BLOCK_THREADS: u32 = 256;

/// A compiled kernel on a device; `kernel[grid, block](*args)` launches it.
#[pyclass(frozen, module = "amdgpu")]
pub struct Kernel {
    kernel: Arc<aura::Kernel>,
}

/// A kernel with its launch shape, checked once; calling it is the fast path.
#[pyclass(frozen, module = "amdgpu")]
pub struct Launcher {
    kernel: Arc<aura::Kernel>,
    config: LaunchConfig,
    stream: Option<Py<Stream>>,
}

impl Kernel {
    pub fn inner(&self) -> &Arc<aura::Kernel> {
        &self.kernel
    }

    pub fn new(kernel: Arc<aura::Kernel>) -> Self {
        Self { kernel }
    }
}

/// Convert, launch, and for launches in a stream keep the arguments alive. Without `wants_times` they may be zero.
fn launch(
    py: Python<'_>,
    kernel: &Arc<aura::Kernel>,
    config: &LaunchConfig,
    args: &[Bound<'_, PyAny>],
    stream: Option<&Stream>,
    wants_times: bool,
) -> PyResult<LaunchTimes> {
    let converted = convert(kernel, args, stream)?;
    if let Some(stream) = stream {
        check_device(py, "stream", stream.device_name(), kernel_device(kernel))?;
    }
    let arguments = &converted.arguments;
    if recording::is_recording() {
        let packed = kernel.pack_arguments(arguments).into_py_result(py)?;
        recording::record_uses(converted.storages().iter().map(|storage| storage.uses()));
        let owners = converted.into_owners(py, args)?;
        graph::record_launch(py, kernel, *config, &packed, owners, stream)?;
        return Ok(LaunchTimes::default());
    }
    let Some(stream) = stream else {
        finish(py, converted.storages())?;
        // SAFETY: the argument objects live in `args` until the launch, which waits, is over; `keep` holds blocks against `free()`.
        return py
            .detach(|| unsafe {
                if wants_times {
                    return kernel.launch(config, arguments, None);
                }
                kernel
                    .run(config, arguments, None)
                    .map(|()| LaunchTimes::default())
            })
            .map_err(|error| from_coded(py, &error));
    };
    converted.note(stream);
    // SAFETY: the owners go into the stream, which holds them until the launch has run.
    let launched = py.detach(|| unsafe { kernel.launch(config, arguments, Some(stream.inner())) });
    let bytes = converted.bytes;
    let owners = converted.into_owners(py, args)?;
    stream.keep(owners, bytes).into_py_result(py)?;
    launched.map_err(|error| from_coded(py, &error))
}

/// A launch whose block, or block and grid, the tuning database tells.
fn launch_tuned(
    kernel: &Kernel,
    args: &Bound<'_, PyTuple>,
    [grid, block]: [Option<Bound<'_, PyAny>>; 2],
    shared_bytes: i64,
    stream: Option<Bound<'_, Stream>>,
) -> PyResult<()> {
    let module = args.py().import("amdgpu.tuning.kernels")?;
    let own = Kernel::new(Arc::clone(&kernel.kernel));
    module.call_method1("launch", (own, args, grid, block, shared_bytes, stream))?;
    Ok(())
}

fn kernel_device(kernel: &aura::Kernel) -> &str {
    &kernel.device_info().name
}

fn extents(what: &str, value: &Bound<'_, PyAny>) -> PyResult<[i64; 3]> {
    let py = value.py();
    let refuse = |reason: String| raise(py, ErrorCode::InvalidLaunch, Language::Rust, &reason);
    if let Ok(single) = value.extract::<i64>() {
        return Ok([single, 1, 1]);
    }
    let list = value.extract::<Vec<i64>>().map_err(|_| {
        refuse(format!(
            "{what} is {}; pass 1 to 3 integers, none beyond the limits of the device",
            value.repr().map_or_else(|_| "?".into(), |r| r.to_string())
        ))
    })?;
    if list.is_empty() || list.len() > 3 {
        return Err(refuse(format!(
            "{what} has {} extents; pass 1 to 3 integers",
            list.len()
        )));
    }
    let mut shape = [1; 3];
    shape[..list.len()].copy_from_slice(&list);
    Ok(shape)
}

/// A shape as Python wrote it, checked against the kernel and its device.
fn config_of(
    kernel: &aura::Kernel,
    grid: &Bound<'_, PyAny>,
    block: &Bound<'_, PyAny>,
    shared_bytes: i64,
) -> PyResult<LaunchConfig> {
    let shape = LaunchShape {
        grid: extents("grid", grid)?,
        block: extents("block", block)?,
        shared_bytes,
    };
    kernel.check_shape(&shape).into_py_result(grid.py())
}

fn shared_bytes_of(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value.extract::<i64>().map_err(|_| {
        let message = format!(
            "shared memory is {}; pass a number of bytes",
            value
                .repr()
                .map_or_else(|_| "?".into(), |text| text.to_string())
        );
        raise(
            value.py(),
            ErrorCode::InvalidLaunch,
            Language::Rust,
            &message,
        )
    })
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .name()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

#[pymethods]
impl Kernel {
    /// Name of the `__global__` function.
    #[getter]
    fn name(&self) -> &str {
        &self.kernel.facts().name
    }

    /// Text that names the kernel on its device; `execute` takes it.
    #[getter]
    fn handle(&self) -> &str {
        self.kernel.handle()
    }

    /// The kernel as it is declared, for messages.
    #[getter]
    fn signature(&self) -> &str {
        &self.kernel.facts().signature
    }

    /// Core type that launches are counted for.
    #[getter]
    fn core_type(&self) -> &'static str {
        self.kernel.core().name()
    }

    /// Name of the device, for example `cpu:0`.
    #[getter]
    fn device(&self) -> &str {
        &self.kernel.device_info().name
    }

    /// The source text it was compiled from.
    #[getter]
    fn source(&self) -> &str {
        self.kernel.source()
    }

    /// Where it came from: memory, disk or miss (compiled).
    #[getter]
    fn cache_answer(&self) -> &'static str {
        self.kernel.cache_answer().name()
    }

    /// Seconds that getting it took, from source or cache.
    #[getter]
    fn compile_seconds(&self) -> f64 {
        self.kernel.compile_seconds()
    }

    /// Remarks of the compiler, for example host code that was skipped.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.kernel.notes().to_vec()
    }

    /// One dict per parameter: `name`, `type`, `is_pointer`, `is_const`, `dtype`, `offset_bytes`, `size_bytes`.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let result = PyList::empty(py);
        for parameter in &self.kernel.facts().parameters {
            let (is_pointer, is_const, dtype) = match parameter.kind {
                ParameterKind::Pointer { pointee, is_const } => (true, is_const, pointee),
                ParameterKind::Scalar { dtype } => (false, true, Some(dtype)),
                ParameterKind::Struct => (false, true, None),
            };
            let entry = PyDict::new(py);
            entry.set_item("name", &parameter.name)?;
            entry.set_item("type", &parameter.type_name)?;
            entry.set_item("is_pointer", is_pointer)?;
            entry.set_item("is_const", is_const)?;
            entry.set_item("dtype", dtype.and_then(Dtype::name))?;
            entry.set_item("offset_bytes", parameter.offset_bytes)?;
            entry.set_item("size_bytes", parameter.size_bytes)?;
            result.append(entry)?;
        }
        Ok(result)
    }

    /// One dict per compiler pass: `name`, `duration_ns`, `transformations` and more.
    #[getter]
    fn passes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?
            .call_method1("loads", (self.kernel.passes(),))
    }

    /// One dict per `__device__` and `__constant__` variable of the source: `name`, `type_name`, `dtype`, `shape`, `size_bytes`, `is_constant`.
    #[getter]
    fn module_globals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.kernel.globals())
    }

    /// The memory of a `__device__` or `__constant__` variable, as an array that shares it. Structs are seen as bytes.
    fn module_global(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given::name)] name: String,
    ) -> PyResult<Array> {
        let (variable, memory, module) = self.kernel.global(&name).into_py_result(py)?;
        let dtype = variable.dtype.map(amdgpu_compiler::Dtype::abi);
        let shape = match dtype {
            Some(_) => variable.shape.iter().map(|extent| *extent as i64).collect(),
            None => vec![variable.size_bytes as i64],
        };
        let dtype = dtype.unwrap_or(Dtype::U8);
        let device = Arc::clone(self.kernel.open_device());
        let shape = Dims::from_vec(shape);
        Ok(core::Array::of_module(device, module, memory.ptr, shape, dtype).into())
    }

    /// Whether it was compiled with `checked=True`.
    #[getter]
    fn is_checked(&self) -> bool {
        self.kernel.is_checked()
    }

    /// Whether a vendor's compiler made it.
    #[getter]
    fn is_foreign(&self) -> bool {
        self.kernel.is_foreign()
    }

    /// What the kernel occupies on an AMD device: registers, `lds_bytes`, `scratch_bytes` and more, and as `occupancy` what `occupancy()` says
    /// for blocks of `occupancy_threads`; None elsewhere.
    #[getter]
    fn resources<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(resources) = self.kernel.resources() else {
            return Ok(None);
        };
        let threads = USUAL_BLOCK_THREADS.min(resources.max_flat_workgroup_size);
        let result = to_python(py, resources)?;
        let occupancy = self.kernel.occupancy([i64::from(threads), 1, 1], 0);
        let occupancy = occupancy.into_py_result(py)?;
        result.set_item("occupancy_threads", threads)?;
        result.set_item("occupancy", to_python(py, &occupancy)?)?;
        Ok(Some(result))
    }

    /// `kernel[grid, block]`, `kernel[grid, block, shared_bytes]` or `kernel[grid, block, shared_bytes, stream]`.
    fn __getitem__(&self, py: Python<'_>, shape: &Bound<'_, PyAny>) -> PyResult<Launcher> {
        let refuse = || {
            let message = "write kernel[grid, block](...), optionally kernel[grid, block, shared_bytes, stream](...)";
            raise(py, ErrorCode::InvalidLaunch, Language::Rust, message)
        };
        let parts = shape.cast::<PyTuple>().map_err(|_| refuse())?;
        if !(2..=4).contains(&parts.len()) {
            return Err(refuse());
        }
        let shared_bytes = match parts.get_item(2) {
            Ok(bytes) => shared_bytes_of(&bytes)?,
            Err(_) => 0,
        };
        let stream = match parts.get_item(3) {
            Ok(stream) if !stream.is_none() => {
                let stream = stream.cast_into::<Stream>().map_err(|error| {
                    let message = format!(
                        "the fourth of kernel[grid, block, shared_bytes, stream] is a stream of the device, not {}",
                        type_name(&error.into_inner())
                    );
                    raise(py, ErrorCode::InvalidType, Language::Rust, &message)
                })?;
                let device = kernel_device(&self.kernel);
                check_device(py, "stream", stream.get().device_name(), device)?;
                Some(stream.unbind())
            }
            _ => None,
        };
        let (grid, block) = (parts.get_item(0)?, parts.get_item(1)?);
        Ok(Launcher {
            config: config_of(&self.kernel, &grid, &block, shared_bytes)?,
            kernel: Arc::clone(&self.kernel),
            stream,
        })
    }

    /// `kernel(*args, grid=..., block=...)`: as `kernel[grid, block, shared_mem, stream](*args)`.
    #[pyo3(signature = (*args, grid=None, block=None, shared_mem=0, stream=None))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        grid: Option<Bound<'_, PyAny>>,
        block: Option<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = numbers::shared_bytes)] shared_mem: i64,
        #[pyo3(from_py_with = given::stream)] stream: Option<Bound<'_, Stream>>,
    ) -> PyResult<()> {
        let (Some(grid), Some(block)) = (&grid, &block) else {
            return launch_tuned(self, args, [grid, block], shared_mem, stream);
        };
        let config = config_of(&self.kernel, grid, block, shared_mem)?;
        let args: Vec<Bound<'_, PyAny>> = args.iter().collect();
        let stream = chosen_stream(py, stream, kernel_device(&self.kernel));
        let stream = stream.as_ref().map(Bound::get);
        launch(py, &self.kernel, &config, &args, stream, false)?;
        Ok(())
    }

    /// Measures blocks and macros for a launch with these arguments, as `amdgpu.tuning.tune_kernel`.
    #[pyo3(signature = (args, **options))]
    fn tune<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("amdgpu.tuning.kernels")?;
        module.call_method("tune_kernel", (slf, args), options)
    }

    /// What a kernel that counts counted since its variable was cleared, by a launch with these arguments.
    fn read_profile(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given::args)] args: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<KernelProfile> {
        let words = self.module_global(py, profile::BUFFER.to_owned())?;
        let bytes = words.read().into_py_result(py)?;
        let words: Vec<u64> = bytes
            .chunks_exact(size_of::<u64>())
            .map(|word| {
                word.iter()
                    .rev()
                    .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
            })
            .collect();
        let converted = convert(&self.kernel, &args, None)?;
        let found = self.kernel.profile(&words, &converted.arguments);
        found.map(KernelProfile::new).into_py_result(py)
    }

    /// What `amdgpu.kernel.restored` makes the kernel of again.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let restore = py.import("amdgpu.kernel")?.getattr("restored")?;
        Ok((restore, (self.recipe(py)?,)))
    }

    /// Its source, its options and the name of its device.
    fn recipe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.kernel.is_foreign() {
            let message = "a kernel that the vendor's compiler made can be neither pickled nor tuned: keep its source and compile it again";
            return Err(raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                message,
            ));
        }
        let options = self.kernel.options();
        let known = PyDict::new(py);
        known.set_item("source", self.source())?;
        known.set_item("device", self.device())?;
        known.set_item("name", self.name())?;
        known.set_item("core_type", self.core_type())?;
        known.set_item("optimization_level", options.optimization_level.name())?;
        known.set_item("fast_math", options.fast_math)?;
        known.set_item("defines", options.defines.clone())?;
        known.set_item("file_name", &options.name)?;
        known.set_item("disabled_passes", options.disabled_passes.clone())?;
        known.set_item("checked", options.checked)?;
        let profile = options.profile.as_ref();
        known.set_item("profile", profile.map(|profile| profile.to_text()))?;
        Ok(known)
    }

    /// Launch; returns start and duration in nanoseconds (the duration is 0 while a launch in a stream still runs).
    #[pyo3(signature = (grid, block, args, *, shared_bytes=0, stream=None, timeout_ms=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn launch(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given::args)] args: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = numbers::shared_bytes)] shared_bytes: i64,
        #[pyo3(from_py_with = given::stream)] stream: Option<Bound<'_, Stream>>,
        #[pyo3(from_py_with = numbers::timeout_ms)] timeout_ms: Option<u64>,
    ) -> PyResult<(u64, u64)> {
        let config = config_of(&self.kernel, grid, block, shared_bytes)?;
        let stream = chosen_stream(py, stream, kernel_device(&self.kernel));
        let stream = stream.as_ref();
        let times = match (timeout_ms, stream) {
            (Some(limit_ms), _) => self.launch_with_limit(py, &config, &args, stream, limit_ms)?,
            (None, stream) => {
                let stream = stream.map(Bound::get);
                launch(py, &self.kernel, &config, &args, stream, true)?
            }
        };
        Ok((times.start_ns, times.duration_ns))
    }

    /// Launch in the order of the device's default stream and return at once; where others know the memory, or the host reads it, wait.
    /// `memory`: arrays whose addresses are among the arguments.
    #[pyo3(signature = (grid, block, args, *, shared_bytes=0, memory=Vec::new()))]
    fn queue(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        args: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = numbers::shared_bytes)] shared_bytes: i64,
        memory: Vec<Bound<'_, Array>>,
    ) -> PyResult<()> {
        let config = config_of(&self.kernel, grid, block, shared_bytes)?;
        let queue = self.kernel.hal_device().default_stream();
        if recording::is_recording() || !self.knows_all(&args, &memory) {
            for array in &memory {
                settle(array, &self.kernel)?;
            }
            if !recording::is_recording() {
                self.hold_back(py, queue, &args, &memory)?;
            }
            return launch(py, &self.kernel, &config, &args, None, false).map(drop);
        }
        let converted = convert(&self.kernel, &args, None)?;
        self.hold_back(py, queue, &args, &memory)?;
        // SAFETY: all memory is of this device's allocator, which hands it on in the order of the stream that the launch goes into.
        py.detach(|| unsafe { self.kernel.queue(&config, &converted.arguments) })
            .map_err(|error| from_coded(py, &error))
    }

    /// How many blocks of this shape one unit of the device holds at once, one dict; None on CPUs.
    #[pyo3(signature = (block, *, shared_bytes=0))]
    fn occupancy<'py>(
        &self,
        py: Python<'py>,
        block: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = numbers::shared_bytes)] shared_bytes: i64,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self
            .kernel
            .occupancy(extents("block", block)?, shared_bytes);
        let found = found.into_py_result(py)?;
        found.map(|found| to_python(py, &found)).transpose()
    }

    /// Check shape and arguments once; the result launches with them each time it is called.
    #[pyo3(signature = (grid, block, *args, shared_bytes=0, stream=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = numbers::shared_bytes)] shared_bytes: i64,
        #[pyo3(from_py_with = given::stream)] stream: Option<Bound<'_, Stream>>,
    ) -> PyResult<PreparedLaunch> {
        let config = config_of(&self.kernel, grid, block, shared_bytes)?;
        let args: Vec<Bound<'_, PyAny>> = args.iter().collect();
        PreparedLaunch::new(py, &self.kernel, config, &args, stream.as_ref())
    }

    fn __str__(&self) -> &str {
        self.kernel.handle()
    }

    fn __repr__(&self) -> String {
        format!(
            "<amdgpu.Kernel {} on {}>",
            self.kernel.facts().signature,
            self.device()
        )
    }
}

impl Kernel {
    /// Lets a stream wait for what others have to do with the memory of a launch that goes into it.
    fn hold_back(
        &self,
        py: Python<'_>,
        stream: &Arc<dyn hal::Stream>,
        args: &[Bound<'_, PyAny>],
        memory: &[Bound<'_, Array>],
    ) -> PyResult<()> {
        let given = args.iter().filter_map(|arg| arg.cast::<Array>().ok());
        for array in given.chain(memory).map(Bound::get) {
            if array.has_uses() {
                let (storage, device) = (Arc::clone(array.storage()), self.kernel.hal_device());
                py.detach(|| storage.uses().hold_back(stream, device))
                    .into_py_result(py)?;
            }
        }
        Ok(())
    }

    /// Whether all memory of a launch is known to this device only, and not to the host.
    fn knows_all(&self, args: &[Bound<'_, PyAny>], memory: &[Bound<'_, Array>]) -> bool {
        let is_known =
            |array: &Bound<'_, Array>| array.get().is_private_to(self.kernel.open_device());
        let parameters = &self.kernel.facts().parameters;
        !self.kernel.device_info().capabilities.host_visible
            && args.iter().zip(parameters).all(|(arg, parameter)| {
                !matches!(parameter.kind, ParameterKind::Pointer { .. })
                    || arg.is_none()
                    || arg.cast::<Array>().is_ok_and(is_known)
            })
            && memory.iter().all(is_known)
    }

    /// A limit needs somebody who can stop waiting: the launch runs in a stream.
    fn launch_with_limit(
        &self,
        py: Python<'_>,
        config: &LaunchConfig,
        args: &[Bound<'_, PyAny>],
        stream: Option<&Bound<'_, Stream>>,
        limit_ms: u64,
    ) -> PyResult<LaunchTimes> {
        graph::check_not_recording(py, "a launch with a time limit")?;
        if let Some(stream) = stream {
            return self.launch_and_wait(py, config, args, stream.get(), limit_ms);
        }
        let queue = self.kernel.take_stream().into_py_result(py)?;
        let own = Stream::new(Arc::clone(&queue), self.kernel.hal_device());
        self.hold_back(py, own.inner(), args, &[])?;
        let result = self.launch_and_wait(py, config, args, &own, limit_ms);
        if queue.is_idle().unwrap_or(false) {
            self.kernel.give_stream_back(queue);
        } else {
            // The kernel still runs. Its stream owns the arguments and must outlive this call without anybody waiting for it.
            std::mem::forget(own);
        }
        result
    }

    fn launch_and_wait(
        &self,
        py: Python<'_>,
        config: &LaunchConfig,
        args: &[Bound<'_, PyAny>],
        stream: &Stream,
        limit_ms: u64,
    ) -> PyResult<LaunchTimes> {
        let (begin, end) = (
            self.kernel.create_event().into_py_result(py)?,
            self.kernel.create_event().into_py_result(py)?,
        );
        let queue = stream.inner();
        // What it waits for is not its own time.
        self.kernel.hold_back(queue.as_ref()).into_py_result(py)?;
        queue.record(&begin).into_py_result(py)?;
        launch(py, &self.kernel, config, args, Some(stream), false)?;
        queue.record(&end).into_py_result(py)?;
        let limit = Some(Duration::from_millis(limit_ms));
        let is_done = py
            .detach(|| aura::Kernel::wait(queue.as_ref(), limit))
            .into_py_result(py)?;
        if !is_done {
            let kernel = self.kernel.facts().name.clone();
            let is_stopped = py.detach(|| aura::Kernel::stop(queue.as_ref()));
            let error = aura::Error::Timeout {
                kernel,
                limit_ms,
                is_stopped,
            };
            return Err(from_coded(py, &error));
        }
        let start_ns = begin.timestamp_ns().unwrap_or_default();
        let end_ns = end.timestamp_ns().unwrap_or(start_ns);
        Ok(LaunchTimes {
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
        })
    }
}

#[pymethods]
impl Launcher {
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        let args: Vec<Bound<'_, PyAny>> = args.iter().collect();
        let named = self.stream.as_ref().map(|stream| stream.bind(py).clone());
        let stream = chosen_stream(py, named, kernel_device(&self.kernel));
        let stream = stream.as_ref().map(Bound::get);
        launch(py, &self.kernel, &self.config, &args, stream, false)?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!(
            "<amdgpu.Launcher {} grid={:?} block={:?}>",
            self.kernel.facts().name,
            self.config.grid,
            self.config.block
        )
    }
}
