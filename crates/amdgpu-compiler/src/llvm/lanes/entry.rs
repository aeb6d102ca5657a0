//! The loop over the vectors of a row of work-items.

use std::fmt::Write;

use super::super::Emitter;

impl Emitter<'_> {
    /// The lanes of a vector that exist, as `%PREFIX.active`: those from `at` that are before `end`.
    pub(in crate::llvm) fn active_lanes(
        lanes: u32,
        prefix: &str,
        [at, end]: [&str; 2],
        text: &mut String,
    ) {
        let mut numbers = String::new();
        for lane in 0..lanes {
            let comma = if lane == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(numbers, "{comma}i32 {lane}");
        }
        let _ = write!(
            text,
            "  %{prefix}.space = sub nuw i32 {end}, {at}
  %{prefix}.space.one = insertelement <{lanes} x i32> poison, i32 %{prefix}.space, i64 0
  %{prefix}.space.all = shufflevector <{lanes} x i32> %{prefix}.space.one, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer
  %{prefix}.active = icmp ult <{lanes} x i32> <{numbers}>, %{prefix}.space.all
"
        );
    }
}
