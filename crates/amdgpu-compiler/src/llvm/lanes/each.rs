//! What lanes do one after the other: atomics, calls, copies of memory at different addresses.

use std::borrow::Cow;

use super::super::intrinsics::parameter_name;
use super::Body;
use crate::ir::{Cooperation, Op, SpecialKind, Type, Value};

impl Body<'_, '_> {
    /// An operation with an effect.
    pub(super) fn effect(&mut self, value: Value) {
        let function = self.function;
        let op = function.op(value);
        let mut is_uniform = true;
        op.for_each_operand(|operand| is_uniform &= self.shape(operand).is_uniform());
        match op {
            Op::Cooperative(_, operands) if operands.is_empty() => self.plain(value, "%v"),
            Op::Copy { .. } | Op::Clear { .. } if is_uniform => self.plain(value, "%v"),
            Op::Cooperative(operation, operands) if self.reduces(value, *operation, operands) => {}
            _ => {
                let mask = self.mask();
                let bits = self.bits(&mask);
                self.one_by_one(value, &bits);
            }
        }
    }

    /// An operation without an effect that has no form for vectors.
    pub(super) fn each_lane(&mut self, value: Value) {
        self.one_by_one(value, "-1");
    }

    /// A loop over the lanes whose bits are set, at least one.
    fn one_by_one(&mut self, value: Value, bits: &str) {
        let function = self.function;
        let (number, lanes) = (value.0, self.lanes());
        let ty = function.ty(value);
        let mut operands = Vec::new();
        function
            .op(value)
            .for_each_operand(|operand| operands.push(operand));
        let mut vectors: Vec<(Value, Option<String>)> = Vec::new();
        for operand in operands {
            let vector = if self.shape(operand).is_uniform() {
                let text = self.scalar(operand);
                self.names.set(operand, &text);
                None
            } else {
                let text = if function.ty(operand).is_pointer() {
                    self.address(operand)
                } else {
                    self.vector(operand)
                };
                Some(format!("{} {text}", self.vector_type(function.ty(operand))))
            };
            vectors.push((operand, vector));
        }
        let has_result = ty != Type::Void;
        let vector_type = if has_result {
            self.vector_type(ty)
        } else {
            Cow::Borrowed("")
        };
        let (integer, before) = (format!("i{lanes}"), self.label.clone());
        self.print(format_args!("  br label %o{number}"));
        self.label = format!("o{number}");
        self.print(format_args!("o{number}:"));
        self.print(format_args!(
            "  %o{number}.left = phi {integer} [ {bits}, %{before} ], [ %o{number}.rest, %o{number}.next ]"
        ));
        if has_result {
            self.print(format_args!(
                "  %o{number}.old = phi {vector_type} [ zeroinitializer, %{before} ], [ %v{number}, %o{number}.next ]"
            ));
        }
        let lane = self.emitter.call_text(
            &integer,
            &format!("llvm.cttz.{integer}"),
            &[(&integer, &format!("%o{number}.left")), ("i1", "true")],
        );
        let lane = self.emit(format_args!("{lane}"));
        for (operand, vector) in vectors {
            if let Some(vector) = vector {
                let text = self.emit(format_args!("extractelement {vector}, {integer} {lane}"));
                self.names.set(operand, &text);
            }
        }
        if let Op::Call { .. } = function.op(value) {
            self.call_of_lane(value, &integer, &lane);
        } else {
            self.names.prefix = "%o.v";
            self.emitter.instruction(function, &self.names, value);
        }
        if has_result {
            let scalar_type = self.scalar_type(ty);
            self.print(format_args!(
                "  %v{number} = insertelement {vector_type} %o{number}.old, {scalar_type} %o.v{number}, {integer} {lane}"
            ));
        }
        // The operation may have blocks of its own.
        self.print(format_args!("  br label %o{number}.next\no{number}.next:"));
        self.print(format_args!(
            "  %o{number}.less = add {integer} %o{number}.left, -1"
        ));
        self.print(format_args!(
            "  %o{number}.rest = and {integer} %o{number}.left, %o{number}.less"
        ));
        self.print(format_args!(
            "  %o{number}.more = icmp ne {integer} %o{number}.rest, 0"
        ));
        self.print(format_args!(
            "  br i1 %o{number}.more, label %o{number}, label %o{number}.done"
        ));
        self.label = format!("o{number}.done");
        self.print(format_args!("o{number}.done:"));
    }

