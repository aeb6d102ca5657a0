//! The middle of the compiler: functions in SSA form, with address spaces and source lines.
//!
//! Every operation is total: division by zero, shifts by too much and conversions out of range have defined results
//! (`docs/language.md`), so that passes may move and fold freely and every target gives the same bits.

pub mod cfg;
pub mod loops;
mod parser;
mod printer;
mod verifier;

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

/// A built-in variable of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Special {
    pub kind: SpecialKind,
    /// 0 to 2 for x to z.
    pub axis: u8,
}

macro_rules! named {
    ($(#[$attribute:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($variant),* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|item| item.text() == text)
            }
        }
    };
}

named!(
    /// `Lane` and `WaveSize` have no axes: x stands for all.
    SpecialKind {
        ThreadIndex = "thread_index",
        BlockIndex = "block_index",
        BlockSize = "block_size",
        GridSize = "grid_size",
        Lane = "lane",
        WaveSize = "wave_size",
    }
);

named!(
    /// Integer operations wrap; shifts take the count modulo the width; `x / 0 = 0`, `x % 0 = x`, the smallest integer
    /// divided by -1 is itself.
    BinaryOp {
        Add = "add",
        Subtract = "subtract",
        Multiply = "multiply",
        DivideSigned = "divide_signed",
        DivideUnsigned = "divide_unsigned",
        RemainderSigned = "remainder_signed",
        RemainderUnsigned = "remainder_unsigned",
        ShiftLeft = "shift_left",
        ShiftRightSigned = "shift_right_signed",
        ShiftRightUnsigned = "shift_right_unsigned",
        And = "and",
        Or = "or",
        Xor = "xor",
        AddFloat = "add_float",
        SubtractFloat = "subtract_float",
        MultiplyFloat = "multiply_float",
        DivideFloat = "divide_float",
    }
);

named!(
    /// Float comparisons are false on NaN, `NotEqualFloat` excepted.
    Predicate {
        Equal = "equal",
        NotEqual = "not_equal",
        LessSigned = "less_signed",
        LessEqualSigned = "less_equal_signed",
        GreaterSigned = "greater_signed",
        GreaterEqualSigned = "greater_equal_signed",
        LessUnsigned = "less_unsigned",
        LessEqualUnsigned = "less_equal_unsigned",
        GreaterUnsigned = "greater_unsigned",
        GreaterEqualUnsigned = "greater_equal_unsigned",
        EqualFloat = "equal_float",
        NotEqualFloat = "not_equal_float",
        LessFloat = "less_float",
        LessEqualFloat = "less_equal_float",
        GreaterFloat = "greater_float",
        GreaterEqualFloat = "greater_equal_float",
    }
);

named!(
    /// Float to integer saturates, NaN becomes 0.
    CastKind {
        Truncate = "truncate",
        ExtendSigned = "extend_signed",
        ExtendUnsigned = "extend_unsigned",
        SignedToFloat = "signed_to_float",
        UnsignedToFloat = "unsigned_to_float",
        FloatToSigned = "float_to_signed",
        FloatToUnsigned = "float_to_unsigned",
        NarrowFloat = "narrow_float",
        WidenFloat = "widen_float",
        Reinterpret = "reinterpret",
        PointerToInteger = "pointer_to_integer",
        IntegerToPointer = "integer_to_pointer",
        AddressSpace = "address_space",
    }
);

named!(
    /// Operations with an instruction of their own on most targets. All are exactly defined: no approximations here.
    Intrinsic {
        Sqrt = "sqrt",
        Floor = "floor",
        Ceil = "ceil",
        Truncate = "truncate_float",
        RoundEven = "round_even",
        FusedMultiplyAdd = "fused_multiply_add",
        Absolute = "absolute",
        CopySign = "copy_sign",
        Minimum = "minimum",
        Maximum = "maximum",
        PopulationCount = "population_count",
        LeadingZeros = "leading_zeros",
        TrailingZeros = "trailing_zeros",
        ReverseBits = "reverse_bits",
        MultiplyHigh = "multiply_high",
        MultiplyHighUnsigned = "multiply_high_unsigned",
        Reinterpret = "reinterpret_bits",
        WidenHalf = "widen_half",
        NarrowHalf = "narrow_half",
        NarrowBfloat = "narrow_bfloat",
        FusedMultiplyAddHalf = "fused_multiply_add_half",
        IsProcessor = "is_processor",
    }
);

