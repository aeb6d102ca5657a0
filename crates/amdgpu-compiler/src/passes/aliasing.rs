//! Which accesses may touch the same memory.
//!
//! A pointer is a base, a constant number of bytes, and terms that vary. Two pointers with one base and the same terms are told apart
//! by their constants; two with different bases by what the bases are: private variables whose address goes nowhere, shared
//! variables, constants, and `__restrict__` parameters are apart from everything else.

use std::ops::Deref;

use super::Memory;
use crate::ir::{AddressSpace, CastKind, Function, Op, Type, Value};
use rustc_hash::FxHashSet;

/// A pointer taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub base: Value,
    /// Constant part, in bytes.
    pub bytes: i64,
    /// What varies: index and scale, in the order in which they are added.
    pub terms: Terms,
}

/// Indices and their scales; most addresses have one at most, which needs no memory of its own.
#[derive(Clone, Default, Debug)]
pub struct Terms {
    first: Option<(Value, u64)>,
    /// All of them, where they are more than one.
    list: Vec<(Value, u64)>,
}

impl Terms {
    fn push(&mut self, term: (Value, u64)) {
        match self.first {
            None => self.first = Some(term),
            Some(first) => {
                if self.list.is_empty() {
                    self.list.push(first);
                }
                self.list.push(term);
            }
        }
    }
}

impl Deref for Terms {
    type Target = [(Value, u64)];

    fn deref(&self) -> &Self::Target {
        if self.list.is_empty() {
            self.first.as_slice()
        } else {
            &self.list
        }
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Terms {}

/// What is known of the pointers of one function.
pub struct Aliasing<'m> {
    memory: Memory<'m>,
    /// Private memory whose address is used for nothing but plain loads and stores here.
    contained: FxHashSet<Value>,
}

/// The base of a pointer and what is added to it.
pub fn place(function: &Function, pointer: Value) -> Place {
    let mut place = Place {
        base: pointer,
        bytes: 0,
        terms: Terms::default(),
    };
    // Nothing but a phi leads back, and a phi is a base.
    for _ in 0..function.values.len() {
        match function.op(place.base) {
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                match function.constant(*index) {
                    Some(bits) => {
                        let step = (bits as i64).wrapping_mul(*scale as i64);
                        place.bytes = place.bytes.wrapping_add(step);
                    }
                    None => place.terms.push((*index, *scale)),
                }
                place.base = *pointer;
            }
            Op::Cast(CastKind::AddressSpace, inner) => place.base = *inner,
            _ => break,
        }
    }
    place
}

impl<'m> Aliasing<'m> {
    pub fn new(function: &Function, memory: Memory<'m>) -> Self {
        let mut contained: FxHashSet<Value> = FxHashSet::default();
        for (index, instruction) in function.values.iter().enumerate() {
            if matches!(instruction.op, Op::Slot { .. }) {
                contained.insert(Value(index as u32));
            }
        }
        if !contained.is_empty() {
            let mut escapes = |pointer: Value| {
                contained.remove(&place(function, pointer).base);
            };
            for block in &function.blocks {
                for value in &block.instructions {
                    match function.op(*value) {
                        // What an offset or cast makes of an address is judged by its own uses.
                        Op::Load(_)
                        | Op::Clear { .. }
                        | Op::Copy { .. }
                        | Op::Offset { .. }
                        | Op::Cast(CastKind::AddressSpace, _) => {}
                        Op::Store { value, .. } => escapes(*value),
                        op => op.for_each_operand(&mut escapes),
                    }
                }
                if let Some(operand) = block.terminator.operand() {
                    escapes(operand);
                }
            }
        }
        Self { memory, contained }
    }

    /// Private memory that nothing but loads, stores, copies and clears of this function reaches.
    pub fn is_contained(&self, base: Value) -> bool {
        self.contained.contains(&base)
    }

    /// Whether `size` bytes at one pointer and `other_size` at another may overlap.
    pub fn may_overlap(
        &self,
        function: &Function,
        (one, size): (Value, u64),
        (other, other_size): (Value, u64),
    ) -> bool {
        let (a, b) = (place(function, one), place(function, other));
        if a.base == b.base {
            if a.terms != b.terms {
                return true;
            }
            let distance = b.bytes.wrapping_sub(a.bytes);
            // The indices are added modulo 2^64, so that equal terms differ by nothing but the constants.
            return (0..size as i64).contains(&distance)
                || (0..other_size as i64).contains(&distance.wrapping_neg());
        }
        !self.are_apart(function, a.base, b.base) && !self.are_apart(function, b.base, a.base)
    }

    /// Whether what the first base points to is apart from what the second, another one, points to.
    fn are_apart(&self, function: &Function, one: Value, other: Value) -> bool {
        if self.is_contained(one) {
            return true;
        }
        let space = |value: Value| match function.ty(value) {
            Type::Pointer(space) => space,
            _ => AddressSpace::Generic,
        };
        let (one_space, other_space) = (space(one), space(other));
        if one_space != AddressSpace::Generic
            && other_space != AddressSpace::Generic
            && one_space != other_space
        {
            // A kernel may be given the address of constant memory, which it cannot write.
            return true;
        }
        match (function.op(one), function.op(other)) {
            (Op::Slot { .. }, Op::Slot { .. }) => true,
            (Op::GlobalAddress(a), Op::GlobalAddress(b)) => a != b,
            (Op::SharedAddress(a), Op::SharedAddress(b)) => {
                // One without a size of its own lies where others do.
                let owns = |index: u32| {
                    let shared = self.memory.shared.get(index as usize);
                    shared.is_some_and(|shared| shared.bytes > 0)
                };
                a != b && (owns(*a) || owns(*b))
            }
            (Op::Parameter(a), Op::Parameter(b)) => {
                a != b
                    && (function.parameters[*a as usize].is_restrict
                        || function.parameters[*b as usize].is_restrict)
            }
            _ => false,
        }
    }

    /// Whether an operation may write some of `size` bytes at a pointer.
    pub fn may_write(&self, function: &Function, op: &Op, pointer: Value, size: u64) -> bool {
        let target = (pointer, size);
        match op {
            Op::Store {
                pointer: written,
                value,
            }
            | Op::VolatileStore {
                pointer: written,
                value,
            }
            | Op::NontemporalStore {
                pointer: written,
                value,
            } => self.may_overlap(function, (*written, function.ty(*value).bytes()), target),
            Op::Copy { to, bytes, .. } | Op::Clear { to, bytes, .. } => {
                self.may_overlap(function, (*to, *bytes), target)
            }
            Op::Call { .. } | Op::Cooperative(..) => {
                let base = place(function, pointer).base;
                !self.is_contained(base) && !self.is_constant(function, base)
            }
            _ => false,
        }
    }

    /// Whether an operation may read some of `size` bytes at a pointer.
    pub fn may_read(&self, function: &Function, op: &Op, ty: Type, target: (Value, u64)) -> bool {
        match op {
            Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
                self.may_overlap(function, (*pointer, ty.bytes()), target)
            }
            Op::Copy { from, bytes, .. } => self.may_overlap(function, (*from, *bytes), target),
            Op::Call { .. } | Op::Cooperative(..) => {
                !self.is_contained(place(function, target.0).base)
            }
            _ => false,
        }
    }

    fn is_constant(&self, function: &Function, base: Value) -> bool {
        match function.op(base) {
            Op::GlobalAddress(number) => {
                let global = self.memory.globals.get(*number as usize);
                global.is_some_and(|global| global.kind.space() == AddressSpace::Constant)
            }
            _ => false,
        }
    }
}
