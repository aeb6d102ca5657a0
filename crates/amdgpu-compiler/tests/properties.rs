//! Any input ends in a result or an error, and what is compiled is the same with passes on and off in form.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

use amdgpu_compiler::{CompileOptions, Compiler, Error, OptimizationLevel, Target, ir, pass_names};
use proptest::prelude::*;

fn compile(source: &str) -> Result<amdgpu_compiler::CompiledUnit, Error> {
    let options = CompileOptions {
        dump_ir: true,
        ..CompileOptions::default()
    };
    Compiler::new().compile(
        source,
        &options,
        &Target::parse("x86_64").expect("a known target"),
    )
}

/// The compiler must not call a failure of its own an error of the source.
fn must_end(source: &str) {
    if let Err(error @ Error::Internal { .. }) = compile(source) {
        panic!("{error}\n{source}");
    }
}

const WORDS: &[&str] = &[
    "__global__",
    "void",
    "k",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "int",
    "float",
    "*",
    "&",
    "p",
    "i",
    "=",
    "+",
    "-",
    "/",
    "%",
    "<<",
    ">>",
    "<<<",
    ">>>",
    "<",
    ">",
    "==",
    "?",
    ":",
    "::",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "return",
    "1",
    "0x1",
    "1.5f",
    "1e",
    "'a'",
    "\"s\"",
    "struct",
    "enum",
    "typedef",
    "const",
    "unsigned",
    "long",
    "++",
    "--",
    "&&",
    "||",
    "!",
    "~",
    ".",
    "->",
    "threadIdx",
    ".x",
    "__device__",
    "auto",
    "sizeof",
    "static_cast",
    "#",
    "\n#define M(x) x\n",
    "M",
    "\n#if 1\n",
    "\n#endif\n",
    "\n#else\n",
    "\\\n",
    "/*",
    "*/",
    "//",
    "template",
    "T",
    "float4",
    "make_float4",
    "sqrtf",
    "constexpr",
    "static",
    "__shared__",
    "__restrict__",
    "true",
    "nullptr",
    "=",
    "+=",
    "##",
    "using",
    "namespace",
    "extern",
    "\"C\"",
    "operator",
];

const LINES: &[&str] = &[
    "int a = 1;",
    "float f = p[0];",
    "if (a) {",
    "}",
    "} else {",
    "for (int i = 0; i < 4; ++i) {",
    "while (a < 3) { ++a; }",
    "do { --a; } while (a);",
    "switch (a) { case 1: a = 2; break; default: a = 3; }",
    "p[a] = f;",
    "f += a * f;",
    "float4 v = make_float4(1, 2, 3, 4);",
    "v.x += f;",
    "int t[4] = {1, 2};",
    "a = t[a & 3];",
    "return;",
    "break;",
    "continue;",
    "const int c = 5;",
    "p[c] = sinf(f) + powf(f, 2.0f);",
    "a = a / (a - 1) % 3;",
    "float* q = p + a;",
    "*q++ = 1;",
    "bool b = a < 3 && f > 1 || !a;",
    "a = b ? a : c;",
    "unsigned u = a << 33;",
    "long long l = u * 3ll;",
    "p[0] = (char)l;",
    "double d = f; p[1] = d;",
    "int& r = a; r = 3;",
];

proptest! {
    #[test]
    fn random_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        must_end(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn token_soup_ends(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..200)) {
        must_end(&words.join(" "));
        must_end(&format!("__global__ void k(float* p, int i) {{ {} }}", words.join(" ")));
    }

    #[test]
    fn line_soup_ends_and_its_ir_makes_the_round_trip(lines in proptest::collection::vec(proptest::sample::select(LINES), 0..25)) {
        let source = format!("__global__ void k(float* p) {{\n{}\n}}", lines.join("\n"));
        match compile(&source) {
            Err(error @ Error::Internal { .. }) => panic!("{error}\n{source}"),
            Err(_) => {}
            Ok(unit) => for (stage, text) in &unit.dumps {
                let module = ir::parse(text).map_err(|message| TestCaseError::fail(format!("{stage}: {message}\n{text}")))?;
                prop_assert_eq!(&module.to_string(), text);
                prop_assert!(ir::verify(&module).is_ok(), "{}: {:?}", stage, ir::verify(&module));
            },
        }
    }

    #[test]
    fn cut_sources_end(cut in 0usize..2000, insert in proptest::sample::select(WORDS)) {
        let source = include_str!("golden/language.hip");
        let mut at = cut.min(source.len());
        while !source.is_char_boundary(at) { at -= 1; }
        must_end(&source[..at]);
        must_end(&format!("{} {insert} {}", &source[..at], &source[at..]));
    }

    #[test]
    fn random_text_is_no_ir(text in "[ -~\n]{0,300}") {
        let _ = ir::parse(&text);
    }
}

#[test]
fn compiling_is_deterministic_and_safe_from_many_threads() {
    let source = include_str!("golden/language.hip");
    let first = compile(source).expect("compiles");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let again = compile(source).expect("compiles");
                assert_eq!(again.llvm_ir, first.llvm_ir);
                assert_eq!(again.kernels, first.kernels);
            });
        }
    });
}

#[test]
fn every_pass_can_be_switched_off_and_reports_what_it_did() {
    let source = include_str!("golden/language.hip");
    let target = Target::parse("x86_64").expect("a known target");
    let all = compile(source).expect("compiles");
    for name in pass_names() {
        let entry = all
            .telemetry
            .passes
            .iter()
            .find(|pass| pass.name == name)
            .expect("reported");
        assert!(
            entry.transformations > 0,
            "{name} did nothing on a source that uses the whole language"
        );
        let options = CompileOptions {
            disabled_passes: vec![name.to_owned()],
            dump_ir: true,
            ..CompileOptions::default()
        };
        let without = Compiler::new()
            .compile(source, &options, &target)
            .expect("compiles");
        assert!(
            without
                .telemetry
                .passes
                .iter()
                .all(|pass| pass.name != name)
        );
        assert_ne!(
            without.dumps.last().map(|dump| &dump.1),
            all.dumps.last().map(|dump| &dump.1),
            "{name}"
        );
    }
    let none = CompileOptions {
        optimization_level: OptimizationLevel::None,
        ..CompileOptions::default()
    };
    assert!(
        Compiler::new()
            .compile(source, &none, &target)
            .expect("compiles")
            .telemetry
            .passes
            .is_empty()
    );
    let wrong = CompileOptions {
        disabled_passes: vec!["sorcery".to_owned()],
        ..CompileOptions::default()
    };
    assert!(
        Compiler::new()
            .compile(source, &wrong, &target)
            .expect_err("no such pass")
            .to_string()
            .contains("dead-code")
    );
}
