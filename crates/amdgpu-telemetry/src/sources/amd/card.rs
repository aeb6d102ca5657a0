//! One AMD card: its folder, and what is read from it.

use std::path::PathBuf;

use amdgpu_abi::MetricId;

use super::super::names::Identity;
use super::super::power_state::{ASLEEP, PowerState, RESTING, SleepRule, State, is_asleep};
use super::super::reporter::Reporter;
use super::super::throttle::{ThrottleClock, bit};
use super::super::{Absence, Sink, Tree, Value, tree, within};
use super::hwmon::Hwmon;
use super::table::{Quantity, decode};
use super::{ERRORS, FAST, SLOW};

/// PCI devices whose `v1_3` table counts energy in the unit of later ones: AMD's `rocm_smi.h` states 15.3 microjoules for the MI200 series.
const ENERGY_IN_LATER_UNITS: [u32; 4] = [0x7408, 0x740c, 0x740f, 0x7410];
const ENERGY_UNIT: f64 = 1.0 / 65_536.0;
/// More bytes than any memory of a card.
const MAX_BYTES: f64 = 1e15;

const UNKNOWN_ENERGY: Absence =
    Absence::new("no document tells the unit in which this card counts energy");

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
    hwmon: Option<Option<Hwmon>>,
    table: Vec<u8>,
    throttle: ThrottleClock,
    /// Accumulated steps of the table at the last look: all of them, and those of `power`, `thermal` and `external`.
    steps: Option<Steps>,
    throttled: [f64; STEP_REASONS.len()],
}

const STEP_REASONS: [&str; 3] = ["power", "thermal", "external"];

