//! Prefix sums, products, bests and truth values along an axis.
//!
//! Adjacent values of a line are scanned by a block, those of long lines by many blocks at once. Lines that lie side by side are each scanned by one
//! work-item. Floats are carried in float64, so the order shows in the last bit at most; it is the same in every run.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_INT;
use amdgpu_abi::promotion::is_float;
use amdgpu_array::Array;
use amdgpu_aura::Kernel;
use amdgpu_matrix::{Matrix, TensorView, resolve_axes};
pub use amdgpu_matrix::{Scan, ScanOptions};

use crate::cpu::{self, Host};
use crate::div_ceil::DivCeil;
use crate::generated::scan::{GROUP, Kind, ScanKernel, scan_source, steps, tile};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::{Operand, Target};
use crate::transpose::dense;
use crate::words::words;
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Values of a line that one block scans: more blocks need memory to tell each other.
const ROW_LIMIT: i64 = 16_384;
/// Lines that keep a device busy with a block for each.
const MANY_LINES: i64 = 512;

/// [`crate::scan()`] of real numbers in memory of the host.
///
/// # Errors
///
/// As there, and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    options: &ScanOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    host.write(&options.operation.describe(x), cpu::len(x), |out| {
        Ok(Matrix::global()?.scan(x, out, options)?)
    })
}

/// [`crate::scan()`] of real numbers by kernels of the device.
///
/// # Errors
///
/// As there; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
    out: Option<&Array>,
) -> Result<Array> {
    let name = options.name();
    x.check_dtype(name, "x")?;
    options.operation.check(x.dtype)?;
    let axis = resolve_axes(name, &x.shape, &[options.axis])?[0];
    let described = options.operation.describe(&x.view());
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: !options.is_exclusive,
        is_dense: true,
    };
    let made = target
        .resolve(&described.shape, described.dtype)?
        .into_array()?;
    if !made.is_empty() {
        let scanner = Scanner {
            ops,
            operation: options.operation,
            state: state_of(made.dtype),
            is_exclusive: options.is_exclusive,
            is_reversed: options.is_reversed,
        };
        scanner.run(&dense(ops, x)?, &made, Lines::of(&x.shape, axis, axis))?;
    }
    Ok(made)
}

/// What values of a dtype are carried in.
fn state_of(dtype: Dtype) -> Dtype {
    if is_float(dtype) {
        Dtype::F64
    } else if dtype.code == DTYPE_INT {
        Dtype::I64
    } else {
        Dtype::U64
    }
}

/// A scan on a device, carried in one dtype.
struct Scanner<'a> {
    ops: &'a DeviceOps,
    operation: Scan,
    state: Dtype,
    is_exclusive: bool,
    is_reversed: bool,
}

impl Scanner<'_> {
    fn run(&self, x: &Array, out: &Array, lines: Lines) -> Result<()> {
        if lines.stride > 1 {
            let kernel = self.kernel(Kind::Columns, 1, [x, out])?;
            let sizes = [lines.count, lines.length, lines.stride];
            let [count, length, stride] = sizes.map(Arg::from);
            let args = [Arg::Array(x), Arg::Array(out), count, length, stride];
            let blocks = lines.count.div_ceil_positive(source::BLOCK);
            return launch(&kernel, Shape::line(blocks, source::BLOCK), &args);
        }
        let is_short = lines.length <= ROW_LIMIT || lines.count >= MANY_LINES;
        if is_short {
            let kernel = self.kernel(Kind::Rows, lines.length, [x, out])?;
            let args = [Arg::Array(x), Arg::Array(out), Arg::from(lines.length)];
            return launch(&kernel, Shape::line(lines.count, source::BLOCK), &args);
        }
        self.tiles(x, out, lines)
    }

    /// Launches a block for each tile.
    fn tiles(&self, x: &Array, out: &Array, lines: Lines) -> Result<()> {
        let kernel = self.kernel(Kind::Tiles, lines.length, [x, out])?;
        let tiles = lines.length.div_ceil_positive(tile(steps(lines.length)));
        let groups = tiles.div_ceil_positive(GROUP);
        // A ticket, then two words for every tile and every group.
        let groups_at = 1 + lines.count * tiles * 2;
        let count = groups_at + lines.count * groups * 2;
        let words = words(self.ops, count, count)?;
        let mut args = [x, out, &words].map(Arg::Array).to_vec();
        args.extend([lines.length, tiles, groups, groups_at].map(Arg::from));
        launch(
            &kernel,
            Shape::line(lines.count * tiles, source::BLOCK),
            &args,
        )
    }

    fn kernel(&self, kind: Kind, length: i64, [x, out]: [&Array; 2]) -> Result<Arc<Kernel>> {
        let text = ScanKernel {
            operation: self.operation,
            kind,
            x: x.dtype,
            result: out.dtype,
            state: self.state,
            is_exclusive: self.is_exclusive,
            is_reversed: self.is_reversed,
            steps: steps(length),
        };
        let key = KernelKey::new("scan")
            .text(self.operation.name())
            .with(kind as u64)
            .with(text.steps as u64)
            .dtype(x.dtype)
            .dtype(out.dtype)
            .dtype(self.state)
            .flag(self.is_exclusive)
            .flag(self.is_reversed);
        self.ops.kernel(key, "scan", || scan_source(&text))
    }
}
