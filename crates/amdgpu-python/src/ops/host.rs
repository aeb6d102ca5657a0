//! Arguments and results of operations in memory of the host.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::layout::DTYPE_BFLOAT;
use amdgpu_abi::promotion::promote;
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{self as core, Dims, Storage};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{MAX_INPUTS, TensorView, TensorViewMut};
use amdgpu_ops::cpu::{HOST, Host, HostMemory};
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use arrayvec::ArrayVec;
use numpy::npyffi::{self, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

use crate::array::Array;
use crate::errors::{from_coded, raise};
use crate::operand::{Operand, exact_numpy, new_array, numpy_memory, plain_dtype, to_numpy_dtype};
use crate::ops::number::{self, dtype_beside, is_number, is_plain_number};

/// Additions up to which a call is brief: a few microseconds.
const BRIEF_ADDITIONS: u64 = 1 << 14;
/// Additions up to which the interpreter is kept: about 20 us on one core, and giving it away costs other calls less than they wait.
const KEEPING_ADDITIONS: u64 = 1 << 15;

const READ_ONLY: &str = "out is read-only";

/// Memory that an argument lends for the duration of a call. Small: thousands of them are made in a millisecond.
pub enum Argument<'a, 'py> {
    /// An array of `NumPy`'s.
    NumPy(NumPy<'a>),
    /// An array of ours, and whether it is without gaps.
    Own(&'a core::Array, bool),
    /// A number as an element of a dtype.
    Number(u64, Dtype),
    /// Memory of any other object, which this keeps alive.
    Borrowed(Box<Operand<'py>>),
}

/// An array of `NumPy`'s, as far as operations look at it.
pub struct NumPy<'a> {
    data: *mut c_void,
    dtype: Dtype,
    shape: &'a [i64],
    /// In elements; `None` for the row-major order without gaps. Apart, so that arguments stay small.
    strides: Option<Box<Dims>>,
    is_writable: bool,
}

impl<'a> NumPy<'a> {
    /// `None` for dtypes and strides that operations do not take.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `Argument::plain`")]
    fn of(array: &'a Bound<'_, PyUntypedArray>) -> Option<Self> {
        // SAFETY: this is an array object, whose fields are set for its whole life. `Bound` is a pointer that is never null; this one is
        // borrowed, since counting a reference takes as long as looking at the dtype.
        let (data, flags, descr) = unsafe {
            let fields = npyffi::_PyArray_GET_ITEM_DATA(array.as_array_ptr());
            let descr = &*(&raw const (*fields).descr).cast::<Bound<'_, PyArrayDescr>>();
            ((*fields).data, (*fields).flags, descr)
        };
        let dtype = plain_dtype(descr.num())?;
        if descr.is_native_byteorder() == Some(false) {
            return None;
        }
        let strides = if flags & NPY_ARRAY_C_CONTIGUOUS != 0 {
            None
        } else {
            let item_bytes = dtype.size_bytes() as isize;
            let of =
                |stride: &isize| (stride % item_bytes == 0).then_some((stride / item_bytes) as i64);
            Some(Box::new(
                array.strides().iter().map(of).collect::<Option<Dims>>()?,
            ))
        };
        let extents = array.shape();
        Some(Self {
            data: data.cast(),
            dtype,
            // SAFETY: extents are not negative and have the width of a pointer: 64 bits on the targets of this package.
            shape: unsafe {
                std::slice::from_raw_parts(extents.as_ptr().cast::<i64>(), extents.len())
            },
            strides,
            is_writable: flags & NPY_ARRAY_WRITEABLE != 0,
        })
    }
}

impl<'a, 'py> Argument<'a, 'py> {
    /// An array that needs no conversion and nothing to be kept; `None` for every other object.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a value that is returned in memory and moved on waits for its own stores: 10 ns for each argument"
    )]
    pub fn plain(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        if let Some(array) = exact_numpy(object) {
            return NumPy::of(array).map(Self::NumPy);
        }
        let array: &core::Array = object.cast_exact::<Array>().ok()?.get();
        let is_plain = array.is_plain_host()
            && !array.is_freed()
            // Streams may be at work on it: those are waited for.
            && !array.has_uses();
        is_plain.then(|| Self::Own(array, array.is_contiguous()))
    }

    /// The memory, for as long as the argument is held.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `plain`")]
    pub fn view(&self) -> TensorView<'_> {
        let (data, dtype, shape, strides): (_, _, &[i64], Option<&[i64]>) = match self {
            Self::NumPy(array) => (
                array.data,
                array.dtype,
                array.shape,
                array.strides.as_deref().map(Dims::as_slice),
            ),
            Self::Own(array, is_dense) => {
                let strides = (!is_dense).then_some(array.strides.as_slice());
                (array.data(), array.dtype, &array.shape, strides)
            }
            Self::Number(element, dtype) => (
                std::ptr::from_ref(element).cast_mut().cast(),
                *dtype,
                &[],
                None,
            ),
            Self::Borrowed(operand) => (
                operand.data,
                operand.dtype,
                &operand.shape,
                Some(&operand.strides),
            ),
        };
        // SAFETY: the argument keeps its memory alive, or its caller the object. Python code that writes to it during the call makes results
        // mixed, as with NumPy.
        let view = unsafe { TensorView::from_parts(data, dtype, HOST, shape, strides) };
        view.unwrap_or_else(|error| unreachable!("as many strides as extents: {error}"))
    }

    fn dtype(&self) -> Dtype {
        match self {
            Self::NumPy(array) => array.dtype,
            Self::Own(array, _) => array.dtype,
            Self::Number(_, dtype) => *dtype,
            Self::Borrowed(operand) => operand.dtype,
        }
    }
}

