//! What the shim gives this library: `agpu_torch_host` of integrations/torch/shim/kernels.h.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::amdgpu::{Handle, RandomState, agpu};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::torch;

/// `agpu_torch_host`.
#[repr(C)]
pub struct Host {
    pub size_bytes: u64,
    pub poison_bits: u64,
    device: unsafe extern "C" fn(i32, *mut Handle) -> i32,
    current_stream: unsafe extern "C" fn(i32, *mut Handle) -> i32,
    take_random: unsafe extern "C" fn(*const c_void, i32, u64, *mut u64, *mut u64) -> i32,
    last_error: unsafe extern "C" fn() -> *const c_char,
    pub torch_library: *mut c_void,
    allows_tf32: unsafe extern "C" fn() -> i32,
    empty: unsafe extern "C" fn(
        *const i64,
        *const i64,
        u32,
        i32,
        i32,
        *mut torch::Handle,
        *mut *mut c_void,
    ) -> i32,
}

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps what the shim gave.
pub fn set(host: *const Host) {
    HOST.store(host.cast_mut(), Ordering::Release);
}

/// What the shim gave.
pub fn get() -> Outcome<&'static Host> {
    // SAFETY: null or a struct that lives as long as the process.
    unsafe { HOST.load(Ordering::Acquire).as_ref() }
        .ok_or_else(|| Failure::refused("agpu_torch_attach was not called before this operator"))
}

impl Host {
    fn done(&self, status: i32) -> Outcome {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the shim's text is valid until the next failure of this thread.
        let text = unsafe { CStr::from_ptr((self.last_error)()) };
        Err(Failure::refused(text.to_string_lossy()))
    }

    /// Whether convolutions of float32 may be computed by matrix units that cut it to tf32: `torch.backends.cudnn.allow_tf32`.
    pub fn allows_tf32(&self) -> bool {
        // SAFETY: a function without parameters.
        unsafe { (self.allows_tf32)() != 0 }
    }

    /// The open device beneath rdna:`index`.
    pub fn device(&self, index: i32) -> Outcome<Handle> {
        let mut device = 0;
        // SAFETY: a place for a handle.
        self.done(unsafe { (self.device)(index, &raw mut device) })?;
        Ok(device)
    }

    /// A new tensor of rdna:`index` whose elements are not set, for whoever takes it over, and its address.
    pub fn empty(
        &self,
        shape: &[i64],
        strides: &[i64],
        dtype: Dtype,
        index: i32,
    ) -> Outcome<(torch::Handle, *mut c_void)> {
        let (mut handle, mut address) = (std::ptr::null_mut(), std::ptr::null_mut());
        let rank = shape.len() as u32;
        // SAFETY: extents and strides of as many axes, and places for the answers.
        self.done(unsafe {
            (self.empty)(
                shape.as_ptr(),
                strides.as_ptr(),
                rank,
                dtype.0,
                index,
                &raw mut handle,
                &raw mut address,
            )
        })?;
        Ok((handle, address))
    }

    /// The state at which so many numbers of a generator begin; null is the device's own generator.
    pub fn take_random(
        &self,
        generator: *const c_void,
        index: i32,
        words: u64,
    ) -> Outcome<RandomState> {
        let mut state = RandomState::default();
        let (key, position) = (&raw mut state.key, &raw mut state.position);
        // SAFETY: a generator of this call, and places for two numbers.
        self.done(unsafe { (self.take_random)(generator, index, words, key, position) })?;
        Ok(state)
    }

    /// Runs operations in the order of the current stream of a device.
    pub fn in_current_stream<T>(
        &self,
        index: i32,
        work: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        let mut stream = 0;
        // SAFETY: a place for a handle.
        self.done(unsafe { (self.current_stream)(index, &raw mut stream) })?;
        if stream == 0 {
            return work();
        }
        let device = self.device(index)?;
        agpu!(agpu_device_wait_stream(device, stream))?;
        let result = work();
        agpu!(agpu_stream_wait_device(device, stream))?;
        result
    }
}
