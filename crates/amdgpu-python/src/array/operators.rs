//! Operators of arrays: `a + b` is `amdgpu.ops.add(a, b)`.

use amdgpu_abi::promotion::{is_complex, is_float};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyFloat, PyInt};

use super::Array;
use crate::errors::raise;
use crate::fast_call::call_positional;

/// A function of `amdgpu.ops`, looked up once.
pub struct Operator {
    module: &'static str,
    name: &'static str,
    function: PyOnceLock<Py<PyAny>>,
}

macro_rules! operators {
    ($($constant:ident, $module:literal, $name:literal;)*) => {
        $(pub static $constant: Operator = Operator { module: $module, name: $name, function: PyOnceLock::new() };)*
    };
}

operators! {
    ADD, "amdgpu.ops", "add";
    SUBTRACT, "amdgpu.ops", "subtract";
    MULTIPLY, "amdgpu.ops", "multiply";
    DIVIDE, "amdgpu.ops", "divide";
    FLOOR_DIVIDE, "amdgpu.ops", "floor_divide";
    REMAINDER, "amdgpu.ops", "remainder";
    POWER, "amdgpu.ops", "power";
    AND, "amdgpu.ops", "bitwise_and";
    OR, "amdgpu.ops", "bitwise_or";
    XOR, "amdgpu.ops", "bitwise_xor";
    LEFT_SHIFT, "amdgpu.ops", "left_shift";
    RIGHT_SHIFT, "amdgpu.ops", "right_shift";
    MATMUL, "amdgpu.ops.linear_algebra", "matmul";
    NEGATIVE, "amdgpu.ops", "negative";
    POSITIVE, "amdgpu.ops", "positive";
    ABSOLUTE, "amdgpu.ops", "absolute";
    INVERT, "amdgpu.ops", "invert";
    EQUAL, "amdgpu.ops", "equal";
    NOT_EQUAL, "amdgpu.ops", "not_equal";
    LESS, "amdgpu.ops", "less";
    LESS_EQUAL, "amdgpu.ops", "less_equal";
    GREATER, "amdgpu.ops", "greater";
    GREATER_EQUAL, "amdgpu.ops", "greater_equal";
}

impl Operator {
    fn function<'py>(&'static self, py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
        let found = self.function.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind())
        })?;
        Ok(found.bind(py))
    }

    /// The function of one array.
    pub fn unary<'py>(&'static self, x: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
        call_positional(self.function(x.py())?, std::slice::from_ref(x.as_any()))
    }

    /// The function of two operands, at least one of them an array of ours; `NotImplemented` where the other is nothing to compute with.
    pub fn binary<'py>(
        &'static self,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = a.py();
        if !is_operand(a)? || !is_operand(b)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        call_positional(self.function(py)?, &[a.clone(), b.clone()])
    }

    /// The function of an array and another operand, written to the array, as NumPy's operators in place: the result may be of another dtype
    /// of the same kind, and views that overlap are read before they are written.
    pub fn in_place(
        &'static self,
        target: &Bound<'_, Array>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = target.py();
        let sign = self.name;
        if !is_operand(other)? {
            let message = format!(
                "{sign} of an array in place needs an array or a number, not {}",
                other.get_type().name()?
            );
            return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
        }
        let both = [target.as_any().clone(), other.clone()];
        let result = call_positional(self.function(py)?, &both)?;
        let made = result.cast::<Array>()?;
        let (own, new) = (target.get(), made.get());
        if !is_same_kind(new.dtype, own.dtype) {
            let message = format!(
                "the result of {sign} has dtype {} and does not go into an array of {} in place; write a = {sign}(a, b)",
                new.dtype.name().unwrap_or("?"),
                own.dtype.name().unwrap_or("?")
            );
            return Err(raise(
                py,
                ErrorCode::UnsupportedDtype,
                Language::Rust,
                &message,
            ));
        }
        if own.shape != new.shape {
            let message = format!(
                "the result of {sign} has shape {:?} and does not go into an array of shape {:?} in place",
                new.shape.as_slice(),
                own.shape.as_slice()
            );
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
        super::indexing::write(target, made.as_any())
    }
}

/// The operator for a comparison of Python's.
pub fn comparison(operator: CompareOp) -> &'static Operator {
    match operator {
        CompareOp::Eq => &EQUAL,
        CompareOp::Ne => &NOT_EQUAL,
        CompareOp::Lt => &LESS,
        CompareOp::Le => &LESS_EQUAL,
        CompareOp::Gt => &GREATER,
        CompareOp::Ge => &GREATER_EQUAL,
    }
}

/// Whether an operator computes with it: arrays of ours, of NumPy and of libraries that lend their memory, and numbers.
fn is_operand(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_known = object.is_instance_of::<Array>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyUntypedArray>()
        || object.is_instance_of::<PyComplex>();
    if is_known || object.hasattr("__dlpack__")? || object.hasattr("__cuda_array_interface__")? {
        return Ok(true);
    }
    // Scalars of NumPy.
    object.hasattr("__array_interface__")
}

/// Whether values may go into an array of another dtype by NumPy's rule `same_kind`: to anything that holds them, or to less of the same kind.
fn is_same_kind(from: Dtype, to: Dtype) -> bool {
    let kind = |dtype: Dtype| match dtype {
        dtype if dtype == Dtype::BOOL => 0,
        dtype if is_complex(dtype) => 3,
        dtype if is_float(dtype) => 2,
        _ => 1,
    };
    kind(from) <= kind(to)
}

/// `a ** b`; powers with a modulus are those of Python's integers alone.
pub fn power<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    modulo: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    if modulo.is_some_and(|modulo| !modulo.is_none()) {
        return Ok(py.NotImplemented().into_bound(py));
    }
    POWER.binary(a, b)
}
