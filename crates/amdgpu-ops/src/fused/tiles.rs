//! Steps of a region in memory of the host: all of them for a part of the result that stays in the caches, then for the next part. Each step is
//! the Zig library's own, so the result has the bits that the operations give one by one.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Mutex;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Dims, byte_range, coalesce_all, element_count, is_row_major};
use amdgpu_hal::cpu::pool;
use amdgpu_matrix::{ElementwiseOptions, TensorView};
use smallvec::SmallVec;

use super::region::{Region, Source};
use crate::cpu::{HOST, Host, HostMemory};
use crate::elementwise;
use crate::{Error, Result};

/// Of the values of a step in a part: a few of them stay in the second cache of a core, and a call takes a small part of the work.
const TILE_BYTES: i64 = 32 << 10;
/// Results of fewer parts than this are computed by one thread.
const FEW_TILES: u64 = 4;

thread_local! {
    /// Memory of the values between steps.
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Memory of the result of a step, for a function that asks for one.
pub struct Slot(Option<HostMemory>);

impl Slot {
    pub fn new(memory: HostMemory) -> Self {
        Self(Some(memory))
    }
}

impl Host for Slot {
    type Error = Error;

    fn has_out(&self) -> bool {
        true
    }

    fn result(&mut self, _: &[i64], _: Dtype, _: bool) -> Result<HostMemory> {
        self.0
            .take()
            .ok_or_else(|| Error::refused(ErrorCode::Internal, "a step asks for memory twice"))
    }

    fn run<T: Send>(&mut self, _: u64, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        work()
    }
}

/// Where an input or the result lies, seen with the axes that are walked.
struct Walked {
    data: *mut c_void,
    dtype: Dtype,
    strides: Dims,
}

// SAFETY: parts of the result are written by one thread each; inputs are read.
unsafe impl Sync for Walked {}

impl Walked {
    /// The part that begins at an index and has some of the last axes.
    fn part(&self, index: &[i64], shape: &[i64]) -> (*mut c_void, Option<Dims>) {
        let offset: i64 = index
            .iter()
            .zip(self.strides.iter())
            .map(|(at, stride)| at * stride)
            .sum();
        let bytes = offset * self.dtype.size_bytes() as i64;
        let strides = &self.strides[self.strides.len() - shape.len()..];
        let is_dense = is_row_major(shape, strides);
        (
            self.data.wrapping_byte_offset(bytes as isize),
            (!is_dense).then(|| Dims::from_slice(strides)),
        )
    }
}

/// How the result is cut into parts.
struct Tiles<'a> {
    region: &'a Region,
    result: Walked,
    inputs: SmallVec<[Walked; 6]>,
    extents: Dims,
    /// The axis of which a part has `chunk` indices; it has all of those behind it, and one of each before.
    axis: usize,
    chunk: i64,
    slots: Slots,
}

/// For each step the slot of its value; slots are used again when nobody reads what they hold.
struct Slots {
    of_step: Vec<usize>,
    count: usize,
}

impl Slots {
    fn of(region: &Region) -> Self {
        let mut last_use = vec![0; region.steps.len()];
        for (place, step) in region.steps.iter().enumerate() {
            for source in &step.arguments {
                if let Source::Step(read) = source {
                    last_use[*read] = place;
                }
            }
        }
        let (mut free, mut count) = (Vec::new(), 0);
        let mut of_step: Vec<usize> = Vec::with_capacity(region.steps.len());
        for (place, step) in region.steps.iter().enumerate() {
            // The value may replace one that is read for the last time: each element depends on the one in its place.
            let mut dead: SmallVec<[usize; 3]> = step
                .arguments
                .iter()
                .filter_map(|source| match source {
                    Source::Step(read) if last_use[*read] == place => Some(*read),
                    _ => None,
                })
                .collect();
            dead.sort_unstable();
            dead.dedup();
            // One of another width would be written over before it is read.
            let fitting = dead
                .iter()
                .position(|read| region.steps[*read].dtype == step.dtype);
            let slot = match fitting {
                Some(index) => of_step[dead.remove(index)],
                None => free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                }),
            };
            free.extend(dead.iter().map(|read| of_step[*read]));
            of_step.push(slot);
        }
        Self { of_step, count }
    }
}

