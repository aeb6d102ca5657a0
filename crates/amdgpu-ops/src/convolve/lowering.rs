//! What a convolution is lowered to: forward convolutions, or products of matrices. A pure function of its extents.
//!
//! Source: Chellapilla, Puri and Simard, High Performance Convolutional Neural Networks for Document Processing (2006), for patches; Dumoulin
//! and Visin, A guide to convolution arithmetic for deep learning (2016), for gradients by images as convolutions.

use amdgpu_abi::Dtype;
use amdgpu_matrix::{ConvolveOptions, ConvolvePass, Fitted, ImageLayout};

/// Fewer channels or outputs of a group leave most of a tile of the matrix units empty.
const CHANNELS: i64 = 8;
/// The gradient by the images is cut into the square of the stride of forward convolutions: with more the launches are what takes time.
const MAX_STRIDE: i64 = 4;
/// Rows of planes that begin at multiples of 16 bytes are read as vectors.
const VECTOR_BYTES: i64 = 16;

/// Forward convolutions and products that a convolution is computed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// Windows of one pixel over images with their channels second: a product of the weight and each image; for the gradient by the weight one of
    /// the gradient and each image, which are added up.
    Pixels,
    /// Windows of one pixel over images with their channels last: one product of all pixels and the weight.
    PixelRows,
    /// The gradient by the images: forward convolutions of the gradient of the result, each of which gives a [`Grid`] of pixels.
    Grids(Vec<Grid>),
    /// The gradient by the weight: a product of the gradient of the result and the patches of the images.
    Patches,
}

/// Pixels of images that lie `stride` apart along rows and columns: only every so manieth tap of the window meets them, always the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The first pixel, (row, column).
    pub first: [i64; 2],
    /// Pixels.
    pub extents: [i64; 2],
    /// The first tap that meets them, and how many do, `stride` apart.
    pub tap: [i64; 2],
    pub taps: [i64; 2],
    /// Zeros around the gradient of the result, as many before rows as before columns.
    pub padding: i64,
    /// Results of the forward convolution before those of the first pixel, which nobody needs.
    pub skipped: [i64; 2],
}

impl Lowering {
    /// The lowering of a convolution of planes; `None` for volumes, for groups of few channels, and for what has no such form.
    #[must_use]
    pub fn of(fitted: &Fitted, options: &ConvolveOptions, has_bias: bool) -> Option<Self> {
        let (groups, layout) = (options.groups, options.layout);
        let is_plane = options.operation.spatial == 2
            && [fitted.image[2], fitted.weight[2], fitted.result[2]] == [1; 3];
        let narrowest = (fitted.weight[0] / groups).min(fitted.weight[1]);
        if !is_plane || (groups > 1 && narrowest < CHANNELS) {
            return None;
        }
        let is_pixel = groups == 1 && !has_bias && has_pixel_products(fitted, layout);
        match fitted.pass {
            _ if is_pixel => Some(Self::Pixels),
            ConvolvePass::Forward | ConvolvePass::ImageGradient
                if !has_bias && groups == 1 && has_row_product(fitted, layout) =>
            {
                Some(Self::PixelRows)
            }
            ConvolvePass::WeightGradient => Some(Self::Patches),
            ConvolvePass::Forward => None,
            ConvolvePass::ImageGradient => {
                let grids = grids(fitted)?;
                // What no tap meets would lack the bias.
                let is_complete = grids.iter().all(|grid| !grid.taps.contains(&0));
                (is_complete || !has_bias).then_some(Self::Grids(grids))
            }
        }
    }
}

/// Whether products of each image are worth it: windows are single pixels, rows of planes are whole vectors, and a copy of the weight, or a part
/// of its gradient, for each image is not much larger than the image and the result, whose copies with channels last are saved.
fn has_pixel_products(fitted: &Fitted, layout: ImageLayout) -> bool {
    let [_, _, _, rows, columns] = fitted.image;
    let [outputs, channels, ..] = fitted.weight;
    let pixels = rows * columns;
    layout == ImageLayout::Nchw
        && has_single_pixels(fitted)
        && pixels * fitted.described.dtype.size_bytes() as i64 % VECTOR_BYTES == 0
        && outputs * channels <= 2 * pixels * (outputs + channels)
}

/// Whether windows are single pixels, one for each pixel of the images.
fn has_single_pixels(fitted: &Fitted) -> bool {
    let sliding = &fitted.sliding;
    fitted.weight[3..] == [1; 2] && sliding.stride[1..] == [1; 2] && sliding.padding[1..] == [0; 2]
}

/// Whether one product of all pixels is worth it: in float32, whose kernels for products are faster than those for convolutions (tf32 on an H200,
/// 64 images of 56 x 56 with 64 channels by 256 outputs: 85 us instead of 133; 16-bit numbers 48 either way).
fn has_row_product(fitted: &Fitted, layout: ImageLayout) -> bool {
    layout == ImageLayout::Nhwc && fitted.described.dtype == Dtype::F32 && has_single_pixels(fitted)
}

