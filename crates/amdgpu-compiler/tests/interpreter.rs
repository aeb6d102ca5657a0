//! Random programs of integers, interpreted as they were lowered and after each pass: the memory they leave must be the same.
//!
//! They have what miscompiles live on: every width, shifts by the width and beyond, division and remainder by constants of both signs,
//! overlapping accesses of several sizes, switches whose cases share an exit, and structs of which only a part was written.
//! `AMDGPU_PROGRAMS=20000 cargo test --release -p amdgpu-compiler --test interpreter` runs as many.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

use std::fmt::Write;

use amdgpu_compiler::ir::{self, BinaryOp, CastKind, Function, Op, Predicate, Terminator, Type};
use amdgpu_compiler::{CompileOptions, Compiler, OptimizationLevel, Target};

const PROGRAMS: u64 = 100;
const OUT_BYTES: usize = 256;
/// Far above what a program of the generator runs.
const MAX_STEPS: usize = 100_000;

/// `SplitMix64`, so that a seed says which program it was.
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
        (self.next() % end as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const TYPES: &[&str] = &[
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long long",
    "unsigned long long",
];
const VARIABLES: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h", "p.x", "p.y", "p.z"];
const SHIFTS: &[&str] = &[
    "0", "1", "7", "8", "15", "16", "17", "24", "31", "32", "33", "63", "64", "(a & 63)",
];
const DIVISORS: &[&str] = &[
    "1", "2", "3", "4", "7", "8", "10", "16", "255", "4096", "65536", "(-1)", "(-2)", "(-3)",
    "(-8)", "(-128)", "(b | 1)",
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

fn expression(random: &mut Random, depth: u32) -> String {
    if depth == 0 || random.below(6) == 0 {
        return match random.below(4) {
            0 => random.pick(NUMBERS).to_owned(),
            _ => random.pick(VARIABLES).to_owned(),
        };
    }
    let one = expression(random, depth - 1);
    match random.below(12) {
        0 | 1 => format!("({one} << {})", random.pick(SHIFTS)),
        2 => format!("({one} >> {})", random.pick(SHIFTS)),
        3 => {
            let (first, second) = (random.pick(&["<<", ">>"]), random.pick(&["<<", ">>"]));
            format!(
                "(({one} {first} {}) {second} {})",
                random.pick(SHIFTS),
                random.pick(SHIFTS)
            )
        }
        4 | 5 => format!(
            "({one} {} {})",
            random.pick(&["/", "%"]),
            random.pick(DIVISORS)
        ),
        6 => format!(
            "(({one} {} {}) {} {})",
            random.pick(&["|", "^", "&"]),
            random.pick(NUMBERS),
            random.pick(&["/", "%"]),
            random.pick(DIVISORS)
        ),
        7 => format!("(({}){one})", random.pick(TYPES)),
        8 => format!(
            "({one} {} {} ? {} : {})",
            random.pick(&["<", "<=", "==", "!=", ">"]),
            expression(random, depth - 1),
            expression(random, depth - 1),
            expression(random, depth - 1)
        ),
        _ => format!(
            "({one} {} {})",
            random.pick(&["+", "-", "*", "&", "|", "^"]),
            expression(random, depth - 1)
        ),
    }
}

/// A place in one of two buffers, at an offset that its type may have.
fn place(random: &mut Random) -> String {
    let sizes = [1, 1, 2, 2, 4, 4, 8, 8];
    let ty = random.below(TYPES.len());
    let offset = random.below(16 / sizes[ty]) * sizes[ty];
    let base = random.pick(&["m", "l"]);
    format!("*({}*)({base} + {offset})", TYPES[ty])
}

fn statement(random: &mut Random, depth: u32, out: &mut String) {
    let _ = match random.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => write!(
            out,
            "{} = {}; ",
            random.pick(VARIABLES),
            expression(random, 3)
        ),
        2 | 3 => write!(out, "{} = {}; ", place(random), expression(random, 2)),
        4 | 5 => write!(out, "{} = {}; ", random.pick(VARIABLES), place(random)),
        6 => {
            let _ = write!(out, "switch ({} & 7) {{ ", expression(random, 1));
            for case in 0..8 {
                if random.below(5) == 0 {
                    continue;
                }
                let _ = write!(out, "case {case}: ");
                if random.below(2) == 0 {
                    statement(random, depth - 1, out);
                }
                if random.below(3) > 0 {
                    out.push_str("break; ");
                }
            }
            if random.below(2) == 0 {
                out.push_str("default: ");
                statement(random, depth - 1, out);
            }
            write!(out, "}} ")
        }
        7 => {
            let _ = write!(out, "if ({}) {{ ", expression(random, 2));
            statement(random, depth - 1, out);
            out.push_str("} else { ");
            statement(random, depth - 1, out);
            write!(out, "}} ")
        }
        _ => {
            let turns = random.below(5);
            let _ = write!(
                out,
                "for (int i{depth} = 0; i{depth} < {turns}; ++i{depth}) {{ "
            );
            statement(random, depth - 1, out);
            statement(random, depth - 1, out);
            write!(out, "}} ")
        }
    };
}

fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let mut body = String::new();
    for _ in 0..6 {
        statement(&mut random, 2, &mut body);
    }
    let results = VARIABLES.iter().enumerate();
    let results: Vec<String> = results
        .map(|(index, name)| format!("o[{}] = {name};", index + 4))
        .collect();
    let results = results.join(" ");
    format!(
        "struct P {{ int x; short y; signed char z; }};\n\
         __global__ void k(long long* o, signed char a, unsigned char b, short c, unsigned short d, int e, unsigned int f, long long g, \
         unsigned long long h) {{\n\
         __align__(8) unsigned char l[16]; P p; {}unsigned char* m = (unsigned char*)o;\n{body}\n{results}\n\
         o[20] = *(long long*)l; o[21] = *(long long*)(l + 8); }}\n",
        random.pick(&["", "p.x = 1; ", "p.y = -1; ", "*(int*)l = 5; "])
    )
}

