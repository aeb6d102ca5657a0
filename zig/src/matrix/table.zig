//! What the driver knows of an instruction set: the shape of its register tile and its compiled routines.
//!
//! Orientation, here and everywhere below the driver: `out[rows, columns] = left[rows, depth] @ right[depth, columns]`, where `out` has
//! consecutive rows next to each other in memory, as in Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
//! A row-major product is computed as its transpose.

const activation = @import("activation.zig");
const narrow = @import("narrow.zig");
const Numbers = @import("numbers.zig").Numbers;

/// The register tile: `vectors` SIMD vectors of `lanes` elements down the rows, times `columns`.
pub const Shape = struct {
    lanes: comptime_int,
    vectors: comptime_int,
    columns: comptime_int,

    /// Half a vector, for the last few rows; a vector of two elements or fewer is not halved.
    pub fn halfLanes(comptime shape: Shape) comptime_int {
        return if (shape.lanes > 2) shape.lanes / 2 else shape.lanes;
    }

    pub fn tileRows(comptime shape: Shape) comptime_int {
        return shape.lanes * shape.vectors;
    }
};

/// One of the tiles compiled for a shape.
pub const TileSize = struct { lanes: comptime_int, vectors: comptime_int, columns: comptime_int };

/// A matrix addressed by two strides, counted in elements.
pub fn View(comptime T: type) type {
    return struct {
        ptr: [*]const T,
        /// Step along rows (left, out) or columns (right): the dimension that panels are cut from.
        across: isize,
        /// Step along the depth (left, right) or columns (out).
        along: isize,
    };
}

/// One register tile of `out`.
pub fn Tile(comptime numbers: Numbers) type {
    return struct {
        depth: usize,
        left: [*]const numbers.Word(),
        left_step: isize,
        right: [*]const numbers.Word(),
        right_step: isize,
        right_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Asked for on the way, a piece with each turn of the loop over packed panels.
        ahead: [*]const numbers.Source = undefined,
        ahead_step: isize = 0,
    };
}

/// Adjacent lines that are packed next, over `depth`: memory is asked for them while tiles are computed.
pub fn Ahead(comptime numbers: Numbers) type {
    return struct { ptr: [*]const numbers.Source, lines: usize, along: isize, depth: usize };
}

/// Loops 2 and 1 of the paper: packed panels times packed panels.
pub fn Block(comptime numbers: Numbers) type {
    return struct {
        depth: usize,
        rows: usize,
        columns: usize,
        left: [*]const numbers.Word(),
        left_panel: usize,
        right: [*]const numbers.Word(),
        right_panel: usize,
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

/// A bfloat16 matrix that gets sums as they are, rounded; `out` is not written then.
pub const Rounded = struct { ptr: [*]u16, column: isize };

/// A right panel as long as the one at work, to be packed while that is multiplied. Its lines are all there, adjacent along the depth, and
/// whole tile registers; elements are those of the panel.
pub fn Next(comptime numbers: Numbers) type {
    return struct { source: [*]const numbers.Source, across: isize, target: [*]numbers.Word() };
}

/// Sums that stand in memory of their own from one block of the depth to the next, in an order that the routine chooses. Only tile registers use it.
pub fn Between(comptime numbers: Numbers) type {
    return struct {
        /// For whole tiles.
        sums: [*]numbers.Sum,
        /// Sums begin with zero.
        is_first: bool,
        /// Sums go to `out`.
        is_last: bool,
    };
}

/// A product small or thin enough to skip packing. Rows of `left` and `out` are adjacent, there are at least `half_lanes` of them, and
/// `out` is overwritten.
pub fn Direct(comptime numbers: Numbers) type {
    return struct {
        depth: usize,
        rows: usize,
        columns: usize,
        left: [*]const numbers.Source,
        left_step: isize,
        right: [*]const numbers.Source,
        right_step: isize,
        right_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
    };
}

/// A product of few columns whose operands are both adjacent along the depth: one dot product for each element of `out`.
pub fn Dots(comptime numbers: Numbers) type {
    return struct {
        depth: usize,
        rows: usize,
        columns: usize,
        left: [*]const numbers.Source,
        left_row: isize,
        right: [*]const numbers.Source,
        right_column: isize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
    };
}

/// A product of few columns, summed column of `left` by column of `left`. Rows of `left` are adjacent.
pub fn Combine(comptime numbers: Numbers) type {
    return struct {
        depth: usize,
        rows: usize,
        columns: usize,
        left: [*]const numbers.Source,
        left_step: isize,
        right: [*]const numbers.Source,
        right_step: isize,
        right_column: isize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// `left` comes from memory: it is asked for ahead.
        is_far: bool,
    };
}

/// Products of at most `small.max_rows` rows, read in place, one after the other: rows of `left` and `out` are adjacent, and `out` is overwritten.
pub fn Small(comptime numbers: Numbers) type {
    return struct {
        count: usize,
        depth: usize,
        rows: usize,
        columns: usize,
        left: [*]const numbers.Source,
        left_step: isize,
        right: [*]const numbers.Source,
        right_step: isize,
        right_column: isize,
        out: [*]numbers.Sum,
        out_column: isize,
        alpha: numbers.Sum,
        /// From one product to the next.
        left_next: isize = 0,
        right_next: isize = 0,
        out_next: isize = 0,
    };
}

/// One panel to be packed: `width` lines out of a view, over `depth`.
pub fn Panel(comptime numbers: Numbers) type {
    return struct {
        source: View(numbers.Source),
        width: usize,
        depth: usize,
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
        pack_left: *const fn (*const Panel(numbers)) void,
        pack_right: *const fn (*const Panel(numbers)) void,
        narrow: if (!numbers.isPlain() and numbers.Sum == f32) *const fn (*const narrow.Run) void else void,
        activate: if (numbers.isPlain() and numbers.Sum == f32) *const fn (*const activation.Run) void else void,
    };
}
