//! A normalisation with the elementwise steps before and after it: for some rows at a time, so that what lies between stays in the caches.
//!
//! Each part is computed by the function that computes it alone, so the result has the bits of the operations one by one. Devices other than
//! CPUs compute the parts one after the other.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Mutex;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce_all, element_count, is_row_major};
use amdgpu_hal::cpu::pool;
use amdgpu_matrix::{NormalizeOptions, RowAxes, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, HOST, Host, HostMemory, Outs, Results};
use crate::fused::{self, Region, Slot, broadcast_strides};
use crate::operation::Normalization;
use crate::{DeviceOps, Error, Operand, Result, normalize};

const NAME: &str = "rows";
/// Of the values of a part of the chain in a block of rows: those between the parts stay in the second cache of a core. Half of it takes 1.1 times
/// as long, a quarter 1.3 times.
const BLOCK_BYTES: i64 = 256 << 10;
/// Results of fewer blocks than this are computed by one thread.
const FEW_BLOCKS: u64 = 3;

thread_local! {
    /// Memory of the values between the parts.
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A normalisation over the last axes, with what surrounds it. Inputs are those of the steps before it, or what is normalised; its parameters;
/// those of the steps behind it but for the first, which is what the normalisation gives.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChain {
    /// Gives what is normalised.
    pub before: Option<Region>,
    pub norm: Normalization,
    /// Scale and shift, as far as they are there.
    pub parameters: usize,
    /// Its first input is what the normalisation gives.
    pub after: Option<Region>,
    /// Whether what is normalised is the second result.
    pub keeps_before: bool,
}

impl RowChain {
    /// How many results it has.
    #[must_use]
    pub fn results(&self) -> usize {
        1 + usize::from(self.keeps_before)
    }

    /// How many inputs the steps before the normalisation take: one where there are none.
    #[must_use]
    pub fn leading(&self) -> usize {
        self.before.as_ref().map_or(1, |before| before.inputs.len())
    }

    /// How many inputs it takes.
    #[must_use]
    pub fn arity(&self) -> usize {
        let following = self.after.as_ref().map_or(1, |after| after.inputs.len());
        self.leading() + self.parameters + following - 1
    }

    /// Names of the operations, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<&'static str> {
        let of_region = |region: &Option<Region>| -> Vec<&'static str> {
            let steps = region.iter().flat_map(|region| &region.steps);
            steps.map(|step| step.operation.name()).collect()
        };
        let mut names = of_region(&self.before);
        names.push(self.norm.operation.name());
        names.extend(of_region(&self.after));
        names
    }

    /// All results, in `outs` where they are given.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of the parts.
    pub fn run(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        outs: &[Option<&Array>],
    ) -> Result<Results> {
        if inputs.len() != self.arity() {
            return Err(refused(format!(
                "{NAME} takes {} inputs, not {}",
                self.arity(),
                inputs.len()
            )));
        }
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let call = Call {
            ops,
            family: "fused",
            name: NAME,
            inputs: &named,
            out: None,
        };
        cpu::run_outs(
            &call,
            outs,
            || self.one_by_one(ops, inputs, outs),
            |views, host| self.on_host(views, host),
        )
    }

    fn one_by_one(&self, ops: &DeviceOps, inputs: &[Operand], outs: &Outs<'_>) -> Result<Results> {
        let out = |place: usize| outs.get(place).copied().flatten();
        let (given, rest) = inputs.split_at(self.leading());
        let (parameters, following) = rest.split_at(self.parameters);
        let kept = out(1).filter(|_| self.keeps_before);
        let x = match &self.before {
            Some(before) => Operand::of_array(before.run(ops, given, kept)?),
            None => given[0].clone(),
        };
        let own = out(0).filter(|_| self.after.is_none());
        let (norm, options) = (self.norm.operation, self.norm.options());
        let normalised = normalize::normalize(ops, norm, &x, parameters, own, &options)?;
        let result = match &self.after {
            Some(after) => {
                let mut all: SmallVec<[Operand; 6]> = SmallVec::new();
                all.push(Operand::of_array(normalised));
                all.extend(following.iter().cloned());
                after.run(ops, &all, out(0))?
            }
            None => normalised,
        };
        let mut results = Results::from_iter([result]);
        if self.keeps_before {
            results.push(x.into_array()?);
        }
        Ok(results)
    }

    /// Computes the chain in memory of the host, which is asked for the result first and then for what is normalised, if that is a result.
    fn on_host<H: Host<Error = Error>>(
        &self,
        views: &[TensorView<'_>],
        host: &mut H,
    ) -> Result<()> {
        let (given, rest) = views.split_at(self.leading());
        let (parameters, following) = rest.split_at(self.parameters);
        let of = |views: &[TensorView<'_>]| {
            amdgpu_array::broadcast_shapes(views.iter().map(TensorView::shape))
        };
        let shape = of(given).ok_or_else(|| mismatch(given))?;
        let all: Vec<TensorView<'_>> = given.iter().chain(following).copied().collect();
        if of(&all).is_none_or(|together| together != shape) {
            return Err(mismatch(&all));
        }
        let axes = self.norm.options().axes.resolve(NAME, &shape)?;
        let lead = shape.len() - axes.len();
        if !axes.iter().copied().eq(lead..shape.len()) {
            return Err(refused(format!("{NAME}: axes {axes:?} are not the last")));
        }
        let dtype = self
            .before
            .as_ref()
            .map_or_else(|| given[0].dtype(), Region::dtype);
        let result = self.after.as_ref().map_or(dtype, Region::dtype);
        let memory = host.result(&shape, result, false)?;
        let kept = if self.keeps_before {
            Some(host.result(&shape, dtype, false)?)
        } else {
            None
        };
        let steps = self.steps().len() as u64;
        let work = (element_count(&shape) as u64).saturating_mul(steps);
        host.run(work, move || {
            if shape.contains(&0) {
                return Ok(());
            }
            let blocks = Blocks::of(
                self,
                (&shape, lead),
                dtype,
                [given, following],
                [Some(&memory), kept.as_ref()],
            );
            blocks.run(parameters)
        })
    }
}

