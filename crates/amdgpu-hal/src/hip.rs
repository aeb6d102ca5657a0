//! AMD GPUs through `libamdhip64`, the runtime of ROCm; nothing of it is needed to build or to import.
//!
//! **Not run on hardware**: the code is the one that drives NVIDIA GPUs, and the names, parameters and numbers below are compared with
//! AMD's declarations by a test. Modules are code objects. Source of numbers: `hip/hip_runtime_api.h` of ROCm 7.2.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use amdgpu_abi::environment;
use once_cell::race::OnceBox;

use crate::gpu::functions::Dialect;
use crate::gpu::vendor::{Attributes, Vendor};
use crate::{Capabilities, Device, DeviceInfo, DeviceKind, Driver, Error, Result, gpu};

/// More than any version of `hipDeviceProp_t` has: that of ROCm 7 takes 1472.
const PROPERTIES_BYTES: usize = 16 << 10;
/// Every version of `hipDeviceProp_t` begins with the product name.
const PROPERTIES_NAME_BYTES: usize = 256;
/// Where the kernel's driver shows AMD GPUs: on Linux, and on Linux inside of Windows.
const KERNEL_DRIVERS: [&str; 2] = ["/dev/kfd", "/dev/dxg"];
/// More versions of ROCm than anyone installs side by side.
const MAX_INSTALLED: usize = 64;

/// The driver of `hip:N`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HipDriver;

impl Driver for HipDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Hip
    }

    fn enumerate(&self) -> Result<Vec<DeviceInfo>> {
        gpu::enumerate(&VENDOR)
    }

    fn open(&self, selector: &str) -> Result<Arc<dyn Device>> {
        gpu::open(&VENDOR, selector)
    }
}

static VENDOR: Vendor = Vendor {
    kind: DeviceKind::Hip,
    capabilities: Capabilities::GPU,
    dialect: Dialect::Hip,
    name: "HIP",
    driver: "the HIP driver",
    libraries,
    look_for_devices,
    attributes: Attributes {
        max_threads_per_block: 56,
        max_threads_per_unit: 57,
        max_block: [26, 27, 28],
        max_grid: [29, 30, 31],
        shared_memory_per_block: 74,
        shared_memory_per_block_opt_in: None,
        warp_size: 87,
        clock_kilohertz: 5,
        memory_clock_kilohertz: 60,
        memory_bus_bits: 59,
        // On RDNA the runtime counts work-group processors.
        compute_units: 63,
        level2_cache: 19,
    },
    launch_list_end: 3,
    set_function_attribute: None,
    // ROCm 6 gave the record a new layout and the function that fills it a new name.
    properties: &[c"hipGetDevicePropertiesR0600", c"hipGetDeviceProperties"],
    architecture,
    uuid,
    version,
    // InvalidImage, NoBinaryForGpu, InvalidKernelFile, InvalidSource, SharedObjectInitFailed.
    module_statuses: &[200, 209, 218, 300, 303],
    // ECCNotCorrectable, IllegalAddress, LaunchTimeOut, ContextIsDestroyed, Assert, LaunchFailure.
    lost_statuses: &[214, 700, 702, 709, 710, 719],
    has_load_log: false,
    loaded: OnceBox::new(),
    loading: AtomicU64::new(0),
};

fn libraries() -> Vec<PathBuf> {
    let versions = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    let folders = std::iter::once(PathBuf::from("/opt/rocm/lib"))
        .chain(installed(Path::new("/opt/rocm")))
        // Debian and Ubuntu; usually in the loader's path as well.
        .chain([PathBuf::from("/usr/lib/x86_64-linux-gnu")]);
    let placed = folders
        .flat_map(|folder| versions.map(|version| folder.join(version)))
        .filter(|path| path.exists());
    versions
        .map(PathBuf::from)
        .into_iter()
        .chain(placed)
        .collect()
}

/// Without a card the runtime stays closed, unless `AMDGPU_DEVICES` names HIP: that of Debian and Ubuntu brings 200 MB of LLVM, and Ubuntu's crashes
/// in `hipInit` where TensorFlow was imported before it.
fn look_for_devices() -> std::result::Result<(), String> {
    let names_hip = |list: String| list.split(',').any(|one| one.trim().starts_with("hip"));
    if environment::read(environment::DEVICES).is_some_and(names_hip)
        || KERNEL_DRIVERS.iter().any(|path| Path::new(path).exists())
    {
        return Ok(());
    }
    Err(format!(
        "the HIP driver stays closed without an AMD GPU, which the kernel's driver shows as {}",
        KERNEL_DRIVERS.join(" or ")
    ))
}

