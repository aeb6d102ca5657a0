//! Launches of tiled kernels ([`generated::tiled`](crate::generated::tiled)).

use smallvec::SmallVec;

use crate::generated::source::{BLOCK, GRID_LIMIT};
use crate::generated::tiled::{TILE, Tiled};
use crate::launch::{Shape, launch};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// What a tiled kernel is launched over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiledShape {
    /// Rows of the results.
    pub m: i64,
    /// Columns of the results.
    pub n: i64,
    /// Of the inner dimension.
    pub k: i64,
    pub batch: i64,
    /// Parts of the inner dimension that are summed apart (`blockIdx.z`).
    pub split_k: i64,
}

/// Launch the kernel of a key over a shape; `text` writes it when it is first asked for, and `args` are those of its own parameters.
///
/// # Errors
///
/// What the compiler and the device report.
pub fn launch_tiled(
    ops: &DeviceOps,
    key: KernelKey,
    text: impl FnOnce() -> Tiled,
    shape: TiledShape,
    args: &[Arg<'_>],
) -> Result<()> {
    let kernel = ops.kernel(key, "tiled", || text().source())?;
    let (down, across) = (blocks(shape.m, TILE), blocks(shape.n, TILE));
    let part_depth = blocks(shape.k, shape.split_k).max(1);
    let mut all: SmallVec<[Arg<'_>; 32]> = SmallVec::new();
    let mut first = 0;
    while first < shape.batch {
        all.clear();
        let own = [shape.m, shape.n, shape.k, part_depth, across, first];
        all.extend(own.map(Arg::from));
        all.extend_from_slice(args);
        let grid = Shape {
            grid: [
                down * across,
                (shape.batch - first).min(GRID_LIMIT),
                shape.split_k,
            ],
            block: [BLOCK, 1, 1],
            shared_bytes: 0,
        };
        launch(&kernel, grid, &all)?;
        first += GRID_LIMIT;
    }
    Ok(())
}

/// How many parts of a size cover an extent.
fn blocks(extent: i64, size: i64) -> i64 {
    (extent + size - 1) / size
}
