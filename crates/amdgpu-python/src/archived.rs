//! Archived kernels as `amdgpu.gpu_kernels` lists them, and operations by one of them alone.

use std::collections::BTreeMap;

use amdgpu_array as core;
use amdgpu_ops::archived::archive::{Unit, known_architectures};
use amdgpu_ops::archived::direct::{self, Window};
use amdgpu_ops::archived::problem::Number;
use amdgpu_ops::archived::{self, Archive};
use amdgpu_ops::{DeviceOps, check_device};
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::on_device;

/// What the manifest of an archive says about a kernel.
#[pyclass(frozen, module = "amdgpu._native", eq)]
#[derive(Clone, PartialEq)]
pub struct ArchivedKernel {
    #[pyo3(get)]
    architecture: String,
    kernel: archived::ArchivedKernel,
}

impl ArchivedKernel {
    /// The kernel of an archive.
    pub fn of(archive: &Archive, kernel: &archived::ArchivedKernel) -> Self {
        Self {
            architecture: archive.architecture.clone(),
            kernel: kernel.clone(),
        }
    }

    /// The symbol.
    pub fn symbol(&self) -> &str {
        &self.kernel.name
    }
}

fn name_of(number: Option<Number>) -> &'static str {
    number.map_or("", Number::name)
}

#[pymethods]
impl ArchivedKernel {
    #[getter]
    fn name(&self) -> &str {
        &self.kernel.name
    }

    #[getter]
    fn kind(&self) -> &str {
        &self.kernel.kind
    }

    #[getter]
    fn threads(&self) -> u32 {
        self.kernel.threads
    }

    #[getter]
    fn unit(&self) -> &'static str {
        self.kernel.unit.map_or("", Unit::name)
    }

    #[getter]
    fn operand(&self) -> &'static str {
        name_of(self.kernel.operand)
    }

    #[getter]
    fn output(&self) -> &'static str {
        name_of(self.kernel.output)
    }

    /// Empty for kinds that have none.
    #[getter]
    fn layout(&self) -> &'static str {
        self.kernel
            .operand
            .map_or("", |_| self.kernel.layout.name())
    }

    #[getter]
    fn is_aligned(&self) -> bool {
        self.kernel.is_aligned
    }

    #[getter]
    fn epilogue(&self) -> &'static str {
        self.kernel.epilogue.name()
    }

    #[getter]
    fn tile(&self) -> (u64, u64, u64) {
        let tile = self.kernel.tile;
        (tile.m, tile.n, tile.k)
    }

    #[getter]
    fn cluster(&self) -> u64 {
        self.kernel.cluster
    }

    #[getter]
    fn dynamic_shared_bytes(&self) -> u64 {
        self.kernel.dynamic_shared_bytes
    }

    #[getter]
    fn number(&self) -> &'static str {
        name_of(self.kernel.number)
    }

    #[getter]
    fn size(&self) -> u64 {
        self.kernel.size
    }

    #[getter]
    fn item_bytes(&self) -> u64 {
        self.kernel.item_bytes
    }

    #[getter]
    fn resources(&self) -> BTreeMap<String, Option<i64>> {
        self.kernel.resources.clone()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.architecture, &self.kernel.name).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!(
            "<ArchivedKernel {} of {}>",
            self.kernel.name, self.architecture
        )
    }
}

/// Architectures with an archive, sorted.
#[pyfunction]
pub fn archived_architectures() -> Vec<String> {
    known_architectures()
}

/// The kernels of the archive of an architecture.
#[pyfunction]
pub fn archived_kernels(py: Python<'_>, architecture: &str) -> PyResult<Vec<ArchivedKernel>> {
    let archive = Archive::of(architecture).into_py_result(py)?;
    let kernels = archive.kernels().iter();
    Ok(kernels
        .map(|kernel| ArchivedKernel::of(&archive, kernel))
        .collect())
}

/// Arrays of a device without gaps.
fn lend(
    ops: &DeviceOps,
    operation: &str,
    name: &str,
    array: &Bound<'_, Array>,
) -> PyResult<core::Array> {
    let py = array.py();
    let array = (**array.get()).clone();
    array.check_alive().into_py_result(py)?;
    check_device(operation, name, &array, ops.device()).into_py_result(py)?;
    // An error of the array's where there are gaps.
    let shape = array.shape.clone();
    array.reshaped(&shape).into_py_result(py)
}

/// The last two axes swapped.
#[pyfunction]
pub fn archived_transpose(device: &Bound<'_, PyAny>, x: &Bound<'_, Array>) -> PyResult<Array> {
    let (py, ops) = (x.py(), on_device::ops_of(device)?);
    let x = lend(&ops, "transpose", "x", x)?;
    let made = py.detach(|| archived::transpose(&ops, &x));
    Ok(Array::from(made.into_py_result(py)?))
}

/// A convolution; steps are stride, padding and dilation.
#[pyfunction]
#[pyo3(signature = (device, images, filters, bias, steps, groups, *, clips=false, is_tf32=false))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn archived_convolve(
    device: &Bound<'_, PyAny>,
    images: &Bound<'_, Array>,
    filters: &Bound<'_, Array>,
    bias: Option<&Bound<'_, Array>>,
    steps: (i64, i64, i64),
    groups: i64,
    clips: bool,
    is_tf32: bool,
) -> PyResult<Array> {
    let (py, ops) = (images.py(), on_device::ops_of(device)?);
    let of = |name: &str, array: &Bound<'_, Array>| lend(&ops, "convolve", name, array);
    let (images, filters) = (of("images", images)?, of("filters", filters)?);
    let bias = bias.map(|bias| of("bias", bias)).transpose()?;
    let (stride, padding, dilation) = steps;
    let window = Window {
        stride,
        padding,
        dilation,
        groups,
        clips,
        is_tf32,
    };
    let inputs = [&images, &filters];
    let made = py.detach(|| direct::convolve(&ops, inputs, bias.as_ref(), &window));
    Ok(Array::from(made.into_py_result(py)?))
}
