//! Prefix sums, products, bests and truth values.

use std::mem::size_of;

use amdgpu_abi::layout::{
    DTYPE_BFLOAT, DTYPE_FLOAT, DTYPE_INT, SCAN_MAXIMUM, SCAN_MINIMUM, SCAN_PRODUCT, SCAN_SUM,
};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    Sum,
    Product,
    Maximum,
    Minimum,
    /// Whether any value so far is true.
    Any,
    /// Whether all values so far are true.
    All,
}

impl Scan {
    pub const ALL: [Self; 6] = [
        Self::Sum,
        Self::Product,
        Self::Maximum,
        Self::Minimum,
        Self::Any,
        Self::All,
    ];

    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "cumsum",
            Self::Product => "cumprod",
            Self::Maximum => "cummax",
            Self::Minimum => "cummin",
            Self::Any => "cumulative_any",
            Self::All => "cumulative_all",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Shape and dtype of the result: integers are summed and multiplied in 64 bits.
    #[must_use]
    pub fn describe(self, x: &TensorView) -> Described {
        let is_joined = matches!(self, Self::Sum | Self::Product) && !element::is_float(x.dtype());
        Described {
            shape: x.shape().to_vec(),
            dtype: if is_joined {
                element::sum_type(x.dtype())
            } else {
                x.dtype()
            },
        }
    }

    /// Refuses dtypes that the operation does not join.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`: only truth values have any and all.
    pub fn check(self, dtype: Dtype) -> Result<(), Error> {
        if !matches!(self, Self::Any | Self::All) || dtype == Dtype::BOOL {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{}: x has dtype {}; compare it with zero first, so that it holds truth values",
                self.name(),
                element::name(dtype)
            ),
        ))
    }

    /// The element of a dtype that joins to every other one without a change, in its first bytes in memory.
    #[must_use]
    pub fn identity(self, dtype: Dtype) -> u64 {
        let bits = u32::from(dtype.bits);
        let is_float = matches!(dtype.code, DTYPE_FLOAT | DTYPE_BFLOAT);
        let sign = 1_u64 << (bits - 1);
        let (one, infinity) = match (dtype.code, bits) {
            (DTYPE_BFLOAT, _) => (0x3f80, 0x7f80),
            (DTYPE_FLOAT, 16) => (0x3c00, 0x7c00),
            (DTYPE_FLOAT, 32) => (u64::from(1_f32.to_bits()), 0x7f80_0000),
            (DTYPE_FLOAT, _) => (1_f64.to_bits(), 0x7ff0_0000_0000_0000),
            _ => (1, u64::MAX >> (64 - bits)),
        };
        let is_signed = dtype.code == DTYPE_INT;
        match self {
            Self::Product | Self::All => one,
            Self::Maximum if is_float => infinity | sign,
            Self::Maximum if is_signed => sign,
            Self::Sum | Self::Any | Self::Maximum => 0,
            Self::Minimum if is_signed => infinity ^ sign,
            Self::Minimum if dtype == Dtype::BOOL => 1,
            Self::Minimum => infinity,
        }
    }

    const fn code(self) -> u32 {
        match self {
            Self::Sum => SCAN_SUM,
            Self::Product => SCAN_PRODUCT,
            Self::Maximum | Self::Any => SCAN_MAXIMUM,
            Self::Minimum | Self::All => SCAN_MINIMUM,
        }
    }
}

/// What is joined along which axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    pub operation: Scan,
    /// Negative counts from the end.
    pub axis: i64,
    /// An element does not take part in its own result.
    pub is_exclusive: bool,
    /// From the last element to the first.
    pub is_reversed: bool,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl ScanOptions {
    /// Every element joined to those before it.
    #[must_use]
    pub const fn new(operation: Scan, axis: i64) -> Self {
        Self {
            operation,
            axis,
            is_exclusive: false,
            is_reversed: false,
            thread_limit: None,
        }
    }

    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.operation.name()
    }
}

