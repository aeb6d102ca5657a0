//! Fast path: handles common calls natively and forwards all others to the Python function.
//!
//! A Python function that hands its arguments on to a native one takes a quarter of a microsecond before anything is computed: NumPy adds a
//! thousand numbers in twice that. An object of this type replaces the function, with its name, documentation and signature
//! (`functools.update_wrapper`). A call asks its [`FastPath`] first; what that does not take goes to the function with the very same
//! arguments.
//!
//! The type is made by hand, because classes of `PyO3` are called with a tuple and a dictionary, which would be made for each call. This one
//! has the vectorcall protocol (PEP 590), which heap types have through the member `__vectorcalloffset__` since Python 3.9.

mod choice;

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

pub use choice::{Choice, DeviceChoice, forget_choices, is_on_host};

/// `Py_TPFLAGS_HAVE_VECTORCALL` of object.h, which names it for the stable interface of Python 3.12 only; the flag is that of 3.8.
const HAVE_VECTORCALL: u64 = 1 << 11;
/// `PY_VECTORCALL_ARGUMENTS_OFFSET`, as above: the bit of the number of arguments that says whether the place before them is free.
const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// What a function does where its arguments are usual.
pub trait FastPath: Send + Sync {
    /// The result; `None` for everything that the Python function has to look at.
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>>;
}

/// Arguments of a call, borrowed from the caller.
pub struct Arguments<'a, 'py> {
    pub positional: &'a [Bound<'py, PyAny>],
    keywords: &'a [Bound<'py, PyAny>],
    /// Of the keywords, in the same order.
    names: Option<&'a Bound<'py, PyTuple>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// The values of these parameters: `first` are those of the first ones, the others are given by name. `None` where another name is given,
    /// or a parameter twice. Names are the same objects wherever source text has them; `names` is asked where any are given.
    #[inline]
    pub fn bind<'n, const N: usize>(
        &self,
        names: impl FnOnce() -> [&'n Bound<'py, PyString>; N],
        first: &'a [Bound<'py, PyAny>],
    ) -> Option<[Option<&'a Bound<'py, PyAny>>; N]>
    where
        'py: 'n,
    {
        let mut values = [None; N];
        if first.len() > N {
            return None;
        }
        for (place, value) in values.iter_mut().zip(first) {
            *place = Some(value);
        }
        let Some(given) = self.names else {
            return Some(values);
        };
        let names = names();
        for (index, value) in self.keywords.iter().enumerate() {
            let name = given.get_borrowed_item(index).ok()?;
            let place = names
                .iter()
                .position(|known| known.as_ptr() == name.as_ptr())?;
            if values[place].replace(value).is_some() {
                return None;
            }
        }
        Some(values)
    }

    fn call(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let positional = PyTuple::new(function.py(), self.positional)?;
        let Some(names) = self.names else {
            return function.call1(positional);
        };
        let keywords = PyDict::new(function.py());
        for (name, value) in names.iter().zip(self.keywords) {
            keywords.set_item(name, value)?;
        }
        function.call(positional, Some(&keywords))
    }
}

#[repr(C)]
struct Object {
    head: ffi::PyObject,
    vectorcall: ffi::vectorcallfunc,
    dict: *mut ffi::PyObject,
    weak_references: *mut ffi::PyObject,
    general: Py<PyAny>,
    path: Box<dyn FastPath>,
}

/// The type of all objects with a fast path, once there is one.
static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `general` with a fast path in front of it.
pub fn new<'py>(
    general: &Bound<'py, PyAny>,
    path: Box<dyn FastPath>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = general.py();
    let kind = TYPE.get_or_try_init(py, || make_type(py))?.bind(py);
    // SAFETY: the type makes objects of the size of `Object`; every field without a meaning as zeros is written before anybody sees it.
    unsafe {
        let made = ffi::PyType_GenericAlloc(kind.as_type_ptr(), 0);
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let object = made.as_ptr().cast::<Object>();
        (&raw mut (*object).vectorcall).write(call);
        (&raw mut (*object).general).write(general.clone().unbind());
        (&raw mut (*object).path).write(path);
        Ok(made)
    }
}

/// `function(*positional)`, which makes no tuple of the arguments where the function is one of this module.
pub fn call_positional<'py>(
    function: &Bound<'py, PyAny>,
    positional: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let arguments = Arguments {
        positional,
        keywords: &[],
        names: None,
    };
    // SAFETY: the object lives.
    let own = unsafe { ffi::Py_TYPE(function.as_ptr()) };
    if TYPE.get(py).is_none_or(|kind| kind.as_ptr() != own.cast()) {
        return arguments.call(function);
    }
    // SAFETY: the type was compared, and whoever holds the function keeps the object and its path.
    let object = unsafe { &*function.as_ptr().cast::<Object>() };
    match object.path.take(py, &arguments)? {
        Some(result) => Ok(result),
        None => arguments.call(object.general.bind(py)),
    }
}

/// What Python keeps the address of.
struct Tables {
    members: [ffi::PyMemberDef; 4],
    methods: [ffi::PyMethodDef; 2],
    attributes: [ffi::PyGetSetDef; 2],
}

