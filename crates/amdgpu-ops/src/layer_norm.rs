//! Layer norm that keeps the statistics of its rows, and its gradients where they are known: what training takes.

mod arguments;
mod on_host;

use std::sync::Arc;

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use crate::div_ceil::DivCeil;
use crate::generated::layer_norm::{LayerNormKernel, PART_BLOCK};
pub use crate::generated::loss::computed;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, check_device};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};
use arguments::NAME;
use on_host::Rows;

pub use arguments::{LayerNorm, LayerNormGradients, LayerNormSlopes};

/// Rows up to which a wave has one by itself.
const LONG_ROW: i64 = 1024;
/// Sums of rows are added up in so many parts at most, of so many rows at least.
const MOST_PARTS: i64 = 64;
const LEAST_PART_ROWS: i64 = 32;

/// Writes the result, like x, the mean of each row, and 1 / sqrt(variance + epsilon): a float32 for each row, of float64 that. All without gaps.
///
/// # Errors
///
/// `unsupported-dtype` for what is no float, `shape-mismatch` for parameters that are not of the shape of a row, `invalid-argument` for a negative
/// epsilon, `wrong-device`; what the compiler and the device report.
pub fn layer_norm_training(
    ops: &DeviceOps,
    of: &LayerNorm<'_>,
    epsilon: f64,
    [result, mean, inverse]: [&Array; 3],
) -> Result<()> {
    if epsilon < 0.0 || epsilon.is_nan() {
        return Err(refused(
            ErrorCode::InvalidArgument,
            &format!("epsilon is {epsilon}; it is added to a variance, so it is not negative"),
        ));
    }
    let call = RowCall::of(ops, of, &[])?;
    call.check_out("result", result, of.x.len(), Some(of.x.dtype))?;
    for (name, statistic) in [("mean", mean), ("inverse", inverse)] {
        call.check_out(name, statistic, call.rows, Some(computed(of.x.dtype)))?;
    }
    if result.is_empty() {
        return Ok(());
    }
    if ops.computes_on_host() {
        return call.host(of).forward(of, epsilon, [result, mean, inverse]);
    }
    let text = call.text(of.scale.map(|one| one.dtype), of.shift.map(|one| one.dtype));
    let kernel = call.kernel(&text, "layer_norm", LayerNormKernel::forward)?;
    let mut args: SmallVec<[Arg<'_>; 10]> = SmallVec::new();
    args.push(Arg::Array(&call.x));
    args.extend(call.scale.iter().chain(&call.shift).map(Arg::Array));
    args.extend([result, mean, inverse].map(Arg::Array));
    args.extend([call.rows, call.length].map(Arg::from));
    args.push(Arg::Float(epsilon));
    call.launch(&kernel, &text, &args)
}

/// Writes the gradients of [`layer_norm_training`] by x, scale and shift, as far as they are wanted. Rows are added up in an order that never changes.
///
/// # Errors
///
/// As there; `shape-mismatch` and `unsupported-dtype` where the gradient is not like x or the statistics are not as [`layer_norm_training`] gives them.
pub fn layer_norm_training_gradient(
    ops: &DeviceOps,
    of: &LayerNorm<'_>,
    slopes: &LayerNormSlopes<'_>,
    outs: &LayerNormGradients<'_>,
) -> Result<()> {
    let beside = [
        ("gradient", slopes.gradient),
        ("mean", slopes.mean),
        ("inverse", slopes.inverse),
    ];
    let call = RowCall::of(ops, of, &beside)?;
    call.check_slopes(slopes)?;
    if let Some(by_x) = outs.by_x {
        call.check_out("by_x", by_x, of.x.len(), Some(of.x.dtype))?;
    }
    for (name, out) in [("by_scale", outs.by_scale), ("by_shift", outs.by_shift)] {
        if let Some(out) = out {
            call.check_out(name, out, call.length, None)?;
        }
    }
    if ops.computes_on_host() && call.rows * call.length > 0 {
        return call.host(of).gradients(of, slopes, outs);
    }
    let [gradient, mean, inverse] =
        [slopes.gradient, slopes.mean, slopes.inverse].map(|one| dense(ops, one));
    let given = [call.x.clone(), gradient?, mean?, inverse?];
    if let Some(by_x) = outs.by_x.filter(|one| !one.is_empty()) {
        call.by_x(&given, by_x)?;
    }
    let has_parameters = outs.by_scale.is_some() || outs.by_shift.is_some();
    if has_parameters && call.length > 0 {
        call.by_parameters(&given, outs)?;
    }
    Ok(())
}

/// A call with everything checked.
struct RowCall<'a> {
    ops: &'a DeviceOps,
    x: Array,
    scale: Option<Array>,
    shift: Option<Array>,
    rows: i64,
    length: i64,
}

