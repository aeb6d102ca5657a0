//! A call of an operator: its tensors and its other arguments, each in the order of the schema.

use std::ffi::{CStr, c_char, c_void};

use smallvec::SmallVec;

use crate::compute::Number;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Place, Tensor, View};

/// An argument that is no tensor.
#[derive(Clone, Debug)]
pub enum Scalar {
    None,
    Bool(bool),
    Int(i64),
    Real(f64),
    Complex(f64, f64),
    Text(String),
    Ints(Vec<i64>),
    Reals(Vec<f64>),
    Bools(Vec<bool>),
    Generator(*const c_void),
    /// The next so many tensors belong to one list.
    Tensors(usize),
}

/// `agpu_torch_scalar`.
#[repr(C)]
pub struct CScalar {
    kind: u32,
    reserved: u32,
    integer: i64,
    real: f64,
    imaginary: f64,
    data: *const c_void,
}

impl CScalar {
    /// # Safety
    ///
    /// What `data` points at is what the kind says.
    pub unsafe fn read(&self) -> Outcome<Scalar> {
        let count = usize::try_from(self.integer).unwrap_or(0);
        // SAFETY: as the caller promises.
        let integers = |kind| unsafe { items::<i64>(self.data, count, kind) };
        Ok(match self.kind {
            0 => Scalar::None,
            1 => Scalar::Bool(self.integer != 0),
            2 => Scalar::Int(self.integer),
            3 => Scalar::Real(self.real),
            4 => Scalar::Complex(self.real, self.imaginary),
            // SAFETY: as the caller promises, a text that ends with a null byte.
            5 => Scalar::Text(
                unsafe { CStr::from_ptr(self.data.cast::<c_char>()) }
                    .to_string_lossy()
                    .into_owned(),
            ),
            6 => Scalar::Ints(integers("ints")?.to_vec()),
            // SAFETY: as the caller promises.
            7 => Scalar::Reals(unsafe { items::<f64>(self.data, count, "doubles")? }.to_vec()),
            8 => {
                // SAFETY: as the caller promises.
                let bytes = unsafe { items::<u8>(self.data, count, "bools")? };
                Scalar::Bools(bytes.iter().map(|byte| *byte != 0).collect())
            }
            9 => {
                // SAFETY: as the caller promises.
                let numbers = unsafe { items::<CScalar>(self.data, count, "numbers")? };
                // Other numbers stand for nothing that takes a list of them.
                let reals = numbers.iter().map(|number| match number.kind {
                    1 | 2 => Some(number.integer as f64),
                    3 => Some(number.real),
                    _ => None,
                });
                reals
                    .collect::<Option<_>>()
                    .map_or(Scalar::None, Scalar::Reals)
            }
            10 => Scalar::Generator(self.data),
            11 => Scalar::Tensors(count),
            other => {
                return Err(Failure::no_kernel(format!(
                    "arguments of kind {other} are not known"
                )));
            }
        })
    }
}

unsafe fn items<'a, T>(data: *const c_void, count: usize, kind: &str) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::refused(format!("a list of {kind} is NULL")));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<T>(), count) })
}

/// What an operator returns that does not write to its arguments.
pub enum Returned {
    Tensor(Tensor),
    /// A tensor that is not defined: a gradient that nobody asked for.
    None,
    Int(i64),
    Bool(bool),
}

pub type Results = SmallVec<[Returned; 3]>;

/// Results that are all tensors.
pub fn tensors<const N: usize>(made: [Tensor; N]) -> Results {
    made.into_iter().map(Returned::Tensor).collect()
}

/// The result of a kernel that writes to its arguments.
#[allow(clippy::unnecessary_wraps, reason = "kernels end with it")]
pub fn written() -> Outcome<Results> {
    Ok(Results::new())
}

pub struct Call {
    pub name: &'static str,
    pub tensors: SmallVec<[Option<Tensor>; 6]>,
    pub scalars: SmallVec<[Scalar; 6]>,
}

impl Call {
    pub fn tensor(&self, place: usize) -> Outcome<&Tensor> {
        self.optional(place).ok_or_else(|| {
            Failure::no_kernel(format!("{}: tensor {place} is not defined", self.name))
        })
    }

    pub fn optional(&self, place: usize) -> Option<&Tensor> {
        self.tensors.get(place).and_then(Option::as_ref)
    }

    /// The last of the tensors: where an operator that has `out` writes.
    pub fn last(&self) -> Outcome<&Tensor> {
        self.tensor(self.tensors.len().wrapping_sub(1))
    }

    /// Tensors from one place on.
    pub fn list(&self, start: usize, count: usize) -> Outcome<Vec<&Tensor>> {
        (start..start + count)
            .map(|place| self.tensor(place))
            .collect()
    }