fn make_type(py: Python<'_>) -> PyResult<Py<PyType>> {
    let offset = |name: &'static std::ffi::CStr, offset: usize| ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset as isize,
        flags: ffi::Py_READONLY,
        doc: null_mut(),
    };
    // Lives as long as the type, which lives as long as the process.
    let tables = Box::leak(Box::new(Tables {
        members: [
            offset(c"__vectorcalloffset__", offset_of!(Object, vectorcall)),
            offset(c"__dictoffset__", offset_of!(Object, dict)),
            offset(c"__weaklistoffset__", offset_of!(Object, weak_references)),
            ffi::PyMemberDef::default(),
        ],
        methods: [
            ffi::PyMethodDef {
                ml_name: c"__reduce__".as_ptr(),
                ml_meth: ffi::PyMethodDefPointer {
                    PyCFunction: reduce,
                },
                ml_flags: ffi::METH_NOARGS,
                ml_doc: c"By name, as functions are pickled.".as_ptr(),
            },
            ffi::PyMethodDef::zeroed(),
        ],
        attributes: [
            ffi::PyGetSetDef {
                name: c"__dict__".as_ptr(),
                get: Some(ffi::PyObject_GenericGetDict),
                set: Some(ffi::PyObject_GenericSetDict),
                doc: null_mut(),
                closure: null_mut(),
            },
            ffi::PyGetSetDef::default(),
        ],
    }));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, deallocate as *mut c_void),
        slot(ffi::Py_tp_call, call_general as *mut c_void),
        slot(ffi::Py_tp_repr, represent as *mut c_void),
        slot(ffi::Py_tp_descr_get, bound as *mut c_void),
        slot(ffi::Py_tp_members, tables.members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_methods, tables.methods.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, tables.attributes.as_mut_ptr().cast()),
        ffi::PyType_Slot::default(),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
        | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR
        | HAVE_VECTORCALL;
    let mut specification = ffi::PyType_Spec {
        name: c"amdgpu._native.FastCall".as_ptr(),
        basicsize: size_of::<Object>() as c_int,
        itemsize: 0,
        flags: flags as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the description is whole, its tables live on, and the functions have the signatures of their slots.
    let made =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut specification)) }?;
    Ok(made.cast_into::<PyType>()?.unbind())
}

/// # Safety
///
/// As for a function of the vectorcall protocol, called by Python on an `Object`.
unsafe extern "C" fn call(
    callable: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls with the interpreter held, an object of this type, as many values as `count` and the names say, and a tuple of
    // names or null. `Bound` is a pointer that is never null; these are borrowed, so none is dropped.
    unsafe {
        let py = Python::assume_attached();
        let object = &*callable.cast::<Object>();
        let names = (!names.is_null()).then(|| &*(&raw const names).cast::<Bound<'_, PyTuple>>());
        let (positional, keywords) = (
            count & !ARGUMENTS_OFFSET,
            names.map_or(0, |names| ffi::PyTuple_Size(names.as_ptr()) as usize),
        );
        let all: &[Bound<'_, PyAny>] = if positional + keywords == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(values.cast(), positional + keywords)
        };
        let (positional, keywords) = all.split_at(positional);
        let arguments = Arguments {
            positional,
            keywords,
            names,
        };
        answer(py, || match object.path.take(py, &arguments)? {
            Some(result) => Ok(result),
            None => arguments.call(object.general.bind(py)),
        })
    }
}

/// The outcome as Python expects it: a new reference, or null with an exception set.
fn answer<'py>(
    py: Python<'py>,
    act: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> *mut ffi::PyObject {
    let error = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(result)) => return result.into_ptr(),
        Ok(Err(error)) => error,
        Err(payload) => {
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
            PanicException::new_err((text.unwrap_or_else(|| "panic from Rust code".to_owned()),))
        }
    };
    error.restore(py);
    null_mut()
}

/// The slot that `type(function).__call__` reaches; calls of the object itself come by vectorcall.
///
/// # Safety
///
/// Called by Python on an `Object`.
unsafe extern "C" fn call_general(
    object: *mut ffi::PyObject,
    positional: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as promised; both are what `PyObject_Call` expects.
    unsafe { ffi::PyObject_Call(general(object), positional, keywords) }
}

/// What an attribute of a class is for an object of it: a method, as functions of Python become.
///
/// # Safety
///
/// Called by Python on an `Object`.
unsafe extern "C" fn bound(
    object: *mut ffi::PyObject,
    instance: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    static METHOD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    // SAFETY: as promised; both are borrowed, and there is an instance but where the attribute of the class itself is asked for.
    unsafe {
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, object);
        let instance = Bound::from_borrowed_ptr_or_opt(py, instance);
        answer(py, || {
            match instance.filter(|instance| !instance.is_none()) {
                Some(instance) => METHOD
                    .import(py, "types", "MethodType")?
                    .call1((object, instance)),
                None => Ok(object),
            }
        })
    }
}

/// # Safety
///
/// Called by Python on an `Object`.
unsafe extern "C" fn represent(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    unsafe { ffi::PyObject_Repr(general(object)) }
}

/// # Safety
///
/// Called by Python on an `Object`.
unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    unsafe { ffi::PyObject_GetAttrString(general(object), c"__qualname__".as_ptr()) }
}

/// # Safety
///
/// `object` is an `Object`.
unsafe fn general(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    unsafe { (*object.cast::<Object>()).general.as_ptr() }
}

/// # Safety
///
/// Called by Python on an `Object` that nobody refers to.
unsafe extern "C" fn deallocate(object: *mut ffi::PyObject) {
    // SAFETY: as promised: the fields are dropped once, then the memory goes back the way the type gave it, and the object's reference to
    // its type with it.
    unsafe {
        let fields = object.cast::<Object>();
        if !(*fields).weak_references.is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        ffi::Py_XDECREF((*fields).dict);
        std::ptr::drop_in_place(&raw mut (*fields).general);
        std::ptr::drop_in_place(&raw mut (*fields).path);
        let kind = ffi::Py_TYPE(object);
        let free: ffi::freefunc = std::mem::transmute(ffi::PyType_GetSlot(kind, ffi::Py_tp_free));
        free(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}
