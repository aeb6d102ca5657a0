//! `amdgpu.Array`: memory of a device seen as an n-dimensional array.

mod bytes;
mod fill;
mod sharing;
mod uses;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::layout::DEVICE_CPU;
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{DeviceKind, DevicePointer, Module};
use amdgpu_memory::{Block, Owner};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyTuple};

use crate::array::bytes::{checked_bytes, host_side};
use crate::array::fill::{element_bytes, fill};
pub use crate::array::uses::Uses;
use crate::dlpack::{self, row_major};
use crate::errors::{IntoPyResult, raise};
use crate::graph;
use crate::lender::{self, Place};
use crate::numbers;
use crate::operand::{Operand, is_contiguous, to_numpy_dtype};
use crate::ops::transpose::transpose;
use crate::plan::trace;
use crate::transfer::{self, Side};

/// Memory, held by all that use it.
pub struct Storage {
    memory: Memory,
    uses: Uses,
    /// An interface told the address to somebody who holds the array object and nothing else.
    is_pinned: AtomicBool,
}

/// Memory and who owns it.
enum Memory {
    /// From the allocator of a device. The block is taken out when the array is freed and nobody else looks at it.
    Block {
        block: Mutex<Option<Block>>,
        address: DevicePointer,
        device: Arc<OpenDevice>,
        /// Somebody else was told the address, and may look there without asking.
        is_lent: AtomicBool,
    },
    /// A variable of a module.
    Module {
        address: DevicePointer,
        device: Arc<OpenDevice>,
        #[allow(dead_code, reason = "held, not read")]
        module: Arc<dyn Module>,
    },
    /// Memory of another library, kept alive by its owner.
    Foreign {
        address: *mut c_void,
        place: Place,
        /// The GPU that reaches it; none for host memory.
        device: Option<Arc<dyn hal::Device>>,
        #[allow(dead_code, reason = "held, not read")]
        owner: Box<dyn Send>,
    },
}

// SAFETY: the address is only handed on; the owner is Send and is never accessed.
unsafe impl Send for Memory {}
// SAFETY: as above: shared access reads the address only.
unsafe impl Sync for Memory {}

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

/// Whom the memory of arrays is for, as watchers see it.
pub(crate) static ARRAY: Owner = Owner::new("array");

impl Storage {
    fn new(memory: Memory) -> Arc<Self> {
        Arc::new(Self {
            memory,
            uses: Uses::default(),
            is_pinned: AtomicBool::new(false),
        })
    }

    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Waits for what streams were given to do with the memory.
    pub fn finish_uses(&self, py: Python<'_>) -> PyResult<()> {
        if !self.uses.is_used() || graph::is_recording() {
            return Ok(());
        }
        py.detach(|| self.uses.finish()).into_py_result(py)
    }
}

impl Array {
    /// Fresh memory of `kind`.
    pub fn allocate(
        py: Python<'_>,
        device: &Arc<OpenDevice>,
        shape: Vec<i64>,
        dtype: Dtype,
        kind: amdgpu_hal::MemoryKind,
    ) -> PyResult<Self> {
        let bytes = checked_bytes(py, &shape, dtype)?;
        let allocator = device.allocator();
        let block = py
            .detach(|| {
                let _owner = ARRAY.enter();
                allocator.allocate_kind(kind, bytes, None)
            })
            .into_py_result(py)?;
        let strides = row_major(&shape);
        let made = Self::of_block(Arc::clone(device), block, (shape, strides), dtype);
        trace::note_made(device, &made);
        Ok(made)
    }

    /// A block of the device's allocator, seen with a shape and strides that stay within it.
    pub fn of_block(
        device: Arc<OpenDevice>,
        block: Block,
        (shape, strides): (Vec<i64>, Vec<i64>),
        dtype: Dtype,
    ) -> Self {
        Self {
            storage: Storage::new(Memory::Block {
                address: block.ptr(),
                block: Mutex::new(Some(block)),
                device,
                is_lent: AtomicBool::new(false),
            }),
            is_freed: Arc::default(),
            dtype,
            shape,
            strides,
            is_read_only: false,
        }
    }

