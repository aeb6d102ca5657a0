//! Running `constexpr` functions while compiling, on the typed tree.

use super::{Sema, constants};
use crate::hir::{
    Constant, Expr, ExprKind, FunctionId, Initial, LocalId, Place, PlaceKind, Stmt, StmtKind,
};
use crate::types::TypeTable;

/// Steps of all evaluations of a source: a loop over a table of a million entries has room, a loop without end stops in a blink.
const MAX_STEPS: u32 = 10_000_000;
/// Calls inside of calls.
const MAX_CALL_DEPTH: u32 = 256;

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Constant>),
}

/// The variables of one call.
struct Frame {
    locals: Vec<Option<Constant>>,
}

/// A running evaluation.
struct Evaluation<'s, 'a> {
    sema: &'s Sema<'a>,
    depth: u32,
}

impl Sema<'_> {
    /// Whether an argument is known while compiling.
    pub(super) fn is_known(&self, expr: &Expr) -> bool {
        self.evaluate(expr).is_some()
    }

    /// The value of a call of a `constexpr` function with known arguments; `None` when it is not known.
    pub(super) fn evaluate_call(
        &self,
        function: FunctionId,
        arguments: &[Expr],
    ) -> Option<Constant> {
        let values = arguments
            .iter()
            .map(|argument| self.evaluate(argument))
            .collect::<Option<Vec<_>>>()?;
        let mut evaluation = Evaluation {
            sema: self,
            depth: 0,
        };
        evaluation.call(function, values)
    }
}

impl Evaluation<'_, '_> {
    fn step(&self) -> Option<()> {
        crate::effort::spend(1);
        let steps = self.sema.evaluation_steps.get();
        self.sema.evaluation_steps.set(steps.saturating_add(1));
        if steps >= MAX_STEPS {
            return self.give_up("all evaluations of this source take more than 10,000,000 steps");
        }
        Some(())
    }

    /// The value stays unknown because of a limit, which the message names.
    fn give_up<T>(&self, limit: &'static str) -> Option<T> {
        self.sema.evaluation_limit.set(Some(limit));
        None
    }

    fn call(&mut self, id: FunctionId, values: Vec<Constant>) -> Option<Constant> {
        let signature = &self.sema.signatures[id.0 as usize];
        if !signature
            .definition
            .is_some_and(|function| function.is_constexpr)
            || signature.returns_reference
        {
            return None;
        }
        if self.depth >= MAX_CALL_DEPTH || self.sema.is_stack_short() {
            return self.give_up("a function calls itself more than 256 deep");
        }
        let index = *self.sema.checked.get(&id)?;
        let function = self.sema.program.functions.get(index)?;
        let mut frame = Frame {
            locals: vec![None; function.locals.len()],
        };
        for (parameter, value) in function.parameters.iter().zip(values) {
            let local = &function.locals[parameter.local.0 as usize];
            if local.is_reference || local.is_in_memory {
                return None;
            }
            frame.locals[parameter.local.0 as usize] = Some(value);
        }
        self.depth += 1;
        let flow = self.statements(&function.body, &mut frame);
        self.depth -= 1;
        match flow? {
            Flow::Return(value) => value,
            _ => None,
        }
    }

