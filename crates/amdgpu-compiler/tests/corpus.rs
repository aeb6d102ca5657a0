//! What is made of every source of the corpus (`tests/kernels`, `tests/cpp`, `tests/programs`, `tests/sources` here): one line for each in `tests/golden/corpus/`,
//! with hashes of the code, of what the host is told of it, and of the messages and findings.
//!
//! The texts themselves would be tens of megabytes; those of a few kernels are in `tests/golden/`. A line that changes says which source to
//! compile with and without the change (`cargo run -p amdgpu-compiler --example emit -- FILE --target NAME`), and
//! `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler --test corpus` accepts the new ones.

#![allow(clippy::expect_used)] // A test that cannot read its files fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use amdgpu_compiler::{CompileOptions, CompiledUnit, Compiler, OptimizationLevel, Target};

const FOLDERS: [&str; 3] = ["cpp", "kernels", "programs"];

fn sources() -> Vec<(String, PathBuf)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut found = Vec::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|name| tests.join(name)).collect();
    folders.push(here.join("sources"));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|end| end == "hip" || end == "cu")
            {
                let name = path.strip_prefix(&tests).or(path.strip_prefix(&here));
                let name = name.expect("is below");
                found.push((name.to_string_lossy().into_owned(), path));
            }
        }
    }
    found.sort();
    found
}

/// Fowler, Noll and Vo's hash, FNV-1a of 64 bits: the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Everything but times: the code; signatures, variables and messages to the host; notes and what the passes say of themselves.
fn line(unit: &CompiledUnit) -> String {
    let facts = serde_json::to_string(&(
        &unit.kernels,
        &unit.globals,
        &unit.check_sites,
        &unit.messages,
        &unit.template_kernels,
    ))
    .expect("serialises");
    let telemetry = &unit.telemetry;
    let mut said = serde_json::to_string(&(&unit.notes, &telemetry.lanes)).expect("serialises");
    for pass in &telemetry.passes {
        let findings = serde_json::to_string(&pass.findings).expect("serialises");
        let _ = write!(
            said,
            "{} {} {} {} {} {} {findings}",
            pass.name,
            pass.runs,
            pass.transformations,
            pass.estimated_gain,
            pass.instructions_removed,
            pass.instructions_added
        );
    }
    let _ = write!(
        said,
        "{} {} {} {}",
        telemetry.tokens,
        telemetry.functions,
        telemetry.instructions_before_passes,
        telemetry.instructions_after_passes
    );
    let [code, facts, said] = [&unit.llvm_ir, &facts, &said].map(|text| hash(text));
    format!("code {code:016x} facts {facts:016x} said {said:016x}")
}

/// Compiles the corpus and compares with the lines of `tests/golden/corpus/NAME.txt`.
fn check(name: &str, target: &str, options: &CompileOptions) {
    let target = Target::parse(target).expect("a known target");
    let mut lines = String::new();
    for (source, path) in sources() {
        let text = fs::read_to_string(path).expect("readable");
        let options = CompileOptions {
            name: source.clone(),
            ..options.clone()
        };
        let line = match Compiler::new().compile(&text, &options, &target) {
            Ok(unit) => line(&unit),
            Err(error) => format!("refused {:016x}", hash(&error.to_string())),
        };
        let _ = writeln!(lines, "{source} {line}");
    }
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/corpus/{name}.txt"));
    if std::env::var_os("AMDGPU_BLESS").is_some() {
        fs::write(&path, &lines).expect("writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<&str> = lines
        .lines()
        .filter(|line| !expected.lines().any(|other| other == *line))
        .collect();
    assert!(
        lines == expected,
        "{name}: {} of {} sources give something else than before (AMDGPU_BLESS=1 accepts it):\n{}",
        changed.len(),
        lines.lines().count(),
        changed.join("\n")
    );
}

#[test]
fn processors_get_the_code_they_had() {
    check("x86_64", "x86_64", &CompileOptions::default());
}

#[test]
fn processors_with_wide_vectors_get_the_code_they_had() {
    let options = CompileOptions {
        optimization_level: OptimizationLevel::Max,
        ..CompileOptions::default()
    };
    check("x86-64-v4.max", "x86-64-v4", &options);
}

#[test]
fn old_processors_get_the_code_they_had() {
    let options = CompileOptions {
        optimization_level: OptimizationLevel::Low,
        ..CompileOptions::default()
    };
    check("x86-64-v2.low", "x86-64-v2", &options);
}

#[test]
fn code_without_passes_is_what_it_was() {
    let options = CompileOptions {
        optimization_level: OptimizationLevel::None,
        ..CompileOptions::default()
    };
    check("aarch64.none", "aarch64", &options);
}

#[test]
fn checked_code_is_what_it_was() {
    let options = CompileOptions {
        checked: true,
        ..CompileOptions::default()
    };
    check("x86_64.checked", "x86_64", &options);
}

#[test]
fn fast_math_gives_the_code_it_gave() {
    let options = CompileOptions {
        fast_math: true,
        ..CompileOptions::default()
    };
    check("gfx942.fast", "gfx942", &options);
}

#[test]
fn amd_gpus_get_the_code_they_had() {
    check("gfx1100", "gfx1100", &CompileOptions::default());
}

#[test]
fn nvidia_gpus_get_the_code_they_had() {
    check("sm_90", "sm_90", &CompileOptions::default());
}
