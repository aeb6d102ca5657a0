//! The largest value and the average of windows of images, and their gradients.

use std::ffi::CStr;

use super::spatial::{Along, Layout, Padding, windows};
use super::{FLOATS, T, row};
use crate::amdgpu::{Owned, Pool, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{Held, cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, Tensor, View, shown};

const SHAPE: &[&CStr] = &[c"orig_input_shape"];

pub const ROWS: &[Row] = &[
    row(c"MaxPool", &[(T, FLOATS)], &[], |a| pool(a, Kind::Max)),
    row(c"MaxPool3D", &[(T, FLOATS)], &[], |a| pool(a, Kind::Max)),
    row(c"AvgPool", &[(T, FLOATS)], &[], |a| pool(a, Kind::Average)),
    row(c"AvgPool3D", &[(T, FLOATS)], &[], |a| {
        pool(a, Kind::Average)
    }),
    row(c"MaxPoolGrad", &[(T, FLOATS)], &[], max_gradient),
    row(c"MaxPool3DGrad", &[(T, FLOATS)], &[], max_gradient),
    row(c"AvgPoolGrad", &[(T, FLOATS)], SHAPE, average_gradient),
    row(c"AvgPool3DGrad", &[(T, FLOATS)], SHAPE, average_gradient),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Max,
    Average,
}

/// The attributes of pooling.
struct Settings {
    layout: Layout,
    window: Vec<i64>,
    stride: Vec<i64>,
    padding: Padding,
}

/// Where the windows lie, and whether libamdgpu has them by itself.
struct Sizes {
    result: Dims,
    along: Vec<Along>,
    /// A last window may reach beyond the images: `ceil_mode`.
    ceil_mode: bool,
    /// Padding that libamdgpu cannot add: images must have it already.
    is_apart: bool,
}

impl Settings {
    fn of(a: &Attributes) -> Outcome<Self> {
        let layout = Layout::of(a)?;
        let (window, stride) = (a.ints(c"ksize")?, a.ints(c"strides")?);
        let is_one = |values: &[i64]| {
            values.first() == Some(&1) && values.get(layout.channel_axis()) == Some(&1)
        };
        if !is_one(&window) || !is_one(&stride) {
            return Err(Failure::no_kernel(
                "Pooling is not yet supported on the batch dimension or over channels.",
            ));
        }
        Ok(Self {
            layout,
            window: layout.along(&window)?,
            stride: layout.along(&stride)?,
            padding: Padding::of(a, layout)?,
        })
    }

    fn sizes(&self, images: &[i64]) -> Outcome<Sizes> {
        let layout = self.layout;
        if images.len() != layout.rank() {
            return Err(Failure::refused(format!(
                "tensor_in must be {}-dimensional, but has shape {}",
                layout.rank(),
                shown(images)
            )));
        }
        let extents = &images[layout.first()..layout.first() + layout.spatial];
        let along = { extents.iter().enumerate() }
            .map(|(axis, extent)| {
                windows(
                    *extent,
                    self.window[axis],
                    self.stride[axis],
                    1,
                    &self.padding,
                    axis,
                )
            })
            .collect::<Outcome<Vec<Along>>>()?;
        let counts: Vec<i64> = along.iter().map(|along| along.count).collect();
        let ceil_mode = along.iter().any(|along| along.after != along.before);
        let is_apart = along.iter().enumerate().any(|(axis, along)| {
            let (window, stride) = (self.window[axis], self.stride[axis]);
            let room = extents[axis] + 2 * along.before - window;
            let more = if ceil_mode { stride - 1 } else { 0 };
            let mut count = (room + more).div_euclid(stride) + 1;
            if ceil_mode && (count - 1) * stride >= extents[axis] + along.before {
                count -= 1;
            }
            count != along.count || 2 * along.before > window || along.after < along.before
        });
        Ok(Sizes {
            result: layout.shape(images[0], &counts, images[layout.channel_axis()]),
            along,
            ceil_mode,
            is_apart,
        })
    }

    fn options(&self, sizes: &Sizes) -> Pool {
        let three = |values: &[i64], default: i64| {
            let mut all = [default; 3];
            all[3 - values.len()..].copy_from_slice(values);
            all
        };
        let padding: Vec<i64> = { sizes.along.iter() }
            .map(|along| if sizes.is_apart { 0 } else { along.before })
            .collect();
        let (window, stride, padding) = (
            three(&self.window, 0),
            three(&self.stride, 0),
            three(&padding, 0),
        );
        Pool {
            window: [window[1], window[2]],
            stride: [stride[1], stride[2]],
            padding: [padding[1], padding[2]],
            layout: self.layout.name().as_ptr(),
            window_depth: window[0],
            stride_depth: stride[0],
            padding_depth: padding[0],
            excludes_padding: 1,
            ceil_mode: u32::from(sizes.ceil_mode && !sizes.is_apart),
            ..Pool::default()
        }
    }

    fn name(&self, kind: Kind) -> &'static CStr {
        match (kind, self.layout.spatial) {
            (Kind::Max, 2) => c"max_pool2d",
            (Kind::Max, _) => c"max_pool3d",
            (Kind::Average, 2) => c"avg_pool2d",
            (Kind::Average, _) => c"avg_pool3d",
        }
    }

    /// The images, with padding around them where libamdgpu cannot add it: what is smaller than every value, or zeros.
    fn prepared(&self, c: &Call, x: &View, sizes: &Sizes, kind: Kind) -> Outcome<Held> {
        if !sizes.is_apart {
            return Ok(Held::Given(x.clone()));
        }
        let mut shape = x.shape.clone();
        for (axis, along) in sizes.along.iter().enumerate() {
            shape[self.layout.first() + axis] += along.before + along.after;
        }
        let around = match kind {
            Kind::Max => f64::NEG_INFINITY,
            Kind::Average => 0.0,
        };
        let made = c.filled(around.into(), x.dtype, &shape)?;
        cast(x, &self.inner(&made, sizes, &x.shape))?;
        Ok(Held::Made(made))
    }

    /// How many values of an image each window has, as a tensor that broadcasts beside the result.
    fn counts(&self, c: &Call, images: &[i64], sizes: &Sizes, dtype: Dtype) -> Outcome<Tensor> {
        let layout = self.layout;
        let extents = &images[layout.first()..layout.first() + layout.spatial];
        let ones = c.filled(1_i64.into(), dtype, &layout.shape(1, extents, 1))?;
        let padded = self.prepared(c, &ones, sizes, Kind::Average)?;
        let counts: Vec<i64> = sizes.along.iter().map(|along| along.count).collect();
        let made = c.temporary(dtype, &layout.shape(1, &counts, 1))?;
        self.sums(&padded, sizes, &made)?;
        Ok(made)
    }

    /// The sums of windows of images with their padding.
    fn sums(&self, images: &View, sizes: &Sizes, out: &View) -> Outcome {
        let (images, place) = (images.array()?, out.array()?);
        let mut options = self.options(sizes);
        options.divisor_override = 1;
        options.out = place.0;
        let mut result = 0;
        agpu!(agpu_ops_pool(
            self.name(Kind::Average).as_ptr(),
            images.0,
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        Ok(())
    }

    fn inner(&self, padded: &View, sizes: &Sizes, images: &[i64]) -> View {
        let mut inner = padded.clone();
        for (axis, along) in sizes.along.iter().enumerate() {
            let axis = self.layout.first() + axis;
            inner = inner.narrow(axis, along.before, images[axis]);
        }
        inner
    }
}

fn pool(a: &Attributes, kind: Kind) -> Outcome<Kernel> {
    let settings = Settings::of(a)?;
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let sizes = settings.sizes(&x.shape)?;
        let out = c.output(0, x.dtype, &sizes.result)?;
        if out.is_empty() {
            return Ok(());
        }
        let images = settings.prepared(c, &x, &sizes, kind)?;
        if sizes.is_apart && kind == Kind::Average {
            settings.sums(&images, &sizes, &out)?;
            let counts = settings.counts(c, &x.shape, &sizes, x.dtype)?;
            return launch(c"divide", &[(&*out).into(), (&counts).into()], &out, 0.0);
        }
        let (images, place) = (images.array()?, out.array()?);
        let mut options = settings.options(&sizes);
        options.out = place.0;
        let mut result = 0;
        agpu!(agpu_ops_pool(
            settings.name(kind).as_ptr(),
            images.0,
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        Ok(())
    }))
}

/// The gradient by images of a shape, from that of the result.
fn gradient(c: &Call, settings: &Settings, kind: Kind, x: &View, gradient: &View) -> Outcome {
    let sizes = settings.sizes(&x.shape)?;
    if gradient.shape != sizes.result {
        return Err(Failure::refused(format!(
            "Expected grad shape to be {}, but got {}",
            shown(&sizes.result),
            shown(&gradient.shape)
        )));
    }
    let out = c.output(0, gradient.dtype, &x.shape)?;
    if out.is_empty() {
        return Ok(());
    }
    if gradient.is_empty() {
        return cast(0_i64, &out);
    }
    let images = settings.prepared(c, x, &sizes, kind)?;
    let made = if sizes.is_apart {
        Some(c.temporary(x.dtype, &images.shape)?)
    } else {
        None
    };
    let target: &View = made.as_deref().unwrap_or(&out);
    let mut options = settings.options(&sizes);
    let mut given = Held::Given(gradient.clone());
    if sizes.is_apart && kind == Kind::Average {
        let counts = settings.counts(c, &x.shape, &sizes, x.dtype)?;
        let divided = c.temporary(x.dtype, &gradient.shape)?;
        launch(
            c"divide",
            &[gradient.into(), (&counts).into()],
            &divided,
            0.0,
        )?;
        given = Held::Made(divided);
        options.divisor_override = 1;
    }
    let (array, given, place) = (images.array()?, given.array()?, target.array()?);
    options.out = place.0;
    let mut result = 0;
    agpu!(agpu_ops_pool_gradient(
        settings.name(kind).as_ptr(),
        array.0,
        given.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    match &made {
        Some(made) => cast(&settings.inner(made, &sizes, &x.shape), &out),
        None => Ok(()),
    }
}

fn max_gradient(a: &Attributes) -> Outcome<Kernel> {
    let settings = Settings::of(a)?;
    Ok(Box::new(move |c| {
        gradient(c, &settings, Kind::Max, &c.input(0)?, &c.input(2)?)
    }))
}

fn average_gradient(a: &Attributes) -> Outcome<Kernel> {
    let settings = Settings::of(a)?;
    Ok(Box::new(move |c| {
        let shape = c.host_ints(0)?;
        let given = c.input(1)?;
        // The gradient of averages does not depend on the images, of which there need not be more than one value.
        let one = c.filled(0_i64.into(), given.dtype, &[1])?;
        let images = c.copied(&one.expanded(&shape)?)?;
        gradient(c, &settings, Kind::Average, &images, &given)
    }))
}
