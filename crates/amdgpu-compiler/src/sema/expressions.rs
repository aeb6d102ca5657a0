//! Expressions: names, fields, indices, casts.

use super::{Entity, Sema};
use crate::ast::{self, ExprKind as A, UnaryOp};
use crate::hir::{Expr, ExprKind, Place, PlaceKind};
use crate::interner::{Symbol, words};
use crate::ir::{Special, SpecialKind};
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

/// What an expression is: a place, or a value.
pub(super) enum Checked {
    Place(Place),
    Value(Expr),
}

impl<'a> Sema<'a> {
    /// Checks an expression and loads its value.
    pub(super) fn value(&mut self, expr: &'a ast::Expr) -> Expr {
        match self.check_expr(expr) {
            Checked::Place(place) => self.load(place),
            Checked::Value(value) => value,
        }
    }

    /// Checks an expression that must have an address or be a variable.
    pub(super) fn place(&mut self, expr: &'a ast::Expr, purpose: &str) -> Option<Place> {
        let checked = match &expr.kind {
            A::Conditional(condition, yes, no) => {
                self.conditional_place(condition, yes, no, expr.span)
            }
            _ => self.check_expr(expr),
        };
        match checked {
            Checked::Place(place) => Some(place),
            Checked::Value(value) => {
                if value.ty != TypeTable::ERROR {
                    self.error_hint(
                        expr.span,
                        format!("this is a value and cannot be {purpose}"),
                        "use a variable, p[i] or *p",
                    );
                }
                None
            }
        }
    }

    /// A place that may be written.
    pub(super) fn writable(&mut self, expr: &'a ast::Expr, purpose: &str) -> Option<Place> {
        let place = self.place(expr, purpose)?;
        if place.ty == TypeTable::ERROR {
            return None;
        }
        if place.is_const {
            let what = match (&place.kind, &expr.kind) {
                (PlaceKind::Local(_), A::Name(name)) => format!("'{}' is const", self.text(*name)),
                _ => "this is const".to_owned(),
            };
            self.error_hint(
                expr.span,
                format!("{what} and cannot be {purpose}"),
                "remove const from its declaration if it is to change",
            );
            return None;
        }
        if matches!(self.types.get(place.ty), Type::Array { .. }) {
            self.error_hint(
                expr.span,
                format!("an array cannot be {purpose} as a whole"),
                "write its elements one by one",
            );
            return None;
        }
        Some(place)
    }

