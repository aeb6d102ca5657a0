//! A ring of records with one writer and one reader. It never blocks and never refuses: when it is full the oldest record is
//! overwritten, and the reader counts what it lost.
//!
//! The writer announces in `writing` which slot it is about to overwrite, fills it, then publishes it in `written`. The reader copies
//! slots and afterwards throws away those that `writing` shows to have been touched meanwhile (a sequence lock over a ring: H. Boehm,
//! "Can seqlocks get along with programming language memory models?", MSPC 2012). Slots are atomics, so a torn copy is not
//! undefined behaviour, only worthless, and it is never delivered.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::record::{Record, WORDS, Words};

/// Records a thread can emit between two drains before the oldest is lost. The fastest real producer, a loop of prepared launches,
/// emits about two records a microsecond, so a collector that looks every 0.5 ms finds 1,000; the rest is slack. 128 KiB a thread.
pub const RING_CAPACITY: usize = 2048;

#[derive(Default)]
#[repr(align(64))]
struct Slot([AtomicU64; WORDS]);

#[derive(Default)]
#[repr(align(128))]
struct Writer {
    /// Records whose slot has been touched.
    writing: AtomicU64,
    /// Records that are complete.
    written: AtomicU64,
}

pub(crate) struct Ring {
    writer: Writer,
    /// Records read or given up; belongs to the reader.
    read: AtomicU64,
    slots: Box<[Slot]>,
}

impl Ring {
    /// `capacity` must be a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(
            capacity.is_power_of_two(),
            "ring capacity {capacity} is not a power of two"
        );
        Self {
            writer: Writer::default(),
            read: AtomicU64::new(0),
            slots: (0..capacity).map(|_| Slot::default()).collect(),
        }
    }

    fn slot(&self, position: u64) -> &Slot {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Called by one thread at a time: the ring's producer.
    #[inline]
    pub(crate) fn push(&self, record: &Record) {
        let position = self.writer.writing.load(Ordering::Relaxed);
        self.writer.writing.store(position + 1, Ordering::Relaxed);
        // A reader that sees one of the words below also sees `writing`.
        fence(Ordering::Release);
        let slot = self.slot(position);
        for (cell, word) in slot.0.iter().zip(record.to_words()) {
            cell.store(word, Ordering::Relaxed);
        }
        self.writer.written.store(position + 1, Ordering::Release);
    }

    /// Append what was written since the last drain to `out` and return how many records were lost before it could be read.
    /// Called by one thread at a time: whoever holds the hub's drain lock.
    pub(crate) fn drain(&self, out: &mut Vec<Record>) -> u64 {
        let capacity = self.slots.len() as u64;
        let end = self.writer.written.load(Ordering::Acquire);
        let begin = self.read.load(Ordering::Relaxed);
        if begin == end {
            return 0;
        }
        let first = begin.max(end.saturating_sub(capacity));
        let copies: Vec<Words> = (first..end)
            .map(|position| {
                let slot = self.slot(position);
                std::array::from_fn(|word| slot.0[word].load(Ordering::Relaxed))
            })
            .collect();
        fence(Ordering::Acquire);
        let oldest_intact = self
            .writer
            .writing
            .load(Ordering::Relaxed)
            .saturating_sub(capacity);
        let before = out.len();
        let skip = oldest_intact.saturating_sub(first).min(end - first);
        out.extend(
            copies[skip as usize..]
                .iter()
                .filter_map(Record::from_words),
        );
        self.read.store(end, Ordering::Relaxed);
        end - begin - (out.len() - before) as u64
    }

    /// Forget everything. Only where no other thread can reach the ring: in the child of a fork.
    pub(crate) fn reset(&self) {
        self.writer.writing.store(0, Ordering::Relaxed);
        self.writer.written.store(0, Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameId;
    use crate::record::Kind;
    use std::sync::atomic::AtomicBool;

    /// A record whose every word follows from its number, so that a mixture of two is recognised.
    fn numbered(number: u64) -> Record {
        let mut record = Record::new(
            Kind::ALL[number as usize % Kind::ALL.len()],
            NameId::from_number(number as u32),
        )
        .stream(number as u32)
        .at(number, number)
        .value(number)
        .detail(number, !number);
        record.correlation = number as u32;
        record.thread = number as u32;
        record
    }

    fn number_of(record: &Record) -> u64 {
        assert_eq!(*record, numbered(record.value), "torn record");
        record.value
    }

    #[test]
    fn records_come_out_in_order_and_once() {
        let ring = Ring::new(8);
        let mut out = Vec::new();
        (0..5).for_each(|number| ring.push(&numbered(number)));
        assert_eq!(ring.drain(&mut out), 0);
        (5..8).for_each(|number| ring.push(&numbered(number)));
        assert_eq!(ring.drain(&mut out), 0);
        assert_eq!(ring.drain(&mut out), 0);
        assert_eq!(
            out.iter().map(number_of).collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
    }

    #[test]
    fn overflow_loses_the_oldest_and_counts_them() {
        let ring = Ring::new(8);
        let mut out = Vec::new();
        (0..20).for_each(|number| ring.push(&numbered(number)));
        assert_eq!(ring.drain(&mut out), 12);
        assert_eq!(
            out.iter().map(number_of).collect::<Vec<_>>(),
            (12..20).collect::<Vec<_>>()
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
        #[test]
        fn a_racing_reader_sees_no_torn_or_repeated_record(
            capacity_bits in 0u32..8, total in 1u64..40_000, pause in 0u64..200,
        ) {
            let ring = Ring::new(1 << capacity_bits);
            let done = AtomicBool::new(false);
            let mut out = Vec::new();
            let mut lost = 0;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for number in 0..total {
                        ring.push(&numbered(number));
                        if pause != 0 && number % pause == 0 {
                            std::thread::yield_now();
                        }
                    }
                    done.store(true, Ordering::Release);
                });
                loop {
                    let finished = done.load(Ordering::Acquire);
                    lost += ring.drain(&mut out);
                    if finished {
                        break;
                    }
                }
            });
            let numbers: Vec<u64> = out.iter().map(number_of).collect();
            proptest::prop_assert!(numbers.is_sorted_by(|a, b| a < b), "repeated or reordered");
            proptest::prop_assert_eq!(numbers.len() as u64 + lost, total);
            proptest::prop_assert_eq!(numbers.last(), Some(&(total - 1)));
        }
    }
}
