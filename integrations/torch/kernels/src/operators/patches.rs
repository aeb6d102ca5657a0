//! Patches of images as columns, and columns added up to images again: `unfold` and `fold`.

use super::reduction::steps_in;
use super::table;
use crate::call::{Call, Results, check_float, tensors, written};
use crate::compute::{Number, cast, contiguous};
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View, row_major};

table! {
    c"aten::im2col" => |c| Ok(tensors([columns(c)?])),
    c"aten::im2col.out" => |c| to_out(c, &columns(c)?),
    c"aten::col2im" => |c| Ok(tensors([images(c)?])),
    c"aten::col2im.out" => |c| to_out(c, &images(c)?),
}

/// Taps that columns of one call have at most: their sums are a launch for each.
const MAX_TAPS: i64 = 1024;

fn to_out(c: &Call, made: &Tensor) -> Outcome<Results> {
    cast(made, &c.last()?.resized(&made.shape)?)?;
    written()
}

/// Windows that slide along rows and columns of images of an extent.
struct Windows {
    kernel: [i64; 2],
    dilation: [i64; 2],
    padding: [i64; 2],
    stride: [i64; 2],
    /// Of the images with their padding.
    padded: [i64; 2],
    /// Windows along each axis.
    count: [i64; 2],
}

impl Windows {
    /// The four pairs from an argument on.
    fn of(c: &Call, first: usize, extents: [i64; 2]) -> Outcome<Self> {
        let pair = |place: usize| -> Outcome<[i64; 2]> {
            match *c.ints(first + place)? {
                [both] => Ok([both; 2]),
                [rows, columns] => Ok([rows, columns]),
                ref other => Err(Failure::refused(format!(
                    "{}: two values are expected, not {other:?}",
                    c.name
                ))),
            }
        };
        let (kernel, dilation, padding, stride) = (pair(0)?, pair(1)?, pair(2)?, pair(3)?);
        let are_positive = [kernel, dilation, stride]
            .iter()
            .flatten()
            .all(|one| *one > 0);
        if !are_positive || padding.iter().any(|one| *one < 0) {
            return Err(Failure::refused(format!(
                "{}: kernel {kernel:?}, dilation {dilation:?} and stride {stride:?} should be greater than zero, and padding {padding:?} not negative",
                c.name
            )));
        }
        let padded = [0, 1].map(|axis| extents[axis] + 2 * padding[axis]);
        let count = [0, 1].map(|axis| {
            let reach = dilation[axis] * (kernel[axis] - 1) + 1;
            (padded[axis] - reach).div_euclid(stride[axis]) + 1
        });
        if count.iter().any(|one| *one < 1) {
            return Err(Failure::refused(format!(
                "{}: windows of {kernel:?} with dilation {dilation:?} do not fit images of {extents:?} with padding {padding:?}",
                c.name
            )));
        }
        Ok(Self {
            kernel,
            dilation,
            padding,
            stride,
            padded,
            count,
        })
    }

    fn taps(&self) -> i64 {
        self.kernel[0] * self.kernel[1]
    }

    /// Padded images (batch, channels, rows, columns) as (batch, channels, taps along both axes, windows along both axes).
    fn seen(&self, padded: &View) -> View {
        let strides = &padded.strides;
        let along = |steps: [i64; 2]| [strides[2] * steps[0], strides[3] * steps[1]];
        let (taps, windows) = (along(self.dilation), along(self.stride));
        padded.with_layout(
            Dims::from_slice(&[
                padded.shape[0],
                padded.shape[1],
                self.kernel[0],
                self.kernel[1],
                self.count[0],
                self.count[1],
            ]),
            Dims::from_slice(&[
                strides[0], strides[1], taps[0], taps[1], windows[0], windows[1],
            ]),
        )
    }

    /// The images within their padding.
    fn inner(&self, padded: &View) -> View {
        let rows = self.padded[0] - 2 * self.padding[0];
        let columns = self.padded[1] - 2 * self.padding[1];
        padded
            .narrow(2, self.padding[0], rows)
            .narrow(3, self.padding[1], columns)
    }
}

/// An axis for the batch, where there is none.
fn batched(x: &View, rank: usize) -> Outcome<View> {
    match x.rank() {
        own if own == rank => Ok(x.clone()),
        own if own + 1 == rank => Ok(x.with_axis(0)),
        own => Err(Failure::refused(format!(
            "Expected a tensor of {} or {rank} axes, but got {own}",
            rank - 1
        ))),
    }
}

fn columns(c: &Call) -> Outcome<Tensor> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let images = batched(x, 4)?;
    let windows = Windows::of(c, 0, [images.shape[2], images.shape[3]])?;
    let (batch, channels) = (images.shape[0], images.shape[1]);
    let rows = channels * windows.taps();
    let across = windows.count[0] * windows.count[1];
    let shape = [batch, rows, across];
    let made = Tensor::empty(&shape[usize::from(x.rank() == 3)..], x.dtype, x.place)?;
    if made.is_empty() {
        return Ok(made);
    }
    let held;
    let padded = if windows.padding == [0; 2] {
        &images
    } else {
        let extents = [batch, channels, windows.padded[0], windows.padded[1]];
        held = Tensor::empty(&extents, x.dtype, x.place)?;
        cast(Number::Int(0), &held)?;
        cast(&images, &windows.inner(&held))?;
        &*held
    };
    let seen = windows.seen(padded);
    let target = made.with_layout(seen.shape.clone(), row_major(&seen.shape));
    cast(&seen, &target)?;
    Ok(made)
}

fn images(c: &Call) -> Outcome<Tensor> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let extents = match *c.ints(0)? {
        [both] => [both; 2],
        [rows, columns] => [rows, columns],
        _ => return Err(Failure::refused("output_size is two values")),
    };
    let windows = Windows::of(c, 1, extents)?;
    let given = batched(x, 3)?;
    let (taps, across) = (windows.taps(), windows.count[0] * windows.count[1]);
    let fits = given.shape[1] % taps == 0 && given.shape[2] == across;
    if !fits {
        return Err(Failure::refused(format!(
            "Expected columns of a multiple of {taps} values for {across} windows, but got {:?}",
            x.shape.as_slice()
        )));
    }
    if taps > MAX_TAPS {
        return Err(Failure::no_kernel(
            "columns of so large windows have no kernel",
        ));
    }
    let (batch, channels) = (given.shape[0], given.shape[1] / taps);
    let shape = [batch, channels, extents[0], extents[1]];
    let made = Tensor::empty(&shape[usize::from(x.rank() == 2)..], x.dtype, x.place)?;
    if made.is_empty() {
        return Ok(made);
    }
    let s = steps_in(x.dtype.wide(), x.place);
    let padded = [batch, channels, windows.padded[0], windows.padded[1]];
    let sums = Tensor::empty(&padded, s.dtype, x.place)?;
    cast(Number::Int(0), &sums)?;
    let (places, dense) = (windows.seen(&sums), contiguous(&given)?);
    let columns = dense.with_layout(places.shape.clone(), row_major(&places.shape));
    // Windows meet in pixels, but those of one tap do not.
    for tap in 0..taps {
        let [row, column] = [tap / windows.kernel[1], tap % windows.kernel[1]];
        let of_tap = |view: &View| {
            let view = view.narrow(2, row, 1).narrow(3, column, 1);
            view.without_axis(3).without_axis(2)
        };
        let place = of_tap(&places);
        let part = of_tap(&columns);
        s.into(c"add", &[(&place).into(), (&part).into()], &place)?;
    }
    cast(&windows.inner(&sums), &batched(&made, 4)?)?;
    Ok(made)
}
