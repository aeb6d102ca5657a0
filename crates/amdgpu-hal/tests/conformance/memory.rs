use amdgpu_hal::{CopyDirection, DevicePointer, Error, MemoryKind};

use super::backend::Backend;

pub fn the_device_describes_itself(backend: &Backend) {
    let device = backend.open();
    let info = device.info();
    assert_eq!(info.name, backend.name);
    assert_eq!(format!("{}:{}", info.kind, info.selector()), backend.name);
    assert!(!info.product_name.is_empty() && !info.architecture.is_empty());
    assert!(info.warp_size.is_power_of_two());
    assert!(info.max_threads_per_block >= info.warp_size);
    assert!(info.total_memory_bytes > 0 && info.shared_memory_per_block_bytes > 0);
    assert_ne!(info.compute_units, Some(0));
    assert_ne!(info.uuid.as_deref(), Some(""));
}

pub fn accounts_follow_every_allocation(backend: &Backend) {
    let device = backend.open();
    for &kind in backend.memory_kinds() {
        for bytes in [1, 4096, 3 << 20] {
            let ptr = device.allocate(bytes, kind).unwrap();
            let held = device.memory_info().unwrap();
            assert!(held.used_bytes >= bytes);
            assert!(held.free_bytes <= held.total_bytes - bytes);
            assert!(ptr.address() != 0 && ptr.address().is_multiple_of(64));
            // SAFETY: live, unused and freed once.
            unsafe { device.free(ptr, bytes, kind) }.unwrap();
        }
    }
}

pub fn a_refused_allocation_leaves_the_device_usable(backend: &Backend) {
    let device = backend.open();
    let total_bytes = device.memory_info().unwrap().total_bytes;
    for bytes in [total_bytes + 1, u64::MAX] {
        let error = device.allocate(bytes, MemoryKind::Device).unwrap_err();
        assert!(
            matches!(error, Error::OutOfMemory { requested_bytes, .. } if requested_bytes == bytes),
            "{error}"
        );
    }
    let ptr = device.allocate(100, MemoryKind::Device).unwrap();
    // SAFETY: live, unused and freed once.
    unsafe { device.free(ptr, 100, MemoryKind::Device) }.unwrap();
}

pub fn every_kind_of_memory_survives_a_round_trip(backend: &Backend) {
    let device = backend.open();
    let explicit = device.create_stream().unwrap();
    for stream in [device.default_stream(), &explicit] {
        for &kind in backend.memory_kinds() {
            for bytes in [1_usize, 1000, 5 << 20] {
                let source: Vec<u8> = (0..bytes).map(|index| (index * 7 + bytes) as u8).collect();
                let mut result = vec![0_u8; bytes];
                let len = bytes as u64;
                let first = device.allocate(len, kind).unwrap();
                let second = device.allocate(len, kind).unwrap();
                let host_in = DevicePointer::from_host(source.as_ptr());
                let host_out = DevicePointer::from_host(result.as_mut_ptr());
                // SAFETY: all four ranges hold `bytes` bytes and outlive the synchronisation.
                unsafe {
                    stream
                        .copy(first, host_in, len, CopyDirection::HostToDevice)
                        .unwrap();
                    stream
                        .copy(second, first, len, CopyDirection::DeviceToDevice)
                        .unwrap();
                    stream
                        .copy(host_out, second, len, CopyDirection::DeviceToHost)
                        .unwrap();
                    stream.synchronize().unwrap();
                    device.free(first, len, kind).unwrap();
                    device.free(second, len, kind).unwrap();
                }
                assert!(source == result, "{kind:?} {bytes}");
            }
        }
    }
}

pub fn fills_set_exactly_their_range(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(100, MemoryKind::Device).unwrap();
    let mut result = [0_u8; 100];
    // SAFETY: the ranges lie inside the allocation and the array, which outlive the synchronisation.
    unsafe {
        stream.fill(ptr, 1, 100).unwrap();
        stream.fill(ptr.offset(10), 0xff, 20).unwrap();
        stream.fill(ptr.offset(50), 7, 0).unwrap();
        stream
            .copy(
                DevicePointer::from_host(result.as_mut_ptr()),
                ptr,
                100,
                CopyDirection::DeviceToHost,
            )
            .unwrap();
        stream.synchronize().unwrap();
        device.free(ptr, 100, MemoryKind::Device).unwrap();
    }
    for (index, value) in result.into_iter().enumerate() {
        assert_eq!(value, if (10..30).contains(&index) { 0xff } else { 1 });
    }
}

pub fn reading_the_null_device_gives_zeros(backend: &Backend) {
    let device = backend.open();
    let stream = device.default_stream();
    let ptr = device.allocate(16, MemoryKind::Device).unwrap();
    let mut result = [9_u8; 16];
    let host = DevicePointer::from_host(result.as_mut_ptr());
    // SAFETY: host ranges are inside the array; device ranges are checked by this backend.
    unsafe {
        stream
            .copy(ptr, host, 16, CopyDirection::HostToDevice)
            .unwrap();
        stream
            .copy(host, ptr, 16, CopyDirection::DeviceToHost)
            .unwrap();
        let beyond = stream.copy(ptr.offset(8), host, 16, CopyDirection::HostToDevice);
        assert!(matches!(
            beyond,
            Err(Error::OutOfBounds {
                excess_bytes: 8,
                ..
            })
        ));
        device.free(ptr, 16, MemoryKind::Device).unwrap();
        let stale = stream.fill(ptr, 0, 1);
        assert!(matches!(stale, Err(Error::NotAllocated { .. })));
    }
    stream.synchronize().unwrap();
    assert_eq!(result, [0; 16]);
}
