//! Sources made for these tests, on hubs of their own with a clock wound by hand.

#![allow(clippy::float_cmp)] // Values come back as they were given.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use amdgpu_abi::MetricId;
use proptest::prelude::*;

use super::*;
use crate::clock::ManualClock;
use crate::sources::Sink;

const SECOND: u64 = 1_000_000_000;

type Script = Box<dyn FnMut(usize, &mut Sink<'_>) + Send>;

struct Scripted {
    periods: &'static [Duration],
    script: Script,
}

impl Source for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn periods(&self) -> &'static [Duration] {
        self.periods
    }

    fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        (self.script)(group, sink);
    }
}

const TWO: &[Duration] = &[Duration::from_millis(100), Duration::from_secs(1)];

fn hub() -> (Arc<Hub>, ManualClock) {
    let clock = ManualClock::default();
    clock.advance_ns(SECOND);
    (Hub::with_clock(clock.clone()), clock)
}

fn monitor_of(
    hub: &Arc<Hub>,
    script: impl FnMut(usize, &mut Sink<'_>) + Send + 'static,
) -> Arc<Monitor> {
    let source = Scripted {
        periods: TWO,
        script: Box::new(script),
    };
    Monitor::new(Arc::clone(hub), vec![Box::new(source)])
}

fn find(readings: &[Reading], metric: MetricId) -> &Reading {
    readings
        .iter()
        .find(|reading| reading.key.metric == metric)
        .unwrap()
}

#[test]
fn what_was_read_while_a_sampler_runs_is_on_the_bus() {
    // The sampler's thread and the caller race for the first look; whoever wins, the bus has it.
    for _ in 0..50 {
        let (hub, _clock) = hub();
        let monitor = monitor_of(&hub, |_, sink| {
            sink.put(MetricId::BusyRatio, &["cpu:0", "all"], Ok(0.5));
        });
        let sampler = monitor.sample();
        let _ = monitor.read();
        let snapshot = hub.snapshot();
        assert!(
            snapshot.gauges.iter().any(|gauge| gauge.value == 0.5),
            "{:?}",
            snapshot.gauges
        );
        drop(sampler);
    }
}

#[test]
fn each_group_is_read_at_its_own_rate() {
    let (hub, clock) = hub();
    let reads = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let seen = Arc::clone(&reads);
    let monitor = monitor_of(&hub, move |group, sink| {
        seen[group].fetch_add(1, Ordering::Relaxed);
        sink.put(MetricId::BusyRatio, &["cpu:0", "all"], Ok(0.0));
    });
    for _ in 0..50 {
        lock(&monitor.slots[0].lane).read_due(&hub, &monitor.board);
        clock.advance_ns(SECOND / 10);
    }
    assert_eq!(reads[0].load(Ordering::Relaxed), 50);
    assert_eq!(reads[1].load(Ordering::Relaxed), 5);
    // After a pause nothing is made up for.
    clock.advance_ns(3600 * SECOND);
    lock(&monitor.slots[0].lane).read_due(&hub, &monitor.board);
    let next_ns = lock(&monitor.slots[0].lane).read_due(&hub, &monitor.board);
    assert_eq!(reads[0].load(Ordering::Relaxed), 51);
    assert!(next_ns > hub.now_ns());
}

#[test]
fn a_source_without_hardware_is_asked_once_a_minute() {
    let (hub, clock) = hub();
    let reads = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&reads);
    let monitor = monitor_of(&hub, move |_, _| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    for _ in 0..600 {
        lock(&monitor.slots[0].lane).read_due(&hub, &monitor.board);
        clock.advance_ns(SECOND / 5);
    }
    assert_eq!(reads.load(Ordering::Relaxed), 2 * 2);
}

#[test]
fn readings_have_a_value_or_a_reason_and_their_own_time() {
    let (hub, clock) = hub();
    let monitor = monitor_of(&hub, |group, sink| {
        if group == 0 {
            sink.put(MetricId::PowerWatts, &["cpu:0", "package"], Ok(35.5));
        } else {
            sink.put(
                MetricId::FanSpeedRpm,
                &["cpu:0"],
                Err(Absence::new("no fan")),
            );
            sink.put(MetricId::MemoryUsedBytes, &["cpu:0"], Ok(f64::NAN));
        }
    });
    let readings = monitor.read();
    assert_eq!(readings.len(), 3);
    let power = find(&readings, MetricId::PowerWatts);
    assert_eq!(
        (power.value.clone(), power.time_ns, power.period_ns),
        (Ok(35.5), SECOND, SECOND / 10)
    );
    assert_eq!(power.source, "scripted");
    assert_eq!(
        find(&readings, MetricId::FanSpeedRpm).value,
        Err(Absence::new("no fan"))
    );
    assert!(find(&readings, MetricId::MemoryUsedBytes).value.is_err());
    clock.advance_ns(SECOND);
    assert_eq!(
        find(&monitor.read(), MetricId::PowerWatts).time_ns,
        2 * SECOND
    );
}

#[test]
fn what_a_source_tells_no_more_is_absent() {
    let (hub, _) = hub();
    let mut reads = 0;
    let monitor = monitor_of(&hub, move |group, sink| {
        if group == 0 {
            reads += 1;
            sink.put(MetricId::BusyRatio, &["hip:0", "all"], Ok(0.5));
            if reads == 1 {
                sink.put(MetricId::BusyRatio, &["hip:1", "all"], Ok(0.25));
            }
        }
    });
    assert!(monitor.read().iter().all(|reading| reading.value.is_ok()));
    let readings = monitor.read();
    assert_eq!(readings[0].value, Ok(0.5));
    assert!(
        readings[1]
            .value
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("no more")
    );
}

#[test]
fn a_dear_source_is_read_less_often() {
    let (hub, clock) = hub();
    let reading = clock.clone();
    // The hand-wound clock is that of the processor too: every read takes a millisecond of it.
    let monitor = monitor_of(&hub, move |_, sink| {
        reading.advance_ns(1_000_000);
        sink.put(MetricId::EnergyJoulesTotal, &["cpu:0"], Ok(1.0));
    });
    for _ in 0..4000 {
        let next_ns = lock(&monitor.slots[0].lane).read_due(&hub, &monitor.board);
        clock.advance_ns(next_ns.saturating_sub(hub.now_ns()));
    }
    let elapsed = (hub.now_ns() - SECOND) as f64;
    let spent = hub
        .snapshot()
        .value(MetricId::SamplingSecondsTotal, &["scripted"])
        .unwrap()
        * 1e9;
    assert!(spent / elapsed < LANE_SHARE * 1.1, "{}", spent / elapsed);
    let period_ns = find(&monitor.read(), MetricId::EnergyJoulesTotal).period_ns;
    assert!(period_ns > SECOND, "{period_ns}");
}

#[test]
fn the_bus_shows_what_is_sampled_and_nothing_once_nobody_samples() {
    let (hub, _) = hub();
    let (told, tell) = mpsc::channel();
    let monitor = monitor_of(&hub, move |group, sink| {
        if group == 0 {
            sink.put(
                MetricId::TemperatureCelsius,
                &["cpu:0", "package"],
                Ok(48.0),
            );
            sink.put(MetricId::EnergyJoulesTotal, &["cpu:0"], Ok(1234.5));
            sink.put(
                MetricId::FanSpeedRpm,
                &["cpu:0"],
                Err(Absence::new("no fan")),
            );
        } else {
            // Groups are read in turn: what the first one gave is on the board.
            told.send(()).unwrap();
        }
    });
    let sampler = monitor.sample();
    tell.recv().unwrap();
    let snapshot = hub.snapshot();
    assert_eq!(
        snapshot.value(MetricId::TemperatureCelsius, &["cpu:0", "package"]),
        Some(48.0)
    );
    assert_eq!(
        snapshot.value(MetricId::EnergyJoulesTotal, &["cpu:0"]),
        Some(1234.5)
    );
    assert_eq!(snapshot.value(MetricId::FanSpeedRpm, &["cpu:0"]), None);
    drop(sampler);
    let snapshot = hub.snapshot();
    assert_eq!(
        snapshot.value(MetricId::TemperatureCelsius, &["cpu:0", "package"]),
        None
    );
}

#[test]
fn a_source_that_hangs_holds_nobody_up() {
    let (hub, _) = hub();
    let (entered, enter) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let hangs: Box<dyn Source> = Box::new(Scripted {
        periods: TWO,
        script: Box::new(move |_, _| {
            // The test may be over before it is released.
            let _ = entered.send(());
            let _ = released.recv();
        }),
    });
    let works: Box<dyn Source> = Box::new(Scripted {
        periods: TWO,
        script: Box::new(|_, sink| sink.put(MetricId::MemoryTotalBytes, &["cpu:0"], Ok(1.0))),
    });
    let monitor = Monitor::new(hub, vec![hangs, works]);
    let sampler = monitor.sample();
    enter.recv().unwrap();
    assert_eq!(
        find(&monitor.read(), MetricId::MemoryTotalBytes).value,
        Ok(1.0)
    );
    drop(sampler);
    drop(release);
}

#[test]
fn samplers_share_one_set_of_threads() {
    let (hub, clock) = hub();
    let (told, tell) = mpsc::channel();
    let monitor = monitor_of(&hub, move |group, _| {
        if group == 1 {
            told.send(std::thread::current().id()).unwrap();
        }
    });
    let (one, other) = (monitor.sample(), monitor.sample());
    let first = tell.recv().unwrap();
    drop(one);
    assert_eq!(lock(&monitor.running).samplers, 1);
    drop(other);
    // Begun again: the first thread is gone or going, and a new one reads what is due meanwhile.
    clock.advance_ns(2 * 60 * SECOND);
    let again = monitor.sample();
    assert_ne!(tell.recv().unwrap(), first);
    drop(again);
    assert_eq!(lock(&monitor.running).samplers, 0);
}

#[test]
fn frames_have_a_row_for_each_device_and_nothing_invented() {
    let (hub, _) = hub();
    let mut reads = 0;
    let monitor = monitor_of(&hub, move |group, sink| {
        if group == 0 {
            reads += 1;
            sink.put(MetricId::BusyRatio, &["hip:0", "all"], Ok(0.5));
            sink.put(MetricId::TemperatureCelsius, &["hip:0", "edge"], Ok(40.0));
            sink.put(
                MetricId::TemperatureCelsius,
                &["hip:0", "junction"],
                Ok(60.0),
            );
            if reads > 1 {
                sink.put(MetricId::BusyRatio, &["cpu:0", "all"], Ok(0.125));
            }
        }
    });
    let label = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let mut plan = FramePlan::new(
        vec!["hip:0".to_owned(), "cpu:0".to_owned()],
        vec![
            ("amdgpu_busy_ratio".to_owned(), label("core", "all")),
            (
                "amdgpu_temperature_celsius".to_owned(),
                label("sensor", "junction"),
            ),
            ("amdgpu_temperature_celsius".to_owned(), vec![]),
        ],
    )
    .unwrap();
    let sampler = Sampler(Arc::clone(&monitor));
    let frame = |plan: &mut FramePlan| {
        let mut out = Vec::new();
        sampler.frame(plan, &mut out);
        out.chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect::<Vec<f32>>()
    };
    monitor.read_all();
    let first = frame(&mut plan);
    assert_eq!(first[..3], [0.5, 60.0, 40.0]);
    assert!(first[3..].iter().all(|value| value.is_nan()));
    // Series that came later are found.
    monitor.read_all();
    assert_eq!(frame(&mut plan)[3], 0.125);
    // What others know stands behind the sensors of its device.
    let tails: Vec<u8> = [7.0_f32, 8.0]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    plan.set_tails(&tails).unwrap();
    let values = frame(&mut plan);
    assert_eq!(values.len(), 8);
    assert_eq!((values[3], values[4], values[7]), (7.0, 0.125, 8.0));
    assert_eq!(plan.set_tails(&tails[..5]), Err(2));
    assert_eq!(
        FramePlan::new(vec![], vec![("amdgpu_nonsense".to_owned(), vec![])]).unwrap_err(),
        "amdgpu_nonsense"
    );
}

#[test]
fn a_second_source_cannot_take_a_series_over() {
    let (hub, _) = hub();
    let source = |value: f64| -> Box<dyn Source> {
        Box::new(Scripted {
            periods: TWO,
            script: Box::new(move |_, sink| {
                sink.put(MetricId::MemoryTotalBytes, &["hip:0"], Ok(value));
            }),
        })
    };
    let monitor = Monitor::new(hub, vec![source(1.0), source(2.0)]);
    let readings = monitor.read();
    assert_eq!(readings.len(), 1);
    assert_eq!(readings[0].value, Ok(1.0));
}

#[test]
fn the_runtime_tells_what_the_bus_counts_but_not_what_sensors_mirror() {
    let (hub, _) = hub();
    hub.counter(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"])
        .add(7);
    hub.gauge(MetricId::PoolBytes, &["cpu:0", "device", "active"])
        .set(4096.0);
    let _never_set = hub.gauge(MetricId::QueueDepth, &["cpu:0", "0"]);
    hub.gauge(MetricId::TemperatureCelsius, &["cpu:0", "package"])
        .set(40.0);
    let monitor = Monitor::new(
        Arc::clone(&hub),
        vec![Box::new(RuntimeSource::new(Arc::clone(&hub)))],
    );
    let readings = monitor.read();
    assert_eq!(
        find(&readings, MetricId::KernelLaunchesTotal).value,
        Ok(7.0)
    );
    assert_eq!(find(&readings, MetricId::PoolBytes).value, Ok(4096.0));
    assert!(
        readings
            .iter()
            .all(|reading| reading.key.metric != MetricId::TemperatureCelsius)
    );
    assert!(
        readings
            .iter()
            .all(|reading| reading.key.metric != MetricId::QueueDepth)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any source, whatever it puts: readings, frames and histories stay in step.
    #[test]
    fn boards_stay_consistent(
        script in prop::collection::vec(prop::collection::vec((0_usize..6, prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e9_f64..1e9]), 0..8), 1..30),
    ) {
        let (hub, clock) = hub();
        let mut steps = script.clone().into_iter();
        let monitor = monitor_of(&hub, move |group, sink| {
            if group == 0 {
                for (device, number) in steps.next().unwrap_or_default() {
                    let name = format!("hip:{device}");
                    sink.put(MetricId::BusyRatio, &[&name, "all"], Ok(number));
                }
            }
        });
        let sampler = Sampler(Arc::clone(&monitor));
        for step in &script {
            monitor.read_all();
            clock.advance_ns(SECOND / 3);
            let readings = monitor.board.lock().unwrap().readings();
            sampler.latest(|times, values| {
                assert_eq!(times.len(), readings.len());
                for (reading, value) in readings.iter().zip(values) {
                    assert_eq!(reading.value.is_err(), value.is_nan());
                }
            });
            for (device, _) in step {
                let last = step.iter().rev().find(|(other, _)| other == device).unwrap().1;
                let name = format!("hip:{device}");
                let reading = readings.iter().find(|reading| reading.key.label("device") == Some(&name)).unwrap();
                prop_assert_eq!(reading.value.clone().ok(), last.is_finite().then_some(last));
            }
        }
        let finite: usize = script.iter().flatten().filter(|(_, number)| number.is_finite()).count();
        let kept: usize = (0..sampler.series().len())
            .map(|index| sampler.history(index, Resolution::Raw, 0, u64::MAX).unwrap().time_ns.len())
            .sum();
        prop_assert_eq!(kept, finite);
        prop_assert!(sampler.history(99, Resolution::Raw, 0, 1).is_none());
    }
}
