//! A call of the kernels with everything checked.

use std::sync::Arc;

use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Attention as Views, AttentionOptions, Described};
use smallvec::SmallVec;

use super::blocks::{Blocks, Extents};
use crate::archived::Flash;
use crate::cpu::Outs;
use crate::div_ceil::DivCeil;
use crate::generated::attention::{AttentionKernel, SIZE_LIMIT};
use crate::generated::loss::computed;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

/// What attention is computed of: queries (batch..., heads, length, size), keys and values (batch..., key heads, keys, size), of which each head serves
/// as many heads of queries as there are to each of them.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    pub q: &'a Operand,
    pub k: &'a Operand,
    pub v: &'a Operand,
    /// Truth values, or what is added to the scores, broadcast to (batch..., heads, length, keys).
    pub mask: Option<&'a Operand>,
}

impl<'a> Attention<'a> {
    /// Operands in the order of graphs.
    pub(super) fn named(
        &self,
        gradient: Option<&'a Operand>,
    ) -> SmallVec<[(&'a str, &'a Operand); 5]> {
        let mut named = SmallVec::new();
        named.extend([("q", self.q), ("k", self.k), ("v", self.v)]);
        named.extend(gradient.map(|one| ("gradient", one)));
        named.extend(self.mask.map(|one| ("mask", one)));
        named
    }
}

/// A call with everything checked.
pub(super) struct KernelCall<'a> {
    pub ops: &'a DeviceOps,
    pub text: AttentionKernel,
    pub result: Described,
    pub scale: f64,
    pub q: &'a Operand,
    pub k: &'a Operand,
    pub v: &'a Operand,
    /// Broadcast to the scores.
    mask: Option<Operand>,
    /// Axes of the scores in front of queries and keys.
    outer: Dims,
}

impl<'a> KernelCall<'a> {
    pub fn of(
        ops: &'a DeviceOps,
        given: &Attention<'a>,
        gradient: Option<&Operand>,
        options: &AttentionOptions,
    ) -> Result<Self> {
        let views = Views {
            q: given.q.view(),
            k: given.k.view(),
            v: given.v.view(),
            mask: given.mask.map(Operand::view),
            gradient: gradient.map(Operand::view),
        };
        for (argument, operand) in given.named(gradient) {
            operand.check_dtype(views.name(), argument)?;
        }
        let result = views.describe()?;
        let scores = views.scores();
        let [size, value_size] = [given.q, given.v].map(|one| one.shape[one.rank() - 1]);
        if size * value_size == 0 {
            return Err(Error::no_kernel(format!(
                "{} of queries and values of no elements",
                views.name()
            )));
        }
        let mask = match given.mask {
            Some(mask) if mask.is_number() => {
                Some(Operand::of_array(dense(ops, mask)?).broadcast_to(&scores))
            }
            other => other.map(|mask| mask.broadcast_to(&scores)),
        };
        let mut outer = Dims::from_slice(&scores[..scores.len() - 2]);
        if outer.is_empty() {
            outer.push(1);
        }
        let text = AttentionKernel {
            x: given.q.dtype,
            size,
            value_size,
            mask: mask.as_ref().map(|one| one.dtype),
            is_mask_dense: mask.as_ref().is_some_and(Operand::is_dense),
            mask_rank: outer.len(),
            is_causal: options.is_causal,
        };
        Ok(Self {
            ops,
            text,
            result,
            scale: views.scale(options),
            q: given.q,
            k: given.k,
            v: given.v,
            mask,
            outer,
        })
    }

    /// Queries, keys and values without gaps.
    pub fn dense_inputs(&self) -> Result<[Array; 3]> {
        let [q, k, v] = [self.q, self.k, self.v].map(|one| dense(self.ops, one));
        Ok([q?, k?, v?])
    }

    /// The blocks of heads that products take; `None` where a kernel of its own computes.
    pub fn blocks(&self) -> Result<Option<Blocks>> {
        let blocks = Blocks::of(self.extents(), computed(self.q.dtype).size_bytes() as i64);
        let size = self.text.size + self.text.value_size;
        if blocks.is_none() && size > SIZE_LIMIT {
            return Err(Error::no_kernel(format!(
                "attention of sizes of more than {SIZE_LIMIT} whose scores are too many for products"
            )));
        }
        Ok(blocks)
    }

