//! `_native.Kernel` and `_native.Launcher`: the launch path.

use std::sync::Arc;
use std::time::Duration;

use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_aura as aura;
use amdgpu_aura::{Argument, LaunchShape, LaunchTimes, PackedArguments, ParameterKind};
use amdgpu_hal::LaunchConfig;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyTuple};

use crate::array::Array;
use crate::compile::to_python;
use crate::errors::{IntoPyResult, from_coded, raise};
use crate::graph;
use crate::lender::Place;
use crate::operand::{Operand, is_contiguous, numpy_dtype, numpy_memory};
use crate::prepared::PreparedLaunch;
use crate::stream::{Stream, check_device};

/// A compiled kernel on a device; `kernel[grid, block](*args)` launches it.
#[pyclass(frozen, module = "amdgpu")]
pub struct Kernel {
    kernel: Arc<aura::Kernel>,
    context: Arc<aura::Context>,
}

/// A kernel with its launch shape, checked once; calling it is the fast path.
#[pyclass(frozen, module = "amdgpu")]
pub struct Launcher {
    kernel: Arc<aura::Kernel>,
    config: LaunchConfig,
    stream: Option<Py<Stream>>,
}

impl Kernel {
    pub fn new(kernel: Arc<aura::Kernel>, context: &Arc<aura::Context>) -> Self {
        Self {
            kernel,
            context: Arc::clone(context),
        }
    }
}

/// Arguments of one launch with what keeps their memory in place.
#[derive(Default)]
pub(crate) struct Converted {
    pub arguments: Vec<Argument>,
    /// Memory behind the arguments.
    pub bytes: u64,
    keep: Vec<Arc<dyn Send + Sync>>,
    borrowed: Vec<Box<dyn Send>>,
}

