//! Which variable or argument a pointer leads into, as far as the code of one function shows.

use crate::ir::{CastKind, Function, Op, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// Not looked at yet: agrees with everything.
    Open,
    Unknown,
    Parameter(u32),
    Slot(Value),
    /// The value that is the address, and the number of the variable.
    Shared(Value, u32),
    Global(Value, u32),
}

impl Origin {
    fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Open, known) | (known, Self::Open) => known,
            (Self::Shared(value, a), Self::Shared(_, b)) if a == b => Self::Shared(value, a),
            (Self::Global(value, a), Self::Global(_, b)) if a == b => Self::Global(value, a),
            (a, b) if a == b => a,
            _ => Self::Unknown,
        }
    }
}

/// The origin of every value; those that are no pointers are unknown.
pub(super) fn origins(function: &Function) -> Vec<Origin> {
    let mut origins = vec![Origin::Open; function.values.len()];
    let mut changed = true;
    // Each value changes at most twice: from open to known to unknown.
    while changed {
        changed = false;
        for index in 0..origins.len() {
            let value = Value(index as u32);
            let found = match function.op(value) {
                Op::Parameter(number) if function.ty(value).is_pointer() => {
                    Origin::Parameter(*number)
                }
                Op::Slot { .. } => Origin::Slot(value),
                Op::SharedAddress(number) => Origin::Shared(value, *number),
                Op::GlobalAddress(number) => Origin::Global(value, *number),
                Op::Cast(CastKind::AddressSpace, inner) | Op::Offset { pointer: inner, .. } => {
                    origins[inner.0 as usize]
                }
                Op::Select(_, a, b) => origins[a.0 as usize].joined(origins[b.0 as usize]),
                Op::Phi(inputs) => inputs.iter().fold(Origin::Open, |origin, (_, input)| {
                    origin.joined(origins[input.0 as usize])
                }),
                _ => Origin::Unknown,
            };
            let joined = origins[index].joined(found);
            if joined != origins[index] {
                origins[index] = joined;
                changed = true;
            }
        }
    }
    origins
}
