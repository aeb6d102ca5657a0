//! The door to LLVM: text in, machine code out. The compiler does not call it; whoever owns a code generator does.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What comes out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emit {
    /// A relocatable object (ELF); for NVIDIA, PTX text.
    Object,
    Assembly,
}

impl Emit {
    pub fn text(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Assembly => "assembly",
        }
    }
}

/// One request to a code generator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CodegenRequest {
    pub triple: String,
    pub cpu: String,
    pub features: String,
    /// 0 to 3.
    pub optimization_level: u8,
    pub emit: Emit,
}

/// Turns LLVM IR text into machine code.
pub trait CodeGenerator: Send + Sync {
    fn generate(&self, llvm_ir: &str, request: &CodegenRequest) -> Result<Vec<u8>, Error>;

    /// Name and version, part of the key of cached code.
    fn identity(&self) -> String;
}
