//! The metrics that a card reports in its binary table beside its files in sysfs, decoded into named values.

use std::path::Path;

use amdgpu_abi::MetricId;

use super::super::reporter::Reporter;
use super::super::throttle::{ThrottleClock, bit};
use super::super::{Absence, Sink, tree, within};
use super::hwmon::Hwmon;
use super::table::{Quantity, decode};

/// "15.259uJ (2^-16) units"
const ENERGY_UNIT: f64 = 1.0 / 65_536.0;
const MAX_CELSIUS: f64 = 250.0;
const MAX_HERTZ: f64 = 1e11;

const UNKNOWN_ENERGY: Absence =
    Absence::new("no document tells the unit in which this card counts energy");

/// What is known of a counter of energy whose unit the table's description does not state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OldEnergy {
    /// The unit of later tables.
    Known,
    Unknown,
    /// Unknown, and another source asks a tool for it.
    AskedElsewhere,
}

/// Values of the table for which there may be a file, which is better.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fallback {
    pub(super) busy: Option<f64>,
    pub(super) memory_busy: Option<f64>,
    pub(super) watts: Option<f64>,
}

const STEP_REASONS: [&str; 3] = ["power", "thermal", "external"];

/// Accumulated steps of the firmware: all of them, and those in which a reason held the clocks down.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    time_ns: u64,
    all: Option<f64>,
    of_reason: [f64; STEP_REASONS.len()],
}

#[derive(Default)]
pub(super) struct DecodedMetrics {
    buf: Vec<u8>,
    throttle: ThrottleClock,
    steps: Option<Steps>,
    throttled_seconds: [f64; STEP_REASONS.len()],
}

impl DecodedMetrics {
    /// Nobody looked for a while, and nobody knows what happened meanwhile.
    pub(super) fn pause(&mut self) {
        self.steps = None;
    }

    /// Gives what the table at `path` tells and `hwmon` has no file for.
    pub(super) fn read(
        &mut self,
        path: &Path,
        hwmon: Option<&Hwmon>,
        old_energy: OldEnergy,
        reporter: &mut Reporter,
        sink: &mut Sink<'_>,
    ) -> Fallback {
        let read = tree::bytes_into(path, &mut self.buf);
        let mut telling = Telling {
            steps: Steps {
                time_ns: sink.now_ns(),
                ..Steps::default()
            },
            hwmon,
            old_energy,
            reporter,
            sink,
            throttle: &mut self.throttle,
            fallback: Fallback::default(),
            tells_energy: false,
        };
        let told = read.and_then(|()| {
            let decoded = decode(&self.buf, |quantity, number| telling.show(quantity, number));
            decoded.map_err(Absence::from)
        });
        let (steps, fallback, tells_energy) =
            (telling.steps, telling.fallback, telling.tells_energy);
        if steps.all.is_some() {
            self.count_steps(steps, reporter, sink);
        }
        if !tells_energy {
            let reason = told
                .err()
                .unwrap_or(Absence::new("the card counts no energy"));
            reporter.put(sink, MetricId::EnergyJoulesTotal, &[], Err(reason));
        }
        fallback
    }

    /// Whether the table counts energy in a unit that its description does not state.
    pub(super) fn has_old_energy(&mut self, path: &Path) -> bool {
        let mut has = false;
        let read = tree::bytes_into(path, &mut self.buf)
            .map_err(drop)
            .and_then(|()| {
                decode(&self.buf, |quantity, _| {
                    has |= quantity == Quantity::UnknownEnergy;
                })
                .map_err(drop)
            });
        has && read.is_ok()
    }

    /// Steps as seconds: their share of all steps since the last look is one of the time since then.
    fn count_steps(&mut self, steps: Steps, reporter: &mut Reporter, sink: &mut Sink<'_>) {
        if let Some(last) = self.steps.replace(steps) {
            let seconds = steps.time_ns.saturating_sub(last.time_ns) as f64 * 1e-9;
            let all = steps.all.unwrap_or(0.0) - last.all.unwrap_or(0.0);
            for (place, throttled) in self.throttled_seconds.iter_mut().enumerate() {
                let of_reason = steps.of_reason[place] - last.of_reason[place];
                // Counters of 32 bits start again; that look counts nothing.
                if all > 0.0 && of_reason >= 0.0 {
                    *throttled += seconds * (of_reason / all).min(1.0);
                }
            }
        }
        for (reason, seconds) in STEP_REASONS.iter().zip(self.throttled_seconds) {
            reporter.put(sink, MetricId::ThrottleSecondsTotal, &[reason], Ok(seconds));
        }
    }
}

/// A table that is being read.
struct Telling<'a, 'sink> {
    hwmon: Option<&'a Hwmon>,
    old_energy: OldEnergy,
    reporter: &'a mut Reporter,
    sink: &'a mut Sink<'sink>,
    throttle: &'a mut ThrottleClock,
    steps: Steps,
    fallback: Fallback,
    tells_energy: bool,
}

