//! What the system tells of the processor.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use once_cell::race::OnceBox;

use super::{architecture, limits};
use crate::{CacheSizes, Capabilities, DeviceInfo, DeviceKind};

/// Threads of a warp as kernels see it: what RDNA and NVIDIA have, so that kernels written for them mean the same here.
pub(crate) const WARP_SIZE: u32 = 32;
/// The limit of every GPU in use, so that what runs here runs there.
const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The local data share of an AMD work-group.
const SHARED_MEMORY_PER_BLOCK_BYTES: u64 = 64 << 10;
/// The limits that HIP and CUDA state for x, y and z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Device memory is host memory, streams are threads of this process, and code is made for the very processor it runs on.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    host_visible: true,
    reads_host_memory: true,
    compiles_natively: true,
    context_in_shared_memory: true,
    hardware_queues: false,
    graph_host_copies: true,
    default_stream_handle: 0,
};

/// Describes this machine as a device. The system is asked once: on large machines that takes milliseconds.
pub(super) fn device_info(total_memory_bytes: u64) -> DeviceInfo {
    // A child forked while a thread asks does not wait for that thread.
    static DESCRIPTION: OnceBox<DeviceInfo> = OnceBox::new();
    DeviceInfo {
        total_memory_bytes,
        logical_cores: Some(limits::logical_cores()),
        ..DESCRIPTION.get_or_init(|| Box::new(describe())).clone()
    }
}

fn describe() -> DeviceInfo {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let identity = Identity::parse(&processors);
    let logical_cores = limits::logical_cores();
    let physical_cores = physical_cores(Path::new("/sys/devices/system/cpu"));
    DeviceInfo {
        kind: DeviceKind::Cpu,
        capabilities: CAPABILITIES,
        ordinal: 0,
        name: "cpu:0".to_string(),
        product_name: identity
            .product_name
            .clone()
            .unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH)),
        architecture: architecture::name(&identity),
        compute_units: physical_cores.or(Some(logical_cores)),
        physical_cores,
        logical_cores: Some(logical_cores),
        warp_size: WARP_SIZE,
        max_threads_per_block: MAX_THREADS_PER_BLOCK,
        max_threads_per_unit: None,
        max_block: MAX_BLOCK,
        max_grid: MAX_GRID,
        shared_memory_per_block_bytes: SHARED_MEMORY_PER_BLOCK_BYTES,
        total_memory_bytes: 0,
        caches: cache_sizes(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        simd_width_bits: architecture::simd_width_bits(),
        features: identity.features,
        clock_hertz: clock_hertz(
            Path::new("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"),
            identity.clock_hertz,
        ),
        memory_clock_hertz: None,
        memory_bus_bits: None,
        uuid: None,
        driver_version: fs::read_to_string("/proc/sys/kernel/osrelease")
            .ok()
            .map(|text| format!("Linux {}", text.trim())),
    }
}

/// What `/proc/cpuinfo` says of the first processor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub vendor: Option<String>,
    pub family: Option<u32>,
    pub model: Option<u32>,
    pub product_name: Option<String>,
    pub features: Vec<String>,
    pub clock_hertz: Option<u64>,
}

impl Identity {
    pub fn parse(text: &str) -> Self {
        let mut identity = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                if line.trim().is_empty() && identity != Self::default() {
                    break;
                }
                continue;
            };
            let value = value.trim();
            match key.trim() {
                "vendor_id" => identity.vendor = Some(value.to_string()),
                "cpu family" => identity.family = value.parse().ok(),
                "model" => identity.model = value.parse().ok(),
                "model name" => {
                    identity.product_name = (!value.is_empty()).then(|| value.to_string());
                }
                "flags" | "Features" => {
                    let sorted: BTreeSet<&str> = value.split_whitespace().collect();
                    identity.features = sorted.into_iter().map(str::to_string).collect();
                }
                "cpu MHz" => {
                    let megahertz: Option<f64> = value.parse().ok();
                    identity.clock_hertz = megahertz
                        .filter(|&value| value > 0.0)
                        .map(|value| (value * 1e6).round() as u64);
                }
                _ => {}
            }
        }
        identity
    }
}

/// The frequency driver knows the highest clock; without one, the clock of the moment is what there is.
fn clock_hertz(max_frequency: &Path, current_hertz: Option<u64>) -> Option<u64> {
    let kilohertz: Option<u64> = fs::read_to_string(max_frequency)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    kilohertz.map(|value| value * 1000).or(current_hertz)
}

/// Counts distinct (package, core) pairs.
fn physical_cores(folder: &Path) -> Option<u32> {
    let mut cores = BTreeSet::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let topology = entry.path().join("topology");
        let read = |name: &str| fs::read_to_string(topology.join(name)).ok();
        if let (Some(package), Some(core)) = (read("physical_package_id"), read("core_id")) {
            cores.insert((package, core));
        }
    }
    (!cores.is_empty()).then_some(cores.len() as u32)
}

fn cache_sizes(folder: &Path) -> CacheSizes {
    let mut sizes = CacheSizes::default();
    let Ok(entries) = fs::read_dir(folder) else {
        return sizes;
    };
    for entry in entries.flatten() {
        let read = |name: &str| {
            fs::read_to_string(entry.path().join(name))
                .ok()
                .map(|text| text.trim().to_string())
        };
        let (Some(level), Some(kind), Some(bytes)) = (
            read("level"),
            read("type"),
            read("size").and_then(|text| parse_size(&text)),
        ) else {
            continue;
        };
        match (level.as_str(), kind.as_str()) {
            ("1", "Data") => sizes.level1_data_bytes = Some(bytes),
            ("1", "Instruction") => sizes.level1_instruction_bytes = Some(bytes),
            ("2", _) => sizes.level2_bytes = Some(bytes),
            ("3", _) => sizes.level3_bytes = Some(bytes),
            _ => {}
        }
    }
    sizes
}

