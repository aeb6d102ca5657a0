//! Elementwise operations with broadcasting.

use std::mem::size_of;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, broadcast};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

mod flat;

pub use flat::{Flat, Stretched};

macro_rules! operations {
    ($($variant:ident, $constant:ident, $name:literal;)*) => {
        /// An operation; the variants are described in `amdgpu.ops` under the same names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Elementwise {
            $($variant,)*
        }

        impl Elementwise {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The number in agpu.h.
            const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => amdgpu_abi::layout::$constant,)*
                }
            }
        }
    };
}

operations! {
    Identity, ELEMENTWISE_IDENTITY, "identity";
    Negative, ELEMENTWISE_NEGATIVE, "negative";
    Absolute, ELEMENTWISE_ABSOLUTE, "absolute";
    Sign, ELEMENTWISE_SIGN, "sign";
    Square, ELEMENTWISE_SQUARE, "square";
    Reciprocal, ELEMENTWISE_RECIPROCAL, "reciprocal";
    Sqrt, ELEMENTWISE_SQRT, "sqrt";
    Exp, ELEMENTWISE_EXP, "exp";
    Expm1, ELEMENTWISE_EXPM1, "expm1";
    Log, ELEMENTWISE_LOG, "log";
    Log1p, ELEMENTWISE_LOG1P, "log1p";
    Erf, ELEMENTWISE_ERF, "erf";
    Tanh, ELEMENTWISE_TANH, "tanh";
    Sigmoid, ELEMENTWISE_SIGMOID, "sigmoid";
    Relu, ELEMENTWISE_RELU, "relu";
    LeakyRelu, ELEMENTWISE_LEAKY_RELU, "leaky_relu";
    Elu, ELEMENTWISE_ELU, "elu";
    Gelu, ELEMENTWISE_GELU, "gelu";
    GeluTanh, ELEMENTWISE_GELU_TANH, "gelu_tanh";
    Silu, ELEMENTWISE_SILU, "silu";
    Softplus, ELEMENTWISE_SOFTPLUS, "softplus";
    Floor, ELEMENTWISE_FLOOR, "floor";
    Ceil, ELEMENTWISE_CEIL, "ceil";
    Trunc, ELEMENTWISE_TRUNC, "trunc";
    Rint, ELEMENTWISE_RINT, "rint";
    Isnan, ELEMENTWISE_ISNAN, "isnan";
    Isinf, ELEMENTWISE_ISINF, "isinf";
    Isfinite, ELEMENTWISE_ISFINITE, "isfinite";
    LogicalNot, ELEMENTWISE_LOGICAL_NOT, "logical_not";
    Add, ELEMENTWISE_ADD, "add";
    Subtract, ELEMENTWISE_SUBTRACT, "subtract";
    Multiply, ELEMENTWISE_MULTIPLY, "multiply";
    Divide, ELEMENTWISE_DIVIDE, "divide";
    Maximum, ELEMENTWISE_MAXIMUM, "maximum";
    Minimum, ELEMENTWISE_MINIMUM, "minimum";
    Equal, ELEMENTWISE_EQUAL, "equal";
    NotEqual, ELEMENTWISE_NOT_EQUAL, "not_equal";
    Less, ELEMENTWISE_LESS, "less";
    LessEqual, ELEMENTWISE_LESS_EQUAL, "less_equal";
    Greater, ELEMENTWISE_GREATER, "greater";
    GreaterEqual, ELEMENTWISE_GREATER_EQUAL, "greater_equal";
    LogicalAnd, ELEMENTWISE_LOGICAL_AND, "logical_and";
    LogicalOr, ELEMENTWISE_LOGICAL_OR, "logical_or";
    Where, ELEMENTWISE_WHERE, "where";
    Clip, ELEMENTWISE_CLIP, "clip";
    Standardize, ELEMENTWISE_STANDARDIZE, "standardize";
    Power, ELEMENTWISE_POWER, "power";
    Remainder, ELEMENTWISE_REMAINDER, "remainder";
    Fmod, ELEMENTWISE_FMOD, "fmod";
    FloorDivide, ELEMENTWISE_FLOOR_DIVIDE, "floor_divide";
    Sin, ELEMENTWISE_SIN, "sin";
    Cos, ELEMENTWISE_COS, "cos";
    Exp2, ELEMENTWISE_EXP2, "exp2";
    Log2, ELEMENTWISE_LOG2, "log2";
    Log10, ELEMENTWISE_LOG10, "log10";
    BitwiseAnd, ELEMENTWISE_BITWISE_AND, "bitwise_and";
    BitwiseOr, ELEMENTWISE_BITWISE_OR, "bitwise_or";
    BitwiseXor, ELEMENTWISE_BITWISE_XOR, "bitwise_xor";
    Invert, ELEMENTWISE_INVERT, "invert";
    LogicalXor, ELEMENTWISE_LOGICAL_XOR, "logical_xor";
    ReluGradient, ELEMENTWISE_RELU_GRADIENT, "relu_gradient";
    LeakyReluGradient, ELEMENTWISE_LEAKY_RELU_GRADIENT, "leaky_relu_gradient";
    EluGradient, ELEMENTWISE_ELU_GRADIENT, "elu_gradient";
    GeluGradient, ELEMENTWISE_GELU_GRADIENT, "gelu_gradient";
    GeluTanhGradient, ELEMENTWISE_GELU_TANH_GRADIENT, "gelu_tanh_gradient";
    SiluGradient, ELEMENTWISE_SILU_GRADIENT, "silu_gradient";
    SoftplusGradient, ELEMENTWISE_SOFTPLUS_GRADIENT, "softplus_gradient";
    SigmoidGradient, ELEMENTWISE_SIGMOID_GRADIENT, "sigmoid_gradient";
    TanhGradient, ELEMENTWISE_TANH_GRADIENT, "tanh_gradient";
}

