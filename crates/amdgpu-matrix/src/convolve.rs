//! Convolution of images, transposed convolution, and their gradients.
//!
//! A transposed convolution is the gradient of a convolution by its images, whose result and images change places: [`Fitted`] says which
//! pass of which convolution a call is.

use std::mem::size_of;

use amdgpu_abi::layout::{CONVOLVE_FORWARD, CONVOLVE_IMAGE_GRADIENT, CONVOLVE_WEIGHT_GRADIENT};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::window::{Along, check_along, check_extents, check_lacking, extents_of, with_rows};
use crate::{Error, ImageLayout, Matrix, SPATIAL, Sliding, TensorView, TensorViewMut, element};

/// A convolution by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolve {
    /// Axes that windows slide along: 1 to 3.
    pub spatial: usize,
    pub is_transposed: bool,
}

/// Names in `amdgpu.ops`.
const NAMES: [[&str; SPATIAL]; 2] = [
    ["conv1d", "conv2d", "conv3d"],
    ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"],
];

impl Convolve {
    pub const CONV2D: Self = Self {
        spatial: 2,
        is_transposed: false,
    };

    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self.is_transposed as usize][self.spatial - 1]
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        [false, true].into_iter().flat_map(|is_transposed| {
            (1..=SPATIAL).map(move |spatial| Self {
                spatial,
                is_transposed,
            })
        })
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|operation| operation.name() == name)
    }
}

/// Axes are depth, rows, columns; those that images lack come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvolveOptions {
    pub operation: Convolve,
    pub sliding: Sliding,
    /// Whether the result has the extents of the images, by as much padding as that takes; that of `sliding` is 0 then.
    pub is_same: bool,
    /// What the result of a transposed convolution has more, behind its last pixel.
    pub output_padding: [i64; SPATIAL],
    pub groups: i64,
    pub layout: ImageLayout,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

/// Which tensor is computed from the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvolvePass {
    Forward,
    /// The gradient by the image, from the gradient of the result and the weight.
    ImageGradient,
    /// The gradient by the weight, from the image and the gradient of the result.
    WeightGradient,
}

impl ConvolvePass {
    pub const ALL: [Self; 3] = [Self::Forward, Self::ImageGradient, Self::WeightGradient];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::ImageGradient => "image_gradient",
            Self::WeightGradient => "weight_gradient",
        }
    }

    /// What the inputs are called.
    #[must_use]
    pub const fn input_names(self) -> &'static [&'static str] {
        match self {
            Self::Forward => &["x", "weight", "bias"],
            Self::ImageGradient => &["gradient", "weight"],
            Self::WeightGradient => &["x", "gradient"],
        }
    }
}

/// A convolution that is not transposed, whose tensors fit; extents in the order batch, channels, depth, rows, columns.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub pass: ConvolvePass,
    /// Whether the first two inputs change places.
    pub swaps_inputs: bool,
    pub image: [i64; 5],
    pub weight: [i64; 5],
    pub result: [i64; 5],
    /// With the padding before the images; how far windows reach behind them is told by the extents of the result.
    pub sliding: Sliding,
    /// What is computed.
    pub described: Described,
}

type Given<'a> = (&'a [i64], Dtype);

