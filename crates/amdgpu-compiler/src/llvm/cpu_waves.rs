//! The entry of a kernel on the CPU whose work-items meet as waves: each wave of a block runs from region to region on its own,
//! until it has returned or waits at a barrier; when all do, those that wait go on.
//!
//! As long as all lanes of a wave go to the same region, the wave has one number of a region. When they part, each has its own;
//! the lanes with the lowest number go on first, which lets lanes meet where their ways do ([`crate::regions`]), those that wait
//! at barriers last. A region runs for its lanes as one loop over each run of lanes without a gap, row by row of the block, by
//! vectors ([`super::lanes`]), or else one by one, which LLVM may turn into SIMD code.
//!
//! Scratch memory: arrays with an element for every work-item, their regions, a cell for each wave (its region, the uniform
//! values), then shared memory.

use std::fmt::Write;

use super::cpu::{BLOCKS_AFTER_BODY, BLOCKS_BEFORE_BODY, SCRATCH, loop_metadata};
use super::cpu_regions::element_addresses;
use super::lanes::lane_name;
use super::wave_functions::{
    BALLOT, FILL, GATHER, LOWEST, MATCH, PERMUTATION, PERMUTE, SAME, SHUFFLE, SPREAD,
};
use super::{Emitter, names};
use crate::ir::{AddressSpace, Cooperation, Type};
use crate::regions::{Entry, Exchange, Exit, Home, HostKernel, WAVE_SIZE};

