//! Our side of the table, over a driver that runs commands at once. One test, since what the fake driver answers belongs to the process.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

use super::api::Api;
use super::device::GpuDevice;
use super::fake::{self, CURRENT, NEXT_WAIT};
use crate::{CopyDirection, Device, DevicePointer, Error, LaunchConfig, MemoryKind, Stream};

const PTX: &[u8] = b".version 7.8\n.target sm_90\n.visible .entry store(\n";

fn failure() -> Error {
    Error::Panicked {
        message: "number 4".to_string(),
    }
}

fn read(device: &GpuDevice, ptr: DevicePointer) -> u64 {
    let mut word = 0_u64;
    let host = DevicePointer::from_host(&raw mut word);
    let stream = device.default_stream();
    // SAFETY: both ranges hold a word and outlive the wait.
    unsafe { stream.copy(host, ptr, 8, CopyDirection::DeviceToHost) }.unwrap();
    stream.synchronize().unwrap();
    word
}

/// Occupies a stream until the returned sender is used or dropped.
fn hold(stream: &Arc<dyn Stream>) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    let wait = move || {
        let _ = gate.recv();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    release
}

fn commands_behind_host_functions_are_held(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let (stream, other) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let mut arguments: Vec<u8> = [ptr.address(), 7]
        .into_iter()
        .flat_map(u64::to_ne_bytes)
        .collect();
    let config = LaunchConfig::linear(1, 1);
    let launch = |arguments: &[u8]| {
        // SAFETY: the kernel writes one word of live memory.
        unsafe { stream.launch(&*function, &config, arguments) }
    };
    launch(&arguments).unwrap();
    // Nothing was held, so the driver had it at once.
    assert_eq!(read(device, ptr), 7);
    let release = hold(&stream);
    arguments[8] = 9;
    launch(&arguments).unwrap();
    arguments.fill(0xff);
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    other.wait(&event).unwrap();
    // SAFETY: the range is the allocation.
    unsafe { other.fill(ptr.offset(1), 1, 1) }.unwrap();
    assert_eq!(read(device, ptr), 7);
    assert_eq!((stream.depth(), other.depth()), (4, 2));
    assert!(!event.is_complete() && event.timestamp_ns().is_none());
    let (sender, notified) = mpsc::channel();
    let reached = Arc::clone(&event);
    let notification = Box::new(move || sender.send(reached.timestamp_ns()).unwrap());
    stream.notify(&event, notification).unwrap();
    release.send(()).unwrap();
    other.synchronize().unwrap();
    assert_eq!(read(device, ptr), 0x0109);
    assert!(event.is_complete());
    assert!(notified.recv().unwrap().is_some());
    stream.synchronize().unwrap();
    assert_eq!((stream.depth(), other.depth()), (0, 0));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

fn failures_stick_and_travel_with_events(device: &GpuDevice) {
    let (failing, waiting) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let (before, after) = (
        device.create_event().unwrap(),
        device.create_event().unwrap(),
    );
    failing.record(&before).unwrap();
    failing.call(Box::new(|| panic!("number {}", 4))).unwrap();
    failing.record(&after).unwrap();
    waiting.wait(&after).unwrap();
    before.synchronize().unwrap();
    assert_eq!(after.synchronize(), Err(failure()));
    assert_eq!(waiting.synchronize(), Err(failure()));
    assert_eq!(device.synchronize(), Err(failure()));
    failing.synchronize().unwrap();
    let own = Arc::downgrade(&failing);
    let wait = move || own.upgrade().map_or(Ok(()), |stream| stream.synchronize());
    failing.call(Box::new(wait)).unwrap();
    assert!(matches!(
        failing.synchronize(),
        Err(Error::WouldDeadlock { .. })
    ));
    NEXT_WAIT.store(700, Ordering::Relaxed);
    let error = failing.synchronize().unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }));
    assert!(
        error.to_string().contains("FAKE_ILLEGAL_ADDRESS (700)"),
        "{error}"
    );
}

fn memory_is_counted_and_refused(device: &GpuDevice) {
    let bytes = fake::MEMORY_BYTES as u64;
    for asked in [bytes / 2 + 1, bytes + 1, u64::MAX] {
        let error = device.allocate(asked, MemoryKind::Device).unwrap_err();
        assert!(
            matches!(error, Error::OutOfMemory { requested_bytes, .. } if requested_bytes == asked)
        );
    }
    for kind in MemoryKind::ALL {
        let ptr = device.allocate(100, kind).unwrap();
        assert_eq!(device.memory_info().unwrap().used_bytes, 100);
        // SAFETY: live, unused and freed once.
        unsafe { device.free(ptr, 100, kind) }.unwrap();
    }
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}

fn the_current_context_of_others_comes_back(device: &GpuDevice) {
    let foreign = 0x0bad;
    let ours = CURRENT.replace(foreign);
    device.memory_info().unwrap();
    assert_eq!(CURRENT.get(), foreign);
    CURRENT.set(ours);
}

#[test]
fn a_driver_that_runs_at_once_shows_our_side_of_the_table() {
    let device = GpuDevice::open(Api::fake(), 0).unwrap();
    assert_eq!(device.info().name, "cuda:0");
    assert_eq!(device.info().architecture, "sm_90");
    memory_is_counted_and_refused(&device);
    the_current_context_of_others_comes_back(&device);
    commands_behind_host_functions_are_held(&device);
    failures_stick_and_travel_with_events(&device);
    // A stream dropped by its own command drains by itself.
    let stream = device.create_stream().unwrap();
    let release = hold(&stream);
    let (handle, (sender, receiver)) = (Arc::clone(&stream), mpsc::channel());
    stream
        .call(Box::new(move || {
            drop(handle);
            Ok(())
        }))
        .unwrap();
    stream
        .call(Box::new(move || {
            sender.send(5).unwrap();
            Ok(())
        }))
        .unwrap();
    let dropping = std::thread::spawn(move || drop(stream));
    release.send(()).unwrap();
    assert_eq!(receiver.recv().unwrap(), 5);
    dropping.join().unwrap();
    device.wait_idle().unwrap();
    drop(device);
}
