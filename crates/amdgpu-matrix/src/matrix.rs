use std::path::Path;

use amdgpu_abi::library::{self, NativeLibrary};
use amdgpu_abi::{Dtype, ErrorCode, Language, MatrixSymbols, MetricId, Status};
use amdgpu_telemetry::{Boundary, Core, Counter, Kind, NameId, Record};
use once_cell::race::OnceBox;

use crate::Error;
use crate::algorithm::{Algorithm, Kernel, Problem};
use crate::executor::ThreadLimit;

/// What a tensor operation has to do.
pub(crate) struct Work {
    /// Additions that would take as long.
    pub operations: u64,
    pub dtype: Dtype,
    pub thread_limit: Option<u32>,
}

/// Below this much work one thread does a tensor operation: about 8 us, four times what sharing it out costs the caller while the
/// pool is awake.
const PARALLEL_TENSOR_OPERATIONS: u64 = 1 << 17;

/// Up to so much work a call is brief, a few microseconds: to time all of those would take a part of it that is felt.
const BRIEF_OPERATIONS: u64 = 1 << 14;

/// The Matrix core of this process. See the crate's contract.
pub struct Matrix {
    library: NativeLibrary,
    pub(crate) symbols: MatrixSymbols,
    operations: Counter,
    kernel: Kernel,
    decision: NameId,
}

/// Threads that come first together each open the library, which is then mapped once; a lock would stay taken in a child of `fork()`.
static MATRIX: OnceBox<Matrix> = OnceBox::new();

impl Matrix {
    /// The Matrix core, opened on first use.
    ///
    /// # Errors
    ///
    /// `library-missing` or `library-stale`; the message names the file.
    pub fn global() -> Result<&'static Self, Error> {
        MATRIX.get_or_try_init(|| Self::open().map(Box::new))
    }

    fn open() -> Result<Self, Error> {
        let library = NativeLibrary::open("matrix")?;
        // SAFETY: the library passed the check of its ABI hash, which covers the prototypes.
        let symbols = unsafe { MatrixSymbols::resolve(|name| library.symbol(name)) }
            .map_err(|symbol| library.lacks(symbol))?;
        let kernel = Kernel::of_this_cpu();
        Ok(Self {
            library,
            symbols,
            operations: amdgpu_telemetry::counter(
                MetricId::OperationsTotal,
                &["cpu:0", "matrix", "zig"],
            ),
            kernel,
            decision: amdgpu_telemetry::intern(match kernel {
                Kernel::Generic => "matrix.zig.generic",
                Kernel::Avx2 => "matrix.zig.avx2",
                Kernel::Avx512 => "matrix.zig.avx512",
            }),
        })
    }

    /// The file that the library was loaded from.
    #[must_use]
    pub fn library_path(&self) -> &Path {
        self.library.path()
    }

    /// The micro-kernel in use.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Run `call` in Zig with the algorithm chosen for `problem`; it returns the function's status.
    pub(crate) fn run(
        &self,
        boundary: &'static Boundary,
        problem: &Problem,
        thread_limit: Option<u32>,
        call: impl FnOnce(*const amdgpu_abi::Executor) -> Status,
    ) -> Result<(), Error> {
        let algorithm = Algorithm::choose(problem, self.kernel, thread_limit.unwrap_or(u32::MAX));
        let operations = problem.floating_point_operations();
        let work = (operations, problem.least_bytes());
        self.call(boundary, algorithm.threads, work, problem.dtype, call)
            .map(drop)
    }

    /// Run a tensor operation in Zig, on several threads where that gains.
    pub(crate) fn run_tensor(
        &self,
        boundary: &'static Boundary,
        work: &Work,
        call: impl FnOnce(*const amdgpu_abi::Executor) -> Status,
    ) -> Result<(), Error> {
        self.run_tensor_until(boundary, work, call).map(drop)
    }

    /// As [`Self::run_tensor`]; returns the moment at which Zig came back, 0 while telemetry is off.
    pub(crate) fn run_tensor_until(
        &self,
        boundary: &'static Boundary,
        work: &Work,
        call: impl FnOnce(*const amdgpu_abi::Executor) -> Status,
    ) -> Result<u64, Error> {
        let threads = if work.operations < PARALLEL_TENSOR_OPERATIONS {
            1
        } else {
            work.thread_limit.unwrap_or(u32::MAX).max(1)
        };
        self.call(boundary, threads, (work.operations, 0), work.dtype, call)
    }

    fn call(
        &self,
        boundary: &'static Boundary,
        threads: u32,
        (operations, bytes): (u64, u64),
        dtype: Dtype,
        call: impl FnOnce(*const amdgpu_abi::Executor) -> Status,
    ) -> Result<u64, Error> {
        let limit = ThreadLimit::new(threads);
        let executor = limit.executor();
        let thread_count = executor
            .as_ref()
            .map_or(1, |executor| executor.thread_count);
        self.operations.increment();
        let crossing = if operations <= BRIEF_OPERATIONS {
            boundary.enter_brief()
        } else {
            boundary.enter()
        };
        if let Some(start_ns) = crossing.start_ns() {
            self.record(start_ns, operations, dtype, thread_count);
        }
        if bytes > 0 {
            crossing.computes(operations, bytes);
        }
        let status = call(
            executor
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
        );
        let end_ns = crossing.leave();
        if status == 0 {
            Ok(end_ns)
        } else {
            Err(self.failure(status))
        }
    }

    fn record(&self, start_ns: u64, operations: u64, dtype: Dtype, threads: u32) {
        let decision = Record::new(Kind::Dispatch, self.decision)
            .core(Core::Matrix)
            .language(Language::Zig)
            .device(0)
            .at(start_ns, 0)
            .value(operations)
            .detail(u64::from(threads), u64::from(dtype.bits));
        amdgpu_telemetry::emit(decision);
    }

    #[cold]
    fn failure(&self, status: Status) -> Error {
        // SAFETY: the function belongs to a library that passed the checks; called on the thread whose call failed.
        let (_, message) = unsafe { library::last_error(self.symbols.last_error) };
        Error::Foreign {
            kind: ErrorCode::from_status(status),
            message,
        }
    }
}

/// A function of the library as telemetry knows it.
pub(crate) const fn crossing(name: &'static str) -> Boundary {
    Boundary::new(Language::Rust, Language::Zig, name)
}

/// The product's extents, as far as the operands have them, with all matrices of a stack as rows; what does not fit together is refused by Zig.
pub(crate) fn problem_of(left: &crate::TensorView, right: &crate::TensorView) -> Problem {
    let from_the_end = |shape: &[i64], axis: usize| {
        shape
            .iter()
            .rev()
            .nth(axis)
            .map_or(0, |&extent| u64::try_from(extent).unwrap_or(0))
    };
    let stacked = |shape: &[i64]| {
        let before = shape.len().saturating_sub(2);
        shape[..before].iter().fold(1_u64, |total, &extent| {
            total.saturating_mul(u64::try_from(extent).unwrap_or(0))
        })
    };
    Problem {
        rows: from_the_end(left.shape(), 1)
            .saturating_mul(stacked(left.shape()).max(stacked(right.shape()))),
        columns: from_the_end(right.shape(), 0),
        depth: from_the_end(left.shape(), 0),
        dtype: left.dtype(),
    }
}
