//! Attention, softmax(q k^T scale + mask) v, and its gradients.

use std::mem::size_of;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionOptions {
    /// Query i sees keys 0 to i alone.
    pub is_causal: bool,
    /// Factor of the scores; `None` for one over the root of the size of a query.
    pub scale: Option<f64>,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

/// What attention is computed of.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// Shape (batch..., heads, length, size).
    pub q: TensorView<'a>,
    /// Shape (batch..., key heads, keys, size); the heads of q are a multiple of the key heads.
    pub k: TensorView<'a>,
    /// Shape (batch..., key heads, keys, value size).
    pub v: TensorView<'a>,
    /// Truth values, or what is added to the scores, broadcast to (batch..., heads, length, keys).
    pub mask: Option<TensorView<'a>>,
    /// Of the result, for gradients.
    pub gradient: Option<TensorView<'a>>,
}

impl Attention<'_> {
    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        if self.gradient.is_some() {
            "scaled_dot_product_attention_gradient"
        } else {
            "scaled_dot_product_attention"
        }
    }

    /// The shape of the scores.
    ///
    /// # Errors
    ///
    /// None for what [`Self::describe`] takes.
    #[must_use]
    pub fn scores(&self) -> Vec<i64> {
        let (q, k) = (self.q.shape(), self.k.shape());
        let mut scores = q[..q.len() - 1].to_vec();
        scores.push(k[k.len() - 2]);
        scores
    }

    /// The factor of the scores.
    #[must_use]
    pub fn scale(&self, options: &AttentionOptions) -> f64 {
        let size = self.q.shape().last().copied().unwrap_or(1).max(1);
        options.scale.unwrap_or_else(|| 1.0 / (size as f64).sqrt())
    }

    /// Refuses what does not fit; shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`, `shape-mismatch`.
    pub fn describe(&self) -> Result<Described, Error> {
        let name = self.name();
        let dtype = self.q.dtype();
        if !element::is_float(dtype) {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: q has dtype {}; attention is of floats, so convert it first",
                    element::name(dtype)
                ),
            ));
        }
        for (argument, view) in [("k", &self.k), ("v", &self.v)] {
            self.check_like(argument, view)?;
        }
        self.check_shapes()?;
        let q = self.q.shape();
        let mut shape = q[..q.len() - 1].to_vec();
        shape.extend(self.v.shape().last());
        if let Some(gradient) = &self.gradient {
            self.check_like("gradient", gradient)?;
            if gradient.shape() != shape {
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "{name}: gradient has shape {:?}, the result {shape:?}",
                        gradient.shape()
                    ),
                ));
            }
        }
        self.check_mask()?;
        Ok(Described { shape, dtype })
    }

    fn check_like(&self, argument: &str, view: &TensorView) -> Result<(), Error> {
        let (q, own) = (self.q.dtype(), view.dtype());
        if q == own {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{}: q has dtype {} and {argument} {}; they have one dtype, so convert one of them",
                self.name(),
                element::name(q),
                element::name(own)
            ),
        ))
    }

    fn check_shapes(&self) -> Result<(), Error> {
        let (q, k, v) = (self.q.shape(), self.k.shape(), self.v.shape());
        let refuse = |why: &str| {
            Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{}: q has shape {q:?}, k {k:?} and v {v:?}; {why}",
                    self.name()
                ),
            ))
        };
        let rank = q.len();
        if rank < 2 || k.len() != rank || v.len() != rank {
            return refuse(
                "they have as many axes as each other, (batch..., heads, length, size), and two at least",
            );
        }
        if q[rank - 1] != k[rank - 1] {
            return refuse("queries and keys have one size, their last extent");
        }
        if k[..rank - 1] != v[..rank - 1] {
            return refuse("each key has its value: all extents but the last are the same");
        }
        let fits = rank == 2 || {
            let (heads, key_heads) = (q[rank - 3], k[rank - 3]);
            let is_multiple = if key_heads == 0 {
                heads == 0
            } else {
                heads % key_heads == 0
            };
            q[..rank - 3] == k[..rank - 3] && is_multiple
        };
        if !fits {
            return refuse(
                "batches are the same, and the heads of q a multiple of those of k, which each serve so many",
            );
        }
        Ok(())
    }

    fn check_mask(&self) -> Result<(), Error> {
        let Some(mask) = &self.mask else {
            return Ok(());
        };
        if mask.dtype() != Dtype::BOOL {
            self.check_like("mask", mask)?;
        }
        let (scores, own) = (self.scores(), mask.shape());
        let fits = own.len() <= scores.len()
            && own
                .iter()
                .rev()
                .zip(scores.iter().rev())
                .all(|(extent, wanted)| extent == wanted || *extent == 1);
        if fits {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{}: mask has shape {own:?}, which does not broadcast to the scores, of shape {scores:?}",
                self.name()
            ),
        ))
    }

    /// Layouts of all inputs, in the order of the library.
    fn layouts(&self) -> Result<Vec<Layout>, Error> {
        let name = self.name();
        let mut layouts = vec![
            Layout::of(name, "q", &self.q)?,
            Layout::of(name, "k", &self.k)?,
            Layout::of(name, "v", &self.v)?,
        ];
        if let Some(gradient) = &self.gradient {
            layouts.push(Layout::of(name, "gradient", gradient)?);
        }
        if let Some(mask) = &self.mask {
            layouts.push(Layout::of(name, "mask", mask)?.broadcast_to(&self.scores()));
        }
        Ok(layouts)
    }

    fn work(&self, options: &AttentionOptions) -> Work {
        let extents = self.scores();
        let sizes = [self.q.shape().last(), self.v.shape().last()];
        let size: i64 = sizes.into_iter().flatten().sum();
        let product = |work: u64, extent: &i64| work.saturating_mul(*extent as u64);
        Work {
            operations: extents.iter().fold(size as u64 / 4, product),
            dtype: self.q.dtype(),
            thread_limit: options.thread_limit,
        }
    }

    fn abi_options(
        &self,
        options: &AttentionOptions,
        executor: *const amdgpu_abi::Executor,
    ) -> amdgpu_abi::AttentionOptions {
        amdgpu_abi::AttentionOptions {
            size_bytes: size_of::<amdgpu_abi::AttentionOptions>() as u64,
            scale: self.scale(options),
            compute: element::compute_type(self.q.dtype()),
            is_causal: u32::from(options.is_causal),
            has_mask: u32::from(self.mask.is_some()),
            reserved: 0,
            executor,
        }
    }
}

