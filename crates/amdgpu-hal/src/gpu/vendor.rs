//! What differs between the drivers, as data.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use once_cell::race::OnceBox;

use super::api::{Api, Loaded};
use super::functions::{Dialect, Status};
use crate::{Capabilities, DeviceKind};

/// A vendor's driver.
pub(crate) struct Vendor {
    pub kind: DeviceKind,
    /// What its devices can do.
    pub capabilities: Capabilities,
    pub dialect: Dialect,
    /// What the interface is called.
    pub name: &'static str,
    /// For errors in a forked child.
    pub driver: &'static str,
    /// File names and paths to try, best first.
    pub libraries: fn() -> Vec<PathBuf>,
    /// Why there can be no device, before the library is opened.
    pub look_for_devices: fn() -> Result<(), String>,
    pub attributes: Attributes,
    /// Ends the list that hands an argument block to a launch.
    pub launch_list_end: usize,
    /// Sets how much dynamic shared memory a function may use, where the driver wants to be told.
    pub set_function_attribute: Option<&'static CStr>,
    /// Functions that fill in the record of a device's properties, best first; only for [`Self::architecture`].
    pub properties: &'static [&'static CStr],
    /// The instruction set and processor: `sm_90`, `gfx1100`.
    pub architecture: fn(&Api, i32) -> crate::Result<String>,
    /// The text of a universally unique identifier.
    pub uuid: fn(&[u8; 16]) -> Option<String>,
    /// The text of the number that the driver gives as its version.
    pub version: fn(i32) -> String,
    /// Statuses of a module load that speak about the module, not about the driver.
    pub module_statuses: &'static [Status],
    /// Statuses after which the context is unusable.
    pub lost_statuses: &'static [Status],
    /// Whether a module load takes options that ask for the log of the compiler inside the driver.
    pub has_load_log: bool,
    pub loaded: OnceBox<Loaded>,
    /// In which process loading began.
    pub loading: AtomicU64,
}

/// Numbers of device attributes.
pub(crate) struct Attributes {
    pub max_threads_per_block: i32,
    pub max_threads_per_unit: i32,
    pub max_block: [i32; 3],
    pub max_grid: [i32; 3],
    pub shared_memory_per_block: i32,
    /// The limit for kernels that ask for it, where there is such a thing.
    pub shared_memory_per_block_opt_in: Option<i32>,
    pub warp_size: i32,
    pub clock_kilohertz: i32,
    pub memory_clock_kilohertz: i32,
    pub memory_bus_bits: i32,
    pub compute_units: i32,
    pub level2_cache: i32,
}

impl std::fmt::Debug for Vendor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}
