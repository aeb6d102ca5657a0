//! Structs in structs: bases, members of unions without a name, and what is found through them. Layout of C, bit-fields included.

use super::expressions::Checked;
use super::{Entity, Sema};
use crate::ast;
use crate::hir::{Expr, ExprKind, Place, PlaceKind};
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{BitRange, Field, MAX_OBJECT_BYTES, Type, TypeId, TypeTable};

/// Bases of bases: what a lookup walks through.
const MAX_BASE_DEPTH: u32 = 64;

/// A place for the next field.
struct Cursor {
    offset: u64,
    /// Bits of the last bit-field's unit that are taken, from `offset` down; 0 after other fields.
    bit: u64,
    align: u64,
}

impl<'a> Sema<'a> {
    /// The fields of a struct, each where C puts it.
    pub(super) fn layout(&mut self, id: TypeId, structure: &'a ast::Struct) {
        let mut fields: Vec<Field> = Vec::new();
        let mut cursor = Cursor {
            offset: 0,
            bit: 0,
            align: 1,
        };
        let mut end = 0u64;
        for (index, field) in structure.fields.iter().enumerate() {
            let is_base = index < structure.bases;
            let ty = self.resolve(&field.ty);
            if !self.is_field_type(id, ty, field, is_base) {
                continue;
            }
            let is_unnamed = self.text(field.name) == "(unnamed bits)";
            if !is_unnamed && fields.iter().any(|other| other.name == field.name) {
                let text = self.text(field.name);
                self.error(field.span, format!("the field '{text}' is declared twice"));
                continue;
            }
            if structure.is_union {
                cursor.offset = 0;
                cursor.bit = 0;
            }
            let (offset, bits) = if let Some(width) = &field.bits {
                let Some(width) = self.bit_width(width, ty, field.span) else {
                    continue;
                };
                let at = self.place_bits(&mut cursor, ty, width);
                if is_unnamed {
                    continue;
                }
                at
            } else {
                let align = self.alignment(ty, field.align.as_ref());
                (self.place_field(&mut cursor, ty, align, is_base), None)
            };
            end = end.max(cursor.offset);
            if let (Some(start), Some(_)) = (&field.start, bits) {
                self.refuse(start.span, "an initial value of a bit-field");
            } else if let Some(start) = &field.start {
                self.note_start(id, offset, start);
            }
            let volatile_pointer = field
                .ty
                .has_volatile()
                .then(|| self.types.qualified_pointer(ty, false, true));
            fields.push(Field {
                name: field.name,
                ty,
                offset,
                bits,
                is_transparent: field.is_transparent,
                is_base,
                is_mutable: field.is_mutable,
                volatile_pointer,
            });
        }
        let mut offset = end.max(cursor.offset);
        if offset > MAX_OBJECT_BYTES {
            self.error(
                structure.span,
                format!("this struct is larger than {MAX_OBJECT_BYTES} bytes"),
            );
            offset = 1;
        }
        let align = cursor
            .align
            .max(self.wanted_alignment(structure.align.as_ref()));
        self.declared_structs.remove(&id);
        if let Type::Struct(index) = self.types.get(id) {
            let entry = &mut self.types.structs[index.0 as usize];
            entry.fields = fields;
            entry.bytes = offset.max(1).next_multiple_of(align);
            entry.align = align;
            entry.is_union = structure.is_union;
        }
    }

    fn is_field_type(
        &mut self,
        id: TypeId,
        ty: TypeId,
        field: &ast::Variable,
        is_base: bool,
    ) -> bool {
        let is_unfinished =
            ty == id || ty == TypeTable::VOID || self.declared_structs.contains(&ty);
        if is_unfinished {
            self.error(
                field.span,
                "a field cannot have this type: it has no size yet",
            );
        } else if is_base
            && ty != TypeTable::ERROR
            && !matches!(self.types.get(ty), Type::Struct(_))
        {
            let text = self.types.text(ty);
            self.error(
                field.span,
                format!("a base is a struct, and this is '{text}'"),
            );
            return false;
        }
        if is_base && self.base_depth(ty) >= MAX_BASE_DEPTH {
            self.error(
                field.span,
                format!("bases are nested more than {MAX_BASE_DEPTH} levels deep"),
            );
            return false;
        }
        !is_unfinished
    }

    fn base_depth(&self, ty: TypeId) -> u32 {
        let bases = self.bases_of(ty).into_iter();
        bases
            .map(|(base, _)| 1 + self.base_depth(base))
            .max()
            .unwrap_or(0)
    }

    /// Where a variable of this type may start: as its type asks, or `alignas`, whichever is stricter.
    pub(super) fn alignment(&mut self, ty: TypeId, wanted: Option<&'a ast::Expr>) -> u64 {
        self.types.align(ty).max(self.wanted_alignment(wanted))
    }

