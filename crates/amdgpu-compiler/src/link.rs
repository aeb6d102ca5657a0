//! The linker of AMD code objects: a relocatable object of LLVM in, the shared object that loaders of AMD GPUs take out.
//!
//! Promises:
//! - [`link`] takes one ELF64 object for `amdgcn-amd-amdhsa` and gives an `ET_DYN` with the same ABI version and processor flags:
//!   read-only data with the metadata note, the dynamic symbols and the kernel descriptors; code; data; zeroed data; each in a
//!   loadable segment of its own permissions.
//! - Kernels and their descriptors (`NAME.kd`) keep name, type, size and visibility in the dynamic symbol table.
//! - What it does not know is refused by name: relocations, undefined symbols, thread-local and initialiser sections.
//! - Any bytes end in a result or an error; every count and offset of the input is checked, every loop is bounded by the
//!   length of the input.
//! - Deterministic: equal objects give equal code objects.
//!
//! Refuses: several objects (a kernel file is one module), archives, linker scripts. Sections that are not loaded, debugging
//! information among them, are left out.
//!
//! [`resources`] reads what kernels occupy from the metadata note of a code object or of the object before linking.
//!
//! Sources: "User Guide for AMDGPU Backend" of LLVM (code object, relocation records, metadata); System V gABI, chapters 4
//! and 5; the `.gnu.hash` layout as glibc reads it. A test compares the results with those of LLVM's lld.

mod dynamic;
mod image;
mod layout;
mod messagepack;
mod metadata;
mod object;
mod plan;
mod relocations;
mod symbols;

use amdgpu_abi::{Coded, ErrorCode};

pub use metadata::{KernelResources, resources};

use layout::Layout;
use object::Object;
use plan::Plan;
use symbols::DynamicSymbols;

/// Part of the key of cached code: changes whenever the same object could give another code object.
pub const IDENTITY: &str = "amd-linker 1";

/// Why an object cannot be linked or read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The bytes are not the object they claim to be.
    #[error("the AMD object is malformed: {0}")]
    Malformed(String),
    /// The object is well formed and has something that this linker does not do.
    #[error("the AMD object has {0}, which the linker does not support")]
    Unsupported(String),
    /// The object uses what nobody defines.
    #[error("the AMD object uses undefined symbols: {}", .0.join(", "))]
    UndefinedSymbols(Vec<String>),
}

impl LinkError {
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

impl Coded for LinkError {
    fn code(&self) -> ErrorCode {
        ErrorCode::CodeGenerationFailed
    }
}

impl From<LinkError> for crate::Error {
    fn from(error: LinkError) -> Self {
        Self::CodeGenerationFailed {
            message: error.to_string(),
        }
    }
}

/// Links one relocatable AMD object into a loadable code object.
pub fn link(object: &[u8]) -> Result<Vec<u8>, LinkError> {
    let object = Object::parse(object)?;
    if object.file_type != object::TYPE_RELOCATABLE {
        return Err(LinkError::Unsupported(format!(
            "the ELF type {} (a relocatable object has {})",
            object.file_type,
            object::TYPE_RELOCATABLE
        )));
    }
    object.check()?;
    let symbols = DynamicSymbols::choose(&object)?;
    let plan = Plan::of(&object)?;
    let mut layout = Layout::new(&object, &symbols, &plan)?;
    relocations::apply(&object, &plan, &symbols, &mut layout)?;
    dynamic::fill(&object, &symbols, &mut layout)?;
    Ok(image::write(&object, &layout))
}
