//! Cards made from the kernel's documentation (`tests/fixtures`), whole, damaged, asleep and changing while they are read.

#![allow(clippy::float_cmp)] // Values come back as they were given.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::super::{SourceSeries, Value};
use super::table::tests::{V1_3, V1_6, V2_1, V3_0};
use super::*;
use crate::clock::{Clock, ManualClock};

const SECOND: u64 = 1_000_000_000;

struct Machine {
    root: PathBuf,
    clock: ManualClock,
    series: SourceSeries,
}

impl Machine {
    /// A machine with the cards of these fixtures; files of later ones are added to those of earlier ones.
    fn new(name: &str, trees: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("amdgpu-amd-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let machine = Self {
            root,
            clock: ManualClock::default(),
            series: SourceSeries::default(),
        };
        for tree in trees {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/fixtures")
                .join(format!("{tree}.tree"));
            for line in fs::read_to_string(path)
                .unwrap()
                .lines()
                .filter(|line| !line.starts_with('#'))
            {
                let (path, content) = line.split_once(" =").unwrap();
                machine.write(
                    path,
                    format!("{}\n", content.trim_start().replace("\\n", "\n")).as_bytes(),
                );
            }
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        fs::write(path, content).unwrap();
    }

    fn source(&self) -> AmdSource {
        AmdSource::with_environment(Tree::at(&self.root), None, false)
    }

    fn read_group(&mut self, source: &mut dyn Source, group: usize) -> Vec<(String, Value)> {
        let mut taken = Vec::new();
        let mut sink = Sink::new(&self.clock, &mut self.series, &mut taken, group);
        source.read(group, &mut sink);
        let name = |series: usize| {
            let key = &self.series.keys()[series].0;
            let name = key.metric.metric().name.trim_start_matches("amdgpu_");
            format!("{name} {}", key.labels.join(" "))
                .trim_end()
                .to_owned()
        };
        taken
            .into_iter()
            .map(|taken| (name(taken.series), taken.value))
            .collect()
    }

    fn read(&mut self, source: &mut dyn Source) -> Vec<(String, Value)> {
        (0..source.periods().len())
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

fn assert_values(readings: &[(String, Value)], expected: &[(&str, f64)]) {
    for (name, number) in expected {
        assert_eq!(value(readings, name), Ok(*number), "{name}");
    }
}

fn has(readings: &[(String, Value)], name: &str) -> bool {
    readings.iter().any(|(known, _)| known == name)
}

#[test]
fn navi31_tells_everything_a_desktop_card_has() {
    let mut machine = Machine::new("navi31", &["navi31"]);
    let mut table = V1_3::blank();
    (table.gfx, table.mm, table.energy) = (97, 25, 1);
    table.temperature = [58, 81, 76, 70, 66, 64];
    table.current_clocks = [2482, 1200, 1249, 800, 700, 0, 0];
    table.indep_throttle_status = 1 << 36;
    machine.write("sys/class/drm/card1/device/gpu_metrics", &table.bytes());
    let mut source = machine.source();
    machine.read(&mut source);
    machine.clock.advance_ns(SECOND / 2);
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("device_asleep hip:0", 0.0),
            ("busy_ratio hip:0 all", 0.97),
            ("memory_controller_busy_ratio hip:0", 0.41),
            ("engine_busy_ratio hip:0 video", 0.25),
            ("memory_used_bytes hip:0", 3_113_508_864.0),
            ("memory_total_bytes hip:0", 25_753_026_560.0),
            ("shared_memory_used_bytes hip:0", 57_057_280.0),
            ("shared_memory_total_bytes hip:0", 33_626_042_368.0),
            ("temperature_celsius hip:0 edge", 58.0),
            ("temperature_celsius hip:0 junction", 81.0),
            ("temperature_celsius hip:0 memory", 76.0),
            ("temperature_celsius hip:0 vr_graphics", 70.0),
            ("power_watts hip:0 package", 327.0),
            ("power_limit_watts hip:0 package", 339.0),
            ("fan_speed_rpm hip:0", 1712.0),
            ("fan_speed_ratio hip:0", 0.4),
            ("clock_hertz hip:0 graphics", 2.482e9),
            ("clock_hertz hip:0 memory", 1.249e9),
            ("clock_hertz hip:0 soc", 1.2e9),
            ("voltage_volts hip:0 graphics", 1.034),
            ("pcie_replays_total hip:0", 2.0),
            ("throttle_seconds_total hip:0 thermal", 0.5),
            ("throttle_seconds_total hip:0 power", 0.0),
            (
                "device_info hip:0 GPU-4a1c9e2b7d3f5086 AMD GPU 744c gfx1100 amdgpu",
                1.0,
            ),
        ],
    );
    assert!(reason(&readings, "energy_joules_total hip:0").contains("unit"));
    assert!(reason(&readings, "ecc_errors_total hip:0 uncorrected").contains("no memory errors"));
}

#[test]
fn devices_are_named_as_the_runtime_names_them() {
    // The compute driver lists the card with the higher address first; the one it does not list comes last.
    let mut machine = Machine::new("order", &["navi31", "navi21", "phoenix"]);
    let node = |location: u32| format!("simd_count 4\nlocation_id {location}\ndomain 0\n");
    machine.write(
        "sys/class/kfd/kfd/topology/nodes/1/properties",
        node(0x0b00).as_bytes(),
    );
    machine.write(
        "sys/class/kfd/kfd/topology/nodes/10/properties",
        node(0x0300).as_bytes(),
    );
    machine.write(
        "sys/class/drm/card2/device/uevent",
        b"DRIVER=amdgpu\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
    );
    let mut source = machine.source();
    let readings = machine.read(&mut source);
    assert_eq!(value(&readings, "busy_ratio hip:0 all"), Ok(0.12));
    assert!(has(&readings, "busy_ratio hip:1 all") && has(&readings, "busy_ratio hip:2 all"));
    let mut source = AmdSource::with_environment(
        Tree::at(&machine.root),
        Some("GPU-77aa01".to_owned()),
        false,
    );
    let readings = machine.read(&mut source);
    assert_eq!(value(&readings, "busy_ratio hip:0 all"), Ok(0.12));
    assert!(
        has(&readings, "busy_ratio pci:0000:03:00.0 all"),
        "{readings:?}"
    );
}

#[test]
fn mi300x_tells_partitions_links_errors_and_energy() {
    let mut machine = Machine::new("mi300x", &["mi300x"]);
    let mut table = V1_6::blank();
    (
        table.hotspot,
        table.mem,
        table.vrsoc,
        table.energy,
        table.replays,
    ) = (55, 48, 50, 65_536 * 5000, 7);
    (
        table.accumulation_counter,
        table.ppt,
        table.prochot,
        table.socket_thm,
        table.vr_thm,
        table.hbm_thm,
    ) = (10_000, 500, 0, 20, 0, 5);
    table.partitions = 4;
    for (partition, percent) in [90, 80, 10, 0].into_iter().enumerate() {
        table.xcp[partition].gfx_busy_inst[..2].copy_from_slice(&[percent, percent]);
    }
    table.xgmi_read[0] = 1_000_000;
    table.gfxclk[..8].copy_from_slice(&[2100; 8]);
    let path = "sys/class/drm/card1/device/gpu_metrics";
    machine.write(path, &table.bytes());
    let mut source = machine.source();
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("busy_ratio hip:0 all", 0.99),
            ("partition_busy_ratio hip:0 0", 0.9),
            ("partition_busy_ratio hip:0 3", 0.0),
            ("power_watts hip:0 package", 742.0),
            ("power_limit_watts hip:0 package", 750.0),
            ("temperature_celsius hip:0 junction", 55.0),
            ("temperature_celsius hip:0 vr_soc", 50.0),
            ("energy_joules_total hip:0", 5000.0),
            ("pcie_replays_total hip:0", 7.0),
            ("link_bytes_total hip:0 0 receive", 1e9),
            ("clock_hertz hip:0 graphics", 2.1e9),
            ("ecc_errors_total hip:0 corrected", 15.0),
            ("ecc_errors_total hip:0 uncorrected", 1.0),
            ("throttle_seconds_total hip:0 power", 0.0),
        ],
    );
    assert!(!has(&readings, "partition_busy_ratio hip:0 4"));
    // Nodes of the other partitions and the board's own graphics are no devices of this source.
    assert!(
        readings
            .iter()
            .all(|(name, _)| name.split(' ').nth(1) == Some("hip:0"))
    );

    // 30 % of the steps of two seconds were held down by power, 10 % by heat.
    machine.clock.advance_ns(2 * SECOND);
    (
        table.accumulation_counter,
        table.ppt,
        table.socket_thm,
        table.hbm_thm,
    ) = (11_000, 800, 110, 15);
    machine.write(path, &table.bytes());
    let readings = machine.read_group(&mut source, FAST);
    assert!((value(&readings, "throttle_seconds_total hip:0 power").unwrap() - 0.6).abs() < 1e-9);
    assert!((value(&readings, "throttle_seconds_total hip:0 thermal").unwrap() - 0.2).abs() < 1e-9);
    // Counters that start again count nothing.
    machine.clock.advance_ns(2 * SECOND);
    (table.accumulation_counter, table.ppt) = (10, 5);
    machine.write(path, &table.bytes());
    let readings = machine.read_group(&mut source, FAST);
    assert!((value(&readings, "throttle_seconds_total hip:0 power").unwrap() - 0.6).abs() < 1e-9);
}

