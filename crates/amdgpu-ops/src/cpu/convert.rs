//! Copies of tensors in another dtype, rounded as C and NumPy round: once, to nearest, ties to even; integers wrap.

use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_matrix::TensorView;
use half::{bf16, f16};
use smallvec::SmallVec;

use crate::fallback::HostTensor;
use crate::{Error, Result};

/// A copy in row-major order, in float32, float64 or int32.
///
/// # Errors
///
/// `out-of-memory`; `unsupported-dtype` for a dtype that is not converted.
pub(crate) fn converted(view: &TensorView<'_>, dtype: Dtype) -> Result<HostTensor> {
    let mut made = HostTensor::new(view.shape(), dtype)?;
    // SAFETY: the numbers have the size of the dtype, and any bits are one.
    unsafe {
        match (dtype.code, dtype.bits) {
            (DTYPE_FLOAT, 32) => fill(view, made.elements_mut::<f32>()),
            (DTYPE_FLOAT, 64) => fill(view, made.elements_mut::<f64>()),
            (DTYPE_INT, 32) => fill(view, made.elements_mut::<i32>()),
            _ => Err(unsupported(dtype)),
        }
    }?;
    Ok(made)
}

fn unsupported(dtype: Dtype) -> Error {
    Error::refused(
        ErrorCode::UnsupportedDtype,
        format!("{} is not converted", dtype.name().unwrap_or("the dtype")),
    )
}

/// What elements of a type become.
trait To<D> {
    fn to(self) -> D;
}

macro_rules! conversions {
    ($($from:ty),*) => {
        $(
            conversions!(@one $from, f32);
            conversions!(@one $from, f64);
            conversions!(@one $from, i32);
        )*
    };
    (@one $from:ty, $into:ty) => {
        impl To<$into> for $from {
            #[inline]
            fn to(self) -> $into {
                self as $into
            }
        }
    };
}

conversions!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

macro_rules! half_conversions {
    ($($from:ty),*) => {
        $(
            impl To<f32> for $from {
                #[inline]
                fn to(self) -> f32 {
                    self.to_f32()
                }
            }
            impl To<f64> for $from {
                #[inline]
                fn to(self) -> f64 {
                    self.to_f64()
                }
            }
            impl To<i32> for $from {
                #[inline]
                fn to(self) -> i32 {
                    self.to_f32() as i32
                }
            }
        )*
    };
}

half_conversions!(f16, bf16);

