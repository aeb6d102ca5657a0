//! Archived kernels on a device: its facts, its archive, kernels that are loaded, and what was chosen.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_aura::{CompileRequest, Context, CoreType, Kernel};
use amdgpu_compiler::CompileOptions;
use amdgpu_hal::{DeviceInfo, MemoryKind};
use amdgpu_matrix::vendor::VendorLibrary;
use amdgpu_telemetry::Fallback;
use rustc_hash::FxHashMap;

use super::archive::{Archive, ArchivedKernel};
use super::choice::Choice;
use super::problem::{Number, Problem};
use super::tensor_map::TensorMaps;
use crate::choices::Choices;
use crate::convolve::Ways;
use crate::kernel_form::KernelForm;
use crate::launch::{Shape, launch_beside};
use crate::vendor::{Libraries, SumLibraries};
use crate::{Arg, DeviceOps, Error, KernelKey, Result, toolchain};

/// What a choice of kernels depends on, of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// For example `sm_90`, `gfx942:sramecc+:xnack-`.
    pub architecture: String,
    /// Compute units of AMD, SMs of NVIDIA.
    pub units: u64,
}

impl Facts {
    #[must_use]
    pub fn of(info: &DeviceInfo) -> Self {
        Self {
            architecture: info.architecture.clone(),
            units: u64::from(info.compute_units.unwrap_or(0)),
        }
    }
}

/// What is kept of archived kernels for a device.
pub struct Archived {
    facts: Facts,
    /// Set when it is found: until then it is looked for again, since `./x kernels` may be running.
    loaded: OnceLock<Option<Loaded>>,
    /// By problem, and whether kernels of ours alone may compute it.
    pub(super) choices: Choices<(Problem, bool), Option<Choice>>,
    /// What tells that there is neither an archive nor a library, by the dtypes of a product.
    absences: RwLock<FxHashMap<[Dtype; 3], Fallback>>,
    pub(super) maps: TensorMaps,
    pub(crate) libraries: Libraries,
    pub(crate) convolutions: Ways,
    pub(crate) sums: SumLibraries,
    /// Forms of generated kernels, by kernel and size.
    pub(crate) forms: Choices<KernelKey, KernelForm>,
}

/// An archive, with the kernels that were loaded from it.
struct Loaded {
    archive: Archive,
    kernels: Vec<OnceLock<Arc<Kernel>>>,
}

impl Loaded {
    fn of(archive: Archive) -> Self {
        let kernels = std::iter::repeat_with(OnceLock::new);
        Self {
            kernels: kernels.take(archive.kernels().len()).collect(),
            archive,
        }
    }
}

impl Archived {
    /// What is kept for a device.
    #[must_use]
    pub fn of(ops: &DeviceOps) -> &Self {
        ops.attached(|| Self::new(ops.device().info()))
    }

    fn new(info: &DeviceInfo) -> Self {
        Self {
            facts: Facts::of(info),
            loaded: OnceLock::new(),
            choices: Choices::default(),
            absences: RwLock::default(),
            maps: TensorMaps::default(),
            libraries: Libraries::default(),
            convolutions: Ways::default(),
            sums: SumLibraries::default(),
            forms: Choices::default(),
        }
    }

    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What was found when it was first asked for: an archive that is made later is for the next process.
    fn loaded(&self) -> Result<Option<&Loaded>> {
        if let Some(found) = self.loaded.get() {
            return Ok(found.as_ref());
        }
        let found = Archive::find(&self.facts.architecture)?.map(Loaded::of);
        // Of threads that come together one wins.
        Ok(self.loaded.get_or_init(|| found).as_ref())
    }

    /// The archive for the device, read on first use; `None` where there is none.
    ///
    /// # Errors
    ///
    /// `library-missing` where it is damaged.
    pub fn archive(&self) -> Result<Option<&Archive>> {
        Ok(self.loaded()?.map(|loaded| &loaded.archive))
    }

    /// Whether there is an archive, or a vendor's library, for the device.
    pub fn has_any(&self, ops: &DeviceOps) -> bool {
        !matches!(self.loaded(), Ok(None)) || !self.libraries.is_empty(ops)
    }

    /// The vendor's libraries that are there, best first; opened now if they were not.
    #[must_use]
    pub fn libraries(&self, ops: &DeviceOps) -> Vec<VendorLibrary> {
        self.libraries.all(ops)
    }

    /// Whether a library may compute a problem: there, of the same meaning, found right.
    #[must_use]
    pub fn is_verified(&self, ops: &DeviceOps, library: VendorLibrary, problem: &Problem) -> bool {
        self.libraries.is_verified(ops, library, problem)
    }