#[test]
fn apus_have_memory_of_the_system_and_no_fan() {
    let mut machine = Machine::new("phoenix", &["phoenix"]);
    let mut table = V2_1::blank();
    (table.gfx_temperature, table.gfx, table.powers) = (4500, 50, [15_203; 4]);
    table.current_clocks = [2700, 1000, 1600, 1800, 400, 300];
    machine.write("sys/class/drm/card1/device/gpu_metrics", &table.bytes());
    let mut source = machine.source();
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("busy_ratio hip:0 all", 0.5),
            ("shared_memory_total_bytes hip:0", 16_465_600_512.0),
            ("power_watts hip:0 package", 15.203),
            ("clock_hertz hip:0 graphics", 2.7e9),
            ("clock_hertz hip:0 fabric", 1.8e9),
            ("voltage_volts hip:0 northbridge", 0.912),
        ],
    );
    assert!(reason(&readings, "fan_speed_ratio hip:0").contains("fan"));
    assert!(reason(&readings, "power_limit_watts hip:0 package").contains("limit"));
    assert!(reason(&readings, "memory_controller_busy_ratio hip:0").contains("mem_busy_percent"));

    // A newer one (Strix) tells more in its table.
    let mut table = V3_0::blank();
    (table.gfx, table.vcn, table.uclk) = (50, 12, 2800);
    table.ipu[0] = 75;
    machine.write("sys/class/drm/card1/device/gpu_metrics", &table.bytes());
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("engine_busy_ratio hip:0 npu", 0.75),
            ("clock_hertz hip:0 memory", 2.8e9),
        ],
    );
}

