use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{CopyDirection, Device, DevicePointer, Error, Function, LaunchConfig, MemoryKind};

use super::backend::Backend;
use super::streams::block;

pub fn kernel(device: &Arc<dyn Device>, backend: &Backend, name: &str) -> Arc<dyn Function> {
    // The module is dropped here; the function keeps the code.
    device
        .load_module(backend.image.as_ref().unwrap())
        .unwrap()
        .function(name)
        .unwrap()
}

pub fn pack(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The first `count` words of device memory, once everything submitted is done.
pub fn read(device: &Arc<dyn Device>, ptr: DevicePointer, count: u64) -> Vec<u64> {
    let mut words = vec![0_u64; count as usize];
    let stream = device.default_stream();
    device.wait_idle().unwrap();
    // SAFETY: both ranges hold `count` words and outlive the synchronisation.
    unsafe {
        stream
            .copy(
                DevicePointer::from_host(words.as_mut_ptr()),
                ptr,
                count * 8,
                CopyDirection::DeviceToHost,
            )
            .unwrap();
    }
    stream.synchronize().unwrap();
    words
}

pub fn a_module_lists_its_kernels(backend: &Backend) {
    let device = backend.open();
    let module = device.load_module(backend.image.as_ref().unwrap()).unwrap();
    assert_eq!(module.function_names(), ["index", "shared"]);
    assert_eq!(module.function("index").unwrap().name(), "index");
    let error = module.function("indexes").unwrap_err();
    assert_eq!(error.code(), ErrorCode::KernelNotFound);
    assert_eq!(
        error.to_string(),
        "the module has no kernel `indexes`; it has `index`, `shared`"
    );
}

pub fn bytes_that_are_no_module_are_refused(backend: &Backend) {
    let device = backend.open();
    let other = if backend.name.starts_with("cpu") {
        Backend::null()
    } else {
        Backend::cpu()
    };
    let foreign = other.image.unwrap_or_default();
    for image in [&b""[..], b"\x7fELF", b"void f() {}", &foreign] {
        let error = device.load_module(image).unwrap_err();
        assert!(matches!(error, Error::InvalidModule { .. }), "{error}");
    }
}

pub fn launches_cover_the_grid_once(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "index");
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        for (grid, block) in [
            ([1, 1, 1], [1, 1, 1]),
            ([7, 1, 1], [32, 1, 1]),
            ([5, 4, 3], [4, 4, 2]),
            ([9000, 1, 1], [64, 1, 1]),
        ] {
            let config = LaunchConfig {
                grid,
                block,
                shared_bytes: 0,
            };
            let count = config.block_count().unwrap() * config.threads_per_block();
            let ptr = device.allocate(count * 8, MemoryKind::Device).unwrap();
            let arguments = pack(&[ptr.address(), 5]);
            // SAFETY: the kernel writes `count` words of live memory.
            unsafe {
                stream.fill(ptr, 0, count * 8).unwrap();
                stream.launch(&*function, &config, &arguments).unwrap();
            }
            stream.synchronize().unwrap();
            let words = read(&device, ptr, count);
            assert!(
                words
                    .iter()
                    .zip(5..)
                    .all(|(&word, expected)| word == expected),
                "{config:?}"
            );
            // SAFETY: no longer used.
            unsafe { device.free(ptr, count * 8, MemoryKind::Device) }.unwrap();
        }
    }
}

pub fn arguments_may_be_reused_after_the_call(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "index");
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(800, MemoryKind::Device).unwrap();
    // SAFETY: the range is the allocation.
    unsafe { stream.fill(ptr, 0, 800) }.unwrap();
    let release = block(&stream);
    // One byte in front makes the block misaligned, which is allowed.
    let mut buffer = vec![0_u8];
    for number in 0..100 {
        buffer.truncate(1);
        buffer.extend(pack(&[ptr.offset(number * 8).address(), number]));
        // SAFETY: each launch writes one word of live memory.
        unsafe { stream.launch(&*function, &LaunchConfig::linear(1, 1), &buffer[1..]) }.unwrap();
    }
    buffer.fill(0xff);
    release.send(()).unwrap();
    stream.synchronize().unwrap();
    assert!(read(&device, ptr, 100).into_iter().eq(0..100));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 800, MemoryKind::Device) }.unwrap();
}

pub fn blocks_have_shared_memory_of_their_own(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "shared");
    let stream = device.default_stream();
    let blocks = 2000_u64;
    let ptr = device.allocate(blocks * 8, MemoryKind::Device).unwrap();
    let config = LaunchConfig {
        shared_bytes: 8 * 300,
        ..LaunchConfig::linear(2000, 1)
    };
    // SAFETY: the kernel writes one word for each block.
    unsafe { stream.launch(&*function, &config, &pack(&[ptr.address()])) }.unwrap();
    stream.synchronize().unwrap();
    let expected = (0..blocks).map(|number| 50 * (300 * number + 299 * 300 / 2));
    assert!(read(&device, ptr, blocks).into_iter().eq(expected));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, blocks * 8, MemoryKind::Device) }.unwrap();
}

pub fn launching_is_accepted_and_does_nothing(backend: &Backend) {
    let device = backend.open();
    let function = kernel(&device, backend, "shared");
    // SAFETY: this backend runs nothing.
    unsafe {
        device
            .default_stream()
            .launch(&*function, &LaunchConfig::linear(1, 64), &[0; 8])
            .unwrap();
    }
    device.synchronize().unwrap();
}