/// Library folders of side-by-side installations, `core-*/lib`, newest first.
fn installed(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    let mut folders: Vec<(Vec<u32>, PathBuf)> = entries
        .take(MAX_INSTALLED)
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let version = name.strip_prefix("core-")?;
            let numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
            Some((numbers.collect(), root.join(&name).join("lib")))
        })
        .collect();
    folders.sort_by(|one, other| other.0.cmp(&one.0));
    folders.into_iter().map(|(_, folder)| folder).collect()
}

fn architecture(api: &gpu::Api, device: i32) -> Result<String> {
    let fault = |reason: String| Error::DriverFault {
        device: format!("{}:{device}", api.vendor.kind),
        operation: "asking for the architecture",
        reason,
    };
    let properties = api
        .device_properties
        .ok_or_else(|| fault("the driver has no hipGetDeviceProperties".to_string()))?;
    let mut record = vec![0_u64; PROPERTIES_BYTES / size_of::<u64>()];
    // SAFETY: the record has room for every version of the structure and its alignment.
    let status = unsafe { properties(record.as_mut_ptr().cast::<c_void>(), device) };
    api.check(api.vendor.name, "asking for the properties", status)?;
    let bytes: Vec<u8> = record.into_iter().flat_map(u64::to_ne_bytes).collect();
    processor(&bytes).ok_or_else(|| fault("the properties name no processor".to_string()))
}

/// Finds `gcnArchName`, the only text of its form behind the product name, wherever the version of the structure has it. `gfx90a:xnack-`
/// names a processor and its settings; the processor is what code is compiled for.
fn processor(properties: &[u8]) -> Option<String> {
    let rest = properties.get(PROPERTIES_NAME_BYTES..)?;
    let begin = rest
        .windows(4)
        .position(|window| window.starts_with(b"gfx") && window[3].is_ascii_digit())?;
    let letters = rest[begin..]
        .iter()
        .take_while(|letter| letter.is_ascii_alphanumeric());
    Some(letters.map(|&letter| char::from(letter)).collect())
}

/// The runtime gives the serial number as 16 hexadecimal digits, in text; cards without one give something else.
fn uuid(bytes: &[u8; 16]) -> Option<String> {
    let digits = std::str::from_utf8(bytes).ok()?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_number && digits.bytes().any(|digit| digit != b'0')).then(|| format!("GPU-{digits}"))
}

/// `HIP_VERSION`: major, two digits of minor, five of patch.
fn version(number: i32) -> String {
    format!(
        "HIP {}.{}.{}",
        number / 10_000_000,
        number / 100_000 % 100,
        number % 100_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_found_wherever_the_structure_has_it() {
        let mut properties = vec![0_u8; 1472];
        properties[..10].copy_from_slice(b"gfx1 board");
        assert_eq!(processor(&properties), None);
        properties[1160..1175].copy_from_slice(b"gfx90a:sramecc+");
        assert_eq!(processor(&properties).as_deref(), Some("gfx90a"));
        let mut older = vec![0_u8; 792];
        older[396..403].copy_from_slice(b"gfx1100");
        assert_eq!(processor(&older).as_deref(), Some("gfx1100"));
        assert_eq!(processor(b"short"), None);
    }

    #[test]
    fn versions_and_serial_numbers_become_text() {
        assert_eq!(version(70_251_831), "HIP 7.2.51831");
        assert_eq!(
            uuid(b"7f2a00e41b5c9d33").as_deref(),
            Some("GPU-7f2a00e41b5c9d33")
        );
        assert_eq!(uuid(b"0000000000000000"), None);
        assert_eq!(uuid(&[0xff; 16]), None);
    }

    #[test]
    fn side_by_side_installations_come_newest_first() {
        let root = std::env::temp_dir().join(format!("agpu-hip-{}", std::process::id()));
        for name in [
            "core-7.9",
            "core-7.beta",
            "core-7.10",
            "share",
            "core-6.4.1",
            "core-7.0.1",
        ] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let found = installed(&root);
        std::fs::remove_dir_all(&root).unwrap();
        // What is no number counts as 0.
        let expected = [
            "core-7.10",
            "core-7.9",
            "core-7.0.1",
            "core-7.beta",
            "core-6.4.1",
        ]
        .map(|name| root.join(name).join("lib"));
        assert_eq!(found, expected);
        assert!(installed(&root).is_empty());
    }

    #[test]
    fn the_loader_is_asked_before_any_folder() {
        let libraries = libraries();
        assert_eq!(libraries[0], Path::new("libamdhip64.so.7"));
    }
}