/// Arguments of one operation.
pub type Arguments<'a, 'py> = ArrayVec<Argument<'a, 'py>, MAX_INPUTS>;

/// Views of arguments, of which there are no more than elementwise operations have.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as `Argument::plain`")]
pub fn views<'a>(arguments: &'a [Argument<'_, '_>]) -> ArrayVec<TensorView<'a>, MAX_INPUTS> {
    let mut views = ArrayVec::new();
    for argument in arguments {
        views.push(argument.view());
    }
    views
}

/// An array argument: what lends memory is read where it is, the rest goes through `numpy.asarray`.
pub fn array<'a, 'py>(
    operation: &str,
    name: &str,
    object: &'a Bound<'py, PyAny>,
) -> PyResult<Argument<'a, 'py>> {
    match Argument::plain(object) {
        Some(argument) => Ok(argument),
        None => borrowed(operation, name, object),
    }
}

#[cold]
fn borrowed<'a, 'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Argument<'a, 'py>> {
    if let Some(operand) = Operand::borrow_host(object)? {
        return Ok(Argument::Borrowed(Box::new(operand)));
    }
    let operand = converted(operation, name, object)?;
    Ok(Argument::Borrowed(Box::new(operand)))
}

/// Enters for an operation on one array, which is brief where nothing has to be converted and [`Call::within`] is not told otherwise.
pub fn enter(boundary: &'static Boundary, object: &Bound<'_, PyAny>) -> BoundaryGuard {
    if Argument::plain(object).is_some() {
        return boundary.enter_brief();
    }
    boundary.enter()
}

/// What NumPy makes of an object that lends no memory.
#[cold]
pub fn converted<'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Operand<'py>> {
    let py = object.py();
    let refuse = |why: &str| {
        let message = format!("{operation}: {name} is no array of numbers: {why}");
        raise(py, ErrorCode::InvalidType, Language::Rust, &message)
    };
    let converted = py
        .import("numpy")?
        .call_method1("asarray", (object,))
        .map_err(|error| refuse(&error.value(py).to_string()))?;
    let kind = converted
        .getattr("dtype")?
        .getattr("kind")?
        .extract::<String>()?;
    if !"biufc".contains(&kind) {
        return Err(refuse(&format!(
            "it becomes {}",
            converted.getattr("dtype")?
        )));
    }
    Operand::borrow(&converted, None)?.ok_or_else(|| refuse("it lends no memory"))
}

