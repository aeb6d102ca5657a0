//! `amdgpu.Array`: memory of a device seen as an n-dimensional array.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::layout::{DEVICE_CPU, DEVICE_CUDA, DEVICE_ROCM};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Language, MetricId, Tensor};
use amdgpu_aura::Context;
use amdgpu_hal::{CopyDirection, DeviceKind, DevicePointer, Module};
use amdgpu_memory::Block;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::dlpack::{self, row_major};
use crate::errors::{IntoPyResult, raise};
use crate::operand::{Operand, is_contiguous, to_numpy_dtype};

/// Memory and who owns it.
enum Storage {
    /// From the allocator of a device. The block is taken out when the array is freed and nobody else looks at it.
    Block {
        block: Mutex<Option<Block>>,
        address: DevicePointer,
        context: Arc<Context>,
    },
    /// A variable of a module.
    Module {
        address: DevicePointer,
        context: Arc<Context>,
        #[allow(dead_code, reason = "held, not read")]
        module: Arc<dyn Module>,
    },
    /// Host memory of another library, kept alive by its owner.
    Foreign {
        address: *mut c_void,
        #[allow(dead_code, reason = "held, not read")]
        owner: Box<dyn Send>,
    },
}

// SAFETY: the address is only handed on; the owner is Send and is never accessed.
unsafe impl Send for Storage {}
// SAFETY: as above: shared access reads the address only.
unsafe impl Sync for Storage {}

/// Memory of a device seen as an n-dimensional array, row-major when made here.
#[pyclass(frozen, module = "amdgpu", weakref)]
pub struct Array {
    storage: Arc<Storage>,
    is_freed: Arc<AtomicBool>,
    pub dtype: Dtype,
    pub shape: Vec<i64>,
    /// In elements.
    pub strides: Vec<i64>,
    pub is_read_only: bool,
}

impl Array {
    /// Fresh memory of `kind`.
    pub fn allocate(
        py: Python<'_>,
        context: &Arc<Context>,
        shape: Vec<i64>,
        dtype: Dtype,
        kind: amdgpu_hal::MemoryKind,
    ) -> PyResult<Self> {
        let bytes = checked_bytes(py, &shape, dtype)?;
        let allocator = context.allocator().into_py_result(py)?;
        let block = py
            .detach(|| allocator.allocate_kind(kind, bytes, None))
            .into_py_result(py)?;
        Ok(Self {
            storage: Arc::new(Storage::Block {
                address: block.ptr(),
                block: Mutex::new(Some(block)),
                context: Arc::clone(context),
            }),
            is_freed: Arc::default(),
            dtype,
            strides: row_major(&shape),
            shape,
            is_read_only: false,
        })
    }

    /// A variable of a module, which the array keeps loaded.
    pub fn of_module(
        context: &Arc<Context>,
        module: Arc<dyn Module>,
        address: DevicePointer,
        shape: Vec<i64>,
        dtype: Dtype,
    ) -> Self {
        Self {
            storage: Arc::new(Storage::Module {
                address,
                context: Arc::clone(context),
                module,
            }),
            is_freed: Arc::default(),
            dtype,
            strides: row_major(&shape),
            shape,
            is_read_only: false,
        }
    }

    /// Memory of another library.
    pub fn adopt(operand: Operand<'_>) -> Self {
        let (dtype, shape, strides) = (
            operand.dtype,
            operand.shape.clone(),
            operand.strides.clone(),
        );
        let (address, is_read_only) = (operand.data, !operand.is_writable);
        Self {
            storage: Arc::new(Storage::Foreign {
                address,
                owner: operand.into_owner(),
            }),
            is_freed: Arc::default(),
            dtype,
            shape,
            strides,
            is_read_only,
        }
    }

    pub fn data(&self) -> *mut c_void {
        match &*self.storage {
            Storage::Block { address, .. } | Storage::Module { address, .. } => {
                address.as_mut_ptr()
            }
            Storage::Foreign { address, .. } => *address,
        }
    }

    /// Name of the device; `None` for host memory of other libraries.
    pub fn device_name(&self) -> Option<&str> {
        match &*self.storage {
            Storage::Block { context, .. } | Storage::Module { context, .. } => {
                Some(&context.info().name)
            }
            Storage::Foreign { .. } => None,
        }
    }

