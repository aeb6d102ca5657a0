//! Sequences of instructions that are faster than what the PTX assembler makes of an operation, with the same bits.

use super::Emitter;
use crate::ir::{BinaryOp, Function, Intrinsic, Op, Type, Value};

/// `1.0f` as a constant holds it.
const ONE_BITS: u64 = 0x3f80_0000;

impl Emitter<'_> {
    /// What `value` is the reciprocal of the square root of, where that is computed from the processor's estimate.
    pub(super) fn square_root_inverted(&self, function: &Function, value: Value) -> Option<Value> {
        let Op::Binary(BinaryOp::DivideFloat, one, root) = function.op(value) else {
            return None;
        };
        let Op::Intrinsic(Intrinsic::Sqrt, arguments) = function.op(*root) else {
            return None;
        };
        let is_one = function.constant(*one) == Some(ONE_BITS);
        let is_checked = self.target.has_square_root_estimate() && !self.fast_math;
        let fits = is_checked && function.ty(value) == Type::F32 && is_one;
        fits.then(|| arguments[0])
    }

    /// A call of [`RECIPROCAL_SQUARE_ROOT`].
    pub(super) fn reciprocal_square_root(&mut self, name: &str, argument: &str) -> String {
        for (name, parameters) in [
            ("llvm.nvvm.rsqrt.approx.ftz.f", "float"),
            ("llvm.nvvm.fma.rp.f", "float, float, float"),
            ("llvm.fma.f32", "float, float, float"),
        ] {
            self.declarations
                .insert(format!("declare float @{name}({parameters}) #1"));
        }
        self.helpers.insert(RECIPROCAL_SQUARE_ROOT.to_owned());
        format!("{name} = call float @agpu.reciprocal_square_root(float {argument})")
    }
}

/// The bits of `1.0f / sqrt(x)` with both operations rounded to nearest, for every x.
///
/// One step of Newton's method makes the root out of the estimate y, another its reciprocal, with the square of the error kept. The one
/// mantissa for which that rounds the wrong way (Markstein 1990: a root of all ones) needs the correction rounded up. Small x are scaled by an
/// even power of two, so that no error of a product is lost. All 2^32 inputs were compared on an H200 (`tests/gpu/test_gpu.py`); the
/// estimate is a table of the processor's, so other architectures divide.
const RECIPROCAL_SQUARE_ROOT: &str = "\
define internal float @agpu.reciprocal_square_root(float %x) alwaysinline #0 {
  %small = fcmp olt float %x, 0x39B0000000000000
  %enlarged = fmul float %x, 0x45F0000000000000
  %a = select i1 %small, float %enlarged, float %x
  %y = call float @llvm.nvvm.rsqrt.approx.ftz.f(float %a)
  %g = fmul float %a, %y
  %h = fmul float %y, 5.000000e-01
  %minus.g = fneg float %g
  %rest = call float @llvm.fma.f32(float %minus.g, float %g, float %a)
  %root = call float @llvm.fma.f32(float %rest, float %h, float %g)
  %minus.root = fneg float %root
  %error = call float @llvm.fma.f32(float %minus.root, float %y, float 1.000000e+00)
  %correction = call float @llvm.nvvm.fma.rp.f(float %error, float %error, float %error)
  %refined = call float @llvm.fma.f32(float %y, float %correction, float %y)
  %is.number = fcmp ord float %error, %error
  %result = select i1 %is.number, float %refined, float %y
  %reduced = fmul float %result, 0x42F0000000000000
  %scaled = select i1 %small, float %reduced, float %result
  ret float %scaled
}
";
