//! Buckets of one width: the newest block open and in full precision, older ones packed.

use std::collections::VecDeque;

use super::Points;
use super::block::{Bucket, Packed};

#[derive(Debug)]
pub(super) struct Tier {
    width_ns: u64,
    /// Buckets kept, the newest included.
    kept: u64,
    buckets_of_block: u64,
    /// Closed blocks with their numbers, oldest first.
    closed: VecDeque<(u64, Packed)>,
    closed_bytes: usize,
    /// The block that is written to.
    open_number: u64,
    open: Vec<Bucket>,
    /// Number of the newest bucket with a sample.
    newest: Option<u64>,
}

impl Tier {
    pub(super) fn new(width_ns: u64, kept: u64, buckets_of_block: u64) -> Self {
        Self {
            width_ns,
            kept,
            buckets_of_block,
            closed: VecDeque::new(),
            closed_bytes: 0,
            open_number: 0,
            open: Vec::new(),
            newest: None,
        }
    }

    /// Times never go back.
    pub(super) fn push(&mut self, time_ns: u64, value: f64) {
        let bucket = time_ns / self.width_ns;
        let (block, place) = (
            bucket / self.buckets_of_block,
            (bucket % self.buckets_of_block) as usize,
        );
        if self.open.is_empty() || block != self.open_number {
            self.close();
            self.open_number = block;
            self.newest = Some(bucket);
            self.expire();
        }
        if self.open.len() <= place {
            self.open.resize(place + 1, Bucket::default());
        }
        self.open[place].add(value);
        self.newest = Some(bucket);
    }

    /// Packs what is open.
    fn close(&mut self) {
        if let Some(packed) = Packed::of(&self.open) {
            self.closed_bytes += packed.bytes();
            self.closed.push_back((self.open_number, packed));
        }
        self.open.clear();
    }

    /// The oldest bucket that is still shown.
    fn oldest(&self) -> u64 {
        self.newest.unwrap_or(0).saturating_sub(self.kept - 1)
    }

    /// Drops blocks of which nothing is shown any more.
    fn expire(&mut self) {
        let oldest = self.oldest();
        while self
            .closed
            .front()
            .is_some_and(|(number, _)| (number + 1) * self.buckets_of_block <= oldest)
        {
            self.drop_oldest_block();
        }
    }

    pub(super) fn drop_oldest_block(&mut self) -> usize {
        let freed = self
            .closed
            .pop_front()
            .map_or(0, |(_, packed)| packed.bytes());
        self.closed_bytes -= freed;
        freed
    }

    pub(super) fn oldest_block_ns(&self) -> Option<u64> {
        let (number, _) = self.closed.front()?;
        Some(number * self.buckets_of_block * self.width_ns)
    }

    pub(super) fn points(&self, start_ns: u64, end_ns: u64, points: &mut Points) {
        let first = self.oldest().max(start_ns.div_ceil(self.width_ns));
        let last = end_ns / self.width_ns;
        let mut show = |number: u64, place: usize, values: [f64; 3]| {
            let bucket = number * self.buckets_of_block + place as u64;
            if (first..=last).contains(&bucket) {
                points.push(bucket * self.width_ns, values);
            }
        };
        for (number, packed) in &self.closed {
            let begin = number * self.buckets_of_block;
            if begin <= last && begin + self.buckets_of_block > first {
                packed.each(|place, values| show(*number, place, values));
            }
        }
        for (place, bucket) in self.open.iter().enumerate() {
            if let Some(values) = bucket.values() {
                show(self.open_number, place, values);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.closed_bytes
            + self.closed.capacity() * size_of::<(u64, Packed)>()
            + self.open.capacity() * size_of::<Bucket>()
    }
}
