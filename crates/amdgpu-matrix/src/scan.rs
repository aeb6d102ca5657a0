//! Running sums and products.

use std::mem::size_of;

use amdgpu_abi::Tensor;
use amdgpu_abi::layout::{SCAN_PRODUCT, SCAN_SUM};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    Sum,
    Product,
}

impl Scan {
    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "cumsum",
            Self::Product => "cumprod",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sum, Self::Product]
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Shape and dtype of the result: integers are joined in 64 bits.
    #[must_use]
    pub fn describe(self, x: &TensorView) -> Described {
        let is_float = element::is_float(x.dtype());
        Described {
            shape: x.shape().to_vec(),
            dtype: if is_float {
                x.dtype()
            } else {
                element::sum_type(x.dtype())
            },
        }
    }
}

impl Matrix {
    /// `out[..., i] = out[..., i - 1]` joined with `x[..., i]` along `axis`. `out` may be `x` itself.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis that does not exist or memory shared with `out`, `shape-mismatch`, `unsupported-dtype`.
    pub fn scan(
        &self,
        operation: Scan,
        x: &TensorView,
        axis: i64,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static SCAN: Boundary = crossing("agpu_matrix_scan");
        let name = operation.name();
        let input = Layout::of(name, "x", x)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let described = operation.describe(x);
        target.check_out(name, described.dtype, &described.shape)?;
        target.check_apart(name, "x", &input, true)?;
        let scanned = resolve_axes(name, input.shape(), &[axis])?;
        let order = axes_last(input.rank(), &scanned);
        let (turned, turned_target) = (input.permuted(&order), target.permuted(&order));
        let tensors: [Tensor; 1] = [turned.to_abi()];
        let target_tensor = turned_target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(4),
            dtype: described.dtype,
            thread_limit,
        };
        self.run_tensor(&SCAN, &work, |executor| {
            let given = amdgpu_abi::ScanOptions {
                size_bytes: size_of::<amdgpu_abi::ScanOptions>() as u64,
                operation: match operation {
                    Scan::Sum => SCAN_SUM,
                    Scan::Product => SCAN_PRODUCT,
                },
                compute: element::compute_type(described.dtype),
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
