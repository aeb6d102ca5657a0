//! Operators by name: what an operation says of itself beside its operands.

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

pub(super) use named;

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
    pub fn is_sync_point(self) -> bool {
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