impl Converted {
    /// What keeps the memory of the arguments in place, together with the argument objects themselves.
    pub fn into_owners(
        self,
        py: Python<'_>,
        args: &[Bound<'_, PyAny>],
    ) -> PyResult<Vec<Py<PyAny>>> {
        let mut owners: Vec<Py<PyAny>> = args.iter().map(|arg| arg.clone().unbind()).collect();
        owners.push(Py::new(py, Held(self.keep, SyncOwners(self.borrowed)))?.into_any());
        Ok(owners)
    }
}

/// Check arguments against the parameters. Memory lent by other libraries is ordered for `stream`, or for the default stream.
pub(crate) fn convert(
    kernel: &aura::Kernel,
    args: &[Bound<'_, PyAny>],
    stream: Option<&Stream>,
) -> PyResult<Converted> {
    if let Some(first) = args.first() {
        kernel
            .check_argument_count(args.len())
            .into_py_result(first.py())?;
    }
    let mut converted = Converted {
        arguments: Vec::with_capacity(args.len()),
        ..Converted::default()
    };
    for (index, (arg, parameter)) in args.iter().zip(&kernel.facts().parameters).enumerate() {
        let argument = match parameter.kind {
            ParameterKind::Pointer { .. } => pointer(kernel, index, arg, stream, &mut converted)?,
            ParameterKind::Scalar { .. } => scalar(kernel, index, arg)?,
            ParameterKind::Struct => structure(kernel, index, arg)?,
        };
        converted.arguments.push(argument);
    }
    Ok(converted)
}

/// Owners of memory by the name of the parameter that uses it.
pub(crate) type NamedOwners = Vec<(String, Vec<Py<PyAny>>)>;

/// A packed block with some arguments replaced by name.
pub(crate) fn replace(
    py: Python<'_>,
    kernel: &aura::Kernel,
    packed: &PackedArguments,
    named: &Bound<'_, PyDict>,
    owners: &mut NamedOwners,
) -> PyResult<PackedArguments> {
    let mut packed = packed.clone();
    for (name, arg) in named.iter() {
        let name = name.extract::<String>()?;
        let parameters = &kernel.facts().parameters;
        let found = parameters
            .iter()
            .position(|parameter| parameter.name == name);
        let Some(index) = found else {
            let message = format!("{} has no parameter `{name}`", kernel.facts().signature);
            return Err(raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &message,
            ));
        };
        let mut converted = Converted::default();
        let argument = match parameters[index].kind {
            ParameterKind::Pointer { .. } => pointer(kernel, index, &arg, None, &mut converted)?,
            ParameterKind::Scalar { .. } => scalar(kernel, index, &arg)?,
            ParameterKind::Struct => structure(kernel, index, &arg)?,
        };
        packed = kernel
            .replace_argument(&packed, index, &argument)
            .into_py_result(py)?;
        if matches!(parameters[index].kind, ParameterKind::Pointer { .. }) {
            owners.push((name, converted.into_owners(py, &[arg])?));
        }
    }
    Ok(packed)
}

fn misfit(
    kernel: &aura::Kernel,
    index: usize,
    py: Python<'_>,
    code: ErrorCode,
    reason: &str,
) -> PyErr {
    let facts = kernel.facts();
    let name = facts
        .parameters
        .get(index)
        .map_or("?", |parameter| parameter.name.as_str());
    raise(
        py,
        code,
        Language::Rust,
        &format!("argument {index} (`{name}`) of {}: {reason}", facts.name),
    )
}

fn pointer(
    kernel: &aura::Kernel,
    index: usize,
    arg: &Bound<'_, PyAny>,
    stream: Option<&Stream>,
    converted: &mut Converted,
) -> PyResult<Argument> {
    let py = arg.py();
    if let Ok(array) = arg.cast::<PyUntypedArray>() {
        let descr = array.dtype();
        let dtype = numpy_dtype(&descr)?;
        if !array.is_contiguous() {
            return Err(not_contiguous(kernel, index, py));
        }
        check_place(kernel, index, py, &Place::Host)?;
        converted.bytes += (array.len() * dtype.size_bytes()) as u64;
        let (address, is_writable) = numpy_memory(array);
        return Ok(memory(address as u64, Some(dtype), !is_writable));
    }
    if let Ok(array) = arg.cast::<Array>() {
        let inner = array.get();
        inner.check_alive(py)?;
        if !is_contiguous(&inner.shape, &inner.strides) {
            return Err(not_contiguous(kernel, index, py));
        }
        // The fast way for arrays of the kernel's own device; the names are compared for all others.
        if inner.device_name() != Some(kernel.device_info().name.as_str()) {
            check_place(kernel, index, py, &inner.place())?;
        }
        converted.bytes += inner.bytes() as u64;
        converted.keep.push(inner.keep());
        return Ok(memory(
            inner.data() as u64,
            Some(inner.dtype),
            inner.is_read_only,
        ));
    }
    let handle = match stream {
        Some(stream) => stream.inner().native_handle(),
        None => kernel.hal_device().default_stream().native_handle(),
    };
    let Some(operand) = Operand::borrow(arg, handle)? else {
        let type_name = kernel.facts().parameters[index].type_name.as_str();
        let reason = format!(
            "`{type_name}` needs an array, not {}",
            arg.get_type().name()?
        );
        return Err(misfit(kernel, index, py, ErrorCode::InvalidType, &reason));
    };
    if !operand.is_contiguous() {
        return Err(not_contiguous(kernel, index, py));
    }
    check_place(kernel, index, py, &operand.place)?;
    converted.bytes += (operand.len() * operand.dtype.size_bytes()) as u64;
    let argument = memory(
        operand.data as u64,
        Some(operand.dtype),
        !operand.is_writable,
    );
    converted.borrowed.push(operand.into_owner());
    Ok(argument)
}

fn memory(address: u64, dtype: Option<Dtype>, is_read_only: bool) -> Argument {
    Argument::Pointer {
        address,
        dtype,
        is_read_only,
    }
}

fn not_contiguous(kernel: &aura::Kernel, index: usize, py: Python<'_>) -> PyErr {
    misfit(
        kernel,
        index,
        py,
        ErrorCode::NotContiguous,
        "the array is not contiguous in row-major order",
    )
}

/// Refuses memory that the kernel's device does not reach.
fn check_place(kernel: &aura::Kernel, index: usize, py: Python<'_>, place: &Place) -> PyResult<()> {
    let info = kernel.device_info();
    if place.is_reachable_by(info.kind, &info.name) {
        return Ok(());
    }
    let reason = match place.device() {
        Some(device) => format!(
            "the array is on {device}, the kernel on {}; copy it with amdgpu.array(x, device={:?})",
            info.name, info.name
        ),
        None => format!(
            "the array is in host memory, the kernel on {}; copy it with amdgpu.array(x, device={:?})",
            info.name, info.name
        ),
    };
    Err(misfit(kernel, index, py, ErrorCode::WrongDevice, &reason))
}

fn scalar(kernel: &aura::Kernel, index: usize, arg: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = arg.py();
    if arg.is_exact_instance_of::<PyInt>() {
        return integer(kernel, index, arg);
    }
    if arg.is_exact_instance_of::<PyFloat>() {
        return Ok(Argument::Float(arg.extract()?));
    }
    if arg.is_instance_of::<PyBool>() {
        return Ok(Argument::Bool(arg.extract()?));
    }
    // NumPy scalars and 0-d arrays say what they are through their dtype; everything else through the number protocols.
    if let Ok(dtype) = arg.getattr("dtype") {
        if arg.getattr("ndim")?.extract::<usize>()? != 0 {
            let reason = "an array was given where a number is expected";
            return Err(misfit(kernel, index, py, ErrorCode::InvalidType, reason));
        }
        let kind = dtype.getattr("kind")?.extract::<String>()?;
        let item = arg.call_method0("item")?;
        return match kind.as_str() {
            "b" => Ok(Argument::Bool(item.extract()?)),
            "i" | "u" => integer(kernel, index, &item),
            "f" => Ok(Argument::Float(item.extract()?)),
            _ => Err(misfit(
                kernel,
                index,
                py,
                ErrorCode::InvalidType,
                "a number is expected",
            )),
        };
    }
    if let Ok(value) = arg.call_method0("__index__") {
        return integer(kernel, index, &value);
    }
    arg.extract::<f64>().map(Argument::Float).map_err(|_| {
        let type_name = arg
            .get_type()
            .name()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        misfit(
            kernel,
            index,
            py,
            ErrorCode::InvalidType,
            &format!("a number is expected, not {type_name}"),
        )
    })
}

/// The bytes of a struct: of a NumPy structured scalar or 0-d array, of `bytes`, of a `ctypes.Structure`.
fn structure(kernel: &aura::Kernel, index: usize, arg: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = arg.py();
    let is_array = arg
        .getattr("ndim")
        .and_then(|ndim| ndim.extract::<usize>())
        .is_ok_and(|ndim| ndim != 0);
    let bytes = PyMemoryView::from(arg)
        .and_then(|view| view.call_method0("tobytes"))
        .and_then(|bytes| bytes.extract::<Vec<u8>>());
    match bytes {
        Ok(bytes) if !is_array => Ok(Argument::Bytes(bytes.into_boxed_slice())),
        _ => {
            let parameter = &kernel.facts().parameters[index];
            let reason = format!(
                "`{}` is a struct of {} bytes: pass a NumPy structured scalar, a 0-d array of one, a ctypes.Structure or bytes, not {}",
                parameter.type_name,
                parameter.size_bytes,
                arg.get_type().name()?
            );
            Err(misfit(kernel, index, py, ErrorCode::InvalidType, &reason))
        }
    }
}

fn integer(kernel: &aura::Kernel, index: usize, value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    if let Ok(small) = value.extract::<i64>() {
        return Ok(Argument::Int(i128::from(small)));
    }
    value.extract::<i128>().map(Argument::Int).map_err(|_| {
        misfit(
            kernel,
            index,
            value.py(),
            ErrorCode::InvalidArgument,
            "the integer has more than 127 bits",
        )
    })
}

/// Convert, launch, and for launches in a stream keep the arguments alive.
fn launch(
    py: Python<'_>,
    kernel: &Arc<aura::Kernel>,
    config: &LaunchConfig,
    args: &[Bound<'_, PyAny>],
    stream: Option<&Stream>,
) -> PyResult<LaunchTimes> {
    let converted = convert(kernel, args, stream)?;
    if let Some(stream) = stream {
        check_device(py, "stream", stream.device_name(), kernel_device(kernel))?;
    }
    let arguments = &converted.arguments;
    if graph::is_recording() {
        let packed = kernel.pack_arguments(arguments).into_py_result(py)?;
        let owners = converted.into_owners(py, args)?;
        graph::record_launch(py, kernel, *config, &packed, owners, stream)?;
        return Ok(LaunchTimes::default());
    }
    let Some(stream) = stream else {
        // SAFETY: the argument objects live in `args` until the launch, which waits, is over; `keep` holds blocks against `free()`.
        return py
            .detach(|| unsafe { kernel.launch(config, arguments, None) })
            .map_err(|error| from_coded(py, &error));
    };
    // SAFETY: the owners go into the stream, which holds them until the launch has run.
    let launched = py.detach(|| unsafe { kernel.launch(config, arguments, Some(stream.inner())) });
    let bytes = converted.bytes;
    let owners = converted.into_owners(py, args)?;
    stream.keep(owners, bytes).into_py_result(py)?;
    launched.map_err(|error| from_coded(py, &error))
}

fn kernel_device(kernel: &aura::Kernel) -> &str {
    &kernel.device_info().name
}

/// Owners of memory, as one Python object.
#[pyclass(frozen)]
struct Held(
    #[allow(dead_code, reason = "held, not read")] Vec<Arc<dyn Send + Sync>>,
    #[allow(dead_code, reason = "held, not read")] SyncOwners,
);

/// Never accessed, only dropped.
struct SyncOwners(#[allow(dead_code, reason = "held, not read")] Vec<Box<dyn Send>>);

// SAFETY: no method reads the content, so sharing a reference shares nothing.
unsafe impl Sync for SyncOwners {}

fn extents(what: &str, value: &Bound<'_, PyAny>) -> PyResult<[i64; 3]> {
    let py = value.py();
    let refuse = |reason: String| raise(py, ErrorCode::InvalidLaunch, Language::Rust, &reason);
    if let Ok(single) = value.extract::<i64>() {
        return Ok([single, 1, 1]);
    }
    let list = value.extract::<Vec<i64>>().map_err(|_| {
        refuse(format!(
            "{what} is {}; pass 1 to 3 integers",
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
    fn module_global(&self, py: Python<'_>, name: &str) -> PyResult<Array> {
        let (variable, memory, module) = self.kernel.global(name).into_py_result(py)?;
        let dtype = variable
            .dtype
            .map(|dtype| Dtype::new(dtype.abi_code(), dtype.bits()));
        let shape = match dtype {
            Some(_) => variable.shape.iter().map(|extent| *extent as i64).collect(),
            None => vec![variable.size_bytes as i64],
        };
        let dtype = dtype.unwrap_or(Dtype::new(DTYPE_UINT, 8));
        Ok(Array::of_module(
            &self.context,
            module,
            memory.ptr,
            shape,
            dtype,
        ))
    }

    /// What the kernel occupies on an AMD device (registers, `lds_bytes`, `scratch_bytes` and more); None elsewhere.
    #[getter]
    fn resources<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.kernel
            .resources()
            .map(|resources| to_python(py, resources))
            .transpose()
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
        let shared_bytes = if parts.len() > 2 {
            parts.get_item(2)?.extract()?
        } else {
            0
        };
        let stream = match parts.get_item(3) {
            Ok(stream) if !stream.is_none() => Some(stream.cast_into::<Stream>()?.unbind()),
            _ => None,
        };
        let launch_shape = LaunchShape {
            grid: extents("grid", &parts.get_item(0)?)?,
            block: extents("block", &parts.get_item(1)?)?,
            shared_bytes,
        };
        Ok(Launcher {
            config: self.kernel.check_shape(&launch_shape).into_py_result(py)?,
            kernel: Arc::clone(&self.kernel),
            stream,
        })
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
        args: Vec<Bound<'_, PyAny>>,
        shared_bytes: i64,
        stream: Option<&Bound<'_, Stream>>,
        timeout_ms: Option<u64>,
    ) -> PyResult<(u64, u64)> {
        let shape = LaunchShape {
            grid: extents("grid", grid)?,
            block: extents("block", block)?,
            shared_bytes,
        };
        let config = self.kernel.check_shape(&shape).into_py_result(py)?;
        let times = match (timeout_ms, stream) {
            (Some(limit_ms), _) => self.launch_with_limit(py, &config, &args, stream, limit_ms)?,
            (None, stream) => launch(py, &self.kernel, &config, &args, stream.map(Bound::get))?,
        };
        Ok((times.start_ns, times.duration_ns))
    }

    /// Check shape and arguments once; the result launches with them each time it is called.
    #[pyo3(signature = (grid, block, *args, shared_bytes=0, stream=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        shared_bytes: i64,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<PreparedLaunch> {
        let shape = LaunchShape {
            grid: extents("grid", grid)?,
            block: extents("block", block)?,
            shared_bytes,
        };
        let config = self.kernel.check_shape(&shape).into_py_result(py)?;
        let args: Vec<Bound<'_, PyAny>> = args.iter().collect();
        PreparedLaunch::new(py, &self.kernel, config, &args, stream)
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
        queue.record(&begin).into_py_result(py)?;
        launch(py, &self.kernel, config, args, Some(stream))?;
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
        let stream = self.stream.as_ref().map(Py::get);
        launch(py, &self.kernel, &self.config, &args, stream)?;
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
