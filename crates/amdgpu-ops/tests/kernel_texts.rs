//! The texts of generated kernels that follow from `ops.toml` and `dtypes.toml`, as a golden file: a line for each operation with a hash of
//! all texts it gives. Caches of compiled kernels, and the bits of results, hang on every byte of them.
//! `AMDGPU_BLESS=1 cargo test -p amdgpu-ops --test kernel_texts` accepts new ones.

use std::fmt::Write as _;
use std::path::Path;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::TENSOR_DTYPES;
use amdgpu_ops::generated::complex::ComplexText;
use amdgpu_ops::generated::elementwise::{Body, Kind, Signature, Walk};
use amdgpu_ops::generated::matmul::{Memory, Signature as MatmulSignature, after_sums};
use amdgpu_ops::generated::source;
use amdgpu_ops::matmul::Activation;
use amdgpu_ops::{Complex, Elementwise};

const COMPUTED: [Dtype; 5] = [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64, Dtype::U64];

/// Fowler, Noll and Vo's hash, FNV-1a of 64 bits: the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn body_of(operation: Elementwise) -> Body {
    if operation == Elementwise::Standardize {
        Body::Standardize
    } else {
        Body::Named(operation.name())
    }
}

/// Every kernel of an operation: of each dtype that it may be computed in, with each result, dense and with strides.
fn texts_of(body: &Body, inputs: usize) -> String {
    let mut text = String::new();
    for computed in COMPUTED {
        for result in TENSOR_DTYPES {
            let kinds: Vec<_> = (0..inputs)
                .map(|index| Kind {
                    dtype: result,
                    is_array: index != 1,
                })
                .collect();
            let signature = Signature {
                body,
                kinds: &kinds,
                result,
                computed,
            };
            text += &signature.flat_source(body.packs_in_flight());
            let arrays = 1 + kinds.iter().filter(|kind| kind.is_array).count();
            for pack in [1, signature.pack()] {
                text += &signature.strided_source(&Walk {
                    are_dense: (0..arrays).map(|index| index % 2 == 0).collect(),
                    rank: 2,
                    index: source::index_type(1 << 20),
                    pack,
                    repeats: vec![false; arrays],
                    ahead: if pack > 1 { body.packs_in_flight() } else { 1 },
                });
            }
        }
    }
    text
}

/// A tiled matrix multiplication that ends with an activation, and the kernel behind another one's sums.
fn texts_of_activation(activation: Activation) -> String {
    let mut text = String::new();
    for sums in [Dtype::F32, Dtype::F64, Dtype::I32] {
        for held in [false, true] {
            text += &texts_of(&after_sums(activation.name(), sums, held, 2), 6);
        }
        let memory = ["a", "b", "out", "bias"].map(|name| Memory {
            name,
            dtype: sums,
            is_dense: true,
        });
        let signature = MatmulSignature {
            memory: &memory,
            sums,
            rounding: Some(Dtype::BF16),
            activation: activation.name(),
            rank: 1,
            is_a_inner: true,
            is_b_inner: false,
        };
        let tiled = signature.tiled();
        for part in [
            tiled.head,
            tiled.parameters,
            tiled.left,
            tiled.right,
            tiled.store,
        ] {
            text += &part;
        }
    }
    text
}

/// Every kernel of an operation on complex numbers: of both dtypes, beside a real array and a number, dense and with strides.
fn texts_of_complex(operation: Complex) -> String {
    let mut text = String::new();
    let inputs = operation.inputs().len();
    for dtype in [Dtype::C64, Dtype::C128] {
        let kinds: Vec<_> = (0..inputs)
            .map(|index| Kind {
                dtype: if index == 0 { dtype } else { Dtype::F32 },
                is_array: index != 2,
            })
            .collect();
        let dtypes: Vec<_> = kinds.iter().map(|kind| kind.dtype).collect();
        // The condition of `where` is real.
        let (common, result) = operation
            .result_dtypes(&dtypes)
            .unwrap_or((Dtype::C64, Dtype::C64));
        for rank in [0, 2] {
            let are_dense = vec![rank == 0; 1 + inputs.min(2)];
            text += &ComplexText {
                operation,
                kinds: &kinds,
                result,
                computed: operation.computed_in(common),
                are_dense: &are_dense,
                rank,
                index: source::index_type(1 << 20),
            }
            .source();
        }
    }
    text
}

#[test]
fn kernel_texts_are_those_of_the_golden_file() {
    let mut lines = String::new();
    for operation in Elementwise::ALL {
        let texts = texts_of(&body_of(*operation), operation.inputs().len());
        let _ = writeln!(lines, "{} {:016x}", operation.name(), hash(&texts));
    }
    for activation in Activation::ALL {
        let texts = texts_of_activation(activation);
        let _ = writeln!(lines, "matmul {} {:016x}", activation.name(), hash(&texts));
    }
    for operation in Complex::ALL {
        let texts = texts_of_complex(*operation);
        let _ = writeln!(lines, "complex {} {:016x}", operation.name(), hash(&texts));
    }
    for dtype in TENSOR_DTYPES {
        let _ = writeln!(
            lines,
            "type {} {}",
            dtype.name().unwrap(),
            source::c_type(dtype)
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/kernel_texts.txt");
    if std::env::var_os("AMDGPU_BLESS").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<_> = golden
        .lines()
        .filter(|line| !lines.contains(&format!("{line}\n")))
        .chain(
            lines
                .lines()
                .filter(|line| !golden.contains(&format!("{line}\n"))),
        )
        .collect();
    assert!(
        golden == lines,
        "kernels have other texts than before (AMDGPU_BLESS=1 accepts them):\n{}",
        changed.join("\n")
    );
}