    pub(super) fn check_expr(&mut self, expr: &'a ast::Expr) -> Checked {
        let span = expr.span;
        crate::effort::spend(2);
        let value = |kind, ty| Checked::Value(Expr { kind, ty, span });
        match &expr.kind {
            A::Integer { value: number, ty } => {
                let ty = self.types.scalar(*ty);
                value(ExprKind::Integer(*number as i64), ty)
            }
            A::Float { value: number, ty } => {
                let ty = self.types.scalar(*ty);
                value(ExprKind::Float(*number), ty)
            }
            A::Bool(truth) => value(ExprKind::Integer(i64::from(*truth)), TypeTable::BOOL),
            A::Null => value(ExprKind::Null, TypeTable::NULL),
            A::String(text) => self.string(text, span),
            A::Name(name) => self.name(*name, span),
            A::Scoped(scope, name) => self.scoped(*scope, *name, span),
            A::Member {
                object,
                name,
                is_arrow,
                ..
            } => self.member(object, *name, *is_arrow, span),
            A::TemplateName(name, arguments) => {
                if let Some(Entity::VariableTemplate(index)) = self.scopes.find(*name) {
                    let index = *index;
                    return self.variable_instance(index, arguments, span);
                }
                let text = self.text(*name);
                self.error_hint(
                    span,
                    format!("'{text}<…>' stands here without being called"),
                    "call it: name<…>(…)",
                );
                Checked::Value(Self::bad(span))
            }
            A::TypeMember(ty, name) => {
                let owner = self.resolve(ty);
                self.type_member(owner, *name, span)
            }
            A::This => self.this_pointer(span),
            A::Lambda(lambda) => Checked::Value(self.lambda(lambda, span)),
            A::Index(array, index) => self.index(array, index, span),
            A::Call(function, arguments) => self.call(function, arguments, span),
            A::Cast {
                ty,
                value: inner,
                is_reinterpret,
            } => {
                if let ast::TypeKind::Reference(target) | ast::TypeKind::Forwarding(target) =
                    &ty.kind
                {
                    return self.reference_cast(target, inner, span);
                }
                let target = self.resolve(ty);
                let inner = self.value(inner);
                let is_pointer =
                    |ty: TypeId, sema: &Self| matches!(sema.types.get(ty), Type::Pointer { .. });
                if *is_reinterpret
                    && !is_pointer(target, self)
                    && !is_pointer(inner.ty, self)
                    && inner.ty != TypeTable::ERROR
                {
                    self.error_hint(
                        span,
                        "reinterpret_cast is for pointers",
                        "use __float_as_int(x) and its relatives for the bits of a number",
                    );
                }
                Checked::Value(self.explicit_cast(inner, target, span))
            }
            A::Construct { ty, arguments } => self.construct(ty, arguments, span),
            A::Unary(operation, operand) => self.unary(*operation, operand, span),
            A::Step {
                object,
                is_increment,
                is_prefix,
            } => self.step(object, *is_increment, *is_prefix, span),
            A::Binary(operation, left, right) => self.binary(*operation, left, right, span),
            A::Assign(operation, target, source) => self.assign(*operation, target, source, span),
            A::Conditional(condition, yes, no) => self.choice(condition, yes, no, span),
            A::Comma(first, second) => {
                let first = self.discarded(first);
                let second = self.value(second);
                let ty = second.ty;
                value(ExprKind::Comma(Box::new(first), Box::new(second)), ty)
            }
            A::AlignofType(ty) => {
                let ty = self.resolve(ty);
                let align = self.types.align(ty) as i64;
                value(ExprKind::Integer(align), TypeTable::UNSIGNED_LONG)
            }
            A::SizeofPack(name) => self.size_of_pack(*name, span),
            A::Fold(fold) => self.fold(fold, span),
            A::Expansion { .. } => {
                self.error_hint(
                    span,
                    "a pack cannot be expanded here",
                    "expand it in arguments, in a list, or in a fold (pack + ...)",
                );
                Checked::Value(Self::bad(span))
            }
            A::Designated(..) => {
                self.error(span, "'.field =' belongs into a list for a struct");
                Checked::Value(Self::bad(span))
            }
            A::SizeofType(ty) => {
                let ty = self.resolve(ty);
                self.size_of(ty, span)
            }
            A::SameType(first, second) => {
                let is_same = self.resolve(first) == self.resolve(second)
                    && self.is_const(first) == self.is_const(second);
                value(ExprKind::Integer(i64::from(is_same)), TypeTable::BOOL)
            }
            A::SizeofValue(inner) => {
                if let Some(ty) = self.type_of_member(inner) {
                    return self.size_of(ty, span);
                }
                let (ty, _) = self.type_of_expr(inner);
                self.size_of(ty, span)
            }
            A::List(_) => {
                self.error_hint(
                    span,
                    "a list in braces cannot stand here",
                    "name its type: float4{1, 2, 3, 4}",
                );
                Checked::Value(Self::bad(span))
            }
        }
    }

    fn size_of(&mut self, ty: TypeId, span: Span) -> Checked {
        if matches!(self.types.get(ty), Type::Void) {
            self.error(span, "void has no size");
        }
        Checked::Value(Expr {
            kind: ExprKind::Integer(self.types.bytes(ty) as i64),
            ty: TypeTable::UNSIGNED_LONG,
            span,
        })
    }

    pub(super) fn name(&mut self, name: Symbol, span: Span) -> Checked {
        let entity = self.scopes.find(name).cloned();
        self.entity(entity.as_ref(), name, span)
    }