impl ConvolveOptions {
    /// Shape and dtype of the result of `image` and `weight`: (outputs, channels of a group, …), or (channels, outputs of a group, …) where
    /// the convolution is transposed.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` when channels, groups and weight do not fit or the window is too large, `invalid-argument`, `unsupported-dtype`.
    pub fn describe(&self, image: Given<'_>, weight: Given<'_>) -> Result<Described, Error> {
        let (name, spatial) = (self.operation.name(), self.operation.spatial);
        self.sliding.check(name, spatial)?;
        let [batch, channels, plane @ ..] = self.layout.extents(name, "x", image.0, spatial)?;
        let [own, other, window @ ..] = weight_extents(name, weight.0, spatial)?;
        self.check_channels((image.0, channels), (weight.0, own, other))?;
        let (outputs, result) = if self.operation.is_transposed {
            // Groups and channels were counted before.
            (other * self.groups, self.transposed_extents(plane, window)?)
        } else {
            let (begin, end) = self.padding(window)?;
            let sliding = Sliding {
                padding: begin,
                ..self.sliding
            };
            let result = sliding.result(name, spatial, (plane, window), (end, false))?;
            (own, result)
        };
        if !element::is_float(image.1) || image.1 != weight.1 {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: x has dtype {} and weight {}; both must be the same float",
                    element::name(image.1),
                    element::name(weight.1)
                ),
            ));
        }
        let [depth, rows, columns] = result;
        let extents = [batch, outputs, depth, rows, columns];
        Ok(Described {
            shape: self.layout.shape(extents, spatial),
            dtype: image.1,
        })
    }

    fn check_channels(
        &self,
        (shape, channels): (&[i64], i64),
        (weight, own, other): (&[i64], i64, i64),
    ) -> Result<(), Error> {
        let (name, groups) = (self.operation.name(), self.groups);
        if groups < 1 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name}: groups is {groups}; it must be at least 1"),
            ));
        }
        let all = other.checked_mul(groups);
        let fits = if self.operation.is_transposed {
            own == channels && all.is_some()
        } else {
            all == Some(channels)
        };
        if fits && own % groups == 0 {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{name}: {channels} channels of x of shape {shape:?} and weight of shape {weight:?} do not make {groups} groups"
            ),
        ))
    }

    /// Padding before the first element and behind the last.
    fn padding(&self, window: [i64; SPATIAL]) -> Result<([i64; SPATIAL], [i64; SPATIAL]), Error> {
        let (name, spatial) = (self.operation.name(), self.operation.spatial);
        if self.output_padding != [0; SPATIAL] && !self.operation.is_transposed {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name}: output_padding is of transposed convolutions alone"),
            ));
        }
        if !self.is_same {
            return Ok((self.sliding.padding, self.sliding.padding));
        }
        let stride = &self.sliding.stride;
        if self.operation.is_transposed || *stride != [1; SPATIAL] {
            let reason = if self.operation.is_transposed {
                "is of convolutions that are not transposed".to_owned()
            } else {
                format!(
                    "keeps the extents of images where the stride is 1, not {}",
                    Along(stride, spatial)
                )
            };
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name}: padding 'same' {reason}"),
            ));
        }
        let mut padding = ([0; SPATIAL], [0; SPATIAL]);
        for (axis, taps) in window.into_iter().enumerate() {
            let reach = self.sliding.dilation[axis].saturating_mul((taps - 1).max(0));
            padding.0[axis] = reach / 2;
            padding.1[axis] = reach - reach / 2;
        }
        check_along(name, "padding 'same'", &padding.1, spatial, 0)?;
        Ok(padding)
    }

    /// Extents of the images whose convolution has these as its result.
    fn transposed_extents(
        &self,
        plane: [i64; SPATIAL],
        window: [i64; SPATIAL],
    ) -> Result<[i64; SPATIAL], Error> {
        let (name, spatial) = (self.operation.name(), self.operation.spatial);
        self.padding(window)?;
        let Sliding {
            stride,
            padding,
            dilation,
        } = &self.sliding;
        let more = &self.output_padding;
        check_along(name, "output_padding", more, spatial, 0)?;
        check_lacking(name, "output_padding", more, spatial, 0)?;
        check_extents(name, "the window of weight", &window, spatial)?;
        check_extents(name, "an image", &plane, spatial)?;
        if (0..SPATIAL).any(|axis| more[axis] >= stride[axis].max(dilation[axis])) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{name}: output_padding is {}; it must be smaller than the stride {} or the dilation {}",
                    Along(more, spatial),
                    Along(stride, spatial),
                    Along(dilation, spatial)
                ),
            ));
        }
        let mut extents = [1; SPATIAL];
        for axis in 0..SPATIAL {
            let reach = (plane[axis] - 1) * stride[axis] + dilation[axis] * (window[axis] - 1) + 1;
            extents[axis] = reach + more[axis] - 2 * padding[axis];
        }
        if extents.iter().all(|extent| *extent >= 1) {
            check_extents(name, "the result", &extents, spatial)?;
            return Ok(extents);
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{name}: padding {} leaves nothing of a result of {} pixels, from x of {} and a window of {}",
                Along(padding, spatial),
                Along(&extents, spatial),
                Along(&plane, spatial),
                Along(&window, spatial)
            ),
        ))
    }

    /// What a pass with these inputs is, whose result has `shape` where it is a gradient.
    ///
    /// # Errors
    ///
    /// As [`Self::describe`], and `shape-mismatch` for another result or bias.
    pub fn fit(
        &self,
        pass: ConvolvePass,
        inputs: &[Given<'_>],
        shape: &[i64],
    ) -> Result<Fitted, Error> {
        let (name, spatial) = (self.operation.name(), self.operation.spatial);
        let (Some(first), Some(second)) = (inputs.first(), inputs.get(1)) else {
            let count = pass.input_names().len();
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name} takes {count} inputs, not {}", inputs.len()),
            ));
        };
        let given = (shape, first.1);
        let (x, weight, result) = match pass {
            ConvolvePass::Forward => (*first, *second, None),
            ConvolvePass::ImageGradient => (given, *second, Some(*first)),
            ConvolvePass::WeightGradient => (*first, given, Some(*second)),
        };
        let result_described = self.describe(x, weight)?;
        if let Some(given) = result {
            check_result(name, [x, weight, given], &result_described)?;
        }
        if let (ConvolvePass::Forward, Some(bias)) = (pass, inputs.get(2)) {
            check_bias(name, *bias, &result_described, self.layout)?;
        }
        let extents = |name: &str, shape: &[i64]| self.layout.extents(name, "x", shape, spatial);
        let of_x = extents(name, x.0)?;
        let of_result = extents(name, &result_described.shape)?;
        let of_weight = weight_extents(name, weight.0, spatial)?;
        let [_, _, window @ ..] = of_weight;
        let sliding = Sliding {
            padding: self.padding(window)?.0,
            ..self.sliding
        };
        let shape = match pass {
            ConvolvePass::Forward => result_described.shape,
            ConvolvePass::ImageGradient => x.0.to_vec(),
            ConvolvePass::WeightGradient => weight.0.to_vec(),
        };
        let is_transposed = self.operation.is_transposed;
        let (image, result) = if is_transposed {
            (of_result, of_x)
        } else {
            (of_x, of_result)
        };
        Ok(Fitted {
            pass: match pass {
                ConvolvePass::Forward if is_transposed => ConvolvePass::ImageGradient,
                ConvolvePass::ImageGradient if is_transposed => ConvolvePass::Forward,
                pass => pass,
            },
            swaps_inputs: is_transposed && pass == ConvolvePass::WeightGradient,
            image,
            weight: of_weight,
            result,
            sliding,
            described: Described {
                shape,
                dtype: first.1,
            },
        })
    }
}

