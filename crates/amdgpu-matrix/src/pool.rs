//! Largest values and averages of windows in images, and their gradients.
//!
//! Windows slide, or are adaptive: the image is cut into as many windows as the result has extents.

use std::mem::size_of;

use amdgpu_abi::layout::{
    POOL_ADD_AT_INDICES, POOL_AVERAGE, POOL_AVERAGE_GRADIENT, POOL_MAXIMUM, POOL_MAXIMUM_GRADIENT,
    POOL_SET_AT_INDICES,
};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::window::{Along, check_along, check_lacking};
use crate::{Error, ImageLayout, Matrix, SPATIAL, Sliding, TensorView, TensorViewMut, element};

/// What becomes of the values of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    Maximum,
    Average,
}

/// A pooling by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub fold: Fold,
    /// Axes that windows slide along: 1 to 3.
    pub spatial: usize,
    pub is_adaptive: bool,
}

/// Names in `amdgpu.ops`: sliding and adaptive, of one to three axes.
const MAXIMA: [[&str; SPATIAL]; 2] = [
    ["max_pool1d", "max_pool2d", "max_pool3d"],
    [
        "adaptive_max_pool1d",
        "adaptive_max_pool2d",
        "adaptive_max_pool3d",
    ],
];
const AVERAGES: [[&str; SPATIAL]; 2] = [
    ["avg_pool1d", "avg_pool2d", "avg_pool3d"],
    [
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
    ],
];

/// Axes are depth, rows, columns; those that images lack come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Of sliding windows; 1 along axes that images lack, as in `output`.
    pub window: [i64; SPATIAL],
    pub sliding: Sliding,
    /// Whether the number of windows is rounded up.
    pub ceil_mode: bool,
    /// Extents of the result of adaptive windows; `None` for those of the image.
    pub output: [Option<i64>; SPATIAL],
    pub layout: ImageLayout,
    /// Whether an average is over the padding, too.
    pub counts_padding: bool,
    /// What sums are divided by; 0 for the number of values.
    pub divisor_override: i64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

/// A pooling whose arguments fit: extents in the order batch, channels, depth, rows, columns.
#[derive(Clone, Debug)]
pub struct PoolGeometry {
    pub image: [i64; 5],
    pub result: [i64; 5],
    pub described: Described,
}

impl Pool {
    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        let names = match self.fold {
            Fold::Maximum => &MAXIMA,
            Fold::Average => &AVERAGES,
        };
        names[self.is_adaptive as usize][self.spatial - 1]
    }

    /// What puts values back to where they were largest is called.
    #[must_use]
    pub const fn unpool_name(self) -> &'static str {
        ["max_unpool1d", "max_unpool2d", "max_unpool3d"][self.spatial - 1]
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let folds = [Fold::Maximum, Fold::Average].into_iter();
        folds.flat_map(|fold| {
            (1..=SPATIAL).flat_map(move |spatial| {
                [false, true].map(|is_adaptive| Self {
                    fold,
                    spatial,
                    is_adaptive,
                })
            })
        })
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|operation| operation.name() == name)
    }

    /// Extents of image and result, and what the result is.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` unless x has as many axes as the name says and the window fits; `invalid-argument`; `unsupported-dtype` for integers.
    pub fn geometry(
        self,
        (shape, dtype): (&[i64], Dtype),
        options: &PoolOptions,
    ) -> Result<PoolGeometry, Error> {
        let (name, spatial) = (self.name(), self.spatial);
        let image = options.layout.extents(name, "x", shape, spatial)?;
        if !element::is_float(dtype) {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: x has dtype {}; floats are pooled",
                    element::name(dtype)
                ),
            ));
        }
        let [batch, channels, plane @ ..] = image;
        let [depth, rows, columns] = if self.is_adaptive {
            self.adaptive(plane, options)?
        } else {
            self.slid(plane, options)?
        };
        let result = [batch, channels, depth, rows, columns];
        Ok(PoolGeometry {
            image,
            result,
            described: Described {
                shape: options.layout.shape(result, spatial),
                dtype,
            },
        })
    }

    fn slid(self, plane: [i64; SPATIAL], options: &PoolOptions) -> Result<[i64; SPATIAL], Error> {
        let (name, spatial) = (self.name(), self.spatial);
        let PoolOptions {
            window, sliding, ..
        } = options;
        sliding.check(name, spatial)?;
        check_lacking(name, "window", window, spatial, 1)?;
        if sliding
            .padding
            .iter()
            .zip(window)
            .any(|(pad, window)| *pad > window / 2)
        {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{name}: padding is {}; at most half of the window {} keeps a value in every window",
                    Along(&sliding.padding, spatial),
                    Along(window, spatial)
                ),
            ));
        }
        sliding.result(
            name,
            spatial,
            (plane, *window),
            (sliding.padding, options.ceil_mode),
        )
    }

    fn adaptive(
        self,
        plane: [i64; SPATIAL],
        options: &PoolOptions,
    ) -> Result<[i64; SPATIAL], Error> {
        let (name, spatial) = (self.name(), self.spatial);
        let mut output = plane;
        for (extent, wanted) in output.iter_mut().zip(options.output) {
            *extent = wanted.unwrap_or(*extent);
        }
        check_along(name, "output_size", &output, spatial, 1)?;
        if plane.contains(&0) {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: an image of {} has no values for windows",
                    Along(&plane, spatial)
                ),
            ));
        }
        Ok(output)
    }

    /// Refuses a gradient of the result, or another argument of its shape, that is not like the result.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn check_gradient(
        self,
        argument: &str,
        given: (&[i64], Dtype),
        result: (&[i64], Dtype),
    ) -> Result<(), Error> {
        if given == result {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{}: {argument} has shape {:?} and dtype {}, the result {:?} and {}",
                self.name(),
                given.0,
                element::name(given.1),
                result.0,
                element::name(result.1)
            ),
        ))
    }
}

