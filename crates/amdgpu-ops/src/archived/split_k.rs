//! Products whose inner dimension is cut among blocks, and products with vectors. They leave sums; one more launch adds them up, in their
//! order, and does what follows.

use amdgpu_array::Array;
use smallvec::SmallVec;

use super::archive::{ArchivedKernel, Unit};
use super::gemm::Gemm;
use super::load::Steps;
use super::problem::{Epilogue, Number, Problem, VECTOR_BYTES};
use crate::launch::Shape;
use crate::{Arg, Result};

/// Grids have so many blocks in their second and third dimension at most.
const GRID_LIMIT: u64 = 65_535;
/// Of the inner dimension that a part has at least: below it the sums of the parts take longer to add than to compute.
const PART_DEPTH: u64 = 256;
const MAX_PARTS: u64 = 32;
/// Blocks of 256 threads that a unit holds and that read from memory at its full speed.
const VECTOR_BLOCKS_PER_UNIT: u64 = 4;
/// How zig/src/kernels/vector.zig shares out a block: threads for each result where the inner dimension is contiguous; where it is not,
/// threads side by side, with a number each or, where rows are aligned, fewer with 16 bytes each.
const THREADS_ACROSS: u64 = 64;
const THREADS_ACROSS_ALIGNED: u64 = 32;
/// What kernels count sums and vectors of 16 bytes in, less the threads of a block, which count on beyond the last of them.
const COUNT_LIMIT: u128 = (1 << 32) - 256;

/// The parts of a product along its inner dimension, as a batch of products.
#[must_use]
pub fn cut(problem: &Problem, parts: u64) -> Problem {
    Problem {
        k: problem.k / parts,
        batch: parts,
        ..problem.summed()
    }
}

/// Elements from part to part of both operands and the result.
#[must_use]
pub fn part_strides(part: &Problem) -> [u64; 3] {
    let [a, b] = part.layout.is_transposed();
    [
        part.k * if a { part.m } else { 1 },
        part.k * if b { 1 } else { part.n },
        part.m * part.n,
    ]
}

/// Into how many parts a kernel's product is cut so that all units have something to do; 1 where it is not.
#[must_use]
pub fn parts_of(kernel: &ArchivedKernel, problem: &Problem, units: u64) -> u64 {
    if problem.batch != 1 || problem.k < 2 * PART_DEPTH || !is_counted(problem) {
        return 1;
    }
    let tiles = problem.m.div_ceil(kernel.tile.m) * problem.n.div_ceil(kernel.tile.n);
    // Threads that units hold at once: one block of those that wgmma fills alone, else 512.
    let together = if kernel.unit == Some(Unit::Wgmma) {
        1
    } else {
        (512 / u64::from(kernel.threads)).max(1)
    };
    // An empty product has no tiles, and no parts.
    let of_units = (units * together).checked_div(tiles).unwrap_or(1);
    let most = of_units.min(problem.k / PART_DEPTH).min(MAX_PARTS);
    // Parts are as long as each other and begin with whole vectors.
    let step = if problem.is_aligned {
        VECTOR_BYTES / problem.operand.bytes()
    } else {
        1
    };
    (2..=most)
        .rev()
        .find(|parts| problem.k.is_multiple_of(parts * step))
        .unwrap_or(1)
}

/// Whether kernels can count the numbers of operands and results.
#[must_use]
pub fn is_counted(problem: &Problem) -> bool {
    let [m, n, k, batch] = [problem.m, problem.n, problem.k, problem.batch].map(u128::from);
    let largest = (m * k).max(k * n).max(m * n);
    largest.saturating_mul(batch) < COUNT_LIMIT && problem.batch <= GRID_LIMIT
}

/// What vectors' kernels call the operands: they multiply without matrix units, so tf32 is float32.
#[must_use]
pub fn vector_number(problem: &Problem) -> Number {
    match problem.operand {
        Number::Tf32 => Number::F32,
        other => other,
    }
}

/// Which dimension is contiguous in the matrix that a vector is multiplied with.
#[must_use]
pub fn vector_along(problem: &Problem) -> &'static str {
    let [a, b] = problem.layout.is_transposed();
    let is_k = if problem.m == 1 { b } else { !a };
    if is_k { "k" } else { "outer" }
}

