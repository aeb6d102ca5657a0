//! Elements that go somewhere else: transposed, cut, joined, repeated and padded tensors.

use super::elementwise::plain;
use super::{ANY, ANY_AND_INT32, FLOATS_AND_I64, T, row};
use crate::call::{Attributes, Call};
use crate::compute::cast;
use crate::failure::{Failure, Outcome};
use crate::registry::Row;
use crate::tensor::{Dims, View, axis_of, shown};

pub const ROWS: &[Row] = &[
    row(c"Transpose", &[(T, ANY_AND_INT32)], &[c"perm"], |_| plain(transpose)),
    row(c"ConjugateTranspose", &[(T, ANY_AND_INT32)], &[c"perm"], |_| plain(transpose)),
    row(c"Slice", &[(T, ANY)], &[c"begin", c"size"], |_| plain(slice)),
    row(c"StridedSlice", &[(T, ANY)], &[c"begin", c"end", c"strides"], |a| {
        let masks = Masks::of(a)?;
        Ok(Box::new(move |c| strided_slice(c, &masks)))
    })
    .and_host_int32(&[c"input", c"begin", c"end", c"strides", c"output"]),
    row(c"StridedSliceGrad", &[(T, ANY_AND_INT32)], &[c"shape", c"begin", c"end", c"strides"], |a| {
        let masks = Masks::of(a)?;
        Ok(Box::new(move |c| strided_slice_gradient(c, &masks)))
    }),
    row(c"ConcatV2", &[(T, ANY)], &[c"axis"], |_| plain(|c| {
        let last = c.input_count()? - 1;
        concatenate(c, 0, last, c.host_int(last)?)
    })),
    row(c"Concat", &[(T, ANY)], &[c"concat_dim"], |_| plain(|c| {
        let count = c.input_count()?;
        concatenate(c, 1, count, c.host_int(0)?)
    })),
    row(c"Pack", &[(T, ANY)], &[], |a| {
        let axis = a.int(c"axis")?;
        Ok(Box::new(move |c| pack(c, axis)))
    })
    .and_host_int32(&[c"values", c"output"]),
    row(c"Unpack", &[(T, ANY)], &[], |a| {
        let axis = a.int(c"axis")?;
        Ok(Box::new(move |c| unpack(c, axis)))
    }),
    row(c"Split", &[(T, ANY)], &[c"split_dim"], |_| plain(|c| {
        let x = c.input(1)?;
        let axis = axis_of(c.host_int(0)?, x.rank())?;
        let count = c.output_count()? as i64;
        if x.shape[axis] % count != 0 {
            return Err(Failure::refused(format!(
                "Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size = {}) and num_split {count}",
                x.shape[axis]
            )));
        }
        split(c, &x, axis, &vec![x.shape[axis] / count; count as usize])
    }))
    .and_host_int32(&[c"split_dim", c"value", c"output"]),
    row(c"SplitV", &[(T, ANY)], &[c"size_splits", c"split_dim"], |_| plain(split_sizes))
        .and_host_int32(&[c"value", c"size_splits", c"split_dim", c"output"]),
    row(c"Pad", &[(T, ANY)], &[c"paddings"], |_| plain(|c| pad(c, false)))
        .and_host_int32(&[c"input", c"paddings", c"output"]),
    row(c"PadV2", &[(T, ANY)], &[c"paddings"], |_| plain(|c| pad(c, true)))
        .and_host_int32(&[c"input", c"paddings", c"constant_values", c"output"]),
    row(c"Tile", &[(T, ANY)], &[c"multiples"], |_| plain(tile))
        .and_host_int32(&[c"input", c"multiples", c"output"]),
    row(c"BroadcastTo", &[(T, ANY)], &[c"shape"], |_| plain(|c| {
        let x = c.input(0)?;
        let shape = c.host_ints(1)?;
        let spread = x.expanded(&shape)?;
        cast(&spread, &*c.output(0, x.dtype, &shape)?)
    }))
    .and_host_int32(&[c"input", c"shape", c"output"]),
    row(c"ReverseV2", &[(T, ANY)], &[c"axis"], |_| plain(reverse))
        .and_host_int32(&[c"tensor", c"axis", c"output"]),
    row(c"Roll", &[(T, ANY_AND_INT32)], &[c"shift", c"axis"], |_| plain(roll)),
    row(c"Fill", &[(T, ANY)], &[c"dims"], |_| plain(|c| {
        let shape = c.host_ints(0)?;
        let value = c.input(1)?;
        cast(&value, &*c.output(0, value.dtype, &shape)?)
    })),
    row(c"Range", &[(c"Tidx", FLOATS_AND_I64)], &[c"start", c"limit", c"delta"], |_| plain(range_of_numbers)),
    row(c"Bitcast", &[(T, ANY_AND_INT32), (c"type", ANY_AND_INT32)], &[], |_| plain(|c| {
        let x = c.input(0)?;
        let dtype = c.output_dtype(0)?;
        c.set_output_as(0, &c.tensor(0)?, dtype, &recut(&x, dtype.item_bytes() as i64)?)
    })),
    row(c"SpaceToDepth", &[(T, ANY)], &[], |a| {
        let (block, layout) = (a.int(c"block_size")?, a.text(c"data_format")?);
        Ok(Box::new(move |c| space_to_depth(c, block, &layout)))
    }),
    row(c"DepthToSpace", &[(T, ANY)], &[], |a| {
        let (block, layout) = (a.int(c"block_size")?, a.text(c"data_format")?);
        Ok(Box::new(move |c| depth_to_space(c, block, &layout)))
    }),
    row(c"MatrixDiagPartV3", &[(T, ANY_AND_INT32)], &[c"k"], |_| plain(diagonal)),
    row(c"MatrixBandPart", &[(T, ANY)], &[c"num_lower", c"num_upper"], |_| plain(band_part)),
];

