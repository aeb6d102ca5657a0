//! Prefix sums, products, bests and truth values along an axis.
//!
//! Adjacent values of a line are scanned by blocks: 1,024 at a time, long lines in chunks whose totals are scanned first. Lines that lie side
//! by side are each scanned by one work-item. Floats are carried in float64, so the order shows in the last bit at most.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_INT;
use amdgpu_abi::promotion::is_float;
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Matrix, TensorView, resolve_axes};
pub use amdgpu_matrix::{Scan, ScanOptions};

use crate::cpu::{self, Host};
use crate::div_ceil::DivCeil;
use crate::generated::scan::{CHUNK, Kind, ScanKernel, scan_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::{Operand, Target};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, KernelKey, Result};

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
            let kernel = self.kernel(Kind::Columns, x.dtype, out.dtype)?;
            let sizes = [lines.count, lines.length, lines.stride];
            let [count, length, stride] = sizes.map(Arg::from);
            let args = [Arg::Array(x), Arg::Array(out), count, length, stride];
            let blocks = lines.count.div_ceil_positive(source::BLOCK);
            return launch(&kernel, Shape::line(blocks, source::BLOCK), &args);
        }
        let chunks = lines.length.div_ceil_positive(CHUNK);
        if chunks <= 1 {
            return self.blocks(Kind::Rows, [x, out, out], lines, chunks);
        }
        let [totals, carries] = [self.states(lines, chunks)?, self.states(lines, chunks)?];
        self.blocks(Kind::Totals, [x, &totals, &totals], lines, chunks)?;
        let of_chunks = Lines {
            length: chunks,
            ..lines
        };
        // The totals are in the order in which chunks are scanned, and every chunk wants all up to the one before it.
        let of_totals = Scanner {
            is_exclusive: false,
            is_reversed: false,
            ..*self
        };
        of_totals.run(&totals, &carries, of_chunks)?;
        self.blocks(Kind::Carried, [x, out, &carries], lines, chunks)
    }

    /// Memory for a state of each chunk.
    fn states(&self, lines: Lines, chunks: i64) -> Result<Array> {
        let shape = Dims::from_slice(&[lines.count * chunks]);
        let made = Array::empty(self.ops.device(), shape, self.state, MemoryKind::Device)?;
        Ok(made)
    }

    /// Launches a block for each chunk, with values, results and carries.
    fn blocks(&self, kind: Kind, arrays: [&Array; 3], lines: Lines, chunks: i64) -> Result<()> {
        let kernel = self.kernel(kind, arrays[0].dtype, arrays[1].dtype)?;
        let [x, out, carries] = arrays.map(Arg::Array);
        let args = [x, out, carries, Arg::from(lines.length), Arg::from(chunks)];
        launch(
            &kernel,
            Shape::line(lines.count * chunks, source::BLOCK),
            &args,
        )
    }

    fn kernel(&self, kind: Kind, x: Dtype, result: Dtype) -> Result<Arc<Kernel>> {
        let text = ScanKernel {
            operation: self.operation,
            kind,
            x,
            result,
            state: self.state,
            is_exclusive: self.is_exclusive,
            is_reversed: self.is_reversed,
        };
        let key = KernelKey::new("scan")
            .text(self.operation.name())
            .with(kind as u64)
            .dtype(x)
            .dtype(result)
            .dtype(self.state)
            .flag(self.is_exclusive)
            .flag(self.is_reversed);
        self.ops.kernel(key, "scan", || scan_source(&text))
    }
}
