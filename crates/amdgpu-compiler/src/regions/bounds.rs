//! Regions in which only the first work-items of a row do anything: those with an index below a bound that is the same for the
//! whole row, as in `if (t < s)`. A function of its own says how many they are, and the others are left out.
//!
//! An index into the arguments of a kernel, as in `if (i < n)`, is below its bound in all blocks but the last, where it would not
//! be worth the time that the function takes to compile.

use super::{Bound, Exit, Given, HostKernel};
use crate::ir::{
    BinaryOp, Block, BlockId, CastKind, Function, Module, Op, Parameter, Predicate, Special,
    SpecialKind, Terminator, Type, Value,
};

/// Instructions that bounds may be computed by.
const MOST_INSTRUCTIONS: usize = 64;

/// Adds the functions to a module, and their numbers to the regions.
pub fn add_all(module: &mut Module, kernels: &mut [HostKernel]) {
    for kernel in kernels.iter_mut().filter(|kernel| !kernel.has_waves()) {
        let parts = kernel.parts();
        let own = kernel.own_parameters();
        for region in &mut kernel.regions {
            if region.is_decision || !matches!(region.exit, Exit::One(_)) {
                continue;
            }
            let function = &module.functions[region.function];
            let found = tests(function);
            let mut builder = Builder::new(function, own, &region.given);
            let mut exact: Vec<(BlockId, BlockId)> = Vec::new();
            let mut is_bounded = false;
            for test in &found {
                is_bounded |= builder.test(test.condition, test.is_wanted);
                if builder.is_exact(test) {
                    exact.push((test.block, test.to));
                }
            }
            if !is_bounded {
                continue;
            }
            let is_one = builder.is_one;
            let is_given = builder.is_given;
            let bound = builder.finish();
            // Where work-items part, vectors run regions as a whole.
            if !parts {
                let function = &mut module.functions[region.function];
                for (block, to) in exact {
                    function.blocks[block.0 as usize].terminator = Terminator::Jump(to);
                }
            }
            region.bound = Some(Bound {
                function: module.functions.len(),
                is_given,
                is_one,
            });
            module.functions.push(bound);
        }
    }
}

/// A branch at the start of a function without which nothing is done.
struct Test {
    block: BlockId,
    condition: Value,
    /// Which way something is done.
    is_wanted: bool,
    to: BlockId,
}

fn tests(function: &Function) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut block = BlockId(0);
    for _ in 0..function.blocks.len() {
        let data = &function.blocks[block.0 as usize];
        let mut instructions = data.instructions.iter();
        if instructions.any(|value| function.op(*value).has_effect()) {
            break;
        }
        match data.terminator {
            Terminator::Jump(to) => block = to,
            Terminator::Branch { condition, yes, no } => {
                let is_wanted = does_nothing(function, no);
                if is_wanted == does_nothing(function, yes) {
                    break;
                }
                let to = if is_wanted { yes } else { no };
                tests.push(Test {
                    block,
                    condition,
                    is_wanted,
                    to,
                });
                block = to;
            }
            _ => break,
        }
    }
    tests
}

/// Whether a way leads to the end at once.
fn does_nothing(function: &Function, mut block: BlockId) -> bool {
    for _ in 0..function.blocks.len() {
        let data = &function.blocks[block.0 as usize];
        let mut instructions = data.instructions.iter();
        if instructions.any(|value| function.op(*value).has_effect()) {
            return false;
        }
        match data.terminator {
            Terminator::Jump(to) => block = to,
            Terminator::Return(_) => return true,
            _ => return false,
        }
    }
    false
}

fn is_row_index(function: &Function, value: Value) -> bool {
    matches!(function.op(value), Op::Special(special) if special.kind == SpecialKind::ThreadIndex && special.axis == 0)
}

/// What values are along a row of work-items.
struct Row<'f> {
    function: &'f Function,
    /// Values that are parameters of this number and above cannot be had before work-items are known, up to the second number.
    hidden: std::ops::Range<usize>,
    left: usize,
    /// No parameter and no index of a block has been seen.
    is_local: bool,
}

