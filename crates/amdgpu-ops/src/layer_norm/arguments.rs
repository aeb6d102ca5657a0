//! What layer norm and its gradients take.

use amdgpu_array::Array;

use crate::operand::Operand;

/// What messages call the operation.
pub(super) const NAME: &str = "layer_norm";

/// Layer norm over the last axes, as many as `scale` or `shift` have, else `row_rank`.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'a> {
    pub x: &'a Operand,
    /// Axes of a row.
    pub row_rank: usize,
    pub scale: Option<&'a Operand>,
    pub shift: Option<&'a Operand>,
}

/// What gradients are computed of: the gradient of the result, and the statistics that [`layer_norm_training`](super::layer_norm_training) gave.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormSlopes<'a> {
    pub gradient: &'a Operand,
    pub mean: &'a Operand,
    pub inverse: &'a Operand,
}

/// Where gradients go, of those that are wanted: memory without gaps.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayerNormGradients<'a> {
    /// Like x.
    pub by_x: Option<&'a Array>,
    /// Floats of the shape of a row.
    pub by_scale: Option<&'a Array>,
    pub by_shift: Option<&'a Array>,
}