fn transpose(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let named = c.host_ints(1)?;
    let axes: Vec<usize> = { named.iter() }
        .map(|axis| axis_of(*axis, x.rank()))
        .collect::<Outcome<_>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if sorted.iter().copied().ne(0..x.rank()) {
        return Err(Failure::refused(format!(
            "perm {} is no permutation of the axes of a tensor of rank {}",
            shown(&named),
            x.rank()
        )));
    }
    let permuted = x.permuted(&axes);
    if permuted.is_contiguous() {
        return c.set_output(0, &c.tensor(0)?, &permuted.shape);
    }
    cast(&permuted, &*c.output(0, x.dtype, &permuted.shape)?)
}

fn slice(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let (begin, size) = (c.host_ints(1)?, c.host_ints(2)?);
    if begin.len() != x.rank() || size.len() != x.rank() {
        return Err(Failure::refused(format!(
            "Expected begin and size arguments to be 1-D tensors of size {}, but got shapes [{}] and [{}] instead.",
            x.rank(),
            begin.len(),
            size.len()
        )));
    }
    let mut part = x.clone();
    for (axis, (first, length)) in begin.into_iter().zip(size).enumerate() {
        let extent = x.shape[axis];
        let length = if length == -1 { extent - first } else { length };
        if first < 0 || first > extent || length < 0 || first + length > extent {
            return Err(Failure::refused(format!(
                "Expected size[{axis}] in [0, {}], but got {length} (begin is {first})",
                (extent - first).max(0)
            )));
        }
        part = part.narrow(axis, first, length);
    }
    if part.shape == x.shape {
        return c.set_output(0, &c.tensor(0)?, &x.shape);
    }
    cast(&part, &*c.output(0, x.dtype, &part.shape)?)
}

/// The masks of slices: bit i stands for entry i of begin, end and strides.
struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink: i64,
}

impl Masks {
    fn of(a: &Attributes) -> Outcome<Self> {
        Ok(Self {
            begin: a.int(c"begin_mask")?,
            end: a.int(c"end_mask")?,
            ellipsis: a.int(c"ellipsis_mask")?,
            new_axis: a.int(c"new_axis_mask")?,
            shrink: a.int(c"shrink_axis_mask")?,
        })
    }

