//! The processor, `cpu:0`: load of each logical processor, clocks, temperatures, energy, memory of the machine.
//!
//! Sources: `Documentation/filesystems/proc.rst`, `admin-guide/pm/cpufreq.rst`, `hwmon/sysfs-interface.rst` and `power/powercap/powercap.rst`
//! of the Linux kernel.

mod clock;
mod energy;
mod load;
mod temperature;

use std::time::Duration;

use amdgpu_abi::MetricId;

use super::{Absence, Sink, Source, Tree, tree};
use energy::Energy;
use load::Load;
use temperature::Temperatures;

/// The device's name in labels.
const DEVICE: &str = "cpu:0";

const LOAD: usize = 0;
const CONDITION: usize = 1;
const IDENTITY: usize = 2;
/// The kernel counts time in hundredths of a second: faster than ten times a second loads would be steps.
const PERIODS: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(60),
];

/// See the module.
pub struct CpuSource {
    tree: Tree,
    load: Load,
    temperatures: Option<Temperatures>,
    energy: Option<Energy>,
    buf: Vec<u8>,
}

impl CpuSource {
    #[must_use]
    pub fn new(tree: Tree) -> Self {
        Self {
            tree,
            load: Load::default(),
            temperatures: None,
            energy: None,
            buf: Vec::new(),
        }
    }

    fn read_memory(&mut self, sink: &mut Sink<'_>) {
        let read = tree::bytes_into(&self.tree.join("proc/meminfo"), &mut self.buf);
        let field = |name: &str| -> Result<f64, Absence> {
            read.clone()?;
            let text = String::from_utf8_lossy(&self.buf);
            let kibibytes = text.lines().find_map(|line| {
                let rest = line.strip_prefix(name)?.strip_prefix(':')?;
                rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
            });
            kibibytes
                .map(|kibibytes| kibibytes as f64 * 1024.0)
                .ok_or_else(|| format!("the system does not tell {name}").into())
        };
        let total = field("MemTotal");
        let used = field("MemAvailable")
            .and_then(|available| total.clone().map(|total| (total - available).max(0.0)));
        sink.put(MetricId::MemoryUsedBytes, &[DEVICE], used);
        sink.put(MetricId::MemoryTotalBytes, &[DEVICE], total);
    }

    fn read_identity(&self, sink: &mut Sink<'_>) {
        let described = tree::text(&self.tree.join("proc/cpuinfo"));
        let name = described.as_deref().ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim())
        });
        let kernel = tree::text(&self.tree.join("proc/sys/kernel/osrelease")).unwrap_or_default();
        let driver = format!("Linux {kernel}");
        let labels = [
            DEVICE,
            "",
            name.unwrap_or("processor"),
            std::env::consts::ARCH,
            driver.trim(),
        ];
        sink.put(MetricId::DeviceInfo, &labels, Ok(1.0));
    }
}

impl Source for CpuSource {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn periods(&self) -> &'static [Duration] {
        &PERIODS
    }

    fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        match group {
            LOAD => self.load.read(&self.tree, &mut self.buf, sink),
            CONDITION => {
                clock::read(&self.tree, &mut self.buf, sink);
                self.read_memory(sink);
                // Folders are searched once: sensors of processors do not come and go.
                self.temperatures
                    .get_or_insert_with(|| Temperatures::find(&self.tree))
                    .read(sink);
                self.energy
                    .get_or_insert_with(|| Energy::find(&self.tree))
                    .read(sink);
            }
            IDENTITY => self.read_identity(sink),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
