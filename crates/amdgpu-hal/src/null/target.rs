//! The processors that the null backend stands in for.

use crate::{CacheSizes, Capabilities, DeviceInfo, DeviceKind};

/// Memory of every null device: a common size of graphics cards. Nothing is reserved for it.
pub(super) const MEMORY_BYTES: u64 = 16 << 30;
/// The limit of every target below.
const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// What HIP and CUDA report for x, y and z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Those of a GPU, as far as they change what a caller must do; that kernels touch no memory makes any address good enough for them.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    host_visible: false,
    reads_host_memory: true,
    compiles_natively: false,
    context_in_shared_memory: false,
    hardware_queues: false,
    graph_host_copies: true,
    default_stream_handle: 0,
};

/// One processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// As LLVM and AMD spell it.
    pub name: &'static str,
    /// Threads of a wavefront in the default mode.
    pub warp_size: u32,
    /// Local data share of a work-group.
    pub shared_memory_per_block_bytes: u64,
    /// `EF_AMDGPU_MACH` in the flags of its object files.
    pub elf_machine_flag: u32,
}

const fn gcn(name: &'static str, elf_machine_flag: u32) -> Target {
    Target {
        name,
        warp_size: 64,
        shared_memory_per_block_bytes: 64 << 10,
        elf_machine_flag,
    }
}

const fn rdna(name: &'static str, elf_machine_flag: u32) -> Target {
    Target {
        warp_size: 32,
        ..gcn(name, elf_machine_flag)
    }
}

/// Source: LLVM, "User Guide for AMDGPU Backend", tables of processors and of `e_flags`; the local data share of gfx950 from AMD's CDNA 4
/// white paper.
pub const TARGETS: [Target; 25] = [
    gcn("gfx900", 0x2c),
    gcn("gfx906", 0x2f),
    gcn("gfx908", 0x30),
    gcn("gfx90a", 0x3f),
    gcn("gfx942", 0x4c),
    Target {
        shared_memory_per_block_bytes: 160 << 10,
        ..gcn("gfx950", 0x4f)
    },
    rdna("gfx1010", 0x33),
    rdna("gfx1012", 0x35),
    rdna("gfx1030", 0x36),
    rdna("gfx1031", 0x37),
    rdna("gfx1032", 0x38),
    rdna("gfx1033", 0x39),
    rdna("gfx1034", 0x3e),
    rdna("gfx1035", 0x3d),
    rdna("gfx1036", 0x45),
    rdna("gfx1100", 0x41),
    rdna("gfx1101", 0x46),
    rdna("gfx1102", 0x47),
    rdna("gfx1103", 0x44),
    rdna("gfx1150", 0x43),
    rdna("gfx1151", 0x4a),
    rdna("gfx1152", 0x55),
    rdna("gfx1153", 0x58),
    rdna("gfx1200", 0x48),
    rdna("gfx1201", 0x4e),
];

impl Target {
    /// The target of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    pub(super) fn device_info(&self) -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Null,
            capabilities: CAPABILITIES,
            ordinal: 0,
            name: format!("null:{}", self.name),
            product_name: format!("null device for {}", self.name),
            architecture: self.name.to_string(),
            compute_units: None,
            physical_cores: None,
            logical_cores: None,
            warp_size: self.warp_size,
            max_threads_per_block: MAX_THREADS_PER_BLOCK,
            max_threads_per_unit: None,
            max_block: MAX_BLOCK,
            max_grid: MAX_GRID,
            shared_memory_per_block_bytes: self.shared_memory_per_block_bytes,
            total_memory_bytes: MEMORY_BYTES,
            caches: CacheSizes::default(),
            simd_width_bits: None,
            features: Vec::new(),
            clock_hertz: None,
            memory_clock_hertz: None,
            memory_bus_bits: None,
            uuid: None,
            driver_version: None,
        }
    }
}
