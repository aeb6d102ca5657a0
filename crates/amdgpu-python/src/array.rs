//! `amdgpu.Array`: the array of the core as a Python object.

mod bytes;
mod copies;
mod element;
mod indexing;
mod lending;
mod operators;
pub mod picking;
pub mod views;

use std::ops::Deref;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array::{self as core, recording, tracing};
use amdgpu_ops::strided;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyInt, PyTuple};

use crate::array::element::{dtype_of, element_bytes, is_integer};
use crate::errors::{IntoPyResult, raise};
use crate::graph;
use crate::numbers;
use crate::operand::{Operand, to_numpy_dtype};

/// Memory of a device seen as an n-dimensional array, row-major when made here.
#[pyclass(frozen, module = "amdgpu", weakref)]
pub struct Array {
    inner: core::Array,
}

impl Deref for Array {
    type Target = core::Array;

    fn deref(&self) -> &core::Array {
        &self.inner
    }
}

impl From<core::Array> for Array {
    fn from(inner: core::Array) -> Self {
        Self { inner }
    }
}

impl Array {
    /// Memory of another library.
    pub fn adopt(py: Python<'_>, operand: Operand<'_>) -> PyResult<Self> {
        operand.into_array(py).map(Self::from)
    }

    /// An array of NumPy's of this shape and dtype, whose elements are not set.
    fn empty_host<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?
            .call_method1("empty", (self.shape(py)?, self.dtype(py)?))
    }

    fn check_host(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        self.check_alive().into_py_result(py)?;
        if !self.is_host_visible() {
            let message = format!(
                "{what} needs host memory; this array is on {}: use .numpy()",
                self.device_name()
            );
            return Err(raise(py, ErrorCode::WrongDevice, Language::Rust, &message));
        }
        Ok(())
    }

    /// Waits for what streams were given to do with the memory.
    pub fn settle_uses(&self, py: Python<'_>) -> PyResult<()> {
        if !self.has_uses() {
            return Ok(());
        }
        py.detach(|| self.finish_uses()).into_py_result(py)
    }
}

