//! `__shared__` variables, barriers, fences, atomics, clocks, and accesses that bypass the caches.

use super::conversions::Context;
use super::expressions::Checked;
use super::{Entity, Sema};
use crate::ast::{self, TypeKind};
use crate::hir::{Expr, ExprKind, Shared, SharedId};
use crate::ir::Cooperation;
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeId, TypeTable};

/// What a name of HIP means; the operation of atomics follows from the type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Void(Cooperation),
    Clock(Cooperation),
    Atomic(Atomic, Scope),
}

/// With whom an atomic is one step. Those of the block are what those of the device are, which is more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    Device,
    System,
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
    let fence_or_clock = match name {
        "__syncthreads" => Call::Void(Cooperation::Barrier),
        "__threadfence_block" => Call::Void(Cooperation::FenceBlock),
        "__threadfence" => Call::Void(Cooperation::FenceDevice),
        "__threadfence_system" => Call::Void(Cooperation::FenceSystem),
        "__builtin_readcyclecounter" => Call::Clock(Cooperation::ClockCycles),
        "__builtin_readsteadycounter" => Call::Clock(Cooperation::ClockSteady),
        _ => return find_atomic(name),
    };
    Some(fence_or_clock)
}

fn find_atomic(name: &str) -> Option<Call> {
    let (name, scope) = if let Some(name) = name.strip_suffix("_system") {
        (name, Scope::System)
    } else {
        (name.strip_suffix("_block").unwrap_or(name), Scope::Device)
    };
    let atomic = match name {
        "atomicAdd" => Atomic::Add,
        "atomicSub" => Atomic::Subtract,
        "atomicMin" => Atomic::Minimum,
        "atomicMax" => Atomic::Maximum,
        "atomicAnd" => Atomic::And,
        "atomicOr" => Atomic::Or,
        "atomicXor" => Atomic::Xor,
        "atomicExch" => Atomic::Exchange,
        "atomicInc" => Atomic::Increment,
        "atomicDec" => Atomic::Decrement,
        "atomicCAS" => Atomic::CompareExchange,
        _ => return None,
    };
    Some(Call::Atomic(atomic, scope))
}

/// `__builtin_nontemporal_load` and `__builtin_nontemporal_store`, as clang has them
/// (<https://clang.llvm.org/docs/LanguageExtensions.html#non-temporal-load-store-builtins>).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nontemporal {
    Load,
    Store,
}

pub(super) fn find_nontemporal(name: &str) -> Option<Nontemporal> {
    match name {
        "__builtin_nontemporal_load" => Some(Nontemporal::Load),
        "__builtin_nontemporal_store" => Some(Nontemporal::Store),
        _ => None,
    }
}

impl Atomic {
    /// The operation on a type, where HIP has it.
    fn on(self, scalar: ScalarType) -> Option<Cooperation> {
        use Cooperation as C;
        let has_size = match scalar.bytes() {
            4 | 8 => true,
            // CUDA has this one, and the device library builds those of half with it.
            2 => self == Self::CompareExchange && !scalar.is_float(),
            _ => false,
        };
        if !has_size {
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
        let is_volatile = variable.ty.has_volatile();
        let align = self.alignment(ty, variable.align.as_ref());
        self.program.shared.push(Shared {
            name,
            ty,
            align,
            is_volatile,
        });
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
        let wanted = match call {
            Call::Void(operation) | Call::Clock(operation) => operation.arity(),
            Call::Atomic(Atomic::CompareExchange, _) => 3,
            Call::Atomic(..) => 2,
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
        let (operation, ty) = match call {
            Call::Void(operation) => (operation, TypeTable::VOID),
            Call::Clock(operation) => (operation, self.types.scalar(ScalarType::LongLong)),
            Call::Atomic(atomic, scope) => return self.atomic(name, atomic, scope, values, span),
        };
        Expr {
            kind: ExprKind::Cooperative(operation, values),
            ty,
            span,
        }
    }

    fn atomic(
        &mut self,
        name: &str,
        atomic: Atomic,
        scope: Scope,
        values: Vec<Expr>,
        span: Span,
    ) -> Expr {
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
                ..
            } => (target, is_const),
            _ => (TypeTable::VOID, false),
        };
        let operation = self
            .types
            .representation(target)
            .and_then(|scalar| atomic.on(scalar))
            .map(|operation| match scope {
                Scope::Device => operation,
                Scope::System => operation.of_system(),
            });
        let Some(operation) = operation.filter(|_| !is_const) else {
            let message = format!(
                "'{name}' does not work on '{}'",
                self.types.text(pointer.ty)
            );
            self.error_hint(
                span,
                message,
                "the first argument is the address of an int, unsigned, long long, float or double; float and double have atomicAdd, atomicExch, atomicMin and atomicMax",
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

impl Sema<'_> {
    pub(super) fn nontemporal(
        &mut self,
        name: &str,
        access: Nontemporal,
        checked: Vec<Checked>,
        span: Span,
    ) -> Expr {
        let mut values: Vec<Expr> = checked
            .into_iter()
            .map(|argument| self.loaded(argument))
            .collect();
        let wanted = match access {
            Nontemporal::Load => 1,
            Nontemporal::Store => 2,
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
        if values.iter().any(|value| value.ty == TypeTable::ERROR) {
            return Self::bad(span);
        }
        // The address is the last argument of both.
        let Some(pointer) = values.pop() else {
            return Self::bad(span);
        };
        let Some(target) = self.nontemporal_target(pointer.ty, access) else {
            let message = format!(
                "'{name}' does not work on '{}'",
                self.types.text(pointer.ty)
            );
            self.error_hint(
                span,
                message,
                "its last argument is the address of a number or pointer that is not volatile, nor const where it is written; access the fields of a struct one by one",
            );
            return Self::bad(span);
        };
        let pointer = Box::new(pointer);
        let (kind, ty) = match values.pop() {
            None => (ExprKind::NontemporalLoad(pointer), target),
            Some(value) => {
                let value = Box::new(self.convert(value, target, Context::Argument));
                let kind = ExprKind::NontemporalStore { pointer, value };
                (kind, TypeTable::VOID)
            }
        };
        Expr { kind, ty, span }
    }

    /// What a pointer leads to, where it may be accessed so.
    fn nontemporal_target(&self, pointer: TypeId, access: Nontemporal) -> Option<TypeId> {
        let Type::Pointer {
            pointee,
            is_const,
            is_volatile,
        } = self.types.get(pointer)
        else {
            return None;
        };
        let is_value = self.types.representation(pointee).is_some()
            || matches!(self.types.get(pointee), Type::Pointer { .. });
        let may = is_value && !is_volatile && !(is_const && access == Nontemporal::Store);
        may.then_some(pointee)
    }
}
