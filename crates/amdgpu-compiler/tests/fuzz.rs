//! Mutated kernels, and programs made from a grammar: the compiler must neither panic nor hang, whatever it is given.
//!
//! `cargo test -p amdgpu-compiler --test fuzz -- --ignored` runs for `AMDGPU_FUZZ_SECONDS` (120) with a seed of its own, which a
//! failure prints.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amdgpu_compiler::{CompileOptions, Compiler, Error, OptimizationLevel, Target};

/// Far above what the slowest source of the corpus takes, debug build and busy machine included.
const HANG: Duration = Duration::from_secs(60);

/// A small generator of numbers (`SplitMix64`), so that a seed says which case it was.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Kernels, programs and the device library: what mutations start from.
fn corpus() -> Vec<String> {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_root.join("../..");
    let mut sources = Vec::new();
    for folder in [
        root.join("tests/kernels"),
        root.join("tests/cpp"),
        root.join("tests/programs"),
        crate_root.join("device_lib"),
        crate_root.join("tests/golden"),
        crate_root.join("tests/errors"),
        crate_root.join("tests/sources"),
    ] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        paths.sort();
        for path in paths {
            let is_source = path
                .extension()
                .is_some_and(|end| end == "hip" || end == "cu");
            if is_source && let Ok(text) = std::fs::read_to_string(&path) {
                sources.push(text);
            }
        }
    }
    sources
}

/// Compiles; a panic of the compiler comes back as an internal error.
fn must_end(source: &str, what: &str) {
    let options = CompileOptions {
        optimization_level: OptimizationLevel::Low,
        ..CompileOptions::default()
    };
    let start = Instant::now();
    let target = Target::parse("x86_64").expect("a known target");
    let result = Compiler::new().compile(source, &options, &target);
    assert!(start.elapsed() < HANG, "{what} hangs:\n{source}");
    if let Err(error @ Error::Internal { .. }) = result {
        panic!("{what}: {error}\n{source}");
    }
}

/// Where the words and signs of a text begin and end.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if is_word(bytes[at]) {
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
        } else {
            at += 1;
            while at < bytes.len() && !text.is_char_boundary(at) {
                at += 1;
            }
        }
        if !bytes[start].is_ascii_whitespace() {
            pieces.push((start, at));
        }
    }
    pieces
}

const WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "::",
    "...",
    "*",
    "&",
    "&&",
    "=",
    "0",
    "-1",
    "1.5f",
    "template",
    "template <typename... T>",
    "typename",
    "struct",
    "union",
    "class",
    "operator",
    "operator()",
    "auto",
    "decltype(",
    "static",
    "const",
    "constexpr",
    "__shared__",
    "__device__",
    "__global__",
    "using",
    "namespace",
    "~",
    "this",
    "[=]",
    "[&]",
    "[[",
    "sizeof...(",
    "(... + ",
    " + ...)",
    "if constexpr (",
    "return",
    "for (auto x : ",
    "case 1:",
    "T",
    "x",
    "int",
    "float",
    "void",
    "S<int>",
    ": S",
    ".x",
    "->x",
    "new",
    "#define A A(",
    "\n#if 1\n",
    "\n#endif\n",
    "\"",
    "'",
    "/*",
    "*/",
    "R\"(",
    "\\\n",
    "0x",
    "1e",
    "__syncthreads();",
    "return *this;",
    "{.x = 1}",
    "explicit",
    "= default;",
];

/// A text with a few of its pieces changed, moved, doubled or gone.
fn mutated(random: &mut Random, corpus: &[String]) -> String {
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(5) {
        let places = pieces(&text);
        if places.is_empty() {
            return text;
        }
        let (start, end) = places[random.below(places.len())];
        match random.below(7) {
            0 => text.replace_range(start..end, ""),
            1 => text.replace_range(start..end, random.pick(WORDS)),
            2 => text.insert_str(start, &format!(" {} ", random.pick(WORDS))),
            3 => {
                let (other_start, other_end) = places[random.below(places.len())];
                let other = text[other_start..other_end].to_owned();
                text.replace_range(start..end, &other);
            }
            4 => {
                // A stretch is repeated somewhere else.
                let (_, far) = places[(random.below(places.len())).max(1) - 1];
                let (low, high) = (start.min(far), start.max(far).min(start.min(far) + 400));
                let high = (low..=high)
                    .rev()
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap_or(low);
                let stretch = text[low..high].to_owned();
                text.insert_str(end, &stretch);
            }
            5 => {
                // A stretch of another source comes in.
                let other = &corpus[random.below(corpus.len())];
                let others = pieces(other);
                if let Some((low, _)) = others.get(random.below(others.len())) {
                    let high = (*low + random.below(300)).min(other.len());
                    let high = (*low..=high)
                        .rev()
                        .find(|at| other.is_char_boundary(*at))
                        .unwrap_or(*low);
                    text.insert_str(end, &other[*low..high]);
                }
            }
            _ => text.truncate(end),
        }
    }
    text
}

