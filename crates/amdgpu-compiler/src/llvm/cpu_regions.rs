//! The entry of a kernel with barriers on the CPU: for each block, one region after the other, each for all work-items.
//!
//! As long as all work-items go to the same region, they run it vector after vector ([`super::lanes`]), or as the turns of a
//! loop. When they part (some have returned), the state of each says what it runs next, until they agree again: a vector then
//! runs every region that one of its lanes has before it.
//!
//! Scratch memory: arrays with an element for every work-item (the number of them rounded up, so that each array is aligned),
//! the states, then shared memory.

use std::fmt::Write;

use super::cpu::{BLOCKS_AFTER_BODY, BLOCKS_BEFORE_BODY, SCRATCH, loop_metadata};
use super::intrinsics::parameter_name;
use super::lanes::lane_name;
use super::{Emitter, names};
use crate::ir::{AddressSpace, SpecialKind, Type};
use crate::regions::{ALIGN_BYTES, Exit, Given, HostKernel, Region, WAVE_SIZE};

impl Emitter<'_> {
    pub(super) fn cpu_region_entry(&mut self, kernel: &HostKernel, lanes: Option<u32>) {
        let mut text = String::new();
        let mut arguments = self.entry_head(kernel, &mut text);
        text.push_str(SCRATCH);
        Self::scratch(kernel, &mut text);
        if kernel.has_shared {
            let ty = self.type_text(Type::Pointer(AddressSpace::Shared));
            arguments.push(format!("{ty} %shared"));
        }
        for (index, ty) in kernel.uniforms.iter().enumerate() {
            let ty = self.type_text(*ty);
            // Zero, so that a value that no work-item has reached yet is at least one value.
            let _ = writeln!(
                text,
                "  %u{index} = alloca {ty}, align 8\n  store {ty} zeroinitializer, ptr %u{index}, align 8"
            );
        }
        text.push_str("  %next.u = alloca i32, align 4\n");
        text.push_str(BLOCKS_BEFORE_BODY);
        text.push_str("  br label %dispatch\n");
        let parts = kernel
            .regions
            .iter()
            .any(|region| region.exit == Exit::Varying);
        dispatch(kernel, parts, &mut text);
        for (number, region) in kernel.regions.iter().enumerate() {
            self.region(kernel, number, region, &arguments, lanes, &mut text);
        }
        if parts {
            match lanes {
                Some(lanes) => self.mixed_lanes(kernel, &arguments, lanes, &mut text),
                None => self.mixed(kernel, &arguments, &mut text),
            }
            let _ = write!(
                text,
                "{}",
                RESOLVE.replace("MIXED", &mixed(kernel).to_string())
            );
        }
        text.push_str(BLOCKS_AFTER_BODY);
        self.line(&text);
        for region in &kernel.regions {
            if lanes.is_none() && self.is_parallel[region.function] {
                self.parallel_loop(region.function);
            }
        }
    }

    /// Addresses of the parts of scratch memory.
    pub(super) fn scratch(kernel: &HostKernel, text: &mut String) {
        let _ = write!(
            text,
            "  %size.x = zext i32 %block_size.x to i64
  %size.y = zext i32 %block_size.y to i64
  %size.z = zext i32 %block_size.z to i64
  %size.xy = mul nuw nsw i64 %size.x, %size.y
  %items = mul nuw nsw i64 %size.xy, %size.z
  %items.up = add nuw nsw i64 %items, {}
  %stride = and i64 %items.up, -{ALIGN_BYTES}
",
            ALIGN_BYTES - 1
        );
        let mut before = 0;
        let mut part = |name: &str, bytes: u64| {
            let _ = writeln!(
                text,
                "  %{name}.o = mul nuw nsw i64 %stride, {before}\n  %{name} = getelementptr inbounds i8, ptr %scratch, i64 %{name}.o"
            );
            before += bytes;
        };
        for (index, bytes) in kernel.contexts.iter().enumerate() {
            part(&format!("c{index}"), *bytes);
        }
        part("states", 4);
        if kernel.has_waves() {
            part("cells", kernel.wave_cell_bytes().div_ceil(WAVE_SIZE));
        }
        part("shared", 0);
    }

    /// Typed texts of what a region's function is called with; `prefix` is that of the names of this call's own values, `cells`
    /// that of the addresses of uniform values.
    pub(super) fn region_arguments(
        &self,
        kernel: &HostKernel,
        region: &Region,
        arguments: &[String],
        prefix: &str,
        cells: &str,
    ) -> String {
        let mut list = arguments.to_vec();
        let given = &region.given;
        list.extend(
            given
                .contexts
                .iter()
                .map(|index| format!("ptr %{prefix}.c{index}")),
        );
        for &index in &given.uniforms {
            let ty = self.type_text(kernel.uniforms[index]);
            list.push(format!("{ty} %{prefix}.u{index}"));
        }
        list.extend(
            given
                .results
                .iter()
                .map(|index| format!("ptr %{cells}{index}")),
        );
        list.extend(self.specials[region.function].iter().map(|&special| {
            let axis = ["x", "y", "z"][usize::from(special.axis % 3)];
            if special.kind == SpecialKind::ThreadIndex {
                format!("i32 %{prefix}.{axis}")
            } else {
                format!("i32 {}", parameter_name(special))
            }
        }));
        list.join(", ")
    }

    pub(super) fn load_uniforms(
        &self,
        kernel: &HostKernel,
        given: &Given,
        prefix: &str,
        cells: &str,
        text: &mut String,
    ) {
        for &index in &given.uniforms {
            let ty = self.type_text(kernel.uniforms[index]);
            let _ = writeln!(
                text,
                "  %{prefix}.u{index} = load {ty}, ptr %{cells}{index}, align 8"
            );
        }
    }

    fn region(
        &mut self,
        kernel: &HostKernel,
        number: usize,
        region: &Region,
        arguments: &[String],
        lanes: Option<u32>,
        text: &mut String,
    ) {
        let r = format!("r{number}");
        let _ = writeln!(text, "{r}.begin:");
        let mut body = String::new();
        self.load_uniforms(kernel, &region.given, &r, "u", &mut body);
        body.push_str(&LOOPS_BEFORE.replace('@', &r));
        element_addresses(kernel, &region.given, &r, &mut body);
        let list = self.region_arguments(kernel, region, arguments, &r, "u");
        let function = &self.module.functions[region.function];
        if let Some(lanes) = lanes {
            let x = format!("%{r}.x");
            Self::active_lanes(lanes, &r, [&x, "%block_size.x"], &mut body);
            let _ = writeln!(
                body,
                "  %{r}.all = call <{lanes} x i32> @{}({list}, <{lanes} x i1> %{r}.active)\n  %{r}.next = extractelement <{lanes} x i32> %{r}.all, i64 0",
                lane_name(function)
            );
        } else {
            let name = names::quoted(&function.name);
            let _ = writeln!(body, "  %{r}.next = call i32 @{name}({list})");
        }
        match region.exit {
            Exit::One(_) => {}
            Exit::Uniform => {
                let _ = writeln!(
                    body,
                    "  store i32 %{r}.next, ptr %next.u, align 4, !llvm.access.group !0"
                );
            }
            Exit::Varying => {
                let _ = writeln!(
                    body,
                    "  %{r}.s = getelementptr inbounds i32, ptr %states, i64 %{r}.i"
                );
                self.store_states(lanes, &r, &mut body);
            }
        }
        let metadata = if lanes.is_none() && self.is_parallel[region.function] {
            format!(", !llvm.loop !{}", loop_metadata(region.function))
        } else {
            String::new()
        };
        body.push_str(
            &LOOPS_AFTER
                .replace('@', &r)
                .replace("STEP", &lanes.unwrap_or(1).to_string())
                .replace("LOOP_METADATA", &metadata),
        );
        let ends = [format!("{r}.begin"), format!("{r}.end")];
        let body = self.region_loop(kernel, number, arguments, &[], [&ends[0], &ends[1]], body);
        text.push_str(&body);
        let _ = match region.exit {
            Exit::One(_) => writeln!(text, "  br label %dispatch"),
            Exit::Uniform => writeln!(
                text,
                "  %{r}.state = load i32, ptr %next.u, align 4\n  br label %dispatch"
            ),
            Exit::Varying => writeln!(text, "  br label %resolve"),
        };
    }

    /// Keeps the region that follows at `%REGION.s`, for every work-item.
    pub(super) fn store_states(&mut self, lanes: Option<u32>, r: &str, text: &mut String) {
        let Some(lanes) = lanes else {
            let _ = writeln!(
                text,
                "  store i32 %{r}.next, ptr %{r}.s, align 4, !llvm.access.group !0"
            );
            return;
        };
        let (vector, mask) = (format!("<{lanes} x i32>"), format!("<{lanes} x i1>"));
        let _ = writeln!(
            text,
            "  call void @llvm.masked.store.v{lanes}i32.p0({vector} %{r}.all, ptr align 4 %{r}.s, {mask} %{r}.active)"
        );
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
        text: &mut String,
    ) {
        let vector = format!("<{lanes} x i32>");
        let mask = format!("<{lanes} x i1>");
        self.declarations.insert(format!(
            "declare {vector} @llvm.masked.load.v{lanes}i32.p0(ptr, {mask}, {vector})"
        ));
        self.declarations.insert(format!(
            "declare void @llvm.masked.store.v{lanes}i32.p0({vector}, ptr, {mask})"
        ));
        let all = kernel.all();
        text.push_str("mixed:\n  br label %m.begin\nm.begin:\n");
        self.load_uniforms(kernel, &all, "m", "u", text);
        text.push_str(&LOOPS_BEFORE.replace('@', "m"));
        element_addresses(kernel, &all, "m", text);
        Self::active_lanes(lanes, "m", ["%m.x", "%block_size.x"], text);
        let _ = writeln!(
            text,
            "  %m.s = getelementptr inbounds i32, ptr %states, i64 %m.i
  %m.states = call {vector} @llvm.masked.load.v{lanes}i32.p0(ptr align 4 %m.s, {mask} %m.active, {vector} splat (i32 -1))
  br label %m.r0.test"
        );
        for (number, region) in kernel.regions.iter().enumerate() {
            let list = self.region_arguments(kernel, region, arguments, "m", "u");
            let next = if number + 1 == kernel.regions.len() {
                "m.last".to_owned()
            } else {
                format!("m.r{}.test", number + 1)
            };
            let r = format!("m.r{number}");
            let name = lane_name(&self.module.functions[region.function]);
            let _ = write!(
                text,
                "{r}.test:
  %{r}.lanes = icmp eq {vector} %m.states, splat (i32 {number})
  %{r}.bits = bitcast {mask} %{r}.lanes to i{lanes}
  %{r}.any = icmp ne i{lanes} %{r}.bits, 0
  br i1 %{r}.any, label %{r}, label %{next}
{r}:
  %{r}.next = call {vector} @{name}({list}, {mask} %{r}.lanes) noinline
  call void @llvm.masked.store.v{lanes}i32.p0({vector} %{r}.next, ptr align 4 %m.s, {mask} %{r}.lanes)
  br label %{next}
"
            );
        }
        text.push_str("m.last:\n");
        text.push_str(
            &LOOPS_AFTER
                .replace('@', "m")
                .replace("STEP", &lanes.to_string())
                .replace("LOOP_METADATA", ""),
        );
        text.push_str("  br label %resolve\n");
    }

    /// Work-items one at a time, each in its own region.
    fn mixed(&self, kernel: &HostKernel, arguments: &[String], text: &mut String) {
        let all = kernel.all();
        text.push_str("mixed:\n");
        // Before any work-item writes them anew.
        self.load_uniforms(kernel, &all, "m", "u", text);
        text.push_str(MIXED_BEFORE);
        element_addresses(kernel, &all, "m", text);
        text.push_str("  switch i32 %m.state, label %mixed.next [");
        for number in 0..kernel.regions.len() {
            let _ = write!(text, " i32 {number}, label %mixed.r{number}");
        }
        text.push_str(" ]\n");
        for (number, region) in kernel.regions.iter().enumerate() {
            let _ = write!(
                text,
                "mixed.r{number}:\n  %m.r{number}.next = call i32 @{}({}) noinline\n  store i32 %m.r{number}.next, ptr %m.s, align 4\n  br label %mixed.next\n",
                names::quoted(&self.module.functions[region.function].name),
                self.region_arguments(kernel, region, arguments, "m", "u"),
            );
        }
        text.push_str(MIXED_AFTER);
    }
}

