use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use amdgpu_abi::{MathTable, MetricId};
use amdgpu_telemetry::{Boundary, Counter};

use crate::Error;
use crate::executor::{Executor, Runner};
use crate::fork::{self, Engagement};
use crate::julia::{self, Availability, Owner};
use crate::table::Table;

/// The Math core of this process. See the crate's contract.
pub struct Math {
    pub(crate) table: Table,
    executor: Executor,
    operations: Counter,
    version: String,
    source: PathBuf,
}

static MATH: OnceLock<Math> = OnceLock::new();
/// Taken while the core starts, so that it starts once; holds the runtime when it runs but its kernels could not be loaded.
static START: Mutex<Option<&'static Owner>> = Mutex::new(None);

impl Math {
    /// The Math core, started on first use: 0.3 to 0.8 s. A failed start may be tried again.
    ///
    /// # Errors
    ///
    /// `julia-missing` when there is no usable Julia, `library-missing` or `library-stale` when the kernels are not there or of
    /// another version, `forked` in a child of a process that used the core.
    pub fn global() -> Result<&'static Self, Error> {
        fork::check()?;
        if let Some(math) = MATH.get() {
            return Ok(math);
        }
        let engagement = Engagement::begin();
        // A panic while starting leaves no runtime or a whole one.
        let mut runtime = START.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(math) = MATH.get() {
            return Ok(math);
        }
        let installation = julia::installation()?;
        let source = julia::find_sources()?;
        let version = installation.version.clone();
        let owner = match *runtime {
            Some(owner) => owner,
            None => *runtime.insert(Owner::start(installation)?),
        };
        // The runtime stays, whatever becomes of its kernels.
        engagement.keep();
        let table = owner.call(|api| julia::load_table(api, &source))??;
        Ok(MATH.get_or_init(|| Self::new(table, Executor::Owned(owner), version, source)))
    }

    /// Use the Julia runtime that the process already has: `table` is what `AgpuKernels.table()` returned in it, `runner` brings work to a
    /// thread that may run Julia, one task at a time or several (they take turns), `version` is `string(VERSION)`, `source` the file the module was loaded from.
    ///
    /// # Errors
    ///
    /// `library-stale` when the table does not fit this build, `invalid-argument` when the core already runs.
    ///
    /// # Safety
    ///
    /// `table` must be an address returned by `AgpuKernels.table()` of some version, and stay valid as long as the process. The functions of
    /// the table must be callable from where `runner` runs its tasks.
    pub unsafe fn adopt(
        table: *const MathTable,
        runner: Runner,
        version: &str,
        source: &Path,
    ) -> Result<&'static Self, Error> {
        fork::check()?;
        let engagement = Engagement::begin();
        let runtime = START.lock().unwrap_or_else(PoisonError::into_inner);
        if MATH.get().is_some() || runtime.is_some() {
            return Err(Error::InvalidArgument(
                "the Math core already runs; a foreign Julia runtime must be handed over before its first use".to_owned(),
            ));
        }
        // SAFETY: passed on from the caller.
        let table = unsafe { Table::check(table, source) }?;
        engagement.keep();
        Ok(MATH.get_or_init(|| {
            Self::new(
                table,
                Executor::adopted(runner),
                version.to_owned(),
                source.to_owned(),
            )
        }))
    }

    fn new(table: Table, executor: Executor, version: String, source: PathBuf) -> Self {
        Self {
            table,
            executor,
            operations: amdgpu_telemetry::counter(
                MetricId::OperationsTotal,
                &["cpu:0", "math", "julia"],
            ),
            version,
            source,
        }
    }

    /// Whether the core runs or could start, without starting it. The first call of a machine asks `julia` for its paths (0.3 s) and
    /// remembers the answer in the cache folder.
    #[must_use]
    pub fn availability() -> Availability {
        match MATH.get() {
            Some(math) => Availability {
                found: true,
                version: Some(math.version.clone()),
                path: Some(math.source.clone()),
                reason: None,
            },
            None => julia::availability(),
        }
    }

    /// Whether the core runs.
    #[must_use]
    pub fn is_started() -> bool {
        MATH.get().is_some()
    }

    /// Julia's version.
    #[must_use]
    pub fn julia_version(&self) -> &str {
        &self.version
    }

    /// The file that the kernels were loaded from.
    #[must_use]
    pub fn kernel_source(&self) -> &Path {
        &self.source
    }

    /// Evaluate Julia code in `Main` and return its value as text.
    ///
    /// # Errors
    ///
    /// `foreign-error` with Julia's message when the code raises, `invalid-argument` for an adopted runtime, whose owner evaluates code
    /// itself.
    pub fn evaluate(&self, code: &str) -> Result<String, Error> {
        static EVALUATE: Boundary = crossing("evaluate");
        match &self.executor {
            Executor::Owned(owner) => {
                let _crossing = EVALUATE.enter();
                owner.call(|api| api.evaluate(code))?
            }
            Executor::Adopted { .. } => Err(Error::InvalidArgument(
                "code for an adopted Julia runtime is evaluated by the program that owns it"
                    .to_owned(),
            )),
        }
    }

    /// Run `kernel` on the thread that owns Julia; it returns the status of a function of the table.
    pub(crate) fn run(
        &self,
        boundary: &'static Boundary,
        kernel: impl FnOnce(&Table) -> i32 + Send,
    ) -> Result<(), Error> {
        self.operations.increment();
        let _crossing = boundary.enter();
        let table = &self.table;
        self.executor.run(|| {
            let status = kernel(table);
            // SAFETY: on the thread that owns the runtime, directly after the call.
            unsafe { table.outcome(status) }
        })?
    }
}

/// A function of the table as telemetry knows it.
pub(crate) const fn crossing(name: &'static str) -> Boundary {
    Boundary::new(
        amdgpu_abi::Language::Rust,
        amdgpu_abi::Language::Julia,
        name,
    )
}