    fn statements(&mut self, statements: &[Stmt], frame: &mut Frame) -> Option<Flow> {
        for statement in statements {
            match self.statement(statement, frame)? {
                Flow::Next => {}
                other => return Some(other),
            }
        }
        Some(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt, frame: &mut Frame) -> Option<Flow> {
        self.step()?;
        match &statement.kind {
            StmtKind::Expr(expr) => {
                if expr.ty == TypeTable::VOID {
                    return None;
                }
                self.value(expr, frame)?;
            }
            StmtKind::Declare(local, initial) => {
                let value = match initial {
                    Initial::Value(value) => self.value(value, frame)?,
                    Initial::None => Constant::Integer(0),
                    Initial::Parts(_) => return None,
                };
                frame.locals[local.0 as usize] = Some(value);
            }
            StmtKind::Block(inner) => return self.statements(inner, frame),
            StmtKind::If(condition, then, otherwise) => {
                if self.truth(condition, frame)? {
                    return self.statement(then, frame);
                }
                if let Some(otherwise) = otherwise {
                    return self.statement(otherwise, frame);
                }
            }
            StmtKind::Loop {
                condition,
                step,
                body,
            } => loop {
                self.step()?;
                if let Some(condition) = condition
                    && !self.truth(condition, frame)?
                {
                    break;
                }
                match self.statement(body, frame)? {
                    Flow::Break => break,
                    Flow::Return(value) => return Some(Flow::Return(value)),
                    Flow::Next | Flow::Continue => {}
                }
                if let Some(step) = step {
                    self.value(step, frame)?;
                }
            },
            StmtKind::Unrolled(_, inner) => return self.statement(inner, frame),
            StmtKind::DoWhile { body, condition } => loop {
                self.step()?;
                match self.statement(body, frame)? {
                    Flow::Break => break,
                    Flow::Return(value) => return Some(Flow::Return(value)),
                    Flow::Next | Flow::Continue => {}
                }
                if !self.truth(condition, frame)? {
                    break;
                }
            },
            StmtKind::Switch { value, groups } => {
                let Constant::Integer(value) = self.value(value, frame)? else {
                    return None;
                };
                let start = groups
                    .iter()
                    .position(|group| group.values.contains(&value))
                    .or_else(|| groups.iter().position(|group| group.is_default));
                for group in &groups[start.unwrap_or(groups.len())..] {
                    match self.statements(&group.body, frame)? {
                        Flow::Next => {}
                        Flow::Break => break,
                        other => return Some(other),
                    }
                }
            }
            StmtKind::Break => return Some(Flow::Break),
            StmtKind::Continue => return Some(Flow::Continue),
            StmtKind::Return(None) => return Some(Flow::Return(None)),
            StmtKind::Return(Some(value)) => {
                let value = self.value(value, frame)?;
                return Some(Flow::Return(Some(value)));
            }
        }
        Some(Flow::Next)
    }

    fn truth(&mut self, expr: &Expr, frame: &mut Frame) -> Option<bool> {
        match self.value(expr, frame)? {
            Constant::Integer(value) => Some(value != 0),
            Constant::Float(_) => None,
        }
    }

    fn local(place: &Place) -> Option<LocalId> {
        match place.kind {
            PlaceKind::Local(local) => Some(local),
            _ => None,
        }
    }

    /// Parts with variables are computed and put in as literals; what is left is what `evaluate` knows.
    fn value(&mut self, expr: &Expr, frame: &mut Frame) -> Option<Constant> {
        self.step()?;
        let span = expr.span;
        let literal = |value: Constant, ty| Box::new(Sema::constant_expr(value, ty, span));
        let kind = match &expr.kind {
            ExprKind::Integer(value) => return Some(Constant::Integer(*value)),
            ExprKind::Float(value) => return Some(Constant::Float(*value)),
            ExprKind::Load(place) => return frame.locals[Self::local(place)?.0 as usize],
            ExprKind::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|argument| self.value(argument, frame))
                    .collect::<Option<Vec<_>>>()?;
                return self.call(*function, values);
            }
            ExprKind::Cast(inner) => ExprKind::Cast(literal(self.value(inner, frame)?, inner.ty)),
            ExprKind::Negate(inner) => {
                ExprKind::Negate(literal(self.value(inner, frame)?, inner.ty))
            }
            ExprKind::Complement(inner) => {
                ExprKind::Complement(literal(self.value(inner, frame)?, inner.ty))
            }
            ExprKind::Not(inner) => ExprKind::Not(literal(self.value(inner, frame)?, inner.ty)),
            ExprKind::Binary(operation, left, right) => {
                use crate::ast::BinaryOp;
                let first = self.value(left, frame)?;
                let decides = match (operation, first) {
                    (BinaryOp::LogicalAnd, Constant::Integer(0)) => Some(0),
                    (BinaryOp::LogicalOr, Constant::Integer(value)) if value != 0 => Some(1),
                    _ => None,
                };
                if let Some(value) = decides {
                    return Some(Constant::Integer(value));
                }
                let second = self.value(right, frame)?;
                ExprKind::Binary(
                    *operation,
                    literal(first, left.ty),
                    literal(second, right.ty),
                )
            }
            ExprKind::Conditional(condition, yes, no) => {
                return if self.truth(condition, frame)? {
                    self.value(yes, frame)
                } else {
                    self.value(no, frame)
                };
            }
            ExprKind::Comma(first, second) => {
                self.value(first, frame)?;
                return self.value(second, frame);
            }
            ExprKind::Assign(place, value) => {
                let value = self.value(value, frame)?;
                frame.locals[Self::local(place)?.0 as usize] = Some(value);
                return Some(value);
            }
            ExprKind::Compound {
                operation,
                place,
                value,
                compute,
            } => {
                let local = Self::local(place)?.0 as usize;
                let from = self.sema.types.representation(place.ty)?;
                let wide = self.sema.types.representation(*compute)?;
                let old = constants::convert_constant(frame.locals[local]?, from, wide);
                let by = self.value(value, frame)?;
                let new = constants::binary(*operation, wide, old, by)?;
                let new = constants::convert_constant(new, wide, from);
                frame.locals[local] = Some(new);
                return Some(new);
            }
            ExprKind::Step {
                place,
                is_increment,
                is_prefix,
            } => {
                let local = Self::local(place)?.0 as usize;
                let ty = self.sema.types.representation(place.ty)?;
                let old = frame.locals[local]?;
                let new = match old {
                    Constant::Integer(value) => {
                        let by = if *is_increment { 1 } else { -1 };
                        Constant::Integer(ty.wrap(value.wrapping_add(by)))
                    }
                    Constant::Float(_) => return None,
                };
                frame.locals[local] = Some(new);
                return Some(if *is_prefix { new } else { old });
            }
            _ => return None,
        };
        self.sema.evaluate(&Expr {
            kind,
            ty: expr.ty,
            span,
        })
    }
}
