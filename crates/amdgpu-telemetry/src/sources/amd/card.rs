//! One AMD card: its folder, and what is read from it.

use std::path::PathBuf;

use amdgpu_abi::MetricId;

use super::super::names::Identity;
use super::super::power_state::{ASLEEP, PowerState, RESTING, SleepRule, State, is_asleep};
use super::super::reporter::Reporter;
use super::super::{Absence, Sink, Tree, Value, tree, within};
use super::decoded_metrics::{DecodedMetrics, OldEnergy};
use super::hwmon::Hwmon;
use super::{ERRORS, FAST, SLOW};

/// PCI devices whose `v1_3` table counts energy in the unit of later ones: AMD's `rocm_smi.h` states 15.3 microjoules for the MI200 series.
const ENERGY_IN_LATER_UNITS: [u32; 4] = [0x7408, 0x740c, 0x740f, 0x7410];
/// More bytes than any memory of a card.
const MAX_BYTES: f64 = 1e15;

/// What a readable card always has, by group; named before it was read, so that a sleeping card is seen to be one.
const EXPECTED: [&[(MetricId, &[&str])]; 3] = [
    &[
        (MetricId::BusyRatio, &["all"]),
        (MetricId::PowerWatts, &["package"]),
        (MetricId::ClockHertz, &["graphics"]),
    ],
    &[
        (MetricId::MemoryUsedBytes, &[]),
        (MetricId::MemoryTotalBytes, &[]),
        (MetricId::TemperatureCelsius, &["edge"]),
    ],
    &[],
];

pub(super) struct Card {
    folder: PathBuf,
    pub(super) identity: Identity,
    /// PCI number of the model.
    model: u32,
    architecture: String,
    /// Energies of unknown unit are another source's.
    pub(super) leaves_energy: bool,
    power: PowerState,
    reporters: Vec<Reporter>,
    power_reporter: Reporter,
    hwmon: Option<Hwmon>,
    is_searched: bool,
    decoded: DecodedMetrics,
}

impl Card {
    /// The card of a node `cardN`; none if it is not driven by `amdgpu`. Nothing here wakes it.
    pub(super) fn find(tree: &Tree, node: &str, nodes: &[String]) -> Option<Self> {
        let base = tree.join("sys/class/drm");
        let folder = base.join(node).join("device");
        let events = tree::text(&folder.join("uevent")).ok()?;
        let event = |name: &str| {
            events
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        if event("DRIVER") != Some("amdgpu") {
            return None;
        }
        let address = event("PCI_SLOT_NAME")?.to_ascii_lowercase();
        let model =
            event("PCI_ID").and_then(|id| u32::from_str_radix(id.split_once(':')?.1, 16).ok());
        let prefix = format!("{node}-");
        let connectors = nodes
            .iter()
            .filter(|name| name.starts_with(&prefix))
            .map(|name| base.join(name).join("status"))
            .collect();
        let unique = || tree::text(&folder.join("unique_id")).ok();
        Some(Self {
            power: PowerState::new(folder.clone(), SleepRule::Autosuspend { connectors }),
            identity: Identity {
                address,
                unique: if is_asleep(&folder) { None } else { unique() }
                    .map(|id| format!("GPU-{id}")),
            },
            model: model.unwrap_or(0),
            architecture: String::new(),
            leaves_energy: false,
            folder,
            reporters: Vec::new(),
            power_reporter: Reporter::new("", &[]),
            hwmon: None,
            is_searched: false,
            decoded: DecodedMetrics::default(),
        })
    }

    /// What programs call the card.
    pub(super) fn set_name(&mut self, name: &str, architecture: &str) {
        architecture.clone_into(&mut self.architecture);
        self.reporters = EXPECTED
            .iter()
            .map(|expected| Reporter::new(name, expected))
            .collect();
        self.power_reporter = Reporter::new(name, &[]);
    }

    pub(super) fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        let state = self.power.state(sink.now_ns());
        if group == FAST {
            let asleep = if state == State::Asleep { 1.0 } else { 0.0 };
            self.power_reporter
                .put(sink, MetricId::DeviceAsleep, &[], Ok(asleep));
        }
        let reason = match state {
            State::Awake => None,
            State::Asleep => Some(ASLEEP),
            State::Resting => Some(RESTING),
        };
        if let Some(reason) = reason {
            self.reporters[group].put_absent(sink, &reason);
            self.decoded.pause();
            return;
        }
        match group {
            FAST => self.read_fast(sink),
            SLOW => self.read_slow(sink),
            ERRORS => self.read_errors(sink),
            _ => {}
        }
    }

    fn file(&self, name: &str, scale: f64) -> Value {
        tree::scaled_unsigned(&self.folder.join(name), scale)
    }

    fn share(&self, name: &str) -> Value {
        within(self.file(name, 100.0)?, 0.0, 1.0, name)
    }

    /// Folders are searched when the card is awake for the first time.
    fn find_hwmon(&mut self) {
        if !self.is_searched {
            self.is_searched = true;
            self.hwmon = Hwmon::find(&self.folder);
        }
    }

    fn old_energy(&self) -> OldEnergy {
        if ENERGY_IN_LATER_UNITS.contains(&self.model) {
            OldEnergy::Known
        } else if self.leaves_energy {
            OldEnergy::AskedElsewhere
        } else {
            OldEnergy::Unknown
        }
    }