    /// The part of x that begin, end and strides name, and the shape that the result shows.
    fn part(&self, x: &View, entries: [&[i64]; 3]) -> Outcome<(View, Dims)> {
        let [begin, end, strides] = entries;
        let is = |mask: i64, entry: usize| mask >> entry & 1 == 1;
        let count = strides.len();
        let named = (0..count)
            .filter(|entry| !is(self.new_axis, *entry) && !is(self.ellipsis, *entry))
            .count();
        let hidden = x.rank().checked_sub(named).ok_or_else(|| {
            Failure::refused(format!(
                "Index out of range using input dim {}; input has only {} dims",
                named - 1,
                x.rank()
            ))
        })?;
        let (mut part, mut shape, mut axis) = (x.clone(), Dims::new(), 0);
        let mut has_ellipsis = false;
        for entry in 0..count {
            if is(self.ellipsis, entry) {
                shape.extend_from_slice(&x.shape[axis..axis + hidden]);
                axis += hidden;
                has_ellipsis = true;
            } else if is(self.new_axis, entry) {
                shape.push(1);
            } else {
                let shrinks = is(self.shrink, entry);
                let bounds = (
                    (!is(self.begin, entry) || shrinks).then_some(begin[entry]),
                    (!is(self.end, entry)).then_some(end[entry]),
                );
                let (first, length) = range(x.shape[axis], bounds, strides[entry], shrinks)?;
                part = part.at(first * part.strides[axis]);
                part.strides[axis] *= strides[entry];
                part.shape[axis] = length;
                if !shrinks {
                    shape.push(length);
                }
                axis += 1;
            }
        }
        if !has_ellipsis {
            shape.extend_from_slice(&x.shape[axis..]);
        }
        Ok((part, shape))
    }
}

/// First index and number of the elements of an axis that a slice has, as in Python.
fn range(
    extent: i64,
    (begin, end): (Option<i64>, Option<i64>),
    stride: i64,
    shrinks: bool,
) -> Outcome<(i64, i64)> {
    if stride == 0 {
        return Err(Failure::refused("strides[i] must be non-zero"));
    }
    let counted = |value: i64| if value < 0 { value + extent } else { value };
    if shrinks {
        let first = counted(begin.unwrap_or(0));
        if first < 0 || first >= extent {
            return Err(Failure::refused(format!(
                "slice index {} of dimension with size {extent} out of bounds.",
                begin.unwrap_or(0)
            )));
        }
        return Ok((first, 1));
    }
    let (low, high) = if stride > 0 {
        (0, extent)
    } else {
        (-1, extent - 1)
    };
    let first = begin.map_or(if stride > 0 { low } else { high }, |value| {
        counted(value).clamp(low, high)
    });
    let last = end.map_or(if stride > 0 { high } else { low }, |value| {
        counted(value).clamp(low, high)
    });
    let length = if stride > 0 {
        (last - first + stride - 1).div_euclid(stride)
    } else {
        (first - last - stride - 1).div_euclid(-stride)
    };
    let length = length.max(0);
    Ok((if length == 0 { 0 } else { first }, length))
}

fn strided_slice(c: &Call, masks: &Masks) -> Outcome {
    let x = c.input(0)?;
    let (begin, end, strides) = (c.host_ints(1)?, c.host_ints(2)?, c.host_ints(3)?);
    let (part, shape) = masks.part(&x, [&begin, &end, &strides])?;
    let is_whole = part.shape == x.shape && part.strides == x.strides;
    if is_whole && part.address == x.address {
        return c.set_output(0, &c.tensor(0)?, &shape);
    }
    let out = c.output(0, x.dtype, &shape)?;
    cast(&part, &out.reshaped(&part.shape))
}

fn strided_slice_gradient(c: &Call, masks: &Masks) -> Outcome {
    let (shape, begin, end, strides) = (
        c.host_ints(0)?,
        c.host_ints(1)?,
        c.host_ints(2)?,
        c.host_ints(3)?,
    );
    let gradient = c.input(4)?;
    let out = c.output(0, gradient.dtype, &shape)?;
    cast(0_i64, &out)?;
    let (part, shown_shape) = masks.part(&out, [&begin, &end, &strides])?;
    if gradient.shape != shown_shape {
        return Err(Failure::refused(format!(
            "shape of dy was {} instead of {}",
            shown(&gradient.shape),
            shown(&shown_shape)
        )));
    }
    cast(&gradient.reshaped(&part.shape), &part)
}

/// The inputs from `first` to before `end`, behind each other along an axis.
fn concatenate(c: &Call, first: usize, end: usize, axis: i64) -> Outcome {
    let parts: Vec<View> = (first..end)
        .map(|place| c.input(place))
        .collect::<Outcome<_>>()?;
    let shape = parts[0].shape.clone();
    let axis = axis_of(axis, shape.len())?;
    let mut total = shape.clone();
    total[axis] = 0;
    for (place, part) in parts.iter().enumerate() {
        let mut others = part.shape.iter().zip(&shape).enumerate();
        let fits = part.rank() == shape.len()
            && others.all(|(at, (own, wanted))| at == axis || own == wanted);
        if !fits {
            return Err(Failure::refused(format!(
                "ConcatOp : Dimension {axis} in both shapes must be equal, and all others too: shape[0] = {} vs. shape[{place}] = {}",
                shown(&shape),
                shown(&part.shape)
            )));
        }
        total[axis] += part.shape[axis];
    }
    if let [only] = parts.as_slice() {
        return c.set_output(0, &c.tensor(first)?, &only.shape);
    }
    let out = c.output(0, parts[0].dtype, &total)?;
    let mut begin = 0;
    for part in &parts {
        let length = part.shape[axis];
        cast(part, &out.narrow(axis, begin, length))?;
        begin += length;
    }
    Ok(())
}

