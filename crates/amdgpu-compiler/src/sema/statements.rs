//! Statements.

use super::Sema;
use super::conversions::Context;
use crate::ast::{self, StmtKind as A};
use crate::hir::{CaseGroup, Expr, ExprKind, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Type, TypeTable};

impl<'a> Sema<'a> {
    /// Statements of a block, in a scope of its own.
    pub(super) fn block(&mut self, statements: &'a [ast::Stmt]) -> Vec<Stmt> {
        self.scopes.enter();
        let mark = self.current.cleanups.len();
        let mut out = Vec::with_capacity(statements.len());
        for statement in statements {
            self.statement(statement, &mut out);
        }
        if let Some(last) = statements.last() {
            self.end_scope(mark, last.span, &mut out);
        }
        self.scopes.leave();
        out
    }

    #[allow(clippy::unnecessary_box_returns)] // The tree holds boxes; making them here keeps its users short.
    fn boxed(&mut self, statement: &'a ast::Stmt) -> Box<Stmt> {
        self.scopes.enter();
        let mark = self.current.cleanups.len();
        let mut out = Vec::new();
        self.statement(statement, &mut out);
        self.end_scope(mark, statement.span, &mut out);
        self.scopes.leave();
        Box::new(Stmt {
            kind: StmtKind::Block(out),
            span: statement.span,
        })
    }

    #[allow(clippy::unnecessary_box_returns)]
    pub(super) fn loop_body(&mut self, statement: &'a ast::Stmt) -> Box<Stmt> {
        self.current.loops += 1;
        let mark = self.current.cleanups.len();
        self.current.exits.push((mark, true));
        let body = self.boxed(statement);
        self.current.exits.pop();
        self.current.loops -= 1;
        body
    }

    pub(super) fn condition_of(&mut self, expr: &'a ast::Expr) -> Expr {
        let value = self.value(expr);
        self.condition(value)
    }

    fn constant_truth(&mut self, condition: &'a ast::Expr) -> Option<bool> {
        let value = self.condition_of(condition);
        if value.ty == TypeTable::ERROR {
            return None;
        }
        if let Some(crate::hir::Constant::Integer(value)) = self.evaluate(&value) {
            return Some(value != 0);
        }
        self.not_constant(condition.span, "the condition of if constexpr");
        None
    }

    pub(super) fn statement(&mut self, statement: &'a ast::Stmt, out: &mut Vec<Stmt>) {
        let span = statement.span;
        let mut push = |kind| out.push(Stmt { kind, span });
        match &statement.kind {
            A::Empty => {}
            A::Expr(expr) => {
                let value = self.discarded(expr);
                if !matches!(value.kind, ExprKind::Load(_) | ExprKind::Assign(..)) {
                    self.refuse_unnamed(value.ty, span);
                }
                push(StmtKind::Expr(value));
            }
            A::Variables(variables) => {
                for variable in variables {
                    self.local_variable(variable, out);
                }
            }
            A::Item(item) => {
                self.type_item(item);
            }
            A::Sequence(statements) => {
                for statement in statements {
                    self.statement(statement, out);
                }
            }
            A::Block(statements) => {
                let inner = self.block(statements);
                push(StmtKind::Block(inner));
            }
            A::If {
                condition,
                then,
                otherwise,
                is_constexpr,
            } => {
                self.scopes.enter();
                let mark = self.current.cleanups.len();
                let mut inner = Vec::new();
                if let Some(start) = &condition.start {
                    self.statement(start, &mut inner);
                }
                if *is_constexpr {
                    let taken = match self.constant_truth(&condition.value) {
                        Some(true) => Some(then),
                        Some(false) => otherwise.as_ref(),
                        None => None,
                    };
                    if let Some(taken) = taken {
                        let taken = self.boxed(taken);
                        inner.push(*taken);
                    }
                    self.end_scope(mark, span, &mut inner);
                    self.scopes.leave();
                    out.append(&mut inner);
                    return;
                }
                let value = self.condition_of(&condition.value);
                let then = self.boxed(then);
                let otherwise = otherwise.as_ref().map(|otherwise| self.boxed(otherwise));
                self.scopes.leave();
                inner.push(Stmt {
                    kind: StmtKind::If(value, then, otherwise),
                    span,
                });
                self.end_scope(mark, span, &mut inner);
                out.append(&mut inner);
            }
            A::For {
                start,
                condition,
                step,
                body,
            } => {
                self.scopes.enter();
                let mark = self.current.cleanups.len();
                let mut inner = Vec::new();
                self.statement(start, &mut inner);
                let condition = condition
                    .as_ref()
                    .map(|condition| self.condition_of(condition));
                let step = step.as_ref().map(|step| self.discarded(step));
                let body = self.loop_body(body);
                self.scopes.leave();
                inner.push(Stmt {
                    kind: StmtKind::Loop {
                        condition,
                        step,
                        body,
                    },
                    span,
                });
                self.end_scope(mark, span, &mut inner);
                out.push(Stmt {
                    kind: StmtKind::Block(inner),
                    span,
                });
            }
            A::While { condition, body } => {
                let Some(start) = &condition.start else {
                    let condition = Some(self.condition_of(&condition.value));
                    let body = self.loop_body(body);
                    push(StmtKind::Loop {
                        condition,
                        step: None,
                        body,
                    });
                    return;
                };
                let kind = self.declaring_while(start, &condition.value, body, span);
                push(kind);
            }
            A::RangeFor {
                variable,
                range,
                body,
            } => {
                let inner = self.range_for(variable, range, body, span);
                push(StmtKind::Block(inner));
            }
            A::Bindings(bindings) => self.bindings(bindings, span, out),
            A::Hinted { unrolling, body } => {
                let unroll = self.unroll(unrolling);
                let mut inner = Vec::new();
                self.statement(body, &mut inner);
                let body = Stmt {
                    kind: StmtKind::Block(inner),
                    span,
                };
                push(match unroll {
                    Some(unroll) => StmtKind::Unrolled(unroll, Box::new(body)),
                    None => body.kind,
                });
            }
            A::DoWhile { body, condition } => {
                let body = self.loop_body(body);
                let condition = self.condition_of(condition);
                push(StmtKind::DoWhile { body, condition });
            }
            A::Switch { value, body } => {
                let kind = self.switch(value, body);
                push(kind);
            }
            A::Case(_) => self.error_hint(
                span,
                "a case label outside of a switch",
                "labels stand directly in the braces of a switch",
            ),
            A::Break => {
                if self.current.loops + self.current.switches == 0 {
                    self.error(span, "'break' outside of a loop or switch");
                }
                let mark = self.current.exits.last().map_or(0, |exit| exit.0);
                self.cleanups_since(mark, span, out);
                let mut push = |kind| out.push(Stmt { kind, span });
                push(StmtKind::Break);
            }
            A::Continue => {
                if self.current.loops == 0 {
                    self.error(span, "'continue' outside of a loop");
                }
                let mut exits = self.current.exits.iter().rev();
                let mark = exits.find(|exit| exit.1).map_or(0, |exit| exit.0);
                self.cleanups_since(mark, span, out);
                let mut push = |kind| out.push(Stmt { kind, span });
                push(StmtKind::Continue);
            }
            A::Return(value) => {
                let kind = self.return_statement(value.as_ref(), span);
                self.returned(kind, span, out);
            }
        }
    }

