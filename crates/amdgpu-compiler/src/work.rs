//! What one work-item of a kernel computes and moves, counted in the IR after all passes: the place of a kernel under a roofline.
//!
//! Operations are additions, subtractions, multiplications, divisions and roots of floats, two for a fused multiply-add; bytes are those
//! of loads, stores and atomics in global memory, whatever a cache makes of them. Loops whose iterations follow from constants count that
//! often; of two sides of a branch the costlier counts. [`Bound`] says what that makes of the figures. What depends on the data is not
//! guessed: a checked launch counts it.

use serde::{Deserialize, Serialize};

use crate::ir::cfg::Cfg;
use crate::ir::loops::Loops;
use crate::ir::{
    AddressSpace, BinaryOp, BlockId, CastKind, Cooperation, Function, Intrinsic, Module, Op,
    Terminator, Type, Value,
};
use crate::passes::{Counted, counted};

/// Iterations are counted one by one; this many take a few milliseconds.
const MAX_TURNS: u64 = 1 << 13;
/// Steps from a pointer back to what it points into, and operands of one condition.
const MAX_STEPS: usize = 64;
/// Calls of calls that are looked into.
const MAX_DEPTH: usize = 16;

/// What the figures of a work-item are to be read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Every work-item inside of the kernel's own limits (`if (i < n)`) does just that.
    Exact,
    /// Sides of a branch differ.
    AtMost,
    /// A loop runs as often as the data says; one iteration is counted.
    AtLeast,
    /// Both.
    Rough,
}

/// Of one work-item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Work {
    /// Floating-point operations.
    pub operations: u64,
    /// Bytes of global memory, both ways.
    pub bytes: u64,
    pub bound: Bound,
    /// Lines of the source where loops start whose iterations are not known, ascending.
    pub open_loops: Vec<u32>,
}

/// Operations and bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cost([u64; 2]);

impl Cost {
    fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn times(self, iterations: u64) -> Self {
        self.with(Self([iterations; 2]), u64::saturating_mul)
    }

    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self([join(self.0[0], other.0[0]), join(self.0[1], other.0[1])])
    }
}

/// The least and the most that a function may cost.
#[derive(Clone, Default)]
struct Range {
    least: Cost,
    most: Cost,
    open_loops: Vec<u32>,
}

/// Counts a kernel.
pub(crate) fn of_kernel(module: &Module, kernel: &Function) -> Work {
    let mut counter = Counter {
        module,
        known: vec![None; module.functions.len()],
    };
    let range = counter.of_function(kernel, 0);
    let bound = match (range.least == range.most, range.open_loops.is_empty()) {
        (true, true) => Bound::Exact,
        (false, true) => Bound::AtMost,
        (true, false) => Bound::AtLeast,
        (false, false) => Bound::Rough,
    };
    let Cost([operations, bytes]) = range.most;
    Work {
        operations,
        bytes,
        bound,
        open_loops: range.open_loops,
    }
}

/// The floating-point operations of one instruction.
pub(crate) fn operations_of(function: &Function, value: Value) -> u64 {
    match function.op(value) {
        Op::Binary(
            BinaryOp::AddFloat
            | BinaryOp::SubtractFloat
            | BinaryOp::MultiplyFloat
            | BinaryOp::DivideFloat,
            ..,
        )
        | Op::Intrinsic(Intrinsic::Sqrt, _)
        | Op::Cooperative(Cooperation::AtomicAddFloat | Cooperation::AtomicAddFloatSystem, _) => 1,
        Op::Intrinsic(Intrinsic::FusedMultiplyAdd | Intrinsic::FusedMultiplyAddHalf, _) => 2,
        _ => 0,
    }
}

struct Counter<'m> {
    module: &'m Module,
    /// Of functions that were looked into.
    known: Vec<Option<Range>>,
}