impl Row<'_> {
    /// By how much a value goes up from one work-item to the next: 0 or 1; `None` for other ways and for what is not computed from
    /// arguments and indices by a few operations.
    fn steps(&mut self, value: Value) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let op = self.function.op(value);
        match op {
            Op::Special(_) if is_row_index(self.function, value) => Some(1),
            Op::Special(special) => {
                self.is_local &= special.kind != SpecialKind::BlockIndex;
                (!matches!(special.kind, SpecialKind::Lane | SpecialKind::WaveSize)).then_some(0)
            }
            Op::Constant(_) => Some(0),
            Op::Parameter(number) => {
                let number = *number as usize;
                self.is_local &= number >= self.hidden.start;
                (!self.hidden.contains(&number)).then_some(0)
            }
            Op::Binary(BinaryOp::Add, a, b) => {
                let sum = self.steps(*a)? + self.steps(*b)?;
                (sum <= 1).then_some(sum)
            }
            Op::Binary(BinaryOp::Subtract, a, b) => {
                let first = self.steps(*a)?;
                (self.steps(*b)? == 0).then_some(first)
            }
            op if op.is_pure() => {
                let mut operands = Vec::new();
                op.for_each_operand(|operand| operands.push(operand));
                let mut all = operands.into_iter();
                all.all(|operand| self.steps(operand) == Some(0))
                    .then_some(0)
            }
            _ => None,
        }
    }
}

/// The function that counts.
struct Builder<'f> {
    source: &'f Function,
    hidden: std::ops::Range<usize>,
    out: Function,
    /// New values of old ones.
    map: Vec<(Value, Value)>,
    count: Value,
    size: Value,
    /// Parameters from this number on are values kept between regions.
    own: usize,
    is_given: bool,
    is_one: bool,
}

impl<'f> Builder<'f> {
    /// Of the parameters of `source`, those behind `own` are the addresses of elements, then uniform values, then results.
    fn new(source: &'f Function, own: usize, given: &Given) -> Self {
        let hidden = own..own + given.contexts.len();
        let mut parameters: Vec<Parameter> = source.parameters.clone();
        parameters.truncate(hidden.end + given.uniforms.len());
        parameters.drain(hidden.clone());
        let line = source.line;
        let mut out = Function {
            name: format!("{}.bound", source.name),
            is_kernel: false,
            is_never_inlined: false,
            parameters,
            result: Type::I32,
            values: Vec::new(),
            blocks: vec![Block::new(line)],
            launch_bounds: None,
            line,
        };
        let size = Op::Special(Special {
            kind: SpecialKind::BlockSize,
            axis: 0,
        });
        let size = add(&mut out, size, Type::I32);
        let size = add(
            &mut out,
            Op::Cast(CastKind::ExtendUnsigned, size),
            Type::I64,
        );
        Self {
            source,
            hidden,
            out,
            map: Vec::new(),
            count: size,
            size,
            own,
            is_given: false,
            is_one: false,
        }
    }

    fn finish(mut self) -> Function {
        let count = Op::Cast(CastKind::Truncate, self.count);
        let count = self.emit(count, Type::I32);
        self.out.blocks[0].terminator = Terminator::Return(Some(count));
        self.out
    }

    fn emit(&mut self, op: Op, ty: Type) -> Value {
        add(&mut self.out, op, ty)
    }

    fn constant(&mut self, number: i64) -> Value {
        let op = Op::Constant(number as u64);
        self.out.add_value(op, Type::I64, 0)
    }

    fn steps(&self, value: Value) -> Option<u32> {
        self.row().steps(value)
    }

