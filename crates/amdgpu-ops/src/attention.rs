//! Attention, softmax(q k^T scale + mask) v, and its gradients, as one operation. Kernels of one work-item for each query or key keep no scores in
//! memory; where those would take many steps one after the other, products make the scores of some heads at a time ([`products`]).

mod products;

use std::sync::Arc;

use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::div_ceil::DivCeil;
use crate::generated::attention::{AttentionKernel, SIZE_LIMIT};
use crate::generated::loss::computed;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

use products::{Blocks, Extents};

pub use amdgpu_matrix::{Attention as Views, AttentionOptions};

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

/// Attention. A query that sees no key gets zeros. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `unsupported-dtype` unless all are floats of one dtype, but for a mask of truth values; `shape-mismatch` for shapes that do not fit.
pub fn attention(
    ops: &DeviceOps,
    given: &Attention<'_>,
    options: &AttentionOptions,
) -> Result<Array> {
    cpu::only(attention_into(ops, given, options, &[])?)
}

/// [`attention`] with memory for the result, or without.
pub(crate) fn attention_into(
    ops: &DeviceOps,
    given: &Attention<'_>,
    options: &AttentionOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let named = given.named(None);
    let call = call(ops, &named, "scaled_dot_product_attention");
    cpu::run_into(
        &call,
        outs,
        || Operation::Attention(*options),
        || Ok(Results::from_iter([on_device(ops, given, options)?])),
        |views, host| on_host(&views_of(views, false), options, host),
    )
}

/// [`attention`] in memory of the host.
///
/// # Errors
///
/// As [`attention`], and those of the host.
pub fn on_host<H: Host>(
    attention: &Views<'_>,
    options: &AttentionOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = attention.describe().map_err(Error::from)?;
    host.write(&described, cost(attention), |out| {
        Ok(Matrix::global()?.attention(attention, out, options)?)
    })
}

/// The gradients of [`attention`] by queries, keys and values; `gradient` is that of the result. Shares are computed again.
///
/// # Errors
///
/// As [`attention`]; `shape-mismatch` and `unsupported-dtype` where `gradient` is not like the result.
pub fn attention_gradient(
    ops: &DeviceOps,
    given: &Attention<'_>,
    gradient: &Operand,
    options: &AttentionOptions,
) -> Result<[Array; 3]> {
    let made = attention_gradient_into(ops, given, gradient, options, &[])?;
    <[Array; 3]>::try_from(made.into_vec())
        .map_err(|_| Error::refused(amdgpu_abi::ErrorCode::Internal, "three gradients are made"))
}

/// [`attention_gradient`] with memory for each result, or without.
pub(crate) fn attention_gradient_into(
    ops: &DeviceOps,
    given: &Attention<'_>,
    gradient: &Operand,
    options: &AttentionOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let named = given.named(Some(gradient));
    let call = call(ops, &named, "scaled_dot_product_attention_gradient");
    cpu::run_into(
        &call,
        outs,
        || Operation::AttentionGradient(*options),
        || gradient_on_device(ops, given, gradient, options).map(Results::from_iter),
        |views, host| gradient_on_host(&views_of(views, true), options, host),
    )
}

/// Views of what [`Attention::named`] gives.
pub(crate) fn views_of<'a>(views: &[TensorView<'a>], is_gradient: bool) -> Views<'a> {
    Views {
        q: views[0],
        k: views[1],
        v: views[2],
        gradient: is_gradient.then(|| views[3]),
        mask: views.get(3 + usize::from(is_gradient)).copied(),
    }
}

fn call<'a>(ops: &'a DeviceOps, inputs: &'a [(&'a str, &'a Operand)], name: &'a str) -> Call<'a> {
    Call {
        ops,
        family: "attention",
        name,
        inputs,
        out: None,
    }
}

/// Additions that take as long.
fn cost(attention: &Views<'_>) -> u64 {
    let size = attention.q.shape().last().copied().unwrap_or(0) as u64;
    let product = |work: u64, extent: &i64| work.saturating_mul(*extent as u64);
    attention.scores().iter().fold(size, product)
}

pub(crate) fn gradient_on_host<H: Host<Error = Error>>(
    attention: &Views<'_>,
    options: &AttentionOptions,
    host: &mut H,
) -> Result<()> {
    let Described { dtype, .. } = attention.describe()?;
    let mut memory = Vec::with_capacity(3);
    for view in [&attention.q, &attention.k, &attention.v] {
        memory.push(host.result(view.shape(), dtype, false)?);
    }
    host.run(cost(attention), || {
        let mut outs = Vec::with_capacity(3);
        for one in &mut memory {
            outs.push(one.view_mut()?);
        }
        let [by_q, by_k, by_v] = outs.as_mut_slice() else {
            unreachable!("three results were asked for");
        };
        Ok(Matrix::global()?.attention_gradient(attention, [by_q, by_k, by_v], options)?)
    })
}