#[test]
fn vega_without_a_table_tells_what_its_files_have() {
    let mut machine = Machine::new("vega10", &["vega10"]);
    let mut source = machine.source();
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("busy_ratio hip:0 all", 1.0),
            ("temperature_celsius hip:0 edge", 84.0),
            ("power_watts hip:0 package", 219.0),
            ("fan_speed_rpm hip:0", 2401.0),
        ],
    );
    assert!(reason(&readings, "energy_joules_total hip:0").contains("gpu_metrics"));
    let mut slow = AmdSlowSource::with_environment(Tree::at(&machine.root), None, None);
    let readings = machine.read(&mut slow);
    assert_values(
        &readings,
        &[
            (
                "pcie_throughput_bytes_per_second hip:0 receive",
                307_200_000.0,
            ),
            (
                "pcie_throughput_bytes_per_second hip:0 transmit",
                8_704_000.0,
            ),
        ],
    );
}

/// Names of the files that are opened under the folders while `act` runs.
fn opened_during(folders: &[PathBuf], act: impl FnOnce()) -> Vec<String> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes flags and gives a new descriptor, which the file owns from here on.
    let mut watch = unsafe { fs::File::from_raw_fd(libc::inotify_init1(libc::IN_NONBLOCK)) };
    for folder in folders {
        let path = std::ffi::CString::new(folder.to_str().unwrap()).unwrap();
        // SAFETY: the descriptor is open, and the path ends in zero.
        let number = unsafe {
            libc::inotify_add_watch(
                std::os::fd::AsRawFd::as_raw_fd(&watch),
                path.as_ptr(),
                libc::IN_OPEN,
            )
        };
        assert!(number >= 0, "{}", folder.display());
    }
    act();
    let mut names = Vec::new();
    let mut buf = [0_u8; 8192];
    while let Ok(bytes) = std::io::Read::read(&mut watch, &mut buf) {
        let mut at = 0;
        while at < bytes {
            // wd, mask, cookie and the length of the name, four bytes each.
            let length = u32::from_ne_bytes(buf[at + 12..at + 16].try_into().unwrap()) as usize;
            let name = &buf[at + 16..at + 16 + length];
            names.push(
                String::from_utf8_lossy(name)
                    .trim_end_matches('\0')
                    .to_owned(),
            );
            at += 16 + length;
        }
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_sleeping_card_is_not_touched() {
    let mut machine = Machine::new("asleep", &["asleep"]);
    let device = machine.path("sys/class/drm/card0/device");
    let folders = [
        device.clone(),
        device.join("power"),
        device.join("hwmon"),
        device.join("hwmon/hwmon3"),
    ];
    let mut source = machine.source();
    let mut slow = AmdSlowSource::with_environment(Tree::at(&machine.root), None, None);
    let mut readings = Vec::new();
    let opened = opened_during(&folders, || {
        for _ in 0..3 {
            readings = machine.read(&mut source);
            machine.read(&mut slow);
            machine.clock.advance_ns(SECOND);
        }
    });
    // Files of the bus and of the power management: none of them belongs to the driver.
    assert_eq!(opened, ["control", "runtime_status", "uevent"]);
    assert_eq!(value(&readings, "device_asleep hip:0"), Ok(1.0));
    for name in [
        "busy_ratio hip:0 all",
        "memory_used_bytes hip:0",
        "temperature_celsius hip:0 edge",
        "power_watts hip:0 package",
    ] {
        assert!(reason(&readings, name).contains("asleep"), "{name}");
    }

    // Awake, it is read; asleep again, everything it told is absent for that reason.
    machine.write(
        "sys/class/drm/card0/device/power/runtime_status",
        b"active\n",
    );
    machine.write("sys/class/drm/card0/device/power_state", b"D0\n");
    let readings = machine.read(&mut source);
    assert_values(
        &readings,
        &[
            ("device_asleep hip:0", 0.0),
            ("busy_ratio hip:0 all", 0.77),
            ("temperature_celsius hip:0 edge", 30.0),
        ],
    );
    machine.write("sys/class/drm/card0/device/power_state", b"D3hot\n");
    let readings = machine.read(&mut source);
    assert_eq!(value(&readings, "device_asleep hip:0"), Ok(1.0));
    assert!(
        readings
            .iter()
            .all(|(name, value)| name.starts_with("device_asleep") || value.is_err()),
        "{readings:?}"
    );
}

#[test]
fn an_idle_card_that_may_sleep_is_given_the_time_to() {
    let mut machine = Machine::new("resting", &["asleep"]);
    machine.write(
        "sys/class/drm/card0/device/power/runtime_status",
        b"active\n",
    );
    machine.write("sys/class/drm/card0/device/power_state", b"D0\n");
    machine.write("sys/class/drm/card0/device/gpu_busy_percent", b"0\n");
    let mut source = machine.source();
    let mut looks = 0;
    for _ in 0..120 {
        let readings = machine.read_group(&mut source, FAST);
        match value(&readings, "busy_ratio hip:0 all") {
            Ok(busy) => {
                assert_eq!(busy, 0.0);
                looks += 1;
            }
            Err(reason) => assert!(reason.to_string().contains("left alone"), "{reason}"),
        }
        machine.clock.advance_ns(SECOND / 4);
    }
    // Three seconds of looks, then one every seven seconds.
    assert!((13..=18).contains(&looks), "{looks}");
}

#[test]
fn files_that_refuse_vanish_or_lie_are_absent_with_a_reason() {
    let mut machine = Machine::new("bad", &["navi31"]);
    let mut source = machine.source();
    machine.read(&mut source);
    let device = "sys/class/drm/card1/device";
    let hwmon = format!("{device}/hwmon/hwmon5");
    // Reading another process's memory at address zero is an input/output error, as of a card that fell off the bus.
    let broken = machine.path(device).join("gpu_busy_percent");
    fs::remove_file(&broken).unwrap();
    symlink("/proc/self/mem", &broken).unwrap();
    fs::remove_file(machine.path(device).join("mem_info_vram_used")).unwrap();
    machine.write(&format!("{device}/mem_busy_percent"), b"65535\n");
    machine.write(&format!("{device}/mem_info_vram_total"), b"-5\n");
    machine.write(
        &format!("{device}/mem_info_gtt_total"),
        b"18446744073709551615\n",
    );
    machine.write(
        &format!("{device}/mem_info_gtt_used"),
        b"9223372036854775807\n",
    );
    machine.write(&format!("{hwmon}/power1_average"), b"N/A\n");
    machine.write(&format!("{hwmon}/power1_cap"), b"99999999999999999\n");
    machine.write(&format!("{hwmon}/temp1_input"), b"-2147483648\n");
    machine.write(&format!("{hwmon}/temp2_input"), b"\xff\xfe\x00\x01");
    machine.write(&format!("{hwmon}/fan1_input"), b"");
    machine.write(&format!("{hwmon}/pwm1"), b"300\n");
    machine.write(&format!("{hwmon}/freq1_input"), b"1e9\n");
    machine.write(
        &format!("{device}/gpu_metrics"),
        &V1_3::blank().bytes()[..60],
    );
    fs::remove_file(machine.path(&format!("{hwmon}/freq2_input"))).unwrap();
    fs::create_dir(machine.path(&format!("{hwmon}/freq2_input"))).unwrap();
    let readings = machine.read(&mut source);
    for (name, expected) in [
        ("busy_ratio hip:0 all", "nput/output"),
        ("memory_controller_busy_ratio hip:0", "655.35"),
        ("memory_used_bytes hip:0", "no file mem_info_vram_used"),
        ("memory_total_bytes hip:0", "-5"),
        ("shared_memory_total_bytes hip:0", "no number"),
        ("shared_memory_used_bytes hip:0", "cannot be"),
        ("power_watts hip:0 package", "`N/A`"),
        ("power_limit_watts hip:0 package", "cannot be"),
        ("temperature_celsius hip:0 edge", "-2147483.648"),
        ("temperature_celsius hip:0 junction", "no number"),
        ("fan_speed_rpm hip:0", "no number"),
        ("fan_speed_ratio hip:0", "cannot be"),
        ("clock_hertz hip:0 graphics", "`1e9`"),
        ("clock_hertz hip:0 memory", "directory"),
        ("energy_joules_total hip:0", "ends after 60 of 120"),
    ] {
        let found = reason(&readings, name);
        assert!(found.contains(expected), "{name}: {found}");
    }
    assert_eq!(
        value(&readings, "temperature_celsius hip:0 memory"),
        Ok(76.0)
    );
    // The whole card goes.
    fs::remove_dir_all(machine.path("sys/class/drm")).unwrap();
    for (name, value) in machine.read(&mut source) {
        assert!(
            value.is_err() || name.starts_with("device_"),
            "{name}: {value:?}"
        );
    }
}

#[test]
fn files_that_change_while_they_are_read_give_values_or_reasons() {
    let mut machine = Machine::new("race", &["navi31", "mi300x"]);
    let mut source = machine.source();
    let root = machine.root.clone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let device = root.join("sys/class/drm/card1/device");
            let table = V1_6::blank().bytes();
            let mut turn = 0_usize;
            while !is_over.load(Ordering::Relaxed) {
                turn += 1;
                // Results do not matter: the folders come and go under both threads.
                let _ = fs::write(
                    device.join("gpu_metrics"),
                    &table[..turn * 37 % table.len()],
                );
                let _ = fs::write(device.join("gpu_busy_percent"), format!("{turn}\n"));
                let _ = fs::rename(device.join("hwmon"), device.join("hwmon-gone"));
                let _ = fs::rename(device.join("hwmon-gone"), device.join("hwmon"));
            }
        });
        for _ in 0..300 {
            for (name, value) in machine.read(&mut source) {
                if let Err(reason) = value {
                    assert!(!reason.to_string().is_empty(), "{name}");
                }
            }
            machine.clock.advance_ns(SECOND / 10);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_content_gives_plausible_values_or_reasons(
        contents in prop::collection::vec(prop_oneof![
            any::<i64>().prop_map(|number| number.to_string().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..64),
            (0_i64..1_000_000).prop_map(|number| format!("{number}\n").into_bytes()),
        ], 12),
    ) {
        let mut machine = Machine::new("any", &["phoenix"]);
        let device = "sys/class/drm/card1/device";
        let files = [
            "gpu_busy_percent", "mem_busy_percent", "mem_info_vram_used", "pcie_replay_count", "gpu_metrics", "hwmon/hwmon4/temp1_input",
            "hwmon/hwmon4/power1_input", "hwmon/hwmon4/power1_cap", "hwmon/hwmon4/pwm1", "hwmon/hwmon4/freq1_input",
            "power/autosuspend_delay_ms", "ras/umc_err_count",
        ];
        for (file, content) in files.iter().zip(&contents) {
            machine.write(&format!("{device}/{file}"), content);
        }
        let mut source = machine.source();
        for (name, value) in machine.read(&mut source) {
            let Ok(number) = value else { continue };
            prop_assert!(number.is_finite() && number >= -60.0, "{name} {number}");
            if name.contains("_ratio") {
                prop_assert!((0.0..=1.0).contains(&number), "{name} {number}");
            }
        }
    }
}

