//! The entry of a kernel on the CPU: a function that runs a range of blocks, every work-item of each.
//!
//! `void kernel(const uint8_t* arguments, const agpu_cpu_launch* launch, uint64_t block_begin, uint64_t block_end)`. The loop
//! over x is innermost; its iterations are vectors of work-items ([`super::lanes`]), or single ones where that is not possible, and it
//! is then marked parallel where no private memory is shared between its iterations. Everything uniform is loaded once, before the
//! loops.

use std::fmt::Write;

use super::intrinsics::{all_specials, parameter_name};
use super::lanes::lane_name;
use super::{Emitter, names};
use crate::ir::{AddressSpace, Function, Op, SpecialKind, Type};
use crate::regions::HostKernel;

/// Instructions of a kernel that is written out for whole vectors and for parts of one. Sixty kernels of the tests take a tenth longer to
/// compile for it; a chain of ten operations on 4 M numbers, which the last cache holds, takes up to a fifth less time.
const MOST_INSTRUCTIONS: usize = 64;

/// Whether a kernel runs whole vectors by code of their own, without masks.
fn is_written_twice(function: &Function) -> bool {
    let is_plain = |op: &Op| !matches!(op, Op::Call { .. } | Op::Slot { .. });
    function.instruction_count() <= MOST_INSTRUCTIONS
        && function.values.iter().all(|value| is_plain(&value.op))
}

impl Emitter<'_> {
    pub(super) fn cpu_entry(&mut self, kernel: &HostKernel, lanes: Option<u32>) {
        let index = kernel.function;
        let function = &self.module.functions[index];
        let mut text = String::new();
        let mut arguments = self.entry_head(kernel, &mut text);
        if kernel.has_shared {
            text.push_str(SCRATCH);
            let ty = self.type_text(Type::Pointer(AddressSpace::Shared));
            arguments.push(format!("{ty} %scratch"));
        }
        self.keep_sums(kernel, &mut arguments, &mut text);
        debug_assert!(function.result == Type::Void);
        arguments.extend(all_specials().map(|special| format!("i32 {}", parameter_name(special))));
        text.push_str(BLOCKS_BEFORE_BODY);
        text.push_str(LOOPS_BEFORE_ROW);
        let arguments = arguments.join(", ");
        let is_parallel = lanes.is_none() && self.is_parallel[index];
        match lanes {
            Some(lanes) if is_written_twice(function) => {
                Self::whole_vectors(&lane_name(function), lanes, &arguments, &mut text);
            }
            Some(lanes) => {
                let name = lane_name(function);
                text.push_str(ROW_BEFORE_BODY);
                let row = ["%thread_index.x", "%block_size.x"];
                Self::active_lanes(lanes, "item", row, &mut text);
                let mask = format!("<{lanes} x i1> %item.active");
                let _ = writeln!(text, "  call void @{name}({arguments}, {mask})");
                text.push_str(&row_after_body(lanes, ""));
            }
            None => {
                let name = self.function_name(function);
                text.push_str(ROW_BEFORE_BODY);
                let _ = writeln!(text, "  call void @{name}({arguments})");
                let advice = if is_parallel {
                    format!(", !llvm.loop !{}", loop_metadata(index))
                } else {
                    String::new()
                };
                text.push_str(&row_after_body(1, &advice));
            }
        }
        let _ = write!(text, "{LOOPS_AFTER_ROW}{BLOCKS_AFTER_BODY}");
        self.done(kernel, &mut text);
        self.line(&text);
        if is_parallel {
            self.parallel_loop(index);
        }
    }

    /// A row of work-items as vectors without a mask, and what is left of it as one with a mask. What all vectors compute is then computed
    /// before their loop, and their stores are plain ones.
    fn whole_vectors(name: &str, lanes: u32, arguments: &str, text: &mut String) {
        let mask = format!("<{lanes} x i1>");
        let _ = writeln!(
            text,
            "  %whole.end = and i32 %block_size.x, -{lanes}
  %whole.some = icmp ne i32 %whole.end, 0
  br i1 %whole.some, label %item, label %part.test
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @{name}({arguments}, {mask} splat (i1 true))
  %x.next = add nuw nsw i32 %thread_index.x, {lanes}
  %x.more = icmp ult i32 %x.next, %whole.end
  br i1 %x.more, label %item, label %part.test
part.test:
  %part.some = icmp ult i32 %whole.end, %block_size.x
  br i1 %part.some, label %part, label %row.end
part:"
        );
        Self::active_lanes(lanes, "part", ["%whole.end", "%block_size.x"], text);
        let rest = arguments.replace("i32 %thread_index.x", "i32 %whole.end");
        let _ = writeln!(
            text,
            "  call void @{name}({rest}, {mask} %part.active)
  br label %row.end"
        );
    }

    /// The start of an entry: sizes and arguments, whose typed texts are returned.
    pub(super) fn entry_head(&self, kernel: &HostKernel, text: &mut String) -> Vec<String> {
        let _ = write!(
            text,
            "define void @{}(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {{\nentry:\n",
            names::quoted(&kernel.name)
        );
        // agpu_cpu_launch: u32 grid[3] at 0, u32 block[3] at 12.
        for (name, base) in [(SpecialKind::GridSize, 0), (SpecialKind::BlockSize, 12)] {
            for (axis, letter) in ["x", "y", "z"].iter().enumerate() {
                let name = format!("{}.{letter}", name.text());
                let _ = writeln!(
                    text,
                    "  %{name}.p = getelementptr inbounds i8, ptr %launch, i64 {}",
                    base + 4 * axis
                );
                let _ = writeln!(text, "  %{name} = load i32, ptr %{name}.p, align 4");
            }
        }
        let mut arguments: Vec<String> = Vec::new();
        let mut offset = 0u64;
        for (number, parameter) in kernel.arguments.iter().enumerate() {
            let size = parameter.bytes();
            let ty = self.type_text(*parameter);
            offset = offset.next_multiple_of(size.max(1));
            let _ = writeln!(
                text,
                "  %a{number}.p = getelementptr inbounds i8, ptr %arguments, i64 {offset}"
            );
            let _ = writeln!(
                text,
                "  %a{number} = load {ty}, ptr %a{number}.p, align {size}"
            );
            offset += size;
            arguments.push(format!("{ty} %a{number}"));
        }
        arguments
    }

    /// Metadata of the loop over the work-items of a function.
    pub(super) fn parallel_loop(&mut self, index: usize) {
        let number = loop_metadata(index);
        self.print(format_args!(
            "!{number} = distinct !{{!{number}, !{}}}",
            number + 1
        ));
        self.print(format_args!(
            "!{} = !{{!\"llvm.loop.parallel_accesses\", !0}}",
            number + 1
        ));
        self.line("");
    }
}

