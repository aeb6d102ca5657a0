//! The devices of this machine by name and index.
//!
//! [`list_devices`] orders `hip`, `cuda`, `cpu`; `AMDGPU_DEVICES` restricts and reorders the list, and may name `null:` devices, which are
//! otherwise reached by name only. An index counts in this list. The drivers of this crate are always there; [`register`] adds others.
//! `rocm:N` is another name of the device that ROCm's functions give the id N ([`rocm_devices`]).

mod drivers;
mod rocm;

use std::sync::Arc;

use amdgpu_abi::environment;

pub use drivers::register;
pub use rocm::{rocm_device, rocm_devices, rocm_id};

use crate::{Device, DeviceInfo, DeviceKind, Error, Result};

/// More entries in `AMDGPU_DEVICES` than any machine has devices.
const MAX_FILTER_ENTRIES: usize = 256;
/// A kind of device that programs for several backends name.
const CEREBRAS: &str = "cerebras";
const NO_CEREBRAS: &str = "this version has no driver for Cerebras hardware or its simulator";
const FILTER_EXPECTED: &str =
    "kinds or names separated by commas, for example `cpu` or `hip:1,cpu` or `null:gfx1100`";

/// How a device is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSelector {
    /// Position in [`list_devices`]. Negative positions do not exist.
    Index(i64),
    /// `cpu:0`, `null:gfx1100`; `cpu` means `cpu:0`. `rocm:1` is the ROCm device of that id.
    Name(String),
}

impl From<i64> for DeviceSelector {
    fn from(index: i64) -> Self {
        Self::Index(index)
    }
}

impl From<&str> for DeviceSelector {
    fn from(name: &str) -> Self {
        Self::Name(name.to_string())
    }
}

impl From<String> for DeviceSelector {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

/// The devices of this machine, best first.
pub fn list_devices() -> Result<Vec<DeviceInfo>> {
    Filter::from_environment()?.list()
}

/// Opens a device by its index in [`list_devices`] or by its name.
///
/// ```
/// use amdgpu_hal::{CopyDirection, DevicePointer, MemoryKind, registry};
///
/// let device = registry::open_device("cpu:0")?;
/// let stream = device.create_stream()?;
/// let ptr = device.allocate(4, MemoryKind::Device)?;
/// let mut result = [0_u8; 4];
/// // SAFETY: both ranges have four bytes, and stay alive until the stream was waited for.
/// unsafe {
///     stream.fill(ptr, 7, 4)?;
///     stream.copy(DevicePointer::from_host(result.as_mut_ptr()), ptr, 4, CopyDirection::DeviceToHost)?;
///     stream.synchronize()?;
///     device.free(ptr, 4, MemoryKind::Device)?;
/// }
/// assert_eq!(result, [7; 4]);
/// # Ok::<(), amdgpu_hal::Error>(())
/// ```
pub fn open_device(selector: impl Into<DeviceSelector>) -> Result<Arc<dyn Device>> {
    let name = resolve(selector)?;
    let (kind, selector) = parse_name(&name)?;
    drivers::find(kind, &name)?.open(selector)
}

/// The full name of a device that is asked for, without opening it: `cpu:0` for `cpu`, and for an index that of the device in the list. A name
/// need not be that of a device of this machine.
pub fn resolve(selector: impl Into<DeviceSelector>) -> Result<String> {
    match selector.into() {
        DeviceSelector::Index(index) => {
            let devices = list_devices()?;
            let found = usize::try_from(index)
                .ok()
                .and_then(|index| devices.get(index));
            let info = found.ok_or_else(|| Error::DeviceNotFound {
                name: index.to_string(),
                reason: no_such_index(&devices),
            })?;
            Ok(info.name.clone())
        }
        DeviceSelector::Name(name) => {
            if let Some(id) = rocm_id(&name)? {
                return Ok(rocm_device(id)?.name);
            }
            let (kind, selector) = parse_name(&name)?;
            if !Filter::from_environment()?.allows(kind, selector) {
                return Err(Error::DeviceNotFound {
                    reason: format!("{} does not list it", environment::DEVICES),
                    name,
                });
            }
            Ok(format!("{kind}:{selector}"))
        }
    }
}

fn no_such_index(devices: &[DeviceInfo]) -> String {
    if devices.is_empty() {
        return format!("{} leaves no device", environment::DEVICES);
    }
    let names: Vec<String> = devices
        .iter()
        .enumerate()
        .map(|(index, info)| format!("{index} is {}", info.name))
        .collect();
    format!("the devices are: {}", names.join(", "))
}

/// Splits `kind:selector`; kinds that are numbered may stand alone and mean their first device.
fn parse_name(name: &str) -> Result<(DeviceKind, &str)> {
    let not_found = |reason: String| Error::DeviceNotFound {
        name: name.to_string(),
        reason,
    };
    let (kind_name, selector) = name.split_once(':').unwrap_or((name, ""));
    let kind = DeviceKind::from_name(kind_name).ok_or_else(|| {
        if kind_name == CEREBRAS {
            return not_found(NO_CEREBRAS.to_owned());
        }
        let kinds = DeviceKind::ALL.map(DeviceKind::name).join(", ");
        not_found(format!("device names begin with one of {kinds}"))
    })?;
    match (selector, is_numbered(kind)) {
        ("", true) if !name.contains(':') => Ok((kind, "0")),
        ("", _) => Err(not_found(format!(
            "a {} must follow the kind, as in `{}`",
            if is_numbered(kind) {
                "number"
            } else {
                "target"
            },
            if is_numbered(kind) {
                format!("{kind}:0")
            } else {
                format!("{kind}:gfx1100")
            },
        ))),
        _ => Ok((kind, selector)),
    }
}

/// Whether devices of this kind are found on the machine and numbered, rather than existing by name.
fn is_numbered(kind: DeviceKind) -> bool {
    matches!(kind, DeviceKind::Hip | DeviceKind::Cuda | DeviceKind::Cpu)
}

/// What `AMDGPU_DEVICES` says.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    entries: Vec<(DeviceKind, Option<String>)>,
}

