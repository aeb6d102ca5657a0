//! Converts any array argument (NumPy, `amdgpu.Array`, DLPack, `__cuda_array_interface__`) to an operand that borrows its memory.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use amdgpu_abi::layout::{DTYPE_BOOL, DTYPE_COMPLEX, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Language};
use amdgpu_array::{
    self as core, Dims, External, Imported, MemoryLocation, Storage, is_contiguous, row_major,
    tracing,
};
use amdgpu_hal as hal;
use amdgpu_hal::DevicePointer;
use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, NPY_TYPES, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::Array;
use crate::dlpack;
use crate::errors::{IntoPyResult, raise};

/// The CUDA Array Interface says which stream the producer works in from here on.
const FIRST_VERSION_WITH_STREAMS: u32 = 3;
/// By the number that the CUDA Array Interface and DLPack have for it.
const LEGACY_DEFAULT_STREAM: u64 = 1;

/// Memory that an argument lends for the duration of a call. `owner` keeps it alive.
pub struct Operand<'py> {
    pub data: *mut c_void,
    pub dtype: Dtype,
    pub shape: Dims,
    /// In elements.
    pub strides: Dims,
    pub is_writable: bool,
    pub location: MemoryLocation,
    /// The device of one of our own arrays.
    own_device: Option<Arc<dyn hal::Device>>,
    owner: Owner<'py>,
}