fn pack(c: &Call, axis: i64) -> Outcome {
    let parts = c.inputs(0)?;
    let shape = parts[0].shape.clone();
    let axis = axis_of(axis, shape.len() + 1)?;
    if let Some((place, other)) = parts
        .iter()
        .enumerate()
        .find(|(_, part)| part.shape != shape)
    {
        return Err(Failure::refused(format!(
            "Shapes of all inputs must match: values[0].shape = {} != values[{place}].shape = {}",
            shown(&shape),
            shown(&other.shape)
        )));
    }
    let mut total = shape;
    total.insert(axis, parts.len() as i64);
    let out = c.output(0, parts[0].dtype, &total)?;
    for (place, part) in parts.iter().enumerate() {
        cast(part, &out.narrow(axis, place as i64, 1).without_axis(axis))?;
    }
    Ok(())
}

fn unpack(c: &Call, axis: i64) -> Outcome {
    let x = c.input(0)?;
    let axis = axis_of(axis, x.rank())?;
    let count = c.output_count()?;
    if x.shape[axis] != count as i64 {
        return Err(Failure::refused(format!(
            "Input shape axis {axis} must equal {count}, got shape {}",
            shown(&x.shape)
        )));
    }
    for place in 0..count {
        let part = x.narrow(axis, place as i64, 1).without_axis(axis);
        cast(&part, &*c.output(place, x.dtype, &part.shape)?)?;
    }
    Ok(())
}

fn split(c: &Call, x: &View, axis: usize, sizes: &[i64]) -> Outcome {
    let mut begin = 0;
    for (place, length) in sizes.iter().enumerate() {
        let part = x.narrow(axis, begin, *length);
        cast(&part, &*c.output(place, x.dtype, &part.shape)?)?;
        begin += length;
    }
    Ok(())
}

fn split_sizes(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let mut sizes = c.host_ints(1)?;
    let axis = axis_of(c.host_int(2)?, x.rank())?;
    let known: i64 = sizes.iter().filter(|size| **size >= 0).sum();
    let open = sizes.iter().filter(|size| **size == -1).count();
    if open > 1 || known > x.shape[axis] || (open == 0 && known != x.shape[axis]) {
        return Err(Failure::refused(format!(
            "size_splits {} do not add up to the extent {} of axis {axis}",
            shown(&sizes),
            x.shape[axis]
        )));
    }
    let rest = x.shape[axis] - known;
    for size in &mut sizes {
        if *size == -1 {
            *size = rest;
        }
    }
    split(c, &x, axis, &sizes)
}

/// Copies x into a larger tensor, which has a number around it.
fn pad(c: &Call, has_value: bool) -> Outcome {
    let x = c.input(0)?;
    let paddings = c.host_ints(1)?;
    if paddings.len() != 2 * x.rank() {
        return Err(Failure::refused(format!(
            "The first dimension of paddings must be the rank of inputs {} with {} paddings",
            shown(&x.shape),
            paddings.len() / 2
        )));
    }
    if paddings.iter().any(|padding| *padding < 0) {
        return Err(Failure::refused(format!(
            "Paddings must be non-negative: {}",
            shown(&paddings)
        )));
    }
    let shape: Dims = { x.shape.iter().enumerate() }
        .map(|(axis, extent)| extent + paddings[2 * axis] + paddings[2 * axis + 1])
        .collect();
    let out = c.output(0, x.dtype, &shape)?;
    if shape != x.shape {
        if has_value {
            cast(&c.input(2)?, &out)?;
        } else {
            cast(0_i64, &out)?;
        }
    }
    let mut inner = (*out).clone();
    for axis in 0..x.rank() {
        inner = inner.narrow(axis, paddings[2 * axis], x.shape[axis]);
    }
    cast(&x, &inner)
}