impl Telling<'_, '_> {
    fn put(&mut self, metric: MetricId, labels: &[&str], number: f64) {
        self.reporter.put(self.sink, metric, labels, Ok(number));
    }

    fn put_within(&mut self, metric: MetricId, label: &str, number: f64, highest: f64) {
        let value = within(number, 0.0, highest, label);
        self.reporter.put(self.sink, metric, &[label], value);
    }

    fn lacks(&self, has: impl Fn(&Hwmon) -> bool) -> bool {
        self.hwmon.is_none_or(|hwmon| !has(hwmon))
    }

    fn show(&mut self, quantity: Quantity, number: f64) {
        match quantity {
            Quantity::Busy => self.fallback.busy = share(number),
            Quantity::MemoryBusy => self.fallback.memory_busy = share(number),
            Quantity::Watts => self.fallback.watts = Some(number),
            Quantity::Engine(engine) => {
                self.put_within(MetricId::EngineBusyRatio, engine, number, 1.0);
            }
            Quantity::Partition(partition) => {
                self.put_within(
                    MetricId::PartitionBusyRatio,
                    &partition.to_string(),
                    number,
                    1.0,
                );
            }
            // Sensors that a card does not have read zero in some tables.
            Quantity::Celsius(sensor)
                if number > 0.0 && self.lacks(|hwmon| hwmon.has_temperature(sensor)) =>
            {
                self.put_within(MetricId::TemperatureCelsius, sensor, number, MAX_CELSIUS);
            }
            Quantity::Volts(rail)
                if number > 0.0 && self.lacks(|hwmon| hwmon.has_voltage(rail)) =>
            {
                self.put(MetricId::VoltageVolts, &[rail], number);
            }
            Quantity::Hertz(domain) if self.lacks(|hwmon| hwmon.has_clock(domain)) => {
                self.put_within(MetricId::ClockHertz, domain, number, MAX_HERTZ);
            }
            Quantity::FanRpm if self.lacks(Hwmon::has_fan) => {
                self.put(MetricId::FanSpeedRpm, &[], number);
            }
            _ => self.show_counter(quantity, number),
        }
    }

    fn show_counter(&mut self, quantity: Quantity, number: f64) {
        match quantity {
            Quantity::Joules => self.show_energy(number),
            Quantity::UnknownEnergy => match self.old_energy {
                OldEnergy::Known => self.show_energy(number * ENERGY_UNIT),
                OldEnergy::AskedElsewhere => self.tells_energy = true,
                OldEnergy::Unknown => {
                    self.tells_energy = true;
                    let absent = Err(UNKNOWN_ENERGY);
                    self.reporter
                        .put(self.sink, MetricId::EnergyJoulesTotal, &[], absent);
                }
            },
            Quantity::ThrottleBits => {
                self.throttle
                    .look(self.sink.now_ns(), throttle_reasons(number as u64));
                for (reason, seconds) in self.throttle.seconds() {
                    if THROTTLERS.contains(&reason) {
                        let metric = MetricId::ThrottleSecondsTotal;
                        self.reporter.put(self.sink, metric, &[reason], Ok(seconds));
                    }
                }
            }
            Quantity::Steps => self.steps.all = Some(number),
            Quantity::ThrottledSteps(reason) => {
                if let Some(place) = STEP_REASONS.iter().position(|known| *known == reason) {
                    self.steps.of_reason[place] += number;
                }
            }
            Quantity::PcieReplays => self.put(MetricId::PcieReplaysTotal, &[], number),
            Quantity::LinkReceivedBytes(link) => {
                self.put(
                    MetricId::LinkBytesTotal,
                    &[&link.to_string(), "receive"],
                    number,
                );
            }
            Quantity::LinkSentBytes(link) => {
                self.put(
                    MetricId::LinkBytesTotal,
                    &[&link.to_string(), "transmit"],
                    number,
                );
            }
            _ => {}
        }
    }

    fn show_energy(&mut self, joules: f64) {
        self.tells_energy = true;
        self.put(MetricId::EnergyJoulesTotal, &[], joules);
    }
}

fn share(number: f64) -> Option<f64> {
    (0.0..=1.0).contains(&number).then_some(number)
}

const THROTTLERS: [&str; 4] = ["power", "current", "thermal", "other"];

/// Sixteen bits each for power, current, temperature and the rest: `swsmu/inc/amdgpu_smu.h` of Linux.
fn throttle_reasons(bits: u64) -> u8 {
    THROTTLERS
        .into_iter()
        .enumerate()
        .filter(|(place, _)| bits >> (16 * place) & 0xffff != 0)
        .fold(0, |reasons, (_, reason)| reasons | bit(reason))
}
