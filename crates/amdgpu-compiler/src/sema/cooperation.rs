//! `__shared__` variables, barriers, fences and atomics.

use super::conversions::Context;
use super::expressions::Checked;
use super::{Entity, Sema};
use crate::ast::{self, TypeKind};
use crate::hir::{Expr, ExprKind, Shared, SharedId};
use crate::ir::Cooperation;
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeTable};

/// What a name of HIP means; the operation of atomics follows from the type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Void(Cooperation),
    Atomic(Atomic),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    Add,
    Subtract,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Exchange,
    Increment,
    Decrement,
    CompareExchange,
}

pub(super) fn find(name: &str) -> Option<Call> {
    Some(match name {
        "__syncthreads" => Call::Void(Cooperation::Barrier),
        "__threadfence_block" => Call::Void(Cooperation::FenceBlock),
        "__threadfence" => Call::Void(Cooperation::FenceDevice),
        "__threadfence_system" => Call::Void(Cooperation::FenceSystem),
        "atomicAdd" => Call::Atomic(Atomic::Add),
        "atomicSub" => Call::Atomic(Atomic::Subtract),
        "atomicMin" => Call::Atomic(Atomic::Minimum),
        "atomicMax" => Call::Atomic(Atomic::Maximum),
        "atomicAnd" => Call::Atomic(Atomic::And),
        "atomicOr" => Call::Atomic(Atomic::Or),
        "atomicXor" => Call::Atomic(Atomic::Xor),
        "atomicExch" => Call::Atomic(Atomic::Exchange),
        "atomicInc" => Call::Atomic(Atomic::Increment),
        "atomicDec" => Call::Atomic(Atomic::Decrement),
        "atomicCAS" => Call::Atomic(Atomic::CompareExchange),
        _ => return None,
    })
}

impl Atomic {
    /// The operation on a type, where HIP has it.
    fn on(self, scalar: ScalarType) -> Option<Cooperation> {
        use Cooperation as C;
        if !matches!(scalar.bytes(), 4 | 8) {
            return None;
        }
        if scalar.is_float() {
            return match self {
                Self::Add => Some(C::AtomicAddFloat),
                Self::Exchange => Some(C::AtomicExchange),
                _ => None,
            };
        }
        Some(match (self, scalar.is_signed()) {
            (Self::Add, _) => C::AtomicAdd,
            (Self::Subtract, _) => C::AtomicSubtract,
            (Self::Minimum, true) => C::AtomicMinimum,
            (Self::Minimum, false) => C::AtomicMinimumUnsigned,
            (Self::Maximum, true) => C::AtomicMaximum,
            (Self::Maximum, false) => C::AtomicMaximumUnsigned,
            (Self::And, _) => C::AtomicAnd,
            (Self::Or, _) => C::AtomicOr,
            (Self::Xor, _) => C::AtomicXor,
            (Self::Exchange, _) => C::AtomicExchange,
            (Self::Increment, _) => C::AtomicIncrement,
            (Self::Decrement, _) => C::AtomicDecrement,
            (Self::CompareExchange, _) => C::AtomicCompareExchange,
        })
    }
}

impl<'a> Sema<'a> {
    pub(super) fn shared_variable(&mut self, variable: &'a ast::Variable) {
        if variable.start.is_some() {
            self.error_hint(
                variable.span,
                "__shared__ memory cannot have an initial value",
                "let one thread write it, then call __syncthreads()",
            );
        }
        let ty = match &variable.ty.kind {
            TypeKind::Array {
                element,
                length: None,
            } => {
                let element = self.resolve(element);
                if !variable.is_extern {
                    self.error_hint(
                        variable.span,
                        "__shared__ memory without a length must be extern",
                        "write a length, or extern __shared__ T name[]; with shared_bytes at the launch",
                    );
                }
                self.types.intern(Type::Array { element, length: 0 })
            }
            TypeKind::Reference(_) | TypeKind::Auto => {
                self.error(variable.span, "__shared__ memory needs a type of its own");
                TypeTable::ERROR
            }
            _ => self.resolve(&variable.ty),
        };
        let shared = SharedId(self.program.shared.len() as u32);
        let name = self.text(variable.name).to_owned();
        self.program.shared.push(Shared { name, ty });
        self.scopes.bind(variable.name, Entity::Shared(shared));
    }

    pub(super) fn cooperative(
        &mut self,
        name: &str,
        call: Call,
        checked: Vec<Checked>,
        span: Span,
    ) -> Expr {
        let values: Vec<Expr> = checked
            .into_iter()
            .map(|argument| self.loaded(argument))
            .collect();
        let (wanted, atomic) = match call {
            Call::Void(operation) => (operation.arity(), None),
            Call::Atomic(Atomic::CompareExchange) => (3, Some(Atomic::CompareExchange)),
            Call::Atomic(atomic) => (2, Some(atomic)),
        };
        if values.len() != wanted {
            self.error(
                span,
                format!(
                    "'{name}' takes {wanted} argument(s), and is given {}",
                    values.len()
                ),
            );
            return Self::bad(span);
        }
        match (call, atomic) {
            (Call::Void(operation), _) => Expr {
                kind: ExprKind::Cooperative(operation, values),
                ty: TypeTable::VOID,
                span,
            },
            (_, Some(atomic)) => self.atomic(name, atomic, values, span),
            (_, None) => Self::bad(span),
        }
    }

    fn atomic(&mut self, name: &str, atomic: Atomic, values: Vec<Expr>, span: Span) -> Expr {
        if values.iter().any(|value| value.ty == TypeTable::ERROR) {
            return Self::bad(span);
        }
        let mut values = values.into_iter();
        let Some(pointer) = values.next() else {
            return Self::bad(span);
        };
        let (target, is_const) = match self.types.get(pointer.ty) {
            Type::Pointer {
                pointee: target,
                is_const,
            } => (target, is_const),
            _ => (TypeTable::VOID, false),
        };
        let operation = self
            .types
            .representation(target)
            .and_then(|scalar| atomic.on(scalar));
        let Some(operation) = operation.filter(|_| !is_const) else {
            let message = format!(
                "'{name}' does not work on '{}'",
                self.types.text(pointer.ty)
            );
            self.error_hint(
                span,
                message,
                "the first argument is the address of an int, unsigned, long long, float or double; float and double have atomicAdd and atomicExch",
            );
            return Self::bad(span);
        };
        let mut arguments = vec![pointer];
        arguments.extend(values.map(|value| self.convert(value, target, Context::Argument)));
        Expr {
            kind: ExprKind::Cooperative(operation, arguments),
            ty: target,
            span,
        }
    }
}