    /// The number of an `alignas`; 1 without one.
    pub(super) fn wanted_alignment(&mut self, wanted: Option<&'a ast::Expr>) -> u64 {
        let Some(wanted) = wanted else {
            return 1;
        };
        match self.constant_integer(wanted) {
            Some(bytes) if (1..=256).contains(&bytes) && (bytes as u64).is_power_of_two() => {
                bytes as u64
            }
            _ => {
                self.error(wanted.span, "an alignment is a power of two up to 256");
                1
            }
        }
    }

    fn place_field(&mut self, cursor: &mut Cursor, ty: TypeId, align: u64, is_base: bool) -> u64 {
        let offset = cursor.offset.next_multiple_of(align);
        // A base without fields takes no room.
        let is_empty = is_base
            && matches!(self.types.get(ty), Type::Struct(index) if self.types.structs[index.0 as usize].fields.is_empty());
        let bytes = if is_empty { 0 } else { self.types.bytes(ty) };
        cursor.offset = offset.saturating_add(bytes).min(MAX_OBJECT_BYTES * 2);
        cursor.bit = 0;
        cursor.align = cursor.align.max(align);
        offset
    }

    /// A bit-field lies in an aligned unit of its type, next to the one before it where it fits (System V).
    fn place_bits(
        &mut self,
        cursor: &mut Cursor,
        ty: TypeId,
        width: u8,
    ) -> (u64, Option<BitRange>) {
        let bytes = self.types.bytes(ty);
        let taken = cursor.offset * 8 - if cursor.bit == 0 { 0 } else { 8 - cursor.bit };
        let unit = bytes * 8;
        let mut start = taken;
        if width == 0 || start / unit != (start + u64::from(width) - 1) / unit {
            start = start.next_multiple_of(unit);
        }
        if width > 0 {
            cursor.align = cursor.align.max(bytes);
        }
        let end = start + u64::from(width);
        cursor.offset = end.div_ceil(8);
        cursor.bit = end % 8;
        let range = BitRange {
            shift: (start % unit) as u8,
            width,
        };
        (start / unit * bytes, Some(range))
    }

    fn bit_width(&mut self, width: &'a ast::Expr, ty: TypeId, span: Span) -> Option<u8> {
        let scalar = self
            .types
            .representation(ty)
            .filter(|scalar| !scalar.is_float());
        let Some(scalar) = scalar else {
            if ty != TypeTable::ERROR {
                let text = self.types.text(ty);
                self.error(
                    span,
                    format!("a bit-field is an integer, and this is '{text}'"),
                );
            }
            return None;
        };
        let most = i64::from(scalar.bytes()) * 8;
        match self.constant_integer(width) {
            Some(bits) if (0..=most).contains(&bits) => Some(bits as u8),
            Some(bits) => {
                let text = self.types.text(ty);
                self.error(
                    width.span,
                    format!("a bit-field of '{text}' has 0 to {most} bits, and this one {bits}"),
                );
                None
            }
            None => {
                self.not_constant(width.span, "the width of a bit-field");
                None
            }
        }
    }

    /// The place of a field, also of one inside of a base or of a union without a name.
    pub(super) fn field_of(&self, place: &Place, name: Symbol, span: Span) -> Option<Place> {
        let Type::Struct(index) = self.types.get(place.ty) else {
            return None;
        };
        let fields = &self.types.structs[index.0 as usize].fields;
        if let Some(field) = fields.iter().find(|field| field.name == name) {
            return Some(part(place, field, span));
        }
        fields
            .iter()
            .filter(|field| field.is_transparent)
            .find_map(|field| self.field_of(&part(place, field, span), name, span))
    }

    /// The struct among a type and its bases that has this function, and where it lies.
    pub(super) fn method_owner(&self, ty: TypeId, name: Symbol) -> Option<(TypeId, u64)> {
        if self.has_own_method(ty, name) {
            return Some((ty, 0));
        }
        self.bases_of(ty).into_iter().find_map(|(base, offset)| {
            let (owner, inner) = self.method_owner(base, name)?;
            Some((owner, offset + inner))
        })
    }

