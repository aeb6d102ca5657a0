//! Drivers: one per kind of device.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{Device, DeviceInfo, DeviceKind, Result};

/// Finds and opens devices of one kind.
pub trait Driver: Debug + Send + Sync {
    /// The kind of device this driver serves.
    fn kind(&self) -> DeviceKind;

    /// The devices present, in ordinal order. Devices that exist by name only (`null`, `sim`) are not listed.
    fn enumerate(&self) -> Result<Vec<DeviceInfo>>;

    /// Opens a device by what follows the colon in its name: `0` in `cpu:0`, `gfx1100` in `null:gfx1100`.
    ///
    /// Each call gives a device with a default stream of its own; memory limits are shared by all of them.
    fn open(&self, selector: &str) -> Result<Arc<dyn Device>>;
}