/// Runs a kernel; memory is a list of regions, a pointer the number of one with an offset.
struct Machine<'f> {
    function: &'f Function,
    values: Vec<u64>,
    regions: Vec<Vec<u8>>,
}

fn mask(ty: Type) -> u64 {
    match ty.bits() {
        0 => 0,
        bits => u64::MAX >> (64 - bits),
    }
}

fn signed(value: u64, ty: Type) -> i64 {
    let unused = 64 - ty.bits();
    (value << unused).cast_signed() >> unused
}

fn binary(operation: BinaryOp, a: u64, b: u64, ty: Type) -> u64 {
    let (x, y) = (signed(a, ty), signed(b, ty));
    let count = (b % u64::from(ty.bits())) as u32;
    let result = match operation {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::DivideSigned if y == 0 => 0,
        BinaryOp::DivideSigned => x.wrapping_div(y).cast_unsigned(),
        BinaryOp::RemainderSigned if y == 0 => a,
        BinaryOp::RemainderSigned => x.wrapping_rem(y).cast_unsigned(),
        BinaryOp::DivideUnsigned => a.checked_div(b).unwrap_or(0),
        BinaryOp::RemainderUnsigned => a.checked_rem(b).unwrap_or(a),
        BinaryOp::ShiftLeft => a << count,
        BinaryOp::ShiftRightSigned => (x >> count).cast_unsigned(),
        BinaryOp::ShiftRightUnsigned => a >> count,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        other => panic!("no integers: {other:?}"),
    };
    result & mask(ty)
}

fn compare(predicate: Predicate, a: u64, b: u64, ty: Type) -> bool {
    let (x, y) = (signed(a, ty), signed(b, ty));
    match predicate {
        Predicate::Equal => a == b,
        Predicate::NotEqual => a != b,
        Predicate::LessSigned => x < y,
        Predicate::LessEqualSigned => x <= y,
        Predicate::GreaterSigned => x > y,
        Predicate::GreaterEqualSigned => x >= y,
        Predicate::LessUnsigned => a < b,
        Predicate::LessEqualUnsigned => a <= b,
        Predicate::GreaterUnsigned => a > b,
        Predicate::GreaterEqualUnsigned => a >= b,
        other => panic!("no integers: {other:?}"),
    }
}