/// Puts the arguments of an operation that takes numbers beside arrays into `made`, which is empty.
pub fn arrays_and_numbers<'a, 'py>(
    operation: &str,
    names: &[&str],
    objects: &'a [Bound<'py, PyAny>],
    made: &mut Arguments<'a, 'py>,
) -> PyResult<()> {
    if objects.len() > MAX_INPUTS {
        let message = format!(
            "{operation} takes {} inputs ({}), not {}",
            names.len(),
            names.join(", "),
            objects.len()
        );
        let code = ErrorCode::InvalidArgument;
        return Err(raise(objects[0].py(), code, Language::Rust, &message));
    }
    let mut has_numbers = false;
    for (index, object) in objects.iter().enumerate() {
        let argument = match Argument::plain(object) {
            Some(argument) => argument,
            None if is_number(object) => {
                has_numbers = true;
                // Until the dtype of the arrays beside it is known.
                Argument::Number(0, Dtype::BOOL)
            }
            None => borrowed(operation, name_at(names, index), object)?,
        };
        made.push(argument);
    }
    if has_numbers {
        return fill_numbers(operation, names, objects, made);
    }
    Ok(())
}

/// The same for inputs that are all plain: arrays that need no conversion, and numbers of Python's own types, which [`fill_numbers`] is left
/// to see to. Whether there are any; `None` where an input is not plain.
pub fn take_plain<'a, 'py>(
    objects: &'a [Bound<'py, PyAny>],
    made: &mut Arguments<'a, 'py>,
) -> Option<bool> {
    let mut has_numbers = false;
    for object in objects {
        let argument = match Argument::plain(object) {
            Some(argument) => argument,
            None if is_plain_number(object) => {
                has_numbers = true;
                Argument::Number(0, Dtype::BOOL)
            }
            None => return None,
        };
        made.push(argument);
    }
    Some(has_numbers)
}

fn name_at<'a>(names: &[&'a str], index: usize) -> &'a str {
    names.get(index).copied().unwrap_or("an input")
}

/// Gives numbers the dtype of the arrays beside them. The condition of `where` does not take part.
pub fn fill_numbers<'a, 'py>(
    operation: &str,
    names: &[&str],
    objects: &'a [Bound<'py, PyAny>],
    made: &mut [Argument<'a, 'py>],
) -> PyResult<()> {
    let is_beside = |index: usize| name_at(names, index) != "condition";
    let dtypes = made.iter().enumerate().filter_map(|(index, argument)| {
        let is_number = matches!(argument, Argument::Number(..));
        (!is_number && is_beside(index)).then(|| argument.dtype())
    });
    let common = dtypes.reduce(promote);
    for (index, argument) in made.iter_mut().enumerate() {
        if let Argument::Number(..) = argument {
            let beside = common.filter(|_| is_beside(index));
            *argument = number_beside(operation, name_at(names, index), &objects[index], beside)?;
        }
    }
    Ok(())
}

/// A number beside arrays of a dtype, or alone.
fn number_beside<'a, 'py>(
    operation: &str,
    name: &str,
    value: &Bound<'py, PyAny>,
    common: Option<Dtype>,
) -> PyResult<Argument<'a, 'py>> {
    let Some(common) = common else {
        return borrowed(operation, name, value);
    };
    let dtype = dtype_beside(value, common);
    if let Some(element) = number::element(value, dtype) {
        return Ok(Argument::Number(element, dtype));
    }
    if let Some(infinity) = number::beyond(operation, value, dtype)? {
        return Ok(Argument::Number(infinity.to_bits(), Dtype::F64));
    }
    let py = value.py();
    let descr = to_numpy_dtype(py, dtype)?;
    // ml_dtypes takes no integer beyond 64 bits for a bfloat16.
    let is_integer = dtype.code == DTYPE_BFLOAT && value.is_instance_of::<PyInt>();
    let taken = if is_integer {
        value.call_method0("__float__")
    } else {
        Ok(value.clone())
    };
    let made = taken
        .and_then(|taken| py.import("numpy")?.call_method1("array", (taken, descr)))
        .map_err(|error| number::refused(operation, name, value, Some(dtype), error))?;
    borrowed(operation, name, &made)
}

/// Why a call failed: what an operation refused, or an exception of Python's.
pub enum Failure {
    Refused(amdgpu_ops::Error),
    Raised(PyErr),
}