/// The state in which work-items have different regions before them.
fn mixed(kernel: &HostKernel) -> u32 {
    kernel.returned() + 1
}

fn dispatch(kernel: &HostKernel, parts: bool, text: &mut String) {
    text.push_str("dispatch:\n  %state = phi i32 [ 0, %block ]");
    for (number, region) in kernel.regions.iter().enumerate() {
        let _ = match region.exit {
            Exit::One(next) => write!(text, ", [ {next}, %r{number}.end ]"),
            Exit::Uniform => write!(text, ", [ %r{number}.state, %r{number}.end ]"),
            Exit::Varying => Ok(()),
        };
    }
    if parts {
        text.push_str(", [ %resolved, %resolve.end ]");
    }
    text.push_str("\n  switch i32 %state, label %block.end [");
    for number in 0..kernel.regions.len() {
        let _ = write!(text, " i32 {number}, label %r{number}.begin");
    }
    if parts {
        let _ = write!(text, " i32 {}, label %mixed", mixed(kernel));
    }
    text.push_str(" ]\n");
}

pub(super) fn element_addresses(
    kernel: &HostKernel,
    given: &Given,
    prefix: &str,
    text: &mut String,
) {
    for &index in &given.contexts {
        let bytes = kernel.contexts[index];
        let _ = writeln!(
            text,
            "  %{prefix}.c{index} = getelementptr inbounds [{bytes} x i8], ptr %c{index}, i64 %{prefix}.i"
        );
    }
}

