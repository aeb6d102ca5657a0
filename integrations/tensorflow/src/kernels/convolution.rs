//! Convolutions of images of two and three axes, depthwise ones, and their gradients. Filters are (rows, columns, inputs, outputs) in
//! TensorFlow and (outputs, inputs, rows, columns) in libamdgpu.

use std::ffi::CStr;

use super::spatial::{Along, Layout, Padding, windows};
use super::{FLOATS, T, row};
use crate::amdgpu::{Convolve, Owned, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{Held, cast, launch};
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, Tensor, View, shown};

pub const ROWS: &[Row] = &[
    row(c"Conv2D", &[(T, FLOATS)], &[], |a| forward(a, false)),
    row(
        c"Conv2DBackpropInput",
        &[(T, FLOATS)],
        &[c"input_sizes"],
        |a| by_images(a, false),
    ),
    row(
        c"Conv2DBackpropFilter",
        &[(T, FLOATS)],
        &[c"filter_sizes"],
        |a| by_filter(a, false),
    ),
    row(c"DepthwiseConv2dNative", &[(T, FLOATS)], &[], |a| {
        forward(a, true)
    }),
    row(
        c"DepthwiseConv2dNativeBackpropInput",
        &[(T, FLOATS)],
        &[c"input_sizes"],
        |a| by_images(a, true),
    ),
    row(
        c"DepthwiseConv2dNativeBackpropFilter",
        &[(T, FLOATS)],
        &[c"filter_sizes"],
        |a| by_filter(a, true),
    ),
    row(c"Conv3D", &[(T, FLOATS)], &[], |a| forward(a, false)),
    row(
        c"Conv3DBackpropInputV2",
        &[(T, FLOATS)],
        &[c"input_sizes"],
        |a| by_images(a, false),
    ),
    row(
        c"Conv3DBackpropFilterV2",
        &[(T, FLOATS)],
        &[c"filter_sizes"],
        |a| by_filter(a, false),
    ),
];

/// What each channel of the result is multiplied by, and what is added to it then.
#[derive(Clone, Copy, Default)]
pub struct Channels<'v> {
    pub factor: Option<&'v View>,
    pub bias: Option<&'v View>,
}

/// The attributes of a convolution.
pub struct Settings {
    layout: Layout,
    stride: Vec<i64>,
    dilation: Vec<i64>,
    padding: Padding,
    is_depthwise: bool,
}

impl Settings {
    pub fn of(a: &Attributes, is_depthwise: bool) -> Outcome<Self> {
        let layout = Layout::of(a)?;
        let stride = a.ints(c"strides")?;
        let around = [stride.first(), stride.get(layout.channel_axis())];
        if around.iter().any(|one| *one != Some(&1)) {
            return Err(Failure::no_kernel(
                "Current implementation does not yet support strides in the batch and depth dimensions.",
            ));
        }
        Ok(Self {
            layout,
            stride: layout.along(&stride)?,
            dilation: layout.along(&a.ints(c"dilations")?)?,
            padding: Padding::of(a, layout)?,
            is_depthwise,
        })
    }