impl<'a> RowCall<'a> {
    fn of(ops: &'a DeviceOps, of: &LayerNorm<'_>, beside: &[(&str, &Operand)]) -> Result<Self> {
        let x = of.x;
        x.check_dtype(NAME, "x")?;
        if !is_float(x.dtype) {
            return Err(refused(
                ErrorCode::UnsupportedDtype,
                "x is of no floats, so convert it first",
            ));
        }
        let Some(lead) = x.rank().checked_sub(of.row_rank) else {
            return Err(refused(
                ErrorCode::ShapeMismatch,
                "a row has more axes than x",
            ));
        };
        let (outer, row) = x.shape.split_at(lead);
        let parameters = [("scale", of.scale), ("shift", of.shift)];
        for (name, one) in parameters {
            let Some(one) = one else { continue };
            if one.shape.as_slice() != row || !is_float(one.dtype) {
                let message = format!(
                    "{name} has shape {:?}; it has floats for a row of shape {row:?}",
                    one.shape.as_slice()
                );
                return Err(refused(ErrorCode::ShapeMismatch, &message));
            }
        }
        let given = parameters
            .iter()
            .filter_map(|(name, one)| Some((*name, (*one)?)));
        for (name, one) in [("x", x)]
            .into_iter()
            .chain(given)
            .chain(beside.iter().copied())
        {
            if let Some(array) = &one.array {
                array.check_alive()?;
                check_device(NAME, name, array, ops.device())?;
            }
        }
        let parameter = |one: Option<&Operand>| one.map(|one| dense(ops, one)).transpose();
        Ok(Self {
            ops,
            x: dense(ops, x)?,
            scale: parameter(of.scale)?,
            shift: parameter(of.shift)?,
            rows: outer.iter().product(),
            length: row.iter().product(),
        })
    }