/// Which dtypes an operation takes and gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Floats; integers are computed in float64.
    Float,
    /// Anything, and the same comes back.
    Number,
    /// As `Number`, but truth values are refused.
    Signed,
    /// Integers and truth values, and the same comes back.
    Bits,
    /// Rounding: integers are whole already.
    Rounding,
    /// Truth values come back.
    Predicate,
    /// Truth values about floats come back.
    FloatPredicate,
}

/// What a result is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    pub shape: Vec<i64>,
    pub dtype: Dtype,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementwiseOptions {
    /// Slope of `leaky_relu`, scale of `elu`.
    pub alpha: f64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Elementwise {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|operation| operation.name() == name)
    }

    /// Names of the inputs, in order.
    #[must_use]
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Standardize => &["x", "mean", "scale", "shift"],
            Self::Where => &["condition", "a", "b"],
            Self::Clip => &["x", "low", "high"],
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Maximum
            | Self::Minimum
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual
            | Self::LogicalAnd
            | Self::LogicalOr
            | Self::LogicalXor
            | Self::Power
            | Self::Remainder
            | Self::Fmod
            | Self::FloorDivide
            | Self::BitwiseAnd
            | Self::BitwiseOr
            | Self::BitwiseXor => &["a", "b"],
            Self::ReluGradient
            | Self::LeakyReluGradient
            | Self::EluGradient
            | Self::GeluGradient
            | Self::GeluTanhGradient
            | Self::SiluGradient
            | Self::SoftplusGradient => &["x", "gradient"],
            Self::SigmoidGradient | Self::TanhGradient => &["y", "gradient"],
            _ => &["x"],
        }
    }

    fn class(self) -> Class {
        match self {
            Self::Identity
            | Self::Absolute
            | Self::Square
            | Self::Relu
            | Self::Add
            | Self::Multiply
            | Self::Maximum
            | Self::Minimum
            | Self::Where
            | Self::Clip => Class::Number,
            Self::Negative
            | Self::Sign
            | Self::Subtract
            | Self::Power
            | Self::Remainder
            | Self::Fmod
            | Self::FloorDivide => Class::Signed,
            Self::BitwiseAnd | Self::BitwiseOr | Self::BitwiseXor | Self::Invert => Class::Bits,
            Self::Floor | Self::Ceil | Self::Trunc | Self::Rint => Class::Rounding,
            Self::Isnan | Self::Isinf | Self::Isfinite => Class::FloatPredicate,
            Self::LogicalNot
            | Self::LogicalAnd
            | Self::LogicalOr
            | Self::LogicalXor
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual => Class::Predicate,
            _ => Class::Float,
        }
    }

    /// Work of one element in operations of the processor, for the choice of threads.
    fn cost(self) -> u64 {
        match self {
            Self::Exp
            | Self::Exp2
            | Self::Expm1
            | Self::Sigmoid
            | Self::Silu
            | Self::Tanh
            | Self::Elu
            | Self::EluGradient
            | Self::SiluGradient
            | Self::SoftplusGradient
            | Self::Remainder
            | Self::Fmod
            | Self::FloorDivide => 8,
            Self::Log
            | Self::Log2
            | Self::Log10
            | Self::Log1p
            | Self::Sin
            | Self::Cos
            | Self::Erf
            | Self::Gelu
            | Self::GeluTanh
            | Self::GeluGradient
            | Self::GeluTanhGradient
            | Self::Softplus => 16,
            Self::Power => 64,
            _ => 1,
        }
    }

    /// The dtype in which inputs of these dtypes meet, and that of the result.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype` where the operation does not take them.
    pub fn result_dtypes(self, inputs: &[Dtype]) -> Result<(Dtype, Dtype), Error> {
        let numbers = match (self, inputs) {
            (Self::Where, [condition, rest @ ..]) => {
                if condition.bits != 8 || element::is_float(*condition) {
                    return Err(Error::refused(
                        ErrorCode::UnsupportedDtype,
                        format!(
                            "where: condition has dtype {}; it must be bool or 8-bit integers: compare first",
                            element::name(*condition)
                        ),
                    ));
                }
                rest
            }
            _ => inputs,
        };
        let common = numbers
            .iter()
            .copied()
            .reduce(element::promote)
            .unwrap_or(Dtype::F32);
        Ok(match self.class() {
            Class::Signed if common == Dtype::BOOL => {
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "{}: truth values have no sign; convert them to numbers or use logical_not",
                        self.name()
                    ),
                ));
            }
            Class::Bits if element::is_float(common) => {
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "{}: the bits of {} are not combined; integers and truth values are",
                        self.name(),
                        element::name(common)
                    ),
                ));
            }
            Class::Number | Class::Rounding | Class::Signed | Class::Bits => (common, common),
            Class::Float => (element::as_float(common), element::as_float(common)),
            Class::Predicate => (common, Dtype::BOOL),
            Class::FloatPredicate => (element::as_float(common), Dtype::BOOL),
        })
    }

    /// What is computed of inputs that meet in `common`: whole numbers are rounded already, and a truth value has one bit.
    #[must_use]
    pub fn computed_as(self, common: Dtype) -> Self {
        if self.class() == Class::Rounding && !element::is_float(common) {
            Self::Identity
        } else if self == Self::Invert && common == Dtype::BOOL {
            Self::LogicalNot
        } else {
            self
        }
    }

    /// Shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` when the shapes do not broadcast, `unsupported-dtype`, `invalid-argument` for a wrong number of inputs.
    pub fn describe(self, inputs: &[TensorView]) -> Result<Described, Error> {
        let layouts = self.layouts(inputs)?;
        let dtypes: Vec<_> = layouts.iter().map(|layout| layout.dtype).collect();
        Ok(Described {
            shape: self.broadcast(&layouts)?,
            dtype: self.result_dtypes(&dtypes)?.1,
        })
    }

    fn layouts(self, inputs: &[TensorView]) -> Result<Vec<Layout>, Error> {
        let names = self.inputs();
        if inputs.len() != names.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{} takes {} inputs ({}), not {}",
                    self.name(),
                    names.len(),
                    names.join(", "),
                    inputs.len()
                ),
            ));
        }
        inputs
            .iter()
            .zip(names)
            .map(|(view, name)| Layout::of(self.name(), name, view))
            .collect()
    }

    fn broadcast(self, layouts: &[Layout]) -> Result<Vec<i64>, Error> {
        let named: Vec<_> = self.inputs().iter().copied().zip(layouts).collect();
        broadcast(self.name(), &named)
    }
}