impl Pool {
    /// Refuses values and indices, each with shape and dtype, that are not of the planes of images of a shape.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`; `unsupported-dtype`.
    pub fn check_indices(
        self,
        name: &str,
        [values, indices]: [(&[i64], Dtype); 2],
        shape: &[i64],
        layout: ImageLayout,
    ) -> Result<(), Error> {
        let spatial = self.spatial;
        let given = layout.extents(name, "x", values.0, spatial)?;
        let made = layout.extents(name, "the result", shape, spatial)?;
        if !element::is_float(values.1) || indices.1 != Dtype::I64 {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: values have dtype {} and indices {}; floats and int64 are expected",
                    element::name(values.1),
                    element::name(indices.1)
                ),
            ));
        }
        if values.0 == indices.0 && given[..2] == made[..2] {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{name}: values of shape {:?} and indices of shape {:?} do not fit images of shape {shape:?}: the first two are equal, and \
                 batch and channels are those of the images",
                values.0, indices.0
            ),
        ))
    }
}

/// What [`Matrix::pool`] computes from what.
#[derive(Clone, Copy)]
pub enum PoolPass<'a> {
    Forward(&'a TensorView<'a>),
    /// x, and the gradient of the result.
    Gradient(&'a TensorView<'a>, &'a TensorView<'a>),
    /// Values, and the indices in their planes where they are put: those of one index are added.
    Add(&'a TensorView<'a>, &'a TensorView<'a>),
    /// The same, but of those of one index the last is kept.
    Set(&'a TensorView<'a>, &'a TensorView<'a>),
}

impl Matrix {
    /// Pools an image into `out`, with the places of largest values in `indices`, or computes a gradient into `out`.
    ///
    /// # Errors
    ///
    /// As [`Pool::geometry`], and `invalid-argument` for memory shared with `out` or places that are not in a plane.
    pub fn pool(
        &self,
        operation: Pool,
        pass: PoolPass<'_>,
        out: &mut TensorViewMut,
        indices: Option<&mut TensorViewMut>,
        options: &PoolOptions,
    ) -> Result<(), Error> {
        let name = operation.name();
        let target = Layout::of(name, "out", &out.as_view())?;
        let (inputs, geometry) = fitted(operation, pass, &target, options)?;
        let places = indices
            .map(|indices| places(operation, indices, geometry.as_ref(), (&target, &inputs)))
            .transpose()?;
        let code = match (pass, operation.fold) {
            (PoolPass::Forward(_), Fold::Maximum) => POOL_MAXIMUM,
            (PoolPass::Forward(_), Fold::Average) => POOL_AVERAGE,
            (PoolPass::Gradient(..), Fold::Maximum) => POOL_MAXIMUM_GRADIENT,
            (PoolPass::Gradient(..), Fold::Average) => POOL_AVERAGE_GRADIENT,
            (PoolPass::Add(..), _) => POOL_ADD_AT_INDICES,
            (PoolPass::Set(..), _) => POOL_SET_AT_INDICES,
        };
        let turned = |layout: &Layout| options.layout.turned(layout);
        let inputs: Vec<Layout> = inputs.iter().map(turned).collect();
        self.run_pool(
            (code, operation),
            &inputs,
            &turned(&target),
            places.as_ref().map(turned).as_ref(),
            options,
        )
    }

