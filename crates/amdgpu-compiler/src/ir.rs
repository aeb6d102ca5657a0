//! The middle of the compiler: functions in SSA form, with address spaces and source lines.
//!
//! Every operation is total: division by zero, shifts by too much and conversions out of range have defined results
//! (`docs/language.md`), so that passes may move and fold freely and every target gives the same bits.

pub mod cfg;
pub mod loops;
mod operations;
mod operators;
mod parser;
mod printer;
mod verifier;

pub use operations::Op;
use operators::named;
pub use operators::{BinaryOp, CastKind, Cooperation, Intrinsic, Predicate, Special, SpecialKind};
pub use parser::parse;
pub use verifier::{verify, verify_function};

/// Where memory lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressSpace {
    Generic,
    Global,
    Constant,
    /// Of a block: seen by all its work-items.
    Shared,
    Private,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Void,
    I1,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
    Pointer(AddressSpace),
}

impl Type {
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::I1 | Self::I8 | Self::I16 | Self::I32 | Self::I64
        )
    }

    pub fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer(_))
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::Void => 0,
            Self::I1 => 1,
            Self::I8 => 8,
            Self::I16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 | Self::Pointer(_) => 64,
        }
    }

    /// Bytes in memory; `bool` takes one.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits()).div_ceil(8)
    }
}

/// A value of a function: an index into [`Function::values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A basic block: an index into [`Function::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BlockId(pub u32);

#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    pub op: Op,
    pub ty: Type,
    /// Line of the source, from 1; 0 when it has none.
    pub line: u32,
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Terminator {
    Jump(BlockId),
    Branch {
        condition: Value,
        yes: BlockId,
        no: BlockId,
    },
    Switch {
        value: Value,
        cases: Vec<(u64, BlockId)>,
        default: BlockId,
    },
    Return(Option<Value>),
    Unreachable,
}

impl Terminator {
    pub fn for_each_target(&self, mut visit: impl FnMut(BlockId)) {
        match self {
            Self::Jump(to) => visit(*to),
            Self::Branch { yes, no, .. } => {
                visit(*yes);
                visit(*no);
            }
            Self::Switch { cases, default, .. } => {
                for (_, to) in cases {
                    visit(*to);
                }
                visit(*default);
            }
            Self::Return(_) | Self::Unreachable => {}
        }
    }

    /// The target with a number, in the order of [`Terminator::for_each_target`].
    pub fn target(&self, number: usize) -> Option<BlockId> {
        match self {
            Self::Jump(to) => (number == 0).then_some(*to),
            Self::Branch { yes, no, .. } => match number {
                0 => Some(*yes),
                1 => Some(*no),
                _ => None,
            },
            Self::Switch { cases, default, .. } => match cases.get(number) {
                Some((_, to)) => Some(*to),
                None => (number == cases.len()).then_some(*default),
            },
            Self::Return(_) | Self::Unreachable => None,
        }
    }

    /// How many targets [`Terminator::for_each_target`] visits.
    pub fn target_count(&self) -> usize {
        match self {
            Self::Jump(_) => 1,
            Self::Branch { .. } => 2,
            Self::Switch { cases, .. } => cases.len() + 1,
            Self::Return(_) | Self::Unreachable => 0,
        }
    }

    pub fn operand(&self) -> Option<Value> {
        match self {
            Self::Branch { condition, .. } => Some(*condition),
            Self::Switch { value, .. } => Some(*value),
            Self::Return(value) => *value,
            Self::Jump(_) | Self::Unreachable => None,
        }
    }

    pub fn operand_mut(&mut self) -> Option<&mut Value> {
        match self {
            Self::Branch { condition, .. } => Some(condition),
            Self::Switch { value, .. } => Some(value),
            Self::Return(value) => value.as_mut(),
            Self::Jump(_) | Self::Unreachable => None,
        }
    }
}

/// What the source says about unrolling a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unroll {
    /// All iterations where their number is known.
    Full,
    /// So many iterations at a time; at least 2.
    Times(u32),
    /// A profile says that it runs often: all iterations where they are known and not too many, else so many at a time; at least 2.
    Measured(u32),
    Never,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Phis first.
    pub instructions: Vec<Value>,
    pub terminator: Terminator,
    pub line: u32,
    /// Of the loop that starts here.
    pub unroll: Option<Unroll>,
    /// Of the branch at the end: how often it goes either way, in proportion; known from a profile.
    pub weights: Option<(u32, u32)>,
}

