//! `amdgpu/_native.abi3.so`: what Python finds when it imports `amdgpu._native`.
//!
//! Contract
//! - The core and its Python bindings are in `libamdgpu.so`, so that a process which uses both Python and the C interface has them once
//!   (docs/adr/0010-one-library-for-c-and-python.md). This file opens that library and returns its module.
//! - A `libamdgpu.so` that the process has loaded already is used, wherever it came from, provided that it is of this version; otherwise the
//!   one in `amdgpu/_lib` is opened.
//! - Whatever keeps it from being used becomes an `ImportError` that names the file and the reason.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pyo3::ffi::{PyErr_SetString, PyExc_ImportError, PyObject};

/// Name in the library's own `DT_SONAME`, by which the loader knows it.
const LIBRARY: &CStr = c"libamdgpu.so";

type Init = unsafe extern "C" fn() -> *mut PyObject;
type Version = unsafe extern "C" fn() -> *const c_char;
/// Null, or why Python's symbols could not be bound.
type BindPython = unsafe extern "C" fn() -> *const c_char;

/// The entry point that Python looks for.
///
/// # Safety
///
/// Called by Python, with the interpreter held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__native() -> *mut PyObject {
    // SAFETY: Python calls this with the interpreter held, as the module's own initialiser expects.
    match open_library().and_then(|library| unsafe { library.initialise() }) {
        Ok(module) => module,
        Err(reason) => {
            let text = CString::new(reason.replace('\0', " ")).unwrap_or_default();
            // SAFETY: the interpreter is held; the text is copied.
            unsafe { PyErr_SetString(PyExc_ImportError, text.as_ptr()) };
            std::ptr::null_mut()
        }
    }
}

struct OpenLibrary {
    handle: *mut c_void,
    path: PathBuf,
}

impl OpenLibrary {
    fn symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle is open and the name ends with a null byte.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if address.is_null() {
            let (path, name) = (self.path.display(), name.to_string_lossy());
            return Err(format!(
                "{path} is not the library of this package: it has no `{name}`"
            ));
        }
        Ok(address)
    }

    /// The module.
    ///
    /// # Safety
    ///
    /// The interpreter is held.
    unsafe fn initialise(&self) -> Result<*mut PyObject, String> {
        // SAFETY: the symbols are functions of these types in every library that has the first of them.
        let (version, bind, init) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Version>(self.symbol(c"agpu_version")?),
                std::mem::transmute::<*mut c_void, BindPython>(self.symbol(c"agpu_python_bind")?),
                std::mem::transmute::<*mut c_void, Init>(self.symbol(c"PyInit__native")?),
            )
        };
        // SAFETY: the text is a constant of the library.
        let found = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
        if found != env!("CARGO_PKG_VERSION") {
            return Err(format!(
                "this process has loaded {} of version {found}, and the Python package is of version {}; install the same version of both",
                self.path.display(),
                env!("CARGO_PKG_VERSION")
            ));
        }
        // SAFETY: the interpreter is held.
        let problem = unsafe { bind() };
        if !problem.is_null() {
            // SAFETY: a text of the library that ends with a null byte.
            return Err(unsafe { CStr::from_ptr(problem) }
                .to_string_lossy()
                .into_owned());
        }
        // SAFETY: as above.
        Ok(unsafe { init() })
    }
}

/// The library as the process has it loaded, or the one of this package. It stays open for the life of the process.
fn open_library() -> Result<OpenLibrary, String> {
    // SAFETY: asks for a library that is loaded; nothing is run.
    let loaded = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if !loaded.is_null() {
        return Ok(OpenLibrary {
            handle: loaded,
            path: PathBuf::from(LIBRARY.to_string_lossy().as_ref()),
        });
    }
    let path = own_folder()?
        .join("_lib")
        .join(OsStr::from_bytes(LIBRARY.to_bytes()));
    open(&path).map(|handle| OpenLibrary { handle, path })
}

fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the file is our own library, whose initialisers only set up their own globals; the answer is checked.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if !handle.is_null() {
            return Ok(handle);
        }
        let reason = libc::dlerror();
        let reason = if reason.is_null() {
            "the loader gives no reason".into()
        } else {
            CStr::from_ptr(reason).to_string_lossy().into_owned()
        };
        Err(format!("{} cannot be opened: {reason}", path.display()))
    }
}

/// The folder of this very file, wherever Python found it.
fn own_folder() -> Result<PathBuf, String> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is that of a function of this file; the name in the answer lives as long as the file is loaded.
    let path = unsafe {
        if libc::dladdr(PyInit__native as *const c_void, &raw mut info) == 0
            || info.dli_fname.is_null()
        {
            return Err("the loader does not know where amdgpu._native was loaded from".to_owned());
        }
        PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()))
    };
    Ok(path.parent().map(Path::to_path_buf).unwrap_or_default())
}