impl Emitter<'_> {
    pub(super) fn cpu_wave_entry(&mut self, kernel: &HostKernel, lanes: Option<u32>) {
        let mut text = String::new();
        let mut arguments = self.entry_head(kernel, &mut text);
        text.push_str(SCRATCH);
        Self::scratch(kernel, &mut text);
        if kernel.has_shared {
            let ty = self.type_text(Type::Pointer(AddressSpace::Shared));
            arguments.push(format!("{ty} %shared"));
        }
        self.keep_sums(kernel, &mut arguments, &mut text);
        text.push_str("  %next.u = alloca i32, align 4\n");
        let numbers = [
            ("MIXED", u64::from(kernel.returned() + 1)),
            ("RETURNED", kernel.returned().into()),
            ("WAITS", kernel.first_behind_barrier().into()),
            ("CELL", kernel.wave_cell_bytes()),
            ("SIZE", WAVE_SIZE),
        ];
        let with_numbers = |part: &str| {
            let mut part = part.to_owned();
            for (name, number) in numbers {
                part = part.replace(name, &number.to_string());
            }
            part
        };
        text.push_str(BLOCKS_BEFORE_BODY);
        text.push_str(&with_numbers(WAVES_BEFORE));
        for index in 0..kernel.contexts.len() {
            let _ = writeln!(
                text,
                "  %w.c{index} = getelementptr inbounds [{} x i8], ptr %c{index}, i64 %w.first",
                kernel.contexts[index]
            );
        }
        for index in 0..kernel.uniforms.len() {
            let _ = writeln!(
                text,
                "  %w.u{index} = getelementptr inbounds i8, ptr %w.cell, i64 {}",
                8 + 8 * index
            );
        }
        text.push_str(&with_numbers(WAVE_STARTS));
        let ways = Ways::new(kernel);
        ways.enter(kernel, &mut text);
        for number in 0..kernel.regions.len() {
            self.wave_region(kernel, number, lanes, &ways, &arguments, &mut text);
        }
        text.push_str(&with_numbers(&ways.after()));
        text.push_str(&with_numbers(WAVES_AFTER));
        text.push_str(BLOCKS_AFTER_BODY);
        self.done(kernel, &mut text);
        self.line(&text);
        for region in &kernel.regions {
            if lanes.is_none() && self.is_parallel[region.function] {
                let number = loop_metadata(region.function);
                // A wave has two or four vectors; more of them at once would be more than it has.
                self.print(format_args!("!{number} = distinct !{{!{number}, !{}, !{{!\"llvm.loop.interleave.count\", i32 1}}}}", number + 1));
                self.print(format_args!(
                    "!{} = !{{!\"llvm.loop.parallel_accesses\", !0}}\n",
                    number + 1
                ));
            }
        }
        for helper in [LOWEST, SAME, FILL] {
            self.wave_helper(helper);
        }
        for declaration in [
            "declare i64 @llvm.cttz.i64(i64, i1) #1".to_owned(),
            "declare i64 @llvm.umin.i64(i64, i64) #1".to_owned(),
            format!("declare i32 @llvm.vector.reduce.umin.v{WAVE_SIZE}i32(<{WAVE_SIZE} x i32>) #1"),
        ] {
            self.declarations.insert(declaration);
        }
    }

    fn wave_helper(&mut self, text: &str) {
        let size = WAVE_SIZE.to_string();
        self.helpers.insert(text.replace("SIZE", &size));
    }

    /// What lanes exchange before they run a region.
    fn exchange(&mut self, exchange: &Exchange, r: &str, text: &mut String) {
        let word = self.type_text(exchange.word);
        let words = format!("ptr %w.c{}", exchange.words);
        let lanes = format!("i64 %{r}.lanes");
        match (exchange.operation, exchange.lanes) {
            (Cooperation::WaveShuffle, Some(sources)) => {
                let Home::Context(result) = exchange.result else {
                    return;
                };
                let _ = writeln!(
                    text,
                    "  call void @agpu.wave.shuffle.{word}({words}, ptr %w.c{sources}, ptr %w.c{result}, {lanes})"
                );
                let is_permuted = self.has_wide_permutes && exchange.word == Type::I32;
                let all = if is_permuted { PERMUTE } else { GATHER };
                if is_permuted {
                    self.declarations.insert(format!(
                        "declare <16 x i32> @{PERMUTATION}(<16 x i32>, <16 x i32>, <16 x i32>) #1"
                    ));
                }
                self.wave_helper(&SHUFFLE.replace("ALL", all).replace("TYPE", word));
            }
            (Cooperation::WaveBallot, _) => {
                let _ = writeln!(
                    text,
                    "  %{r}.ballot = call i64 @agpu.wave.ballot({words}, {lanes})"
                );
                match exchange.result {
                    Home::Uniform(index) => {
                        let _ = writeln!(text, "  store i64 %{r}.ballot, ptr %w.u{index}, align 8");
                    }
                    Home::Context(index) => {
                        let _ = writeln!(
                            text,
                            "  call void @agpu.wave.spread(ptr %w.c{index}, {lanes}, i64 %{r}.ballot)"
                        );
                        self.wave_helper(SPREAD);
                    }
                }
                self.wave_helper(BALLOT);
            }
            (Cooperation::WaveMatch, _) => {
                let Home::Context(result) = exchange.result else {
                    return;
                };
                let _ = writeln!(
                    text,
                    "  call void @agpu.wave.match.{word}({words}, ptr %w.c{result}, {lanes})"
                );
                self.wave_helper(&MATCH.replace("TYPE", word));
            }
            _ => {}
        }
    }

    fn wave_region(
        &mut self,
        kernel: &HostKernel,
        number: usize,
        lanes: Option<u32>,
        ways: &Ways,
        arguments: &[String],
        text: &mut String,
    ) {
        let r = format!("r{number}");
        let region = &kernel.regions[number];
        let _ = write!(
            text,
            "{r}.begin:\n  %{r}.lanes = phi i64 [ %enter.lanes, %enter ]"
        );
        for from in &ways.direct[number] {
            let _ = write!(text, ", [ %w.full, %r{from}.done ]");
        }
        text.push('\n');
        if let Entry::Wave(Some(exchange)) = &region.entry {
            self.exchange(exchange, &r, text);
        }
        let mut body = String::new();
        self.load_uniforms(kernel, &region.given, &r, "w.u", &mut body);
        body.push_str(&LANES_BEFORE.replace('#', &r));
        element_addresses(kernel, &region.given, &r, &mut body);
        let function = &self.module.functions[region.function];
        let list = self.region_arguments(kernel, region, arguments, &r, "w.u");
        if let Some(lanes) = lanes {
            let row = [format!("%{r}.j"), format!("%{r}.count")];
            Self::active_lanes(lanes, &r, [&row[0], &row[1]], &mut body);
            let name = lane_name(function);
            let (vector, mask) = (format!("<{lanes} x i32>"), format!("<{lanes} x i1>"));
            // Whole vectors without masks: what a masked store writes, the next region would wait for.
            let _ = writeln!(
                body,
                "  %{r}.is.whole = icmp uge i32 %{r}.space, {lanes}
  br i1 %{r}.is.whole, label %{r}.vector, label %{r}.part
{r}.vector:
  %{r}.all.vector = call {vector} @{name}({list}, {mask} splat (i1 true))
  br label %{r}.kept
{r}.part:
  %{r}.all.part = call {vector} @{name}({list}, {mask} %{r}.active) noinline
  br label %{r}.kept
{r}.kept:
  %{r}.all = phi {vector} [ %{r}.all.vector, %{r}.vector ], [ %{r}.all.part, %{r}.part ]
  %{r}.next = extractelement {vector} %{r}.all, i64 0"
            );
        } else {
            let name = names::quoted(&function.name);
            let _ = writeln!(body, "  %{r}.next = call i32 @{name}({list})");
        }
        self.store_exit(region, lanes, &r, &mut body);
        let metadata = if lanes.is_none() && self.is_parallel[region.function] {
            format!(", !llvm.loop !{}", loop_metadata(region.function))
        } else {
            String::new()
        };
        body.push_str(
            &LANES_AFTER
                .replace('#', &r)
                .replace("STEP", &lanes.unwrap_or(1).to_string())
                .replace("LOOP_METADATA", &metadata),
        );
        let own: Vec<String> = ["i64 %w.first", "i32 %w.x", "i32 %w.y", "i32 %w.z"]
            .into_iter()
            .map(str::to_owned)
            .chain([format!("i64 %{r}.lanes")])
            .collect();
        let ends = [format!("{r}.begin"), format!("{r}.done")];
        let body = self.region_loop(kernel, number, arguments, &own, [&ends[0], &ends[1]], body);
        text.push_str(&body);
        let _ = match region.exit {
            Exit::Varying => writeln!(text, "  br label %resolve"),
            Exit::Uniform => writeln!(
                text,
                "  %{r}.state = load i32, ptr %next.u, align 4\n  br label %after"
            ),
            Exit::One(next)
                if ways.direct[next.min(kernel.returned()) as usize].contains(&number) =>
            {
                writeln!(
                    text,
                    "  %{r}.whole = icmp eq i64 %{r}.lanes, %w.full\n  br i1 %{r}.whole, label %r{next}.begin, label %after"
                )
            }
            Exit::One(_) => writeln!(text, "  br label %after"),
        };
    }
}

