//! One NVIDIA GPU: what is read from it.

use amdgpu_abi::MetricId;

use super::super::amd::clients::Client;
use super::super::names::Identity;
use super::super::power_state::{PowerState, SleepRule};
use super::super::reporter::Reporter;
use super::super::throttle::{ThrottleClock, bit};
use super::super::{Absence, Sink, Tree, Value, tree, within};
use super::api::{Handle, Nvml};
use super::{FAST, RARE, SLOW};

/// Clock domains of NVML, by number.
const DOMAINS: [&str; 4] = ["graphics", "sm", "memory", "video"];
/// `NVML_FI_DEV_PCIE_COUNT_TX_BYTES` and `_RX_BYTES`, which newer GPUs count.
const PCIE_BYTES: [u32; 2] = [197, 198];
/// `NVML_FI_DEV_MEMORY_TEMP`.
const MEMORY_TEMPERATURE: u32 = 82;
/// Policies whose time NVML counts: `NVML_PERF_POLICY_POWER`, `_THERMAL`, `_BOARD_LIMIT`, `_RELIABILITY`.
const POLICIES: [(u32, &str); 4] = [
    (0, "power"),
    (1, "thermal"),
    (3, "current"),
    (5, "reliability"),
];
/// Bits of `nvmlClocksEventReasons`: a cap on power, software's and hardware's slowdown by heat, the power brake of the machine, any other slowdown by
/// hardware.
const REASON_BITS: [(u64, &str); 5] = [
    (0x4, "power"),
    (0x20, "thermal"),
    (0x40, "thermal"),
    (0x80, "external"),
    (0x8, "other"),
];
const MAX_WATTS: f64 = 5000.0;

/// What a readable GPU always has, by group; named before it was read, so that a sleeping GPU is seen to be one.
const EXPECTED: [&[(MetricId, &[&str])]; 3] = [
    &[
        (MetricId::BusyRatio, &["all"]),
        (MetricId::PowerWatts, &["package"]),
        (MetricId::ClockHertz, &["graphics"]),
    ],
    &[
        (MetricId::MemoryUsedBytes, &[]),
        (MetricId::MemoryTotalBytes, &[]),
        (MetricId::TemperatureCelsius, &["gpu"]),
    ],
    &[],
];

pub(super) struct Gpu {
    pub(super) identity: Identity,
    pub(super) power: PowerState,
    handle: Option<Handle>,
    /// Product, architecture and driver.
    description: [String; 3],
    name: String,
    reporters: Vec<Reporter>,
    power_reporter: Reporter,
    throttle: ThrottleClock,
    traffic: [Total; 2],
    counts_violations: bool,
    counts_traffic: bool,
}

/// A counter of the driver that starts again now and then.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    last: Option<f64>,
    sum: f64,
}

impl Total {
    fn follow(&mut self, now: f64) -> f64 {
        let last = self.last.replace(now).unwrap_or(now);
        // Started again: what it shows came since.
        self.sum += if now >= last { now - last } else { now };
        self.sum
    }
}

impl Gpu {
    pub(super) fn new(tree: &Tree, address: String) -> Self {
        let file = tree
            .join("proc/driver/nvidia/gpus")
            .join(&address)
            .join("power");
        Self {
            power: PowerState::new(
                tree.join("sys/bus/pci/devices").join(&address),
                SleepRule::NobodyHasItOpen { file },
            ),
            identity: Identity {
                address,
                unique: None,
            },
            handle: None,
            description: [const { String::new() }; 3],
            name: String::new(),
            reporters: Vec::new(),
            power_reporter: Reporter::new("", &[]),
            throttle: ThrottleClock::default(),
            traffic: [Total::default(); 2],
            counts_violations: true,
            counts_traffic: true,
        }
    }

    /// What programs call it. A name that it has already changes nothing.
    pub(super) fn set_name(&mut self, name: &str) {
        if self.name != name {
            name.clone_into(&mut self.name);
            self.reporters = EXPECTED
                .iter()
                .map(|expected| Reporter::new(name, expected))
                .collect();
            self.power_reporter = Reporter::new(name, &[]);
        }
    }