impl Block {
    /// A block in which nothing stands and that nothing may reach yet.
    pub fn new(line: u32) -> Self {
        Self {
            instructions: Vec::new(),
            terminator: Terminator::Unreachable,
            line,
            unroll: None,
            weights: None,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    pub name: String,
    pub ty: Type,
    /// No other parameter points to the same memory.
    pub is_restrict: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchBounds {
    pub max_threads: u32,
    pub min_blocks: u32,
}

/// A function; block 0 is its entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub name: String,
    pub is_kernel: bool,
    pub is_never_inlined: bool,
    pub parameters: Vec<Parameter>,
    pub result: Type,
    pub values: Vec<Instruction>,
    pub blocks: Vec<Block>,
    pub launch_bounds: Option<LaunchBounds>,
    pub line: u32,
}

impl Function {
    pub fn op(&self, value: Value) -> &Op {
        &self.values[value.0 as usize].op
    }

    pub fn ty(&self, value: Value) -> Type {
        self.values[value.0 as usize].ty
    }

    /// The bits of a constant.
    pub fn constant(&self, value: Value) -> Option<u64> {
        match self.op(value) {
            Op::Constant(bits) => Some(*bits),
            _ => None,
        }
    }

    pub fn add_value(&mut self, op: Op, ty: Type, line: u32) -> Value {
        crate::effort::spend(1);
        self.values.push(Instruction { op, ty, line });
        Value(self.values.len() as u32 - 1)
    }

    /// A pointer to what lies `bytes` behind another, computed at the end of `out`.
    pub fn offset_by(
        &mut self,
        out: &mut Vec<Value>,
        pointer: Value,
        bytes: u64,
        line: u32,
    ) -> Value {
        if bytes == 0 {
            return pointer;
        }
        let ty = self.ty(pointer);
        let index = self.add_value(Op::Constant(bytes), Type::I64, 0);
        let op = Op::Offset {
            pointer,
            index,
            scale: 1,
        };
        let value = self.add_value(op, ty, line);
        out.push(value);
        value
    }

    /// Rewrites every use by `replacement`, whose chains are followed.
    pub fn replace_uses(&mut self, replacement: &[Option<Value>]) {
        if replacement.iter().all(Option::is_none) {
            return;
        }
        let find = |mut value: Value| {
            while let Some(Some(next)) = replacement.get(value.0 as usize) {
                value = *next;
            }
            value
        };
        for instruction in &mut self.values {
            instruction
                .op
                .for_each_operand_mut(|operand| *operand = find(*operand));
        }
        for block in &mut self.blocks {
            if let Some(operand) = block.terminator.operand_mut() {
                *operand = find(*operand);
            }
        }
    }

    /// Instructions in blocks.
    pub fn instruction_count(&self) -> usize {
        self.blocks
            .iter()
            .map(|block| block.instructions.len())
            .sum()
    }
}

named!(
    /// Who may change a global.
    GlobalKind {
        // Nobody: its bytes may be folded.
        Table = "global",
        // The host, between launches: `__constant__`.
        Constant = "constant",
        // Kernels and the host: `__device__`.
        Variable = "variable",
    }
);

impl GlobalKind {
    pub fn space(self) -> AddressSpace {
        match self {
            Self::Table | Self::Constant => AddressSpace::Constant,
            Self::Variable => AddressSpace::Global,
        }
    }
}

/// Memory of the module. Tables are known to nobody else; the others are symbols of the machine code unless they belong to one
/// function.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    pub name: String,
    pub kind: GlobalKind,
    /// What it starts with; the rest is zero.
    pub bytes: Vec<u8>,
    pub size_bytes: u64,
    pub align: u64,
    pub is_exported: bool,
}

/// Memory of a block. Everything without a size of its own (`extern __shared__`) starts at one place: where the rest ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Shared {
    pub name: String,
    /// 0: as much as the launch asks for.
    pub bytes: u64,
    pub align: u64,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    pub globals: Vec<Global>,
    pub shared: Vec<Shared>,
    pub functions: Vec<Function>,
}