/// Programs that mostly make sense, from a grammar of declarations, statements and expressions.
struct Grammar<'r> {
    random: &'r mut Random,
    out: String,
    depth: usize,
}

impl Grammar<'_> {
    fn program(mut self) -> String {
        for index in 0..=self.random.below(3) {
            self.structure(index);
        }
        for index in 0..=self.random.below(3) {
            self.function(index);
        }
        self.out.push_str(
            "__global__ void k(int* p, float* q, int n) {\n int a = n, b = 2; float f = q[0];\n",
        );
        for _ in 0..=self.random.below(8) {
            self.statement();
        }
        self.out.push_str("}\n");
        self.out
    }

    fn structure(&mut self, index: usize) {
        let base = if index > 0 && self.random.below(2) == 0 {
            format!(" : S{}<T>", index - 1)
        } else {
            String::new()
        };
        let fields = self.random.pick(&[
            "T x;",
            "T x, y = T(1);",
            "union { T x; int bits; };",
            "T x; unsigned low : 3, high : 5;",
            "T x; T list[2];",
        ]);
        let member = self.random.pick(&[
            "__device__ T get() const { return x; }",
            "__device__ S@(T v) : x(v) {} __device__ S@() : x(T(2)) {}",
            "__device__ operator T() const { return x; }",
            "__device__ ~S@() { x = T(0); }",
            "template <typename U> __device__ U as() const { return U(x); }",
            "static constexpr int size = sizeof(T);",
            "__device__ S@& operator+=(const S@& o) { x += o.x; return *this; }",
        ]);
        let member = member.replace('@', &index.to_string());
        let _ = writeln!(
            self.out,
            "template <typename T> struct S{index}{base} {{ {fields} {member} }};"
        );
        if self.random.below(3) == 0 {
            let _ = writeln!(
                self.out,
                "template <typename T> struct S{index}<T*> {{ T* x; }};"
            );
        }
    }

    fn function(&mut self, index: usize) {
        let head = self.random.pick(&[
            "template <typename T> __device__ T f@(T x, T y)",
            "template <typename... T> __device__ auto f@(T... x)",
            "__device__ auto f@(int x, float y = 2.0f)",
            "template <typename T, int N = 3> __device__ T f@(T x, T y)",
            "constexpr int f@(int x, int y)",
        ]);
        let head = head.replace('@', &index.to_string());
        let body = if head.contains("...") {
            self.random.pick(&[
                "return (x + ...);",
                "return sizeof...(x);",
                "int t[] = {int(x)...}; return t[0];",
                "auto g = [=] { return (... - x); }; return g();",
            ])
        } else {
            self.random.pick(&[
                "return x + y;",
                "if (x > y) return x * 2; return x;",
                "if constexpr (sizeof(x) == 4) { return x; } else { return y; }",
                "for (int i = 0; i < 3; ++i) x += y; return x;",
            ])
        };
        let _ = writeln!(self.out, "{head} {{ {body} }}");
    }

    fn statement(&mut self) {
        if self.depth > 3 {
            self.out.push_str(" a = 1;\n");
            return;
        }
        self.depth += 1;
        match self.random.below(12) {
            0 => {
                self.out.push_str(" if (");
                self.expression(0);
                self.out.push_str(") {");
                self.statement();
                self.out.push_str("} else {");
                self.statement();
                self.out.push('}');
            }
            1 => {
                self.out.push_str(" for (int i = 0; i < 4; ++i) {");
                self.statement();
                self.out.push_str(" if (i == b) continue; }");
            }
            2 => {
                self.out.push_str(" while (a > 100) { a = a / 2; ");
                self.statement();
                self.out.push('}');
            }
            3 => {
                self.out.push_str(" switch (a & 3) { case 0: ");
                self.statement();
                self.out.push_str(" case 1: break; default: ");
                self.statement();
                self.out.push('}');
            }
            4 => {
                self.out
                    .push_str(" { S0<int> s{}; p[1] = s.x; a += int(s.x); ");
                self.statement();
                self.out.push('}');
            }
            5 => {
                self.out
                    .push_str(" { auto g = [&](auto x) { return x + a; }; a = g(");
                self.expression(0);
                self.out.push_str("); }");
            }
            6 => {
                self.out.push_str(" { int t[3] = {1, 2}; for (auto& x : t) x += b; auto [u, v, w] = t; a = u + v + w; }");
            }
            7 => {
                self.out.push_str(" a = f0(");
                self.expression(0);
                self.out.push_str(", ");
                self.expression(0);
                self.out.push_str(");");
            }
            8 => {
                self.out.push_str(" p[a & 7] = ");
                self.expression(0);
                self.out.push(';');
            }
            9 => {
                self.out.push_str(" { __shared__ int tile[64]; tile[threadIdx.x & 63] = a; __syncthreads(); b = tile[0]; }");
            }
            10 => {
                self.out.push_str(" (a > b ? a : b) = ");
                self.expression(0);
                self.out.push(';');
            }
            _ => {
                self.out.push_str(" f += ");
                self.expression(0);
                self.out.push(';');
            }
        }
        self.out.push('\n');
        self.depth -= 1;
    }

    fn expression(&mut self, depth: usize) {
        if depth > 4 {
            let leaf = self
                .random
                .pick(&["a", "b", "n", "3", "f", "0x10u", "threadIdx.x"]);
            self.out.push_str(leaf);
            return;
        }
        match self.random.below(9) {
            0 | 1 => {
                self.out.push('(');
                self.expression(depth + 1);
                let operator = self.random.pick(&[
                    " + ", " - ", " * ", " / ", " < ", " == ", " && ", " | ", " << ", ", ",
                ]);
                self.out.push_str(operator);
                self.expression(depth + 1);
                self.out.push(')');
            }
            2 => {
                let prefix = self
                    .random
                    .pick(&["-", "!", "~", "(int)", "float(", "int("]);
                self.out.push_str(prefix);
                let closes = prefix.ends_with('(');
                self.expression(depth + 1);
                if closes {
                    self.out.push(')');
                }
            }
            3 => {
                self.out.push_str("(a ? ");
                self.expression(depth + 1);
                self.out.push_str(" : ");
                self.expression(depth + 1);
                self.out.push(')');
            }
            4 => {
                self.out.push_str("p[(int)(");
                self.expression(depth + 1);
                self.out.push_str(") & 7]");
            }
            5 => {
                self.out.push_str("f0(");
                self.expression(depth + 1);
                self.out.push_str(", b)");
            }
            6 => self.out.push_str("sqrtf(fabsf(f))"),
            7 => {
                self.out.push_str("min(a, (int)");
                self.expression(depth + 1);
                self.out.push(')');
            }
            _ => self.expression(5),
        }
    }
}