/// A program that answers as `amd-smi` does.
fn tool(machine: &Machine, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = machine.path("amd-smi");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn amd_smi_tells_energies_whose_unit_only_it_knows() {
    let mut machine = Machine::new("smi", &["navi21"]);
    let mut table = V1_3::blank();
    table.energy = 4711;
    machine.write("sys/class/drm/card0/device/gpu_metrics", &table.bytes());
    let answers = |list: &str, metric: &str| {
        format!("case \"$1\" in list) echo '{list}';; metric) echo '{metric}';; esac")
    };
    let list = r#"[{"gpu": 0, "bdf": "0000:03:00.0"}, {"gpu": 1, "bdf": "0000:0B:00.0"}]"#;
    let energy = |value: &str| {
        format!(
            r#"{{"gpu_data": [{{"gpu": 0, "energy": "N/A"}}, {{"gpu": 1, "energy": {{"total_energy_consumption": {value}}}}}]}}"#
        )
    };
    for (script, expected) in [
        (
            answers(list, &energy(r#"{"value": 1234.5, "unit": "J"}"#)),
            Ok(1234.5),
        ),
        (answers(list, &energy(r#""N/A""#)), Err("does not tell")),
        (
            answers(list, &energy(r#"{"value": 1, "unit": "furlongs"}"#)),
            Err("does not tell"),
        ),
        (answers("[]", "[]"), Err("does not tell")),
        (answers("no JSON", "[]"), Err("amd-smi list")),
        ("exit 3".to_owned(), Err("exit status: 3")),
    ] {
        let tool = tool(&machine, &script);
        let mut slow = AmdSlowSource::with_environment(Tree::at(&machine.root), None, Some(tool));
        let readings = machine.read(&mut slow);
        let found = value(&readings, "energy_joules_total hip:0");
        match expected {
            Ok(joules) => assert_eq!(found, Ok(joules)),
            Err(text) => assert!(found.unwrap_err().to_string().contains(text)),
        }
    }
    // With the tool there, the other source leaves the series to this one.
    let mut source = AmdSource::with_environment(Tree::at(&machine.root), None, true);
    assert!(!has(
        &machine.read(&mut source),
        "energy_joules_total hip:0"
    ));
}

#[test]
fn processes_are_found_by_their_open_files_and_counted_once() {
    let machine = Machine::new("clients", &["navi31"]);
    let open = |process: u32, file: u32, target: &str, info: &str| {
        let folder = machine.path(&format!("proc/{process}"));
        fs::create_dir_all(folder.join("fd")).unwrap();
        machine.write(
            &format!("proc/{process}/comm"),
            format!("program{process}\n").as_bytes(),
        );
        symlink(target, folder.join("fd").join(file.to_string())).unwrap();
        machine.write(&format!("proc/{process}/fdinfo/{file}"), info.as_bytes());
    };
    let info = |client: u32, address: &str| {
        format!(
            "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-pdev:\t{address}\ndrm-client-id:\t{client}\n\
             drm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t64 KiB\ndrm-engine-gfx:\t1500000000 ns\ndrm-engine-compute:\t250000000 ns\n"
        )
    };
    open(200, 5, "/dev/dri/renderD128", &info(7, "0000:03:00.0"));
    open(200, 6, "/dev/dri/renderD128", &info(7, "0000:03:00.0"));
    open(200, 7, "/dev/dri/renderD128", &info(8, "0000:03:00.0"));
    open(300, 3, "/dev/dri/renderD128", &info(7, "0000:03:00.0"));
    open(
        400,
        3,
        "/dev/dri/renderD128",
        "drm-driver:\ti915\ndrm-client-id: 1\ndrm-pdev: 0000:00:02.0\n",
    );
    open(
        500,
        3,
        "/dev/dri/card1",
        "drm-driver:\tamdgpu\ndrm-client-id:\tx\n",
    );
    open(600, 3, "/dev/null", &info(9, "0000:03:00.0"));
    open(700, 3, "/dev/dri/renderD129", &info(9, "0000:ff:00.0"));
    let found = clients::clients(&Tree::at(&machine.root));
    assert_eq!(found.len(), 1, "{found:?}");
    let client = &found[0];
    assert_eq!(
        (
            client.process_id,
            client.command.as_str(),
            client.device.as_str()
        ),
        (200, "program200", "hip:0")
    );
    assert_eq!(client.memory_bytes, Some(2 * 2048 * 1024));
    assert_eq!(client.engine_seconds["gfx"], 3.0);
    assert_eq!(client.engine_seconds["compute"], 0.5);
}

#[test]
fn a_machine_without_cards_has_no_series() {
    let mut machine = Machine::new("none", &[]);
    let mut source = machine.source();
    assert!(machine.read(&mut source).is_empty());
    assert!(clients::clients(&Tree::at(&machine.root)).is_empty());
    assert!(machine.clock.now_ns() < SECOND);
}
