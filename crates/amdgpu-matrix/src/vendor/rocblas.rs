//! rocBLAS.

use std::ffi::CStr;

use super::engine::{Answer, Engine, Workspace};
use super::functions::{Handle, RocblasFunctions, RocblasNames, Status};
use super::open::Found;
use super::product::{Number, Product, VendorEpilogue};
use crate::Error;

/// What rocBLAS itself takes by default on CDNA.
const WORKSPACE_BYTES: u64 = 32 << 20;
/// `rocblas_operation_none`, `rocblas_operation_transpose`.
const OPERATIONS: [i32; 2] = [111, 112];
/// `rocblas_atomics_not_allowed`: the same bits in every run.
const ATOMICS_NOT_ALLOWED: i32 = 0;
/// `rocblas_gemm_algo_standard`.
const ALGORITHM_STANDARD: i32 = 0;
/// `rocblas_status_not_implemented`, `rocblas_status_excluded_from_build`, `rocblas_status_arch_mismatch`.
const REFUSALS: [Status; 3] = [2, 14, 15];

static NAMES: RocblasNames = RocblasNames {
    create: c"rocblas_create_handle",
    destroy: c"rocblas_destroy_handle",
    set_stream: c"rocblas_set_stream",
    set_workspace: c"rocblas_set_workspace",
    set_atomics_mode: c"rocblas_set_atomics_mode",
    status_text: c"rocblas_status_to_string",
    multiply: c"rocblas_gemm_strided_batched_ex",
};

/// Types of operands, result and sums, as `rocblas_datatype`; rocBLAS has no tf32.
const fn data_types(number: Number) -> Option<[i32; 3]> {
    const F16: i32 = 150;
    const F32: i32 = 151;
    const F64: i32 = 152;
    const I8: i32 = 160;
    const I32: i32 = 162;
    const BF16: i32 = 168;
    match number {
        Number::F64 => Some([F64, F64, F64]),
        Number::F32 => Some([F32, F32, F32]),
        Number::F16 => Some([F16, F16, F32]),
        Number::Bf16 => Some([BF16, BF16, F32]),
        Number::I8 => Some([I8, I32, I32]),
        Number::Tf32 | Number::I32 => None,
    }
}

pub(super) struct Rocblas {
    functions: RocblasFunctions,
    handle: Handle,
}

impl Rocblas {
    pub fn new(library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        let functions = unsafe { RocblasFunctions::load(library, &NAMES) }?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status = unsafe { (functions.create)(&raw mut handle) };
        check(&functions, "starting", status)?;
        let mut started = Self { functions, handle };
        // SAFETY: the handle is live.
        let status = unsafe { (functions.set_atomics_mode)(handle, ATOMICS_NOT_ALLOWED) };
        let outcome = started.check("forbidding atomics", status);
        if outcome.is_err() {
            started.close();
        }
        outcome.map(|()| started)
    }

    fn check(&self, operation: &'static str, status: Status) -> Result<(), Error> {
        check(&self.functions, operation, status)
    }
}

fn check(
    functions: &RocblasFunctions,
    operation: &'static str,
    status: Status,
) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the library answers with a text of its own that is never freed, or with null.
    let text = unsafe {
        let text = (functions.status_text)(status);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let text = text.unwrap_or_else(|| "unknown status".to_owned());
    Err(Error::vendor(
        "rocBLAS",
        operation,
        &format!("{text} ({status})"),
    ))
}

impl Engine<Product> for Rocblas {
    fn known(&self, product: &Product) -> Option<Answer> {
        let is_plain = product.epilogue == VendorEpilogue::None;
        Some(if is_plain && data_types(product.number).is_some() {
            Answer::Computes {
                workspace_bytes: WORKSPACE_BYTES,
            }
        } else {
            Answer::Refuses
        })
    }

    fn prepare(&mut self, product: &Product) -> Result<Answer, Error> {
        Ok(self.known(product).unwrap_or(Answer::Refuses))
    }

    unsafe fn submit(
        &mut self,
        product: &Product,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error> {
        let Some([operand, result, sums]) = data_types(product.number) else {
            return Ok(false);
        };
        let [first, second, out] = product.stored();
        let operation = |is_transposed: bool| OPERATIONS[usize::from(is_transposed)];
        let factors = product.factors();
        let [alpha, beta] = factors.addresses();
        // SAFETY: the handle is live; the caller vouches for the stream and for memory of these extents, which `is_representable` found to
        // fit into 32 bits. The first factor of the library is our second operand, as `stored` has it.
        let status = unsafe {
            let set = (self.functions.set_stream)(self.handle, stream);
            self.check("taking a stream", set)?;
            let given = (self.functions.set_workspace)(
                self.handle,
                workspace.address,
                workspace.bytes as usize,
            );
            self.check("taking a workspace", given)?;
            (self.functions.multiply)(
                self.handle,
                operation(first.is_transposed),
                operation(second.is_transposed),
                product.columns as i32,
                product.rows as i32,
                product.depth as i32,
                alpha,
                product.b,
                operand,
                first.rows as i32,
                first.stride(),
                product.a,
                operand,
                second.rows as i32,
                second.stride(),
                beta,
                product.out,
                result,
                out.rows as i32,
                out.stride(),
                product.out,
                result,
                out.rows as i32,
                out.stride(),
                product.batch as i32,
                sums,
                ALGORITHM_STANDARD,
                0,
                0,
            )
        };
        if REFUSALS.contains(&status) {
            return Ok(false);
        }
        self.check("multiplying", status).map(|()| true)
    }

    fn close(&mut self) {
        // SAFETY: made by `new`, destroyed once; nothing is called afterwards.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}
