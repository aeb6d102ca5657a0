//! What a device is, as a dict.

use amdgpu_hal::DeviceInfo;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub fn describe<'py>(py: Python<'py>, info: &DeviceInfo) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("kind", info.kind.name())?;
    result.set_item("ordinal", info.ordinal)?;
    result.set_item("name", &info.name)?;
    result.set_item("product_name", &info.product_name)?;
    result.set_item("architecture", &info.architecture)?;
    result.set_item("compute_units", info.compute_units)?;
    result.set_item("compute_units_per_core", info.compute_units_per_core())?;
    result.set_item("matrix_units", info.matrix_units())?;
    result.set_item("simd_lanes", info.simd_lanes())?;
    result.set_item("physical_cores", info.physical_cores)?;
    result.set_item("logical_cores", info.logical_cores)?;
    result.set_item("warp_size", info.warp_size)?;
    result.set_item("max_threads_per_block", info.max_threads_per_block)?;
    result.set_item("max_block", info.max_block)?;
    result.set_item("max_grid", info.max_grid)?;
    result.set_item(
        "shared_memory_per_block_bytes",
        info.shared_memory_per_block_bytes,
    )?;
    result.set_item("total_memory_bytes", info.total_memory_bytes)?;
    result.set_item("level1_data_cache_bytes", info.caches.level1_data_bytes)?;
    result.set_item("level2_cache_bytes", info.caches.level2_bytes)?;
    result.set_item("level3_cache_bytes", info.caches.level3_bytes)?;
    result.set_item("simd_width_bits", info.simd_width_bits)?;
    result.set_item("clock_hertz", info.clock_hertz)?;
    result.set_item("memory_clock_hertz", info.memory_clock_hertz)?;
    result.set_item("memory_bus_bits", info.memory_bus_bits)?;
    let peaks = info.peaks();
    result.set_item(
        "peak_flops_per_second",
        peaks.map(|peaks| peaks.flops_per_second),
    )?;
    result.set_item(
        "peak_bytes_per_second",
        peaks.map(|peaks| peaks.bytes_per_second),
    )?;
    result.set_item("uuid", info.uuid.as_deref())?;
    result.set_item("driver_version", info.driver_version.as_deref())?;
    Ok(result)
}