    fn device_kind(&self) -> DeviceKind {
        match &*self.storage {
            Storage::Block { context, .. } | Storage::Module { context, .. } => context.info().kind,
            Storage::Foreign { .. } => DeviceKind::Cpu,
        }
    }

    /// `use-after-free` once `free()` was called.
    pub fn check_alive(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_freed.load(Ordering::Acquire) {
            return Err(raise(
                py,
                ErrorCode::UseAfterFree,
                Language::Rust,
                "the array was freed",
            ));
        }
        Ok(())
    }

    /// Keeps the memory from going back, for work that looks at it.
    pub fn keep(&self) -> Arc<dyn Send + Sync> {
        Arc::clone(&self.storage) as Arc<dyn Send + Sync>
    }

    fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    fn bytes(&self) -> usize {
        self.len() as usize * self.dtype.size_bytes()
    }

    fn check_host(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        self.check_alive(py)?;
        if self.device_kind() != DeviceKind::Cpu {
            let message = format!(
                "{what} needs host memory; this array is on {}: use .numpy()",
                self.device_name().unwrap_or("cpu:0")
            );
            return Err(raise(py, ErrorCode::WrongDevice, Language::Rust, &message));
        }
        Ok(())
    }

    fn tensor(&self) -> Tensor {
        let mut tensor = Tensor::host(self.data(), self.dtype, &[], None);
        tensor.ndim = self.shape.len() as i32;
        tensor.device = self.dlpack_device();
        tensor
    }

    fn dlpack_device(&self) -> DeviceRef {
        let device_type = match self.device_kind() {
            DeviceKind::Hip => DEVICE_ROCM,
            DeviceKind::Cuda => DEVICE_CUDA,
            _ => DEVICE_CPU,
        };
        let device_id = match &*self.storage {
            Storage::Block { context, .. } | Storage::Module { context, .. } => {
                context.info().ordinal as i32
            }
            Storage::Foreign { .. } => 0,
        };
        DeviceRef {
            device_type,
            device_id,
        }
    }

    /// Another view of the same memory.
    fn view(&self, shape: Vec<i64>, strides: Vec<i64>) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            is_freed: Arc::clone(&self.is_freed),
            dtype: self.dtype,
            shape,
            strides,
            is_read_only: self.is_read_only,
        }
    }
}

