//! Elementwise operations with broadcasting.

use std::mem::size_of;

use amdgpu_abi::ops::{Class, ELEMENTWISE, ElementwiseRow, elementwise_position};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, broadcast};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

mod flat;

pub use flat::{Broadcast, Flat, MAX_INPUTS};

macro_rules! define {
    ($($variant:ident,)*) => {
        /// An operation; the variants are described in `amdgpu.ops` under the same names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Elementwise {
            $($variant,)*
        }

        impl Elementwise {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

amdgpu_abi::elementwise_operations!(define);

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
        elementwise_position(name).map(|place| Self::ALL[place])
    }

    #[inline]
    const fn row(self) -> &'static ElementwiseRow {
        &ELEMENTWISE[self as usize]
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Names of the inputs, in order.
    #[must_use]
    pub const fn inputs(self) -> &'static [&'static str] {
        self.row().inputs
    }

    #[inline]
    const fn class(self) -> Class {
        self.row().class
    }

    /// The number in agpu.h.
    const fn number(self) -> u32 {
        self as u32
    }

    /// Work of one element in operations of the processor, for the choice of threads.
    const fn cost(self) -> u64 {
        self.row().cost
    }

    /// Whether the result is the exact one, rounded correctly, so that every implementation gives the same bits.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        self.row().is_exact
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
        self.dtypes_of(common).ok_or_else(|| {
            let why = match self.class() {
                Class::Signed => {
                    "truth values have no sign; convert them to numbers or use logical_not"
                        .to_owned()
                }
                Class::Integer => format!("{} is not shifted; integers are", element::name(common)),
                _ => format!(
                    "the bits of {} are not combined; integers and truth values are",
                    element::name(common)
                ),
            };
            let message = format!("{}: {why}", self.name());
            Error::refused(ErrorCode::UnsupportedDtype, message)
        })
    }

    /// What inputs that meet in `common` are computed in, and the dtype of the result; `None` where they have no sign, or no bits to combine or
    /// to shift.
    #[inline]
    pub(crate) fn dtypes_of(self, common: Dtype) -> Option<(Dtype, Dtype)> {
        Some(match self.class() {
            Class::Signed if common == Dtype::BOOL => return None,
            Class::Bits | Class::Integer if element::is_float(common) => return None,
            Class::Numeric | Class::Integer if common == Dtype::BOOL => (Dtype::I8, Dtype::I8),
            Class::Number
            | Class::Numeric
            | Class::Rounding
            | Class::Signed
            | Class::Bits
            | Class::Integer => (common, common),
            Class::Float => (element::as_float(common), element::as_float(common)),
            Class::Predicate => (common, Dtype::BOOL),
            Class::FloatPredicate => (element::as_float(common), Dtype::BOOL),
        })
    }

    /// What is computed of inputs that meet in `common`: whole numbers are rounded already, a truth value has one bit, and neighbours of
    /// numbers of 16 bits are not those of the type that is computed in.
    #[inline]
    #[must_use]
    pub fn computed_as(self, common: Dtype) -> Self {
        if self.class() == Class::Rounding && !element::is_float(common) {
            Self::Identity
        } else if self == Self::Invert && common == Dtype::BOOL {
            Self::LogicalNot
        } else if self == Self::Nextafter && common == Dtype::F16 {
            Self::NextafterHalf
        } else if self == Self::Nextafter && common == Dtype::BF16 {
            Self::NextafterBfloat
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
