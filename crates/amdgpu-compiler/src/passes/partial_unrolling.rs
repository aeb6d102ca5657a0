//! Partial unrolling: a loop that counts becomes two, one of several iterations at a time while so many are left, and the loop as it was
//! for the rest.
//!
//! Whether enough iterations are left follows from a bound found in 64 bits, where nothing wraps. So in the first loop no index of 32 bits wraps either:
//! addresses of later iterations are that of the first one plus a constant, their loads are on their way together, and every iteration computes
//! what it did. LLVM cannot know this of a counter that may wrap, as all ours may.
//!
//! Done where the source asks for it (`#pragma unroll N`), and on NVIDIA GPUs where it pays unasked.

use super::cost::registers;
use super::{Context, Pass, for_each_target_mut};
use crate::ir::cfg::Cfg;
use crate::ir::loops::{Loop, Loops};
use crate::ir::{
    BinaryOp, Block, BlockId, CastKind, Function, Instruction, Intrinsic, Op, Predicate,
    Terminator, Type, Unroll, Value,
};

pub struct PartialUnrolling;

/// What a loop that the source wants unrolled may become; past it LLVM decides.
const MAX_ASKED_INSTRUCTIONS: usize = 10_000;
/// What a loop may become of which a profile says that it runs often.
const MAX_MEASURED_INSTRUCTIONS: usize = 512;
/// Instructions of a loop that is unrolled unasked: four copies of more would not stay in the instruction cache.
const MAX_INSTRUCTIONS: usize = 96;
/// The same for twice as many iterations at a time, so that twice as many loads are on their way: for what is left then, four iterations follow.
const MAX_SMALL_INSTRUCTIONS: usize = 48;
/// Registers alive in a loop that is unrolled unasked: with four iterations at once a multiprocessor still holds as many blocks.
const MAX_LIVE_REGISTERS: u64 = 32;

impl Pass for PartialUnrolling {
    fn name(&self) -> &'static str {
        super::PARTIAL_UNROLLING
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        let is_said = function
            .blocks
            .iter()
            .any(|block| matches!(block.unroll, Some(Unroll::Times(_) | Unroll::Measured(_))));
        if !is_said && ctx.budget.turns_at_once < 2 {
            return 0;
        }
        let (cfg, loops) = (ctx.cfg(function), ctx.loops(function));
        // What is done to one loop leaves the others' blocks as they are, as long as none is inside of another.
        let mut plans: Vec<(&Loop, Counter, Vec<u32>)> = Vec::new();
        for item in &loops.list {
            crate::effort::spend(plans.len());
            let is_apart = plans.iter().all(|(done, ..)| !item.contains(done.header));
            if is_apart
                && let Some(counter) = Counter::of(function, &cfg, item)
                && let Some(times) = turns_at_once(function, &cfg, &loops, item, &counter, ctx)
            {
                plans.push((item, counter, times));
            }
        }
        for (item, counter, times) in &plans {
            let line = function.blocks[item.header.0 as usize].line;
            let iterations = times.iter().map(u32::to_string).collect::<Vec<_>>();
            ctx.findings.add(function, line, || {
                format!(
                    "loop does {} iterations at a time",
                    iterations.join(", then ")
                )
            });
            let mut preheader = item.preheader(function, &cfg);
            for &times in times {
                preheader = preheader.and_then(|from| unroll(function, from, item, counter, times));
            }
        }
        if !plans.is_empty() {
            ctx.blocks_changed();
        }
        plans.len() as u64
    }
}