fn run(seed: u64, is_over: impl Fn(u64) -> bool) {
    let corpus = corpus();
    assert!(corpus.len() > 40, "the corpus is missing");
    let mut count = 0;
    while !is_over(count) {
        let case = seed.wrapping_add(count);
        let mut random = Random(case);
        let what = format!("case {case}");
        if count % 4 == 3 {
            let grammar = Grammar {
                random: &mut random,
                out: String::new(),
                depth: 0,
            };
            must_end(&grammar.program(), &what);
        } else {
            must_end(&mutated(&mut random, &corpus), &what);
        }
        count += 1;
    }
    println!("{count} sources from seed {seed}");
}

#[test]
fn mutated_and_generated_sources_end() {
    run(1, |count| count >= 150);
}

#[test]
#[ignore = "runs for minutes"]
fn mutated_and_generated_sources_end_for_minutes() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let seconds = number("AMDGPU_FUZZ_SECONDS", 120);
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(7, |since| since.as_secs());
    let start = Instant::now();
    run(number("AMDGPU_FUZZ_SEED", clock), |_| {
        start.elapsed() > Duration::from_secs(seconds)
    });
}

#[test]
fn generated_programs_mostly_compile() {
    let compiled = (0..60u64)
        .filter(|case| {
            let mut random = Random(1_000_000 + case);
            let grammar = Grammar {
                random: &mut random,
                out: String::new(),
                depth: 0,
            };
            let source = grammar.program();
            let target = Target::parse("x86_64").expect("a known target");
            Compiler::new()
                .compile(&source, &CompileOptions::default(), &target)
                .is_ok()
        })
        .count();
    assert!(
        compiled >= 10,
        "{compiled} of 60 compile: the grammar does not reach the later stages"
    );
}
