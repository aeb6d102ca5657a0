//! Memory of other libraries on a GPU: where it is, and the device through which it can be reached.

use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::layout::{
    DEVICE_CPU, DEVICE_CUDA, DEVICE_CUDA_HOST, DEVICE_ROCM, DEVICE_ROCM_HOST,
};
use amdgpu_abi::{DeviceRef, ErrorCode, Language};
use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{DeviceInfo, DeviceKind, DevicePointer, ForkLocal};
use pyo3::prelude::*;

use crate::device::open_device;
use crate::errors::{IntoPyResult, raise};

/// `kDLCUDAManaged` of DLPack 1.1: host and device reach it at one address.
const DEVICE_CUDA_MANAGED: i32 = 13;

/// Devices held open for the memory of other libraries.
static LENDERS: ForkLocal<Mutex<Vec<Arc<OpenDevice>>>> = ForkLocal::new(Mutex::default);

/// Who reaches memory, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Ordinary memory of the host.
    Host,
    /// Memory of the host that GPUs of this kind reach at the same address.
    Pinned(DeviceKind),
    /// Memory of a device that the host reaches too.
    Managed(String),
    /// Memory of a device; `cpu:0` is one as well.
    Device(String),
}

impl Place {
    /// The place that DLPack names.
    ///
    /// # Errors
    ///
    /// `wrong-device` for devices that this package has no driver for.
    pub fn of_dlpack(py: Python<'_>, device: DeviceRef) -> PyResult<Self> {
        let named = |kind: DeviceKind| format!("{kind}:{}", device.device_id);
        match device.device_type {
            DEVICE_CPU => Ok(Self::Host),
            DEVICE_CUDA_HOST => Ok(Self::Pinned(DeviceKind::Cuda)),
            DEVICE_ROCM_HOST => Ok(Self::Pinned(DeviceKind::Hip)),
            DEVICE_CUDA => Ok(Self::Device(named(DeviceKind::Cuda))),
            DEVICE_ROCM => Ok(Self::Device(named(DeviceKind::Hip))),
            DEVICE_CUDA_MANAGED => Ok(Self::Managed(named(DeviceKind::Cuda))),
            other => {
                let message = format!(
                    "the array is on DLPack device type {other} number {}, which this build has no driver for; copy it to the host first",
                    device.device_id
                );
                Err(raise(py, ErrorCode::WrongDevice, Language::Rust, &message))
            }
        }
    }

    /// Name of the device that holds the memory; `None` for host memory that is no device's.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Host | Self::Pinned(_) => None,
            Self::Managed(name) | Self::Device(name) => Some(name),
        }
    }

    /// The GPU that has to be asked before the host or anybody else touches the memory.
    pub fn gpu(&self) -> Option<&str> {
        self.device().filter(|name| !name.starts_with("cpu:"))
    }

    /// Whether the host can read it at its address.
    pub fn is_host_reachable(&self) -> bool {
        !matches!(self, Self::Device(_)) || self.gpu().is_none()
    }

    /// Whether kernels of a device can use the address.
    pub fn is_reachable_by(&self, info: &DeviceInfo) -> bool {
        let is_host_memory = if info.capabilities.reads_host_memory {
            self.is_host_reachable()
        } else {
            *self == Self::Pinned(info.kind)
        };
        is_host_memory || self.device() == Some(&info.name)
    }
}

/// The device of that name, open for memory that another library lends; it shares the driver's context with that library.
pub fn device(py: Python<'_>, name: &str) -> PyResult<Arc<dyn hal::Device>> {
    let lock = || LENDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock()
        .iter()
        .find(|open| !open.device().is_lost() && open.name() == name)
        .cloned();
    if let Some(open) = known {
        return Ok(Arc::clone(open.device()));
    }
    let opened = py.detach(|| open_device(name)).map_err(|error| {
        let message = format!("the array is on {name}, which cannot be opened: {error}");
        raise(py, ErrorCode::WrongDevice, Language::Rust, &message)
    })?;
    let mut lenders = lock();
    lenders.retain(|open| !open.device().is_lost());
    let device = Arc::clone(opened.device());
    lenders.push(opened);
    Ok(device)
}

/// The CUDA device that an address belongs to, by the driver's own books.
pub fn cuda_device_of(py: Python<'_>, address: u64) -> PyResult<String> {
    let first = device(py, "cuda:0")?;
    match first.ordinal_of_address(DevicePointer(address)) {
        Some(ordinal) => Ok(format!("cuda:{ordinal}")),
        None => Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &format!(
                "__cuda_array_interface__ names the address {address:#x}, which the CUDA driver does not know"
            ),
        )),
    }
}

/// Let the host wait for what a lender has under way in one of its streams (1 and 2 are the driver's own).
pub fn wait_for(py: Python<'_>, name: &str, stream: u64) -> PyResult<()> {
    let device = device(py, name)?;
    // SAFETY: by the protocol of `__cuda_array_interface__` the producer names a live stream.
    py.detach(|| unsafe { device.wait_for_native(stream) })
        .into_py_result(py)
}

/// Order our work on a device before that of a consumer's stream, as the consumer named it in `__dlpack__`.
pub fn order_before(
    py: Python<'_>,
    device: &Arc<dyn hal::Device>,
    stream: Option<i64>,
) -> PyResult<()> {
    let legacy_default = device.info().capabilities.default_stream_handle;
    let handle = match stream {
        // The consumer takes care of the order itself.
        Some(-1) => return Ok(()),
        Some(handle) => u64::try_from(handle).map_err(|_| {
            let message = format!("{handle} is no stream; -1, or a driver's handle is");
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })?,
        None => legacy_default,
    };
    // SAFETY: by the protocol of `__dlpack__` the consumer names one of its live streams.
    py.detach(|| unsafe { device.order_before(handle) })
        .into_py_result(py)
}