    /// A variable of a module, which the array keeps loaded.
    pub fn of_module(
        device: &Arc<OpenDevice>,
        module: Arc<dyn Module>,
        address: DevicePointer,
        shape: Vec<i64>,
        dtype: Dtype,
    ) -> Self {
        Self {
            storage: Storage::new(Memory::Module {
                address,
                device: Arc::clone(device),
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
    pub fn adopt(py: Python<'_>, operand: Operand<'_>) -> PyResult<Self> {
        let (dtype, shape, strides) = (
            operand.dtype,
            operand.shape.clone(),
            operand.strides.clone(),
        );
        let (address, is_read_only) = (operand.data, !operand.is_writable);
        let place = operand.place.clone();
        let device = operand.device(py)?;
        Ok(Self {
            storage: Storage::new(Memory::Foreign {
                address,
                place,
                device,
                owner: operand.into_owner(),
            }),
            is_freed: Arc::default(),
            dtype,
            shape,
            strides,
            is_read_only,
        })
    }

    pub fn data(&self) -> *mut c_void {
        match &self.storage.memory {
            Memory::Block { address, .. } | Memory::Module { address, .. } => address.as_mut_ptr(),
            Memory::Foreign { address, .. } => *address,
        }
    }

    /// The device of one's own that the memory came from.
    pub fn open_device(&self) -> Option<&Arc<OpenDevice>> {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Some(device),
            Memory::Foreign { .. } => None,
        }
    }

    /// Name of the device; `None` for host memory of other libraries.
    pub fn device_name(&self) -> Option<&str> {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Some(device.name()),
            Memory::Foreign { place, .. } => place.device(),
        }
    }

    /// Where the memory is, and who reaches it.
    pub fn place(&self) -> Place {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => {
                Place::Device(device.name().to_owned())
            }
            Memory::Foreign { place, .. } => place.clone(),
        }
    }

    fn device_kind(&self) -> DeviceKind {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => device.info().kind,
            Memory::Foreign { device, .. } => device
                .as_ref()
                .map_or(DeviceKind::Cpu, |device| device.info().kind),
        }
    }

