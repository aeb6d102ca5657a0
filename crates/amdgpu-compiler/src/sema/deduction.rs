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
    /// Of the last parameter, if it is a pack.
    pack: Vec<Option<Argument>>,
    /// Which element of the pack is being looked at.
    position: usize,
}

impl Known<'_> {
    fn index(&self, name: Symbol) -> Option<usize> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == Some(name))
    }

    /// Notes an argument; `false` when another one is known already.
    fn note(&mut self, index: usize, argument: Argument) -> bool {
        if index < self.written && !self.parameters[index].is_pack {
            return true;
        }
        let slot = if self.parameters[index].is_pack {
            if index + self.position < self.written {
                return true;
            }
            if self.pack.len() <= self.position {
                self.pack.resize(self.position + 1, None);
            }
            &mut self.pack[self.position]
        } else {
            &mut self.arguments[index]
        };
        match *slot {
            None => {
                *slot = Some(argument);
                true
            }
            Some(Argument::Value(value, _)) => {
                matches!(argument, Argument::Value(other, _) if other == value)
            }
            Some(known) => known == argument,
        }
    }
}

impl<'k> Known<'k> {
    fn new(parameters: &'k [ast::TemplateParameter], written: &[Argument]) -> Option<Self> {
        let has_pack = parameters.last().is_some_and(|last| last.is_pack);
        let single = parameters.len() - usize::from(has_pack);
        if written.len() > single && !has_pack {
            return None;
        }
        let mut arguments: Vec<Option<Argument>> =
            written.iter().take(single).copied().map(Some).collect();
        arguments.resize(single, None);
        let pack = written.iter().skip(single).copied().map(Some).collect();
        Some(Self {
            parameters,
            arguments,
            written: written.len(),
            pack,
            position: 0,
        })
    }

    /// All arguments, those of the pack last; of a pack all must be known.
    fn complete(mut self) -> Option<Vec<Option<Argument>>> {
        if self.pack.contains(&None) {
            return None;
        }
        if !self.pack.is_empty() {
            self.arguments.append(&mut self.pack);
        }
        Some(self.arguments)
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
        let types: Vec<(TypeId, bool)> = checked
            .iter()
            .map(|argument| match argument {
                Checked::Place(place) => (place.ty, place.is_const),
                Checked::Value(value) => (value.ty, false),
            })
            .collect();
        self.deduce_from(template, written, &types)
    }