    fn name(&self) -> &'static CStr {
        if self.layout.spatial == 3 {
            c"conv3d"
        } else {
            c"conv2d"
        }
    }

    /// Sizes of a convolution of images with a filter of these shapes.
    fn sizes(&self, images: &[i64], filter: &[i64]) -> Outcome<Sizes> {
        let (layout, spatial) = (self.layout, self.layout.spatial);
        if filter.len() != layout.rank() || images.len() != layout.rank() {
            return Err(Failure::refused(format!(
                "input and filter must be {}-dimensional: {} and {}",
                layout.rank(),
                shown(images),
                shown(filter)
            )));
        }
        let channels = images[layout.channel_axis()];
        let (each, last) = (filter[spatial], filter[spatial + 1]);
        let groups = if self.is_depthwise {
            channels
        } else {
            channels.checked_div(each).unwrap_or(0)
        };
        let outputs = if self.is_depthwise { each * last } else { last };
        let fits = if self.is_depthwise {
            each == channels
        } else {
            groups > 0 && groups * each == channels && outputs % groups == 0
        };
        if !fits {
            return Err(Failure::refused(format!(
                "input depth must be evenly divisible by filter depth: {channels} vs {each}"
            )));
        }
        let along = (0..spatial)
            .map(|axis| {
                let extent = images[layout.first() + axis];
                windows(
                    extent,
                    filter[axis],
                    self.stride[axis],
                    self.dilation[axis],
                    &self.padding,
                    axis,
                )
            })
            .collect::<Outcome<Vec<Along>>>()?;
        let counts: Vec<i64> = along.iter().map(|along| along.count).collect();
        Ok(Sizes {
            result: layout.shape(images[0], &counts, outputs),
            along,
            groups,
        })
    }

    /// Options for images that have what is not symmetric of their padding already.
    fn options(&self, sizes: &Sizes) -> Convolve {
        let three = |values: &[i64], default: i64| {
            let mut all = [default; 3];
            all[3 - values.len()..].copy_from_slice(values);
            all
        };
        let padding: Vec<i64> = { sizes.along.iter() }
            .map(|along| {
                if sizes.is_symmetric() {
                    along.before
                } else {
                    0
                }
            })
            .collect();
        let (stride, padding, dilation) = (
            three(&self.stride, 1),
            three(&padding, 0),
            three(&self.dilation, 1),
        );
        Convolve {
            stride: [stride[1], stride[2]],
            padding: [padding[1], padding[2]],
            dilation: [dilation[1], dilation[2]],
            groups: sizes.groups,
            layout: self.layout.name().as_ptr(),
            stride_depth: stride[0],
            padding_depth: padding[0],
            dilation_depth: dilation[0],
            ..Convolve::default()
        }
    }

    /// A number for each channel as what broadcasts to images.
    pub fn beside_images(&self, channels: &View) -> View {
        let behind = self.layout.rank() - 1 - self.layout.channel_axis();
        let mut shape = Dims::from_elem(1, 1 + behind);
        shape[0] = channels.len();
        channels.reshaped(&shape)
    }

    /// The output of a convolution of images with a filter.
    pub fn output(&self, c: &Call, x: &View, filter: &View) -> Outcome<Tensor> {
        c.output(0, x.dtype, &self.sizes(&x.shape, &filter.shape)?.result)
    }

    /// Convolves images with a filter, neither of which is empty.
    pub fn convolve(
        &self,
        c: &Call,
        (x, filter): (&View, &View),
        channels: Channels<'_>,
        out: &View,
    ) -> Outcome {
        let sizes = self.sizes(&x.shape, &filter.shape)?;
        let images = sizes.with_padding(c, self.layout, x)?;
        let weights = match channels.factor {
            Some(factor) => self.scaled_weights(c, filter, factor)?,
            None => self.weights(c, filter)?,
        };
        let weights = weights.reshaped(&self.weight_shape(&weights));
        let bias = channels.bias.map(View::array).transpose()?;
        let (images, weights, place) = (images.array()?, weights.array()?, out.array()?);
        let mut options = self.options(&sizes);
        options.out = place.0;
        options.bias = bias.as_ref().map_or(0, |bias| bias.0);
        let mut result = 0;
        agpu!(agpu_ops_convolve(
            self.name().as_ptr(),
            images.0,
            weights.0,
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        Ok(())
    }

    /// The filter in the order of libamdgpu.
    fn weights(&self, c: &Call, filter: &View) -> Outcome<Tensor> {
        c.copied(&self.outputs_first(filter))
    }

    /// The same, each output of which is multiplied by a factor. The copy comes first, as it permutes faster than products do.
    fn scaled_weights(&self, c: &Call, filter: &View, factor: &View) -> Outcome<Tensor> {
        let made = self.weights(c, filter)?;
        let mut factor = factor.clone();
        while factor.rank() < made.rank() {
            factor = factor.with_axis(factor.rank());
        }
        launch(
            c"multiply",
            &[(&*made).into(), (&factor).into()],
            &made,
            0.0,
        )?;
        Ok(made)
    }

    /// A view of a filter of TensorFlow's: outputs (of depthwise ones inputs and their outputs), inputs, extents.
    fn outputs_first(&self, filter: &View) -> View {
        let spatial = self.layout.spatial;
        let mut axes = if self.is_depthwise {
            vec![spatial, spatial + 1]
        } else {
            vec![spatial + 1, spatial]
        };
        axes.extend(0..spatial);
        filter.permuted(&axes)
    }

    /// What libamdgpu takes filters as: depthwise ones have one input for each output.
    fn weight_shape(&self, permuted: &View) -> Dims {
        let mut shape = permuted.shape.clone();
        if self.is_depthwise {
            shape[0] *= shape[1];
            shape[1] = 1;
        }
        shape
    }
}

struct Sizes {
    result: Dims,
    along: Vec<Along>,
    groups: i64,
}

impl Sizes {
    fn is_symmetric(&self) -> bool {
        self.along.iter().all(|along| along.before == along.after)
    }

    /// The shape of images with their padding.
    fn padded(&self, layout: Layout, images: &[i64]) -> Dims {
        let mut shape = Dims::from_slice(images);
        if !self.is_symmetric() {
            for (axis, along) in self.along.iter().enumerate() {
                shape[layout.first() + axis] += along.before + along.after;
            }
        }
        shape
    }

    /// The part of padded images that the images are.
    fn inner(&self, layout: Layout, padded: &View, images: &[i64]) -> View {
        let mut inner = padded.clone();
        if !self.is_symmetric() {
            for (axis, along) in self.along.iter().enumerate() {
                let axis = layout.first() + axis;
                inner = inner.narrow(axis, along.before, images[axis]);
            }
        }
        inner
    }

    /// The images, with padding around them where it is not symmetric.
    fn with_padding(&self, c: &Call, layout: Layout, x: &View) -> Outcome<Held> {
        if self.is_symmetric() {
            return Ok(Held::Given(x.clone()));
        }
        let made = c.filled(0_i64.into(), x.dtype, &self.padded(layout, &x.shape))?;
        cast(x, &self.inner(layout, &made, &x.shape))?;
        Ok(Held::Made(made))
    }
}

fn forward(a: &Attributes, is_depthwise: bool) -> Outcome<Kernel> {
    let settings = Settings::of(a, is_depthwise)?;
    Ok(Box::new(move |c| {
        let (x, filter) = (c.input(0)?, c.input(1)?);
        let out = settings.output(c, &x, &filter)?;
        if out.is_empty() {
            return Ok(());
        }
        if x.is_empty() || filter.is_empty() {
            return cast(0_i64, &out);
        }
        settings.convolve(c, (&x, &filter), Channels::default(), &out)
    }))
}

fn check_gradient(gradient: &View, sizes: &Sizes) -> Outcome {
    if gradient.shape == sizes.result {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "out_backprop has shape {}, but the convolution gives {}",
        shown(&gradient.shape),
        shown(&sizes.result)
    )))
}