    fn read_fast(&mut self, sink: &mut Sink<'_>) {
        self.find_hwmon();
        let (table, old_energy) = (self.folder.join("gpu_metrics"), self.old_energy());
        let (busy, memory_busy) = (
            self.share("gpu_busy_percent"),
            self.share("mem_busy_percent"),
        );
        let (reporter, hwmon) = (&mut self.reporters[FAST], self.hwmon.as_ref());
        let fallback = self.decoded.read(&table, hwmon, old_energy, reporter, sink);
        let busy = busy.or_else(|reason| fallback.busy.ok_or(reason));
        let memory_busy = memory_busy.or_else(|reason| fallback.memory_busy.ok_or(reason));
        let watts = match hwmon {
            Some(hwmon) if hwmon.has_power() => hwmon.watts(),
            _ => fallback
                .watts
                .ok_or(Absence::new("the card tells no power")),
        };
        let now_ns = sink.now_ns();
        self.power
            .saw(busy.as_ref().is_ok_and(|busy| *busy > 0.0), now_ns);
        reporter.put(sink, MetricId::BusyRatio, &["all"], busy);
        reporter.put(sink, MetricId::MemoryControllerBusyRatio, &[], memory_busy);
        reporter.put(sink, MetricId::PowerWatts, &["package"], watts);
        for (domain, hertz) in hwmon.into_iter().flat_map(Hwmon::clocks) {
            reporter.put(sink, MetricId::ClockHertz, &[domain], hertz);
        }
    }

    fn read_slow(&mut self, sink: &mut Sink<'_>) {
        let bytes = |name: &str| within(self.file(name, 1.0)?, 0.0, MAX_BYTES, name);
        let memory = [
            (MetricId::MemoryUsedBytes, bytes("mem_info_vram_used")),
            (MetricId::MemoryTotalBytes, bytes("mem_info_vram_total")),
            (MetricId::SharedMemoryUsedBytes, bytes("mem_info_gtt_used")),
            (
                MetricId::SharedMemoryTotalBytes,
                bytes("mem_info_gtt_total"),
            ),
        ];
        let replays = self.file("pcie_replay_count", 1.0);
        self.find_hwmon();
        let (reporter, hwmon) = (&mut self.reporters[SLOW], self.hwmon.as_ref());
        for (metric, value) in memory {
            reporter.put(sink, metric, &[], value);
        }
        // Accelerators tell it in their table.
        if replays.is_ok() {
            reporter.put(sink, MetricId::PcieReplaysTotal, &[], replays);
        }
        let Some(hwmon) = hwmon else {
            let reason = Absence::new("the card has no hwmon folder");
            reporter.put(sink, MetricId::TemperatureCelsius, &["edge"], Err(reason));
            return;
        };
        for (sensor, celsius) in hwmon.temperatures() {
            reporter.put(sink, MetricId::TemperatureCelsius, &[sensor], celsius);
        }
        for (rail, volts) in hwmon.voltages() {
            reporter.put(sink, MetricId::VoltageVolts, &[rail], volts);
        }
        reporter.put(
            sink,
            MetricId::PowerLimitWatts,
            &["package"],
            hwmon.limit_watts(),
        );
        if hwmon.has_fan() {
            reporter.put(sink, MetricId::FanSpeedRpm, &[], hwmon.fan_rpm());
        }
        reporter.put(sink, MetricId::FanSpeedRatio, &[], hwmon.fan_ratio());
    }

    fn read_errors(&mut self, sink: &mut Sink<'_>) {
        let counts = super::ras::count(&self.folder.join("ras"));
        let info = self.describe();
        let reporter = &mut self.reporters[ERRORS];
        for (severity, value) in counts {
            reporter.put(sink, MetricId::EccErrorsTotal, &[severity], value);
        }
        let labels: Vec<&str> = info.iter().map(String::as_str).collect();
        reporter.put(sink, MetricId::DeviceInfo, &labels, Ok(1.0));
    }

    /// Unique name, product, architecture and driver.
    fn describe(&self) -> [String; 4] {
        let product = tree::text(&self.folder.join("product_name")).unwrap_or_default();
        [
            self.identity.unique.clone().unwrap_or_default(),
            if product.is_empty() {
                format!("AMD GPU {:04x}", self.model)
            } else {
                product
            },
            self.architecture.clone(),
            "amdgpu".to_owned(),
        ]
    }

    /// Whether the table counts energy in a unit that no document tells.
    pub(super) fn has_unknown_energy(&mut self) -> bool {
        let table = self.folder.join("gpu_metrics");
        self.old_energy() != OldEnergy::Known && self.decoded.has_old_energy(&table)
    }

    /// Whether it can be read without waking it or keeping it awake.
    pub(super) fn may_be_read_slowly(&self) -> bool {
        let may_sleep =
            tree::text(&self.folder.join("power/control")).is_ok_and(|control| control == "auto");
        !may_sleep && !is_asleep(&self.folder)
    }

    /// Messages received and sent in the second that this read takes, in bytes of the largest message: more than it can have been.
    pub(super) fn pcie_bytes_per_second(&self) -> Result<[f64; 2], Absence> {
        let text = tree::text(&self.folder.join("pcie_bw"))?;
        let numbers: Vec<u64> = text
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        match numbers[..] {
            [received, sent, bytes] => {
                Ok([received, sent].map(|count| count as f64 * bytes as f64))
            }
            _ => Err(format!("pcie_bw holds no three numbers but `{text}`").into()),
        }
    }

    /// The name in labels.
    pub(super) fn reporter(&mut self) -> &mut Reporter {
        &mut self.power_reporter
    }
}
