//! Prefix products along an axis: pairs of neighbours are multiplied, the products scanned in the same way, and those of odd length made of
//! them (Ladner and Fischer 1980). That is two multiplications for each number, and errors that grow with the logarithm of the length.
//!
//! What is multiplied is a list of steps over lines of numbers, one for each level; the CPU and the kernels of a device run the same list.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_matrix::{
    Complex, ElementwiseOptions, Matrix, ScanOptions, TensorView, TensorViewMut, resolve_axes,
};
use smallvec::{SmallVec, smallvec};

use super::{compute, part_of};
use crate::fallback::HostTensor;
use crate::host_memory::{HOST, HostMemory};
use crate::operand::{Operand, Target};
use crate::{DeviceOps, Result, Scalar};

const OPTIONS: ElementwiseOptions = ElementwiseOptions {
    alpha: 0.0,
    thread_limit: None,
};

/// Every `step`th number of the lines of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    level: usize,
    begin: i64,
    step: i64,
    count: i64,
}

/// `target` becomes the product of the inputs, or a copy of the only one.
#[derive(Debug)]
struct Step {
    target: Part,
    inputs: SmallVec<[Part; 2]>,
}

/// Numbers of a line at each level.
fn lengths(len: i64) -> Vec<i64> {
    std::iter::successors(Some(len), |len| (*len > 1).then_some(len / 2)).collect()
}

/// The steps that turn the lines of level 0 into their prefix products.
fn steps(len: i64) -> Vec<Step> {
    let lengths = lengths(len);
    let part = |level, begin, step, count| Part {
        level,
        begin,
        step,
        count,
    };
    let levels = 1..lengths.len();
    let mut made = Vec::new();
    for level in levels.clone() {
        let count = lengths[level];
        made.push(Step {
            target: part(level, 0, 1, count),
            inputs: smallvec![part(level - 1, 0, 2, count), part(level - 1, 1, 2, count)],
        });
    }
    for level in levels.rev() {
        let count = lengths[level];
        // Behind each pair stands the first of the next one, where there is one.
        let behind = (lengths[level - 1] - 1) / 2;
        let even = part(level - 1, 2, 2, behind);
        made.push(Step {
            target: even,
            inputs: smallvec![part(level, 0, 1, behind), even],
        });
        made.push(Step {
            target: part(level - 1, 1, 2, count),
            inputs: smallvec![part(level, 0, 1, count)],
        });
    }
    made.retain(|step| step.target.count > 0);
    made
}

/// Where the numbers of lines lie: the axis of the lines is the last, in the order in which it is run along.
struct Lines {
    /// Of the number that is first in all axes, in elements.
    offset: i64,
    shape: Dims,
    strides: Dims,
}

impl Lines {
    fn of(shape: &[i64], strides: &[i64], options: &ScanOptions) -> Result<Self> {
        let axis = resolve_axes(options.name(), shape, &[options.axis])?[0];
        let (mut shape, mut strides) = (Dims::from_slice(shape), Dims::from_slice(strides));
        let (extent, stride) = (shape.remove(axis), strides.remove(axis));
        let is_reversed = options.is_reversed && extent > 0;
        shape.push(extent);
        strides.push(if is_reversed { -stride } else { stride });
        Ok(Self {
            offset: if is_reversed {
                (extent - 1) * stride
            } else {
                0
            },
            shape,
            strides,
        })
    }

    fn len(&self) -> i64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The same lines with so many numbers.
    fn with_len(&self, len: i64) -> Dims {
        let mut shape = self.shape.clone();
        shape.pop();
        shape.push(len);
        shape
    }

    /// Some numbers of the lines: the offset, the shape and the strides.
    fn part(&self, begin: i64, step: i64, count: i64) -> (i64, Dims, Dims) {
        let mut strides = self.strides.clone();
        let stride = strides.pop().unwrap_or(1);
        strides.push(step * stride);
        (self.offset + begin * stride, self.with_len(count), strides)
    }

    /// The lines of a level, which lie without gaps.
    fn of_level(&self, len: i64) -> Self {
        let shape = self.with_len(len);
        Self {
            offset: 0,
            strides: row_major(&shape),
            shape,
        }
    }
}

