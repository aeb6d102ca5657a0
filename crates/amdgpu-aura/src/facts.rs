//! What launches know of a kernel without its code.

use std::fmt::Write as _;

use amdgpu_compiler::{KernelSignature, Work};

use crate::arguments::{Parameter, ParameterKind};

/// Facts about a kernel that its module was compiled to.
#[derive(Clone, Debug)]
pub struct KernelFacts {
    pub name: String,
    pub signature: String,
    pub parameters: Vec<Parameter>,
    pub argument_block_bytes: usize,
    /// Size of `__shared__` memory, without what a launch adds.
    pub static_shared_bytes: u64,
    /// CPU devices: memory for what a thread keeps across barriers.
    pub scratch_bytes_per_thread: u64,
    /// `__launch_bounds__`, where the source has it.
    pub max_threads_per_block: Option<u32>,
    /// What a work-item computes and moves, where the compiler counted it.
    pub work: Option<Work>,
}

/// A signature of the compiler, with what launches need at hand.
pub(crate) fn facts_of(signature: &KernelSignature) -> KernelFacts {
    let dtype = amdgpu_compiler::Dtype::abi;
    let element = |kind: &amdgpu_compiler::ParameterKind| match kind {
        amdgpu_compiler::ParameterKind::Pointer {
            element_bytes,
            element_align_bytes,
            ..
        } => (*element_bytes, *element_align_bytes),
        _ => (0, 1),
    };
    let parameters: Vec<Parameter> = signature
        .parameters
        .iter()
        .map(|parameter| Parameter {
            name: parameter.name.clone(),
            type_name: parameter.type_name.clone(),
            kind: match parameter.kind {
                amdgpu_compiler::ParameterKind::Pointer {
                    pointee, is_const, ..
                } => ParameterKind::Pointer {
                    pointee: pointee.map(dtype),
                    is_const,
                },
                amdgpu_compiler::ParameterKind::Struct => ParameterKind::Struct,
                amdgpu_compiler::ParameterKind::Scalar { dtype: scalar } => ParameterKind::Scalar {
                    dtype: dtype(scalar),
                },
            },
            element_bytes: element(&parameter.kind).0,
            align_bytes: element(&parameter.kind).1,
            offset_bytes: parameter.offset_bytes as usize,
            size_bytes: parameter.size_bytes as usize,
        })
        .collect();
    KernelFacts {
        name: signature.name.clone(),
        signature: signature_text(&signature.name, &parameters),
        parameters,
        argument_block_bytes: signature.argument_buffer_bytes as usize,
        static_shared_bytes: signature.static_shared_bytes,
        scratch_bytes_per_thread: signature.scratch_bytes_per_thread,
        max_threads_per_block: signature.launch_bounds.map(|bounds| bounds.max_threads),
        work: signature.work.clone(),
    }
}

/// `name(const float* a, int n)`, for messages.
fn signature_text(name: &str, parameters: &[Parameter]) -> String {
    let mut text = format!("{name}(");
    for (index, parameter) in parameters.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{separator}{} {}",
            parameter.type_name, parameter.name
        );
    }
    text.push(')');
    text
}
