//! What the telemetry bus hears of the allocator. Alone in its process, because the bus is one for all.

#![allow(clippy::unwrap_used)]

use amdgpu_hal::registry;
use amdgpu_memory::{Allocator, AllocatorOptions};
use amdgpu_telemetry::{Kind, MetricId, snapshot, subscribe};

fn bytes(state: &str) -> Option<f64> {
    snapshot().value(MetricId::PoolBytes, &["null:gfx1100", "device", state])
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers are exact")]
fn allocations_and_copies_are_reported() {
    let device = registry::open_device("null:gfx1100").unwrap();
    let options = AllocatorOptions {
        limit_bytes: Some(4 << 20),
        device_index: Some(3),
        ..AllocatorOptions::default()
    };
    let allocator = Allocator::new(device, options).unwrap();
    let subscription = subscribe(64);
    let block = allocator.allocate(1000, None).unwrap();
    // Whoever looks first finds the series up to date.
    let totals = amdgpu_telemetry::global().totals();
    let device = &totals.devices["null:gfx1100"];
    assert_eq!(device.pool_bytes["active"], 1024.0);
    assert_eq!(device.allocations, 1.0);
    assert_eq!(bytes("active"), Some(1024.0));
    assert_eq!(bytes("reserved"), Some(2_097_152.0));
    assert_eq!(bytes("inactive"), Some(2_097_152.0 - 1024.0));
    block.write_bytes(0, &[0; 300], None).unwrap();
    block.read_bytes(0, &mut [0; 200], None).unwrap();
    assert!(allocator.allocate(1 << 30, None).is_err());
    let address = block.ptr().address();
    drop(block);
    assert_eq!(bytes("active"), Some(0.0));
    allocator.empty_cache();
    assert_eq!(bytes("reserved"), Some(0.0));
    assert_eq!(bytes("inactive"), Some(0.0));

    let total = |id, labels: &[&str]| snapshot().value(id, labels).unwrap();
    let pool = ["null:gfx1100", "device"];
    assert_eq!(total(MetricId::PoolAllocationsTotal, &pool), 1.0);
    assert_eq!(total(MetricId::PoolOutOfMemoryTotal, &pool), 1.0);
    assert_eq!(
        total(
            MetricId::CopyBytesTotal,
            &["null:gfx1100", "host-to-device"]
        ),
        300.0
    );
    assert_eq!(
        total(
            MetricId::CopyBytesTotal,
            &["null:gfx1100", "device-to-host"]
        ),
        200.0
    );

    let mut records = Vec::new();
    while records.len() < 4 {
        let Some(record) = subscription.recv_timeout(std::time::Duration::from_secs(10)) else {
            break;
        };
        records.push(record);
    }
    let kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [Kind::Allocate, Kind::Copy, Kind::Copy, Kind::Free]);
    assert!(records.iter().all(|record| record.device == 3));
    assert_eq!((records[0].value, records[0].detail), (1024, [address, 0]));
    assert_eq!((records[3].value, records[3].detail), (1024, [address, 0]));
}