/// Which regions follow which.
struct Ways {
    /// By region, and for the end: regions that lead to it alone, without a barrier between.
    direct: Vec<Vec<usize>>,
    /// State behind a region of which the lanes go one way, with the region.
    states: Vec<(String, usize)>,
    parts: bool,
}

impl Ways {
    fn new(kernel: &HostKernel) -> Self {
        let mut ways = Self {
            direct: vec![Vec::new(); kernel.regions.len() + 1],
            states: Vec::new(),
            parts: false,
        };
        for (number, region) in kernel.regions.iter().enumerate() {
            match region.exit {
                Exit::One(next) => {
                    if next < kernel.first_behind_barrier() {
                        ways.direct[next as usize].push(number);
                    }
                    ways.states.push((next.to_string(), number));
                }
                Exit::Uniform => ways.states.push((format!("%r{number}.state"), number)),
                Exit::Varying => ways.parts = true,
            }
        }
        ways
    }

    fn enter(&self, kernel: &HostKernel, text: &mut String) {
        let has_after = !self.states.is_empty();
        let after = |value: &str| {
            if has_after {
                format!(", [ {value}, %after.whole ]")
            } else {
                String::new()
            }
        };
        let _ = write!(
            text,
            "enter:
  %enter.state = phi i32 [ %w.state, %wave ], [ %g.state, %again ], [ %v.state, %resolve ]{}
  %enter.lanes = phi i64 [ %w.full, %wave ], [ %g.lanes, %again ], [ %v.lanes, %resolve ]{}
  switch i32 %enter.state, label %wave.end [",
            after("%a.state"),
            after("%w.full")
        );
        for number in 0..kernel.regions.len() {
            let _ = write!(text, " i32 {number}, label %r{number}.begin");
        }
        text.push_str(" ]\n");
    }

    /// Lanes that went one way.
    fn after(&self) -> String {
        if self.states.is_empty() {
            return String::new();
        }
        let (mut states, mut lanes) = (Vec::new(), Vec::new());
        for (state, number) in &self.states {
            states.push(format!("[ {state}, %r{number}.done ]"));
            lanes.push(format!("[ %r{number}.lanes, %r{number}.done ]"));
        }
        format!(
            "after:\n  %a.state = phi i32 {}\n  %a.lanes = phi i64 {}\n{AFTER}",
            states.join(", "),
            lanes.join(", ")
        )
    }
}

const WAVES_BEFORE: &str = "  br label %round
round:
  %is_first = phi i1 [ true, %block ], [ false, %round.end ]
  br label %wave.begin
wave.begin:
  %w.first = phi i64 [ 0, %round ], [ %w.first.next, %wave.end ]
  %w.left = phi i1 [ false, %round ], [ %w.left.next, %wave.end ]
  %w.rest = sub nuw nsw i64 %items, %w.first
  %w.count = call i64 @llvm.umin.i64(i64 %w.rest, i64 SIZE)
  %w.unused = sub nuw nsw i64 64, %w.count
  %w.full = lshr i64 -1, %w.unused
  %w.number = udiv exact i64 %w.first, SIZE
  %w.cell.o = mul nuw nsw i64 %w.number, CELL
  %w.cell = getelementptr inbounds i8, ptr %cells, i64 %w.cell.o
  %w.states = getelementptr inbounds i32, ptr %states, i64 %w.first
  %w.first32 = trunc i64 %w.first to i32
  %w.row = udiv i32 %w.first32, %block_size.x
  %w.x = urem i32 %w.first32, %block_size.x
  %w.y = urem i32 %w.row, %block_size.y
  %w.z = udiv i32 %w.row, %block_size.y
";

const WAVE_STARTS: &str = "  br i1 %is_first, label %wave, label %wave.again
wave.again:
  %w.kept = load i32, ptr %w.cell, align 8
  %w.mixed = icmp eq i32 %w.kept, MIXED
  br i1 %w.mixed, label %again, label %wave
wave:
  %w.state = phi i32 [ 0, %wave.begin ], [ %w.kept, %wave.again ]
  br label %enter
again:
  %g.state = call i32 @agpu.wave.lowest(ptr %w.states, i64 %w.full)
  %g.lanes = call i64 @agpu.wave.same(ptr %w.states, i64 %w.full, i32 %g.state)
  br label %enter
";

const AFTER: &str = "  %a.whole = icmp eq i64 %a.lanes, %w.full
  br i1 %a.whole, label %after.whole, label %after.part
after.whole:
  %a.runs = icmp ult i32 %a.state, WAITS
  br i1 %a.runs, label %enter, label %after.stop
after.stop:
  store i32 %a.state, ptr %w.cell, align 8
  br label %wave.end
after.part:
  call void @agpu.wave.fill(ptr %w.states, i64 %a.lanes, i32 %a.state)
  br label %resolve
";

const WAVES_AFTER: &str = "resolve:
  %v.state = call i32 @agpu.wave.lowest(ptr %w.states, i64 %w.full)
  %v.lanes = call i64 @agpu.wave.same(ptr %w.states, i64 %w.full, i32 %v.state)
  %v.whole = icmp eq i64 %v.lanes, %w.full
  %v.kept = select i1 %v.whole, i32 %v.state, i32 MIXED
  store i32 %v.kept, ptr %w.cell, align 8
  %v.runs = icmp ult i32 %v.state, WAITS
  br i1 %v.runs, label %enter, label %wave.end
wave.end:
  %e.kept = load i32, ptr %w.cell, align 8
  %e.more = icmp ne i32 %e.kept, RETURNED
  %w.left.next = or i1 %w.left, %e.more
  %w.first.next = add nuw nsw i64 %w.first, SIZE
  %w.more = icmp ult i64 %w.first.next, %items
  br i1 %w.more, label %wave.begin, label %round.end
round.end:
  br i1 %w.left.next, label %round, label %block.end
";

/// Runs of lanes without a gap; `#` is the prefix of names.
const LANES_BEFORE: &str = "  br label %#.run
#.run:
  %#.rest = phi i64 [ %#.lanes, %#.begin ], [ %#.rest.next, %#.run.end ]
  %#.from = call i64 @llvm.cttz.i64(i64 %#.rest, i1 true)
  %#.bit = shl nuw i64 1, %#.from
  %#.sum = add nuw i64 %#.rest, %#.bit
  %#.to = call i64 @llvm.cttz.i64(i64 %#.sum, i1 true)
  %#.rest.next = and i64 %#.rest, %#.sum
  %#.first = add nuw nsw i64 %w.first, %#.from
  %#.last = add nuw nsw i64 %w.first, %#.to
  %#.at.start = icmp eq i64 %#.from, 0
  br i1 %#.at.start, label %#.row, label %#.seek
#.seek:
  %#.first32 = trunc i64 %#.first to i32
  %#.seek.row = udiv i32 %#.first32, %block_size.x
  %#.seek.x = urem i32 %#.first32, %block_size.x
  %#.seek.y = urem i32 %#.seek.row, %block_size.y
  %#.seek.z = udiv i32 %#.seek.row, %block_size.y
  br label %#.row
#.row:
  %#.f = phi i64 [ %#.first, %#.run ], [ %#.first, %#.seek ], [ %#.f.next, %#.row.end ]
  %#.x0 = phi i32 [ %w.x, %#.run ], [ %#.seek.x, %#.seek ], [ 0, %#.row.end ]
  %#.y = phi i32 [ %w.y, %#.run ], [ %#.seek.y, %#.seek ], [ %#.y.next, %#.row.end ]
  %#.z = phi i32 [ %w.z, %#.run ], [ %#.seek.z, %#.seek ], [ %#.z.next, %#.row.end ]
  %#.left64 = sub nuw nsw i64 %#.last, %#.f
  %#.left = trunc i64 %#.left64 to i32
  %#.room = sub nuw nsw i32 %block_size.x, %#.x0
  %#.fits = icmp ult i32 %#.left, %#.room
  %#.count = select i1 %#.fits, i32 %#.left, i32 %#.room
  br label %#.item
#.item:
  %#.j = phi i32 [ 0, %#.row ], [ %#.j.next, %#.latch ]
  %#.x = add nuw nsw i32 %#.x0, %#.j
  %#.j64 = zext nneg i32 %#.j to i64
  %#.i = add nuw nsw i64 %#.f, %#.j64
";

const LANES_AFTER: &str = "  br label %#.latch
#.latch:
  %#.j.next = add nuw nsw i32 %#.j, STEP
  %#.j.more = icmp ult i32 %#.j.next, %#.count
  br i1 %#.j.more, label %#.item, label %#.row.endLOOP_METADATA
#.row.end:
  %#.count64 = zext nneg i32 %#.count to i64
  %#.f.next = add nuw nsw i64 %#.f, %#.count64
  %#.y.plus = add nuw nsw i32 %#.y, 1
  %#.y.wraps = icmp eq i32 %#.y.plus, %block_size.y
  %#.y.next = select i1 %#.y.wraps, i32 0, i32 %#.y.plus
  %#.carry.z = zext i1 %#.y.wraps to i32
  %#.z.next = add nuw nsw i32 %#.z, %#.carry.z
  %#.row.more = icmp ult i64 %#.f.next, %#.last
  br i1 %#.row.more, label %#.row, label %#.run.end
#.run.end:
  %#.run.more = icmp ne i64 %#.rest.next, 0
  br i1 %#.run.more, label %#.run, label %#.done
#.done:
";
