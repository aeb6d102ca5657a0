//! ops.h: when operations on a GPU refuse indices that are none.

use amdgpu_ops::index_notes;

use crate::borrowed::Out;
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Status, answer};

/// Whether operations of this thread leave it to [`agpu_ops_check_indices`] to refuse indices.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_defer_index_checks(
    is_deferred: bool,
    was_deferred: Out<bool>,
) -> Status {
    answer(|| {
        let before = index_notes::defer(is_deferred);
        if let Some(place) = was_deferred.optional() {
            place.write(before);
        }
        Ok(())
    })
}

/// Refuses an index that operations were given since the last look and that is none.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_check_indices(device: Handle) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        Ok(index_notes::check_deferred(device.context.open_device()?)?)
    })
}
