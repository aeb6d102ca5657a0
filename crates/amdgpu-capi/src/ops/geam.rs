//! ops.h: sums of matrices.

use amdgpu_ops::geam::{Geam, geam};

use super::Call;
use crate::borrowed::{Options, Out, Versioned};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `agpu_ops_geam_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CGeamOptions {
    size_bytes: u64,
    out: Handle,
    alpha: f64,
    beta: f64,
    has_factors: u32,
    transpose_a: u32,
    transpose_b: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CGeamOptions {
    const NAME: &'static str = "agpu_ops_geam_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `alpha op(a) + beta op(b)`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_geam(
    a: Handle,
    b: Handle,
    options: Options<CGeamOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let given = options.read()?;
        let (alpha, beta) = if given.has_factors == 0 {
            (1.0, 1.0)
        } else {
            (given.alpha, given.beta)
        };
        let call = Call::of("geam", &[("a", a), ("b", b)], &[], given.out)?;
        let sum = Geam {
            a: call.operand(0),
            b: call.operand(1),
            alpha,
            beta,
            transpose_a: given.transpose_a != 0,
            transpose_b: given.transpose_b != 0,
            out: call.out(),
        };
        place.write(call.insert(geam(&call.ops, &sum)?));
        Ok(())
    })
}
