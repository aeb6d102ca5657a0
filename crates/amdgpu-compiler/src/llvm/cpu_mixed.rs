//! Work-items of a block that have different regions before them, because some have returned or wait at another barrier: the state
//! of each says what it runs next. A vector runs every region that one of its lanes has before it, or each work-item its own, until
//! all agree again.
//!
//! What stands behind a decision belongs to the iteration of what stands before it, so that an iteration has two halves.

use std::fmt::Write;
use std::ops::Range;

use super::cpu_regions::{ITEM, LOOPS_AFTER, LOOPS_BEFORE, element_addresses, switch};
use super::lanes::lane_name;
use super::{Emitter, names};
use crate::regions::HostKernel;

impl Emitter<'_> {
    /// Two halves of an iteration, and then whether all work-items agree.
    pub(super) fn mixed(
        &mut self,
        kernel: &HostKernel,
        arguments: &[String],
        lanes: Option<u32>,
        text: &mut String,
    ) {
        text.push_str("mixed:\n  br label %m.begin\n");
        let (branch, end) = (kernel.first_uniform_branch(), kernel.returned());
        let mut halves = vec![("m", 0..branch, "resolve")];
        if branch < end {
            halves = vec![("m", 0..branch, "n.begin"), ("n", branch..end, "resolve")];
        }
        for (half, numbers, next) in halves {
            match lanes {
                Some(lanes) => self.mixed_lanes(kernel, arguments, lanes, half, numbers, text),
                None => self.mixed_items(kernel, arguments, half, numbers, text),
            }
            let _ = writeln!(text, "  br label %{next}");
        }
        let resolve = match lanes {
            Some(lanes) => {
                self.declare_masked_states(lanes);
                for name in ["umin", "umax"] {
                    self.declarations.insert(format!(
                        "declare i32 @llvm.vector.reduce.{name}.v{lanes}i32(<{lanes} x i32>) #1"
                    ));
                    self.declarations.insert(format!(
                        "declare <{lanes} x i32> @llvm.{name}.v{lanes}i32(<{lanes} x i32>, <{lanes} x i32>) #1"
                    ));
                }
                let mut numbers = String::new();
                for lane in 0..lanes {
                    let comma = if lane == 0 { "" } else { ", " };
                    let _ = write!(numbers, "{comma}i64 {lane}");
                }
                RESOLVE_LANES
                    .replace("NUMBERS", &numbers)
                    .replace("LANES", &lanes.to_string())
            }
            None => RESOLVE.to_owned(),
        };
        let all: Vec<u32> = (0..end).collect();
        let _ = writeln!(
            text,
            "{resolve}  br i1 %v.same, label %resolved, label %mixed\nresolved:\n  {}",
            switch(kernel, "%v.lowest", &all, "block.end")
        );
    }

    fn declare_masked_states(&mut self, lanes: u32) {
        let (vector, mask) = (format!("<{lanes} x i32>"), format!("<{lanes} x i1>"));
        self.declarations.insert(format!(
            "declare {vector} @llvm.masked.load.v{lanes}i32.p0(ptr, {mask}, {vector})"
        ));
        self.declarations.insert(format!(
            "declare void @llvm.masked.store.v{lanes}i32.p0({vector}, ptr, {mask})"
        ));
    }

    /// Vectors one after the other, each in all the regions that its lanes have before them.
    fn mixed_lanes(
        &mut self,
        kernel: &HostKernel,
        arguments: &[String],
        lanes: u32,
        half: &str,
        numbers: Range<u32>,
        text: &mut String,
    ) {
        let vector = format!("<{lanes} x i32>");
        let mask = format!("<{lanes} x i1>");
        self.declare_masked_states(lanes);
        let all = kernel.all();
        let _ = writeln!(text, "{half}.begin:");
        self.load_uniforms(kernel, &all, half, "u", text);
        text.push_str(&LOOPS_BEFORE.replace('@', half));
        let _ = writeln!(text, "  br label %{half}.item");
        text.push_str(&ITEM.replace('@', half));
        element_addresses(kernel, &all, half, text);
        let row = [format!("%{half}.x"), "%block_size.x".to_owned()];
        Self::active_lanes(lanes, half, [&row[0], &row[1]], text);
        let _ = writeln!(
            text,
            "  %{half}.s = getelementptr inbounds i32, ptr %states, i64 %{half}.i
  %{half}.states = call {vector} @llvm.masked.load.v{lanes}i32.p0(ptr align 4 %{half}.s, {mask} %{half}.active, {vector} splat (i32 -1))
  br label %{half}.r{}.test",
            numbers.start
        );
        for number in numbers.clone() {
            let region = &kernel.regions[number as usize];
            let list = self.region_arguments(kernel, region, arguments, half, "u");
            let next = if number + 1 == numbers.end {
                format!("{half}.last")
            } else {
                format!("{half}.r{}.test", number + 1)
            };
            let r = format!("{half}.r{number}");
            let function = &self.module.functions[region.function];
            let _ = write!(
                text,
                "{r}.test:
  %{r}.lanes = icmp eq {vector} %{half}.states, splat (i32 {number})
  %{r}.bits = bitcast {mask} %{r}.lanes to i{lanes}
  %{r}.any = icmp ne i{lanes} %{r}.bits, 0
  br i1 %{r}.any, label %{r}, label %{next}
{r}:
"
            );
            let _ = if region.is_decision {
                writeln!(
                    text,
                    "  %{r}.state = call i32 @{}({list}) noinline
  %{r}.one = insertelement {vector} poison, i32 %{r}.state, i64 0
  %{r}.next = shufflevector {vector} %{r}.one, {vector} poison, {vector} zeroinitializer",
                    names::quoted(&function.name)
                )
            } else {
                writeln!(
                    text,
                    "  %{r}.next = call {vector} @{}({list}, {mask} %{r}.lanes) noinline",
                    lane_name(function)
                )
            };
            let _ = writeln!(
                text,
                "  call void @llvm.masked.store.v{lanes}i32.p0({vector} %{r}.next, ptr align 4 %{half}.s, {mask} %{r}.lanes)
  br label %{next}"
            );
        }
        let _ = writeln!(text, "{half}.last:\n  br label %{half}.latch");
        text.push_str(
            &LOOPS_AFTER
                .replace('@', half)
                .replace("STEP", &lanes.to_string())
                .replace("COUNT", "%block_size.x")
                .replace("LOOP_METADATA", ""),
        );
    }

    /// Work-items one at a time, each in its own region.
    fn mixed_items(
        &self,
        kernel: &HostKernel,
        arguments: &[String],
        half: &str,
        numbers: Range<u32>,
        text: &mut String,
    ) {
        let all = kernel.all();
        let _ = writeln!(text, "{half}.begin:");
        // Before any work-item writes them anew.
        self.load_uniforms(kernel, &all, half, "u", text);
        text.push_str(&ITEMS_BEFORE.replace('@', half));
        element_addresses(kernel, &all, half, text);
        let _ = write!(text, "  switch i32 %{half}.state, label %{half}.item.end [");
        for number in numbers.clone() {
            let _ = write!(text, " i32 {number}, label %{half}.r{number}");
        }
        text.push_str(" ]\n");
        for number in numbers {
            let region = &kernel.regions[number as usize];
            let _ = write!(
                text,
                "{half}.r{number}:\n  %{half}.r{number}.next = call i32 @{}({}) noinline\n  store i32 %{half}.r{number}.next, ptr %{half}.s, align 4\n  br label %{half}.item.end\n",
                names::quoted(&self.module.functions[region.function].name),
                self.region_arguments(kernel, region, arguments, half, "u"),
            );
        }
        text.push_str(&ITEMS_AFTER.replace('@', half));
    }
}

