//! A library that is missing or of another version: each gives its sentence, and what does not need it goes on.
//!
//! Libraries are opened once in a process, so each case runs in a child process of its own with `AMDGPU_LIBRARY_PATH` set.

// Helpers of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use amdgpu_abi::{Coded, ErrorCode, MetricId};
use amdgpu_neuro::{BuildOptions, DenseBackendKind, LayeredNetwork, NetworkPlan, backend};

const CASE: &str = "AGPU_NEURO_TEST_CASE";

/// A folder whose libraries of these names are no libraries.
fn folder_with_broken(name: &str, libraries: &[&str]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("agpu-neuro-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for library in libraries {
        std::fs::write(folder.join(format!("libagpu_{library}.so")), b"no library").unwrap();
    }
    folder
}

/// Runs the test `case` of this file in a child process.
fn run_case(case: &str, folder: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([case, "--exact", "--nocapture", "--include-ignored"])
        .env("AMDGPU_LIBRARY_PATH", folder)
        .env(CASE, case)
        .output()
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn is_case(case: &str) -> bool {
    std::env::var(CASE).is_ok_and(|wanted| wanted == case)
}

#[test]
fn without_the_nim_library_texts_are_refused_by_file_name() {
    run_case("case_without_nim", &folder_with_broken("nim", &["neuro"]));
}

#[test]
#[ignore = "run in a child process"]
fn case_without_nim() {
    assert!(is_case("case_without_nim"));
    let error = NetworkPlan::compile("layer a(1)", "").unwrap_err();
    assert_eq!(error.code(), ErrorCode::LibraryMissing);
    assert!(error.to_string().contains("libagpu_neuro.so"), "{error}");
    let error = LayeredNetwork::from_text("layer a(1)").unwrap_err();
    assert_eq!(
        error.code(),
        ErrorCode::LibraryMissing,
        "a second attempt fails the same way"
    );
    // Plans that were compiled before are built without Nim.
    let plan = r#"{"schema": "amdgpu.network_plan", "version": 1, "name": "n", "seed": 0, "dt_seconds": null,
        "layers": [{"name": "a", "size": 2, "activation": {"kind": "identity", "alpha": 0, "beta": 0}, "bias": null},
                   {"name": "b", "size": 1, "activation": {"kind": "relu", "alpha": 0, "beta": 0}, "bias": null}],
        "connections": [{"from": "a", "to": "b", "shape": [2, 1], "weight": {"kind": "constant", "value": 0.5}}],
        "plasticity": [], "input": "a", "outputs": ["b"], "order": ["a", "b"], "warnings": []}"#;
    let network = LayeredNetwork::build(
        &NetworkPlan::from_json(plan).unwrap(),
        &BuildOptions::default(),
    )
    .unwrap();
    assert_eq!(network.parameter_count(), 2);
    match DenseBackendKind::Matrix.open() {
        Ok(matrix) => assert_eq!(
            network.forward(&[1.0, 3.0], 1, matrix.as_ref()).unwrap(),
            [2.0]
        ),
        Err(error) => println!("without matrix: {error}"),
    }
}

#[test]
fn without_the_matrix_library_the_reference_takes_over_and_is_counted() {
    run_case(
        "case_without_matrix",
        &folder_with_broken("matrix", &["matrix"]),
    );
}

#[test]
#[ignore = "run in a child process"]
fn case_without_matrix() {
    assert!(is_case("case_without_matrix"));
    let error = DenseBackendKind::Matrix.open().map(|_| ()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LibraryMissing);
    if DenseBackendKind::Nim.open().is_err() {
        println!("skipped: no Nim library either");
        return;
    }
    assert_eq!(backend::preferred().unwrap().name(), "nim");
    let snapshot = amdgpu_telemetry::snapshot();
    let counted = snapshot.counters.iter().any(|sample| {
        sample.metric == MetricId::FallbacksTotal.metric().name
            && sample.labels.get("operation") == Some("dense_forward")
            && sample.value >= 1.0
    });
    assert!(counted);
}
