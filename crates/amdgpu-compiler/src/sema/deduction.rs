//! Template arguments found from the arguments of a call.

use super::Sema;
use super::expressions::Checked;
use super::instances::Argument;
use crate::ast::{self, TypeExpr, TypeKind};
use crate::interner::Symbol;
use crate::types::{Type, TypeId, TypeTable};

/// What is known of a template's arguments.
struct Known<'k> {
    parameters: &'k [ast::TemplateParameter],
    arguments: Vec<Option<Argument>>,
    /// So many were written out, and what they are given is converted.
    written: usize,
}

impl Known<'_> {
    fn index(&self, name: Symbol) -> Option<usize> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == Some(name))
    }

    /// Notes an argument; `false` when another one is known already.
    fn note(&mut self, index: usize, argument: Argument) -> bool {
        if index < self.written {
            return true;
        }
        match self.arguments[index] {
            None => {
                self.arguments[index] = Some(argument);
                true
            }
            Some(Argument::Value(value, _)) => {
                matches!(argument, Argument::Value(other, _) if other == value)
            }
            Some(known) => known == argument,
        }
    }
}

impl Sema<'_> {
    /// The template arguments of a call, as far as they follow from its arguments; `None` when they contradict each other.
    pub(super) fn deduce(
        &mut self,
        template: usize,
        written: &[Argument],
        checked: &[Checked],
    ) -> Option<Vec<Option<Argument>>> {
        let template = &self.function_templates[template];
        let function = template.function;
        if written.len() > template.parameters.len() {
            return None;
        }
        let mut known = Known {
            parameters: template.parameters,
            arguments: vec![None; template.parameters.len()],
            written: written.len(),
        };
        for (slot, argument) in known.arguments.iter_mut().zip(written) {
            *slot = Some(*argument);
        }
        for (parameter, argument) in function.parameters.iter().zip(checked) {
            let (ty, is_const) = match argument {
                Checked::Place(place) => (place.ty, place.is_const),
                Checked::Value(value) => (value.ty, false),
            };
            let fits = match (&parameter.ty.kind, self.types.get(ty)) {
                (TypeKind::Reference(target) | TypeKind::Forwarding(target), _) => {
                    self.unify(target, ty, is_const, &mut known)
                }
                (TypeKind::Array { element, .. }, Type::Array { element: of, .. }) => {
                    self.unify(element, of, is_const, &mut known)
                }
                (TypeKind::Array { element, .. }, Type::Pointer { pointee, is_const }) => {
                    self.unify(element, pointee, is_const, &mut known)
                }
                (TypeKind::Pointer { pointee, .. }, Type::Array { element, .. }) => {
                    self.unify(pointee, element, is_const, &mut known)
                }
                (_, Type::Array { element, .. }) => {
                    let pointer = self.types.pointer(element, is_const);
                    self.unify(&parameter.ty, pointer, false, &mut known)
                }
                // The top-level const of a copy is dropped.
                _ => self.unify(&parameter.ty, ty, false, &mut known),
            };
            if !fits {
                return None;
            }
        }
        Some(known.arguments)
    }

    /// Compares a type as written with a type that is given.
    fn unify(
        &self,
        pattern: &TypeExpr,
        given: TypeId,
        is_const: bool,
        known: &mut Known<'_>,
    ) -> bool {
        if given == TypeTable::ERROR {
            return true;
        }
        match &pattern.kind {
            TypeKind::Named(name) => match known.index(*name) {
                Some(_) if matches!(self.types.get(given), Type::Null) => false,
                Some(index) => {
                    let is_const = is_const && !pattern.is_const;
                    known.note(index, Argument::Type(given, is_const))
                }
                None => true,
            },
            TypeKind::Pointer { pointee, .. } => match self.types.get(given) {
                Type::Pointer {
                    pointee: target,
                    is_const,
                } => self.unify(pointee, target, is_const, known),
                // Not of the same form, but perhaps known from elsewhere.
                _ => true,
            },
            TypeKind::Template { name, arguments } => {
                let Some((index, actual)) = self.instances.arguments.get(&given) else {
                    return true;
                };
                if self.type_templates[*index].name != *name {
                    return true;
                }
                arguments
                    .iter()
                    .zip(actual)
                    .all(|(pattern, actual)| match (pattern, actual) {
                        (ast::TemplateArgument::Type(pattern), Argument::Type(ty, is_const)) => {
                            self.unify(pattern, *ty, *is_const, known)
                        }
                        (
                            ast::TemplateArgument::Value(ast::Expr {
                                kind: ast::ExprKind::Name(name),
                                ..
                            }),
                            Argument::Value(..),
                        ) => match known.index(*name) {
                            Some(index) => known.note(index, *actual),
                            None => true,
                        },
                        _ => true,
                    })
            }
            _ => true,
        }
    }

    /// How much of a template's parameters is written out: of two that fit alike, the more special one is meant.
    pub(super) fn speciality(&self, template: usize) -> u32 {
        fn of(ty: &TypeExpr) -> u32 {
            match &ty.kind {
                TypeKind::Pointer { pointee, .. } => 1 + of(pointee) + u32::from(pointee.is_const),
                TypeKind::Reference(target) | TypeKind::Forwarding(target) => of(target),
                TypeKind::Array { element, .. } => 1 + of(element),
                TypeKind::Template { arguments, .. } => {
                    1 + arguments
                        .iter()
                        .map(|argument| match argument {
                            ast::TemplateArgument::Type(ty) => of(ty),
                            ast::TemplateArgument::Value(_) => 0,
                        })
                        .sum::<u32>()
                }
                TypeKind::Scalar(_) => 2,
                _ => 0,
            }
        }
        self.function_templates[template]
            .function
            .parameters
            .iter()
            .map(|parameter| of(&parameter.ty))
            .sum()
    }
}