    fn run_pool(
        &self,
        (code, operation): (u32, Pool),
        inputs: &[Layout],
        target: &Layout,
        indices: Option<&Layout>,
        options: &PoolOptions,
    ) -> Result<(), Error> {
        static POOL: Boundary = crossing("agpu_matrix_pool");
        let tensors: Vec<Tensor> = inputs.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let indices = indices.map(Layout::to_abi);
        let taps = options.window.iter().product::<i64>().unsigned_abs();
        let results = target.len().min(inputs[inputs.len() - 1].len());
        let work = Work {
            operations: inputs[0]
                .len()
                .saturating_mul(2)
                .saturating_add(results.saturating_mul(taps)),
            dtype: target.dtype,
            thread_limit: options.thread_limit,
        };
        let Sliding {
            stride,
            padding,
            dilation,
        } = options.sliding;
        let [window, stride, padding, dilation] = [options.window, stride, padding, dilation]
            .map(|values| values.map(|value| value as u64));
        self.run_tensor(&POOL, &work, |executor| {
            let given = amdgpu_abi::PoolOptions {
                size_bytes: size_of::<amdgpu_abi::PoolOptions>() as u64,
                operation: code,
                compute: element::compute_type(target.dtype),
                row_window: window[1],
                column_window: window[2],
                row_stride: stride[1],
                column_stride: stride[2],
                row_padding: padding[1],
                column_padding: padding[2],
                row_dilation: dilation[1],
                column_dilation: dilation[2],
                depth_window: window[0],
                depth_stride: stride[0],
                depth_padding: padding[0],
                depth_dilation: dilation[0],
                counts_padding: u32::from(options.counts_padding),
                is_adaptive: u32::from(operation.is_adaptive),
                divisor: options.divisor_override,
                indices: indices
                    .as_ref()
                    .map_or(std::ptr::null(), std::ptr::from_ref),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.pool)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}

/// The inputs of a pass, whose shapes and dtypes fit each other and the target.
fn fitted(
    operation: Pool,
    pass: PoolPass<'_>,
    target: &Layout,
    options: &PoolOptions,
) -> Result<(Vec<Layout>, Option<PoolGeometry>), Error> {
    let name = match pass {
        PoolPass::Set(..) => operation.unpool_name(),
        _ => operation.name(),
    };
    let input = |argument: &str, view: &TensorView| -> Result<Layout, Error> {
        let layout = Layout::of(name, argument, view)?;
        target.check_apart(name, argument, &layout, false)?;
        Ok(layout)
    };
    match pass {
        PoolPass::Forward(x) => {
            let geometry = operation.geometry((x.shape(), x.dtype()), options)?;
            let made = &geometry.described;
            target.check_out(name, made.dtype, &made.shape)?;
            Ok((vec![input("x", x)?], Some(geometry)))
        }
        PoolPass::Gradient(x, gradient) => {
            let geometry = operation.geometry((x.shape(), x.dtype()), options)?;
            let made = &geometry.described;
            let given = (gradient.shape(), gradient.dtype());
            operation.check_gradient("gradient", given, (&made.shape, made.dtype))?;
            target.check_out(name, x.dtype(), x.shape())?;
            let inputs = vec![input("x", x)?, input("gradient", gradient)?];
            Ok((inputs, Some(geometry)))
        }
        PoolPass::Add(values, indices) | PoolPass::Set(values, indices) => {
            let given = [
                (values.shape(), values.dtype()),
                (indices.shape(), indices.dtype()),
            ];
            operation.check_indices(name, given, target.shape(), options.layout)?;
            target.check_out(name, values.dtype(), target.shape())?;
            let inputs = vec![input("x", values)?, input("indices", indices)?];
            Ok((inputs, None))
        }
    }
}

/// Where the places of largest values go.
fn places(
    operation: Pool,
    indices: &mut TensorViewMut,
    geometry: Option<&PoolGeometry>,
    (target, inputs): (&Layout, &[Layout]),
) -> Result<Layout, Error> {
    let name = operation.name();
    let layout = Layout::of(name, "indices", &indices.as_view())?;
    let shape = geometry.map_or(target.shape(), |one| &one.described.shape);
    layout.check_out(name, Dtype::I64, shape)?;
    for other in inputs.iter().chain([target]) {
        layout.check_apart(name, "another argument", other, false)?;
    }
    Ok(layout)
}