/// Along one axis: the first tap that meets every `stride`-th pixel from `first` on, how many do, and how many zeros stand before the gradient
/// of the result. Less than none are results that are left out.
fn along(first: i64, [stride, padding, dilation, window]: [i64; 4]) -> [i64; 3] {
    if stride == 1 {
        return [0, window, (window - 1) * dilation - padding];
    }
    let tap = (first + padding) % stride;
    let taps = (window - tap + stride - 1).div_euclid(stride).max(0);
    [tap, taps, taps - 1 - (first + padding - tap) / stride]
}

fn grids(fitted: &Fitted) -> Option<Vec<Grid>> {
    let sliding = &fitted.sliding;
    let [_, stride, stride_columns] = sliding.stride;
    let [_, dilation, dilation_columns] = sliding.dilation;
    let is_even = stride == stride_columns && dilation == dilation_columns;
    if !is_even || stride > MAX_STRIDE || (stride > 1 && dilation > 1) {
        return None;
    }
    let image = [fitted.image[3], fitted.image[4]];
    let both = |first: [i64; 2]| -> Grid {
        let axes = [0, 1].map(|axis| {
            let (padding, window) = (sliding.padding[axis + 1], fitted.weight[axis + 3]);
            along(first[axis], [stride, padding, dilation, window])
        });
        let padding = axes[0][2].max(axes[1][2]).max(0);
        Grid {
            first,
            extents: [0, 1].map(|axis| (image[axis] - first[axis] + stride - 1) / stride),
            tap: axes.map(|axis| axis[0]),
            taps: axes.map(|axis| axis[1]),
            padding,
            skipped: axes.map(|axis| padding - axis[2]),
        }
    };
    let firsts = (0..stride).flat_map(|row| (0..stride).map(move |column| [row, column]));
    let all = firsts.filter(|first| first[0] < image[0] && first[1] < image[1]);
    Some(all.map(both).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_matrix::{Convolve, ConvolveOptions, Sliding};

    fn options([stride, padding, dilation]: [i64; 3], groups: i64) -> ConvolveOptions {
        ConvolveOptions {
            operation: Convolve::CONV2D,
            sliding: Sliding {
                stride: [1, stride, stride],
                padding: [0, padding, padding],
                dilation: [1, dilation, dilation],
            },
            is_same: false,
            output_padding: [0; 3],
            groups,
            layout: ImageLayout::Nchw,
            thread_limit: None,
        }
    }

    fn fitted(
        pass: ConvolvePass,
        x: [i64; 4],
        weight: [i64; 4],
        options: &ConvolveOptions,
    ) -> Fitted {
        let dtype = Dtype::F32;
        let result = options.describe((&x, dtype), (&weight, dtype)).unwrap();
        let (inputs, shape) = match pass {
            ConvolvePass::Forward => ([&x[..], &weight[..]], &[][..]),
            ConvolvePass::ImageGradient => ([result.shape.as_slice(), &weight[..]], &x[..]),
            ConvolvePass::WeightGradient => ([&x[..], result.shape.as_slice()], &weight[..]),
        };
        let given = inputs.map(|shape| (shape, dtype));
        options.fit(pass, &given, shape).unwrap()
    }

    /// The gradient by a line of pixels, by the definition, and by the grids along one axis.
    fn both_ways([stride, padding, dilation]: [i64; 3], window: i64, extent: i64) -> [Vec<i64>; 2] {
        let of = fitted(
            ConvolvePass::ImageGradient,
            [1, 8, extent, extent],
            [8, 8, window, window],
            &options([stride, padding, dilation], 1),
        );
        let results = of.result[3];
        let gradient = |place: i64| {
            if (0..results).contains(&place) {
                place * 7 % 11 + 1
            } else {
                0
            }
        };
        let weight = |tap: i64| tap * tap + 3;
        let mut wanted = vec![0; usize::try_from(extent).unwrap()];
        for (place, tap) in (0..results).flat_map(|o| (0..window).map(move |i| (o, i))) {
            let pixel = place * stride - padding + tap * dilation;
            if (0..extent).contains(&pixel) {
                wanted[usize::try_from(pixel).unwrap()] += gradient(place) * weight(tap);
            }
        }
        let mut got = vec![i64::MAX; wanted.len()];
        for grid in grids(&of).unwrap() {
            assert!(grid.padding >= 0 && grid.skipped.iter().all(|skipped| *skipped >= 0));
            let step = if stride == 1 { dilation } else { 1 };
            for index in 0..grid.extents[1] {
                let start = index + grid.skipped[1] - grid.padding;
                let reversed = |t: i64| grid.tap[1] + (grid.taps[1] - 1 - t) * stride;
                let sum: i64 = (0..grid.taps[1])
                    .map(|t| gradient(start + t * step) * weight(reversed(t)))
                    .sum();
                got[usize::try_from(grid.first[1] + index * stride).unwrap()] = sum;
            }
        }
        [wanted, got]
    }

    #[test]
    fn grids_give_every_pixel_the_sum_of_the_definition() {
        for stride in 1..=4 {
            for padding in 0..5 {
                for (window, dilation) in [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (3, 2), (2, 3)] {
                    let is_known = stride == 1 || dilation == 1;
                    for extent in [9, 10, 11, 12] {
                        let reach = (window - 1) * dilation + 1;
                        if !is_known || extent + 2 * padding < reach {
                            continue;
                        }
                        let steps = [stride, padding, dilation];
                        let [wanted, got] = both_ways(steps, window, extent);
                        assert_eq!(got, wanted, "{steps:?} {window} {extent}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_and_columns_that_need_other_padding_leave_results_out() {
        let of = fitted(
            ConvolvePass::ImageGradient,
            [1, 8, 8, 8],
            [8, 8, 4, 4],
            &options([2, 1, 1], 1),
        );
        let all = grids(&of).unwrap();
        let seen: Vec<_> = { all.iter() }
            .map(|grid| (grid.first, grid.padding, grid.skipped))
            .collect();
        let expected = [
            ([0, 0], 1, [0, 0]),
            ([0, 1], 1, [0, 1]),
            ([1, 0], 1, [1, 0]),
            ([1, 1], 0, [0, 0]),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_convolution_is_lowered_by_its_extents() {
        let of = |pass, x, weight, steps, groups, layout| {
            let options = ConvolveOptions {
                layout,
                ..options(steps, groups)
            };
            let planar = fitted(pass, x, weight, &self::tests::options(steps, groups));
            Lowering::of(&planar, &options, false)
        };
        let (nchw, nhwc) = (ImageLayout::Nchw, ImageLayout::Nhwc);
        let forward = ConvolvePass::Forward;
        let images = ConvolvePass::ImageGradient;
        let pixels = |pass, extent, layout| {
            let (x, weight) = ([4, 64, extent, extent], [64, 64, 1, 1]);
            of(pass, x, weight, [1, 0, 1], 1, layout) == Some(Lowering::Pixels)
        };
        assert!(pixels(forward, 56, nchw) && pixels(images, 56, nchw));
        assert!(pixels(ConvolvePass::WeightGradient, 56, nchw));
        // Rows of 49 float32 are no vectors.
        assert!(!pixels(forward, 7, nchw) && !pixels(images, 7, nchw));
        let rows = |pass, weight, steps, layout| {
            of(pass, [4, 64, 7, 7], weight, steps, 1, layout) == Some(Lowering::PixelRows)
        };
        let single = ([64, 64, 1, 1], [1, 0, 1]);
        assert!(rows(forward, single.0, single.1, nhwc) && rows(images, single.0, single.1, nhwc));
        assert!(!rows(
            ConvolvePass::WeightGradient,
            single.0,
            single.1,
            nhwc
        ));
        assert!(!rows(forward, single.0, [2, 0, 1], nhwc));
        assert!(!rows(forward, [64, 64, 3, 3], [1, 1, 1], nhwc));
        // Copies of the weight would be larger than those of the images.
        let (x, weight) = ([4, 2048, 14, 14], [2048, 2048, 1, 1]);
        assert_eq!(of(forward, x, weight, [1, 0, 1], 1, nchw), None);
        // A bias is of rows of such products.
        let (x, weight) = ([4, 64, 56, 56], [64, 64, 1, 1]);
        let single = options([1, 0, 1], 1);
        let plain = fitted(forward, x, weight, &single);
        assert_eq!(Lowering::of(&plain, &single, true), None);
        let (x, weight) = ([4, 64, 56, 56], [64, 64, 3, 3]);
        assert_eq!(of(forward, x, weight, [1, 1, 1], 1, nchw), None);
        let count = |steps| match of(images, x, weight, steps, 1, nchw) {
            Some(Lowering::Grids(grids)) => grids.len(),
            _ => 0,
        };
        assert_eq!(
            [count([1, 1, 1]), count([2, 1, 1]), count([2, 1, 2])],
            [1, 4, 0]
        );
        assert_eq!(count([5, 1, 1]), 0);
        let weights = ConvolvePass::WeightGradient;
        let patches = Some(Lowering::Patches);
        assert_eq!(of(weights, x, weight, [1, 1, 1], 1, nhwc), patches);
        // Four channels of a group are too few.
        assert_eq!(of(weights, x, [64, 4, 3, 3], [1, 1, 1], 16, nchw), None);
    }

    #[test]
    fn a_bias_needs_a_tap_for_every_pixel() {
        let of = fitted(
            ConvolvePass::ImageGradient,
            [1, 8, 8, 8],
            [8, 8, 1, 1],
            &options([2, 0, 1], 1),
        );
        let steps = options([2, 0, 1], 1);
        let lowered = |has_bias| Lowering::of(&of, &steps, has_bias).is_some();
        assert!(lowered(false) && !lowered(true));
    }
}
