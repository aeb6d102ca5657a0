//! ROCm's functions for devices: the device list by HIP's numbers, a thread's current device by its id or by a text.
//!
//! There is one current device per thread, whoever sets it: what is chosen here is what operations use, and the other way round.

use amdgpu_hal::registry::{self, DeviceSelector};
use amdgpu_hal::{DeviceInfo, DeviceKind};

use crate::current::{chosen_device, current_device, set_current_device};
use crate::error::{Error, Result};
use crate::open_device::OpenDevice;

/// Texts that [`set_device`] takes.
const DEVICE_TEXTS: &str = "cpu, rocm, rocm:N, hip:N, cuda:N, sim:ARCHITECTURE, null:ARCHITECTURE, cerebras, cerebras:simulator";

/// What a program learns about a ROCm device.
#[derive(Clone, Debug)]
pub struct RocmDevice {
    pub id: i64,
    pub info: DeviceInfo,
    pub total_memory_bytes: u64,
    pub free_memory_bytes: u64,
}

/// What the current device is.
#[derive(Clone, Debug)]
pub enum CurrentDevice {
    Cpu(DeviceInfo),
    Rocm(RocmDevice),
    /// A device of another kind, with its number among those.
    Other(RocmDevice),
}

/// Number of ROCm devices.
///
/// # Errors
///
/// A device list that makes no sense.
pub fn device_count() -> Result<usize> {
    Ok(registry::rocm_devices()?.len())
}

/// Facts of a ROCm device and its memory now; opens it.
///
/// # Errors
///
/// No such id; what the device reports.
pub fn device(id: i64) -> Result<RocmDevice> {
    facts(id, registry::rocm_device(id)?)
}

fn facts(id: i64, info: DeviceInfo) -> Result<RocmDevice> {
    let memory = OpenDevice::open(info.name.as_str())?
        .device()
        .memory_info()?;
    Ok(RocmDevice {
        id,
        total_memory_bytes: memory.total_bytes,
        free_memory_bytes: memory.free_bytes,
        info,
    })
}

/// Makes a ROCm device the current one of this thread.
///
/// # Errors
///
/// No such id.
pub fn set_device_id(id: i64) -> Result<()> {
    registry::rocm_device(id)?;
    set_current_device(format!("rocm:{id}"))
}

/// The id of this thread's current device; `None` where the thread chose none, or one that ROCm does not see.
///
/// # Errors
///
/// A device list that makes no sense.
pub fn device_id() -> Result<Option<i64>> {
    chosen_device().map_or(Ok(None), |name| id_of(&name))
}

/// The id of a device by its name. A device that stands in for an AMD GPU has one only under the name `rocm:N`.
fn id_of(name: &str) -> Result<Option<i64>> {
    if let Some(id) = registry::rocm_id(name)? {
        return Ok(Some(id));
    }
    let is_amd = |info: &DeviceInfo| matches!(info.kind, DeviceKind::Hip | DeviceKind::Sim);
    let devices = registry::rocm_devices()?;
    let found = devices
        .iter()
        .position(|info| info.name == name && is_amd(info));
    Ok(found.map(|id| id as i64))
}

/// Waits for everything that this process gave to the current ROCm device, which is the first one where the thread chose none.
///
/// # Errors
///
/// ROCm is not available; what the device reports.
pub fn synchronize_rocm() -> Result<()> {
    let info = registry::rocm_device(device_id()?.unwrap_or(0))?;
    Ok(OpenDevice::open(info.name)?.device().synchronize()?)
}

/// Makes the device of a text the current one of this thread.
///
/// # Errors
///
/// `invalid-argument` for a text that names no kind of device, `device-not-found` for a device that this machine lacks.
pub fn set_device(text: &str) -> Result<()> {
    check_text(text)?;
    let name = registry::resolve(text)?;
    if !registry::list_devices()?
        .iter()
        .any(|info| info.name == name)
    {
        // Those that are reached by name only, and the reason why the others are not there.
        registry::open_device(name)?;
    }
    set_current_device(text)
}

/// Tells a text that could be a device from one that could not.
fn check_text(text: &str) -> Result<()> {
    let (kind, selector) = text
        .split_once(':')
        .map_or((text, None), |(kind, rest)| (kind, Some(rest)));
    let is_number =
        |rest: &str| rest.parse::<u32>().is_ok() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_known = match (kind, selector) {
        ("cpu" | "rocm" | "hip" | "cuda", None) | ("cerebras", None | Some("simulator")) => true,
        ("cpu" | "rocm" | "hip" | "cuda", Some(rest)) => is_number(rest),
        ("sim" | "null", Some(rest)) => !rest.is_empty(),
        _ => false,
    };
    if is_known {
        return Ok(());
    }
    Err(Error::DeviceText {
        text: text.to_owned(),
        known: DEVICE_TEXTS,
    })
}

