//! Random programs of integers in HIP-C that are well defined, so that every compiler must give the same memory.
//!
//! They have what miscompiles live on: every width, shifts by the width and beyond, division and remainder by constants of both signs,
//! overlapping accesses of several sizes through pointers and unions, switches whose cases share an exit or fall through, and
//! structs, vectors and arrays of which only a part was ever written. `SHL`, `SHR`, `DIV` and `REM` are the operators that C++ leaves
//! undefined for some numbers: here they are the bare ones, and whoever compares with another compiler spells the rules out.

use std::fmt::Write;

use super::random::Random;

/// What programs share; [`Program::text`] goes behind it.
pub const PROLOGUE: &str = "#define SHL(x, n) ((x) << (n))
#define SHR(x, n) ((x) >> (n))
#define DIV(x, d) ((x) / (d))
#define REM(x, d) ((x) % (d))
";
/// Types and functions, the same for every compiler.
pub const DECLARATIONS: &str = "struct P { int x; short y; signed char z; };
union U { long long w; int i; short s[2]; unsigned char c[4]; };
struct R { P p; float2 v; };
__device__ P moved(P p, int n) { p.x += n; p.z = p.z - (signed char)n; return p; }
";
/// Memory that a program works on, and what is in it before.
pub fn memory() -> Vec<u8> {
    (0..256).map(|byte| byte as u8 ^ 0x5a).collect()
}

const TYPES: &[(&str, usize)] = &[
    ("signed char", 1),
    ("unsigned char", 1),
    ("short", 2),
    ("unsigned short", 2),
    ("int", 4),
    ("unsigned int", 4),
    ("long long", 8),
    ("unsigned long long", 8),
];
const PARAMETERS: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h"];
const SHIFTS: &[&str] = &[
    "0", "1", "7", "8", "15", "16", "16", "17", "24", "31", "32", "33", "63", "64", "(a & 63)",
];
/// Beside all powers of two.
const DIVISORS: &[&str] = &[
    "1", "3", "7", "10", "255", "1000", "(-1)", "(-3)", "(-7)", "(b | 1)",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "-8",
    "127",
    "128",
    "255",
    "-32768",
    "65535",
    "0x7fffffff",
    "(-0x7fffffff - 1)",
    "0x123456789abcdefLL",
];

/// A kernel and the arguments that it gets behind the pointer to its memory.
pub struct Program {
    pub text: String,
    pub arguments: Vec<u64>,
}

struct Writer {
    random: Random,
    out: String,
    /// What has a value from the start.
    readable: Vec<&'static str>,
    assignable: Vec<&'static str>,
    /// The bytes of the array `l` that have one.
    known: std::ops::Range<usize>,
}