impl Counter<'_> {
    fn of_function(&mut self, function: &Function, depth: usize) -> Range {
        let cfg = Cfg::new(function);
        let loops = Loops::new(function, &cfg);
        let mut range = Range::default();
        let mut plans: Vec<Option<Counted>> = Vec::new();
        for item in &loops.list {
            let plan = counted(function, &cfg, item, MAX_TURNS);
            if plan.is_none() {
                let line = function.blocks[item.header.0 as usize].line;
                range.open_loops.push(line);
            }
            plans.push(plan);
        }
        // What each block costs in all its iterations.
        let mut least = vec![Cost::default(); function.blocks.len()];
        let mut most = least.clone();
        for &block in &cfg.order {
            let index = block.0 as usize;
            for value in &function.blocks[index].instructions {
                let own = Cost([operations_of(function, *value), bytes_of(function, *value)]);
                least[index] = least[index].plus(own);
                most[index] = most[index].plus(own);
                if let Op::Call {
                    function: callee, ..
                } = function.op(*value)
                {
                    let inner = self.called(*callee, depth);
                    least[index] = least[index].plus(inner.least);
                    most[index] = most[index].plus(inner.most);
                    range.open_loops.extend(inner.open_loops);
                }
            }
            for number in loops.numbers_around(block) {
                let iterations = plans[number].map_or(1, |plan| {
                    // Up to where the loop decides, it runs once more than it goes on.
                    let is_after = plan.exiting != block && cfg.dominates(plan.exiting, block);
                    plan.iterations + u64::from(!is_after)
                });
                least[index] = least[index].times(iterations);
                most[index] = most[index].times(iterations);
            }
        }
        let mut paths = Paths {
            function,
            loops: &loops,
            least,
            most,
        };
        range.open_loops.extend(paths.sum());
        // Each line once: a function that calls itself twice would double the list at every step down.
        range.open_loops.sort_unstable();
        range.open_loops.dedup();
        range.least = paths.least[0];
        range.most = paths.most[0];
        range
    }

    fn called(&mut self, callee: u32, depth: usize) -> Range {
        let module = self.module;
        let (Some(function), Some(known)) = (
            module.functions.get(callee as usize),
            self.known.get(callee as usize),
        ) else {
            return Range::default();
        };
        if let Some(known) = known {
            return known.clone();
        }
        if depth == MAX_DEPTH {
            // Recursion runs as often as the data says.
            return Range {
                open_loops: vec![function.line],
                ..Range::default()
            };
        }
        let found = self.of_function(function, depth + 1);
        self.known[callee as usize] = Some(found.clone());
        found
    }
}

/// The ways through a function: what each block costs, and then what it costs from there to the end.
struct Paths<'f> {
    function: &'f Function,
    loops: &'f Loops,
    least: Vec<Cost>,
    most: Vec<Cost>,
}

impl Paths<'_> {
    /// Adds to each block what follows it; lines of blocks that lead back to themselves without being a loop.
    fn sum(&mut self) -> Vec<u32> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut circles = Vec::new();
        let mut states = vec![State::New; self.function.blocks.len()];
        let mut work = vec![BlockId(0)];
        while let Some(&block) = work.last() {
            let index = block.0 as usize;
            let targets = self.successors(block);
            if states[index] == State::New {
                states[index] = State::Open;
                for target in &targets {
                    match states[target.0 as usize] {
                        State::New => work.push(*target),
                        State::Open => circles.push(self.function.blocks[index].line),
                        State::Done => {}
                    }
                }
                continue;
            }
            work.pop();
            if states[index] == State::Done {
                continue;
            }
            states[index] = State::Done;
            let done = |target: &BlockId| states[target.0 as usize] == State::Done;
            let targets = self.within_limits(block, targets);
            let after = targets
                .iter()
                .filter(|target| done(target))
                .map(|target| (self.least[target.0 as usize], self.most[target.0 as usize]))
                .reduce(|a, b| (a.0.with(b.0, u64::min), a.1.with(b.1, u64::max)));
            if let Some((least, most)) = after {
                self.least[index] = self.least[index].plus(least);
                self.most[index] = self.most[index].plus(most);
            }
        }
        circles
    }

    /// Where a block leads on, each edge once: loops are gone through, and left at the end of an iteration.
    fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let around = || self.loops.around(block);
        let mut open = Vec::new();
        let terminator = &self.function.blocks[block.0 as usize].terminator;
        terminator.for_each_target(|target| open.push(target));
        let is_latch = around().any(|item| item.latches.contains(&block));
        let stays = |target: &BlockId| around().all(|item| item.contains(*target));
        if !is_latch && open.iter().any(stays) {
            open.retain(stays);
        }
        let mut targets = Vec::new();
        let mut steps = 0;
        while let Some(target) = open.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                break;
            }
            match around().find(|item| item.header == target) {
                Some(item) => {
                    let exits = item.exits(self.function);
                    open.extend(exits.into_iter().map(|(_, exit)| exit));
                }
                None => targets.push(target),
            }
        }
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Outside of loops, a test of the kernel's own limits is passed: of its two sides, the one that does something.
    fn within_limits(&self, block: BlockId, targets: Vec<BlockId>) -> Vec<BlockId> {
        let Terminator::Branch { condition, .. } =
            self.function.blocks[block.0 as usize].terminator
        else {
            return targets;
        };
        if self.loops.depth[block.0 as usize] > 0 || !is_limit(self.function, condition) {
            return targets;
        }
        let works = |target: &&BlockId| self.most[target.0 as usize] != Cost::default();
        if targets.iter().any(|target| works(&target)) {
            return targets.iter().filter(works).copied().collect();
        }
        targets
    }
}

/// Whether a condition compares work-item numbers with the kernel's parameters, and nothing that was loaded.
fn is_limit(function: &Function, condition: Value) -> bool {
    let mut work = vec![condition];
    let mut has_parameter = false;
    for _ in 0..MAX_STEPS {
        let Some(value) = work.pop() else {
            return has_parameter;
        };
        match function.op(value) {
            Op::Parameter(_) => has_parameter = true,
            Op::Constant(_) | Op::Special(_) => {}
            op if op.is_pure() => op.for_each_operand(|operand| work.push(operand)),
            _ => return false,
        }
    }
    false
}

