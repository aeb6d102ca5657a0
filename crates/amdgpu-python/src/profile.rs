//! `_native.KernelProfile`: what instrumented runs of a kernel counted.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_compiler::profile::Profile;
use pyo3::prelude::*;

use crate::errors::raise;

/// What instrumented runs of a kernel counted.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct KernelProfile(Profile);

impl KernelProfile {
    pub fn new(profile: Profile) -> Self {
        Self(profile)
    }

    /// As options of a compilation take it.
    pub fn boxed(&self) -> Box<Profile> {
        Box::new(self.0.clone())
    }
}

fn refused(py: Python<'_>, reason: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, reason)
}

#[pymethods]
impl KernelProfile {
    /// A profile of its text form.
    #[new]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        Profile::of_text(text)
            .map(Self)
            .map_err(|reason| refused(py, &reason))
    }

    /// The text form.
    fn text(&self) -> String {
        self.0.to_text()
    }

    /// The source with what was counted beside its lines.
    fn listing(&self) -> String {
        self.0.listing()
    }

    /// The same counts, of which compilations use some.
    fn using(&self, constants: bool, counts: bool) -> Self {
        let mut made = self.0.clone();
        (made.uses_constants, made.uses_counts) = (constants, counts);
        Self(made)
    }

    /// The counts of both.
    fn merged(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        sum.add(&other.0).map_err(|reason| refused(py, &reason))?;
        Ok(Self(sum))
    }
}