impl From<amdgpu_ops::Error> for Failure {
    fn from(error: amdgpu_ops::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// A call from Python, to which the CPU gives its result.
pub struct Call<'a, 'py> {
    py: Python<'py>,
    /// What messages call the operation.
    name: &'a str,
    /// What a message about `out` begins with.
    prefix: &'a str,
    inputs: &'a [Bound<'py, PyAny>],
    out: Option<&'a Bound<'py, PyAny>>,
    made: SmallVec<[Bound<'py, PyAny>; 1]>,
    /// Keeps the memory that `out` lends.
    borrowed: Option<Box<Operand<'py>>>,
    /// Told when the call is not brief.
    crossing: Option<&'a mut BoundaryGuard>,
}

impl<'a, 'py> Call<'a, 'py> {
    /// `inputs` are not empty; the first array of ours among them says which device a new result is on.
    #[inline]
    pub fn new(
        name: &'a str,
        inputs: &'a [Bound<'py, PyAny>],
        out: Option<&'a Bound<'py, PyAny>>,
    ) -> Self {
        Self {
            py: inputs[0].py(),
            name,
            prefix: name,
            inputs,
            out,
            made: SmallVec::new(),
            borrowed: None,
            crossing: None,
        }
    }

    /// The same within a crossing that is to be told when the call is not brief.
    #[inline]
    pub fn within(mut self, crossing: &'a mut BoundaryGuard) -> Self {
        self.crossing = Some(crossing);
        self
    }

    #[inline]
    fn expect(&mut self, additions: u64) {
        if additions > BRIEF_ADDITIONS
            && let Some(crossing) = &mut self.crossing
        {
            crossing.expect_long();
        }
    }

    /// The same with messages about `out` that do not name the operation.
    #[inline]
    pub fn unnamed(mut self) -> Self {
        self.prefix = "";
        self
    }

    /// The result, once it was computed.
    #[inline]
    pub fn finish<T>(mut self, done: Result<T, Failure>) -> PyResult<(Bound<'py, PyAny>, T)> {
        match done {
            Ok(done) => match self.made.pop() {
                Some(made) => Ok((made, done)),
                None => unreachable!("every operation asks for the memory of its result"),
            },
            Err(Failure::Raised(error)) => Err(error),
            Err(Failure::Refused(error)) => Err(from_coded(self.py, &error)),
        }
    }

    /// Two results, in the order in which they were asked for.
    pub fn finish_both(
        mut self,
        done: Result<(), Failure>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let first = (!self.made.is_empty()).then(|| self.made.remove(0));
        let (second, ()) = self.finish(done)?;
        match first {
            Some(first) => Ok((first, second)),
            None => unreachable!("the operation has two results"),
        }
    }

    /// Changes the memory of `out`, with work that takes as long as so many additions.
    pub fn write_out<T: Send>(
        &mut self,
        additions: u64,
        work: impl FnOnce(&mut TensorViewMut<'_>) -> amdgpu_ops::Result<T> + Send,
    ) -> Result<T, Failure> {
        let Some(out) = self.out else {
            unreachable!("the caller gave an array to change");
        };
        let mut memory = self.memory_of_out(out)?;
        self.made.push(out.clone());
        Ok(self.run(additions, || work(&mut memory.view_mut()?))?)
    }

    /// What to hold while the interpreter is given away: another thread may free arrays of ours meanwhile.
    #[inline(never)]
    fn storages(&self) -> Vec<Arc<Storage>> {
        let storage = |object: &Bound<'_, PyAny>| {
            let array = object.cast::<Array>().ok()?;
            Some(Arc::clone(array.get().storage()))
        };
        let objects = self.inputs.iter().chain(&self.made);
        objects.filter_map(storage).collect()
    }

    #[cold]
    fn refuse(&self, code: ErrorCode, why: &str) -> PyErr {
        let separator = if self.prefix.is_empty() { "" } else { ": " };
        let message = format!("{}{separator}{why}", self.prefix);
        raise(self.py, code, Language::Rust, &message)
    }

    fn memory_of_out(&mut self, out: &Bound<'py, PyAny>) -> PyResult<HostMemory> {
        let read_only = |call: &Self| call.refuse(ErrorCode::ReadOnly, READ_ONLY);
        match Argument::plain(out) {
            Some(Argument::NumPy(array)) => {
                if !array.is_writable {
                    return Err(read_only(self));
                }
                let strides = array.strides.map(|strides| *strides);
                Ok(memory(array.data, array.dtype, array.shape, strides))
            }
            Some(Argument::Own(array, is_dense)) => {
                if array.is_read_only {
                    return Err(read_only(self));
                }
                let strides = (!is_dense).then(|| array.strides.clone());
                Ok(memory(array.data(), array.dtype, &array.shape, strides))
            }
            _ => self.borrow_out(out),
        }
    }

    #[cold]
    fn borrow_out(&mut self, out: &Bound<'py, PyAny>) -> PyResult<HostMemory> {
        let operand = Operand::borrow_host(out)?.ok_or_else(|| {
            self.refuse(ErrorCode::InvalidType, "out must be an array to write to")
        })?;
        if !operand.is_writable {
            return Err(self.refuse(ErrorCode::ReadOnly, READ_ONLY));
        }
        let strides = (!operand.is_contiguous()).then(|| operand.strides.clone());
        let made = memory(operand.data, operand.dtype, &operand.shape, strides);
        self.borrowed = Some(Box::new(operand));
        Ok(made)
    }
}

/// Memory that is held by the caller of the operation, or by [`Call::borrowed`]; overlap with inputs is refused by the operation.
#[inline]
fn memory(data: *mut c_void, dtype: Dtype, shape: &[i64], strides: Option<Dims>) -> HostMemory {
    // SAFETY: as above; the callers checked that it is writable.
    unsafe {
        match strides {
            None => HostMemory::dense(data, dtype, shape),
            Some(strides) => HostMemory::strided(data, dtype, shape, strides),
        }
    }
}

impl Host for Call<'_, '_> {
    type Error = Failure;