fn weight_extents(name: &str, shape: &[i64], spatial: usize) -> Result<[i64; 5], Error> {
    let given = extents_of(name, "weight", shape, spatial)?;
    let mut extents = [1; 5];
    extents[..2].copy_from_slice(&given[..2]);
    extents[5 - spatial..].copy_from_slice(&given[2..]);
    Ok(extents)
}

fn check_result(
    name: &str,
    [image, weight, result]: [Given<'_>; 3],
    described: &Described,
) -> Result<(), Error> {
    if result.0 == described.shape && result.1 == described.dtype {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{name}: x of shape {:?} and weight of shape {:?} give {:?} of {}, not {:?} of {}",
            image.0,
            weight.0,
            described.shape,
            element::name(described.dtype),
            result.0,
            element::name(result.1)
        ),
    ))
}

/// Refuses a bias that has not one value for each channel of the result, of its dtype.
fn check_bias(
    name: &str,
    bias: Given<'_>,
    result: &Described,
    layout: ImageLayout,
) -> Result<(), Error> {
    let at = match layout {
        ImageLayout::Nchw => 1,
        ImageLayout::Nhwc => result.shape.len() - 1,
    };
    let expected = &result.shape[at..=at];
    if bias.0 == expected && bias.1 == result.dtype {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{name}: bias has shape {:?} and dtype {}; {expected:?} and {} are expected",
            bias.0,
            element::name(bias.1),
            element::name(result.dtype)
        ),
    ))
}