enum Owner<'py> {
    Python(#[allow(dead_code, reason = "held, not read")] Bound<'py, PyAny>),
    Array(#[allow(dead_code, reason = "held, not read")] Arc<Storage>),
    Imported(#[allow(dead_code, reason = "held, not read")] Imported),
}

impl<'py> Operand<'py> {
    /// The memory of an array-like object; `None` when it is none (numbers, lists, text). Work on memory of a GPU that the lender has under
    /// way is ordered before `stream`, by the driver's handle; `None` means the default stream of the GPU.
    pub fn borrow(object: &Bound<'py, PyAny>, stream: Option<u64>) -> PyResult<Option<Self>> {
        if let Ok(array) = object.cast::<Array>() {
            return Self::of_array(array).map(Some);
        }
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            return Self::of_numpy(array).map(Some);
        }
        if object.hasattr("__dlpack__")? {
            return Self::of_dlpack(object, stream).map(Some);
        }
        if object.hasattr("__cuda_array_interface__")? {
            return Self::of_cuda_interface(object).map(Some);
        }
        Ok(None)
    }

    /// As [`Self::borrow`], for work that the host does: `wrong-device` for memory that only a GPU can read.
    pub fn borrow_host(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let operand = Self::borrow(object, None)?;
        let location = operand
            .as_ref()
            .map_or(&MemoryLocation::Host, |operand| &operand.location);
        if !location.is_host_reachable() {
            let device = location.device().unwrap_or("a device");
            let message =
                format!("the array is on {device} and the work is done by the host: use .numpy()");
            return Err(raise(
                object.py(),
                ErrorCode::WrongDevice,
                Language::Rust,
                &message,
            ));
        }
        Ok(operand)
    }

    fn of_array(array: &Bound<'py, Array>) -> PyResult<Self> {
        let inner = array.get();
        inner.check_alive().into_py_result(array.py())?;
        tracing::check_values_unseen("lending an array", inner.storage().is_traced())
            .into_py_result(array.py())?;
        inner.settle_uses(array.py())?;
        Ok(Self {
            data: inner.data(),
            dtype: inner.dtype,
            shape: inner.shape.clone(),
            strides: inner.strides.clone(),
            is_writable: !inner.is_read_only,
            location: inner.location(),
            own_device: inner.hal_device().cloned(),
            owner: Owner::Array(Arc::clone(inner.storage())),
        })
    }

    fn of_numpy(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        check_mask(array)?;
        let descr = array.dtype();
        let dtype = numpy_dtype(&descr)?;
        let item_bytes = dtype.size_bytes() as isize;
        let strides = array.strides();
        if strides.iter().any(|stride| stride % item_bytes != 0) {
            return Err(raise(
                array.py(),
                ErrorCode::NotContiguous,
                Language::Rust,
                "the strides of the array are not multiples of its item size (a field of a structured array?); pass a copy: numpy.ascontiguousarray(x)",
            ));
        }
        let (data, is_writable) = numpy_memory(array);
        Ok(Self {
            data,
            dtype,
            shape: array.shape().iter().map(|extent| *extent as i64).collect(),
            strides: strides
                .iter()
                .map(|stride| (stride / item_bytes) as i64)
                .collect(),
            is_writable,
            location: MemoryLocation::Host,
            own_device: None,
            owner: Owner::Python(array.clone().into_any()),
        })
    }

    fn of_dlpack(object: &Bound<'py, PyAny>, stream: Option<u64>) -> PyResult<Self> {
        let py = object.py();
        // Where the memory is decides which stream may be named. Producers older than the question lend host memory.
        let announced = match object.call_method0("__dlpack_device__") {
            Ok(pair) => {
                let (device_type, device_id) = pair.extract::<(i32, i32)>()?;
                let device = DeviceRef {
                    device_type,
                    device_id,
                };
                MemoryLocation::of_dlpack(device).into_py_result(py)?
            }
            Err(error) if error.is_instance_of::<PyAttributeError>(py) => MemoryLocation::Host,
            Err(error) => return Err(error),
        };
        let gpu = announced.gpu().map(|gpu| external_device(py, gpu));
        let gpu = gpu.transpose()?;
        let stream = gpu
            .as_ref()
            .and_then(|gpu| stream.or_else(|| gpu.default_stream().native_handle()));
        let imported = dlpack::import(object, gpu.as_ref(), stream)?;
        imported.check_dtype().into_py_result(py)?;
        let tensor = imported.tensor;
        let stated = MemoryLocation::of_dlpack(tensor.device).into_py_result(py)?;
        let location = match (stated, announced) {
            // PyTorch announces pinned memory and then calls it plain memory of the host in the capsule.
            (MemoryLocation::Host, MemoryLocation::Pinned(kind)) => MemoryLocation::Pinned(kind),
            (location, _) => location,
        };
        Ok(Self {
            data: imported.data(),
            dtype: tensor.dtype,
            shape: Dims::from_slice(imported.shape()),
            strides: imported.strides(),
            is_writable: !imported.is_read_only,
            location,
            own_device: None,
            owner: Owner::Imported(imported),
        })
    }

    /// Memory of a CUDA device as CuPy and Numba describe it (CUDA Array Interface, version 3).
    fn of_cuda_interface(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let refuse = |message: &str| raise(py, ErrorCode::InvalidArgument, Language::Rust, message);
        let interface = object
            .getattr("__cuda_array_interface__")?
            .cast_into::<PyDict>()
            .map_err(|_| refuse("__cuda_array_interface__ is no dict"))?;
        let entry = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
            Ok(interface.get_item(name)?.filter(|value| !value.is_none()))
        };
        let required = |name: &str| -> PyResult<Bound<'py, PyAny>> {
            entry(name)?.ok_or_else(|| refuse(&format!("__cuda_array_interface__ has no {name:?}")))
        };
        if entry("mask")?.is_some() {
            return Err(refuse(MASKED));
        }
        let (address, is_read_only) = required("data")?.extract::<(u64, bool)>()?;
        let shape = Dims::from_vec(required("shape")?.extract::<Vec<i64>>()?);
        let descr = PyArrayDescr::new(py, required("typestr")?)?;
        let dtype = numpy_dtype(&descr)?;
        let item_bytes = dtype.size_bytes() as i64;
        let strides = match entry("strides")? {
            None => row_major(&shape),
            Some(strides) => {
                let strides = strides.extract::<Vec<i64>>()?;
                strides.iter().map(|stride| stride / item_bytes).collect()
            }
        };
        let is_empty = shape.contains(&0);
        let name = if is_empty {
            "cuda:0".to_owned()
        } else {
            py.detach(|| core::cuda_device_of(address))
                .into_py_result(py)?
        };
        // Up to version 2 nothing names the stream of the producer; PyTorch works in the driver's own.
        let version = entry("version")?.map_or(Ok(0), |version| version.extract::<u32>())?;
        let stream = match entry("stream")? {
            Some(stream) => Some(stream.extract::<u64>()?),
            None => (version < FIRST_VERSION_WITH_STREAMS).then_some(LEGACY_DEFAULT_STREAM),
        };
        if let Some(stream) = stream {
            // SAFETY: by the protocol of `__cuda_array_interface__` the producer names a live stream.
            py.detach(|| unsafe { core::wait_for(&name, stream) })
                .into_py_result(py)?;
        }
        Ok(Self {
            data: std::ptr::with_exposed_provenance_mut(address as usize),
            dtype,
            shape,
            strides,
            is_writable: !is_read_only,
            location: MemoryLocation::Device(name),
            own_device: None,
            owner: Owner::Python(object.clone()),
        })
    }

    /// The device through which the memory is reached; `None` for host memory.
    pub fn device(&self, py: Python<'_>) -> PyResult<Option<Arc<dyn hal::Device>>> {
        match (&self.own_device, self.location.gpu()) {
            (Some(device), _) => Ok(Some(Arc::clone(device))),
            (None, Some(name)) => external_device(py, name).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The memory as an array, which keeps its owner.
    pub fn into_array(self, py: Python<'_>) -> PyResult<core::Array> {
        let (dtype, is_read_only) = (self.dtype, !self.is_writable);
        let layout = (self.shape.clone(), self.strides.clone());
        let address = DevicePointer::from_host(self.data);
        // Another library may lend what it has of our own allocator: that is memory of the device like every other.
        if matches!(self.owner, Owner::Imported(_))
            && let Some(mut known) =
                amdgpu_capi::array_within(address.address(), dtype, layout.clone())
        {
            known.is_read_only = is_read_only;
            return Ok(known);
        }
        let device = self.device(py)?;
        let external = External {
            location: self.location.clone(),
            device,
            owner: self.into_owner(),
        };
        Ok(core::Array::of_external(
            external,
            address,
            layout,
            dtype,
            is_read_only,
        ))
    }

    /// The object that keeps the memory alive, for work that outlives the call.
    pub fn into_owner(self) -> Box<dyn Send> {
        match self.owner {
            Owner::Python(object) => Box::new(object.unbind()),
            Owner::Array(storage) => Box::new(storage),
            Owner::Imported(imported) => Box::new(imported),
        }
    }

    /// Whether elements follow each other in row-major order. Axes of extent 1 do not matter; empty arrays are contiguous.
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
}

/// The device of that name, open for memory that another library lends.
fn external_device(py: Python<'_>, name: &str) -> PyResult<Arc<dyn hal::Device>> {
    py.detach(|| core::device_for_external(name))
        .into_py_result(py)
}

pub const MASKED: &str = "arrays with a mask are not understood; pass x.filled(value) in their place, or x.data to ignore the mask";

/// Refuses `numpy.ma`'s arrays, whose masked elements would count.
pub fn check_mask(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if is_masked(array)? {
        let code = ErrorCode::InvalidArgument;
        return Err(raise(array.py(), code, Language::Rust, MASKED));
    }
    Ok(())
}

/// Whether an array is one of `numpy.ma`'s.
pub fn is_masked(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    if array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    let masked = array.py().import("numpy.ma")?.getattr("MaskedArray")?;
    array.is_instance(&masked)
}

/// Address and writability of a NumPy array.
pub fn numpy_memory(array: &Bound<'_, PyUntypedArray>) -> (*mut c_void, bool) {
    let object = array.as_array_ptr();
    // SAFETY: the cast to PyUntypedArray proved that this is an array object; both fields are set for its whole life.
    let (data, flags) = unsafe {
        let fields = npyffi::_PyArray_GET_ITEM_DATA(object);
        ((*fields).data, (*fields).flags)
    };
    (data.cast(), flags & NPY_ARRAY_WRITEABLE != 0)
}

/// An array of `NumPy`'s, subclasses aside.
#[inline]
pub fn exact_numpy<'a, 'py>(
    object: &'a Bound<'py, PyAny>,
) -> Option<&'a Bound<'py, PyUntypedArray>> {
    // SAFETY: the pointer is that of an object that lives.
    let own = unsafe { pyo3::ffi::Py_TYPE(object.as_ptr()) };
    // SAFETY: the type was compared.
    (own == numpy_array_type(object.py())).then(|| unsafe { object.cast_unchecked() })
}

/// `numpy.ndarray`. Kept here, because NumPy's table of functions is asked in two steps each time.
#[inline]
fn numpy_array_type(py: Python<'_>) -> *mut pyo3::ffi::PyTypeObject {
    static TYPE: AtomicPtr<pyo3::ffi::PyTypeObject> = AtomicPtr::new(null_mut());
    let known = TYPE.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let found = PyUntypedArray::type_object_raw(py);
    TYPE.store(found, Ordering::Relaxed);
    found
}

/// A new row-major array of NumPy's whose elements are not set; `None` where NumPy has no such dtype of its own, or the memory may not be
/// there, which is for `numpy.empty` to say.
pub fn new_array<'py>(py: Python<'py>, shape: &[i64], dtype: Dtype) -> Option<Bound<'py, PyAny>> {
    const MOST_AXES: usize = 16;
    const MOST_BYTES: i64 = 1 << 30;
    let number = numpy_number(dtype)?;
    let bytes = shape
        .iter()
        .try_fold(dtype.size_bytes() as i64, |bytes, extent| {
            bytes.checked_mul(*extent)
        })?;
    if shape.len() > MOST_AXES || bytes > MOST_BYTES {
        return None;
    }
    // SAFETY: as many extents as axes, which are only read and have the width of a pointer; a type number of NumPy's. Without data and
    // strides NumPy allocates a row-major array.
    unsafe {
        let made = PY_ARRAY_API.PyArray_New(
            py,
            numpy_array_type(py),
            shape.len() as i32,
            shape.as_ptr().cast_mut().cast(),
            number,
            null_mut(),
            null_mut(),
            0,
            0,
            null_mut(),
        );
        if made.is_null() {
            // Raised again where it is said what there was no memory for.
            PyErr::take(py);
            return None;
        }
        Some(Bound::from_owned_ptr(py, made))
    }
}