/// What of the products goes where in the result.
fn placed(len: i64, is_exclusive: bool) -> (i64, i64) {
    if is_exclusive { (1, len - 1) } else { (0, len) }
}

/// Prefix products of x in `memory`, which may be that of x.
pub(super) fn on_host(
    x: &TensorView<'_>,
    options: &ScanOptions,
    memory: &HostMemory,
) -> Result<()> {
    let dtype = x.dtype();
    let all = row_major(x.shape());
    let source = Lines::of(x.shape(), x.strides().unwrap_or(&all), options)?;
    let target = Lines::of(memory.shape(), &memory.strides(), options)?;
    if target.shape.contains(&0) {
        return Ok(());
    }
    let len = source.len();
    let mut levels = Vec::new();
    for own in lengths(len) {
        levels.push((
            HostTensor::new(&source.with_len(own), dtype)?,
            source.of_level(own),
        ));
    }
    let lines: Vec<(*mut c_void, &Lines)> = levels
        .iter_mut()
        .map(|(tensor, lines)| (tensor.memory_mut().data(), &*lines))
        .collect();
    let whole = |lines: &Lines| lines.part(0, 1, len);
    multiply(
        dtype,
        &[(x.data(), whole(&source))],
        (lines[0].0, whole(lines[0].1)),
    )?;
    let at = |part: &Part| {
        let (data, lines) = lines[part.level];
        (data, lines.part(part.begin, part.step, part.count))
    };
    for step in steps(len) {
        let inputs: SmallVec<[_; 2]> = step
            .inputs
            .iter()
            .map(|part| {
                let (data, place) = at(part);
                (data.cast_const(), place)
            })
            .collect();
        multiply(dtype, &inputs, at(&step.target))?;
    }
    let (begin, count) = placed(len, options.is_exclusive);
    let (data, own) = lines[0];
    multiply(
        dtype,
        &[(data.cast_const(), own.part(0, 1, count))],
        (memory.data(), target.part(begin, 1, count)),
    )?;
    if options.is_exclusive {
        let first = target.part(0, 1, 1);
        let (narrow, wide) = ([1.0_f32, 0.0], [1.0_f64, 0.0]);
        let one: *const c_void = if dtype == Dtype::C64 {
            narrow.as_ptr().cast()
        } else {
            wide.as_ptr().cast()
        };
        let same = Dims::from_elem(0, first.1.len());
        multiply(
            dtype,
            &[(one, (0, first.1.clone(), same))],
            (memory.data(), first),
        )?;
    }
    Ok(())
}

/// An offset in elements, a shape and strides.
type Place = (i64, Dims, Dims);

/// The product of inputs, or a copy of the only one. The addresses are those of memory that holds all of their places; the target is an input
/// itself or shares no element with one.
fn multiply(
    dtype: Dtype,
    inputs: &[(*const c_void, Place)],
    (target, (offset, shape, strides)): (*mut c_void, Place),
) -> Result<()> {
    let item_bytes = dtype.size_bytes() as isize;
    let operation = if inputs.len() == 1 {
        Complex::Identity
    } else {
        Complex::Multiply
    };
    // SAFETY: as promised by the callers, who hold the memory.
    unsafe {
        let views = inputs
            .iter()
            .map(|(data, (offset, shape, strides))| {
                let data = data.wrapping_byte_offset(*offset as isize * item_bytes);
                Ok(TensorView::from_parts(
                    data,
                    dtype,
                    HOST,
                    shape,
                    Some(strides),
                )?)
            })
            .collect::<Result<SmallVec<[_; 2]>>>()?;
        let data = target.wrapping_byte_offset(offset as isize * item_bytes);
        let mut out = TensorViewMut::from_parts(data, dtype, HOST, &shape, Some(&strides))?;
        Ok(Matrix::global()?.complex_elementwise(operation, &views, &mut out, &OPTIONS)?)
    }
}

