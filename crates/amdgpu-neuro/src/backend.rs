//! Implementations of the dense layer: the Matrix core (Zig), the Math core (Julia) and the reference (Nim).

mod math;
mod matrix;
mod nim;

use std::sync::Arc;

use amdgpu_abi::{Activation, Coded, Language};

use crate::error::{Error, Result};

pub use math::MathBackend;
pub use matrix::MatrixBackend;
pub use nim::NimBackend;

/// One dense layer: `out[batch, outputs] = activation(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs])`, all row-major.
#[derive(Clone, Copy, Debug)]
pub struct DenseCall<'a> {
    pub x: &'a [f32],
    pub weight: &'a [f32],
    pub bias: Option<&'a [f32]>,
    pub batch: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub activation: Activation,
}

impl DenseCall<'_> {
    /// Lengths of the slices against batch, inputs and outputs; every backend calls it before it hands out addresses.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeMismatch`] that names the argument.
    pub fn check(&self, out: &[f32]) -> Result<()> {
        let expect = |name: &str, len: usize, rows: usize, columns: usize| {
            if rows.checked_mul(columns) == Some(len) {
                return Ok(());
            }
            Err(Error::ShapeMismatch(format!(
                "{name} has {len} elements, expected {rows} x {columns}"
            )))
        };
        expect("x", self.x.len(), self.batch, self.inputs)?;
        expect("weight", self.weight.len(), self.inputs, self.outputs)?;
        expect("out", out.len(), self.batch, self.outputs)?;
        if let Some(bias) = self.bias {
            expect("bias", bias.len(), 1, self.outputs)?;
        }
        Ok(())
    }
}

/// An implementation of dense layers.
pub trait DenseBackend: Send + Sync {
    /// As it is named in Python's `backend=` and in messages.
    fn name(&self) -> &'static str;

    fn language(&self) -> Language;

    /// Computes `call` into `out[batch, outputs]`.
    ///
    /// # Errors
    ///
    /// Lengths that do not fit, or the core's own failure.
    fn dense_forward(&self, call: &DenseCall<'_>, out: &mut [f32]) -> Result<()>;
}

/// The backends by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DenseBackendKind {
    /// The Matrix core, in Zig: SIMD on the shared thread pool.
    Matrix,
    /// The Math core, in Julia.
    Math,
    /// The reference, in Nim: plain loops with float64 accumulation.
    Nim,
}

impl DenseBackendKind {
    pub const ALL: [Self; 3] = [Self::Matrix, Self::Math, Self::Nim];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Math => "math",
            Self::Nim => "nim",
        }
    }

    /// By the core's name or its language: `matrix` or `zig`, `math` or `julia`, `nim` or `reference`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "matrix" | "zig" => Some(Self::Matrix),
            "math" | "julia" => Some(Self::Math),
            "nim" | "reference" => Some(Self::Nim),
            _ => None,
        }
    }

    /// Opens what the backend needs.
    ///
    /// # Errors
    ///
    /// Its library or runtime is missing or stale.
    pub fn open(self) -> Result<Arc<dyn DenseBackend>> {
        Ok(match self {
            Self::Matrix => Arc::new(MatrixBackend::open()?),
            Self::Math => Arc::new(MathBackend::open()?),
            Self::Nim => Arc::new(NimBackend::open()?),
        })
    }
}

/// The Matrix core, or the reference when it cannot be opened: counted as a fallback of `dense_forward`.
///
/// # Errors
///
/// Neither can be opened; the error is the reference's.
pub fn preferred() -> Result<Arc<dyn DenseBackend>> {
    DenseBackendKind::Matrix.open().or_else(|error| {
        let reference = DenseBackendKind::Nim.open()?;
        amdgpu_telemetry::fallback(
            "dense_forward",
            &format!("Matrix core: {}", error.code().name()),
        );
        Ok(reference)
    })
}

#[cfg(test)]
mod tests {
    use amdgpu_abi::ACTIVATION_IDENTITY;

    use super::*;

    #[test]
    fn every_length_of_a_call_is_checked_and_named() {
        let zeros = [0.0_f32; 12];
        let call = |x: usize, weight: usize, bias: Option<usize>| DenseCall {
            x: &zeros[..x],
            weight: &zeros[..weight],
            bias: bias.map(|len| &zeros[..len]),
            batch: 3,
            inputs: 2,
            outputs: 4,
            activation: Activation {
                kind: ACTIVATION_IDENTITY,
                alpha: 0.0,
                beta: 0.0,
                reserved: 0,
            },
        };
        assert!(call(6, 8, None).check(&zeros).is_ok());
        assert!(call(6, 8, Some(4)).check(&zeros).is_ok());
        for (call, out, message) in [
            (call(5, 8, None), 12, "x has 5 elements, expected 3 x 2"),
            (
                call(6, 7, None),
                12,
                "weight has 7 elements, expected 2 x 4",
            ),
            (call(6, 8, None), 11, "out has 11 elements, expected 3 x 4"),
            (
                call(6, 8, Some(3)),
                12,
                "bias has 3 elements, expected 1 x 4",
            ),
        ] {
            let error = call.check(&zeros[..out]).unwrap_err();
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }

    #[test]
    fn backends_are_known_by_core_and_by_language() {
        for (kind, names) in DenseBackendKind::ALL.into_iter().zip([
            ["matrix", "zig"],
            ["math", "julia"],
            ["nim", "reference"],
        ]) {
            assert_eq!(kind.name(), names[0]);
            assert!(
                names
                    .into_iter()
                    .all(|name| DenseBackendKind::from_name(name) == Some(kind))
            );
        }
        assert_eq!(DenseBackendKind::from_name("torch"), None);
    }
}
