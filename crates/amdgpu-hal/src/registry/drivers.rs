//! The table of drivers: one for each kind of device.

use std::sync::OnceLock;

use crate::cpu::CpuDriver;
use crate::cuda::CudaDriver;
use crate::hip::HipDriver;
use crate::null::NullDriver;
use crate::{DeviceKind, Driver, Error, Result};

/// The drivers of this crate.
static BUILT_IN: [&dyn Driver; 4] = [&HipDriver, &CudaDriver, &CpuDriver, &NullDriver];

/// Drivers that other crates registered, by the position of their kind in [`DeviceKind::ALL`]. A slot is written once and read without a
/// lock, so that a child after `fork()` reads what its parent had.
static REGISTERED: [OnceLock<&'static dyn Driver>; DeviceKind::ALL.len()] =
    [const { OnceLock::new() }; DeviceKind::ALL.len()];

/// Adds the driver of a kind of device that has none yet: from now on its devices are listed and opened like all others.
///
/// # Errors
///
/// [`Error::DriverExists`] when the kind has a driver.
pub fn register(driver: &'static dyn Driver) -> Result<()> {
    let kind = driver.kind();
    let exists = Error::DriverExists { kind: kind.name() };
    if BUILT_IN.iter().any(|known| known.kind() == kind) {
        return Err(exists);
    }
    REGISTERED[kind as usize].set(driver).map_err(|_| exists)
}

/// The driver of a kind of device. `name` is the device that is asked for, for the message.
pub(super) fn find(kind: DeviceKind, name: &str) -> Result<&'static dyn Driver> {
    let built_in = BUILT_IN.iter().find(|driver| driver.kind() == kind);
    built_in
        .or_else(|| REGISTERED[kind as usize].get())
        .copied()
        .ok_or_else(|| Error::DeviceNotFound {
            name: name.to_string(),
            reason: format!("this version has no driver for {kind} devices"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_with_a_driver_takes_no_second_one() {
        for driver in BUILT_IN {
            let error = register(driver).unwrap_err();
            assert!(error.to_string().contains(driver.kind().name()), "{error}");
        }
    }

    #[test]
    fn every_kind_has_its_own_slot() {
        for (position, kind) in DeviceKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, position);
        }
    }
}
