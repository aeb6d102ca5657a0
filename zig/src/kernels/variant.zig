//! What one kernel is made from. `tools/x/kernel_catalog.py` holds the catalogue, `tools/x/kernel_text.py` writes the variants as the module `variants`.

/// How numbers lie in memory. `bf16` and `tf32` have no type of their own in Zig: they travel as 16 and 32 bits.
pub const Number = enum {
    f64,
    f32,
    /// float32 in memory, of which the matrix units take 19 bits.
    tf32,
    f16,
    bf16,
    i8,
    i32,

    pub fn Stored(comptime number: Number) type {
        return switch (number) {
            .f64 => f64,
            .f32, .tf32 => f32,
            .f16 => f16,
            .bf16 => u16,
            .i8 => i8,
            .i32 => i32,
        };
    }

    /// What sums of products are kept in.
    pub fn Sum(comptime number: Number) type {
        return switch (number) {
            .f64 => f64,
            .i8, .i32 => i32,
            else => f32,
        };
    }
};

pub const Activation = enum { none, relu, gelu, silu };

pub const Epilogue = struct {
    /// Adds `bias[column]` before the activation.
    has_bias: bool = false,
    activation: Activation = .none,
};

/// Which units multiply.
pub const Unit = enum {
    /// Fused multiply-add of the vector units, or the dot products of RDNA 2.
    simt,
    /// mma.sync of sm_80.
    mma,
    /// wgmma of sm_90 fed by TMA (the tensor memory accelerator).
    wgmma,
    /// WMMA of RDNA 3 and 4, MFMA of CDNA.
    wave,
};

pub const Stores = enum {
    /// From each thread's registers.
    direct,
    /// Through shared memory, by threads that write whole lines.
    gathered,
    /// Through shared memory, by TMA, while the threads go on.
    engine,
};

pub const Matmul = struct {
    name: [:0]const u8,
    unit: Unit,
    operand: Number,
    output: Number,
    /// The first operand is stored as (k, m).
    transpose_a: bool = false,
    /// The second operand is stored as (n, k).
    transpose_b: bool = false,
    /// Rows start at multiples of 16 bytes, so that whole vectors are loaded; otherwise one element at a time.
    is_aligned: bool = true,
    tile_m: u32,
    tile_n: u32,
    tile_k: u32,
    /// Of a wave or warp; for `simt` of a thread.
    part_m: u32,
    part_n: u32,
    /// Of k that an instruction of float64 takes, 4 or 8; 0 for all other formats.
    depth: u32 = 0,
    /// Tiles in flight between global and shared memory.
    stages: u32 = 2,
    /// Blocks of a cluster that share the second operand (sm_90).
    cluster: u32 = 1,
    /// Rows of tiles that are numbered together (tile_order.zig).
    strip: u32 = 16,
    /// How results of wgmma go out.
    stores: Stores = .direct,
    threads: u32,
    epilogue: Epilogue = .{},
};

pub const Transpose = struct {
    name: [:0]const u8,
    item_bytes: u32,
    /// Rows and columns of a block's tile.
    tile: u32,
    threads: u32,
};

/// Attention of float16 and bfloat16 by wgmma, and its gradients.
pub const Attention = struct {
    name: [:0]const u8,
    number: Number,
    /// Elements of a query, filled up with zeros to a multiple of 64.
    size: u32,
    /// Keys of a step; queries of one for the gradients by keys and values.
    tile: u32,
    /// Steps in flight between global and shared memory.
    stages: u32,
    /// Warp groups take turns: while one multiplies the other one computes powers.
    alternates: bool,
    threads: u32,
};

/// Matrix-vector products (GEMV).
pub const Vector = struct {
    name: [:0]const u8,
    number: Number,
    output: Number,
    /// Which dimension of the matrix is contiguous: the inner one, or that of the result.
    along: enum { k, outer },
    /// Whether rows of the matrix, and the vector, start at multiples of 16 bytes.
    alignment: enum { aligned, any },
    threads: u32,
};

/// Split-K: sums of partial results.
pub const Parts = struct {
    name: [:0]const u8,
    /// Of the parts and their sums.
    number: Number,
    output: Number,
    threads: u32,
};

/// Copies of matrices to rows that start at multiples of 16 bytes.
pub const Pad = struct {
    name: [:0]const u8,
    item_bytes: u32,
    threads: u32,
};
