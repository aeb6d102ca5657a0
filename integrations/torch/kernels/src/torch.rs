//! The stable C interface of LibTorch: `aoti_torch_*` and `torch_*`, found in the `libtorch_cpu.so` that the process has loaded.
//!
//! Source: `torch/csrc/inductor/aoti_torch/c/shim.h` and `torch/csrc/stable/c/shim.h` of PyTorch 2.10 to 2.15.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use crate::dynamic::{Library, functions};
use crate::failure::{Failure, Outcome};

/// `AtenTensorHandle`.
pub type Handle = *mut c_void;
/// `StableIValue`.
pub type Value = u64;

functions!(Functions {
    aoti_torch_get_data_ptr: fn(Handle, *mut *mut c_void) -> i32;
    aoti_torch_get_dim: fn(Handle, *mut i64) -> i32;
    aoti_torch_get_sizes: fn(Handle, *mut *const i64) -> i32;
    aoti_torch_get_strides: fn(Handle, *mut *const i64) -> i32;
    aoti_torch_get_dtype: fn(Handle, *mut i32) -> i32;
    aoti_torch_get_device_type: fn(Handle, *mut i32) -> i32;
    aoti_torch_get_device_index: fn(Handle, *mut i32) -> i32;
    aoti_torch_device_type_cpu: fn() -> i32;
    aoti_torch_device_type_privateuse1: fn() -> i32;
    aoti_torch_delete_tensor_object: fn(Handle) -> i32;
    aoti_torch_new_tensor_handle: fn(Handle, *mut Handle) -> i32;
    aoti_torch_empty_strided: fn(i64, *const i64, *const i64, i32, i32, i32, *mut Handle) -> i32;
    aoti_torch_grad_mode_is_enabled: fn() -> bool;
    torch_call_dispatcher: fn(*const c_char, *const c_char, *mut Value, u64) -> i32;
});

/// The first version that has all of them: 2.10, as `TORCH_VERSION_2_10_0` encodes it. What the dispatcher converts follows it.
pub const BUILD_VERSION: u64 = (2 << 56) | (10 << 48);

/// `torch_exception_get_what_without_backtrace`, which 2.13 and later versions have.
type What = unsafe extern "C" fn() -> *const c_char;

static FUNCTIONS: OnceLock<(Functions, Option<What>)> = OnceLock::new();

/// Finds the functions in torch's library.
pub fn find(library: Library) -> Outcome {
    let known = Functions::find(library)?;
    let what = library.find(c"torch_exception_get_what_without_backtrace");
    // SAFETY: the header declares the function so.
    let what = what.map(|address| unsafe { std::mem::transmute::<*mut c_void, What>(address) });
    FUNCTIONS.get_or_init(|| (known, what));
    Ok(())
}

/// The functions of torch, which `agpu_torch_attach` found.
pub fn get() -> Outcome<&'static Functions> {
    FUNCTIONS
        .get()
        .map(|(functions, _)| functions)
        .ok_or_else(|| Failure::refused("agpu_torch_attach was not called before this operator"))
}

/// A status of torch as an outcome.
pub fn done(status: i32) -> Outcome {
    if status == 0 {
        return Ok(());
    }
    let Some(what) = FUNCTIONS.get().and_then(|(_, what)| *what) else {
        return Err(Failure::refused("a call to torch failed; it printed why"));
    };
    // SAFETY: torch keeps the text of the last failure of the thread.
    let text = unsafe { what() };
    if text.is_null() {
        return Err(Failure::refused("a call to torch failed"));
    }
    // SAFETY: a text that ends with a null byte.
    let text = unsafe { CStr::from_ptr(text) };
    Err(Failure::refused(text.to_string_lossy()))
}
