//! What the verifier lets through: every operation with every combination of types (`tests/golden/types.txt`, written anew by
//! `AMDGPU_BLESS=1`), and every fault of structure with its sentence.

#![allow(clippy::expect_used)] // A text that does not parse fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use amdgpu_compiler::ir;

const TYPES: [&str; 11] = [
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "f32",
    "f64",
    "ptr",
    "ptr.global",
    "ptr.shared",
    "ptr.private",
];
/// Enough for three operands: integers, a float, a pointer.
const FEW: [&str; 5] = ["i1", "i32", "i64", "f32", "ptr.global"];

/// Operations with the number of their operands.
fn operations() -> Vec<(String, usize)> {
    let mut all = Vec::new();
    let mut add = |prefix: &str, names: &str, count: usize| {
        for name in names.split_whitespace() {
            all.push((format!("{prefix}{name}"), count));
        }
    };
    add(
        "",
        "add subtract multiply divide_signed divide_unsigned remainder_signed remainder_unsigned shift_left shift_right_signed
         shift_right_unsigned and or xor add_float subtract_float multiply_float divide_float",
        2,
    );
    add(
        "compare ",
        "equal not_equal less_signed less_equal_signed greater_signed greater_equal_signed less_unsigned less_equal_unsigned
         greater_unsigned greater_equal_unsigned equal_float not_equal_float less_float less_equal_float greater_float
         greater_equal_float",
        2,
    );
    add(
        "cast ",
        "truncate extend_signed extend_unsigned signed_to_float unsigned_to_float float_to_signed float_to_unsigned narrow_float
         widen_float reinterpret pointer_to_integer integer_to_pointer address_space",
        1,
    );
    add(
        "intrinsic ",
        "sqrt floor ceil truncate_float round_even absolute population_count leading_zeros trailing_zeros reverse_bits
         reinterpret_bits widen_half narrow_half narrow_bfloat",
        1,
    );
    add(
        "intrinsic ",
        "copy_sign minimum maximum multiply_high multiply_high_unsigned",
        2,
    );
    add(
        "intrinsic ",
        "fused_multiply_add fused_multiply_add_half",
        3,
    );
    add("intrinsic ", "is_processor", 0);
    add("", "negate load", 1);
    add("load ", "volatile nontemporal", 1);
    add("", "store", 2);
    add("store ", "volatile nontemporal", 2);
    add("", "select", 3);
    add(
        "cooperative ",
        "barrier fence_block fence_device fence_system clock_cycles clock_steady",
        0,
    );
    add("cooperative ", "wave_barrier wave_rejoin", 1);
    add("cooperative ", "wave_ballot wave_match", 2);
    add("cooperative ", "wave_shuffle", 3);
    for scope in ["", "_system"] {
        for name in "add add_float subtract minimum minimum_unsigned maximum maximum_unsigned and or xor exchange increment decrement"
            .split_whitespace()
        {
            add("cooperative ", &format!("atomic_{name}{scope}"), 2);
        }
        add(
            "cooperative ",
            &format!("atomic_compare_exchange{scope}"),
            3,
        );
    }
    add("special ", "thread_index.x lane.x", 0);
    all
}

/// A kernel with one operation on parameters of these types.
fn verdict(operation: &str, operands: &[&str], result: &str) -> Result<(), String> {
    let list = |separator: &str, item: &dyn Fn(usize, &str) -> String| {
        let items = operands.iter().enumerate();
        items
            .map(|(index, ty)| item(index, ty))
            .collect::<Vec<_>>()
            .join(separator)
    };
    let parameters = list(", ", &|index, ty| format!("p{index}: {ty}"));
    let values = list("", &|index, ty| {
        format!("  %{index} = parameter {index} : {ty}\n")
    });
    let names = list(", ", &|index, _| format!("%{index}"));
    let text = format!(
        "kernel @k({parameters}) -> void line 1 {{\n{values}b0:\n  %9 = {} : {result} !1\n  return !1\n}}\n",
        format!("{operation} {names}").trim_end()
    );
    let module = ir::parse(&text).unwrap_or_else(|message| panic!("{message}\n{text}"));
    ir::verify(&module)
}

fn combinations<'t>(types: &[&'t str], count: usize) -> Vec<Vec<&'t str>> {
    (0..count).fold(vec![Vec::new()], |lists, _| {
        let longer = |list: Vec<&'t str>| {
            types
                .iter()
                .map(move |ty| [list.clone(), vec![*ty]].concat())
        };
        lists.into_iter().flat_map(longer).collect()
    })
}

