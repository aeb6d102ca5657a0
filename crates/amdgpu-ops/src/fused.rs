//! Elementwise steps that one kernel computes: values between the steps stay in registers.
//!
//! Every step rounds its value to the dtype that the operation alone would give, so the result has the same bits as the steps one by one.

pub mod region;
mod tiles;

use amdgpu_abi::promotion::compute_type;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, element_count, row_major};
use smallvec::SmallVec;

use crate::cpu::{self, Call};
use crate::elementwise;
use crate::generated::elementwise::Body;
use crate::generated::fused::steps;
use crate::kernel_form::KernelForm;
use crate::operand::{Operand, Scalar, Target, broadcast};
use crate::tuning::{self, Forms};
use crate::{DeviceOps, Error, KernelKey, Result};

pub use region::{Region, Source, Step};
pub(crate) use tiles::{Slot, broadcast_strides, on_host};

/// Inputs that a kernel of elementwise steps takes at most.
pub const MOST_INPUTS: usize = 6;
/// Results of fewer elements are computed in parts sooner than a kernel is started.
const FEWEST_ELEMENTS: i64 = 1 << 15;
const NAME: &str = "fused";
/// Packs that a work-item of a measured form asks for at most.
const MOST_AHEAD: i64 = 4;
/// Of the steps' names in the tuning database, whose subjects have 512 bytes at most.
const NAME_CHARACTERS: usize = 256;

