//! Blocks that were given back while streams may still use them.

use std::collections::VecDeque;
use std::sync::Arc;

use amdgpu_hal::{Device, Event, Stream};

use crate::cache::{Cache, Handle};

/// Events kept for the next block.
const MAX_SPARE_EVENTS: usize = 64;

/// Blocks in the order in which they were given back.
#[derive(Debug, Default)]
pub(super) struct Pending {
    blocks: VecDeque<(Handle, Vec<Guard>)>,
    spare: Vec<Arc<dyn Event>>,
}

/// Holds a block back.
#[derive(Debug)]
enum Guard {
    /// Until the event has passed.
    Event(Arc<dyn Event>),
    /// Until the stream was seen idle, because no event could be recorded on it.
    Stream(Arc<dyn Stream>),
}

impl Guard {
    fn is_over(&self) -> bool {
        match self {
            Self::Event(event) => event.is_complete(),
            Self::Stream(stream) => stream.is_idle().unwrap_or(false),
        }
    }
}

impl Pending {
    /// Holds a block back until everything that `streams` were told so far is done.
    pub fn push(&mut self, device: &dyn Device, handle: Handle, streams: &[Arc<dyn Stream>]) {
        let guards = streams.iter().map(|stream| {
            let event = self.spare.pop().map_or_else(|| device.create_event(), Ok);
            event
                .and_then(|event| stream.record(&event).map(|()| Guard::Event(event)))
                .unwrap_or_else(|_| Guard::Stream(Arc::clone(stream)))
        });
        let guards = guards.collect();
        self.blocks.push_back((handle, guards));
    }

    /// Releases finished blocks from the front: cheap, and enough to keep up.
    #[inline]
    pub fn release_front(&mut self, cache: &mut Cache) {
        while let Some((_, guards)) = self.blocks.front() {
            if !guards.iter().all(Guard::is_over) {
                return;
            }
            self.release_first(cache);
        }
    }

    /// Releases every finished block.
    pub fn release_all(&mut self, cache: &mut Cache) {
        for _ in 0..self.blocks.len() {
            let over = self
                .blocks
                .front()
                .is_some_and(|(_, guards)| guards.iter().all(Guard::is_over));
            if over {
                self.release_first(cache);
            } else {
                self.blocks.rotate_left(1);
            }
        }
    }

    /// Releases every block, finished or not, when the whole cache is given up.
    pub fn forget(&mut self, cache: &mut Cache) {
        while !self.blocks.is_empty() {
            self.release_first(cache);
        }
    }

    fn release_first(&mut self, cache: &mut Cache) {
        let Some((handle, guards)) = self.blocks.pop_front() else {
            return;
        };
        cache.release(handle);
        for guard in guards {
            if let Guard::Event(event) = guard
                && self.spare.len() < MAX_SPARE_EVENTS
            {
                self.spare.push(event);
            }
        }
    }
}
