//! Copies of objects whose structs say how to copy: by a constructor, or by `operator=`.
//!
//! A copy is made where the value of a place is taken: an initial value, an argument, a result, a field, what a lambda keeps. Values that are
//! no places are not copied, and a variable of the function that is returned is the result (C++ allows that, and compilers do it).

use super::calls::can_take_one;
use super::expressions::Checked;
use super::{Sema, Signature};
use crate::ast::{self, Role};
use crate::hir::{Expr, ExprKind, Place, PlaceKind};
use crate::interner::words;
use crate::source::Span;
use crate::types::{Field, Type, TypeId, TypeTable};
use rustc_hash::FxHashSet;

/// Structs with functions of their own for copies.
#[derive(Default)]
pub(super) struct Copies {
    constructors: FxHashSet<TypeId>,
    /// `S(S&&)`.
    moves: FxHashSet<TypeId>,
    /// `operator=(const S&)`.
    assignments: FxHashSet<TypeId>,
}

impl<'a> Sema<'a> {
    /// Keeps that a member function copies objects of its struct.
    pub(super) fn note_copy(&mut self, owner: TypeId, signature: &Signature<'a>) {
        let is_constructor = signature.role == Role::Constructor;
        let own = match (is_constructor, signature.parameters.as_slice()) {
            (true, [own, ..]) if can_take_one(signature) => own,
            (false, [_, own]) if signature.name == words::OPERATOR_ASSIGN => own,
            _ => return,
        };
        if own.ty != owner {
            return;
        }
        let copies = &mut self.copies;
        let set = match (is_constructor, own.is_reference, own.is_forwarding) {
            (false, ..) => &mut copies.assignments,
            (true, true, false) => &mut copies.constructors,
            (true, true, true) => &mut copies.moves,
            (true, false, _) => return,
        };
        set.insert(owner);
    }

    pub(super) fn has_copies(&self) -> bool {
        !self.copies.constructors.is_empty() || !self.copies.moves.is_empty()
    }

    /// Whether the value of a place of this type is more than its bytes.
    pub(super) fn copies_by_call(&self, ty: TypeId) -> bool {
        if !self.has_copies() {
            return false;
        }
        self.types.any_part(ty, |part| {
            self.copies.constructors.contains(&part) || self.copies.moves.contains(&part)
        })
    }

    /// Whether the struct's own `operator=` takes objects of the struct.
    pub(super) fn assigns_itself(&self, ty: TypeId) -> bool {
        self.copies.assignments.contains(&ty)
            || self.has_method_template(ty, words::OPERATOR_ASSIGN)
    }

    fn assigns_by_call(&self, ty: TypeId) -> bool {
        self.types
            .any_part(ty, |part| self.copies.assignments.contains(&part))
    }

    /// The value of a place whose copy is made by a constructor, its own or those of its fields; the place itself where it is not.
    pub(super) fn copied(&mut self, place: Place) -> Result<Expr, Place> {
        let (ty, span) = (place.ty, place.span);
        if matches!(place.kind, PlaceKind::Temporary(_)) || !self.copies_by_call(ty) {
            return Err(place);
        }
        if self.copies.constructors.contains(&ty) {
            let made = self.constructed(ty, vec![Checked::Place(place)], span);
            return Ok(made.unwrap_or_else(|| Self::bad(span)));
        }
        if self.copies.moves.contains(&ty) {
            self.refuse(span, "copying an object that has a constructor for moves");
            return Ok(Self::bad(span));
        }
        Ok(self.copied_parts(&place))
    }

    fn copied_parts(&mut self, place: &Place) -> Expr {
        let span = place.span;
        // The place is written out with all that it is a part of.
        crate::effort::spend(100);
        let Type::Struct(index) = self.types.get(place.ty) else {
            return Self::bad(span);
        };
        let structure = &self.types.structs[index.0 as usize];
        let fields: Vec<Field> = structure.fields.clone();
        let has_array = fields
            .iter()
            .any(|field| matches!(self.types.get(field.ty), Type::Array { .. }));
        if structure.is_union || has_array || !is_simple(place) {
            self.refuse(
                span,
                "copying arrays, unions and computed places of objects with constructors that copy",
            );
            return Self::bad(span);
        }
        let values = fields
            .iter()
            .map(|field| self.load(super::bases::part(place, field, span)))
            .collect();
        Expr {
            kind: ExprKind::Struct(values),
            ty: place.ty,
            span,
        }
    }

    /// The bytes of a place as a value, whatever its struct says of copies.
    fn bytes_of(&mut self, checked: Checked) -> Expr {
        match checked {
            Checked::Place(place) if self.copies_by_call(place.ty) => Self::raw_load(place),
            other => self.loaded(other),
        }
    }

    /// The base in an object that is a copy already, which is not copied again.
    pub(super) fn base_of_copy(&mut self, whole: Place, to: TypeId) -> Expr {
        if self.copies.constructors.contains(&whole.ty) {
            self.refuse(
                whole.span,
                "making a base object of one with a constructor that copies",
            );
        }
        let base = self.as_base(whole, to);
        Self::raw_load(base)
    }

    fn raw_load(place: Place) -> Expr {
        let (ty, span) = (place.ty, place.span);
        Expr {
            kind: ExprKind::Load(Box::new(place)),
            ty,
            span,
        }
    }

    /// An expression that nobody takes the value of.
    pub(super) fn discarded(&mut self, expr: &'a ast::Expr) -> Expr {
        let checked = self.check_expr(expr);
        self.bytes_of(checked)
    }

    /// What is assigned to a place whose struct has no `operator=`: each field is, none is copied by a constructor.
    pub(super) fn assigned(&mut self, checked: Checked, target: TypeId, span: Span) -> Expr {
        if !self.copies.assignments.is_empty() && self.assigns_by_call(target) {
            self.refuse(
                span,
                "assigning a struct with fields that have an operator=",
            );
        }
        match &checked {
            Checked::Place(place) if place.ty == target => self.bytes_of(checked),
            _ => self.loaded(checked),
        }
    }

    /// The value of `return`: a variable of the function is handed over as it is.
    pub(super) fn returned_value(&mut self, value: &'a ast::Expr) -> Expr {
        let checked = self.check_expr(value);
        let Checked::Place(place) = checked else {
            return self.loaded(checked);
        };
        if let PlaceKind::Local(local) = place.kind
            && place.ty != TypeTable::ERROR
            && self.copies_by_call(place.ty)
        {
            if local.0 as usize >= self.current.parameters {
                return Self::raw_load(place);
            }
            if self.copies.moves.contains(&place.ty) {
                self.refuse(
                    value.span,
                    "returning a parameter that has a constructor for moves",
                );
            }
        }
        self.load(place)
    }

    /// `std::move(place)`, which must not mean anything.
    pub(super) fn refuse_move(&mut self, checked: &Checked, span: Span) {
        if let Checked::Place(place) = checked
            && self.copies_by_call(place.ty)
        {
            self.refuse(
                span,
                "std::move of an object with constructors that copy or move",
            );
        }
    }
}

/// Whether a place can be written twice and is the same place both times.
fn is_simple(place: &Place) -> bool {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) | PlaceKind::Shared(_) => true,
        PlaceKind::Field(inner, _) => is_simple(inner),
        PlaceKind::Dereference(pointer) => match &pointer.kind {
            ExprKind::Load(inner) | ExprKind::AddressOf(inner) => is_simple(inner),
            _ => false,
        },
        _ => false,
    }
}
