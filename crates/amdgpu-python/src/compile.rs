//! Compiling without a device: `compile_source`, `link_code_object`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura as aura;
use amdgpu_aura::OutputKind;
use amdgpu_compiler::{CompileOptions, link};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde::Serialize;

use crate::codegen::PythonCodeGenerator;
use crate::device::{parse_level, source_text};
use crate::errors::{IntoPyResult, raise};

static COMPILE: Boundary = Boundary::new(Language::Python, Language::Rust, "aura.compile_source");

/// Compile a source for a target by name, without a device and without the kernel cache.
///
/// `emit` is `ir`, `llvm`, `asm` or `obj`. The answer has `target`, `kernels` (one dict per signature), `globals` (one dict per variable of the module), `notes`, `content` (text, or bytes
/// of machine code), `file_extension`, `resources` (one dict per kernel; empty but for AMD code objects), `passes` (one dict
/// per compiler pass), and `dumps` (for `ir`: stage and text before the passes and after each).
///
/// The target `host` is this machine's processor with everything that it can do, as kernels of the CPU device are compiled.
/// `kernel_names` are instances of templates to compile, `scale<float, 4>`; `disabled_passes` names passes that do not run; `checked`
/// adds the checks of `compile_kernel(..., checked=True)`.
#[pyfunction]
#[pyo3(signature = (
    source, target, *, name="kernel.hip", optimization_level="high", fast_math=false, defines=None, emit="obj",
    kernel_names=None, disabled_passes=None, checked=false
))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn compile_source<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &str,
    name: &str,
    optimization_level: &str,
    fast_math: bool,
    defines: Option<Vec<(String, String)>>,
    emit: &str,
    kernel_names: Option<Vec<String>>,
    disabled_passes: Option<Vec<String>>,
    checked: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let _crossing = COMPILE.enter();
    let options = CompileOptions {
        name: name.to_owned(),
        optimization_level: parse_level(py, optimization_level)?,
        fast_math,
        defines: defines.unwrap_or_default(),
        name_expressions: kernel_names.unwrap_or_default(),
        disabled_passes: disabled_passes.unwrap_or_default(),
        checked,
        ..CompileOptions::default()
    };
    let text = source_text(source)?;
    let output = OutputKind::from_name(emit).into_py_result(py)?;
    let unit = py
        .detach(|| aura::compile_source(&text, target, &options, output, &PythonCodeGenerator))
        .into_py_result(py)?;
    let result = PyDict::new(py);
    result.set_item("target", &unit.target.name)?;
    result.set_item("kernels", to_python(py, &unit.kernels)?)?;
    result.set_item("globals", to_python(py, &unit.globals)?)?;
    result.set_item("notes", unit.notes)?;
    let is_machine_code = matches!(unit.file_extension, "hsaco" | "o");
    if is_machine_code {
        result.set_item("content", PyBytes::new(py, &unit.content))?;
    } else {
        let text = String::from_utf8_lossy(&unit.content);
        result.set_item("content", PyString::new(py, &text))?;
    }
    result.set_item("file_extension", unit.file_extension)?;
    result.set_item("resources", to_python(py, &unit.resources)?)?;
    result.set_item("passes", to_python(py, &unit.passes)?)?;
    result.set_item("dumps", unit.dumps)?;
    Ok(result)
}

/// Compile a job that `Device.compile(..., remote=...)` of another process gave, as bytes; returns a cache entry, as bytes.
#[pyfunction]
pub fn compile_job<'py>(py: Python<'py>, job: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let job: aura::CompileJob = serde_json::from_slice(job).map_err(|error| {
        let message = format!("this is no job of the compiler: {error}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })?;
    let entry = py
        .detach(|| aura::compile_job(&job, &PythonCodeGenerator))
        .into_py_result(py)?;
    Ok(PyBytes::new(py, &entry))
}

/// Raise an error that lists the known targets unless the name is one of them.
#[pyfunction]
pub fn check_target(py: Python<'_>, target: &str) -> PyResult<()> {
    aura::find_target(target).into_py_result(py).map(|_| ())
}

/// Link a relocatable AMD object into a code object; also tells what its kernels occupy, one dict per kernel.
#[pyfunction]
pub fn link_code_object<'py>(
    py: Python<'py>,
    relocatable: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyAny>)> {
    let (code_object, resources) = py
        .detach(|| {
            let code_object = link::link(relocatable)?;
            let resources = link::resources(&code_object)?;
            Ok::<_, link::LinkError>((code_object, resources))
        })
        .into_py_result(py)?;
    Ok((PyBytes::new(py, &code_object), to_python(py, &resources)?))
}

/// A value as plain Python dicts, lists, numbers and texts.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| {
        raise(
            py,
            ErrorCode::Internal,
            Language::Rust,
            &format!("a result cannot be written as JSON: {error}"),
        )
    })?;
    py.import("json")?.call_method1("loads", (text,))
}
