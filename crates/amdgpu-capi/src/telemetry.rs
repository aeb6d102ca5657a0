//! telemetry.h.

use amdgpu_abi::ErrorCode;
use amdgpu_telemetry::{Kind, Record, export};

use crate::borrowed::{Out, Text};
use crate::handles::Handle;
use crate::status::{Failure, Status, answer};
use crate::text::TextObject;

/// Everything the bus knows now, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_telemetry_snapshot(text: Out<Handle>) -> Status {
    answer(|| {
        let place = text.required("text")?;
        let json = serde_json::to_string(&amdgpu_telemetry::snapshot())
            .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
        place.write(TextObject::insert(&json));
        Ok(())
    })
}

/// The metrics as a Prometheus page.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_telemetry_prometheus(text: Out<Handle>) -> Status {
    answer(|| {
        let place = text.required("text")?;
        let page = export::prometheus(&amdgpu_telemetry::snapshot());
        place.write(TextObject::insert(&page));
        Ok(())
    })
}

/// Switch records on or off; counters go on.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_telemetry_set_enabled(is_enabled: bool) -> Status {
    answer(|| {
        amdgpu_telemetry::set_enabled(is_enabled);
        Ok(())
    })
}

/// Whether somebody takes all records now.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_telemetry_is_watched() -> bool {
    amdgpu_telemetry::wants_every_record()
}

/// A piece of work of the calling thread, as a marker.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_telemetry_mark(name: Text, start_ns: u64, duration_ns: u64) -> Status {
    answer(|| {
        let name = amdgpu_telemetry::intern(name.required("name")?);
        amdgpu_telemetry::emit(Record::new(Kind::Marker, name).at(start_ns, duration_ns));
        Ok(())
    })
}
