//! A wait with a limit leaves the processor to others. One test, alone in its process: the processor time belongs to all of it.

#![allow(clippy::unwrap_used)]

#[path = "../../amdgpu-hal/tests/scene/usage.rs"]
mod usage;

use std::sync::mpsc;
use std::time::Duration;

use amdgpu_aura::Kernel;
use amdgpu_hal::registry;

const LIMIT: Duration = Duration::from_secs(1);
/// What waits actively takes all of it on a free core; what looks now and then takes a tenth or so.
const MAX_BUSY: Duration = Duration::from_millis(500);

#[test]
fn a_wait_with_a_limit_sleeps() {
    let device = registry::open_device("cpu:0").unwrap();
    let stream = device.create_stream().unwrap();
    let (release, held) = mpsc::channel::<()>();
    let wait = move || {
        let _ = held.recv();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    let before = usage::processor_time();
    assert!(!Kernel::wait(stream.as_ref(), Some(LIMIT)).unwrap());
    let busy = usage::processor_time().saturating_sub(before);
    drop(release);
    assert!(busy < MAX_BUSY, "{busy:?} of {LIMIT:?}");
    assert!(Kernel::wait(stream.as_ref(), None).unwrap());
}
