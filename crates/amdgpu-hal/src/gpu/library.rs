//! Opens the driver's library.

use std::ffi::{CStr, c_void};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::vendor::Vendor;

/// `llvm::raw_ostream::write(const char*, size_t)`, which every LLVM has.
const FUNCTION_OF_LLVM: &CStr = c"_ZN4llvm11raw_ostream5writeEPKcm";

/// The flags with which libraries of vendors are opened.
///
/// The HIP runtime of Debian and Ubuntu brings LLVM as a shared library. Where somebody shows an LLVM of another version to the whole process,
/// as TensorFlow does, the loader would join the two, and the first call crashes: there a library is bound to what it brings before anything else.
#[must_use]
pub fn vendor_open_flags() -> i32 {
    // SAFETY: a symbol is looked up, nothing runs.
    let is_llvm_visible =
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, FUNCTION_OF_LLVM.as_ptr()) }.is_null();
    #[cfg(target_env = "gnu")]
    if is_llvm_visible {
        return RTLD_NOW | RTLD_LOCAL | libc::RTLD_DEEPBIND;
    }
    RTLD_NOW | RTLD_LOCAL
}

/// An open library, for good.
pub(super) struct DriverLibrary(Library);

impl DriverLibrary {
    /// Opens the first of the vendor's libraries that can be opened; the error names what was tried.
    pub fn open(vendor: &Vendor) -> Result<Self, String> {
        let flags = vendor_open_flags();
        let mut failures = Vec::new();
        for path in (vendor.libraries)() {
            // SAFETY: the vendor's driver runs its initialisers when it is loaded, as in every program that uses it.
            match unsafe { Library::open(Some(&path), flags) } {
                Ok(library) => return Ok(Self(library)),
                Err(error) => failures.push(reason(&path.to_string_lossy(), &error)),
            }
        }
        Err(format!(
            "the {} driver cannot be opened ({})",
            vendor.name,
            failures.join("; ")
        ))
    }

    pub fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the symbol is only taken as an address here; whoever calls it vouches for its signature.
        unsafe { self.0.get::<*mut c_void>(name.to_bytes_with_nul()) }
            .ok()
            .map(Symbol::as_raw_ptr)
    }

    /// Leaves the library open: drivers keep threads and exit handlers that must not lose their code.
    pub fn keep(self) {
        std::mem::forget(self.0);
    }
}

/// The loader's own sentence, which names the file in most cases but not in all.
fn reason(path: &str, error: &libloading::Error) -> String {
    let text =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    if text.contains(path) {
        text
    } else {
        format!("{path}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_opened_is_named_once_with_the_loaders_reason() {
        let path = "/nonexistent/libdriver.so";
        // SAFETY: there is no such file, so nothing runs.
        let error = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.unwrap_err();
        let told = reason(path, &error);
        assert!(told.contains("No such file"), "{told}");
        assert_eq!(told.matches(path).count(), 1, "{told}");
        assert_eq!(reason("another", &error), format!("another: {told}"));
    }
}
