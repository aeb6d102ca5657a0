//! Structs by value as parameters of kernels: each scalar inside is a parameter of its own. Padding parameters put it where the
//! struct has it, so that the argument buffer holds the struct byte by byte, on every target alike.

use super::{Lowering, POINTER, scalar_type};
use crate::hir;
use crate::ir::{AddressSpace, CastKind, Type, Value};
use crate::types::{self, TypeId};

impl Lowering<'_> {
    /// Takes a struct apart in the parameter list and puts it together in memory; gives its address.
    pub(super) fn kernel_struct(&mut self, local: &hir::Local) -> Value {
        let (bytes, align) = (self.types.bytes(local.ty), self.types.align(local.ty));
        let start = self.argument_bytes().next_multiple_of(align);
        let address = self.slot(bytes, align);
        let name = if local.name.is_empty() {
            "unnamed"
        } else {
            &local.name
        };
        let mut leaves = Vec::new();
        self.leaves(local.ty, 0, &mut leaves);
        for (offset, ty) in leaves {
            self.pad_arguments(start + offset);
            let value = self.add_parameter(&format!("{name}_{offset}"), ty, false);
            let value = match ty {
                Type::Pointer(_) => self.cast(CastKind::AddressSpace, value, POINTER),
                _ => value,
            };
            let place = self.address_plus(address, offset);
            self.store(place, value);
        }
        self.pad_arguments(start + bytes);
        address
    }

    /// Where the argument buffer ends so far; every parameter lies at its natural alignment.
    fn argument_bytes(&self) -> u64 {
        self.function
            .parameters
            .iter()
            .fold(0, |end: u64, parameter| {
                let bytes = parameter.ty.bytes().max(1);
                end.next_multiple_of(bytes) + bytes
            })
    }

    fn pad_arguments(&mut self, end: u64) {
        let mut now = self.argument_bytes();
        while now < end {
            self.add_parameter("padding", Type::I8, false);
            now += 1;
        }
    }

    /// The scalars inside of a type, with their offsets.
    fn leaves(&self, ty: TypeId, base: u64, out: &mut Vec<(u64, Type)>) {
        match self.types.get(ty) {
            types::Type::Struct(index)
                if {
                    let structure = &self.types.structs[index.0 as usize];
                    structure.is_union || structure.fields.iter().any(|field| field.bits.is_some())
                } =>
            {
                self.word_leaves(ty, base, out);
            }
            types::Type::Struct(index) => {
                for field in &self.types.structs[index.0 as usize].fields {
                    self.leaves(field.ty, base + field.offset, out);
                }
            }
            types::Type::Array { element, length } => {
                let bytes = self.types.bytes(element);
                for index in 0..length {
                    self.leaves(element, base + index * bytes, out);
                }
            }
            types::Type::Pointer { .. } => out.push((base, Type::Pointer(AddressSpace::Global))),
            _ => {
                let ty = self.types.representation(ty).map_or(Type::I32, scalar_type);
                // In memory a bool is a byte.
                out.push((base, if ty == Type::I1 { Type::I8 } else { ty }));
            }
        }
    }

    /// The words a union or a struct with bit-fields is made of, whose fields lie over each other.
    fn word_leaves(&self, ty: TypeId, base: u64, out: &mut Vec<(u64, Type)>) {
        let align = self.types.align(ty).min(8);
        let word = match align {
            1 => Type::I8,
            2 => Type::I16,
            4 => Type::I32,
            _ => Type::I64,
        };
        let count = self.types.bytes(ty) / align;
        out.extend((0..count).map(|index| (base + index * align, word)));
    }
}