impl Filter {
    fn from_environment() -> Result<Self> {
        environment::read(environment::DEVICES).map_or_else(
            || Ok(Self::all()),
            |text| Self::parse(environment::DEVICES, &text),
        )
    }

    fn all() -> Self {
        Self {
            entries: vec![
                (DeviceKind::Hip, None),
                (DeviceKind::Cuda, None),
                (DeviceKind::Cpu, None),
            ],
        }
    }

    fn parse(variable: &'static str, text: &str) -> Result<Self> {
        let invalid = || Error::InvalidEnvironment {
            variable,
            value: text.to_string(),
            expected: FILTER_EXPECTED,
        };
        let mut entries = Vec::new();
        for entry in text.split(',').map(str::trim) {
            let (kind_name, selector) = entry
                .split_once(':')
                .map_or((entry, None), |(kind, selector)| (kind, Some(selector)));
            let kind = DeviceKind::from_name(kind_name).ok_or_else(invalid)?;
            let selector_fits = match selector {
                None => is_numbered(kind),
                Some(number) if is_numbered(kind) => number.parse::<u32>().is_ok(),
                Some(target) => !target.is_empty(),
            };
            if !selector_fits || entries.len() >= MAX_FILTER_ENTRIES {
                return Err(invalid());
            }
            entries.push((kind, selector.map(str::to_string)));
        }
        Ok(Self { entries })
    }

    /// Devices that exist by name can always be opened by name.
    fn allows(&self, kind: DeviceKind, selector: &str) -> bool {
        !is_numbered(kind)
            || self.entries.iter().any(|(entry_kind, entry)| {
                *entry_kind == kind && entry.as_deref().is_none_or(|entry| entry == selector)
            })
    }

