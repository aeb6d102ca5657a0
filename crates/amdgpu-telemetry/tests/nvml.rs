//! NVIDIA GPUs through a library that stands in for NVML: units, errors, missing functions, sleep. The real library is read by
//! `tests/gpu/test_sensors.py`.

// Values come back as they were given; what fails in a helper fails the test.
#![allow(clippy::float_cmp, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use amdgpu_telemetry::sources::nvidia::NvidiaSource;
use amdgpu_telemetry::sources::{Sink, Source, SourceSeries, Tree, Value};
use amdgpu_telemetry::{Clock, ManualClock};
use libloading::os::unix::Library;

const INIT_STATUS: u32 = 0;
const STATUS: u32 = 1;
const INITS: u32 = 2;
const SHUTDOWNS: u32 = 3;
const BUSY_PERCENT: u32 = 4;
const THROTTLE_BITS: u32 = 5;
const VIOLATION_STATUS: u32 = 6;
const FIELD_BYTES: u32 = 7;

const FAST: usize = 0;
const SLOW: usize = 1;
const RARE: usize = 2;
const SECOND: u64 = 1_000_000_000;

fn compiled(name: &str, options: &[&str]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("amdgpu-{name}-{}.so", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake_nvml.rs");
    let rustc = Command::new("rustc")
        .args([
            "--edition=2021",
            "--crate-type=cdylib",
            "--crate-name=fake_nvml",
            "-o",
        ])
        .arg(&path)
        .args(options)
        .arg(source)
        .output()
        .unwrap();
    assert!(
        rustc.status.success(),
        "{}",
        String::from_utf8_lossy(&rustc.stderr)
    );
    path
}

/// A machine with two GPUs, and a copy of the library of its own: settings are not shared between tests.
struct Machine {
    root: PathBuf,
    library: PathBuf,
    open: Library,
    clock: ManualClock,
    series: SourceSeries,
}

impl Machine {
    fn new(name: &str) -> Self {
        static WHOLE: OnceLock<PathBuf> = OnceLock::new();
        Self::with_library(name, WHOLE.get_or_init(|| compiled("nvml", &[])))
    }

    fn with_library(name: &str, library: &Path) -> Self {
        let root = std::env::temp_dir().join(format!("amdgpu-nvml-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let own = root.join("libnvidia-ml.so.1");
        fs::copy(library, &own).unwrap();
        // SAFETY: the library's initialisers are those of the Rust runtime.
        let open = unsafe { Library::new(&own) }.unwrap();
        let machine = Self {
            root,
            library: own,
            open,
            clock: ManualClock::default(),
            series: SourceSeries::default(),
        };
        for bus in ["0000:41:00.0", "0000:42:00.0"] {
            machine.write(bus, "vendor", "0x10de\n");
            machine.write(bus, "class", "0x030200\n");
            machine.write(bus, "power/runtime_status", "active\n");
            machine.write(bus, "power/control", "auto\n");
        }
        machine.write("0000:41:00.1", "vendor", "0x10de\n");
        machine.write("0000:41:00.1", "class", "0x040300\n");
        machine.set(BUSY_PERCENT, 90);
        machine
    }

    fn write(&self, bus: &str, file: &str, content: &str) {
        let path = self.root.join("sys/bus/pci/devices").join(bus).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn set(&self, which: u32, value: u64) {
        // SAFETY: the function has this signature in the fixture.
        unsafe { self.open.get::<extern "C" fn(u32, u64)>(b"fake_set\0") }.unwrap()(which, value);
    }

    fn get(&self, which: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.open.get::<extern "C" fn(u32) -> u64>(b"fake_get\0") }.unwrap()(which)
    }

    fn source(&self, visible: Option<&str>) -> NvidiaSource {
        let visible = visible.map(str::to_owned);
        NvidiaSource::with_environment(Tree::at(&self.root), visible, vec![self.library.clone()])
    }

    fn read_group(&mut self, source: &mut NvidiaSource, group: usize) -> Vec<(String, Value)> {
        let mut taken = Vec::new();
        let mut sink = Sink::new(&self.clock, &mut self.series, &mut taken, group);
        source.read(group, &mut sink);
        let name = |series: usize| {
            let key = &self.series.keys()[series].0;
            let name = key.metric.metric().name.trim_start_matches("amdgpu_");
            format!("{name} {}", key.labels.join(" "))
        };
        taken
            .into_iter()
            .map(|taken| (name(taken.series), taken.value))
            .collect()
    }

    fn read(&mut self, source: &mut NvidiaSource) -> Vec<(String, Value)> {
        [FAST, SLOW, RARE]
            .into_iter()
            .flat_map(|group| self.read_group(source, group))
            .collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn value(readings: &[(String, Value)], name: &str) -> Value {
    let found: Vec<_> = readings.iter().filter(|(known, _)| known == name).collect();
    assert_eq!(found.len(), 1, "{name} in {readings:#?}");
    found[0].1.clone()
}

fn reason(readings: &[(String, Value)], name: &str) -> String {
    value(readings, name).unwrap_err().to_string()
}

#[test]
fn values_come_in_base_units() {
    let mut machine = Machine::new("values");
    let mut source = machine.source(None);
    machine.set(FIELD_BYTES, 1_000);
    machine.read(&mut source);
    machine.set(FIELD_BYTES, 4_000);
    let readings = machine.read(&mut source);
    for (name, number) in [
        ("busy_ratio cuda:0 all", 0.9),
        ("busy_ratio cuda:1 all", 0.9),
        ("memory_controller_busy_ratio cuda:0", 0.4),
        ("power_watts cuda:0 package", 412.345),
        ("power_limit_watts cuda:0 package", 700.0),
        ("energy_joules_total cuda:0", 5000.0),
        ("memory_used_bytes cuda:0", 1000.0 * 1_048_576.0),
        ("memory_total_bytes cuda:0", 143_771.0 * 1_048_576.0),
        ("temperature_celsius cuda:0 gpu", 47.0),
        ("temperature_celsius cuda:0 memory", 61.0),
        ("clock_hertz cuda:0 graphics", 1e9),
        ("clock_hertz cuda:0 memory", 1.002e9),
        ("throttle_seconds_total cuda:0 power", 1.0),
        ("throttle_seconds_total cuda:0 thermal", 2.0),
        ("throttle_seconds_total cuda:0 reliability", 6.0),
        ("pcie_bytes_total cuda:0 transmit", 3_000.0),
        ("pcie_replays_total cuda:0", 4.0),
        ("ecc_errors_total cuda:0 corrected", 12.0),
        ("ecc_errors_total cuda:0 uncorrected", 1.0),
        ("engine_busy_ratio cuda:0 decoder", 0.25),
        ("device_asleep cuda:0", 0.0),
        (
            "device_info cuda:0 GPU-aaaa NVIDIA H200 sm_90 NVIDIA 580.65.06",
            1.0,
        ),
    ] {
        assert_eq!(value(&readings, name), Ok(number), "{name}");
    }
    assert!(reason(&readings, "fan_speed_ratio cuda:0").contains("does not tell"));
    assert!(reason(&readings, "engine_busy_ratio cuda:0 encoder").contains("no such function"));
    // A counter that starts again does not run backwards.
    machine.set(FIELD_BYTES, 500);
    let readings = machine.read_group(&mut source, SLOW);
    assert_eq!(
        value(&readings, "pcie_bytes_total cuda:0 transmit"),
        Ok(3_500.0)
    );
}

#[test]
fn names_follow_the_visible_devices() {
    let mut machine = Machine::new("visible");
    let mut source = machine.source(Some("GPU-bb"));
    let readings = machine.read_group(&mut source, RARE);
    assert!(
        readings
            .iter()
            .any(|(name, _)| name.starts_with("device_info cuda:0 GPU-bbbb")),
        "{readings:?}"
    );
    assert!(
        readings
            .iter()
            .any(|(name, _)| name.starts_with("device_info pci:0000:41:00.0 GPU-aaaa"))
    );
}

#[test]
fn errors_become_reasons() {
    let mut machine = Machine::new("errors");
    let mut source = machine.source(None);
    machine.read(&mut source);
    for (status, expected) in [
        (3, "this GPU does not tell it"),
        (4, "root only"),
        (15, "GPU is lost (15)"),
        (999, "no further reason (999)"),
    ] {
        machine.set(STATUS, status);
        let readings = machine.read(&mut source);
        for name in [
            "busy_ratio cuda:0 all",
            "memory_used_bytes cuda:1",
            "power_watts cuda:0 package",
            "pcie_bytes_total cuda:0 receive",
        ] {
            assert!(
                reason(&readings, name).contains(expected),
                "{name}: {}",
                reason(&readings, name)
            );
        }
    }
    // And back: the library stays open.
    machine.set(STATUS, 0);
    assert_eq!(
        value(&machine.read(&mut source), "temperature_celsius cuda:0 gpu"),
        Ok(47.0)
    );
    assert_eq!(machine.get(INITS), 1);
}

#[test]
fn impossible_numbers_are_absent() {
    let mut machine = Machine::new("impossible");
    machine.set(BUSY_PERCENT, 4_000_000_000);
    let mut source = machine.source(None);
    let readings = machine.read(&mut source);
    assert!(reason(&readings, "busy_ratio cuda:0 all").contains("cannot be"));
}

#[test]
fn a_driver_that_is_not_loaded_is_said_once_for_every_value() {
    let mut machine = Machine::new("unloaded");
    machine.set(INIT_STATUS, 9);
    let mut source = machine.source(None);
    for _ in 0..3 {
        let readings = machine.read(&mut source);
        assert!(reason(&readings, "busy_ratio cuda:0 all").contains("Driver Not Loaded (9)"));
    }
    assert_eq!(machine.get(INITS), 1);
}

#[test]
fn a_library_with_few_functions_lists_gpus_without_values() {
    let minimal = compiled("nvml-minimal", &["--cfg", "minimal"]);
    let mut machine = Machine::with_library("minimal", &minimal);
    let mut source = machine.source(None);
    for (name, value) in machine.read(&mut source) {
        if !name.starts_with("device_") {
            assert!(
                value.unwrap_err().to_string().contains("no such function"),
                "{name}"
            );
        }
    }
    fs::remove_file(minimal).unwrap();
}

#[test]
fn throttling_is_looked_at_where_it_is_not_counted() {
    let mut machine = Machine::new("throttle");
    machine.set(VIOLATION_STATUS, 3);
    machine.set(THROTTLE_BITS, 0x4 | 0x40);
    let mut source = machine.source(None);
    for _ in 0..4 {
        machine.read_group(&mut source, SLOW);
        machine.clock.advance_ns(SECOND);
    }
    machine.set(THROTTLE_BITS, 0x1);
    let readings = machine.read_group(&mut source, SLOW);
    assert_eq!(
        value(&readings, "throttle_seconds_total cuda:0 power"),
        Ok(3.0)
    );
    assert_eq!(
        value(&readings, "throttle_seconds_total cuda:0 thermal"),
        Ok(3.0)
    );
    assert_eq!(
        value(&readings, "throttle_seconds_total cuda:0 external"),
        Ok(0.0)
    );
}

#[test]
fn nothing_is_opened_while_a_gpu_sleeps() {
    let mut machine = Machine::new("asleep");
    machine.write("0000:42:00.0", "power/runtime_status", "suspended\n");
    let mut source = machine.source(None);
    for _ in 0..3 {
        let readings = machine.read(&mut source);
        assert_eq!(value(&readings, "device_asleep cuda:1"), Ok(1.0));
        assert!(reason(&readings, "busy_ratio cuda:1 all").contains("asleep"));
        assert!(reason(&readings, "busy_ratio cuda:0 all").contains("would wake"));
    }
    assert_eq!(machine.get(INITS), 0);
    machine.write("0000:42:00.0", "power/runtime_status", "active\n");
    let readings = machine.read(&mut source);
    assert_eq!(value(&readings, "busy_ratio cuda:0 all"), Ok(0.9));
    assert_eq!(machine.get(INITS), 1);
}

#[test]
fn idle_gpus_that_may_sleep_are_closed_so_that_they_can() {
    let mut machine = Machine::new("idle");
    for bus in ["0000:41:00.0", "0000:42:00.0"] {
        let folder = machine.root.join("proc/driver/nvidia/gpus").join(bus);
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("power"),
            "Runtime D3 status:          Enabled (fine-grained)\n",
        )
        .unwrap();
    }
    let mut source = machine.source(None);
    machine.read(&mut source);
    machine.set(BUSY_PERCENT, 0);
    for _ in 0..20 {
        machine.clock.advance_ns(SECOND / 4);
        machine.read(&mut source);
    }
    assert_eq!((machine.get(INITS), machine.get(SHUTDOWNS)), (1, 1));
    let readings = machine.read(&mut source);
    assert!(reason(&readings, "busy_ratio cuda:0 all").contains("left alone"));
    // Nobody let them sleep: they are looked at again.
    machine.set(BUSY_PERCENT, 50);
    for _ in 0..48 {
        machine.clock.advance_ns(SECOND / 4);
        machine.read(&mut source);
    }
    assert_eq!(machine.get(INITS), 2);
    assert_eq!(
        value(&machine.read(&mut source), "busy_ratio cuda:1 all"),
        Ok(0.5)
    );
    assert!(machine.clock.now_ns() < 60 * SECOND);
}

#[test]
fn gpus_of_a_container_without_the_bus_are_found_by_the_library() {
    let mut machine = Machine::new("container");
    fs::remove_dir_all(machine.root.join("sys")).unwrap();
    let mut source = machine.source(None);
    let readings = machine.read(&mut source);
    assert_eq!(value(&readings, "power_watts cuda:1 package"), Ok(412.345));
}

#[test]
fn a_machine_without_nvidia_has_no_series() {
    let mut machine = Machine::new("without");
    fs::remove_dir_all(machine.root.join("sys")).unwrap();
    let nowhere = vec![machine.root.join("nowhere.so")];
    let mut source = NvidiaSource::with_environment(Tree::at(&machine.root), None, nowhere);
    assert!(machine.read(&mut source).is_empty());
}
