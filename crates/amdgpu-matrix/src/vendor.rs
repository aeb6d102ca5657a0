//! Matrix products by the GPU vendors' own libraries: cuBLASLt, hipBLASLt, rocBLAS.
//!
//! Contract
//! - A library is opened when a [`Session`] is made, from the loader's path and from folders that the caller names (where wheels put them);
//!   nothing of it is needed to build or to import. What is in the process already is taken before anything else.
//! - [`Session::prepare`] says whether the library computes a product and how much workspace it wants; [`Session::submit`] puts the product
//!   into a stream of the session's device, in order with everything else there. Results are row-major, without gaps.
//! - Who validates: shapes, dtypes, devices and lifetimes are checked by the caller. A product that the library does not take is no error.
//! - Whether its answers are right is not decided here: callers compare them with ours first.
//! - Everything may be called from any thread at the same time. A session made before `fork()` answers with an error in the child.
//!
//! Names, numbers and parameters are those of `cublasLt.h` 13.0 and `cublas_api.h`, of `hipblaslt.h` and `hipblas-common.h` of ROCm 7, and
//! of `rocblas-types.h` and `rocblas-functions.h`. cuBLASLt was run; **the two of AMD were not run on hardware**.

mod functions;
mod lt;
mod open;
mod product;
mod rocblas;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{ErrorCode, Language, MetricId};
use amdgpu_hal::{Device, DeviceKind, Stream};
use amdgpu_telemetry::{Boundary, Core, Counter, Kind, NameId, Record};

use crate::Error;

pub use product::{Number, Product, VendorEpilogue};

/// The libraries that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VendorLibrary {
    CublasLt,
    HipblasLt,
    Rocblas,
}

impl VendorLibrary {
    pub const ALL: [Self; 3] = [Self::CublasLt, Self::HipblasLt, Self::Rocblas];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CublasLt => "cublaslt",
            Self::HipblasLt => "hipblaslt",
            Self::Rocblas => "rocblas",
        }
    }

    /// The kind of device that it drives.
    #[must_use]
    pub const fn device_kind(self) -> DeviceKind {
        match self {
            Self::CublasLt => DeviceKind::Cuda,
            Self::HipblasLt | Self::Rocblas => DeviceKind::Hip,
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }

    fn boundary(self) -> &'static Boundary {
        static CUBLASLT: Boundary = Boundary::new(Language::Rust, Language::C, "cublasLtMatmul");
        static HIPBLASLT: Boundary = Boundary::new(Language::Rust, Language::C, "hipblasLtMatmul");
        static ROCBLAS: Boundary = Boundary::new(
            Language::Rust,
            Language::C,
            "rocblas_gemm_strided_batched_ex",
        );
        match self {
            Self::CublasLt => &CUBLASLT,
            Self::HipblasLt => &HIPBLASLT,
            Self::Rocblas => &ROCBLAS,
        }
    }
}

/// What a library says about a product.
#[derive(Clone, Copy)]
enum Answer {
    Computes { workspace_bytes: u64 },
    Refuses,
}

/// A library's handle on one device. All calls come while the device's context is current.
trait Engine: Send {
    /// What [`Engine::prepare`] said before, if it was asked.
    fn known(&self, product: &Product) -> Option<Answer>;

    /// Asks the library about a product.
    fn prepare(&mut self, product: &Product) -> Result<Answer, Error>;

    /// Puts a prepared product into the driver's stream; `false` when the library does not take it after all.
    ///
    /// # Safety
    /// As for [`Session::submit`]; `stream` is a live stream of the driver.
    unsafe fn submit(
        &mut self,
        product: &Product,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error>;

    /// Gives the handle back. Nothing is called afterwards.
    fn close(&mut self);
}

/// Device memory that a product may use while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workspace {
    pub address: u64,
    pub bytes: u64,
}

/// An opened library on one device. See the module's contract.
pub struct Session {
    library: VendorLibrary,
    device: Arc<dyn Device>,
    engine: Mutex<Box<dyn Engine>>,
    /// What a fault of the device is put down to.
    name: Arc<str>,
    decision: NameId,
    operations: Counter,
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} on {}", self.name, self.device.info().name)
    }
}