/// The launch that adds up `parts` of a product; in each a product of the batch has `rows` rows, `lead` apart.
pub(super) fn add_parts(
    steps: &Steps<'_>,
    call: &Gemm<'_>,
    sums: &Array,
    parts: u64,
    (rows, lead): (u64, u64),
) -> Result<()> {
    let problem = &call.problem;
    let (number, output) = (problem.operand.sums(), problem.output);
    let kernel = steps.find(
        "parts",
        |kernel| kernel.number == Some(number) && kernel.output == Some(output),
        || format!("{} sums to {}", number.name(), output.name()),
    )?;
    let count = problem.batch * problem.m * problem.n;
    let mut args: SmallVec<[Arg<'_>; 20]> = SmallVec::new();
    args.extend([sums, call.out, call.bias_or_any()].map(Arg::Array));
    args.extend([parts, problem.m, problem.n, lead].map(int));
    args.push(Arg::from(problem.epilogue.code()));
    args.extend([count, rows * lead, problem.batch * rows * lead].map(int));
    args.extend([call.alpha, call.beta].map(Arg::Float));
    let threads = u64::from(kernel.threads);
    steps.launch(
        kernel,
        Shape::line(count.div_ceil(threads) as i64, threads as i64),
        &args,
    )
}

/// How a product with a vector is shared out.
struct VectorShare {
    results: u64,
    depth: u64,
    parts: u64,
}

impl VectorShare {
    fn of(problem: &Problem, kernel: &ArchivedKernel, units: u64, is_aligned: bool) -> Self {
        let (outer, threads) = (problem.m.max(problem.n), u64::from(kernel.threads));
        let width = VECTOR_BYTES / problem.operand.bytes();
        let columns = if is_aligned {
            THREADS_ACROSS_ALIGNED.min(threads / width) * width
        } else {
            THREADS_ACROSS
        };
        let results = if vector_along(problem) == "k" {
            threads / THREADS_ACROSS
        } else {
            columns
        };
        let blocks = outer.div_ceil(results);
        let wanted = units * VECTOR_BLOCKS_PER_UNIT / (blocks * problem.batch);
        let steps = problem.k.div_ceil(PART_DEPTH);
        let depth = steps.div_ceil(wanted.min(steps).clamp(1, MAX_PARTS)) * PART_DEPTH;
        Self {
            results,
            depth,
            parts: problem.k.div_ceil(depth),
        }
    }
}

/// The launches of a product of a matrix and a vector.
pub(super) fn gemv(steps: &Steps<'_>, call: &Gemm<'_>) -> Result<()> {
    let problem = &call.problem;
    let is_row = problem.m == 1;
    let (vector, matrix) = if is_row {
        (call.a, call.b)
    } else {
        (call.b, call.a)
    };
    let outer = if is_row { problem.n } else { problem.m };
    let along = vector_along(problem);
    // A vector lies without gaps in every layout.
    let lead = if along == "k" { problem.k } else { outer };
    let item = problem.operand.bytes();
    let of_batch = if problem.batch > 1 {
        problem.k * item
    } else {
        0
    };
    let sizes = [
        matrix.address().address(),
        vector.address().address(),
        lead * item,
        outer * problem.k * item,
        of_batch,
    ];
    let is_aligned = sizes.iter().all(|size| size % VECTOR_BYTES == 0);
    let alignment = if is_aligned { "aligned" } else { "any" };
    let number = vector_number(problem);
    let kernel = steps.find(
        "vector",
        |kernel| {
            kernel.number == Some(number)
                && kernel.output == Some(problem.output)
                && kernel.along == along
                && kernel.alignment == alignment
        },
        || format!("{} along {along}, {alignment}", number.name()),
    )?;
    let share = VectorShare::of(problem, kernel, steps.units(), is_aligned);
    let count = share.parts * problem.batch * outer;
    let own = (share.parts > 1)
        .then(|| steps.scratch(problem.operand.sums(), &[count]))
        .transpose()?;
    let sums = own.as_ref().unwrap_or(call.out);
    let [of_a, of_b, _] = problem.strides();
    let (of_matrix, of_vector) = if is_row { (of_b, of_a) } else { (of_a, of_b) };
    let mut args: SmallVec<[Arg<'_>; 20]> = SmallVec::new();
    args.extend([matrix, vector, call.out, call.bias_or_any(), sums].map(Arg::Array));
    args.extend(
        [
            outer,
            problem.k,
            lead,
            share.depth,
            share.parts,
            problem.batch,
        ]
        .map(int),
    );
    args.extend([i64::from(is_row), problem.epilogue.code()].map(Arg::from));
    args.extend([call.alpha, call.beta].map(Arg::Float));
    args.extend([of_matrix, of_vector].map(int));
    let launch_shape = Shape {
        grid: [outer.div_ceil(share.results), share.parts, problem.batch].map(|x| x as i64),
        block: [i64::from(kernel.threads), 1, 1],
        shared_bytes: 0,
    };
    steps.launch(kernel, launch_shape, &args)?;
    match &own {
        Some(sums) => add_parts(steps, call, sums, share.parts, (problem.m, problem.n)),
        None => Ok(()),
    }
}

/// A count as a launch carries it.
pub(super) fn int<'a>(value: u64) -> Arg<'a> {
    Arg::Int(i128::from(value))
}

/// Whether an epilogue is computed of float32 sums alone.
#[must_use]
pub fn is_of_float32(epilogue: Epilogue) -> bool {
    matches!(epilogue, Epilogue::Gelu | Epilogue::Silu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archived::problem::Layout;

    fn problem(m: u64, n: u64, k: u64, layout: Layout) -> Problem {
        Problem {
            m,
            n,
            k,
            batch: 1,
            operand: Number::F32,
            output: Number::F32,
            layout,
            epilogue: Epilogue::None,
            is_aligned: true,
        }
    }

    #[test]
    fn parts_lie_behind_each_other_along_k() {
        for (layout, expected) in [
            (Layout::Nn, [64, 64 * 8, 32]),
            (Layout::Tt, [64 * 4, 64, 32]),
        ] {
            let part = cut(&problem(4, 8, 256, layout), 4);
            assert_eq!((part.k, part.batch), (64, 4));
            assert_eq!(part_strides(&part), expected);
        }
    }

    #[test]
    fn what_32_bits_do_not_count_is_not_cut() {
        assert!(is_counted(&problem(65_535, 65_535, 1, Layout::Nn)));
        assert!(!is_counted(&problem(65_536, 65_536, 1, Layout::Nn)));
        let batched = Problem {
            batch: GRID_LIMIT + 1,
            ..problem(1, 1, 1, Layout::Nn)
        };
        assert!(!is_counted(&batched));
    }

    #[test]
    fn a_matrix_is_read_along_the_dimension_that_is_contiguous() {
        assert_eq!(vector_along(&problem(1, 9, 5, Layout::Nn)), "outer");
        assert_eq!(vector_along(&problem(1, 9, 5, Layout::Nt)), "k");
        assert_eq!(vector_along(&problem(9, 1, 5, Layout::Nn)), "k");
        assert_eq!(vector_along(&problem(9, 1, 5, Layout::Tn)), "outer");
    }
}