    fn row(&self) -> Row<'f> {
        Row {
            function: self.source,
            hidden: self.hidden.clone(),
            left: MOST_INSTRUCTIONS,
            is_local: true,
        }
    }

    /// Whether a value is an index of a row within its block.
    fn is_index(&self, value: Value) -> bool {
        let mut row = self.row();
        row.steps(value) == Some(1) && row.is_local
    }

    /// Lowers the count to the work-items that can pass a test; whether there is anything to lower.
    fn test(&mut self, condition: Value, is_wanted: bool) -> bool {
        match *self.source.op(condition) {
            Op::Binary(BinaryOp::And, a, b) if is_wanted => {
                let first = self.test(a, true);
                self.test(b, true) || first
            }
            Op::Binary(BinaryOp::Or, a, b) if !is_wanted => {
                let first = self.test(a, false);
                self.test(b, false) || first
            }
            Op::Compare(predicate, a, b) => {
                let predicate = if is_wanted {
                    Some(predicate)
                } else {
                    opposite(predicate)
                };
                let Some(predicate) = predicate else {
                    return false;
                };
                match mirrored(predicate) {
                    _ if self.is_index(a) && self.steps(b) == Some(0) => {
                        self.compare(predicate, a, b)
                    }
                    Some(mirrored) if self.is_index(b) && self.steps(a) == Some(0) => {
                        self.compare(mirrored, b, a)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// With the index on the left.
    fn compare(&mut self, predicate: Predicate, index: Value, limit: Value) -> bool {
        let (extend, includes) = match predicate {
            Predicate::LessSigned => (CastKind::ExtendSigned, 0),
            Predicate::LessEqualSigned | Predicate::Equal => (CastKind::ExtendSigned, 1),
            Predicate::LessUnsigned => (CastKind::ExtendUnsigned, 0),
            Predicate::LessEqualUnsigned => (CastKind::ExtendUnsigned, 1),
            _ => return false,
        };
        if self.source.ty(index) != Type::I32 {
            return false;
        }
        self.is_one |= predicate == Predicate::Equal
            && is_row_index(self.source, index)
            && self.source.constant(limit) == Some(0);
        let first = self.copy(index);
        let first = self.emit(Op::Cast(extend, first), Type::I64);
        let limit = self.copy(limit);
        let limit = self.emit(Op::Cast(extend, limit), Type::I64);
        let above = self.constant(includes);
        let end = self.emit(Op::Binary(BinaryOp::Add, limit, above), Type::I64);
        let distance = self.emit(Op::Binary(BinaryOp::Subtract, end, first), Type::I64);
        let (zero, count) = (self.constant(0), self.count);
        let distance = self.choose(Predicate::LessSigned, [distance, zero], [zero, distance]);
        let lower = self.choose(Predicate::LessSigned, [distance, count], [distance, count]);
        // An index that wraps along the row passes where it should not.
        let past = self.emit(Op::Binary(BinaryOp::Add, first, self.size), Type::I64);
        let most = match extend {
            CastKind::ExtendSigned => 1i64 << 31,
            _ => 1i64 << 32,
        };
        let most = self.constant(most);
        self.count = self.choose(Predicate::GreaterSigned, [past, most], [count, lower]);
        true
    }

    /// Whether all that are counted pass a test.
    fn is_exact(&self, test: &Test) -> bool {
        let Op::Compare(predicate, index, limit) = *self.source.op(test.condition) else {
            return false;
        };
        let is_first = predicate == Predicate::Equal && self.source.constant(limit) == Some(0);
        test.is_wanted
            && is_row_index(self.source, index)
            && (is_first || predicate == Predicate::LessSigned)
            && self.steps(limit) == Some(0)
    }

    fn choose(&mut self, predicate: Predicate, [a, b]: [Value; 2], [yes, no]: [Value; 2]) -> Value {
        let condition = self.emit(Op::Compare(predicate, a, b), Type::I1);
        self.emit(Op::Select(condition, yes, no), Type::I64)
    }

    /// The value for the first work-item of the row.
    fn copy(&mut self, value: Value) -> Value {
        if let Some((_, new)) = self.map.iter().find(|(old, _)| *old == value) {
            return *new;
        }
        let ty = self.source.ty(value);
        let new = match self.source.op(value) {
            _ if is_row_index(self.source, value) => self.out.add_value(Op::Constant(0), ty, 0),
            Op::Constant(bits) => self.out.add_value(Op::Constant(*bits), ty, 0),
            Op::Parameter(number) => {
                let number = *number as usize;
                self.is_given |= number >= self.own;
                let before = if number < self.hidden.start {
                    0
                } else {
                    self.hidden.len()
                };
                self.out
                    .add_value(Op::Parameter((number - before) as u32), ty, 0)
            }
            op => {
                let mut op = op.clone();
                op.for_each_operand_mut(|operand| *operand = self.copy(*operand));
                self.emit(op, ty)
            }
        };
        self.map.push((value, new));
        new
    }
}

fn add(function: &mut Function, op: Op, ty: Type) -> Value {
    let value = function.add_value(op, ty, function.line);
    function.blocks[0].instructions.push(value);
    value
}

fn opposite(predicate: Predicate) -> Option<Predicate> {
    use Predicate as P;
    Some(match predicate {
        P::GreaterSigned => P::LessEqualSigned,
        P::GreaterEqualSigned => P::LessSigned,
        P::GreaterUnsigned => P::LessEqualUnsigned,
        P::GreaterEqualUnsigned => P::LessUnsigned,
        P::LessSigned => P::GreaterEqualSigned,
        P::LessEqualSigned => P::GreaterSigned,
        P::LessUnsigned => P::GreaterEqualUnsigned,
        P::LessEqualUnsigned => P::GreaterUnsigned,
        P::NotEqual => P::Equal,
        _ => return None,
    })
}

/// What holds with the sides changed.
fn mirrored(predicate: Predicate) -> Option<Predicate> {
    use Predicate as P;
    Some(match predicate {
        P::Equal => P::Equal,
        P::GreaterSigned => P::LessSigned,
        P::GreaterEqualSigned => P::LessEqualSigned,
        P::GreaterUnsigned => P::LessUnsigned,
        P::GreaterEqualUnsigned => P::LessEqualUnsigned,
        _ => return None,
    })
}