impl Matrix {
    /// `out = operation(inputs...)`, the inputs broadcast to the shape of `out`; see [`Elementwise::describe`] for what `out` must be.
    /// `out` may be an input itself.
    ///
    /// # Errors
    ///
    /// As [`Elementwise::describe`], and `invalid-argument` when `out` shares memory with an input without being the same view.
    ///
    /// ```
    /// # use amdgpu_matrix::{Elementwise, ElementwiseOptions, Matrix, TensorView, TensorViewMut};
    /// # let Ok(matrix) = Matrix::global() else { return Ok(()) };
    /// let (a, b, mut out) = ([1.0_f32, 2.0, 3.0, 4.0], [10.0_f32, 20.0], [0.0_f32; 4]);
    /// let inputs = [TensorView::from_slice(&a, &[2, 2])?, TensorView::from_slice(&b, &[2])?];
    /// let options = ElementwiseOptions { alpha: 0.0, thread_limit: None };
    /// matrix.elementwise(Elementwise::Add, &inputs, &mut TensorViewMut::from_slice(&mut out, &[2, 2])?, &options)?;
    /// assert_eq!(out, [11.0, 22.0, 13.0, 24.0]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn elementwise(
        &self,
        operation: Elementwise,
        inputs: &[TensorView],
        out: &mut TensorViewMut,
        options: &ElementwiseOptions,
    ) -> Result<(), Error> {
        static ELEMENTWISE: Boundary = crossing("agpu_matrix_elementwise");
        let name = operation.name();
        let layouts = operation.layouts(inputs)?;
        let dtypes: Vec<_> = layouts.iter().map(|layout| layout.dtype).collect();
        let (common, dtype) = operation.result_dtypes(&dtypes)?;
        let shape = operation.broadcast(&layouts)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        target.check_out(name, dtype, &shape)?;
        let wide: Vec<_> = layouts
            .iter()
            .map(|layout| layout.broadcast_to(&shape))
            .collect();
        for (layout, argument) in wide.iter().zip(operation.inputs()) {
            target.check_apart(name, argument, layout, true)?;
        }
        let done = operation.computed_as(common);
        let mut tensors: Vec<Tensor> = wide.iter().map(Layout::to_abi).collect();
        if operation == Elementwise::Where {
            // Its condition is zero or not, whatever its sign: bytes without one are read into every type that is computed in.
            tensors[0].dtype = Dtype::U8;
        }
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(operation.cost()),
            dtype: common,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&ELEMENTWISE, &work, |executor| {
            let given = amdgpu_abi::ElementwiseOptions {
                size_bytes: size_of::<amdgpu_abi::ElementwiseOptions>() as u64,
                operation: done.number(),
                compute: element::compute_type(common),
                alpha: options.alpha,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.elementwise)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
