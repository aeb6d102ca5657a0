//! Passes do not change what a function does: each is run on functions made for the purpose, before and after it, by a plain
//! interpreter. Pairs of integer operations with constants come in all combinations, the rest at random.

#![allow(clippy::expect_used)] // A text that does not parse fails with that text.
#![allow(clippy::many_single_char_names)] // Operands have the names that formulas give them.

mod support {
    pub mod interpreter;
    pub mod random;
}

use std::fmt::Write;

use amdgpu_compiler::{OptimizationLevel, ir, run_pass};
use support::interpreter::run;
use support::random::Random;

const OPERATIONS: [&str; 13] = [
    "add",
    "subtract",
    "multiply",
    "divide_signed",
    "divide_unsigned",
    "remainder_signed",
    "remainder_unsigned",
    "shift_left",
    "shift_right_signed",
    "shift_right_unsigned",
    "and",
    "or",
    "xor",
];
/// A constant in front of these goes behind, which random expressions see enough of.
const COMMUTATIVE: [&str; 5] = ["add", "multiply", "and", "or", "xor"];
const PREDICATES: [&str; 10] = [
    "equal",
    "not_equal",
    "less_signed",
    "less_equal_signed",
    "greater_signed",
    "greater_equal_signed",
    "less_unsigned",
    "less_equal_unsigned",
    "greater_unsigned",
    "greater_equal_unsigned",
];
/// Passes alone, and many in the order in which they help each other.
const ARITHMETIC: [&[&str]; 2] = [
    &["algebraic"],
    &[
        "constant-folding",
        "algebraic",
        "common-subexpressions",
        "algebraic",
        "constant-folding",
        "dead-code",
    ],
];
const MEMORY: [&[&str]; 2] = [
    &["memory-forwarding"],
    &["memory-forwarding", "scalar-replacement", "dead-code"],
];

/// Numbers near which integers of this width behave differently.
fn edges(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let top = 1_u64 << (bits - 1);
    let width = u64::from(bits);
    let mut numbers = vec![
        0,
        1,
        2,
        3,
        7,
        8,
        width / 2,
        width - 1,
        width,
        top - 1,
        top,
        mask - 7,
        mask,
    ];
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// A kernel under construction: constants first, then the instructions of its only block.
struct Kernel {
    constants: String,
    body: String,
    values: u32,
    bytes: u64,
}

impl Kernel {
    fn new() -> Self {
        Self {
            constants: "  %0 = parameter 0 : ptr.global\n".into(),
            body: String::new(),
            values: 1,
            bytes: 0,
        }
    }

    fn constant(&mut self, bits: u64, ty: &str) -> u32 {
        self.values += 1;
        let number = self.values - 1;
        writeln!(self.constants, "  %{number} = constant {bits:#x} : {ty}").expect("a string");
        number
    }

    fn add(&mut self, op: &str, ty: &str) -> u32 {
        self.values += 1;
        let number = self.values - 1;
        writeln!(self.body, "  %{number} = {op} : {ty} !1").expect("a string");
        number
    }

    fn place(&mut self, base: u32, space: &str, offset: u64) -> u32 {
        let index = self.constant(offset, "i64");
        self.add(&format!("offset %{base}, %{index} scale 1"), space)
    }

    /// Writes a value behind everything written so far.
    fn keep(&mut self, value: u32, bytes: u64) {
        let place = self.place(0, "ptr.global", self.bytes);
        self.add(&format!("store %{place}, %{value}"), "void");
        self.bytes += bytes;
    }

    /// A value that no pass knows, at the front of the memory.
    fn input(&mut self, ty: &str, bytes: u64) -> u32 {
        let place = self.place(0, "ptr.global", self.bytes);
        self.bytes += bytes;
        self.add(&format!("load %{place}"), ty)
    }

    fn text(&self) -> String {
        format!(
            "kernel @k(p: ptr.global) -> void line 1 {{\n{}b0:\n{}  return !1\n}}\n",
            self.constants, self.body
        )
    }
}

/// Every pipeline leaves what the kernel does to these memories as it was.
fn assert_passes_keep(kernel: &Kernel, inputs: &[Vec<u8>], pipelines: &[&[&str]]) {
    let text = kernel.text();
    let original = ir::parse(&text).unwrap_or_else(|message| panic!("{message}\n{text}"));
    ir::verify(&original).unwrap_or_else(|message| panic!("{message}\n{text}"));
    let memories: Vec<Vec<u8>> = inputs
        .iter()
        .map(|input| {
            let mut memory = input.clone();
            memory.resize(kernel.bytes as usize, 0);
            memory
        })
        .collect();
    let expected: Vec<Vec<u8>> = memories
        .iter()
        .map(|memory| run(&original, memory, &[]))
        .collect();
    for pipeline in pipelines {
        let mut module = original.clone();
        for pass in *pipeline {
            run_pass(pass, &mut module, OptimizationLevel::High).expect("a known pass");
        }
        ir::verify(&module).unwrap_or_else(|message| panic!("{pipeline:?}: {message}\n{module}"));
        for (memory, expected) in memories.iter().zip(&expected) {
            let found = run(&module, memory, &[]);
            if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
                let from = at.saturating_sub(8);
                panic!(
                    "{pipeline:?} changes byte {at}: {:x?} instead of {:x?}\n{text}\nafter:\n{module}",
                    &found[from..(at + 8).min(found.len())],
                    &expected[from..(at + 8).min(found.len())]
                );
            }
        }
    }
}

