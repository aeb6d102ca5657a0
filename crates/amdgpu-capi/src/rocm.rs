//! rocm.h: devices by ROCm's ids, and the current device of a thread.

use amdgpu_array::recording::check_not_recording;
use amdgpu_aura::rocm;

use crate::borrowed::{Described, Out, Text, Versioned, fixed_text};
use crate::handles::Handle;
use crate::status::{Status, answer};
use crate::text::TextObject;

/// `agpu_rocm_device_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RocmDeviceFacts {
    size_bytes: u64,
    device_id: i32,
    compute_units: u32,
    name: [u8; 128],
    architecture: [u8; 64],
    device: [u8; 64],
    total_memory_bytes: u64,
    free_memory_bytes: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for RocmDeviceFacts {
    const NAME: &'static str = "agpu_rocm_device_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Number of ROCm devices.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_rocm_device_count(count: Out<u32>) -> Status {
    answer(|| {
        let place = count.required("count")?;
        place.write(rocm::device_count()? as u32);
        Ok(())
    })
}

/// Facts of a ROCm device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_rocm_device_info(
    device_id: i32,
    info: Described<RocmDeviceFacts>,
) -> Status {
    answer(|| {
        let place = info.required("info")?;
        crate::prepare();
        let device = rocm::device(i64::from(device_id))?;
        place.set(&RocmDeviceFacts {
            size_bytes: size_of::<RocmDeviceFacts>() as u64,
            device_id,
            compute_units: device.compute_units(),
            name: fixed_text(&device.info.product_name),
            architecture: fixed_text(&device.info.architecture),
            device: fixed_text(&device.info.name),
            total_memory_bytes: device.total_memory_bytes,
            free_memory_bytes: device.free_memory_bytes,
        });
        Ok(())
    })
}

/// Make a ROCm device the current one of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_rocm_set_device(device_id: i32) -> Status {
    answer(|| Ok(rocm::set_device_id(i64::from(device_id))?))
}

/// The id of the calling thread's current device, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_rocm_get_device(device_id: Out<i32>) -> Status {
    answer(|| {
        let place = device_id.required("device_id")?;
        place.write(rocm::device_id()?.map_or(-1, |id| id as i32));
        Ok(())
    })
}

/// Wait for the thread's ROCm device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_rocm_synchronize() -> Status {
    answer(|| {
        check_not_recording("waiting for the device")?;
        crate::prepare();
        Ok(rocm::synchronize_rocm()?)
    })
}

/// Make the device of a text the current one of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_set_current_device(device: Text) -> Status {
    answer(|| Ok(rocm::set_device(device.required("device")?)?))
}

/// The text of the calling thread's current device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_get_current_device(device: Out<Handle>) -> Status {
    answer(|| {
        let place = device.required("device")?;
        place.write(TextObject::insert(&rocm::device_text()?));
        Ok(())
    })
}

/// Wait for the calling thread's current device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_synchronize_current_device() -> Status {
    answer(|| {
        check_not_recording("waiting for the device")?;
        crate::prepare();
        Ok(rocm::synchronize()?)
    })
}
