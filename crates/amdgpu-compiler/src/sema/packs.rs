//! Parameter packs: expanded, folded, counted; and `decltype`, which asks for the type of what may hold them.

use std::rc::Rc;

use super::expressions::Checked;
use super::{Entity, ParameterType, Sema};
use crate::ast::{self, BinaryOp, TemplateArgument, TypeExpr, TypeKind};
use crate::hir::{Expr, ExprKind, Parameter, PlaceKind};
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

impl<'a> Sema<'a> {
    /// Runs `each` once for each element of the packs among the names, which stand for that element then.
    pub(super) fn expand<T>(
        &mut self,
        names: &[Symbol],
        span: Span,
        mut each: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let mut packs: Vec<(Symbol, Rc<Vec<Entity>>)> = Vec::new();
        for &name in names {
            if let Some(Entity::Pack(pack)) = self.scopes.find(name) {
                packs.push((name, Rc::clone(pack)));
            }
        }
        let Some((_, first)) = packs.first() else {
            self.error_hint(
                span,
                "there is no pack to expand here",
                "packs are declared with typename... Ts or Ts... values",
            );
            return Vec::new();
        };
        let count = first.len();
        if packs.iter().any(|(_, pack)| pack.len() != count) {
            self.error(
                span,
                "the packs that are expanded here have different lengths",
            );
            return Vec::new();
        }
        (0..count)
            .map(|index| {
                self.scopes.enter();
                for (name, pack) in &packs {
                    self.scopes.bind(*name, pack[index].clone());
                }
                let result = each(self);
                self.scopes.leave();
                result
            })
            .collect()
    }

    /// The locals behind `Ts... values`.
    pub(super) fn declare_pack(
        &mut self,
        parameter: &'a ast::Parameter,
        types: &[ParameterType],
        out: &mut Vec<Parameter>,
    ) {
        let text = parameter.name.map_or("", |name| self.text(name)).to_owned();
        let mut entities = Vec::with_capacity(types.len());
        for ty in types {
            let local = self.unnamed_local(ty.ty);
            let entry = &mut self.current.locals[local.0 as usize];
            text.clone_into(&mut entry.name);
            entry.is_const = ty.is_const;
            if ty.is_reference {
                entry.is_reference = true;
                entry.is_in_memory = false;
            }
            entities.push(Entity::Local(local));
            out.push(Parameter {
                local,
                is_restrict: false,
            });
        }
        if let Some(name) = parameter.name {
            self.scopes.bind(name, Entity::Pack(Rc::new(entities)));
        }
    }

    /// `sizeof...(pack)`.
    pub(super) fn size_of_pack(&mut self, name: Symbol, span: Span) -> Checked {
        let Some(Entity::Pack(pack)) = self.scopes.find(name) else {
            let text = self.text(name);
            self.error(span, format!("'{text}' is not a pack"));
            return Checked::Value(Self::bad(span));
        };
        Checked::Value(Expr {
            kind: ExprKind::Integer(pack.len() as i64),
            ty: TypeTable::UNSIGNED_LONG,
            span,
        })
    }

    /// `(pack + ...)` and its relatives.
    pub(super) fn fold(&mut self, fold: &'a ast::Fold, span: Span) -> Checked {
        let start = fold.start.as_ref().map(|start| self.check_expr(start));
        let mut parts = self.expand(&fold.names, span, |sema| sema.check_expr(&fold.pattern));
        if fold.is_right {
            parts.extend(start);
            let mut parts = parts.into_iter().rev();
            let Some(mut result) = parts.next() else {
                return self.empty_fold(fold, span);
            };
            for part in parts {
                result = self.fold_two(fold.operation, part, result, span);
            }
            return result;
        }
        let mut parts = start.into_iter().chain(parts);
        let Some(mut result) = parts.next() else {
            return self.empty_fold(fold, span);
        };
        for part in parts {
            result = self.fold_two(fold.operation, result, part, span);
        }
        result
    }