/// Computes a region in memory of the host; views are its inputs.
///
/// # Errors
///
/// `shape-mismatch`; those of the host and of the steps.
pub fn on_host<H: Host>(
    region: &Region,
    views: &[TensorView<'_>],
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let shapes = views.iter().map(TensorView::shape);
    let Some(shape) = amdgpu_array::broadcast_shapes(shapes) else {
        let all: Vec<_> = views.iter().map(TensorView::shape).collect();
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!("{}: shapes {all:?} do not broadcast", region.name()),
        )
        .into());
    };
    let memory = host.result(&shape, region.dtype(), false)?;
    let work = element_count(&shape) as u64 * region.steps.len() as u64;
    Ok(host.run(work, move || compute(region, views, &memory))?)
}

fn compute(region: &Region, views: &[TensorView<'_>], memory: &HostMemory) -> Result<()> {
    let shape = memory.shape();
    if shape.contains(&0) {
        return Ok(());
    }
    check_apart(region, views, memory)?;
    let result_strides = memory.strides();
    let wide: SmallVec<[Dims; 6]> = views
        .iter()
        .map(|view| broadcast_strides(view, shape.len()))
        .collect();
    let all: SmallVec<[&[i64]; 7]> = std::iter::once(result_strides.as_slice())
        .chain(wide.iter().map(Dims::as_slice))
        .collect();
    let (extents, strides) = coalesce_all(shape, &all);
    let widest = region
        .steps
        .iter()
        .map(|step| step.dtype.size_bytes())
        .max()
        .unwrap_or(1);
    let most = TILE_BYTES / widest as i64;
    let (mut axis, mut behind) = (extents.len() - 1, 1);
    while axis > 0 && behind * extents[axis] <= most {
        behind *= extents[axis];
        axis -= 1;
    }
    let walked = |data: *mut c_void, dtype: Dtype, strides: &Dims| Walked {
        data,
        dtype,
        strides: strides.clone(),
    };
    let tiles = Tiles {
        region,
        result: walked(memory.data(), memory.dtype(), &strides[0]),
        inputs: views
            .iter()
            .zip(&strides[1..])
            .map(|(view, strides)| walked(view.data().cast_mut(), view.dtype(), strides))
            .collect(),
        axis,
        chunk: (most / behind).clamp(1, extents[axis]),
        extents,
        slots: Slots::of(region),
    };
    tiles.run()
}

/// Refuses a result that shares memory with an input without being the same view of it.
fn check_apart(region: &Region, views: &[TensorView<'_>], memory: &HostMemory) -> Result<()> {
    let range = |data: *const c_void, shape: &[i64], strides: &[i64], dtype: Dtype| {
        let (first, last) = byte_range(shape, strides, dtype.size_bytes()).unwrap_or_default();
        (data.addr() as i64 + first, data.addr() as i64 + last)
    };
    let own_strides = memory.strides();
    let own = range(memory.data(), memory.shape(), &own_strides, memory.dtype());
    for view in views {
        let strides = broadcast_strides(view, view.shape().len());
        let other = range(view.data(), view.shape(), &strides, view.dtype());
        let is_same = view.data() == memory.data().cast_const()
            && view.dtype() == memory.dtype()
            && view.shape() == memory.shape()
            && strides == without_ones(memory.shape(), &own_strides);
        if own.0 < other.1 && other.0 < own.1 && !is_same {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{}: out overlaps an input without being the same view",
                    region.name()
                ),
            ));
        }
    }
    Ok(())
}

/// Strides of a view that broadcasts to so many axes; 0 along those that it lacks.
pub fn broadcast_strides(view: &TensorView<'_>, rank: usize) -> Dims {
    let shape = view.shape();
    let dense = amdgpu_array::row_major(shape);
    let own = view.strides().unwrap_or(&dense);
    let mut strides = Dims::from_elem(0, rank - shape.len());
    strides.extend_from_slice(&without_ones(shape, own));
    strides
}

/// Strides, with 0 for axes of one element, whose strides are never walked.
fn without_ones(shape: &[i64], strides: &[i64]) -> Dims {
    let walked = shape.iter().zip(strides);
    walked
        .map(|(extent, stride)| if *extent == 1 { 0 } else { *stride })
        .collect()
}

