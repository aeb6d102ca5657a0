//! The environment variables of the hardware layer. One test, alone in its process: the environment belongs to all threads, and the memory
//! limit is read once.

#![allow(clippy::unwrap_used)]

use amdgpu_abi::environment::{CPU_MEMORY_LIMIT_BYTES, CPU_THREADS, DEVICES};
use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{MemoryKind, cpu::pool, registry};

fn set(name: &str, value: &str) {
    // SAFETY: this process runs one test, and no other thread reads the environment meanwhile.
    unsafe { std::env::set_var(name, value) };
}

fn names() -> Vec<String> {
    let devices = registry::list_devices().unwrap();
    devices.into_iter().map(|info| info.name).collect()
}

#[test]
fn environment_variables_are_obeyed_or_refused_by_name() {
    set(DEVICES, "null:gfx1100");
    assert_eq!(names(), ["null:gfx1100"]);
    assert_eq!(
        registry::open_device(0).unwrap().info().name,
        "null:gfx1100"
    );
    let error = registry::open_device("cpu:0").unwrap_err();
    assert_eq!(error.code(), ErrorCode::DeviceNotFound);
    assert!(error.to_string().contains(DEVICES), "{error}");
    set(DEVICES, "hip:99");
    assert!(names().is_empty());
    assert!(
        registry::open_device(0)
            .unwrap_err()
            .to_string()
            .contains("leaves no device")
    );
    set(DEVICES, "everything");
    assert_eq!(
        registry::list_devices().unwrap_err().code(),
        ErrorCode::InvalidArgument
    );
    set(DEVICES, "");
    assert_eq!(names(), ["cpu:0"]);

    for value in ["0", "two", "1025"] {
        set(CPU_THREADS, value);
        let error = registry::open_device("cpu").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.to_string().contains(CPU_THREADS), "{error}");
    }
    set(CPU_THREADS, "3");
    set(CPU_MEMORY_LIMIT_BYTES, "1 MB");
    let error = registry::open_device("cpu").unwrap_err();
    assert!(
        error.to_string().contains(CPU_MEMORY_LIMIT_BYTES),
        "{error}"
    );
    set(CPU_MEMORY_LIMIT_BYTES, "1000000");
    assert_eq!(
        registry::list_devices().unwrap()[0].total_memory_bytes,
        1_000_000
    );

    let first = registry::open_device("cpu").unwrap();
    let second = registry::open_device("cpu:0").unwrap();
    assert_eq!(pool::global().thread_count(), 3);
    assert_eq!(first.memory_info().unwrap().total_bytes, 1_000_000);
    assert_eq!(first.memory_domain(), second.memory_domain());
    let ptr = first.allocate(600_000, MemoryKind::Device).unwrap();
    let error = second.allocate(600_000, MemoryKind::Device).unwrap_err();
    assert_eq!(error.code(), ErrorCode::OutOfMemory);
    // SAFETY: live, unused and freed once; devices of one limit may free for each other's accounts.
    unsafe { first.free(ptr, 600_000, MemoryKind::Device) }.unwrap();
    assert_eq!(second.memory_info().unwrap().used_bytes, 0);
}
