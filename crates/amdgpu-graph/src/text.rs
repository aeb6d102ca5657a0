//! Graphs as text.
//!
//! A line for each node, in the order of computation, and one for the outputs:
//!
//! ```text
//! %0 = input : float32[2, 3]
//! %1 = constant : float32[3]
//! %2 = add(%0, %1) : float32[2, 3]
//! %3 = leaky_relu(%2) {alpha = 0.1} : float32[2, 3]
//! %4 = fused(%2, %3) {multiply(i0, 2.0 float32) float32; add(s0, i1) float32} : float32[2, 3]
//! return %3, %4
//! ```
//!
//! Constants are arrays that are handed to the parser, in order. What stands behind the colon of an operation may be left out: it is inferred.

mod parse;
mod print;

pub use parse::{parse, parse_attributes};
