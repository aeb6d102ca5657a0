//! The routines that sort words of a type with vectors, which are an object of their own.

pub fn Table(comptime W: type) type {
    return struct {
        /// Puts words in ascending order; equal ones are not told apart.
        sort: *const fn ([*]W, usize) void,
        /// Words of the bits of floats, as sort_order.zig makes them with the zeros apart: `target[i]` of `source[i]`, which may be the same memory.
        /// Whether there is a negative zero.
        of_floats: *const fn (source: [*]const W, target: [*]W, len: usize, flip: W) bool,
        /// The bits of floats of words, in place.
        to_floats: *const fn (words: [*]W, len: usize, flip: W) void,
        /// `target[i] = source[i] ^ mask`, which may be the same memory.
        flip: *const fn (source: [*]const W, target: [*]W, len: usize, mask: W) void,
    };
}