const ITEMS_BEFORE: &str = "  br label %@.item
@.item:
  %@.i = phi i64 [ 0, %@.begin ], [ %@.i.next, %@.item.end ]
  %@.x = phi i32 [ 0, %@.begin ], [ %@.x.next, %@.item.end ]
  %@.y = phi i32 [ 0, %@.begin ], [ %@.y.next, %@.item.end ]
  %@.z = phi i32 [ 0, %@.begin ], [ %@.z.next, %@.item.end ]
  %@.s = getelementptr inbounds i32, ptr %states, i64 %@.i
  %@.state = load i32, ptr %@.s, align 4
";

const ITEMS_AFTER: &str = "@.item.end:
  %@.i.next = add nuw nsw i64 %@.i, 1
  %@.x.plus = add nuw nsw i32 %@.x, 1
  %@.x.wraps = icmp eq i32 %@.x.plus, %block_size.x
  %@.x.next = select i1 %@.x.wraps, i32 0, i32 %@.x.plus
  %@.carry.y = zext i1 %@.x.wraps to i32
  %@.y.plus = add nuw nsw i32 %@.y, %@.carry.y
  %@.y.wraps = icmp eq i32 %@.y.plus, %block_size.y
  %@.y.next = select i1 %@.y.wraps, i32 0, i32 %@.y.plus
  %@.carry.z = zext i1 %@.y.wraps to i32
  %@.z.next = add nuw nsw i32 %@.z, %@.carry.z
  %@.more = icmp ult i64 %@.i.next, %items
  br i1 %@.more, label %@.item, label %@.end
