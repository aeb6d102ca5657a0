//! Windows over images, as convolution and pooling share them: extents of results, limits, the order of axes.

use std::fmt;

use amdgpu_abi::ErrorCode;

use crate::Error;
use crate::layout::Layout;

/// The largest extent, stride, padding or dilation: products of two stay far within 64 bits.
const LIMIT: i64 = 1 << 31;

/// Axes that windows slide along at most: depth, rows, columns.
pub const SPATIAL: usize = 3;

/// Which axis of an image holds the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageLayout {
    /// (batch, channels, …)
    Nchw,
    /// (batch, …, channels)
    Nhwc,
}

impl ImageLayout {
    /// The names of both layouts of images with so many axes that windows slide along.
    #[must_use]
    pub const fn names(spatial: usize) -> [&'static str; 2] {
        match spatial {
            1 => ["NCL", "NLC"],
            2 => ["NCHW", "NHWC"],
            _ => ["NCDHW", "NDHWC"],
        }
    }

    #[must_use]
    pub fn from_name(name: &str, spatial: usize) -> Option<Self> {
        let [first, last] = Self::names(spatial);
        if name == first {
            return Some(Self::Nchw);
        }
        (name == last).then_some(Self::Nhwc)
    }

    /// Axes of an image of this layout in the order batch, channels, depth, rows, columns, as far as it has them; what follows means nothing.
    #[must_use]
    pub fn order(self, spatial: usize) -> [usize; 5] {
        let mut order = [0, 1, 2, 3, 4];
        if self == Self::Nhwc {
            order = [0, 1 + spatial, 1, 2, 3];
        }
        order
    }

    /// Batch, channels, depth, rows and columns of an image of this shape; extents that it lacks are 1.
    ///
    /// # Errors
    ///
    /// As [`extents_of`].
    pub fn extents(
        self,
        operation: &str,
        argument: &str,
        shape: &[i64],
        spatial: usize,
    ) -> Result<[i64; 5], Error> {
        let given = extents_of(operation, argument, shape, spatial)?;
        let order = self.order(spatial);
        let mut extents = [1; 5];
        (extents[0], extents[1]) = (given[order[0]], given[order[1]]);
        for (extent, axis) in extents[5 - spatial..].iter_mut().zip(&order[2..]) {
            *extent = given[*axis];
        }
        Ok(extents)
    }

    /// The shape of this layout from extents in the order batch, channels, depth, rows, columns.
    #[must_use]
    pub fn shape(self, extents: [i64; 5], spatial: usize) -> Vec<i64> {
        let [batch, channels, ..] = extents;
        let mut shape = vec![batch];
        shape.extend((self == Self::Nchw).then_some(channels));
        shape.extend(&extents[5 - spatial..]);
        shape.extend((self == Self::Nhwc).then_some(channels));
        shape
    }

    /// An image with the axes batch, channels, rows, columns, or those and depth behind the channels.
    pub(crate) fn turned(self, image: &Layout) -> Layout {
        let rank = image.rank();
        with_rows(&image.permuted(&self.order(rank - 2)[..rank]))
    }
}

/// An image or weight of three axes has one row.
pub(crate) fn with_rows(tensor: &Layout) -> Layout {
    if tensor.rank() == 3 {
        tensor.with_axis(2)
    } else {
        tensor.clone()
    }
}

/// How a window slides: along depth, rows, columns. Axes that images lack come first, with the stride, padding and dilation of [`Self::STILL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sliding {
    pub stride: [i64; SPATIAL],
    /// Before the first element, and unless an operation says otherwise as much behind the last.
    pub padding: [i64; SPATIAL],
    pub dilation: [i64; SPATIAL],
}

impl Sliding {
    pub const STILL: Self = Self {
        stride: [1; SPATIAL],
        padding: [0; SPATIAL],
        dilation: [1; SPATIAL],
    };

    pub(crate) fn check(&self, operation: &str, spatial: usize) -> Result<(), Error> {
        let all = [
            ("stride", &self.stride, 1),
            ("padding", &self.padding, 0),
            ("dilation", &self.dilation, 1),
        ];
        for (name, values, least) in all {
            check_along(operation, name, values, spatial, least)?;
        }
        check_lacking(operation, "stride", &self.stride, spatial, 1)?;
        check_lacking(operation, "padding", &self.padding, spatial, 0)?;
        check_lacking(operation, "dilation", &self.dilation, spatial, 1)
    }

    /// Extents of the result for an image and a window, with so much padding behind the image.
    pub(crate) fn result(
        &self,
        operation: &str,
        spatial: usize,
        (image, window): ([i64; SPATIAL], [i64; SPATIAL]),
        (end, rounds_up): ([i64; SPATIAL], bool),
    ) -> Result<[i64; SPATIAL], Error> {
        let mut result = [1; SPATIAL];
        for (axis, extent) in result.iter_mut().enumerate().skip(SPATIAL - spatial) {
            let slide = Slide {
                image: image[axis],
                window: window[axis],
                stride: self.stride[axis],
                padding: (self.padding[axis], end[axis]),
                dilation: self.dilation[axis],
            };
            *extent = slide.result(rounds_up).ok_or_else(|| {
                Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "{operation}: a window of {} with dilation {} does not fit an image of {} with padding {}",
                        Along(&window, spatial),
                        Along(&self.dilation, spatial),
                        Along(&image, spatial),
                        Along(&self.padding, spatial)
                    ),
                )
            })?;
        }
        Ok(result)
    }
}