fn fill<D>(view: &TensorView<'_>, out: &mut [D]) -> Result<()>
where
    u8: To<D>,
    i8: To<D>,
    u16: To<D>,
    i16: To<D>,
    u32: To<D>,
    i32: To<D>,
    u64: To<D>,
    i64: To<D>,
    f16: To<D>,
    bf16: To<D>,
    f32: To<D>,
    f64: To<D>,
{
    let dtype = view.dtype();
    match (dtype.code, dtype.bits) {
        (DTYPE_BOOL | DTYPE_UINT, 8) => walk::<u8, D>(view, out),
        (DTYPE_INT, 8) => walk::<i8, D>(view, out),
        (DTYPE_UINT, 16) => walk::<u16, D>(view, out),
        (DTYPE_INT, 16) => walk::<i16, D>(view, out),
        (DTYPE_UINT, 32) => walk::<u32, D>(view, out),
        (DTYPE_INT, 32) => walk::<i32, D>(view, out),
        (DTYPE_UINT, 64) => walk::<u64, D>(view, out),
        (DTYPE_INT, 64) => walk::<i64, D>(view, out),
        (DTYPE_FLOAT, 16) => walk::<f16, D>(view, out),
        (DTYPE_BFLOAT, 16) => walk::<bf16, D>(view, out),
        (DTYPE_FLOAT, 32) => walk::<f32, D>(view, out),
        (DTYPE_FLOAT, 64) => walk::<f64, D>(view, out),
        _ => return Err(unsupported(dtype)),
    }
    Ok(())
}

/// Writes all elements in row-major order.
fn walk<S: To<D> + Copy, D>(view: &TensorView<'_>, out: &mut [D]) {
    if out.is_empty() {
        return;
    }
    let data = view.data().cast::<S>();
    let shape = view.shape();
    let Some(strides) = view.strides() else {
        for (index, place) in out.iter_mut().enumerate() {
            // SAFETY: a view without strides has its elements side by side, as many as the result. They need not be aligned.
            *place = unsafe { data.add(index).read_unaligned() }.to();
        }
        return;
    };
    let (last, step) = match (shape.last(), strides.last()) {
        (Some(extent), Some(stride)) => (*extent as usize, *stride as isize),
        _ => (1, 0),
    };
    let outer = shape.len().saturating_sub(1);
    let mut index: SmallVec<[i64; 6]> = SmallVec::from_elem(0, outer);
    for line in out.chunks_exact_mut(last) {
        let at: i64 = index
            .iter()
            .zip(strides)
            .map(|(own, stride)| own * stride)
            .sum();
        for (column, place) in line.iter_mut().enumerate() {
            let offset = at as isize + column as isize * step;
            // SAFETY: every index is within the shape, and the view vouches for what its strides reach.
            *place = unsafe { data.offset(offset).read_unaligned() }.to();
        }
        for axis in (0..outer).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_memory::HOST;

    fn view<'a, T>(data: &'a [T], dtype: Dtype, shape: &'a [i64]) -> TensorView<'a> {
        // SAFETY: the tests give as many elements as the shape has, of that dtype.
        unsafe { TensorView::from_parts(data.as_ptr().cast(), dtype, HOST, shape, None) }.unwrap()
    }

    #[test]
    fn numbers_are_rounded_once() {
        let wide = [16_777_217_i64, (1 << 60) + (1 << 36) + 1, -3, i64::MAX];
        let mut made = converted(&view(&wide, Dtype::I64, &[4]), Dtype::F32).unwrap();
        // SAFETY: float32.
        let got = unsafe { made.elements_mut::<f32>() };
        assert_eq!(got, wide.map(|one| one as f32));
        let halves = [f16::from_f32(1.5), f16::NEG_INFINITY];
        let mut made = converted(&view(&halves, Dtype::F16, &[2]), Dtype::F64).unwrap();
        // SAFETY: float64.
        let got = unsafe { made.elements_mut::<f64>() };
        assert_eq!(got, [1.5, f64::NEG_INFINITY]);
        let wrapped = [(1_i64 << 32) + 7, -1];
        let mut made = converted(&view(&wrapped, Dtype::I64, &[2]), Dtype::I32).unwrap();
        // SAFETY: int32.
        assert_eq!(unsafe { made.elements_mut::<i32>() }, [7, -1]);
        let truths = [true, false];
        let mut made = converted(&view(&truths, Dtype::BOOL, &[2]), Dtype::F32).unwrap();
        // SAFETY: float32.
        assert_eq!(unsafe { made.elements_mut::<f32>() }, [1.0, 0.0]);
    }

    #[test]
    fn strides_are_walked_in_row_major_order() {
        let data: Vec<f64> = (0..24).map(f64::from).collect();
        let strided = TensorView::from_strided(&data, 23, &[2, 3, 2], &[-12, -1, -6]).unwrap();
        let mut made = converted(&strided, Dtype::F32).unwrap();
        let wanted = [23, 17, 22, 16, 21, 15, 11, 5, 10, 4, 9, 3].map(|one: i8| f32::from(one));
        // SAFETY: float32.
        assert_eq!(unsafe { made.elements_mut::<f32>() }, wanted);
        let none = TensorView::from_strided(&data, 0, &[0, 3], &[3, 1]).unwrap();
        assert!(converted(&none, Dtype::F32).is_ok());
        let number = TensorView::from_strided(&data, 5, &[], &[]).unwrap();
        let mut made = converted(&number, Dtype::F32).unwrap();
        // SAFETY: float32.
        assert_eq!(unsafe { made.elements_mut::<f32>() }, [5.0]);
    }
}
