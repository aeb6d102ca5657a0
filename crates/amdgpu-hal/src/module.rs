//! Loaded code and its kernels.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::{DevicePointer, Result};

/// Where a variable of a module lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalMemory {
    pub ptr: DevicePointer,
    pub size_bytes: u64,
}

/// Machine code loaded on a device.
pub trait Module: Debug + Send + Sync {
    /// The kernel of that name.
    fn function(&self, name: &str) -> Result<Arc<dyn Function>>;

    /// The names of all kernels, sorted.
    fn function_names(&self) -> Vec<String>;

    /// The variable of that name; its memory lives as long as the module.
    fn global(&self, name: &str) -> Result<GlobalMemory>;
}

/// One kernel; keeps its module loaded.
pub trait Function: Debug + Send + Sync {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// For the backend that made it.
    fn as_any(&self) -> &dyn Any;

    /// What the kernel occupies and how many blocks of a size one unit of the device holds; nothing where no driver tells.
    fn residence(&self, threads: u32, dynamic_shared_bytes: u32) -> Result<Option<Residence>> {
        let _ = (threads, dynamic_shared_bytes);
        Ok(None)
    }
}

/// What a driver says about a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residence {
    /// Of a thread.
    pub registers: u32,
    /// Of a block, without what a launch adds.
    pub shared_bytes: u32,
    /// Private memory of a thread.
    pub local_bytes: u32,
    pub blocks_per_unit: u32,
}