impl Machine<'_> {
    fn bytes(&mut self, pointer: u64, size: usize) -> &mut [u8] {
        let offset = (pointer & 0xffff_ffff) as usize;
        &mut self.regions[(pointer >> 32) as usize][offset..offset + size]
    }

    fn instruction(&mut self, value: ir::Value) {
        let ty = self.function.ty(value);
        let get = |machine: &Self, operand: ir::Value| machine.values[operand.0 as usize];
        let type_of = |operand: ir::Value| self.function.ty(operand);
        let result = match *self.function.op(value) {
            Op::Binary(operation, a, b) => binary(operation, get(self, a), get(self, b), ty),
            Op::Compare(predicate, a, b) => {
                u64::from(compare(predicate, get(self, a), get(self, b), type_of(a)))
            }
            Op::Select(condition, a, b) => get(self, if get(self, condition) != 0 { a } else { b }),
            Op::Cast(kind, a) => match kind {
                CastKind::ExtendSigned => {
                    signed(get(self, a), type_of(a)).cast_unsigned() & mask(ty)
                }
                CastKind::Truncate
                | CastKind::ExtendUnsigned
                | CastKind::Reinterpret
                | CastKind::AddressSpace => get(self, a) & mask(ty),
                other => panic!("no integers: {other:?}"),
            },
            Op::Slot { bytes, .. } => {
                self.regions.push(vec![0; bytes as usize]);
                (self.regions.len() as u64 - 1) << 32
            }
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let index = signed(get(self, index), type_of(index)).cast_unsigned();
                get(self, pointer).wrapping_add(index.wrapping_mul(scale))
            }
            Op::Load(pointer) => {
                let pointer = get(self, pointer);
                let bytes = self.bytes(pointer, ty.bytes() as usize);
                let bytes = bytes.iter().rev();
                bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
            Op::Store {
                pointer,
                value: stored,
            } => {
                let (pointer, bits) = (get(self, pointer), get(self, stored));
                let size = type_of(stored).bytes() as usize;
                let bytes = bits.to_le_bytes();
                self.bytes(pointer, size).copy_from_slice(&bytes[..size]);
                0
            }
            Op::Clear { to, bytes, .. } => {
                let to = get(self, to);
                self.bytes(to, bytes as usize).fill(0);
                0
            }
            Op::Copy {
                to, from, bytes, ..
            } => {
                let (to, from) = (get(self, to), get(self, from));
                let copied = self.bytes(from, bytes as usize).to_vec();
                self.bytes(to, bytes as usize).copy_from_slice(&copied);
                0
            }
            ref other => panic!("not interpreted: {other:?}"),
        };
        self.values[value.0 as usize] = result;
    }

    fn run(&mut self, arguments: &[u64]) {
        for (index, instruction) in self.function.values.iter().enumerate() {
            match instruction.op {
                Op::Constant(bits) => self.values[index] = bits & mask(instruction.ty),
                Op::Parameter(number) => {
                    self.values[index] = arguments[number as usize] & mask(instruction.ty);
                }
                _ => {}
            }
        }
        let (mut from, mut block) = (ir::BlockId(0), ir::BlockId(0));
        for _ in 0..MAX_STEPS {
            let data = &self.function.blocks[block.0 as usize];
            // Phis change all at once.
            let phis: Vec<(ir::Value, u64)> = data
                .instructions
                .iter()
                .map_while(|value| match self.function.op(*value) {
                    Op::Phi(inputs) => {
                        let input = inputs.iter().find(|(before, _)| *before == from);
                        let (_, input) = input.expect("an input for each predecessor");
                        Some((*value, self.values[input.0 as usize]))
                    }
                    _ => None,
                })
                .collect();
            for (phi, bits) in &phis {
                self.values[phi.0 as usize] = *bits;
            }
            for value in &data.instructions[phis.len()..] {
                self.instruction(*value);
            }
            from = block;
            block = match &data.terminator {
                Terminator::Return(_) => return,
                Terminator::Jump(to) => *to,
                Terminator::Branch { condition, yes, no } => {
                    if self.values[condition.0 as usize] == 0 {
                        *no
                    } else {
                        *yes
                    }
                }
                Terminator::Switch {
                    value,
                    cases,
                    default,
                } => {
                    let bits = self.values[value.0 as usize];
                    let wanted = |case: u64| case & mask(self.function.ty(*value)) == bits;
                    let case = cases.iter().find(|(case, _)| wanted(*case));
                    case.map_or(*default, |(_, to)| *to)
                }
                Terminator::Unreachable => panic!("unreachable was reached"),
            };
        }
        panic!("a program without an end");
    }
}

fn result(text: &str, arguments: &[u64]) -> Vec<u8> {
    let module = ir::parse(text).expect("IR that was printed");
    let function = module.functions.iter().find(|function| function.is_kernel);
    let mut machine = Machine {
        function: function.expect("a kernel"),
        values: vec![0; function.expect("a kernel").values.len()],
        regions: vec![
            Vec::new(),
            (0..OUT_BYTES).map(|byte| byte as u8 ^ 0x5a).collect(),
        ],
    };
    machine.run(arguments);
    machine.regions.swap_remove(1)
}

/// What a source leaves after each stage must be what it leaves before all of them, which is given back.
fn same_after_every_pass(source: &str, arguments: &[u64]) -> Vec<u8> {
    let mut expected = None;
    for level in [OptimizationLevel::Low, OptimizationLevel::Max] {
        let options = CompileOptions {
            optimization_level: level,
            dump_ir: true,
            ..CompileOptions::default()
        };
        let target = Target::parse("gfx1100").expect("a known target");
        let unit = Compiler::new()
            .compile(source, &options, &target)
            .unwrap_or_else(|error| panic!("{error}\n{source}"));
        for (stage, text) in &unit.dumps {
            let found = result(text, arguments);
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(
                found, *expected,
                "{level:?}, {stage} with {arguments:?}:\n{source}\n{text}"
            );
        }
    }
    expected.expect("a dump of the start")
}

