//! What a device says of itself.

mod capabilities;
mod cores;
mod peaks;

use std::fmt;

pub use capabilities::Capabilities;
pub use peaks::Peaks;

/// Kinds of device, in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    /// AMD GPU through `libamdhip64`.
    Hip,
    /// NVIDIA GPU through `libcuda`.
    Cuda,
    /// This machine's cores.
    Cpu,
    /// Simulated AMD GPU.
    Sim,
    /// Nothing: accounts and checks only.
    Null,
}

impl DeviceKind {
    /// All kinds, in listing order.
    pub const ALL: [Self; 5] = [Self::Hip, Self::Cuda, Self::Cpu, Self::Sim, Self::Null];

    /// The part of a device name before the colon.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hip => "hip",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            Self::Sim => "sim",
            Self::Null => "null",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Cache sizes in bytes. Level 1 and 2 are those of one core or compute unit, level 3 that of the first shared domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSizes {
    pub level1_data_bytes: Option<u64>,
    pub level1_instruction_bytes: Option<u64>,
    pub level2_bytes: Option<u64>,
    pub level3_bytes: Option<u64>,
}

/// What a device is. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Part of the name; what the device can do stands in `capabilities`.
    pub kind: DeviceKind,
    pub capabilities: Capabilities,
    /// Number among the devices of its kind.
    pub ordinal: u32,
    /// `cpu:0`, `null:gfx1100`.
    pub name: String,
    /// What the vendor calls it.
    pub product_name: String,
    /// Instruction set and core: `x86_64 znver4`, `gfx1100`.
    pub architecture: String,
    /// CPU: physical cores. AMD: compute units. NVIDIA: SMs.
    pub compute_units: Option<u32>,
    pub physical_cores: Option<u32>,
    /// Cores this process may run on.
    pub logical_cores: Option<u32>,
    /// Threads of a warp (wavefront) as kernels see it.
    pub warp_size: u32,
    pub max_threads_per_block: u32,
    /// Threads that one compute unit holds at once.
    pub max_threads_per_unit: Option<u32>,
    pub max_block: [u32; 3],
    pub max_grid: [u32; 3],
    pub shared_memory_per_block_bytes: u64,
    /// Bytes the device lets this process use.
    pub total_memory_bytes: u64,
    pub caches: CacheSizes,
    /// Width of a vector register.
    pub simd_width_bits: Option<u32>,
    /// Instruction set extensions, as the vendor spells them, sorted.
    pub features: Vec<String>,
    /// Highest clock the system tells of.
    pub clock_hertz: Option<u64>,
    /// Of the device's own memory, as its driver tells it.
    pub memory_clock_hertz: Option<u64>,
    pub memory_bus_bits: Option<u32>,
    pub uuid: Option<String>,
    pub driver_version: Option<String>,
}

impl DeviceInfo {
    /// What follows the colon in the name.
    #[must_use]
    pub fn selector(&self) -> &str {
        self.name.split_once(':').map_or("", |(_, rest)| rest)
    }
}