    fn fold_two(
        &mut self,
        operation: Option<BinaryOp>,
        left: Checked,
        right: Checked,
        span: Span,
    ) -> Checked {
        if let Some(operation) = operation {
            return self.binary_checked(operation, left, right, span);
        }
        let left = self.loaded(left);
        let right = self.loaded(right);
        let ty = right.ty;
        Checked::Value(Expr {
            kind: ExprKind::Comma(Box::new(left), Box::new(right)),
            ty,
            span,
        })
    }

    fn empty_fold(&mut self, fold: &ast::Fold, span: Span) -> Checked {
        let (value, ty) = match fold.operation {
            Some(BinaryOp::LogicalAnd) => (1, TypeTable::BOOL),
            Some(BinaryOp::LogicalOr) => (0, TypeTable::BOOL),
            None => (0, TypeTable::INT),
            Some(operation) => {
                self.error_hint(
                    span,
                    format!(
                        "a fold of no values with '{}' has no value",
                        operation.text()
                    ),
                    "give it a start: (0 + ... + pack)",
                );
                return Checked::Value(Self::bad(span));
            }
        };
        Checked::Value(Expr {
            kind: ExprKind::Integer(value),
            ty,
            span,
        })
    }

    /// The type of an expression that is not computed, and whether `decltype` of it is a reference.
    pub(super) fn type_of_expr(&mut self, expr: &'a ast::Expr) -> (TypeId, bool) {
        self.unevaluated += 1;
        let checked = self.check_expr(expr);
        self.unevaluated -= 1;
        let is_name = matches!(
            expr.kind,
            ast::ExprKind::Name(_) | ast::ExprKind::Scoped(..) | ast::ExprKind::Member { .. }
        );
        match checked {
            Checked::Place(place) => {
                let is_reference =
                    !is_name && !matches!(place.kind, PlaceKind::Temporary(_)) && !place.is_const;
                (place.ty, is_reference)
            }
            Checked::Value(value) => (value.ty, false),
        }
    }

    /// The return type of a function, which `decltype` may make of its parameters.
    pub(super) fn return_type(
        &mut self,
        function: &'a ast::Function,
        parameters: &[ParameterType],
        owner: Option<TypeId>,
    ) -> TypeId {
        if !mentions_decltype(&function.return_type) {
            return self.resolve(&function.return_type);
        }
        let current = std::mem::take(&mut self.current);
        self.scopes.enter();
        if let Some(owner) = owner {
            let object = self.unnamed_local(owner);
            let mut place = super::ranges::local_place(object, owner, function.span);
            place.is_const = function.role == ast::Role::ConstMethod;
            self.current.this = Some(place);
        }
        let mut given = parameters.iter();
        let single = function.parameters.iter().filter(|one| one.pack.is_none());
        let rest = parameters.len().saturating_sub(single.count());
        for parameter in &function.parameters {
            let count = if parameter.pack.is_some() { rest } else { 1 };
            let types: Vec<ParameterType> = given.by_ref().take(count).copied().collect();
            self.declare_pack(parameter, &types, &mut Vec::new());
            if let (None, Some(name)) = (&parameter.pack, parameter.name)
                && let Some(Entity::Pack(pack)) = self.scopes.find(name).cloned()
                && let Some(only) = pack.first()
            {
                self.scopes.bind(name, only.clone());
            }
        }
        let ty = self.resolve(&function.return_type);
        self.scopes.leave();
        self.current = current;
        ty
    }
}

fn mentions_decltype(ty: &TypeExpr) -> bool {
    match &ty.kind {
        TypeKind::Decltype(_) => true,
        TypeKind::Pointer { pointee: inner, .. }
        | TypeKind::Reference(inner)
        | TypeKind::Forwarding(inner)
        | TypeKind::Array { element: inner, .. }
        | TypeKind::Member { scope: inner, .. } => mentions_decltype(inner),
        TypeKind::Template { arguments, .. } => arguments.iter().any(|argument| match argument {
            TemplateArgument::Type(ty) => mentions_decltype(ty),
            _ => false,
        }),
        _ => false,
    }
}
