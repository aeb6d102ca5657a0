//! The same layers on every backend that this machine has. A backend that is missing is said and skipped.

use std::sync::Arc;

use amdgpu_abi::ops::ACTIVATIONS;
use amdgpu_abi::{Activation, Coded, ErrorCode, MetricId};
use amdgpu_neuro::{DenseBackend, DenseBackendKind, DenseCall, LayeredNetwork, backend};

/// Largest difference between two backends, relative to the largest value of a row: float32 products of up to 784 terms summed in
/// another order, and activations rounded to within a few units in the last place.
const TOLERANCE: f32 = 2e-5;

const REQUIREMENTS: &str = "
neuralNetwork testNetwork:
  layer input(784, activation: identity)
  layer hidden(256, activation: relu)
  layer output(10, activation: softmax)
  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))
  plasticity hebbian(learning_rate: 0.001)
";

type Backend = Arc<dyn DenseBackend>;

fn open(kind: DenseBackendKind) -> Option<Backend> {
    match kind.open() {
        Ok(backend) => Some(backend),
        Err(error) => {
            let missing = [ErrorCode::LibraryMissing, ErrorCode::JuliaMissing];
            assert!(missing.contains(&error.code()), "{}: {error}", kind.name());
            println!("skipped {}: {error}", kind.name());
            None
        }
    }
}

/// The reference and the other backends that are there.
fn backends() -> Option<(Backend, Vec<Backend>)> {
    let reference = open(DenseBackendKind::Nim)?;
    let others = [DenseBackendKind::Matrix, DenseBackendKind::Math];
    Some((reference, others.into_iter().filter_map(open).collect()))
}

fn samples(count: usize, scale: f32) -> Vec<f32> {
    let one = |index: usize| (((index * 2_654_435_761) % 1009) as f32 / 1009.0 - 0.5) * scale;
    (0..count).map(one).collect()
}

fn largest_difference(a: &[f32], b: &[f32], columns: usize) -> f32 {
    assert_eq!(a.len(), b.len());
    let row = |(a, b): (&[f32], &[f32])| {
        let scale = a
            .iter()
            .fold(1.0_f32, |scale, value| scale.max(value.abs()));
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).abs() / scale)
            .fold(0.0, f32::max)
    };
    a.chunks(columns.max(1))
        .zip(b.chunks(columns.max(1)))
        .map(row)
        .fold(0.0, f32::max)
}

#[test]
fn the_requirement_documents_network_is_the_same_on_every_backend() {
    let Some((reference, others)) = backends() else {
        return;
    };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    for batch in [1, 7, 64] {
        let x = samples(batch * 784, 1.0);
        let expected = network.forward(&x, batch, reference.as_ref()).unwrap();
        for backend in &others {
            let out = network.forward(&x, batch, backend.as_ref()).unwrap();
            for row in out.chunks(10) {
                assert!(
                    (row.iter().sum::<f32>() - 1.0).abs() < 1e-6,
                    "{}",
                    backend.name()
                );
            }
            let difference = largest_difference(&expected, &out, 10);
            println!(
                "{} against nim, batch {batch}: {difference:e}",
                backend.name()
            );
            assert!(difference < TOLERANCE, "{}: {difference:e}", backend.name());
        }
    }
}

