//! Operations: what a value is computed by.

use super::{BinaryOp, BlockId, CastKind, Cooperation, Intrinsic, Predicate, Special, Value};

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
    /// A load of what is not read again soon: the caches need not keep it. No pass merges or moves it.
    NontemporalLoad(Value),
    /// A store of what is not read soon: it need not pass through the caches. No pass removes, merges or moves it.
    NontemporalStore {
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
                | Self::NontemporalStore { .. }
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
            | Self::NontemporalLoad(a)
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
            Self::Store { pointer, value }
            | Self::VolatileStore { pointer, value }
            | Self::NontemporalStore { pointer, value } => {
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
            | Self::NontemporalLoad(a)
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
            Self::Store { pointer, value }
            | Self::VolatileStore { pointer, value }
            | Self::NontemporalStore { pointer, value } => {
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
