//! The state of one network that watchers see: rates, a raster of spikes, a sample of the weights, a learning curve.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_telemetry::now_ns;
use serde_json::{Value, json};

use super::RasterSample;
use super::raster::Spike;

/// Spikes in a snapshot: a few seconds of a raster.
const MAX_SPIKES: usize = 8192;
/// Points of a learning curve; the newest stay.
const MAX_EPOCHS: usize = 1024;
/// A weight sample is taken at most this often, and only while somebody looks.
const WEIGHTS_EVERY_NS: u64 = 1_000_000_000;
/// Somebody looks when the last look is not longer ago than this.
const LOOKED_NS: u64 = 10_000_000_000;
/// A look for weights that never came.
const NEVER: u64 = 0;

/// A population or a layer.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub name: String,
    pub size: usize,
    /// Spikes so far.
    pub spikes: u64,
    pub rate_hz: Option<f64>,
}

/// A corner of a weight matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WeightSample {
    pub connection: String,
    pub rows: Vec<u32>,
    pub columns: Vec<u32>,
    pub of_rows: usize,
    pub of_columns: usize,
    /// Row-major; NaN where there is no synapse.
    pub values: Vec<f32>,
}

impl WeightSample {
    /// Rows and columns of a sample.
    const LARGEST: usize = 32;

    /// A sample without values of a matrix: rows and columns at even distances.
    pub fn empty(connection: &str, of_rows: usize, of_columns: usize) -> Self {
        let spread = |count: usize| -> Vec<u32> {
            let shown = count.min(Self::LARGEST);
            (0..shown)
                .map(|number| (number * count / shown) as u32)
                .collect()
        };
        let (rows, columns) = (spread(of_rows), spread(of_columns));
        Self {
            connection: connection.to_owned(),
            values: vec![f32::NAN; rows.len() * columns.len()],
            rows,
            columns,
            of_rows,
            of_columns,
        }
    }

    /// The weight from row number `row` of the sample to a target; targets that are not shown are passed over.
    pub fn set(&mut self, row: usize, target: u32, weight: f32) {
        if let Ok(column) = self.columns.binary_search(&target) {
            self.values[row * self.columns.len() + column] = weight;
        }
    }

    fn to_json(&self) -> Value {
        let rows = self.values.chunks(self.columns.len().max(1)).map(|row| {
            let shown = |value: &f32| value.is_finite().then_some(*value);
            row.iter().map(shown).collect::<Vec<_>>()
        });
        json!({
            "connection": self.connection,
            "rows": self.rows,
            "columns": self.columns,
            "of_rows": self.of_rows,
            "of_columns": self.of_columns,
            "values": rows.collect::<Vec<_>>(),
        })
    }
}

/// A point of a learning curve.
#[derive(Debug)]
struct Epoch {
    number: u64,
    samples: u64,
    loss: f64,
    accuracy: Option<f64>,
}

#[derive(Debug, Default)]
struct State {
    populations: Vec<Population>,
    steps: u64,
    time_seconds: Option<f64>,
    realtime_factor: Option<f64>,
    raster: VecDeque<Spike>,
    shown: Vec<u32>,
    left_out: u64,
    dt_seconds: f64,
    weights: Option<WeightSample>,
    curve: VecDeque<Epoch>,
    epochs: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct NetworkSnapshot {
    name: String,
    kind: &'static str,
    device: String,
    state: Mutex<State>,
    last_change_ns: AtomicU64,
    last_look_ns: AtomicU64,
    last_weights_ns: AtomicU64,
}

/// What a network did during a part of a run.
pub(crate) struct RunInterval<'a> {
    /// Of the network, since it was built.
    pub steps: u64,
    pub time_seconds: f64,
    pub realtime_factor: f64,
    /// Model time of the interval.
    pub seconds: f64,
    /// Spikes of each population in it.
    pub spikes: &'a [u64],
}

