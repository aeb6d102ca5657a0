//! Attention, softmax(q k^T scale + mask) v, and its gradients, as one operation. Kernels of one work-item for each query or key keep no scores in
//! memory; where those would take many steps one after the other, products make the scores of some heads at a time ([`products`]).

mod blocks;
mod call;
mod products;

use amdgpu_array::Array;
use amdgpu_matrix::{Described, Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::generated::attention::AttentionKernel;
use crate::generated::loss::computed;
use crate::operand::Operand;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, Operation, Result};

use call::KernelCall;

pub use call::Attention;

pub use amdgpu_matrix::{Attention as Views, AttentionOptions};

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
///
/// # Errors
///
/// As [`attention`], and for memory that does not fit.
pub fn attention_into(
    ops: &DeviceOps,
    given: &Attention<'_>,
    options: &AttentionOptions,
    outs: &[Option<&Array>],
) -> Result<Results> {
    let named = given.named(None);
    let call = call(ops, &named, "scaled_dot_product_attention");
    cpu::run_into(
        &call,
        outs,
        || Operation::Attention(*options),
        || Ok(Results::from_iter([on_device(ops, given, options, outs)?])),
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
///
/// # Errors
///
/// As [`attention_gradient`], and for memory that does not fit.
pub fn attention_gradient_into(
    ops: &DeviceOps,
    given: &Attention<'_>,
    gradient: &Operand,
    options: &AttentionOptions,
    outs: &[Option<&Array>],
) -> Result<Results> {
    let named = given.named(Some(gradient));
    let call = call(ops, &named, "scaled_dot_product_attention_gradient");
    cpu::run_into(
        &call,
        outs,
        || Operation::AttentionGradient(*options),
        || gradient_on_device(ops, given, gradient, options, outs).map(Results::from_iter),
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

fn on_device(
    ops: &DeviceOps,
    given: &Attention<'_>,
    options: &AttentionOptions,
    outs: &Outs<'_>,
) -> Result<Array> {
    let call = KernelCall::of(ops, given, None, options)?;
    let made = call.place(outs, 0, &call.result.shape)?;
    if let Some(flash) = call.flash(call.q)
        && flash.attention(&made)?
    {
        return Ok(made);
    }
    let inputs = call.dense_inputs()?;
    if let Some(blocks) = call.blocks()? {
        products::attention(&call, &inputs, &made, blocks)?;
        return Ok(made);
    }
    let kernel = call.kernel("attention", AttentionKernel::forward)?;
    let [q, k, v] = &inputs;
    let own = [q, k, v, &made].map(Arg::Array);
    call.run(&kernel, &own, made_rows(q))?;
    Ok(made)
}

fn gradient_on_device(
    ops: &DeviceOps,
    given: &Attention<'_>,
    gradient: &Operand,
    options: &AttentionOptions,
    outs: &Outs<'_>,
) -> Result<[Array; 3]> {
    let call = KernelCall::of(ops, given, Some(gradient), options)?;
    let dtype = call.q.dtype;
    let by_q = call.place(outs, 0, &call.q.shape)?;
    let by_k = call.place(outs, 1, &call.k.shape)?;
    let by_v = call.place(outs, 2, &call.v.shape)?;
    if let Some(flash) = call.flash(gradient)
        && flash.gradients([&by_q, &by_k, &by_v])?
    {
        return Ok([by_q, by_k, by_v]);
    }
    let (inputs, gradient) = (call.dense_inputs()?, dense(ops, gradient)?);
    if let Some(blocks) = call.blocks()? {
        products::gradients(&call, &inputs, &gradient, [&by_q, &by_k, &by_v], blocks)?;
        return Ok([by_q, by_k, by_v]);
    }
    let [q, k, v] = &inputs;
    let rows = made_rows(q);
    let [logarithms, levels] = [(); 2].map(|()| call.empty(&[rows], computed(dtype)));
    let (logarithms, levels) = (logarithms?, levels?);
    let inputs = [q, k, v, &gradient, &logarithms, &levels];
    let kernel = call.kernel("attention_by_queries", AttentionKernel::by_queries)?;
    let mut own: SmallVec<[Arg<'_>; 8]> = inputs.into_iter().map(Arg::Array).collect();
    own.push(Arg::Array(&by_q));
    call.run(&kernel, &own, rows)?;
    let kernel = call.kernel("attention_by_keys", AttentionKernel::by_keys)?;
    own.truncate(inputs.len());
    own.extend([&by_k, &by_v].map(Arg::Array));
    call.run(&kernel, &own, made_rows(k))?;
    drop(own);
    Ok([by_q, by_k, by_v])
}

/// Rows of a batch of matrices.
fn made_rows(x: &Array) -> i64 {
    x.shape[..x.shape.len() - 1].iter().product()
}
