//! The text of tiled matrix multiplications whose operands are expressions: matrix products of anything, convolutions and their gradients.
//!
//! A block of 16 x 16 work-items computes 64 x 64 results, 4 x 4 each, from tiles of both operands in shared memory. Products are added in
//! the order of the inner dimension with one rounding each, so the bits are the same on every kind of device.

use super::source::BLOCK;

/// Rows and columns of the results of a block.
pub const TILE: i64 = 64;
/// Of the inner dimension, what a block holds in shared memory at a time.
const DEPTH: i64 = 16;
/// Rows and columns of the results of a work-item.
const OWN: i64 = 4;
const SIDE: i64 = TILE / OWN;

/// The pieces of a kernel. Expressions see `row`, `column`, `inner`, `batch` and the parameters; they are never evaluated beyond the extents.
#[derive(Clone, Debug)]
pub struct Tiled {
    /// Types, S of the sums among them, and functions.
    pub head: String,
    /// Parameters of the kernel, each with a comma before it.
    pub parameters: String,
    /// Statements at the start.
    pub setup: String,
    /// The value of the left operand at (row, inner).
    pub left: String,
    /// The value of the right operand at (inner, column).
    pub right: String,
    /// Statements that take `value`, the sum at (row, column).
    pub store: String,
    /// Neighbours in memory of the left operand are neighbours along the inner dimension.
    pub is_left_inner: bool,
    /// The same of the right operand.
    pub is_right_inner: bool,
}

impl Tiled {
    /// The kernel `tiled`.
    #[must_use]
    #[allow(
        clippy::too_many_lines,
        reason = "the text of one kernel, read from top to bottom"
    )]
    pub fn source(&self) -> String {
        let Self {
            head,
            parameters,
            setup,
            left,
            right,
            store,
            is_left_inner,
            is_right_inner,
        } = self;
        let (left_line, left_place) = line_and_place(*is_left_inner);
        let (right_line, right_place) = line_and_place(*is_right_inner);
        format!(
            "{head}
typedef unsigned long long Index;
extern \"C\" __global__ void tiled(Index rows, Index columns, Index depth, Index part_depth, Index tiles_across,
                                 Index batch_offset{parameters}) {{
    // One more place a line, so that writing columns of a tile meets different banks.
    __shared__ S lefts[{DEPTH}][{TILE} + 1];
    __shared__ S rights[{DEPTH}][{TILE} + 1];
    const Index batch = batch_offset + blockIdx.y;
    const Index first_row = blockIdx.x / tiles_across * {TILE}, first_column = blockIdx.x % tiles_across * {TILE};
    const Index begin = (Index)blockIdx.z * part_depth;
    const Index end = begin + part_depth < depth ? begin + part_depth : depth;
    const unsigned me = threadIdx.x, across = me % {SIDE}, down = me / {SIDE};
{setup}    S sums[{OWN}][{OWN}];
    for (int i = 0; i < {OWN}; i++)
        for (int j = 0; j < {OWN}; j++) sums[i][j] = 0;
    for (Index base = begin; base < end; base += {DEPTH}) {{
        for (unsigned i = me; i < {elements}; i += {BLOCK}) {{
            const unsigned line = {left_line}, place = {left_place};
            const Index row = first_row + line, inner = base + place;
            lefts[place][line] = row < rows && inner < end ? (S)({left}) : (S)0;
        }}
        for (unsigned i = me; i < {elements}; i += {BLOCK}) {{
            const unsigned line = {right_line}, place = {right_place};
            const Index column = first_column + line, inner = base + place;
            rights[place][line] = column < columns && inner < end ? (S)({right}) : (S)0;
        }}
        __syncthreads();
        for (int k = 0; k < {DEPTH}; k++) {{
            S left[{OWN}], right[{OWN}];
            #pragma unroll
            for (int i = 0; i < {OWN}; i++) left[i] = lefts[k][down + {SIDE} * i];
            #pragma unroll
            for (int j = 0; j < {OWN}; j++) right[j] = rights[k][across + {SIDE} * j];
            #pragma unroll
            for (int i = 0; i < {OWN}; i++)
                #pragma unroll
                for (int j = 0; j < {OWN}; j++) sums[i][j] = left[i] * right[j] + sums[i][j];
        }}
        __syncthreads();
    }}
    for (int i = 0; i < {OWN}; i++) {{
        for (int j = 0; j < {OWN}; j++) {{
            const Index row = first_row + down + {SIDE} * i, column = first_column + across + {SIDE} * j;
            if (row < rows && column < columns) {{
                const S value = sums[i][j];
                {store}
            }}
        }}
    }}
}}
",
            elements = TILE * DEPTH,
        )
    }
}

/// Which line of a tile a work-item loads, and where along the inner dimension.
fn line_and_place(is_inner: bool) -> (String, String) {
    if is_inner {
        (format!("i / {DEPTH}"), format!("i % {DEPTH}"))
    } else {
        (format!("i % {TILE}"), format!("i / {TILE}"))
    }
}
