//! Modules and functions of the CPU backend.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::launch::KernelEntry;
use super::link::Image;
use crate::{DevicePointer, Error, Function, GlobalMemory, Module, Result};

/// A loaded relocatable object.
#[derive(Debug)]
pub struct CpuModule {
    image: Arc<Image>,
}

impl CpuModule {
    pub(super) fn load(bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            image: Arc::new(Image::load(bytes)?),
        })
    }
}

impl Module for CpuModule {
    fn function(&self, name: &str) -> Result<Arc<dyn Function>> {
        let address = self
            .image
            .function(name)
            .ok_or_else(|| Error::kernel_not_found(name, self.image.function_names()))?;
        // SAFETY: the address is that of a function symbol inside mapped code. That it has this signature is the promise of whoever
        // compiled the object, and is relied upon only by launches, which are unsafe.
        let entry = unsafe { std::mem::transmute::<*const u8, KernelEntry>(address) };
        Ok(Arc::new(CpuFunction {
            name: Arc::from(name),
            entry,
            image: Arc::clone(&self.image),
        }))
    }

    fn function_names(&self) -> Vec<String> {
        self.image.function_names().map(str::to_string).collect()
    }

    fn global(&self, name: &str) -> Result<GlobalMemory> {
        self.image
            .variable(name)
            .map(|(address, size_bytes)| GlobalMemory {
                ptr: DevicePointer::from_host(address),
                size_bytes,
            })
            .ok_or_else(|| Error::global_not_found(name, self.image.variable_names()))
    }
}

/// One kernel of a module.
#[derive(Clone, Debug)]
pub struct CpuFunction {
    name: Arc<str>,
    entry: KernelEntry,
    // Keeps the code mapped.
    image: Arc<Image>,
}

impl CpuFunction {
    /// Addresses of the module's memory.
    pub(super) fn data_range(&self) -> Range<u64> {
        self.image.range()
    }

    /// The same, as instructions are addressed.
    pub(super) fn code_range(&self) -> Range<usize> {
        let range = self.image.range();
        range.start as usize..range.end as usize
    }

    pub(super) fn entry(&self) -> KernelEntry {
        self.entry
    }
}

impl Function for CpuFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