    /// The bases of a type and where they lie.
    pub(super) fn bases_of(&self, ty: TypeId) -> Vec<(TypeId, u64)> {
        match self.types.get(ty) {
            Type::Struct(index) => self.types.structs[index.0 as usize]
                .fields
                .iter()
                .filter(|field| field.is_base)
                .map(|field| (field.ty, field.offset))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Where a base lies in a struct, however deep.
    pub(super) fn base_offset(&self, derived: TypeId, base: TypeId) -> Option<u64> {
        if derived == base {
            return Some(0);
        }
        self.bases_of(derived)
            .into_iter()
            .find_map(|(inner, offset)| Some(offset + self.base_offset(inner, base)?))
    }

    /// A place as one of its bases.
    pub(super) fn as_base(&self, place: Place, base: TypeId) -> Place {
        if place.ty == base {
            return place;
        }
        let offset = self.base_offset(place.ty, base).unwrap_or(0);
        Place {
            is_const: place.is_const,
            span: place.span,
            kind: PlaceKind::Field(Box::new(place), offset),
            ty: base,
        }
    }

    /// What the members of bases and of unions without a name are called, in the scope of a struct.
    pub(super) fn bind_inherited(&mut self, id: TypeId, part: TypeId) {
        for (base, _) in self.bases_of(part) {
            self.bind_inherited(id, base);
        }
        let Type::Struct(index) = self.types.get(part) else {
            return;
        };
        let fields = self.types.structs[index.0 as usize].fields.clone();
        for field in fields {
            if field.is_transparent && !field.is_base {
                self.bind_inherited(id, field.ty);
            } else if !field.is_base {
                self.scopes.bind(field.name, Entity::Member(id));
            }
        }
        for name in self.method_names(part) {
            self.scopes.bind(name, Entity::Member(id));
        }
        for (name, entity) in self.statics_of(part) {
            self.scopes.bind(name, entity);
        }
    }

    /// A pointer to a struct as one to its base, or back.
    pub(super) fn moved_pointer(&mut self, pointer: Expr, to: TypeId) -> Option<Expr> {
        let (
            Type::Pointer { pointee: from, .. },
            Type::Pointer {
                pointee: target, ..
            },
        ) = (self.types.get(pointer.ty), self.types.get(to))
        else {
            return None;
        };
        let (bytes, is_negative) = match self.base_offset(from, target) {
            Some(bytes) => (bytes, false),
            None => (self.base_offset(target, from)?, true),
        };
        let span = pointer.span;
        if bytes == 0 {
            return None;
        }
        let char_type = self.types.scalar(crate::types::ScalarType::Char);
        let text = self.types.pointer(char_type, false);
        let cast = |value: Expr, ty| Expr {
            kind: ExprKind::Cast(Box::new(value)),
            ty,
            span,
        };
        let moved = Expr {
            kind: ExprKind::Offset {
                pointer: Box::new(cast(pointer, text)),
                index: Box::new(Expr {
                    kind: ExprKind::Integer(bytes as i64),
                    ty: TypeTable::LONG,
                    span,
                }),
                is_negative,
            },
            ty: text,
            span,
        };
        Some(cast(moved, to))
    }

    /// `static_cast<T&>(place)`: the same memory under another type.
    pub(super) fn reference_cast(
        &mut self,
        target: &'a ast::TypeExpr,
        value: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        let ty = self.resolve(target);
        let checked = self.check_expr(value);
        let place = match checked {
            Checked::Place(place) => place,
            Checked::Value(value) => {
                let ty = value.ty;
                Place {
                    kind: PlaceKind::Temporary(value),
                    ty,
                    is_const: false,
                    span,
                }
            }
        };
        if place.ty == TypeTable::ERROR || ty == TypeTable::ERROR {
            return Checked::Value(Self::bad(span));
        }
        if matches!(place.kind, PlaceKind::Bits { .. }) {
            self.error(span, "a bit-field has no address");
            return Checked::Value(Self::bad(span));
        }
        let (is_const, is_volatile) = (self.is_const(target), target.has_volatile());
        if place.ty == ty && is_volatile == self.is_volatile_place(&place) {
            return Checked::Place(Place { is_const, ..place });
        }
        self.mark_in_memory(&place);
        let from = self.types.pointer(place.ty, false);
        let to = self.types.qualified_pointer(ty, is_const, is_volatile);
        let address = Expr {
            kind: ExprKind::AddressOf(Box::new(place)),
            ty: from,
            span,
        };
        let address = self
            .moved_pointer(address.clone(), to)
            .unwrap_or_else(|| self.cast_to(address, to));
        Checked::Place(Place {
            kind: PlaceKind::Dereference(address),
            ty,
            is_const,
            span,
        })
    }
}

/// A field as part of a place.
pub(super) fn part(place: &Place, field: &Field, span: Span) -> Place {
    let inner = Place {
        kind: PlaceKind::Field(Box::new(place.clone()), field.offset),
        ty: field.ty,
        is_const: place.is_const && !field.is_mutable,
        span,
    };
    let inner = match field.volatile_pointer {
        None => inner,
        Some(pointer) => Place {
            ty: field.ty,
            is_const: inner.is_const,
            span,
            kind: PlaceKind::Dereference(Expr {
                kind: ExprKind::AddressOf(Box::new(inner)),
                ty: pointer,
                span,
            }),
        },
    };
    match field.bits {
        None => inner,
        Some(range) => Place {
            kind: PlaceKind::Bits(Box::new(inner), range),
            ty: field.ty,
            is_const: place.is_const,
            span,
        },
    }
}