named!(
    /// Operations by which work-items meet: barriers, fences, atomics, and those of a wave. Atomics give the old value and order
    /// nothing.
    ///
    /// Operations of a wave have a mask of lanes first; 0 stands for the lanes that arrive together. `WaveShuffle` gives the
    /// value of another lane, `WaveBallot` the lanes whose condition holds, `WaveMatch` the lanes whose value is that of the
    /// own one. `WaveRejoin` is where the lanes of a loop wait for each other; only the CPU has it.
    ///
    /// The `System` forms of atomics are so towards the host and other devices too. Clocks are counters of 64 bits; they stand
    /// here because no two readings are the same value.
    Cooperation {
        Barrier = "barrier",
        FenceBlock = "fence_block",
        FenceDevice = "fence_device",
        FenceSystem = "fence_system",
        AtomicAdd = "atomic_add",
        AtomicAddFloat = "atomic_add_float",
        AtomicSubtract = "atomic_subtract",
        AtomicMinimum = "atomic_minimum",
        AtomicMinimumUnsigned = "atomic_minimum_unsigned",
        AtomicMaximum = "atomic_maximum",
        AtomicMaximumUnsigned = "atomic_maximum_unsigned",
        AtomicAnd = "atomic_and",
        AtomicOr = "atomic_or",
        AtomicXor = "atomic_xor",
        AtomicExchange = "atomic_exchange",
        AtomicIncrement = "atomic_increment",
        AtomicDecrement = "atomic_decrement",
        AtomicCompareExchange = "atomic_compare_exchange",
        AtomicAddSystem = "atomic_add_system",
        AtomicAddFloatSystem = "atomic_add_float_system",
        AtomicSubtractSystem = "atomic_subtract_system",
        AtomicMinimumSystem = "atomic_minimum_system",
        AtomicMinimumUnsignedSystem = "atomic_minimum_unsigned_system",
        AtomicMaximumSystem = "atomic_maximum_system",
        AtomicMaximumUnsignedSystem = "atomic_maximum_unsigned_system",
        AtomicAndSystem = "atomic_and_system",
        AtomicOrSystem = "atomic_or_system",
        AtomicXorSystem = "atomic_xor_system",
        AtomicExchangeSystem = "atomic_exchange_system",
        AtomicIncrementSystem = "atomic_increment_system",
        AtomicDecrementSystem = "atomic_decrement_system",
        AtomicCompareExchangeSystem = "atomic_compare_exchange_system",
        ClockCycles = "clock_cycles",
        ClockSteady = "clock_steady",
        WaveShuffle = "wave_shuffle",
        WaveBallot = "wave_ballot",
        WaveMatch = "wave_match",
        WaveBarrier = "wave_barrier",
        WaveRejoin = "wave_rejoin",
    }
);

/// Atomics of the device and those of the system.
const SYSTEM_FORMS: &[(Cooperation, Cooperation)] = &[
    (Cooperation::AtomicAdd, Cooperation::AtomicAddSystem),
    (
        Cooperation::AtomicAddFloat,
        Cooperation::AtomicAddFloatSystem,
    ),
    (
        Cooperation::AtomicSubtract,
        Cooperation::AtomicSubtractSystem,
    ),
    (Cooperation::AtomicMinimum, Cooperation::AtomicMinimumSystem),
    (
        Cooperation::AtomicMinimumUnsigned,
        Cooperation::AtomicMinimumUnsignedSystem,
    ),
    (Cooperation::AtomicMaximum, Cooperation::AtomicMaximumSystem),
    (
        Cooperation::AtomicMaximumUnsigned,
        Cooperation::AtomicMaximumUnsignedSystem,
    ),
    (Cooperation::AtomicAnd, Cooperation::AtomicAndSystem),
    (Cooperation::AtomicOr, Cooperation::AtomicOrSystem),
    (Cooperation::AtomicXor, Cooperation::AtomicXorSystem),
    (
        Cooperation::AtomicExchange,
        Cooperation::AtomicExchangeSystem,
    ),
    (
        Cooperation::AtomicIncrement,
        Cooperation::AtomicIncrementSystem,
    ),
    (
        Cooperation::AtomicDecrement,
        Cooperation::AtomicDecrementSystem,
    ),
    (
        Cooperation::AtomicCompareExchange,
        Cooperation::AtomicCompareExchangeSystem,
    ),
];

