//! What the driver knows about an instruction set: the shape of its register tile and its compiled routines.
//!
//! Orientation, here and everywhere below the driver: `out[m, n] = a[m, k] @ b[k, n]`, where `out` has
//! consecutive rows next to each other in memory, as in Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
//! A row-major matmul is computed as its transpose.

const activation = @import("../simd/activation.zig");
const narrow = @import("narrow.zig");
const Numbers = @import("numbers.zig").Numbers;

/// The register tile: `vectors` SIMD vectors of `lanes` elements down the rows, times `columns`.
pub const Shape = struct {
    lanes: comptime_int,
    vectors: comptime_int,
    columns: comptime_int,

    /// Lanes of half a vector, used for the last few rows. A vector of two elements or fewer is not halved.
    pub fn halfLanes(comptime shape: Shape) comptime_int {
        return if (shape.lanes > 2) shape.lanes / 2 else shape.lanes;
    }

    pub fn tileRows(comptime shape: Shape) comptime_int {
        return shape.lanes * shape.vectors;
    }
};

/// The size of one of the tiles that are compiled for a shape.
pub const TileSize = struct { lanes: comptime_int, vectors: comptime_int, columns: comptime_int };

/// A matrix addressed by two strides, counted in elements.
pub fn View(comptime T: type) type {
    return struct {
        ptr: [*]const T,
        /// Step along rows (a, out) or columns (b): the dimension that panels are cut from.
        across: isize,
        /// Step along k (a, b) or columns (out).
        along: isize,
    };
}

/// One register tile of `out`.
pub fn Tile(comptime numbers: Numbers) type {
    return struct {
        k: usize,
        a: [*]const numbers.Word(),
        a_step: isize,
        b: [*]const numbers.Word(),
        b_step: isize,
        b_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Memory to prefetch meanwhile, one piece with each iteration of the loop over packed panels.
        ahead: [*]const numbers.Source = undefined,
        ahead_step: isize = 0,
    };
}

/// Adjacent lines that are packed next, over `k`: memory is asked for them while tiles are computed.
pub fn Ahead(comptime numbers: Numbers) type {
    return struct { ptr: [*]const numbers.Source, lines: usize, along: isize, k: usize };
}

/// Loops 2 and 1 of the paper: packed panels times packed panels.
pub fn Block(comptime numbers: Numbers) type {
    return struct {
        k: usize,
        m: usize,
        n: usize,
        a: [*]const numbers.Word(),
        a_panel: usize,
        b: [*]const numbers.Word(),
        b_panel: usize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        ahead: ?Ahead(numbers) = null,
        between: ?Between(numbers) = null,
        rounded: ?Rounded = null,
        next: ?Next(numbers) = null,
    };
}

/// A bfloat16 matrix that receives the rounded sums; `out` is not written then.
pub const Rounded = struct { ptr: [*]u16, column: isize };

/// A panel of `b` as long as the one at work, to be packed while that is multiplied. Its lines are all there, adjacent along k, and
/// whole tile registers; elements are those of the panel.
pub fn Next(comptime numbers: Numbers) type {
    return struct { source: [*]const numbers.Source, across: isize, target: [*]numbers.Word() };
}

/// A buffer for the sums between two blocks of k, in an order that the routine chooses. Only routines with tile registers use it.
pub fn Between(comptime numbers: Numbers) type {
    return struct {
        /// The buffer has room for whole tiles.
        sums: [*]numbers.Sum,
        /// Whether the sums start from zero.
        is_first: bool,
        /// Whether the sums are written to `out`.
        is_last: bool,
    };
}

/// A matmul small or skinny enough to skip packing. Rows of `a` and `out` are adjacent, there are at least `half_lanes` of them, and
/// `out` is overwritten.
pub fn Direct(comptime numbers: Numbers) type {
    return struct {
        k: usize,
        m: usize,
        n: usize,
        a: [*]const numbers.Source,
        a_step: isize,
        b: [*]const numbers.Source,
        b_step: isize,
        b_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
    };
}

/// A matmul of few columns whose operands are both adjacent along k: one dot product for each element of `out`.
pub fn Dots(comptime numbers: Numbers) type {
    return struct {
        k: usize,
        m: usize,
        n: usize,
        a: [*]const numbers.Source,
        a_row: isize,
        b: [*]const numbers.Source,
        b_column: isize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
    };
}

/// A matmul of few columns that adds up the columns of `a`, each times a factor. Rows of `a` are adjacent.
pub fn Combine(comptime numbers: Numbers) type {
    return struct {
        k: usize,
        m: usize,
        n: usize,
        a: [*]const numbers.Source,
        a_step: isize,
        b: [*]const numbers.Source,
        b_step: isize,
        b_column: isize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Whether `a` is too far away for the caches, so that it must be prefetched.
        is_far: bool,
    };
}

/// Matmuls of at most `small.max_rows` rows, read in place, one after the other: rows of `a` and `out` are adjacent, and `out` is overwritten.
pub fn Small(comptime numbers: Numbers) type {
    return struct {
        count: usize,
        k: usize,
        m: usize,
        n: usize,
        a: [*]const numbers.Source,
        a_step: isize,
        b: [*]const numbers.Source,
        b_step: isize,
        b_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
        /// Distances from one matmul to the next, in elements.
        a_next: isize = 0,
        b_next: isize = 0,
        out_next: isize = 0,
    };
}

/// One panel to be packed: `width` lines out of a view, over `k`.
pub fn Panel(comptime numbers: Numbers) type {
    return struct {
        source: View(numbers.Source),
        width: usize,
        k: usize,
        target: [*]numbers.Word(),
    };
}

pub fn Table(comptime numbers: Numbers) type {
    return struct {
        name: []const u8,
        lanes: usize,
        half_lanes: usize,
        tile_rows: usize,
        tile_columns: usize,
        block: *const fn (*const Block(numbers)) void,
        direct: if (numbers.isPlain()) *const fn (*const Direct(numbers)) void else void,
        dots: if (numbers.isPlain()) *const fn (*const Dots(numbers)) void else void,
        combine: if (numbers.isPlain()) *const fn (*const Combine(numbers)) void else void,
        small: if (numbers.isPlain()) *const fn (*const Small(numbers)) void else void,
        pack_a: *const fn (*const Panel(numbers)) void,
        pack_b: *const fn (*const Panel(numbers)) void,
        narrow: if (!numbers.isPlain() and numbers.Sum == f32) *const fn (*const narrow.Run) void else void,
        activate: if (numbers.isPlain() and numbers.Sum == f32) *const fn (*const activation.Run) void else void,
    };
}
