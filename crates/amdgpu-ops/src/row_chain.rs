//! A normalisation with the elementwise steps before and after it: for some rows at a time, so that what lies between stays in the caches.
//!
//! Each part is computed by the function that computes it alone, so the result has the bits of the operations one by one. Devices other than
//! CPUs compute the parts one after the other.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, element_count};
use amdgpu_matrix::{NormalizeOptions, RowAxes, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, HostMemory, Outs, Results};
use crate::fused::{Region, broadcast_strides};
use crate::operation::Normalization;
use crate::row_blocks::{BLOCK_BYTES, Block, Cut, Place, Tensor, Walked, compute_steps, slots};
use crate::{DeviceOps, Error, Operand, Result, normalize};

const NAME: &str = "rows";

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

/// How the rows of a chain are computed.
struct Blocks<'a> {
    chain: &'a RowChain,
    /// Of what is normalised.
    dtype: Dtype,
    cut: Cut,
    result: Walked,
    kept: Option<Walked>,
    given: SmallVec<[Walked; 6]>,
    following: SmallVec<[Walked; 6]>,
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
        let tensors: SmallVec<[Tensor; 8]> = of_memory.chain(of_views).collect();
        let (cut, walked) = Cut::of((shape, lead), tensors, BLOCK_BYTES);
        let mut walked = walked.into_iter();
        let Some(result) = walked.next() else {
            unreachable!("there is a result")
        };
        let kept = kept.and_then(|_| walked.next());
        Self {
            chain,
            dtype,
            cut,
            result,
            kept,
            given: walked.by_ref().take(given.len()).collect(),
            following: walked.collect(),
        }
    }

    fn run(&self, parameters: &[TensorView<'_>]) -> Result<()> {
        self.cut.run(|place, scratch| {
            let bytes = element_count(&place.shape) as usize * self.dtype.size_bytes();
            let words = bytes.div_ceil(size_of::<u64>());
            let base = slots(scratch, words, 2);
            let between = |slot: usize| Block {
                data: base.wrapping_add(slot * words).cast(),
                dtype: self.dtype,
                strides: None,
            };
            self.parts(place, parameters, [between(0), between(1)])
        })
    }

    /// The parts of the chain for a block, one after the other.
    fn parts(
        &self,
        place: &Place,
        parameters: &[TensorView<'_>],
        [before, normalised]: [Block; 2],
    ) -> Result<()> {
        let shape = place.shape.as_slice();
        let part = |walked: &Walked| self.cut.part(walked, place, shape);
        let given: SmallVec<[Block; 6]> = self.given.iter().map(part).collect();
        let x = match &self.chain.before {
            Some(region) => {
                let made = self.kept.as_ref().map_or(before, part);
                on_blocks(region, &given, shape, &made)?;
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
            axes: RowAxes::Last(&self.cut.row),
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
            on_blocks(region, &inputs, shape, &result)?;
        }
        Ok(())
    }
}

fn on_blocks(region: &Region, inputs: &[Block], shape: &[i64], result: &Block) -> Result<()> {
    let inputs: SmallVec<[(Block, &[i64]); 6]> =
        inputs.iter().map(|one| (one.clone(), shape)).collect();
    compute_steps(region, &inputs, shape, result)
}