impl Cooperation {
    /// The form of an atomic that the host and other devices see as one step too; other operations are their own.
    #[must_use]
    pub fn of_system(self) -> Self {
        let mut forms = SYSTEM_FORMS.iter();
        forms
            .find(|form| form.0 == self)
            .map_or(self, |form| form.1)
    }

    /// What [`Self::of_system`] was given.
    #[must_use]
    pub fn of_device(self) -> Self {
        let mut forms = SYSTEM_FORMS.iter();
        forms
            .find(|form| form.1 == self)
            .map_or(self, |form| form.0)
    }

    pub fn is_clock(self) -> bool {
        matches!(self, Self::ClockCycles | Self::ClockSteady)
    }

    /// Lanes of a wave meet here.
    pub fn is_wave(self) -> bool {
        matches!(
            self,
            Self::WaveShuffle
                | Self::WaveBallot
                | Self::WaveMatch
                | Self::WaveBarrier
                | Self::WaveRejoin
        )
    }

    /// Work-items wait here for others; the CPU cuts kernels at these.
    pub fn is_meeting(self) -> bool {
        self == Self::Barrier || self.is_wave()
    }

    /// Number of operands; atomics have a pointer first.
    pub fn arity(self) -> usize {
        match self.of_device() {
            Self::ClockCycles
            | Self::ClockSteady
            | Self::Barrier
            | Self::FenceBlock
            | Self::FenceDevice
            | Self::FenceSystem
            | Self::WaveRejoin => 0,
            Self::WaveBarrier => 1,
            Self::AtomicCompareExchange | Self::WaveShuffle => 3,
            _ => 2,
        }
    }
}

/// What a value is computed by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Deleted.
    Nothing,
    Parameter(u32),
    /// Bits of a number; 0 is the null pointer.
    Constant(u64),
    GlobalAddress(u32),
    /// Address of [`Module::shared`].
    SharedAddress(u32),
    Binary(BinaryOp, Value, Value),
    Compare(Predicate, Value, Value),
    Negate(Value),
    Cast(CastKind, Value),
    Select(Value, Value, Value),
    Intrinsic(Intrinsic, Vec<Value>),
    Special(Special),
    Phi(Vec<(BlockId, Value)>),
    /// Private memory of the function, for its whole call.
    Slot {
        bytes: u64,
        align: u64,
    },
    /// `pointer + index * scale` bytes.
    Offset {
        pointer: Value,
        index: Value,
        scale: u64,
    },
    Load(Value),
    Store {
        pointer: Value,
        value: Value,
    },
    /// Happens exactly once where it stands, whatever is known of the memory: no pass removes, merges or moves it.
    VolatileLoad(Value),
    /// Like [`Self::VolatileLoad`].
    VolatileStore {
        pointer: Value,
        value: Value,
    },
    Copy {
        to: Value,
        from: Value,
        bytes: u64,
        align: u64,
    },
    Clear {
        to: Value,
        bytes: u64,
        align: u64,
    },
    Call {
        function: u32,
        arguments: Vec<Value>,
    },
    Cooperative(Cooperation, Vec<Value>),
}

impl Op {
    /// Parameters, constants and addresses of globals stand in no block.
    pub fn is_floating(&self) -> bool {
        matches!(
            self,
            Self::Parameter(_)
                | Self::Constant(_)
                | Self::GlobalAddress(_)
                | Self::SharedAddress(_)
        )
    }

