//! Operations that only compute.

use std::borrow::Cow;

use super::super::function::{comparison, element_type, plain_binary, plain_cast};
use super::super::intrinsics::plain_intrinsic;
use super::super::text::{Text, Typed};
use super::{Body, vector_of};
use crate::ir::{BinaryOp, CastKind, Intrinsic, Op, Type, Value};
use crate::lanes::Shape;

impl Body<'_, '_> {
    pub(super) fn instruction(&mut self, value: Value) {
        let function = self.function;
        match function.op(value) {
            Op::Load(pointer) | Op::NontemporalLoad(pointer) => {
                return self.load(value, *pointer);
            }
            Op::Store {
                pointer,
                value: stored,
            } => return self.store(value, *pointer, *stored),
            Op::NontemporalStore {
                pointer,
                value: stored,
            } => return self.nontemporal_store(value, *pointer, *stored),
            Op::Slot { .. } => return self.slot(value),
            Op::Copy { .. } | Op::Clear { .. } | Op::Call { .. } | Op::Cooperative(..) => {
                return self.effect(value);
            }
            Op::Phi(_) => return,
            op if op.is_floating() => return,
            _ => {}
        }
        match self.plan.divergence.shape(value) {
            Shape::Uniform => self.plain(value, "%v"),
            Shape::Affine { .. } => {
                self.affine(value);
                if self.has_vector(value) {
                    self.compute(value);
                }
            }
            Shape::Varying => self.compute(value),
        }
    }

    /// The instruction as the scalar emission writes it, on scalars.
    pub(super) fn plain(&mut self, value: Value, prefix: &'static str) {
        self.name_operands(value);
        self.names.prefix = prefix;
        self.emitter.instruction(self.function, &self.names, value);
    }

