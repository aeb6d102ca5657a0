//! The functions in use, with the signatures of the vendors' headers. Objects of the libraries travel as opaque numbers.

use std::ffi::{c_char, c_void};

use super::open::Found;
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
            pub unsafe fn load(library: &Found, names: &$names) -> Result<Self, Error> {
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

functions! {
    /// cuDNN.
    CudnnFunctions, CudnnNames {
        create: fn(*mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        set_stream: fn(Handle, u64) -> Status;
        status_text: fn(Status) -> *const c_char;
        tensor_create: fn(*mut Handle) -> Status;
        tensor_destroy: fn(Handle) -> Status;
        // Type, axes, extents, strides.
        tensor_set: fn(Handle, i32, i32, *const i32, *const i32) -> Status;
        filter_create: fn(*mut Handle) -> Status;
        filter_destroy: fn(Handle) -> Status;
        // Type, format, axes, extents.
        filter_set: fn(Handle, i32, i32, i32, *const i32) -> Status;
        convolution_create: fn(*mut Handle) -> Status;
        convolution_destroy: fn(Handle) -> Status;
        // Axes that windows slide along, padding, stride, dilation, mode, type of sums.
        convolution_set: fn(Handle, i32, *const i32, *const i32, *const i32, i32, i32) -> Status;
        set_groups: fn(Handle, i32) -> Status;
        set_math: fn(Handle, i32) -> Status;
        activation_create: fn(*mut Handle) -> Status;
        activation_destroy: fn(Handle) -> Status;
        // Mode, what becomes of NaN, ceiling.
        activation_set: fn(Handle, i32, i32, f64) -> Status;
        // Handle, images, weights, convolution, results, how many algorithms, how many there are, records of them.
        forward_algorithm: fn(Handle, Handle, Handle, Handle, Handle, i32, *mut i32, *mut c_void) -> Status;
        // Handle, weights, gradient, convolution, images, then the same.
        image_algorithm: fn(Handle, Handle, Handle, Handle, Handle, i32, *mut i32, *mut c_void) -> Status;
        // Handle, images, gradient, convolution, weights, then the same.
        weight_algorithm: fn(Handle, Handle, Handle, Handle, Handle, i32, *mut i32, *mut c_void) -> Status;
        // Handle, images, weights, convolution, results, algorithm, bytes.
        forward_workspace: fn(Handle, Handle, Handle, Handle, Handle, i32, *mut usize) -> Status;
        // Handle, alpha, images, weights, convolution, algorithm, workspace, beta, results.
        forward: fn(Handle, *const c_void, Handle, u64, Handle, u64, Handle, i32, u64, usize, *const c_void, Handle, u64) -> Status;
        // Handle, alpha, weights, gradient, convolution, algorithm, workspace, beta, images.
        image_gradient: fn(Handle, *const c_void, Handle, u64, Handle, u64, Handle, i32, u64, usize, *const c_void, Handle, u64) -> Status;
        // Handle, alpha, images, gradient, convolution, algorithm, workspace, beta, weights.
        weight_gradient: fn(Handle, *const c_void, Handle, u64, Handle, u64, Handle, i32, u64, usize, *const c_void, Handle, u64) -> Status;
        // As forward, but after the workspace: alpha 2, what is added, bias, activation, results.
        biased: fn(
            Handle, *const c_void, Handle, u64, Handle, u64, Handle, i32, u64, usize,
            *const c_void, Handle, u64, Handle, u64, Handle, Handle, u64
        ) -> Status;
    }
}

functions! {
    /// cuDNN's graphs.
    CudnnGraphFunctions, CudnnGraphNames {
        // Kind of descriptor, place.
        create: fn(i32, *mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        // Descriptor, attribute, type, count, values.
        set: fn(Handle, i32, i32, i64, *const c_void) -> Status;
        // Descriptor, attribute, type, how many there is room for, how many there are, values.
        get: fn(Handle, i32, i32, i64, *mut i64, *mut c_void) -> Status;
        finish: fn(Handle) -> Status;
        // Handle, plan, pack of arrays.
        execute: fn(Handle, Handle, Handle) -> Status;
    }
}

functions! {
    /// MIOpen.
    MiopenFunctions, MiopenNames {
        create: fn(*mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        set_stream: fn(Handle, u64) -> Status;
        status_text: fn(Status) -> *const c_char;
        tensor_create: fn(*mut Handle) -> Status;
        tensor_destroy: fn(Handle) -> Status;
        // Type, axes, extents, strides.
        tensor_set: fn(Handle, i32, i32, *const i32, *const i32) -> Status;
        convolution_create: fn(*mut Handle) -> Status;
        convolution_destroy: fn(Handle) -> Status;
        // Axes that windows slide along, padding, stride, dilation, mode.
        convolution_set: fn(Handle, i32, *const i32, *const i32, *const i32, i32) -> Status;
        set_groups: fn(Handle, i32) -> Status;
        // Attribute, value.
        set_attribute: fn(Handle, i32, i32) -> Status;
        // Handle, weights, images, convolution, results, how many solutions, how many there are, records of them.
        forward_solutions: fn(Handle, Handle, Handle, Handle, Handle, usize, *mut usize, *mut c_void) -> Status;
        // Handle, gradient, weights, convolution, images, then the same.
        image_solutions: fn(Handle, Handle, Handle, Handle, Handle, usize, *mut usize, *mut c_void) -> Status;
        // Handle, gradient, images, convolution, weights, then the same.
        weight_solutions: fn(Handle, Handle, Handle, Handle, Handle, usize, *mut usize, *mut c_void) -> Status;
        // As the solutions, with one of them.
        forward_compile: fn(Handle, Handle, Handle, Handle, Handle, u64) -> Status;
        image_compile: fn(Handle, Handle, Handle, Handle, Handle, u64) -> Status;
        weight_compile: fn(Handle, Handle, Handle, Handle, Handle, u64) -> Status;
        // Handle, weights, images, convolution, results, workspace, solution.
        forward: fn(Handle, Handle, u64, Handle, u64, Handle, Handle, u64, u64, usize, u64) -> Status;
        // Handle, gradient, weights, convolution, images, workspace, solution.
        image_gradient: fn(Handle, Handle, u64, Handle, u64, Handle, Handle, u64, u64, usize, u64) -> Status;
        // Handle, gradient, images, convolution, weights, workspace, solution.
        weight_gradient: fn(Handle, Handle, u64, Handle, u64, Handle, Handle, u64, u64, usize, u64) -> Status;
        // Handle, alpha, bias, beta, results.
        add_bias: fn(Handle, *const c_void, Handle, u64, *const c_void, Handle, u64) -> Status;
    }
}

functions! {
    /// cuBLAS and rocBLAS, for sums of matrices.
    GeamFunctions, GeamNames {
        create: fn(*mut Handle) -> Status;
        destroy: fn(Handle) -> Status;
        set_stream: fn(Handle, u64) -> Status;
        status_text: fn(Status) -> *const c_char;
        // Handle, transposes, rows, columns, alpha, a, its leading dimension, beta, b, its leading dimension, c, its leading dimension; of
        // float32, float64, complex64, complex128.
        add_f32: fn(Handle, i32, i32, i32, i32, *const c_void, u64, i32, *const c_void, u64, i32, u64, i32) -> Status;
        add_f64: fn(Handle, i32, i32, i32, i32, *const c_void, u64, i32, *const c_void, u64, i32, u64, i32) -> Status;
        add_c64: fn(Handle, i32, i32, i32, i32, *const c_void, u64, i32, *const c_void, u64, i32, u64, i32) -> Status;
        add_c128: fn(Handle, i32, i32, i32, i32, *const c_void, u64, i32, *const c_void, u64, i32, u64, i32) -> Status;
    }
}
