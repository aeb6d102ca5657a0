//! What operations keep for a device: the kernels that were generated for it.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use amdgpu_array::recording;
use amdgpu_aura::{
    CompileRequest, Context, ContextOptions, CoreType, Kernel, LaunchRecords, OpenDevice,
};
use amdgpu_compiler::{CompileOptions, OptimizationLevel};
use amdgpu_hal::{DeviceKind, ForkLocal};
use rustc_hash::FxHashMap;

use crate::blank_notes::BlankNotes;
use crate::key::KernelKey;
use crate::lists::tables::Tables;
use crate::{Result, toolchain};

/// Devices that operations were asked for, each held open for as long as the process lives; a forked child has none.
static DEVICES: ForkLocal<RwLock<Vec<Arc<DeviceOps>>>> = ForkLocal::new(RwLock::default);

/// The state of operations on one open device.
pub struct DeviceOps {
    device: Arc<OpenDevice>,
    context: Context,
    kernels: RwLock<FxHashMap<KernelKey, Arc<Kernel>>>,
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
    tables: Mutex<Tables>,
    blank_notes: BlankNotes,
    /// The CPU computes in place; else kernels do, on a CPU device too.
    is_in_place: bool,
    /// Held while a kernel is compiled, so that threads which want the same one compile it once.
    compiling: Mutex<()>,
}

impl DeviceOps {
    /// The state for a device, made on first use.
    ///
    /// # Errors
    ///
    /// The device is lost.
    pub fn of(device: &Arc<OpenDevice>) -> Result<Arc<Self>> {
        let info = device.info();
        Self::find_or_make(
            device,
            info.kind == DeviceKind::Cpu && info.capabilities.host_visible,
        )
    }

    /// The state for a device on which kernels compute everything, on a CPU device too: there they are compared with the Zig library.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub fn of_kernels(device: &Arc<OpenDevice>) -> Result<Arc<Self>> {
        Self::find_or_make(device, false)
    }

    fn find_or_make(device: &Arc<OpenDevice>, is_in_place: bool) -> Result<Arc<Self>> {
        let is_wanted =
            |one: &&Arc<Self>| Arc::ptr_eq(&one.device, device) && one.is_in_place == is_in_place;
        let find = |known: &[Arc<Self>]| known.iter().find(is_wanted).cloned();
        let known = DEVICES.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&known) {
            return Ok(found);
        }
        drop(known);
        let mut known = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&known) {
            return Ok(found);
        }
        let options = ContextOptions {
            cores: vec![CoreType::Matrix],
            launch_records: LaunchRecords::Sampled,
        };
        let made = Arc::new(Self {
            device: Arc::clone(device),
            context: Context::open(Arc::clone(device), options)?,
            kernels: RwLock::default(),
            attached: OnceLock::new(),
            tables: Mutex::default(),
            blank_notes: BlankNotes::default(),
            is_in_place,
            compiling: Mutex::default(),
        });
        known.retain(|one| !one.device.device().is_lost());
        known.push(Arc::clone(&made));
        Ok(made)
    }

    #[must_use]
    pub fn device(&self) -> &Arc<OpenDevice> {
        &self.device
    }

    /// Whether the CPU computes where the arrays lie. While this thread records a graph, kernels do: they become part of it.
    #[must_use]
    pub fn computes_on_host(&self) -> bool {
        self.is_in_place && !recording::is_recording()
    }

    /// What a module that stands above this one keeps for the device, made on first use. There is one such type.
    pub(crate) fn attached<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let attached = self.attached.get_or_init(|| Box::new(make()));
        match attached.downcast_ref() {
            Some(found) => found,
            None => unreachable!("one type is attached to devices"),
        }
    }

    /// Tables of lists of tensors that lie on the device.
    pub(crate) fn tables(&self) -> &Mutex<Tables> {
        &self.tables
    }

    /// Memory for notes about indices that is between two calls.
    pub(crate) fn blank_notes(&self) -> &BlankNotes {
        &self.blank_notes
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// The kernel of a key: compiled from what `source` writes when it is first asked for. `name` is the kernel's and, with `.hip`, the
    /// file's in messages.
    ///
    /// # Errors
    ///
    /// The source does not compile; no code generator.
    pub fn kernel(
        &self,
        key: KernelKey,
        name: &str,
        source: impl FnOnce() -> String,
    ) -> Result<Arc<Kernel>> {
        if let Some(found) = self.find(&key) {
            return Ok(found);
        }
        let _one_at_a_time = self
            .compiling
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.find(&key) {
            return Ok(found);
        }
        let text = source();
        let request = CompileRequest {
            source: &text,
            kernel_name: Some(name),
            core: CoreType::Matrix,
            options: CompileOptions {
                name: format!("{name}.hip"),
                optimization_level: OptimizationLevel::High,
                ..CompileOptions::default()
            },
        };
        let kernel = self.context.compile(&request, toolchain::get()?)?;
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    fn find(&self, key: &KernelKey) -> Option<Arc<Kernel>> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        kernels.get(key).cloned()
    }
}
