//! GPUs through their vendor's driver: one implementation over a table of driver functions, which `cuda` and `hip` fill with their names.
//!
//! - The CUDA driver interface and HIP are near twins: [`functions`] lists each function once with both names and one signature. What
//!   differs (library, attribute numbers, a marker of the launch block, how the architecture is asked for) is data in a [`vendor::Vendor`].
//! - The library is opened when a device is first listed or opened, never before, and stays open: drivers do not survive being unloaded.
//!   Listing initialises the driver and makes no context. An open device retains the primary context, which PyTorch and others share.
//! - Every stream is a non-blocking one of our own. Host functions run on a thread of the stream, and what is submitted behind one is held
//!   on our side until it has run: see `queue`, which says why the driver's own host functions cannot be used.
//! - An error of a host function sticks to its stream, and commands behind it are skipped. A fault of the device ends its context:
//!   everything afterwards answers that the device is lost, naming the kernels that could have done it. Opening the device again gives the
//!   context up, resets it and makes a new one, which other libraries that shared it do not survive either.
//! - Timestamps: elapsed time since a reference event whose time on the host's clock was measured around it.

pub(crate) mod functions;
pub(crate) mod image;
pub(crate) mod vendor;

mod api;
mod context;
mod describe;
mod device;
mod event;
mod event_pool;
#[cfg(test)]
mod fake;
mod graph;
mod library;
mod loss;
mod memory;
mod module;
mod queue;
mod recording;
mod reference;
mod stream;
mod watcher;

use std::sync::Arc;

pub use library::vendor_open_flags;

use crate::{Device, DeviceInfo, Error, Result};

pub(crate) use api::Api;
pub(crate) use describe::attribute;
use vendor::Vendor;

/// The devices of a vendor, in the driver's order; none on a machine without the driver or without its devices.
pub(crate) fn enumerate(vendor: &'static Vendor) -> Result<Vec<DeviceInfo>> {
    Api::of(vendor)?.map_or_else(|_reason| Ok(Vec::new()), list)
}

fn list(api: &Api) -> Result<Vec<DeviceInfo>> {
    (0..api.device_count()?)
        .map(|ordinal| describe::describe(api, ordinal))
        .collect()
}

/// Opens a device by its number.
pub(crate) fn open(vendor: &'static Vendor, selector: &str) -> Result<Arc<dyn Device>> {
    let api = Api::of(vendor)?.map_err(|reason| not_found(vendor, selector, reason))?;
    open_in(api, selector)
}

fn open_in(api: &'static Api, selector: &str) -> Result<Arc<dyn Device>> {
    let vendor = api.vendor;
    let count = api.device_count()?;
    let ordinal = selector
        .parse::<i32>()
        .ok()
        .filter(|ordinal| (0..count).contains(ordinal))
        .ok_or_else(|| {
            let found = match count {
                0 => format!("the {} driver finds no device", vendor.name),
                1 => format!(
                    "the {} driver finds one device, {}:0",
                    vendor.name, vendor.kind
                ),
                _ => format!(
                    "the {} driver finds {count} devices, numbered from 0",
                    vendor.name
                ),
            };
            not_found(vendor, selector, found)
        })?;
    Ok(Arc::new(device::GpuDevice::open(api, ordinal)?))
}

fn not_found(vendor: &Vendor, selector: &str, reason: String) -> Error {
    Error::DeviceNotFound {
        name: format!("{}:{selector}", vendor.kind),
        reason,
    }
}

#[cfg(test)]
mod tests;
