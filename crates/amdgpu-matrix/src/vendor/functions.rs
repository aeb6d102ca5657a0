//! The functions in use, with the signatures of the vendors' headers. Objects of the libraries travel as opaque numbers.

use std::ffi::{c_char, c_void};

use super::open::Opened;
use crate::Error;

/// What a function returns; 0 is success.
pub(super) type Status = i32;
/// A handle, descriptor or stream: an opaque pointer.
pub(super) type Handle = usize;

macro_rules! functions {
    ($(#[$doc:meta])* $table:ident, $names:ident { $($field:ident: fn($($parameter:ty),*) -> $result:ty;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $table {
            $(pub $field: unsafe extern "C" fn($($parameter),*) -> $result,)*
        }

        /// What a library calls them.
        pub(super) struct $names {
            $(pub $field: &'static std::ffi::CStr,)*
        }

        impl $table {
            /// Looks all of them up; the error names the first that is missing.
            ///
            /// # Safety
            /// `library` is the one whose header the names were taken from.
            pub unsafe fn load(library: &Opened, names: &$names) -> Result<Self, Error> {
                Ok(Self {
                    $($field: {
                        let address = library.find(names.$field)?;
                        // SAFETY: the function of this name has the signature listed here in the vendor's header.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($parameter),*) -> $result,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    /// cuBLASLt, and hipBLASLt with its interface.
    LtFunctions, LtNames {
        create: fn(*mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        product_create: fn(*mut Handle, i32, i32) -> Status;
        product_destroy: fn(Handle) -> Status;
        product_set: fn(Handle, i32, *const c_void, usize) -> Status;
        layout_create: fn(*mut Handle, i32, u64, u64, i64) -> Status;
        layout_destroy: fn(Handle) -> Status;
        layout_set: fn(Handle, i32, *const c_void, usize) -> Status;
        preference_create: fn(*mut Handle) -> Status;
        preference_destroy: fn(Handle) -> Status;
        preference_set: fn(Handle, i32, *const c_void, usize) -> Status;
        // Handle, product, layouts of a, b, c, d, preference, how many algorithms, records of algorithms, how many there are.
        heuristic: fn(Handle, Handle, Handle, Handle, Handle, Handle, Handle, i32, *mut c_void, *mut i32) -> Status;
        // Handle, product, alpha, a, its layout, b, its layout, beta, c, its layout, d, its layout, algorithm, workspace, its bytes, stream.
        multiply: fn(Handle, Handle, *const c_void, u64, Handle, u64, Handle, *const c_void, u64, Handle, u64, Handle, *const c_void, u64, usize, u64) -> Status;
    }
}

functions! {
    /// rocBLAS.
    RocblasFunctions, RocblasNames {
        create: fn(*mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        set_stream: fn(Handle, u64) -> Status;
        set_workspace: fn(Handle, u64, usize) -> Status;
        set_atomics_mode: fn(Handle, i32) -> Status;
        status_text: fn(Status) -> *const c_char;
        // Handle, transposes, m, n, k, alpha, then a, b with type, leading dimension and stride, beta, c and d alike, batch, type of sums,
        // algorithm, solution, flags.
        multiply: fn(
            Handle, i32, i32, i32, i32, i32, *const c_void,
            u64, i32, i32, i64, u64, i32, i32, i64, *const c_void,
            u64, i32, i32, i64, u64, i32, i32, i64,
            i32, i32, i32, i32, u32
        ) -> Status;
    }
}
