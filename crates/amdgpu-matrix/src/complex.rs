//! Elementwise operations of complex numbers, and arrays of them seen as arrays of their parts.

use std::mem::size_of;

use amdgpu_abi::ops::{COMPLEX, ComplexResult, ComplexRow, complex_position};
use amdgpu_abi::promotion::{as_complex, complex_part, is_complex, promote};
use amdgpu_abi::{DEVICE_CPU, DeviceRef, Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, broadcast};
use crate::matrix::{Work, crossing};
use crate::{
    Described, Elementwise, ElementwiseOptions, Error, Matrix, TensorView, TensorViewMut, element,
};

macro_rules! define {
    ($($variant:ident,)*) => {
        /// An operation; docs/operations.md describes them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Complex {
            $($variant,)*
        }

        impl Complex {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

amdgpu_abi::complex_operations!(define);

impl Complex {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        complex_position(name).map(|place| Self::ALL[place])
    }

    /// What an elementwise operation is for complex numbers.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype` where it is for real numbers only.
    pub fn of(operation: Elementwise) -> Result<Self, Error> {
        let name = operation.name();
        Self::from_name(name).ok_or_else(|| {
            let why = match operation {
                Elementwise::Less
                | Elementwise::LessEqual
                | Elementwise::Greater
                | Elementwise::GreaterEqual
                | Elementwise::Maximum
                | Elementwise::Minimum
                | Elementwise::Clip => {
                    "complex numbers have no order; compare abs(x), real(x) or imag(x)"
                }
                _ => "it is not defined for complex numbers; apply it to real(x) and imag(x)",
            };
            Error::refused(ErrorCode::UnsupportedDtype, format!("{name}: {why}"))
        })
    }

    #[must_use]
    pub const fn row(self) -> &'static ComplexRow {
        &COMPLEX[self as usize]
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

    /// The complex dtype in which inputs of these dtypes meet, and the dtype of the result.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype` for a condition that is neither bool nor of 8-bit integers.
    pub fn result_dtypes(self, inputs: &[Dtype]) -> Result<(Dtype, Dtype), Error> {
        let mut numbers = inputs;
        if let (Self::Where, [condition, rest @ ..]) = (self, inputs) {
            if condition.bits != 8 {
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "where: condition has dtype {}; it must be bool or 8-bit integers: compare first",
                        element::name(*condition)
                    ),
                ));
            }
            numbers = rest;
        }
        let met = numbers.iter().copied().reduce(promote);
        let common = as_complex(met.unwrap_or(Dtype::C64));
        let result = match self.row().result {
            ComplexResult::Complex => common,
            ComplexResult::Real => complex_part(common),
            ComplexResult::Bool => Dtype::BOOL,
        };
        Ok((common, result))
    }

    /// The dtype that is computed in, of inputs that meet in `common`.
    #[must_use]
    pub fn computed_in(self, common: Dtype) -> Dtype {
        if self.row().is_wide {
            Dtype::C128
        } else {
            common
        }
    }

    /// The operation of real numbers that does the same to real and imaginary parts of inputs of these dtypes.
    #[must_use]
    pub fn pairwise(self, common: Dtype, inputs: &[Dtype]) -> Option<Elementwise> {
        let name = self.row().pairwise?;
        let are_pairs = inputs.iter().all(|dtype| *dtype == common);
        are_pairs.then(|| Elementwise::from_name(name)).flatten()
    }

    /// Shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` when the shapes do not broadcast, `unsupported-dtype`, `invalid-argument` for a wrong number of inputs.
    pub fn describe(self, inputs: &[TensorView]) -> Result<Described, Error> {
        let layouts = self.layouts(inputs)?;
        let dtypes: Vec<_> = inputs.iter().map(TensorView::dtype).collect();
        Ok(Described {
            shape: self.broadcast(&layouts)?,
            dtype: self.result_dtypes(&dtypes)?.1,
        })
    }

    fn layouts(self, inputs: &[TensorView]) -> Result<Vec<Layout>, Error> {
        let (operation, names) = (self.name(), self.inputs());
        if inputs.len() != names.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{operation} takes {} inputs ({}), not {}",
                    names.len(),
                    names.join(", "),
                    inputs.len()
                ),
            ));
        }
        let layout = |(view, name): (&TensorView, &&str)| {
            if is_complex(view.dtype()) {
                return Layout::of_any(operation, name, view);
            }
            Layout::of(operation, name, view)
        };
        inputs.iter().zip(names).map(layout).collect()
    }

    fn broadcast(self, layouts: &[Layout]) -> Result<Vec<i64>, Error> {
        let named: Vec<_> = self.inputs().iter().copied().zip(layouts).collect();
        broadcast(self.name(), &named)
    }
}

