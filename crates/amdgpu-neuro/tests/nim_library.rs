//! Networks over the real `libagpu_neuro.so`. Without the library each test says so and passes.

use amdgpu_abi::{Coded, ErrorCode, Language};
use amdgpu_neuro::backend::NimBackend;
use amdgpu_neuro::{
    BuildOptions, Error, LayeredNetwork, NetworkPlan, config, network_text_of_config,
};

const REQUIREMENTS: &str = "
        neuralNetwork testNetwork:
          layer input(784, activation: identity)
          layer hidden(256, activation: relu)
          layer output(10, activation: softmax)

          connect input -> hidden (weight: random(-0.5, 0.5))
          connect hidden -> output (weight: random(-0.5, 0.5))

          plasticity hebbian(learning_rate: 0.001)
";

/// The backend, or `None` after saying why there is none.
fn nim() -> Option<NimBackend> {
    match NimBackend::open() {
        Ok(backend) => Some(backend),
        Err(error) if error.code() == ErrorCode::LibraryMissing => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Numbers that look like an input without being random.
fn samples(count: usize) -> Vec<f32> {
    (0..count)
        .map(|index| ((index * 37 + 11) % 101) as f32 / 101.0 - 0.3)
        .collect()
}

fn close(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}

#[test]
fn the_requirement_documents_network_gives_probabilities() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    assert_eq!(
        (network.name(), network.input_size(), network.output_size()),
        ("testNetwork", 784, 10)
    );
    assert_eq!(network.parameter_count(), 784 * 256 + 256 + 256 * 10 + 10);
    assert!(network.warnings().is_empty());
    let out = network.forward(&samples(3 * 784), 3, &nim).unwrap();
    for row in out.chunks(10) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(row.iter().all(|value| (0.0..=1.0).contains(value)));
    }
    assert!(network.forward(&[], 0, &nim).unwrap().is_empty());
}

#[test]
fn forward_equals_the_formula_written_out() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    let (first, _) = network.weights("input -> hidden").unwrap();
    let (second, _) = network.weights("hidden->output").unwrap();
    let x = samples(784);
    let dot = |x: &[f64], weight: &[f32], outputs: usize| -> Vec<f64> {
        (0..outputs)
            .map(|column| {
                x.iter()
                    .enumerate()
                    .map(|(row, value)| value * f64::from(weight[row * outputs + column]))
                    .sum()
            })
            .collect()
    };
    let wide: Vec<f64> = x.iter().map(|value| f64::from(*value)).collect();
    let hidden: Vec<f64> = dot(&wide, &first, 256)
        .iter()
        .map(|value| value.max(0.0))
        .collect();
    let logits = dot(&hidden, &second, 10);
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|value| (value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let expected: Vec<f32> = powers.iter().map(|value| (value / sum) as f32).collect();
    // The reference rounds the hidden values to float32 once; logits of about 10 carry 1e-5 of that into the exponent.
    assert!(close(
        &network.forward(&x, 1, &nim).unwrap(),
        &expected,
        2e-5
    ));
}

#[test]
fn the_same_seed_gives_the_same_network_and_another_seed_another() {
    let Some(_) = nim() else { return };
    let weights = |seed| {
        let plan = NetworkPlan::compile(REQUIREMENTS, "").unwrap();
        let plan = match seed {
            Some(seed) => plan.with_seed(seed),
            None => plan,
        };
        LayeredNetwork::build(&plan, &BuildOptions::default())
            .unwrap()
            .weights("input -> hidden")
            .unwrap()
    };
    let (values, shape) = weights(None);
    assert_eq!(shape, [784, 256]);
    assert_eq!(values, weights(Some(0)).0);
    assert_ne!(values, weights(Some(1)).0);
    assert!(values.iter().all(|value| (-0.5..=0.5).contains(value)));
    // Positions 0 .. 4 of object 0 at step 0 of seed 0: the known answer of Random123 for the zero counter and key.
    let unit = |word: u32| (-0.5 + f64::from(word) / 4_294_967_296.0) as f32;
    assert_eq!(
        values[..4],
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8].map(unit)
    );
}

#[test]
fn several_inputs_are_summed_and_several_outputs_stand_side_by_side() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(
        "layer a(2, bias: constant(1), activation: relu)\nlayer b(2)\nlayer c(3)\nlayer d(1)\nlayer e(2)\n\
         connect a -> [b, c] (weight: 0.5)\nconnect [b, c, a] -> d (weight: 2)\nconnect c -> e (weight: -1)\n",
    )
    .unwrap();
    assert_eq!(network.output_size(), 3);
    assert_eq!(network.warnings().len(), 1);
    // Rows: relu(x + 1) = (2, 0) and (4, 5); b and c hold the half of the sum.
    let out = network.forward(&[1.0, -3.0, 3.0, 4.0], 2, &nim).unwrap();
    assert_eq!(out, [14.0, -3.0, -3.0, 63.0, -13.5, -13.5]);
}

