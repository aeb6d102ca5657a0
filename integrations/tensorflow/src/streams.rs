//! Streams, events and timers that TensorFlow holds.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::amdgpu::{Handle, agpu};
use crate::devices::Device;
use crate::failure::Outcome;

/// Whether the default stream of a device was handed out.
#[derive(Default)]
pub struct StreamState {
    is_default_taken: AtomicBool,
}

/// A stream of libamdgpu by its handle, which is refused once the stream is gone.
#[derive(Clone, Copy)]
pub struct Queue {
    pub device: &'static Device,
    pub handle: Handle,
    /// Operations of libamdgpu run in the default stream, without further orders.
    pub is_default: bool,
}

/// A queue of work that this owns: what an `SP_Stream` points at.
pub struct Stream(Queue);

impl Deref for Stream {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.0
    }
}

impl Stream {
    /// A stream. TensorFlow makes the one that kernels run in before those for copies: it is the default stream of the device.
    pub fn new(device: &'static Device) -> Outcome<Self> {
        let is_default = !device
            .streams
            .is_default_taken
            .swap(true, Ordering::Relaxed);
        let (opened, mut handle) = (device.open()?, 0);
        if is_default {
            agpu!(agpu_device_default_stream(opened, &raw mut handle))?;
        } else {
            agpu!(agpu_stream_create(opened, &raw mut handle))?;
        }
        Ok(Self(Queue {
            device,
            handle,
            is_default,
        }))
    }
}

impl Queue {
    pub fn synchronize(&self) -> Outcome {
        agpu!(agpu_stream_synchronize(self.handle))
    }

    /// Holds this stream back until another one has done what it was given so far.
    pub fn wait_for(&self, other: &Self) -> Outcome {
        if self.handle == other.handle {
            return Ok(());
        }
        let event = Event::new(other.device)?;
        event.record(other)?;
        event.hold_back(self)
    }

    /// Lets operations of libamdgpu in the order of this stream begin behind a point of a stream of this or another device.
    pub fn begin_behind(&self, event: &Event) -> Outcome {
        if self.is_default {
            return event.hold_back(self);
        }
        event.synchronize()
    }

    /// The point behind the operations of libamdgpu so far.
    pub fn point(&self) -> Outcome<Event> {
        let event = Event::new(self.device)?;
        if !self.is_default {
            agpu!(agpu_stream_wait_device(self.device.open()?, self.handle))?;
        }
        event.record(self)?;
        Ok(event)
    }

    /// Whether operations of both run one behind the other without further orders.
    pub fn is_same_queue(&self, other: &Self) -> bool {
        self.is_default && other.is_default && self.device.name == other.device.name
    }

    /// Runs operations of libamdgpu in the order of this stream.
    pub fn in_order<T>(&self, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        if self.is_default {
            return work();
        }
        let device = self.device.open()?;
        agpu!(agpu_device_wait_stream(device, self.handle))?;
        let result = work();
        agpu!(agpu_stream_wait_device(device, self.handle))?;
        result
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_default {
            self.device
                .streams
                .is_default_taken
                .store(false, Ordering::Relaxed);
        }
        release(self.handle);
    }
}

fn release(handle: Handle) {
    // A handle of this process that goes; after a fork there is nothing to release.
    let _ = (|| agpu!(agpu_release(handle)))();
}

/// A point of a stream: what an `SP_Event` points at.
pub struct Event(Handle);

impl Event {
    pub fn new(device: &Device) -> Outcome<Self> {
        let mut handle = 0;
        agpu!(agpu_event_create(device.open()?, &raw mut handle))?;
        Ok(Self(handle))
    }

    pub fn record(&self, stream: &Queue) -> Outcome {
        agpu!(agpu_event_record(self.0, stream.handle))
    }

    pub fn hold_back(&self, stream: &Queue) -> Outcome {
        agpu!(agpu_stream_wait_event(stream.handle, self.0))
    }

    pub fn synchronize(&self) -> Outcome {
        agpu!(agpu_event_synchronize(self.0))
    }

    pub fn is_complete(&self) -> Outcome<bool> {
        let mut is_complete = false;
        agpu!(agpu_event_is_complete(self.0, &raw mut is_complete))?;
        Ok(is_complete)
    }

    fn elapsed_ns(&self, end: &Self) -> Outcome<i64> {
        let mut elapsed_ns = 0;
        agpu!(agpu_event_elapsed_ns(self.0, end.0, &raw mut elapsed_ns))?;
        Ok(elapsed_ns)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Two points of a stream: what an `SP_Timer` points at.
pub struct Timer {
    pub start: Event,
    pub stop: Event,
}

impl Timer {
    pub fn new(device: &Device) -> Outcome<Self> {
        Ok(Self {
            start: Event::new(device)?,
            stop: Event::new(device)?,
        })
    }

    /// Nanoseconds between both; 0 where they were not reached.
    pub fn nanoseconds(&self) -> u64 {
        let elapsed = self
            .stop
            .synchronize()
            .and_then(|()| self.start.elapsed_ns(&self.stop));
        elapsed.map_or(0, |elapsed| elapsed.max(0) as u64)
    }
}