    /// What a name stands for, as an expression.
    pub(super) fn entity(&mut self, entity: Option<&Entity>, name: Symbol, span: Span) -> Checked {
        match entity.cloned() {
            Some(Entity::Local(local)) => {
                let entry = &self.current.locals[local.0 as usize];
                let (ty, is_const) = (entry.ty, entry.is_const);
                if entry.is_reference {
                    let is_volatile = entry.is_volatile;
                    let pointer = self.types.qualified_pointer(ty, is_const, is_volatile);
                    let holder = Place {
                        kind: PlaceKind::Local(local),
                        ty: pointer,
                        is_const: true,
                        span,
                    };
                    let address = Expr {
                        kind: ExprKind::Load(Box::new(holder)),
                        ty: pointer,
                        span,
                    };
                    return Checked::Place(Place {
                        kind: PlaceKind::Dereference(address),
                        ty,
                        is_const,
                        span,
                    });
                }
                Checked::Place(Place {
                    kind: PlaceKind::Local(local),
                    ty,
                    is_const,
                    span,
                })
            }
            Some(Entity::Constant(constant, ty)) => {
                Checked::Value(Self::constant_expr(constant, ty, span))
            }
            Some(Entity::Global(global, is_const)) => {
                let ty = self.program.globals[global.0 as usize].ty;
                Checked::Place(Place {
                    kind: PlaceKind::Global(global),
                    ty,
                    is_const,
                    span,
                })
            }
            Some(Entity::Shared(shared)) => {
                let ty = self.program.shared[shared.0 as usize].ty;
                Checked::Place(Place {
                    kind: PlaceKind::Shared(shared),
                    ty,
                    is_const: false,
                    span,
                })
            }
            Some(Entity::Functions(_)) => {
                self.refuse(span, "a function used as a value");
                Checked::Value(Self::bad(span))
            }
            Some(Entity::Member(owner)) => self.own_member(owner, name, span),
            Some(Entity::Captured {
                index,
                is_reference,
            }) => self.captured_place(index, is_reference, span),
            Some(Entity::NotCaptured) => {
                let text = self.text(name);
                self.error_hint(
                    span,
                    format!("the lambda does not capture '{text}'"),
                    "capture it: [=] takes values, [&] references; arrays need [&]",
                );
                Checked::Value(Self::bad(span))
            }
            Some(Entity::Pack(_)) => {
                let text = self.text(name);
                self.error_hint(
                    span,
                    format!("the pack '{text}' stands here without being expanded"),
                    "write it with ... among arguments, or in a fold (pack + ...)",
                );
                Checked::Value(Self::bad(span))
            }
            Some(Entity::VariableTemplate(_)) => {
                let text = self.text(name);
                self.error(
                    span,
                    format!("the template '{text}' needs arguments: {text}<…>"),
                );
                Checked::Value(Self::bad(span))
            }
            Some(Entity::Type(_) | Entity::ConstType(_) | Entity::TypeTemplate(_)) => {
                self.error(span, "a type cannot stand here; a value is needed");
                Checked::Value(Self::bad(span))
            }
            None | Some(Entity::Namespace(_)) => {
                if let Some(kind) = special_kind(name) {
                    return Checked::Value(self.special_vector(kind, span));
                }
                if name == words::WARP_SIZE {
                    return Checked::Value(Self::wave_value(SpecialKind::WaveSize, span));
                }
                self.unknown_name(name, span);
                Checked::Value(Self::bad(span))
            }
        }
    }

    pub(super) fn constant_expr(constant: crate::hir::Constant, ty: TypeId, span: Span) -> Expr {
        let kind = match constant {
            crate::hir::Constant::Integer(value) => ExprKind::Integer(value),
            crate::hir::Constant::Float(value) => ExprKind::Float(value),
        };
        Expr { kind, ty, span }
    }

    fn special_vector(&mut self, kind: SpecialKind, span: Span) -> Expr {
        let fields = (0..3)
            .map(|axis| Expr {
                kind: ExprKind::Special(Special { kind, axis }),
                ty: TypeTable::UNSIGNED_INT,
                span,
            })
            .collect();
        let uint3 = self.library_type("uint3").unwrap_or(TypeTable::ERROR);
        Expr {
            kind: ExprKind::Struct(fields),
            ty: uint3,
            span,
        }
    }

    /// A type of the device library by name.
    fn library_type(&self, name: &str) -> Option<TypeId> {
        self.types
            .structs
            .iter()
            .position(|structure| structure.name == name)
            .and_then(|index| {
                let wanted = Type::Struct(crate::types::StructId(index as u32));
                self.types.find(wanted)
            })
    }

    fn unknown_name(&mut self, name: Symbol, span: Span) {
        if !self.unknown_names.insert(name) {
            return;
        }
        if self.diagnostics.is_full() {
            // A name to suggest is looked for among all; nobody sees this message.
            self.error(span, "a name is not declared");
            return;
        }
        let text = self.text(name).to_owned();
        if self.is_of_host(name) {
            self.error_hint(
                span,
                format!("'{text}' is host code, which kernels cannot use"),
                "mark functions __device__ and constants constexpr or __constant__",
            );
            return;
        }
        let hint = self
            .name_elsewhere(name)
            .or_else(|| self.similar_name(&text))
            .map(|similar| format!("did you mean '{similar}'?"));
        self.error_hint(
            span,
            format!("'{text}' is not declared"),
            hint.as_deref().unwrap_or("declare it before this line"),
        );
    }

