//! NVIDIA GPUs through `libcuda`, the driver's own library; nothing of the CUDA toolkit is needed.
//!
//! Modules are PTX text, which the driver compiles for the GPU at hand, or cubins. Source of numbers: `cuda.h`, as the CUDA Driver API
//! reference manual gives it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use once_cell::race::OnceBox;

use crate::gpu::functions::Dialect;
use crate::gpu::vendor::{Attributes, Vendor};
use crate::{Capabilities, Device, DeviceInfo, DeviceKind, Driver, Result, gpu};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const COMPUTE_CAPABILITY: [i32; 2] = [75, 76];

/// The driver of `cuda:N`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CudaDriver;

impl Driver for CudaDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn enumerate(&self) -> Result<Vec<DeviceInfo>> {
        gpu::enumerate(&VENDOR)
    }

    fn open(&self, selector: &str) -> Result<Arc<dyn Device>> {
        gpu::open(&VENDOR, selector)
    }
}

static VENDOR: Vendor = Vendor {
    kind: DeviceKind::Cuda,
    capabilities: Capabilities {
        // The legacy default stream; 0 says "none" in the protocols that hand streams over.
        default_stream_handle: 1,
        ..Capabilities::GPU
    },
    dialect: Dialect::Cuda,
    name: "CUDA",
    driver: "the CUDA driver",
    libraries,
    look_for_devices: || Ok(()),
    attributes: Attributes {
        max_threads_per_block: 1,
        max_threads_per_unit: 39,
        max_block: [2, 3, 4],
        max_grid: [5, 6, 7],
        shared_memory_per_block: 8,
        shared_memory_per_block_opt_in: Some(97),
        warp_size: 10,
        clock_kilohertz: 13,
        memory_clock_kilohertz: 36,
        memory_bus_bits: 37,
        compute_units: 16,
        level2_cache: 38,
    },
    launch_list_end: 0,
    set_function_attribute: Some(c"cuFuncSetAttribute"),
    properties: &[],
    architecture,
    uuid,
    version,
    // INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX, UNSUPPORTED_PTX_VERSION, INVALID_SOURCE.
    module_statuses: &[200, 209, 218, 222, 300],
    // ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR,
    // ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED.
    lost_statuses: &[214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719],
    has_load_log: true,
    loaded: OnceBox::new(),
    loading: AtomicU64::new(0),
};

fn libraries() -> Vec<PathBuf> {
    // The second is where the Windows Subsystem for Linux keeps it, outside the loader's path.
    ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
        .map(PathBuf::from)
        .to_vec()
}

fn architecture(api: &gpu::Api, device: i32) -> Result<String> {
    let [major, minor] = COMPUTE_CAPABILITY;
    let major = gpu::attribute(api, device, major)?;
    let minor = gpu::attribute(api, device, minor)?;
    Ok(format!("sm_{major}{minor}"))
}

/// As `nvidia-smi` writes it.
#[expect(
    clippy::unnecessary_wraps,
    reason = "other vendors do not know it of every device"
)]
fn uuid(bytes: &[u8; 16]) -> Option<String> {
    let mut text = String::from("GPU-");
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// The newest CUDA version that the driver supports.
fn version(number: i32) -> String {
    format!("CUDA {}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_looked_for_where_linux_and_its_subsystem_have_it() {
        let names = libraries();
        assert_eq!(names[0], PathBuf::from("libcuda.so.1"));
        assert!(names[1].starts_with("/usr/lib/wsl") && names.len() == 2);
    }

    #[test]
    fn numbers_become_the_texts_that_nvidia_writes() {
        assert_eq!(version(13_000), "CUDA 13.0");
        assert_eq!(version(12_080), "CUDA 12.8");
        let bytes = std::array::from_fn(|index| index as u8 * 17);
        assert_eq!(
            uuid(&bytes).unwrap(),
            "GPU-00112233-4455-6677-8899-aabbccddeeff"
        );
    }
}
