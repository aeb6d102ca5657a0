//! Text that kernels print goes to Python's `sys.stdout`, where notebooks and tests look for it.

use pyo3::prelude::*;

pub fn connect() {
    amdgpu_aura::set_output(write);
}

fn write(text: &str) {
    Python::attach(|py| {
        let written = py
            .import("sys")
            .and_then(|sys| sys.getattr("stdout"))
            .and_then(|stdout| stdout.call_method1("write", (text,)));
        // As `print` does where there is no standard output: nothing to write to is no error of the kernel.
        if let Err(error) = written {
            error.write_unraisable(py, None);
        }
    });
}