/// A complex tensor as one of its parts with one more axis, of two elements, behind the others; a real tensor as it is.
pub struct Pairs {
    data: *mut std::ffi::c_void,
    dtype: Dtype,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Pairs {
    #[must_use]
    pub fn of(view: &TensorView<'_>) -> Self {
        let mut shape = view.shape().to_vec();
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = shape[axis].saturating_mul(strides[axis]);
        }
        if let Some(own) = view.strides() {
            strides.copy_from_slice(own);
        }
        if is_complex(view.dtype()) {
            for stride in &mut strides {
                *stride *= 2;
            }
            shape.push(2);
            strides.push(1);
        }
        Self {
            data: view.data().cast_mut(),
            dtype: complex_part(view.dtype()),
            shape,
            strides,
        }
    }

    /// The same memory, to read.
    ///
    /// # Safety
    ///
    /// The memory of the tensor that this was made of is still there.
    ///
    /// # Errors
    ///
    /// None for strides as long as the shape.
    pub unsafe fn view(&self) -> Result<TensorView<'_>, Error> {
        // SAFETY: the parts are the elements of the tensor.
        unsafe {
            TensorView::from_parts(
                self.data,
                self.dtype,
                HOST,
                &self.shape,
                Some(&self.strides),
            )
        }
    }

    /// The real parts (0) or the imaginary ones (1).
    ///
    /// # Safety
    ///
    /// As [`Self::view`], of a complex tensor.
    ///
    /// # Errors
    ///
    /// None for strides as long as the shape.
    pub unsafe fn part(&self, which: usize) -> Result<TensorView<'_>, Error> {
        let rank = self.shape.len() - 1;
        let data = self.data.wrapping_byte_add(which * self.dtype.size_bytes());
        let strides = Some(&self.strides[..rank]);
        // SAFETY: every other of the parts.
        unsafe { TensorView::from_parts(data, self.dtype, HOST, &self.shape[..rank], strides) }
    }

    /// The same memory, to write.
    ///
    /// # Safety
    ///
    /// As [`Self::view`], and the memory is nobody else's meanwhile.
    ///
    /// # Errors
    ///
    /// None for strides as long as the shape.
    pub unsafe fn view_mut(&mut self) -> Result<TensorViewMut<'_>, Error> {
        // SAFETY: the parts are the elements of the tensor.
        unsafe {
            TensorViewMut::from_parts(
                self.data,
                self.dtype,
                HOST,
                &self.shape,
                Some(&self.strides),
            )
        }
    }
}

const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

