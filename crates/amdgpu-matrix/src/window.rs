//! Windows over images, as convolution and pooling share them: extents of results, limits, the order of axes.

use amdgpu_abi::ErrorCode;

use crate::Error;
use crate::layout::Layout;

/// The largest extent, stride, padding or dilation: products of two stay far within 64 bits.
const LIMIT: i64 = 1 << 31;

/// Which axis of an image holds the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageLayout {
    /// (batch, channels, rows, columns)
    Nchw,
    /// (batch, rows, columns, channels)
    Nhwc,
}

impl ImageLayout {
    /// Axes of an image of this layout in the order batch, channels, rows, columns.
    #[must_use]
    pub fn order(self) -> [usize; 4] {
        match self {
            Self::Nchw => [0, 1, 2, 3],
            Self::Nhwc => [0, 3, 1, 2],
        }
    }

    /// Batch, channels, rows and columns of an image of this shape.
    #[must_use]
    pub fn extents(self, shape: [i64; 4]) -> [i64; 4] {
        self.order().map(|axis| shape[axis])
    }

    /// The shape of this layout from extents in the order batch, channels, rows, columns.
    #[must_use]
    pub fn shape(self, [batch, channels, rows, columns]: [i64; 4]) -> Vec<i64> {
        match self {
            Self::Nchw => vec![batch, channels, rows, columns],
            Self::Nhwc => vec![batch, rows, columns, channels],
        }
    }

    pub(crate) fn turned(self, image: &Layout) -> Layout {
        image.permuted(&self.order())
    }
}

/// How a window slides: (along rows, along columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    pub stride: (i64, i64),
    pub padding: (i64, i64),
    pub dilation: (i64, i64),
}

impl Sliding {
    pub(crate) fn check(&self, operation: &str) -> Result<(), Error> {
        let pairs = [
            ("stride", self.stride, 1),
            ("padding", self.padding, 0),
            ("dilation", self.dilation, 1),
        ];
        for (name, pair, least) in pairs {
            for value in [pair.0, pair.1] {
                if !(least..LIMIT).contains(&value) {
                    return Err(Error::refused(
                        ErrorCode::InvalidArgument,
                        format!("{operation}: {name} is {pair:?}; {least} to 2^31 are accepted"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Extents of the result for an image and a window of (rows, columns).
    pub(crate) fn result(
        &self,
        operation: &str,
        image: (i64, i64),
        window: (i64, i64),
    ) -> Result<(i64, i64), Error> {
        let rows = extent(
            image.0,
            window.0,
            self.stride.0,
            self.padding.0,
            self.dilation.0,
        );
        let columns = extent(
            image.1,
            window.1,
            self.stride.1,
            self.padding.1,
            self.dilation.1,
        );
        match (rows, columns) {
            (Some(rows), Some(columns)) => Ok((rows, columns)),
            _ => Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{operation}: a window of {window:?} with dilation {:?} does not fit an image of {image:?} with padding {:?}",
                    self.dilation, self.padding
                ),
            )),
        }
    }
}

/// `None` when the window is larger than the padded image, or nothing.
fn extent(image: i64, window: i64, stride: i64, padding: i64, dilation: i64) -> Option<i64> {
    let padded = image.checked_add(2 * padding)?;
    let reach = dilation.checked_mul(window - 1)?.checked_add(1)?;
    ((1..LIMIT).contains(&window) && reach <= padded && image < LIMIT)
        .then(|| (padded - reach) / stride + 1)
}

/// The extents of an image or weight with exactly four axes.
///
/// # Errors
///
/// `shape-mismatch` for another number of axes, or negative extents.
pub fn four_axes(operation: &str, argument: &str, shape: &[i64]) -> Result<[i64; 4], Error> {
    let refused = |expected: &str| {
        Error::refused(
            ErrorCode::ShapeMismatch,
            format!("{operation}: {argument} has shape {shape:?}; {expected}"),
        )
    };
    if shape.iter().any(|extent| *extent < 0) {
        return Err(refused("extents are not negative"));
    }
    shape
        .try_into()
        .map_err(|_| refused("four axes are expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_those_of_the_frameworks() {
        assert_eq!(extent(224, 7, 2, 3, 1), Some(112));
        assert_eq!(extent(5, 3, 1, 0, 2), Some(1));
        assert_eq!(extent(4, 3, 1, 0, 2), None);
        assert_eq!(extent(0, 1, 1, 0, 1), None);
        assert_eq!(extent(0, 1, 1, 1, 1), Some(2));
        assert_eq!(extent(3, 0, 1, 0, 1), None);
    }
}
