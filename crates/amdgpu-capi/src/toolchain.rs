//! LLVM for this process: what the Python module registered, or a Python process that runs it.

mod process;

use amdgpu_aura::Toolchain;

use process::PythonProcess;

/// The toolchain of this process. The Python module registers its own when it is imported; the first one stays.
pub fn of_process() -> &'static dyn Toolchain {
    amdgpu_ops::toolchain::get_or_register(|| Box::new(PythonProcess::new()))
}
