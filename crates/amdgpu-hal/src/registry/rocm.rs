//! What ROCm's functions count as devices: AMD GPUs, by the number that HIP programs give them.

use amdgpu_abi::environment;

use super::{Filter, list_devices};
use crate::{DeviceInfo, DeviceKind, Error, Result};

/// What names of ROCm's devices begin with.
pub(super) const PREFIX: &str = "rocm";

/// The devices that ROCm's functions see, in the order of their ids: those that `AMDGPU_ROCM_DEVICES` names in place of AMD GPUs, else the
/// `hip` and `sim` devices of [`list_devices`].
///
/// # Errors
///
/// A variable that names no devices.
pub fn rocm_devices() -> Result<Vec<DeviceInfo>> {
    let Some(text) = environment::read(environment::ROCM_DEVICES) else {
        let is_amd = |info: &DeviceInfo| matches!(info.kind, DeviceKind::Hip | DeviceKind::Sim);
        return Ok(list_devices()?.into_iter().filter(is_amd).collect());
    };
    let stand_ins = Filter::parse(environment::ROCM_DEVICES, &text)?.list()?;
    let allowed = Filter::from_environment()?;
    Ok(stand_ins
        .into_iter()
        .filter(|info| allowed.allows(info.kind, info.selector()))
        .collect())
}

/// The device of an id.
///
/// # Errors
///
/// No device of that id, or none at all.
pub fn rocm_device(id: i64) -> Result<DeviceInfo> {
    let devices = rocm_devices()?;
    let found = usize::try_from(id).ok().and_then(|id| devices.get(id));
    found.cloned().ok_or_else(|| Error::DeviceNotFound {
        name: format!("{PREFIX}:{id}"),
        reason: no_such_id(&devices),
    })
}

fn no_such_id(devices: &[DeviceInfo]) -> String {
    if devices.is_empty() {
        return format!(
            "ROCm is not available, for no AMD GPU was found; {}=cpu lets the CPU stand in for one",
            environment::ROCM_DEVICES
        );
    }
    let names = devices.iter().enumerate();
    let names: Vec<String> = names
        .map(|(id, info)| format!("{id} is {}", info.name))
        .collect();
    format!("the ROCm devices are: {}", names.join(", "))
}

/// The id that a name of ROCm's devices asks for; `None` for other names.
///
/// # Errors
///
/// A name of ROCm without a number.
pub fn rocm_id(name: &str) -> Result<Option<i64>> {
    if name == PREFIX {
        return Ok(Some(0));
    }
    let Some(number) = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix(':'))
    else {
        return Ok(None);
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse() {
        Ok(id) if is_number => Ok(Some(id)),
        _ => Err(Error::DeviceNotFound {
            name: name.to_owned(),
            reason: format!("the number of a device must follow `{PREFIX}:`"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rocm_say_an_id() {
        assert_eq!(rocm_id("rocm").unwrap(), Some(0));
        assert_eq!(rocm_id("rocm:12").unwrap(), Some(12));
        assert_eq!(rocm_id("hip:1").unwrap(), None);
        assert_eq!(rocm_id("rocmx").unwrap(), None);
        for wrong in [
            "rocm:",
            "rocm:x",
            "rocm:-1",
            "rocm:+1",
            "rocm: 1",
            "rocm:99999999999999999999",
        ] {
            let error = rocm_id(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("number"), "{error}");
        }
    }

    #[test]
    fn an_id_that_is_not_there_says_what_is() {
        for id in [-1, 4096] {
            let error = rocm_device(id).unwrap_err();
            assert!(matches!(error, Error::DeviceNotFound { .. }), "{error}");
            assert!(error.to_string().contains("ROCm"), "{error}");
        }
        assert!(no_such_id(&list_devices().unwrap()).contains(" is cpu:0"));
        assert!(no_such_id(&[]).contains("AMDGPU_ROCM_DEVICES=cpu"));
    }
}
