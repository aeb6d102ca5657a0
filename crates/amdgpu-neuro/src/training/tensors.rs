//! Weights and biases of a network, in whatever memory.

use crate::error::Error;

/// Weights and biases by layer. Weights of the input layer are empty; a layer may have no bias.
#[derive(Debug)]
pub struct Tensors<B> {
    pub weights: Vec<B>,
    pub biases: Vec<Option<B>>,
}

/// As [`Tensors`], of somebody else.
#[derive(Debug)]
pub struct TensorsRef<'a, B> {
    pub weights: &'a [B],
    pub biases: &'a [Option<B>],
}

impl<B> Clone for TensorsRef<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for TensorsRef<'_, B> {}

impl<B> Tensors<B> {
    /// Every buffer, in the order of the layers: weights, then bias.
    pub fn iter(&self) -> impl Iterator<Item = &B> {
        self.as_ref().iter()
    }

    /// As [`Tensors::iter`].
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut B> {
        let layers = self.weights.iter_mut().zip(&mut self.biases);
        layers.flat_map(|(weight, bias)| std::iter::once(weight).chain(bias))
    }

    #[must_use]
    pub fn as_ref(&self) -> TensorsRef<'_, B> {
        TensorsRef {
            weights: &self.weights,
            biases: &self.biases,
        }
    }
}

impl<'a, B> TensorsRef<'a, B> {
    /// As [`Tensors::iter`].
    pub fn iter(self) -> impl Iterator<Item = &'a B> {
        let layers = self.weights.iter().zip(self.biases);
        layers.flat_map(|(weight, bias)| std::iter::once(weight).chain(bias))
    }
}

pub(crate) fn other_tensors() -> Error {
    Error::ShapeMismatch(
        "the network got other biases since its training began: begin a new one".to_owned(),
    )
}
