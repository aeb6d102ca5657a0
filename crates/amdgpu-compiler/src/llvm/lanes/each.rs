//! What lanes do one after the other: atomics, calls, copies of memory at different addresses.
//!
//! The lanes of a mask are found bit by bit. Where an operation is short, finding them would cost more than the operation: then a
//! vector with all its lanes does it lane after lane without a loop, each lane's operands taken from as narrow vectors as there are.

use std::borrow::Cow;

use super::super::intrinsics::parameter_name;
use super::super::text::Text;
use super::Body;
use crate::ir::{AddressSpace, CastKind, Cooperation, Op, SpecialKind, Type, Value};
use crate::lanes::Shape;
use rustc_hash::FxHashMap;

/// What stands before the names of results of single lanes.
const LANE_PREFIXES: [&str; 16] = [
    "%l0.v", "%l1.v", "%l2.v", "%l3.v", "%l4.v", "%l5.v", "%l6.v", "%l7.v", "%l8.v", "%l9.v",
    "%l10.v", "%l11.v", "%l12.v", "%l13.v", "%l14.v", "%l15.v",
];

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

    /// Whether an operation is a few instructions without a branch: an atomic on memory of the block, which no other thread has.
    fn is_short(&self, value: Value) -> bool {
        let Op::Cooperative(_, operands) = self.function.op(value) else {
            return false;
        };
        let shared = Type::Pointer(AddressSpace::Shared);
        self.lanes() as usize <= LANE_PREFIXES.len()
            && operands
                .first()
                .is_some_and(|first| self.function.ty(*first) == shared)
    }

    /// An operation for every lane, in the order of the lanes, without a loop; returns the vector of results.
    fn unrolled(&mut self, value: Value, operands: &[Value], has_result: bool) -> Text {
        let function = self.function;
        let mut results = Text::from("poison");
        let mut words = FxHashMap::default();
        for (lane, prefix) in LANE_PREFIXES
            .into_iter()
            .take(self.lanes() as usize)
            .enumerate()
        {
            for &operand in operands {
                if !self.shape(operand).is_uniform() {
                    let text = self.lane(operand, lane, &mut words);
                    self.names.set(operand, &text);
                }
            }
            self.names.prefix = prefix;
            self.emitter.instruction(function, &self.names, value);
            if has_result {
                let ty = function.ty(value);
                let (vector, scalar) = (self.vector_type(ty), self.scalar_type(ty));
                results = self.emit(format_args!(
                    "insertelement {vector} {results}, {scalar} {prefix}{}, i64 {lane}",
                    value.0
                ));
            }
        }
        results
    }

    /// The value of one lane; `words` are those of vectors of small numbers, eight bytes each, which one instruction can take out
    /// where single bytes take two each.
    fn lane(
        &mut self,
        value: Value,
        lane: usize,
        words: &mut FxHashMap<(Value, usize), Text>,
    ) -> Text {
        let value = self.root(value);
        let function = self.function;
        let ty = function.ty(value);
        if self.shape(value).is_uniform() {
            return self.scalar(value);
        }
        // What an operation of this block takes is at hand in it.
        let is_here = self.plan.divergence.home(value) == Some(self.block);
        match *function.op(value) {
            Op::Offset {
                pointer,
                index,
                scale,
            } if is_here && self.shape(value) == Shape::Varying => {
                let (pointer, index) = (
                    self.lane(pointer, lane, words),
                    self.lane(index, lane, words),
                );
                let element = self.element(value, scale);
                self.emit(format_args!(
                    "getelementptr {element}, ptr {pointer}, i64 {index}"
                ))
            }
            Op::Cast(kind @ (CastKind::ExtendSigned | CastKind::ExtendUnsigned), inner)
                if is_here && self.shape(value) == Shape::Varying =>
            {
                let extend = if kind == CastKind::ExtendSigned {
                    "sext"
                } else {
                    "zext"
                };
                let narrow = self.scalar_type(function.ty(inner));
                let (text, wide) = (self.lane(inner, lane, words), self.scalar_type(ty));
                self.emit(format_args!("{extend} {narrow} {text} to {wide}"))
            }
            _ => {
                if let Shape::Affine { stride, .. } = self.shape(value) {
                    let (scalar, unused) = (self.scalar(value), 64 - ty.bits());
                    let step = ((lane as i64).wrapping_mul(stride) << unused) >> unused;
                    return if ty.is_pointer() {
                        self.emit(format_args!("getelementptr i8, ptr {scalar}, i64 {step}"))
                    } else {
                        let ty = self.scalar_type(ty);
                        self.emit(format_args!("add {ty} {scalar}, {step}"))
                    };
                }
                let text = self.vector(value);
                let vector = self.vector_type(ty);
                let at = lane * ty.bits() as usize;
                let bits = self.lanes() * ty.bits();
                if !matches!(ty, Type::I8 | Type::I16 | Type::I32) || !bits.is_multiple_of(64) {
                    return self.emit(format_args!("extractelement {vector} {text}, i64 {lane}"));
                }
                let key = (value, at / 64);
                let word = if let Some(word) = words.get(&key) {
                    word.clone()
                } else {
                    let all = format!("<{} x i64>", bits / 64);
                    let cast = self.emit(format_args!("bitcast {vector} {text} to {all}"));
                    let word =
                        self.emit(format_args!("extractelement {all} {cast}, i64 {}", key.1));
                    // Without a barrier that says nothing, the code generator takes each number from the vector.
                    let word = self.emit(format_args!("call i64 asm \"\", \"=r,0\"(i64 {word})"));
                    words.insert(key, word.clone());
                    word
                };
                let low = self.emit(format_args!("lshr i64 {word}, {}", at % 64));
                self.emit(format_args!("trunc i64 {low} to {}", self.scalar_type(ty)))
            }
        }
    }

    /// A loop over the lanes whose bits are set, at least one.
    ///
    /// Operands have the names of single lanes in it. Parameters, which are known by their names alone, have theirs again behind it.
    fn one_by_one(&mut self, value: Value, bits: &str) {
        let function = self.function;
        let mut parameters: Vec<(Value, Text)> = Vec::new();
        function.op(value).for_each_operand(|operand| {
            if function.op(operand).is_floating() {
                parameters.push((operand, self.names.get(operand).into()));
            }
        });
        self.lane_after_lane(value, bits);
        for (parameter, name) in parameters {
            self.names.set(parameter, &name);
        }
    }

    fn lane_after_lane(&mut self, value: Value, bits: &str) {
        let function = self.function;
        let (number, lanes) = (value.0, self.lanes());
        let ty = function.ty(value);
        let mut operands = Vec::new();
        function
            .op(value)
            .for_each_operand(|operand| operands.push(operand));
        let mut vectors: Vec<(Value, Option<String>)> = Vec::new();
        for &operand in &operands {
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
        let has_result = ty != Type::Void && self.demand.is_used[value.0 as usize];
        let vector_type = if has_result {
            self.vector_type(ty)
        } else {
            Cow::Borrowed("")
        };
        let (integer, before) = (format!("i{lanes}"), self.label.clone());
        let all = self.is_short(value).then(|| {
            let full = self.emit(format_args!("icmp eq {integer} {bits}, -1"));
            self.print(format_args!(
                "  br i1 {full}, label %a{number}, label %o{number}\na{number}:"
            ));
            // What this way makes of operands, the other does not have.
            let before = (self.scalars.clone(), self.vectors.clone());
            let results = self.unrolled(value, &operands, has_result);
            (self.scalars, self.vectors) = before;
            self.print(format_args!("  br label %o{number}.done"));
            results
        });
        // The result of the loop, which may have to meet that of all lanes.
        let result = if all.is_some() {
            format!("%o{number}.v")
        } else {
            format!("%v{number}")
        };
        if all.is_none() {
            self.print(format_args!("  br label %o{number}"));
        }
        self.label = format!("o{number}");
        self.print(format_args!("o{number}:"));
        self.print(format_args!(
            "  %o{number}.left = phi {integer} [ {bits}, %{before} ], [ %o{number}.rest, %o{number}.next ]"
        ));
        if has_result {
            self.print(format_args!(
                "  %o{number}.old = phi {vector_type} [ zeroinitializer, %{before} ], [ {result}, %o{number}.next ]"
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
                "  {result} = insertelement {vector_type} %o{number}.old, {scalar_type} %o.v{number}, {integer} {lane}"
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
        if let Some(all) = all.filter(|_| has_result) {
            self.print(format_args!(
                "  %v{number} = phi {vector_type} [ {all}, %a{number} ], [ {result}, %o{number}.next ]"
            ));
        }
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