#[test]
fn random_programs_leave_the_same_memory_after_every_pass() {
    let programs = std::env::var("AMDGPU_PROGRAMS").ok();
    let programs = programs.and_then(|text| text.parse().ok());
    for seed in 0..programs.unwrap_or(PROGRAMS) {
        let mut random = Random(seed ^ 0xa5a5);
        let mut arguments = vec![1 << 32];
        arguments.extend((0..8).map(|_| match random.below(4) {
            0 => random.next() % 16,
            1 => (random.next() % 16).wrapping_neg(),
            _ => random.next(),
        }));
        same_after_every_pass(&program(seed), &arguments);
    }
}

/// A result as C has it, for what goes into a parameter of a type.
fn of_expression(ty: &str, expression: &str, argument: i64) -> i64 {
    let source = format!("__global__ void k(long long* o, {ty} x) {{ o[0] = {expression}; }}");
    let memory = same_after_every_pass(&source, &[1 << 32, argument.cast_unsigned()]);
    i64::from_le_bytes(memory[..8].try_into().expect("eight bytes"))
}

#[test]
fn shifts_in_a_row_go_to_the_width_and_beyond() {
    for x in [1i32, -1, 0x1234_5678, i32::MIN] {
        for (first, second) in [(16u32, 16u32), (15, 17), (31, 31), (16, 15), (31, 1)] {
            let given = i64::from(x);
            let left = x.wrapping_shl(first).wrapping_shl(second);
            let text = format!("(x << {first}) << {second}");
            assert_eq!(
                of_expression("int", &text, given),
                i64::from(left),
                "{text} of {x}"
            );
            let right = x.wrapping_shr(first).wrapping_shr(second);
            let text = format!("(x >> {first}) >> {second}");
            assert_eq!(
                of_expression("int", &text, given),
                i64::from(right),
                "{text} of {x}"
            );
            let unsigned = x.cast_unsigned().wrapping_shr(first).wrapping_shr(second);
            assert_eq!(
                of_expression("unsigned", &text, given),
                i64::from(unsigned),
                "{text} of {x}"
            );
        }
    }
}

#[test]
fn divisions_by_powers_of_two_know_the_sign_of_or_and_xor() {
    for x in [-8i32, -7, -1, 0, 7, i32::MIN, i32::MAX] {
        for (operation, combined) in [
            ("x | 1", x | 1),
            ("x ^ 1", x ^ 1),
            ("x & -2", x & -2),
            ("(x & 255) | 1", x & 255 | 1),
            ("(x & 255) ^ -1", x & 255 ^ -1),
            ("(x & 255) | -256", x & 255 | -256),
        ] {
            for divisor in [2, 8, -4] {
                let text = format!("({operation}) / {divisor}");
                let found = of_expression("int", &text, i64::from(x));
                assert_eq!(
                    found,
                    i64::from(combined.wrapping_div(divisor)),
                    "{text} of {x}"
                );
                let text = format!("({operation}) % {divisor}");
                let found = of_expression("int", &text, i64::from(x));
                assert_eq!(
                    found,
                    i64::from(combined.wrapping_rem(divisor)),
                    "{text} of {x}"
                );
            }
        }
    }
}

#[test]
fn a_store_of_another_size_neither_hides_nor_replaces_what_lies_beside_it() {
    let sizes = [("char", 1usize), ("short", 2), ("int", 4), ("long long", 8)];
    for (first, first_bytes) in sizes {
        for (second, second_bytes) in sizes {
            for offset in (0..8).step_by(second_bytes) {
                let source = format!(
                    "__global__ void k(long long* o) {{ char* m = (char*)o; *({first}*)m = ({first})0x1122334455667788; \
                     *({second}*)(m + {offset}) = ({second})0x99aabbccddeeff00; o[1] = o[0]; o[2] = *({first}*)m; o[3] = *(short*)m; }}"
                );
                let memory = same_after_every_pass(&source, &[1 << 32]);
                let mut wanted: Vec<u8> = (0..8).map(|byte| byte ^ 0x5a).collect();
                let given = 0x1122_3344_5566_7788u64.to_le_bytes();
                wanted[..first_bytes].copy_from_slice(&given[..first_bytes]);
                let given = 0x99aa_bbcc_ddee_ff00u64.to_le_bytes();
                wanted[offset..offset + second_bytes].copy_from_slice(&given[..second_bytes]);
                assert_eq!(memory[..8], wanted, "{source}");
                assert_eq!(memory[8..16], wanted, "{source}");
                assert_eq!(memory[24..26], wanted[..2], "{source}");
            }
        }
    }
}
