//! What a metric's name says of its unit.

const UNITS: [&str; 9] = [
    "seconds", "bytes", "ratio", "celsius", "watts", "joules", "hertz", "rpm", "volts",
];
/// Flows have their unit over a second.
const PER_SECOND: &str = "bytes_per_second";

/// The unit in which a metric is measured, as its name ends; `None` for plain numbers. `_total` comes after the unit.
#[must_use]
pub fn unit_of(metric: &str) -> Option<&'static str> {
    let name = metric.strip_suffix("_total").unwrap_or(metric);
    if name.ends_with(PER_SECOND) {
        return Some(PER_SECOND);
    }
    let last = name.rsplit('_').next()?;
    UNITS.into_iter().find(|unit| *unit == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_names() {
        assert_eq!(unit_of("amdgpu_power_watts"), Some("watts"));
        assert_eq!(unit_of("amdgpu_energy_joules_total"), Some("joules"));
        assert_eq!(
            unit_of("amdgpu_pcie_throughput_bytes_per_second"),
            Some("bytes_per_second")
        );
        assert_eq!(unit_of("amdgpu_queue_depth"), None);
        assert_eq!(unit_of("amdgpu_spikes_total"), None);
        assert_eq!(unit_of(""), None);
    }
}