#[test]
fn operations_take_the_types_they_are_for() {
    let mut text = String::new();
    for (operation, count) in operations() {
        let types: &[&str] = if count < 3 { &TYPES } else { &FEW };
        let _ = writeln!(text, "{operation}");
        for operands in combinations(types, count) {
            let results: Vec<&str> = types
                .iter()
                .chain(&["void"])
                .copied()
                .filter(|result| verdict(&operation, &operands, result).is_ok())
                .collect();
            if !results.is_empty() {
                let _ = writeln!(
                    text,
                    "  ({}) -> {}",
                    operands.join(", "),
                    results.join(" | ")
                );
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/types.txt");
    if std::env::var_os("AMDGPU_BLESS").is_some() {
        fs::write(&path, &text).expect("writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differing = text
        .lines()
        .zip(expected.lines())
        .find(|(one, other)| one != other);
    assert!(text == expected, "(found, expected): {differing:?}");
}

const HEAD: &str = "kernel @k(p: ptr.global, c: i1) -> void line 1 {
  %0 = parameter 0 : ptr.global
  %1 = parameter 1 : i1
  %2 = constant 0x1 : i32
";
/// Blocks of a kernel behind `HEAD`, and what is wrong with them.
const FAULTS: &[(&str, &str)] = &[
    ("", "has no blocks"),
    (
        "b0:\n  jump b1 !1\n",
        "a terminator names a block that does not exist",
    ),
    (
        "b0:\n  branch %1, b0, b7 !1\n",
        "a terminator names a block that does not exist",
    ),
    (
        "b0:\n  branch %2, b0, b1 !1\nb1:\n  return !1\n",
        "b0: the condition is not i1",
    ),
    (
        "b0:\n  switch %0, b1, 0x1 b1 !1\nb1:\n  return !1\n",
        "b0: a switch over something else than an integer",
    ),
    ("b0:\n  return %2 !1\n", "b0: returns i32"),
    (
        "b0:\n  %5 = add %6, %2 : i32 !1\n  %6 = add %2, %2 : i32 !1\n  return !1\n",
        "%5: uses Some(Value(6)) where it is not available",
    ),
    (
        "b0:\n  %5 = add %5, %2 : i32 !1\n  return !1\n",
        "%5: uses Some(Value(5)) where it is not available",
    ),
    (
        "b0:\n  %5 = add %2, %2 : i32 !1\n  %5 = add %2, %2 : i32 !1\n  return !1\n",
        "%5 stands in two places",
    ),
    (
        "b0:\n  branch %1, b1, b2 !1\nb1:\n  %5 = add %2, %2 : i32 !1\n  jump b2 !1\nb2:\n  %6 = add %5, %2 : i32 !1\n  return !1\n",
        "%6: uses Some(Value(5)) where it is not available",
    ),
    (
        "b0:\n  branch %1, b1, b2 !1\nb1:\n  %5 = compare equal %2, %2 : i1 !1\n  jump b2 !1\nb2:\n  branch %5, b2, b3 !1\nb3:\n  return !1\n",
        "b2: the terminator uses %5 where it is not available",
    ),
    (
        "b0:\n  jump b1 !1\nb1:\n  %5 = add %2, %2 : i32 !1\n  %6 = phi b0 %2 : i32 !1\n  return !1\n",
        "%6: a phi after other instructions",
    ),
    (
        "b0:\n  jump b1 !1\nb1:\n  %6 = phi b0 %2, b1 %2 : i32 !1\n  return !1\n",
        "%6: a phi with 2 inputs in a block with 1 predecessors",
    ),
    (
        "b0:\n  jump b1 !1\nb1:\n  %6 = phi b1 %2 : i32 !1\n  return !1\n",
        "%6: b1 is not a predecessor",
    ),
    (
        "b0:\n  jump b1 !1\nb1:\n  %6 = phi b0 %1 : i32 !1\n  return !1\n",
        "%6: a phi input of another type",
    ),
    (
        "b0:\n  branch %1, b1, b2 !1\nb1:\n  %5 = add %2, %2 : i32 !1\n  jump b3 !1\nb2:\n  jump b3 !1\nb3:\n  %6 = phi b1 %2, b2 %5 : i32 !1\n  return !1\n",
        "%6: %5 is not available at the end of b2",
    ),
    (
        "b0:\n  %5 = call 3 : void !1\n  return !1\n",
        "%5: calls a function that does not exist",
    ),
    (
        "b0:\n  %5 = call 0 %0, %1 : i32 !1\n  return !1\n",
        "wrong types in 'call 0 %0, %1' : i32",
    ),
    (
        "b0:\n  %5 = call 0 %0 : void !1\n  return !1\n",
        "wrong types in 'call 0 %0' : void",
    ),
    (
        "b0:\n  %5 = call 0 %1, %0 : void !1\n  return !1\n",
        "wrong types in 'call 0 %1, %0' : void",
    ),
    (
        "b0:\n  %5 = slot 0 align 4 : ptr.private !1\n  return !1\n",
        "wrong types in 'slot 0 align 4' : ptr.private",
    ),
    (
        "b0:\n  %5 = slot 4 align 3 : ptr.private !1\n  return !1\n",
        "wrong types in 'slot 4 align 3' : ptr.private",
    ),
    (
        "b0:\n  %5 = slot 4 align 4 : ptr.global !1\n  return !1\n",
        "wrong types in 'slot 4 align 4' : ptr.global",
    ),
    (
        "b0:\n  %5 = offset %0, %2 scale 4 : ptr.global !1\n  return !1\n",
        "wrong types in 'offset %0, %2 scale 4' : ptr.global",
    ),
    (
        "b0:\n  %5 = copy %0, %2 bytes 4 align 4 : void !1\n  return !1\n",
        "wrong types in 'copy %0, %2 bytes 4 align 4' : void",
    ),
    (
        "b0:\n  %5 = clear %2 bytes 4 align 4 : void !1\n  return !1\n",
        "wrong types in 'clear %2 bytes 4 align 4' : void",
    ),
];

#[test]
fn faults_of_structure_have_their_sentences() {
    for (body, expected) in FAULTS {
        let text = format!("{HEAD}{body}}}\n");
        let module = ir::parse(&text).unwrap_or_else(|message| panic!("{message}\n{text}"));
        let message = ir::verify(&module).expect_err(&text);
        assert!(
            message.contains(expected),
            "{message}\ninstead of {expected}\n{text}"
        );
        assert!(message.starts_with("@k: "), "{message}");
    }
    let good = format!(
        "{HEAD}b0:\n  branch %1, b1, b2 !1\nb1:\n  %5 = add %2, %2 : i32 !1\n  jump b2 !1\nb2:\n  %6 = phi b0 %2, b1 %5 : i32 !1\n  return !1\n}}\n"
    );
    ir::verify(&ir::parse(&good).expect("parses")).expect("is well formed");
    let kernel = "kernel @k() -> i32 line 1 {\n  %0 = constant 0x1 : i32\nb0:\n  return %0 !1\n}\n";
    let message = ir::verify(&ir::parse(kernel).expect("parses")).expect_err("a kernel");
    assert_eq!(message, "@k: a kernel returns a value");
    ir::verify(&ir::parse(&kernel.replace("kernel @", "device @")).expect("parses"))
        .expect("a function");
}

#[test]
fn texts_that_are_no_ir_are_refused_with_their_line() {
    for (text, expected) in [
        ("nonsense", "line 1: malformed function header"),
        (
            "kernel @k( -> void line 1 {\n}",
            "line 1: malformed function header",
        ),
        (
            "kernel @k() -> what line 1 {\n}",
            "line 1: malformed function header",
        ),
        (
            "host @k() -> void line 1 {\n}",
            "line 1: malformed function header",
        ),
        (
            "kernel @k() -> void line 1 {\nb0:\n",
            "line 1: the function does not end",
        ),
        (
            "\n\nkernel @k() -> void line 1 {\nb0:\n  %0 = what : i32 !1\n}",
            "line 5: cannot read '%0 = what : i32 !1'",
        ),
        (
            "kernel @k() -> void line 1 {\nb0:\n  %0 = add %1 : i32 !1\n}",
            "line 3: cannot read",
        ),
        (
            "kernel @k() -> void line 1 {\nb0:\n  %0 = compare sideways %1, %2 : i1 !1\n}",
            "line 3: cannot read",
        ),
        (
            "kernel @k() -> void line 1 {\nb0:\n  %0 = select %1, %2 : i1 !1\n}",
            "line 3: cannot read",
        ),
        (
            "kernel @k() -> void line 1 {\nb0:\n  %99999999 = constant 0x1 : i1 !1\n}",
            "line 3: cannot read",
        ),
        (
            "kernel @k() -> void line 1 {\n  %0 = constant 1 : i32\n}",
            "line 2: cannot read",
        ),
        (
            "kernel @k() -> void line 1 {\n  %0 = special lane.w : i32\n}",
            "line 2: cannot read",
        ),
        ("shared @s align 4", "line 1: malformed shared memory"),
        (
            "constant @c align 4 bytes 4 = 0x",
            "line 1: malformed global",
        ),
    ] {
        let message = ir::parse(text).expect_err(text);
        assert!(
            message.starts_with(expected),
            "{message}\ninstead of {expected}\n{text}"
        );
    }
}
