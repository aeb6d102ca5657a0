//! Images whose channels are last in memory: they are taken as they lie, and results lie so, too.

use crate::dtype::Dtype;
use crate::failure::Outcome;
use crate::tensor::{Dims, Place, Tensor, View, row_major};

/// Whether the channels of images, or of a weight, are last in memory and nowhere else.
pub fn has_channels_last(x: &View) -> bool {
    matches!(x.rank(), 4 | 5) && !x.is_contiguous() && channels_last(x).is_contiguous()
}

/// The same memory with the axis of channels behind the others.
pub fn channels_last(x: &View) -> View {
    let axes: Vec<usize> = [0].into_iter().chain(2..x.rank()).chain([1]).collect();
    x.permuted(&axes)
}

/// New images of a shape (batch, channels, ...), with their channels last in memory or not.
pub fn empty(shape: &[i64], is_last: bool, dtype: Dtype, place: Place) -> Outcome<Tensor> {
    if !is_last {
        return Tensor::empty(shape, dtype, place);
    }
    let mut stored = Dims::from_slice(shape);
    let channels = stored.remove(1);
    stored.push(channels);
    let mut strides = row_major(&stored);
    let of_channels = strides.pop().unwrap_or(1);
    strides.insert(1, of_channels);
    Tensor::empty_strided(shape, &strides, dtype, place)
}