/// How many iterations a loop should do at a time, and then for what is left.
fn turns_at_once(
    function: &Function,
    cfg: &Cfg,
    loops: &Loops,
    item: &Loop,
    counter: &Counter,
    ctx: &Context<'_>,
) -> Option<Vec<u32>> {
    let size: usize = item
        .blocks
        .iter()
        .map(|block| function.blocks[block.0 as usize].instructions.len() + 1)
        .sum();
    let meets = item.any(
        function,
        |op| matches!(op, Op::Cooperative(operation, _) if operation.is_sync_point()),
    );
    match function.blocks[item.header.0 as usize].unroll {
        Some(Unroll::Times(times)) => {
            let fits = (times as usize) <= MAX_ASKED_INSTRUCTIONS / size;
            (fits && !meets).then(|| vec![times])
        }
        Some(Unroll::Measured(times)) => {
            let fits = (times as usize) <= MAX_MEASURED_INSTRUCTIONS / size;
            let is_innermost = loops.is_innermost(item);
            (fits && !meets && is_innermost && counter.may_turn(function, times))
                .then(|| vec![times])
        }
        Some(Unroll::Full | Unroll::Never) => None,
        None => {
            let times = ctx.budget.turns_at_once;
            let pays = times > 1
                && size <= MAX_INSTRUCTIONS
                && pays(function, loops, item)
                && counter.may_turn(function, times)
                && (!counter.is_by_one(function) || divides(function, item))
                && registers::most_live_in(function, cfg, &item.blocks) <= MAX_LIVE_REGISTERS;
            let is_small = size <= MAX_SMALL_INSTRUCTIONS && counter.may_turn(function, 2 * times);
            pays.then(|| {
                if is_small {
                    vec![2 * times, times]
                } else {
                    vec![times]
                }
            })
        }
    }
}

/// Whether iterations of an innermost loop wait for loads that could overlap.
fn pays(function: &Function, loops: &Loops, item: &Loop) -> bool {
    let is_innermost = loops.is_innermost(item);
    let is_plain = !item.any(function, |op| {
        matches!(
            op,
            Op::Cooperative(..) | Op::Call { .. } | Op::VolatileLoad(_) | Op::VolatileStore { .. }
        )
    });
    is_innermost && is_plain && item.any(function, |op| matches!(op, Op::Load(_)))
}

/// Divisions are calls to ptxas, which then leaves a loop as it is; other loops that count by one it unrolls itself. Those by square
/// roots are instructions.
fn divides(function: &Function, item: &Loop) -> bool {
    item.any(function, |op| match op {
        Op::Binary(BinaryOp::DivideFloat, _, divisor) => {
            !matches!(function.op(*divisor), Op::Intrinsic(Intrinsic::Sqrt, _))
        }
        _ => false,
    })
}

/// A loop that is left at its start, when a counter of 32 bits passes a bound that stays.
struct Counter {
    /// What counts.
    phi: Value,
    step: Value,
    /// Whether the step is taken away.
    is_subtracted: bool,
    bound: Value,
    /// Counter compared with bound, to stay in the loop.
    stays_while: Predicate,
    /// Where the loop goes on.
    onward: BlockId,
}

impl Counter {
    fn of(function: &Function, cfg: &Cfg, item: &Loop) -> Option<Self> {
        let [latch] = item.latches.as_slice() else {
            return None;
        };
        item.preheader(function, cfg)?;
        let exits = item.exits(function);
        let [(exiting, exit)] = exits.as_slice() else {
            return None;
        };
        if *exiting != item.header || *latch == item.header {
            return None;
        }
        let header = &function.blocks[item.header.0 as usize];
        let Terminator::Branch { condition, yes, no } = header.terminator else {
            return None;
        };
        let onward = if yes == *exit { no } else { yes };
        let Op::Compare(predicate, a, b) = *function.op(condition) else {
            return None;
        };
        let stays_while = if yes == *exit {
            opposite(predicate)?
        } else {
            predicate
        };
        let is_inside = |value: Value| {
            item.blocks.iter().any(|block| {
                function.blocks[block.0 as usize]
                    .instructions
                    .contains(&value)
            })
        };
        let is_phi = |value: Value| {
            matches!(function.op(value), Op::Phi(_)) && header.instructions.contains(&value)
        };
        let (counter, bound, stays_while) = match (is_phi(a), is_phi(b)) {
            (true, false) => (a, b, stays_while),
            (false, true) => (b, a, mirrored(stays_while)?),
            _ => return None,
        };
        if function.ty(counter) != Type::I32 || is_inside(bound) {
            return None;
        }
        let Op::Phi(inputs) = function.op(counter) else {
            return None;
        };
        let next = inputs.iter().find(|(from, _)| from == latch)?.1;
        let (step, is_subtracted) = match *function.op(next) {
            Op::Binary(BinaryOp::Add, x, step) if x == counter => (step, false),
            Op::Binary(BinaryOp::Add, step, x) if x == counter => (step, false),
            Op::Binary(BinaryOp::Subtract, x, step) if x == counter => (step, true),
            _ => return None,
        };
        if is_inside(step) {
            return None;
        }
        let found = Self {
            phi: counter,
            step,
            is_subtracted,
            bound,
            stays_while,
            onward,
        };
        found.goes_towards_bound(function).then_some(found)
    }