#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    time_ns: u64,
    all: f64,
    of_reason: [f64; STEP_REASONS.len()],
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
            table: Vec::new(),
            throttle: ThrottleClock::default(),
            steps: None,
            throttled: [0.0; STEP_REASONS.len()],
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
            // Nobody knows what happens meanwhile.
            self.steps = None;
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

    fn read_fast(&mut self, sink: &mut Sink<'_>) {
        let hwmon = self
            .hwmon
            .get_or_insert_with(|| Hwmon::find(&self.folder))
            .take();
        let mut fallback = Fallback::default();
        self.read_table(hwmon.as_ref(), &mut fallback, sink);
        let busy = self
            .share("gpu_busy_percent")
            .or_else(|reason| fallback.busy.ok_or(reason));
        let memory_busy = self
            .share("mem_busy_percent")
            .or_else(|reason| fallback.memory_busy.ok_or(reason));
        let watts = match &hwmon {
            Some(hwmon) if hwmon.has_power() => hwmon.watts(),
            _ => fallback
                .watts
                .ok_or(Absence::new("the card tells no power")),
        };
        let now_ns = sink.now_ns();
        self.power
            .saw(busy.as_ref().is_ok_and(|busy| *busy > 0.0), now_ns);
        let reporter = &mut self.reporters[FAST];
        reporter.put(sink, MetricId::BusyRatio, &["all"], busy);
        reporter.put(sink, MetricId::MemoryControllerBusyRatio, &[], memory_busy);
        reporter.put(sink, MetricId::PowerWatts, &["package"], watts);
        if let Some(hwmon) = &hwmon {
            for (domain, hertz) in hwmon.clocks() {
                reporter.put(sink, MetricId::ClockHertz, &[domain], hertz);
            }
        }
        self.hwmon = Some(hwmon);
    }

    /// What the table tells and no file does.
    fn read_table(&mut self, hwmon: Option<&Hwmon>, fallback: &mut Fallback, sink: &mut Sink<'_>) {
        let read = tree::bytes_into(&self.folder.join("gpu_metrics"), &mut self.table);
        let mut steps = Steps {
            time_ns: sink.now_ns(),
            ..Steps::default()
        };
        let mut has_steps = false;
        let reporter = &mut self.reporters[FAST];
        let leaves_energy = self.leaves_energy;
        let later_energy = ENERGY_IN_LATER_UNITS.contains(&self.model);
        let lacks =
            |has: fn(&Hwmon, &str) -> bool, name: &str| hwmon.is_none_or(|hwmon| !has(hwmon, name));
        let throttle = &mut self.throttle;
        let mut tells_energy = false;
        let show = |quantity: Quantity, number: f64| match quantity {
            Quantity::Busy => fallback.busy = share(number),
            Quantity::MemoryBusy => fallback.memory_busy = share(number),
            Quantity::Watts => fallback.watts = Some(number),
            Quantity::Engine(engine) => {
                let value = within(number, 0.0, 1.0, "the engine's load");
                reporter.put(sink, MetricId::EngineBusyRatio, &[engine], value);
            }
            Quantity::Partition(partition) => {
                let value = within(number, 0.0, 1.0, "the partition's load");
                reporter.put(
                    sink,
                    MetricId::PartitionBusyRatio,
                    &[&partition.to_string()],
                    value,
                );
            }
            Quantity::Celsius(sensor) if lacks(Hwmon::has_temperature, sensor) && number > 0.0 => {
                let value = within(number, 0.0, 250.0, "the sensor");
                reporter.put(sink, MetricId::TemperatureCelsius, &[sensor], value);
            }
            Quantity::Hertz(domain) if lacks(Hwmon::has_clock, domain) => {
                let value = within(number, 0.0, 1e11, "the clock");
                reporter.put(sink, MetricId::ClockHertz, &[domain], value);
            }
            Quantity::Volts(rail) if lacks(Hwmon::has_voltage, rail) && number > 0.0 => {
                reporter.put(sink, MetricId::VoltageVolts, &[rail], Ok(number));
            }
            Quantity::FanRpm if hwmon.is_none_or(|hwmon| !hwmon.has_fan()) => {
                reporter.put(sink, MetricId::FanSpeedRpm, &[], Ok(number));
            }
            Quantity::Joules => {
                tells_energy = true;
                reporter.put(sink, MetricId::EnergyJoulesTotal, &[], Ok(number));
            }
            Quantity::UnknownEnergy => {
                tells_energy = true;
                if later_energy {
                    reporter.put(
                        sink,
                        MetricId::EnergyJoulesTotal,
                        &[],
                        Ok(number * ENERGY_UNIT),
                    );
                } else if !leaves_energy {
                    reporter.put(sink, MetricId::EnergyJoulesTotal, &[], Err(UNKNOWN_ENERGY));
                }
            }
            Quantity::ThrottleBits => {
                throttle.look(sink.now_ns(), throttle_reasons(number as u64));
                for (reason, seconds) in throttle
                    .seconds()
                    .filter(|(reason, _)| is_throttler(reason))
                {
                    reporter.put(sink, MetricId::ThrottleSecondsTotal, &[reason], Ok(seconds));
                }
            }
            Quantity::Steps => (steps.all, has_steps) = (number, true),
            Quantity::ThrottledSteps(reason) => {
                if let Some(place) = STEP_REASONS.iter().position(|known| *known == reason) {
                    steps.of_reason[place] += number;
                }
            }
            Quantity::PcieReplays => {
                reporter.put(sink, MetricId::PcieReplaysTotal, &[], Ok(number))
            }
            Quantity::LinkReceivedBytes(link) => {
                reporter.put(
                    sink,
                    MetricId::LinkBytesTotal,
                    &[&link.to_string(), "receive"],
                    Ok(number),
                );
            }
            Quantity::LinkSentBytes(link) => {
                reporter.put(
                    sink,
                    MetricId::LinkBytesTotal,
                    &[&link.to_string(), "transmit"],
                    Ok(number),
                );
            }
            _ => {}
        };
        let told = read.and_then(|()| decode(&self.table, show).map_err(Absence::from));
        if has_steps {
            self.count_steps(steps, sink);
        }
        let reporter = &mut self.reporters[FAST];
        if !tells_energy {
            let reason = told
                .err()
                .unwrap_or(Absence::new("the card counts no energy"));
            reporter.put(sink, MetricId::EnergyJoulesTotal, &[], Err(reason));
        }
    }

    /// Steps of the firmware as seconds: their share of all steps since the last look is one of the time since then.
    fn count_steps(&mut self, steps: Steps, sink: &mut Sink<'_>) {
        if let Some(last) = self.steps.replace(steps) {
            let seconds = steps.time_ns.saturating_sub(last.time_ns) as f64 * 1e-9;
            let all = steps.all - last.all;
            for (place, throttled) in self.throttled.iter_mut().enumerate() {
                let of_reason = steps.of_reason[place] - last.of_reason[place];
                // Counters of 32 bits start again; that look counts nothing.
                if all > 0.0 && of_reason >= 0.0 {
                    *throttled += seconds * (of_reason / all).min(1.0);
                }
            }
        }
        for (reason, seconds) in STEP_REASONS.iter().zip(self.throttled) {
            self.reporters[FAST].put(sink, MetricId::ThrottleSecondsTotal, &[reason], Ok(seconds));
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
        let hwmon = self
            .hwmon
            .get_or_insert_with(|| Hwmon::find(&self.folder))
            .as_ref();
        let reporter = &mut self.reporters[SLOW];
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
        let mut is_unknown = false;
        if tree::bytes_into(&self.folder.join("gpu_metrics"), &mut self.table).is_ok() {
            let read = decode(&self.table, |quantity, _| {
                is_unknown |= quantity == Quantity::UnknownEnergy
            });
            is_unknown &= read.is_ok() && !ENERGY_IN_LATER_UNITS.contains(&self.model);
        }
        is_unknown
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

#[derive(Default)]
struct Fallback {
    busy: Option<f64>,
    memory_busy: Option<f64>,
    watts: Option<f64>,
}

fn share(number: f64) -> Option<f64> {
    (0.0..=1.0).contains(&number).then_some(number)
}

/// Sixteen bits each for power, current, temperature and the rest: `swsmu/inc/amdgpu_smu.h` of Linux.
fn throttle_reasons(bits: u64) -> u8 {
    ["power", "current", "thermal", "other"]
        .into_iter()
        .enumerate()
        .filter(|(place, _)| bits >> (16 * place) & 0xffff != 0)
        .fold(0, |reasons, (_, reason)| reasons | bit(reason))
}

fn is_throttler(reason: &str) -> bool {
    matches!(reason, "power" | "current" | "thermal" | "other")
}
