//! The flight recorder: the newest records of this process, in memory.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{RecorderError, RecordingWriter};
use crate::frames::FrameKind;
use crate::hub::{self, Hub, lock};
use crate::record::Record;

/// Each batch is an allocation of its own; this many records of memory are charged for it.
const CHUNK_OVERHEAD: usize = 1;
/// Batches smaller than this are put together.
const FULL_CHUNK: usize = 512;
const MIN_CAPACITY: usize = 1024;

/// Newest batches, shared with whoever saves them, so that saving does not hold the collector up.
pub(crate) struct FlightRing {
    chunks: VecDeque<Arc<[Record]>>,
    /// The newest records, not yet enough for a batch.
    growing: Vec<Record>,
    held: usize,
    capacity: usize,
    span_ns: u64,
    forgotten: u64,
    lost: u64,
}

/// What the flight recorder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlightStatus {
    pub records: u64,
    /// Older than the time, or past the memory, that it keeps.
    pub forgotten: u64,
    /// Of the oldest record.
    pub begin_ns: Option<u64>,
    pub capacity_records: u64,
    pub span_ns: u64,
}

impl FlightRing {
    pub(crate) fn new(span: Duration, capacity_bytes: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            growing: Vec::with_capacity(FULL_CHUNK),
            held: 0,
            capacity: (capacity_bytes / size_of::<Record>()).max(MIN_CAPACITY),
            span_ns: u64::try_from(span.as_nanos()).unwrap_or(u64::MAX),
            forgotten: 0,
            lost: 0,
        }
    }

    pub(crate) fn push(&mut self, records: &[Record], lost: u64) {
        self.lost += lost;
        self.growing.extend(records);
        if self.growing.len() < FULL_CHUNK {
            return;
        }
        let newest_ns = self.growing.last().map_or(0, Record::end_ns);
        self.held += self.growing.len() + CHUNK_OVERHEAD;
        self.chunks.push_back(Arc::from(self.growing.as_slice()));
        self.growing.clear();
        while let Some(oldest) = self.chunks.front() {
            let last_ns = oldest.last().map_or(0, Record::end_ns);
            let is_old = newest_ns.saturating_sub(last_ns) > self.span_ns;
            if self.held <= self.capacity && !is_old {
                break;
            }
            self.held -= oldest.len() + CHUNK_OVERHEAD;
            self.forgotten += oldest.len() as u64;
            self.chunks.pop_front();
        }
    }

    fn chunks(&self) -> Vec<Arc<[Record]>> {
        let mut chunks: Vec<_> = self.chunks.iter().cloned().collect();
        if !self.growing.is_empty() {
            chunks.push(Arc::from(self.growing.as_slice()));
        }
        chunks
    }

    fn status(&self) -> FlightStatus {
        let in_chunks: usize = self.chunks.iter().map(|chunk| chunk.len()).sum();
        let oldest = self.chunks.front().and_then(|chunk| chunk.first());
        FlightStatus {
            records: (in_chunks + self.growing.len()) as u64,
            forgotten: self.forgotten,
            begin_ns: oldest
                .or(self.growing.first())
                .map(|record| record.start_ns),
            capacity_records: self.capacity as u64,
            span_ns: self.span_ns,
        }
    }
}

impl Hub {
    /// Keep the newest records; what is kept already stays where the limits are the same.
    pub fn start_flight(self: &Arc<Self>, span: Duration, capacity_bytes: usize) {
        let ring = FlightRing::new(span, capacity_bytes);
        self.set_flight(ring);
    }

    /// What is kept; nothing while the recorder is off.
    #[must_use]
    pub fn flight_status(&self) -> Option<FlightStatus> {
        self.flush();
        lock(&self.delivery).flight.as_ref().map(FlightRing::status)
    }

    fn flight_chunks(&self) -> Option<(Vec<Arc<[Record]>>, u64)> {
        self.flush();
        let delivery = lock(&self.delivery);
        let flight = delivery.flight.as_ref()?;
        Some((flight.chunks(), flight.lost))
    }
}

