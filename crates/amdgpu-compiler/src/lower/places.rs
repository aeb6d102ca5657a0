//! Places, and values that live in memory.

use super::bits::BitPlace;
use super::{Access, Address, Home, Lowering, POINTER};
use crate::hir::{Expr, ExprKind, Initial, LocalId, Place, PlaceKind};
use crate::ir::{AddressSpace, CastKind, Op, Type, Value};
use crate::types::{self, TypeId};

impl Lowering<'_> {
    /// The variable behind a place, if it is not in memory.
    fn variable_of(&self, place: &Place) -> Option<usize> {
        match place.kind {
            PlaceKind::Local(local) => match self.home(local) {
                Some(Home::Variable(variable, _)) => Some(variable),
                _ => None,
            },
            _ => None,
        }
    }

    /// The address of a place in memory.
    pub(super) fn address(&mut self, place: &Place) -> Value {
        match &place.kind {
            PlaceKind::Local(local) => match self.home(*local) {
                Some(Home::Memory(address)) => address,
                // The checker marks every local whose address is taken; a null pointer would show a hole in it at once.
                _ => self.constant(POINTER, 0),
            },
            PlaceKind::Global(global) => {
                let space = self.globals[global.0 as usize].kind.space();
                let address =
                    self.function
                        .add_value(Op::GlobalAddress(global.0), Type::Pointer(space), 0);
                self.cast(CastKind::AddressSpace, address, POINTER)
            }
            PlaceKind::Shared(shared) => {
                let address = self.function.add_value(
                    Op::SharedAddress(shared.0),
                    Type::Pointer(AddressSpace::Shared),
                    0,
                );
                self.cast(CastKind::AddressSpace, address, POINTER)
            }
            PlaceKind::Dereference(pointer) => self.value(pointer),
            PlaceKind::Field(inner, offset) => {
                let base = self.address(inner);
                self.address_plus(base, *offset)
            }
            // The checker lets nobody take the address of a bit-field.
            PlaceKind::Bits(unit, _) => self.address(unit),
            PlaceKind::Temporary(value) => {
                let slot = self.slot(self.types.bytes(value.ty), self.types.align(value.ty));
                self.value_into(value, slot);
                slot
            }
        }
    }

    pub(super) fn place_address(&mut self, place: &Place) -> Address {
        let is_volatile = place.is_volatile(self.types, self.locals, self.globals, self.shared);
        Address {
            pointer: self.address(place),
            access: if is_volatile {
                Access::Volatile
            } else {
                Access::Plain
            },
        }
    }

    /// The value at a place that is no struct.
    pub(super) fn read(&mut self, place: &Place) -> Value {
        if let Some(variable) = self.variable_of(place) {
            return self.read_variable(variable);
        }
        if let PlaceKind::Bits(unit, range) = &place.kind {
            let bits = self.bit_place(unit, *range);
            return self.read_bits(bits, place.ty);
        }
        let address = self.place_address(place);
        self.at(place.span);
        self.load(address, self.ir_type(place.ty))
    }

    /// A place made ready to be read and written once each, with its address computed once.
    pub(super) fn prepare(&mut self, place: &Place) -> Prepared {
        if let PlaceKind::Bits(unit, range) = &place.kind {
            return Prepared::Bits(self.bit_place(unit, *range));
        }
        match self.variable_of(place) {
            Some(variable) => Prepared::Variable(variable),
            None => Prepared::Memory(self.place_address(place)),
        }
    }

    pub(super) fn read_prepared(&mut self, prepared: Prepared, ty: TypeId) -> Value {
        match prepared {
            Prepared::Variable(variable) => self.read_variable(variable),
            Prepared::Memory(address) => self.load(address, self.ir_type(ty)),
            Prepared::Bits(bits) => self.read_bits(bits, ty),
        }
    }

    pub(super) fn write_prepared(&mut self, prepared: Prepared, value: Value) {
        match prepared {
            Prepared::Variable(variable) => self.write_variable(variable, value),
            Prepared::Memory(address) => self.store_to(address, value),
            Prepared::Bits(bits) => self.write_bits(bits, value),
        }
    }

    /// Computes a value of any type into memory.
    pub(super) fn value_into(&mut self, value: &Expr, to: Value) {
        if !self.is_in_memory(value) {
            let result = self.value(value);
            self.store(to, result);
            return;
        }
        let (bytes, align) = (self.types.bytes(value.ty), self.types.align(value.ty));
        match &value.kind {
            ExprKind::Load(place) => {
                let from = self.address(place);
                self.emit(
                    Op::Copy {
                        to,
                        from,
                        bytes,
                        align,
                    },
                    Type::Void,
                );
            }
            ExprKind::Struct(fields) => self.struct_into(fields, value.ty, to),
            ExprKind::Aggregate(parts) => self.parts_into(parts, value.ty, to),
            ExprKind::Call(function, arguments) => {
                self.call(*function, arguments, value.ty, Some(to));
            }
            ExprKind::Conditional(condition, yes, no) => {
                let (then, otherwise, join) =
                    (self.new_block(), self.new_block(), self.new_block());
                self.branch_on(condition, then, otherwise);
                self.continue_in(then);
                self.value_into(yes, to);
                self.jump(join);
                self.continue_in(otherwise);
                self.value_into(no, to);
                self.jump(join);
                self.continue_in(join);
            }
            ExprKind::Assign(place, source) => {
                // Through a copy: the source may read what the assignment writes.
                let temporary = self.slot(bytes, align);
                self.value_into(source, temporary);
                let target = self.address(place);
                self.emit(
                    Op::Copy {
                        to: target,
                        from: temporary,
                        bytes,
                        align,
                    },
                    Type::Void,
                );
                self.emit(
                    Op::Copy {
                        to,
                        from: temporary,
                        bytes,
                        align,
                    },
                    Type::Void,
                );
            }
            ExprKind::Comma(first, second) => {
                self.effect(first);
                self.value_into(second, to);
            }
            ExprKind::Cast(inner) => self.value_into(inner, to),
            _ => {}
        }
    }

    /// Whether a value is computed into memory: structs and arrays are.
    pub(super) fn is_in_memory(&self, value: &Expr) -> bool {
        self.is_struct(value.ty) || matches!(self.types.get(value.ty), types::Type::Array { .. })
    }

    fn struct_into(&mut self, values: &[Expr], ty: TypeId, to: Value) {
        let types::Type::Struct(index) = self.types.get(ty) else {
            return;
        };
        let types = self.types;
        let fields = &types.structs[index.0 as usize].fields;
        if fields.iter().any(|field| field.bits.is_some()) {
            self.clear(to, ty);
        }
        for (value, field) in values.iter().zip(fields) {
            let address = self.address_plus(to, field.offset);
            if let Some(range) = field.bits {
                let bits = self.bit_place_at(Address::plain(address), field.ty, range);
                let value = self.value(value);
                self.write_bits(bits, value);
            } else {
                self.value_into(value, address);
            }
        }
    }

    /// Values at offsets; the rest is zero.
    fn parts_into(&mut self, parts: &[(u64, Expr)], ty: TypeId, to: Value) {
        let covered: u64 = parts
            .iter()
            .map(|(_, value)| self.types.bytes(value.ty))
            .sum();
        if covered < self.types.bytes(ty) {
            self.clear(to, ty);
        }
        for (offset, value) in parts {
            let part = self.address_plus(to, *offset);
            self.value_into(value, part);
        }
    }

    fn clear(&mut self, to: Value, ty: TypeId) {
        let (bytes, align) = (self.types.bytes(ty), self.types.align(ty));
        self.emit(Op::Clear { to, bytes, align }, Type::Void);
    }

    /// The address of a struct value: its own where it has one, else a copy.
    pub(super) fn struct_address(&mut self, value: &Expr) -> Value {
        let slot = self.slot(self.types.bytes(value.ty), self.types.align(value.ty));
        self.value_into(value, slot);
        slot
    }

    /// Starts the life of a local.
    pub(super) fn declare(&mut self, local: LocalId, ty: Option<TypeId>, initial: &Initial) {
        let Some(home) = self.home(local) else { return };
        match (home, initial) {
            (Home::Variable(variable, ty), Initial::None) => {
                let zero = self.constant(ty, 0);
                self.write_variable(variable, zero);
            }
            (Home::Variable(variable, _), Initial::Value(value)) => {
                let value = self.value(value);
                self.write_variable(variable, value);
            }
            (Home::Variable(..), Initial::Parts(_)) => {}
            (Home::Memory(address), Initial::Value(value)) => self.value_into(value, address),
            (Home::Memory(address), Initial::None) => {
                // A scalar whose address is taken starts as zero like any other; arrays and structs are left as they are.
                if let Some(ty) = ty.filter(|ty| {
                    self.types.representation(*ty).is_some()
                        || matches!(self.types.get(*ty), types::Type::Pointer { .. })
                }) {
                    let ir_type = self.ir_type(ty);
                    let zero = self.constant(ir_type, 0);
                    self.store(address, zero);
                }
            }
            (Home::Memory(address), Initial::Parts(parts)) => {
                let Some(ty) = ty else { return };
                self.parts_into(parts, ty, address);
            }
        }
    }
}

/// See [`Lowering::prepare`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Prepared {
    Variable(usize),
    Memory(Address),
    Bits(BitPlace),
}