    /// Its handle belongs to a library that was shut down.
    pub(super) fn forget(&mut self) {
        self.handle = None;
    }

    pub(super) fn learn(&mut self, nvml: &Nvml, handle: Handle) {
        self.handle = Some(handle);
        self.identity.unique = nvml.uuid(handle).ok();
        let driver = nvml
            .driver_version()
            .map(|version| format!("NVIDIA {version}"));
        self.description =
            [nvml.name(handle), nvml.architecture(handle), driver].map(Result::unwrap_or_default);
    }

    pub(super) fn tell_sleep(&mut self, group: usize, is_asleep: bool, sink: &mut Sink<'_>) {
        if group == FAST {
            let asleep = if is_asleep { 1.0 } else { 0.0 };
            self.power_reporter
                .put(sink, MetricId::DeviceAsleep, &[], Ok(asleep));
        }
    }

    pub(super) fn put_absent(&mut self, group: usize, reason: &Absence, sink: &mut Sink<'_>) {
        self.reporters[group].put_absent(sink, reason);
    }

    pub(super) fn read(&mut self, group: usize, nvml: &Nvml, sink: &mut Sink<'_>) {
        let Some(handle) = self.handle else {
            let reason = Absence::new("NVML does not list this GPU");
            self.put_absent(group, &reason, sink);
            return;
        };
        match group {
            FAST => self.read_fast(nvml, handle, sink),
            SLOW => self.read_slow(nvml, handle, sink),
            RARE => self.read_rare(nvml, handle, sink),
            _ => {}
        }
    }

    fn read_fast(&mut self, nvml: &Nvml, handle: Handle, sink: &mut Sink<'_>) {
        let loads = nvml.utilization(handle);
        let is_busy = loads.as_ref().is_ok_and(|[busy, _]| *busy > 0.0);
        let now_ns = sink.now_ns();
        self.power.saw(is_busy, now_ns);
        let reporter = &mut self.reporters[FAST];
        for (place, what) in ["the load", "the memory's load"].into_iter().enumerate() {
            let value = loads
                .clone()
                .and_then(|loads| within(loads[place], 0.0, 1.0, what));
            if place == 0 {
                reporter.put(sink, MetricId::BusyRatio, &["all"], value);
            } else {
                reporter.put(sink, MetricId::MemoryControllerBusyRatio, &[], value);
            }
        }
        let watts = nvml
            .watts(handle)
            .and_then(|watts| within(watts, 0.0, MAX_WATTS, "the power sensor"));
        reporter.put(sink, MetricId::PowerWatts, &["package"], watts);
        for (number, domain) in DOMAINS.iter().enumerate() {
            reporter.put(
                sink,
                MetricId::ClockHertz,
                &[domain],
                nvml.hertz(handle, number as u32),
            );
        }
    }

    fn read_slow(&mut self, nvml: &Nvml, handle: Handle, sink: &mut Sink<'_>) {
        let reporter = &mut self.reporters[SLOW];
        let memory = nvml.memory(handle);
        for (place, metric) in [MetricId::MemoryUsedBytes, MetricId::MemoryTotalBytes]
            .into_iter()
            .enumerate()
        {
            reporter.put(sink, metric, &[], memory.clone().map(|bytes| bytes[place]));
        }
        let celsius = nvml.celsius(handle).and_then(plausible_celsius);
        reporter.put(sink, MetricId::TemperatureCelsius, &["gpu"], celsius);
        let [memory_celsius, sent, received] =
            nvml.fields(handle, [MEMORY_TEMPERATURE, PCIE_BYTES[0], PCIE_BYTES[1]]);
        // Only some memories have a sensor; without one the driver says so or answers zero.
        if let Ok(celsius) = memory_celsius
            && celsius > 0.0
        {
            reporter.put(
                sink,
                MetricId::TemperatureCelsius,
                &["memory"],
                plausible_celsius(celsius),
            );
        }
        self.counts_traffic = sent.is_ok() && received.is_ok();
        for (place, (direction, bytes)) in [("transmit", sent), ("receive", received)]
            .into_iter()
            .enumerate()
        {
            let total = bytes.map(|bytes| self.traffic[place].follow(bytes));
            reporter.put(sink, MetricId::PcieBytesTotal, &[direction], total);
        }
        reporter.put(
            sink,
            MetricId::PowerLimitWatts,
            &["package"],
            nvml.limit_watts(handle),
        );
        reporter.put(sink, MetricId::EnergyJoulesTotal, &[], nvml.joules(handle));
        reporter.put(sink, MetricId::FanSpeedRatio, &[], nvml.fan_ratio(handle));
        reporter.put(sink, MetricId::PcieReplaysTotal, &[], nvml.replays(handle));
        self.read_throttling(nvml, handle, sink);
    }

