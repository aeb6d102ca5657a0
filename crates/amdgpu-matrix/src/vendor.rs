//! Work that the GPU vendors' own libraries do: matrix products by cuBLASLt, hipBLASLt and rocBLAS, convolutions by cuDNN and MIOpen, sums of
//! matrices by cuBLAS and rocBLAS.
//!
//! Contract
//! - A library is opened when a [`Session`] is made, from the loader's path and from folders that the caller names (where wheels put them);
//!   nothing of it is needed to build or to import. What is in the process already is taken before anything else.
//! - [`Session::prepare`] says whether the library does a [`Work`] and how much workspace it wants; [`Session::submit`] puts the work
//!   into a stream of the session's device, in order with everything else there. Results have no gaps.
//! - Who validates: shapes, dtypes, devices and lifetimes are checked by the caller. Work that the library does not take is no error.
//! - Whether its answers are right is not decided here: callers compare them with ours first.
//! - Everything may be called from any thread at the same time. A session made before `fork()` answers with an error in the child.
//!
//! Names, numbers and parameters are those of `cublasLt.h` 13.0 and `cublas_api.h`, of `cudnn_cnn.h`, `cudnn_ops.h` and `cudnn_graph.h` 9.26, of
//! `hipblaslt.h` and `hipblas-common.h` of ROCm 7, of `rocblas-types.h` and `rocblas-functions.h`, and of `miopen.h` 6.4. Those of NVIDIA
//! were run; **the libraries of AMD were not run on hardware**.

mod convolution;
mod cudnn;
mod cudnn_graph;
mod engine;
mod functions;
mod library;
mod lt;
mod matrix_sum;
mod miopen;
mod open;
mod product;
mod rocblas;
mod work;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{ErrorCode, Language, MetricId};
use amdgpu_hal::{Device, Stream};
use amdgpu_telemetry::{Core, Counter, Kind, NameId, Record};

use crate::Error;
use engine::{Answer, Engine};

pub use convolution::{ConvolutionShape, StoredTensor, VendorConvolution};
pub use engine::{Work, Workspace};
pub use library::VendorLibrary;
pub use matrix_sum::MatrixSum;
pub use open::Found;
pub use product::{Number, Product, VendorEpilogue};

/// An opened library on one device, for one kind of work. See the module's contract.
pub struct Session<W = Product> {
    library: VendorLibrary,
    device: Arc<dyn Device>,
    engine: Mutex<Box<dyn Engine<W>>>,
    /// What a fault of the device is put down to.
    name: Arc<str>,
    decision: NameId,
    operations: Counter,
}

impl<W> fmt::Debug for Session<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} on {}", self.name, self.device.info().name)
    }
}

impl<W: Work> Session<W> {
    /// Opens a library for a device. `folders` are looked through after the loader's own path.
    ///
    /// # Errors
    ///
    /// `library-missing` with what was tried, and as [`Self::start`].
    pub fn open(
        library: VendorLibrary,
        folders: &[PathBuf],
        device: &Arc<dyn Device>,
    ) -> Result<Self, Error> {
        check_kind(library, device)?;
        Self::start(&library.find(folders)?, device)
    }

    /// Starts a library that was found for a device.
    ///
    /// # Errors
    ///
    /// `library-missing` with the function that the library lacks; `wrong-device` for a device of another kind; `driver-fault` when it
    /// refuses to start.
    pub fn start(found: &Found, device: &Arc<dyn Device>) -> Result<Self, Error> {
        let library = found.library();
        check_kind(library, device)?;
        let name: Arc<str> = Arc::from(library.name());
        let engine = lent(device.default_stream().as_ref(), &name, |_| W::start(found))?;
        Ok(Self {
            library,
            device: Arc::clone(device),
            engine: Mutex::new(engine),
            decision: amdgpu_telemetry::intern(&format!("matrix.vendor.{}", library.name())),
            operations: amdgpu_telemetry::counter(
                MetricId::OperationsTotal,
                &[&device.info().name, "matrix", "c"],
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

    /// Bytes of workspace that the library wants for work; `None` when it does not do it. Remembered by shape.
    ///
    /// # Errors
    ///
    /// Failures of the library and of the device.
    pub fn prepare(&self, work: &W, stream: &dyn Stream) -> Result<Option<u64>, Error> {
        if !work.is_representable() {
            return Ok(None);
        }
        // Only what is new needs the driver.
        let known = self.engine().known(work);
        let answer = match known {
            Some(answer) => answer,
            None => lent(stream, &self.name, |_| self.engine().prepare(work))?,
        };
        Ok(match answer {
            Answer::Computes { workspace_bytes } => Some(workspace_bytes),
            Answer::Refuses => None,
        })
    }

    /// Puts work into a stream; `false` when the library does not take it after all, and nothing was submitted.
    ///
    /// # Errors
    ///
    /// Failures of the library and of the device.
    ///
    /// # Safety
    /// The addresses of `work` are device memory of the session's device that holds arrays of its extents, `workspace` is as large as
    /// [`Session::prepare`] said, and all of it stays valid until the stream has passed the work. `stream` is one of the device.
    pub unsafe fn submit(
        &self,
        work: &W,
        workspace: Workspace,
        stream: &dyn Stream,
    ) -> Result<bool, Error> {
        let is_taken = lent(stream, &self.name, |handle| {
            let _crossing = W::boundary(self.library).enter();
            // SAFETY: the caller's contract; the handle is the driver's for this very stream.
            unsafe { self.engine().submit(work, workspace, handle) }
        })?;
        if is_taken {
            self.record(work);
        }
        Ok(is_taken)
    }

    /// Plans are replaced as a whole, so they are usable whatever panicked.
    fn engine(&self) -> MutexGuard<'_, Box<dyn Engine<W>>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, work: &W) {
        self.operations.increment();
        if amdgpu_telemetry::is_enabled() {
            let decision = Record::new(Kind::Dispatch, self.decision)
                .core(Core::Matrix)
                .language(Language::C)
                .at(amdgpu_telemetry::now_ns(), 0)
                .value(work.floating_point_operations());
            amdgpu_telemetry::emit(decision);
        }
    }
}

impl<W> Drop for Session<W> {
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

fn check_kind(library: VendorLibrary, device: &Arc<dyn Device>) -> Result<(), Error> {
    let info = device.info();
    if info.kind == library.device_kind() {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::WrongDevice,
        format!(
            "{} drives {} devices, not {}",
            library.name(),
            library.device_kind(),
            info.name
        ),
    ))
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