/// Reads `32K`, `2M`, `1024`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_of_the_first_processor_is_read() {
        let text = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n\
                    cpu MHz\t\t: 2400.500\nflags\t\t: sse2 avx avx2\n\nprocessor\t: 1\nmodel name\t: another\n";
        let identity = Identity::parse(text);
        assert_eq!(identity.product_name.as_deref(), Some("AMD EPYC 9654"));
        assert_eq!((identity.family, identity.model), (Some(25), Some(17)));
        assert_eq!(identity.features, ["avx", "avx2", "sse2"]);
        assert_eq!(identity.clock_hertz, Some(2_400_500_000));
    }

    #[test]
    fn an_empty_cpuinfo_leaves_everything_unknown() {
        assert_eq!(Identity::parse(""), Identity::default());
        assert_eq!(Identity::parse("\n\n:\n"), Identity::default());
    }

    #[test]
    fn cache_sizes_have_units() {
        assert_eq!(parse_size("32K"), Some(32 << 10));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size("K"), None);
        assert_eq!(parse_size("3X"), None);
    }

    /// Files with these texts in a folder of their own, which `look` is given and which is gone afterwards.
    fn with_files<T>(name: &str, files: &[(&str, &str)], look: impl FnOnce(&Path) -> T) -> T {
        let root = std::env::temp_dir().join(format!("agpu-cpu-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = look(&root);
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn cores_are_counted_once_however_many_threads_they_have() {
        let files = [
            ("cpu0/topology/physical_package_id", "0\n"),
            ("cpu0/topology/core_id", "0\n"),
            ("cpu1/topology/physical_package_id", "0\n"),
            ("cpu1/topology/core_id", "0\n"),
            ("cpu2/topology/physical_package_id", "0\n"),
            ("cpu2/topology/core_id", "1\n"),
            ("cpu3/topology/physical_package_id", "1\n"),
            ("cpu3/topology/core_id", "1\n"),
            ("cpufreq/boost", "1\n"),
        ];
        assert_eq!(with_files("cores", &files, physical_cores), Some(3));
        assert_eq!(with_files("none", &files[8..], physical_cores), None);
        assert_eq!(physical_cores(Path::new("/nonexistent")), None);
    }

    #[test]
    fn caches_are_told_apart_by_level_and_type() {
        let files = [
            ("index0/level", "1\n"),
            ("index0/type", "Data\n"),
            ("index0/size", "48K\n"),
            ("index1/level", "1\n"),
            ("index1/type", "Instruction\n"),
            ("index1/size", "32K\n"),
            ("index2/level", "2\n"),
            ("index2/type", "Unified\n"),
            ("index2/size", "2M\n"),
            ("index3/level", "3\n"),
            ("index3/type", "Unified\n"),
            ("index3/size", "1G\n"),
            ("index4/level", "4\n"),
            ("index4/type", "Unified\n"),
            ("index4/size", "2G\n"),
            ("index5/level", "2\n"),
        ];
        let sizes = with_files("caches", &files, cache_sizes);
        assert_eq!(sizes.level1_data_bytes, Some(48 << 10));
        assert_eq!(sizes.level1_instruction_bytes, Some(32 << 10));
        assert_eq!(sizes.level2_bytes, Some(2 << 20));
        assert_eq!(sizes.level3_bytes, Some(1 << 30));
        assert_eq!(
            cache_sizes(Path::new("/nonexistent")),
            CacheSizes::default()
        );
    }

    #[test]
    fn the_highest_clock_counts_where_it_is_known() {
        let ask = |folder: &Path| clock_hertz(&folder.join("max"), Some(5));
        assert_eq!(
            with_files("clock", &[("max", "3700000\n")], ask),
            Some(3_700_000_000)
        );
        assert_eq!(with_files("words", &[("max", "fast")], ask), Some(5));
        assert_eq!(clock_hertz(Path::new("/nonexistent"), None), None);
        let slow =
            Identity::parse("cpu MHz : 0.0\nmodel name :\nFeatures : fp asimd fp\nvendor_id : x");
        assert_eq!((slow.clock_hertz, slow.product_name), (None, None));
        let clock_of = |text: &str| Identity::parse(text).clock_hertz;
        assert_eq!(clock_of("cpu MHz : 0.5"), Some(500_000));
        assert_eq!(clock_of("cpu MHz : -5"), None);
        assert_eq!(clock_of("cpu MHz : fast"), None);
        assert_eq!(slow.features, ["asimd", "fp"]);
        assert_eq!(slow.vendor.as_deref(), Some("x"));
    }

    #[test]
    fn this_machine_is_described() {
        let info = device_info(1 << 30);
        assert_eq!(info.name, "cpu:0");
        assert!(!info.product_name.is_empty());
        assert!(info.architecture.starts_with(std::env::consts::ARCH));
        assert!(info.logical_cores.unwrap() >= 1);
        assert!(info.compute_units.unwrap() >= 1);
        assert_eq!(
            info.compute_units,
            info.physical_cores.or(info.logical_cores)
        );
        assert!(info.driver_version.unwrap().starts_with("Linux "));
        assert_eq!((info.warp_size, info.max_threads_per_block), (32, 1024));
        assert_eq!(info.shared_memory_per_block_bytes, 65_536);
        assert_eq!(
            (info.max_block, info.max_grid[1..].to_vec()),
            ([1024, 1024, 64], vec![65_535; 2])
        );
        assert_eq!(info.total_memory_bytes, 1 << 30);
    }
}