impl Matrix {
    /// Attention, into `out`. A query that sees no key gets zeros.
    ///
    /// # Errors
    ///
    /// As [`Attention::describe`]; `invalid-argument` for memory shared with `out`.
    pub fn attention(
        &self,
        attention: &Attention<'_>,
        out: &mut TensorViewMut,
        options: &AttentionOptions,
    ) -> Result<(), Error> {
        static ATTENTION: Boundary = crossing("agpu_matrix_attention");
        let name = attention.name();
        let described = attention.describe()?;
        let target = Layout::of(name, "out", &out.as_view())?;
        target.check_out(name, described.dtype, &described.shape)?;
        let layouts = attention.layouts()?;
        for (layout, argument) in layouts.iter().zip(["q", "k", "v", "mask"]) {
            target.check_apart(name, argument, layout, false)?;
        }
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        self.run_tensor(&ATTENTION, &attention.work(options), |executor| {
            let given = attention.abi_options(options, executor);
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.attention)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }

    /// The gradients of attention by queries, keys and values, into `outs`, which have their shapes.
    ///
    /// # Errors
    ///
    /// As [`Self::attention`].
    pub fn attention_gradient(
        &self,
        attention: &Attention<'_>,
        outs: [&mut TensorViewMut; 3],
        options: &AttentionOptions,
    ) -> Result<(), Error> {
        static GRADIENT: Boundary = crossing("agpu_matrix_attention_gradient");
        let name = attention.name();
        let described = attention.describe()?;
        let layouts = attention.layouts()?;
        let mut targets = Vec::with_capacity(outs.len());
        for (out, input) in outs.into_iter().zip(&layouts) {
            let target = Layout::of(name, "out", &out.as_view())?;
            target.check_out(name, described.dtype, input.shape())?;
            for layout in layouts.iter().chain(&targets) {
                target.check_apart(name, "another array", layout, false)?;
            }
            targets.push(target);
        }
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let target_tensors: Vec<Tensor> = targets.iter().map(Layout::to_abi).collect();
        self.run_tensor(&GRADIENT, &attention.work(options), |executor| {
            let given = attention.abi_options(options, executor);
            // SAFETY: as above.
            unsafe {
                (self.symbols.attention_gradient)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    target_tensors.as_ptr(),
                    target_tensors.len() as u64,
                    &raw const given,
                )
            }
        })
    }
}