fn tile(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let multiples = c.host_ints(1)?;
    if multiples.len() != x.rank() {
        return Err(Failure::refused(format!(
            "Expected multiples argument to be a vector of length {} but got length {}",
            x.rank(),
            multiples.len()
        )));
    }
    let shape: Dims = x
        .shape
        .iter()
        .zip(&multiples)
        .map(|(extent, times)| extent * times)
        .collect();
    if shape.iter().any(|extent| *extent < 0) {
        return Err(Failure::refused(format!(
            "Expected multiples to be non-negative, but got {}",
            shown(&multiples)
        )));
    }
    let out = c.output(0, x.dtype, &shape)?;
    // Each repeated axis is one more axis, along which x stands still.
    let (mut apart, mut whole) = (x.clone(), Dims::new());
    let mut place = 0;
    for (axis, times) in multiples.iter().enumerate() {
        if *times != 1 {
            apart = apart.with_axis(place);
            apart.shape[place] = *times;
            apart.strides[place] = 0;
            whole.push(*times);
            place += 1;
        }
        whole.push(x.shape[axis]);
        place += 1;
    }
    cast(&apart, &out.reshaped(&whole))
}

fn reversed(x: &View, axis: usize) -> View {
    let mut view = x.clone();
    if x.shape[axis] > 0 {
        view = view.at((x.shape[axis] - 1) * x.strides[axis]);
    }
    view.strides[axis] = -x.strides[axis];
    view
}

fn reverse(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let mut view = x.clone();
    for axis in c.host_ints(1)? {
        view = reversed(&view, axis_of(axis, x.rank())?);
    }
    cast(&view, &*c.output(0, x.dtype, &x.shape)?)
}

/// Moves elements along axes; those that leave at the end come in at the beginning.
fn roll(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let (shifts, axes) = (c.host_ints(1)?, c.host_ints(2)?);
    let out = c.output(0, x.dtype, &x.shape)?;
    let mut by_axis = vec![0; x.rank()];
    for (shift, axis) in shifts.iter().zip(&axes) {
        by_axis[axis_of(*axis, x.rank())?] += shift;
    }
    if x.is_empty() {
        return Ok(());
    }
    let mut pairs = vec![(x.clone(), (*out).clone())];
    for (axis, shift) in by_axis.iter().enumerate() {
        let extent = x.shape[axis];
        let shift = shift.rem_euclid(extent);
        if shift == 0 {
            continue;
        }
        let halves = |(from, to): (View, View)| {
            let kept = extent - shift;
            [
                (from.narrow(axis, 0, kept), to.narrow(axis, shift, kept)),
                (from.narrow(axis, kept, shift), to.narrow(axis, 0, shift)),
            ]
        };
        pairs = pairs.into_iter().flat_map(halves).collect();
    }
    pairs.iter().try_for_each(|(from, to)| cast(from, to))
}

/// The shape of the same bytes as elements of another size: the last axis comes or goes.
fn recut(x: &View, wanted: i64) -> Outcome<Dims> {
    let own = x.dtype.item_bytes() as i64;
    let mut shape = x.shape.clone();
    if own > wanted {
        shape.push(own / wanted);
    } else if own < wanted && shape.pop() != Some(wanted / own) {
        return Err(Failure::refused(format!(
            "Cannot bitcast a tensor of shape {}: its last axis must have {} elements",
            shown(&x.shape),
            wanted / own
        )));
    }
    Ok(shape)
}

/// Numbers from a start, in steps, up to before a limit. What TensorFlow computes on the host is how many there are.
fn range_of_numbers(c: &Call) -> Outcome {
    let (start, limit, step) = (c.host_real(0)?, c.host_real(1)?, c.host_real(2)?);
    if step == 0.0 {
        return Err(Failure::refused("Requires delta != 0: 0"));
    }
    if (step > 0.0 && start > limit) || (step < 0.0 && start < limit) {
        let order = if step > 0.0 { "<=" } else { ">=" };
        return Err(Failure::refused(format!(
            "Requires start {order} limit when delta {} 0: {start}/{limit}",
            if step > 0.0 { '>' } else { '<' }
        )));
    }
    let count = ((limit - start) / step).ceil() as i64;
    let dtype = c.output_dtype(0)?;
    let out = c.output(0, dtype, &[count])?;
    if count == 0 {
        return Ok(());
    }
    let s = c.steps(dtype);
    let places = c.counted(count)?;
    let places = s.of(&places)?;
    let scaled = s.made(c"multiply", &[(&places).into(), step.into()])?;
    s.into(c"add", &[(&scaled).into(), start.into()], &out)
}

fn check_nhwc(layout: &str) -> Outcome {
    if layout == "NHWC" {
        return Ok(());
    }
    Err(Failure::no_kernel(format!(
        "data_format {layout} has no kernel; use NHWC"
    )))
}