/// NumPy's own number of a dtype, by ndarraytypes.h.
fn numpy_number(dtype: Dtype) -> Option<i32> {
    Some(match (dtype.code, dtype.bits) {
        (DTYPE_BOOL, 8) => 0,
        (DTYPE_INT, 8) => 1,
        (DTYPE_UINT, 8) => 2,
        (DTYPE_INT, 16) => 3,
        (DTYPE_UINT, 16) => 4,
        (DTYPE_INT, 32) => 5,
        (DTYPE_UINT, 32) => 6,
        (DTYPE_INT, 64) => 7,
        (DTYPE_UINT, 64) => 8,
        (DTYPE_FLOAT, 32) => 11,
        (DTYPE_FLOAT, 64) => 12,
        (DTYPE_FLOAT, 16) => 23,
        (DTYPE_COMPLEX, 64) => 14,
        (DTYPE_COMPLEX, 128) => 15,
        _ if dtype == Dtype::BF16 => return known_bfloat16(),
        _ => return None,
    })
}

/// The dtype of elementwise operations that has this number of NumPy's; `None` for other ones, and for bfloat16 as long as nobody used it.
pub fn plain_dtype(number: i32) -> Option<Dtype> {
    match of_number(number) {
        None => (Some(number) == known_bfloat16()).then_some(Dtype::BF16),
        dtype => dtype,
    }
}

