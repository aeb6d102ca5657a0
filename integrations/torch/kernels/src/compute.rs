//! Elementwise operations of libamdgpu on views and numbers, with torch's rules for dtypes.

use std::ffi::CStr;

use smallvec::SmallVec;

use crate::amdgpu::{self, Operand, agpu};
use crate::dtype::{Dtype, Promotion};
use crate::failure::{Failure, Outcome};
use crate::tensor::{Place, Tensor, View, broadcast};

/// A number that an operation is given.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Bool(bool),
    Int(i64),
    Real(f64),
    Complex(f64, f64),
}

impl Number {
    /// What it counts as where dtypes meet; `default` is the dtype of new floats.
    fn dtype(self, default: Dtype) -> Dtype {
        match self {
            Self::Bool(_) => Dtype::BOOL,
            Self::Int(_) => Dtype::I64,
            Self::Real(_) => default,
            Self::Complex(..) if default == Dtype::F64 => Dtype::C128,
            Self::Complex(..) => Dtype::C64,
        }
    }

    pub fn real(self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(value),
            Self::Int(value) => value as f64,
            Self::Real(value) | Self::Complex(value, _) => value,
        }
    }

    pub fn is_one(self) -> bool {
        match self {
            Self::Complex(real, imaginary) => real == 1.0 && imaginary == 0.0,
            other => other.real() == 1.0,
        }
    }

    fn operand(self, dtype: Dtype) -> Outcome<Operand> {
        let (kind, integer, real, imaginary) = match self {
            Self::Bool(value) => (amdgpu::OPERAND_INTEGER, i64::from(value), 0.0, 0.0),
            Self::Int(value) => (amdgpu::OPERAND_INTEGER, value, 0.0, 0.0),
            Self::Real(value) if dtype == Dtype::BOOL => {
                (amdgpu::OPERAND_INTEGER, i64::from(value != 0.0), 0.0, 0.0)
            }
            Self::Real(value) => (amdgpu::OPERAND_REAL, 0, value, 0.0),
            Self::Complex(real, imaginary) => (amdgpu::OPERAND_REAL, 0, real, imaginary),
        };
        Ok(Operand {
            kind,
            dimensions: 0,
            dtype: dtype.name()?.as_ptr(),
            address: std::ptr::null_mut(),
            shape: std::ptr::null(),
            strides: std::ptr::null(),
            integer,
            real,
            imaginary,
        })
    }
}

/// What an operation is given.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    View(&'a View),
    Number(Number),
}

impl<'a> From<&'a View> for Input<'a> {
    fn from(view: &'a View) -> Self {
        Self::View(view)
    }
}

impl<'a> From<&'a Tensor> for Input<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::View(tensor)
    }
}

impl From<Number> for Input<'_> {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<f64> for Input<'_> {
    fn from(value: f64) -> Self {
        Self::Number(Number::Real(value))
    }
}

impl Input<'_> {
    /// A tensor of the host without axes as the number that it is.
    fn resolved(self) -> Outcome<Self> {
        match self {
            Self::View(view) if view.place == Place::Cpu && view.rank() == 0 => {
                Ok(Self::Number(number_of(view)?))
            }
            other => Ok(other),
        }
    }
}

/// The value of a tensor of the host without axes.
fn number_of(view: &View) -> Outcome<Number> {
    let bytes = view.dtype.item_bytes();
    let mut element = [0_u8; 16];
    // SAFETY: memory of the host with one element.
    unsafe {
        std::ptr::copy_nonoverlapping(view.address.cast::<u8>(), element.as_mut_ptr(), bytes);
    }
    number_of_bytes(view.dtype, element)
}

/// The value of an element.
pub fn number_of_bytes(dtype: Dtype, element: [u8; 16]) -> Outcome<Number> {
    let first = |count: usize| {
        let mut word = [0_u8; 8];
        word[..count].copy_from_slice(&element[..count]);
        u64::from_le_bytes(word)
    };
    let float = |place: usize| {
        let mut word = [0_u8; 4];
        word.copy_from_slice(&element[place..place + 4]);
        f64::from(f32::from_le_bytes(word))
    };
    let double = |place: usize| {
        let mut word = [0_u8; 8];
        word.copy_from_slice(&element[place..place + 8]);
        f64::from_le_bytes(word)
    };
    Ok(match dtype {
        Dtype::BOOL => Number::Bool(element[0] != 0),
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => {
            Number::Int(first(dtype.item_bytes()) as i64)
        }
        Dtype::I8 => Number::Int(i64::from(first(1) as u8 as i8)),
        Dtype::I16 => Number::Int(i64::from(first(2) as u16 as i16)),
        Dtype::I32 => Number::Int(i64::from(first(4) as u32 as i32)),
        Dtype::I64 => Number::Int(first(8) as i64),
        Dtype::F32 => Number::Real(float(0)),
        Dtype::F64 => Number::Real(double(0)),
        Dtype::BF16 => Number::Real(f64::from(f32::from_bits((first(2) as u32) << 16))),
        Dtype::F16 => Number::Real(half_value(first(2) as u16)),
        Dtype::C64 => Number::Complex(float(0), float(4)),
        Dtype::C128 => Number::Complex(double(0), double(8)),
        Dtype(number) => {
            return Err(Failure::no_kernel(format!(
                "numbers of torch's dtype number {number} are not known"
            )));
        }
    })
}

