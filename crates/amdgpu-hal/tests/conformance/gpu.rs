//! Cases about what only a GPU's driver does.

use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{Device, Error, LaunchConfig, MemoryKind, Stream};

use super::backend::Backend;
use super::modules::{kernel, pack, read};
use super::streams::block;

pub fn a_module_with_errors_shows_what_the_driver_says(backend: &Backend) {
    let device = backend.open();
    let text = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry broken()\n{\n    frobnicate.u32 %r1;\n    ret;\n}\n";
    let error = device.load_module(text.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::InvalidModule { .. }), "{error}");
    assert!(error.to_string().contains("frobnicate"), "{error}");
    assert!(error.to_string().contains("line 6"), "{error}");
}

pub fn shared_memory_beyond_the_plain_limit_is_asked_for(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "shared");
    let limit = device.info().shared_memory_per_block_bytes as u32;
    assert!(limit >= 48 << 10);
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    for shared_bytes in [0, limit, 1 << 10] {
        let config = LaunchConfig {
            shared_bytes,
            ..LaunchConfig::linear(1, 1)
        };
        let stream = device.default_stream();
        // SAFETY: the kernel writes one word.
        unsafe { stream.launch(&*function, &config, &pack(&[ptr.address()])) }.unwrap();
        stream.synchronize().unwrap();
        let count = u64::from(shared_bytes / 8);
        let expected = 50 * count * count.saturating_sub(1) / 2;
        assert_eq!(read(&device, ptr, 1), [expected]);
    }
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

pub fn event_times_measure_the_work_between_them(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "shared");
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let config = LaunchConfig {
        shared_bytes: 32 << 10,
        ..LaunchConfig::linear(1, 1)
    };
    let [begin, middle, end] = std::array::from_fn(|_| device.create_event().unwrap());
    let before_ns = amdgpu_hal::clock::now_ns();
    // SAFETY: the kernel writes one word, which lives until the stream is done.
    unsafe {
        stream.record(&begin).unwrap();
        stream
            .launch(&*function, &config, &pack(&[ptr.address()]))
            .unwrap();
        stream.record(&middle).unwrap();
        for _ in 0..8 {
            stream
                .launch(&*function, &config, &pack(&[ptr.address()]))
                .unwrap();
        }
        stream.record(&end).unwrap();
    }
    stream.synchronize().unwrap();
    let after_ns = amdgpu_hal::clock::now_ns();
    let times = [begin, middle, end].map(|event| event.timestamp_ns().unwrap());
    let (one_ns, eight_ns) = (times[1] - times[0], times[2] - times[1]);
    // One thread reads 4096 words 50 times, which no GPU does in a hundred microseconds; eight such kernels take longer than one.
    assert!(one_ns > 100_000, "{one_ns}");
    assert!(eight_ns > one_ns, "{one_ns} {eight_ns}");
    assert!(before_ns <= times[0] && times[2] <= after_ns);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

pub fn launches_the_driver_refuses_name_the_kernel(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "index");
    let stream = device.default_stream();
    let config = LaunchConfig::linear(1, device.info().max_threads_per_block + 1);
    // SAFETY: the driver refuses the launch, so nothing runs.
    let error = unsafe { stream.launch(&*function, &config, &pack(&[0, 0])) }.unwrap_err();
    assert_eq!(error.code(), ErrorCode::DriverFault);
    assert!(error.to_string().contains("`index`"), "{error}");
    stream.synchronize().unwrap();
}

pub fn devices_of_one_gpu_share_memory_and_not_streams(backend: &Backend) {
    let (first, second) = (backend.open(), backend.open());
    assert_eq!(first.memory_domain(), second.memory_domain());
    let streams: [&Arc<dyn Stream>; 2] = [first.default_stream(), second.default_stream()];
    assert_ne!(streams[0].id(), streams[1].id());
    let ptr = first.allocate(8, MemoryKind::Device).unwrap();
    // SAFETY: the range is the allocation.
    unsafe { first.default_stream().fill(ptr, 3, 8) }.unwrap();
    first.synchronize().unwrap();
    assert_eq!(read(&second, ptr, 1), [0x0303_0303_0303_0303]);
    // A context that another device uses outlives the device it was made for.
    drop(first);
    let device: &Arc<dyn Device> = &second;
    // SAFETY: devices of one GPU may free for each other; the memory is no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

pub fn calls_about_the_whole_device_do_not_wait_for_host_functions(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let release = block(&stream);
    // Each of these makes drivers wait for all work they have, and the host function goes on only afterwards.
    let ptr = device.allocate(64 << 20, MemoryKind::Device).unwrap();
    // SAFETY: live, unused and freed once.
    unsafe { device.free(ptr, 64 << 20, MemoryKind::Device) }.unwrap();
    let function = kernel(&device, backend, "index");
    device.default_stream().synchronize().unwrap();
    drop(function);
    release.send(()).unwrap();
    stream.synchronize().unwrap();
}

pub fn commands_behind_a_host_function_see_what_it_did(backend: &Backend) {
    let device = backend.open();
    let [stream, other, third] = std::array::from_fn(|_| device.create_stream().unwrap());
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let address = ptr.address();
    // SAFETY: the range is the allocation.
    unsafe { stream.fill(ptr, 1, 8) }.unwrap();
    let filler = third;
    stream
        .call(Box::new(move || {
            // SAFETY: the memory lives until the stream is done; another stream may be waited for inside a host function.
            unsafe { filler.fill(amdgpu_hal::DevicePointer(address), 2, 4) }?;
            filler.synchronize()
        }))
        .unwrap();
    // SAFETY: as above.
    unsafe { stream.fill(ptr.offset(2), 3, 1) }.unwrap();
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    other.wait(&event).unwrap();
    // SAFETY: as above.
    unsafe { other.fill(ptr, 4, 1) }.unwrap();
    other.synchronize().unwrap();
    assert!(event.is_complete());
    assert_eq!(read(&device, ptr, 1), [0x0101_0101_0203_0204]);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}
