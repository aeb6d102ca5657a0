//! The null backend: keeps accounts, checks, executes nothing. For tests and for machines that compile for devices they do not have.
//!
//! - `null:gfx1100` and the other targets of [`TARGETS`] exist by name only.
//! - Device memory is a range of addresses without storage, never handed out twice, so that use after free is always noticed. Pinned and
//!   unified memory is zeroed host memory, because the host may touch it.
//! - Copies and fills are checked against the live allocations. What is copied to the device is forgotten; what is copied from it is zeros.
//! - Launches do nothing. Modules are checked for the right machine, and their kernels are listed.
//! - Streams finish each command before the call returns; host functions do run.

mod device;
mod graph;
mod memory;
mod module;
mod stream;
mod target;

use std::sync::Arc;

pub use device::NullDevice;
pub use target::{TARGETS, Target};

use crate::{Device, DeviceInfo, DeviceKind, Driver, Error, Result};

/// The driver of `null:…`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDriver;

impl Driver for NullDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Null
    }

    fn enumerate(&self) -> Result<Vec<DeviceInfo>> {
        Ok(Vec::new())
    }

    fn open(&self, selector: &str) -> Result<Arc<dyn Device>> {
        let target = Target::find(selector).ok_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            Error::DeviceNotFound {
                name: format!("null:{selector}"),
                reason: format!("the targets are {}", names.join(", ")),
            }
        })?;
        Ok(Arc::new(NullDevice::new(target)))
    }
}
