//! Functions of libraries that the process has loaded already, by name.

use std::ffi::{CStr, c_void};

use crate::failure::{Failure, Outcome};

/// A library that is loaded.
#[derive(Clone, Copy)]
pub struct Library {
    handle: *mut c_void,
    name: &'static str,
}

impl Library {
    /// A library that dlopen gave.
    pub fn of_handle(handle: *mut c_void, name: &'static str) -> Self {
        Self { handle, name }
    }

    /// The library of this soname; it is not loaded a second time.
    pub fn loaded(soname: &'static CStr) -> Outcome<Self> {
        // SAFETY: a text that ends with a null byte.
        let handle = unsafe { libc::dlopen(soname.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let name = soname.to_str().unwrap_or_default();
        if handle.is_null() {
            return Err(Failure::refused(format!(
                "{name} is not loaded: import amdgpu, which loads it"
            )));
        }
        Ok(Self { handle, name })
    }

    /// Opens the first of these libraries that the loader finds, by name or by path; it stays open. The failure names what was tried.
    pub fn open<'a>(paths: impl IntoIterator<Item = &'a str>, name: &'static str) -> Outcome<Self> {
        let mut tried = Vec::new();
        for path in paths {
            let text = crate::failure::c_text(path);
            // SAFETY: a text that ends with a null byte; a library runs its initialisers when it is loaded, as in every program that uses it.
            let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Self { handle, name });
            }
            tried.push(path);
        }
        Err(Failure::refused(format!(
            "{name} cannot be opened (tried {})",
            tried.join(", ")
        )))
    }

    /// The address of a function, `None` where this version of the library does not have it.
    #[must_use]
    pub fn find(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a library that stays loaded, and a text that ends with a null byte.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    pub fn require(self, name: &CStr) -> Outcome<*mut c_void> {
        self.find(name).ok_or_else(|| {
            Failure::refused(format!(
                "{} has no function {}: it is of a version that this kernel library does not know",
                self.name,
                name.to_string_lossy()
            ))
        })
    }
}

/// Declares a struct of function pointers and a function that finds all of them by their names.
#[macro_export]
macro_rules! functions {
    ($table:ident { $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        #[derive(Clone, Copy)]
        #[allow(clippy::struct_field_names, reason = "fields have the names of the functions")]
        pub struct $table {
            $(pub $name: unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Finds every function.
            #[allow(clippy::missing_transmute_annotations, reason = "the field says the type")]
            pub fn find(library: $crate::dynamic::Library) -> $crate::failure::Outcome<Self> {
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                        // SAFETY: the headers of the library declare the function with this type.
                        unsafe { std::mem::transmute(library.require(name)?) }
                    },)*
                })
            }
        }
    };
}

pub use functions;
