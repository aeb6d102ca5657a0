//! Axes in another order, and copies without gaps.

use amdgpu_abi::promotion::compute_type;
use amdgpu_array::{Array, Dims, coalesce};
use amdgpu_matrix::{Matrix, TensorView, describe_transpose, transpose_order};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::elementwise;
use crate::generated::elementwise::Body;
use crate::generated::source;
use crate::generated::transpose::{TILE, TILE_ROWS, transpose_source};
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result, trace};

const NAME: &str = "transpose";

/// `x` with its axes in another order, written out; `None` reverses them. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `invalid-argument` unless `axes` names every axis once, or where `out` overlaps x; `unsupported-dtype`, `shape-mismatch`.
pub fn transpose(
    ops: &DeviceOps,
    x: &Operand,
    axes: Option<&[i64]>,
    out: Option<&Array>,
) -> Result<Array> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("x", x)],
        out,
    };
    cpu::run_noted(
        &call,
        || {
            Some(Operation::Transpose {
                axes: axes.map(Dims::from_slice),
            })
        },
        || on_device(ops, x, axes, out),
        |views, host| on_host(&views[0], axes, None, host),
    )
}

/// [`transpose`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`transpose`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    axes: Option<&[i64]>,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = describe_transpose(x, axes).map_err(Error::from)?;
    host.write(&described, cpu::len(x), |out| {
        Ok(Matrix::global()?.transpose(x, axes, out, thread_limit)?)
    })
}

/// [`transpose`] by a kernel of the device.
///
/// # Errors
///
/// As [`transpose`]; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    x: &Operand,
    axes: Option<&[i64]>,
    out: Option<&Array>,
) -> Result<Array> {
    x.check_dtype(NAME, "x")?;
    let order = transpose_order(&x.shape, axes)?;
    let transposed = x.permuted(&order);
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: false,
        is_dense: true,
    };
    let made = target.resolve(&transposed.shape, x.dtype)?;
    write(ops, &transposed, &made)?;
    made.into_array()
}

/// Copies x, of any strides, to a dense result of its shape and dtype.
///
/// # Errors
///
/// What the device reports; `no-implementation` for too many axes.
pub fn write(ops: &DeviceOps, x: &Operand, result: &Operand) -> Result<()> {
    if result.is_empty() {
        return Ok(());
    }
    let Some(tiles) = (!x.is_number()).then(|| Tiles::of(x)).flatten() else {
        let body = Body::Named("identity");
        let inputs = std::slice::from_ref(x);
        return elementwise::compute(ops, &body, inputs, result, compute_type(x.dtype), 0.0);
    };
    let (item_bytes, rank) = (x.item_bytes(), tiles.rest.len());
    let key = KernelKey::new(NAME)
        .with(item_bytes as u64)
        .with(rank as u64)
        .flag(x.is_dense());
    let kernel = ops.kernel(key, NAME, || {
        transpose_source(item_bytes, rank, x.is_dense())
    })?;
    let (wide, tall) = tiles.counts();
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.push(Arg::pointer(x));
    args.push(Arg::pointer(result));
    let sizes = [tiles.near, tiles.last, wide, tall];
    args.extend(sizes.map(Arg::from));
    args.extend([tiles.last_stride, tiles.near_stride].map(Arg::from));
    args.extend_from_slice(&source::walk_arguments(&tiles.rest, &tiles.walked));
    let shape = Shape {
        block: [TILE, TILE_ROWS, 1],
        ..Shape::line(wide * tall * tiles.rest.iter().product::<i64>(), 1)
    };
    launch(&kernel, shape, &args)
}

/// How a copy through tiles walks: a tile lies across two axes, of the others a block has one index each.
#[derive(Debug, PartialEq, Eq)]
struct Tiles {
    /// Extent of the axis whose neighbours are adjacent in x.
    near: i64,
    /// Extent of the last axis, whose neighbours are adjacent in the result.
    last: i64,
    /// Of the last axis in x.
    last_stride: i64,
    /// Of the near axis in the result.
    near_stride: i64,
    /// Extents of the other axes, and their strides in x and in the result.
    rest: Dims,
    walked: [Dims; 2],
}

