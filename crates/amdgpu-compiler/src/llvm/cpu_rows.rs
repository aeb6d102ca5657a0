//! How a row of work-items runs a region as vectors. Masks cost little but for one thing: what a masked store wrote, a load
//! behind it waits for. That counts where a region is small and runs again and again, as the steps of a reduction or a scan do.

use std::fmt::Write;

use super::cpu_regions::element_addresses;
use super::lanes::{lane_name, narrower_lanes, narrower_name};
use super::{Emitter, names};
use crate::ir::{AddressSpace, Function, Op, Terminator, Type};
use crate::regions::{Exit, HostKernel, Region};

/// Instructions of a region that is written out more than once; twice as many took longer to compile and ran no faster.
const MOST_INSTRUCTIONS: usize = 24;
/// Blocks of a region that is written out for several numbers of lanes.
const MOST_BLOCKS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rows {
    /// Vectors with masks.
    Masked,
    /// Whole vectors without masks, and one with a mask.
    WholeAndMasked,
    /// Whole vectors, then narrower ones, then work-items one by one: for rows that become shorter and shorter.
    WholeAndNarrower,
    /// The row has one work-item.
    OneByOne,
}

/// A vector of a row.
pub(super) struct Item<'a> {
    pub lanes: u32,
    /// Prefix of the names of the region.
    pub r: &'a str,
    /// How many work-items the row has.
    pub count: &'a str,
    /// Arguments of the region's function.
    pub list: &'a str,
}

/// Whether a function writes to the shared memory of its block.
fn leaves_values(function: &Function) -> bool {
    let shared = Type::Pointer(AddressSpace::Shared);
    let values = function.blocks.iter().flat_map(|block| &block.instructions);
    values.into_iter().any(|value| {
        matches!(function.op(*value), Op::Store { pointer, .. } if function.ty(*pointer) == shared)
    })
}

impl Emitter<'_> {
    pub(super) fn rows(&self, kernel: &HostKernel, region: &Region) -> Rows {
        // Where work-items part, vectors of any of them need masks anyhow.
        if region.bound.is_some_and(|bound| bound.is_one) && !kernel.parts() {
            return Rows::OneByOne;
        }
        let function = &self.module.functions[region.function];
        let is_plain = |op: &Op| !matches!(op, Op::Call { .. } | Op::Slot { .. });
        if !(region.is_repeated || leaves_values(function))
            || !matches!(region.exit, Exit::One(_))
            || function.instruction_count() > MOST_INSTRUCTIONS
            || !function.values.iter().all(|value| is_plain(&value.op))
        {
            return Rows::Masked;
        }
        let blocks = function.blocks.iter();
        let is_used = |terminator: &Terminator| *terminator != Terminator::Unreachable;
        let blocks = blocks.filter(|block| is_used(&block.terminator)).count();
        if region.bound.is_some_and(|bound| bound.is_given) && blocks <= MOST_BLOCKS {
            Rows::WholeAndNarrower
        } else {
            Rows::WholeAndMasked
        }
    }

    /// Runs one vector, or what is left of the row.
    pub(super) fn vector(
        &mut self,
        kernel: &HostKernel,
        region: &Region,
        item: &Item<'_>,
        text: &mut String,
    ) {
        let function = &self.module.functions[region.function];
        let name = lane_name(function);
        let Item {
            lanes,
            r,
            count,
            list,
        } = *item;
        let (vector, mask) = (format!("<{lanes} x i32>"), format!("<{lanes} x i1>"));
        let x = format!("%{r}.x");
        let rows = self.rows(kernel, region);
        if rows == Rows::Masked {
            Self::active_lanes(lanes, r, [&x, count], text);
            let _ = writeln!(
                text,
                "  %{r}.all = call {vector} @{name}({list}, {mask} %{r}.active)
  %{r}.next = extractelement {vector} %{r}.all, i64 0"
            );
            return;
        }
        let _ = writeln!(
            text,
            "  %{r}.rest = sub nuw i32 {count}, {x}
  %{r}.is.whole = icmp uge i32 %{r}.rest, {lanes}
  br i1 %{r}.is.whole, label %{r}.whole, label %{r}.part
{r}.whole:
  %{r}.whole.next = call {vector} @{name}({list}, {mask} splat (i1 true))
  br label %{r}.both
{r}.part:"
        );
        if rows == Rows::WholeAndNarrower {
            self.narrower(kernel, region, item, text);
        } else {
            Self::active_lanes(lanes, r, [&x, count], text);
            let _ = writeln!(
                text,
                "  %{r}.part.next = call {vector} @{name}({list}, {mask} %{r}.active)
  br label %{r}.both"
            );
        }
        let _ = writeln!(text, "{r}.both:");
    }

    /// Runs a part of a vector, from the widest vector that it has room for to single work-items.
    fn narrower(
        &mut self,
        kernel: &HostKernel,
        region: &Region,
        item: &Item<'_>,
        text: &mut String,
    ) {
        let Item {
            lanes,
            r,
            count,
            list,
        } = *item;
        let function = &self.module.functions[region.function];
        let (element, index) = (format!("ptr %{r}.c"), format!("i32 %{r}.x"));
        let arguments = |prefix: &str| {
            let renamed = list.split(", ").map(|argument| {
                if let Some(number) = argument.strip_prefix(&element) {
                    format!("ptr %{prefix}.c{number}")
                } else if argument == index {
                    format!("i32 %{prefix}.x")
                } else {
                    argument.to_owned()
                }
            });
            renamed.collect::<Vec<String>>().join(", ")
        };
        let place = |prefix: &str, text: &mut String| {
            let _ = writeln!(
                text,
                "  %{prefix}.x64 = zext nneg i32 %{prefix}.x to i64
  %{prefix}.i = add nuw nsw i64 %{r}.first, %{prefix}.x64"
            );
            element_addresses(kernel, &region.given, prefix, text);
        };
        let mut done = 0;
        for lanes in narrower_lanes(lanes) {
            let n = format!("{r}.n{lanes}");
            let _ = writeln!(
                text,
                "  %{n}.bit = and i32 %{r}.rest, {lanes}
  %{n}.is = icmp ne i32 %{n}.bit, 0
  br i1 %{n}.is, label %{n}, label %{n}.end
{n}:
  %{n}.done = and i32 %{r}.rest, {done}
  %{n}.x = add nuw nsw i32 %{r}.x, %{n}.done"
            );
            place(&n, text);
            let _ = writeln!(
                text,
                "  %{n}.next = call <{lanes} x i32> @{}({}, <{lanes} x i1> splat (i1 true))
  br label %{n}.end
{n}.end:",
                narrower_name(function, lanes),
                arguments(&n)
            );
            done += lanes;
        }
        let o = format!("{r}.o");
        let _ = writeln!(
            text,
            "  %{o}.done = and i32 %{r}.rest, {done}
  %{o}.start = add nuw nsw i32 %{r}.x, %{o}.done
  %{o}.some = icmp ult i32 %{o}.start, {count}
  br i1 %{o}.some, label %{o}.enter, label %{r}.both
{o}.enter:
  br label %{o}
{o}:
  %{o}.x = phi i32 [ %{o}.start, %{o}.enter ], [ %{o}.x.next, %{o} ]"
        );
        place(&o, text);
        let _ = writeln!(
            text,
            "  %{o}.next = call i32 @{}({})
  %{o}.x.next = add nuw nsw i32 %{o}.x, 1
  %{o}.more = icmp ult i32 %{o}.x.next, {count}
  br i1 %{o}.more, label %{o}, label %{r}.both",
            names::quoted(&function.name),
            arguments(&o)
        );
    }
}