fn words(numbers: &[u64], bytes: u64) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes()[..bytes as usize].to_vec())
        .collect()
}

/// Each kernel holds the second operations and constants of one first operation and its constant, so that a failure shows little.
fn pairs(bits: u32) {
    let (ty, bytes) = (format!("i{bits}"), u64::from(bits / 8));
    let edges = edges(bits);
    let inputs: Vec<Vec<u8>> = edges.iter().map(|&x| words(&[x], bytes)).collect();
    for first in OPERATIONS {
        for &c in &edges {
            for is_turned in [false, true] {
                if is_turned && COMMUTATIVE.contains(&first) {
                    continue;
                }
                let mut kernel = Kernel::new();
                let x = kernel.input(&ty, bytes);
                let c = kernel.constant(c, &ty);
                let (a, b) = if is_turned { (c, x) } else { (x, c) };
                let inner = kernel.add(&format!("{first} %{a}, %{b}"), &ty);
                for second in OPERATIONS {
                    for &d in &edges {
                        let d = kernel.constant(d, &ty);
                        let outer = kernel.add(&format!("{second} %{inner}, %{d}"), &ty);
                        kernel.keep(outer, bytes);
                    }
                }
                assert_passes_keep(&kernel, &inputs, &ARITHMETIC);
            }
        }
    }
}

#[test]
fn pairs_of_operations_on_bytes_keep_their_results() {
    pairs(8);
}

#[test]
fn pairs_of_operations_on_ints_keep_their_results() {
    pairs(32);
}

#[test]
fn pairs_of_operations_on_longs_keep_their_results() {
    pairs(64);
}