    /// The same, from the types of the arguments and whether they are const.
    pub(super) fn deduce_from(
        &mut self,
        template: usize,
        written: &[Argument],
        types: &[(TypeId, bool)],
    ) -> Option<Vec<Option<Argument>>> {
        let template = &self.function_templates[template];
        let function = template.function;
        let mut known = Known::new(template.parameters, written)?;
        let single = function.parameters.iter().filter(|one| one.pack.is_none());
        let rest = types.len().saturating_sub(single.count());
        let parameters = function.parameters.iter().flat_map(|parameter| {
            let count = if parameter.pack.is_some() { rest } else { 1 };
            (0..count).map(move |position| (parameter, position))
        });
        for ((parameter, position), &(ty, is_const)) in parameters.zip(types) {
            known.position = position;
            let fits = match (&parameter.ty.kind, self.types.get(ty)) {
                (TypeKind::Reference(target) | TypeKind::Forwarding(target), _) => {
                    self.unify(target, ty, is_const, &mut known)
                }
                (TypeKind::Array { element, .. }, Type::Array { element: of, .. }) => {
                    self.unify(element, of, is_const, &mut known)
                }
                (
                    TypeKind::Array { element, .. },
                    Type::Pointer {
                        pointee, is_const, ..
                    },
                ) => self.unify(element, pointee, is_const, &mut known),
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
        known.complete()
    }

    /// The arguments of a partial specialisation, compared with those of an instance.
    pub(super) fn deduce_special(
        &self,
        parameters: &[ast::TemplateParameter],
        pattern: &[ast::TemplateArgument],
        given: &[Argument],
    ) -> Option<Vec<Option<Argument>>> {
        let mut known = Known::new(parameters, &[])?;
        if !self.unify_arguments(pattern, given, &mut known) {
            return None;
        }
        known.complete()
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
                    ..
                } => self.unify(pointee, target, is_const, known),
                // Not of the same form, but perhaps known from elsewhere.
                _ => true,
            },
            TypeKind::Template { name, arguments } => {
                let Some((_, actual)) = self
                    .instances
                    .arguments
                    .get(&given)
                    .filter(|(index, _)| self.type_templates[*index].name == *name)
                else {
                    // A base of what is given may be of this form; what fits no form is not deduced from.
                    return self
                        .bases_of(given)
                        .into_iter()
                        .all(|(base, _)| self.unify(pattern, base, is_const, known));
                };
                self.unify_arguments(arguments, actual, known)
            }
            TypeKind::Array {
                element,
                length: Some(length),
            } => match (self.types.get(given), &length.kind) {
                (
                    Type::Array {
                        element: of,
                        length,
                    },
                    ast::ExprKind::Name(name),
                ) => {
                    let is_known = match known.index(*name) {
                        Some(index) => {
                            let count = Argument::Value(length as i64, TypeTable::UNSIGNED_LONG);
                            known.note(index, count)
                        }
                        None => true,
                    };
                    is_known && self.unify(element, of, is_const, known)
                }
                (Type::Array { element: of, .. }, _) => self.unify(element, of, is_const, known),
                _ => true,
            },
            _ => true,
        }
    }

    /// Compares arguments as written with those of an instance, an expansion with all that are left.
    fn unify_arguments(
        &self,
        pattern: &[ast::TemplateArgument],
        given: &[Argument],
        known: &mut Known<'_>,
    ) -> bool {
        let mut given = given.iter();
        for pattern in pattern {
            if let ast::TemplateArgument::Expansion(pattern, _) = pattern {
                for (position, given) in given.by_ref().enumerate() {
                    known.position = position;
                    if !self.unify_argument(pattern, *given, known) {
                        return false;
                    }
                }
                continue;
            }
            let Some(given) = given.next() else { break };
            if !self.unify_argument(pattern, *given, known) {
                return false;
            }
        }
        true
    }

    fn unify_argument(
        &self,
        pattern: &ast::TemplateArgument,
        given: Argument,
        known: &mut Known<'_>,
    ) -> bool {
        match (pattern, given) {
            (ast::TemplateArgument::Type(pattern), Argument::Type(ty, is_const)) => {
                self.unify(pattern, ty, is_const, known)
            }
            (
                ast::TemplateArgument::Value(ast::Expr {
                    kind: ast::ExprKind::Name(name),
                    ..
                }),
                _,
            ) => match known.index(*name) {
                Some(index) => known.note(index, given),
                None => true,
            },
            _ => true,
        }
    }

    /// How much of a template's parameters is written out: of two that fit alike, the more special one is meant.
    pub(super) fn speciality(&self, template: usize) -> u32 {
        self.function_templates[template]
            .function
            .parameters
            .iter()
            .map(|parameter| type_speciality(&parameter.ty))
            .sum()
    }
}

/// How much of a type as written does not depend on template parameters.
pub(super) fn type_speciality(ty: &TypeExpr) -> u32 {
    match &ty.kind {
        TypeKind::Pointer { pointee, .. } => {
            1 + type_speciality(pointee) + u32::from(pointee.is_const)
        }
        TypeKind::Reference(target) | TypeKind::Forwarding(target) => type_speciality(target),
        TypeKind::Array { element, length } => {
            1 + type_speciality(element) + u32::from(length.is_some())
        }
        TypeKind::Template { arguments, .. } => {
            1 + arguments.iter().map(argument_speciality).sum::<u32>()
        }
        TypeKind::Scalar(_) => 2,
        _ => 0,
    }
}

/// The same for an argument of a template.
pub(super) fn argument_speciality(argument: &ast::TemplateArgument) -> u32 {
    match argument {
        ast::TemplateArgument::Type(ty) => 2 * type_speciality(ty) + u32::from(ty.is_const) + 1,
        ast::TemplateArgument::Value(value) => match value.kind {
            ast::ExprKind::Name(_) => 1,
            _ => 3,
        },
        ast::TemplateArgument::Expansion(..) => 0,
    }
}
