//! Each pass alone on a text of its own, in `tests/passes/`: `NAME.ir` before, `NAME.after.ir` after, with what the pass noticed as
//! comments behind it. `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler` writes the latter anew.

#![allow(clippy::expect_used)] // A test that cannot read its files fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use amdgpu_compiler::{OptimizationLevel, ir, pass_names, run_pass};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes")
}

#[test]
fn every_pass_makes_of_its_text_what_is_expected() {
    for name in pass_names() {
        let text = fs::read_to_string(folder().join(format!("{name}.ir")))
            .unwrap_or_else(|error| panic!("every pass has a text of its own; {name}: {error}"));
        let mut module = ir::parse(&text).unwrap_or_else(|message| panic!("{name}: {message}"));
        ir::verify(&module).unwrap_or_else(|message| panic!("{name}: {message}"));
        let metrics = run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        ir::verify(&module).unwrap_or_else(|message| panic!("after {name}: {message}\n{module}"));
        let mut after = module.to_string();
        for finding in &metrics.findings {
            writeln!(
                after,
                "; {}:{}: {}",
                finding.function, finding.line, finding.text
            )
            .expect("a string takes it");
        }
        let path = folder().join(format!("{name}.after.ir"));
        if std::env::var_os("AMDGPU_BLESS").is_some() {
            fs::write(&path, &after).expect("writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            after == expected,
            "{name} gives another text than the golden one; AMDGPU_BLESS=1 accepts this:\n{after}"
        );
        assert_ne!(after, text, "the text of {name} does not show what it does");
    }
}

#[test]
fn a_pass_has_nothing_left_to_do_on_its_own_result() {
    // Rounds that other passes make possible are theirs; these end in one.
    for name in [
        "constant-folding",
        "common-subexpressions",
        "dead-code",
        "control-flow",
        "inlining",
    ] {
        let text = fs::read_to_string(folder().join(format!("{name}.ir"))).expect("readable");
        let mut module = ir::parse(&text).expect("parses");
        run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        let once = module.to_string();
        run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        assert_eq!(module.to_string(), once, "{name}");
    }
}