/// The shape of images, of which the sizes of the input may be those along the axes of images alone.
fn image_shape(layout: Layout, sizes: Vec<i64>, gradient: &View, filter: &View) -> Dims {
    if sizes.len() == layout.rank() {
        return Dims::from_vec(sizes);
    }
    let channels = filter.shape[layout.spatial];
    layout.shape(gradient.shape[0], &sizes, channels)
}

fn by_images(a: &Attributes, is_depthwise: bool) -> Outcome<Kernel> {
    let settings = Settings::of(a, is_depthwise)?;
    Ok(Box::new(move |c| {
        let (filter, gradient) = (c.input(1)?, c.input(2)?);
        let shape = image_shape(settings.layout, c.host_ints(0)?, &gradient, &filter);
        let sizes = settings.sizes(&shape, &filter.shape)?;
        check_gradient(&gradient, &sizes)?;
        let out = c.output(0, gradient.dtype, &shape)?;
        if out.is_empty() {
            return Ok(());
        }
        if gradient.is_empty() || filter.is_empty() {
            return cast(0_i64, &out);
        }
        let padded = sizes.padded(settings.layout, &shape);
        let made = if sizes.is_symmetric() {
            None
        } else {
            Some(c.temporary(gradient.dtype, &padded)?)
        };
        let target: &View = made.as_deref().unwrap_or(&out);
        let weights = settings.weights(c, &filter)?;
        let weights = weights.reshaped(&settings.weight_shape(&weights));
        let (given, weights, place) = (gradient.array()?, weights.array()?, target.array()?);
        let mut options = settings.options(&sizes);
        options.out = place.0;
        let mut result = 0;
        agpu!(agpu_ops_convolve_input_gradient(
            settings.name().as_ptr(),
            given.0,
            weights.0,
            target.rank() as u32,
            target.shape.as_ptr(),
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        match &made {
            Some(made) => cast(&sizes.inner(settings.layout, made, &shape), &out),
            None => Ok(()),
        }
    }))
}

fn by_filter(a: &Attributes, is_depthwise: bool) -> Outcome<Kernel> {
    let settings = Settings::of(a, is_depthwise)?;
    Ok(Box::new(move |c| {
        let (x, gradient) = (c.input(0)?, c.input(2)?);
        let shape = c.host_ints(1)?;
        let sizes = settings.sizes(&x.shape, &shape)?;
        check_gradient(&gradient, &sizes)?;
        let out = c.output(0, x.dtype, &shape)?;
        if out.is_empty() {
            return Ok(());
        }
        if gradient.is_empty() || x.is_empty() {
            return cast(0_i64, &out);
        }
        let images = sizes.with_padding(c, settings.layout, &x)?;
        let permuted = settings.outputs_first(&out);
        let made = c.temporary(x.dtype, &permuted.shape)?;
        let target = made.reshaped(&settings.weight_shape(&made));
        let (images, given, place) = (images.array()?, gradient.array()?, target.array()?);
        let mut options = settings.options(&sizes);
        options.out = place.0;
        let mut result = 0;
        agpu!(agpu_ops_convolve_weight_gradient(
            settings.name().as_ptr(),
            images.0,
            given.0,
            target.rank() as u32,
            target.shape.as_ptr(),
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        cast(&made, &permuted)
    }))
}
