//! Products of matrices by cuBLASLt, hipBLASLt and rocBLAS.

mod verify;

use amdgpu_array::{Array, recording};
use amdgpu_matrix::vendor::{Product, Session, VendorEpilogue, VendorLibrary};
use smallvec::SmallVec;

use super::{Sessions, queue};
use crate::archived::Gemm;
use crate::archived::choice::is_for_vendor;
use crate::archived::problem::{Epilogue, Number, Problem};
use crate::matmul::NAME;
use crate::{DeviceOps, Result};

/// The libraries of a device that multiply matrices, with verdicts by number format and epilogue.
#[derive(Default)]
pub struct Libraries(Sessions<Product, (Number, Epilogue)>);

impl Libraries {
    /// Whether none is there.
    pub fn is_empty(&self, ops: &DeviceOps) -> bool {
        self.all(ops).is_empty()
    }

    /// The libraries that are there, best first.
    pub fn all(&self, ops: &DeviceOps) -> Vec<VendorLibrary> {
        self.0.all((ops, NAME))
    }

    /// Whether a library may compute a problem: there, of the same meaning, found right.
    pub fn is_verified(&self, ops: &DeviceOps, library: VendorLibrary, problem: &Problem) -> bool {
        let (operand, epilogue) = (problem.operand, problem.epilogue);
        let check = |session: &Session| verify::is_right(ops, session, operand, epilogue);
        is_for_vendor(problem)
            && self
                .0
                .verdict((ops, NAME), library, (operand, epilogue), check)
    }

    /// Tells why no library computes a problem although `AMDGPU_MATMUL` demands one.
    pub fn tell_absence(&self, ops: &DeviceOps, problem: &Problem) {
        let what = format!("{} products of this kind", problem.operand.name());
        self.0.tell_absence((ops, NAME), &what);
    }

    /// Compute by a library; false when it does not, and nothing was done.
    ///
    /// # Errors
    ///
    /// Failures of the library and of the device.
    pub fn multiply(
        &self,
        ops: &DeviceOps,
        library: VendorLibrary,
        call: &Gemm<'_>,
    ) -> Result<bool> {
        match self.0.get((ops, NAME), library) {
            Some(session) => submit(ops, session, call),
            None => Ok(false),
        }
    }
}

/// Queues a product; false where the library does not compute it.
fn submit(ops: &DeviceOps, session: &Session, call: &Gemm<'_>) -> Result<bool> {
    let problem = &call.problem;
    let number = problem.operand;
    if !number.is_operand() || recording::is_recording() {
        return Ok(false);
    }
    let address = |array: &Array| array.address().address();
    let product = Product {
        rows: problem.m,
        columns: problem.n,
        depth: problem.k,
        batch: problem.batch,
        number,
        is_transposed: problem.layout.is_transposed(),
        epilogue: match (call.bias, problem.epilogue) {
            (None, _) => VendorEpilogue::None,
            (Some(_), Epilogue::Relu) => VendorEpilogue::BiasRelu,
            (Some(_), _) => VendorEpilogue::Bias,
        },
        alpha: call.alpha,
        beta: call.beta,
        a: address(call.a),
        b: address(call.b),
        out: address(call.out),
        bias: call.bias.map_or(0, address),
    };
    let arrays: SmallVec<[&Array; 4]> = [Some(call.a), Some(call.b), Some(call.out), call.bias]
        .into_iter()
        .flatten()
        .collect();
    // SAFETY: the arrays are of this device and as large as the problem says.
    unsafe { queue(ops, session, &product, &arrays) }
}
