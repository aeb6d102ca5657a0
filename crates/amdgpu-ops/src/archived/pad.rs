//! Operands that are written out with zeros behind their rows, so that all rows begin at multiples of 16 bytes.

use std::borrow::Cow;

use amdgpu_array::Array;
use smallvec::SmallVec;

use super::gemm::Gemm;
use super::load::Steps;
use super::problem::{Problem, VECTOR_BYTES};
use super::split_k::int;
use crate::launch::Shape;
use crate::{Arg, Result};

/// Of operands that are padded and of their sums. A choice decides the bits of a result and must not change with what memory is free at the
/// time, so that is not asked: what needs more is computed as it lies.
const LIMIT_BYTES: u128 = 4 << 30;

/// The product of operands that are filled up with zeros, so that all rows start at multiples of 16 bytes.
#[must_use]
pub fn padded(problem: &Problem) -> Problem {
    let step = VECTOR_BYTES / problem.operand.bytes();
    let up = |extent: u64| extent.div_ceil(step) * step;
    let [transposes_a, transposes_b] = problem.layout.is_transposed();
    // Where k is the outer dimension of both operands, it may have any extent.
    let keeps_k = transposes_a && !transposes_b;
    Problem {
        m: if transposes_a {
            up(problem.m)
        } else {
            problem.m
        },
        n: up(problem.n),
        k: if keeps_k { problem.k } else { up(problem.k) },
        is_aligned: true,
        ..problem.summed()
    }
}

/// Whether padded operands and their sums take no more memory than is allowed.
#[must_use]
pub fn fits(problem: &Problem, larger: &Problem) -> bool {
    let area = |[rows, columns]: [u64; 2]| u128::from(rows) * u128::from(columns);
    let changed = [0, 1].map(|side| larger.stored(side) != problem.stored(side));
    // Where no extent changes, addresses are no multiples of 16 bytes: those of both operands, as far as is known here.
    let is_counted = |side: usize| changed[side] || changed == [false, false];
    let copied: u128 = [0, 1]
        .into_iter()
        .filter(|side| is_counted(*side))
        .map(|side| area(larger.stored(side)))
        .sum();
    let sums = area([larger.m, larger.n]) * u128::from(larger.operand.sums().bytes());
    let bytes = u128::from(problem.batch) * (copied * u128::from(problem.operand.bytes()) + sums);
    bytes <= LIMIT_BYTES
}

/// An operand that is copied.
struct Copied<'a> {
    from: &'a Array,
    to: Array,
    before: [u64; 2],
    after: [u64; 2],
}

/// Launches what copies the operands that need it; the operands then.
pub(super) fn pad<'a>(steps: &Steps<'_>, call: &Gemm<'a>) -> Result<[Cow<'a, Array>; 2]> {
    let problem = &call.problem;
    let larger = padded(problem);
    let mut copied: SmallVec<[Copied<'a>; 2]> = SmallVec::new();
    let mut made = [Cow::Borrowed(call.a), Cow::Borrowed(call.b)];
    for (side, from) in [call.a, call.b].into_iter().enumerate() {
        let (before, after) = (problem.stored(side), larger.stored(side));
        if before == after && from.address().address().is_multiple_of(VECTOR_BYTES) {
            continue;
        }
        let shape = [problem.batch, after[0], after[1]];
        let to = steps.scratch_of(from.dtype, &shape)?;
        made[side] = Cow::Owned(to.clone());
        copied.push(Copied {
            from,
            to,
            before,
            after,
        });
    }
    let (Some(first), Some(last)) = (copied.first(), copied.last()) else {
        return Ok(made);
    };
    let item = problem.operand.bytes();
    let kernel = steps.find(
        "pad",
        |kernel| kernel.item_bytes == item,
        || format!("{item} bytes"),
    )?;
    let per_block = VECTOR_BYTES / item * u64::from(kernel.threads);
    let blocks = copied
        .iter()
        .map(|one| (one.after[0] * one.after[1]).div_ceil(per_block))
        .max();
    let both = [first, last];
    let mut args: SmallVec<[Arg<'_>; 12]> = SmallVec::new();
    for one in both {
        args.extend([Arg::Array(one.from), Arg::Array(&one.to)]);
    }
    for one in both {
        args.extend(one.before.into_iter().chain(one.after).map(int));
    }
    let shape = Shape {
        grid: [
            blocks.unwrap_or(1) as i64,
            problem.batch as i64,
            copied.len() as i64,
        ],
        block: [i64::from(kernel.threads), 1, 1],
        shared_bytes: 0,
    };
    steps.launch(kernel, shape, &args)?;
    Ok(made)
}