    /// The device through which the memory is reached; `None` for host memory of other libraries.
    pub fn hal_device(&self) -> Option<Arc<dyn hal::Device>> {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => {
                Some(Arc::clone(device.device()))
            }
            Memory::Foreign { device, .. } => device.clone(),
        }
    }

    /// The device of one's own that the memory came from; a graph has no other.
    fn recording_device(&self, py: Python<'_>) -> PyResult<&Arc<OpenDevice>> {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => Ok(device),
            Memory::Foreign { .. } => Err(raise(
                py,
                ErrorCode::NotCapturable,
                Language::Rust,
                "a graph copies into and fills arrays of amdgpu; this memory belongs to another library",
            )),
        }
    }

    fn pointer(&self) -> DevicePointer {
        DevicePointer(self.data().expose_provenance() as u64)
    }

    /// Whether the host reads the memory and no GPU has to be asked before.
    pub fn is_plain_host(&self) -> bool {
        match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => {
                device.info().kind == DeviceKind::Cpu
            }
            Memory::Foreign { place, .. } => *place == Place::Host,
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
    pub fn keep(&self) -> Arc<Storage> {
        Arc::clone(&self.storage)
    }

    /// Whether a stream was ever given work on the memory: who reads it has to wait then.
    pub fn has_uses(&self) -> bool {
        self.storage.uses.is_used()
    }

    /// Waits for what streams were given to do with the memory; the default stream keeps the order by itself.
    pub fn finish_uses(&self, py: Python<'_>) -> PyResult<()> {
        self.storage.finish_uses(py)
    }

    fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    /// An array of NumPy's of this shape and dtype, whose elements are not set.
    fn empty_host<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?
            .call_method1("empty", (self.shape(py)?, self.dtype(py)?))
    }

    pub fn bytes(&self) -> usize {
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

    /// Whether the host reads the memory at its address.
    #[getter]
    fn is_on_host(&self) -> bool {
        self.place().is_host_reachable()
    }

    /// Address of the first element on its device, which means nothing once the array is freed. Waits for work that still writes there, and from
    /// now on operations on this memory end before their call does, since whoever has the address may look at any time.
    #[getter]
    fn ptr(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive(py)?;
        trace::give_up();
        if self.lend()
            && !graph::is_recording()
            && let Some(device) = self.open_device()
        {
            py.detach(|| device.settle()).into_py_result(py)?;
        }
        self.finish_uses(py)?;
        Ok(self.data() as usize)
    }

    /// The address for kernels of this package, which keep the order themselves.
    #[getter]
    fn kernel_address(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive(py)?;
        Ok(self.data() as usize)
    }

    /// Whether `free()` was called.
    #[getter]
    pub fn is_freed(&self) -> bool {
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
        trace::give_up();
        self.finish_uses(py)?;
        self.pin();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("strides", self.strides(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        interface.set_item("data", (self.data() as usize, self.is_read_only))?;
        Ok(interface)
    }

    /// The CUDA array interface, version 3; for arrays on a CUDA device only.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.device_kind() != DeviceKind::Cuda {
            // What `hasattr` understands.
            return Err(PyAttributeError::new_err(format!(
                "the array is on {}, not on a CUDA device",
                self.device()
            )));
        }
        self.check_alive(py)?;
        trace::give_up();
        self.lend();
        self.pin();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("strides", self.strides(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        interface.set_item("data", (self.data() as usize, self.is_read_only))?;
        if let Some(device) = self.hal_device() {
            // Consumers wait for this one stream, so it is made to wait for the others first.
            let handle = device.default_stream().native_handle();
            if let Some(handle) = handle {
                lender::order_before(py, &device, Some(handle as i64))?;
            }
            interface.set_item("stream", handle)?;
        }
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
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check_alive(py)?;
        trace::give_up();
        let own = self.dlpack_device();
        if copy == Some(true)
            || dl_device.is_some_and(|wanted| wanted != (own.device_type, own.device_id))
        {
            return Err(PyBufferError::new_err(
                "the array is lent only where it is and without a copy; use .numpy()",
            ));
        }
        if own.device_type == DEVICE_CPU && stream.is_some_and(|stream| stream != -1) {
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
        if own.device_type == DEVICE_CPU {
            self.finish_uses(py)?;
        } else if let Some(device) = self.hal_device() {
            graph::check_not_recording(py, "lending memory of a GPU")?;
            self.lend();
            lender::order_before(py, &device, stream)?;
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

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
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

    /// The only value, as a number of Python's.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_single(py)?;
        self.numpy(py)?.call_method0("item")
    }

    /// A copy in host memory.
    pub fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_alive(py)?;
        graph::check_not_recording(py, "reading an array")?;
        trace::give_up();
        if !is_contiguous(&self.shape, &self.strides) && self.device_kind() != DeviceKind::Cpu {
            return Err(raise(
                py,
                ErrorCode::NotContiguous,
                Language::Rust,
                "only contiguous arrays of a GPU are copied to the host",
            ));
        }
        if !is_contiguous(&self.shape, &self.strides) {
            let view = Py::new(py, self.view(self.shape.clone(), self.strides.clone()))?;
            if self.dtype != Dtype::BF16 {
                let numpy = py.import("numpy")?;
                return numpy
                    .call_method1("from_dlpack", (view,))?
                    .call_method0("copy");
            }
            // NumPy takes no bfloat16 through DLPack.
            let host = self.empty_host(py)?;
            let same_order = (0..self.shape.len() as i64).collect();
            let view = view.bind(py).as_any();
            return transpose(py, view, Some(same_order), Some(&host), None);
        }
        let host = self.empty_host(py)?;
        let Some(operand) = Operand::borrow(&host, None)? else {
            return Err(raise(
                py,
                ErrorCode::Internal,
                Language::Rust,
                "numpy.empty made no array",
            ));
        };
        self.finish_uses(py)?;
        let own = self.hal_device();
        let (from, to) = (self.side(own.as_ref()), host_side(&operand));
        // Another thread may free the array meanwhile.
        let _held = self.keep();
        // SAFETY: both hold the bytes of this shape and dtype, and live until the wait is over.
        py.detach(|| unsafe { transfer::copy(&to, &from, self.bytes() as u64) })
            .into_py_result(py)?;
        Ok(host)
    }

    /// Copy `source`, an array of the same shape and dtype, into this one; both may be on any device.
    fn copy_from(slf: &Bound<'_, Self>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let this = slf.get();
        this.check_writable(py)?;
        let Some(operand) = Operand::borrow(source, None)? else {
            let message = format!(
                "copy_from needs an array, not {}",
                source.get_type().name()?
            );
            return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
        };
        this.check_same(py, &operand)?;
        let lent = operand.device(py)?;
        let own = this.hal_device();
        let to = this.side(own.as_ref());
        let from = Side {
            address: DevicePointer(operand.data.expose_provenance() as u64),
            device: lent.as_ref(),
        };
        let bytes = this.bytes() as u64;
        if graph::is_recording() {
            let device = this.recording_device(py)?;
            let (direction, _) = transfer::direction(&to, &from);
            let gpu = operand.place.gpu();
            if gpu.is_some() && gpu != this.device_name() {
                let what = "copying between devices";
                return graph::check_not_recording(py, what);
            }
            let addresses = (to.address, from.address);
            graph::record_uses(&[this.keep()]);
            if let Ok(source) = source.cast::<Self>() {
                graph::record_uses(&[source.get().keep()]);
            }
            let owners = vec![slf.clone().unbind().into_any(), source.clone().unbind()];
            return graph::record_copy(py, device, addresses, bytes, direction, owners);
        }
        this.finish_uses(py)?;
        let _held = this.keep();
        // SAFETY: shape and dtype were compared, so both sides hold `bytes` bytes; they live until the wait is over.
        py.detach(|| unsafe { transfer::copy(&to, &from, bytes) })
            .into_py_result(py)
    }

    /// Set every element to `value`, a number that the dtype holds.
    fn fill(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().check_writable(slf.py())?;
        let element = element_bytes(slf, value)?;
        fill(slf, &element)
    }

    /// Set every byte to `value` (0 to 255).
    fn fill_bytes(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = numbers::byte)] value: i64,
    ) -> PyResult<()> {
        let py = slf.py();
        slf.get().check_writable(py)?;
        let byte = u8::try_from(value).map_err(|_| {
            let message = format!("fill_bytes sets bytes; {value} is not in 0 to 255");
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })?;
        fill(slf, &[byte])
    }

    /// Arrays have no operators yet, so what `==` means elsewhere is refused rather than answered with the identity of two objects.
    fn __richcmp__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let sign = match operator {
            CompareOp::Eq if !other.is_none() => "==",
            CompareOp::Ne if !other.is_none() => "!=",
            _ => return Ok(py.NotImplemented()),
        };
        let message = format!(
            "an amdgpu.Array is not compared with `{sign}`: compare host copies, as in a.numpy() {sign} b.numpy(), or objects with `is`"
        );
        Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message))
    }

    /// By identity: arrays can be keys.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        // Objects begin at multiples of 16, whose low bits tell nothing.
        slf.as_ptr().addr().rotate_right(4).cast_signed()
    }

    /// The same memory under another shape; one extent may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        self.check_alive(py)?;
        let shape = numbers::extents(shape)?;
        let resolved = self.resolved_shape(py, &shape)?;
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

    /// Wait for what was queued on the array: operations, and launches in streams; raises what a kernel among them left. Reading the array waits
    /// by itself.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.check_alive(py)?;
        graph::check_not_recording(py, "waiting for an array")?;
        trace::give_up();
        if let Some(device) = self.open_device() {
            py.detach(|| device.settle()).into_py_result(py)?;
        }
        self.finish_uses(py)
    }

    /// Refuse all further use and give the memory back: at once, or when the last view or borrower is gone. Borrowers through an array
    /// interface hold the array object itself, and the memory is theirs for as long as they have it. Freeing twice is an error.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_freed.swap(true, Ordering::AcqRel) {
            return Err(raise(
                py,
                ErrorCode::UseAfterFree,
                Language::Rust,
                "the array was freed already",
            ));
        }
        if let Memory::Block { block, .. } = &self.storage.memory
            && Arc::strong_count(&self.storage) == 1
            && !self.storage.is_pinned.load(Ordering::Acquire)
        {
            drop(block.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        Ok(())
    }
}
