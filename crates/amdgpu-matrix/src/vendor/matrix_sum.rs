//! Sums of two matrices by cuBLAS and rocBLAS, which call them geam.

use std::ffi::{CStr, c_void};

use super::engine::{Answer, Engine, Workspace};
use super::functions::{GeamFunctions, GeamNames, Handle, Status};
use super::open::Found;
use super::product::Number;
use crate::Error;

/// `out = alpha op(a) + beta op(b)` of matrices in device memory, by rows and without gaps.
#[derive(Clone, Copy, Debug)]
pub struct MatrixSum {
    /// Of the result.
    pub rows: u64,
    /// Of the result.
    pub columns: u64,
    /// float32 or float64, of each part where the elements are complex.
    pub number: Number,
    pub is_complex: bool,
    /// Whether `a` and `b` are stored transposed.
    pub is_transposed: [bool; 2],
    /// Real and imaginary part.
    pub alpha: [f64; 2],
    /// As `alpha`.
    pub beta: [f64; 2],
    pub a: u64,
    pub b: u64,
    pub out: u64,
}

/// What differs between the two.
pub(super) struct Dialect {
    name: &'static str,
    names: GeamNames,
    /// `OP_N` and `OP_T`.
    operations: [i32; 2],
    /// What the library does not compute.
    refusals: &'static [Status],
}

pub(super) static CUDA: Dialect = Dialect {
    name: "cuBLAS",
    names: GeamNames {
        create: c"cublasCreate_v2",
        destroy: c"cublasDestroy_v2",
        set_stream: c"cublasSetStream_v2",
        status_text: c"cublasGetStatusString",
        add_f32: c"cublasSgeam",
        add_f64: c"cublasDgeam",
        add_c64: c"cublasCgeam",
        add_c128: c"cublasZgeam",
    },
    operations: [0, 1],
    // `CUBLAS_STATUS_ARCH_MISMATCH`, `CUBLAS_STATUS_NOT_SUPPORTED`.
    refusals: &[8, 15],
};

pub(super) static HIP: Dialect = Dialect {
    name: "rocBLAS",
    names: GeamNames {
        create: c"rocblas_create_handle",
        destroy: c"rocblas_destroy_handle",
        set_stream: c"rocblas_set_stream",
        status_text: c"rocblas_status_to_string",
        add_f32: c"rocblas_sgeam",
        add_f64: c"rocblas_dgeam",
        add_c64: c"rocblas_cgeam",
        add_c128: c"rocblas_zgeam",
    },
    operations: [111, 112],
    // `rocblas_status_not_implemented`, `rocblas_status_excluded_from_build`, `rocblas_status_arch_mismatch`.
    refusals: &[2, 14, 15],
};

pub(super) struct Geam {
    dialect: &'static Dialect,
    functions: GeamFunctions,
    handle: Handle,
}

impl Geam {
    pub fn new(dialect: &'static Dialect, library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        let functions = unsafe { GeamFunctions::load(library, &dialect.names) }?;
        let mut made = Self {
            dialect,
            functions,
            handle: 0,
        };
        // SAFETY: the place for the result is valid.
        let status = unsafe { (functions.create)(&raw mut made.handle) };
        made.check("starting", status)?;
        Ok(made)
    }

    fn check(&self, operation: &'static str, status: Status) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library answers with a text of its own that is never freed, or with null.
        let text = unsafe {
            let text = (self.functions.status_text)(status);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        };
        let text = text.unwrap_or_else(|| "unknown status".to_owned());
        let reason = format!("{text} ({status})");
        Err(Error::vendor(self.dialect.name, operation, &reason))
    }
}

/// Factors in the format of the elements; the real part comes first, so that real elements read it alone. `cuDoubleComplex` begins at multiples of
/// 16 bytes, which cuBLAS relies on when it reads it.
#[repr(align(16))]
struct Parts<T>([T; 2]);

enum Factor {
    F32(Parts<f32>),
    F64(Parts<f64>),
}

impl Factor {
    fn of(value: [f64; 2], number: Number) -> Self {
        match number {
            Number::F64 => Self::F64(Parts(value)),
            _ => Self::F32(Parts(value.map(|part| part as f32))),
        }
    }

    fn address(&self) -> *const c_void {
        match self {
            Self::F32(parts) => parts.0.as_ptr().cast(),
            Self::F64(parts) => parts.0.as_ptr().cast(),
        }
    }
}

impl Engine<MatrixSum> for Geam {
    fn known(&self, _: &MatrixSum) -> Option<Answer> {
        Some(Answer::Computes { workspace_bytes: 0 })
    }

    fn prepare(&mut self, _: &MatrixSum) -> Result<Answer, Error> {
        Ok(Answer::Computes { workspace_bytes: 0 })
    }

    unsafe fn submit(
        &mut self,
        work: &MatrixSum,
        _: Workspace,
        stream: u64,
    ) -> Result<bool, Error> {
        let functions = &self.functions;
        let add = match (work.number, work.is_complex) {
            (Number::F64, false) => functions.add_f64,
            (Number::F64, true) => functions.add_c128,
            (_, false) => functions.add_f32,
            (_, true) => functions.add_c64,
        };
        let operation =
            |side: usize| self.dialect.operations[usize::from(work.is_transposed[side])];
        let [alpha, beta] = [work.alpha, work.beta].map(|one| Factor::of(one, work.number));
        // The library counts columns first, so rows are its columns; a transposed operand has as long rows as the result has columns.
        let (across, down) = (work.columns as i32, work.rows as i32);
        let lead = |side: usize| {
            if work.is_transposed[side] {
                down
            } else {
                across
            }
        };
        // SAFETY: the handle is live; the caller vouches for the stream and for memory of these extents, which `is_representable` found to
        // fit into 32 bits.
        let status = unsafe {
            let set = (functions.set_stream)(self.handle, stream);
            if set == 0 {
                add(
                    self.handle,
                    operation(0),
                    operation(1),
                    across,
                    down,
                    alpha.address(),
                    work.a,
                    lead(0),
                    beta.address(),
                    work.b,
                    lead(1),
                    work.out,
                    across,
                )
            } else {
                set
            }
        };
        if self.dialect.refusals.contains(&status) {
            return Ok(false);
        }
        self.check("adding matrices", status).map(|()| true)
    }

    fn close(&mut self) {
        // SAFETY: made by `new`, destroyed once; nothing is called afterwards.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_and_imaginary_parts_of_factors_follow_each_other() {
        let factor = Factor::of([2.0, -1.0], Number::F32);
        // SAFETY: two float32 stand there.
        let parts = unsafe { std::slice::from_raw_parts(factor.address().cast::<f32>(), 2) };
        assert_eq!(parts, [2.0, -1.0]);
    }

    #[test]
    fn factors_begin_where_complex_numbers_of_the_libraries_do() {
        for number in [Number::F32, Number::F64] {
            let factors = [number; 3].map(|number| Factor::of([1.0, 0.0], number));
            for factor in &factors {
                assert!(factor.address().addr().is_multiple_of(16), "{number:?}");
            }
        }
    }
}