    /// Devices in the order of the entries, each once.
    fn list(&self) -> Result<Vec<DeviceInfo>> {
        let mut listed: Vec<DeviceInfo> = Vec::new();
        for (kind, selector) in &self.entries {
            // A kind without a driver has no devices to list; asking for one of them by name gives the reason.
            let Ok(driver) = drivers::find(*kind, "") else {
                continue;
            };
            let found = match selector {
                Some(selector) if !is_numbered(*kind) => {
                    vec![driver.open(selector)?.info().clone()]
                }
                // A broken or forked GPU driver must not take the other devices away; asking for one of its devices gives the reason.
                _ => driver.enumerate().unwrap_or_default(),
            };
            for info in found {
                let wanted = selector
                    .as_deref()
                    .is_none_or(|selector| selector == info.selector());
                if wanted && listed.iter().all(|other| other.name != info.name) {
                    listed.push(info);
                }
            }
        }
        Ok(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let devices = Filter::parse(environment::DEVICES, text)
            .unwrap()
            .list()
            .unwrap();
        devices.into_iter().map(|info| info.name).collect()
    }

    #[test]
    fn without_a_filter_the_cpu_is_listed_last_and_always() {
        let devices = Filter::all().list().unwrap();
        assert_eq!(devices.last().unwrap().name, "cpu:0");
    }

    #[test]
    fn the_filter_orders_and_removes_repetitions() {
        assert_eq!(names("cpu"), ["cpu:0"]);
        assert_eq!(names("cpu:0, cpu"), ["cpu:0"]);
        assert_eq!(
            names("null:gfx1100,cpu,null:gfx90a"),
            ["null:gfx1100", "cpu:0", "null:gfx90a"]
        );
        assert_eq!(names("cpu:1"), Vec::<String>::new());
    }

    #[test]
    fn filters_that_make_no_sense_are_refused() {
        for text in [
            "gpu", "cpu:", "cpu:x", "null", "null:", "cpu,,hip", "CPU", "cpu:-1",
        ] {
            let error = Filter::parse(environment::DEVICES, text).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        assert!(Filter::parse(environment::DEVICES, &vec!["cpu"; 300].join(",")).is_err());
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parse_name("cpu").unwrap(), (DeviceKind::Cpu, "0"));
        assert_eq!(parse_name("cpu:0").unwrap(), (DeviceKind::Cpu, "0"));
        assert_eq!(
            parse_name("null:gfx1100").unwrap(),
            (DeviceKind::Null, "gfx1100")
        );
        for name in ["", ":", "cpu:", "null", "null:", "tpu:0", "0"] {
            assert!(parse_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn devices_that_are_not_there_give_their_reason() {
        let cases = [
            ("cpu:1", "one CPU device"),
            ("null:gfx1", "gfx1100"),
            ("hip:99", "HIP driver"),
            ("cuda:99", "CUDA driver"),
            ("cuda:x", "CUDA driver"),
            ("sim:gfx1100", "no driver"),
            ("tpu:0", "begin with"),
            ("cerebras", "Cerebras"),
            ("cerebras:simulator", "Cerebras"),
            ("rocm:4096", "ROCm"),
            ("rocm:x", "number"),
        ];
        for (name, reason) in cases {
            let error = open_device(name).unwrap_err();
            assert!(matches!(error, Error::DeviceNotFound { .. }), "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
        for index in [-1, 1000, i64::MIN] {
            let error = open_device(index).unwrap_err();
            assert!(error.to_string().contains("0 is "), "{error}");
        }
    }

    #[test]
    fn devices_open_by_name_and_by_index() {
        let by_index = open_device(list_devices().unwrap().len() as i64 - 1).unwrap();
        assert_eq!(by_index.info().name, "cpu:0");
        assert_eq!(open_device("null:gfx1100").unwrap().info().warp_size, 32);
        assert_eq!(open_device("null:gfx90a").unwrap().info().warp_size, 64);
    }
}
