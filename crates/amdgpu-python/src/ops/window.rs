//! Arguments of windows that slide over images, for convolution and pooling.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::pool::{ImageLayout, SPATIAL, Sliding};
use pyo3::prelude::*;

use crate::errors::raise;

/// What callers give along the axes of images, of which there are one to three.
#[derive(Default)]
pub struct Along {
    pub stride: Vec<i64>,
    pub padding: Vec<i64>,
    pub dilation: Vec<i64>,
}

impl Along {
    pub fn sliding(&self, py: Python<'_>, operation: &str, spatial: usize) -> PyResult<Sliding> {
        let still = Sliding::STILL;
        let of =
            |name: &str, given: &[i64], still| spread(py, (operation, name), given, spatial, still);
        Ok(Sliding {
            stride: of("stride", &self.stride, still.stride)?,
            padding: of("padding", &self.padding, still.padding)?,
            dilation: of("dilation", &self.dilation, still.dilation)?,
        })
    }
}

/// Values for depth, rows and columns of those for the axes of images; nothing given is the default.
pub fn spread<T: Copy>(
    py: Python<'_>,
    (operation, name): (&str, &str),
    given: &[T],
    spatial: usize,
    default: [T; SPATIAL],
) -> PyResult<[T; SPATIAL]> {
    let mut all = default;
    if given.is_empty() {
        return Ok(all);
    }
    if given.len() != spatial {
        let count = given.len();
        let message = format!(
            "{operation}: {name} has {count} values, for images of {spatial} axes besides batch and channels"
        );
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    }
    all[SPATIAL - spatial..].copy_from_slice(given);
    Ok(all)
}

pub fn image_layout(
    py: Python<'_>,
    operation: &str,
    spatial: usize,
    layout: &str,
) -> PyResult<ImageLayout> {
    ImageLayout::from_name(layout, spatial).ok_or_else(|| {
        let [first, last] = ImageLayout::names(spatial);
        let message = format!("{operation}: layout is {layout:?}; known are {first} and {last}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}