/// The value of an IEEE binary16.
fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The dtype in which inputs meet: `torch.result_type`. A tensor of the host without axes counts as the number of Python that it stands for.
pub fn result_type(inputs: &[Input<'_>], default: Dtype) -> Dtype {
    let default = if default.is_float() {
        default
    } else if default == Dtype::C128 {
        Dtype::F64
    } else {
        Dtype::F32
    };
    let mut promotion = Promotion::default();
    for input in inputs {
        match input {
            Input::Number(number) => promotion.number(number.dtype(default)),
            Input::View(view) if view.rank() > 0 => promotion.array(view.dtype),
            Input::View(view) if view.place == Place::Cpu => match view.dtype {
                Dtype::F64 => promotion.number(default),
                Dtype::C128 => promotion.number(Number::Complex(0.0, 0.0).dtype(default)),
                other => promotion.number(other),
            },
            Input::View(view) => promotion.without_axes(view.dtype),
        }
    }
    promotion.result()
}

/// The shape to which inputs broadcast.
pub fn broadcast_shape(inputs: &[Input<'_>]) -> Outcome<crate::tensor::Dims> {
    broadcast(inputs.iter().filter_map(|input| match input {
        Input::View(view) => Some(view.shape.as_slice()),
        Input::Number(_) => None,
    }))
}

/// What dtype the result of an operation has before it is converted to that of `out`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    Same,
    Bool,
    /// Of complex numbers a part.
    Part,
}

/// Whether an operation takes an input in a dtype of its own: the condition of "where", and statistics beside what they standardise.
fn keeps_dtype(operation: &CStr, place: usize) -> bool {
    (operation == c"where" && place == 0) || (operation == c"standardize" && place > 0)
}

/// Whether floats of other dtypes can stay as they are: kernels convert what they read to the widest dtype, which is the common one.
fn meets_in_common(operation: &CStr, inputs: &[Input<'_>], common: Dtype) -> bool {
    common.is_float()
        && operation != c"standardize"
        && inputs.iter().any(|input| match input {
            Input::View(view) => view.dtype == common,
            Input::Number(_) => true,
        })
}

/// Whether a float beside one of the common dtype is computed in that dtype. Tensors without axes may be wider than what torch computes in.
fn is_within(dtype: Dtype, common: Dtype) -> bool {
    dtype.is_float() && dtype.promoted(common) == common
}

/// `operation(inputs...)` in `common`, converted to the dtype of `out`, whose shape inputs broadcast to.
pub fn run(
    operation: &CStr,
    inputs: &[Input<'_>],
    common: Dtype,
    gives: Gives,
    out: &View,
    alpha: f64,
) -> Outcome {
    let result = match gives {
        Gives::Same => common,
        Gives::Bool => Dtype::BOOL,
        Gives::Part => common.part(),
    };
    if result != out.dtype {
        let made = Tensor::empty(&out.shape, result, out.place)?;
        run(operation, inputs, common, gives, &made, alpha)?;
        return cast(&made, out);
    }
    // Operands point into views, which have to stay where they are: all conversions come first.
    let mut resolved: SmallVec<[Input<'_>; 4]> = SmallVec::new();
    let mut converted: SmallVec<[Option<Tensor>; 4]> = SmallVec::new();
    for input in inputs {
        resolved.push(input.resolved()?);
    }
    let meets_in_common = meets_in_common(operation, &resolved, common);
    for (place, input) in resolved.iter().enumerate() {
        converted.push(match *input {
            Input::View(view)
                if view.dtype != common
                    && !keeps_dtype(operation, place)
                    && !(meets_in_common && is_within(view.dtype, common)) =>
            {
                view.place.check_same(out.place)?;
                let made = Tensor::empty(&view.shape, common, out.place)?;
                cast(view, &made)?;
                Some(made)
            }
            _ => None,
        });
    }
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    for (place, (input, converted)) in resolved.iter().zip(&converted).enumerate() {
        operands.push(match (*input, converted) {
            (Input::View(_), Some(made)) => made.operand()?,
            (Input::View(view), None) => {
                view.place.check_same(out.place)?;
                view.operand()?
            }
            (Input::Number(number), _)
                if keeps_dtype(operation, place) && operation == c"where" =>
            {
                Number::Bool(number.real() != 0.0).operand(Dtype::BOOL)?
            }
            (Input::Number(number), _) => number.operand(common)?,
        });
    }
    launch(operation, &operands, out, alpha)
}

fn launch(operation: &CStr, operands: &[Operand], out: &View, alpha: f64) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let device = out.device()?;
    let to = out.operand()?;
    agpu!(agpu_ops_elementwise_at(
        device,
        operation.as_ptr(),
        operands.as_ptr(),
        operands.len(),
        alpha,
        &raw const to,
    ))
}

/// Converts and broadcasts.
pub fn cast<'a>(from: impl Into<Input<'a>>, to: &View) -> Outcome {
    let operand = match from.into().resolved()? {
        Input::View(view) => {
            view.place.check_same(to.place)?;
            let is_same = view.address == to.address && view.dtype == to.dtype;
            if is_same && view.shape == to.shape && view.strides == to.strides {
                return Ok(());
            }
            view.operand()?
        }
        Input::Number(number) => number.operand(to.dtype)?,
    };
    launch(c"cast", &[operand], to, 0.0)
}

/// The values as another dtype: the tensor itself, or a copy.
pub fn converted(view: &View, dtype: Dtype) -> Outcome<Held> {
    if view.dtype == dtype {
        return Ok(Held::Given(view.clone()));
    }
    let made = Tensor::empty(&view.shape, dtype, view.place)?;
    cast(view, &made)?;
    Ok(Held::Made(made))
}

/// The values in row-major order: the tensor itself, or a copy.
pub fn contiguous(view: &View) -> Outcome<Held> {
    if view.is_contiguous() {
        return Ok(Held::Given(view.clone()));
    }
    let made = Tensor::empty(&view.shape, view.dtype, view.place)?;
    cast(view, &made)?;
    Ok(Held::Made(made))
}

/// A tensor in a dtype: itself, or a copy that takes its place.
pub fn narrowed(x: Tensor, dtype: Dtype) -> Outcome<Tensor> {
    if x.dtype == dtype {
        return Ok(x);
    }
    let made = Tensor::empty(&x.shape, dtype, x.place)?;
    cast(&x, &made)?;
    Ok(made)
}

/// A new tensor of zeros.
pub fn zeros(shape: &[i64], dtype: Dtype, place: Place) -> Outcome<Tensor> {
    let made = Tensor::empty(shape, dtype, place)?;
    cast(Number::Int(0), &made)?;
    Ok(made)
}

/// A view that somebody else keeps, or a tensor of this call.
pub enum Held {
    Given(View),
    Made(Tensor),
}

impl std::ops::Deref for Held {
    type Target = View;

    fn deref(&self) -> &View {
        match self {
            Self::Given(view) => view,
            Self::Made(tensor) => tensor,
        }
    }
}

/// Steps of a kernel that all compute in one dtype, with new tensors between them.
#[derive(Clone, Copy)]
pub struct Steps {
    pub dtype: Dtype,
    pub place: Place,
}

impl Steps {
    /// `operation(inputs...)` as a new tensor.
    pub fn made(self, operation: &CStr, inputs: &[Input<'_>]) -> Outcome<Tensor> {
        let made = Tensor::empty(&broadcast_shape(inputs)?, self.dtype, self.place)?;
        run(operation, inputs, self.dtype, Gives::Same, &made, 0.0)?;
        Ok(made)
    }

    /// A truth value for each element.
    pub fn test(self, operation: &CStr, inputs: &[Input<'_>]) -> Outcome<Tensor> {
        let made = Tensor::empty(&broadcast_shape(inputs)?, Dtype::BOOL, self.place)?;
        run(operation, inputs, self.dtype, Gives::Bool, &made, 0.0)?;
        Ok(made)
    }

    /// `operation(inputs...)` to a place.
    pub fn into(self, operation: &CStr, inputs: &[Input<'_>], out: &View) -> Outcome {
        run(operation, inputs, self.dtype, Gives::Same, out, 0.0)
    }

    /// `scale_a a + scale_b b` as a new tensor.
    pub fn sum(self, a: (f64, &View), b: (f64, &View)) -> Outcome<Tensor> {
        self.made(
            c"linear_combination",
            &[a.1.into(), b.1.into(), a.0.into(), b.0.into()],
        )
    }

    /// `scale_a a + scale_b b` to a place.
    pub fn sum_into(self, a: (f64, &View), b: (f64, &View), out: &View) -> Outcome {
        self.into(
            c"linear_combination",
            &[a.1.into(), b.1.into(), a.0.into(), b.0.into()],
            out,
        )
    }
}

/// Where an operation writes that makes row-major results of one dtype: `out` itself, or a tensor whose values it then receives.
pub struct Target<'a> {
    out: &'a View,
    made: Option<Tensor>,
}

impl<'a> Target<'a> {
    pub fn of(out: &'a View, dtype: Dtype) -> Outcome<Self> {
        let fits = out.dtype == dtype && out.is_contiguous();
        let made = (!fits)
            .then(|| Tensor::empty(&out.shape, dtype, out.place))
            .transpose()?;
        Ok(Self { out, made })
    }

    pub fn view(&self) -> &View {
        self.made.as_deref().unwrap_or(self.out)
    }

    /// Brings the values where they are wanted.
    pub fn finish(self) -> Outcome {
        match self.made {
            Some(made) => cast(&made, self.out),
            None => Ok(()),
        }
    }
}

/// The value of a tensor of the host without axes.
pub fn real_of(input: Input<'_>) -> Outcome<f64> {
    match input.resolved()? {
        Input::Number(number) => Ok(number.real()),
        Input::View(_) => Err(Failure::refused("a tensor with one element is expected")),
    }
}
