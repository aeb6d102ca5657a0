//! Constructors: what they give the fields before their bodies run.

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use super::members::assignment;
use crate::ast;
use crate::hir::{Place, Stmt};
use crate::interner::Symbol;
use crate::types::{Type, TypeId};

impl<'a> Sema<'a> {
    /// The values that a constructor gives its fields before its body runs.
    pub(super) fn constructor_start(&mut self, function: &'a ast::Function, out: &mut Vec<Stmt>) {
        let Some(this) = self.current.this.clone() else {
            return;
        };
        let delegates = function
            .initialisers
            .iter()
            .any(|initialiser| self.names_own_type(initialiser.name, function.name, this.ty));
        if !delegates {
            self.start_fields(function, &this, out);
        }
        for initialiser in &function.initialisers {
            let span = initialiser.span;
            if self.names_own_type(initialiser.name, function.name, this.ty) {
                let checked = self.check_arguments(&initialiser.values);
                if let Some(value) = self.constructed(this.ty, checked, span) {
                    out.push(assignment(this.clone(), value));
                }
                continue;
            }
            let place = match self.base_named(&this, initialiser.name) {
                Some(base) => base,
                None => match self.member_of(&this, initialiser.name, span) {
                    Checked::Place(place) => place,
                    Checked::Value(_) => continue,
                },
            };
            let value = if self.is_array(place.ty) {
                self.list_value(&initialiser.values, place.ty, span)
            } else {
                let value = self.construct_value(place.ty, &initialiser.values, span);
                self.convert(value, place.ty, Context::Initialisation)
            };
            out.push(assignment(place, value));
        }
    }

    /// Fields that the constructor does not name start as the struct says, or as their own constructors do.
    fn start_fields(&mut self, function: &'a ast::Function, this: &Place, out: &mut Vec<Stmt>) {
        let Type::Struct(index) = self.types.get(this.ty) else {
            return;
        };
        let fields = self.types.structs[index.0 as usize].fields.clone();
        for field in fields {
            let is_named = function.initialisers.iter().any(|initialiser| {
                initialiser.name == field.name
                    || field.is_base
                        && self
                            .base_named(this, initialiser.name)
                            .is_some_and(|base| base.ty == field.ty)
            });
            if is_named {
                continue;
            }
            let span = function.span;
            let value = match self.field_start(this.ty, field.offset, field.ty) {
                Some(value) if field.bits.is_none() => value,
                _ if self.needs_making(field.ty) => self.fresh(field.ty, span),
                _ => continue,
            };
            out.push(assignment(super::bases::part(this, &field, span), value));
        }
    }

    fn names_own_type(&self, name: Symbol, own: Symbol, ty: TypeId) -> bool {
        name == own
            && self
                .scopes
                .find(name)
                .is_none_or(|entity| !matches!(entity, super::Entity::Type(other) if *other != ty))
    }

    /// The base of an object that this name stands for.
    fn base_named(&self, this: &Place, name: Symbol) -> Option<Place> {
        let Type::Struct(index) = self.types.get(this.ty) else {
            return None;
        };
        let fields = &self.types.structs[index.0 as usize].fields;
        let aliased = match self.scopes.find(name) {
            Some(super::Entity::Type(ty) | super::Entity::ConstType(ty)) => Some(*ty),
            _ => None,
        };
        fields
            .iter()
            .filter(|field| field.is_base)
            .find(|field| field.name == name || Some(field.ty) == aliased)
            .map(|field| super::bases::part(this, field, this.span))
    }
}
