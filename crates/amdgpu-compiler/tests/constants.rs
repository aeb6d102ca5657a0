//! Constant expressions: every operator, in every kind of type, with the values that C++ gives them.

#![allow(clippy::unwrap_used)]

use amdgpu_compiler::{CompileOptions, Compiler, Target};

/// The message of the compiler about assertions at the top of a source, or nothing.
fn compile(source: &str) -> Result<(), String> {
    let target = Target::parse("x86_64").unwrap();
    let source = format!("{source}\n__global__ void k(int* p) {{ p[0] = 1; }}\n");
    Compiler::new()
        .compile(&source, &CompileOptions::default(), &target)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Each holds, and its negation is refused as an assertion that fails.
fn hold(expressions: &[&str]) {
    let assertion = |text: &&str| format!("static_assert({text}, \"{text}\");");
    let together: Vec<String> = expressions.iter().map(assertion).collect();
    compile(&together.join("\n")).unwrap();
    for text in expressions {
        let message = compile(&format!("static_assert(!({text}), \"on purpose\");")).unwrap_err();
        assert!(message.contains("on purpose"), "{text}: {message}");
    }
}

#[test]
fn arithmetic_wraps_to_the_type_of_the_operands() {
    hold(&[
        "7 + 5 == 12",
        "7 - 9 == -2",
        "-7 * 3 == -21",
        "7 / 2 == 3 && -7 / 2 == -3 && 7 / -2 == -3",
        "7 % 3 == 1 && -7 % 3 == -1 && 7 % -3 == 1",
        "0u - 1u == 4294967295u",
        "4294967295u + 2u == 1u",
        "65536u * 65537u == 65536u",
        "(unsigned)-7 / 2u == 2147483644u",
        "(unsigned)-7 % 10u == 9u",
        "0ull - 1ull == 18446744073709551615ull",
        "18446744073709551615ull / 10ull == 1844674407370955161ull",
        "18446744073709551615ull % 10ull == 5ull",
        "-(-5) == 5 && -5 + 5 == 0",
        "-2147483647 - 1 < 0",
        "-(unsigned)1 == 4294967295u",
    ]);
}

#[test]
fn bits_are_those_of_the_type() {
    hold(&[
        "~5 == -6 && ~-1 == 0 && ~0 == -1",
        "~0u == 4294967295u && ~5u == 4294967290u",
        "~0ull == 18446744073709551615ull",
        "(12 & 10) == 8 && (12 | 10) == 14 && (12 ^ 10) == 6",
        "(-1 & 255) == 255 && (-256 | 255) == -1 && (-1 ^ 255) == -256",
        "1 << 4 == 16 && 1u << 31 == 2147483648u && 1ull << 63 == 9223372036854775808ull",
        "-16 >> 2 == -4 && -1 >> 31 == -1",
        "(unsigned)-16 >> 28 == 15u && 18446744073709551615ull >> 63 == 1ull",
        "(3 << 30) == -1073741824",
        "(unsigned char)300 == 44 && (signed char)200 == -56 && (short)40000 == -25536",
        "(unsigned short)-1 == 65535 && (bool)256 && !(bool)0",
        "(int)4294967295u == -1 && (long long)-1 == -1ll && (unsigned)-1ll == 4294967295u",
    ]);
}

#[test]
fn comparisons_go_by_the_sign_of_the_type() {
    hold(&[
        "-1 < 1 && !(1 < -1) && !(1 < 1)",
        "-1 <= 1 && 1 <= 1 && !(2 <= 1)",
        "1 > -1 && !(-1 > 1) && !(1 > 1)",
        "1 >= -1 && 1 >= 1 && !(1 >= 2)",
        "(unsigned)-1 > 1u && !((unsigned)-1 < 1u)",
        "(unsigned)-1 >= 4294967295u && 1u <= (unsigned)-1",
        "!(0u >= 1u) && !((unsigned)-1 <= 1u)",
        "-1 == -1 && !(1 == 2) && 1 != 2 && !(1 != 1)",
        "-1ll < 1ll && 18446744073709551615ull > 1ull",
    ]);
}

#[test]
fn logic_and_choices_are_those_of_the_language() {
    hold(&[
        "!0 && !!7 && !7 == 0",
        "(2 && 3) && !(2 && 0) && !(0 && 3)",
        "(0 || 2) && (2 || 0) && !(0 || 0)",
        "(1 ? 5 : 6) == 5 && (0 ? 5 : 6) == 6 && (-1 ? 5 : 6) == 5",
        "sizeof(int[1 ? 3 : 9]) == 12",
        "(true ? 1 : 2) == 1 && (false ? 1 : 2) == 2",
        "'a' == 97 && sizeof(long long) == 8 && alignof(double) == 8",
    ]);
}

#[test]
fn floats_round_to_their_type_and_become_integers_by_saturation() {
    hold(&[
        "1.5 + 2.25 == 3.75 && 1.5 - 2.25 == -0.75",
        "1.5 * 4.0 == 6.0 && 1.0 / 4.0 == 0.25",
        "-1.5 < 0.0 && 0.5 > 0.25 && 0.5 >= 0.5 && 0.5 <= 0.5 && !(0.5 < 0.5) && !(0.5 > 0.5)",
        "!(0.5 >= 0.75) && !(0.75 <= 0.5)",
        "0.5 == 0.5 && 0.5 != 0.25 && !(0.5 != 0.5) && !(0.5 == 0.25)",
        "0.1f != 0.1 && (float)0.1 == 0.1f",
        "16777217.0f == 16777216.0f && 16777217.0 != 16777216.0",
        "1.0f / 3.0f != 1.0 / 3.0",
        "(float)16777217 == 16777216.0f && (double)16777217 == 16777217.0",
        "(float)4294967295u == 4294967296.0f && (double)-1 == -1.0",
        "(double)18446744073709551615ull == 18446744073709551616.0",
        "(int)2.9 == 2 && (int)-2.9 == -2",
        "(int)1e20 == 2147483647 && (int)-1e20 == -2147483647 - 1",
        "(unsigned)-5.0 == 0u && (unsigned)1e20 == 4294967295u",
        "(long long)1e30 == 9223372036854775807ll && (unsigned long long)1e30 == 18446744073709551615ull",
        "(bool)0.5 && !(bool)0.0",
        "-(1.5) == -1.5 && -(-1.5f) == 1.5f",
    ]);
}

#[test]
fn functions_and_tables_are_evaluated() {
    let source = "
constexpr int powers[] = {1, 2, 4, 8, -16};
constexpr unsigned char bytes[4] = {255, 1};
constexpr double halves[] = {0.5, 1.5};
constexpr float thirds[2] = {1.0f / 3.0f};
struct Pair { int first; unsigned second; };
constexpr int power(int x, int n) { int r = 1; for (int i = 0; i < n; ++i) r *= x; return r; }
constexpr int steps(int n) { int count = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; count++; } return count; }
constexpr int sign(int x) { if (x < 0) return -1; else if (x > 0) return 1; return 0; }
enum { FIRST = 3, SECOND, THIRD = ~SECOND };
static_assert(powers[4] == -16 && *(powers + 3) == 8, \"integers\");
static_assert(bytes[0] == 255 && bytes[1] == 1 && bytes[3] == 0, \"bytes\");
static_assert(halves[1] == 1.5 && thirds[0] == 1.0f / 3.0f && thirds[1] == 0.0f, \"floats\");
static_assert(power(3, 4) == 81 && power(2, 0) == 1, \"loops\");
static_assert(steps(27) == 111, \"conditions\");
static_assert(sign(-9) == -1 && sign(9) == 1 && sign(0) == 0, \"branches\");
static_assert(SECOND == 4 && THIRD == -5, \"enumerators\");
";
    compile(source).unwrap();
}

#[test]
fn what_has_no_value_is_refused() {
    for (text, said) in [
        ("1 / 0 == 0", "known at compile time"),
        ("1 % 0 == 0", "known at compile time"),
        ("threadIdx.x == 0", "known at compile time"),
    ] {
        let message = compile(&format!("static_assert({text}, \"none\");")).unwrap_err();
        assert!(message.contains(said), "{text}: {message}");
    }
    let table = "constexpr int t[2] = {1, 2};\nstatic_assert(t[2] == 0, \"behind its end\");";
    assert!(compile(table).is_err());
}

#[test]
fn types_told_by_expressions_follow_their_arguments() {
    let source = "
template <typename T> struct Box { T value; };
template <typename A, typename B> __device__ auto sum(A a, B b) -> decltype(a + b) { return a + b; }
template <typename A, typename B> __device__ auto boxed(A a, B b) -> Box<decltype(a * b)> { Box<decltype(a * b)> box; box.value = a * b; return box; }
__global__ void types(double* p, int n) {
    static_assert(sizeof(sum(1.0f, n)) == 4, \"float\");
    static_assert(sizeof(sum(1.0, n)) == 8, \"double\");
    static_assert(sizeof(boxed('a', 2ll).value) == 8, \"long long\");
    static_assert(sizeof(boxed(1.0f, n)) == 4, \"a box of float\");
    p[0] = sum(p[1], n) + boxed(p[2], n).value;
}
";
    let target = Target::parse("x86_64").unwrap();
    let compiled = Compiler::new().compile(source, &CompileOptions::default(), &target);
    compiled.unwrap_or_else(|error| panic!("{error}"));
}

/// What a pass counts is what it has changed, so nothing where there is nothing to change.
#[test]
fn passes_count_nothing_in_a_kernel_without_work() {
    for target in ["x86_64", "gfx1100", "sm_90"] {
        let target = Target::parse(target).unwrap();
        let unit = Compiler::new()
            .compile(
                "__global__ void k() {}",
                &CompileOptions::default(),
                &target,
            )
            .unwrap();
        // Every kernel of a CPU has its work-items in lanes.
        let passes = unit.telemetry.passes.iter();
        for pass in passes.filter(|pass| pass.name != "work-item-vectorization") {
            assert_eq!(pass.transformations, 0, "{} for {}", pass.name, target.name);
        }
    }
}
