//! Modules and functions of a GPU.

use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::context::Context;
use super::functions::{Handle, OUT_OF_RESOURCES, SUCCESS, Status};
use super::image;
use crate::{
    DevicePointer, Error, Function, GlobalMemory, LaunchConfig, Module, Residence, Result,
};

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const LOG_OPTIONS: [i32; 2] = [5, 6];
/// Room for the log of the driver's compiler; the first errors are the ones that matter.
const LOG_BYTES: usize = 8 << 10;
/// `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`, the same in HIP.
const LAUNCH_BUFFER_POINTER: usize = 1;
const LAUNCH_BUFFER_SIZE: usize = 2;
/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`, `…_SHARED_SIZE_BYTES`, `…_LOCAL_SIZE_BYTES` and `…_NUM_REGS`, the same in HIP.
const FUNCTION_MAX_THREADS: i32 = 0;
const FUNCTION_SHARED_BYTES: i32 = 1;
const FUNCTION_LOCAL_BYTES: i32 = 3;
const FUNCTION_REGISTERS: i32 = 4;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const FUNCTION_MAX_DYNAMIC_SHARED: i32 = 8;
/// What a kernel may use without asking (CUDA C++ Programming Guide, technical specifications).
const DYNAMIC_SHARED_WITHOUT_ASKING_BYTES: u32 = 48 << 10;
const INVALID_VALUE: Status = 1;
/// `CUDA_ERROR_NOT_FOUND`, the same in HIP.
const NOT_FOUND: Status = 500;

/// A module inside the driver.
#[derive(Debug)]
struct Loaded {
    handle: Handle,
    context: Arc<Context>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: loaded in this context and unloaded once, when no function of it is left.
            unsafe { (self.context.functions().module_unload)(self.handle) };
        }
    }
}

/// Loaded code.
#[derive(Debug)]
pub struct GpuModule {
    loaded: Arc<Loaded>,
    kernels: BTreeSet<String>,
}

impl GpuModule {
    pub(super) fn load(context: &Arc<Context>, bytes: &[u8]) -> Result<Self> {
        let invalid = |reason: String| Error::InvalidModule { reason };
        let dialect = context.api.vendor.dialect;
        let (kernels, image) = image::inspect(dialect, bytes).map_err(invalid)?;
        let _entered = context.enter()?;
        let vendor = context.api.vendor;
        let mut log = vec![0_u8; if vendor.has_load_log { LOG_BYTES } else { 0 }];
        let mut options = LOG_OPTIONS;
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut::<c_void>(log.len()),
        ];
        let count = if vendor.has_load_log {
            options.len() as u32
        } else {
            0
        };
        let mut handle = 0;
        // SAFETY: the image is whole (its tables were read, or it is text that ends with a zero byte) and outlives the call, and so do the
        // options, whose values have the kinds that the manual gives.
        let status = unsafe {
            (context.functions().module_load)(
                &raw mut handle,
                image.as_ptr().cast(),
                count,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if status != SUCCESS {
            if !vendor.module_statuses.contains(&status) {
                return Err(context.error("loading a module", status));
            }
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            let text = String::from_utf8_lossy(&log[..end]);
            let mut reason = context.api.describe(status);
            if !text.trim().is_empty() {
                reason = format!("{reason}; the driver's compiler says: {}", text.trim());
            }
            return Err(invalid(reason));
        }
        Ok(Self {
            loaded: Arc::new(Loaded {
                handle,
                context: Arc::clone(context),
            }),
            kernels,
        })
    }
}

impl Module for GpuModule {
    fn function(&self, name: &str) -> Result<Arc<dyn Function>> {
        let missing = || Error::kernel_not_found(name, self.kernels.iter().map(String::as_str));
        if !self.kernels.contains(name) {
            return Err(missing());
        }
        let context = &self.loaded.context;
        let _entered = context.enter()?;
        let text = CString::new(name).map_err(|_| missing())?;
        let (mut handle, mut max_threads) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a zero byte, and the result has a valid place.
        let status = unsafe {
            let name: *const c_char = text.as_ptr();
            (context.functions().module_function)(&raw mut handle, self.loaded.handle, name)
        };
        context.check("finding a kernel", status)?;
        // Asking for an attribute makes a driver that loads lazily load the kernel now. Left to the first launch, it could wait there for
        // streams that wait for their submitter.
        // SAFETY: the function was just found and the result has a valid place.
        let status = unsafe {
            (context.functions().function_attribute)(
                &raw mut max_threads,
                FUNCTION_MAX_THREADS,
                handle,
            )
        };
        context.check("loading a kernel", status)?;
        Ok(Arc::new(GpuFunction(Arc::new(Kernel {
            name: Arc::from(name),
            handle,
            max_threads_per_block: max_threads.max(0) as u32,
            dynamic_shared_bytes: AtomicU32::new(DYNAMIC_SHARED_WITHOUT_ASKING_BYTES),
            loaded: Arc::clone(&self.loaded),
        }))))
    }

    fn function_names(&self) -> Vec<String> {
        self.kernels.iter().cloned().collect()
    }

    fn global(&self, name: &str) -> Result<GlobalMemory> {
        let missing = || Error::global_not_found(name, std::iter::empty());
        let context = &self.loaded.context;
        let _entered = context.enter()?;
        let text = CString::new(name).map_err(|_| missing())?;
        let (mut address, mut size_bytes) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a zero byte, and both results have valid places.
        let status = unsafe {
            (context.functions().module_global)(
                &raw mut address,
                &raw mut size_bytes,
                self.loaded.handle,
                text.as_ptr(),
            )
        };
        if status == NOT_FOUND {
            return Err(missing());
        }
        context.check("finding a variable", status)?;
        Ok(GlobalMemory {
            ptr: DevicePointer(address),
            size_bytes: size_bytes as u64,
        })
    }
}

/// One kernel; its clones are the same.
#[derive(Clone, Debug)]
pub struct GpuFunction(Arc<Kernel>);

#[derive(Debug)]
struct Kernel {
    name: Arc<str>,
    handle: Handle,
    /// What the registers of the kernel leave room for.
    max_threads_per_block: u32,
    /// How much dynamic shared memory the driver has been told to allow.
    dynamic_shared_bytes: AtomicU32,
    loaded: Arc<Loaded>,
}

impl GpuFunction {
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.0.loaded.context
    }

    /// The kernel's name, shared.
    pub(super) fn shared_name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// Launches in a stream of the context, which is current.
    ///
    /// # Safety
    /// As for [`crate::Stream::launch`].
    pub(super) unsafe fn launch(
        &self,
        stream: Handle,
        config: &LaunchConfig,
        arguments: &[u8],
    ) -> Result<()> {
        if config.shared_bytes > self.0.dynamic_shared_bytes.load(Ordering::Relaxed) {
            self.allow_dynamic_shared(config.shared_bytes)?;
        }
        let context = &*self.0.loaded.context;
        let mut len = arguments.len();
        let mut list = [
            std::ptr::without_provenance_mut::<c_void>(LAUNCH_BUFFER_POINTER),
            arguments.as_ptr().cast_mut().cast(),
            std::ptr::without_provenance_mut(LAUNCH_BUFFER_SIZE),
            (&raw mut len).cast(),
            std::ptr::without_provenance_mut(context.api.vendor.launch_list_end),
        ];
        let extra = if arguments.is_empty() {
            std::ptr::null_mut()
        } else {
            list.as_mut_ptr()
        };
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (config.grid, config.block);
        // SAFETY: function and stream are live and of one context; the driver copies the argument block before it returns. The caller
        // vouches for the rest.
        let status = unsafe {
            (context.functions().launch)(
                self.0.handle,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                config.shared_bytes,
                stream,
                std::ptr::null_mut(),
                extra,
            )
        };
        if status == SUCCESS {
            return Ok(());
        }
        Err(self.refused(status, config))
    }

    #[cold]
    fn allow_dynamic_shared(&self, bytes: u32) -> Result<()> {
        let context = &*self.0.loaded.context;
        let Some(set) = context.api.set_function_attribute else {
            return Ok(());
        };
        // SAFETY: the function is live and the attribute takes a number of bytes.
        let status = unsafe { set(self.0.handle, FUNCTION_MAX_DYNAMIC_SHARED, bytes as i32) };
        context.check("allowing dynamic shared memory", status)?;
        self.0
            .dynamic_shared_bytes
            .fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    #[cold]
    fn refused(&self, status: Status, config: &LaunchConfig) -> Error {
        let context = &*self.0.loaded.context;
        let mut error = context.error("launching a kernel", status);
        if let Error::DriverFault { reason, .. } = &mut error
            && matches!(status, OUT_OF_RESOURCES | INVALID_VALUE)
        {
            *reason = format!(
                "{reason}; `{}` was launched with {} threads per block and its registers leave room for {}",
                self.0.name,
                config.threads_per_block(),
                self.0.max_threads_per_block
            );
        }
        error
    }
}

impl Function for GpuFunction {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn residence(&self, threads: u32, dynamic_shared_bytes: u32) -> Result<Option<Residence>> {
        let context = &*self.0.loaded.context;
        let _entered = context.enter()?;
        let attribute = |number: i32| -> Result<u32> {
            let mut value = 0;
            // SAFETY: the function is live and the result has a valid place.
            let status = unsafe {
                (context.functions().function_attribute)(&raw mut value, number, self.0.handle)
            };
            context.check("asking what a kernel occupies", status)?;
            Ok(value.max(0) as u32)
        };
        let mut blocks = 0;
        // SAFETY: the function is live and the result has a valid place.
        let status = unsafe {
            (context.functions().max_active_blocks)(
                &raw mut blocks,
                self.0.handle,
                threads as i32,
                dynamic_shared_bytes as usize,
            )
        };
        context.check("asking for the occupancy of a kernel", status)?;
        Ok(Some(Residence {
            registers: attribute(FUNCTION_REGISTERS)?,
            shared_bytes: attribute(FUNCTION_SHARED_BYTES)?,
            local_bytes: attribute(FUNCTION_LOCAL_BYTES)?,
            blocks_per_unit: blocks.max(0) as u32,
        }))
    }
}