#[pymethods]
impl Array {
    /// Extent of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// In bytes, as NumPy counts them.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let item_bytes = self.itemsize() as i64;
        PyTuple::new(py, self.strides.iter().map(|stride| stride * item_bytes))
    }

    /// The NumPy dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(to_numpy_dtype(py, self.dtype)?.into_any())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> i64 {
        self.len()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.dtype.size_bytes()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes()
    }

    /// Name of the device, for example `cpu:0`.
    #[getter]
    fn device(&self) -> &str {
        self.device_name().unwrap_or("cpu:0")
    }

    /// Address of the first element on its device.
    #[getter]
    fn ptr(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive(py)?;
        Ok(self.data() as usize)
    }

    /// Whether `free()` was called.
    #[getter]
    fn is_freed(&self) -> bool {
        self.is_freed.load(Ordering::Acquire)
    }

    /// Whether writing is refused.
    #[getter]
    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// NumPy's array interface, version 3; for host memory only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.check_host(py, "__array_interface__")?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("strides", self.strides(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        interface.set_item("data", (self.data() as usize, self.is_read_only))?;
        Ok(interface)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let host = if this.device_kind() == DeviceKind::Cpu && copy != Some(true) {
            // The proxy keeps this object alive as long as the NumPy array lives.
            py.import("numpy")?.call_method1("from_dlpack", (slf,))?
        } else {
            this.numpy(py)?
        };
        match dtype {
            Some(dtype) => host.call_method1("astype", (dtype,)),
            None => Ok(host),
        }
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check_alive(py)?;
        let own = self.dlpack_device();
        if copy == Some(true)
            || dl_device.is_some_and(|wanted| wanted != (own.device_type, own.device_id))
        {
            return Err(PyBufferError::new_err(
                "the array is lent only where it is and without a copy; use .numpy()",
            ));
        }
        if own.device_type == DEVICE_CPU && stream.is_some_and(|stream| !stream.is_none()) {
            return Err(PyBufferError::new_err(
                "host memory takes no stream; pass stream=None",
            ));
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        if self.is_read_only && !is_versioned {
            return Err(PyBufferError::new_err(
                "the array is read-only, which only versioned DLPack can say",
            ));
        }
        let owner = Box::new((Arc::clone(&self.storage), Arc::clone(&self.is_freed)));
        dlpack::export(
            py,
            self.tensor(),
            &self.shape,
            &self.strides,
            self.is_read_only,
            is_versioned,
            owner,
        )
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let own = self.dlpack_device();
        (own.device_type, own.device_id)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.shape.first() {
            Some(extent) => Ok(*extent as usize),
            None => Err(raise(
                py,
                ErrorCode::InvalidType,
                Language::Rust,
                "a 0-d array has no length",
            )),
        }
    }

    fn __repr__(&self) -> String {
        let state = if self.is_freed() { " freed" } else { "" };
        let dtype = self.dtype.name().unwrap_or("?");
        format!(
            "<amdgpu.Array shape={:?} dtype={dtype} device={}{state}>",
            self.shape,
            self.device()
        )
    }

    /// A copy in host memory.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_alive(py)?;
        if !is_contiguous(&self.shape, &self.strides) {
            let view = py.import("numpy")?.call_method1(
                "from_dlpack",
                (Py::new(
                    py,
                    self.view(self.shape.clone(), self.strides.clone()),
                )?,),
            )?;
            return view.call_method0("copy");
        }
        let host = py
            .import("numpy")?
            .call_method1("empty", (self.shape(py)?, self.dtype(py)?))?;
        let Some(operand) = Operand::borrow(&host)? else {
            return Err(raise(
                py,
                ErrorCode::Internal,
                Language::Rust,
                "numpy.empty made no array",
            ));
        };
        self.transfer(
            py,
            DevicePointer::from_host(operand.data.cast::<u8>()),
            CopyDirection::DeviceToHost,
        )?;
        Ok(host)
    }

    /// Copy `source`, an array of the same shape and dtype, into this one.
    fn copy_from(&self, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = source.py();
        self.check_alive(py)?;
        if self.is_read_only {
            return Err(raise(
                py,
                ErrorCode::ReadOnly,
                Language::Rust,
                "the array is read-only",
            ));
        }
        let Some(operand) = Operand::borrow_host(source)? else {
            let message = format!(
                "copy_from needs an array, not {}",
                source.get_type().name()?
            );
            return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
        };
        if operand.shape != self.shape {
            let message = format!(
                "cannot copy shape {:?} into shape {:?}",
                operand.shape, self.shape
            );
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
        if operand.dtype != self.dtype {
            let name = |dtype: Dtype| dtype.name().unwrap_or("?");
            let message = format!(
                "cannot copy {} into {}",
                name(operand.dtype),
                name(self.dtype)
            );
            return Err(raise(
                py,
                ErrorCode::UnsupportedDtype,
                Language::Rust,
                &message,
            ));
        }
        if !operand.is_contiguous() || !is_contiguous(&self.shape, &self.strides) {
            return Err(raise(
                py,
                ErrorCode::NotContiguous,
                Language::Rust,
                "copy_from needs contiguous arrays",
            ));
        }
        self.transfer(
            py,
            DevicePointer::from_host(operand.data.cast::<u8>()),
            CopyDirection::HostToDevice,
        )
    }

    /// Set every byte to `value` (0 to 255).
    fn fill(&self, py: Python<'_>, value: i64) -> PyResult<()> {
        self.check_alive(py)?;
        if self.is_read_only {
            return Err(raise(
                py,
                ErrorCode::ReadOnly,
                Language::Rust,
                "the array is read-only",
            ));
        }
        let byte = u8::try_from(value).map_err(|_| {
            raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &format!("fill sets bytes; {value} is not in 0 to 255"),
            )
        })?;
        let (bytes, target) = (self.bytes(), self.data());
        match &*self.storage {
            Storage::Block {
                address, context, ..
            }
            | Storage::Module {
                address, context, ..
            } => {
                let stream = context.device().into_py_result(py)?.default_stream();
                py.detach(|| {
                    // SAFETY: the block holds at least `bytes` bytes and lives until the wait is over.
                    unsafe { stream.fill(*address, byte, bytes as u64) }?;
                    stream.synchronize()
                })
                .into_py_result(py)
            }
            Storage::Foreign { .. } => {
                if !is_contiguous(&self.shape, &self.strides) {
                    return Err(raise(
                        py,
                        ErrorCode::NotContiguous,
                        Language::Rust,
                        "fill needs a contiguous array",
                    ));
                }
                // SAFETY: the owner lent contiguous writable memory of this size.
                unsafe { std::ptr::write_bytes(target.cast::<u8>(), byte, bytes) };
                Ok(())
            }
        }
    }

    /// The same memory under another shape; one extent may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: Vec<i64>) -> PyResult<Self> {
        self.check_alive(py)?;
        let known: i64 = shape.iter().filter(|extent| **extent != -1).product();
        let holes = shape.iter().filter(|extent| **extent == -1).count();
        let mut resolved = shape.clone();
        if holes == 1 && known > 0 && self.len() % known == 0 {
            for extent in &mut resolved {
                if *extent == -1 {
                    *extent = self.len() / known;
                }
            }
        }
        if resolved.iter().any(|extent| *extent < 0)
            || resolved.iter().product::<i64>() != self.len()
        {
            let message = format!("cannot see shape {:?} as {shape:?}", self.shape);
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
        if !is_contiguous(&self.shape, &self.strides) {
            return Err(raise(
                py,
                ErrorCode::NotContiguous,
                Language::Rust,
                "reshape needs a contiguous array",
            ));
        }
        let strides = row_major(&resolved);
        Ok(self.view(resolved, strides))
    }

    /// Refuse all further use and give the memory back: at once, or when the last view or borrower is gone. Freeing twice is an error.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_freed.swap(true, Ordering::AcqRel) {
            return Err(raise(
                py,
                ErrorCode::UseAfterFree,
                Language::Rust,
                "the array was freed already",
            ));
        }
        if let Storage::Block { block, .. } = &*self.storage
            && Arc::strong_count(&self.storage) == 1
        {
            drop(block.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        Ok(())
    }
}