    /// Length of the list of tensors that the scalar at a place stands for.
    pub fn list_length(&self, place: usize) -> Outcome<usize> {
        match self.scalar(place) {
            Scalar::Tensors(count) => Ok(*count),
            other => Err(self.unexpected(place, "a list of tensors", other)),
        }
    }

    /// Where results are made: the device of the first tensor that is on one.
    pub fn place(&self) -> Outcome<Place> {
        let mut all = self.tensors.iter().flatten().map(|tensor| tensor.place);
        all.find(|place| *place != Place::Cpu)
            .ok_or_else(|| Failure::no_kernel(format!("{}: no tensor is on rdna", self.name)))
    }

    pub fn scalar(&self, place: usize) -> &Scalar {
        self.scalars.get(place).unwrap_or(&Scalar::None)
    }

    pub fn has(&self, place: usize) -> bool {
        !matches!(self.scalar(place), Scalar::None)
    }

    pub fn int(&self, place: usize) -> Outcome<i64> {
        match self.scalar(place) {
            Scalar::Int(value) => Ok(*value),
            Scalar::Bool(value) => Ok(i64::from(*value)),
            other => Err(self.unexpected(place, "an integer", other)),
        }
    }

    pub fn int_or(&self, place: usize, default: i64) -> Outcome<i64> {
        if self.has(place) {
            self.int(place)
        } else {
            Ok(default)
        }
    }

    pub fn real(&self, place: usize) -> Outcome<f64> {
        match self.scalar(place) {
            Scalar::Real(value) => Ok(*value),
            Scalar::Int(value) => Ok(*value as f64),
            Scalar::Bool(value) => Ok(f64::from(*value)),
            other => Err(self.unexpected(place, "a real number", other)),
        }
    }

    pub fn real_or(&self, place: usize, default: f64) -> Outcome<f64> {
        if self.has(place) {
            self.real(place)
        } else {
            Ok(default)
        }
    }

    pub fn flag(&self, place: usize) -> Outcome<bool> {
        Ok(self.int(place)? != 0)
    }

    pub fn flag_or(&self, place: usize, default: bool) -> Outcome<bool> {
        if self.has(place) {
            self.flag(place)
        } else {
            Ok(default)
        }
    }

    pub fn ints(&self, place: usize) -> Outcome<&[i64]> {
        match self.scalar(place) {
            Scalar::Ints(values) => Ok(values),
            Scalar::None => Ok(&[]),
            other => Err(self.unexpected(place, "a list of integers", other)),
        }
    }

    pub fn flags(&self, place: usize) -> Outcome<&[bool]> {
        match self.scalar(place) {
            Scalar::Bools(values) => Ok(values),
            other => Err(self.unexpected(place, "a list of truth values", other)),
        }
    }

    pub fn text(&self, place: usize) -> Outcome<&str> {
        match self.scalar(place) {
            Scalar::Text(text) => Ok(text),
            Scalar::None => Ok(""),
            other => Err(self.unexpected(place, "a text", other)),
        }
    }

    /// A number of Python: of type Scalar in schemas.
    pub fn number(&self, place: usize) -> Outcome<Number> {
        Ok(match self.scalar(place) {
            Scalar::Int(value) => Number::Int(*value),
            Scalar::Real(value) => Number::Real(*value),
            Scalar::Complex(real, imaginary) => Number::Complex(*real, *imaginary),
            Scalar::Bool(value) => Number::Bool(*value),
            other => return Err(self.unexpected(place, "a number", other)),
        })
    }

    pub fn dtype_or(&self, place: usize, default: Dtype) -> Outcome<Dtype> {
        if !self.has(place) {
            return Ok(default);
        }
        Ok(Dtype(i32::try_from(self.int(place)?).unwrap_or(-1)))
    }

    pub fn generator(&self, place: usize) -> Outcome<*const c_void> {
        match self.scalar(place) {
            Scalar::Generator(generator) => Ok(*generator),
            Scalar::None => Ok(std::ptr::null()),
            other => Err(self.unexpected(place, "a generator", other)),
        }
    }

    fn unexpected(&self, place: usize, wanted: &str, found: &Scalar) -> Failure {
        Failure::no_kernel(format!(
            "{}: argument {place} beside the tensors is {found:?} and not {wanted}",
            self.name
        ))
    }
}

/// Leaves what does not hold real numbers to the CPU.
pub fn check_float(c: &Call, x: &View) -> Outcome {
    if x.dtype.is_float() {
        return Ok(());
    }
    Err(Failure::no_kernel(format!(
        "{} of numbers that are not real has no kernel",
        c.name
    )))
}

/// Refuses a result that would lose its kind of numbers in an `out` of this dtype.
pub fn check_castable(from: Dtype, out: &View) -> Outcome {
    if from.kind() <= out.dtype.kind() || (from.is_integral() && out.dtype != Dtype::BOOL) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "result type {} can't be cast to the desired output type {}",
        from.name()?.to_string_lossy(),
        out.dtype.name()?.to_string_lossy()
    )))
}