impl Writer {
    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        self.random.of(list)
    }

    fn variable(&mut self) -> &'static str {
        self.random.of(&self.readable)
    }

    fn target(&mut self) -> &'static str {
        self.random.of(&self.assignable)
    }

    fn divisor(&mut self, parameter: &str) -> String {
        let power = self.random.below(if parameter == "wide" { 63 } else { 31 });
        match self.random.below(3) {
            0 => self.pick(DIVISORS).to_owned(),
            1 => format!("{:#x}LL", 1_u64 << power),
            _ if power < 31 && self.random.is_true() => format!("(-{})", 1_u64 << power),
            _ if power < 31 => format!("{}", 1_u64 << power),
            _ => format!("(-{:#x}LL)", 1_u64 << power),
        }
    }

    fn shift(&mut self, one: &str) -> String {
        let (operator, count) = (self.pick(&["SHL", "SHL", "SHR"]), self.pick(SHIFTS));
        format!("{operator}({one}, {count})")
    }

    fn division(&mut self, one: &str) -> String {
        let width = self.pick(&["narrow", "narrow", "wide"]);
        let (operator, divisor) = (self.pick(&["DIV", "REM"]), self.divisor(width));
        format!("{operator}({one}, {divisor})")
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.below(6) == 0 {
            return match self.random.below(4) {
                0 => self.pick(NUMBERS).to_owned(),
                _ => self.variable().to_owned(),
            };
        }
        let one = self.expression(depth - 1);
        match self.random.below(12) {
            0 | 1 => self.shift(&one),
            2 => {
                // Twice by the same operator and count is what rules of shifts in a row look for.
                let (operator, count) = (self.pick(&["SHL", "SHR"]), self.pick(SHIFTS));
                format!("{operator}({operator}({one}, {count}), {count})")
            }
            3 => {
                let inner = self.shift(&one);
                self.shift(&inner)
            }
            4 | 5 => self.division(&one),
            6 => {
                let combined = format!(
                    "({one} {} {})",
                    self.pick(&["|", "^", "&"]),
                    self.pick(NUMBERS)
                );
                self.division(&combined)
            }
            7 => format!("(({}){one})", self.random.of(TYPES).0),
            8 => format!(
                "({one} {} {} ? {} : {})",
                self.pick(&["<", "<=", "==", "!=", ">"]),
                self.expression(depth - 1),
                self.expression(depth - 1),
                self.expression(depth - 1)
            ),
            _ => format!(
                "({one} {} {})",
                self.pick(&["+", "-", "*", "&", "|", "^"]),
                self.expression(depth - 1)
            ),
        }
    }

    /// A place in one of two buffers at an offset that its type may have; one that is read lies where a value is.
    fn place(&mut self, is_read: bool) -> String {
        let base = self.pick(&["m", "l"]);
        let room = if is_read && base == "l" {
            self.known.clone()
        } else {
            0..16
        };
        let fitting: Vec<(&str, usize)> = TYPES
            .iter()
            .filter(|ty| ty.1 <= room.len())
            .copied()
            .collect();
        let (ty, bytes) = self.random.of(&fitting);
        let offset = room.start + self.random.below(room.len() / bytes) * bytes;
        format!("*({ty}*)({base} + {offset})")
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push(' ');
    }

    fn switch(&mut self, depth: u32) {
        let value = self.expression(1);
        self.write(&format!("switch ({value} & 7) {{"));
        for case in 0..8 {
            if self.random.below(5) == 0 {
                continue;
            }
            self.write(&format!("case {case}:"));
            if self.random.is_true() {
                self.statement(depth - 1);
            }
            if self.random.below(3) > 0 {
                self.write("break;");
            }
        }
        if self.random.is_true() {
            self.write("default:");
            self.statement(depth - 1);
        }
        self.write("}");
    }

    /// Whole aggregates on their way through variables, structs around them and functions, with the parts that have no value.
    fn copy(&mut self) {
        let text = self.pick(&[
            "q = p;",
            "p = q;",
            "{ P t = p; p = q; q = t; }",
            "r.p = p; q = r.p;",
            "p = moved(q, e);",
            "q = moved(p, c);",
            "w = v;",
            "v = w;",
            "r.v = v; w = r.v;",
            "{ R t; t = r; t.p = p; t.v = w; r = t; v = r.v; p = t.p; }",
            "{ U t = u; u = t; }",
        ]);
        self.write(text);
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(if depth == 0 { 8 } else { 11 }) {
            0 | 1 => {
                let (target, value) = (self.target(), self.expression(3));
                self.write(&format!("{target} = {value};"));
            }
            2 | 3 => {
                let (target, value) = (self.place(false), self.expression(2));
                self.write(&format!("{target} = {value};"));
            }
            4 | 5 => {
                let (target, value) = (self.target(), self.place(true));
                self.write(&format!("{target} = {value};"));
            }
            6 => self.copy(),
            7 => {
                let part = self.pick(&["v.x", "v.y", "w.x", "w.y"]);
                let value = self.expression(1);
                self.write(&format!("{part} = (float)({value} & 255);"));
            }
            8 => self.switch(depth),
            9 => {
                let condition = self.expression(2);
                self.write(&format!("if ({condition}) {{"));
                self.statement(depth - 1);
                self.write("} else {");
                self.statement(depth - 1);
                self.write("}");
            }
            _ => {
                let turns = self.random.below(5);
                self.write(&format!(
                    "for (int i{depth} = 0; i{depth} < {turns}; ++i{depth}) {{"
                ));
                self.statement(depth - 1);
                self.statement(depth - 1);
                self.write("}");
            }
        }
    }

    /// Gives some parts of the aggregates a value.
    fn initialise(&mut self) {
        // What the copies at the end give a value.
        let mut twins = Vec::new();
        for (part, twin) in [("p.x", "q.x"), ("p.y", "q.y"), ("p.z", "q.z")] {
            if self.random.below(3) > 0 {
                let value = self.expression(1);
                self.write(&format!("{part} = {value};"));
                self.readable.push(part);
                twins.push(twin);
            }
            self.assignable.extend([part, twin]);
        }
        for (part, whole, twin) in [
            ("v.x", "(int)v.x", "(int)w.x"),
            ("v.y", "(int)v.y", "(int)w.y"),
        ] {
            if self.random.is_true() {
                self.write(&format!("{part} = (float)(b & 15);"));
                self.readable.push(whole);
                twins.push(twin);
            }
        }
        match self.random.below(3) {
            0 => {
                self.write("u.w = g;");
                self.readable.push("u.w");
            }
            1 => self.write("u.i = e;"),
            _ => self.write("u.s[0] = c; u.s[1] = d;"),
        }
        self.readable
            .extend(["u.i", "u.s[0]", "u.s[1]", "u.c[0]", "u.c[3]"]);
        self.assignable
            .extend(["u.w", "u.i", "u.s[0]", "u.s[1]", "u.c[0]", "u.c[3]"]);
        self.known = self.random.of(&[0..16, 8..16, 0..4]);
        self.write(match self.known.len() {
            16 => "*(long long*)l = g; *(long long*)(l + 8) = h;",
            8 => "*(long long*)(l + 8) = h; *(char*)(l + 12) = a;",
            // The upper half of what is loaded has no value and is not looked at.
            _ => "*(int*)l = e; *(short*)l = c; g = *(long long*)l & 0xffffffffLL;",
        });
        self.write("q = p; w = v; r.p = p; r.v = v;");
        self.readable.extend(twins);
    }
}