/// Number of the metadata node of a kernel's loop; 0 is the access group, and each loop has two nodes.
pub(super) fn loop_metadata(index: usize) -> usize {
    1 + 2 * index
}

/// `agpu_cpu_launch.shared`.
pub(super) const SCRATCH: &str = "  %scratch.p = getelementptr inbounds i8, ptr %launch, i64 24
  %scratch = load ptr, ptr %scratch.p, align 8
";

/// Blocks in linear order, x fastest; the coordinates of the first are divided out, the rest counted on.
pub(super) const BLOCKS_BEFORE_BODY: &str = "  %some = icmp ult i64 %begin, %end
  br i1 %some, label %start, label %done
start:
  %grid.x64 = zext i32 %grid_size.x to i64
  %grid.y64 = zext i32 %grid_size.y to i64
  %first.x64 = urem i64 %begin, %grid.x64
  %rows = udiv i64 %begin, %grid.x64
  %first.y64 = urem i64 %rows, %grid.y64
  %first.z64 = udiv i64 %rows, %grid.y64
  %first.x = trunc i64 %first.x64 to i32
  %first.y = trunc i64 %first.y64 to i32
  %first.z = trunc i64 %first.z64 to i32
  br label %block
block:
  %linear = phi i64 [ %begin, %start ], [ %linear.next, %block.end ]
  %block_index.x = phi i32 [ %first.x, %start ], [ %block.x.next, %block.end ]
  %block_index.y = phi i32 [ %first.y, %start ], [ %block.y.next, %block.end ]
  %block_index.z = phi i32 [ %first.z, %start ], [ %block.z.next, %block.end ]
";

/// The work-items of a block.
const LOOPS_BEFORE_ROW: &str = "  br label %plane
plane:
  %thread_index.z = phi i32 [ 0, %block ], [ %z.next, %plane.end ]
  br label %row
row:
  %thread_index.y = phi i32 [ 0, %plane ], [ %y.next, %row.end ]
";

const ROW_BEFORE_BODY: &str = "  br label %item
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
";

/// The end of the loop over the work-items of a row.
fn row_after_body(step: u32, advice: &str) -> String {
    format!(
        "  %x.next = add nuw nsw i32 %thread_index.x, {step}
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end{advice}
"
    )
}

const LOOPS_AFTER_ROW: &str = "row.end:
  %y.next = add nuw nsw i32 %thread_index.y, 1
  %y.more = icmp ult i32 %y.next, %block_size.y
  br i1 %y.more, label %row, label %plane.end
plane.end:
  %z.next = add nuw nsw i32 %thread_index.z, 1
  %z.more = icmp ult i32 %z.next, %block_size.z
  br i1 %z.more, label %plane, label %block.end
";

pub(super) const BLOCKS_AFTER_BODY: &str = "block.end:
  %linear.next = add nuw i64 %linear, 1
  %block.x.plus = add nuw i32 %block_index.x, 1
  %x.wraps = icmp eq i32 %block.x.plus, %grid_size.x
  %block.x.next = select i1 %x.wraps, i32 0, i32 %block.x.plus
  %carry.y = zext i1 %x.wraps to i32
  %block.y.plus = add nuw i32 %block_index.y, %carry.y
  %y.wraps = icmp eq i32 %block.y.plus, %grid_size.y
  %block.y.next = select i1 %y.wraps, i32 0, i32 %block.y.plus
  %carry.z = zext i1 %y.wraps to i32
  %block.z.next = add nuw i32 %block_index.z, %carry.z
  %more = icmp ult i64 %linear.next, %end
  br i1 %more, label %block, label %done
";