impl<'a> Attention<'a> {
    /// Operands in the order of graphs.
    fn named(&self, gradient: Option<&'a Operand>) -> SmallVec<[(&'a str, &'a Operand); 5]> {
        let mut named = SmallVec::new();
        named.extend([("q", self.q), ("k", self.k), ("v", self.v)]);
        named.extend(gradient.map(|one| ("gradient", one)));
        named.extend(self.mask.map(|one| ("mask", one)));
        named
    }
}

fn on_device(ops: &DeviceOps, given: &Attention<'_>, options: &AttentionOptions) -> Result<Array> {
    let call = KernelCall::of(ops, given, None, options)?;
    if let Some(blocks) = call.blocks()? {
        return products::attention(&call, blocks);
    }
    let made = call.empty(&call.result.shape, call.q.dtype)?;
    let kernel = call.kernel("attention", AttentionKernel::forward)?;
    let own = [&call.q, &call.k, &call.v, &made].map(Arg::Array);
    call.run(&kernel, &own, made_rows(&call.q))?;
    Ok(made)
}

fn gradient_on_device(
    ops: &DeviceOps,
    given: &Attention<'_>,
    gradient: &Operand,
    options: &AttentionOptions,
) -> Result<[Array; 3]> {
    let call = KernelCall::of(ops, given, Some(gradient), options)?;
    let dtype = call.q.dtype;
    let gradient = dense(ops, gradient)?;
    if let Some(blocks) = call.blocks()? {
        return products::gradients(&call, &gradient, blocks);
    }
    let rows = made_rows(&call.q);
    let [logarithms, levels] = [(); 2].map(|()| call.empty(&[rows], computed(dtype)));
    let (logarithms, levels) = (logarithms?, levels?);
    let by_q = call.empty(&call.q.shape, dtype)?;
    let by_k = call.empty(&call.k.shape, dtype)?;
    let by_v = call.empty(&call.v.shape, dtype)?;
    let inputs = [&call.q, &call.k, &call.v, &gradient, &logarithms, &levels];
    let kernel = call.kernel("attention_by_queries", AttentionKernel::by_queries)?;
    let mut own: SmallVec<[Arg<'_>; 8]> = inputs.into_iter().map(Arg::Array).collect();
    own.push(Arg::Array(&by_q));
    call.run(&kernel, &own, rows)?;
    let kernel = call.kernel("attention_by_keys", AttentionKernel::by_keys)?;
    own.truncate(inputs.len());
    own.extend([&by_k, &by_v].map(Arg::Array));
    call.run(&kernel, &own, made_rows(&call.k))?;
    drop(own);
    Ok([by_q, by_k, by_v])
}

/// Rows of a batch of matrices.
fn made_rows(x: &Array) -> i64 {
    x.shape[..x.shape.len() - 1].iter().product()
}

/// A call with everything checked.
struct KernelCall<'a> {
    ops: &'a DeviceOps,
    text: AttentionKernel,
    result: Described,
    scale: f64,
    q: Array,
    k: Array,
    v: Array,
    /// Broadcast to the scores.
    mask: Option<Operand>,
    /// Axes of the scores in front of queries and keys.
    outer: Dims,
}

impl<'a> KernelCall<'a> {
    fn of(
        ops: &'a DeviceOps,
        given: &Attention<'_>,
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
            q: dense(ops, given.q)?,
            k: dense(ops, given.k)?,
            v: dense(ops, given.v)?,
            mask,
            outer,
        })
    }

    /// The blocks of heads that products take; `None` where a kernel of its own computes.
    fn blocks(&self) -> Result<Option<Blocks>> {
        let blocks = Blocks::of(self.extents(), computed(self.q.dtype).size_bytes() as i64);
        let size = self.text.size + self.text.value_size;
        if blocks.is_none() && size > SIZE_LIMIT {
            return Err(Error::no_kernel(format!(
                "attention of sizes of more than {SIZE_LIMIT} whose scores are too many for products"
            )));
        }
        Ok(blocks)
    }

    fn extents(&self) -> Extents {
        let rank = self.q.shape.len();
        let heads = |x: &Array| x.shape[..rank - 2].iter().product::<i64>();
        let (heads, key_heads) = (heads(&self.q), heads(&self.k));
        Extents {
            key_heads,
            group: heads / key_heads.max(1),
            queries: self.q.shape[rank - 2],
            keys: self.k.shape[rank - 2],
            size: self.text.size,
            value_size: self.text.value_size,
        }
    }

    fn empty(&self, shape: &[i64], dtype: amdgpu_abi::Dtype) -> Result<Array> {
        Ok(Array::empty(
            self.ops.device(),
            shape,
            dtype,
            MemoryKind::Device,
        )?)
    }

    fn kernel(
        &self,
        name: &'static str,
        source: impl FnOnce(&AttentionKernel) -> String,
    ) -> Result<Arc<Kernel>> {
        self.ops.kernel(self.key(name), name, || source(&self.text))
    }

    fn key(&self, name: &'static str) -> KernelKey {
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
    fn run(&self, kernel: &Arc<Kernel>, own: &[Arg<'_>], count: i64) -> Result<()> {
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
    fn push_mask<'b>(&'b self, args: &mut SmallVec<[Arg<'b>; 32]>) {
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
