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
        let types: Vec<Option<TypeId>> = function
            .initialisers
            .iter()
            .map(|initialiser| self.named_type(initialiser))
            .collect();
        let is_own = |initialiser: &ast::Initialiser, ty: Option<TypeId>| {
            ty == Some(this.ty) || ty.is_none() && initialiser.name == function.name
        };
        let delegates = function
            .initialisers
            .iter()
            .zip(&types)
            .any(|(initialiser, ty)| is_own(initialiser, *ty));
        if !delegates {
            self.start_fields(function, &types, &this, out);
        }
        for (initialiser, &ty) in function.initialisers.iter().zip(&types) {
            let span = initialiser.span;
            if is_own(initialiser, ty) {
                let checked = self.check_arguments(&initialiser.values);
                if let Some(value) = self.constructed(this.ty, checked, span) {
                    out.push(assignment(this.clone(), value));
                }
                continue;
            }
            let place = match self.base_named(&this, initialiser.name, ty) {
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
    fn start_fields(
        &mut self,
        function: &'a ast::Function,
        types: &[Option<TypeId>],
        this: &Place,
        out: &mut Vec<Stmt>,
    ) {
        let Type::Struct(index) = self.types.get(this.ty) else {
            return;
        };
        let fields = self.types.structs[index.0 as usize].fields.clone();
        for field in fields {
            let mut named = function.initialisers.iter().zip(types);
            let is_named = named.any(|(initialiser, &ty)| {
                if field.is_base {
                    let base = self.base_named(this, initialiser.name, ty);
                    base.is_some_and(|base| base.ty == field.ty)
                } else {
                    initialiser.name == field.name
                }
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

    /// The type that an initialiser names, if it is no field.
    fn named_type(&mut self, initialiser: &'a ast::Initialiser) -> Option<TypeId> {
        if let Some(arguments) = &initialiser.arguments {
            return Some(self.template_type(initialiser.name, arguments, initialiser.span));
        }
        match self.scopes.find(initialiser.name) {
            Some(super::Entity::Type(ty) | super::Entity::ConstType(ty)) => Some(*ty),
            _ => None,
        }
    }

    /// The base of an object that this name or type stands for.
    fn base_named(&self, this: &Place, name: Symbol, ty: Option<TypeId>) -> Option<Place> {
        let Type::Struct(index) = self.types.get(this.ty) else {
            return None;
        };
        let fields = &self.types.structs[index.0 as usize].fields;
        fields
            .iter()
            .filter(|field| field.is_base)
            .find(|field| match ty {
                Some(ty) => field.ty == ty,
                None => field.name == name,
            })
            .map(|field| super::bases::part(this, field, this.span))
    }
}