    /// What archived kernels are asked for; `None` for values that are not as long as queries, and for more than four axes.
    pub fn flash<'b>(&'b self, gradient: &'b Operand) -> Option<Flash<'b>> {
        let extents = self.extents();
        let batches = match self.outer.as_slice() {
            [_] => 1,
            [batches, _] => *batches,
            _ => return None,
        };
        (extents.size == extents.value_size && batches > 0).then(|| Flash {
            ops: self.ops,
            inputs: [self.q, self.k, self.v, gradient],
            batches: batches as u64,
            heads: (extents.key_heads * extents.group / batches) as u64,
            queries: extents.queries as u64,
            key_heads: (extents.key_heads / batches) as u64,
            keys: extents.keys as u64,
            size: extents.size as u64,
            scale: self.scale,
            is_causal: self.text.is_causal,
            mask: self.mask.as_ref(),
        })
    }

    pub fn extents(&self) -> Extents {
        let rank = self.q.shape.len();
        let heads = |x: &Operand| x.shape[..rank - 2].iter().product::<i64>();
        let (heads, key_heads) = (heads(self.q), heads(self.k));
        Extents {
            key_heads,
            group: heads / key_heads.max(1),
            queries: self.q.shape[rank - 2],
            keys: self.k.shape[rank - 2],
            size: self.text.size,
            value_size: self.text.value_size,
        }
    }

    /// Memory for a result: what the caller gave where kernels can write there, else new memory.
    pub fn place(&self, outs: &Outs<'_>, number: usize, shape: &[i64]) -> Result<Array> {
        if let Some(out) = outs.get(number).copied().flatten() {
            let whole = Operand::of_array(out.clone());
            let inputs = [self.q, self.k, self.v];
            let is_apart = inputs.into_iter().all(|one| !whole.overlaps(one));
            let is_like = out.dtype == self.q.dtype && out.shape.as_slice() == shape;
            if is_like && is_apart && whole.is_dense() && !out.is_read_only {
                return Ok(out.clone());
            }
        }
        self.empty(shape, self.q.dtype)
    }

    pub fn empty(&self, shape: &[i64], dtype: amdgpu_abi::Dtype) -> Result<Array> {
        Ok(Array::empty(
            self.ops.device(),
            shape,
            dtype,
            MemoryKind::Device,
        )?)
    }

    pub fn kernel(
        &self,
        name: &'static str,
        source: impl FnOnce(&AttentionKernel) -> String,
    ) -> Result<Arc<Kernel>> {
        self.ops.kernel(self.key(name), name, || source(&self.text))
    }

    pub fn key(&self, name: &'static str) -> KernelKey {
        let text = &self.text;
        let mut key = KernelKey::new(name)
            .dtype(text.x)
            .with(text.size as u64)
            .with(text.value_size as u64)
            .with(text.mask_rank as u64)
            .flag(text.is_mask_dense)
            .flag(text.is_causal)
            .flag(text.mask.is_some());
        if let Some(mask) = text.mask {
            key = key.dtype(mask);
        }
        key
    }

    /// Launches a kernel with arrays of its own for so many work-items.
    pub fn run(&self, kernel: &Arc<Kernel>, own: &[Arg<'_>], count: i64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let Extents {
            queries,
            keys,
            group,
            ..
        } = self.extents();
        let mut args: SmallVec<[Arg<'_>; 32]> = SmallVec::from_slice(own);
        args.push(Arg::Float(self.scale));
        args.extend([queries, keys, group, count].map(Arg::from));
        self.push_mask(&mut args);
        // Rows are few: small blocks spread them over more units.
        let block = 64;
        launch(
            kernel,
            Shape::line(count.div_ceil_positive(block), block),
            &args,
        )
    }

    /// The arguments of the mask, if there is one.
    pub fn push_mask<'b>(&'b self, args: &mut SmallVec<[Arg<'b>; 32]>) {
        let Some(mask) = &self.mask else {
            return;
        };
        args.push(Arg::pointer(mask));
        let (outer, inner) = mask.strides.split_at(mask.rank() - 2);
        args.extend(inner.iter().map(|stride| Arg::from(*stride)));
        let mut outer = Dims::from_slice(outer);
        if outer.is_empty() {
            outer.push(0);
        }
        args.extend_from_slice(&source::walk_arguments(&self.outer, &[outer]));
    }
}
