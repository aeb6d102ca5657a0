//! Losses of the trainer for rows of float32: score and gradient of a row by one kernel.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::loss::{ClassKernel, squared_error_source};
use crate::launch::{Shape, launch};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Dense float32 rows, what they should be, and where the gradient goes.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Shape (rows, size).
    pub x: &'a Array,
    /// int32 of shape (rows,): the right column of each row. float32 of shape (rows, size): its values.
    pub targets: &'a Array,
    /// Shape (rows, size); written.
    pub delta: &'a Array,
    /// Factor of the gradient.
    pub share: f32,
}

impl Rows<'_> {
    fn has_labels(&self) -> bool {
        self.targets.dtype == Dtype::I32
    }

    fn extents(&self) -> (i64, i64) {
        (self.x.shape[0], self.x.shape[1])
    }
}

/// No label: every row counts.
const NOT_IGNORED: i64 = i64::MIN;

/// `-sum(target * log(softmax(x)))` of each row: `values` gets the softmax, `delta` the gradient by x times the share.
///
/// Returns float64 of shape (rows, 2): the loss, and 1 where the largest value is where the largest target is, else 0.
///
/// # Errors
///
/// What the device reports.
pub fn cross_entropy(ops: &DeviceOps, rows: &Rows<'_>, values: &Array) -> Result<Array> {
    let (count, size) = rows.extents();
    let scores = empty(ops, &[count, 2])?;
    let key = KernelKey::new("cross entropy").flag(rows.has_labels());
    let kernel = ops.kernel(key, "class_loss", || {
        ClassKernel::training(rows.has_labels()).source()
    })?;
    let args = [
        Arg::Array(rows.x),
        Arg::Array(rows.targets),
        Arg::Array(values),
        Arg::Array(rows.delta),
        Arg::Array(&scores),
        Arg::Float(f64::from(rows.share)),
        Arg::Float(0.0),
        Arg::from(NOT_IGNORED),
        Arg::from(size),
        Arg::from(1_i64),
        Arg::from(count),
    ];
    run(&kernel, count, &args)?;
    Ok(scores)
}

/// `sum((x - target)²)` of each row; `delta` gets `x - target` times the share.
///
/// Returns float64 of shape (rows,).
///
/// # Errors
///
/// What the device reports.
pub fn squared_error(ops: &DeviceOps, rows: &Rows<'_>) -> Result<Array> {
    let (count, size) = rows.extents();
    let scores = empty(ops, &[count])?;
    let key = KernelKey::new("squared error").flag(rows.has_labels());
    let kernel = ops.kernel(key, "squared_error", || {
        squared_error_source(rows.has_labels())
    })?;
    let args = [
        Arg::Array(rows.x),
        Arg::Array(rows.targets),
        Arg::Array(rows.delta),
        Arg::Array(&scores),
        Arg::Float(f64::from(rows.share)),
        Arg::from(size),
        Arg::from(count),
    ];
    run(&kernel, count, &args)?;
    Ok(scores)
}

fn empty(ops: &DeviceOps, shape: &[i64]) -> Result<Array> {
    let shape = Dims::from_slice(shape);
    Ok(Array::empty(
        ops.device(),
        shape,
        Dtype::F64,
        MemoryKind::Device,
    )?)
}

fn run(kernel: &std::sync::Arc<amdgpu_aura::Kernel>, rows: i64, args: &[Arg<'_>]) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    // Rows are few: small blocks spread them over more units.
    let block = 64;
    let blocks = rows.div_ceil_positive(block);
    launch(kernel, Shape::line(blocks, block), args)
}
