//! Streams that were given work on an array, so that whoever reads it waits for that work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use amdgpu_hal::{Device, Event, ForkMark, Result, Stream};

/// Which streams may still use memory. As PyTorch's `record_stream` does it, a launch notes its stream and no more: launches of one stream that
/// follow each other cost a comparison. Events are recorded when somebody reads, and the reader waits for all that the streams have by then.
pub struct Uses {
    /// The stream that was noted last; numbers of streams begin at 1 and are never used again.
    latest: AtomicU64,
    is_used: AtomicBool,
    list: Mutex<Vec<Use>>,
    mark: ForkMark,
}

impl Default for Uses {
    fn default() -> Self {
        Self {
            latest: AtomicU64::new(0),
            is_used: AtomicBool::new(false),
            list: Mutex::default(),
            mark: ForkMark::current(),
        }
    }
}

/// A stream that is alive, and its device.
type Live = (Arc<dyn Stream>, Arc<dyn Device>);
/// A point of a stream, and the device of both.
type Point = (Arc<dyn Event>, Arc<dyn Device>);

enum Use {
    /// A stream that is gone has done its work: dropping it waits.
    Stream(u64, Weak<dyn Stream>, Arc<dyn Device>),
    /// Streams that a graph was replayed in, which knows the memory.
    Graph(Weak<Uses>),
}

impl Uses {
    /// Work on the memory goes into a stream of a device.
    pub fn note(&self, stream: &Arc<dyn Stream>, device: &Arc<dyn Device>) {
        let id = stream.id();
        if self.latest.load(Ordering::Acquire) == id {
            return;
        }
        let mut list = self.lock();
        let is_known = |one: &Use| matches!(one, Use::Stream(known, ..) if *known == id);
        if !list.iter().any(is_known) {
            list.retain(Use::lives);
            list.push(Use::Stream(id, Arc::downgrade(stream), Arc::clone(device)));
        }
        self.is_used.store(true, Ordering::Release);
        // Behind the entry: who finds the number finds that, too.
        self.latest.store(id, Ordering::Release);
    }

    /// A graph uses the memory: what is noted for the graph from now on counts for the memory.
    pub fn join(&self, graph: &Arc<Self>) {
        let mut list = self.lock();
        let is_known = |one: &Use| matches!(one, Use::Graph(known) if std::ptr::eq(known.as_ptr(), Arc::as_ptr(graph)));
        if !list.iter().any(is_known) {
            list.retain(Use::lives);
            list.push(Use::Graph(Arc::downgrade(graph)));
        }
        self.is_used.store(true, Ordering::Release);
    }

    /// Whether any stream was ever given work on the memory. A forked child has a copy of the memory and none of the streams.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire) && self.mark.is_current()
    }

    /// Wait on the host for what streams have by now; the error that one of them had there.
    pub fn finish(&self) -> Result<()> {
        let mut points = self.points()?.into_iter();
        points.try_for_each(|(event, _)| event.synchronize())
    }

    /// Let what a stream of a device gets from now on wait for what other streams have by now.
    pub fn hold_back(&self, stream: &Arc<dyn Stream>, device: &Arc<dyn Device>) -> Result<()> {
        let mut points = self.points()?.into_iter();
        points.try_for_each(|(event, of)| {
            if Arc::ptr_eq(&of, device) {
                stream.wait(&event)
            } else {
                event.synchronize()
            }
        })
    }

    /// Behind all that streams have which may use the memory.
    fn points(&self) -> Result<Vec<Point>> {
        let mut streams = Vec::new();
        self.collect(&mut streams);
        // One that failed is asked: it answers with its error.
        streams.retain(|(stream, _)| !matches!(stream.is_idle(), Ok(true)));
        let record = |(stream, device): Live| {
            let event = device.create_event()?;
            stream.record(&event)?;
            Ok((event, device))
        };
        streams.into_iter().map(record).collect()
    }

    fn collect(&self, into: &mut Vec<Live>) {
        let mut graphs = Vec::new();
        for one in &*self.lock() {
            match one {
                Use::Stream(_, stream, device) => {
                    into.extend(stream.upgrade().map(|stream| (stream, Arc::clone(device))));
                }
                Use::Graph(uses) => graphs.extend(uses.upgrade()),
            }
        }
        for graph in graphs {
            graph.collect(into);
        }
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Vec<Use>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Use {
    fn lives(&self) -> bool {
        match self {
            Self::Stream(_, stream, _) => stream.strong_count() > 0,
            Self::Graph(uses) => uses.strong_count() > 0,
        }
    }
}