    /// Times that the driver counts where it does, else looks at the present reasons.
    fn read_throttling(&mut self, nvml: &Nvml, handle: Handle, sink: &mut Sink<'_>) {
        let reporter = &mut self.reporters[SLOW];
        if self.counts_violations {
            let times =
                POLICIES.map(|(policy, reason)| (reason, nvml.violation_seconds(handle, policy)));
            self.counts_violations = times.iter().any(|(_, seconds)| seconds.is_ok());
            if self.counts_violations {
                for (reason, seconds) in times {
                    reporter.put(sink, MetricId::ThrottleSecondsTotal, &[reason], seconds);
                }
                return;
            }
        }
        match nvml.throttle_bits(handle) {
            Ok(bits) => {
                let standing = REASON_BITS.iter().filter(|(mask, _)| bits & mask != 0);
                let reasons = standing.fold(0, |reasons, (_, reason)| reasons | bit(reason));
                self.throttle.look(sink.now_ns(), reasons);
                for (reason, seconds) in self.throttle.seconds() {
                    if REASON_BITS.iter().any(|(_, known)| *known == reason) {
                        reporter.put(sink, MetricId::ThrottleSecondsTotal, &[reason], Ok(seconds));
                    }
                }
            }
            Err(reason) => reporter.put(
                sink,
                MetricId::ThrottleSecondsTotal,
                &["power"],
                Err(reason),
            ),
        }
    }

    fn read_rare(&mut self, nvml: &Nvml, handle: Handle, sink: &mut Sink<'_>) {
        let reporter = &mut self.reporters[RARE];
        for (kind, severity) in ["corrected", "uncorrected"].iter().enumerate() {
            reporter.put(
                sink,
                MetricId::EccErrorsTotal,
                &[severity],
                nvml.errors(handle, kind as u32),
            );
        }
        let engines: [(&str, Value); 2] = [
            ("encoder", nvml.encoder_ratio(handle)),
            ("decoder", nvml.decoder_ratio(handle)),
        ];
        for (engine, ratio) in engines {
            let value = ratio.and_then(|ratio| within(ratio, 0.0, 1.0, "the engine's load"));
            reporter.put(sink, MetricId::EngineBusyRatio, &[engine], value);
        }
        if !self.counts_traffic {
            for (number, direction) in ["transmit", "receive"].iter().enumerate() {
                let value = nvml.pcie_bytes_per_second(handle, number as u32);
                reporter.put(
                    sink,
                    MetricId::PcieThroughputBytesPerSecond,
                    &[direction],
                    value,
                );
            }
        }
        let unique = self.identity.unique.as_deref().unwrap_or_default();
        let [product, architecture, driver] = &self.description;
        reporter.put(
            sink,
            MetricId::DeviceInfo,
            &[unique, product, architecture, driver],
            Ok(1.0),
        );
    }

    pub(super) fn clients(&self, nvml: &Nvml, tree: &Tree) -> Vec<Client> {
        let processes = self.handle.map(|handle| nvml.processes(handle));
        let known = processes.and_then(Result::ok).unwrap_or_default();
        known
            .into_iter()
            .map(|(process_id, memory_bytes)| Client {
                process_id,
                command: tree::text(&tree.join(format!("proc/{process_id}/comm")))
                    .unwrap_or_default(),
                device: self.name.clone(),
                memory_bytes,
                ..Client::default()
            })
            .collect()
    }
}

fn plausible_celsius(celsius: f64) -> Value {
    within(celsius, -60.0, 250.0, "the sensor")
}
