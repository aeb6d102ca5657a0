//! Raw words in the order in which other libraries draw them from the same counter, and normal numbers that they make of them, for devices of
//! theirs that want the same numbers.

use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Distribution, RandomOptions};

use super::draw::run;
use crate::{DeviceOps, Error, Result};

const UINT32: Dtype = Dtype::new(DTYPE_UINT, 32);

/// Threads of a block in `PyTorch`'s distribution kernels (`block_size_bound` in `ATen/native/cuda/DistributionTemplates.h`).
const TORCH_BLOCK: u64 = 256;
/// What the offset grows by in an iteration (`max_generator_offsets_per_curand_call` there).
const TORCH_OFFSETS: u64 = 4;

/// How `PyTorch` spreads a draw over a CUDA device: `calc_execution_policy` in `ATen/native/cuda/DistributionTemplates.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterleavedLayout {
    /// Threads of the grid.
    pub threads: u64,
    /// What the generator's offset grows by.
    pub offset_step: u64,
}

impl InterleavedLayout {
    /// The layout of `count` elements on a device with so many multiprocessors, each with so many threads at most; `unroll` is the number of
    /// elements that a thread makes of a block: 4, or 2 for float64.
    #[must_use]
    pub fn of(count: u64, multiprocessors: u64, threads_each: u64, unroll: u64) -> Self {
        let most = multiprocessors * (threads_each / TORCH_BLOCK);
        let grid = count.div_ceil(TORCH_BLOCK).min(most).max(1);
        let threads = grid * TORCH_BLOCK;
        let iterations = count.saturating_sub(1) / (threads * unroll) + 1;
        Self {
            threads,
            offset_step: iterations * TORCH_OFFSETS,
        }
    }
}

/// The words of `curand4` as the kernels of `PyTorch` order them: thread `t` of `threads` has the subsequence `t` of the key `seed`; its word `w`
/// of iteration `i` is element `(4 i + w) threads + t`.
///
/// # Errors
///
/// `invalid-argument` without threads, or for an offset that is no multiple of 4, at which blocks begin; `out-of-memory`.
pub fn interleaved_bits(
    ops: &DeviceOps,
    seed: u64,
    offset: u64,
    threads: u64,
    count: i64,
) -> Result<Array> {
    if threads == 0 || threads > u64::from(u32::MAX) {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("torch_bits: threads is {threads}; it must be from 1 to 2**32 - 1"),
        ));
    }
    if !offset.is_multiple_of(TORCH_OFFSETS) {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("torch_bits: offset is {offset}; generators of PyTorch step by multiples of 4"),
        ));
    }
    let out = words(ops, count)?;
    let options = RandomOptions {
        distribution: Distribution::InterleavedBits,
        key: seed,
        block: offset / TORCH_OFFSETS,
        high: 0,
        skip: 0,
        a: 0.0,
        b: 1.0,
        low: 0,
        span: threads,
    };
    if !out.is_empty() {
        run(ops, &options, &[], &out)?;
    }
    Ok(out)
}

/// The words of `TensorFlow`'s `PhiloxRandom` (`tsl/lib/random/philox_random.h`): element `i` is word `i % 4` of the block at the counter of 128
/// bits plus `i / 4`.
///
/// # Errors
///
/// `out-of-memory`.
pub fn tensorflow_bits(ops: &DeviceOps, key: u64, counter: u128, count: i64) -> Result<Array> {
    let out = words(ops, count)?;
    let block = counter as u64;
    // The low half of the counter carries into the high one.
    let blocks = (count as u64).div_ceil(4);
    let before = (u128::from(u64::MAX) + 1 - u128::from(block)).min(u128::from(blocks)) as u64;
    let head = (i128::from(before) * 4).min(i128::from(count)) as i64;
    let options = RandomOptions {
        distribution: Distribution::Integers,
        key,
        block,
        high: (counter >> 64) as u64,
        skip: 0,
        a: 0.0,
        b: 1.0,
        low: 0,
        span: 1 << 32,
    };
    let part = |offset: i64, len: i64| {
        out.view_at(offset, Dims::from_slice(&[len]), Dims::from_slice(&[1]))
    };
    if head > 0 {
        run(ops, &options, &[], &part(0, head))?;
    }
    if head < count {
        let options = RandomOptions {
            block: 0,
            high: options.high.wrapping_add(1),
            ..options
        };
        run(ops, &options, &[], &part(head, count - head))?;
    }
    Ok(out)
}