/// The text of this thread's current device: `rocm:0`, `cpu`, `cuda:0`.
///
/// # Errors
///
/// A device list that makes no sense.
pub fn device_text() -> Result<String> {
    let name = current_name()?;
    Ok(match id_of(&name)? {
        Some(id) => format!("rocm:{id}"),
        None if name == "cpu:0" => "cpu".to_owned(),
        None => name,
    })
}

/// Full name of the current device, or `rocm:N`.
fn current_name() -> Result<String> {
    match current_device() {
        DeviceSelector::Name(name) => Ok(name),
        index @ DeviceSelector::Index(_) => Ok(registry::resolve(index)?),
    }
}

/// What the current device is, with its memory now; opens it.
///
/// # Errors
///
/// No such device; what the device reports.
pub fn device_info() -> Result<CurrentDevice> {
    let name = current_name()?;
    if let Some(id) = id_of(&name)? {
        return Ok(CurrentDevice::Rocm(device(id)?));
    }
    let info = OpenDevice::open(name)?.info().clone();
    if info.kind == DeviceKind::Cpu {
        return Ok(CurrentDevice::Cpu(info));
    }
    Ok(CurrentDevice::Other(facts(i64::from(info.ordinal), info)?))
}

/// Waits for everything that this process gave to the current device. Calls on the CPU return when their work is done, but for what streams
/// were given, which is waited for as well.
///
/// # Errors
///
/// No such device; what the device reports.
pub fn synchronize() -> Result<()> {
    Ok(OpenDevice::open(current_device())?.device().synchronize()?)
}

impl RocmDevice {
    /// Compute units; 0 where nobody knows them.
    #[must_use]
    pub fn compute_units(&self) -> u32 {
        self.info.compute_units.unwrap_or_default()
    }
}

/// Processor cores of a CPU device.
#[must_use]
pub fn cores(info: &DeviceInfo) -> u32 {
    info.physical_cores
        .or(info.logical_cores)
        .or(info.compute_units)
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use amdgpu_abi::{Coded, ErrorCode};

    use super::*;

    #[test]
    fn texts_that_name_no_device_are_told_from_devices_that_are_not_there() {
        for text in [
            "",
            "gpu",
            "rocm:",
            "rocm:x",
            "rocm:-1",
            "rocm:+1",
            "cpu:",
            "sim",
            "sim:",
            "cerebras:1",
            "ROCm",
            " cpu",
        ] {
            let error = set_device(text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{text}");
            assert!(error.to_string().contains("known are cpu, rocm"), "{error}");
        }
        for text in [
            "rocm:77",
            "hip:77",
            "cuda:77",
            "cpu:1",
            "null:gfx1",
            "cerebras",
            "cerebras:simulator",
        ] {
            assert_eq!(
                set_device(text).unwrap_err().code(),
                ErrorCode::DeviceNotFound,
                "{text}"
            );
        }
    }

    #[test]
    fn the_current_device_is_that_of_every_other_function() {
        set_device("cpu").unwrap();
        assert_eq!(
            (device_text().unwrap().as_str(), device_id().unwrap()),
            ("cpu", None)
        );
        assert_eq!(current_device(), "cpu:0".into());
        let CurrentDevice::Cpu(info) = device_info().unwrap() else {
            panic!("the CPU is no GPU")
        };
        assert!(cores(&info) > 0);
        synchronize().unwrap();
        set_device("null:gfx1100").unwrap();
        assert_eq!(device_text().unwrap(), "null:gfx1100");
        assert!(matches!(device_info().unwrap(), CurrentDevice::Other(_)));
        set_current_device("cpu").unwrap();
        assert_eq!(device_text().unwrap(), "cpu");
    }

    #[test]
    fn ids_that_are_not_there_are_refused() {
        for id in [-1, 4096, i64::MIN] {
            assert_eq!(device(id).unwrap_err().code(), ErrorCode::DeviceNotFound);
            assert_eq!(
                set_device_id(id).unwrap_err().code(),
                ErrorCode::DeviceNotFound
            );
        }
    }
}
