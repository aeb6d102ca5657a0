//! Clock frequencies: of cpufreq where a driver scales them, else what `/proc/cpuinfo` says.

use amdgpu_abi::MetricId;

use super::DEVICE;
use crate::sources::{Absence, Sink, Tree, Value, tree};

/// No processor's clock is outside of this, in hertz.
const PLAUSIBLE_HERTZ: std::ops::RangeInclusive<f64> = 1e6..=2e10;

pub(super) fn read(tree: &Tree, buf: &mut Vec<u8>, sink: &mut Sink<'_>) {
    let mut clocks = scaled(tree);
    if clocks.is_empty() {
        clocks = listed(tree, buf);
    }
    for (processor, value) in &clocks {
        sink.put(
            MetricId::ProcessorClockHertz,
            &[DEVICE, processor],
            value.clone(),
        );
    }
    let known: Vec<f64> = clocks
        .iter()
        .filter_map(|(_, value)| value.as_ref().ok().copied())
        .collect();
    let mean = if known.is_empty() {
        Err(Absence::new(
            "neither cpufreq nor /proc/cpuinfo tells a clock",
        ))
    } else {
        Ok(known.iter().sum::<f64>() / known.len() as f64)
    };
    sink.put(MetricId::ClockHertz, &[DEVICE, "core"], mean);
}

/// `scaling_cur_freq` of each processor, in kilohertz.
fn scaled(tree: &Tree) -> Vec<(String, Value)> {
    let folder = "sys/devices/system/cpu";
    let processor = |name: String| {
        let number = name.strip_prefix("cpu")?;
        number.parse::<u32>().ok()?;
        let path = tree
            .join(folder)
            .join(&name)
            .join("cpufreq/scaling_cur_freq");
        let value = path
            .exists()
            .then(|| tree::scaled(&path, 1e-3).and_then(plausible))?;
        Some((number.to_owned(), value))
    };
    tree.list(folder)
        .into_iter()
        .filter_map(processor)
        .collect()
}

/// The lines `processor : N` and `cpu MHz : 2596.150`.
fn listed(tree: &Tree, buf: &mut Vec<u8>) -> Vec<(String, Value)> {
    if tree::bytes_into(&tree.join("proc/cpuinfo"), buf).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(buf);
    let mut clocks = Vec::new();
    let mut processor = None;
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match key.trim_end() {
            "processor" => processor = value.trim().parse::<u32>().ok(),
            "cpu MHz" => {
                if let (Some(number), Ok(megahertz)) = (processor, value.trim().parse::<f64>()) {
                    clocks.push((number.to_string(), plausible(megahertz * 1e6)));
                }
            }
            _ => {}
        }
    }
    clocks
}

fn plausible(hertz: f64) -> Value {
    if PLAUSIBLE_HERTZ.contains(&hertz) {
        Ok(hertz)
    } else {
        Err(format!("the clock reads {hertz} Hz, which cannot be").into())
    }
}
