//! Memory of a device: statistics and snapshots of its allocator.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_hal::MemoryKind;
use amdgpu_memory::{Allocator, SegmentSnapshot, StatValue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::raise;

/// A kind of memory by its name.
pub fn kind_of(py: Python<'_>, name: &str) -> PyResult<MemoryKind> {
    let mut known = MemoryKind::ALL.into_iter();
    known.find(|kind| kind.name() == name).ok_or_else(|| {
        let message = format!("kind is {name:?}; known are device, pinned, unified");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// Statistics of device memory; on a device whose memory is the host's also those of the Matrix library's own.
pub fn stats<'py>(py: Python<'py>, allocator: &Allocator) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (key, value) in allocator.stats().entries() {
        match value {
            StatValue::Count(count) => result.set_item(key, count)?,
            StatValue::Ratio(ratio) => result.set_item(key, ratio)?,
        }
    }
    // Without the Matrix library there is nothing to report.
    if allocator.device().info().capabilities.host_visible
        && let Ok(host) = amdgpu_memory::host_memory_stats()
    {
        for (key, value) in [
            ("host_memory.plain_bytes", host.plain_bytes),
            ("host_memory.advised_bytes", host.advised_bytes),
            ("host_memory.pool_bytes", host.pool_bytes),
            ("host_memory.allocations", host.allocations_total),
            ("host_memory.frees", host.frees_total),
            ("host_memory.failures", host.failures_total),
        ] {
            result.set_item(key, value)?;
        }
    }
    Ok(result)
}

/// Every segment of every kind of memory.
pub fn snapshot<'py>(py: Python<'py>, allocator: &Allocator) -> PyResult<Bound<'py, PyList>> {
    let device = &allocator.device().info().name;
    let segments = py.detach(|| allocator.snapshot());
    let rows = segments.iter().map(|segment| row(py, device, segment));
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

fn row<'py>(
    py: Python<'py>,
    device: &str,
    segment: &SegmentSnapshot,
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("device", device)?;
    row.set_item("pool", segment.pool)?;
    row.set_item("segment_type", segment.segment_type)?;
    row.set_item("stream", segment.stream)?;
    row.set_item("address", segment.address)?;
    row.set_item("total_size", segment.total_bytes)?;
    row.set_item("allocated_size", segment.allocated_bytes)?;
    row.set_item("active_size", segment.active_bytes)?;
    row.set_item("requested_size", segment.requested_bytes)?;
    let blocks = PyList::empty(py);
    for block in &segment.blocks {
        let entry = PyDict::new(py);
        entry.set_item("address", block.address)?;
        entry.set_item("size", block.size_bytes)?;
        entry.set_item("requested_size", block.requested_bytes)?;
        entry.set_item("state", block.state.name())?;
        blocks.append(entry)?;
    }
    row.set_item("blocks", blocks)?;
    Ok(row)
}
