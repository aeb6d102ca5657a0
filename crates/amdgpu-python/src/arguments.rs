//! Arguments of launches: Python values as what the AURA core packs, with what keeps their memory in place.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{MemoryLocation, Storage, Uses, tracing};
use amdgpu_aura as aura;
use amdgpu_aura::{Argument, PackedArguments, ParameterKind};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMemoryView};

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::operand::{Operand, check_mask, numpy_dtype, numpy_memory};
use crate::stream::Stream;

/// Arguments of one launch with what keeps their memory in place.
#[derive(Default)]
pub(crate) struct Converted {
    pub arguments: Vec<Argument>,
    /// Memory behind the arguments.
    pub bytes: u64,
    keep: Vec<Arc<Storage>>,
    borrowed: Vec<Box<dyn Send>>,
}

impl Converted {
    /// The memory of our own arrays among the arguments.
    pub fn storages(&self) -> &[Arc<Storage>] {
        &self.keep
    }

    /// Work on the arguments goes into a stream: whoever reads them waits for it.
    pub fn note(&self, stream: &Stream) {
        note(&self.keep, stream);
    }

    /// A graph works on the arguments whenever it is replayed.
    pub fn join(&self, graph: &Arc<Uses>) {
        self.keep
            .iter()
            .for_each(|storage| storage.uses().join(graph));
    }

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

/// Waits for what streams were given to do with the memory: work without a stream comes after it.
pub(crate) fn finish(py: Python<'_>, memory: &[Arc<Storage>]) -> PyResult<()> {
    let mut used = memory.iter().filter(|storage| storage.uses().is_used());
    used.try_for_each(|storage| py.detach(|| storage.finish_uses()).into_py_result(py))
}

/// Work on the memory goes into a stream.
pub(crate) fn note(memory: &[Arc<Storage>], stream: &Stream) {
    for storage in memory {
        storage.uses().note(stream.inner(), stream.hal_device());
    }
}

/// An object that keeps memory in place.
pub(crate) fn hold(py: Python<'_>, keep: Vec<Arc<Storage>>) -> PyResult<Py<PyAny>> {
    Ok(Py::new(py, Held(keep, SyncOwners(Vec::new())))?.into_any())
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
    graph: &Arc<Uses>,
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
        converted.join(graph);
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

/// A refusal with the argument that it is about.
fn refused_as(
    kernel: &aura::Kernel,
    index: usize,
    code: ErrorCode,
    error: PyErr,
    py: Python<'_>,
) -> PyErr {
    let text = error
        .value(py)
        .getattr("args")
        .and_then(|args| args.get_item(0))
        .and_then(|text| text.extract::<String>());
    match text {
        Ok(text) => misfit(kernel, index, py, code, &text),
        Err(_) => error,
    }
}

/// A pointer argument and the size of its memory, which `converted` counts.
fn pointer(
    kernel: &aura::Kernel,
    index: usize,
    arg: &Bound<'_, PyAny>,
    stream: Option<&Stream>,
    converted: &mut Converted,
) -> PyResult<Argument> {
    let before = converted.bytes;
    let mut argument = address(kernel, index, arg, stream, converted)?;
    if let Argument::Pointer { bytes, .. } = &mut argument {
        *bytes = converted.bytes - before;
    }
    Ok(argument)
}

/// The dtype of a NumPy array for a pointer; none for an array of structs, which has to have the size of what the pointer points to.
fn element_type(
    kernel: &aura::Kernel,
    index: usize,
    descr: &Bound<'_, PyArrayDescr>,
) -> PyResult<Option<Dtype>> {
    let py = descr.py();
    let parameter = &kernel.facts().parameters[index];
    let ParameterKind::Pointer { pointee, .. } = parameter.kind else {
        unreachable!("addresses are asked for pointers alone");
    };
    if !descr.has_fields() {
        let dtype = numpy_dtype(descr)
            .map_err(|error| refused_as(kernel, index, ErrorCode::UnsupportedDtype, error, py))?;
        return Ok(Some(dtype));
    }
    let (wanted, given) = (parameter.element_bytes, descr.itemsize() as u64);
    let is_struct = pointee.is_none() && wanted > 1;
    if pointee.is_none() && (wanted == given || !is_struct) {
        return Ok(None);
    }
    let type_name = &parameter.type_name;
    let reason = if is_struct {
        format!(
            "`{type_name}` points to structs of {wanted} bytes, and the elements of the array have {given}; fields lie as in C, with its padding (numpy.dtype(..., align=True))"
        )
    } else {
        format!(
            "`{type_name}` needs an array of numbers, and this one is of structs ({descr}); pass one of its fields as a copy"
        )
    };
    Err(misfit(kernel, index, py, ErrorCode::InvalidType, &reason))
}

fn address(
    kernel: &aura::Kernel,
    index: usize,
    arg: &Bound<'_, PyAny>,
    stream: Option<&Stream>,
    converted: &mut Converted,
) -> PyResult<Argument> {
    let py = arg.py();
    if arg.is_none() {
        return Ok(memory(0, None, false));
    }
    if let Ok(array) = arg.cast::<PyUntypedArray>() {
        let descr = array.dtype();
        let dtype = element_type(kernel, index, &descr)?;
        check_mask(array)
            .map_err(|error| refused_as(kernel, index, ErrorCode::InvalidArgument, error, py))?;
        if !array.is_c_contiguous() {
            return Err(not_contiguous(kernel, index, py));
        }
        check_place(kernel, index, py, &MemoryLocation::Host)?;
        converted.bytes += (array.len() * descr.itemsize()) as u64;
        let (address, is_writable) = numpy_memory(array);
        return Ok(memory(address as u64, dtype, !is_writable));
    }
    if let Ok(array) = arg.cast::<Array>() {
        return own_address(kernel, index, array, converted);
    }
    borrowed_address(kernel, index, arg, stream, converted)
}

/// The address of one of our own arrays.
fn own_address(
    kernel: &aura::Kernel,
    index: usize,
    array: &Bound<'_, Array>,
    converted: &mut Converted,
) -> PyResult<Argument> {
    let (py, inner) = (array.py(), array.get());
    if inner.is_freed() {
        let reason = "the array was freed";
        return Err(misfit(kernel, index, py, ErrorCode::UseAfterFree, reason));
    }
    tracing::check_values_unseen(
        "launching a kernel of your own",
        inner.storage().is_traced(),
    )
    .into_py_result(py)?;
    if !inner.is_contiguous() {
        return Err(not_contiguous(kernel, index, py));
    }
    // The fast way for arrays of the kernel's own device; the names are compared for all others.
    if inner.device_name() != kernel.device_info().name {
        check_place(kernel, index, py, &inner.location())?;
    }
    settle(array, kernel)?;
    converted.bytes += inner.bytes() as u64;
    converted.keep.push(Arc::clone(inner.storage()));
    Ok(memory(
        inner.data() as u64,
        Some(inner.dtype),
        inner.is_read_only,
    ))
}

/// The address of memory that another library lends.
fn borrowed_address(
    kernel: &aura::Kernel,
    index: usize,
    arg: &Bound<'_, PyAny>,
    stream: Option<&Stream>,
    converted: &mut Converted,
) -> PyResult<Argument> {
    let py = arg.py();
    let handle = match stream {
        Some(stream) => stream.inner().native_handle(),
        None => kernel.hal_device().default_stream().native_handle(),
    };
    let Some(operand) = Operand::borrow(arg, handle)? else {
        let type_name = kernel.facts().parameters[index].type_name.as_str();
        let reason = format!(
            "`{type_name}` needs an array, or None for a null pointer, not {}",
            arg.get_type().name()?
        );
        return Err(misfit(kernel, index, py, ErrorCode::InvalidType, &reason));
    };
    if !operand.is_contiguous() {
        return Err(not_contiguous(kernel, index, py));
    }
    check_place(kernel, index, py, &operand.location)?;
    converted.bytes += (operand.len() * operand.dtype.size_bytes()) as u64;
    let argument = memory(
        operand.data as u64,
        Some(operand.dtype),
        !operand.is_writable,
    );
    converted.borrowed.push(operand.into_owner());
    Ok(argument)
}

/// Waits for what another device has queued, whose order this kernel's streams do not know.
pub(crate) fn settle(array: &Bound<'_, Array>, kernel: &aura::Kernel) -> PyResult<()> {
    match array.get().open_device() {
        Some(device) if !Arc::ptr_eq(device, kernel.open_device()) => {
            let py = array.py();
            py.detach(|| device.settle()).into_py_result(py)
        }
        _ => Ok(()),
    }
}

fn memory(address: u64, dtype: Option<Dtype>, is_read_only: bool) -> Argument {
    Argument::Pointer {
        address,
        dtype,
        is_read_only,
        bytes: 0,
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
fn check_place(
    kernel: &aura::Kernel,
    index: usize,
    py: Python<'_>,
    place: &MemoryLocation,
) -> PyResult<()> {
    let info = kernel.device_info();
    if place.is_reachable_by(info) {
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
    if let Ok(array) = arg.cast::<PyUntypedArray>() {
        check_mask(array)
            .map_err(|error| refused_as(kernel, index, ErrorCode::InvalidArgument, error, py))?;
    }
    // Scalars of NumPy, arrays and tensors without axes give their number by `item`; everything else by the number protocols.
    let not_a_number = |given: &str| {
        let reason = format!("a number is expected, not {given}");
        misfit(kernel, index, py, ErrorCode::InvalidType, &reason)
    };
    let type_name = || {
        arg.get_type()
            .name()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string())
    };
    if arg.hasattr("dtype")? && arg.hasattr("item")? {
        let has_axes = arg
            .getattr("ndim")
            .and_then(|ndim| ndim.extract::<usize>())
            .is_ok_and(|ndim| ndim != 0);
        if has_axes {
            let reason = "an array was given where a number is expected";
            return Err(misfit(kernel, index, py, ErrorCode::InvalidType, reason));
        }
        let item = arg
            .call_method0("item")
            .map_err(|error| not_a_number(&format!("{} ({error})", type_name())))?;
        return number(kernel, index, &item)?.ok_or_else(|| {
            let dtype = arg.getattr("dtype").and_then(|dtype| dtype.str());
            let dtype = dtype.map_or_else(|_| "?".to_owned(), |text| text.to_string());
            not_a_number(&format!("{} of dtype {dtype}", type_name()))
        });
    }
    number(kernel, index, arg)?.ok_or_else(|| not_a_number(&type_name()))
}

/// What a value is by the number protocols; None where it is no real number.
fn number(
    kernel: &aura::Kernel,
    index: usize,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<Argument>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Argument::Bool(value.extract()?)));
    }
    if let Ok(integral) = value.call_method0("__index__") {
        return integer(kernel, index, &integral).map(Some);
    }
    // Text is no number, although float("1") is one.
    Ok(value.extract::<f64>().ok().map(Argument::Float))
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

/// Owners of memory, as one Python object.
#[pyclass(frozen)]
struct Held(
    #[allow(dead_code, reason = "held, not read")] Vec<Arc<Storage>>,
    #[allow(dead_code, reason = "held, not read")] SyncOwners,
);

/// Never accessed, only dropped.
struct SyncOwners(#[allow(dead_code, reason = "held, not read")] Vec<Box<dyn Send>>);

// SAFETY: no method reads the content, so sharing a reference shares nothing.
unsafe impl Sync for SyncOwners {}
