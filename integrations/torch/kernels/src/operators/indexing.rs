//! Elements by index: gathered, scattered, chosen by masks; rows of tables and their gradients.

use std::ffi::CStr;

use smallvec::SmallVec;

use super::creation::{iota, of_values};
use super::table;
use crate::amdgpu::{EmbeddingGradient, Handle, Out, Owned, ScatterReduce, agpu};
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Gives, Held, Input, Number, cast, contiguous, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Made, Place, Tensor, View, axis_of, broadcast, row_major};

table! {
    c"aten::index_select" => index_select_new,
    c"aten::index_select.out" => index_select_out,
    c"aten::gather.out" => gather,
    c"aten::scatter.src_out" => |c| scatter(c, &Source::Tensor, c"assign"),
    c"aten::scatter.value_out" => |c| scatter(c, &Source::Number(c.number(1)?), c"assign"),
    c"aten::scatter_add.out" => |c| scatter(c, &Source::Tensor, c"add"),
    c"aten::scatter_reduce.two_out" => scatter_reduce,
    c"aten::index.Tensor_out" => index,
    c"aten::_index_put_impl_" => index_put,
    c"aten::index_add.out" => index_add,
    c"aten::index_copy.out" => index_copy,
    c"aten::index_fill_.int_Scalar" => index_fill,
    c"aten::masked_select" => masked_select_new,
    c"aten::masked_select.out" => masked_select_out,
    c"aten::nonzero" => nonzero_new,
    c"aten::nonzero.out" => nonzero_out,
    c"aten::embedding_dense_backward" => embedding_backward,
    c"aten::cat.out" => cat,
    c"aten::flip" => flip,
    c"aten::roll" => roll,
}

/// The elements of x at indices for some of its axes: axes of the indices first, then the others.
pub fn pick(x: &View, axes: &[i64], indices: &[&View]) -> Outcome<Made> {
    let arrays = indices
        .iter()
        .map(|index| index.array())
        .collect::<Outcome<Vec<Owned>>>()?;
    let handles: Vec<Handle> = arrays.iter().map(|array| array.0).collect();
    let (array, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_pick(
        array.0,
        axes.as_ptr(),
        handles.as_ptr(),
        axes.len(),
        &raw mut result
    ))?;
    Made::of(result, x.place)
}

/// Values to the elements that [`pick`] reads.
pub fn put(x: &View, axes: &[i64], indices: &[&View], values: &View, how: &CStr) -> Outcome {
    if values.is_empty() {
        return Ok(());
    }
    let arrays = indices
        .iter()
        .map(|index| index.array())
        .collect::<Outcome<Vec<Owned>>>()?;
    let handles: Vec<Handle> = arrays.iter().map(|array| array.0).collect();
    let (array, given) = (x.array()?, values.array()?);
    agpu!(agpu_ops_put(
        array.0,
        axes.as_ptr(),
        handles.as_ptr(),
        axes.len(),
        given.0,
        how.as_ptr()
    ))
}

fn check_index(index: &View) -> Outcome {
    if matches!(index.dtype, Dtype::I32 | Dtype::I64) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "Expected dtype int32/int64 for index, but got {}",
        index.dtype.name()?.to_string_lossy()
    )))
}

fn index_select_shape(c: &Call) -> Outcome<(usize, Dims)> {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    check_index(index)?;
    index.place.check_same(x.place)?;
    if index.rank() > 1 {
        return Err(Failure::refused(
            "index_select(): Index is supposed to be a vector",
        ));
    }
    let axis = axis_of(c.int(0)?, x.rank())?;
    let mut shape = x.shape.clone();
    if x.rank() > 0 {
        shape[axis] = index.len();
    }
    Ok((axis, shape))
}