const LOOPS_BEFORE: &str = "  br label %@.plane
@.plane:
  %@.z = phi i32 [ 0, %@.begin ], [ %@.z.next, %@.plane.end ]
  %@.plane.y = mul nuw nsw i32 %@.z, %block_size.y
  br label %@.row
@.row:
  %@.y = phi i32 [ 0, %@.plane ], [ %@.y.next, %@.row.end ]
  %@.zy = add nuw nsw i32 %@.plane.y, %@.y
  %@.zy64 = zext nneg i32 %@.zy to i64
  %@.first = mul nuw nsw i64 %@.zy64, %size.x
  br label %@.item
@.item:
  %@.x = phi i32 [ 0, %@.row ], [ %@.x.next, %@.latch ]
  %@.x64 = zext nneg i32 %@.x to i64
  %@.i = add nuw nsw i64 %@.first, %@.x64
";

const LOOPS_AFTER: &str = "  br label %@.latch
@.latch:
  %@.x.next = add nuw nsw i32 %@.x, STEP
  %@.x.more = icmp ult i32 %@.x.next, %block_size.x
  br i1 %@.x.more, label %@.item, label %@.row.endLOOP_METADATA
@.row.end:
  %@.y.next = add nuw nsw i32 %@.y, 1
  %@.y.more = icmp ult i32 %@.y.next, %block_size.y
  br i1 %@.y.more, label %@.row, label %@.plane.end