#[test]
fn comparisons_of_sums_and_constants_keep_their_results() {
    for bits in [8, 64] {
        let (ty, bytes) = (format!("i{bits}"), u64::from(bits / 8));
        let edges = edges(bits);
        let inputs: Vec<Vec<u8>> = edges.iter().map(|&x| words(&[x], bytes)).collect();
        for operation in ["add", "subtract", "xor", "and"] {
            for &c in &edges {
                let mut kernel = Kernel::new();
                let x = kernel.input(&ty, bytes);
                let c = kernel.constant(c, &ty);
                let yes = kernel.constant(1, "i8");
                let no = kernel.constant(0, "i8");
                let one = kernel.constant(1, "i1");
                let inner = kernel.add(&format!("{operation} %{x}, %{c}"), &ty);
                for predicate in PREDICATES {
                    for &d in &edges {
                        let d = kernel.constant(d, &ty);
                        for (a, b) in [(inner, d), (d, inner), (x, inner), (inner, inner)] {
                            let holds =
                                kernel.add(&format!("compare {predicate} %{a}, %{b}"), "i1");
                            let fails = kernel.add(&format!("xor %{holds}, %{one}"), "i1");
                            let chosen =
                                kernel.add(&format!("select %{fails}, %{yes}, %{no}"), "i8");
                            kernel.keep(chosen, 1);
                        }
                    }
                }
                assert_passes_keep(&kernel, &inputs, &ARITHMETIC);
            }
        }
    }
}

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// An operation on some of the values, each of which comes with its width.
fn random_value(kernel: &mut Kernel, random: &mut Random, values: &[(u32, u32)]) -> (u32, u32) {
    let (a, bits) = random.of(values);
    let ty = format!("i{bits}");
    let same: Vec<u32> = values
        .iter()
        .filter(|(_, other)| *other == bits)
        .map(|(value, _)| *value)
        .collect();
    let b = if random.is_true() {
        let edge = random.of(&edges(bits));
        kernel.constant(edge, &ty)
    } else {
        random.of(&same)
    };
    let (a, b) = if random.below(5) == 0 { (b, a) } else { (a, b) };
    match random.below(8) {
        0 => {
            let predicate = random.of(&PREDICATES);
            let condition = kernel.add(&format!("compare {predicate} %{a}, %{b}"), "i1");
            (
                kernel.add(&format!("select %{condition}, %{a}, %{b}"), &ty),
                bits,
            )
        }
        1 | 2 => {
            let to = random.of(&WIDTHS);
            let kind = match to.cmp(&bits) {
                std::cmp::Ordering::Less => "truncate",
                std::cmp::Ordering::Equal => return (a, bits),
                std::cmp::Ordering::Greater => random.of(&["extend_signed", "extend_unsigned"]),
            };
            (
                kernel.add(&format!("cast {kind} %{a}"), &format!("i{to}")),
                to,
            )
        }
        _ => {
            let operation = random.of(&OPERATIONS);
            (kernel.add(&format!("{operation} %{a}, %{b}"), &ty), bits)
        }
    }
}

#[test]
fn random_expressions_keep_their_results() {
    let mut random = Random(1);
    for _ in 0..150 {
        let mut kernel = Kernel::new();
        let mut values = Vec::new();
        for bits in WIDTHS {
            values.push((kernel.input(&format!("i{bits}"), u64::from(bits / 8)), bits));
        }
        for _ in 0..40 {
            let value = random_value(&mut kernel, &mut random, &values);
            values.push(value);
        }
        for (value, bits) in values {
            kernel.keep(value, u64::from(bits / 8));
        }
        let inputs: Vec<Vec<u8>> = (0..12)
            .map(|_| {
                WIDTHS
                    .iter()
                    .flat_map(|&bits| {
                        let any = random.next();
                        let edge = random.of(&edges(bits));
                        words(
                            &[if any & 1 == 0 { any } else { edge }],
                            u64::from(bits / 8),
                        )
                    })
                    .collect()
            })
            .collect();
        assert_passes_keep(&kernel, &inputs, &ARITHMETIC);
    }
}

#[test]
fn loads_and_stores_of_several_sizes_over_each_other_keep_their_results() {
    const ROOM: u64 = 16;
    let mut random = Random(2);
    for _ in 0..300 {
        let mut kernel = Kernel::new();
        kernel.bytes = ROOM;
        let slot = kernel.add(&format!("slot {ROOM} align 8"), "ptr.private");
        // What nobody has written has no value.
        for half in [0, 8] {
            let number = random.next();
            let number = kernel.constant(number, "i64");
            let place = kernel.place(slot, "ptr.private", half);
            kernel.add(&format!("store %{place}, %{number}"), "void");
        }
        let mut loaded = Vec::new();
        for _ in 0..14 {
            let bits = random.of(&WIDTHS);
            let (ty, bytes) = (format!("i{bits}"), u64::from(bits / 8));
            let at = random.next() % (ROOM / bytes) * bytes;
            let place = if random.is_true() {
                kernel.place(0, "ptr.global", at)
            } else {
                kernel.place(slot, "ptr.private", at)
            };
            if random.is_true() {
                loaded.push((kernel.add(&format!("load %{place}"), &ty), bytes));
            } else {
                let number = random.next() >> (64 - bits);
                let number = kernel.constant(number, &ty);
                kernel.add(&format!("store %{place}, %{number}"), "void");
            }
        }
        for (value, bytes) in loaded {
            kernel.keep(value, bytes);
        }
        let inputs: Vec<Vec<u8>> = (0..3)
            .map(|_| words(&[random.next(), random.next()], 8))
            .collect();
        assert_passes_keep(&kernel, &inputs, &MEMORY);
    }
}