@.end:
";

/// Whether all work-items have the same region before them.
const RESOLVE: &str = "resolve:
  br label %resolve.item
resolve.item:
  %v.i = phi i64 [ 0, %resolve ], [ %v.i.next, %resolve.item ]
  %v.low = phi i32 [ -1, %resolve ], [ %v.lowest, %resolve.item ]
  %v.high = phi i32 [ 0, %resolve ], [ %v.highest, %resolve.item ]
  %v.s = getelementptr inbounds i32, ptr %states, i64 %v.i
  %v.state = load i32, ptr %v.s, align 4
  %v.lower = icmp ult i32 %v.state, %v.low
  %v.lowest = select i1 %v.lower, i32 %v.state, i32 %v.low
  %v.higher = icmp ugt i32 %v.state, %v.high
  %v.highest = select i1 %v.higher, i32 %v.state, i32 %v.high
  %v.i.next = add nuw nsw i64 %v.i, 1
  %v.more = icmp ult i64 %v.i.next, %items
  br i1 %v.more, label %resolve.item, label %resolve.end
resolve.end:
  %v.same = icmp eq i32 %v.lowest, %v.highest
";

const RESOLVE_LANES: &str = "resolve:
  br label %resolve.item
resolve.item:
  %v.i = phi i64 [ 0, %resolve ], [ %v.i.next, %resolve.item ]
  %v.low = phi <LANES x i32> [ splat (i32 -1), %resolve ], [ %v.low.next, %resolve.item ]
  %v.high = phi <LANES x i32> [ zeroinitializer, %resolve ], [ %v.high.next, %resolve.item ]
  %v.rest = sub nuw nsw i64 %items, %v.i
  %v.rest.one = insertelement <LANES x i64> poison, i64 %v.rest, i64 0
  %v.rest.all = shufflevector <LANES x i64> %v.rest.one, <LANES x i64> poison, <LANES x i32> zeroinitializer
  %v.there = icmp ult <LANES x i64> <NUMBERS>, %v.rest.all
  %v.s = getelementptr inbounds i32, ptr %states, i64 %v.i
  %v.states = call <LANES x i32> @llvm.masked.load.vLANESi32.p0(ptr align 4 %v.s, <LANES x i1> %v.there, <LANES x i32> zeroinitializer)
  %v.or.low = select <LANES x i1> %v.there, <LANES x i32> %v.states, <LANES x i32> splat (i32 -1)
  %v.low.next = call <LANES x i32> @llvm.umin.vLANESi32(<LANES x i32> %v.low, <LANES x i32> %v.or.low)
  %v.high.next = call <LANES x i32> @llvm.umax.vLANESi32(<LANES x i32> %v.high, <LANES x i32> %v.states)
  %v.i.next = add nuw nsw i64 %v.i, LANES
  %v.more = icmp ult i64 %v.i.next, %items
  br i1 %v.more, label %resolve.item, label %resolve.end
resolve.end:
  %v.lowest = call i32 @llvm.vector.reduce.umin.vLANESi32(<LANES x i32> %v.low.next)
  %v.highest = call i32 @llvm.vector.reduce.umax.vLANESi32(<LANES x i32> %v.high.next)
  %v.same = icmp eq i32 %v.lowest, %v.highest
";