#[test]
fn all_findings_arrive_in_one_error_of_nim() {
    let Some(_) = nim() else { return };
    let error = LayeredNetwork::from_text(
        "neuralNetwork bad:\n  layer input(0)\n  layer hidden(3, activation: rellu)\n  connect input -> hiden\n",
    )
    .unwrap_err();
    assert_eq!(
        (error.code(), error.language()),
        (ErrorCode::NetworkInvalid, Language::Nim)
    );
    let text = error.to_string();
    for part in [
        "3 errors",
        "line 2, column 15",
        "did you mean 'relu'?",
        "did you mean 'hidden'?",
        "^^^^^",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    for (text, part) in [
        ("", "the text is empty"),
        ("neuralNetwork n:\n\tlayer a(1)\n", "a tab character"),
        ("layer a(1)\nconnect a -> a\n", "cycle: a -> a"),
        (&"x\n".repeat(5_000_000), "only the first 100 errors"),
        (&"#".repeat(17 << 20), "at most 16777216"),
    ] {
        let message = NetworkPlan::compile(text, "").unwrap_err().to_string();
        assert!(message.contains(part), "{part} is missing in:\n{message}");
    }
    assert!(
        LayeredNetwork::from_text(REQUIREMENTS).is_ok(),
        "the library stays usable"
    );
}

#[test]
fn wrong_lengths_names_and_values_are_refused_and_change_nothing() {
    let Some(nim) = nim() else { return };
    let network =
        LayeredNetwork::from_text("layer a(2)\nlayer b(3)\nconnect a -> b (weight: 1)\n").unwrap();
    let code = |result: Result<(), Error>| result.unwrap_err().code();
    assert_eq!(
        code(network.set_weights("a -> b", &[0.0; 5])),
        ErrorCode::ShapeMismatch
    );
    assert_eq!(
        code(network.set_weights("a -> c", &[0.0; 6])),
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        code(network.set_biases("b", &[0.0; 2])),
        ErrorCode::ShapeMismatch
    );
    assert_eq!(
        code(network.set_biases("c", &[0.0; 2])),
        ErrorCode::InvalidArgument
    );
    let wrong = network
        .set_weights("a -> b", &[0.0, 0.0, 0.0, 0.0, f32::INFINITY, f32::NAN])
        .unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::WeightsNotFinite);
    assert_eq!(
        wrong.to_string(),
        "the weight of connection 'a -> b' holds inf at [1, 1]"
    );
    assert_eq!(
        code(network.set_biases("b", &[0.0, f32::NAN, 0.0])),
        ErrorCode::WeightsNotFinite
    );
    assert_eq!(network.weights("a->b").unwrap(), (vec![1.0; 6], [2, 3]));
    assert_eq!(network.biases("b").unwrap(), Some(vec![0.0; 3]));
    let forward = |x: &[f32], batch| network.forward(x, batch, &nim).map(|_| ());
    assert_eq!(code(forward(&[0.0; 3], 2)), ErrorCode::ShapeMismatch);
    assert_eq!(
        code(forward(&[0.0; 3], usize::MAX)),
        ErrorCode::ShapeMismatch
    );
    let wrong = network
        .forward(&[0.0, 1.0, f32::NAN, 0.0], 2, &nim)
        .unwrap_err();
    assert_eq!(wrong.to_string(), "the input holds NaN at [1, 0]");
    assert_eq!(
        code(network.forward_steps(&[0.0; 4], 1, 2, &nim).map(|_| ())),
        ErrorCode::ShapeMismatch
    );
    assert_eq!(network.forward(&[1.0, 2.0], 1, &nim).unwrap(), [3.0; 3]);
}

#[test]
fn a_hebbian_step_strengthens_what_fires_together() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(
        "layer a(2)\nlayer b(2)\nlayer c(1)\nconnect a -> b (weight: 0.5)\nconnect b -> c (weight: 1)\n\
         plasticity hebbian(0.5, on: a -> b)\n",
    )
    .unwrap();
    // a = (1, 2) and (3, 0), so b = (1.5, 1.5) in both rows and c = 3.
    let out = network
        .hebbian_step(&[1.0, 2.0, 3.0, 0.0], 2, &nim)
        .unwrap();
    assert_eq!(out, [3.0, 3.0]);
    // 0.5 + 0.5 / 2 * (1 + 3) * 1.5 and 0.5 + 0.5 / 2 * 2 * 1.5
    assert_eq!(network.weights("a -> b").unwrap().0, [2.0, 2.0, 1.25, 1.25]);
    assert_eq!(
        network.weights("b -> c").unwrap().0,
        [1.0, 1.0],
        "only the named connection learns"
    );
    assert_eq!(network.hebbian_step(&[], 0, &nim).unwrap(), [0.0; 0]);
}

#[test]
fn a_hebbian_step_that_would_overflow_changes_nothing() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(
        "layer a(1)\nlayer b(1)\nconnect a -> b (weight: 1e20)\nplasticity hebbian(1)\n",
    )
    .unwrap();
    let error = network.hebbian_step(&[1e15], 1, &nim).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WeightsNotFinite);
    assert!(
        error.to_string().contains("'a -> b' holds inf at [0, 0]"),
        "{error}"
    );
    assert_eq!(network.weights("a -> b").unwrap().0, [1e20]);
    let still = LayeredNetwork::from_text("layer a(1)\nlayer b(1)\nconnect a -> b\n").unwrap();
    let error = still.hebbian_step(&[1.0], 1, &nim).unwrap_err();
    assert!(error.to_string().contains("has no plasticity"));
}

