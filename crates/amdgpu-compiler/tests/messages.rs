//! What the user reads for each mistake that the compiler knows: `tests/samples/*.txt` has small sources, one a line, and behind each
//! what is said of it, as lines that start with `> `.
//!
//! `k: …` stands for statements of a kernel `k(float* p, int* q, int n)`, `\n` for the end of a line; `ask NAME: …` is a source of which the
//! host wants that instance.
//! `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler --test messages` writes the answers anew.

#![allow(clippy::expect_used)] // A test that cannot read its files fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use amdgpu_abi::Coded;
use amdgpu_compiler::{
    CompileOptions, CompiledUnit, Compiler, Diagnostic, Error, Severity, Target,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The source that a line stands for, and the instance that is asked for.
fn source_of(line: &str) -> (String, Option<String>) {
    let (line, asked) = match line.strip_prefix("ask ") {
        Some(rest) => {
            let (asked, source) = rest.split_once(": ").expect("ask NAME: source");
            (source, Some(asked.to_owned()))
        }
        None => (line, None),
    };
    let text = match line.strip_prefix("k: ") {
        Some(statements) => {
            format!("__global__ void k(float* p, int* q, int n) {{ {statements} }}")
        }
        None => line.to_owned(),
    };
    (text.replace("\\n", "\n"), asked)
}

fn shown(diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut text = format!(
        "{}:{}+{} {severity}: {}",
        diagnostic.line, diagnostic.column, diagnostic.caret_length, diagnostic.message
    );
    if let Some(hint) = &diagnostic.hint {
        let _ = write!(text, " | {hint}");
    }
    for instance in &diagnostic.instances {
        let _ = write!(text, " | in {instance}");
    }
    text
}

/// `compiles`, with the kernels that were asked for by name.
fn compiled(unit: &CompiledUnit) -> String {
    let mut text = "compiles".to_owned();
    for kernel in &unit.kernels {
        if !kernel.expressions.is_empty() {
            let _ = write!(
                text,
                " {} for {}",
                kernel.name,
                kernel.expressions.join(", ")
            );
        }
    }
    text
}

/// Everything that is said of a source: `compiles` or the name of the error, then its messages.
fn answer(line: &str) -> Vec<String> {
    let target = Target::parse("x86_64").expect("a known target");
    let (source, asked) = source_of(line);
    let options = CompileOptions {
        name_expressions: asked.into_iter().collect(),
        ..CompileOptions::default()
    };
    let (first, diagnostics) = match Compiler::new().compile(&source, &options, &target) {
        Ok(unit) => (compiled(&unit), unit.notes),
        Err(error @ Error::Internal { .. }) => panic!("{error}\n{source}"),
        Err(error) if error.diagnostics().is_empty() => {
            (format!("{}: {error}", error.code().name()), Vec::new())
        }
        Err(error) => (error.code().name().to_owned(), error.diagnostics().to_vec()),
    };
    let mut lines = vec![first];
    lines.extend(diagnostics.iter().map(shown));
    lines
}

#[test]
fn every_mistake_gets_its_message() {
    let mut wrong = String::new();
    let mut cases = 0;
    for path in files_below(&folder(), "txt") {
        let text = fs::read_to_string(&path).expect("readable");
        let mut new = String::new();
        for line in text.lines().filter(|line| !line.starts_with("> ")) {
            let _ = writeln!(new, "{line}");
            if !line.is_empty() && !line.starts_with("// ") {
                cases += 1;
                for said in answer(line) {
                    let _ = writeln!(new, "> {said}");
                }
            }
        }
        if std::env::var_os("AMDGPU_BLESS").is_some() {
            fs::write(&path, &new).expect("writable");
        } else if new != text {
            let differing = new
                .lines()
                .zip(text.lines())
                .find(|(one, other)| one != other);
            let _ = writeln!(wrong, "{}: (found, expected) {differing:?}", path.display());
        }
    }
    assert!(cases > 300, "sources are missing: {cases}");
    assert!(wrong.is_empty(), "AMDGPU_BLESS=1 accepts:\n{wrong}");
}
