//! Temperatures of the hwmon drivers of processors.

use std::path::PathBuf;

use amdgpu_abi::MetricId;

use super::DEVICE;
use crate::sources::{Absence, Sink, Tree, tree, within};

/// hwmon drivers whose sensors sit in a processor.
const DRIVERS: [&str; 4] = ["k10temp", "zenpower", "coretemp", "cpu_thermal"];
/// Sensors of the largest machines: a core each.
const MAX_SENSORS: usize = 1024;

pub(super) struct Temperatures(Vec<(String, PathBuf)>);

impl Temperatures {
    pub(super) fn find(tree: &Tree) -> Self {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for entry in tree.list("sys/class/hwmon") {
            let folder = tree.join("sys/class/hwmon").join(entry);
            let driver = tree::text(&folder.join("name")).unwrap_or_default();
            if !DRIVERS.contains(&driver.as_str()) {
                continue;
            }
            let sensors: Vec<(String, PathBuf)> = tree::names(&folder)
                .iter()
                .filter_map(|name| name.strip_suffix("_input"))
                .filter(|name| name.starts_with("temp"))
                .take(MAX_SENSORS)
                .map(|name| {
                    let label = tree::text(&folder.join(format!("{name}_label")));
                    (
                        label.unwrap_or_default(),
                        folder.join(format!("{name}_input")),
                    )
                })
                .collect();
            let has_die = sensors.iter().any(|(label, _)| label == "Tdie");
            for (label, path) in sensors {
                let name = sensor_name(&label, has_die);
                let same = found
                    .iter()
                    .filter(|(known, _)| same_name(known, &name))
                    .count();
                // The second socket's sensors have the names of the first one's.
                found.push((
                    if same == 0 {
                        name
                    } else {
                        format!("{name}#{same}")
                    },
                    path,
                ));
            }
        }
        found.truncate(MAX_SENSORS);
        Self(found)
    }

    pub(super) fn read(&self, sink: &mut Sink<'_>) {
        if self.0.is_empty() {
            let reason =
                Absence::new("no k10temp, zenpower or coretemp sensor; virtual machines have none");
            sink.put(
                MetricId::TemperatureCelsius,
                &[DEVICE, "package"],
                Err(reason),
            );
        }
        for (name, path) in &self.0 {
            let value = tree::scaled(path, 1000.0)
                .and_then(|celsius| within(celsius, -60.0, 200.0, "the sensor"));
            sink.put(MetricId::TemperatureCelsius, &[DEVICE, name], value);
        }
    }
}

fn same_name(known: &str, name: &str) -> bool {
    known.split('#').next() == Some(name)
}

/// `Tctl` carries an offset on some processors; where `Tdie` is there too, that is the temperature.
fn sensor_name(label: &str, has_die: bool) -> String {
    match label {
        "" | "Tdie" | "Package id 0" => "package".to_owned(),
        "Tctl" if !has_die => "package".to_owned(),
        "Tctl" => "control".to_owned(),
        _ => {
            if let Some(number) = label.strip_prefix("Tccd") {
                return format!("die_{number}");
            }
            let words = label.to_ascii_lowercase();
            words.replace("package id ", "package_").replace(' ', "_")
        }
    }
}