#[test]
fn plans_written_and_read_again_build_the_same_network() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    let json = serde_json::to_string(network.plan()).unwrap();
    let plan = NetworkPlan::from_json(json).unwrap();
    assert_eq!(plan.layered().unwrap(), network.plan());
    let again = LayeredNetwork::build(&plan, &BuildOptions::default()).unwrap();
    let x = samples(784);
    assert_eq!(
        network.forward(&x, 1, &nim).unwrap(),
        again.forward(&x, 1, &nim).unwrap()
    );
    let compiled = NetworkPlan::compile(REQUIREMENTS, "").unwrap();
    assert_eq!(compiled.kind(), plan.kind());
    let read = NetworkPlan::from_json(compiled.json()).unwrap();
    assert_eq!(read.kind(), plan.kind());
}

#[test]
fn dict_forms_build_what_their_text_says() {
    let Some(nim) = nim() else { return };
    let options = BuildOptions::default();
    let network = config::build(
        r#"{"architecture": [4, 3, 2], "activation": "tanh", "output_activation": "softmax", "seed": 9}"#,
        &options,
    )
    .unwrap()
    .network;
    let out = network.forward(&samples(8), 2, &nim).unwrap();
    assert!(
        out.chunks(2)
            .all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-6)
    );

    let json = r#"{"layers": [{"size": 2}, {"name": "y", "size": 3, "activation": "relu"}],
                   "weights": [[[1, -2, 3], [4, 5, -6]]], "biases": [[0.5, 0, -1]]}"#;
    let network = config::build(json, &options).unwrap().network;
    assert_eq!(
        network.forward(&[1.0, 2.0], 1, &nim).unwrap(),
        [9.5, 8.0, 0.0]
    );

    let code = |json: &str| config::build(json, &options).unwrap_err().code();
    assert_eq!(
        code(r#"{"architecture": [4, 0]}"#),
        ErrorCode::NetworkInvalid
    );
    assert_eq!(
        code(r#"{"architecture": [4, 2], "activation": "rellu"}"#),
        ErrorCode::NetworkInvalid
    );
    assert_eq!(code(r#"{"architecture": []}"#), ErrorCode::NetworkInvalid);
    assert_eq!(
        code(r#"{"architecture": [2, 2], "weights": [[[1, 2], [3]]]}"#),
        ErrorCode::ShapeMismatch
    );
    assert_eq!(
        code(r#"{"architecture": [2, 2], "weights": [[[1, 2], [3, 1e300]]]}"#),
        ErrorCode::WeightsNotFinite
    );
    assert!(
        network_text_of_config(json)
            .unwrap()
            .contains("layer y(3, activation: relu)")
    );
}

#[test]
fn weight_files_are_read_relative_to_the_base_directory() {
    let Some(nim) = nim() else { return };
    let directory = std::env::temp_dir().join(format!("agpu-neuro-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([3.0_f32, 4.0].iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(directory.join("w.npy"), &bytes).unwrap();
    let text = "layer a(2)\nlayer b(1)\nconnect a -> b (weight: file(\"w.npy\"))\n";
    let options = BuildOptions {
        base_directory: directory.clone(),
        ..BuildOptions::default()
    };
    let plan = NetworkPlan::compile(text, "").unwrap();
    let network = LayeredNetwork::build(&plan, &options).unwrap();
    assert_eq!(network.forward(&[1.0, 10.0], 1, &nim).unwrap(), [43.0]);
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(directory.join("w.npy"), &bytes).unwrap();
    assert_eq!(
        LayeredNetwork::build(&plan, &options).unwrap_err().code(),
        ErrorCode::WeightsNotFinite
    );
    std::fs::remove_dir_all(&directory).unwrap();
    let missing = LayeredNetwork::build(&plan, &options).unwrap_err();
    assert!(
        missing.to_string().contains("w.npy cannot be opened"),
        "{missing}"
    );
}

#[test]
fn many_threads_compile_step_and_fail_at_the_same_time() {
    let Some(nim) = nim() else { return };
    let network = LayeredNetwork::from_text(REQUIREMENTS).unwrap();
    let x = samples(784);
    let expected = network.forward(&x, 1, &nim).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (network, nim, x, expected) = (&network, &nim, &x, &expected);
            scope.spawn(move || {
                for round in 0..25 {
                    assert_eq!(network.forward(x, 1, nim).unwrap(), *expected);
                    let wrong = format!("layer t{thread}r{round}(0)\n");
                    let message = NetworkPlan::compile(&wrong, "").unwrap_err().to_string();
                    assert!(message.contains(&format!("t{thread}r{round}")), "{message}");
                    assert!(NetworkPlan::compile(REQUIREMENTS, "").is_ok());
                }
            });
        }
    });
}
