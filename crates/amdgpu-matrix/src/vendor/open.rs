//! Finds and opens a vendor's library.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use amdgpu_abi::ErrorCode;
use amdgpu_hal::vendor_open_flags;
use libloading::os::unix::{Library, Symbol};

use super::library::VendorLibrary;
use crate::Error;

/// glibc's and musl's value: open only what the process has already.
const RTLD_NOLOAD: i32 = 4;

/// Symbols of an open library, which stays open for good: vendors' libraries keep threads and exit handlers that must not lose their code.
pub struct Found {
    library: VendorLibrary,
    handle: ManuallyDrop<Library>,
}

impl Found {
    /// Which library it is.
    #[must_use]
    pub fn library(&self) -> VendorLibrary {
        self.library
    }

    /// The address of a function.
    pub(super) fn find(&self, name: &CStr) -> Result<*mut c_void, Error> {
        // SAFETY: the symbol is only taken as an address here; whoever calls it vouches for its signature.
        unsafe { self.handle.get::<*mut c_void>(name.to_bytes_with_nul()) }
            .ok()
            .map(Symbol::as_raw_ptr)
            .filter(|address| !address.is_null())
            .ok_or_else(|| {
                missing(format!(
                    "{} is too old: it lacks {}",
                    self.library.name(),
                    name.to_string_lossy()
                ))
            })
    }
}

impl VendorLibrary {
    /// Finds the library: in the process, by the loader's path, in `folders`, and where it is usually installed.
    ///
    /// # Errors
    ///
    /// `library-missing` with what was tried.
    pub fn find(self, folders: &[PathBuf]) -> Result<Found, Error> {
        open(self, folders)
    }

    /// Names that the loader knows it by, newest first.
    fn file_names(self) -> &'static [&'static str] {
        match self {
            Self::CublasLt => &[
                "libcublasLt.so.13",
                "libcublasLt.so.12",
                "libcublasLt.so.11",
                "libcublasLt.so",
            ],
            Self::Cublas => &[
                "libcublas.so.13",
                "libcublas.so.12",
                "libcublas.so.11",
                "libcublas.so",
            ],
            // The numbers of statuses are those of version 9.
            Self::Cudnn => &["libcudnn.so.9"],
            Self::HipblasLt => &["libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"],
            Self::Rocblas => &["librocblas.so.5", "librocblas.so.4", "librocblas.so"],
            Self::Miopen => &["libMIOpen.so.1", "libMIOpen.so"],
        }
    }

    /// Where the vendor's own installer puts it.
    fn usual_folders(self) -> &'static [&'static str] {
        match self {
            Self::CublasLt | Self::Cublas | Self::Cudnn => &["/usr/local/cuda/lib64"],
            Self::HipblasLt | Self::Rocblas | Self::Miopen => &["/opt/rocm/lib"],
        }
    }
}

/// Opens a library: one that is in the process, then by the loader's path, then in `folders`, then where it is usually installed.
///
/// # Errors
///
/// `library-missing`, with what the loader said.
fn open(library: VendorLibrary, folders: &[PathBuf]) -> Result<Found, Error> {
    let names = library.file_names();
    let usual = library.usual_folders().iter().map(PathBuf::from);
    let placed = folders
        .iter()
        .cloned()
        .chain(usual)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .filter(|path| path.exists());
    let mut failures = Vec::new();
    let loaded = names.iter().map(|name| (PathBuf::from(name), RTLD_NOLOAD));
    let found = names.iter().map(|name| (PathBuf::from(name), 0));
    for (path, extra) in loaded.chain(found).chain(placed.map(|path| (path, 0))) {
        match load(&path, extra) {
            Ok(handle) => {
                let handle = ManuallyDrop::new(handle);
                return Ok(Found { library, handle });
            }
            Err(reason) if extra == 0 => failures.push(reason),
            Err(_) => {}
        }
    }
    Err(missing(format!(
        "{} cannot be opened ({})",
        library.name(),
        failures.join("; ")
    )))
}

fn load(path: &Path, extra: i32) -> Result<Library, String> {
    // SAFETY: the vendor's library runs its initialisers when it is loaded, as in every program that uses it.
    unsafe { Library::open(Some(path), vendor_open_flags() | extra) }.map_err(|error| {
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    })
}

fn missing(message: String) -> Error {
    Error::refused(ErrorCode::LibraryMissing, message)
}
