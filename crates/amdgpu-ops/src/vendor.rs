//! What the GPU vendors' libraries compute: which are there, which were found right, and calls of them.
//!
//! A library is opened when a choice first considers it. Before its first use for a kind of work it computes a small example, which is compared
//! with the CPU's result; wrong answers are refused, told once, and our own kernels compute from then on.

mod convolutions;
mod products;
mod samples;
mod sums;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use amdgpu_abi::{Coded, Dtype};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::Kernel;
use amdgpu_hal::{DeviceKind, MemoryKind};
use amdgpu_matrix::vendor::{Session, VendorLibrary, Work, Workspace};
use amdgpu_telemetry::fallback;
use smallvec::SmallVec;

use crate::{DeviceOps, Result};

pub use convolutions::{ConvolutionLibraries, Convolved};
pub use products::Libraries;
pub use sums::{Sum, SumLibraries};

/// Names the folders in which the host language keeps vendors' libraries for a kind of device.
pub type Folders = Box<dyn Fn(DeviceKind) -> Vec<PathBuf> + Send + Sync>;

static FOLDERS: OnceLock<Folders> = OnceLock::new();

/// Registers who knows where vendors' libraries may lie beside the loader's own path; the first one stays. It is asked when a device is
/// first asked for its libraries.
pub fn register_folders(folders: Folders) {
    let _ = FOLDERS.set(folders);
}

/// A device, and the operation that a library is wanted for, as messages call it.
type Asking<'a> = (&'a DeviceOps, &'static str);

/// The libraries of a device that do a kind of work, opened on first use; each is found right or wrong for what `K` tells apart.
struct Sessions<W, K>(OnceLock<Vec<Started<W, K>>>);

struct Started<W, K> {
    session: Session<W>,
    verdicts: Mutex<Vec<(K, bool)>>,
}

impl<W, K> Default for Sessions<W, K> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<W: Work, K: Copy + PartialEq> Sessions<W, K> {
    fn started(&self, (ops, operation): Asking<'_>) -> &[Started<W, K>] {
        self.0.get_or_init(|| {
            let device = ops.device().device();
            let kind = device.info().kind;
            let is_own = |library: &&VendorLibrary| library.device_kind() == kind;
            let own: SmallVec<[&VendorLibrary; 3]> = W::LIBRARIES.iter().filter(is_own).collect();
            if own.is_empty() {
                return Vec::new();
            }
            let folders = FOLDERS.get().map_or_else(Vec::new, |folders| folders(kind));
            // What is not installed is not said.
            let there = own.into_iter().filter_map(|one| one.find(&folders).ok());
            let started = there.filter_map(|found| match Session::start(&found, device) {
                Ok(session) => Some(Started {
                    session,
                    verdicts: Mutex::default(),
                }),
                Err(error) => {
                    let name = found.library().name();
                    let class = error.code().class();
                    fallback(operation, &format!("{name} does not start: {class}"));
                    None
                }
            });
            started.collect()
        })
    }

    /// The libraries that are there, best first.
    fn all(&self, asking: Asking<'_>) -> Vec<VendorLibrary> {
        let started = self.started(asking).iter();
        started.map(|one| one.session.library()).collect()
    }

    fn get(&self, asking: Asking<'_>, library: VendorLibrary) -> Option<&Session<W>> {
        self.find(asking, library).map(|one| &one.session)
    }

    fn find(&self, asking: Asking<'_>, library: VendorLibrary) -> Option<&Started<W, K>> {
        let mut started = self.started(asking).iter();
        started.find(|one| one.session.library() == library)
    }

    /// Tells why no library does work although `AMDGPU_MATMUL` demands one; `what` is called what it is not used for.
    fn tell_absence(&self, asking: Asking<'_>, what: &str) {
        let (ops, operation) = asking;
        let kind = ops.device().info().kind;
        let names = |all: &[VendorLibrary], between: &str| {
            let names: SmallVec<[&str; 3]> = all.iter().map(|one| one.name()).collect();
            names.join(between)
        };
        let found = self.all(asking);
        let mut wanted = W::LIBRARIES.to_vec();
        wanted.retain(|library| library.device_kind() == kind);
        let absence = if !found.is_empty() {
            format!("{} is not used for {what}", names(&found, ", "))
        } else if wanted.is_empty() {
            "a vendor's library is not known for this device".to_owned()
        } else {
            format!(
                "{} is not installed or does not start",
                names(&wanted, " or ")
            )
        };
        fallback(
            operation,
            &format!("AMDGPU_MATMUL=vendor: {absence}; our own kernels compute"),
        );
    }

    /// Whether a library is there and right for a kind of work, which `check` finds out the first time.
    fn verdict(
        &self,
        asking: Asking<'_>,
        library: VendorLibrary,
        kind: K,
        check: impl FnOnce(&Session<W>) -> bool,
    ) -> bool {
        let Some(found) = self.find(asking, library) else {
            return false;
        };
        let mut verdicts = found
            .verdicts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, verdict)) = verdicts.iter().find(|(known, _)| *known == kind) {
            return *verdict;
        }
        let verdict = check(&found.session);
        verdicts.push((kind, verdict));
        verdict
    }
}

/// Tells that a library failed, so that ours computes.
fn tell_failure(operation: &'static str, library: VendorLibrary, error: &dyn Coded) {
    let (name, class) = (library.name(), error.code().class());
    fallback(
        operation,
        &format!("{name} fails with {class}; our own kernels compute"),
    );
}

/// Queues work on the default stream; waits for it where others know the memory. False when the library does not do it, and nothing was done.
///
/// # Errors
///
/// Failures of the library and of the device, and `out-of-memory` for the workspace.
///
/// # Safety
/// The addresses of the work are those of `arrays`, which are of the device and as large as the work says.
unsafe fn queue<W: Work>(
    ops: &DeviceOps,
    session: &Session<W>,
    work: &W,
    arrays: &[&Array],
) -> Result<bool> {
    for array in arrays {
        array.check_alive()?;
    }
    let device = ops.device();
    let stream = device.device().default_stream();
    let Some(bytes) = session.prepare(work, stream.as_ref())? else {
        return Ok(false);
    };
    recording::note_outside("a library of the vendor computes it");
    let is_private = arrays.iter().all(|array| array.is_private_to(device));
    for array in arrays {
        if let Some(other) = array.open_device()
            && !Arc::ptr_eq(other, device)
        {
            // What another device has queued is not ordered before this work.
            other.settle()?;
        }
        if array.has_uses() {
            let uses = array.storage().uses();
            uses.hold_back(stream, device.device())
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
    let _held: SmallVec<[_; 4]> = arrays
        .iter()
        .map(|array| Arc::clone(array.storage()))
        .collect();
    // SAFETY: the caller's contract. The arrays and the workspace are held until the wait is over, or are memory that the next in the order of
    // this stream gets.
    let is_taken = unsafe { session.submit(work, memory, stream.as_ref()) }?;
    if is_taken && is_private {
        device.note_queued();
    } else if is_taken {
        Kernel::wait(stream.as_ref(), None)?;
    }
    Ok(is_taken)
}