#[pymethods]
impl Array {
    /// Extent of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.inner.shape)
    }

    /// In bytes, as NumPy counts them.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let item_bytes = self.itemsize() as i64;
        PyTuple::new(
            py,
            self.inner.strides.iter().map(|stride| stride * item_bytes),
        )
    }

    /// The NumPy dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(to_numpy_dtype(py, self.inner.dtype)?.into_any())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.shape.len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> i64 {
        self.inner.len()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.inner.dtype.size_bytes()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes()
    }

    /// Name of the device, for example `cpu:0`.
    #[getter]
    fn device(&self) -> &str {
        self.device_name()
    }

    /// Whether the host reads the memory at its address.
    #[getter]
    fn is_on_host(&self) -> bool {
        self.location().is_host_reachable()
    }

    /// Address of the first element on its device, which means nothing once the array is freed. Waits for work that still writes there, and from
    /// now on operations on this memory end before their call does, since whoever has the address may look at any time.
    #[getter]
    fn ptr(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive().into_py_result(py)?;
        if self.lend()
            && !recording::is_recording()
            && let Some(device) = self.open_device()
        {
            py.detach(|| device.settle()).into_py_result(py)?;
        }
        self.settle_uses(py)?;
        Ok(self.data() as usize)
    }

    /// The address for kernels of this package, which keep the order themselves.
    #[getter]
    fn kernel_address(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive().into_py_result(py)?;
        Ok(self.data() as usize)
    }

    /// Whether `free()` was called.
    #[getter(is_freed)]
    fn py_is_freed(&self) -> bool {
        self.is_freed()
    }

    /// Whether writing is refused.
    #[getter(is_read_only)]
    fn py_is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// NumPy's array interface, version 3; for host memory only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.check_host(py, "__array_interface__")?;
        tracing::check_values_unseen("reading an array", self.storage().is_traced())
            .into_py_result(py)?;
        self.settle_uses(py)?;
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
        lending::cuda_interface(self, py)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let host = if this.is_host_visible() && copy != Some(true) {
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
        lending::dlpack_capsule(self, py, stream, max_version, dl_device, copy)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let own = self.dlpack_device();
        (own.device_type, own.device_id)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.inner.shape.first() {
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

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.item(py)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !is_integer(self.inner.dtype) {
            let message = "only arrays of one integer are indices";
            return Err(raise(py, ErrorCode::InvalidType, Language::Rust, message));
        }
        self.item(py)?.call_method0("__index__")
    }

    fn __repr__(&self) -> String {
        let state = if self.is_freed() { " freed" } else { "" };
        let dtype = self.inner.dtype.name().unwrap_or("?");
        format!(
            "<amdgpu.Array shape={:?} dtype={dtype} device={}{state}>",
            self.inner.shape.as_slice(),
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
        copies::to_host(self, py)
    }

    /// Copy `source`, an array of the same shape and dtype, into this one; both may be on any device.
    fn copy_from(slf: &Bound<'_, Self>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        copies::copy_from(slf, source)
    }

    /// Set every element to `value`, a number that the dtype holds.
    fn fill(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().check_writable().into_py_result(slf.py())?;
        let (py, element) = (slf.py(), element_bytes(slf, value)?);
        let this = slf.get();
        py.detach(|| strided::fill(&this.inner, &element))
            .into_py_result(py)
    }

    /// Set every byte to `value` (0 to 255).
    fn fill_bytes(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = numbers::byte)] value: i64,
    ) -> PyResult<()> {
        let py = slf.py();
        slf.get().check_writable().into_py_result(py)?;
        let byte = u8::try_from(value).map_err(|_| {
            let message = format!("fill_bytes sets bytes; {value} is not in 0 to 255");
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })?;
        let this = slf.get();
        py.detach(|| strided::fill(&this.inner, &[byte]))
            .into_py_result(py)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::comparison(operator).binary(slf, other)
    }

    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::ADD.binary(slf, other)
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::ADD.binary(other, slf)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::ADD.in_place(slf, other)
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::SUBTRACT.binary(slf, other)
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::SUBTRACT.binary(other, slf)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::SUBTRACT.in_place(slf, other)
    }

    fn __mul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::MULTIPLY.binary(slf, other)
    }

    fn __rmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::MULTIPLY.binary(other, slf)
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::MULTIPLY.in_place(slf, other)
    }

    fn __truediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::DIVIDE.binary(slf, other)
    }

    fn __rtruediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::DIVIDE.binary(other, slf)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::DIVIDE.in_place(slf, other)
    }

    fn __floordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::FLOOR_DIVIDE.binary(slf, other)
    }

    fn __rfloordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::FLOOR_DIVIDE.binary(other, slf)
    }

    fn __ifloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::FLOOR_DIVIDE.in_place(slf, other)
    }

    fn __mod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::REMAINDER.binary(slf, other)
    }

    fn __rmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::REMAINDER.binary(other, slf)
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::REMAINDER.in_place(slf, other)
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::AND.binary(slf, other)
    }

    fn __rand__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::AND.binary(other, slf)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::AND.in_place(slf, other)
    }

    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::OR.binary(slf, other)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::OR.binary(other, slf)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::OR.in_place(slf, other)
    }

    fn __xor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::XOR.binary(slf, other)
    }

    fn __rxor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::XOR.binary(other, slf)
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::XOR.in_place(slf, other)
    }

    fn __lshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::LEFT_SHIFT.binary(slf, other)
    }

    fn __rlshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::LEFT_SHIFT.binary(other, slf)
    }

    fn __ilshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::LEFT_SHIFT.in_place(slf, other)
    }

    fn __rshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::RIGHT_SHIFT.binary(slf, other)
    }

    fn __rrshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::RIGHT_SHIFT.binary(other, slf)
    }

    fn __irshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::RIGHT_SHIFT.in_place(slf, other)
    }

    fn __matmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::MATMUL.binary(slf, other)
    }

    fn __rmatmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::MATMUL.binary(other, slf)
    }

    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operators::MATMUL.in_place(slf, other)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::power(slf, other, modulo)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operators::power(other, slf, modulo)
    }

    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        operators::POWER.in_place(slf, other)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        operators::NEGATIVE.unary(slf)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        operators::POSITIVE.unary(slf)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        operators::ABSOLUTE.unary(slf)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        operators::INVERT.unary(slf)
    }

    /// A view for integers, slices, `None` and `...`; a copy for arrays of integers or truth values.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        indexing::get(slf, key)
    }

    fn __setitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        indexing::set(slf, key, values)
    }

    /// By identity: arrays can be keys.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        // Objects begin at multiples of 16, whose low bits tell nothing.
        slf.as_ptr().addr().rotate_right(4).cast_signed()
    }

    /// The same elements under another shape, one extent of which may be -1: a view where the memory allows it, else a copy. `copy` asks for
    /// a copy (True) or refuses one (False).
    #[pyo3(signature = (*shape, copy=None))]
    fn reshape<'py>(
        slf: &Bound<'py, Self>,
        shape: &Bound<'py, PyTuple>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, Self>> {
        views::reshape(slf, &numbers::extents(shape)?, copy)
    }

    /// The same memory as elements of another dtype; where those have another size, the last axis is cut or joined.
    fn view(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = dtype.py();
        self.check_alive().into_py_result(py)?;
        let view = self.inner.viewed_as(dtype_of(dtype)?).into_py_result(py)?;
        Ok(Self::from(view))
    }

    /// The view with axes in another order; without arguments they are reversed.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, py: Python<'_>, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let axes = numbers::extents(axes)?;
        if axes.is_empty() {
            return Ok(Self::from(self.transposed()));
        }
        self.permuted(&axes).map(Self::from).into_py_result(py)
    }

    /// The view with its axes reversed.
    #[getter(T)]
    fn reversed_axes(&self) -> Self {
        Self::from(self.transposed())
    }

    /// The real parts, in the same memory.
    #[getter(real)]
    fn real_part<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        views::part(slf, false)
    }

    /// The imaginary parts, in the same memory; zeros where the numbers are real.
    #[getter(imag)]
    fn imaginary_part<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        views::part(slf, true)
    }

    /// The view with its last two axes swapped.
    #[getter(mT)]
    fn matrix_transpose(&self, py: Python<'_>) -> PyResult<Self> {
        views::matrix_transpose(self)
            .map(Self::from)
            .into_py_result(py)
    }

    /// A read-only view of another shape: axes of extent 1 and new axes are repeated.
    #[pyo3(signature = (*shape))]
    fn broadcast_to(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let shape = numbers::extents(shape)?;
        self.inner
            .broadcast_to(&shape)
            .map(Self::from)
            .into_py_result(py)
    }

    /// The view without axes of extent 1: those named, or all.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let named = numbers::axes(axis)?;
        self.squeezed(named.as_deref())
            .map(Self::from)
            .into_py_result(py)
    }

    /// The view with new axes of extent 1 at these places of the result.
    fn expand_dims(&self, py: Python<'_>, axis: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let places = numbers::axes(Some(axis))?.unwrap_or_default();
        self.expanded(&places).map(Self::from).into_py_result(py)
    }

    /// The view with its elements in opposite order along these axes, or all.
    #[pyo3(signature = (axis=None))]
    fn flip(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let named = numbers::axes(axis)?;
        self.flipped(named.as_deref())
            .map(Self::from)
            .into_py_result(py)
    }

    /// The read-only view of the elements whose indices along two axes differ by `offset`, as its last axis.
    #[pyo3(signature = (offset=0, axis1=0, axis2=1))]
    fn diagonal(&self, py: Python<'_>, offset: i64, axis1: i64, axis2: i64) -> PyResult<Self> {
        self.check_alive().into_py_result(py)?;
        let mut view = self
            .inner
            .diagonal(offset, (axis1, axis2))
            .into_py_result(py)?;
        view.is_read_only = true;
        Ok(Self::from(view))
    }

    /// Whether elements follow each other in row-major order without gaps.
    #[getter]
    fn is_contiguous(&self) -> bool {
        self.inner.is_contiguous()
    }

    /// A row-major copy on the same device.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        indexing::cast(slf, slf.get().inner.dtype)
    }

    /// The values in another dtype, converted as a cast of C does; without `copy`, the array itself where it has the dtype already.
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        copy: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let wanted = dtype_of(dtype)?;
        if !copy && wanted == slf.get().inner.dtype {
            return Ok(slf.clone());
        }
        indexing::cast(slf, wanted)
    }

    /// Wait for what was queued on the array: operations, and launches in streams; raises what a kernel among them left. Reading the array waits
    /// by itself.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.check_alive().into_py_result(py)?;
        graph::check_not_recording(py, "waiting for an array")?;
        py.detach(|| self.inner.wait()).into_py_result(py)
    }

    /// Refuse all further use and give the memory back: at once, or when the last view or borrower is gone. Borrowers through an array
    /// interface hold the array object itself, and the memory is theirs for as long as they have it. Freeing twice is an error.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.free().into_py_result(py)
    }
}
