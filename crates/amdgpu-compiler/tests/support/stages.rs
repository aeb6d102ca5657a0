//! What a source does as it was lowered and after each pass.

use amdgpu_compiler::{CompileOptions, Compiler, OptimizationLevel, Target, ir};

use super::interpreter::run;

/// What a source leaves after each stage must be what it leaves before all of them, which is given back.
pub fn same_after_every_pass(source: &str, memory: &[u8], arguments: &[u64]) -> Vec<u8> {
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
            let module = ir::parse(text).expect("IR that was printed");
            let found = run(&module, memory, arguments);
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(
                found, *expected,
                "{level:?}, {stage} with {arguments:?}:\n{source}\n{text}"
            );
        }
    }
    expected.expect("a dump of the start")
}
