//! Largest values and averages of windows that slide over images, and their gradients.

use std::mem::size_of;

use amdgpu_abi::layout::{
    POOL_AVERAGE, POOL_AVERAGE_GRADIENT, POOL_MAXIMUM, POOL_MAXIMUM_GRADIENT,
};
use amdgpu_abi::{ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::window::four_axes;
use crate::{Error, ImageLayout, Matrix, Sliding, TensorView, TensorViewMut, element};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Maximum,
    Average,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// (rows, columns)
    pub window: (i64, i64),
    pub sliding: Sliding,
    pub layout: ImageLayout,
    /// Whether an average is over the padding, too.
    pub counts_padding: bool,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Pool {
    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Maximum => "max_pool2d",
            Self::Average => "avg_pool2d",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Maximum, Self::Average]
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` unless x has four axes and the window fits; `invalid-argument`; `unsupported-dtype` for integers.
    pub fn describe(self, x: &TensorView, options: &PoolOptions) -> Result<Described, Error> {
        let name = self.name();
        options.sliding.check(name)?;
        let [batch, channels, rows, columns] =
            options.layout.extents(four_axes(name, "x", x.shape())?);
        if !element::is_float(x.dtype()) {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: x has dtype {}; floats are pooled",
                    element::name(x.dtype())
                ),
            ));
        }
        let (window, padding) = (options.window, options.sliding.padding);
        if padding.0 > window.0 / 2 || padding.1 > window.1 / 2 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{name}: padding is {padding:?}; at most half of the window {window:?} keeps a value in every window"
                ),
            ));
        }
        let (result_rows, result_columns) =
            options.sliding.result(name, (rows, columns), window)?;
        Ok(Described {
            shape: options
                .layout
                .shape([batch, channels, result_rows, result_columns]),
            dtype: x.dtype(),
        })
    }

    /// Refuses a gradient of the result that is not like the result, which [`Self::describe`] gave.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn check_gradient(self, gradient: &TensorView, result: &Described) -> Result<(), Error> {
        if gradient.shape() == result.shape && gradient.dtype() == result.dtype {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{}: gradient has shape {:?} and dtype {}, the result {:?} and {}",
                self.name(),
                gradient.shape(),
                element::name(gradient.dtype()),
                result.shape,
                element::name(result.dtype)
            ),
        ))
    }
}

impl Matrix {
    /// Pools `x` into `out`; with `gradient`, that of the result, computes the gradient by `x` instead.
    ///
    /// # Errors
    ///
    /// As [`Pool::describe`], and `invalid-argument` for memory shared with `out`.
    pub fn pool(
        &self,
        operation: Pool,
        x: &TensorView,
        gradient: Option<&TensorView>,
        out: &mut TensorViewMut,
        options: &PoolOptions,
    ) -> Result<(), Error> {
        static POOL: Boundary = crossing("agpu_matrix_pool");
        let name = operation.name();
        let described = operation.describe(x, options)?;
        let image = Layout::of(name, "x", x)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let mut layouts = vec![options.layout.turned(&image)];
        if let Some(gradient) = gradient {
            let lent = Layout::of(name, "gradient", gradient)?;
            operation.check_gradient(gradient, &described)?;
            target.check_out(name, image.dtype, image.shape())?;
            target.check_apart(name, "gradient", &lent, false)?;
            layouts.push(options.layout.turned(&lent));
        } else {
            target.check_out(name, described.dtype, &described.shape)?;
        }
        target.check_apart(name, "x", &image, false)?;
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let turned_target = options.layout.turned(&target);
        let target_tensor = turned_target.to_abi();
        let (window, sliding) = (options.window, &options.sliding);
        let taps = (window.0 * window.1) as u64;
        let work = Work {
            operations: image.len().saturating_mul(2).saturating_add(
                described
                    .shape
                    .iter()
                    .product::<i64>()
                    .unsigned_abs()
                    .saturating_mul(taps),
            ),
            dtype: described.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&POOL, &work, |executor| {
            let given = amdgpu_abi::PoolOptions {
                size_bytes: size_of::<amdgpu_abi::PoolOptions>() as u64,
                operation: match (operation, gradient.is_some()) {
                    (Pool::Maximum, false) => POOL_MAXIMUM,
                    (Pool::Average, false) => POOL_AVERAGE,
                    (Pool::Maximum, true) => POOL_MAXIMUM_GRADIENT,
                    (Pool::Average, true) => POOL_AVERAGE_GRADIENT,
                },
                compute: element::compute_type(described.dtype),
                row_window: window.0 as u64,
                column_window: window.1 as u64,
                row_stride: sliding.stride.0 as u64,
                column_stride: sliding.stride.1 as u64,
                row_padding: sliding.padding.0 as u64,
                column_padding: sliding.padding.1 as u64,
                row_dilation: sliding.dilation.0 as u64,
                column_dilation: sliding.dilation.1 as u64,
                counts_padding: u32::from(options.counts_padding),
                reserved: 0,
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
