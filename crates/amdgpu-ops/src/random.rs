//! Random numbers: Philox4x32-10 (Salmon et al., SC 2011), whose numbers are functions of their places.
//!
//! Contract
//! - A [`Stream`] is a key, a position in words and a number of jumps. Element `i` of a draw is made of words at its place behind the position,
//!   so that the numbers depend neither on the device nor on threads, nor on how a draw is split: drawing 3 and then 7 numbers gives what
//!   drawing 10 does.
//! - The CPU computes with Zig (`zig/src/random`), other devices with generated kernels ([`crate::generated::random`]) that include
//!   `amdgpu_philox.h`; the bits are the same.
//! - A [`Generator`] owns a stream and hands out parts of it; any thread may draw.
//! - Parameters are checked here. Those that are arrays are looked at, which waits for them.

mod draw;
mod generator;
mod integer_range;
mod layouts;
mod parameters;
mod seed_sequence;
mod selection;
mod stream;

pub use draw::{Draw, draw, dropout};
pub use generator::{Generator, State};
pub use layouts::{
    InterleavedLayout, interleaved_bits, tensorflow_bits, tensorflow_normal, tensorflow_stateless,
};
pub use seed_sequence::SeedSequence;
pub use selection::{Choice, choice, permutation};
pub use stream::Stream;