impl Array {
    fn transfer(
        &self,
        py: Python<'_>,
        host: DevicePointer,
        direction: CopyDirection,
    ) -> PyResult<()> {
        let bytes = self.bytes() as u64;
        let (own, device) = match &*self.storage {
            Storage::Block {
                address, context, ..
            }
            | Storage::Module {
                address, context, ..
            } => (*address, context.info().name.as_str()),
            Storage::Foreign { address, .. } => {
                (DevicePointer::from_host(address.cast::<u8>()), "cpu:0")
            }
        };
        let (destination, source) = match direction {
            CopyDirection::HostToDevice => (own, host),
            _ => (host, own),
        };
        amdgpu_telemetry::counter(MetricId::CopyBytesTotal, &[device, direction.name()]).add(bytes);
        match &*self.storage {
            Storage::Block { context, .. } | Storage::Module { context, .. } => {
                let stream = context.device().into_py_result(py)?.default_stream();
                py.detach(|| {
                    // SAFETY: both sides hold `bytes` bytes (shape and dtype were compared) and live until the wait is over.
                    unsafe { stream.copy(destination, source, bytes, direction) }?;
                    stream.synchronize()
                })
                .into_py_result(py)
            }
            Storage::Foreign { .. } => {
                // SAFETY: as above; both are host memory, and may be the same array.
                unsafe {
                    std::ptr::copy(
                        source.as_mut_ptr::<u8>(),
                        destination.as_mut_ptr::<u8>(),
                        bytes as usize,
                    );
                }
                Ok(())
            }
        }
    }
}

/// Bytes of an array; extents must not be negative and the product must fit.
fn checked_bytes(py: Python<'_>, shape: &[i64], dtype: Dtype) -> PyResult<u64> {
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        let message = format!("shape {shape:?} has the negative extent {extent}");
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    }
    shape
        .iter()
        .try_fold(dtype.size_bytes() as i64, |bytes, extent| {
            bytes.checked_mul(*extent)
        })
        .map(|bytes| bytes as u64)
        .ok_or_else(|| {
            let message = format!("an array of shape {shape:?} is larger than any memory");
            raise(py, ErrorCode::OutOfMemory, Language::Rust, &message)
        })
}

/// Name of the device that DLPack names, `None` for host memory.
pub fn device_of_dlpack(py: Python<'_>, device: DeviceRef) -> PyResult<Option<String>> {
    if device.device_type == DEVICE_CPU {
        return Ok(None);
    }
    let message = format!(
        "the array is on DLPack device type {} number {}, which this build has no driver for; copy it to the host first",
        device.device_type, device.device_id
    );
    Err(raise(py, ErrorCode::WrongDevice, Language::Rust, &message))
}
