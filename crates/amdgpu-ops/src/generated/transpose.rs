//! The text of transposes: tiles of shared memory where rows become columns.

use super::source;

/// Extent of a tile along both axes.
pub const TILE: i64 = 32;
/// Rows of a tile that a block moves at once.
pub const TILE_ROWS: i64 = 8;

/// The type that elements of so many bytes are moved as; nothing is computed with them.
#[must_use]
pub fn word(item_bytes: usize) -> &'static str {
    match item_bytes {
        1 => "unsigned char",
        2 => "unsigned short",
        4 => "unsigned",
        _ => "unsigned long long",
    }
}

/// The kernel for elements of so many bytes: a tile is read along `near`, the axis whose neighbours are adjacent in x, and written along the
/// last one. `rank` is that of the other axes; a dense x comes as a pointer, another one as its address.
#[must_use]
pub fn transpose_source(item_bytes: usize, rank: usize, is_dense: bool) -> String {
    let (parameter, memory) = if is_dense {
        ("const void* x_memory", "x_memory")
    } else {
        ("unsigned long long x_address", "x_address")
    };
    format!(
        r#"
typedef {word} T;
extern "C" __global__ void transpose({parameter}, void* out_memory, unsigned long long near, unsigned long long last,
                                     unsigned long long wide, unsigned long long tall, long long last_stride,
                                     long long near_stride{walk_parameters}) {{
    // One more column, so that columns lie in different banks.
    __shared__ T tile[{TILE}][{TILE} + 1];
    const T* x = (const T*){memory};
    T* out = (T*)out_memory;
    const unsigned long long block = blockIdx.x;
    const unsigned long long column = block % wide * {TILE}, row = block / wide % tall * {TILE};
    const unsigned long long other = block / (wide * tall);
    long long from = 0, to = 0;
{walk}    for (unsigned y = threadIdx.y; y < {TILE}; y += {TILE_ROWS})
        if (column + threadIdx.x < near && row + y < last)
            tile[y][threadIdx.x] = x[from + (long long)(row + y) * last_stride + (long long)(column + threadIdx.x)];
    __syncthreads();
    for (unsigned y = threadIdx.y; y < {TILE}; y += {TILE_ROWS})
        if (column + y < near && row + threadIdx.x < last)
            out[to + (long long)(column + y) * near_stride + (long long)(row + threadIdx.x)] = tile[threadIdx.x][y];
}}
"#,
        word = word(item_bytes),
        walk_parameters = source::walk_parameters("d", rank, 2),
        walk = source::walk("d", rank, &["from", "to"], "other", "unsigned long long"),
    )
}