    fn constant_step(&self, function: &Function) -> Option<i64> {
        let bits = function.constant(self.step)?;
        let step = i64::from(bits as u32 as i32);
        Some(if self.is_subtracted { -step } else { step })
    }

    fn goes_up(&self) -> bool {
        matches!(
            self.stays_while,
            Predicate::LessSigned
                | Predicate::LessEqualSigned
                | Predicate::LessUnsigned
                | Predicate::LessEqualUnsigned
        )
    }

    fn is_signed(&self) -> bool {
        matches!(
            self.stays_while,
            Predicate::LessSigned
                | Predicate::LessEqualSigned
                | Predicate::GreaterSigned
                | Predicate::GreaterEqualSigned
        )
    }

    /// Steps that are not known are looked at when the loop starts; they must be added to a counter that goes up.
    fn goes_towards_bound(&self, function: &Function) -> bool {
        match self.constant_step(function) {
            Some(step) => step != 0 && (step > 0) == self.goes_up(),
            None => !self.is_subtracted && self.goes_up(),
        }
    }

    fn is_by_one(&self, function: &Function) -> bool {
        self.constant_step(function)
            .is_some_and(|step| step.abs() == 1)
    }

    /// Whether a loop to a known bound by known steps can do so many iterations, if it starts at 0 or further.
    fn may_turn(&self, function: &Function, times: u32) -> bool {
        let (Some(bound), Some(step)) =
            (function.constant(self.bound), self.constant_step(function))
        else {
            return true;
        };
        let bound = i64::from(bound as u32 as i32);
        !self.goes_up() || bound / step >= i64::from(times)
    }
}

/// What holds when this does not.
fn opposite(predicate: Predicate) -> Option<Predicate> {
    use Predicate as P;
    Some(match predicate {
        P::LessSigned => P::GreaterEqualSigned,
        P::LessEqualSigned => P::GreaterSigned,
        P::GreaterSigned => P::LessEqualSigned,
        P::GreaterEqualSigned => P::LessSigned,
        P::LessUnsigned => P::GreaterEqualUnsigned,
        P::LessEqualUnsigned => P::GreaterUnsigned,
        P::GreaterUnsigned => P::LessEqualUnsigned,
        P::GreaterEqualUnsigned => P::LessUnsigned,
        _ => return None,
    })
}

/// The same with the operands the other way round.
fn mirrored(predicate: Predicate) -> Option<Predicate> {
    use Predicate as P;
    Some(match predicate {
        P::LessSigned => P::GreaterSigned,
        P::LessEqualSigned => P::GreaterEqualSigned,
        P::GreaterSigned => P::LessSigned,
        P::GreaterEqualSigned => P::LessEqualSigned,
        P::LessUnsigned => P::GreaterUnsigned,
        P::LessEqualUnsigned => P::GreaterEqualUnsigned,
        P::GreaterUnsigned => P::LessUnsigned,
        P::GreaterEqualUnsigned => P::LessEqualUnsigned,
        _ => return None,
    })
}

