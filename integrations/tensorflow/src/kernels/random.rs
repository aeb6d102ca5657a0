//! Random numbers in TensorFlow's own sequences.

use crate::registry::Row;

pub const ROWS: &[Row] = &[];
