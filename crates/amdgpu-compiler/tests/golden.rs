//! Golden texts of the IR and of LLVM IR for each family of targets, in `tests/golden/`.
//!
//! `AMDGPU_BLESS=1 cargo test -p amdgpu-compiler` writes them anew; the difference is then there to be reviewed.

#![allow(clippy::expect_used)] // A test that cannot read its files fails with that text.

use std::fs;
use std::path::Path;

use amdgpu_compiler::{CompileOptions, Compiler, Dtype, ParameterKind, Target, ir};

const KERNELS: &[(&str, &str)] = &[
    (
        "vector_add",
        include_str!("../../../tests/kernels/vector_add.hip"),
    ),
    ("saxpy", include_str!("../../../tests/kernels/saxpy.hip")),
    (
        "mandelbrot",
        include_str!("../../../tests/kernels/mandelbrot.hip"),
    ),
    (
        "block_reduction",
        include_str!("../../../tests/kernels/block_reduction.hip"),
    ),
    (
        "tiled_gemm",
        include_str!("../../../tests/kernels/tiled_gemm.hip"),
    ),
    ("atomics", include_str!("golden/atomics.hip")),
    ("language", include_str!("golden/language.hip")),
    ("variables", include_str!("golden/variables.hip")),
    ("narrow_floats", include_str!("golden/narrow_floats.hip")),
    ("waves", include_str!("golden/waves.hip")),
    ("volatile", include_str!("golden/volatile.hip")),
    ("nontemporal", include_str!("golden/nontemporal.hip")),
    ("n_body", include_str!("../../../tests/kernels/n_body.hip")),
    ("unrolling", include_str!("golden/unrolling.hip")),
];

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("AMDGPU_BLESS").is_some() {
        fs::write(&path, text).expect("writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{name} differs from its golden text; AMDGPU_BLESS=1 accepts this:\n{text}"
    );
}

fn compile(name: &str, source: &str, target: &str) -> amdgpu_compiler::CompiledUnit {
    let options = CompileOptions {
        name: format!("{name}.hip"),
        dump_ir: true,
        ..CompileOptions::default()
    };
    match Compiler::new().compile(
        source,
        &options,
        &Target::parse(target).expect("a known target"),
    ) {
        Ok(unit) => unit,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn ir_is_the_golden_one_and_makes_the_round_trip() {
    for (name, source) in KERNELS {
        let unit = compile(name, source, "x86_64");
        for (stage, text) in &unit.dumps {
            let module =
                ir::parse(text).unwrap_or_else(|message| panic!("{name} {stage}: {message}"));
            assert_eq!(&module.to_string(), text, "{name} {stage}");
            ir::verify(&module).unwrap_or_else(|message| panic!("{name} {stage}: {message}"));
        }
        check(
            &format!("{name}.ir"),
            &unit.portable_dumps().last().expect("passes ran").1,
        );
    }
}

#[test]
fn llvm_is_the_golden_one_for_each_family_of_targets() {
    for (name, source) in KERNELS {
        for target in ["x86_64", "gfx1100", "sm_90"] {
            let unit = compile(name, source, target);
            check(&format!("{name}.{target}.ll"), &unit.llvm_ir);
        }
    }
}

#[test]
fn the_ir_of_the_passes_is_the_same_for_every_target() {
    for (name, source) in KERNELS {
        let texts: Vec<_> = ["x86_64", "gfx90a", "sm_80"]
            .iter()
            .map(|target| compile(name, source, target).portable_dumps().to_vec())
            .collect();
        assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    }
}

#[test]
fn signatures_lay_out_arguments_like_a_c_struct() {
    let unit = compile("language", KERNELS[6].1, "x86_64");
    let kernel = &unit.kernels[0];
    assert_eq!(kernel.name, "language");
    assert_eq!(
        kernel
            .launch_bounds
            .map(|bounds| (bounds.max_threads, bounds.min_blocks)),
        Some((256, 2))
    );
    let layout: Vec<_> = kernel
        .parameters
        .iter()
        .map(|parameter| {
            (
                parameter.name.as_str(),
                parameter.type_name.as_str(),
                parameter.offset_bytes,
                parameter.size_bytes,
            )
        })
        .collect();
    assert_eq!(
        layout,
        [
            ("in", "const float*", 0, 8),
            ("out", "float*", 8, 8),
            ("particles", "Particle*", 16, 8),
            ("n", "int", 24, 4),
            ("flag", "bool", 28, 1),
            ("scale", "double", 32, 8),
            ("mode", "unsigned char", 40, 1),
        ]
    );
    assert_eq!(kernel.argument_buffer_bytes, 41);
    assert_eq!(
        kernel.parameters[0].kind,
        ParameterKind::Pointer {
            pointee: Some(Dtype::Float32),
            is_const: true,
            element_bytes: 4,
            element_align_bytes: 4
        }
    );
    assert_eq!(
        kernel.parameters[2].kind,
        ParameterKind::Pointer {
            pointee: None,
            is_const: false,
            element_bytes: 12,
            element_align_bytes: 4
        }
    );
    assert_eq!(
        kernel.parameters[4].kind,
        ParameterKind::Scalar { dtype: Dtype::Bool }
    );
    let text = serde_json::to_string(kernel).expect("serialises");
    assert_eq!(
        &serde_json::from_str::<amdgpu_compiler::KernelSignature>(&text).expect("reads back"),
        kernel
    );
}

#[test]
fn host_code_is_skipped_with_one_note() {
    let unit = compile("language", KERNELS[6].1, "x86_64");
    assert_eq!(unit.notes.len(), 1);
    assert!(
        unit.notes[0].to_string().contains("host code is skipped"),
        "{}",
        unit.notes[0]
    );
}
