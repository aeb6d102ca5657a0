//! Windows over images: where axes are by `data_format`, and what `padding` means.

use crate::call::Attributes;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, View, shown};

/// In which order images have their axes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub channels_last: bool,
    /// How many axes images have.
    pub spatial: usize,
}

impl Layout {
    pub fn of(a: &Attributes) -> Outcome<Self> {
        Ok(match a.text(c"data_format")?.as_str() {
            "NHWC" => Self {
                channels_last: true,
                spatial: 2,
            },
            "NCHW" => Self {
                channels_last: false,
                spatial: 2,
            },
            "NDHWC" => Self {
                channels_last: true,
                spatial: 3,
            },
            "NCDHW" => Self {
                channels_last: false,
                spatial: 3,
            },
            other => {
                return Err(Failure::no_kernel(format!(
                    "data_format {other} has no kernel"
                )));
            }
        })
    }

    /// Its name in libamdgpu.
    pub fn name(self) -> &'static std::ffi::CStr {
        match (self.channels_last, self.spatial) {
            (true, 2) => c"NHWC",
            (false, 2) => c"NCHW",
            (true, _) => c"NDHWC",
            (false, _) => c"NCDHW",
        }
    }

    pub fn rank(self) -> usize {
        self.spatial + 2
    }

    /// The first of the axes of images.
    pub fn first(self) -> usize {
        if self.channels_last { 1 } else { 2 }
    }

    pub fn channel_axis(self) -> usize {
        if self.channels_last {
            self.rank() - 1
        } else {
            1
        }
    }

    /// The entries along the axes of images, of a list with one for each axis.
    pub fn along(self, values: &[i64]) -> Outcome<Vec<i64>> {
        if values.len() == self.rank() {
            let first = self.first();
            return Ok(values[first..first + self.spatial].to_vec());
        }
        Err(Failure::refused(format!(
            "{} values are given for the {} axes of images",
            values.len(),
            self.rank()
        )))
    }

    pub fn check(self, x: &View) -> Outcome {
        if x.rank() == self.rank() {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "input must be {}-dimensional: {}",
            self.rank(),
            shown(&x.shape)
        )))
    }

    /// A shape from images, extents and channels.
    pub fn shape(self, images: i64, extents: &[i64], channels: i64) -> Dims {
        let mut shape = Dims::from_slice(&[images]);
        if !self.channels_last {
            shape.push(channels);
        }
        shape.extend_from_slice(extents);
        if self.channels_last {
            shape.push(channels);
        }
        shape
    }
}

/// What `padding` says.
#[derive(Clone)]
pub enum Padding {
    Valid,
    Same,
    /// Before and after each axis of images.
    Explicit(Vec<[i64; 2]>),
}

impl Padding {
    pub fn of(a: &Attributes, layout: Layout) -> Outcome<Self> {
        Ok(match a.text(c"padding")?.as_str() {
            "VALID" => Self::Valid,
            "SAME" => Self::Same,
            "EXPLICIT" => {
                let all = a.ints(c"explicit_paddings")?;
                if all.len() != 2 * layout.rank() {
                    return Err(Failure::refused(format!(
                        "explicit_paddings attribute must contain {} values, but got: {}",
                        2 * layout.rank(),
                        all.len()
                    )));
                }
                let first = layout.first();
                Self::Explicit(
                    (first..first + layout.spatial)
                        .map(|axis| [all[2 * axis], all[2 * axis + 1]])
                        .collect(),
                )
            }
            other => {
                return Err(Failure::refused(format!(
                    "padding is {other:?}; known are SAME, VALID and EXPLICIT"
                )));
            }
        })
    }
}

/// Windows along one axis of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    pub count: i64,
    pub before: i64,
    pub after: i64,
}

/// Where windows lie along an axis: `GetWindowedOutputSizeVerbose` of `tensorflow/core/framework/kernel_shape_util.cc`.
pub fn windows(
    extent: i64,
    window: i64,
    stride: i64,
    dilation: i64,
    padding: &Padding,
    axis: usize,
) -> Outcome<Along> {
    if stride <= 0 || dilation <= 0 || window <= 0 {
        return Err(Failure::refused(format!(
            "windows must be positive, but the window is {window}, the stride {stride}, the dilation {dilation}"
        )));
    }
    let reach = (window - 1) * dilation + 1;
    let inside =
        |before: i64, after: i64| (extent + before + after - reach + stride).div_euclid(stride);
    let along = match padding {
        Padding::Valid => Along {
            count: inside(0, 0),
            before: 0,
            after: 0,
        },
        Padding::Explicit(all) => {
            let [before, after] = all[axis];
            Along {
                count: inside(before, after),
                before,
                after,
            }
        }
        Padding::Same => {
            let count = (extent + stride - 1).div_euclid(stride);
            let total = ((count - 1) * stride + reach - extent).max(0);
            Along {
                count,
                before: total / 2,
                after: total - total / 2,
            }
        }
    };
    if along.count < 0 || (along.count == 0 && extent > 0) {
        return Err(Failure::refused(format!(
            "Computed output size would be negative: {} [input_size: {extent}, effective_filter_size: {reach}, stride: {stride}]",
            along.count
        )));
    }
    Ok(along)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_windows_have_the_odd_pixel_of_padding_at_the_end() {
        let along = windows(224, 3, 2, 1, &Padding::Same, 0).unwrap();
        assert_eq!(
            along,
            Along {
                count: 112,
                before: 0,
                after: 1
            }
        );
        let along = windows(7, 1, 2, 1, &Padding::Same, 0).unwrap();
        assert_eq!(
            along,
            Along {
                count: 4,
                before: 0,
                after: 0
            }
        );
    }

    #[test]
    fn valid_windows_must_fit() {
        assert_eq!(windows(5, 3, 2, 1, &Padding::Valid, 0).unwrap().count, 2);
        assert!(windows(2, 3, 1, 1, &Padding::Valid, 0).is_err());
        let padding = Padding::Explicit(vec![[1, 2]]);
        assert_eq!(windows(4, 3, 1, 1, &padding, 0).unwrap().count, 5);
    }
}
