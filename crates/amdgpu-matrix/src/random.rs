//! Random numbers of the Philox counter.

use std::mem::size_of;

use amdgpu_abi::layout::{
    RANDOM_BERNOULLI, RANDOM_BETA, RANDOM_BINOMIAL, RANDOM_DROPOUT, RANDOM_EXPONENTIAL,
    RANDOM_GAMMA, RANDOM_GROUPED_NORMAL, RANDOM_INTEGERS, RANDOM_INTERLEAVED_BITS, RANDOM_NORMAL,
    RANDOM_POISSON, RANDOM_UNIFORM,
};
use amdgpu_abi::{ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    Uniform,
    Normal,
    Exponential,
    Integers,
    Bernoulli,
    Dropout,
    Gamma,
    Beta,
    Poisson,
    Binomial,
    /// Words in the order in which a GPU's threads write them that each draw whole blocks.
    InterleavedBits,
    /// Normal numbers of groups that each have blocks of their own, refused where they are too large.
    GroupedNormal,
}

impl Distribution {
    const fn number(self) -> u32 {
        match self {
            Self::Uniform => RANDOM_UNIFORM,
            Self::Normal => RANDOM_NORMAL,
            Self::Exponential => RANDOM_EXPONENTIAL,
            Self::Integers => RANDOM_INTEGERS,
            Self::Bernoulli => RANDOM_BERNOULLI,
            Self::Dropout => RANDOM_DROPOUT,
            Self::Gamma => RANDOM_GAMMA,
            Self::Beta => RANDOM_BETA,
            Self::Poisson => RANDOM_POISSON,
            Self::Binomial => RANDOM_BINOMIAL,
            Self::InterleavedBits => RANDOM_INTERLEAVED_BITS,
            Self::GroupedNormal => RANDOM_GROUPED_NORMAL,
        }
    }

    /// Additions that take as long as an element.
    const fn additions(self) -> u64 {
        match self {
            Self::Gamma | Self::Poisson | Self::Binomial => 100,
            Self::Beta => 200,
            Self::GroupedNormal => 50,
            _ => 10,
        }
    }
}

/// Where words come from, and what becomes of them: see `agpu_random_options` in `agpu.h`.
#[derive(Clone, Copy, Debug)]
pub struct RandomOptions {
    pub distribution: Distribution,
    pub key: u64,
    /// The counter of the first block.
    pub block: u64,
    pub high: u64,
    /// Words of the first block that are left out.
    pub skip: u32,
    pub a: f64,
    pub b: f64,
    pub low: u64,
    pub span: u64,
}

impl Matrix {
    /// Fills `out` with random numbers. `out` and the inputs are row-major without gaps; a parameter has no axes or as many elements as `out`.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for memory with gaps, `shape-mismatch`.
    pub fn random(
        &self,
        options: &RandomOptions,
        inputs: &[TensorView<'_>],
        out: &mut TensorViewMut<'_>,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static RANDOM: Boundary = crossing("agpu_matrix_random");
        const NAME: &str = "random";
        let target = dense(Layout::of(NAME, "out", &out.as_view())?)?;
        let mut layouts = Vec::with_capacity(inputs.len());
        for input in inputs {
            let layout = dense(Layout::of(NAME, "a parameter", input)?)?;
            if layout.rank() > 0 && layout.len() != target.len() {
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "{NAME}: a parameter has shape {:?}; the result has {:?}",
                        layout.shape(),
                        target.shape()
                    ),
                ));
            }
            layouts.push(layout);
        }
        let tensors: Vec<Tensor> = layouts.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target
                .len()
                .saturating_mul(options.distribution.additions()),
            dtype: target.dtype,
            thread_limit,
        };
        self.run_tensor(&RANDOM, &work, |executor| {
            let given = amdgpu_abi::RandomOptions {
                size_bytes: size_of::<amdgpu_abi::RandomOptions>() as u64,
                distribution: options.distribution.number(),
                skip: options.skip,
                key: options.key,
                block: options.block,
                high: options.high,
                a: options.a,
                b: options.b,
                low: options.low,
                span: options.span,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.random)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}

fn dense(layout: Layout) -> Result<Layout, Error> {
    let row_major = layout.shape().iter().zip(layout.strides()).rev();
    let (_, is_dense) = row_major.fold((1_i64, true), |(wanted, fits), (extent, stride)| {
        let stays = *extent == 1 || *stride == wanted;
        (wanted.saturating_mul((*extent).max(1)), fits && stays)
    });
    if is_dense || layout.is_empty() {
        return Ok(layout);
    }
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        "random: numbers are drawn into row-major memory without gaps".to_owned(),
    ))
}