/// Puts a loop of several iterations at a time before a loop, behind `preheader`; gives the block that is between them then.
fn unroll(
    function: &mut Function,
    preheader: BlockId,
    item: &Loop,
    counter: &Counter,
    times: u32,
) -> Option<BlockId> {
    let [latch] = item.latches.as_slice() else {
        return None;
    };
    let header_line = function.blocks[item.header.0 as usize].line;
    let phis: Vec<Value> = function.blocks[item.header.0 as usize]
        .instructions
        .iter()
        .copied()
        .take_while(|value| matches!(function.op(*value), Op::Phi(_)))
        .collect();
    let between = BlockId(function.blocks.len() as u32);
    function.blocks.push(Block {
        terminator: Terminator::Jump(item.header),
        ..Block::new(header_line)
    });
    let start = BlockId(function.blocks.len() as u32);
    function.blocks.push(Block {
        unroll: Some(Unroll::Never),
        ..Block::new(header_line)
    });
    // The phis of the loop before, whose inputs from its end come later.
    let mut leading = Vec::with_capacity(phis.len());
    for &phi in &phis {
        let Op::Phi(inputs) = function.op(phi) else {
            continue;
        };
        let entering: Vec<_> = inputs
            .iter()
            .copied()
            .filter(|(from, _)| *from == preheader)
            .collect();
        let (ty, line) = (function.ty(phi), function.values[phi.0 as usize].line);
        leading.push(function.add_value(Op::Phi(entering), ty, line));
    }
    let mut guard = Guard {
        function: &mut *function,
        before: Vec::new(),
        inside: leading.clone(),
        line: header_line,
    };
    let position = phis.iter().position(|phi| *phi == counter.phi);
    let first = leading[position.unwrap_or(0)];
    let (condition, wide, step) = guard.condition(counter, first, times);
    let (before, instructions) = (guard.before, guard.inside);
    function.blocks[preheader.0 as usize]
        .instructions
        .extend(before);
    let before_turns = function.blocks.len() as u32;
    let block = &mut function.blocks[start.0 as usize];
    block.instructions = instructions;
    block.terminator = Terminator::Branch {
        condition,
        yes: BlockId(before_turns),
        no: between,
    };
    let mut copier = Copier {
        function: &mut *function,
        item,
        latch: *latch,
        start,
        phis: &phis,
        counter,
        wide,
        step,
    };
    let mut values = leading.clone();
    for iteration in 0..times {
        values = copier.iteration(iteration, iteration + 1 == times, &values);
    }
    let last_latch = copier.block(*latch, times - 1);
    for (&phi, &value) in leading.iter().zip(&values) {
        if let Op::Phi(inputs) = &mut function.values[phi.0 as usize].op {
            inputs.push((last_latch, value));
        }
    }
    for (&phi, &lead) in phis.iter().zip(&leading) {
        if let Op::Phi(inputs) = &mut function.values[phi.0 as usize].op {
            for input in inputs.iter_mut().filter(|(from, _)| *from == preheader) {
                *input = (between, lead);
            }
        }
    }
    function.blocks[preheader.0 as usize].terminator = Terminator::Jump(start);
    function.blocks[item.header.0 as usize].unroll = Some(Unroll::Never);
    Some(between)
}

/// Writes the test whether enough iterations are left.
struct Guard<'f> {
    function: &'f mut Function,
    /// What stays in the loop, for the block before it.
    before: Vec<Value>,
    /// What stands at the start of the loop.
    inside: Vec<Value>,
    line: u32,
}