fn refused(message: String) -> Error {
    Error::refused(ErrorCode::InvalidArgument, message)
}

fn mismatch(views: &[TensorView<'_>]) -> Error {
    let shapes: Vec<_> = views.iter().map(TensorView::shape).collect();
    Error::refused(
        ErrorCode::ShapeMismatch,
        format!("{NAME}: shapes {shapes:?} do not broadcast to that of what is normalised"),
    )
}

/// Where a tensor lies: with strides of the axes that are walked, and of those of a row.
struct Walked {
    data: *mut c_void,
    dtype: Dtype,
    outer: Dims,
    inner: Dims,
}

// SAFETY: blocks of results are written by one thread each; inputs are read.
unsafe impl Sync for Walked {}

/// Some of a tensor's rows, or memory between parts.
#[derive(Clone)]
struct Block {
    data: *mut c_void,
    dtype: Dtype,
    /// `None` without gaps.
    strides: Option<Dims>,
}

impl Block {
    fn view<'a>(&'a self, shape: &'a [i64]) -> Result<TensorView<'a>> {
        let strides = self.strides.as_deref();
        // SAFETY: blocks lie within tensors that the caller holds, or within the scratch memory.
        Ok(unsafe { TensorView::from_parts(self.data, self.dtype, HOST, shape, strides) }?)
    }

    fn memory(&self, shape: &[i64]) -> Slot {
        Slot::new(match self.strides.clone() {
            // SAFETY: the block lies within a result, and no other thread writes to it.
            Some(strides) => unsafe { HostMemory::strided(self.data, self.dtype, shape, strides) },
            // SAFETY: the same, or this thread's scratch memory, which is large enough.
            None => unsafe { HostMemory::dense(self.data, self.dtype, shape) },
        })
    }
}

/// How the rows are cut into blocks.
struct Blocks<'a> {
    chain: &'a RowChain,
    /// Of what is normalised.
    dtype: Dtype,
    result: Walked,
    kept: Option<Walked>,
    given: SmallVec<[Walked; 6]>,
    following: SmallVec<[Walked; 6]>,
    /// Of the axes before those of a row.
    extents: Dims,
    /// Of a row.
    row: Dims,
    /// The axis of which a block has `chunk` indices; it has all of those behind it, and one of each before.
    axis: usize,
    chunk: i64,
}

