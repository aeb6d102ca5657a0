//! How many commands wait in each stream: asked for when somebody looks, because it changes with every launch.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_abi::MetricId;
use amdgpu_hal::{ForkLocal, Stream};
use amdgpu_telemetry::{Gauge, Lazy, gauge, set_refresher};

/// A stream with its gauge, which is made when something was seen waiting for the first time: most streams are idle whenever they are looked at.
struct Watched {
    stream: Weak<dyn Stream>,
    device: String,
    depth: Option<Gauge>,
}

static STREAMS: ForkLocal<Mutex<Vec<Watched>>> = ForkLocal::new(Mutex::default);

/// Have `amdgpu_queue_depth` tell of this stream as long as it lives.
pub(crate) fn note_stream(device: &str, stream: &Arc<dyn Stream>) {
    set_refresher(Lazy::QueueDepth, refresh);
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    streams.retain(Watched::lives);
    // The default stream comes with each context that is opened on its device.
    let is_known = |watched: &Watched| Weak::ptr_eq(&watched.stream, &Arc::downgrade(stream));
    if !streams.iter().any(is_known) {
        streams.push(Watched {
            stream: Arc::downgrade(stream),
            device: device.to_owned(),
            depth: None,
        });
    }
}

impl Watched {
    /// Without its stream, nothing is known any more.
    fn lives(&self) -> bool {
        let lives = self.stream.strong_count() > 0;
        if !lives && let Some(depth) = &self.depth {
            depth.clear();
        }
        lives
    }

    fn update(&mut self, stream: &dyn Stream) {
        let waiting = stream.depth();
        if waiting > 0 || self.depth.is_some() {
            let labels = [self.device.as_str(), &stream.id().to_string()];
            self.depth
                .get_or_insert_with(|| gauge(MetricId::QueueDepth, &labels))
                .set(waiting as f64);
        }
    }
}

fn refresh() {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    streams.retain(Watched::lives);
    // Handles that are the last of their stream are dropped behind the lock: that drains the stream, whose commands may make streams.
    let mut held = Vec::new();
    for watched in streams.iter_mut() {
        if let Some(stream) = watched.stream.upgrade() {
            watched.update(stream.as_ref());
            held.push(stream);
        }
    }
    drop(streams);
}
