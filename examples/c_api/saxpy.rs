//! out = 2 * x + y with the C interface from Rust.
//!
//! `rustc --edition 2024 saxpy.rs -L FOLDER -C link-arg=-Wl,-rpath,FOLDER && ./saxpy`, with the folder that holds libamdgpu.so.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

const SOURCE: &str = r#"
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"#;

type Handle = *mut c_void;

#[repr(C)]
struct ErrorInfo {
    size_bytes: u64,
    status: i32,
    reserved: u32,
    texts: [*const c_char; 5],
}

#[repr(C)]
struct Argument {
    kind: u32,
    reserved: u32,
    value: u64,
    bytes: u64,
}

#[repr(C)]
struct LaunchShape {
    size_bytes: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u64,
}

#[link(name = "amdgpu")]
unsafe extern "C" {
    fn agpu_last_error(info: *mut ErrorInfo) -> i32;
    fn agpu_release(handle: Handle) -> i32;
    fn agpu_device_open(name: *const c_char, options: *const c_void, device: *mut Handle) -> i32;
    fn agpu_memory_allocate(device: Handle, bytes: u64, options: *const c_void, memory: *mut Handle) -> i32;
    fn agpu_memory_write(memory: Handle, offset: u64, data: *const c_void, bytes: u64, stream: Handle) -> i32;
    fn agpu_memory_read(memory: Handle, offset: u64, data: *mut c_void, bytes: u64, stream: Handle) -> i32;
    fn agpu_kernel_compile(device: Handle, source: *const c_char, options: *const c_void, kernel: *mut Handle) -> i32;
    fn agpu_kernel_launch(kernel: Handle, shape: *const LaunchShape, arguments: *const Argument, count: usize, stream: Handle) -> i32;
}

/// The message of the last failure, or nothing.
fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let mut info = ErrorInfo { size_bytes: size_of::<ErrorInfo>() as u64, status: 0, reserved: 0, texts: [null(); 5] };
    // SAFETY: the struct states its size; its texts are valid until the next call that fails.
    let message = unsafe {
        agpu_last_error(&raw mut info);
        CStr::from_ptr(info.texts[2])
    };
    Err(message.to_string_lossy().into_owned())
}

/// An object of the library, released when it goes.
struct Owned(Handle);

impl Owned {
    fn new(make: impl FnOnce(*mut Handle) -> i32) -> Result<Self, String> {
        let mut handle = null_mut();
        check(make(&raw mut handle))?;
        Ok(Self(handle))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: takes back the one reference that this object has.
        unsafe { agpu_release(self.0) };
    }
}

fn number(kind: u32, value: u64) -> Argument {
    Argument { kind, reserved: 0, value, bytes: 0 }
}

fn main() -> Result<(), String> {
    let x: Vec<f32> = (0_u16..1000).map(f32::from).collect();
    let (y, mut out) = (vec![1.0_f32; x.len()], vec![0.0_f32; x.len()]);
    let bytes = size_of_val(&x[..]) as u64;
    let source = CString::new(SOURCE).map_err(|error| error.to_string())?;
    // SAFETY: pointers are valid for the calls they are given to, and lengths are theirs.
    unsafe {
        let device = Owned::new(|place| agpu_device_open(null(), null(), place))?;
        let kernel = Owned::new(|place| agpu_kernel_compile(device.0, source.as_ptr(), null(), place))?;
        let memory = || Owned::new(|place| agpu_memory_allocate(device.0, bytes, null(), place));
        let [a, b, c] = [memory()?, memory()?, memory()?];
        check(agpu_memory_write(a.0, 0, x.as_ptr().cast(), bytes, null_mut()))?;
        check(agpu_memory_write(b.0, 0, y.as_ptr().cast(), bytes, null_mut()))?;
        // Kinds of arguments: 1 is memory, 3 an integer, 5 a floating-point number (amdgpu/kernel.h).
        let arguments = [
            number(5, 2.0_f64.to_bits()),
            number(1, a.0 as u64),
            number(1, b.0 as u64),
            number(1, c.0 as u64),
            number(3, x.len() as u64),
        ];
        let shape = LaunchShape { size_bytes: size_of::<LaunchShape>() as u64, grid: [4, 1, 1], block: [256, 1, 1], shared_bytes: 0 };
        check(agpu_kernel_launch(kernel.0, &raw const shape, arguments.as_ptr(), arguments.len(), null_mut()))?;
        check(agpu_memory_read(c.0, 0, out.as_mut_ptr().cast(), bytes, null_mut()))?;
    }
    println!("2 * 10 + 1 = {}", out[10]);
    Ok(())
}
