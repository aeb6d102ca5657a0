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
//! %5 = top_k(%4) {k = 1, axis = -1} : float32[2, 1]
//! %6 = result(%5) {index = 1} : int64[2, 1]
//! return %3, %6
//! ```
//!
//! The node of an operation with several results is the first; `result` names the others.
//!
//! Constants are arrays that are handed to the parser, in order. What stands behind the colon of an operation may be left out: it is inferred.

mod parse;
mod print;

pub use parse::{parse, parse_attributes, parse_steps};
