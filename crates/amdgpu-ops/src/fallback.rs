//! The CPU in a device's place: what no kernel of the device computes, counted and told once.

use amdgpu_telemetry::fallback;

use crate::{DeviceOps, Error};

/// Counts and tells that the CPU computes an operation because the device does not.
pub fn record(operation: &str, ops: &DeviceOps, error: &Error) {
    let reason = format!("the CPU computes what {} does not: {error}", ops.name());
    fallback(operation, &reason);
}
