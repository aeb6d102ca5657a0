//! Modules of the null backend: checked, listed, never run.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::memory::Memory;
use super::target::Target;
use crate::elf::{self, Object};
use crate::gpu::image::{kernel_descriptors, variables};
use crate::{Error, Function, GlobalMemory, MemoryKind, Module, Result};

/// `EF_AMDGPU_MACH`: the bits of the flags that name the processor.
const MACHINE_FLAG_MASK: u32 = 0xff;

/// An AMD object or code object.
#[derive(Debug)]
pub struct NullModule {
    kernels: BTreeSet<String>,
    globals: BTreeMap<String, GlobalMemory>,
    memory: Arc<Memory>,
}

impl NullModule {
    pub(super) fn load(image: &[u8], target: &Target, memory: &Arc<Memory>) -> Result<Self> {
        let invalid = |reason| Error::InvalidModule { reason };
        let kernels = kernels(image, target).map_err(invalid)?;
        let variables = Object::parse(image).and_then(|object| variables(&object));
        let mut module = Self {
            kernels,
            globals: BTreeMap::new(),
            memory: Arc::clone(memory),
        };
        for (name, size_bytes) in variables.map_err(invalid)? {
            let ptr = memory.allocate(size_bytes, MemoryKind::Device)?;
            module
                .globals
                .insert(name, GlobalMemory { ptr, size_bytes });
        }
        Ok(module)
    }
}

impl Drop for NullModule {
    fn drop(&mut self) {
        for global in self.globals.values() {
            // SAFETY: allocated by `load` with this size, and freed once. Device memory of this backend is an account entry.
            let freed = unsafe {
                self.memory
                    .free(global.ptr, global.size_bytes, MemoryKind::Device)
            };
            debug_assert!(freed.is_ok());
        }
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

    fn global(&self, name: &str) -> Result<GlobalMemory> {
        let names = self.globals.keys().map(String::as_str);
        let found = self.globals.get(name).copied();
        found.ok_or_else(|| Error::global_not_found(name, names))
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
