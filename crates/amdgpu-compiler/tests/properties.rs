//! Any input ends in a result or an error, and what is compiled is the same with passes on and off in form.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

use std::fmt::Write;

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
    "typename",
    "template <typename T>",
    "T",
    "f<int>",
    "[=]",
    "[&]",
    "[](auto x) { return x; }",
    "if constexpr",
    "this",
    "operator+",
    "struct S {",
    "S",
    "};",
    "const",
    "friend",
    ">",
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
    "__syncthreads();",
    "\n#pragma unroll 3\n",
    "\n#pragma unroll\n",
    "\n#pragma nounroll\n",
    "{ __shared__ float tile[8]; tile[a & 7] = f; __syncthreads(); f = tile[3]; }",
    "a = atomicAdd(&p[0], 1.0f) > 2 ? a : __syncthreads_count(a);",
    "bool b = a < 3 && f > 1 || !a;",
    "a = b ? a : c;",
    "unsigned u = a << 33;",
    "long long l = u * 3ll;",
    "p[0] = (char)l;",
    "double d = f; p[1] = d;",
    "int& r = a; r = 3;",
    "auto l = [=](auto x) { return x + 1; }; a = l(a);",
    "auto m = [&](int x) { a += x; p[0] = x; }; m(3);",
    "Box<int, 3> box; box[1] = a; a = box.sum();",
    "a = larger<int>(a, 4); f = larger(f, 2.0f);",
    "Point pt(1, 2); pt += pt * 2; f = pt.x;",
    "if constexpr (sizeof(int) == 4) { a = 3; } else { a = missing; }",
    "int cube[power(2, 3)]; cube[0] = a;",
];

/// What the lines may use.
const PROLOGUE: &str = "
template <typename T> __device__ T larger(T a, T b) { return a > b ? a : b; }
template <typename T, int N> struct Box {
    T data[N];
    __device__ T& operator[](int i) { return data[i]; }
    __device__ T sum() const { T s = 0; for (int i = 0; i < N; ++i) s += data[i]; return s; }
};
struct Point {
    float x, y = 3;
    __device__ Point(float a, float b) : x(a), y(b) {}
    __device__ Point& operator+=(const Point& o) { x += o.x; y += o.y; return *this; }
};
__device__ Point operator*(Point p, float s) { return Point(p.x * s, p.y * s); }
constexpr int power(int x, int n) { int r = 1; for (int i = 0; i < n; ++i) r *= x; return r; }
";

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
        let source = format!("{PROLOGUE}__global__ void k(float* p) {{\n{}\n}}", lines.join("\n"));
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
    fn cut_templates_end(cut in 0usize..4000, length in 0usize..40, insert in proptest::sample::select(WORDS)) {
        let source = include_str!("sources/templates.hip");
        let at = |mut index: usize| {
            index = index.min(source.len());
            while !source.is_char_boundary(index) { index -= 1; }
            index
        };
        let (start, end) = (at(cut), at(cut + length));
        must_end(&source[..start]);
        must_end(&format!("{} {insert} {}", &source[..start], &source[end..]));
    }

    #[test]
    fn random_text_is_no_ir(text in "[ -~\n]{0,300}") {
        let _ = ir::parse(&text);
    }
}

#[test]
fn templates_without_an_end_stop() {
    let bombs = [
        "template <int N> __device__ int f(int x) { return f<N + 1>(x); } __global__ void k(int* p) { p[0] = f<0>(1); }",
        "template <int N> struct S { S<N + 1> inner; }; __global__ void k(int* p) { S<0> s; }",
        "template <int N> struct S { static constexpr int v = S<2 * N>::v + S<2 * N + 1>::v; }; __global__ void k(int* p) { p[0] = S<1>::v; }",
        "template <typename A, typename B> struct P {}; template <typename T> __device__ void f(T x) { f(P<T, T>{}); } __global__ void k(int* p) { f(1); }",
        "template <typename T> __device__ void f(T* x) { f(&x); } __global__ void k(int* p) { f(p); }",
        "template <typename F> __device__ void f(F g) { f([=] { g(); }); } __global__ void k(int* p) { f([] {}); }",
        "template <int N> __device__ void f() { f<2 * N>(); f<2 * N + 1>(); f<3 * N>(); } __global__ void k(int* p) { f<1>(); }",
        "template <int N> __device__ auto f() { return f<N + 1>(); } __global__ void k(int* p) { f<1>(); }",
        "template <int N> struct S { int a[S<N + 1>::n]; }; template <int N> using A = S<N>; __global__ void k(A<1>* p) { }",
        "template <int N, int M = N + 1> struct S { S<M> next; }; __global__ void k(S<1>* p) { }",
        "constexpr int f(int x) { while (true) { ++x; } return x; } __global__ void k(int* p) { int a[f(1)]; }",
        "constexpr int f(int x) { return f(x + 1); } __global__ void k(int* p) { int a[f(1)]; }",
        "constexpr int f(int x) { return f(x - 1) + f(x - 2); } __global__ void k(int* p) { int a[f(100)]; int b[f(99)]; }",
        "struct A { int x = A{}.x; }; __global__ void k(int* p) { A a; }",
        "__device__ int f(int x = f()) { return x; } __global__ void k(int* p) { p[0] = f(); }",
        "__global__ void k(int* p) { auto f = [](auto self, int n) { return self(self, n); }; p[0] = f(f, 1); }",
        "__device__ auto f(int x) { return f(x); } __global__ void k(int* p) { p[0] = f(1); }",
        "struct A { A inner; __device__ A() : A() {} }; __global__ void k(int* p) { A a; }",
        "template <typename T> struct S { S<S<T>> f(); S<S<T>> next; }; __global__ void k(S<int>* p) { }",
    ];
    for source in bombs {
        must_end(source);
    }
    let nested = format!(
        "template <typename T> struct B {{ T t; }}; __global__ void k(int* p) {{ {}int{} b; }}",
        "B<".repeat(3000),
        ">".repeat(3000)
    );
    must_end(&nested);
    let lambdas = format!(
        "__global__ void k(int* p) {{ {}{} }}",
        "auto f = [=] { ".repeat(2000),
        "}; f();".repeat(2000)
    );
    must_end(&lambdas);
    let mut calls = String::new();
    for index in 0..2000 {
        let _ = writeln!(calls, "int a{index} = larger((int)p[{index}], {index});");
        let _ = writeln!(
            calls,
            "auto f{index} = [&] {{ return a{index}; }}; p[0] += f{index}();"
        );
    }
    must_end(&format!(
        "{PROLOGUE}__global__ void k(int* p) {{ {calls} }}"
    ));
    let angles = format!(
        "template <int N> struct S {{}}; __global__ void k(int* p) {{ {} }}",
        "S<S<".repeat(20_000)
    );
    must_end(&angles);
}

