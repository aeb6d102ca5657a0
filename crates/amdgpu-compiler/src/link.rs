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
mod error;
mod image;
mod layout;
mod messagepack;
mod metadata;
mod object;
mod plan;
mod relocations;
mod symbols;

pub use error::LinkError;
pub use metadata::{KernelResources, resources};

use layout::Layout;
use object::Object;
use plan::Plan;
use symbols::DynamicSymbols;

/// Part of the key of cached code: changes whenever the same object could give another code object.
pub const IDENTITY: &str = "amd-linker 1";

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