    /// Must stay even when nobody uses its value.
    pub fn has_effect(&self) -> bool {
        matches!(
            self,
            Self::Store { .. }
                | Self::VolatileLoad(_)
                | Self::VolatileStore { .. }
                | Self::Copy { .. }
                | Self::Clear { .. }
                | Self::Call { .. }
                | Self::Cooperative(..)
        )
    }

    /// The same operands give the same value, wherever it stands.
    pub fn is_pure(&self) -> bool {
        matches!(
            self,
            Self::Binary(..)
                | Self::Compare(..)
                | Self::Negate(_)
                | Self::Cast(..)
                | Self::Select(..)
                | Self::Intrinsic(..)
                | Self::Special(_)
                | Self::Offset { .. }
        )
    }

    pub fn for_each_operand(&self, mut visit: impl FnMut(Value)) {
        match self {
            Self::Nothing
            | Self::Parameter(_)
            | Self::Constant(_)
            | Self::GlobalAddress(_)
            | Self::SharedAddress(_)
            | Self::Special(_)
            | Self::Slot { .. } => {}
            Self::Binary(_, a, b) | Self::Compare(_, a, b) => {
                visit(*a);
                visit(*b);
            }
            Self::Negate(a)
            | Self::Cast(_, a)
            | Self::Load(a)
            | Self::VolatileLoad(a)
            | Self::Clear { to: a, .. } => visit(*a),
            Self::Select(a, b, c) => {
                visit(*a);
                visit(*b);
                visit(*c);
            }
            Self::Intrinsic(_, list)
            | Self::Cooperative(_, list)
            | Self::Call {
                arguments: list, ..
            } => list.iter().for_each(|value| visit(*value)),
            Self::Phi(inputs) => inputs.iter().for_each(|(_, value)| visit(*value)),
            Self::Offset { pointer, index, .. } => {
                visit(*pointer);
                visit(*index);
            }
            Self::Store { pointer, value } | Self::VolatileStore { pointer, value } => {
                visit(*pointer);
                visit(*value);
            }
            Self::Copy { to, from, .. } => {
                visit(*to);
                visit(*from);
            }
        }
    }

    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        match self {
            Self::Nothing
            | Self::Parameter(_)
            | Self::Constant(_)
            | Self::GlobalAddress(_)
            | Self::SharedAddress(_)
            | Self::Special(_)
            | Self::Slot { .. } => {}
            Self::Binary(_, a, b) | Self::Compare(_, a, b) => {
                visit(a);
                visit(b);
            }
            Self::Negate(a)
            | Self::Cast(_, a)
            | Self::Load(a)
            | Self::VolatileLoad(a)
            | Self::Clear { to: a, .. } => visit(a),
            Self::Select(a, b, c) => {
                visit(a);
                visit(b);
                visit(c);
            }
            Self::Intrinsic(_, list)
            | Self::Cooperative(_, list)
            | Self::Call {
                arguments: list, ..
            } => list.iter_mut().for_each(visit),
            Self::Phi(inputs) => inputs.iter_mut().for_each(|(_, value)| visit(value)),
            Self::Offset { pointer, index, .. } => {
                visit(pointer);
                visit(index);
            }
            Self::Store { pointer, value } | Self::VolatileStore { pointer, value } => {
                visit(pointer);
                visit(value);
            }
            Self::Copy { to, from, .. } => {
                visit(to);
                visit(from);
            }
        }
    }
}

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
    /// All turns where their number is known.
    Full,
    /// So many turns at a time; at least 2.
    Times(u32),
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
}

impl Block {
    /// A block in which nothing stands and that nothing may reach yet.
    pub fn new(line: u32) -> Self {
        Self {
            instructions: Vec::new(),
            terminator: Terminator::Unreachable,
            line,
            unroll: None,
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
        self.values.push(Instruction { op, ty, line });
        Value(self.values.len() as u32 - 1)
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