/// By the type numbers of numpy/ndarraytypes.h; LONG and LONGLONG are both 64 bits wide on the targets of this package.
fn of_number(number: i32) -> Option<Dtype> {
    match number {
        0 => Some(Dtype::BOOL),
        1 => Some(Dtype::I8),
        2 => Some(Dtype::U8),
        3 => Some(Dtype::I16),
        4 => Some(Dtype::U16),
        5 => Some(Dtype::I32),
        6 => Some(Dtype::U32),
        7 | 9 => Some(Dtype::I64),
        8 | 10 => Some(Dtype::U64),
        11 => Some(Dtype::F32),
        12 => Some(Dtype::F64),
        14 => Some(Dtype::C64),
        15 => Some(Dtype::C128),
        23 => Some(Dtype::F16),
        _ => None,
    }
}

/// The dtype of a NumPy array.
///
/// # Errors
///
/// `unsupported-dtype` for objects, text, dates, structures and foreign byte order.
pub fn numpy_dtype(descr: &Bound<'_, PyArrayDescr>) -> PyResult<Dtype> {
    let dtype = match of_number(descr.num()) {
        None => is_bfloat16(descr)?.then_some(Dtype::BF16),
        dtype => dtype,
    };
    let is_native = descr.is_native_byteorder() != Some(false);
    dtype.filter(|_| is_native).ok_or_else(|| {
        let why = if is_native {
            "is not a type of device memory"
        } else {
            "has foreign byte order (pass x.astype(x.dtype.newbyteorder('=')))"
        };
        raise(
            descr.py(),
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &format!(
                "dtype {descr} {why}; supported: {}",
                Dtype::known_names().collect::<Vec<_>>().join(", ")
            ),
        )
    })
}

