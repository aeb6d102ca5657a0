//! How a kernel is called: its parameters and where each lies in the argument buffer.

use serde::{Deserialize, Serialize};

use crate::hir;
use crate::regions::ALIGN_BYTES;
use crate::source::SourceMap;
use crate::types::{ScalarType, Type, TypeId, TypeTable};
use crate::work::Work;

/// Element types of parameters; in files and messages they have NumPy's names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl Dtype {
    /// As arrays have it.
    pub fn abi(self) -> amdgpu_abi::Dtype {
        use amdgpu_abi::Dtype as Abi;
        match self {
            Self::Bool => Abi::BOOL,
            Self::Int8 => Abi::I8,
            Self::Int16 => Abi::I16,
            Self::Int32 => Abi::I32,
            Self::Int64 => Abi::I64,
            Self::Uint8 => Abi::U8,
            Self::Uint16 => Abi::U16,
            Self::Uint32 => Abi::U32,
            Self::Uint64 => Abi::U64,
            Self::Float16 => Abi::F16,
            Self::Bfloat16 => Abi::BF16,
            Self::Float32 => Abi::F32,
            Self::Float64 => Abi::F64,
        }
    }

    /// NumPy's name.
    pub fn name(self) -> &'static str {
        self.abi().name().unwrap_or("?")
    }

    pub(crate) fn of(scalar: ScalarType) -> Self {
        match (scalar, scalar.is_signed(), scalar.bytes()) {
            (ScalarType::Bool, _, _) => Self::Bool,
            (ScalarType::Half, _, _) => Self::Float16,
            (ScalarType::BFloat16, _, _) => Self::Bfloat16,
            (ScalarType::Float, _, _) => Self::Float32,
            (ScalarType::Double, _, _) => Self::Float64,
            (_, true, 1) => Self::Int8,
            (_, true, 2) => Self::Int16,
            (_, true, 4) => Self::Int32,
            (_, true, _) => Self::Int64,
            (_, false, 1) => Self::Uint8,
            (_, false, 2) => Self::Uint16,
            (_, false, 4) => Self::Uint32,
            (_, false, _) => Self::Uint64,
        }
    }
}

/// What an argument is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ParameterKind {
    /// `pointee` is absent for `void*`, pointers to pointers and pointers to structs.
    Pointer {
        pointee: Option<Dtype>,
        is_const: bool,
        element_bytes: u64,
        element_align_bytes: u64,
    },
    Scalar {
        dtype: Dtype,
    },
    /// A struct by value: its bytes, laid out as C does.
    Struct,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    /// As the user wrote it, typedefs resolved.
    pub type_name: String,
    #[serde(flatten)]
    pub kind: ParameterKind,
    /// Where the argument lies in the argument buffer: every parameter at its alignment in C, in order.
    pub offset_bytes: u32,
    pub size_bytes: u32,
}

/// `__launch_bounds__`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaunchBounds {
    pub max_threads: u32,
    pub min_blocks: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelSignature {
    /// As the user calls it; of an instance of a template with its arguments: `scale<float, 4>`.
    pub name: String,
    /// In machine code.
    pub symbol: String,
    /// The texts by which `name_expressions` asked for it.
    pub expressions: Vec<String>,
    pub parameters: Vec<Parameter>,
    pub argument_buffer_bytes: u32,
    pub launch_bounds: Option<LaunchBounds>,
    /// `__shared__` memory whose size is known.
    #[serde(default)]
    pub static_shared_bytes: u64,
    /// On the CPU: memory for what a work-item keeps across barriers.
    #[serde(default)]
    pub scratch_bytes_per_thread: u64,
    /// Line of the kernel's name, from 1.
    pub source_line: u32,
    /// What a work-item computes and moves; absent with checks, which count it themselves.
    #[serde(default)]
    pub work: Option<Work>,
}

/// A name in machine code for any text: letters, digits and `_` stay, the rest is written with `$`, which every assembler takes.
/// Different texts have different names, since `$` in a text is written out too.
pub(crate) fn symbol_of(text: &str) -> String {
    use std::fmt::Write;
    let mut symbol = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => symbol.push(character),
            '<' => symbol.push_str("$L"),
            '>' => symbol.push_str("$G"),
            ',' => symbol.push_str("$C"),
            ' ' => symbol.push_str("$S"),
            '*' => symbol.push_str("$P"),
            '-' => symbol.push_str("$M"),
            other => {
                let _ = write!(symbol, "${:x}$", u32::from(other));
            }
        }
    }
    symbol
}

/// Bytes that the CPU backend has to provide as `agpu_cpu_launch.shared`: what work-items keep across barriers (their number
/// rounded up to 64), then shared memory of known size (rounded up to 64), then `dynamic_bytes`.
pub fn cpu_shared_bytes(
    scratch_bytes_per_thread: u64,
    static_bytes: u64,
    threads_per_block: u64,
    dynamic_bytes: u64,
) -> u64 {
    let threads = threads_per_block.next_multiple_of(ALIGN_BYTES);
    scratch_bytes_per_thread
        .saturating_mul(threads)
        .saturating_add(static_bytes.next_multiple_of(ALIGN_BYTES))
        .saturating_add(dynamic_bytes)
}

/// Signatures of all kernels, in source order.
pub(crate) fn signatures(
    program: &hir::Program,
    types: &TypeTable,
    sources: &SourceMap,
) -> Vec<KernelSignature> {
    let mut kernels: Vec<&hir::Function> = program
        .functions
        .iter()
        .filter(|function| function.is_kernel)
        .collect();
    kernels.sort_by_key(|function| function.span.start);
    kernels
        .into_iter()
        .map(|function| signature(function, types, sources))
        .collect()
}

fn signature(function: &hir::Function, types: &TypeTable, sources: &SourceMap) -> KernelSignature {
    let mut offset = 0u32;
    let mut parameters = Vec::new();
    for (index, parameter) in function.parameters.iter().enumerate() {
        let local = &function.locals[parameter.local.0 as usize];
        let size_bytes = types.bytes(local.ty) as u32;
        let offset_bytes = offset.next_multiple_of(types.align(local.ty).max(1) as u32);
        offset = offset_bytes + size_bytes;
        let name = if local.name.is_empty() {
            format!("unnamed{index}")
        } else {
            local.name.clone()
        };
        parameters.push(Parameter {
            name,
            type_name: types.text(local.ty),
            kind: kind(local.ty, types),
            offset_bytes,
            size_bytes,
        });
    }
    KernelSignature {
        name: function.display.clone(),
        symbol: function.name.clone(),
        expressions: function.aliases.clone(),
        parameters,
        argument_buffer_bytes: offset,
        launch_bounds: function.launch_bounds.map(|bounds| LaunchBounds {
            max_threads: bounds.max_threads,
            min_blocks: bounds.min_blocks,
        }),
        static_shared_bytes: 0,
        scratch_bytes_per_thread: 0,
        source_line: sources.line(function.span.start),
        work: None,
    }
}

fn kind(ty: TypeId, types: &TypeTable) -> ParameterKind {
    match types.get(ty) {
        Type::Pointer {
            pointee, is_const, ..
        } => ParameterKind::Pointer {
            pointee: types.representation(pointee).map(Dtype::of),
            is_const,
            element_bytes: types.bytes(pointee),
            element_align_bytes: types.align(pointee).max(1),
        },
        Type::Struct(_) => ParameterKind::Struct,
        _ => ParameterKind::Scalar {
            dtype: types.representation(ty).map_or(Dtype::Int32, Dtype::of),
        },
    }
}