impl Guard<'_> {
    fn before(&mut self, op: Op, ty: Type) -> Value {
        let value = self.function.add_value(op, ty, self.line);
        if !self.function.op(value).is_floating() {
            self.before.push(value);
        }
        value
    }

    fn inside(&mut self, op: Op, ty: Type) -> Value {
        let value = self.function.add_value(op, ty, self.line);
        self.inside.push(value);
        value
    }

    /// The condition, the counter in 64 bits, and the step in 64 bits.
    ///
    /// The counter is compared with the bound less the steps of all iterations but one. Where that is not in the range of 32 bits, there
    /// are not so many iterations.
    fn condition(&mut self, counter: &Counter, first: Value, times: u32) -> (Value, Value, Value) {
        let extend = counter.extension();
        let wide = self.inside(Op::Cast(extend, first), Type::I64);
        let bound = self.before(Op::Cast(extend, counter.bound), Type::I64);
        let constant_step = counter.constant_step(self.function);
        let (step, further) = if let Some(step) = constant_step {
            let further = step * i64::from(times - 1);
            let step = self.before(Op::Constant(step as u64), Type::I64);
            (step, self.before(Op::Constant(further as u64), Type::I64))
        } else {
            let extended = Op::Cast(CastKind::ExtendSigned, counter.step);
            let step = self.before(extended, Type::I64);
            let iterations = self.before(Op::Constant(u64::from(times - 1)), Type::I64);
            let further = Op::Binary(BinaryOp::Multiply, step, iterations);
            (step, self.before(further, Type::I64))
        };
        let limit = Op::Binary(BinaryOp::Subtract, bound, further);
        let limit = self.before(limit, Type::I64);
        let (edge, in_range) = match (counter.goes_up(), counter.is_signed()) {
            (true, true) => (i64::from(i32::MIN), Predicate::GreaterEqualSigned),
            (true, false) => (0, Predicate::GreaterEqualSigned),
            (false, true) => (i64::from(i32::MAX), Predicate::LessEqualSigned),
            (false, false) => (i64::from(u32::MAX), Predicate::LessEqualSigned),
        };
        let wide_edge = self.before(Op::Constant(edge as u64), Type::I64);
        let mut is_possible = self.before(Op::Compare(in_range, limit, wide_edge), Type::I1);
        if constant_step.is_none() {
            let zero = self.before(Op::Constant(0), Type::I64);
            let is_up = Op::Compare(Predicate::GreaterSigned, step, zero);
            let is_up = self.before(is_up, Type::I1);
            let both = Op::Binary(BinaryOp::And, is_possible, is_up);
            is_possible = self.before(both, Type::I1);
        }
        let limit = self.before(Op::Cast(CastKind::Truncate, limit), Type::I32);
        let condition = if counter.stays_at_bound() {
            let compare = Op::Compare(counter.stays_while, first, limit);
            let compare = self.inside(compare, Type::I1);
            self.inside(Op::Binary(BinaryOp::And, compare, is_possible), Type::I1)
        } else {
            // No counter is beyond the edge.
            let edge = self.before(Op::Constant(u64::from(edge as u32)), Type::I32);
            let limit = self.before(Op::Select(is_possible, limit, edge), Type::I32);
            self.inside(Op::Compare(counter.stays_while, first, limit), Type::I1)
        };
        (condition, wide, step)
    }
}

impl Counter {
    fn stays_at_bound(&self) -> bool {
        matches!(
            self.stays_while,
            Predicate::LessEqualSigned
                | Predicate::LessEqualUnsigned
                | Predicate::GreaterEqualSigned
                | Predicate::GreaterEqualUnsigned
        )
    }

    /// How the counter becomes 64 bits.
    fn extension(&self) -> CastKind {
        if self.is_signed() {
            CastKind::ExtendSigned
        } else {
            CastKind::ExtendUnsigned
        }
    }
}

/// Copies iterations of a loop, one behind the other.
struct Copier<'f> {
    function: &'f mut Function,
    item: &'f Loop,
    latch: BlockId,
    /// The start of the loop that the iterations belong to; they come right behind it.
    start: BlockId,
    phis: &'f [Value],
    counter: &'f Counter,
    /// The counter in 64 bits, of the present iteration.
    wide: Value,
    step: Value,
}

