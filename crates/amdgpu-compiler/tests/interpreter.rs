//! Random programs of integers, interpreted as they were lowered and after each pass: the memory they leave must be the same.
//! `AMDGPU_PROGRAMS=20000 cargo test --release -p amdgpu-compiler --test interpreter` runs as many.

#![allow(clippy::expect_used)] // A test that cannot set up fails with that text.

mod support {
    pub mod interpreter;
    pub mod programs;
    pub mod random;
    pub mod stages;
}

use support::programs;
use support::stages::same_after_every_pass;

const PROGRAMS: u64 = 100;

#[test]
fn random_programs_leave_the_same_memory_after_every_pass() {
    let count = std::env::var("AMDGPU_PROGRAMS").ok();
    let count = count.and_then(|text| text.parse().ok());
    for seed in 0..count.unwrap_or(PROGRAMS) {
        let program = programs::program(seed);
        let source = [programs::PROLOGUE, programs::DECLARATIONS, &program.text].concat();
        same_after_every_pass(&source, &programs::memory(), &program.arguments);
    }
}

/// A result as C has it, for what goes into a parameter of a type.
fn of_expression(ty: &str, expression: &str, argument: i64) -> i64 {
    let source = format!("__global__ void k(long long* o, {ty} x) {{ o[0] = {expression}; }}");
    let memory = same_after_every_pass(&source, &programs::memory(), &[argument.cast_unsigned()]);
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
                let memory = same_after_every_pass(&source, &programs::memory(), &[]);
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