fn index_select(c: &Call, axis: usize, out: &View) -> Outcome {
    let (x, index) = (c.tensor(0)?.with_axes(), c.tensor(1)?.with_axes());
    let out = out.with_axes();
    if out.is_empty() {
        return Ok(());
    }
    if axis == 0 && x.rank() == 2 && x.is_contiguous() && out.is_contiguous() {
        let place = out.array()?;
        let options = Out {
            out: place.0,
            ..Out::default()
        };
        let (rows, table, mut result) = (contiguous(&index)?, x.array()?, 0);
        let rows = rows.array()?;
        agpu!(agpu_ops_embedding(
            rows.0,
            table.0,
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        return Ok(());
    }
    let picked = pick(&x, &[axis as i64], &[&index])?;
    // The picked axis stands first.
    let mut axes: Vec<usize> = (1..out.rank()).collect();
    axes.insert(axis, 0);
    cast(&picked.permuted(&axes), &out)
}

fn index_select_new(c: &Call) -> Outcome<Results> {
    let (axis, shape) = index_select_shape(c)?;
    let made = Tensor::empty(&shape, c.tensor(0)?.dtype, c.tensor(0)?.place)?;
    index_select(c, axis, &made)?;
    Ok(tensors([made]))
}

fn index_select_out(c: &Call) -> Outcome<Results> {
    let (axis, shape) = index_select_shape(c)?;
    let out = c.last()?.resized(&shape)?;
    index_select(c, axis, &out)?;
    written()
}

/// Indices for every axis: those given along one, and along the others where an element stands.
struct Lines {
    axes: Vec<i64>,
    places: Vec<Tensor>,
    axis: usize,
    index: Held,
}

impl Lines {
    fn of(x: &View, axis: usize, index: &View) -> Outcome<Self> {
        check_index(index)?;
        index.place.check_same(x.place)?;
        if index.rank() != x.rank() {
            return Err(Failure::refused(
                "Index tensor must have the same number of dimensions as self tensor",
            ));
        }
        let mut places = Vec::new();
        for other in (0..x.rank()).filter(|other| *other != axis) {
            if index.shape[other] > x.shape[other] {
                return Err(Failure::refused(format!(
                    "Size does not match at dimension {other} expected index {:?} to be no larger than self {:?} apart from dimension {axis}",
                    index.shape.as_slice(),
                    x.shape.as_slice()
                )));
            }
            places.push(iota(index.shape[other], x.place)?);
        }
        Ok(Self {
            axes: (0..x.rank() as i64).collect(),
            places,
            axis,
            index: contiguous(index)?,
        })
    }

    /// The indices along each axis, in shapes that broadcast.
    fn views(&self) -> Vec<View> {
        let rank = self.axes.len();
        let mut others = self.places.iter();
        (0..rank)
            .map(|axis| {
                if axis == self.axis {
                    return (*self.index).clone();
                }
                let Some(place) = others.next() else {
                    return (*self.index).clone();
                };
                let mut shape = Dims::from_elem(1, rank);
                shape[axis] = place.shape[0];
                let strides = row_major(&shape);
                place.with_layout(shape, strides)
            })
            .collect()
    }
}

fn gather(c: &Call) -> Outcome<Results> {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    let axis = axis_of(c.int(0)?, x.rank())?;
    let out = c.last()?.resized(&index.shape)?;
    if out.is_empty() {
        return written();
    }
    let (x, index) = (x.with_axes(), index.with_axes());
    let lines = Lines::of(&x, axis, &index)?;
    let views = lines.views();
    let picked = pick(&x, &lines.axes, &views.iter().collect::<Vec<_>>())?;
    cast(&*picked, &out.with_axes())?;
    written()
}

/// What is scattered.
enum Source {
    /// The third tensor.
    Tensor,
    Number(Number),
}

/// The values at the places of the index.
fn part(source: &View, index: &View) -> Outcome<View> {
    let source = source.with_axes();
    if source.rank() != index.rank()
        || (source.shape.iter().zip(&index.shape)).any(|(own, wanted)| own < wanted)
    {
        return Err(Failure::refused(format!(
            "Expected index {:?} to be no larger than src {:?}",
            index.shape.as_slice(),
            source.shape.as_slice()
        )));
    }
    Ok(source.with_layout(index.shape.clone(), source.strides.clone()))
}

/// `out` with the values of the first tensor.
fn started(c: &Call) -> Outcome<View> {
    let x = c.tensor(0)?;
    let out = c.last()?.resized(&x.shape)?;
    cast(x, &out)?;
    Ok(out)
}

fn scatter(c: &Call, source: &Source, how: &CStr) -> Outcome<Results> {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    let axis = axis_of(c.int(0)?, x.rank())?;
    let out = started(c)?;
    if index.is_empty() {
        return written();
    }
    let (to, index) = (out.with_axes(), index.with_axes());
    let lines = Lines::of(&to, axis, &index)?;
    let number;
    let values = match source {
        Source::Tensor => part(c.tensor(2)?, &index)?,
        Source::Number(value) => {
            number = Tensor::empty(&[], out.dtype, out.place)?;
            cast(*value, &number)?;
            number.expanded(&index.shape)?
        }
    };
    let views = lines.views();
    let views: Vec<&View> = views.iter().collect();
    put(&to, &lines.axes, &views, &values, how)?;
    written()
}

fn scatter_reduce(c: &Call) -> Outcome<Results> {
    let how = c.text(1)?;
    if c.flag_or(2, true)? {
        let name = match how {
            "sum" => Some(c"add"),
            "prod" => Some(c"multiply"),
            "amax" => Some(c"maximum"),
            "amin" => Some(c"minimum"),
            _ => None,
        };
        if let Some(name) = name {
            return scatter(c, &Source::Tensor, name);
        }
    }
    let reduce = match how {
        "sum" => c"sum",
        "prod" => c"prod",
        "mean" => c"mean",
        "amax" => c"amax",
        "amin" => c"amin",
        other => {
            return Err(Failure::refused(format!(
                "reduce argument must be either sum, prod, mean, amax or amin, got {other}"
            )));
        }
    };
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    let axis = axis_of(c.int(0)?, x.rank())?;
    let out = started(c)?;
    if index.is_empty() {
        return written();
    }
    let (to, index) = (out.with_axes(), index.with_axes());
    check_index(&index)?;
    let (values, index) = (
        contiguous(&part(c.tensor(2)?, &index)?)?,
        contiguous(&index)?,
    );
    let options = ScatterReduce {
        excludes_self: u32::from(!c.flag_or(2, true)?),
        ..ScatterReduce::default()
    };
    let dense = contiguous(&to)?;
    let (array, at, given) = (dense.array()?, index.array()?, values.array()?);
    let mut result = 0;
    agpu!(agpu_ops_scatter_reduce(
        reduce.as_ptr(),
        array.0,
        axis as i64,
        at.0,
        given.0,
        &raw const options,
        &raw mut result
    ))?;
    cast(&*Made::of(result, to.place)?, &to)?;
    written()
}

/// Axes of x that are picked from, with their indices; masks stand for as many axes as they have.
struct Picked {
    axes: Vec<i64>,
    indices: Vec<Held>,
    /// Axes of the result: those of the indices stand at this place among the others.
    place: usize,
    shape: Dims,
    /// The shape of the indices together.
    together: Dims,
}

impl Picked {
    fn of(c: &Call, x: &View, first: usize, count: usize) -> Outcome<Self> {
        let mut axes = Vec::new();
        let mut indices = Vec::new();
        let mut axis = 0;
        for place in first..first + count {
            let Some(index) = c.optional(place) else {
                axis += 1;
                continue;
            };
            let index = moved(index, x.place)?;
            if matches!(index.dtype, Dtype::BOOL | Dtype::U8) {
                for column in columns_of_mask(x, &index, axis)? {
                    axes.push(axis as i64);
                    indices.push(column);
                    axis += 1;
                }
                continue;
            }
            axes.push(axis as i64);
            indices.push(index);
            axis += 1;
        }
        if axis > x.rank() {
            return Err(Failure::refused(format!(
                "too many indices for tensor of dimension {} (got {axis})",
                x.rank()
            )));
        }
        let shapes = indices.iter().map(|index| index.shape.as_slice());
        let together = broadcast(shapes)?;
        let is_adjacent = axes.windows(2).all(|two| two[1] == two[0] + 1);
        let place = match axes.first() {
            Some(first) if is_adjacent => *first as usize,
            _ => 0,
        };
        let others = (0..x.rank()).filter(|axis| !axes.contains(&(*axis as i64)));
        let mut shape: Dims = others.map(|axis| x.shape[axis]).collect();
        for (offset, extent) in together.iter().enumerate() {
            shape.insert(place + offset, *extent);
        }
        Ok(Self {
            axes,
            indices,
            place,
            shape,
            together,
        })
    }

    fn views(&self) -> Vec<&View> {
        self.indices.iter().map(|index| &**index).collect()
    }

    /// A view in the order of the result, in the order of [`pick`].
    fn in_order_of_pick(&self, view: &View) -> View {
        let picked = self.place..self.place + self.together.len();
        let others = (0..view.rank()).filter(|axis| !picked.contains(axis));
        let axes: Vec<usize> = picked.clone().chain(others).collect();
        view.permuted(&axes)
    }
}

/// Indices where the tensor is that they pick from. Those of the CPU are copied, as other devices do.
fn moved(index: &View, place: Place) -> Outcome<Held> {
    if index.place == place {
        return Ok(Held::Given(index.clone()));
    }
    if index.place != Place::Cpu || !index.is_contiguous() {
        return Err(Failure::no_kernel(
            "indices of another device, or of the CPU and not in row-major order",
        ));
    }
    let bytes = index.len() as usize * index.dtype.item_bytes();
    // SAFETY: memory of the host, in row-major order.
    let values = unsafe { std::slice::from_raw_parts(index.address.cast::<u8>(), bytes) };
    Ok(Held::Made(of_values(
        values,
        &index.shape,
        index.dtype,
        place,
    )?))
}

/// The places where a mask is true, along each of its axes.
fn columns_of_mask(x: &View, mask: &View, axis: usize) -> Outcome<Vec<Held>> {
    let fits = axis + mask.rank() <= x.rank() && x.shape[axis..axis + mask.rank()] == *mask.shape;
    if !fits {
        return Err(Failure::refused(format!(
            "The shape of the mask {:?} at index {axis} does not match the shape of the indexed tensor {:?}",
            mask.shape.as_slice(),
            x.shape.as_slice()
        )));
    }
    if mask.rank() == 0 {
        return Err(Failure::no_kernel(
            "indexing by one truth value has no kernel",
        ));
    }
    let found = places_of(mask)?;
    let mut columns = Vec::new();
    for column in 0..mask.rank() {
        let view = found.narrow(1, column as i64, 1).without_axis(1);
        let made = Tensor::empty(&view.shape, Dtype::I64, x.place)?;
        cast(&view, &made)?;
        columns.push(Held::Made(made));
    }
    Ok(columns)
}

fn places_of(x: &View) -> Outcome<Made> {
    let (array, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_nonzero(array.0, &raw mut result))?;
    Made::of(result, x.place)
}

fn index(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let picked = Picked::of(c, x, 1, c.list_length(0)?)?;
    let out = c.last()?.resized(&picked.shape)?;
    if out.is_empty() {
        return written();
    }
    if picked.axes.is_empty() {
        cast(x, &out)?;
        return written();
    }
    let found = pick(x, &picked.axes, &picked.views())?;
    cast(&*found, &picked.in_order_of_pick(&out))?;
    written()
}

fn index_put(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let count = c.list_length(0)?;
    let values = c.tensor(1 + count)?;
    let accumulates = c.flag(1)?;
    let picked = Picked::of(c, x, 1, count)?;
    if picked.axes.is_empty() {
        return Err(Failure::no_kernel(
            "index_put_ without indices has no kernel",
        ));
    }
    if picked.shape.contains(&0) {
        return written();
    }
    let held;
    let values = if values.place == x.place {
        &**values
    } else {
        held = Tensor::empty(&[], x.dtype, x.place)?;
        cast(values, &held)?;
        &*held
    };
    let values = picked.in_order_of_pick(&values.expanded(&picked.shape)?);
    let how = if accumulates { c"add" } else { c"assign" };
    put(x, &picked.axes, &picked.views(), &values, how)?;
    written()
}

fn index_add(c: &Call) -> Outcome<Results> {
    let (x, index, source) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check_index(index)?;
    let axis = axis_of(c.int(0)?, x.rank())?;
    let alpha = if c.has(1) {
        c.number(1)?
    } else {
        Number::Int(1)
    };
    let out = started(c)?;
    if source.is_empty() {
        return written();
    }
    let scaled = Tensor::empty(&source.shape, out.dtype, out.place)?;
    let inputs: [Input<'_>; 2] = [source.into(), alpha.into()];
    run(c"multiply", &inputs, out.dtype, Gives::Same, &scaled, 0.0)?;
    let (to, index, values) = (out.with_axes(), index.with_axes(), scaled.with_axes());
    let mut axes: Vec<usize> = (0..values.rank()).filter(|other| *other != axis).collect();
    axes.insert(0, axis);
    put(
        &to,
        &[axis as i64],
        &[&index],
        &values.permuted(&axes),
        c"add",
    )?;
    written()
}

fn index_copy(c: &Call) -> Outcome<Results> {
    let (x, index, source) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check_index(index)?;
    let axis = axis_of(c.int(0)?, x.rank())?;
    let out = started(c)?;
    let (to, index, values) = (out.with_axes(), index.with_axes(), source.with_axes());
    let mut axes: Vec<usize> = (0..values.rank()).filter(|other| *other != axis).collect();
    axes.insert(0, axis);
    let values = values.permuted(&axes);
    put(&to, &[axis as i64], &[&index], &values, c"assign")?;
    written()
}

fn index_fill(c: &Call) -> Outcome<Results> {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    check_index(index)?;
    let axis = axis_of(c.int(0)?, x.rank())?;
    let (to, index) = (x.with_axes(), index.with_axes());
    if to.is_empty() || index.is_empty() {
        return written();
    }
    let value = Tensor::empty(&[], x.dtype, x.place)?;
    cast(c.number(1)?, &value)?;
    let mut shape = to.shape.clone();
    shape.remove(axis);
    shape.insert(0, index.len());
    let values = value.expanded(&shape)?;
    put(&to, &[axis as i64], &[&index], &values, c"assign")?;
    written()
}

/// The elements where a mask is true: both broadcast to one shape.
fn selected(c: &Call) -> Outcome<Made> {
    let (x, mask) = (c.tensor(0)?, c.tensor(1)?);
    if mask.dtype != Dtype::BOOL {
        return Err(Failure::refused(
            "masked_select: expected BoolTensor for mask",
        ));
    }
    mask.place.check_same(x.place)?;
    let both = [x.shape.as_slice(), mask.shape.as_slice()];
    let mut shape = broadcast(both.into_iter())?;
    if shape.is_empty() {
        shape.push(1);
    }
    let (x, mask) = (
        contiguous(&x.expanded(&shape)?)?,
        contiguous(&mask.expanded(&shape)?)?,
    );
    let (array, chosen, mut result) = (x.array()?, mask.array()?, 0);
    agpu!(agpu_ops_masked_select(array.0, chosen.0, &raw mut result))?;
    Made::of(result, x.place)
}

/// A new tensor with the values of a result.
fn kept(made: &View) -> Outcome<Tensor> {
    let tensor = Tensor::empty(&made.shape, made.dtype, made.place)?;
    cast(made, &tensor)?;
    Ok(tensor)
}

fn masked_select_new(c: &Call) -> Outcome<Results> {
    Ok(tensors([kept(&*selected(c)?)?]))
}

fn masked_select_out(c: &Call) -> Outcome<Results> {
    let found = selected(c)?;
    let out = c.last()?.resized(&found.shape)?;
    cast(&*found, &out)?;
    written()
}

fn nonzero_places(x: &View) -> Outcome<Tensor> {
    if x.rank() > 0 {
        return kept(&*places_of(x)?);
    }
    let found = places_of(&x.with_axis(0))?;
    Tensor::empty(&[found.shape[0], 0], Dtype::I64, x.place)
}

fn nonzero_new(c: &Call) -> Outcome<Results> {
    Ok(tensors([nonzero_places(c.tensor(0)?)?]))
}

fn nonzero_out(c: &Call) -> Outcome<Results> {
    let found = nonzero_places(c.tensor(0)?)?;
    let out = c.last()?.resized(&found.shape)?;
    cast(&found, &out)?;
    written()
}

fn embedding_backward(c: &Call) -> Outcome<Results> {
    let (gradient, indices) = (c.tensor(0)?, c.tensor(1)?);
    let (rows, padding) = (c.int(0)?, c.int(1)?);
    let last = gradient.rank().saturating_sub(1);
    let width = gradient.shape[last];
    let made = Tensor::empty(&[rows, width], gradient.dtype, gradient.place)?;
    if gradient.is_empty() || rows == 0 {
        cast(Number::Int(0), &made)?;
        return Ok(tensors([made]));
    }
    let options = EmbeddingGradient {
        padding_index: padding,
        has_padding_index: u32::from(padding >= 0),
        scales_by_frequency: u32::from(c.flag(2)?),
        ..EmbeddingGradient::default()
    };
    let (given, at) = (contiguous(gradient)?, contiguous(indices)?);
    let (given, at, mut result) = (given.array()?, at.array()?, 0);
    agpu!(agpu_ops_embedding_gradient(
        given.0,
        at.0,
        rows,
        &raw const options,
        &raw mut result
    ))?;
    cast(&*Made::of(result, gradient.place)?, &made)?;
    Ok(tensors([made]))
}

fn cat(c: &Call) -> Outcome<Results> {
    // Tensors without elements and of one axis have always been left out.
    let parts = { (0..c.tensors.len() - 1).map(|place| c.tensor(place)) }
        .filter(|part| !matches!(part, Ok(part) if part.shape.as_slice() == [0]))
        .collect::<Outcome<SmallVec<[&Tensor; 6]>>>()?;
    let Some(first) = parts.first() else {
        let out = c.last()?.resized(&[0])?;
        debug_assert!(out.is_empty());
        return written();
    };
    let axis = axis_of(c.int(1)?, first.rank())?;
    let mut shape = first.shape.clone();
    if shape.is_empty() {
        return Err(Failure::refused(
            "zero-dimensional tensor (at position 0) cannot be concatenated",
        ));
    }
    shape[axis] = 0;
    for (place, part) in parts.iter().enumerate() {
        let fits = part.rank() == shape.len()
            && (0..shape.len()).all(|other| other == axis || part.shape[other] == shape[other]);
        if !fits {
            return Err(Failure::refused(format!(
                "Sizes of tensors must match except in dimension {axis}. Got {:?} at position {place} and {:?} at position 0",
                part.shape.as_slice(),
                first.shape.as_slice()
            )));
        }
        shape[axis] += part.shape[axis];
    }
    let out = c.last()?.resized(&shape)?;
    let mut start = 0;
    for part in parts {
        let length = part.shape[axis];
        cast(part, &out.narrow(axis, start, length))?;
        start += length;
    }
    written()
}

fn flip(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    let mut backwards = (**x).clone();
    if !x.is_empty() {
        for axis in c.ints(0)? {
            let axis = axis_of(*axis, x.rank())?;
            if x.rank() > 0 {
                backwards = backwards.at(backwards.strides[axis] * (x.shape[axis] - 1));
                backwards.strides[axis] = -backwards.strides[axis];
            }
        }
        cast(&backwards, &made)?;
    }
    Ok(tensors([made]))
}

fn roll(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (shifts, axes) = (c.ints(0)?, c.ints(1)?);
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    if x.is_empty() {
        return Ok(tensors([made]));
    }
    if axes.is_empty() && shifts.len() == 1 {
        // In row-major order, as if there were one axis.
        let dense = contiguous(x)?;
        let flat =
            |view: &View| view.with_layout(Dims::from_slice(&[x.len()]), Dims::from_slice(&[1]));
        roll_to(&flat(&dense), 0, shifts[0], &flat(&made))?;
        return Ok(tensors([made]));
    }
    if axes.len() != shifts.len() || axes.is_empty() || x.rank() == 0 {
        return Err(Failure::no_kernel("such shifts have no kernel"));
    }
    let mut before = Held::Given((**x).clone());
    for (axis, shift) in axes.iter().zip(shifts) {
        let step = Tensor::empty(&x.shape, x.dtype, x.place)?;
        roll_to(&before, axis_of(*axis, x.rank())?, *shift, &step)?;
        before = Held::Made(step);
    }
    cast(&*before, &made)?;
    Ok(tensors([made]))
}

/// Moves elements along an axis; what leaves it enters at the other end.
fn roll_to(x: &View, axis: usize, shift: i64, out: &View) -> Outcome {
    let extent = x.shape[axis];
    let start = shift.rem_euclid(extent);
    for (from, to, length) in [(0, start, extent - start), (extent - start, 0, start)] {
        if length > 0 {
            cast(&x.narrow(axis, from, length), &out.narrow(axis, to, length))?;
        }
    }
    Ok(())
}
