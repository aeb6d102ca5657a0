//! Matrix multiplication by the GPU vendors' libraries: which are there, which were found right, and calls of them.
//!
//! A library is opened when a choice first considers it. Before the first use for a number format it computes a small product, which is
//! compared with the CPU's; wrong answers are refused, told once, and our own kernels compute from then on.

pub mod verify;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use amdgpu_abi::{Coded, Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::Kernel;
use amdgpu_hal::{DeviceKind, MemoryKind};
use amdgpu_matrix::vendor::{Product, Session, VendorEpilogue, VendorLibrary, Workspace};
use amdgpu_telemetry::fallback;

use crate::archived::Gemm;
use crate::archived::choice::is_for_vendor;
use crate::archived::problem::{Epilogue, Number, Problem};
use crate::matmul::NAME;
use crate::{DeviceOps, Result};

/// Names the folders in which the host language keeps vendors' libraries for a kind of device.
pub type Folders = Box<dyn Fn(DeviceKind) -> Vec<PathBuf> + Send + Sync>;

static FOLDERS: OnceLock<Folders> = OnceLock::new();

/// Registers who knows where vendors' libraries may lie beside the loader's own path; the first one stays. It is asked when a device is
/// first asked for its libraries.
pub fn register_folders(folders: Folders) {
    let _ = FOLDERS.set(folders);
}

/// The libraries of a device, opened on first use.
#[derive(Default)]
pub struct Libraries(OnceLock<Vec<Library>>);

struct Library {
    session: Session,
    /// By number format and epilogue.
    verdicts: Mutex<Vec<((Number, Epilogue), bool)>>,
}

impl Libraries {
    fn opened(&self, ops: &DeviceOps) -> &[Library] {
        self.0.get_or_init(|| {
            let device = ops.device().device();
            let kind = device.info().kind;
            let is_own = |library: &VendorLibrary| library.device_kind() == kind;
            let own: Vec<_> = VendorLibrary::ALL.into_iter().filter(is_own).collect();
            let mut found = Vec::new();
            if own.is_empty() {
                return found;
            }
            let folders = FOLDERS.get().map_or_else(Vec::new, |folders| folders(kind));
            for library in own {
                match Session::open(library, &folders, device) {
                    Ok(session) => found.push(Library {
                        session,
                        verdicts: Mutex::default(),
                    }),
                    Err(error) if error.code() == ErrorCode::LibraryMissing => {}
                    Err(error) => {
                        let reason = format!(
                            "{} does not start: {}",
                            library.name(),
                            error.code().class()
                        );
                        fallback(NAME, &reason);
                    }
                }
            }
            found
        })
    }

    /// Whether none is there.
    pub fn is_empty(&self, ops: &DeviceOps) -> bool {
        self.opened(ops).is_empty()
    }

    /// The libraries that are there, best first.
    pub fn all(&self, ops: &DeviceOps) -> Vec<VendorLibrary> {
        let opened = self.opened(ops).iter();
        opened.map(|one| one.session.library()).collect()
    }

    fn get(&self, ops: &DeviceOps, library: VendorLibrary) -> Option<&Library> {
        let mut opened = self.opened(ops).iter();
        opened.find(|one| one.session.library() == library)
    }

    /// Whether a library may compute a problem: there, of the same meaning, found right.
    pub fn is_verified(&self, ops: &DeviceOps, library: VendorLibrary, problem: &Problem) -> bool {
        let Some(found) = self.get(ops, library) else {
            return false;
        };
        if !is_for_vendor(problem) {
            return false;
        }
        let key = (problem.operand, problem.epilogue);
        let mut verdicts = found
            .verdicts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, verdict)) = verdicts.iter().find(|(known, _)| *known == key) {
            return *verdict;
        }
        let verdict = verify::is_right(ops, &found.session, key.0, key.1);
        verdicts.push((key, verdict));
        verdict
    }

    /// Tells why no library computes a problem although `AMDGPU_MATMUL` demands one.
    pub fn tell_absence(&self, ops: &DeviceOps, problem: &Problem) {
        let found: Vec<&str> = self.all(ops).into_iter().map(VendorLibrary::name).collect();
        let absence = if found.is_empty() {
            let wanted = match ops.device().info().kind {
                DeviceKind::Cuda => "cublaslt",
                DeviceKind::Hip => "hipblaslt or rocblas",
                _ => "a vendor's library",
            };
            format!("{wanted} is not installed")
        } else {
            format!(
                "{} is not used for {} products of this kind",
                found.join(", "),
                problem.operand.name()
            )
        };
        fallback(
            NAME,
            &format!("AMDGPU_MATMUL=vendor: {absence}; our own kernels compute"),
        );
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
        match self.get(ops, library) {
            Some(found) => submit(ops, &found.session, call),
            None => Ok(false),
        }
    }
}

/// Queues a product on the default stream; waits for it where others know the memory.
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
    let arrays = [Some(call.a), Some(call.b), Some(call.out), call.bias];
    let arrays = || arrays.into_iter().flatten();
    for array in arrays() {
        array.check_alive()?;
    }
    let device = ops.device();
    let queue = device.device().default_stream();
    let Some(bytes) = session.prepare(&product, queue.as_ref())? else {
        return Ok(false);
    };
    let is_private = arrays().all(|array| array.is_private_to(device));
    for array in arrays() {
        if let Some(other) = array.open_device()
            && !Arc::ptr_eq(other, device)
        {
            // What another device has queued is not ordered before this product.
            other.settle()?;
        }
        if array.has_uses() {
            let uses = array.storage().uses();
            uses.hold_back(queue, device.device())
                .map_err(amdgpu_array::Error::from)?;
        }
    }
    let workspace = (bytes > 0)
        .then(|| {
            let shape = Dims::from_slice(&[bytes as i64]);
            Array::empty(device, shape, Dtype::I8, MemoryKind::Device)
        })
        .transpose()?;
    let memory = workspace.as_ref().map_or(Workspace::default(), |array| {
        let address = array.address().address();
        Workspace { address, bytes }
    });
    let _held: Vec<_> = arrays().map(|array| Arc::clone(array.storage())).collect();
    // SAFETY: the arrays are of this device and as large as the problem says. They and the workspace are held until the wait is over, or are
    // memory that the next in the order of this stream gets.
    let is_taken = unsafe { session.submit(&product, memory, queue.as_ref()) }?;
    if is_taken && is_private {
        device.note_queued();
    } else if is_taken {
        Kernel::wait(queue.as_ref(), None)?;
    }
    Ok(is_taken)
}