impl Matrix {
    /// `out = operation(inputs...)` in complex numbers, the inputs broadcast to the shape of `out`; see [`Complex::describe`] for what `out`
    /// must be. `out` may be an input itself.
    ///
    /// # Errors
    ///
    /// As [`Complex::describe`], and `invalid-argument` when `out` shares memory with an input without being the same view.
    pub fn complex_elementwise(
        &self,
        operation: Complex,
        inputs: &[TensorView],
        out: &mut TensorViewMut,
        options: &ElementwiseOptions,
    ) -> Result<(), Error> {
        static COMPLEX_ELEMENTWISE: Boundary = crossing("agpu_matrix_elementwise");
        let name = operation.name();
        let layouts = operation.layouts(inputs)?;
        let dtypes: Vec<_> = inputs.iter().map(TensorView::dtype).collect();
        let (common, dtype) = operation.result_dtypes(&dtypes)?;
        let shape = operation.broadcast(&layouts)?;
        let target = Layout::of_any(name, "out", &out.as_view())?;
        target.check_out(name, dtype, &shape)?;
        let wide: Vec<_> = layouts
            .iter()
            .map(|layout| layout.broadcast_to(&shape))
            .collect();
        for (layout, argument) in wide.iter().zip(operation.inputs()) {
            target.check_apart(name, argument, layout, true)?;
        }
        if let Some(real) = operation.pairwise(common, &dtypes) {
            return self.on_pairs(real, inputs, out, options);
        }
        let mut tensors: Vec<Tensor> = wide.iter().map(Layout::to_abi).collect();
        if operation == Complex::Where {
            // Its condition is zero or not, whatever its sign.
            tensors[0].dtype = Dtype::U8;
        }
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(operation.row().cost),
            dtype: common,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&COMPLEX_ELEMENTWISE, &work, |executor| {
            let given = amdgpu_abi::ElementwiseOptions {
                size_bytes: size_of::<amdgpu_abi::ElementwiseOptions>() as u64,
                operation: operation as u32,
                compute: operation.computed_in(common),
                alpha: 0.0,
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

    fn on_pairs(
        &self,
        real: Elementwise,
        inputs: &[TensorView],
        out: &mut TensorViewMut,
        options: &ElementwiseOptions,
    ) -> Result<(), Error> {
        let pairs: Vec<_> = inputs.iter().map(Pairs::of).collect();
        // SAFETY: the views that the pairs were made of outlive this call.
        let views = pairs.iter().map(|pair| unsafe { pair.view() });
        let views = views.collect::<Result<Vec<_>, _>>()?;
        let mut target = Pairs::of(&out.as_view());
        // SAFETY: as above; `out` is borrowed by this call alone.
        let mut target = unsafe { target.view_mut() }?;
        self.elementwise(real, &views, &mut target, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_meet_in_a_complex_one() {
        let of = |operation: Complex, inputs: &[Dtype]| operation.result_dtypes(inputs).unwrap();
        assert_eq!(
            of(Complex::Add, &[Dtype::C64, Dtype::F32]),
            (Dtype::C64, Dtype::C64)
        );
        assert_eq!(
            of(Complex::Add, &[Dtype::F64, Dtype::C64]),
            (Dtype::C128, Dtype::C128)
        );
        assert_eq!(
            of(Complex::Add, &[Dtype::C64, Dtype::I32]),
            (Dtype::C128, Dtype::C128)
        );
        assert_eq!(
            of(Complex::Add, &[Dtype::C64, Dtype::I8]),
            (Dtype::C64, Dtype::C64)
        );
        assert_eq!(
            of(Complex::Absolute, &[Dtype::C128]),
            (Dtype::C128, Dtype::F64)
        );
        assert_eq!(
            of(Complex::Equal, &[Dtype::C64, Dtype::C128]),
            (Dtype::C128, Dtype::BOOL)
        );
        let chosen = of(Complex::Where, &[Dtype::BOOL, Dtype::C64, Dtype::F32]);
        assert_eq!(chosen, (Dtype::C64, Dtype::C64));
        assert!(Complex::Where.result_dtypes(&[Dtype::C64; 3]).is_err());
    }

    #[test]
    fn what_has_no_row_says_why() {
        let said = Complex::of(Elementwise::Less).unwrap_err().to_string();
        assert!(said.contains("no order"), "{said}");
        let said = Complex::of(Elementwise::FloorDivide)
            .unwrap_err()
            .to_string();
        assert!(said.contains("not defined"), "{said}");
        assert_eq!(Complex::of(Elementwise::Tanh).unwrap(), Complex::Tanh);
    }

    #[test]
    fn rows_of_pairs_name_operations() {
        for operation in Complex::ALL {
            if operation.row().pairwise.is_some() {
                let dtypes = vec![Dtype::C64; operation.inputs().len()];
                assert!(operation.pairwise(Dtype::C64, &dtypes).is_some());
                assert!(operation.pairwise(Dtype::C128, &dtypes).is_none());
            }
        }
    }
}
