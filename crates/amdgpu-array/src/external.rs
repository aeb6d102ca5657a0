//! Memory of other libraries on a GPU: the device through which it can be reached, and the order of work on it.

use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{DevicePointer, ForkLocal};

use crate::{Error, Result};

/// Devices held open for the memory of other libraries.
static HELD: ForkLocal<Mutex<Vec<Arc<OpenDevice>>>> = ForkLocal::new(Mutex::default);

/// The device of that name, open for memory that another library lends; it shares the driver's context with that library.
///
/// # Errors
///
/// `wrong-device` where it cannot be opened.
pub fn device_for_external(name: &str) -> Result<Arc<dyn hal::Device>> {
    let lock = || HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock()
        .iter()
        .find(|open| !open.device().is_lost() && open.name() == name)
        .cloned();
    if let Some(open) = known {
        return Ok(Arc::clone(open.device()));
    }
    let opened = OpenDevice::open(name).map_err(|error| {
        Error::refused(
            ErrorCode::WrongDevice,
            format!("the array is on {name}, which cannot be opened: {error}"),
        )
    })?;
    let mut held = lock();
    held.retain(|open| !open.device().is_lost());
    let device = Arc::clone(opened.device());
    held.push(opened);
    Ok(device)
}

/// Name of the CUDA device that an address belongs to, by the driver's own books.
///
/// # Errors
///
/// `invalid-argument` for an address that the driver does not know.
pub fn cuda_device_of(address: u64) -> Result<String> {
    let first = device_for_external("cuda:0")?;
    let ordinal = first.ordinal_of_address(DevicePointer(address));
    ordinal.map(|ordinal| format!("cuda:{ordinal}")).ok_or_else(|| {
        Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "__cuda_array_interface__ names the address {address:#x}, which the CUDA driver does not know"
            ),
        )
    })
}

/// Let the host wait for what another library has under way in one of its streams (1 and 2 are the driver's own).
///
/// # Errors
///
/// What the device reports.
///
/// # Safety
///
/// `stream` is a live stream of the driver of `name`, or one of the driver's numbers for its own.
pub unsafe fn wait_for(name: &str, stream: u64) -> Result<()> {
    let device = device_for_external(name)?;
    // SAFETY: as the caller promises.
    unsafe { device.wait_for_native(stream) }?;
    Ok(())
}

/// Order our work on a device before that of a consumer's stream, as the consumer named it in `__dlpack__`: -1 where the consumer takes care
/// of the order itself, `None` for the driver's default.
///
/// # Errors
///
/// `invalid-argument` for what is no stream.
///
/// # Safety
///
/// The stream is live.
pub unsafe fn order_before(device: &Arc<dyn hal::Device>, stream: Option<i64>) -> Result<()> {
    let legacy_default = device.info().capabilities.default_stream_handle;
    let handle = match stream {
        Some(-1) => return Ok(()),
        Some(handle) => u64::try_from(handle).map_err(|_| {
            Error::refused(
                ErrorCode::InvalidArgument,
                format!("{handle} is no stream; -1, or a driver's handle is"),
            )
        })?,
        None => legacy_default,
    };
    // SAFETY: as the caller promises.
    unsafe { device.order_before(handle) }?;
    Ok(())
}
