//! A driver of another crate. It is a test program of its own because a registration lasts as long as the process.

use std::sync::Arc;

use amdgpu_hal::registry::{self, DeviceSelector};
use amdgpu_hal::{Device, DeviceInfo, DeviceKind, Driver, Error, Result};

/// Serves `sim:` devices with null devices of the same target.
#[derive(Debug)]
struct SimulatorDriver;

impl Driver for SimulatorDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Sim
    }

    fn enumerate(&self) -> Result<Vec<DeviceInfo>> {
        Ok(Vec::new())
    }

    fn open(&self, selector: &str) -> Result<Arc<dyn Device>> {
        registry::open_device(format!("null:{selector}"))
    }
}

static DRIVER: SimulatorDriver = SimulatorDriver;

#[test]
fn a_registered_driver_opens_its_devices() {
    let selector = || DeviceSelector::from("sim:gfx1100");
    let error = registry::open_device(selector()).unwrap_err();
    assert!(error.to_string().contains("no driver"), "{error}");

    registry::register(&DRIVER).unwrap();
    let device = registry::open_device(selector()).unwrap();
    assert_eq!(device.info().architecture, "gfx1100");
    assert!(registry::open_device("sim:gfx1").is_err());
    assert_eq!(
        registry::register(&DRIVER),
        Err(Error::DriverExists { kind: "sim" })
    );
}
