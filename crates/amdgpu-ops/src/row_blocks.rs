//! Tensors cut into blocks of rows, each of which is computed as a whole, so that what lies between the steps stays in the caches.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Mutex;

use amdgpu_abi::Dtype;
use amdgpu_array::{Dims, coalesce_all, element_count, is_row_major};
use amdgpu_hal::cpu::pool;
use amdgpu_matrix::TensorView;
use smallvec::SmallVec;

use crate::cpu::{HOST, HostMemory};
use crate::fused::{self, Region, Slot};
use crate::{Error, Result};

/// Of the values of a step in a block of rows: those between the steps stay in the second cache of a core. Half of it takes 1.1 times as long, a
/// quarter 1.3 times.
pub const BLOCK_BYTES: i64 = 256 << 10;
/// Results of fewer blocks than this are computed by one thread.
const FEW_BLOCKS: u64 = 3;

thread_local! {
    /// Memory of the values between the steps.
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Memory, dtype and strides of a tensor, which broadcasts to the axes that are cut.
pub type Tensor = (*mut c_void, Dtype, Dims);

/// Where a tensor lies: with strides of the axes that are walked, and of those of a row.
pub struct Walked {
    data: *mut c_void,
    pub dtype: Dtype,
    outer: Dims,
    inner: Dims,
}

// SAFETY: blocks of results are written by one thread each; inputs are read.
unsafe impl Sync for Walked {}

/// Some of a tensor's rows, or memory between steps.
#[derive(Clone)]
pub struct Block {
    pub data: *mut c_void,
    pub dtype: Dtype,
    /// `None` without gaps.
    pub strides: Option<Dims>,
}

impl Block {
    /// The block to read.
    ///
    /// # Errors
    ///
    /// None for blocks of tensors that the caller holds.
    pub fn view<'a>(&'a self, shape: &'a [i64]) -> Result<TensorView<'a>> {
        let strides = self.strides.as_deref();
        // SAFETY: blocks lie within tensors that the caller holds, or within the scratch memory.
        Ok(unsafe { TensorView::from_parts(self.data, self.dtype, HOST, shape, strides) }?)
    }

    /// The block to write to.
    pub fn memory(&self, shape: &[i64]) -> Slot {
        Slot::new(match self.strides.clone() {
            // SAFETY: the block lies within a result, and no other thread writes to it.
            Some(strides) => unsafe { HostMemory::strided(self.data, self.dtype, shape, strides) },
            // SAFETY: the same, or this thread's scratch memory, which is large enough.
            None => unsafe { HostMemory::dense(self.data, self.dtype, shape) },
        })
    }
}

/// Computes steps for a block; those that broadcast have shapes of their own.
///
/// # Errors
///
/// Those of the steps.
pub fn compute_steps(
    region: &Region,
    inputs: &[(Block, &[i64])],
    shape: &[i64],
    result: &Block,
) -> Result<()> {
    let views = inputs
        .iter()
        .map(|(block, shape)| block.view(shape))
        .collect::<Result<SmallVec<[TensorView<'_>; 6]>>>()?;
    fused::on_host(region, &views, &mut result.memory(shape))
}

/// Which rows a block has.
pub struct Place {
    index: Dims,
    /// Of a block of the full shape: the rows, then the axes of a row.
    pub shape: Dims,
}

impl Place {
    /// Of a block with one value for each row.
    pub fn reduced_shape(&self, row_rank: usize) -> Dims {
        let mut shape = self.shape.clone();
        let lead = shape.len() - row_rank;
        shape[lead..].fill(1);
        shape
    }
}

/// How rows are cut into blocks.
pub struct Cut {
    /// Of the axes before those of a row.
    extents: Dims,
    /// Of a row.
    pub row: Dims,
    /// The axis of which a block has `chunk` indices; it has all of those behind it, and one of each before.
    axis: usize,
    chunk: i64,
}

impl Cut {
    /// Cuts a shape, whose rows begin at axis `lead`, into blocks of at most so many bytes of the widest tensor, but one row at least.
    pub fn of(
        (shape, lead): (&[i64], usize),
        tensors: SmallVec<[Tensor; 8]>,
        block_bytes: i64,
    ) -> (Self, SmallVec<[Walked; 8]>) {
        let outer: SmallVec<[&[i64]; 8]> = tensors
            .iter()
            .map(|(_, _, strides)| &strides[..lead])
            .collect();
        let (mut extents, mut merged) = coalesce_all(&shape[..lead], &outer);
        drop(outer);
        if extents.is_empty() {
            extents.push(1);
            let row = element_count(&shape[lead..]);
            for strides in &mut merged {
                strides.push(row);
            }
        }
        let widest = tensors.iter().map(|(_, dtype, _)| dtype.size_bytes()).max();
        let row_bytes = element_count(&shape[lead..]) * widest.unwrap_or(8) as i64;
        let most = (block_bytes / row_bytes.max(1)).max(1);
        let (mut axis, mut behind) = (extents.len() - 1, 1);
        while axis > 0 && behind * extents[axis] <= most {
            behind *= extents[axis];
            axis -= 1;
        }
        let chunk = (most / behind).clamp(1, extents[axis]);
        let walked = tensors
            .into_iter()
            .zip(merged)
            .map(|((data, dtype, strides), outer)| Walked {
                data,
                dtype,
                outer,
                inner: Dims::from_slice(&strides[lead..]),
            })
            .collect();
        let row = Dims::from_slice(&shape[lead..]);
        let cut = Self {
            extents,
            row,
            axis,
            chunk,
        };
        (cut, walked)
    }

    /// Computes all blocks, each with this thread's scratch memory.
    ///
    /// # Errors
    ///
    /// The first of a block.
    pub fn run(&self, block: impl Fn(&Place, &mut Vec<u64>) -> Result<()> + Sync) -> Result<()> {
        let extent = self.extents[self.axis];
        let chunks = extent.div_euclid(self.chunk) + i64::from(extent % self.chunk != 0);
        let outer: i64 = self.extents[..self.axis].iter().product();
        let count = (outer * chunks) as u64;
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let task = |range: Range<u64>| {
            let mut numbers = range;
            let outcome = SCRATCH.with_borrow_mut(|scratch| {
                numbers.try_for_each(|number| block(&self.place(number, chunks), scratch))
            });
            if let (Err(error), Ok(mut first)) = (outcome, failed.lock()) {
                first.get_or_insert(error);
            }
        };
        if count < FEW_BLOCKS {
            task(0..count);
        } else {
            pool::global().parallel_for(count, 1, &task)?;
        }
        match failed.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn place(&self, number: u64, chunks: i64) -> Place {
        let (mut outer, chunk) = (number as i64 / chunks, number as i64 % chunks);
        let mut index = Dims::from_elem(0, self.extents.len());
        for axis in (0..self.axis).rev() {
            index[axis] = outer % self.extents[axis];
            outer /= self.extents[axis];
        }
        index[self.axis] = chunk * self.chunk;
        let mut shape = Dims::from_slice(&self.extents[self.axis..]);
        shape[0] = self.chunk.min(self.extents[self.axis] - index[self.axis]);
        shape.extend_from_slice(&self.row);
        Place { index, shape }
    }

    /// The rows of a tensor that a block has, in the block's shape or with one value for each row.
    pub fn part(&self, walked: &Walked, place: &Place, shape: &[i64]) -> Block {
        let steps = place.index.iter().zip(walked.outer.iter());
        let offset: i64 = steps.map(|(at, stride)| at * stride).sum();
        let bytes = offset * walked.dtype.size_bytes() as i64;
        let mut strides = Dims::from_slice(&walked.outer[self.axis..]);
        strides.extend_from_slice(&walked.inner);
        Block {
            data: walked.data.wrapping_byte_offset(bytes as isize),
            dtype: walked.dtype,
            strides: (!is_row_major(shape, &strides)).then_some(strides),
        }
    }
}

/// Memory without gaps within the scratch memory, for `count` blocks of so many words.
pub fn slots(scratch: &mut Vec<u64>, words: usize, count: usize) -> *mut u64 {
    if scratch.len() < count * words {
        scratch.resize(count * words, 0);
    }
    scratch.as_mut_ptr()
}
