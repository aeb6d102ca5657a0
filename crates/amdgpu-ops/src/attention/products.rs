//! Attention by batched products, with one kernel over rows of scores between them: some heads at a time, so that their scores fit a workspace.
//!
//! Queries of all heads that share a key head are rows of one matrix. Scores and their gradients are computed, and read by the kernel, in
//! float32 (float64 of float64); shares and what the products take are in the dtype of the queries, in the memory of the scores where it is that.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, row_major};
use smallvec::SmallVec;

use super::blocks::{Blocks, Extents};
use super::call::KernelCall;
use crate::div_ceil::DivCeil;
use crate::generated::attention::RowForm;
use crate::generated::loss::computed;
use crate::launch::{Shape, launch};
use crate::matmul::{self, Matmul, Precision};
use crate::{Arg, Operand, Result};

/// Heads from `first` on, and how many.
#[derive(Clone, Copy)]
struct Block {
    first: i64,
    heads: i64,
}

/// All blocks, one behind the other.
fn each(extents: Extents, blocks: Blocks, mut work: impl FnMut(Block) -> Result<()>) -> Result<()> {
    let mut first = 0;
    while first < extents.key_heads {
        let heads = blocks.heads.min(extents.key_heads - first);
        work(Block { first, heads })?;
        first += heads;
    }
    Ok(())
}

impl Block {
    /// The block's matrices of `rows` of an array that has such of every head.
    fn of(self, x: &Array, rows: i64) -> Array {
        let columns = x.shape[x.shape.len() - 1];
        let shape = Dims::from_slice(&[self.heads, rows, columns]);
        let strides = row_major(&shape);
        x.view_at(self.first * rows * columns, shape, strides)
    }

    /// The matrices of a workspace that are this block's.
    fn within(self, x: &Array) -> Array {
        let shape = Dims::from_slice(&[self.heads, x.shape[1], x.shape[2]]);
        let strides = row_major(&shape);
        x.view(shape, strides)
    }
}

/// Writes the result.
pub(super) fn attention(
    call: &KernelCall<'_>,
    inputs: &[Array; 3],
    made: &Array,
    blocks: Blocks,
) -> Result<()> {
    let extents = call.extents();
    let rows = extents.group * extents.queries;
    let memory = Memory::of(call, blocks, 1)?;
    each(extents, blocks, |block| {
        let [q, k, v] = block.operands(inputs, rows, extents.keys);
        let scores = block.within(&memory.scores[0]);
        scored(call, &q, &k, &scores)?;
        let shares = block.within(&memory.shares[0]);
        between(call, block, "attention_shares", &[&scores, &shares])?;
        let out = block.of(made, rows);
        let shares = Operand::of_array(shares);
        multiply(call, [&shares, &v], false, &out)
    })
}

/// Writes the gradients by queries, keys and values.
pub(super) fn gradients(
    call: &KernelCall<'_>,
    inputs: &[Array; 3],
    gradient: &Array,
    [by_q, by_k, by_v]: [&Array; 3],
    blocks: Blocks,
) -> Result<()> {
    let extents = call.extents();
    let rows = extents.group * extents.queries;
    let memory = Memory::of(call, blocks, 2)?;
    each(extents, blocks, |block| {
        let [q, k, v] = block.operands(inputs, rows, extents.keys);
        let given = Operand::of_array(block.of(gradient, rows));
        let [scores, slopes] = [0, 1].map(|place| block.within(&memory.scores[place]));
        scored(call, &q, &k, &scores)?;
        scored(call, &given, &v, &slopes)?;
        let [shares, by_scores] = [0, 1].map(|place| block.within(&memory.shares[place]));
        let own = [&scores, &slopes, &shares, &by_scores];
        between(call, block, "attention_share_gradients", &own)?;
        let [shares, by_scores] = [shares, by_scores].map(Operand::of_array);
        let of_keys = |x: &Array| block.of(x, extents.keys);
        multiply(call, [&shares, &given], true, &of_keys(by_v))?;
        multiply(call, [&by_scores, &q], true, &of_keys(by_k))?;
        let out = block.of(by_q, rows);
        multiply(call, [&by_scores, &k], false, &out)
    })
}

impl Block {
    fn operands(self, [q, k, v]: &[Array; 3], rows: i64, keys: i64) -> [Operand; 3] {
        [(q, rows), (k, keys), (v, keys)].map(|(x, rows)| Operand::of_array(self.of(x, rows)))
    }
}

/// The workspace of a block.
struct Memory {
    scores: SmallVec<[Array; 2]>,
    /// The same where the dtype is.
    shares: SmallVec<[Array; 2]>,
}

impl Memory {
    fn of(call: &KernelCall<'_>, blocks: Blocks, count: usize) -> Result<Self> {
        let extents = call.extents();
        let shape = [blocks.heads, extents.group * extents.queries, extents.keys];
        let (own, wide) = (call.q.dtype, computed(call.q.dtype));
        let of = |dtype| -> Result<SmallVec<[Array; 2]>> {
            (0..count).map(|_| call.empty(&shape, dtype)).collect()
        };
        let scores = of(wide)?;
        let shares = if own == wide {
            scores.clone()
        } else {
            of(own)?
        };
        Ok(Self { scores, shares })
    }
}

/// `rows @ columns^T` as sums.
fn scored(call: &KernelCall<'_>, rows: &Operand, columns: &Operand, out: &Array) -> Result<()> {
    // Sums of half precision are float32 in this precision, and the operands are multiplied as they are.
    let product = Matmul {
        precision: Some(precision_of(out.dtype)),
        transpose_b: true,
        out: Some(out),
        ..Matmul::of(rows, columns)
    };
    matmul::on_device(call.ops, &product)?;
    Ok(())
}

/// The precision whose products have results of a dtype.
fn precision_of(dtype: Dtype) -> Precision {
    if dtype == Dtype::F16 {
        Precision::Fp16
    } else if dtype == Dtype::BF16 {
        Precision::Bf16
    } else if dtype == Dtype::F64 {
        Precision::Fp64
    } else {
        Precision::Fp32
    }
}

fn multiply(
    call: &KernelCall<'_>,
    [a, b]: [&Operand; 2],
    transpose_a: bool,
    out: &Array,
) -> Result<()> {
    let product = Matmul {
        precision: Some(precision_of(out.dtype)),
        transpose_a,
        out: Some(out),
        ..Matmul::of(a, b)
    };
    matmul::on_device(call.ops, &product)?;
    Ok(())
}

/// The kernel between the products, for the rows of a block.
fn between(call: &KernelCall<'_>, block: Block, name: &'static str, own: &[&Array]) -> Result<()> {
    let extents = call.extents();
    let form = RowForm::of(extents.keys);
    let key = call
        .key(name)
        .with(form.lanes as u64)
        .with(form.kept as u64);
    let kernel = call.ops.kernel(key, name, || match own.len() {
        2 => call.text.shares(form),
        _ => call.text.share_gradients(form),
    })?;
    let rows = extents.group * extents.queries;
    let count = block.heads * rows;
    let mut args: SmallVec<[Arg<'_>; 32]> = own.iter().map(|one| Arg::Array(one)).collect();
    args.push(Arg::Float(call.scale));
    args.extend([extents.queries, extents.keys, block.first * rows, count].map(Arg::from));
    call.push_mask(&mut args);
    let shape = Shape {
        block: [form.lanes, form.rows(), 1],
        ..Shape::line(count.div_ceil_positive(form.rows()), 1)
    };
    launch(&kernel, shape, &args)
}