/// Refuses values below `least`, and such that products of two might not be counted.
pub(crate) fn check_along(
    operation: &str,
    name: &str,
    values: &[i64; SPATIAL],
    spatial: usize,
    least: i64,
) -> Result<(), Error> {
    if values.iter().all(|value| (least..LIMIT).contains(value)) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!(
            "{operation}: {name} is {}; {least} to 2^31 are accepted",
            Along(values, spatial)
        ),
    ))
}

/// Refuses images and windows without elements, and such that products of two extents might not be counted.
pub(crate) fn check_extents(
    operation: &str,
    what: &str,
    extents: &[i64; SPATIAL],
    spatial: usize,
) -> Result<(), Error> {
    if extents.iter().all(|extent| (1..LIMIT).contains(extent)) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{operation}: {what} has {} elements along its axes; 1 to 2^31 are accepted",
            Along(extents, spatial)
        ),
    ))
}

/// Refuses values along axes that images lack.
pub(crate) fn check_lacking(
    operation: &str,
    name: &str,
    values: &[i64; SPATIAL],
    spatial: usize,
    still: i64,
) -> Result<(), Error> {
    let lacking = &values[..SPATIAL - spatial];
    let Some(value) = lacking.iter().find(|value| **value != still) else {
        return Ok(());
    };
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!(
            "{operation}: {name} is {value} along an axis that its images lack; leave it {still} there"
        ),
    ))
}

/// The last values of three, as callers write them.
pub(crate) struct Along<'a>(pub &'a [i64; SPATIAL], pub usize);

impl fmt::Display for Along<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[SPATIAL - self.1..] {
            [one] => write!(to, "{one}"),
            [first, second] => write!(to, "({first}, {second})"),
            many => write!(to, "({}, {}, {})", many[0], many[1], many[2]),
        }
    }
}

/// A window along one axis.
struct Slide {
    image: i64,
    window: i64,
    stride: i64,
    /// Before and behind the image.
    padding: (i64, i64),
    dilation: i64,
}

impl Slide {
    /// Places of the window; rounded up, windows may reach beyond the padding, if they begin in the image or before it. `None` when the
    /// window is larger than the padded image, or nothing.
    fn result(&self, rounds_up: bool) -> Option<i64> {
        let padded = self.image.checked_add(self.padding.0 + self.padding.1)?;
        let reach = self.dilation.checked_mul(self.window - 1)?.checked_add(1)?;
        if !(1..LIMIT).contains(&self.window) || reach > padded || self.image >= LIMIT {
            return None;
        }
        let rest = padded - reach;
        if !rounds_up || rest % self.stride == 0 {
            return Some(rest / self.stride + 1);
        }
        let last = rest / self.stride + 1;
        Some(last + i64::from(last * self.stride < self.image + self.padding.0))
    }
}

/// The extents of an image or weight, which has two axes more than windows slide along.
///
/// # Errors
///
/// `shape-mismatch` for another number of axes, or negative extents.
pub fn extents_of<'a>(
    operation: &str,
    argument: &str,
    shape: &'a [i64],
    spatial: usize,
) -> Result<&'a [i64], Error> {
    let refused = |expected: &str| {
        Error::refused(
            ErrorCode::ShapeMismatch,
            format!("{operation}: {argument} has shape {shape:?}; {expected}"),
        )
    };
    if shape.iter().any(|extent| *extent < 0) {
        return Err(refused("extents are not negative"));
    }
    if shape.len() != 2 + spatial {
        let count = ["three", "four", "five"][spatial - 1];
        return Err(refused(&format!("{count} axes are expected")));
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(
        image: i64,
        window: i64,
        stride: i64,
        padding: i64,
        dilation: i64,
    ) -> [Option<i64>; 2] {
        let slide = Slide {
            image,
            window,
            stride,
            padding: (padding, padding),
            dilation,
        };
        [slide.result(false), slide.result(true)]
    }

    #[test]
    fn extents_are_those_of_the_frameworks() {
        assert_eq!(extent(224, 7, 2, 3, 1), [Some(112), Some(113)]);
        assert_eq!(extent(5, 3, 1, 0, 2), [Some(1); 2]);
        assert_eq!(extent(4, 3, 1, 0, 2), [None; 2]);
        assert_eq!(extent(0, 1, 1, 0, 1), [None; 2]);
        assert_eq!(extent(0, 1, 1, 1, 1), [Some(2); 2]);
        assert_eq!(extent(3, 0, 1, 0, 1), [None; 2]);
    }

    #[test]
    fn rounded_up_the_last_window_begins_in_the_image_or_before_it() {
        assert_eq!(extent(6, 3, 2, 0, 1), [Some(2), Some(3)]);
        // The third window would begin in the padding behind the image.
        assert_eq!(extent(4, 2, 3, 1, 1), [Some(2), Some(2)]);
        assert_eq!(extent(112, 3, 2, 0, 1), [Some(55), Some(56)]);
    }

    #[test]
    fn layouts_of_all_ranks_have_their_channels_second_or_last() {
        let extents = [2, 3, 4, 5, 6];
        assert_eq!(ImageLayout::Nchw.shape(extents, 3), [2, 3, 4, 5, 6]);
        assert_eq!(ImageLayout::Nhwc.shape(extents, 3), [2, 4, 5, 6, 3]);
        assert_eq!(ImageLayout::Nhwc.shape(extents, 1), [2, 6, 3]);
        let of = |shape: &[i64]| ImageLayout::Nhwc.extents("", "", shape, shape.len() - 2);
        assert_eq!(of(&[2, 4, 5, 6, 3]).ok(), Some(extents));
        assert_eq!(of(&[2, 6, 3]).ok(), Some([2, 3, 1, 1, 6]));
    }
}