/// The bytes of global memory that one instruction moves.
fn bytes_of(function: &Function, value: Value) -> u64 {
    let moved = |pointer: Value, bytes: u64| {
        if is_global(function, pointer) {
            bytes
        } else {
            0
        }
    };
    match function.op(value) {
        Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
            moved(*pointer, function.ty(value).bytes())
        }
        Op::Store { pointer, value }
        | Op::VolatileStore { pointer, value }
        | Op::NontemporalStore { pointer, value } => moved(*pointer, function.ty(*value).bytes()),
        Op::Copy {
            to, from, bytes, ..
        } => moved(*to, *bytes) + moved(*from, *bytes),
        Op::Clear { to, bytes, .. } => moved(*to, *bytes),
        Op::Cooperative(operation, operands) if !operation.is_sync_point() => {
            operands.first().map_or(0, |pointer| {
                // Read and written.
                if function.ty(*pointer).is_pointer() {
                    moved(*pointer, 2 * function.ty(value).bytes())
                } else {
                    0
                }
            })
        }
        _ => 0,
    }
}

/// Whether a pointer leads into global memory, as far as the function shows; what is not known most likely does.
fn is_global(function: &Function, pointer: Value) -> bool {
    let mut pointer = pointer;
    for _ in 0..MAX_STEPS {
        match function.ty(pointer) {
            Type::Pointer(AddressSpace::Global) => return true,
            Type::Pointer(AddressSpace::Generic) => {}
            _ => return false,
        }
        pointer = match function.op(pointer) {
            Op::Cast(CastKind::AddressSpace, inner) | Op::Offset { pointer: inner, .. } => *inner,
            Op::Select(_, a, _) => *a,
            _ => return true,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{Bound, Work};
    use crate::{CompileOptions, Compiler, Target};

    fn count(source: &str, target: &str) -> Work {
        let target = Target::parse(target).expect("a known target");
        let unit = Compiler::new()
            .compile(source, &CompileOptions::default(), &target)
            .expect("a source without errors");
        unit.kernels[0].work.clone().expect("counted")
    }

    fn figures(source: &str) -> (u64, u64, Bound, Vec<u32>) {
        let work = count(source, "x86_64");
        assert_eq!(work, count(source, "gfx1100"), "the same on every target");
        (work.operations, work.bytes, work.bound, work.open_loops)
    }

    #[test]
    fn straight_code_behind_the_kernels_own_limits_is_exact() {
        let saxpy = "__global__ void saxpy(const float* x, float* y, float a, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = a * x[i] + y[i];
        }";
        assert_eq!(figures(saxpy), (2, 12, Bound::Exact, vec![]));
        let early = "__global__ void early(const double* x, double* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n) return;
            y[i] = sqrt(x[i]) / 3.0;
        }";
        assert_eq!(figures(early), (2, 16, Bound::Exact, vec![]));
    }

    #[test]
    fn loops_of_known_length_count_every_turn() {
        let polynomial = "__global__ void polynomial(const float* x, float* y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            float sum = 0.0f;
            #pragma unroll 1
            for (int k = 0; k < 1000; ++k) sum = sum * x[i] + 1.0f;
            y[i] = sum;
        }";
        let work = count(polynomial, "x86_64");
        assert_eq!((work.operations, work.bound), (2000, Bound::Exact));
        let nested = "__global__ void nested(const float* x, float* y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            float sum = 0.0f;
            #pragma unroll 1
            for (int k = 0; k < 100; ++k)
                #pragma unroll 1
                for (int j = 0; j < 50; ++j) sum += x[(i + k * j) & 1023];
            y[i] = sum;
        }";
        let found = figures(nested);
        assert_eq!(found, (5000, 4 * 5000 + 4, Bound::Exact, vec![]));
    }

    #[test]
    fn loops_over_data_are_named_by_their_line() {
        let rows = "__global__ void rows(const float* x, float* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            float sum = 0.0f;
            for (int k = 0; k < n; ++k)
                sum += x[i * n + k];
            y[i] = sum;
        }";
        let work = count(rows, "gfx1100");
        assert_eq!((work.bound, work.open_loops), (Bound::AtLeast, vec![4]));
        assert!(work.operations >= 1 && work.bytes >= 8);
    }

    #[test]
    fn the_costlier_side_of_a_branch_counts_and_shared_memory_does_not() {
        let branches = "__global__ void branches(const float* x, float* y) {
            __shared__ float part[64];
            int i = threadIdx.x;
            part[i] = x[i];
            __syncthreads();
            if (i < 8) part[i] = part[i] * part[i + 8] + part[i + 16] * 2.0f;
            __syncthreads();
            y[i] = part[i];
        }";
        assert_eq!(figures(branches), (3, 8, Bound::AtMost, vec![]));
    }
}
