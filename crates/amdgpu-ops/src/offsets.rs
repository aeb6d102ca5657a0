//! Where the elements lie that arrays of indices name.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, coalesce_all};
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::IndexedAxis;
use amdgpu_matrix::{Described, Matrix, TensorView, check_indices};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::generated::offsets::{PLACE_BITS, offsets_source};
use crate::generated::source;
use crate::index_notes::Note;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, broadcast};
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

const NAME: &str = "offsets";

/// Sums of indices times strides, in int64 of the shape that the arrays of indices broadcast to. An index in [-extent, extent) counts from the
/// end of its axis where it is negative. Messages number the axes from 0; [`along`] takes numbers of the caller's.
///
/// On a GPU the kernel notes the first index that is none, and the call waits for it unless [`crate::index_notes::defer`] has put that off.
///
/// # Errors
///
/// `index-out-of-range`, naming index, axis, extent and place; `unsupported-dtype` for indices that are no integers, `shape-mismatch` where they
/// do not broadcast.
pub fn offsets(
    ops: &DeviceOps,
    indices: &[Operand],
    extents: &[i64],
    strides: &[i64],
) -> Result<Array> {
    if extents.len() != strides.len() {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{NAME}: {} extents and {} strides; every axis has one of each",
                extents.len(),
                strides.len()
            ),
        ));
    }
    let numbered = (0..).zip(extents.iter().zip(strides));
    let axes: Vec<IndexedAxis> = numbered
        .map(|(axis, (extent, stride))| IndexedAxis {
            axis,
            extent: *extent,
            stride: *stride,
        })
        .collect();
    along(ops, indices, &axes)
}

/// [`offsets`] along axes that have numbers of their own in messages.
///
/// # Errors
///
/// As [`offsets`].
pub fn along(ops: &DeviceOps, indices: &[Operand], axes: &[IndexedAxis]) -> Result<Array> {
    cpu::only(along_into(ops, indices, axes, &[])?)
}

/// [`along`] with memory for the result, or without.
pub(crate) fn along_into(
    ops: &DeviceOps,
    indices: &[Operand],
    axes: &[IndexedAxis],
    outs: &Outs<'_>,
) -> Result<Results> {
    let inputs: SmallVec<[(&str, &Operand); 4]> =
        indices.iter().map(|one| ("indices", one)).collect();
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &inputs,
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::Offsets(axes.to_vec()),
        || Ok(Results::from_iter([on_device(ops, indices, axes)?])),
        |views, host| on_host(views, axes, None, host),
    )
}

/// [`along`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`offsets`], and those of the host.
pub fn on_host<H: Host>(
    indices: &[TensorView<'_>],
    axes: &[IndexedAxis],
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let dtypes: SmallVec<[Dtype; 4]> = indices.iter().map(TensorView::dtype).collect();
    check_indices(&dtypes, axes).map_err(Error::from)?;
    let shape = amdgpu_array::broadcast_shapes(indices.iter().map(TensorView::shape));
    let described = Described {
        shape: shape
            .ok_or_else(|| {
                let shapes: Vec<_> = indices.iter().map(TensorView::shape).collect();
                Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!("{NAME}: shapes do not broadcast: indices {shapes:?}"),
                )
            })?
            .to_vec(),
        dtype: Dtype::I64,
    };
    let len = described
        .shape
        .iter()
        .fold(1_u64, |len, extent| len.saturating_mul(*extent as u64));
    host.write(&described, len, |out| {
        Ok(Matrix::global()?.offsets(indices, axes, out, thread_limit)?)
    })
}

/// Checks the arguments; an array for the offsets.
fn empty(ops: &DeviceOps, indices: &[Operand], axes: &[IndexedAxis]) -> Result<Array> {
    let dtypes: SmallVec<[Dtype; 4]> = indices.iter().map(|one| one.dtype).collect();
    check_indices(&dtypes, axes)?;
    let named: SmallVec<[(&str, &Operand); 4]> =
        indices.iter().map(|one| ("indices", one)).collect();
    let shape = broadcast(NAME, &named)?;
    Ok(Array::empty(
        ops.device(),
        shape,
        Dtype::I64,
        MemoryKind::Device,
    )?)
}

/// [`along`] by a kernel of the device.
///
/// # Errors
///
/// As [`offsets`]; what the device reports.
pub fn on_device(ops: &DeviceOps, indices: &[Operand], axes: &[IndexedAxis]) -> Result<Array> {
    let made = empty(ops, indices, axes)?;
    let count = made.len();
    if count == 0 {
        return Ok(made);
    }
    let wide: Vec<Operand> = indices
        .iter()
        .map(|one| one.broadcast_to(&made.shape))
        .collect();
    let all: Vec<&[i64]> = wide.iter().map(|one| one.strides.as_slice()).collect();
    let (extents, strides) = coalesce_all(&made.shape, &all);
    let note = Note::of(ops, NAME)?;
    let mut key = KernelKey::new(NAME)
        .with(extents.len() as u64)
        .flag(source::is_narrow(count));
    for one in &wide {
        key = key
            .dtype(one.dtype)
            .flag(one.is_number())
            .flag(one.is_dense());
    }
    let kernel = ops.kernel(key, NAME, || offsets_source(&wide, extents.len(), count))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.push(Arg::Array(&made));
    args.push(note.argument());
    args.push(Arg::from(count));
    for (one, axis) in wide.iter().zip(axes) {
        args.push(if one.is_number() {
            Arg::from(one.number)
        } else {
            Arg::pointer(one)
        });
        args.extend([axis.extent, axis.stride].map(Arg::from));
    }
    args.extend_from_slice(&source::walk_arguments(&extents, &strides));
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
    drop(args);
    note.end()?;
    refuse(note, &wide, axes)?;
    Ok(made)
}

/// Refuses what the kernel has noted, where it is looked at now.
fn refuse(note: Note<'_>, wide: &[Operand], axes: &[IndexedAxis]) -> Result<()> {
    let Some(noted) = note.read()? else {
        return Ok(());
    };
    let (k, place) = (
        (noted >> PLACE_BITS) as usize,
        noted & ((1 << PLACE_BITS) - 1),
    );
    let named = axes[k];
    let index = element(&wide[k], place as i64)?;
    Err(Error::refused(
        ErrorCode::IndexOutOfRange,
        format!(
            "index {index} is out of bounds for axis {} with size {}: it stands at place {place} of the indices",
            named.axis, named.extent
        ),
    ))
}

/// An integer of an array, by its place in row-major order.
pub(crate) fn element(x: &Operand, place: i64) -> Result<i128> {
    let Some(array) = &x.array else {
        return Ok(match x.number {
            crate::Scalar::Int(value) => value,
            crate::Scalar::Float(value) => value as i128,
        });
    };
    let (mut rest, mut offset) = (place, 0);
    for axis in (0..x.rank()).rev() {
        offset += rest % x.shape[axis] * x.strides[axis];
        rest /= x.shape[axis];
    }
    let at = offset * x.item_bytes() as i64;
    let one = crate::fallback::read_bytes(array, at, x.item_bytes())?;
    let mut wide = [0; 8];
    wide[..one.len()].copy_from_slice(&one);
    let bits = u64::from_ne_bytes(wide);
    let shift = 64 - 8 * one.len() as u32;
    Ok(if x.dtype.code == amdgpu_abi::layout::DTYPE_INT {
        i128::from((bits << shift).cast_signed() >> shift)
    } else {
        i128::from(bits)
    })
}