    fn return_statement(&mut self, value: Option<&'a ast::Expr>, span: Span) -> StmtKind {
        if self.current.is_constructor {
            if let Some(value) = value {
                self.error(value.span, "a constructor returns nothing");
            }
            return match self.constructed_object(span) {
                Some(statement) => statement.kind,
                None => StmtKind::Return(None),
            };
        }
        if self.current.returns_reference {
            return self.return_reference(value, span);
        }
        let mut known = None;
        if self.current.is_deduced {
            self.current.is_deduced = false;
            let ty = match value {
                None => TypeTable::VOID,
                Some(value) => {
                    let value = self.returned_value(value);
                    let ty = value.ty;
                    known = Some(value);
                    ty
                }
            };
            self.current.return_type = Some(ty);
        }
        let wanted = self.current.return_type.unwrap_or(TypeTable::VOID);
        match value {
            None => {
                if wanted != TypeTable::VOID && wanted != TypeTable::ERROR {
                    let message = format!("this function returns '{}'", self.types.text(wanted));
                    self.error_hint(span, message, "write return value;");
                }
                StmtKind::Return(None)
            }
            Some(value) => {
                let checked = match (known, &value.kind) {
                    (Some(known), _) => known,
                    (None, ast::ExprKind::List(values)) => {
                        self.list_value(values, wanted, value.span)
                    }
                    _ => self.returned_value(value),
                };
                if wanted == TypeTable::VOID {
                    if checked.ty != TypeTable::VOID && checked.ty != TypeTable::ERROR {
                        let what = if self.current.is_kernel {
                            "a kernel returns nothing"
                        } else {
                            "this function returns nothing"
                        };
                        self.error_hint(
                            span,
                            what,
                            "write return; and give results through a pointer",
                        );
                    }
                    return StmtKind::Return(if checked.ty == TypeTable::VOID {
                        Some(checked)
                    } else {
                        None
                    });
                }
                StmtKind::Return(Some(self.convert(checked, wanted, Context::Return)))
            }
        }
    }