impl Copier<'_> {
    /// The copy of a block of the loop.
    fn block(&self, block: BlockId, iteration: u32) -> BlockId {
        let mut blocks = self.item.blocks.iter();
        let position = blocks.position(|member| *member == block).unwrap_or(0);
        BlockId(self.start.0 + 1 + iteration * self.item.blocks.len() as u32 + position as u32)
    }

    /// Adds the blocks of an iteration, in which the phis of the header have these values; gives those that they have in the next one.
    fn iteration(&mut self, iteration: u32, is_last: bool, values: &[Value]) -> Vec<Value> {
        let mut mapped: Vec<Option<Value>> = vec![None; self.function.values.len()];
        for (phi, value) in self.phis.iter().zip(values) {
            mapped[phi.0 as usize] = Some(*value);
        }
        let originals: Vec<Value> = self
            .item
            .blocks
            .iter()
            .flat_map(|block| &self.function.blocks[block.0 as usize].instructions)
            .copied()
            .filter(|value| !self.phis.contains(value))
            .collect();
        let header_line = self.function.blocks[self.item.header.0 as usize].line;
        let mut additions = Vec::new();
        if iteration > 0 {
            let next = Op::Binary(BinaryOp::Add, self.wide, self.step);
            self.wide = self.function.add_value(next, Type::I64, header_line);
            additions.push(self.wide);
        }
        let widening = Op::Cast(self.counter.extension(), self.counter.phi);
        let is_wide = |function: &Function, value: Value| {
            *function.op(value) == widening && function.ty(value) == Type::I64
        };
        let (widened, originals): (Vec<Value>, Vec<Value>) = originals
            .into_iter()
            .partition(|value| is_wide(self.function, *value));
        for value in &widened {
            mapped[value.0 as usize] = Some(self.wide);
        }
        for (number, value) in (self.function.values.len() as u32..).zip(&originals) {
            mapped[value.0 as usize] = Some(Value(number));
        }
        let rename = |value: Value| {
            mapped
                .get(value.0 as usize)
                .copied()
                .flatten()
                .unwrap_or(value)
        };
        for value in &originals {
            let Instruction { mut op, ty, line } = self.function.values[value.0 as usize].clone();
            op.for_each_operand_mut(|operand| *operand = rename(*operand));
            if let Op::Phi(inputs) = &mut op {
                for (from, _) in inputs {
                    *from = self.block(*from, iteration);
                }
            }
            self.function.add_value(op, ty, line);
        }
        for &block in &self.item.blocks {
            let source = &self.function.blocks[block.0 as usize];
            let is_header = block == self.item.header;
            let copies = source
                .instructions
                .iter()
                .filter(|value| !self.phis.contains(value) && !widened.contains(value))
                .map(|value| rename(*value));
            let instructions = if is_header {
                additions.iter().copied().chain(copies).collect()
            } else {
                copies.collect()
            };
            let (line, unroll) = (source.line, source.unroll.filter(|_| !is_header));
            let source_weights = source.weights;
            let mut terminator = source.terminator.clone();
            if is_header {
                terminator = Terminator::Jump(self.counter.onward);
            }
            if let Some(operand) = terminator.operand_mut() {
                *operand = rename(*operand);
            }
            for_each_target_mut(&mut terminator, |target| {
                *target = match *target {
                    to if to == self.item.header && is_last => self.start,
                    to if to == self.item.header => self.block(to, iteration + 1),
                    to => self.block(to, iteration),
                };
            });
            self.function.blocks.push(Block {
                instructions,
                terminator,
                line,
                unroll,
                weights: source_weights,
            });
        }
        let next = |phi: &Value| match self.function.op(*phi) {
            Op::Phi(inputs) => {
                let mut inputs = inputs.iter();
                let found = inputs.find(|(from, _)| *from == self.latch);
                found.map_or(*phi, |(_, value)| rename(*value))
            }
            _ => *phi,
        };
        self.phis.iter().map(next).collect()
    }
}
