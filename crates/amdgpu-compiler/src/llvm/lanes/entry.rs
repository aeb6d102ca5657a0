//! The loop over the vectors of a row of work-items.

use std::fmt::Write;

use super::super::Emitter;

impl Emitter<'_> {
    /// The lanes of a vector that exist, as `%PREFIX.lanes`: those before the end of the row.
    pub(in crate::llvm) fn lanes_of_row(lanes: u32, prefix: &str, x: &str, text: &mut String) {
        let mut numbers = String::new();
        for lane in 0..lanes {
            let comma = if lane == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(numbers, "{comma}i32 {lane}");
        }
        let _ = write!(
            text,
            "  %{prefix}.left = sub nuw i32 %block_size.x, {x}
  %{prefix}.left.one = insertelement <{lanes} x i32> poison, i32 %{prefix}.left, i64 0
  %{prefix}.left.all = shufflevector <{lanes} x i32> %{prefix}.left.one, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer
  %{prefix}.lanes = icmp ult <{lanes} x i32> <{numbers}>, %{prefix}.left.all
"
        );
    }
}