impl Region {
    /// The result in `out`, or in a new array: by one kernel. A CPU device computes small results, and such with short rows, in parts that
    /// stay in its caches, and what no kernel computes is computed step by step; the latter is counted, and told once.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of [`elementwise::elementwise`].
    pub fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        self.run_as(ops, inputs, out, None)
    }

    /// [`Self::run`] by a kernel of that form, one of [`Self::forms`], which changes no bit.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run_as(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
        form: Option<KernelForm>,
    ) -> Result<Array> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{} takes {} inputs, not {}",
                    self.name(),
                    self.inputs.len(),
                    inputs.len()
                ),
            ));
        }
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let call = Call {
            ops,
            family: NAME,
            name: NAME,
            inputs: &named,
            out,
        };
        if ops.computes_on_host()
            && let Some(made) = self.run_rows(&call, inputs, form)?
        {
            return Ok(made);
        }
        cpu::run_one(
            &call,
            || self.run_kernel(&call, inputs, form),
            |views, host| tiles::on_host(self, views, host),
        )
    }

    /// The result by a kernel of the CPU; `None` where it is computed in parts: small results, short rows, what no kernel computes or not to the
    /// same bits.
    fn run_rows(
        &self,
        call: &Call<'_>,
        inputs: &[Operand],
        form: Option<KernelForm>,
    ) -> Result<Option<Array>> {
        let shape = broadcast(NAME, call.inputs)?;
        let (Some(common), true) = (self.common(), self.is_for_rows(&shape)) else {
            return Ok(None);
        };
        cpu::check_inputs(call)?;
        let made = self.target(call, inputs, &shape)?;
        let (body, computed) = (self.body(common), compute_type(common));
        let form = form.unwrap_or_else(|| self.form(call.ops, body, inputs, &shape));
        match elementwise::compute_rows(call.ops, body, inputs, &made, computed, form) {
            Ok(true) => made.into_array().map(Some),
            Ok(false) => Ok(None),
            Err(error) if error.permits_fallback() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Memory for the result.
    fn target(&self, call: &Call<'_>, inputs: &[Operand], shape: &[i64]) -> Result<Operand> {
        let reads: SmallVec<[&Operand; 6]> = inputs.iter().collect();
        let target = Target {
            operation: NAME,
            device: call.ops.device(),
            out: call.out,
            inputs: &reads,
            may_alias: true,
            is_dense: false,
        };
        target.resolve(shape, self.dtype())
    }

    /// What a kernel computes of each element.
    fn body(&self, common: Dtype) -> &Body {
        self.body.get_or_init(|| {
            let (functions, text) = steps(self, common);
            Body::Steps {
                name: self.name(),
                digest: fnv1a(&[functions.as_bytes(), text.as_bytes()]),
                functions,
                text,
            }
        })
    }

    fn run_kernel(
        &self,
        call: &Call<'_>,
        inputs: &[Operand],
        form: Option<KernelForm>,
    ) -> Result<Array> {
        let Some(common) = self.common() else {
            return Err(Error::no_kernel("the steps are computed in several dtypes"));
        };
        let shape = broadcast(NAME, call.inputs)?;
        let made = self.target(call, inputs, &shape)?;
        let (body, computed) = (self.body(common), compute_type(common));
        let form = form.unwrap_or_else(|| self.form(call.ops, body, inputs, &shape));
        elementwise::compute_as(call.ops, body, inputs, &made, (computed, 0.0), form)?;
        made.into_array()
    }

    /// Whether a kernel of the CPU computes a result of that shape: large ones, to the bits of the operations one by one.
    fn is_for_rows(&self, shape: &[i64]) -> bool {
        element_count(shape) >= FEWEST_ELEMENTS
            && self.steps.iter().all(|step| step.operation.is_exact())
    }

    /// What the tuning database calls the steps on inputs of these shapes, and the forms that their kernel may have on a device; `None` where no
    /// kernel computes them there.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where they do not broadcast.
    pub fn forms(&self, ops: &DeviceOps, shapes: &[&[i64]]) -> Result<Option<(String, Forms)>> {
        let operands: SmallVec<[Operand; 6]> = (shapes.iter().zip(&self.inputs))
            .map(|(shape, dtype)| {
                let shape = Dims::from_slice(shape);
                let strides = row_major(&shape);
                Operand::of_number(Scalar::Int(0), *dtype).with_layout(shape, strides)
            })
            .collect();
        let named: SmallVec<[(&str, &Operand); 6]> =
            operands.iter().map(|one| ("input", one)).collect();
        let shape = broadcast(NAME, &named)?;
        let is_computed = if ops.computes_on_host() {
            self.is_for_rows(&shape)
        } else {
            self.is_computable()
        };
        let Some(common) = self.common().filter(|_| is_computed) else {
            return Ok(None);
        };
        let body = self.body(common);
        let subject = subject(body, &self.inputs, &operands, &shape);
        Ok(Some((subject, forms_of(ops, body))))
    }

    /// The form of a kernel: what was measured of such steps on inputs of such shapes.
    fn form(&self, ops: &DeviceOps, body: &Body, inputs: &[Operand], shape: &[i64]) -> KernelForm {
        let Body::Steps { digest, .. } = body else {
            return elementwise::usual_form(body);
        };
        let mut key = KernelKey::new("fused form")
            .with(*digest)
            .with(u64::from(tuning::size_class(element_count(shape))))
            .flag(ops.computes_on_host());
        for input in inputs {
            key = key.dtype(input.dtype).flag(is_whole(input, shape));
        }
        tuning::form_of(ops, &key, &forms_of(ops, body), || {
            subject(body, &self.inputs, inputs, shape)
        })
    }
}

/// What may be chosen for a kernel of steps on a device.
fn forms_of(ops: &DeviceOps, body: &Body) -> Forms {
    let info = ops.device().info();
    if ops.computes_on_host() {
        return Forms::of(info, elementwise::ROW_FORM, 1, 1);
    }
    Forms::of(info, elementwise::usual_form(body), 1, MOST_AHEAD)
}

/// Whether an input has all elements of the result; others repeat.
fn is_whole(input: &Operand, shape: &[i64]) -> bool {
    input.len() == element_count(shape)
}

/// What the tuning database calls steps on such inputs: everything that the best form depends on but for the architecture.
fn subject(body: &Body, dtypes: &[Dtype], inputs: &[Operand], shape: &[i64]) -> String {
    let Body::Steps { name, digest, .. } = body else {
        return body.name().to_owned();
    };
    let name: String = name.chars().take(NAME_CHARACTERS).collect();
    let inputs: Vec<String> = (inputs.iter().zip(dtypes))
        .map(|(input, dtype)| {
            let repeats = if is_whole(input, shape) {
                ""
            } else {
                " repeated"
            };
            format!("{}{repeats}", dtype.name().unwrap_or("?"))
        })
        .collect();
    let size = tuning::size_class(element_count(shape));
    format!(
        "fused {digest:016x} {name} of {} 2^{size}",
        inputs.join(", ")
    )
}

/// FNV-1a of 64 bits, <http://www.isthe.com/chongo/tech/comp/fnv/>: the same in every build, which files need.
fn fnv1a(texts: &[&[u8]]) -> u64 {
    let bytes = texts.iter().copied().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_says_what_the_best_form_depends_on() {
        let body = Body::Steps {
            name: "multiply_add".to_owned(),
            functions: String::new(),
            text: "return x * y + 1;".to_owned(),
            digest: fnv1a(&[b"return x * y + 1;"]),
        };
        let dense = |shape: &[i64]| {
            let shape = Dims::from_slice(shape);
            let strides = row_major(&shape);
            Operand::of_number(Scalar::Int(0), Dtype::F32).with_layout(shape, strides)
        };
        let inputs = [dense(&[1000, 1000]), dense(&[1000])];
        let said = subject(&body, &[Dtype::F32, Dtype::F16], &inputs, &[1000, 1000]);
        let digest = said.split(' ').nth(1).unwrap_or_default().to_owned();
        assert_eq!(
            said,
            format!("fused {digest} multiply_add of float32, float16 repeated 2^20")
        );
        assert!(tuning::is_name(&said));
    }

    #[test]
    fn digests_are_those_of_the_published_hash() {
        assert_eq!(fnv1a(&[b""]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(&[b"foo", b"bar"]), 0x8594_4171_f739_67e8);
    }
}
