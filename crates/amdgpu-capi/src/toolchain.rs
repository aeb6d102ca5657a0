//! LLVM for this process: what was registered, or a Python process that runs it.

mod process;

use std::sync::OnceLock;

use amdgpu_aura::Toolchain;

use process::PythonProcess;

static REGISTERED: OnceLock<&'static (dyn Toolchain + Send + Sync)> = OnceLock::new();
static PROCESS: PythonProcess = PythonProcess::new();

/// Let kernels be compiled with this toolchain from now on. The Python module registers its own; only the first call counts.
pub fn register(toolchain: &'static (dyn Toolchain + Send + Sync)) {
    let _ = REGISTERED.set(toolchain);
}

/// The toolchain of this process.
pub fn of_process() -> &'static dyn Toolchain {
    match REGISTERED.get() {
        Some(registered) => *registered,
        None => &PROCESS,
    }
}