/// Keep the records of the last `span`, in at most `capacity_bytes`, from now on. Starting again begins anew.
pub fn start_flight(span: Duration, capacity_bytes: usize) {
    hub::global().start_flight(span, capacity_bytes);
}

/// Keep nothing any more, and forget what was kept.
pub fn stop_flight() {
    hub::global().stop_flight();
}

/// What is kept; nothing while the recorder is off.
#[must_use]
pub fn flight_status() -> Option<FlightStatus> {
    hub::global().flight_status()
}

/// Write what is kept into a recording, with a snapshot. `false` while the recorder is off. Documents of other sources (sensors) come in
/// through `more`.
///
/// # Errors
///
/// The file cannot be written.
pub fn save_flight(
    path: &Path,
    more: &[(FrameKind, String)],
) -> Result<Option<u64>, RecorderError> {
    let hub = hub::global();
    let Some((chunks, lost)) = hub.flight_chunks() else {
        return Ok(None);
    };
    let mut writer = RecordingWriter::create(path)?;
    writer.document(
        FrameKind::Process,
        0,
        &serde_json::json!(crate::attach::ProcessInfo::of(
            std::process::id(),
            Some(amdgpu_abi::layout::PACKAGE_VERSION.to_owned())
        ))
        .to_string(),
    )?;
    let names = hub.known_names(0);
    for chunk in chunks {
        writer.records(0, &names, lost, &chunk)?;
    }
    let snapshot = serde_json::to_string(&hub.snapshot()).unwrap_or_default();
    writer.document(FrameKind::Snapshot, 0, &snapshot)?;
    for (kind, text) in more {
        writer.document(*kind, 0, text)?;
    }
    writer.finish().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, NameId};

    fn records(range: std::ops::Range<u64>) -> Vec<Record> {
        range
            .map(|number| Record::new(Kind::Marker, NameId::UNNAMED).at(number * 1_000_000, 0))
            .collect()
    }

    fn first_and_count(ring: &FlightRing) -> (u64, u64) {
        let status = ring.status();
        let kept: Vec<Record> = ring
            .chunks()
            .iter()
            .flat_map(|chunk| chunk.to_vec())
            .collect();
        assert_eq!(status.records, kept.len() as u64);
        assert!(kept.is_sorted_by_key(|record| record.start_ns));
        (
            kept.first().map_or(0, |record| record.start_ns / 1_000_000),
            status.records,
        )
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let mut ring = FlightRing::new(Duration::from_secs(3600), 0);
        for batch in records(0..100_000).chunks(100) {
            ring.push(batch, 0);
        }
        let (first, count) = first_and_count(&ring);
        assert_eq!(first + count, 100_000);
        assert!(count <= (MIN_CAPACITY + FULL_CHUNK) as u64, "{count}");
        assert_eq!(ring.status().forgotten, first);
        let held: usize = ring
            .chunks
            .iter()
            .map(|chunk| chunk.len() + CHUNK_OVERHEAD)
            .sum();
        assert_eq!(
            ring.held, held,
            "what was forgotten is not charged any more"
        );
    }

    #[test]
    fn lost_records_of_every_batch_are_counted() {
        let mut ring = FlightRing::new(Duration::from_secs(2), 0);
        for lost in [2, 0, 3] {
            ring.push(&records(0..1), lost);
        }
        assert_eq!(ring.lost, 5);
    }

    #[test]
    fn what_is_older_than_the_span_is_forgotten() {
        let mut ring = FlightRing::new(Duration::from_secs(2), 64 << 20);
        ring.push(&records(0..10_000), 0);
        ring.push(&records(10_000..11_000), 3);
        let (first, count) = first_and_count(&ring);
        assert_eq!(first + count, 11_000);
        assert_eq!(first, 0, "the whole batch is not older than 2 s");
        ring.push(&records(20_000..21_000), 0);
        let (first, _) = first_and_count(&ring);
        assert_eq!(first, 20_000);
    }
}