impl Tiles {
    /// `None` where neighbours of the result are neighbours in x already, or no axis has neighbours, or too few for a tile.
    fn of(x: &Operand) -> Option<Self> {
        let dense = amdgpu_array::row_major(&x.shape);
        let (extents, strides) = coalesce(&x.shape, [&x.strides, &dense]);
        let last = extents.len() - 1;
        let near = (0..=last).find(|axis| strides[0][*axis] == 1 && extents[*axis] > 1)?;
        if near == last || extents[near].min(extents[last]) < TILE_ROWS {
            return None;
        }
        let written = amdgpu_array::row_major(&extents);
        let others = (0..last).filter(|axis| *axis != near);
        let of_others = |all: &Dims| -> Dims { others.clone().map(|axis| all[axis]).collect() };
        let (rest, walked) = coalesce(
            &of_others(&extents),
            [&of_others(&strides[0]), &of_others(&written)],
        );
        Some(Self {
            near: extents[near],
            last: extents[last],
            last_stride: strides[0][last],
            near_stride: written[near],
            rest,
            walked,
        })
    }

    /// Tiles along the near and the last axis.
    fn counts(&self) -> (i64, i64) {
        (
            self.near.div_ceil_positive(TILE),
            self.last.div_ceil_positive(TILE),
        )
    }
}

/// The values in row-major order: the array itself, or a copy where it has gaps.
///
/// # Errors
///
/// As [`write`].
pub fn dense(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    if let (true, Some(array)) = (x.is_dense(), &x.array) {
        return Ok(array.clone());
    }
    if trace::is_tracing() {
        return trace::noted(Operation::Copy, &[x], || copied(ops, x));
    }
    copied(ops, x)
}

fn copied(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    let target = Target {
        operation: "copy",
        device: ops.device(),
        out: None,
        inputs: &[],
        may_alias: false,
        is_dense: true,
    };
    let made = target.resolve(&x.shape, x.dtype)?;
    write(ops, x, &made)?;
    made.into_array()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operand::Scalar;
    use amdgpu_abi::Dtype;

    /// A tensor with these strides; only the layout is looked at.
    fn strided(shape: &[i64], strides: &[i64]) -> Operand {
        Operand::of_number(Scalar::Int(0), Dtype::F32)
            .with_layout(Dims::from_slice(shape), Dims::from_slice(strides))
    }

    #[test]
    fn tiles_lie_across_the_axes_with_neighbours() {
        // The transpose of 70 x 45.
        let tiles = Tiles::of(&strided(&[45, 70], &[1, 45])).unwrap();
        assert_eq!((tiles.near, tiles.last), (45, 70));
        assert_eq!((tiles.last_stride, tiles.near_stride), (45, 70));
        assert_eq!((tiles.rest.as_slice(), tiles.counts()), (&[1][..], (2, 3)));
        // (3, 40, 50) with axes (2, 0, 1): the axes of x that stay beside each other are joined.
        let tiles = Tiles::of(&strided(&[50, 3, 40], &[1, 2000, 50])).unwrap();
        assert_eq!((tiles.near, tiles.last), (50, 120));
        assert_eq!(tiles.rest.as_slice(), [1]);
        // (3, 40, 50) with axes (0, 2, 1).
        let tiles = Tiles::of(&strided(&[3, 50, 40], &[2000, 1, 50])).unwrap();
        assert_eq!(tiles.rest.as_slice(), [3]);
        assert_eq!(tiles.walked[0].as_slice(), [2000]);
        assert_eq!(tiles.near_stride, 40);
    }

    #[test]
    fn what_has_no_tiles_is_walked() {
        assert_eq!(Tiles::of(&strided(&[5, 37], &[37, 1])), None);
        assert_eq!(Tiles::of(&strided(&[37, 5], &[1, 37])), None);
        assert_eq!(Tiles::of(&strided(&[16, 16], &[2, 32])), None);
    }
}