fn space_to_depth(c: &Call, block: i64, layout: &str) -> Outcome {
    check_nhwc(layout)?;
    let x = c.input(0)?;
    let [images, rows, columns, channels] = x.shape[..] else {
        return Err(Failure::refused("images have four axes"));
    };
    if rows % block != 0 || columns % block != 0 {
        return Err(Failure::refused(format!(
            "Image of {rows} x {columns} should be divisible by block_size {block}"
        )));
    }
    let apart = x.reshaped(&[
        images,
        rows / block,
        block,
        columns / block,
        block,
        channels,
    ]);
    let permuted = apart.permuted(&[0, 1, 3, 2, 4, 5]);
    let out = c.output(
        0,
        x.dtype,
        &[
            images,
            rows / block,
            columns / block,
            channels * block * block,
        ],
    )?;
    cast(&permuted, &out.reshaped(&permuted.shape))
}

fn depth_to_space(c: &Call, block: i64, layout: &str) -> Outcome {
    check_nhwc(layout)?;
    let x = c.input(0)?;
    let [images, rows, columns, channels] = x.shape[..] else {
        return Err(Failure::refused("images have four axes"));
    };
    if channels % (block * block) != 0 {
        return Err(Failure::refused(format!(
            "{channels} channels should be divisible by block_size {block} squared"
        )));
    }
    let each = channels / (block * block);
    let permuted = x
        .reshaped(&[images, rows, columns, block, block, each])
        .permuted(&[0, 1, 3, 2, 4, 5]);
    let out = c.output(0, x.dtype, &[images, rows * block, columns * block, each])?;
    cast(&permuted, &out.reshaped(&permuted.shape))
}

/// One diagonal of each matrix; several at once are left to the CPU.
fn diagonal(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let (rank, named) = (x.rank(), c.host_ints(1)?);
    if rank < 2 {
        return Err(Failure::refused(format!(
            "input must be at least 2-dim, received shape: {}",
            shown(&x.shape)
        )));
    }
    let &[place] = &named[..] else {
        return Err(Failure::no_kernel(
            "bands of several diagonals have no kernel",
        ));
    };
    let (rows, columns) = (x.shape[rank - 2], x.shape[rank - 1]);
    let length = (rows + place.min(0)).min(columns - place.max(0));
    if length < 0 || (length == 0 && place != 0) {
        return Err(Failure::refused(format!(
            "Diagonal {place} is out of bounds of matrices {rows} x {columns}"
        )));
    }
    let (down, right) = (x.strides[rank - 2], x.strides[rank - 1]);
    let mut line = x
        .at((-place).max(0) * down + place.max(0) * right)
        .without_axis(rank - 1);
    line.shape[rank - 2] = length;
    line.strides[rank - 2] = down + right;
    cast(&line, &*c.output(0, x.dtype, &line.shape)?)
}

/// Matrices with zeros beyond so many diagonals below and above the main one; negative numbers keep all.
fn band_part(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let (lower, upper) = (c.host_int(1)?, c.host_int(2)?);
    let rank = x.rank();
    if rank < 2 {
        return Err(Failure::refused(format!(
            "input must be at least 2-dim, received shape: {}",
            shown(&x.shape)
        )));
    }
    let out = c.output(0, x.dtype, &x.shape)?;
    if x.is_empty() {
        return Ok(());
    }
    let (rows, columns) = (c.counted(x.shape[rank - 2])?, c.counted(x.shape[rank - 1])?);
    let s = c.steps(crate::dtype::Dtype::I64);
    // Column minus row.
    let place = s.made(
        c"subtract",
        &[(&*columns).into(), (&rows.with_axis(1)).into()],
    )?;
    let mut kept = s.test(c"equal", &[(&place).into(), (&place).into()])?;
    let truth = |kept: &View, more: &View| {
        c.steps(crate::dtype::Dtype::BOOL)
            .test(c"logical_and", &[kept.into(), more.into()])
    };
    if lower >= 0 {
        kept = truth(
            &kept,
            &*s.test(c"greater_equal", &[(&place).into(), (-lower).into()])?,
        )?;
    }
    if upper >= 0 {
        kept = truth(
            &kept,
            &*s.test(c"less_equal", &[(&place).into(), upper.into()])?,
        )?;
    }
    crate::compute::launch(
        c"where",
        &[(&kept).into(), (&x).into(), 0_i64.into()],
        &out,
        0.0,
    )
}
