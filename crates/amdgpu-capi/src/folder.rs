//! Where the native libraries of the other languages are: beside `libamdgpu.so`.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amdgpu_abi::library;

/// Register the folder of the shared library that this code is in, wherever the loader found it.
pub fn register_own_directory() {
    if let Some(folder) = own_folder() {
        library::set_library_directory(folder);
    }
}

/// The folder of the shared library that this code is in.
pub fn own_folder() -> Option<PathBuf> {
    own_path()?.parent().map(Path::to_path_buf)
}

/// The file that this code was loaded from.
fn own_path() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is that of a function of this library; `info` is a valid place for the answer, whose name lives as long as
    // the library is loaded.
    unsafe {
        if libc::dladdr(register_own_directory as *const libc::c_void, &raw mut info) == 0
            || info.dli_fname.is_null()
        {
            return None;
        }
        let path = PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()));
        // A loader that was given a relative path says that path.
        std::fs::canonicalize(&path).ok().or(Some(path))
    }
}
