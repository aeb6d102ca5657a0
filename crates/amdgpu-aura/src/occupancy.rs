//! How many work-groups of a kernel one unit of its device holds at once.

use amdgpu_compiler::occupancy::occupancy;
use serde::Serialize;

use crate::error::Result;
use crate::kernel::{Kernel, LaunchShape};

/// What one unit of a device holds; what the device does not tell is absent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KernelOccupancy {
    /// `CU`, `WGP` or `SM`.
    pub unit: String,
    pub groups_per_unit: u32,
    /// Waves or warps.
    pub waves_per_unit: u32,
    pub waves_per_simd: Option<u32>,
    pub max_waves_per_unit: Option<u32>,
    pub limited_by: Option<String>,
    /// Registers of a work-item.
    pub registers: u32,
    /// Local memory of a work-group, without what a launch adds.
    pub shared_bytes: u32,
    /// Private memory of a work-item.
    pub scratch_bytes: u32,
}

impl Kernel {
    /// The occupancy in blocks of a shape: on AMD devices from the code object and the limits of the architecture, on NVIDIA devices
    /// from the driver; nothing on CPUs.
    ///
    /// # Errors
    ///
    /// A shape that the device does not launch; a driver that fails.
    pub fn occupancy(&self, block: [i64; 3], shared_bytes: i64) -> Result<Option<KernelOccupancy>> {
        let config = self.check_shape(&LaunchShape {
            grid: [1, 1, 1],
            block,
            shared_bytes,
        })?;
        let info = self.device_info();
        let threads = config.threads_per_block() as u32;
        if let Some(resources) = self.resources() {
            let found = occupancy(&info.architecture, resources, threads, config.shared_bytes);
            return Ok(found.map(|found| KernelOccupancy {
                unit: found.unit,
                groups_per_unit: found.groups_per_unit,
                waves_per_unit: found.waves_per_unit,
                waves_per_simd: Some(found.waves_per_simd),
                max_waves_per_unit: Some(found.max_waves_per_unit),
                limited_by: Some(found.limited_by),
                registers: resources.vgpr_count,
                shared_bytes: resources.lds_bytes,
                scratch_bytes: resources.scratch_bytes,
            }));
        }
        let residence = self.function().residence(threads, config.shared_bytes)?;
        Ok(residence.map(|residence| KernelOccupancy {
            unit: "SM".to_owned(),
            groups_per_unit: residence.blocks_per_unit,
            waves_per_unit: residence.blocks_per_unit * threads.div_ceil(info.warp_size.max(1)),
            waves_per_simd: None,
            max_waves_per_unit: info
                .max_threads_per_unit
                .map(|threads| threads / info.warp_size.max(1)),
            limited_by: None,
            registers: residence.registers,
            shared_bytes: residence.shared_bytes,
            scratch_bytes: residence.local_bytes,
        }))
    }
}