    /// A call of the scalar function for one lane.
    fn call_of_lane(&mut self, value: Value, integer: &str, lane: &str) {
        let function = self.function;
        let Op::Call {
            function: callee,
            arguments,
        } = function.op(value)
        else {
            return;
        };
        let index = *callee as usize;
        let mut list: Vec<String> = arguments
            .iter()
            .map(|argument| {
                let ty = self.scalar_type(function.ty(*argument));
                format!("{ty} {}", self.names.get(*argument))
            })
            .collect();
        if !self.emitter.specials[index].is_empty() {
            let wide = if integer == "i32" {
                lane.into()
            } else {
                self.emit(format_args!("zext {integer} {lane} to i32"))
            };
            let x = self.emit(format_args!("add i32 %thread_index.x, {wide}"));
            list.extend(self.emitter.specials[index].iter().map(|&special| {
                if special.kind == SpecialKind::ThreadIndex && special.axis == 0 {
                    format!("i32 {x}")
                } else {
                    format!("i32 {}", parameter_name(special))
                }
            }));
        }
        let target = self
            .emitter
            .function_name(&self.emitter.module.functions[index]);
        let result = self.scalar_type(function.ty(value));
        let assign = if result == "void" {
            String::new()
        } else {
            format!("%o.v{} = ", value.0)
        };
        self.print(format_args!(
            "  {assign}call {result} @{target}({})",
            list.join(", ")
        ));
    }

    /// One atomic for all lanes, when they all go to one address, nobody asks for the old value, and the order does not matter.
    fn reduces(&mut self, value: Value, operation: Cooperation, operands: &[Value]) -> bool {
        use Cooperation as C;
        let device = operation.of_device();
        let (reduction, neutral) = match device {
            C::AtomicAdd | C::AtomicSubtract => ("add", Some(0)),
            C::AtomicAnd => ("and", Some(-1)),
            C::AtomicOr => ("or", Some(0)),
            C::AtomicXor => ("xor", Some(0)),
            C::AtomicMinimum => ("smin", None),
            C::AtomicMaximum => ("smax", None),
            C::AtomicMinimumUnsigned => ("umin", Some(-1)),
            C::AtomicMaximumUnsigned => ("umax", Some(0)),
            _ => return false,
        };
        let ty = self.function.ty(operands[1]);
        if self.demand.is_used[value.0 as usize] || !self.shape(operands[0]).is_uniform() {
            return false;
        }
        let neutral = neutral.unwrap_or_else(|| {
            let least = i64::MIN >> (64 - ty.bits());
            if device == C::AtomicMinimum {
                !least
            } else {
                least
            }
        });
        let (vector, mask, pointer) = (
            self.vector(operands[1]),
            self.mask(),
            self.scalar(operands[0]),
        );
        let (v, m, scalar) = (self.vector_type(ty), self.mask_type(), self.scalar_type(ty));
        let chosen = self.emit(format_args!(
            "select {m} {mask}, {v} {vector}, {v} splat ({scalar} {neutral})"
        ));
        let name = format!("llvm.vector.reduce.{reduction}.v{}{scalar}", self.lanes());
        let call = self.emitter.call_text(scalar, &name, &[(&v, &chosen)]);
        let all = self.emit(format_args!("{call}"));
        self.names.set(operands[0], &pointer);
        // Texts of constants stay what they are for others.
        let text = self.names.get(operands[1]).to_owned();
        self.names.set(operands[1], &all);
        self.names.prefix = "%v";
        self.emitter.instruction(self.function, &self.names, value);
        self.names.set(operands[1], &text);
        true
    }
}