#[test]
fn every_activation_and_odd_size_is_the_same_on_every_backend() {
    let Some((reference, others)) = backends() else {
        return;
    };
    let stateless = ACTIVATIONS
        .iter()
        .filter_map(|row| Some((row.name, row.number?)));
    for (name, kind) in stateless {
        for (batch, inputs, outputs) in [(1, 1, 1), (3, 5, 7), (2, 64, 33), (17, 129, 9)] {
            let (x, weight, bias) = (
                samples(batch * inputs, 4.0),
                samples(inputs * outputs, 1.0),
                samples(outputs, 6.0),
            );
            let call = |bias| DenseCall {
                x: &x,
                weight: &weight,
                bias,
                batch,
                inputs,
                outputs,
                activation: Activation {
                    kind,
                    alpha: 0.7,
                    beta: -0.3,
                    reserved: 0,
                },
            };
            for bias in [None, Some(&bias[..])] {
                let mut expected = vec![f32::NAN; batch * outputs];
                reference.dense_forward(&call(bias), &mut expected).unwrap();
                for backend in &others {
                    let mut out = vec![f32::NAN; batch * outputs];
                    backend.dense_forward(&call(bias), &mut out).unwrap();
                    let difference = largest_difference(&expected, &out, outputs);
                    assert!(
                        difference < TOLERANCE,
                        "{} {name} {batch}x{inputs}x{outputs}: {difference:e}",
                        backend.name()
                    );
                }
            }
        }
    }
}

#[test]
fn an_activation_of_the_input_layer_is_the_same_on_every_backend() {
    let Some((reference, others)) = backends() else {
        return;
    };
    let network = LayeredNetwork::from_text(
        "layer a(3, activation: neuromorphic(1.2, 0.3), bias: 0.5)\nlayer b(2)\nconnect a -> b (weight: he)\n",
    )
    .unwrap();
    let x = samples(12, 4.0);
    let expected = network.forward(&x, 4, reference.as_ref()).unwrap();
    for backend in &others {
        let out = network.forward(&x, 4, backend.as_ref()).unwrap();
        assert!(
            largest_difference(&expected, &out, 2) < TOLERANCE,
            "{}",
            backend.name()
        );
    }
}

#[test]
fn an_empty_batch_is_empty_on_every_backend() {
    let Some((reference, others)) = backends() else {
        return;
    };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    for backend in others.iter().chain([&reference]) {
        assert!(
            network
                .forward(&[], 0, backend.as_ref())
                .unwrap()
                .is_empty(),
            "{}",
            backend.name()
        );
    }
}

#[test]
fn backends_are_found_by_name_and_check_lengths() {
    for kind in DenseBackendKind::ALL {
        assert_eq!(DenseBackendKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(
        DenseBackendKind::from_name("julia"),
        Some(DenseBackendKind::Math)
    );
    assert_eq!(DenseBackendKind::from_name("cuda"), None);
    let Some((reference, others)) = backends() else {
        return;
    };
    let call = DenseCall {
        x: &[1.0],
        weight: &[1.0, 2.0],
        bias: None,
        batch: 1,
        inputs: 2,
        outputs: 1,
        activation: Activation {
            kind: 0,
            alpha: 0.0,
            beta: 0.0,
            reserved: 0,
        },
    };
    for backend in others.iter().chain([&reference]) {
        let error = backend.dense_forward(&call, &mut [0.0]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ShapeMismatch);
    }
    assert!(backend::preferred().is_ok());
}

#[test]
fn steps_and_crossings_are_reported() {
    let Some(reference) = open(DenseBackendKind::Nim) else {
        return;
    };
    let network = LayeredNetwork::from_text(
        "neuralNetwork counted:\n  layer a(2)\n  layer b(1)\n  connect a -> b\n",
    )
    .unwrap();
    let steps = || {
        let snapshot = amdgpu_telemetry::snapshot();
        snapshot
            .counters
            .iter()
            .find(|sample| {
                sample.metric == MetricId::NetworkStepsTotal.metric().name
                    && sample.labels.get("network") == Some("counted")
            })
            .map_or(0.0, |sample| sample.value)
    };
    let before = steps();
    for _ in 0..3 {
        network.forward(&[1.0, 2.0], 1, reference.as_ref()).unwrap();
    }
    assert!((steps() - before - 3.0).abs() < f64::EPSILON);
    let snapshot = amdgpu_telemetry::snapshot();
    let crossed = |name: &str| {
        snapshot.boundaries.iter().any(|site| {
            &*site.name == name && site.from == "rust" && site.to == "nim" && site.count > 0
        })
    };
    assert!(crossed("agpu_neuro_compile") && crossed("agpu_neuro_dense_forward"));
}
