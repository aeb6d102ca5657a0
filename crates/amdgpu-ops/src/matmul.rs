//! Matrix multiplication: operands, what follows the sums, checks; then an archived kernel, a vendor's library or a generated kernel.

mod archived;
mod axes;
mod checked;
mod generated;
mod host;
mod precision;

use amdgpu_abi::Dtype;
pub use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::ops::{ACTIVATIONS, ActivationRow};
use amdgpu_array::Array;
use amdgpu_telemetry::Fallback;
use smallvec::SmallVec;

use crate::archived::Archived;
use crate::cpu::{self, Call};
use crate::operation::Product;
use crate::{DeviceOps, Error, Operand, Operation, Result};

pub(crate) use axes::Axes;
pub use checked::Checked;
pub use host::{HostMatmul, on_host};

/// As the operation is called in messages and in telemetry.
pub const NAME: &str = "matrix_multiply";
/// Below so many multiplications the launch is what takes time, and the generated kernel needs one only.
const SMALL: i64 = 64 * 64 * 64;

macro_rules! define {
    ($identity:ident, $($variant:ident,)*) => {
        /// What follows the sums, after the bias and the residual, with the defaults of its parameters: a slope of 0.01 for `LeakyRelu`, a
        /// scale of 1 for `Elu`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Activation {
            #[default]
            $identity,
            $($variant,)*
        }

        impl Activation {
            pub const ALL: [Self; 1 + [$(stringify!($variant),)*].len()] =
                [Self::$identity, $(Self::$variant,)*];
        }
    };
}

amdgpu_abi::matmul_activations!(define);

impl Activation {
    #[must_use]
    pub fn row(self) -> &'static ActivationRow {
        let mut rows = ACTIVATIONS.iter().filter(|row| row.follows_matmul);
        match rows.nth(self as usize) {
            Some(row) => row,
            None => unreachable!("variants are made from these rows"),
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// As the Zig library takes it.
    #[must_use]
    pub fn to_abi(self) -> amdgpu_abi::Activation {
        let row = self.row();
        let parameter = |name: &str| {
            let found = row.parameters.iter().find(|(known, _)| *known == name);
            found.map_or(0.0, |(_, value)| *value)
        };
        amdgpu_abi::Activation {
            kind: row.number.unwrap_or_default(),
            alpha: parameter("alpha") as f32,
            beta: 0.0,
            reserved: 0,
        }
    }
}

/// `activation(alpha * (a @ b) + beta * out + bias + residual)`, with the axes of `numpy.matmul`.
#[derive(Clone, Copy, Debug)]
pub struct Matmul<'a> {
    /// Shape (..., m, k) or (k,).
    pub a: &'a Operand,
    /// Shape (..., k, n) or (k,).
    pub b: &'a Operand,
    /// Shape (..., m, n) without the axes that vectors lack; `None` for a new array.
    pub out: Option<&'a Array>,
    /// `None` for what the dtypes ask for.
    pub precision: Option<Precision>,
    /// The last two axes of `a` are swapped; nothing for a vector.
    pub transpose_a: bool,
    /// The last two axes of `b` are swapped; nothing for a vector.
    pub transpose_b: bool,
    /// Shape (n,).
    pub bias: Option<&'a Operand>,
    /// Broadcasts to the result.
    pub residual: Option<&'a Operand>,
    pub activation: Activation,
    pub alpha: f64,
    /// Factor of what `out` holds; 0 does not read it.
    pub beta: f64,
}

impl<'a> Matmul<'a> {
    /// `a @ b` and nothing else.
    #[must_use]
    pub fn of(a: &'a Operand, b: &'a Operand) -> Self {
        Self {
            a,
            b,
            out: None,
            precision: None,
            transpose_a: false,
            transpose_b: false,
            bias: None,
            residual: None,
            activation: Activation::Identity,
            alpha: 1.0,
            beta: 0.0,
        }
    }
}

/// The result on the device of `ops`: `out`, or a new array. Dtypes: fp64 gives float64, fp32 and tf32 float32, int8 int32; fp16 and bf16
/// give their own where both operands have it, and float32 otherwise.
///
/// # Errors
///
/// `shape-mismatch`, `unsupported-dtype`; `invalid-argument` for an `out` that overlaps an operand, a `beta` without `out` and what int8
/// does not take; what the device reports.
pub fn matmul(ops: &DeviceOps, call: &Matmul<'_>) -> Result<Array> {
    let mut inputs: SmallVec<[(&str, &Operand); 4]> =
        SmallVec::from_slice(&[("a", call.a), ("b", call.b)]);
    inputs.extend(call.bias.map(|one| ("bias", one)));
    inputs.extend(call.residual.map(|one| ("residual", one)));
    let given = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &inputs,
        out: call.out,
    };
    cpu::run_noted(
        &given,
        || (call.beta == 0.0).then(|| Operation::Matmul(Product::of(call))),
        || on_device(ops, call),
        |views, host| {
            let mut following = views[2..].iter().copied();
            let given = HostMatmul {
                precision: call.precision,
                transposes: [call.transpose_a, call.transpose_b],
                bias: call.bias.and_then(|_| following.next()),
                residual: call.residual.and_then(|_| following.next()),
                activation: Some(call.activation.to_abi()),
                alpha: call.alpha,
                beta: call.beta,
                ..HostMatmul::of(views[0], views[1])
            };
            on_host(&given, host)
        },
    )
}

/// [`matmul`] by kernels of the device.
///
/// # Errors
///
/// As [`matmul`]; [`Error::NoKernel`] for what no kernel computes.
pub fn on_device(ops: &DeviceOps, call: &Matmul<'_>) -> Result<Array> {
    let checked = Checked::of(ops, call)?;
    if !checked.result.is_empty() {
        compute(ops, &checked)?;
    }
    Ok(checked.out)
}

fn compute(ops: &DeviceOps, checked: &Checked) -> Result<()> {
    let (m, n, k) = checked.extents();
    let is_large = m.saturating_mul(n).saturating_mul(k) >= SMALL;
    let (archived, dtypes) = (
        Archived::of(ops),
        [checked.sums, checked.a.dtype, checked.b.dtype],
    );
    // Where nothing can be there, no way is prepared and no message written again.
    if is_large && checked.result.is_dense() && !archived.count_absence(dtypes) {
        let (reason, is_absent) = match archived::multiply(ops, checked) {
            Ok(()) => return Ok(()),
            Err(Error::NoKernel { .. }) => (missing(ops, checked), !archived.has_any(ops)),
            Err(Error::Refused {
                code: amdgpu_abi::ErrorCode::LibraryMissing,
                message,
            }) => (message, false),
            Err(error) => return Err(error),
        };
        let name = ops.name();
        let told = Fallback::new(
            NAME,
            &format!("a kernel made by our compiler computes on {name}: {reason}"),
        );
        told.count();
        if is_absent {
            archived.note_absence(dtypes, told);
        }
    }
    generated::multiply(ops, checked)
}

/// Why no archived kernel computes, without the shape, so that it is told once.
fn missing(ops: &DeviceOps, checked: &Checked) -> String {
    let architecture = &Archived::of(ops).facts().architecture;
    if !Archived::of(ops).has_any(ops) {
        return format!(
            "there is no archive for {architecture}: ./x kernels, or a wheel made with kernels=all, has it"
        );
    }
    let name = |dtype: Dtype| dtype.name().unwrap_or("?");
    format!(
        "{} sums of {} and {} are in no archive for {architecture}",
        name(checked.sums),
        name(checked.a.dtype),
        name(checked.b.dtype)
    )
}
