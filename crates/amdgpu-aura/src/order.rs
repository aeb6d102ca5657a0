//! Work that the default stream was given without a wait, and what other streams have to wait for because of it.
//!
//! Whoever gets an array from an operation may hand it to any stream at once, as if the operation were over. So each other stream waits on
//! the device, not on the host, for what the default stream had been given by then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_hal::{Device, Result, Stream};

/// Streams whose last wait is remembered; forgetting one costs it a wait that it did not need.
const MAX_REMEMBERED_STREAMS: usize = 256;

/// What a default stream was given without a wait.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// How much that was so far.
    submitted: AtomicU64,
    /// By the number of a stream: `submitted` when it last waited.
    waited: Mutex<HashMap<u64, u64>>,
}

impl Order {
    /// Something was submitted just now, and nobody has waited for it.
    pub fn note(&self) {
        self.submitted.fetch_add(1, Ordering::Release);
    }

    /// Whether anything was ever submitted without a wait.
    pub fn is_used(&self) -> bool {
        self.submitted.load(Ordering::Acquire) > 0
    }

    /// Lets what `stream` gets from now on wait for what the default stream of `device` has.
    pub fn hold_back(&self, device: &dyn Device, stream: &dyn Stream) -> Result<()> {
        let submitted = self.submitted.load(Ordering::Acquire);
        let default = device.default_stream();
        if submitted == 0 || stream.id() == default.id() {
            return Ok(());
        }
        if self.lock().get(&stream.id()) >= Some(&submitted) {
            return Ok(());
        }
        let event = device.create_event()?;
        default.record(&event)?;
        stream.wait(&event)?;
        let mut waited = self.lock();
        if waited.len() >= MAX_REMEMBERED_STREAMS {
            waited.clear();
        }
        let known = waited.entry(stream.id()).or_default();
        *known = submitted.max(*known);
        Ok(())
    }

    /// The map holds whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use amdgpu_hal::{Stream, registry};

    use super::*;

    /// A command that runs until the sender says so.
    fn occupy(stream: &dyn Stream) -> Sender<()> {
        let (release, held) = channel();
        let begun = channel();
        let wait = move || {
            begun.0.send(()).unwrap();
            held.recv().unwrap();
            Ok(())
        };
        stream.call(Box::new(wait)).unwrap();
        begun.1.recv().unwrap();
        release
    }

    fn report(stream: &dyn Stream, name: &'static str, to: &Sender<&'static str>) {
        let to = to.clone();
        let send = move || {
            to.send(name).unwrap();
            Ok(())
        };
        stream.call(Box::new(send)).unwrap();
    }

    fn heard(from: &Receiver<&'static str>) -> Vec<&'static str> {
        from.try_iter().collect()
    }

    /// A device whose default stream works on a thread of its own: it stands behind a stream that is held.
    struct Scene {
        device: Arc<dyn Device>,
        blocked: Arc<dyn Stream>,
        release: Sender<()>,
    }

    fn scene() -> Scene {
        let device = registry::open_device("cpu:0").unwrap();
        let blocked = device.create_stream().unwrap();
        let release = occupy(blocked.as_ref());
        let event = device.create_event().unwrap();
        blocked.record(&event).unwrap();
        device.default_stream().wait(&event).unwrap();
        Scene {
            device,
            blocked,
            release,
        }
    }

    #[test]
    fn one_operation_without_a_wait_is_something_to_wait_for() {
        let order = Order::default();
        assert!(!order.is_used());
        order.note();
        assert!(order.is_used());
    }

    #[test]
    fn other_streams_wait_for_what_the_default_stream_was_given() {
        let scene = scene();
        let (order, (to, from)) = (Order::default(), channel());
        let other = scene.device.create_stream().unwrap();
        report(scene.device.default_stream().as_ref(), "operation", &to);
        order.note();
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        report(other.as_ref(), "launch", &to);
        assert!(!other.is_idle().unwrap());
        assert!(heard(&from).is_empty());
        scene.release.send(()).unwrap();
        other.synchronize().unwrap();
        assert_eq!(heard(&from), ["operation", "launch"]);
        scene.blocked.synchronize().unwrap();
    }

    #[test]
    fn a_stream_waits_once_for_the_same_work() {
        let scene = scene();
        let (order, (to, from)) = (Order::default(), channel());
        let other = scene.device.create_stream().unwrap();
        order.note();
        scene.release.send(()).unwrap();
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        other.synchronize().unwrap();
        // What comes without a note holds nobody back.
        let release = occupy(scene.blocked.as_ref());
        let event = scene.device.create_event().unwrap();
        scene.blocked.record(&event).unwrap();
        scene.device.default_stream().wait(&event).unwrap();
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        report(other.as_ref(), "launch", &to);
        other.synchronize().unwrap();
        assert_eq!(heard(&from), ["launch"]);
        release.send(()).unwrap();
        scene.device.default_stream().synchronize().unwrap();
    }

    #[test]
    fn a_stream_waits_again_for_what_was_noted_since() {
        let scene = scene();
        let (order, (to, from)) = (Order::default(), channel());
        let other = scene.device.create_stream().unwrap();
        let default = scene.device.default_stream();
        scene.release.send(()).unwrap();
        order.note();
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        other.synchronize().unwrap();
        // The second operation is behind a stream that is held.
        let release = occupy(scene.blocked.as_ref());
        let event = scene.device.create_event().unwrap();
        scene.blocked.record(&event).unwrap();
        default.wait(&event).unwrap();
        report(default.as_ref(), "second operation", &to);
        order.note();
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        report(other.as_ref(), "launch", &to);
        // Given time to overtake.
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(heard(&from).is_empty());
        release.send(()).unwrap();
        other.synchronize().unwrap();
        assert_eq!(heard(&from), ["second operation", "launch"]);
    }

    #[test]
    fn streams_are_remembered_each_by_itself_and_the_oldest_are_forgotten_with_all() {
        let device = registry::open_device("cpu:0").unwrap();
        let order = Order::default();
        order.note();
        let streams: Vec<_> = (0..=MAX_REMEMBERED_STREAMS)
            .map(|_| device.create_stream().unwrap())
            .collect();
        for stream in &streams {
            order.hold_back(device.as_ref(), stream.as_ref()).unwrap();
        }
        let waited = order.lock();
        assert_eq!(waited.len(), 1, "the list was cleared before the last one");
        assert_eq!(waited.get(&streams[MAX_REMEMBERED_STREAMS].id()), Some(&1));
    }

    #[test]
    fn streams_go_on_where_nothing_was_noted_and_the_default_stream_never_waits_for_itself() {
        let scene = scene();
        let (order, (to, from)) = (Order::default(), channel());
        let other = scene.device.create_stream().unwrap();
        assert!(!order.is_used());
        order
            .hold_back(scene.device.as_ref(), other.as_ref())
            .unwrap();
        report(other.as_ref(), "launch", &to);
        other.synchronize().unwrap();
        assert_eq!(heard(&from), ["launch"]);
        order.note();
        let default = scene.device.default_stream();
        order
            .hold_back(scene.device.as_ref(), default.as_ref())
            .unwrap();
        scene.release.send(()).unwrap();
        default.synchronize().unwrap();
    }
}
