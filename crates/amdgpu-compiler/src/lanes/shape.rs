//! How a value differs between neighbouring work-items.

use crate::ir::{BinaryOp, CastKind, Function, Intrinsic, Op, SpecialKind, Type, Value};

/// Beyond this, lanes are too far apart for the difference to matter, and products of strides stay far from overflow.
const MAX_STRIDE: i64 = 1 << 31;

/// A value across the lanes of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The same for all lanes that compute it.
    Uniform,
    /// That of the first lane plus `stride` for each further one, modulo the width of the type; a pointer's in bytes.
    ///
    /// Where an extension to 64 bits lies behind it, it is not `is_exact`: neighbours between which the narrow value wraps are
    /// further apart. Such a value is used as it stands in addresses only; of two neighbours that far apart at most one can be
    /// inside an array, unless the array has 2^32 elements.
    Affine {
        stride: i64,
        is_exact: bool,
    },
    Varying,
}

impl Shape {
    pub fn is_uniform(self) -> bool {
        self == Self::Uniform
    }

    /// Whether a scalar says all about it.
    pub fn is_scalar(self) -> bool {
        self != Self::Varying
    }

    pub fn is_inexact(self) -> bool {
        matches!(
            self,
            Self::Affine {
                is_exact: false,
                ..
            }
        )
    }

    fn affine(self) -> Option<(i64, bool)> {
        match self {
            Self::Uniform => Some((0, true)),
            Self::Affine { stride, is_exact } => Some((stride, is_exact)),
            Self::Varying => None,
        }
    }

    fn from_stride(stride: i64, is_exact: bool, ty: Type) -> Self {
        let stride = match ty.bits() {
            64 => stride,
            bits => (stride << (64 - bits)) >> (64 - bits),
        };
        match stride {
            0 if is_exact => Self::Uniform,
            0 => Self::Varying,
            _ if stride.abs() > MAX_STRIDE => Self::Varying,
            _ => Self::Affine { stride, is_exact },
        }
    }
}

/// The shape of what an operation other than a phi gives, from those of its operands. `scale_up` is the factor by which offsets
/// into private memory grow when the lanes' copies are interleaved; `slot_stride` the distance of these copies.
pub fn of_operation(
    function: &Function,
    value: Value,
    parameters: &[Shape],
    scale_up: u64,
    slot_stride: i64,
    shape: impl Fn(Value) -> Shape,
) -> Shape {
    let ty = function.ty(value);
    let op = function.op(value);
    let mut is_uniform = true;
    op.for_each_operand(|operand| is_uniform &= shape(operand).is_uniform());
    match op {
        Op::Parameter(index) => parameters[*index as usize],
        Op::Special(special) if special.kind == SpecialKind::ThreadIndex && special.axis == 0 => {
            Shape::Affine {
                stride: 1,
                is_exact: true,
            }
        }
        Op::Slot { .. } => Shape::Affine {
            stride: slot_stride,
            is_exact: true,
        },
        Op::Call { .. } => Shape::Varying,
        Op::Cooperative(_, operands) if !operands.is_empty() => Shape::Varying,
        _ if is_uniform => Shape::Uniform,
        Op::Binary(operation, a, b) => binary(function, *operation, *a, *b, ty, shape),
        Op::Intrinsic(Intrinsic::Reinterpret, arguments) if arguments.len() == 1 => Shape::Varying,
        Op::Cast(kind, a) => {
            let Some((stride, is_exact)) = shape(*a).affine() else {
                return Shape::Varying;
            };
            match kind {
                CastKind::Truncate | CastKind::PointerToInteger | CastKind::IntegerToPointer => {
                    Shape::from_stride(stride, is_exact, ty)
                }
                CastKind::AddressSpace => shape(*a),
                CastKind::ExtendSigned | CastKind::ExtendUnsigned
                    if function.ty(*a) == Type::I32 =>
                {
                    Shape::from_stride(stride, false, ty)
                }
                _ => Shape::Varying,
            }
        }
        Op::Select(condition, a, b) => match (shape(*condition), shape(*a), shape(*b)) {
            (Shape::Uniform, a, b) if a == b => a,
            _ => Shape::Varying,
        },
        Op::Offset {
            pointer,
            index,
            scale,
        } => match (shape(*pointer).affine(), shape(*index).affine()) {
            (Some((base, base_exact)), Some((steps, steps_exact))) => {
                let scale = (scale * scale_up).min(MAX_STRIDE as u64) as i64;
                let stride = steps
                    .checked_mul(scale)
                    .and_then(|bytes| base.checked_add(bytes));
                stride.map_or(Shape::Varying, |stride| {
                    Shape::from_stride(stride, base_exact && steps_exact, ty)
                })
            }
            _ => Shape::Varying,
        },
        _ => Shape::Varying,
    }
}

fn binary(
    function: &Function,
    operation: BinaryOp,
    a: Value,
    b: Value,
    ty: Type,
    shape: impl Fn(Value) -> Shape,
) -> Shape {
    let (Some((x, x_exact)), Some((y, y_exact))) = (shape(a).affine(), shape(b).affine()) else {
        return Shape::Varying;
    };
    let is_exact = x_exact && y_exact;
    let constant = |value: Value| {
        let unused = 64 - ty.bits().max(1);
        function
            .constant(value)
            .map(|bits| (bits << unused) as i64 >> unused)
            .filter(|number| number.abs() <= MAX_STRIDE)
    };
    let stride = match operation {
        BinaryOp::Add => Some(x + y),
        BinaryOp::Subtract => Some(x - y),
        BinaryOp::Multiply => match (constant(a), constant(b)) {
            (_, Some(factor)) => x.checked_mul(factor),
            (Some(factor), _) => y.checked_mul(factor),
            _ => None,
        },
        BinaryOp::ShiftLeft => constant(b)
            .map(|count| count.rem_euclid(i64::from(ty.bits())))
            .filter(|count| *count < 31)
            .and_then(|count| x.checked_mul(1 << count)),
        _ => None,
    };
    stride.map_or(Shape::Varying, |stride| {
        Shape::from_stride(stride, is_exact, ty)
    })
}
