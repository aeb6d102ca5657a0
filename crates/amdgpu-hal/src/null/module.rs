//! Modules of the null backend: checked, listed, never run.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::target::Target;
use crate::elf::{self, Object};
use crate::gpu::image::kernel_descriptors;
use crate::{Error, Function, Module, Result};

/// `EF_AMDGPU_MACH`: the bits of the flags that name the processor.
const MACHINE_FLAG_MASK: u32 = 0xff;

/// An AMD object or code object.
#[derive(Debug)]
pub struct NullModule {
    kernels: BTreeSet<String>,
}

impl NullModule {
    pub(super) fn load(image: &[u8], target: &Target) -> Result<Self> {
        kernels(image, target)
            .map(|kernels| Self { kernels })
            .map_err(|reason| Error::InvalidModule { reason })
    }
}

fn kernels(image: &[u8], target: &Target) -> std::result::Result<BTreeSet<String>, String> {
    let object = Object::parse(image)?;
    if object.machine != elf::MACHINE_AMDGPU {
        return Err(format!(
            "it is machine code for ELF machine {}, an AMD GPU has {}",
            object.machine,
            elf::MACHINE_AMDGPU
        ));
    }
    if object.file_type != elf::TYPE_RELOCATABLE && object.file_type != elf::TYPE_SHARED {
        return Err(format!(
            "ELF files of type {} are not modules",
            object.file_type
        ));
    }
    let machine = object.flags & MACHINE_FLAG_MASK;
    if machine != target.elf_machine_flag {
        return Err(format!(
            "it was compiled for another processor (EF_AMDGPU_MACH {machine:#x}), {} has {:#x}",
            target.name, target.elf_machine_flag
        ));
    }
    kernel_descriptors(&object)
}

impl Module for NullModule {
    fn function(&self, name: &str) -> Result<Arc<dyn Function>> {
        if self.kernels.contains(name) {
            Ok(Arc::new(NullFunction {
                name: name.to_string(),
            }))
        } else {
            Err(Error::kernel_not_found(
                name,
                self.kernels.iter().map(String::as_str),
            ))
        }
    }

    fn function_names(&self) -> Vec<String> {
        self.kernels.iter().cloned().collect()
    }
}

/// A kernel that does nothing.
#[derive(Debug)]
pub struct NullFunction {
    name: String,
}

impl Function for NullFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
