//! A card's hwmon folder: temperatures, power, fan, voltages, clocks.
//!
//! Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, "hwmon", and `Documentation/hwmon/sysfs-interface.rst` of Linux.

use std::path::{Path, PathBuf};

use super::super::{Absence, Value, tree, within};

/// Sensors of one kind on the card with the most.
const MAX_SENSORS: usize = 32;
/// No card runs colder, hotter, at more watts or faster.
const CELSIUS: (f64, f64) = (-60.0, 250.0);
const MAX_WATTS: f64 = 5000.0;
const MAX_HERTZ: f64 = 1e11;
const MAX_VOLTS: f64 = 60.0;

/// A file with the name of what it measures.
struct Sensor {
    name: String,
    path: PathBuf,
}

/// Which files there are; looked up once, while the card is awake.
pub(super) struct Hwmon {
    folder: PathBuf,
    temperatures: Vec<Sensor>,
    clocks: Vec<Sensor>,
    voltages: Vec<Sensor>,
    power: Option<PathBuf>,
    power_limit: Option<PathBuf>,
    fan: Option<PathBuf>,
    fan_duty: Option<PathBuf>,
}

impl Hwmon {
    /// `device` is the folder of the card's PCI device.
    pub(super) fn find(device: &Path) -> Option<Self> {
        let parent = device.join("hwmon");
        let folder = tree::names(&parent)
            .into_iter()
            .map(|name| parent.join(name))
            .find(|folder| tree::text(&folder.join("name")).is_ok_and(|name| name == "amdgpu"))?;
        let files = tree::names(&folder);
        let existing = |names: &[&str]| {
            let name = names
                .iter()
                .find(|name| files.iter().any(|file| file == *name))?;
            Some(folder.join(name))
        };
        let sensors = |kind: &str, name: fn(&str) -> String| -> Vec<Sensor> {
            files
                .iter()
                .filter(|file| file.starts_with(kind))
                .filter_map(|file| file.strip_suffix("_input"))
                .take(MAX_SENSORS)
                .map(|sensor| {
                    let label = tree::text(&folder.join(format!("{sensor}_label")));
                    Sensor {
                        name: name(label.as_deref().unwrap_or(sensor)),
                        path: folder.join(format!("{sensor}_input")),
                    }
                })
                .collect()
        };
        Some(Self {
            temperatures: sensors("temp", temperature_name),
            clocks: sensors("freq", clock_name),
            voltages: sensors("in", rail_name),
            // What the card averages itself, or what newer ones tell instead: the power of the moment.
            power: existing(&["power1_average", "power1_input"]),
            power_limit: existing(&["power1_cap"]),
            fan: existing(&["fan1_input"]),
            fan_duty: existing(&["pwm1"]),
            folder,
        })
    }

    pub(super) fn watts(&self) -> Value {
        let path = self
            .power
            .as_ref()
            .ok_or(Absence::new("the card tells no power"))?;
        within(tree::scaled(path, 1e6)?, 0.0, MAX_WATTS, "the power sensor")
    }

    pub(super) fn limit_watts(&self) -> Value {
        let path = self
            .power_limit
            .as_ref()
            .ok_or(Absence::new("the card has no power limit"))?;
        within(tree::scaled(path, 1e6)?, 0.0, MAX_WATTS, "the power limit")
    }

    pub(super) fn fan_rpm(&self) -> Value {
        let path = self.fan.as_ref().ok_or(NO_FAN)?;
        within(tree::scaled(path, 1.0)?, 0.0, 1e5, "the fan")
    }

    /// Share of the fan's full speed that is asked of it.
    pub(super) fn fan_ratio(&self) -> Value {
        let path = self.fan_duty.as_ref().ok_or(NO_FAN)?;
        let full = tree::scaled(&self.folder.join("pwm1_max"), 1.0).unwrap_or(255.0);
        within(
            tree::scaled(path, full.max(1.0))?,
            0.0,
            1.0,
            "the fan's duty",
        )
    }

    pub(super) fn clocks(&self) -> impl Iterator<Item = (&str, Value)> {
        values(&self.clocks, 1.0, (0.0, MAX_HERTZ))
    }

    pub(super) fn temperatures(&self) -> impl Iterator<Item = (&str, Value)> {
        values(&self.temperatures, 1000.0, CELSIUS)
    }

    pub(super) fn voltages(&self) -> impl Iterator<Item = (&str, Value)> {
        values(&self.voltages, 1000.0, (0.0, MAX_VOLTS))
    }

    pub(super) fn has_temperature(&self, name: &str) -> bool {
        self.temperatures.iter().any(|sensor| sensor.name == name)
    }

    pub(super) fn has_clock(&self, name: &str) -> bool {
        self.clocks.iter().any(|sensor| sensor.name == name)
    }

    pub(super) fn has_voltage(&self, name: &str) -> bool {
        self.voltages.iter().any(|sensor| sensor.name == name)
    }

    pub(super) fn has_power(&self) -> bool {
        self.power.is_some()
    }

    pub(super) fn has_fan(&self) -> bool {
        self.fan.is_some()
    }
}

const NO_FAN: Absence = Absence::new("the card has no fan of its own");

fn values(
    sensors: &[Sensor],
    scale: f64,
    (low, high): (f64, f64),
) -> impl Iterator<Item = (&str, Value)> {
    sensors.iter().map(move |sensor| {
        let value = tree::scaled(&sensor.path, scale);
        (
            sensor.name.as_str(),
            value.and_then(|value| within(value, low, high, "the sensor")),
        )
    })
}

fn temperature_name(label: &str) -> String {
    match label {
        "mem" => "memory".to_owned(),
        // Cards of before 2019 have one sensor without a label.
        "temp1" => "edge".to_owned(),
        _ => label.to_ascii_lowercase(),
    }
}

fn clock_name(label: &str) -> String {
    match label {
        "sclk" | "freq1" => "graphics".to_owned(),
        "mclk" | "freq2" => "memory".to_owned(),
        _ => label.to_ascii_lowercase(),
    }
}

fn rail_name(label: &str) -> String {
    match label {
        "vddgfx" | "in0" => "graphics".to_owned(),
        "vddnb" | "in1" => "northbridge".to_owned(),
        _ => label.to_ascii_lowercase(),
    }
}