@.plane.end:
  %@.z.next = add nuw nsw i32 %@.z, 1
  %@.z.more = icmp ult i32 %@.z.next, %block_size.z
  br i1 %@.z.more, label %@.plane, label %@.end
@.end:
";

const MIXED_BEFORE: &str = "  br label %mixed.item
mixed.item:
  %m.i = phi i64 [ 0, %mixed ], [ %m.i.next, %mixed.next ]
  %m.x = phi i32 [ 0, %mixed ], [ %m.x.next, %mixed.next ]
  %m.y = phi i32 [ 0, %mixed ], [ %m.y.next, %mixed.next ]
  %m.z = phi i32 [ 0, %mixed ], [ %m.z.next, %mixed.next ]
  %m.s = getelementptr inbounds i32, ptr %states, i64 %m.i
  %m.state = load i32, ptr %m.s, align 4
";

const MIXED_AFTER: &str = "mixed.next:
  %m.i.next = add nuw nsw i64 %m.i, 1
  %m.x.plus = add nuw nsw i32 %m.x, 1
  %m.x.wraps = icmp eq i32 %m.x.plus, %block_size.x
  %m.x.next = select i1 %m.x.wraps, i32 0, i32 %m.x.plus
  %m.carry.y = zext i1 %m.x.wraps to i32
  %m.y.plus = add nuw nsw i32 %m.y, %m.carry.y
  %m.y.wraps = icmp eq i32 %m.y.plus, %block_size.y
  %m.y.next = select i1 %m.y.wraps, i32 0, i32 %m.y.plus
  %m.carry.z = zext i1 %m.y.wraps to i32
  %m.z.next = add nuw nsw i32 %m.z, %m.carry.z
  %m.more = icmp ult i64 %m.i.next, %items
  br i1 %m.more, label %mixed.item, label %resolve
";

/// Whether all work-items have the same region before them.
const RESOLVE: &str = "resolve:
  br label %resolve.item
resolve.item:
  %v.i = phi i64 [ 0, %resolve ], [ %v.i.next, %resolve.item ]
  %v.low = phi i32 [ -1, %resolve ], [ %v.low.next, %resolve.item ]
  %v.high = phi i32 [ 0, %resolve ], [ %v.high.next, %resolve.item ]
  %v.s = getelementptr inbounds i32, ptr %states, i64 %v.i
  %v.state = load i32, ptr %v.s, align 4
  %v.lower = icmp ult i32 %v.state, %v.low
  %v.low.next = select i1 %v.lower, i32 %v.state, i32 %v.low
  %v.higher = icmp ugt i32 %v.state, %v.high
  %v.high.next = select i1 %v.higher, i32 %v.state, i32 %v.high
  %v.i.next = add nuw nsw i64 %v.i, 1
  %v.more = icmp ult i64 %v.i.next, %items
  br i1 %v.more, label %resolve.item, label %resolve.end
resolve.end:
  %v.same = icmp eq i32 %v.low.next, %v.high.next
  %resolved = select i1 %v.same, i32 %v.low.next, i32 MIXED
  br label %dispatch
";