impl Tiles<'_> {
    fn run(&self) -> Result<()> {
        let chunks = self.extents[self.axis].div_euclid(self.chunk)
            + i64::from(self.extents[self.axis] % self.chunk != 0);
        let outer: i64 = self.extents[..self.axis].iter().product();
        let count = (outer * chunks) as u64;
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let task = |range: Range<u64>| {
            let outcome =
                SCRATCH.with_borrow_mut(|scratch| self.compute_range(range, chunks, scratch));
            if let (Err(error), Ok(mut first)) = (outcome, failed.lock()) {
                first.get_or_insert(error);
            }
        };
        if count < FEW_TILES {
            task(0..count);
        } else {
            pool::global().parallel_for(count, 1, &task)?;
        }
        match failed.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn compute_range(&self, range: Range<u64>, chunks: i64, scratch: &mut Vec<u64>) -> Result<()> {
        let words = (TILE_BYTES as usize / 8 + 8) * self.slots.count;
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        let mut index = Dims::from_elem(0, self.extents.len());
        for tile in range {
            let (mut outer, chunk) = (tile as i64 / chunks, tile as i64 % chunks);
            for axis in (0..self.axis).rev() {
                index[axis] = outer % self.extents[axis];
                outer /= self.extents[axis];
            }
            index[self.axis] = chunk * self.chunk;
            let mut shape = Dims::from_slice(&self.extents[self.axis..]);
            shape[0] = self.chunk.min(self.extents[self.axis] - index[self.axis]);
            self.compute_tile(&index, &shape, scratch.as_mut_ptr())?;
        }
        Ok(())
    }

    fn compute_tile(&self, index: &[i64], shape: &[i64], scratch: *mut u64) -> Result<()> {
        let slot_words = TILE_BYTES as usize / 8 + 8;
        let lent: SmallVec<[(*mut c_void, Option<Dims>); 6]> = self
            .inputs
            .iter()
            .map(|input| input.part(index, shape))
            .collect();
        for place in 0..self.region.steps.len() {
            let tile = Tile {
                of: self,
                index,
                shape,
                lent: &lent,
                slots: scratch,
                slot_words,
            };
            tile.compute_step(place)?;
        }
        Ok(())
    }
}

/// A part of the result under way.
struct Tile<'a> {
    of: &'a Tiles<'a>,
    index: &'a [i64],
    shape: &'a [i64],
    /// The parts of the inputs, with their strides where they have gaps.
    lent: &'a [(*mut c_void, Option<Dims>)],
    slots: *mut u64,
    slot_words: usize,
}

impl Tile<'_> {
    /// Within the scratch memory, which has a place for each slot.
    fn slot(&self, step: usize) -> *mut c_void {
        let words = self.of.slots.of_step[step] * self.slot_words;
        self.slots.wrapping_add(words).cast()
    }

    fn compute_step(&self, place: usize) -> Result<()> {
        let step = &self.of.region.steps[place];
        let numbers: SmallVec<[u64; 3]> = step
            .arguments
            .iter()
            .map(|source| match source {
                Source::Number(number, dtype) => number.element(*dtype),
                _ => 0,
            })
            .collect();
        let mut views: SmallVec<[TensorView<'_>; 3]> = SmallVec::new();
        for (source, number) in step.arguments.iter().zip(&numbers) {
            views.push(self.view(*source, number)?);
        }
        let options = ElementwiseOptions {
            alpha: step.alpha,
            thread_limit: Some(1),
        };
        let mut host = Slot::new(self.target(place));
        elementwise::on_host(step.operation, &views, &options, &mut host)?;
        Ok(())
    }

    fn view<'a>(&'a self, source: Source, number: &'a u64) -> Result<TensorView<'a>> {
        type Lent<'a> = (*const c_void, Dtype, &'a [i64], Option<&'a [i64]>);
        let (data, dtype, extents, strides): Lent<'a> = match source {
            Source::Number(_, dtype) => (std::ptr::from_ref(number).cast(), dtype, &[], None),
            Source::Step(read) => {
                let dtype = self.of.region.steps[read].dtype;
                (self.slot(read).cast_const(), dtype, self.shape, None)
            }
            Source::Input(read) => {
                let (data, strides) = &self.lent[read];
                let dtype = self.of.inputs[read].dtype;
                (data.cast_const(), dtype, self.shape, strides.as_deref())
            }
        };
        // SAFETY: parts lie within the inputs, whose views the caller holds; values of steps in their slots; the number is borrowed.
        let view = unsafe { TensorView::from_parts(data, dtype, HOST, extents, strides) };
        Ok(view?)
    }

    /// Where a step's value goes: the last one's to the result, others' to their slots.
    fn target(&self, place: usize) -> HostMemory {
        let dtype = self.of.region.steps[place].dtype;
        let (data, strides) = if place + 1 == self.of.region.steps.len() {
            self.of.result.part(self.index, self.shape)
        } else {
            (self.slot(place), None)
        };
        match strides {
            // SAFETY: the part lies within the result, and no other thread writes to it.
            Some(strides) => unsafe { HostMemory::strided(data, dtype, self.shape, strides) },
            // SAFETY: the same, or a slot, which holds as many elements of the widest dtype and is read in its place alone.
            None => unsafe { HostMemory::dense(data, dtype, self.shape) },
        }
    }
}