/// [`on_host`] by kernels of the device.
pub(super) fn on_device(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
    result: &Array,
) -> Result<()> {
    let dtype = x.dtype;
    let source = Lines::of(&x.shape, &x.strides, options)?;
    let target = Lines::of(&result.shape, &result.strides, options)?;
    if result.is_empty() {
        return Ok(());
    }
    let len = source.len();
    let mut levels = Vec::new();
    for own in lengths(len) {
        let new = Target {
            operation: options.name(),
            device: ops.device(),
            out: None,
            inputs: &[],
            may_alias: false,
            is_dense: true,
        };
        let made = new.resolve(&source.with_len(own), dtype)?.into_array()?;
        levels.push((made, source.of_level(own)));
    }
    let place = |array: &Array, (offset, shape, strides): Place| {
        Operand::of_array(array.view_at(offset, shape, strides))
    };
    let at = |part: &Part| {
        let (array, lines) = &levels[part.level];
        place(array, lines.part(part.begin, part.step, part.count))
    };
    let identity =
        |from: Operand, to: &Operand| compute(ops, Complex::Identity, &[from], to, dtype);
    let first = at(&Part {
        level: 0,
        begin: 0,
        step: 1,
        count: len,
    });
    let given = x.clone().into_array()?;
    identity(place(&given, source.part(0, 1, len)), &first)?;
    for step in steps(len) {
        let inputs: SmallVec<[Operand; 2]> = step.inputs.iter().map(at).collect();
        let operation = if inputs.len() == 1 {
            Complex::Identity
        } else {
            Complex::Multiply
        };
        compute(ops, operation, &inputs, &at(&step.target), dtype)?;
    }
    let (begin, count) = placed(len, options.is_exclusive);
    let products = at(&Part {
        level: 0,
        begin: 0,
        step: 1,
        count,
    });
    identity(products, &place(result, target.part(begin, 1, count)))?;
    if options.is_exclusive {
        let one = Operand::of_number(Scalar::Float(1.0), part_of(dtype));
        identity(one, &place(result, target.part(0, 1, 1)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps with lists for lines; joining lists shows the order, too.
    fn scanned(len: i64) -> Vec<Vec<i64>> {
        let mut levels: Vec<Vec<Vec<i64>>> = lengths(len)
            .iter()
            .map(|len| vec![Vec::new(); *len as usize])
            .collect();
        levels[0] = (0..len).map(|index| vec![index]).collect();
        let at = |part: &Part, index: i64| (part.begin + index * part.step) as usize;
        for step in steps(len) {
            let made: Vec<Vec<i64>> = (0..step.target.count)
                .map(|index| {
                    let inputs = step.inputs.iter();
                    inputs
                        .flat_map(|part| levels[part.level][at(part, index)].clone())
                        .collect()
                })
                .collect();
            for (index, value) in made.into_iter().enumerate() {
                levels[step.target.level][at(&step.target, index as i64)] = value;
            }
        }
        levels.swap_remove(0)
    }

    #[test]
    fn steps_join_every_number_with_those_before_it_in_order() {
        for len in 1..70 {
            let wanted: Vec<Vec<i64>> = (0..len).map(|last| (0..=last).collect()).collect();
            assert_eq!(scanned(len), wanted, "{len}");
        }
    }

    #[test]
    fn lines_run_along_their_axis_from_either_end() {
        let options = |is_reversed| ScanOptions {
            is_reversed,
            ..ScanOptions::new(amdgpu_matrix::Scan::Product, 0)
        };
        let lines = Lines::of(&[3, 4], &[4, 1], &options(true)).unwrap();
        assert_eq!((lines.offset, lines.len()), (8, 3));
        assert_eq!(lines.strides.as_slice(), [1, -4]);
        let (offset, shape, strides) = lines.part(1, 2, 1);
        assert_eq!((offset, shape.as_slice()), (4, &[4, 1][..]));
        assert_eq!(strides.as_slice(), [1, -8]);
        let lines = Lines::of(&[3, 4], &[4, 1], &options(false)).unwrap();
        assert_eq!((lines.offset, lines.strides.as_slice()), (0, &[1, 4][..]));
    }
}