/// The program of a seed: a kernel named `k` and the seed.
pub fn program(seed: u64) -> Program {
    let mut writer = Writer {
        random: Random(seed),
        out: String::new(),
        readable: PARAMETERS.to_vec(),
        assignable: PARAMETERS.to_vec(),
        known: 0..0,
    };
    writer.initialise();
    for _ in 0..6 {
        writer.statement(2);
    }
    // Behind the 16 bytes of `m` come those of `l`, then the variables.
    for (index, name) in writer.readable.clone().into_iter().enumerate() {
        writer.write(&format!("o[{}] = {name};", index + 4));
    }
    let last = writer.known.clone().step_by(4).enumerate();
    for (index, at) in last {
        writer.write(&format!(
            "*(int*)(m + {}) = *(int*)(l + {at});",
            16 + 4 * index
        ));
    }
    let mut text = format!(
        "__global__ void k{seed}(long long* o, signed char a, unsigned char b, short c, unsigned short d, int e, unsigned int f, \
         long long g, unsigned long long h) {{\n__align__(8) unsigned char l[16]; P p, q; R r; float2 v, w; U u; \
         unsigned char* m = (unsigned char*)o;\n"
    );
    let _ = writeln!(text, "{}\n}}", writer.out.trim_end());
    let mut random = Random(seed ^ 0xa5a5);
    let arguments = PARAMETERS.iter().map(|_| match random.below(4) {
        0 => random.next() % 16,
        1 => (random.next() % 16).wrapping_neg(),
        _ => random.next(),
    });
    Program {
        text,
        arguments: arguments.collect(),
    }
}
