//! What the user reads when a source is wrong: golden texts, one file per source in `tests/errors/`.
//!
//! `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler` writes them anew.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_compiler::{CompileOptions, Compiler, Error, MAX_ERRORS, MAX_SOURCE_BYTES, Target};

fn compile_named(name: &str, source: &str) -> Result<amdgpu_compiler::CompiledUnit, Error> {
    let options = CompileOptions {
        name: name.to_owned(),
        ..CompileOptions::default()
    };
    Compiler::new().compile(
        source,
        &options,
        &Target::parse("x86_64").expect("a known target"),
    )
}

fn compile(source: &str) -> Result<amdgpu_compiler::CompiledUnit, Error> {
    compile_named("kernel.hip", source)
}

fn error_of(source: &str) -> String {
    match compile(source) {
        Ok(_) => panic!("compiled: {source}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn messages_are_the_golden_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut sources: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("tests/errors exists")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "hip"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 10, "golden sources are missing");
    let mut wrong = String::new();
    for path in sources {
        let source = fs::read_to_string(&path).expect("readable");
        let name = path
            .file_name()
            .expect("has a name")
            .to_string_lossy()
            .into_owned();
        let (message, code) = match compile_named(&name, &source) {
            Ok(_) => panic!("{name} compiles"),
            Err(error) => (error.to_string(), error.code()),
        };
        let text = format!("{}\n\n{message}\n", code.name());
        let golden = path.with_extension("txt");
        if std::env::var_os("AMDGPU_BLESS").is_some() {
            fs::write(&golden, &text).expect("writable");
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if text != expected {
            let _ = writeln!(wrong, "{name}: expected\n{expected}\nfound\n{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn empty_sources_and_sources_without_kernels_say_what_is_missing() {
    for source in [
        "",
        "   \n\t",
        "// nothing\n",
        "int main() { return 0; }",
        "__device__ float f(float x) { return x; }",
    ] {
        match compile(source) {
            Err(error @ Error::KernelNotFound { .. }) => {
                assert!(error.to_string().contains("__global__"), "{error}");
            }
            other => panic!("{source:?}: {other:?}"),
        }
    }
}

#[test]
fn codes_follow_the_catalogue() {
    let code = |source: &str| compile(source).expect_err("wrong").code();
    assert_eq!(
        code("__global__ void k(int* p) { p[0] = q; }"),
        ErrorCode::CompileFailed
    );
    assert_eq!(
        code("__global__ void k(int* p) { p[0] = tex2D(p, 0, 0); }"),
        ErrorCode::UnsupportedFeature
    );
    assert_eq!(code(""), ErrorCode::KernelNotFound);
}

#[test]
fn a_mistake_beside_an_unsupported_feature_is_a_compile_error() {
    let error = compile("__global__ void k(int* p) { p[1] = tex2D(p, 0, 0); p[0] = q; }")
        .expect_err("wrong");
    assert_eq!(error.code(), ErrorCode::CompileFailed);
    assert_eq!(error.diagnostics().len(), 2);
}

#[test]
fn all_errors_are_reported_up_to_the_limit() {
    let mut source = String::from("__global__ void k(int* p) {\n");
    for index in 0..MAX_ERRORS + 50 {
        let _ = writeln!(source, "    p[0] = missing{index};");
    }
    source.push_str("}\n");
    let error = compile(&source).expect_err("wrong");
    assert_eq!(error.diagnostics().len(), MAX_ERRORS);
    let shown =
        "__global__ void k(int* p) { p[0] = a1; }\n__global__ void l(int* p) { p[0] = b2; }";
    assert_eq!(compile(shown).expect_err("wrong").diagnostics().len(), 2);
}

#[test]
fn features_that_are_missing_are_refused_by_name_at_their_line() {
    let cases = [
        ("asm(\"nop\");", "inline assembly"),
        ("goto end;", "goto"),
        ("surf2Dwrite(1.0f, p, 0, 0);", "surf2Dwrite"),
        ("float* q = new float[3];", "memory allocation"),
        ("int (*f)(int) = nullptr;", "a pointer to a function"),
        ("thread_local int t = 1;", "thread_local"),
        ("throw 1;", "an exception"),
        ("again: p[0] = 1;", "a label"),
        ("delete p;", "memory allocation"),
        ("p[0] = dynamic_cast<int*>(p) != 0;", "dynamic_cast"),
        ("texture<float, 2> t;", "a texture"),
        ("p[0] = tex2D(p, 0, 0);", "tex2D"),
        ("k<<<1, 1>>>(p);", "a kernel launch from device code"),
    ];
    for (statement, name) in cases {
        let error = compile(&format!(
            "__global__ void k(float* p) {{\n    {statement}\n}}"
        ))
        .expect_err(statement);
        let first = &error.diagnostics()[0];
        assert!(first.message.contains(name), "{statement}: {error}");
        assert_eq!(first.line, 2, "{statement}: {error}");
        assert_eq!(
            error.code(),
            ErrorCode::UnsupportedFeature,
            "{statement}: {error}"
        );
    }
}

#[test]
fn bounds_hold_without_a_crash() {
    let nested = format!(
        "__global__ void k(int* p) {{ p[0] = {}1{}; }}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    assert!(error_of(&nested).contains("nested more than"));
    let negated = format!(
        "__global__ void k(int* p) {{ p[0] = {}1; }}",
        "- ".repeat(100_000)
    );
    assert!(error_of(&negated).contains("nested more than"));
    let blocks = format!(
        "__global__ void k(int* p) {{ {} {} }}",
        "{".repeat(10_000),
        "}".repeat(10_000)
    );
    assert!(error_of(&blocks).contains("nested more than"));
    let chain = format!(
        "__global__ void k(int* p) {{ p[0] = 1{}; }}",
        " + p[1]".repeat(50_000)
    );
    assert!(error_of(&chain).contains("operators deep"));
    let doubling: String = (0..40).fold("#define A0 x x\n".to_owned(), |text, index| {
        text + &format!("#define A{} A{index} A{index}\n", index + 1)
    });
    assert!(
        error_of(&format!("{doubling}__global__ void k(int* p) {{ A40 }}"))
            .contains("macros expand to more than")
    );
    let recursive = error_of(
        "#define F(x) (F(x) + G(x))\n#define G(x) F(x)\n__global__ void k(int* p) { F(1); }",
    );
    assert!(recursive.contains("no function 'F'"), "{recursive}");
    let comment = error_of("__global__ void k(int* p) { /* never closed");
    assert!(comment.contains("never closed"), "{comment}");
    let too_large = compile(&" ".repeat(MAX_SOURCE_BYTES + 1)).expect_err("too large");
    assert!(too_large.to_string().contains("limit"), "{too_large}");
}

#[test]
fn a_source_of_ten_megabytes_compiles_or_says_what_is_wrong() {
    let filler = "// A line that says nothing at all, over and over.\n".repeat(200_000);
    let good = format!("{filler}__global__ void k(int* p) {{ p[0] = __LINE__; }}\n");
    let unit = compile(&good).expect("compiles");
    assert_eq!(unit.kernels[0].source_line, 200_001);
    let wrong = format!("{filler}__global__ void k(int* p) {{ p[0] = q; }}\n");
    let error = compile(&wrong).expect_err("wrong");
    assert_eq!(error.diagnostics()[0].line, 200_001);
}

#[test]
fn a_long_line_is_shown_around_the_mistake() {
    let source = format!(
        "__global__ void k(int* p) {{ {} p[0] = wrong; }}",
        "p[0] = 1; ".repeat(100_000)
    );
    let error = compile(&source).expect_err("wrong");
    let text = error.to_string();
    assert!(
        text.len() < 1000 && text.contains("'wrong' is not declared"),
        "{text}"
    );
}

#[test]
fn tabs_line_ends_and_other_alphabets_do_not_shift_the_caret() {
    let error = compile("__global__ void k(int* p) {\r\n\t/* größe */ p[0] = wrong;\r\n}\r\n")
        .expect_err("wrong");
    let text = error.to_string();
    assert!(text.contains("kernel.hip:2:21: error"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let caret = lines[2].chars().position(|character| character == '^');
    let place = lines[1]
        .chars()
        .collect::<Vec<_>>()
        .windows(5)
        .position(|window| window.iter().collect::<String>() == "wrong");
    assert_eq!(caret, place, "{text}");
    assert_eq!(lines[2].chars().nth(4), Some('\t'));
    assert!(error_of("__global__ void größe(int* p) {}").contains("has no meaning"));
}

#[test]
fn pragmas_that_mean_nothing_are_warned_of() {
    let source = "__global__ void k(float* p, int n) {
    #pragma unroll 4
    p[0] = 1;
    #pragma unroll 0
    for (int i = 0; i < n; ++i) p[i] = 2;
    #pragma unroll 3
    #pragma nounroll
    for (int i = 0; i < n; ++i) p[i] = 3;
    #pragma unroll
}
#pragma once
#pragma vendor it's anything";
    let unit = compile(source).expect("warnings only");
    let shown: Vec<(u32, &str)> = unit
        .notes
        .iter()
        .map(|note| (note.line, note.message.as_str()))
        .collect();
    let [no_loop, zero, second, nothing] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert!(no_loop.0 == 2 && no_loop.1.contains("stands before a for, while or do loop"));
    assert!(zero.0 == 4 && zero.1.contains("this pragma is ignored"));
    assert!(second.0 == 7 && second.1.contains("the last one counts"));
    assert!(nothing.0 == 9 && nothing.1 == no_loop.1);
}
