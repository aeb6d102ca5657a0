//! Copies between memory of any two places.

use std::sync::Arc;

use amdgpu_abi::MetricId;
use amdgpu_hal as hal;
use amdgpu_hal::{CopyDirection, DevicePointer};
use amdgpu_telemetry::Kind;

/// One end of a copy.
pub struct Side<'a> {
    pub address: DevicePointer,
    /// `None` for host memory that is no device's.
    pub device: Option<&'a Arc<dyn hal::Device>>,
}

impl Side<'_> {
    fn gpu(&self) -> Option<&Arc<dyn hal::Device>> {
        self.device
            .filter(|device| !device.info().capabilities.host_visible)
    }
}

/// How the bytes go: with the direction, on which device.
#[must_use]
pub fn copy_direction<'a>(
    destination: &'a Side<'_>,
    source: &'a Side<'_>,
) -> (CopyDirection, Option<&'a Arc<dyn hal::Device>>) {
    match (destination.gpu(), source.gpu()) {
        (Some(device), Some(_)) => (CopyDirection::DeviceToDevice, Some(device)),
        (Some(device), None) => (CopyDirection::HostToDevice, Some(device)),
        (None, Some(device)) => (CopyDirection::DeviceToHost, Some(device)),
        // On the CPU device a copy still keeps its place in the order of the default stream.
        (None, None) => match (destination.device, source.device) {
            (Some(device), Some(_)) => (CopyDirection::DeviceToDevice, Some(device)),
            (Some(device), None) => (CopyDirection::HostToDevice, Some(device)),
            (None, Some(device)) => (CopyDirection::DeviceToHost, Some(device)),
            (None, None) => (CopyDirection::DeviceToDevice, None),
        },
    }
}

/// Copy `bytes` and wait.
///
/// # Errors
///
/// What a device reports.
///
/// # Safety
///
/// Both sides hold `bytes` bytes until the call returns.
pub unsafe fn copy(destination: &Side<'_>, source: &Side<'_>, bytes: u64) -> hal::Result<()> {
    let (direction, device) = copy_direction(destination, source);
    let name = device.map_or("cpu:0", |device| device.info().name.as_str());
    let labels = [name, direction.name()];
    if destination.address == source.address || bytes == 0 {
        amdgpu_telemetry::counter(MetricId::CopyBytesTotal, &labels).add(bytes);
        return Ok(());
    }
    if let (Some(to), Some(from)) = (destination.gpu(), source.gpu())
        && to.info().name != from.info().name
    {
        // Devices of two drivers, or two devices that need not reach each other: the host is between them.
        let mut staging = vec![0_u8; bytes as usize];
        let host = Side {
            address: DevicePointer::from_host(staging.as_mut_ptr()),
            device: None,
        };
        // SAFETY: the staging memory holds as many bytes and outlives both copies; the rest is the caller's promise.
        return unsafe {
            copy(&host, source, bytes).and_then(|()| copy(destination, &host, bytes))
        };
    }
    amdgpu_telemetry::counter(MetricId::CopyBytesTotal, &labels).add(bytes);
    let mut copying =
        amdgpu_telemetry::span(Kind::Copy, amdgpu_telemetry::intern(direction.name()))
            .observe(&amdgpu_telemetry::histogram(MetricId::CopySeconds, &labels));
    copying.record.value = bytes;
    copying.record.detail[0] = direction as u64;
    let Some(device) = device else {
        // SAFETY: both are host memory of that size, and may be parts of one array.
        unsafe {
            std::ptr::copy(
                source.address.as_mut_ptr::<u8>(),
                destination.address.as_mut_ptr::<u8>(),
                bytes as usize,
            );
        }
        return Ok(());
    };
    let stream = device.default_stream();
    if let (Some(other), true) = (source.device, direction == CopyDirection::DeviceToDevice)
        && other.default_stream().id() != stream.id()
    {
        // The source was opened a second time, and what is under way there knows nothing of this stream.
        other.default_stream().synchronize()?;
    }
    // SAFETY: as the caller promises; the wait ends the use of both sides.
    unsafe { stream.copy(destination.address, source.address, bytes, direction) }?;
    stream.synchronize()
}
