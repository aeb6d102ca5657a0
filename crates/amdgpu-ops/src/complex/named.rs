//! Elementwise operations by name.

use amdgpu_abi::promotion::is_complex;
use amdgpu_array::Array;
use amdgpu_matrix::{Complex, Elementwise, ElementwiseOptions, TensorView};

use super::{complex_elementwise, on_host};
use crate::cpu::Host;
use crate::{DeviceOps, Operand, Result, elementwise};

/// An operation of the tables: of real numbers and, where they have it, of complex ones; or of complex numbers alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Any(Elementwise),
    Complex(Complex),
}

impl Named {
    /// Names of all operations.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let own = Complex::ALL.iter().map(|one| one.name());
        let own = own.filter(|name| Elementwise::from_name(name).is_none());
        Elementwise::ALL.iter().map(|one| one.name()).chain(own)
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let any = Elementwise::from_name(name).map(Self::Any);
        any.or_else(|| Complex::from_name(name).map(Self::Complex))
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any(known) => known.name(),
            Self::Complex(known) => known.name(),
        }
    }

    /// Names of the inputs, in order.
    #[must_use]
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Any(known) => known.inputs(),
            Self::Complex(known) => known.inputs(),
        }
    }

    /// What it is for inputs of these dtypes.
    fn for_dtypes(self, has_complex: bool) -> Result<Self> {
        match self {
            Self::Any(known) if has_complex => Ok(Self::Complex(Complex::of(known)?)),
            _ => Ok(self),
        }
    }

    /// As [`elementwise()`](elementwise::elementwise) and [`complex_elementwise`].
    ///
    /// # Errors
    ///
    /// As those.
    pub fn compute(
        self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
        alpha: f64,
    ) -> Result<Array> {
        match self.for_dtypes(inputs.iter().any(|one| is_complex(one.dtype)))? {
            Self::Any(known) => elementwise::elementwise(ops, known, inputs, out, alpha),
            Self::Complex(known) => complex_elementwise(ops, known, inputs, out),
        }
    }

    /// The same in memory of the host. Returns the moment at which the result was there, 0 where that is not known.
    ///
    /// # Errors
    ///
    /// As [`Self::compute`], and those of the host.
    pub fn on_host<H: Host>(
        self,
        inputs: &[TensorView<'_>],
        options: &ElementwiseOptions,
        host: &mut H,
    ) -> std::result::Result<u64, H::Error> {
        let has_complex = inputs.iter().any(|one| is_complex(one.dtype()));
        match self.for_dtypes(has_complex)? {
            Self::Any(known) => elementwise::on_host(known, inputs, options, host),
            Self::Complex(known) => on_host(known, inputs, options, host),
        }
    }
}