impl Session {
    /// Opens a library for a device. `folders` are looked through after the loader's own path.
    ///
    /// # Errors
    ///
    /// `library-missing` with what was tried, or with the function that the library lacks; `wrong-device` for a device of another kind;
    /// `driver-fault` when it refuses to start.
    pub fn open(
        library: VendorLibrary,
        folders: &[PathBuf],
        device: &Arc<dyn Device>,
    ) -> Result<Self, Error> {
        let info = device.info();
        if info.kind != library.device_kind() {
            return Err(Error::refused(
                ErrorCode::WrongDevice,
                format!(
                    "{} drives {} devices, not {}",
                    library.name(),
                    library.device_kind(),
                    info.name
                ),
            ));
        }
        let functions = open::open(library, folders)?;
        let name: Arc<str> = Arc::from(library.name());
        let engine = lent(device.default_stream().as_ref(), &name, |_| {
            let engine: Box<dyn Engine> = match library {
                VendorLibrary::CublasLt => Box::new(lt::Lt::new(&lt::CUDA, &functions)?),
                VendorLibrary::HipblasLt => Box::new(lt::Lt::new(&lt::HIP, &functions)?),
                VendorLibrary::Rocblas => Box::new(rocblas::Rocblas::new(&functions)?),
            };
            Ok(engine)
        })?;
        Ok(Self {
            library,
            device: Arc::clone(device),
            engine: Mutex::new(engine),
            decision: amdgpu_telemetry::intern(&format!("matrix.vendor.{}", library.name())),
            operations: amdgpu_telemetry::counter(
                MetricId::OperationsTotal,
                &[&info.name, "matrix", "c"],
            ),
            name,
        })
    }

    #[must_use]
    pub fn library(&self) -> VendorLibrary {
        self.library
    }

    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Bytes of workspace that the library wants for a product; `None` when it does not compute it. Remembered by shape.
    ///
    /// # Errors
    ///
    /// Failures of the library and of the device.
    pub fn prepare(&self, product: &Product, stream: &dyn Stream) -> Result<Option<u64>, Error> {
        if !product.is_representable() {
            return Ok(None);
        }
        // Only what is new needs the driver.
        let known = self.engine().known(product);
        let answer = match known {
            Some(answer) => answer,
            None => lent(stream, &self.name, |_| self.engine().prepare(product))?,
        };
        Ok(match answer {
            Answer::Computes { workspace_bytes } => Some(workspace_bytes),
            Answer::Refuses => None,
        })
    }

    /// Puts a product into a stream; `false` when the library does not take it after all, and nothing was submitted.
    ///
    /// # Errors
    ///
    /// Failures of the library and of the device.
    ///
    /// # Safety
    /// The addresses of `product` are device memory of the session's device that holds matrices of its extents, `workspace` is as large as
    /// [`Session::prepare`] said, and all of it stays valid until the stream has passed the product. `stream` is one of the device.
    pub unsafe fn submit(
        &self,
        product: &Product,
        workspace: Workspace,
        stream: &dyn Stream,
    ) -> Result<bool, Error> {
        let is_taken = lent(stream, &self.name, |handle| {
            let _crossing = self.library.boundary().enter();
            // SAFETY: the caller's contract; the handle is the driver's for this very stream.
            unsafe { self.engine().submit(product, workspace, handle) }
        })?;
        if is_taken {
            self.record(product);
        }
        Ok(is_taken)
    }

    /// Plans are replaced as a whole, so they are usable whatever panicked.
    fn engine(&self) -> MutexGuard<'_, Box<dyn Engine>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, product: &Product) {
        self.operations.increment();
        if amdgpu_telemetry::is_enabled() {
            let decision = Record::new(Kind::Dispatch, self.decision)
                .core(Core::Matrix)
                .language(Language::C)
                .at(amdgpu_telemetry::now_ns(), 0)
                .value(product.floating_point_operations());
            amdgpu_telemetry::emit(decision);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let engine = self
            .engine
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // In a forked child and after a fault the driver must not be asked any more: the handle goes with its process.
        let _ = lent(self.device.default_stream().as_ref(), &self.name, |_| {
            engine.close();
            Ok(())
        });
    }
}

/// Runs `work` with the driver's stream.
fn lent<T>(
    stream: &dyn Stream,
    name: &Arc<str>,
    mut work: impl FnMut(u64) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut outcome = None;
    // SAFETY: what is submitted inside uses memory whose life the callers of this module vouch for.
    let is_lent = unsafe {
        stream.lend(name, &mut |handle| {
            outcome = Some(work(handle));
            Ok(())
        })
    }?;
    match outcome {
        Some(outcome) if is_lent => outcome,
        _ => Err(Error::refused(
            ErrorCode::WrongDevice,
            format!("{name} needs a stream of a GPU driver"),
        )),
    }
}