impl<'a> Blocks<'a> {
    fn of(
        chain: &'a RowChain,
        (shape, lead): (&[i64], usize),
        dtype: Dtype,
        [given, following]: [&[TensorView<'_>]; 2],
        [result, kept]: [Option<&HostMemory>; 2],
    ) -> Self {
        let memories: SmallVec<[&HostMemory; 2]> = result.into_iter().chain(kept).collect();
        let of_memory = memories
            .iter()
            .map(|one| (one.data(), one.dtype(), one.strides()));
        let of_views = given.iter().chain(following).map(|one| {
            let strides = broadcast_strides(one, shape.len());
            (one.data().cast_mut(), one.dtype(), strides)
        });
        let all: Vec<(*mut c_void, Dtype, Dims)> = of_memory.chain(of_views).collect();
        let outer: Vec<&[i64]> = all.iter().map(|(_, _, strides)| &strides[..lead]).collect();
        let (mut extents, mut merged) = coalesce_all(&shape[..lead], &outer);
        if extents.is_empty() {
            extents.push(1);
            let row = element_count(&shape[lead..]);
            for strides in &mut merged {
                strides.push(row);
            }
        }
        let widest = all.iter().map(|(_, dtype, _)| dtype.size_bytes()).max();
        let row_bytes = element_count(&shape[lead..]) * widest.unwrap_or(8) as i64;
        let most = (BLOCK_BYTES / row_bytes.max(1)).max(1);
        let (mut axis, mut behind) = (extents.len() - 1, 1);
        while axis > 0 && behind * extents[axis] <= most {
            behind *= extents[axis];
            axis -= 1;
        }
        let chunk = (most / behind).clamp(1, extents[axis]);
        let mut walked = all
            .into_iter()
            .zip(merged)
            .map(|((data, dtype, strides), outer)| Walked {
                data,
                dtype,
                outer,
                inner: Dims::from_slice(&strides[lead..]),
            });
        let Some(result) = walked.next() else {
            unreachable!("there is a result")
        };
        let kept = kept.and_then(|_| walked.next());
        Self {
            chain,
            dtype,
            result,
            kept,
            given: walked.by_ref().take(given.len()).collect(),
            following: walked.collect(),
            extents,
            row: Dims::from_slice(&shape[lead..]),
            axis,
            chunk,
        }
    }

    fn run(&self, parameters: &[TensorView<'_>]) -> Result<()> {
        let extent = self.extents[self.axis];
        let chunks = extent.div_euclid(self.chunk) + i64::from(extent % self.chunk != 0);
        let outer: i64 = self.extents[..self.axis].iter().product();
        let count = (outer * chunks) as u64;
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let task = |range: Range<u64>| {
            let mut blocks = range;
            let outcome = SCRATCH.with_borrow_mut(|scratch| {
                blocks.try_for_each(|block| self.compute(block, chunks, parameters, scratch))
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

    fn compute(
        &self,
        block: u64,
        chunks: i64,
        parameters: &[TensorView<'_>],
        scratch: &mut Vec<u64>,
    ) -> Result<()> {
        let (mut outer, chunk) = (block as i64 / chunks, block as i64 % chunks);
        let mut index = Dims::from_elem(0, self.extents.len());
        for axis in (0..self.axis).rev() {
            index[axis] = outer % self.extents[axis];
            outer /= self.extents[axis];
        }
        index[self.axis] = chunk * self.chunk;
        let mut shape = Dims::from_slice(&self.extents[self.axis..]);
        shape[0] = self.chunk.min(self.extents[self.axis] - index[self.axis]);
        shape.extend_from_slice(&self.row);
        let bytes = element_count(&shape) as usize * self.dtype.size_bytes();
        let words = bytes.div_ceil(size_of::<u64>());
        if scratch.len() < 2 * words {
            scratch.resize(2 * words, 0);
        }
        let base = scratch.as_mut_ptr();
        let between = |place: usize| Block {
            data: base.wrapping_add(place * words).cast(),
            dtype: self.dtype,
            strides: None,
        };
        self.parts(&index, &shape, parameters, [between(0), between(1)])
    }

    /// The parts of the chain for a block, one after the other.
    fn parts(
        &self,
        index: &[i64],
        shape: &[i64],
        parameters: &[TensorView<'_>],
        [before, normalised]: [Block; 2],
    ) -> Result<()> {
        let part = |walked: &Walked| self.part(walked, index, shape);
        let given: SmallVec<[Block; 6]> = self.given.iter().map(part).collect();
        let x = match &self.chain.before {
            Some(region) => {
                let made = self.kept.as_ref().map_or(before, part);
                on_views(region, &given, shape, &made)?;
                made
            }
            None => given[0].clone(),
        };
        let result = part(&self.result);
        let target = if self.chain.after.is_some() {
            &normalised
        } else {
            &result
        };
        let options = NormalizeOptions {
            axes: RowAxes::Last(&self.row),
            epsilon: self.chain.norm.epsilon,
            thread_limit: Some(1),
        };
        let norm = self.chain.norm.operation;
        let mut host = target.memory(shape);
        normalize::on_host(norm, &x.view(shape)?, parameters, &options, &mut host)?;
        if let Some(region) = &self.chain.after {
            let mut inputs: SmallVec<[Block; 6]> = SmallVec::new();
            inputs.push(normalised.clone());
            inputs.extend(self.following.iter().map(part));
            on_views(region, &inputs, shape, &result)?;
        }
        Ok(())
    }

    /// The rows of a tensor that begin at an index.
    fn part(&self, walked: &Walked, index: &[i64], shape: &[i64]) -> Block {
        let steps = index.iter().zip(walked.outer.iter());
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

fn on_views(region: &Region, inputs: &[Block], shape: &[i64], result: &Block) -> Result<()> {
    let views = inputs
        .iter()
        .map(|block| block.view(shape))
        .collect::<Result<SmallVec<[TensorView<'_>; 6]>>>()?;
    fused::on_host(region, &views, &mut result.memory(shape))
}
