//! The plans that Nim's golden tests hold are plans that the engine takes.

use std::fs;
use std::path::Path;

use amdgpu_neuro::NetworkPlan;

#[test]
fn every_golden_plan_of_the_language_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../nim/tests/golden");
    let mut layered = 0;
    let mut spiking = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with('{') {
            continue;
        }
        match NetworkPlan::from_json(text) {
            Ok(plan) if plan.is_spiking() => spiking += 1,
            Ok(_) => layered += 1,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    assert!(
        layered >= 2 && spiking >= 5,
        "{layered} layered, {spiking} spiking"
    );
}