    /// What was chosen so far, in no order.
    #[must_use]
    pub fn choices(&self) -> Vec<Option<Choice>> {
        self.choices.all()
    }

    /// Counts once more that nothing here computes products of dtypes; false where [`Self::note_absence`] has not said so.
    pub(crate) fn count_absence(&self, dtypes: [Dtype; 3]) -> bool {
        let known = self.absences.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&dtypes);
        found.inspect(|found| found.count()).is_some()
    }

    /// Remembers what tells that the device has neither an archive nor a library, which stays so.
    pub(crate) fn note_absence(&self, dtypes: [Dtype; 3], told: Fallback) {
        let mut known = self
            .absences
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(dtypes, told);
    }
}

/// Launches of archived kernels on a device.
pub(super) struct Steps<'a> {
    ops: &'a DeviceOps,
    loaded: &'a Loaded,
}

impl<'a> Steps<'a> {
    /// # Errors
    ///
    /// [`Error::NoKernel`] where there is no archive for the device.
    pub fn of(ops: &'a DeviceOps) -> Result<Self> {
        let archived = Archived::of(ops);
        let loaded = archived.loaded()?.ok_or_else(|| {
            let architecture = &archived.facts.architecture;
            Error::no_kernel(format!("there is no archive for {architecture}"))
        })?;
        Ok(Self { ops, loaded })
    }

    pub fn ops(&self) -> &'a DeviceOps {
        self.ops
    }

    pub fn archive(&self) -> &'a Archive {
        &self.loaded.archive
    }

    pub fn units(&self) -> u64 {
        Archived::of(self.ops).facts.units
    }

    /// The first kernel of a kind that a condition lets pass; `what` says in messages which one was wanted.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`].
    pub fn find(
        &self,
        kind: &str,
        passes: impl Fn(&ArchivedKernel) -> bool,
        what: impl FnOnce() -> String,
    ) -> Result<&'a ArchivedKernel> {
        self.archive().first(kind, passes).ok_or_else(|| {
            let architecture = &Archived::of(self.ops).facts.architecture;
            Error::no_kernel(format!(
                "the archived kernels for {architecture} have no {kind} of {}",
                what()
            ))
        })
    }

    /// New memory that belongs to the launches it is given to: the default stream hands it on in its order, a graph keeps it.
    ///
    /// # Errors
    ///
    /// `out-of-memory`.
    pub fn scratch(&self, number: Number, shape: &[u64]) -> Result<Array> {
        self.scratch_of(number.dtype(), shape)
    }

    /// As [`Self::scratch`].
    pub fn scratch_of(&self, dtype: Dtype, shape: &[u64]) -> Result<Array> {
        let shape: Dims = shape.iter().map(|extent| *extent as i64).collect();
        let device = self.ops.device();
        Ok(Array::empty(device, shape, dtype, MemoryKind::Device)?)
    }

    /// Launch a kernel, loaded on first use.
    ///
    /// # Errors
    ///
    /// Code that the device does not load; what the device reports.
    pub fn launch(&self, kernel: &ArchivedKernel, shape: Shape, args: &[Arg<'_>]) -> Result<()> {
        self.launch_beside(kernel, shape, args, &[])
    }

    /// [`Self::launch`] of a kernel that also reaches other arrays, whose addresses it reads from memory.
    ///
    /// # Errors
    ///
    /// As [`Self::launch`].
    pub fn launch_beside(
        &self,
        kernel: &ArchivedKernel,
        shape: Shape,
        args: &[Arg<'_>],
        others: &[&Array],
    ) -> Result<()> {
        let slot = &self.loaded.kernels[kernel.index];
        let loaded = if let Some(found) = slot.get() {
            found
        } else {
            // Of threads that come together one wins.
            let made = load(self.ops.context(), self.archive(), kernel)?;
            slot.get_or_init(|| made)
        };
        let shape = Shape {
            shared_bytes: shape.shared_bytes + kernel.dynamic_shared_bytes as i64,
            ..shape
        };
        launch_beside(loaded, shape, args, others)
    }
}

fn load(context: &Context, archive: &Archive, kernel: &ArchivedKernel) -> Result<Arc<Kernel>> {
    let source = archive.prototype(kernel)?;
    let code = archive.code(kernel)?;
    let request = CompileRequest {
        source: &source,
        kernel_name: Some(&kernel.name),
        core: CoreType::Matrix,
        options: CompileOptions {
            name: format!("{}.zig", kernel.name),
            ..CompileOptions::default()
        },
    };
    Ok(context.load_compiled(&request, &code, &kernel.name, toolchain::get()?)?)
}