    /// In a function that returns a reference: the address of what is returned.
    fn return_reference(&mut self, value: Option<&'a ast::Expr>, span: Span) -> StmtKind {
        let Some(value) = value else {
            self.error_hint(
                span,
                "this function returns a reference",
                "write return value;",
            );
            return StmtKind::Return(None);
        };
        let wanted = self.current.return_type.unwrap_or(TypeTable::ERROR);
        let Some(place) = self.place(value, "returned by reference") else {
            return StmtKind::Return(None);
        };
        if place.ty != wanted && place.ty != TypeTable::ERROR && wanted != TypeTable::ERROR {
            let message = format!(
                "this function returns a reference to '{}', and this is '{}'",
                self.types.text(wanted),
                self.types.text(place.ty)
            );
            self.error(value.span, message);
            return StmtKind::Return(None);
        }
        self.mark_in_memory(&place);
        if self.is_volatile_place(&place) {
            self.refuse(value.span, "a volatile reference as a result");
        }
        let ty = self.pointer_to(&place);
        StmtKind::Return(Some(Expr {
            kind: ExprKind::AddressOf(Box::new(place)),
            ty,
            span,
        }))
    }

    fn switch(&mut self, value: &'a ast::Expr, body: &'a [ast::Stmt]) -> StmtKind {
        let value = self.value(value);
        let scalar = self
            .types
            .representation(value.ty)
            .filter(|scalar| !scalar.is_float());
        if scalar.is_none() && value.ty != TypeTable::ERROR {
            let message = format!(
                "'switch' needs an integer, and this is '{}'",
                self.types.text(value.ty)
            );
            self.error(value.span, message);
        }
        let ty = match self.types.get(value.ty) {
            Type::Enum(_) => value.ty,
            _ => self.types.scalar(scalar.map_or(
                crate::types::ScalarType::Int,
                crate::types::ScalarType::promoted,
            )),
        };
        let value = if scalar.is_some() {
            self.cast_to(value, ty)
        } else {
            Self::bad(value.span)
        };
        self.current.switches += 1;
        let mark = self.current.cleanups.len();
        self.current.exits.push((mark, false));
        self.scopes.enter();
        let mut groups: Vec<CaseGroup> = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut has_default = false;
        for statement in body {
            if let A::Case(label) = &statement.kind {
                if groups.last().is_none_or(|group| !group.body.is_empty()) {
                    groups.push(CaseGroup {
                        values: Vec::new(),
                        is_default: false,
                        body: Vec::new(),
                    });
                }
                let number = match label {
                    None => {
                        if std::mem::replace(&mut has_default, true) {
                            self.error(statement.span, "a second 'default' in one switch");
                        }
                        None
                    }
                    Some(label) => {
                        let checked = self.value(label);
                        if let Some(scalar) = self.types.as_scalar(checked.ty)
                            && scalar.is_float()
                        {
                            let text = self.types.text(checked.ty);
                            let message = format!("a case is an integer, and this is '{text}'");
                            self.error(label.span, message);
                            continue;
                        }
                        let checked = if scalar.is_some() {
                            self.convert_label(checked, ty)
                        } else {
                            checked
                        };
                        if let Some(crate::hir::Constant::Integer(number)) = self.evaluate(&checked)
                        {
                            if !seen.insert(number) {
                                self.error(
                                    label.span,
                                    format!("the case {number} appears twice in one switch"),
                                );
                            }
                            Some(number)
                        } else {
                            self.not_constant(label.span, "a case");
                            None
                        }
                    }
                };
                if let Some(group) = groups.last_mut() {
                    group.is_default |= label.is_none();
                    group.values.extend(number);
                }
                continue;
            }
            let Some(mut group) = groups.pop() else {
                if !matches!(statement.kind, A::Empty) {
                    self.error_hint(
                        statement.span,
                        "a statement before the first case is never reached",
                        "move it before the switch",
                    );
                    groups.push(CaseGroup {
                        values: Vec::new(),
                        is_default: false,
                        body: Vec::new(),
                    });
                }
                continue;
            };
            self.statement(statement, &mut group.body);
            // A label after an empty statement still starts a new group.
            if group.body.is_empty() && matches!(statement.kind, A::Empty) {
                group.body.push(Stmt {
                    kind: StmtKind::Block(Vec::new()),
                    span: statement.span,
                });
            }
            groups.push(group);
        }
        if self.current.cleanups.len() > mark {
            self.current.cleanups.truncate(mark);
            self.refuse(
                value.span,
                "an object with a destructor directly in a switch",
            );
        }
        self.scopes.leave();
        self.current.exits.pop();
        self.current.switches -= 1;
        StmtKind::Switch { value, groups }
    }

    fn convert_label(&mut self, label: Expr, ty: crate::types::TypeId) -> Expr {
        if label.ty == ty {
            return label;
        }
        match self.types.get(ty) {
            Type::Enum(_) => self.convert(label, ty, Context::Operand),
            _ if matches!(label.kind, ExprKind::Integer(_))
                || self.types.as_scalar(label.ty).is_some() =>
            {
                self.cast_to(label, ty)
            }
            _ => self.convert(label, ty, Context::Operand),
        }
    }
}