    /// A visible name at edit distance one or two.
    pub(super) fn similar_name(&self, text: &str) -> Option<String> {
        let limit = match text.len() {
            0..=2 => return None,
            3 => 1,
            _ => 2,
        };
        let mut best: Option<(usize, &str)> = None;
        for name in self.scopes.names() {
            let candidate = self.text(name);
            let distance = edit_distance(text, candidate, limit);
            if distance <= limit && distance < best.map_or(usize::MAX, |(distance, _)| distance) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, name)| name.to_owned())
    }

    fn scoped(&mut self, scope: Symbol, name: Symbol, span: Span) -> Checked {
        if let Some(Entity::Type(ty)) = self.scopes.find(scope).cloned() {
            return self.type_member(ty, name, span);
        }
        if !self.is_in_scope(scope, name, span) {
            return Checked::Value(Self::bad(span));
        }
        self.name(name, span)
    }

    /// `Kind::some`, `Traits<float>::value`.
    pub(super) fn type_member(&mut self, owner: TypeId, name: Symbol, span: Span) -> Checked {
        if let Some(&(constant, ty)) = self.enum_values.get(&(owner, name)) {
            return Checked::Value(Self::constant_expr(constant, ty, span));
        }
        match self.static_member(owner, name) {
            Some(Entity::Constant(constant, ty)) => {
                return Checked::Value(Self::constant_expr(constant, ty, span));
            }
            Some(Entity::Global(global, is_const)) => {
                let ty = self.program.globals[global.0 as usize].ty;
                return Checked::Place(Place {
                    kind: PlaceKind::Global(global),
                    ty,
                    is_const,
                    span,
                });
            }
            _ => {}
        }
        if owner != TypeTable::ERROR {
            let message = format!(
                "'{}' has no value '{}'",
                self.types.text(owner),
                self.text(name)
            );
            self.error(span, message);
        }
        Checked::Value(Self::bad(span))
    }

    fn unary(&mut self, operation: UnaryOp, operand: &'a ast::Expr, span: Span) -> Checked {
        match operation {
            UnaryOp::AddressOf => {
                let Some(place) = self.place(operand, "given an address") else {
                    return Checked::Value(Self::bad(span));
                };
                if place.ty == TypeTable::ERROR {
                    return Checked::Value(Self::bad(span));
                }
                if let PlaceKind::Bits(..) = place.kind {
                    self.error_hint(span, "a bit-field has no address", "copy it to a variable");
                    return Checked::Value(Self::bad(span));
                }
                self.mark_in_memory(&place);
                let ty = self.pointer_to(&place);
                Checked::Value(Expr {
                    kind: ExprKind::AddressOf(Box::new(place)),
                    ty,
                    span,
                })
            }
            UnaryOp::Dereference => {
                let operand = self.check_expr(operand);
                let pointer = match operand {
                    object
                        if matches!(
                            self.types.get(super::calls::type_of(&object)),
                            Type::Struct(_)
                        ) =>
                    {
                        let name = words::OPERATOR_MULTIPLY;
                        match self.operator_call(name, vec![object], span) {
                            Ok(result) => return result,
                            Err(mut operands) => match operands.pop() {
                                Some(object) => self.loaded(object),
                                None => Self::bad(span),
                            },
                        }
                    }
                    other => self.loaded(other),
                };
                match self.types.get(pointer.ty) {
                    Type::Pointer { pointee, .. } if pointee == TypeTable::VOID => {
                        self.error_hint(
                            span,
                            "void* cannot be followed",
                            "cast it to a pointer to what it points at",
                        );
                        Checked::Value(Self::bad(span))
                    }
                    Type::Pointer {
                        pointee, is_const, ..
                    } => Checked::Place(Place {
                        kind: PlaceKind::Dereference(pointer),
                        ty: pointee,
                        is_const,
                        span,
                    }),
                    Type::Error => Checked::Value(Self::bad(span)),
                    _ => {
                        let message = format!(
                            "'*' needs a pointer, and this is '{}'",
                            self.types.text(pointer.ty)
                        );
                        self.error(span, message);
                        Checked::Value(Self::bad(span))
                    }
                }
            }
            _ => {
                let name = match operation {
                    UnaryOp::Plus => words::OPERATOR_ADD,
                    UnaryOp::Minus => words::OPERATOR_SUBTRACT,
                    UnaryOp::Not => words::OPERATOR_NOT,
                    _ => words::OPERATOR_COMPLEMENT,
                };
                let operand = self.check_expr(operand);
                match self.operator_call(name, vec![operand], span) {
                    Ok(result) => result,
                    Err(operands) => match operands.into_iter().next() {
                        Some(operand) => {
                            let value = self.loaded(operand);
                            Checked::Value(self.unary_value(operation, value, span))
                        }
                        None => Checked::Value(Self::bad(span)),
                    },
                }
            }
        }
    }
}

/// The built-in variable of this name.
pub(super) fn special_kind(name: Symbol) -> Option<SpecialKind> {
    Some(match name {
        words::THREAD_IDX => SpecialKind::ThreadIndex,
        words::BLOCK_IDX => SpecialKind::BlockIndex,
        words::BLOCK_DIM => SpecialKind::BlockSize,
        words::GRID_DIM => SpecialKind::GridSize,
        _ => return None,
    })
}

/// Edits between two names; anything above `limit` comes back as more than `limit`.
fn edit_distance(left: &str, right: &str, limit: usize) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len().abs_diff(right.len()) > limit || left.len() > 64 || right.is_empty() {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, &a) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
