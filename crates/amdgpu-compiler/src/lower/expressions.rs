//! Expressions.

use super::{Access, Address, Lowering, POINTER};
use crate::ast::BinaryOp as Operator;
use crate::hir::{Expr, ExprKind, FunctionId, Place, PlaceKind};
use crate::ir::{BinaryOp, BlockId, CastKind, Intrinsic, Op, Predicate, Terminator, Type, Value};
use crate::types::{self, ScalarType, TypeId, TypeTable};

impl Lowering<'_> {
    /// Computes an expression for its effects.
    pub(super) fn effect(&mut self, expr: &Expr) {
        if let ExprKind::Assign(place, source) = &expr.kind
            && matches!(self.types.get(place.ty), types::Type::Array { .. })
        {
            let to = self.address(place);
            self.value_into(source, to);
        } else if self.is_struct(expr.ty) {
            self.struct_address(expr);
        } else {
            self.value(expr);
        }
    }

    /// Computes a value; structs come as the address of a copy, void as nothing in particular.
    pub(super) fn value(&mut self, expr: &Expr) -> Value {
        if self.is_struct(expr.ty) {
            return self.struct_address(expr);
        }
        let ty = self.ir_type(expr.ty);
        match &expr.kind {
            ExprKind::Integer(value) => self.integer(ty, *value),
            ExprKind::Float(value) => match self.scalar(expr.ty) {
                Some(scalar) if scalar.is_narrow_float() => {
                    self.constant(ty, u64::from(crate::narrow_float::bits(scalar, *value)))
                }
                _ => self.float(ty, *value),
            },
            // Structs were handled above.
            ExprKind::Null | ExprKind::Struct(_) | ExprKind::Aggregate(_) => {
                self.constant(POINTER, 0)
            }
            ExprKind::Load(place) => self.read(place),
            ExprKind::AddressOf(place) => self.address(place),
            ExprKind::Cast(inner) => self.conversion(inner, expr.ty),
            ExprKind::Negate(inner) => {
                let value = self.value(inner);
                self.at(expr.span);
                if ty.is_float() {
                    return self.emit(Op::Negate(value), ty);
                }
                let zero = self.constant(ty, 0);
                self.emit(Op::Binary(BinaryOp::Subtract, zero, value), ty)
            }
            ExprKind::Complement(inner) => {
                let value = self.value(inner);
                let ones = self.integer(ty, -1);
                self.emit(Op::Binary(BinaryOp::Xor, value, ones), ty)
            }
            ExprKind::Not(inner) => {
                let value = self.value(inner);
                self.inverted(value)
            }
            ExprKind::Binary(operation, left, right) => self.binary(*operation, left, right, expr),
            ExprKind::Conditional(condition, yes, no) => self.conditional(condition, yes, no, ty),
            ExprKind::Assign(place, source) => self.assign(place, source),
            ExprKind::Compound {
                operation,
                place,
                value,
                compute,
            } => self.compound(*operation, place, value, *compute, expr),
            ExprKind::Step {
                place,
                is_increment,
                is_prefix,
            } => self.step(place, *is_increment, *is_prefix),
            ExprKind::Offset {
                pointer,
                index,
                is_negative,
            } => {
                let base = self.value(pointer);
                let index = self.value(index);
                self.at(expr.span);
                self.offset(base, index, *is_negative, pointer.ty)
            }
            ExprKind::Distance(left, right) => self.distance(left, right),
            ExprKind::Call(function, arguments) => {
                self.at(expr.span);
                self.call(*function, arguments, expr.ty, None)
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                self.intrinsic(*intrinsic, arguments, ty, expr)
            }
            ExprKind::Cooperative(operation, arguments) => {
                let values: Vec<Value> = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect();
                self.at(expr.span);
                self.emit(Op::Cooperative(*operation, values), ty)
            }
            ExprKind::NontemporalLoad(pointer) => {
                let pointer = self.value(pointer);
                self.at(expr.span);
                let access = Access::Nontemporal;
                self.load(Address { pointer, access }, ty)
            }
            ExprKind::NontemporalStore { pointer, value } => {
                let (value, pointer) = (self.value(value), self.value(pointer));
                self.at(expr.span);
                let access = Access::Nontemporal;
                self.store_to(Address { pointer, access }, value);
                self.constant(Type::I32, 0)
            }
            ExprKind::Special(special) => self.emit(Op::Special(*special), Type::I32),
            ExprKind::Comma(first, second) => {
                self.effect(first);
                self.value(second)
            }
        }
    }

    fn inverted(&mut self, value: Value) -> Value {
        let one = self.constant(Type::I1, 1);
        self.emit(Op::Binary(BinaryOp::Xor, value, one), Type::I1)
    }

    fn scalar(&self, ty: TypeId) -> Option<ScalarType> {
        self.types.representation(ty)
    }

    fn is_signed(&self, ty: TypeId) -> bool {
        self.scalar(ty).is_some_and(ScalarType::is_signed)
    }

    fn conversion(&mut self, inner: &Expr, to: TypeId) -> Value {
        if to == TypeTable::VOID {
            self.effect(inner);
            return self.constant(Type::I32, 0);
        }
        let value = self.value(inner);
        self.convert(value, inner.ty, to)
    }

    fn convert(&mut self, value: Value, from: TypeId, to: TypeId) -> Value {
        let narrow = |scalar: Option<ScalarType>| scalar.filter(|scalar| scalar.is_narrow_float());
        let (from_scalar, to_scalar) = (self.scalar(from), self.scalar(to));
        if narrow(from_scalar).is_some() && from_scalar == to_scalar {
            return value;
        }
        let value = match narrow(from_scalar) {
            Some(scalar) => self.widened(value, scalar),
            None => value,
        };
        if let Some(scalar) = narrow(to_scalar) {
            return self.narrowed(
                value,
                scalar,
                from_scalar.is_some_and(ScalarType::is_signed),
            );
        }
        let source = self.function.ty(value);
        let target = self.ir_type(to);
        let is_signed = self.is_signed(from);
        if target == Type::I1 {
            return if source == Type::I1 {
                value
            } else {
                self.is_not_zero(value)
            };
        }
        match (source.is_pointer(), target.is_pointer()) {
            (true, true) => return value,
            (true, false) => return self.cast(CastKind::PointerToInteger, value, target),
            (false, true) => {
                let extend = if is_signed {
                    CastKind::ExtendSigned
                } else {
                    CastKind::ExtendUnsigned
                };
                let wide = if source.bits() < 64 {
                    self.cast(extend, value, Type::I64)
                } else {
                    value
                };
                return self.cast(CastKind::IntegerToPointer, wide, target);
            }
            (false, false) => {}
        }
        let to_signed = self.is_signed(to);
        match (source.is_float(), target.is_float()) {
            (true, true) if source == target => value,
            (true, true) if source == Type::F32 => self.cast(CastKind::WidenFloat, value, target),
            (true, true) => self.cast(CastKind::NarrowFloat, value, target),
            (false, true) => self.cast(
                if is_signed {
                    CastKind::SignedToFloat
                } else {
                    CastKind::UnsignedToFloat
                },
                value,
                target,
            ),
            (true, false) if target.bits() < 32 => {
                let word = self.cast(CastKind::FloatToSigned, value, Type::I32);
                self.cast(CastKind::Truncate, word, target)
            }
            (true, false) => self.cast(
                if to_signed {
                    CastKind::FloatToSigned
                } else {
                    CastKind::FloatToUnsigned
                },
                value,
                target,
            ),
            (false, false) if source.bits() == target.bits() => value,
            (false, false) if source.bits() > target.bits() => {
                self.cast(CastKind::Truncate, value, target)
            }
            (false, false) => self.cast(
                if is_signed {
                    CastKind::ExtendSigned
                } else {
                    CastKind::ExtendUnsigned
                },
                value,
                target,
            ),
        }
    }

    fn binary(&mut self, operation: Operator, left: &Expr, right: &Expr, expr: &Expr) -> Value {
        if matches!(operation, Operator::LogicalAnd | Operator::LogicalOr) {
            return self.logical(operation, left, right);
        }
        if operation.is_comparison() {
            let predicate = self.predicate(operation, left.ty);
            let a = self.value(left);
            let b = self.value(right);
            self.at(expr.span);
            return self.emit(Op::Compare(predicate, a, b), Type::I1);
        }
        let ty = self.ir_type(expr.ty);
        if ty.is_float() {
            return self.float_operation(operation, Operand::Expr(left), right, ty);
        }
        let a = self.value(left);
        let b = self.value(right);
        self.at(expr.span);
        self.integer_operation(operation, a, b, expr.ty)
    }

    fn integer_operation(&mut self, operation: Operator, a: Value, b: Value, ty: TypeId) -> Value {
        let is_signed = self.is_signed(ty);
        let ir_type = self.ir_type(ty);
        let operation = match operation {
            Operator::Subtract => BinaryOp::Subtract,
            Operator::Multiply => BinaryOp::Multiply,
            Operator::Divide if is_signed => BinaryOp::DivideSigned,
            Operator::Divide => BinaryOp::DivideUnsigned,
            Operator::Remainder if is_signed => BinaryOp::RemainderSigned,
            Operator::Remainder => BinaryOp::RemainderUnsigned,
            Operator::ShiftLeft => BinaryOp::ShiftLeft,
            Operator::ShiftRight if is_signed => BinaryOp::ShiftRightSigned,
            Operator::ShiftRight => BinaryOp::ShiftRightUnsigned,
            Operator::And => BinaryOp::And,
            Operator::Or => BinaryOp::Or,
            Operator::Xor => BinaryOp::Xor,
            _ => BinaryOp::Add,
        };
        self.emit(Op::Binary(operation, a, b), ir_type)
    }

    /// Float arithmetic, with C's contraction: a product that is an operand of `+` or `-` in the same expression is fused. Of
    /// two products the left one is, as clang does.
    fn float_operation(
        &mut self,
        operation: Operator,
        left: Operand<'_>,
        right: &Expr,
        ty: Type,
    ) -> Value {
        if matches!(operation, Operator::Add | Operator::Subtract) {
            let negates_right = operation == Operator::Subtract;
            if let Operand::Expr(left_expr) = left
                && let Some((a, b, is_negative)) = product(left_expr)
            {
                let a = self.value(a);
                let b = self.value(b);
                let a = if is_negative {
                    self.emit(Op::Negate(a), ty)
                } else {
                    a
                };
                let c = self.value(right);
                let c = if negates_right {
                    self.emit(Op::Negate(c), ty)
                } else {
                    c
                };
                return self.emit(
                    Op::Intrinsic(Intrinsic::FusedMultiplyAdd, vec![a, b, c]),
                    ty,
                );
            }
            if let Some((a, b, is_negative)) = product(right) {
                let c = self.operand(left);
                let a = self.value(a);
                let b = self.value(b);
                let a = if is_negative == negates_right {
                    a
                } else {
                    self.emit(Op::Negate(a), ty)
                };
                return self.emit(
                    Op::Intrinsic(Intrinsic::FusedMultiplyAdd, vec![a, b, c]),
                    ty,
                );
            }
        }
        let a = self.operand(left);
        let b = self.value(right);
        self.at(right.span);
        let operation = match operation {
            Operator::Subtract => BinaryOp::SubtractFloat,
            Operator::Multiply => BinaryOp::MultiplyFloat,
            Operator::Divide => BinaryOp::DivideFloat,
            _ => BinaryOp::AddFloat,
        };
        self.emit(Op::Binary(operation, a, b), ty)
    }

    fn operand(&mut self, operand: Operand<'_>) -> Value {
        match operand {
            Operand::Expr(expr) => self.value(expr),
            Operand::Value(value) => value,
        }
    }

    fn predicate(&self, operation: Operator, ty: TypeId) -> Predicate {
        let scalar = self.scalar(ty);
        let is_float = scalar.is_some_and(ScalarType::is_float);
        let is_signed = scalar.is_some_and(ScalarType::is_signed);
        let choose = |float, signed, unsigned| {
            if is_float {
                float
            } else if is_signed {
                signed
            } else {
                unsigned
            }
        };
        match operation {
            Operator::Less => choose(
                Predicate::LessFloat,
                Predicate::LessSigned,
                Predicate::LessUnsigned,
            ),
            Operator::LessEqual => choose(
                Predicate::LessEqualFloat,
                Predicate::LessEqualSigned,
                Predicate::LessEqualUnsigned,
            ),
            Operator::Greater => choose(
                Predicate::GreaterFloat,
                Predicate::GreaterSigned,
                Predicate::GreaterUnsigned,
            ),
            Operator::GreaterEqual => choose(
                Predicate::GreaterEqualFloat,
                Predicate::GreaterEqualSigned,
                Predicate::GreaterEqualUnsigned,
            ),
            Operator::NotEqual => choose(
                Predicate::NotEqualFloat,
                Predicate::NotEqual,
                Predicate::NotEqual,
            ),
            _ => choose(Predicate::EqualFloat, Predicate::Equal, Predicate::Equal),
        }
    }

    fn logical(&mut self, operation: Operator, left: &Expr, right: &Expr) -> Value {
        let is_and = operation == Operator::LogicalAnd;
        if self.is_harmless(right) {
            let a = self.value(left);
            let b = self.value(right);
            return self.emit(
                Op::Binary(if is_and { BinaryOp::And } else { BinaryOp::Or }, a, b),
                Type::I1,
            );
        }
        let (more, join) = (self.new_block(), self.new_block());
        let (yes, no) = if is_and { (more, join) } else { (join, more) };
        let first = self.value(left);
        self.terminate(Terminator::Branch {
            condition: first,
            yes,
            no,
        });
        let result = self.variables.add(Type::I1);
        let known = self.constant(Type::I1, u64::from(!is_and));
        self.write_variable(result, known);
        self.continue_in(more);
        let second = self.value(right);
        self.write_variable(result, second);
        self.jump(join);
        self.continue_in(join);
        self.read_variable(result)
    }

    fn conditional(&mut self, condition: &Expr, yes: &Expr, no: &Expr, ty: Type) -> Value {
        if ty != Type::Void && self.is_harmless(yes) && self.is_harmless(no) {
            let condition = self.value(condition);
            let yes = self.value(yes);
            let no = self.value(no);
            return self.emit(Op::Select(condition, yes, no), ty);
        }
        let (then, otherwise, join) = (self.new_block(), self.new_block(), self.new_block());
        self.branch_on(condition, then, otherwise);
        let result = (ty != Type::Void).then(|| self.variables.add(ty));
        for (block, side) in [(then, yes), (otherwise, no)] {
            self.continue_in(block);
            let value = self.value(side);
            if let Some(result) = result {
                self.write_variable(result, value);
            }
            self.jump(join);
        }
        self.continue_in(join);
        match result {
            Some(result) => self.read_variable(result),
            None => self.constant(Type::I32, 0),
        }
    }

    /// Cheap and without effect, so that computing it for nothing is better than a branch.
    fn is_harmless(&self, expr: &Expr) -> bool {
        const BUDGET: u32 = 12;
        let mut budget = BUDGET;
        self.is_harmless_within(expr, &mut budget)
    }

    fn is_harmless_within(&self, expr: &Expr, budget: &mut u32) -> bool {
        if *budget == 0 || self.is_struct(expr.ty) || expr.ty == TypeTable::VOID {
            return false;
        }
        *budget -= 1;
        match &expr.kind {
            ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::Null | ExprKind::Special(_) => {
                true
            }
            ExprKind::Load(place) => match place.kind {
                PlaceKind::Local(local) => {
                    matches!(self.home(local), Some(super::Home::Variable(..)))
                }
                _ => false,
            },
            ExprKind::Cast(inner)
            | ExprKind::Negate(inner)
            | ExprKind::Complement(inner)
            | ExprKind::Not(inner) => self.is_harmless_within(inner, budget),
            ExprKind::Conditional(condition, yes, no) => [condition, yes, no]
                .into_iter()
                .all(|part| self.is_harmless_within(part, budget)),
            ExprKind::Binary(operation, left, right) => {
                !matches!(
                    operation,
                    Operator::Divide
                        | Operator::Remainder
                        | Operator::LogicalAnd
                        | Operator::LogicalOr
                ) && self.is_harmless_within(left, budget)
                    && self.is_harmless_within(right, budget)
            }
            _ => false,
        }
    }

    /// Branches on a condition; `&&`, `||` and `!` become control flow.
    pub(super) fn branch_on(&mut self, condition: &Expr, yes: BlockId, no: BlockId) {
        match &condition.kind {
            ExprKind::Not(inner) => self.branch_on(inner, no, yes),
            ExprKind::Binary(
                operation @ (Operator::LogicalAnd | Operator::LogicalOr),
                left,
                right,
            ) if !self.is_harmless(right) => {
                let more = self.new_block();
                if *operation == Operator::LogicalAnd {
                    self.branch_on(left, more, no);
                } else {
                    self.branch_on(left, yes, more);
                }
                self.continue_in(more);
                self.branch_on(right, yes, no);
            }
            _ => {
                let value = self.value(condition);
                self.terminate(Terminator::Branch {
                    condition: value,
                    yes,
                    no,
                });
            }
        }
    }

    fn assign(&mut self, place: &Place, source: &Expr) -> Value {
        let value = self.value(source);
        let target = self.prepare(place);
        self.at(place.span);
        self.write_prepared(target, value);
        if let PlaceKind::Bits(..) = place.kind {
            return self.read_prepared(target, place.ty);
        }
        value
    }

    fn compound(
        &mut self,
        operation: Operator,
        place: &Place,
        value: &Expr,
        compute: TypeId,
        expr: &Expr,
    ) -> Value {
        let target = self.prepare(place);
        if let types::Type::Pointer { .. } = self.types.get(place.ty) {
            let index = self.value(value);
            let old = self.read_prepared(target, place.ty);
            let new = self.offset(old, index, operation == Operator::Subtract, place.ty);
            self.write_prepared(target, new);
            return new;
        }
        let compute_type = self.ir_type(compute);
        let new = if compute_type.is_float() {
            let old = self.read_prepared(target, place.ty);
            let old = self.convert(old, place.ty, compute);
            self.float_operation(operation, Operand::Value(old), value, compute_type)
        } else {
            // The right side first: it may be a call that changes nothing of ours, and the load stays next to the store.
            let right = self.value(value);
            let old = self.read_prepared(target, place.ty);
            let old = self.convert(old, place.ty, compute);
            self.at(expr.span);
            self.integer_operation(operation, old, right, compute)
        };
        let new = self.convert(new, compute, place.ty);
        self.at(expr.span);
        self.write_prepared(target, new);
        new
    }

    fn step(&mut self, place: &Place, is_increment: bool, is_prefix: bool) -> Value {
        let target = self.prepare(place);
        let old = self.read_prepared(target, place.ty);
        let ty = self.ir_type(place.ty);
        let new = if ty.is_pointer() {
            let one = self.constant(Type::I64, 1);
            self.offset(old, one, !is_increment, place.ty)
        } else if let Some(scalar) = self.scalar(place.ty)
            && scalar.is_narrow_float()
        {
            let wide = self.widened(old, scalar);
            let change = self.float(Type::F32, if is_increment { 1.0 } else { -1.0 });
            let sum = self.emit(Op::Binary(BinaryOp::AddFloat, wide, change), Type::F32);
            self.narrowed(sum, scalar, true)
        } else if ty.is_float() {
            let one = self.float(ty, 1.0);
            self.emit(
                Op::Binary(
                    if is_increment {
                        BinaryOp::AddFloat
                    } else {
                        BinaryOp::SubtractFloat
                    },
                    old,
                    one,
                ),
                ty,
            )
        } else {
            let one = self.constant(ty, 1);
            self.emit(
                Op::Binary(
                    if is_increment {
                        BinaryOp::Add
                    } else {
                        BinaryOp::Subtract
                    },
                    old,
                    one,
                ),
                ty,
            )
        };
        self.write_prepared(target, new);
        if is_prefix { new } else { old }
    }

    fn pointee_bytes(&self, pointer: TypeId) -> u64 {
        match self.types.get(pointer) {
            types::Type::Pointer { pointee, .. } => self.types.bytes(pointee),
            _ => 1,
        }
    }

    fn offset(&mut self, pointer: Value, index: Value, is_negative: bool, ty: TypeId) -> Value {
        let scale = self.pointee_bytes(ty);
        let index = if is_negative {
            let zero = self.constant(Type::I64, 0);
            self.emit(Op::Binary(BinaryOp::Subtract, zero, index), Type::I64)
        } else {
            index
        };
        self.emit(
            Op::Offset {
                pointer,
                index,
                scale,
            },
            POINTER,
        )
    }

    fn distance(&mut self, left: &Expr, right: &Expr) -> Value {
        let size = self.pointee_bytes(left.ty);
        let a = self.value(left);
        let b = self.value(right);
        let a = self.cast(CastKind::PointerToInteger, a, Type::I64);
        let b = self.cast(CastKind::PointerToInteger, b, Type::I64);
        let bytes = self.emit(Op::Binary(BinaryOp::Subtract, a, b), Type::I64);
        let size = self.constant(Type::I64, size);
        self.emit(Op::Binary(BinaryOp::DivideSigned, bytes, size), Type::I64)
    }

    /// Calls a function; a struct result is written to `result`, or to a temporary whose address comes back.
    pub(super) fn call(
        &mut self,
        function: FunctionId,
        arguments: &[Expr],
        ty: TypeId,
        result: Option<Value>,
    ) -> Value {
        let line = self.line;
        let mut values = Vec::with_capacity(arguments.len() + 1);
        let is_struct = self.is_struct(ty);
        if is_struct {
            let slot = match result {
                Some(result) => result,
                None => self.slot(self.types.bytes(ty), self.types.align(ty)),
            };
            values.push(slot);
        }
        for argument in arguments {
            let value = self.value(argument);
            values.push(value);
        }
        self.line = line;
        let index = self.indices.get(&function).copied().unwrap_or(0);
        let result_type = if is_struct {
            Type::Void
        } else {
            self.ir_type(ty)
        };
        let first = values.first().copied();
        let call = self.emit(
            Op::Call {
                function: index,
                arguments: values,
            },
            result_type,
        );
        if is_struct {
            first.unwrap_or(call)
        } else {
            call
        }
    }

    fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: Type,
        expr: &Expr,
    ) -> Value {
        let values: Vec<Value> = arguments
            .iter()
            .map(|argument| self.value(argument))
            .collect();
        self.at(expr.span);
        match (intrinsic, values.as_slice()) {
            (Intrinsic::Reinterpret, [only]) if self.function.ty(*only) == ty => *only,
            (Intrinsic::Reinterpret, [only]) => self.cast(CastKind::Reinterpret, *only, ty),
            (
                Intrinsic::PopulationCount | Intrinsic::LeadingZeros | Intrinsic::TrailingZeros,
                [only],
            ) => {
                let source = self.function.ty(*only);
                let count = self.emit(Op::Intrinsic(intrinsic, values.clone()), source);
                match source.bits().cmp(&ty.bits()) {
                    std::cmp::Ordering::Greater => self.cast(CastKind::Truncate, count, ty),
                    std::cmp::Ordering::Less => self.cast(CastKind::ExtendUnsigned, count, ty),
                    std::cmp::Ordering::Equal => count,
                }
            }
            (Intrinsic::MultiplyHigh, _) if !self.is_signed(expr.ty) => {
                self.emit(Op::Intrinsic(Intrinsic::MultiplyHighUnsigned, values), ty)
            }
            _ => self.emit(Op::Intrinsic(intrinsic, values), ty),
        }
    }
}

/// Left side of a float operation: still to be computed, or there already.
#[derive(Clone, Copy)]
enum Operand<'e> {
    Expr(&'e Expr),
    Value(Value),
}

/// The factors of a product that may be fused, and whether it is negated.
fn product(expr: &Expr) -> Option<(&Expr, &Expr, bool)> {
    match &expr.kind {
        ExprKind::Binary(Operator::Multiply, a, b) => Some((a, b, false)),
        ExprKind::Negate(inner) => match &inner.kind {
            ExprKind::Binary(Operator::Multiply, a, b) => Some((a, b, true)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scalar_type;
    use super::*;

    #[test]
    fn every_scalar_has_a_register_type_of_its_size() {
        for scalar in [
            ScalarType::Char,
            ScalarType::Short,
            ScalarType::Int,
            ScalarType::Long,
            ScalarType::Float,
            ScalarType::Double,
        ] {
            assert_eq!(u64::from(scalar.bytes()), scalar_type(scalar).bytes());
        }
    }
}
