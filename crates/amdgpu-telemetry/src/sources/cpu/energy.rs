//! Energy counters of the processor's packages (RAPL), and the power they make.

use std::path::PathBuf;

use amdgpu_abi::MetricId;

use super::DEVICE;
use crate::sources::{Absence, FIRST_SAMPLE, Sink, Tree, Value, tree, within};

const FOLDER: &str = "sys/class/powercap";
/// More watts than any machine of several packages draws.
const MAX_WATTS: f64 = 20_000.0;

struct Package {
    counter: PathBuf,
    /// The counter starts again after this many microjoules.
    range: Option<u64>,
    last: Option<u64>,
}

pub(super) struct Energy {
    packages: Vec<Package>,
    joules: f64,
    /// Time and energy of the last look.
    last: Option<(u64, f64)>,
}

impl Energy {
    pub(super) fn find(tree: &Tree) -> Self {
        // Zones of packages are `intel-rapl:N`, on AMD's processors too; parts of them have a second number.
        let is_package = |name: &String| {
            name.strip_prefix("intel-rapl:")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let packages = tree
            .list(FOLDER)
            .into_iter()
            .filter(is_package)
            .map(|name| tree.join(FOLDER).join(name))
            .filter(|zone| {
                tree::text(&zone.join("name")).is_ok_and(|name| name.starts_with("package"))
            })
            .map(|zone| Package {
                counter: zone.join("energy_uj"),
                range: tree::number(&zone.join("max_energy_range_uj")).ok(),
                last: None,
            })
            .collect();
        Self {
            packages,
            joules: 0.0,
            last: None,
        }
    }

    pub(super) fn read(&mut self, sink: &mut Sink<'_>) {
        let energy = self.add_up();
        let now_ns = sink.now_ns();
        let power = energy.clone().and_then(|joules| {
            let (last_ns, last_joules) = self.last.replace((now_ns, joules)).ok_or(FIRST_SAMPLE)?;
            let seconds = now_ns.saturating_sub(last_ns) as f64 * 1e-9;
            if seconds <= 0.0 {
                return Err(FIRST_SAMPLE);
            }
            within(
                (joules - last_joules) / seconds,
                0.0,
                MAX_WATTS,
                "the power",
            )
        });
        sink.put(MetricId::EnergyJoulesTotal, &[DEVICE], energy);
        sink.put(MetricId::PowerWatts, &[DEVICE, "package"], power);
    }

    /// Joules since the first look.
    fn add_up(&mut self) -> Value {
        if self.packages.is_empty() {
            return Err(Absence::new(
                "no powercap zone of a package; virtual machines have none",
            ));
        }
        for package in &mut self.packages {
            let now: u64 = tree::number(&package.counter)?;
            if let Some(last) = package.last.replace(now) {
                let used = if now >= last {
                    now - last
                } else {
                    package
                        .range
                        .map_or(0, |range| range.saturating_sub(last) + now)
                };
                self.joules += used as f64 * 1e-6;
            }
        }
        Ok(self.joules)
    }
}
