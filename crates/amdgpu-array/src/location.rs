//! Where memory is, and who reaches it.

use amdgpu_abi::layout::{
    DEVICE_CPU, DEVICE_CUDA, DEVICE_CUDA_HOST, DEVICE_ROCM, DEVICE_ROCM_HOST,
};
use amdgpu_abi::{DeviceRef, ErrorCode};
use amdgpu_hal::{DeviceInfo, DeviceKind};

use crate::{Error, Result};

/// `kDLCUDAManaged` of DLPack 1.1: host and device reach it at one address.
const DEVICE_CUDA_MANAGED: i32 = 13;

/// Where memory is, and who reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLocation {
    /// Ordinary memory of the host.
    Host,
    /// Memory of the host that GPUs of this kind reach at the same address.
    Pinned(DeviceKind),
    /// Memory of a device that the host reaches too.
    Managed(String),
    /// Memory of a device; `cpu:0` is one as well.
    Device(String),
}

impl MemoryLocation {
    /// The location that DLPack names.
    ///
    /// # Errors
    ///
    /// `wrong-device` for devices that this package has no driver for.
    pub fn of_dlpack(device: DeviceRef) -> Result<Self> {
        let named = |kind: DeviceKind| format!("{kind}:{}", device.device_id);
        match device.device_type {
            DEVICE_CPU => Ok(Self::Host),
            DEVICE_CUDA_HOST => Ok(Self::Pinned(DeviceKind::Cuda)),
            DEVICE_ROCM_HOST => Ok(Self::Pinned(DeviceKind::Hip)),
            DEVICE_CUDA => Ok(Self::Device(named(DeviceKind::Cuda))),
            DEVICE_ROCM => Ok(Self::Device(named(DeviceKind::Hip))),
            DEVICE_CUDA_MANAGED => Ok(Self::Managed(named(DeviceKind::Cuda))),
            other => Err(Error::refused(
                ErrorCode::WrongDevice,
                format!(
                    "the array is on DLPack device type {other} number {}, which this build has no driver for; copy it to the host first",
                    device.device_id
                ),
            )),
        }
    }

    /// Name of the device that holds the memory; `None` for host memory that belongs to no device.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Host | Self::Pinned(_) => None,
            Self::Managed(name) | Self::Device(name) => Some(name),
        }
    }

    /// The GPU that has to be asked before the host or anybody else touches the memory.
    #[must_use]
    pub fn gpu(&self) -> Option<&str> {
        self.device().filter(|name| !name.starts_with("cpu:"))
    }

    /// Whether the host can read it at its address.
    #[must_use]
    pub fn is_host_reachable(&self) -> bool {
        !matches!(self, Self::Device(_)) || self.gpu().is_none()
    }

    /// Whether kernels of a device can use the address.
    #[must_use]
    pub fn is_reachable_by(&self, info: &DeviceInfo) -> bool {
        let is_host_memory = if info.capabilities.reads_host_memory {
            self.is_host_reachable()
        } else {
            *self == Self::Pinned(info.kind)
        };
        is_host_memory || self.device() == Some(&info.name)
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_hal::Capabilities;

    use super::*;

    #[test]
    fn pinned_memory_is_reached_by_its_kind_of_gpu_and_by_the_host() {
        let null = amdgpu_hal::registry::open_device("null:gfx1100").unwrap();
        let gpu = |kind: DeviceKind, ordinal| DeviceInfo {
            kind,
            name: format!("{kind}:{ordinal}"),
            capabilities: Capabilities::default(),
            ..null.info().clone()
        };
        let pinned = MemoryLocation::Pinned(DeviceKind::Cuda);
        assert!(pinned.is_host_reachable() && pinned.is_reachable_by(&gpu(DeviceKind::Cuda, 1)));
        assert!(!pinned.is_reachable_by(&gpu(DeviceKind::Hip, 0)));
        let device = MemoryLocation::Device("cuda:1".to_owned());
        assert!(!device.is_host_reachable());
        assert!(device.is_reachable_by(&gpu(DeviceKind::Cuda, 1)));
        assert!(!device.is_reachable_by(&gpu(DeviceKind::Cuda, 0)));
        // Kernels of a null device touch no memory, so that host memory will do.
        assert!(pinned.is_reachable_by(null.info()) && !device.is_reachable_by(null.info()));
        assert_eq!(MemoryLocation::Device("cpu:0".to_owned()).gpu(), None);
    }

    #[test]
    fn unknown_devices_of_dlpack_are_refused_with_their_number() {
        let device = DeviceRef {
            device_type: 99,
            device_id: 3,
        };
        let error = MemoryLocation::of_dlpack(device).unwrap_err().to_string();
        assert!(error.contains("99") && error.contains('3'), "{error}");
    }
}
