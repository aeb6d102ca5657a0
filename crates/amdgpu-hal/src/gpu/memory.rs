//! Memory of a device and what the host shares with it.

use super::context::Context;
use super::functions::{OUT_OF_MEMORY, SUCCESS};
use crate::{DevicePointer, Error, MemoryInfo, MemoryKind, Result};

/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`, and HIP's flags of the same values: pinned for every context, with an address
/// that kernels can use.
const PINNED_FLAGS: u32 = 1 | 2;
/// `CU_MEM_ATTACH_GLOBAL`, `hipMemAttachGlobal`.
const UNIFIED_FLAGS: u32 = 1;
/// Above every address space there is, 57 bits being the widest; drivers round sizes up and must not be given ones that wrap around.
const MAX_BYTES: u64 = 1 << 57;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`, `HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
const POINTER_DEVICE_ORDINAL: i32 = 9;

pub(super) fn info(context: &Context) -> Result<MemoryInfo> {
    let _entered = context.enter()?;
    let (mut free_bytes, mut total_bytes) = (0, 0);
    // SAFETY: both results have valid places.
    let status =
        unsafe { (context.functions().memory_info)(&raw mut free_bytes, &raw mut total_bytes) };
    context.check("asking for free memory", status)?;
    Ok(MemoryInfo {
        free_bytes: free_bytes as u64,
        total_bytes: total_bytes as u64,
        used_bytes: context.used_bytes(),
    })
}

pub(super) fn allocate(context: &Context, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
    let bytes = bytes.max(1);
    if bytes > MAX_BYTES || (kind == MemoryKind::Device && bytes > context.total_memory_bytes) {
        return Err(out_of_memory(context, bytes, kind));
    }
    let _entered = context.enter()?;
    let functions = context.functions();
    let (len, mut address) = (bytes as usize, 0);
    // SAFETY: `address` is a valid place for the result; the flags are those of the manuals.
    let status = unsafe {
        match kind {
            MemoryKind::Device => (functions.allocate)(&raw mut address, len),
            MemoryKind::PinnedHost => {
                (functions.allocate_pinned)(&raw mut address, len, PINNED_FLAGS)
            }
            MemoryKind::Unified => {
                (functions.allocate_unified)(&raw mut address, len, UNIFIED_FLAGS)
            }
        }
    };
    match status {
        SUCCESS => {
            context.count_allocated(bytes);
            Ok(DevicePointer(address))
        }
        OUT_OF_MEMORY => Err(out_of_memory(context, bytes, kind)),
        status => Err(context.error("allocating memory", status)),
    }
}

/// The device that an address belongs to; `None` for memory that the driver does not know.
pub(super) fn ordinal_of_address(context: &Context, ptr: DevicePointer) -> Option<u32> {
    let _entered = context.enter().ok()?;
    let mut ordinal = -1_i32;
    // SAFETY: the attribute is an `int`, for which there is a valid place; the driver looks the address up and does not follow it.
    let status = unsafe {
        (context.functions().pointer_attribute)(
            (&raw mut ordinal).cast(),
            POINTER_DEVICE_ORDINAL,
            ptr.address(),
        )
    };
    (status == SUCCESS)
        .then_some(ordinal)
        .and_then(|ordinal| u32::try_from(ordinal).ok())
}

fn out_of_memory(context: &Context, requested_bytes: u64, kind: MemoryKind) -> Error {
    // What other processes hold is in use too.
    let used_bytes = info(context).map_or(context.used_bytes(), |info| {
        info.total_bytes - info.free_bytes
    });
    Error::OutOfMemory {
        device: context.name.clone(),
        kind: kind.name(),
        requested_bytes,
        used_bytes,
        limit_bytes: context.total_memory_bytes,
    }
}

/// Frees what [`allocate`] gave.
///
/// # Safety
/// As for [`crate::Device::free`].
pub(super) unsafe fn free(
    context: &Context,
    ptr: DevicePointer,
    bytes: u64,
    kind: MemoryKind,
) -> Result<()> {
    let _entered = context.enter()?;
    let functions = context.functions();
    // SAFETY: the caller gives a live allocation of this kind, which no command uses any more.
    let status = unsafe {
        match kind {
            MemoryKind::Device | MemoryKind::Unified => (functions.free)(ptr.address()),
            MemoryKind::PinnedHost => (functions.free_pinned)(ptr.address()),
        }
    };
    context.check("freeing memory", status)?;
    context.count_freed(bytes.max(1));
    Ok(())
}