/// NumPy's number of bfloat16, once it was met. Asking for the name of a dtype takes longer than a product of 32 x 32; the number is given once, when
/// `ml_dtypes` registers it, and to no other.
static BFLOAT16_NUMBER: AtomicI32 = AtomicI32::new(NPY_TYPES::NPY_NOTYPE as i32);

fn known_bfloat16() -> Option<i32> {
    let number = BFLOAT16_NUMBER.load(Ordering::Relaxed);
    (number >= NPY_TYPES::NPY_USERDEF as i32).then_some(number)
}

/// Whether a dtype that is none of NumPy's own is bfloat16.
fn is_bfloat16(descr: &Bound<'_, PyArrayDescr>) -> PyResult<bool> {
    let number = descr.num();
    if Some(number) == known_bfloat16() {
        return Ok(true);
    }
    let is_so = number >= NPY_TYPES::NPY_USERDEF as i32 && descr.str()? == "bfloat16";
    if is_so {
        BFLOAT16_NUMBER.store(number, Ordering::Relaxed);
    }
    Ok(is_so)
}

/// A NumPy dtype object; bfloat16 comes from `ml_dtypes`.
pub fn to_numpy_dtype(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyArrayDescr>> {
    let name = dtype.name().ok_or_else(|| {
        raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &format!("dtype {dtype:?} has no NumPy equivalent"),
        )
    })?;
    if name == "bfloat16" {
        let package = py.import("ml_dtypes").map_err(|error| {
            let message = format!(
                "NumPy has no bfloat16 of its own: install the package ml_dtypes ({error})"
            );
            raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
        })?;
        let type_object = package.getattr("bfloat16")?;
        return PyArrayDescr::new(py, type_object);
    }
    PyArrayDescr::new(py, name)
}