impl Matrix {
    /// `out[..., i] = out[..., i - 1]` joined with `x[..., i]` along `axis`. `out` may be `x` itself, unless the scan is exclusive.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis that does not exist or memory shared with `out`, `shape-mismatch`, `unsupported-dtype`.
    pub fn scan(
        &self,
        x: &TensorView,
        out: &mut TensorViewMut,
        options: &ScanOptions,
    ) -> Result<(), Error> {
        let (operation, name) = (options.operation, options.name());
        let input = Layout::of(name, "x", x)?;
        operation.check(input.dtype)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let described = operation.describe(x);
        target.check_out(name, described.dtype, &described.shape)?;
        target.check_apart(name, "x", &input, !options.is_exclusive)?;
        let scanned = resolve_axes(name, input.shape(), &[options.axis])?;
        let order = axes_last(input.rank(), &scanned);
        let (mut permuted, mut goal) = (input.permuted(&order), target.permuted(&order));
        if options.is_reversed {
            permuted = permuted.reversed_last();
            goal = goal.reversed_last();
        }
        if options.is_exclusive && !goal.is_empty() {
            self.fill_first(&goal, operation, options.thread_limit)?;
            let len = goal.shape()[goal.rank() - 1];
            permuted = permuted.narrowed_last(0, len - 1);
            goal = goal.narrowed_last(1, len - 1);
        }
        self.scan_last(&permuted, &goal, options)
    }

    /// The first element of each line becomes what nothing joins to.
    fn fill_first(
        &self,
        goal: &Layout,
        operation: Scan,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        let identity = operation.identity(goal.dtype);
        let first = goal.narrowed_last(0, 1);
        // SAFETY: the element outlives the call; the layout was checked, and lies within memory that the caller lets be written.
        let (number, mut place) = unsafe {
            (
                TensorView::from_parts(
                    std::ptr::from_ref(&identity).cast(),
                    goal.dtype,
                    first.to_abi().device,
                    &[],
                    None,
                )?,
                TensorViewMut::from_parts(
                    first.to_abi().data,
                    goal.dtype,
                    first.to_abi().device,
                    first.shape(),
                    Some(first.strides()),
                )?,
            )
        };
        self.cast(&number, &mut place, thread_limit)
    }

    fn scan_last(&self, x: &Layout, out: &Layout, options: &ScanOptions) -> Result<(), Error> {
        static SCAN: Boundary = crossing("agpu_matrix_scan");
        let tensors: [Tensor; 1] = [x.to_abi()];
        let target_tensor = out.to_abi();
        let work = Work {
            operations: out.len().saturating_mul(4),
            dtype: out.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&SCAN, &work, |executor| {
            let given = amdgpu_abi::ScanOptions {
                size_bytes: size_of::<amdgpu_abi::ScanOptions>() as u64,
                operation: options.operation.code(),
                compute: element::compute_type(out.dtype),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.scan)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_elements_of_every_dtype() {
        let of = |operation: Scan, dtype| operation.identity(dtype);
        assert_eq!(of(Scan::Maximum, Dtype::I8), 0x80);
        assert_eq!(of(Scan::Minimum, Dtype::I8), 0x7f);
        assert_eq!(of(Scan::Maximum, Dtype::U64), 0);
        assert_eq!(of(Scan::Minimum, Dtype::U64), u64::MAX);
        assert_eq!(of(Scan::Minimum, Dtype::BOOL), 1);
        assert_eq!(of(Scan::Maximum, Dtype::F16), 0xfc00);
        assert_eq!(
            of(Scan::Maximum, Dtype::F32),
            u64::from(f32::NEG_INFINITY.to_bits())
        );
        assert_eq!(of(Scan::Minimum, Dtype::F64), f64::INFINITY.to_bits());
        assert_eq!(of(Scan::Product, Dtype::BF16), 0x3f80);
    }
}
