//! Elementwise operations in memory of the host. Operands that need nothing but a loop, or a walk along their strides, go to the Zig library
//! as they are: nothing is put on the heap, since a thousand additions take no longer than a few allocations.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{as_float, is_tensor_dtype, promote};
use amdgpu_array::byte_range;
use amdgpu_matrix::{
    Broadcast, Described, Elementwise, ElementwiseOptions, Flat, MAX_INPUTS, Matrix, Reduce,
    ReduceOptions, TensorView,
};

use crate::cpu::{self, Host};
use crate::fallback::HostTensor;
use crate::host_memory::HostMemory;
use crate::{Error, Result};

/// Axes that are walked without memory of the heap.
const MAX_AXES: usize = 8;

/// `operation(inputs...)`, broadcast, in memory of the host. Returns the moment at which the result was there, 0 while telemetry is off.
///
/// # Errors
///
/// As [`elementwise`](super::elementwise), and those of the host.
pub fn on_host<H: Host>(
    operation: Elementwise,
    inputs: &[TensorView<'_>],
    options: &ElementwiseOptions,
    host: &mut H,
) -> std::result::Result<u64, H::Error> {
    if let Some(flat) = Dense::of(operation, inputs) {
        let mut memory = host.result(flat.shape, flat.result, false)?;
        // New memory is as it was asked for.
        let is_fitting = !host.has_out() || flat.fits(&memory, inputs);
        return Ok(host.run(flat.len, || {
            if is_fitting {
                return flat.compute(operation, inputs, &memory, options);
            }
            generally(operation, inputs, &mut memory, options)
        })?);
    }
    if let Some(walk) = Strided::of(operation, inputs) {
        let mut memory = host.result(walk.shape(), walk.result, false)?;
        let is_fitting = !host.has_out() || walk.fits(&memory, inputs);
        return Ok(host.run(walk.len, || {
            if is_fitting {
                return walk.compute(operation, inputs, &memory, options);
            }
            generally(operation, inputs, &mut memory, options)
        })?);
    }
    let described = operation.describe(inputs).map_err(Error::from)?;
    let len = described.shape.iter().product::<i64>() as u64;
    let mut memory = host.result(&described.shape, described.dtype, false)?;
    Ok(host.run(len, || generally(operation, inputs, &mut memory, options))?)
}

/// [`Elementwise::Standardize`] with a result of the images' dtype, as kernels give it: statistics are wider than images of half precision.
pub(super) fn standardize<H: Host>(
    inputs: &[TensorView<'_>],
    options: &ElementwiseOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let operation = Elementwise::Standardize;
    let described = operation.describe(inputs).map_err(Error::from)?;
    let dtype = as_float(inputs[0].dtype());
    if described.dtype == dtype {
        return on_host(operation, inputs, options, host).map(drop);
    }
    let mut wide = HostTensor::new(&described.shape, described.dtype)?;
    generally(operation, inputs, &mut wide.memory_mut(), options)?;
    // A sum over no axes rounds each value once.
    let rounding = ReduceOptions {
        axes: Some(&[]),
        keeps_axes: false,
        correction: 0.0,
        result: Some(dtype),
        thread_limit: options.thread_limit,
    };
    let wide = wide.view()?;
    let narrow = Described { dtype, ..described };
    host.write(&narrow, cpu::len(&wide), |out| {
        Ok(Matrix::global()?.reduce(Reduce::Sum, &wide, out, &rounding)?)
    })
}

/// Every case, and every refusal.
fn generally(
    operation: Elementwise,
    inputs: &[TensorView<'_>],
    memory: &mut HostMemory,
    options: &ElementwiseOptions,
) -> Result<u64> {
    Matrix::global()?.elementwise(operation, inputs, &mut memory.view_mut()?, options)?;
    Ok(0)
}

fn is_aligned(data: *const c_void, dtype: Dtype) -> bool {
    // Sizes are powers of two; a division takes longer than all the rest here.
    data.addr() & dtype.size_bytes().wrapping_sub(1) == 0
}

/// Inputs of one dtype and shape without gaps, and values for all elements.
struct Dense<'a> {
    dtype: Dtype,
    result: Dtype,
    shape: &'a [i64],
    len: u64,
}

impl<'a> Dense<'a> {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "what is returned in memory waits for its stores"
    )]
    fn of(operation: Elementwise, inputs: &[TensorView<'a>]) -> Option<Self> {
        let count = inputs.len();
        if count != operation.inputs().len() || count > MAX_INPUTS {
            return None;
        }
        let dtype = inputs[0].dtype();
        let mut shape: &[i64] = &[];
        for view in inputs {
            if view.dtype() != dtype || !is_aligned(view.data(), dtype) {
                return None;
            }
            let own = view.shape();
            if own.is_empty() {
                continue;
            }
            if view.strides().is_some() || !(shape.is_empty() || shape == own) {
                return None;
            }
            shape = own;
        }
        if shape.len() > amdgpu_matrix::MAX_RANK || !is_tensor_dtype(dtype) {
            return None;
        }
        Some(Self {
            dtype,
            result: operation.flat_result(dtype)?,
            shape,
            len: len_of(shape)?,
        })
    }

    /// Whether the result may be written element after element: to the very memory of an input, or apart from it.
    fn fits(&self, memory: &HostMemory, inputs: &[TensorView<'_>]) -> bool {
        if !memory.is_dense()
            || memory.dtype() != self.result
            || memory.shape() != self.shape
            || !is_aligned(memory.data(), self.result)
        {
            return false;
        }
        let (here, len) = (memory.data().addr(), self.len as usize);
        let end = here + len * self.result.size_bytes();
        inputs.iter().all(|view| {
            let there = view.data().addr();
            let count = if view.shape().is_empty() { 1 } else { len };
            let is_same = here == there && self.dtype == self.result && count == len;
            is_same || end <= there || there + count * self.dtype.size_bytes() <= here
        })
    }

    fn compute(
        &self,
        operation: Elementwise,
        inputs: &[TensorView<'_>],
        memory: &HostMemory,
        options: &ElementwiseOptions,
    ) -> Result<u64> {
        if self.len == 0 {
            return Ok(0);
        }
        let mut flat = [Flat::One(std::ptr::null()); MAX_INPUTS];
        for (operand, view) in flat.iter_mut().zip(inputs) {
            *operand = if view.shape().is_empty() {
                Flat::One(view.data())
            } else {
                Flat::Each(view.data())
            };
        }
        // SAFETY: the views vouch for the inputs and the host for the result; dtypes, lengths, alignment and overlap were checked.
        let end_ns = unsafe {
            Matrix::global()?.elementwise_flat(
                operation,
                self.dtype,
                &flat[..inputs.len()],
                (memory.data(), self.result),
                self.len as usize,
                options,
            )
        }?;
        Ok(end_ns)
    }
}

fn len_of(shape: &[i64]) -> Option<u64> {
    let product = |len: i64, extent: &i64| len.checked_mul(*extent);
    shape.iter().try_fold(1, product).map(|len| len as u64)
}

/// Inputs of any strides, shapes and dtypes, and a result without gaps.
struct Strided {
    /// In which the inputs meet.
    dtype: Dtype,
    result: Dtype,
    /// The last `rank` of these are the shape of the result.
    extents: [i64; MAX_AXES],
    rank: usize,
    /// Of each input, for the axes of the result, from the first on.
    strides: [[i64; MAX_AXES]; MAX_INPUTS],
    len: u64,
}

impl Strided {
    fn of(operation: Elementwise, inputs: &[TensorView<'_>]) -> Option<Self> {
        let count = inputs.len();
        if count != operation.inputs().len() || count > MAX_INPUTS {
            return None;
        }
        let mut common = inputs[0].dtype();
        let mut extents = [1_i64; MAX_AXES];
        let mut rank = 0;
        for view in inputs {
            let (shape, dtype) = (view.shape(), view.dtype());
            if shape.len() > MAX_AXES || !is_tensor_dtype(dtype) || !is_aligned(view.data(), dtype)
            {
                return None;
            }
            common = promote(common, dtype);
            rank = rank.max(shape.len());
            for (extent, other) in extents.iter_mut().rev().zip(shape.iter().rev()) {
                if *extent == 1 {
                    *extent = *other;
                } else if *other != 1 && other != extent {
                    return None;
                }
            }
        }
        let mut made = Self {
            dtype: common,
            result: operation.flat_result(common)?,
            extents,
            rank,
            strides: [[0; MAX_AXES]; MAX_INPUTS],
            len: len_of(&extents)?,
        };
        for (strides, view) in made.strides.iter_mut().zip(inputs) {
            walked(strides, view, rank);
        }
        Some(made)
    }

    fn shape(&self) -> &[i64] {
        &self.extents[MAX_AXES - self.rank..]
    }

    /// Whether the result is apart from the inputs, and without gaps.
    fn fits(&self, memory: &HostMemory, inputs: &[TensorView<'_>]) -> bool {
        if !memory.is_dense()
            || memory.dtype() != self.result
            || memory.shape() != self.shape()
            || !is_aligned(memory.data(), self.result)
        {
            return false;
        }
        let here = memory.data().addr() as i128;
        let end = here + i128::from(self.len) * self.result.size_bytes() as i128;
        inputs.iter().zip(&self.strides).all(|(view, strides)| {
            let item_bytes = view.dtype().size_bytes();
            match byte_range(self.shape(), &strides[..self.rank], item_bytes) {
                Some((low, high)) => {
                    let there = view.data().addr() as i128;
                    there + i128::from(high) <= here || end <= there + i128::from(low)
                }
                None => self.len == 0,
            }
        })
    }

    fn compute(
        &self,
        operation: Elementwise,
        inputs: &[TensorView<'_>],
        memory: &HostMemory,
        options: &ElementwiseOptions,
    ) -> Result<u64> {
        if self.len == 0 {
            return Ok(0);
        }
        let mut walked = [Broadcast {
            data: std::ptr::null(),
            dtype: self.dtype,
            strides: &[],
        }; MAX_INPUTS];
        for ((operand, view), strides) in walked.iter_mut().zip(inputs).zip(&self.strides) {
            *operand = Broadcast {
                data: view.data(),
                dtype: view.dtype(),
                strides: &strides[..self.rank],
            };
        }
        // SAFETY: as in `Dense::compute`; the inputs were broadcast to the shape of the result.
        let end_ns = unsafe {
            Matrix::global()?.elementwise_broadcast(
                operation,
                self.dtype,
                &walked[..inputs.len()],
                (memory.data(), self.result),
                self.shape(),
                options,
            )
        }?;
        Ok(end_ns)
    }
}

/// Strides of a view for the axes of a result with so many; those that it lacks or has once have none.
fn walked(strides: &mut [i64; MAX_AXES], view: &TensorView<'_>, rank: usize) {
    let shape = view.shape();
    let missing = rank - shape.len();
    let mut dense = 1_i64;
    for axis in (0..shape.len()).rev() {
        if shape[axis] != 1 {
            strides[missing + axis] = view.strides().map_or(dense, |own| own[axis]);
        }
        dense = dense.saturating_mul(shape[axis]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that makes new memory, or gives the one that it has.
    struct Own(HostTensor, bool);

    impl Host for Own {
        type Error = Error;

        fn has_out(&self) -> bool {
            self.1
        }

        fn result(&mut self, shape: &[i64], dtype: Dtype, _: bool) -> Result<HostMemory> {
            if !self.1 {
                self.0 = HostTensor::new(shape, dtype)?;
            }
            Ok(self.0.memory_mut())
        }

        fn run<T: Send>(&mut self, _: u64, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
            work()
        }
    }

    const OPTIONS: ElementwiseOptions = ElementwiseOptions {
        alpha: 0.0,
        thread_limit: None,
    };

    /// The bytes of a result, by whichever path is chosen and by the general one.
    fn both(operation: Elementwise, inputs: &[TensorView<'_>]) -> [Vec<u8>; 2] {
        let mut own = Own(HostTensor::new(&[], Dtype::I8).unwrap(), false);
        on_host(operation, inputs, &OPTIONS, &mut own).unwrap();
        let described = operation.describe(inputs).unwrap();
        let mut wanted = HostTensor::new(&described.shape, described.dtype).unwrap();
        generally(operation, inputs, &mut wanted.memory_mut(), &OPTIONS).unwrap();
        assert_eq!(own.0.view().unwrap().shape(), described.shape);
        assert_eq!(own.0.view().unwrap().dtype(), described.dtype);
        [own.0.bytes().to_vec(), wanted.bytes().to_vec()]
    }

    #[test]
    fn both_fast_paths_give_the_bits_of_the_general_path() {
        let data: Vec<f32> = (0..400).map(|index| (index as f32).sin() * 3.0).collect();
        let wide: Vec<f64> = (0..400).map(|index| f64::from(index).cos() * 5.0).collect();
        let dense =
            |first: usize| TensorView::from_slice(&data[first..first + 60], &[3, 20]).unwrap();
        let row = TensorView::from_slice(&data[7..27], &[20]).unwrap();
        let column = TensorView::from_slice(&data[90..93], &[3, 1]).unwrap();
        let number = TensorView::from_slice(&data[5..6], &[]).unwrap();
        let reversed = TensorView::from_strided(&data, 59, &[3, 20], &[-20, -1]).unwrap();
        let gaps = TensorView::from_strided(&data, 3, &[3, 20], &[100, 2]).unwrap();
        let doubles = TensorView::from_slice(&wide[..60], &[3, 20]).unwrap();
        let none = TensorView::from_slice(&data[..0], &[0, 20]).unwrap();
        let pairs: [[TensorView<'_>; 2]; 9] = [
            [dense(0), dense(60)],
            [dense(0), number],
            [number, number],
            [dense(1), row],
            [column, row],
            [reversed, gaps],
            [dense(2), doubles],
            [none, row],
            [number, doubles],
        ];
        for inputs in pairs {
            for operation in [
                Elementwise::Add,
                Elementwise::Divide,
                Elementwise::Less,
                Elementwise::Maximum,
                Elementwise::Power,
            ] {
                let [got, wanted] = both(operation, &inputs);
                assert_eq!(got, wanted, "{} {inputs:?}", operation.name());
            }
            let [got, wanted] = both(Elementwise::Exp, &inputs[..1]);
            assert_eq!(got, wanted);
        }
    }

    #[test]
    fn standardized_halves_stay_halves() {
        let image = [0x3c00_u16, 0x4000, 0x4200, 0x4400];
        let view = |data: *const c_void, dtype, shape| {
            // SAFETY: the arrays below hold as many elements.
            unsafe {
                TensorView::from_parts(data, dtype, crate::host_memory::HOST, shape, None).unwrap()
            }
        };
        let [mean, scale, shift] = [[1.0_f32], [2.0], [0.5]];
        let wide = |one: &[f32; 1]| view(one.as_ptr().cast(), Dtype::F32, &[1]);
        let x = view(image.as_ptr().cast(), Dtype::F16, &[4]);
        let mut own = Own(HostTensor::new(&[], Dtype::I8).unwrap(), false);
        let inputs = [x, wide(&mean), wide(&scale), wide(&shift)];
        standardize(&inputs, &OPTIONS, &mut own).unwrap();
        assert_eq!(own.0.view().unwrap().dtype(), Dtype::F16);
        // 0.5, 2.5, 4.5 and 6.5.
        let wanted = [0x3800_u16, 0x4100, 0x4480, 0x4680];
        let wanted: Vec<u8> = wanted.iter().flat_map(|one| one.to_ne_bytes()).collect();
        assert_eq!(own.0.bytes(), wanted);
    }

    #[test]
    fn an_out_that_overlaps_an_input_is_left_to_the_general_path() {
        let mut own = HostTensor::new(&[8], Dtype::F32).unwrap();
        let data = own.memory_mut().data().cast::<f32>();
        // SAFETY: the tensor holds eight numbers.
        let view = |first: usize, shape| unsafe {
            let data = data.add(first).cast_const().cast();
            TensorView::from_parts(data, Dtype::F32, crate::host_memory::HOST, shape, None).unwrap()
        };
        // SAFETY: as above.
        let memory = unsafe { HostMemory::dense(data.add(2).cast(), Dtype::F32, &[4]) };
        let fits = |first, shape| {
            let inputs = [view(first, shape)];
            Dense::of(Elementwise::Square, &inputs)
                .is_some_and(|dense| dense.fits(&memory, &inputs))
        };
        assert!(fits(2, &[4]));
        assert!(!fits(0, &[4]));
        assert!(!fits(4, &[4]));
        let inputs = [view(0, &[4]), view(3, &[1])];
        let walk = Strided::of(Elementwise::Add, &inputs).unwrap();
        assert!(!walk.fits(&memory, &inputs));
        let inputs = [view(6, &[1]), view(7, &[1])];
        let walk = Strided::of(Elementwise::Add, &inputs).unwrap();
        assert!(!walk.fits(&memory, &inputs), "of another shape");
    }
}
