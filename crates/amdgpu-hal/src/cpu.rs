//! The CPU backend: this machine's cores as a device of full standing.
//!
//! - [`pool`]: the one set of compute threads of the process.
//! - Streams are queues with a worker thread each, started when first needed. The default stream runs a command on the calling thread
//!   when nothing is queued before it, so a small launch costs no hand-over.
//! - Memory of every kind is host memory, aligned to 64 bytes; big allocations are aligned for huge pages.
//! - Modules are relocatable ELF objects. A kernel `foo` is the symbol `foo` with the signature [`KernelEntry`].

pub mod checked;
pub mod pool;

mod architecture;
mod cancel;
mod command;
mod device;
mod direct;
mod event;
mod executor;
mod graph;
mod launch;
mod limits;
mod link;
mod mapping;
mod memory;
mod module;
mod preempt;
mod queue;
mod shutdown;
mod stream;
mod sync;
mod topology;

use std::sync::Arc;

pub use device::{CpuDevice, CpuOptions};
pub use direct::DirectLaunch;
pub use executor::executor;
pub use launch::{CpuLaunch, KernelEntry};
pub use limits::{available_bytes, free_host_bytes};
pub use shutdown::{end, is_ending, stop_everything};
pub(crate) use topology::WARP_SIZE;

use crate::{Device, DeviceInfo, DeviceKind, Driver, Error, Result};

/// The driver of `cpu:0`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuDriver;

impl Driver for CpuDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn enumerate(&self) -> Result<Vec<DeviceInfo>> {
        Ok(vec![topology::device_info(limits::memory_limit_bytes()?)])
    }

    fn open(&self, selector: &str) -> Result<Arc<dyn Device>> {
        if selector != "0" {
            return Err(Error::DeviceNotFound {
                name: format!("cpu:{selector}"),
                reason: "this machine has one CPU device, cpu:0".to_string(),
            });
        }
        Ok(Arc::new(CpuDevice::open()?))
    }
}
