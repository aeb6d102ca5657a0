//! Trees of processors as the kernel's documentation describes them.

#![allow(clippy::float_cmp)] // Values come back as they were given.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::clock::ManualClock;
use crate::sources::{SourceSeries, Value};

struct Machine {
    root: PathBuf,
    clock: ManualClock,
    source: CpuSource,
    series: SourceSeries,
}

impl Machine {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("amdgpu-cpu-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self {
            source: CpuSource::new(Tree::at(&root)),
            root,
            clock: ManualClock::default(),
            series: SourceSeries::default(),
        }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&mut self, group: usize) -> Vec<(String, Value)> {
        let mut taken = Vec::new();
        let mut sink = Sink::new(&self.clock, &mut self.series, &mut taken, group);
        self.source.read(group, &mut sink);
        taken
            .into_iter()
            .map(|taken| {
                let key = &self.series.keys()[taken.series].0;
                (
                    format!("{} {}", key.metric.metric().name, key.labels.join(" ")),
                    taken.value,
                )
            })
            .collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn value(readings: &[(String, Value)], name: &str) -> Value {
    let found = readings.iter().find(|(known, _)| known == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {readings:?}"))
        .1
        .clone()
}

#[test]
fn load_is_the_share_of_time_between_two_looks() {
    let mut machine = Machine::new("load");
    machine.write("proc/stat", "cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0\ncpu7 50 0 50 350 50 0 0 0\nintr 5\n");
    let first = machine.read(LOAD);
    assert_eq!(value(&first, "amdgpu_busy_ratio cpu:0 all"), Err(FIRST));
    machine.write("proc/stat", "cpu 130 10 100 740 120 0 0 0\ncpu0 80 10 50 350 60 0 0 0\ncpu7 50 0 50 390 60 0 0 0\nintr 6\n");
    let second = machine.read(LOAD);
    assert_eq!(value(&second, "amdgpu_busy_ratio cpu:0 all"), Ok(0.4));
    assert_eq!(
        value(&second, "amdgpu_processor_busy_ratio cpu:0 0"),
        Ok(0.8)
    );
    assert_eq!(
        value(&second, "amdgpu_processor_busy_ratio cpu:0 7"),
        Ok(0.0)
    );
    assert_eq!(second.len(), 3);
}

const FIRST: Absence = crate::sources::FIRST_SAMPLE;

#[test]
fn counters_that_step_back_and_lines_that_are_none_are_absent_or_bounded() {
    let mut machine = Machine::new("back");
    machine.write(
        "proc/stat",
        "cpu 100 0 0 500 0 0 0 0\ncpu0 1 2 x 4\ncpu99999999 1 1 1 1\ncpu1\n",
    );
    machine.read(LOAD);
    // Idle time steps back, the sum goes on.
    machine.write(
        "proc/stat",
        "cpu 200 0 0 490 0 0 0 0\ncpu0 18446744073709551615 1 1 1\n",
    );
    let readings = machine.read(LOAD);
    assert_eq!(value(&readings, "amdgpu_busy_ratio cpu:0 all"), Ok(1.0));
    assert!(value(&readings, "amdgpu_processor_busy_ratio cpu:0 0").is_err());
    fs::remove_file(machine.root.join("proc/stat")).unwrap();
    let gone = machine.read(LOAD);
    let reason = value(&gone, "amdgpu_busy_ratio cpu:0 all")
        .unwrap_err()
        .to_string();
    assert_eq!(reason, "the driver has no file stat");
}

#[test]
fn a_desktop_tells_clocks_temperatures_energy_and_memory() {
    let mut machine = Machine::new("desktop");
    machine.write(
        "proc/meminfo",
        "MemTotal:       32768 kB\nMemFree: 1 kB\nMemAvailable:   8192 kB\n",
    );
    machine.write(
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
        "4200000\n",
    );
    machine.write(
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
        "400000\n",
    );
    machine.write(
        "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
        "1\n",
    );
    for (name, label, millidegrees) in [
        ("temp1", "Tctl", "61250"),
        ("temp3", "Tccd1", "48000"),
        ("temp4", "Tccd2", "-99999999"),
    ] {
        machine.write(&format!("sys/class/hwmon/hwmon3/{name}_label"), label);
        machine.write(
            &format!("sys/class/hwmon/hwmon3/{name}_input"),
            millidegrees,
        );
    }
    machine.write("sys/class/hwmon/hwmon3/name", "k10temp\n");
    machine.write("sys/class/hwmon/hwmon0/name", "nvme\n");
    machine.write("sys/class/hwmon/hwmon0/temp1_input", "30000\n");
    machine.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    machine.write("sys/class/powercap/intel-rapl:0/energy_uj", "900000000\n");
    machine.write(
        "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
        "1000000000\n",
    );
    machine.write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
    machine.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "5\n");
    let first = machine.read(CONDITION);
    assert_eq!(
        value(&first, "amdgpu_memory_used_bytes cpu:0"),
        Ok(24576.0 * 1024.0)
    );
    assert_eq!(
        value(&first, "amdgpu_memory_total_bytes cpu:0"),
        Ok(32768.0 * 1024.0)
    );
    assert_eq!(
        value(&first, "amdgpu_processor_clock_hertz cpu:0 0"),
        Ok(4.2e9)
    );
    assert_eq!(value(&first, "amdgpu_clock_hertz cpu:0 core"), Ok(2.3e9));
    assert_eq!(
        value(&first, "amdgpu_temperature_celsius cpu:0 package"),
        Ok(61.25)
    );
    assert_eq!(
        value(&first, "amdgpu_temperature_celsius cpu:0 die_1"),
        Ok(48.0)
    );
    assert!(value(&first, "amdgpu_temperature_celsius cpu:0 die_2").is_err());
    assert_eq!(value(&first, "amdgpu_energy_joules_total cpu:0"), Ok(0.0));
    assert_eq!(
        value(&first, "amdgpu_power_watts cpu:0 package"),
        Err(FIRST)
    );

    // The counter starts again at its range: 200 J in two seconds.
    machine.clock.advance_ns(2_000_000_000);
    machine.write("sys/class/powercap/intel-rapl:0/energy_uj", "100000000\n");
    let second = machine.read(CONDITION);
    assert_eq!(
        value(&second, "amdgpu_energy_joules_total cpu:0"),
        Ok(200.0)
    );
    assert_eq!(
        value(&second, "amdgpu_power_watts cpu:0 package"),
        Ok(100.0)
    );
}

#[test]
fn sensors_of_two_sockets_have_names_of_their_own() {
    let mut machine = Machine::new("sockets");
    for socket in 0..2 {
        let folder = format!("sys/class/hwmon/hwmon{socket}");
        machine.write(&format!("{folder}/name"), "coretemp");
        machine.write(
            &format!("{folder}/temp1_label"),
            &format!("Package id {socket}"),
        );
        machine.write(&format!("{folder}/temp1_input"), "50000");
        machine.write(&format!("{folder}/temp2_label"), "Core 0");
        machine.write(&format!("{folder}/temp2_input"), "51000");
    }
    let readings = machine.read(CONDITION);
    for name in ["package", "package_1", "core_0", "core_0#1"] {
        assert!(
            value(
                &readings,
                &format!("amdgpu_temperature_celsius cpu:0 {name}")
            )
            .is_ok()
        );
    }
}

#[test]
fn a_machine_that_tells_nothing_has_reasons_for_everything() {
    let mut machine = Machine::new("nothing");
    for group in [LOAD, CONDITION] {
        for (name, value) in machine.read(group) {
            let reason = value.expect_err(&name);
            assert!(reason.to_string().len() > 10, "{name}: {reason}");
        }
    }
}

#[test]
fn a_virtual_machine_has_clocks_from_cpuinfo() {
    let mut machine = Machine::new("virtual");
    machine.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.150\n\nprocessor\t: 1\ncpu MHz\t\t: 0.000\n");
    machine.write("proc/sys/kernel/osrelease", "6.18.0\n");
    let readings = machine.read(CONDITION);
    assert_eq!(
        value(&readings, "amdgpu_processor_clock_hertz cpu:0 0"),
        Ok(2_596_150_000.0)
    );
    assert!(value(&readings, "amdgpu_processor_clock_hertz cpu:0 1").is_err());
    assert_eq!(
        value(&readings, "amdgpu_clock_hertz cpu:0 core"),
        Ok(2_596_150_000.0)
    );
    let identity = machine.read(IDENTITY);
    assert!(
        identity[0].0.contains("AMD EPYC") && identity[0].0.ends_with("Linux 6.18.0"),
        "{identity:?}"
    );
}
