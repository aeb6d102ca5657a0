//! `_native.NetworkPlan`: a checked plan, which networks are built from.

use std::path::PathBuf;

use amdgpu_abi::Language;
use amdgpu_neuro as neuro;
use amdgpu_telemetry::Boundary;
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::IntoPyResult;

static COMPILE: Boundary = Boundary::new(Language::Python, Language::Rust, "NetworkPlan.compile");

/// The plan of a layered or of a spiking network.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct NetworkPlan {
    pub(crate) plan: neuro::NetworkPlan,
}

/// Line, column, message and hint of a warning.
type Finding = (u64, u64, String, String);

#[pymethods]
impl NetworkPlan {
    /// Compile and check network text; relative paths of `include` start at `base_directory`.
    #[staticmethod]
    #[pyo3(signature = (text, base_directory=None))]
    fn compile(py: Python<'_>, text: &str, base_directory: Option<PathBuf>) -> PyResult<Self> {
        let _crossing = COMPILE.enter();
        let folder = base_directory.unwrap_or_default();
        let plan = py.detach(|| neuro::NetworkPlan::compile(text, folder));
        Ok(Self {
            plan: plan.into_py_result(py)?,
        })
    }

    /// Read and check a plan from elsewhere.
    #[staticmethod]
    fn from_json(py: Python<'_>, json: &str) -> PyResult<Self> {
        let plan = py.detach(|| neuro::NetworkPlan::from_json(json));
        Ok(Self {
            plan: plan.into_py_result(py)?,
        })
    }

    #[getter]
    const fn is_spiking(&self) -> bool {
        self.plan.is_spiking()
    }

    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    #[getter]
    const fn seed(&self) -> u64 {
        self.plan.seed()
    }

    /// The JSON that the plan was read from: with the seed and the spikes of the text.
    #[getter]
    fn json(&self) -> &str {
        self.plan.json()
    }

    #[getter]
    fn warnings(&self) -> Vec<Finding> {
        let warnings = self.plan.warnings().iter().cloned();
        warnings
            .map(|one| (one.line, one.column, one.message, one.hint))
            .collect()
    }

    /// The same plan with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        Self {
            plan: self.plan.clone().with_seed(seed),
        }
    }

    /// The same plan with other spikes of a source that lists its spikes; `what` says in messages where they come from.
    fn with_spikes(
        &self,
        py: Python<'_>,
        source: &str,
        times: PyReadonlyArray1<'_, f64>,
        indices: PyReadonlyArray1<'_, i64>,
        what: &str,
    ) -> PyResult<Self> {
        let (times, indices) = (times.to_vec()?, indices.to_vec()?);
        let plan = self
            .plan
            .clone()
            .with_spikes(source, &times, &indices, what);
        Ok(Self {
            plan: plan.into_py_result(py)?,
        })
    }
}
