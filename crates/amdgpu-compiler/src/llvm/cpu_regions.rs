//! The entry of a kernel with barriers on the CPU: for each block, one region after the other, each for all work-items.
//!
//! As long as all work-items go to the same region, they run it vector after vector ([`super::lanes`]), or as the iterations of a
//! loop; when they part, as [`super::cpu_mixed`] says. A region that only takes decisions runs once.
//!
//! Scratch memory: arrays with an element for every work-item (the number of them rounded up, so that each array is aligned),
//! the states, then shared memory.

use std::fmt::Write;

use super::cpu::{BLOCKS_AFTER_BODY, BLOCKS_BEFORE_BODY, SCRATCH, loop_metadata};
use super::cpu_rows::{Item, Rows};
use super::intrinsics::parameter_name;
use super::{Emitter, names};
use crate::ir::{AddressSpace, SpecialKind, Terminator, Type};
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
        self.keep_sums(kernel, &mut arguments, &mut text);
        for (index, ty) in kernel.uniforms.iter().enumerate() {
            let ty = self.type_text(*ty);
            let _ = writeln!(text, "  %u{index} = alloca {ty}, align 8");
        }
        text.push_str("  %next.u = alloca i32, align 4\n");
        text.push_str(BLOCKS_BEFORE_BODY);
        for (index, ty) in kernel.uniforms.iter().enumerate() {
            let ty = self.type_text(*ty);
            // Zero, so that a value that no work-item has reached yet is at least one value.
            let _ = writeln!(text, "  store {ty} zeroinitializer, ptr %u{index}, align 8");
        }
        text.push_str("  br label %r0.begin\n");
        for (number, region) in kernel.regions.iter().enumerate() {
            self.region(kernel, number, region, &arguments, lanes, &mut text);
        }
        if kernel.parts() {
            self.mixed(kernel, &arguments, lanes, &mut text);
        }
        text.push_str(BLOCKS_AFTER_BODY);
        self.done(kernel, &mut text);
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
        self.call_arguments(
            kernel,
            (region.function, &region.given),
            arguments,
            prefix,
            cells,
        )
    }

    fn call_arguments(
        &self,
        kernel: &HostKernel,
        (function, given): (usize, &Given),
        arguments: &[String],
        prefix: &str,
        cells: &str,
    ) -> String {
        let mut list = arguments.to_vec();
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
        list.extend(self.specials[function].iter().map(|&special| {
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
        if region.is_decision {
            self.load_uniforms(kernel, &region.given, &r, "u", text);
            let list = self.region_arguments(kernel, region, arguments, &r, "u");
            let name = names::quoted(&self.module.functions[region.function].name);
            let _ = writeln!(text, "  %{r}.next = call i32 @{name}({list})");
            return self.go_on(kernel, region, &format!("%{r}.next"), text);
        }
        let vectors = lanes.filter(|_| self.rows(kernel, region) != Rows::OneByOne);
        let mut body = String::new();
        self.load_uniforms(kernel, &region.given, &r, "u", &mut body);
        body.push_str(&LOOPS_BEFORE.replace('@', &r));
        let count = match region.bound {
            None => {
                let _ = writeln!(body, "  br label %{r}.item");
                "%block_size.x".to_owned()
            }
            Some(bound) => {
                let given = Given {
                    contexts: Vec::new(),
                    uniforms: region.given.uniforms.clone(),
                    results: Vec::new(),
                };
                let list =
                    self.call_arguments(kernel, (bound.function, &given), arguments, &r, "u");
                let name = names::quoted(&self.module.functions[bound.function].name);
                let _ = writeln!(
                    body,
                    "  %{r}.count = call i32 @{name}({list})
  %{r}.some = icmp ne i32 %{r}.count, 0
  br i1 %{r}.some, label %{r}.item, label %{r}.row.end"
                );
                format!("%{r}.count")
            }
        };
        body.push_str(&ITEM.replace('@', &r));
        element_addresses(kernel, &region.given, &r, &mut body);
        let list = self.region_arguments(kernel, region, arguments, &r, "u");
        let function = &self.module.functions[region.function];
        if let Some(lanes) = vectors {
            let item = Item {
                lanes,
                r: &r,
                count: &count,
                list: &list,
            };
            self.vector(kernel, region, &item, &mut body);
        } else {
            let name = names::quoted(&function.name);
            let _ = writeln!(body, "  %{r}.next = call i32 @{name}({list})");
        }
        self.store_exit(region, vectors, &r, &mut body);
        let _ = writeln!(body, "  br label %{r}.latch");
        let metadata = if lanes.is_none() && self.is_parallel[region.function] {
            format!(", !llvm.loop !{}", loop_metadata(region.function))
        } else {
            String::new()
        };
        body.push_str(
            &LOOPS_AFTER
                .replace('@', &r)
                .replace("STEP", &vectors.unwrap_or(1).to_string())
                .replace("COUNT", &count)
                .replace("LOOP_METADATA", &metadata),
        );
        let ends = [format!("{r}.begin"), format!("{r}.end")];
        let body = self.region_loop(kernel, number, arguments, &[], [&ends[0], &ends[1]], body);
        text.push_str(&body);
        if region.exit == Exit::Uniform {
            let _ = writeln!(text, "  %{r}.state = load i32, ptr %next.u, align 4");
        }
        self.go_on(kernel, region, &format!("%{r}.state"), text);
    }

    /// Goes from the end of a region to what follows; `state` is its number where several can.
    fn go_on(&self, kernel: &HostKernel, region: &Region, state: &str, text: &mut String) {
        let _ = match region.exit {
            Exit::One(next) => writeln!(text, "  br label %{}", begin(kernel, next)),
            Exit::Uniform => writeln!(
                text,
                "  {}",
                switch(kernel, state, &self.exits(kernel, region), "block.end")
            ),
            Exit::Varying => writeln!(text, "  br label %resolve"),
        };
    }

    /// What may follow a region.
    fn exits(&self, kernel: &HostKernel, region: &Region) -> Vec<u32> {
        let function = &self.module.functions[region.function];
        let mut exits = Vec::new();
        for block in &function.blocks {
            let Terminator::Return(Some(value)) = block.terminator else {
                continue;
            };
            match function.constant(value) {
                Some(bits) if exits.contains(&(bits as u32)) => {}
                Some(bits) => exits.push(bits as u32),
                None => return (0..=kernel.returned()).collect(),
            }
        }
        exits
    }

    /// Keeps which region follows, where several can.
    pub(super) fn store_exit(
        &mut self,
        region: &Region,
        lanes: Option<u32>,
        r: &str,
        text: &mut String,
    ) {
        match region.exit {
            Exit::One(_) => {}
            Exit::Uniform => {
                let _ = writeln!(
                    text,
                    "  store i32 %{r}.next, ptr %next.u, align 4, !llvm.access.group !0"
                );
            }
            Exit::Varying => {
                let _ = writeln!(
                    text,
                    "  %{r}.s = getelementptr inbounds i32, ptr %states, i64 %{r}.i"
                );
                self.store_states(lanes, r, text);
            }
        }
    }

    /// Keeps the region that follows at `%REGION.s`, for every work-item.
    fn store_states(&mut self, lanes: Option<u32>, r: &str, text: &mut String) {
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
}

/// Where a region begins, or the block of work-items ends.
fn begin(kernel: &HostKernel, number: u32) -> String {
    if number < kernel.returned() {
        format!("r{number}.begin")
    } else {
        "block.end".to_owned()
    }
}

/// Goes to the region of a state, which is one of several.
pub(super) fn switch(kernel: &HostKernel, state: &str, numbers: &[u32], otherwise: &str) -> String {
    let mut cases = String::new();
    for number in numbers.iter().filter(|number| **number < kernel.returned()) {
        // Writing to a String cannot fail.
        let _ = write!(cases, " i32 {number}, label %r{number}.begin");
    }
    format!("switch i32 {state}, label %{otherwise} [{cases} ]")
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

pub(super) const LOOPS_BEFORE: &str = "  br label %@.plane
@.plane:
  %@.z = phi i32 [ 0, %@.begin ], [ %@.z.next, %@.plane.end ]
  %@.plane.y = mul nuw nsw i32 %@.z, %block_size.y
  br label %@.row
@.row:
  %@.y = phi i32 [ 0, %@.plane ], [ %@.y.next, %@.row.end ]
  %@.zy = add nuw nsw i32 %@.plane.y, %@.y
  %@.zy64 = zext nneg i32 %@.zy to i64
  %@.first = mul nuw nsw i64 %@.zy64, %size.x
";

pub(super) const ITEM: &str = "@.item:
  %@.x = phi i32 [ 0, %@.row ], [ %@.x.next, %@.latch ]
  %@.x64 = zext nneg i32 %@.x to i64
  %@.i = add nuw nsw i64 %@.first, %@.x64
";

pub(super) const LOOPS_AFTER: &str = "@.latch:
  %@.x.next = add nuw nsw i32 %@.x, STEP
  %@.x.more = icmp ult i32 %@.x.next, COUNT
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
