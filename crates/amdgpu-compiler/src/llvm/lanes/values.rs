//! How the operands of an instruction are named: as scalars, as vectors, as vectors of addresses.

use std::borrow::Cow;
use std::fmt::Write;

use super::super::Emitter;
use super::super::function::constant;
use super::super::text::{Text, Typed};
use super::Body;
use crate::ir::{CastKind, Function, Op, Type, Value};
use crate::lanes::Shape;

impl Emitter<'_> {
    /// Casts between address spaces that are one here are other names of their operand.
    pub(super) fn roots(&self, function: &Function) -> Vec<Value> {
        let find = |mut value: Value| {
            while let Op::Cast(CastKind::AddressSpace, inner) = function.op(value) {
                if self.type_text(function.ty(*inner)) != self.type_text(function.ty(value)) {
                    break;
                }
                value = *inner;
            }
            value
        };
        (0..function.values.len() as u32)
            .map(|index| find(Value(index)))
            .collect()
    }
}

impl Body<'_, '_> {
    pub(super) fn root(&self, value: Value) -> Value {
        self.roots[value.0 as usize]
    }

    /// The shape of an operand in the present block.
    pub(super) fn shape(&self, value: Value) -> Shape {
        let value = self.root(value);
        self.plan
            .divergence
            .shape_at(&self.plan.loops, value, self.block)
    }

    /// Names of the variables that keep a value.
    pub(super) fn kept(value: Value, is_vector: bool) -> Text {
        Text::numbered(if is_vector { "%kv" } else { "%ks" }, value.0)
    }

    pub(super) fn collected(value: Value) -> Text {
        Text::numbered("%c", value.0)
    }

    /// The scalar of a uniform value, or that of the first lane of one that goes up evenly.
    pub(super) fn scalar(&mut self, value: Value) -> Text {
        let value = self.root(value);
        let (op, ty) = (self.function.op(value), self.function.ty(value));
        if op.is_floating() {
            return self.names.get(value).into();
        }
        if let Some(text) = self.scalars.get(&value) {
            return text.clone();
        }
        debug_assert!(self.shape(value).is_scalar());
        let text = if self.demand.is_kept[value.0 as usize]
            && self.plan.divergence.home(value) != Some(self.block)
        {
            self.read(self.scalar_type(ty), &Self::kept(value, false))
        } else {
            self.scalar_name(value)
        };
        self.scalars.insert(value, text.clone());
        text
    }

    /// The name under which a scalar is computed.
    pub(super) fn scalar_name(&self, value: Value) -> Text {
        match self.plan.divergence.shape(value) {
            Shape::Affine { .. } => Text::numbered("%s", value.0),
            _ => Text::numbered("%v", value.0),
        }
    }

    /// The vector of a value, lane for lane.
    pub(super) fn vector(&mut self, value: Value) -> Text {
        let value = self.root(value);
        if let Some(text) = self.vectors.get(&value) {
            return text.clone();
        }
        let ty = self.function.ty(value);
        let vector_type = self.vector_type(ty);
        let shape = self.plan.divergence.shape(value);
        let outlives = self
            .plan
            .divergence
            .outlives_loop(&self.plan.loops, value, self.block);
        let text = if outlives {
            self.read(&vector_type, &Self::collected(value))
        } else {
            match shape {
                Shape::Uniform => {
                    if let Op::Constant(bits) = self.function.op(value) {
                        splat_constant(ty, self.scalar_type(ty), *bits)
                    } else {
                        let scalar = self.scalar(value);
                        self.splat(ty, &scalar)
                    }
                }
                Shape::Affine {
                    is_exact: true,
                    stride,
                } => self.spread(value, ty, stride),
                _ => {
                    if self.demand.is_kept[value.0 as usize]
                        && self.plan.divergence.home(value) != Some(self.block)
                    {
                        self.read(&vector_type, &Self::kept(value, true))
                    } else {
                        Text::numbered("%v", value.0)
                    }
                }
            }
        };
        self.vectors.insert(value, text.clone());
        text
    }

    /// The vector of a value that is part of an address.
    pub(super) fn address(&mut self, value: Value) -> Text {
        let value = self.root(value);
        match self.shape(value) {
            Shape::Affine {
                is_exact: false,
                stride,
            } => self.spread(value, self.function.ty(value), stride),
            _ => self.vector(value),
        }
    }

    pub(super) fn splat(&mut self, ty: Type, scalar: &str) -> Text {
        let scalar_type = self.scalar_type(ty);
        let vector_type = self.vector_type(ty);
        let one = self.emit(format_args!(
            "insertelement {vector_type} poison, {scalar_type} {scalar}, i64 0"
        ));
        self.emit(format_args!(
            "shufflevector {vector_type} {one}, {vector_type} poison, <{} x i32> zeroinitializer",
            self.lanes()
        ))
    }

    /// The scalar of the first lane and `stride` more for each further one.
    fn spread(&mut self, value: Value, ty: Type, stride: i64) -> Text {
        let scalar = self.scalar(value);
        if ty.is_pointer() {
            let steps = self.steps("i64", stride);
            return self.emit(format_args!(
                "getelementptr i8, ptr {scalar}, <{} x i64> {steps}",
                self.lanes()
            ));
        }
        let vector = self.splat(ty, &scalar);
        let unused = 64 - ty.bits();
        let scalar_type = self.scalar_type(ty);
        let mut steps = String::from("<");
        for lane in 0..i64::from(self.lanes()) {
            let step = (lane.wrapping_mul(stride) << unused) >> unused;
            let comma = if lane == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(steps, "{comma}{scalar_type} {step}");
        }
        steps.push('>');
        let vector_type = self.vector_type(ty);
        self.emit(format_args!("add {vector_type} {vector}, {steps}"))
    }

    /// Typed text of an operand as a vector.
    pub(super) fn typed_vector(&mut self, value: Value) -> Typed<Cow<'static, str>, Text> {
        let text = self.vector(value);
        Typed {
            ty: self.vector_type(self.function.ty(value)),
            text,
        }
    }

    /// Sets the texts of scalar operands for the scalar emission of an instruction.
    pub(super) fn name_operands(&mut self, value: Value) {
        let function = self.function;
        function.op(value).for_each_operand(|operand| {
            let text = self.scalar(operand);
            self.names.set(operand, &text);
        });
    }
}

fn splat_constant(ty: Type, scalar_type: &str, bits: u64) -> Text {
    if ty.is_pointer() || bits == 0 {
        return "zeroinitializer".into();
    }
    let mut text = Text::from("splat (");
    text.push(scalar_type);
    text.push(" ");
    text.push(&constant(ty, bits));
    text.push(")");
    text
}