impl NetworkSnapshot {
    pub fn new(
        name: &str,
        kind: &'static str,
        device: &str,
        dt_seconds: f64,
        populations: Vec<Population>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            device: device.to_owned(),
            state: Mutex::new(State {
                populations,
                dt_seconds,
                ..State::default()
            }),
            last_change_ns: AtomicU64::new(now_ns()),
            last_look_ns: AtomicU64::new(NEVER),
            last_weights_ns: AtomicU64::new(NEVER),
        }
    }

    /// The state is whole at every moment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn last_change_ns(&self) -> u64 {
        self.last_change_ns.load(Ordering::Relaxed)
    }

    /// Whether it is time for a sample of the weights: somebody has looked lately, or there is none yet.
    pub fn wants_weights(&self) -> bool {
        let now = now_ns();
        let last = self.last_weights_ns.load(Ordering::Relaxed);
        let is_looked_at =
            now.saturating_sub(self.last_look_ns.load(Ordering::Relaxed)) < LOOKED_NS;
        last == NEVER || is_looked_at && now.saturating_sub(last) >= WEIGHTS_EVERY_NS
    }

    pub fn set_weights(&self, sample: Option<WeightSample>) {
        self.last_weights_ns.store(now_ns(), Ordering::Relaxed);
        self.lock().weights = sample;
    }

    /// A interval of a run is over.
    pub fn ran(&self, interval: &RunInterval<'_>, raster: &mut RasterSample) {
        self.last_change_ns.store(now_ns(), Ordering::Relaxed);
        let shown = raster.shown();
        let (spikes, left_out) = raster.drain();
        let mut state = self.lock();
        let state = &mut *state;
        state.steps = interval.steps;
        state.time_seconds = Some(interval.time_seconds);
        state.realtime_factor = Some(interval.realtime_factor);
        state.shown = shown;
        state.left_out += left_out;
        for (population, spikes) in state.populations.iter_mut().zip(interval.spikes) {
            population.spikes += spikes;
            let neuron_seconds = population.size as f64 * interval.seconds;
            population.rate_hz = (neuron_seconds > 0.0).then(|| *spikes as f64 / neuron_seconds);
        }
        let excess = (state.raster.len() + spikes.len()).saturating_sub(MAX_SPIKES);
        state.raster.drain(..excess.min(state.raster.len()));
        state.raster.extend(spikes);
    }

    /// An epoch of learning is over.
    pub fn learnt(&self, samples: u64, loss: f64, accuracy: Option<f64>) {
        self.last_change_ns.store(now_ns(), Ordering::Relaxed);
        let mut state = self.lock();
        let epoch = state.epochs;
        state.epochs += 1;
        state.steps += samples;
        if state.curve.len() == MAX_EPOCHS {
            state.curve.pop_front();
        }
        state.curve.push_back(Epoch {
            number: epoch,
            samples,
            loss,
            accuracy,
        });
    }

    pub fn to_json(&self) -> Value {
        self.last_look_ns.store(now_ns(), Ordering::Relaxed);
        let state = self.lock();
        let populations = state.populations.iter().map(|one| {
            json!({"name": one.name, "size": one.size, "rate_hz": one.rate_hz, "spikes": one.spikes})
        });
        let raster = |of: fn(&Spike) -> u32| state.raster.iter().map(of).collect::<Vec<u32>>();
        let times = state
            .raster
            .iter()
            .map(|spike| spike.step as f64 * state.dt_seconds);
        let curve =
            |of: fn(&Epoch) -> Value| -> Vec<Value> { state.curve.iter().map(of).collect() };
        json!({
            "name": self.name,
            "kind": self.kind,
            "device": self.device,
            "populations": populations.collect::<Vec<_>>(),
            "time_seconds": state.time_seconds,
            "steps": state.steps,
            "realtime_factor": state.realtime_factor,
            "changed_ns": self.last_change_ns(),
            "raster": {
                "times_s": times.collect::<Vec<_>>(),
                "population": raster(|spike| spike.population),
                "neuron": raster(|spike| spike.neuron),
                "neurons_shown": state.shown,
                "left_out": state.left_out,
            },
            "weights": state.weights.as_ref().map(WeightSample::to_json),
            "learning_curve": {
                "epoch": curve(|point| json!(point.number)),
                "samples": curve(|point| json!(point.samples)),
                "loss": curve(|point| json!(point.loss)),
                "accuracy": curve(|point| json!(point.accuracy)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> NetworkSnapshot {
        let population = Population {
            name: "cells".to_owned(),
            size: 4,
            spikes: 0,
            rate_hz: None,
        };
        NetworkSnapshot::new("net", "spiking", "cpu:0", 0.001, vec![population])
    }

    #[test]
    fn a_stretch_gives_rates_and_a_bounded_raster() {
        let snapshot = snapshot();
        let mut raster = RasterSample::new([(0, 0, 4)]);
        for interval in 0..10 {
            (0..500).for_each(|step| raster.take(0, interval * 500 + step, &[0, 1, 2]));
            let interval = RunInterval {
                steps: (interval + 1) * 500,
                time_seconds: (interval + 1) as f64 * 0.5,
                realtime_factor: 0.25,
                seconds: 0.5,
                spikes: &[1500],
            };
            snapshot.ran(&interval, &mut raster);
        }
        let shown = snapshot.to_json();
        assert_eq!(shown["populations"][0]["rate_hz"], 750.0);
        assert_eq!(shown["populations"][0]["spikes"], 15_000);
        assert_eq!(
            shown["raster"]["neuron"].as_array().map(Vec::len),
            Some(MAX_SPIKES)
        );
        let times = shown["raster"]["times_s"].as_array().unwrap();
        assert_eq!(times.last().unwrap().as_f64(), Some(4.999));
        assert_eq!(shown["raster"]["neurons_shown"], json!([4]));
        assert_eq!(shown["weights"], Value::Null);
    }

    #[test]
    fn weights_are_wanted_once_and_while_somebody_looks() {
        let snapshot = snapshot();
        assert!(snapshot.wants_weights());
        snapshot.set_weights(Some(WeightSample {
            connection: "a -> b".to_owned(),
            rows: vec![0, 1],
            columns: vec![0, 5],
            of_rows: 2,
            of_columns: 9,
            values: vec![1.0, f32::NAN, 2.0, 3.0],
        }));
        assert!(!snapshot.wants_weights());
        let shown = snapshot.to_json();
        assert_eq!(shown["weights"]["values"], json!([[1.0, null], [2.0, 3.0]]));
        assert!(
            !snapshot.wants_weights(),
            "not more often than once a second"
        );
    }

    #[test]
    fn a_learning_curve_keeps_its_newest_points() {
        let snapshot = snapshot();
        for epoch in 0..MAX_EPOCHS + 5 {
            snapshot.learnt(10, 1.0 / (epoch + 1) as f64, (epoch > 2).then_some(0.5));
        }
        let curve = snapshot.to_json()["learning_curve"].clone();
        assert_eq!(curve["epoch"][0], 5);
        assert_eq!(curve["loss"].as_array().map(Vec::len), Some(MAX_EPOCHS));
        assert_eq!(curve["accuracy"][0], 0.5);
    }

    #[test]
    fn a_sample_spreads_over_its_matrix_and_shows_what_was_set() {
        let mut sample = WeightSample::empty("a -> b", 2, 100);
        assert_eq!(sample.rows, [0, 1]);
        assert_eq!(sample.columns.len(), WeightSample::LARGEST);
        assert_eq!(sample.columns[..4], [0, 3, 6, 9]);
        assert_eq!(sample.columns.last(), Some(&96));
        sample.set(1, 3, 0.5);
        // Between two columns that are shown.
        sample.set(0, 4, 0.25);
        let shown = sample.to_json();
        assert_eq!(shown["connection"], "a -> b");
        assert_eq!(
            (&shown["of_rows"], &shown["of_columns"]),
            (&json!(2), &json!(100))
        );
        let values = shown["values"].as_array().unwrap();
        assert_eq!(values.len(), 2);
        for (row, column, value) in [(0, 1, Value::Null), (1, 1, json!(0.5)), (1, 0, Value::Null)] {
            assert_eq!(values[row][column], value);
        }
        assert_eq!(
            values[0].as_array().map(Vec::len),
            Some(WeightSample::LARGEST)
        );
        let exact = WeightSample::empty("", 32, 33);
        assert_eq!(exact.rows, (0..32).collect::<Vec<_>>());
        assert_eq!((exact.columns.len(), exact.columns[31]), (32, 31));
        assert_eq!(exact.values.len(), 32 * 32);
        let none = WeightSample::empty("", 3, 0);
        assert!(none.columns.is_empty() && none.values.is_empty());
        assert_eq!(none.to_json()["values"], json!([]));
    }
}