/// Fills `out` with the standard normal numbers that `TensorFlow` draws from a counter (`tsl/lib/random/random_distributions.h`), of which the
/// truncated ones lie in (-2, 2): float16 and bfloat16 are rounded from float32.
///
/// # Errors
///
/// `unsupported-dtype` unless `out` holds real floats; `invalid-argument` where it has gaps.
pub fn tensorflow_normal(
    ops: &DeviceOps,
    key: u64,
    counter: u128,
    is_truncated: bool,
    out: &Array,
) -> Result<()> {
    /// `TensorFlow` leaves words for so many draws of each number.
    const RESERVED: u64 = 256;
    if !is_float(out.dtype) {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "tensorflow_normal: dtype {} cannot be drawn; it must be float16, bfloat16, float32 or float64",
                out.dtype.name().unwrap_or("?")
            ),
        ));
    }
    if !out.is_contiguous() {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            "tensorflow_normal: out has gaps; pass row-major memory",
        ));
    }
    let elements_each = if out.dtype == Dtype::F64 { 2 } else { 4 };
    let (bound, blocks_each) = if is_truncated {
        (2.0, elements_each * RESERVED / 4)
    } else {
        (f64::INFINITY, 1)
    };
    let options = RandomOptions {
        distribution: Distribution::GroupedNormal,
        key,
        block: counter as u64,
        high: (counter >> 64) as u64,
        skip: 0,
        a: bound,
        b: 1.0,
        low: 0,
        span: blocks_each,
    };
    if out.is_empty() {
        return Ok(());
    }
    run(ops, &options, &[], out)
}

/// Key and counter that `TensorFlow`'s stateless operations draw with for a seed of two numbers: `GenerateKey` in
/// `core/kernels/stateless_random_ops.cc` scrambles them by a block of Philox.
///
/// # Errors
///
/// As [`tensorflow_bits`].
pub fn tensorflow_stateless(ops: &DeviceOps, seed: [u64; 2]) -> Result<(u64, u128)> {
    const KEY: u64 = 0x0246_1e29_3ec8_f720;
    let counter = u128::from(seed[1]) << 64 | u128::from(seed[0]);
    let bytes = tensorflow_bits(ops, KEY, counter, 4)?.read()?;
    let mut mixed = [0; 16];
    mixed.copy_from_slice(&bytes);
    let mixed = u128::from_le_bytes(mixed);
    Ok((mixed as u64, mixed >> 64 << 64))
}

fn words(ops: &DeviceOps, count: i64) -> Result<Array> {
    if count < 0 {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("count is {count}; it must not be negative"),
        ));
    }
    let shape = Dims::from_slice(&[count]);
    Ok(Array::empty(
        ops.device(),
        shape,
        UINT32,
        MemoryKind::Device,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_large_as_the_device_and_no_larger_than_the_draw() {
        // An A100: 108 multiprocessors with 2048 threads each.
        let small = InterleavedLayout::of(1000, 108, 2048, 4);
        assert_eq!((small.threads, small.offset_step), (1024, 4));
        let large = InterleavedLayout::of(10_000_000, 108, 2048, 4);
        assert_eq!((large.threads, large.offset_step), (221_184, 48));
        assert_eq!(InterleavedLayout::of(0, 108, 2048, 4).threads, 256);
    }
}
