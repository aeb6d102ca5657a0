//! Destructors: called where the life of a variable ends, in reverse order of the declarations.

use super::Sema;
use super::expressions::Checked;
use super::ranges::{declare, load_local, local_place};
use crate::hir::{Initial, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

impl Sema<'_> {
    /// Whether the end of an object of this type does something.
    pub(super) fn has_destructor(&self, ty: TypeId) -> bool {
        self.types.any_part(ty, |part| {
            matches!(self.types.get(part), Type::Struct(_)) && self.destructor_of(part).is_some()
        })
    }

    /// Notes that a variable needs its destructor called at the end of its scope.
    pub(super) fn note_cleanup(&mut self, local: LocalId, ty: TypeId, span: Span) {
        if !self.has_any_destructor() || !self.has_destructor(ty) {
            return;
        }
        if self.holds_array_of_destructed(ty) {
            self.refuse(span, "an array of objects with destructors");
            return;
        }
        self.current.cleanups.push((local, ty));
    }

    fn holds_array_of_destructed(&self, ty: TypeId) -> bool {
        self.types.any_part(ty, |part| {
            matches!(self.types.get(part), Type::Array { .. }) && self.has_destructor(part)
        })
    }

    /// Refuses an object that no variable holds, if its end would do something.
    pub(super) fn refuse_unnamed(&mut self, ty: TypeId, span: Span) {
        if self.has_any_destructor() && self.has_destructor(ty) {
            self.refuse(span, "a temporary object with a destructor");
        }
    }

    /// Calls for the variables declared since there were so many; they stay noted.
    pub(super) fn cleanups_since(&mut self, mark: usize, span: Span, out: &mut Vec<Stmt>) {
        let cleanups: Vec<(LocalId, TypeId)> = self
            .current
            .cleanups
            .get(mark..)
            .unwrap_or_default()
            .to_vec();
        for (local, ty) in cleanups.into_iter().rev() {
            self.destroy(&local_place(local, ty, span), out);
        }
    }

    /// The same at the end of their scope.
    pub(super) fn end_scope(&mut self, mark: usize, span: Span, out: &mut Vec<Stmt>) {
        self.cleanups_since(mark, span, out);
        self.current.cleanups.truncate(mark);
    }

    fn destroy(&mut self, place: &Place, out: &mut Vec<Stmt>) {
        let span = place.span;
        // The place is written out with all that it is a part of.
        crate::effort::spend(100);
        if let Some(function) = self.destructor_of(place.ty) {
            let call = self.call_of(function, vec![Checked::Place(place.clone())], span);
            let value = self.loaded(call);
            out.push(Stmt {
                kind: StmtKind::Expr(value),
                span,
            });
        }
        let Type::Struct(index) = self.types.get(place.ty) else {
            return;
        };
        let fields = self.types.structs[index.0 as usize].fields.clone();
        for field in fields.iter().rev() {
            if self.has_destructor(field.ty) {
                let inner = Place {
                    kind: PlaceKind::Field(Box::new(place.clone()), field.offset),
                    ty: field.ty,
                    is_const: false,
                    span,
                };
                self.destroy(&inner, out);
            }
        }
    }

    /// A `return` out of scopes with destructors: the value first, then they, then the way out.
    pub(super) fn returned(&mut self, kind: StmtKind, span: Span, out: &mut Vec<Stmt>) {
        if self.current.cleanups.is_empty() {
            out.push(Stmt { kind, span });
            return;
        }
        let kind = match kind {
            StmtKind::Return(Some(value)) if value.ty != TypeTable::VOID => {
                let ty = value.ty;
                let local = self.hidden_local("returned", ty);
                out.push(declare(local, Initial::Value(value), span));
                StmtKind::Return(Some(load_local(local, ty, span)))
            }
            other => other,
        };
        self.cleanups_since(0, span, out);
        out.push(Stmt { kind, span });
    }
}