    /// The scalar of the first lane.
    fn affine(&mut self, value: Value) {
        let name = self.scalar_name(value);
        match *self.function.op(value) {
            // Not `inbounds`: the first lane may not exist.
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let (pointer, index) = (self.scalar(pointer), self.scalar(index));
                let element = self.element(value, scale);
                self.print(format_args!(
                    "  {name} = getelementptr {element}, ptr {pointer}, i64 {index}"
                ));
            }
            // The first lane may be before zero, where it does not count; the last that does count is not.
            Op::Cast(CastKind::ExtendUnsigned, inner) => {
                let Shape::Affine { stride, .. } = self.shape(inner) else {
                    return self.plain(value, "%s");
                };
                let ahead = (i64::from(self.lanes()) - 1) * stride.max(0);
                let inner = self.scalar(inner);
                let last = self.emit(format_args!("add i32 {inner}, {}", ahead as i32));
                let wide = self.emit(format_args!("zext i32 {last} to i64"));
                self.print(format_args!("  {name} = sub i64 {wide}, {ahead}"));
            }
            _ => self.plain(value, "%s"),
        }
    }

    /// What an offset counts in; interleaved copies of private memory are as many times further apart as there are lanes.
    pub(super) fn element(&self, value: Value, scale: u64) -> Cow<'static, str> {
        let scale = if self.plan.slots.is_interleaved(value) {
            scale * u64::from(self.lanes())
        } else {
            scale
        };
        element_type(scale)
    }

    /// The vector, lane for lane.
    fn compute(&mut self, value: Value) {
        let function = self.function;
        let name = Text::numbered("%v", value.0);
        let ty = function.ty(value);
        let vector_type = self.vector_type(ty);
        let fast = if self.emitter.fast_math { "fast " } else { "" };
        let text = match function.op(value) {
            Op::Binary(operation, a, b) => match plain_binary(*operation) {
                Some(llvm) => {
                    let fast = if ty.is_float() { fast } else { "" };
                    let (a, b) = (self.vector(*a), self.vector(*b));
                    return self.define(&name, format_args!("{llvm} {fast}{vector_type} {a}, {b}"));
                }
                None => match operation {
                    BinaryOp::ShiftLeft
                    | BinaryOp::ShiftRightSigned
                    | BinaryOp::ShiftRightUnsigned => self.shift(*operation, ty, *a, *b),
                    _ => return self.divide(&name, *operation, ty, *a, *b),
                },
            },
            Op::Compare(predicate, a, b) => {
                let (a, b) = (self.typed_vector(*a), self.vector(*b));
                let operation = comparison(*predicate, self.emitter.fast_math);
                return self.define(&name, format_args!("{operation} {a}, {b}"));
            }
            Op::Negate(a) => {
                let a = self.vector(*a);
                return self.define(&name, format_args!("fneg {fast}{vector_type} {a}"));
            }
            Op::Cast(kind, a) => self.cast(*kind, *a, ty),
            Op::Select(condition, a, b) => {
                let condition = if self.shape(*condition).is_uniform() {
                    Typed {
                        ty: "i1".into(),
                        text: self.scalar(*condition),
                    }
                } else {
                    self.typed_vector(*condition)
                };
                let (a, b) = (self.typed_vector(*a), self.typed_vector(*b));
                return self.define(&name, format_args!("select {condition}, {a}, {b}"));
            }
            Op::Intrinsic(intrinsic, arguments) => {
                match self.intrinsic(*intrinsic, ty, arguments) {
                    Some(text) => text,
                    None => return self.each_lane(value),
                }
            }
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let element = self.element(value, *scale);
                let pointer = if self.shape(*pointer).is_uniform() {
                    Typed {
                        ty: "ptr".into(),
                        text: self.scalar(*pointer),
                    }
                } else {
                    Typed {
                        ty: vector_type,
                        text: self.address(*pointer),
                    }
                };
                let index = if self.shape(*index).is_uniform() {
                    Typed {
                        ty: "i64".into(),
                        text: self.scalar(*index),
                    }
                } else {
                    Typed {
                        ty: vector_of(self.lanes(), "i64"),
                        text: self.address(*index),
                    }
                };
                return self.define(
                    &name,
                    format_args!("getelementptr {element}, {pointer}, {index}"),
                );
            }
            _ => return self.each_lane(value),
        };
        self.define(&name, format_args!("{text}"));
    }

    fn shift(&mut self, operation: BinaryOp, ty: Type, a: Value, b: Value) -> String {
        let llvm = match operation {
            BinaryOp::ShiftLeft => "shl",
            BinaryOp::ShiftRightSigned => "ashr",
            _ => "lshr",
        };
        let (vector_type, scalar_type) = (self.vector_type(ty), self.scalar_type(ty));
        let a = self.vector(a);
        if let Some(count) = self.function.constant(b) {
            let count = count % u64::from(ty.bits());
            return format!("{llvm} {vector_type} {a}, splat ({scalar_type} {count})");
        }
        let b = self.vector(b);
        let count = self.emit(format_args!(
            "and {vector_type} {b}, splat ({scalar_type} {})",
            ty.bits() - 1
        ));
        format!("{llvm} {vector_type} {a}, {count}")
    }

    /// Division as the IR defines it. 32-bit quotients come from double precision, which has room for every one: the error of
    /// the division is less than the distance of an inexact quotient from the next integer.
    fn divide(&mut self, name: &str, operation: BinaryOp, ty: Type, a: Value, b: Value) {
        let (llvm, is_signed, is_remainder) = match operation {
            BinaryOp::DivideSigned => ("sdiv", true, false),
            BinaryOp::RemainderSigned => ("srem", true, true),
            BinaryOp::RemainderUnsigned => ("urem", false, true),
            _ => ("udiv", false, false),
        };
        let (vector, scalar) = (self.vector_type(ty), self.scalar_type(ty));
        let mask = self.mask_type();
        let unused = 64 - ty.bits();
        let constant = self
            .function
            .constant(b)
            .map(|bits| (bits << unused) as i64 >> unused);
        let (dividend, given) = (self.vector(a), self.vector(b));
        if constant.is_some_and(|divisor| divisor != 0 && divisor != -1) {
            return self.print(format_args!(
                "  {name} = {llvm} {vector} {dividend}, {given}"
            ));
        }
        let zero = self.emit(format_args!("icmp eq {vector} {given}, zeroinitializer"));
        let minus = is_signed.then(|| {
            self.emit(format_args!(
                "icmp eq {vector} {given}, splat ({scalar} -1)"
            ))
        });
        let replaced = match &minus {
            Some(minus) => self.emit(format_args!("or {mask} {zero}, {minus}")),
            None => zero.clone(),
        };
        let divisor = self.emit(format_args!(
            "select {mask} {replaced}, {vector} splat ({scalar} 1), {vector} {given}"
        ));
        let quotient = if ty == Type::I32 {
            let sign = if is_signed { "s" } else { "u" };
            let double = vector_of(self.lanes(), "double");
            let above = self.emit(format_args!("{sign}itofp {vector} {dividend} to {double}"));
            let below = self.emit(format_args!("{sign}itofp {vector} {divisor} to {double}"));
            let ratio = self.emit(format_args!("fdiv {double} {above}, {below}"));
            let ratio = self.emit(format_args!("fpto{sign}i {double} {ratio} to {vector}"));
            if is_remainder {
                let whole = self.emit(format_args!("mul {vector} {ratio}, {divisor}"));
                self.emit(format_args!("sub {vector} {dividend}, {whole}"))
            } else {
                ratio
            }
        } else {
            self.emit(format_args!("{llvm} {vector} {dividend}, {divisor}"))
        };
        if is_remainder {
            return self.print(format_args!(
                "  {name} = select {mask} {zero}, {vector} {dividend}, {vector} {quotient}"
            ));
        }
        let quotient = match minus {
            Some(minus) => {
                let negative = self.emit(format_args!("sub {vector} zeroinitializer, {dividend}"));
                self.emit(format_args!(
                    "select {mask} {minus}, {vector} {negative}, {vector} {quotient}"
                ))
            }
            None => quotient,
        };
        self.print(format_args!(
            "  {name} = select {mask} {zero}, {vector} zeroinitializer, {vector} {quotient}"
        ));
    }

    fn cast(&mut self, kind: CastKind, from: Value, ty: Type) -> String {
        let source = self.function.ty(from);
        let to = self.vector_type(ty);
        let operand = self.typed_vector(from);
        if let Some(llvm) = plain_cast(kind) {
            return format!("{llvm} {operand} to {to}");
        }
        let is_signed = kind == CastKind::FloatToSigned;
        let sign = if is_signed { "s" } else { "u" };
        let lanes = self.lanes();
        let (from_type, text) = (self.vector_type(source), self.vector(from));
        if self.emitter.target.triple.starts_with("x86_64") {
            return self.saturated(sign, [&from_type, &text], (source, ty));
        }
        let name = format!(
            "llvm.fpto{sign}i.sat.v{lanes}i{}.v{lanes}f{}",
            ty.bits(),
            source.bits()
        );
        self.emitter.call_text(&to, &name, &[(&from_type, &text)])
    }

    /// A float as the nearest integer towards zero that there is, NaN as zero, by a plain conversion of the numbers that fit: x86 has
    /// no other, and LLVM would convert lane after lane.
    fn saturated(
        &mut self,
        sign: &str,
        [float, x]: [&str; 2],
        (source, ty): (Type, Type),
    ) -> String {
        let (vector, scalar, mask) = (self.vector_type(ty), self.scalar_type(ty), self.mask_type());
        let scalar_float = self.scalar_type(source);
        let power = |exponent: u32| f64::from(exponent).exp2().to_bits();
        let (low, high, least, most) = if sign == "s" {
            let end = ty.bits() - 1;
            let least = i64::MIN >> (64 - ty.bits());
            (power(end) | 1 << 63, power(end), least, !least)
        } else {
            (power(0) | 1 << 63, power(ty.bits()), 0, -1)
        };
        // The least signed number is a float; of unsigned ones, floats above -1 become zero.
        let above = if sign == "s" { "oge" } else { "ogt" };
        let above = self.emit(format_args!(
            "fcmp {above} {float} {x}, splat ({scalar_float} 0x{low:016X})"
        ));
        let below = self.emit(format_args!(
            "fcmp olt {float} {x}, splat ({scalar_float} 0x{high:016X})"
        ));
        let fits = self.emit(format_args!("and {mask} {above}, {below}"));
        let number = self.emit(format_args!(
            "select {mask} {fits}, {float} {x}, {float} zeroinitializer"
        ));
        let number = self.emit(format_args!("fpto{sign}i {float} {number} to {vector}"));
        let is_large = self.emit(format_args!("fcmp ogt {float} {x}, zeroinitializer"));
        let is_small = self.emit(format_args!("fcmp olt {float} {x}, zeroinitializer"));
        let end = self.emit(format_args!(
            "select {mask} {is_small}, {vector} splat ({scalar} {least}), {vector} zeroinitializer"
        ));
        let end = self.emit(format_args!(
            "select {mask} {is_large}, {vector} splat ({scalar} {most}), {vector} {end}"
        ));
        format!("select {mask} {fits}, {vector} {number}, {vector} {end}")
    }

    /// `None` for what has no operation on vectors.
    fn intrinsic(&mut self, intrinsic: Intrinsic, ty: Type, arguments: &[Value]) -> Option<String> {
        let (v, lanes) = (self.vector_type(ty), self.lanes());
        match intrinsic {
            Intrinsic::MultiplyHigh | Intrinsic::MultiplyHighUnsigned if ty.bits() <= 32 => {
                let extend = if intrinsic == Intrinsic::MultiplyHigh {
                    "sext"
                } else {
                    "zext"
                };
                let wide = vector_of(lanes, &format!("i{}", ty.bits() * 2));
                let mut factors = Vec::with_capacity(2);
                for argument in arguments {
                    let text = self.vector(*argument);
                    factors.push(self.emit(format_args!("{extend} {v} {text} to {wide}")));
                }
                let product = self.emit(format_args!("mul {wide} {}, {}", factors[0], factors[1]));
                let high = self.emit(format_args!(
                    "lshr {wide} {product}, splat (i{} {})",
                    ty.bits() * 2,
                    ty.bits()
                ));
                Some(format!("trunc {wide} {high} to {v}"))
            }
            Intrinsic::WidenHalf => {
                let text = self.vector(arguments[0]);
                let half = self.emit(format_args!(
                    "bitcast <{lanes} x i16> {text} to <{lanes} x half>"
                ));
                Some(format!("fpext <{lanes} x half> {half} to {v}"))
            }
            Intrinsic::NarrowHalf => {
                let text = self.vector(arguments[0]);
                let half = self.emit(format_args!(
                    "fptrunc <{lanes} x float> {text} to <{lanes} x half>"
                ));
                Some(format!("bitcast <{lanes} x half> {half} to {v}"))
            }
            _ => {
                let llvm = plain_intrinsic(intrinsic)?;
                let letter = if ty.is_float() { "f" } else { "i" };
                let vectors: Vec<Text> = arguments
                    .iter()
                    .map(|argument| self.vector(*argument))
                    .collect();
                let mut list: Vec<(&str, &str)> = Vec::with_capacity(3);
                list.extend(vectors.iter().map(|text| (&*v, &**text)));
                if matches!(
                    intrinsic,
                    Intrinsic::LeadingZeros | Intrinsic::TrailingZeros
                ) {
                    list.push(("i1", "false"));
                }
                let name = format!("llvm.{llvm}.v{lanes}{letter}{}", ty.bits());
                Some(self.emitter.call_text(&v, &name, &list))
            }
        }
    }
}
