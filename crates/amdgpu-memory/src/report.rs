//! What the allocator tells the telemetry bus.
//!
//! Allocations and bytes in use are counted by the cache, which does so under its lock. Series of the bus follow when somebody reads them: to
//! change four of them takes as long as the rest of an allocation.

use std::sync::{Mutex, PoisonError};

use amdgpu_hal::{CopyDirection, DeviceInfo, MemoryKind};
use amdgpu_telemetry::{Counter, Gauge, Histogram, Kind, MetricId, NameId, Record};

use crate::cache::{Handle, Taken};
use crate::stats::MemoryStats;

/// What the series have of a pool.
#[derive(Clone, Copy, Default, PartialEq)]
struct Published {
    allocations: u64,
    active_bytes: u64,
    inactive_bytes: u64,
}

impl Published {
    fn of(stats: &MemoryStats) -> Self {
        let active_bytes = stats.allocated_bytes.all.current;
        Self {
            allocations: stats.allocation.all.allocated,
            active_bytes,
            inactive_bytes: stats.reserved_bytes.all.current - active_bytes,
        }
    }
}

/// The series of one pool.
pub(crate) struct Report {
    device: u16,
    name: NameId,
    active: Gauge,
    inactive: Gauge,
    reserved: Gauge,
    reserved_peak: Gauge,
    allocations: Counter,
    published: Mutex<Published>,
    out_of_memory: Counter,
    copied: [Counter; 3],
    copying: [Histogram; 3],
}

impl std::fmt::Debug for Report {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Report")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// Times that a place in the cache is handed out with a record of each; from then on one in `SAMPLED_EVERY` has one where nobody takes all
/// records. A record takes as long as the rest of an allocation.
const FIRST_RECORDED: u32 = 256;
const SAMPLED_EVERY: u32 = 16;

/// Whether the bus hears of a block, when it is handed out as when it is given back.
fn is_recorded(handle: Handle) -> bool {
    let times = handle.times();
    times <= FIRST_RECORDED
        || times.is_multiple_of(SAMPLED_EVERY)
        || amdgpu_telemetry::wants_every_record()
}

impl Report {
    pub fn new(info: &DeviceInfo, kind: MemoryKind, device_index: Option<u16>) -> Self {
        let (device, pool) = (info.name.as_str(), kind.name());
        let gauge = |state| amdgpu_telemetry::gauge(MetricId::PoolBytes, &[device, pool, state]);
        let copied = |direction: CopyDirection| {
            amdgpu_telemetry::counter(MetricId::CopyBytesTotal, &[device, direction.name()])
        };
        let copying = |direction: CopyDirection| {
            let labels = [device, direction.name()];
            amdgpu_telemetry::histogram(MetricId::CopySeconds, &labels)
        };
        let directions = [
            CopyDirection::HostToDevice,
            CopyDirection::DeviceToHost,
            CopyDirection::DeviceToDevice,
        ];
        let counter = |id| amdgpu_telemetry::counter(id, &[device, pool]);
        Self {
            device: device_index.unwrap_or(Record::NO_DEVICE),
            name: amdgpu_telemetry::intern(pool),
            active: gauge("active"),
            inactive: gauge("inactive"),
            reserved: gauge("reserved"),
            reserved_peak: amdgpu_telemetry::gauge(
                MetricId::PoolReservedPeakBytes,
                &[device, pool],
            ),
            allocations: counter(MetricId::PoolAllocationsTotal),
            published: Mutex::default(),
            out_of_memory: counter(MetricId::PoolOutOfMemoryTotal),
            copied: directions.map(copied),
            copying: directions.map(copying),
        }
    }

    fn emit(&self, kind: Kind, stream: u64, value: u64, detail: [u64; 2]) {
        if amdgpu_telemetry::is_enabled() {
            amdgpu_telemetry::emit(
                Record::new(kind, self.name)
                    .device(self.device)
                    .stream(stream as u32)
                    .at(amdgpu_telemetry::now_ns(), 0)
                    .value(value)
                    .detail(detail[0], detail[1]),
            );
        }
    }

    /// A block was handed out. The second detail of its record is 1 for a cache hit.
    pub fn allocated(&self, taken: &Taken, stream: u64, hit: bool) {
        let Taken { bytes, address, .. } = *taken;
        if is_recorded(taken.handle) {
            self.emit(Kind::Allocate, stream, bytes, [address, u64::from(hit)]);
        }
    }

    /// A block was given back.
    pub fn freed(&self, handle: Handle, bytes: u64, address: u64, stream: u64) {
        if is_recorded(handle) {
            self.emit(Kind::Free, stream, bytes, [address, 0]);
        }
    }

    /// Memory was reserved from the device, or, with a negative number, given back.
    pub fn reserved(&self, bytes: f64) {
        self.reserved.add(bytes);
        // Allocators of one device share the series; the sum is what the process holds.
        if let Some(now) = self.reserved.get() {
            self.reserved_peak.raise_to(now);
        }
    }

    /// Brings the series of bytes and allocations up to date. `stats` reads what the pool counted; two threads may come here at once.
    pub fn publish(&self, stats: impl FnOnce() -> MemoryStats) {
        let mut published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Read while the lock is held, so that what is older does not come later.
        let now = Published::of(&stats());
        let before = std::mem::replace(&mut *published, now);
        if now == before {
            return;
        }
        self.allocations.add(now.allocations - before.allocations);
        // Allocators of one device share the series.
        let difference = |now: u64, before: u64| now as f64 - before as f64;
        self.active
            .add(difference(now.active_bytes, before.active_bytes));
        self.inactive
            .add(difference(now.inactive_bytes, before.inactive_bytes));
    }

    /// A request was refused.
    pub fn out_of_memory(&self) {
        self.out_of_memory.increment();
    }

    /// Bytes were copied, `duration_ns` from submission to completion where that is known.
    pub fn copied(&self, direction: CopyDirection, bytes: u64, stream: u64, start_ns: u64) {
        self.copied[direction as usize].add(bytes);
        if amdgpu_telemetry::is_enabled() {
            let duration_ns = amdgpu_telemetry::now_ns().saturating_sub(start_ns);
            self.copying[direction as usize].record_ns(duration_ns);
            amdgpu_telemetry::emit(
                Record::new(Kind::Copy, self.name)
                    .device(self.device)
                    .stream(stream as u32)
                    .at(start_ns, duration_ns)
                    .value(bytes)
                    .detail(direction as u64, 0),
            );
        }
    }
}