    fn has_out(&self) -> bool {
        self.out.is_some()
    }

    #[inline]
    fn result(&mut self, shape: &[i64], dtype: Dtype, _: bool) -> Result<HostMemory, Failure> {
        if let Some(out) = self.out {
            let memory = self.memory_of_out(out)?;
            self.made.push(out.clone());
            return Ok(memory);
        }
        // Memory for a large result takes its time, too.
        let multiply = |len: u64, extent: &i64| len.saturating_mul(*extent as u64);
        self.expect(shape.iter().fold(1, multiply));
        for object in self.inputs {
            if let Some(made) = own_array_like(object, shape, dtype) {
                let made = made.map_err(amdgpu_ops::Error::from)?;
                let memory = memory(made.data(), dtype, shape, None);
                let object = Bound::new(self.py, Array::from(made))?;
                self.made.push(object.into_any());
                return Ok(memory);
            }
        }
        let made = match new_array(self.py, shape, dtype) {
            Some(made) => made,
            None => empty(self.py, self.name, shape, dtype)?,
        };
        let Some(array) = exact_numpy(&made) else {
            unreachable!("NumPy made the array");
        };
        let (data, _) = numpy_memory(array);
        self.made.push(made);
        Ok(memory(data, dtype, shape, None))
    }

    fn run<T: Send>(
        &mut self,
        additions: u64,
        work: impl FnOnce() -> amdgpu_ops::Result<T> + Send,
    ) -> amdgpu_ops::Result<T> {
        self.expect(additions);
        if additions <= KEEPING_ADDITIONS {
            return work();
        }
        let _held = self.storages();
        self.py.detach(work)
    }
}

/// A new array on the CPU device of `object`, if that is an array of ours there.
fn own_array_like(
    object: &Bound<'_, PyAny>,
    shape: &[i64],
    dtype: Dtype,
) -> Option<core::Result<core::Array>> {
    let array = object.cast_exact::<Array>().ok()?;
    let device = array.get().open_device()?;
    if !device.is_host_visible() {
        return None;
    }
    let shape = Dims::from_slice(shape);
    Some(core::Array::empty(device, shape, dtype, MemoryKind::Device))
}

/// A `NumPy` array whose elements are all written by the operation.
#[cold]
fn empty<'py>(
    py: Python<'py>,
    operation: &str,
    shape: &[i64],
    dtype: Dtype,
) -> PyResult<Bound<'py, PyAny>> {
    let descr = to_numpy_dtype(py, dtype)?;
    py.import("numpy")?
        .call_method1("empty", (PyTuple::new(py, shape)?, descr))
        .map_err(|error| {
            // NumPy says ValueError where the bytes cannot even be counted.
            if error.is_instance_of::<PyMemoryError>(py) || error.is_instance_of::<PyValueError>(py)
            {
                let message = format!(
                    "{operation}: no memory for a result of shape {shape:?} and dtype {}",
                    dtype.name().unwrap_or("of the inputs")
                );
                return raise(py, ErrorCode::OutOfMemory, Language::Rust, &message);
            }
            error
        })
}