#[test]
fn recursion_by_many_calls_is_looked_into_once() {
    let calls = "f(x - 1) + ".repeat(12);
    let source = format!(
        "__device__ int f(int x) {{
            return x < 1 ? 1 : {calls} 0;
        }}
        __global__ void k(int* p) {{ p[0] = f(p[0]); }}"
    );
    let unit = compile(&source).expect("compiles");
    let work = unit.kernels[0].work.as_ref().expect("was counted");
    assert_eq!(work.open_loops, [1]);
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
fn the_vectorisation_of_work_items_is_a_pass_for_processors_only() {
    let source = "__global__ void add(float* c, const float* a, const int* at) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        c[i] += a[at[i]];
    }
    __global__ void wait(volatile int* flag) { while (*flag == 0) {} }";
    let name = "work-item-vectorization";
    let metrics = |source: &str, target: &str, options: &CompileOptions| {
        let target = Target::parse(target).expect("a known target");
        let unit = Compiler::new().compile(source, options, &target);
        let unit = unit.expect("compiles");
        let mut passes = unit.telemetry.passes.into_iter();
        let dumps: Vec<String> = unit.dumps.into_iter().map(|dump| dump.0).collect();
        (passes.find(|pass| pass.name == name), dumps, unit.llvm_ir)
    };
    let mut options = CompileOptions {
        dump_ir: true,
        ..CompileOptions::default()
    };
    let (entry, dumps, vectors) = metrics(source, "x86_64", &options);
    let entry = entry.expect("it ran");
    assert_eq!((entry.runs, entry.transformations), (1, 1));
    assert!(entry.estimated_gain > 0 && entry.duration_ns > 0);
    let findings: Vec<&str> = entry.findings.iter().map(|one| one.text.as_str()).collect();
    assert!(
        findings[0].contains("work-items run at once"),
        "{findings:?}"
    );
    assert!(findings[0].contains(", 1 of them for one"), "{findings:?}");
    assert!(findings[1].ends_with("one at a time: the operation volatile access"));
    assert!(dumps.last().expect("dumped").ends_with(name));
    assert!(vectors.contains("@add.lanes("));
    options.disabled_passes.push(name.to_owned());
    let (entry, dumps, scalar) = metrics(source, "x86_64", &options);
    assert!(entry.is_none() && !scalar.contains(".lanes("));
    assert!(!dumps.iter().any(|dump| dump.ends_with(name)));
    options.disabled_passes.clear();
    let gpu = "__global__ void k(float* p) { p[threadIdx.x] = 1; }";
    assert!(metrics(gpu, "gfx1100", &options).0.is_none());
    assert!(metrics(gpu, "sm_90", &options).0.is_none());
}

/// A pass that runs again counts from what the one before it left, not from where it stood itself.
#[test]
fn what_the_passes_add_and_remove_is_what_becomes_of_the_program() {
    let target = Target::parse("gfx1100").expect("a known target");
    for source in [
        include_str!("sources/passes.hip"),
        include_str!("golden/language.hip"),
        include_str!("golden/unrolling.hip"),
    ] {
        let mut seen = 0;
        for optimization_level in [
            OptimizationLevel::None,
            OptimizationLevel::Low,
            OptimizationLevel::High,
            OptimizationLevel::Max,
        ] {
            let options = CompileOptions {
                optimization_level,
                ..CompileOptions::default()
            };
            let unit = Compiler::new().compile(source, &options, &target);
            let told = unit.expect("compiles").telemetry;
            let growth: i64 = told
                .passes
                .iter()
                .map(|pass| pass.instructions_added as i64 - pass.instructions_removed as i64)
                .sum();
            assert_eq!(
                told.instructions_before_passes as i64 + growth,
                told.instructions_after_passes as i64,
                "{optimization_level:?}"
            );
            seen += told
                .passes
                .iter()
                .map(|pass| pass.transformations)
                .sum::<u64>();
        }
        assert!(seen > 100, "{seen}");
    }
}

/// Passes that change nothing.
const REPORTING_PASSES: &[&str] = &["prefetch", "register-pressure"];

#[test]
fn every_pass_can_be_switched_off_and_reports_what_it_did() {
    let source = include_str!("sources/passes.hip");
    let target = Target::parse("x86_64").expect("a known target");
    let all = compile(source).expect("compiles");
    for name in pass_names() {
        let entry = all
            .telemetry
            .passes
            .iter()
            .find(|pass| pass.name == name)
            .expect("reported");
        if REPORTING_PASSES.contains(&name) {
            assert!(!entry.findings.is_empty(), "{name} found nothing");
            continue;
        }
        assert!(
            entry.transformations > 0,
            "{name} did nothing on a source made for all passes"
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
