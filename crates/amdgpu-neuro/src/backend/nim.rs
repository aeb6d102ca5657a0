//! The reference implementation in Nim.

use amdgpu_abi::Language;

use super::{DenseBackend, DenseBackendKind, DenseCall};
use crate::error::Result;
use crate::library::NeuroLibrary;

pub struct NimBackend {
    library: &'static NeuroLibrary,
}

impl NimBackend {
    /// # Errors
    ///
    /// `libagpu_neuro.so` is missing or stale.
    pub fn open() -> Result<Self> {
        Ok(Self {
            library: NeuroLibrary::global()?,
        })
    }
}

impl DenseBackend for NimBackend {
    fn name(&self) -> &'static str {
        DenseBackendKind::Nim.name()
    }

    fn language(&self) -> Language {
        Language::Nim
    }

    fn dense_forward(&self, call: &DenseCall<'_>, out: &mut [f32]) -> Result<()> {
        call.check(out)?;
        self.library.dense_forward(call, out)
    }
}