    fn host(&self, of: &LayerNorm<'_>) -> Rows<'a> {
        Rows::of(self.ops, of.x.dtype, [self.rows, self.length])
    }

    fn check_slopes(&self, slopes: &LayerNormSlopes<'_>) -> Result<()> {
        let x = &self.x;
        if slopes.gradient.shape != x.shape || slopes.gradient.dtype != x.dtype {
            return Err(refused(
                ErrorCode::ShapeMismatch,
                "gradient has another shape or dtype than x",
            ));
        }
        for statistic in [slopes.mean, slopes.inverse] {
            if statistic.len() != self.rows || statistic.dtype != computed(x.dtype) {
                return Err(refused(
                    ErrorCode::ShapeMismatch,
                    "statistics have a float32 for each row, of float64 a float64",
                ));
            }
        }
        Ok(())
    }

    /// Refuses memory for a result that is not of so many elements of a dtype, `None` for any floats.
    fn check_out(&self, name: &str, out: &Array, count: i64, dtype: Option<Dtype>) -> Result<()> {
        out.check_alive()?;
        check_device(NAME, name, out, self.ops.device())?;
        let is_right = dtype.map_or(is_float(out.dtype), |dtype| dtype == out.dtype);
        if is_right && out.len() == count && out.is_contiguous() && !out.is_read_only {
            return Ok(());
        }
        let wanted = dtype.and_then(Dtype::name).unwrap_or("floats");
        Err(refused(
            ErrorCode::ShapeMismatch,
            &format!(
                "{name} has shape {:?} and dtype {}; it is {count} elements of {wanted} without gaps, to be written",
                out.shape.as_slice(),
                out.dtype.name().unwrap_or("?")
            ),
        ))
    }

    fn text(&self, scale: Option<Dtype>, shift: Option<Dtype>) -> LayerNormKernel {
        LayerNormKernel {
            x: self.x.dtype,
            scale,
            shift,
            lanes: if self.length <= LONG_ROW {
                32
            } else {
                source::BLOCK
            },
        }
    }

    fn kernel(
        &self,
        text: &LayerNormKernel,
        name: &'static str,
        source: impl FnOnce(&LayerNormKernel) -> String,
    ) -> Result<Arc<Kernel>> {
        let mut key = KernelKey::new(name)
            .dtype(text.x)
            .with(text.lanes as u64)
            .flag(text.scale.is_some())
            .flag(text.shift.is_some());
        for dtype in [text.scale, text.shift].into_iter().flatten() {
            key = key.dtype(dtype);
        }
        self.ops.kernel(key, name, || source(text))
    }

    fn launch(&self, kernel: &Arc<Kernel>, text: &LayerNormKernel, args: &[Arg<'_>]) -> Result<()> {
        let shape = Shape {
            block: [text.lanes, text.rows(), 1],
            ..Shape::line(self.rows.div_ceil_positive(text.rows()), 1)
        };
        launch(kernel, shape, args)
    }

    fn by_x(&self, given: &[Array; 4], out: &Array) -> Result<()> {
        let text = self.text(self.scale.as_ref().map(|one| one.dtype), None);
        let kernel = self.kernel(&text, "layer_norm_by_x", LayerNormKernel::by_x)?;
        let mut args: SmallVec<[Arg<'_>; 8]> = given.iter().map(Arg::Array).collect();
        args.extend(self.scale.as_ref().map(Arg::Array));
        args.push(Arg::Array(out));
        args.extend([self.rows, self.length].map(Arg::from));
        self.launch(&kernel, &text, &args)
    }

    /// The gradients by scale and shift.
    fn by_parameters(&self, given: &[Array; 4], outs: &LayerNormGradients<'_>) -> Result<()> {
        let text = self.text(None, None);
        let part_rows = self.rows.div_ceil_positive(MOST_PARTS).max(LEAST_PART_ROWS);
        let count = self.rows.div_ceil_positive(part_rows);
        let parts = Array::empty(
            self.ops.device(),
            Dims::from_slice(&[count, 2, self.length]),
            computed(self.x.dtype),
            MemoryKind::Device,
        )?;
        if count > 0 {
            let kernel = self.kernel(&text, "layer_norm_parts", LayerNormKernel::parts)?;
            let mut args: SmallVec<[Arg<'_>; 8]> = given.iter().map(Arg::Array).collect();
            args.push(Arg::Array(&parts));
            args.extend([self.rows, self.length, part_rows].map(Arg::from));
            let [columns, across] = PART_BLOCK;
            let shape = Shape {
                grid: [self.length.div_ceil_positive(columns), count, 1],
                block: [columns, across, 1],
                shared_bytes: 0,
            };
            launch(&kernel, shape, &args)?;
        }
        let dtype = |one: Option<&Array>| one.map(|one| one.dtype);
        let text = self.text(dtype(outs.by_scale), dtype(outs.by_shift));
        let kernel = self.kernel(&text, "layer_norm_parameters", LayerNormKernel::parameters)?;
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        args.push(Arg::Array(&parts));
        args.extend(
            outs.by_scale
                .into_iter()
                .chain(outs.by_shift)
                .map(Arg::Array),
        );
        args.extend([count, self.length].map(Arg::from));
        let blocks = self.length.div_ceil_positive(source::BLOCK);
        launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
    }
}

fn refused(code: ErrorCode, why: &str) -> Error {
    Error::refused(code, format!("{NAME}: {why}"))
}