impl Matrix {
    /// Convolves images (forward), or computes a gradient of that. `inputs` are image, weight and an optional bias; gradient of the result
    /// and weight; or image and gradient of the result. The shape of `out` tells the third extent set for gradients.
    ///
    /// # Errors
    ///
    /// As [`ConvolveOptions::fit`], and `invalid-argument` for memory shared with `out`.
    pub fn convolve(
        &self,
        pass: ConvolvePass,
        inputs: &[TensorView],
        out: &mut TensorViewMut,
        options: &ConvolveOptions,
    ) -> Result<(), Error> {
        let name = options.operation.name();
        let names = pass.input_names();
        let mut layouts = inputs
            .iter()
            .zip(names)
            .map(|(view, argument)| Layout::of(name, argument, view))
            .collect::<Result<Vec<_>, _>>()?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let given: Vec<Given<'_>> = layouts.iter().map(|one| (one.shape(), one.dtype)).collect();
        let fitted = options.fit(pass, &given, target.shape())?;
        target.check_out(name, fitted.described.dtype, &fitted.described.shape)?;
        for (layout, argument) in layouts.iter().zip(names) {
            target.check_apart(name, argument, layout, false)?;
        }
        if fitted.swaps_inputs {
            layouts.swap(0, 1);
        }
        // Images have their axes in order, weights have them so already.
        let turned = |layout: &Layout| options.layout.turned(layout);
        let mut ordered = vec![turned(&layouts[0])];
        let target = if fitted.pass == ConvolvePass::WeightGradient {
            ordered.push(turned(&layouts[1]));
            with_rows(&target)
        } else {
            ordered.push(with_rows(&layouts[1]));
            turned(&target)
        };
        ordered.extend(layouts.into_iter().skip(2));
        self.run_convolve(&fitted, &ordered, &target, options)
    }

    fn run_convolve(
        &self,
        fitted: &Fitted,
        inputs: &[Layout],
        target: &Layout,
        options: &ConvolveOptions,
    ) -> Result<(), Error> {
        static CONVOLVE: Boundary = crossing("agpu_matrix_convolve");
        let tensors: Vec<Tensor> = inputs.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let count = |extents: &[i64]| {
            let product = |len: u64, extent: &i64| len.saturating_mul(*extent as u64);
            extents.iter().fold(1, product)
        };
        let operations = count(&fitted.result)
            .saturating_mul(2)
            .saturating_mul(count(&fitted.weight[1..]));
        let work = Work {
            operations: operations / 16,
            dtype: fitted.described.dtype,
            thread_limit: options.thread_limit,
        };
        let Sliding {
            stride,
            padding,
            dilation,
        } = fitted.sliding;
        let [stride, padding, dilation] =
            [stride, padding, dilation].map(|values| values.map(|value| value as u64));
        self.run_tensor(&CONVOLVE, &work, |executor| {
            let given = amdgpu_abi::ConvolveOptions {
                size_bytes: size_of::<amdgpu_abi::ConvolveOptions>() as u64,
                pass: match fitted.pass {
                    ConvolvePass::Forward => CONVOLVE_FORWARD,
                    ConvolvePass::ImageGradient => CONVOLVE_IMAGE_GRADIENT,
                    ConvolvePass::WeightGradient => CONVOLVE_WEIGHT_GRADIENT,
                },
                compute: element::compute_type(fitted.described.dtype),
                groups: options.groups as u64,
                row_stride: stride[1],
                column_stride: stride[2],
                row_padding: padding[1],
                column_padding: padding[2],
                row_dilation: dilation[1],
                column_dilation: dilation[2],
                depth_stride: stride[0],
                depth_padding: padding[0],
                depth_dilation: dilation[0],
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.convolve)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
