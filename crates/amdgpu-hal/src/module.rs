//! Loaded code and its kernels.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::Result;

/// Machine code loaded on a device.
pub trait Module: Debug + Send + Sync {
    /// The kernel of that name.
    fn function(&self, name: &str) -> Result<Arc<dyn Function>>;

    /// The names of all kernels, sorted.
    fn function_names(&self) -> Vec<String>;
}

/// One kernel; keeps its module loaded.
pub trait Function: Debug + Send + Sync {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// For the backend that made it.
    fn as_any(&self) -> &dyn Any;
}
