//! Each pass alone on a text of its own, in `tests/passes/`: `NAME.ir` before, `NAME.after.ir` after, with what the pass noticed as
//! comments behind it, and how many changes it counted. `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler` writes the latter anew.

#![allow(clippy::expect_used)] // A test that cannot read its files fails with that text.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use amdgpu_compiler::{OptimizationLevel, ir, ir_pass_names, run_pass};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes")
}

#[test]
fn every_pass_makes_of_its_text_what_is_expected() {
    for name in ir_pass_names() {
        let text = fs::read_to_string(folder().join(format!("{name}.ir")))
            .unwrap_or_else(|error| panic!("every pass has a text of its own; {name}: {error}"));
        let mut module = ir::parse(&text).unwrap_or_else(|message| panic!("{name}: {message}"));
        ir::verify(&module).unwrap_or_else(|message| panic!("{name}: {message}"));
        let instructions = |module: &ir::Module| -> u64 {
            let functions = module.functions.iter();
            functions
                .map(|function| function.instruction_count() as u64)
                .sum()
        };
        let before = instructions(&module);
        let metrics = run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        assert_eq!(
            before + metrics.instructions_added,
            instructions(&module) + metrics.instructions_removed,
            "{name}"
        );
        assert!(metrics.instructions_added == 0 || metrics.instructions_removed == 0);
        ir::verify(&module).unwrap_or_else(|message| panic!("after {name}: {message}\n{module}"));
        let mut after = module.to_string();
        for finding in &metrics.findings {
            writeln!(
                after,
                "; {}:{}: {}",
                finding.function, finding.line, finding.text
            )
            .expect("a string takes it");
        }
        writeln!(after, "; transformations: {}", metrics.transformations)
            .expect("a string takes it");
        let path = folder().join(format!("{name}.after.ir"));
        if std::env::var_os("AMDGPU_BLESS").is_some() {
            fs::write(&path, &after).expect("writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            after == expected,
            "{name} gives another text than the golden one; AMDGPU_BLESS=1 accepts this:\n{after}"
        );
        assert_ne!(after, text, "the text of {name} does not show what it does");
    }
}

#[test]
fn a_pass_has_nothing_left_to_do_on_its_own_result() {
    // Rounds that other passes make possible are theirs; these end in one.
    for name in [
        "constant-folding",
        "common-subexpressions",
        "dead-code",
        "control-flow",
        "inlining",
    ] {
        let text = fs::read_to_string(folder().join(format!("{name}.ir"))).expect("readable");
        let mut module = ir::parse(&text).expect("parses");
        run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        let once = module.to_string();
        run_pass(name, &mut module, OptimizationLevel::High).expect("a known pass");
        assert_eq!(module.to_string(), once, "{name}");
    }
}

#[test]
fn no_pass_removes_merges_or_moves_nontemporal_stores() {
    // Stores one over the other and in a loop; loads of what they wrote, plain and past the caches, and one that nobody uses.
    let text = "kernel @k(p: ptr.global, q: ptr.global) -> void line 1 {
  %0 = parameter 0 : ptr.global
  %1 = parameter 1 : ptr.global
  %2 = constant 0x0 : i32
  %3 = constant 0x1 : i32
b0:
  %4 = load %0 : i32 !2
  %5 = store nontemporal %0, %3 : void !3
  %6 = store nontemporal %0, %4 : void !4
  %7 = load %0 : i32 !5
  %8 = load nontemporal %0 : i32 !6
  %9 = load nontemporal %1 : i32 !7
  %10 = add %7, %8 : i32 !8
  %11 = store %1, %10 : void !8
  jump b1 !9
b1:
  %12 = store nontemporal %0, %2 : void !10
  %13 = load nontemporal %1 : i32 !11
  %14 = compare equal %13, %2 : i1 !11
  branch %14, b1, b2 !11
b2:
  return !12
}
";
    let lines_of = |module: &ir::Module, op: &str| -> Vec<u32> {
        let function = &module.functions[0];
        let values = (function.blocks.iter()).flat_map(|block| &block.instructions);
        values
            .filter(|value| match function.op(**value) {
                ir::Op::NontemporalStore { .. } => op == "store",
                ir::Op::NontemporalLoad(_) => op == "nontemporal load",
                ir::Op::Load(_) => op == "load",
                _ => false,
            })
            .map(|value| function.values[value.0 as usize].line)
            .collect()
    };
    for name in ir_pass_names() {
        let mut module = ir::parse(text).expect("parses");
        assert_eq!(module.to_string(), text);
        ir::verify(&module).expect("valid");
        run_pass(name, &mut module, OptimizationLevel::Max).expect("a known pass");
        assert_eq!(lines_of(&module, "store"), [3, 4, 10], "{name}");
        // What was known of the memory before the stores is forgotten.
        assert_eq!(lines_of(&module, "load"), [2, 5], "{name}");
        let loads = lines_of(&module, "nontemporal load");
        assert!(
            loads == [6, 7, 11] || loads == [6, 11],
            "{name} moved or merged a load: {loads:?}"
        );
    }
}

#[test]
fn no_pass_removes_merges_or_moves_volatile_accesses() {
    // Loads of one place one after the other, in a loop and unused; stores one over the other; private memory nobody else sees.
    let text = "kernel @k(p: ptr.global, q: ptr.global) -> void line 1 {
  %0 = parameter 0 : ptr.global
  %1 = parameter 1 : ptr.global
  %2 = constant 0x0 : i32
  %3 = constant 0x1 : i32
b0:
  %4 = slot 4 align 4 : ptr.private !1
  %5 = store volatile %4, %3 : void !2
  %6 = store volatile %4, %2 : void !3
  %7 = load volatile %4 : i32 !4
  %8 = store volatile %0, %3 : void !5
  %9 = store volatile %0, %3 : void !6
  %10 = load volatile %0 : i32 !7
  %11 = load volatile %0 : i32 !8
  %12 = add %10, %11 : i32 !8
  %13 = store %1, %12 : void !8
  jump b1 !9
b1:
  %14 = load volatile %0 : i32 !10
  %15 = compare equal %14, %2 : i1 !10
  branch %15, b1, b2 !10
b2:
  return !11
}
";
    let accesses = |module: &ir::Module| -> Vec<String> {
        module
            .to_string()
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .filter(|(_, op)| op.contains("volatile"))
            .map(|(_, op)| op.to_owned())
            .collect()
    };
    let before = accesses(&ir::parse(text).expect("parses"));
    assert_eq!(before.len(), 8);
    for name in ir_pass_names() {
        let mut module = ir::parse(text).expect("parses");
        assert_eq!(module.to_string(), text);
        ir::verify(&module).expect("valid");
        run_pass(name, &mut module, OptimizationLevel::Max).expect("a known pass");
        assert_eq!(accesses(&module), before, "{name}");
        let polled = module.functions[0]
            .blocks
            .iter()
            .position(|block| {
                block
                    .instructions
                    .iter()
                    .any(|value| module.functions[0].values[value.0 as usize].line == 10)
            })
            .expect("the polling load stays");
        assert!(
            matches!(&module.functions[0].blocks[polled].terminator,
                ir::Terminator::Branch { yes, no, .. } if yes.0 as usize == polled || no.0 as usize == polled),
            "{name} took the polling load out of its loop"
        );
    }
}
