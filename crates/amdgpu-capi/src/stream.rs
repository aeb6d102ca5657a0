//! runtime.h: streams and events.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_array::recording::{self, check_not_recording};
use amdgpu_aura::{Kept, Kernel};
use amdgpu_hal::{self as hal, DeviceKind};

use crate::borrowed::Out;
use crate::handles::{self, Handle, Object};
use crate::objects::{DeviceObject, StreamObject};
use crate::status::{Answer, Failure, Status, answer};

/// A new stream.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_create(device: Handle, stream: Out<Handle>) -> Status {
    answer(|| {
        let place = stream.required("stream")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let queue = device.context.create_stream()?;
        let kept = Kept::default();
        let stream = StreamObject {
            device,
            queue,
            kept,
        };
        place.write(handles::insert(Arc::new(stream)));
        Ok(())
    })
}

/// The stream in which operations on arrays run.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_default_stream(device: Handle, stream: Out<Handle>) -> Status {
    answer(|| {
        let place = stream.required("stream")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let queue = Arc::clone(device.context.device()?.default_stream());
        let kept = Kept::default();
        let stream = StreamObject {
            device,
            queue,
            kept,
        };
        place.write(handles::insert(Arc::new(stream)));
        Ok(())
    })
}

/// Wait until everything that the stream was given is done.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_synchronize(stream: Handle) -> Status {
    answer(|| {
        let stream = handles::get::<StreamObject>(stream, "stream")?;
        check_not_recording("waiting for a stream")?;
        let kept = stream.kept.take();
        let done = Kernel::wait(stream.queue.as_ref(), None);
        drop(kept);
        done?;
        Ok(())
    })
}

/// Whether everything that the stream was given is done.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_is_idle(stream: Handle, is_idle: Out<bool>) -> Status {
    answer(|| {
        let place = is_idle.required("is_idle")?;
        let stream = handles::get::<StreamObject>(stream, "stream")?;
        place.write(stream.kept.is_idle(stream.queue.as_ref())?);
        Ok(())
    })
}

/// What [`agpu_stream_lend`] calls: the driver's handle of the stream, and what the caller gave for it. 0: done.
pub type NativeWork = unsafe extern "C" fn(native_stream: *mut c_void, data: *mut c_void) -> c_int;

/// Let another library submit work to the driver's own stream.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_lend(
    stream: Handle,
    work: Option<NativeWork>,
    data: *mut c_void,
    was_lent: Out<bool>,
) -> Status {
    answer(|| {
        let place = was_lent.required("was_lent")?;
        let work = work.ok_or_else(|| Failure::invalid("work is NULL; pass a function"))?;
        let stream = handles::get::<StreamObject>(stream, "stream")?;
        check_not_recording("lending a stream")?;
        let mut code = 0;
        let mut call = |native: u64| {
            let native = std::ptr::with_exposed_provenance_mut(native as usize);
            // SAFETY: the function of the caller, who answers for what it does with the stream and with `data`.
            code = unsafe { work(native, data) };
            Ok(())
        };
        // SAFETY: the header asks the caller to keep the memory of that work until the stream has passed it.
        let was_lent = unsafe { stream.queue.lend(&Arc::from("lent"), &mut call) }?;
        place.write(was_lent);
        if code != 0 {
            let message = format!("what the stream was lent for failed with {code}");
            return Err(Failure::new(ErrorCode::DriverFault, message));
        }
        Ok(())
    })
}

/// Hold back what the stream is given from now on until the event has happened.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_wait_event(stream: Handle, event: Handle) -> Status {
    answer(|| {
        let stream = handles::get::<StreamObject>(stream, "stream")?;
        let event = handles::get::<EventObject>(event, "event")?;
        check_same_driver(&event.device, &stream.device)?;
        match event.state() {
            State::Fresh => Ok(()),
            State::InGraph(number, mark) => {
                Ok(recording::record_wait(&stream.queue, number, mark)?)
            }
            State::Recorded(event) => {
                check_not_recording("waiting for an event that was recorded outside")?;
                Ok(stream.queue.wait(&event)?)
            }
        }
    })
}

/// Refuses an event of a device that the driver of the stream does not know.
fn check_same_driver(event: &DeviceObject, stream: &DeviceObject) -> Answer {
    let (of_event, of_stream) = (event.context.info().kind, stream.context.info().kind);
    if of_event == of_stream && matches!(of_event, DeviceKind::Hip | DeviceKind::Cuda) {
        return Ok(());
    }
    event.check_same(stream, "event")
}

pub struct EventObject {
    device: Arc<DeviceObject>,
    state: Mutex<State>,
}

impl Object for EventObject {
    const KIND: u8 = 3;
}

#[derive(Clone)]
enum State {
    Fresh,
    Recorded(Arc<dyn hal::Event>),
    /// A point of a graph: the number of the recording and of the mark in it.
    InGraph(u64, usize),
}

impl EventObject {
    fn state(&self) -> State {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// The event outside of graphs; `None` before it was recorded.
    fn outside(&self) -> Answer<Option<Arc<dyn hal::Event>>> {
        match self.state() {
            State::Fresh => Ok(None),
            State::Recorded(event) => Ok(Some(event)),
            State::InGraph(..) => Err(Failure::new(
                ErrorCode::NotCapturable,
                "the event orders streams inside a graph and is not there outside; record one behind agpu_captured_graph_replay",
            )),
        }
    }

    fn timestamp_ns(&self, name: &str) -> Answer<u64> {
        let event = self.outside()?;
        event.and_then(|event| event.timestamp_ns()).ok_or_else(|| {
            Failure::invalid(format!(
                "{name} has not happened yet: record it and wait for it with agpu_event_synchronize"
            ))
        })
    }
}

/// A new event, not recorded.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_event_create(device: Handle, event: Out<Handle>) -> Status {
    answer(|| {
        let place = event.required("event")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        device.context.device()?;
        place.write(handles::insert(Arc::new(EventObject {
            device,
            state: Mutex::new(State::Fresh),
        })));
        Ok(())
    })
}

/// Mark the point of a stream behind everything that it was given so far.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_event_record(event: Handle, stream: Handle) -> Status {
    answer(|| {
        let event = handles::get::<EventObject>(event, "event")?;
        let stream = handles::get::<StreamObject>(stream, "stream")?;
        event.device.check_same(&stream.device, "event")?;
        if let Some((number, mark)) = recording::record_mark(&stream.queue) {
            event.set(State::InGraph(number, mark));
            return Ok(());
        }
        let point = match event.state() {
            State::Recorded(point) => point,
            _ => stream.device.context.device()?.create_event()?,
        };
        stream.queue.record(&point)?;
        event.set(State::Recorded(point));
        Ok(())
    })
}

/// Wait until the point is reached.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_event_synchronize(event: Handle) -> Status {
    answer(|| {
        let event = handles::get::<EventObject>(event, "event")?;
        check_not_recording("waiting for an event")?;
        match event.outside()? {
            Some(point) => Ok(point.synchronize()?),
            None => Ok(()),
        }
    })
}

/// Whether everything before the point is done; true before the event was recorded.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_event_is_complete(event: Handle, is_complete: Out<bool>) -> Status {
    answer(|| {
        let place = is_complete.required("is_complete")?;
        let event = handles::get::<EventObject>(event, "event")?;
        place.write(event.outside()?.is_none_or(|point| point.is_complete()));
        Ok(())
    })
}

/// Nanoseconds from one event to another, both of which have happened.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_event_elapsed_ns(
    start: Handle,
    end: Handle,
    elapsed_ns: Out<i64>,
) -> Status {
    answer(|| {
        let place = elapsed_ns.required("elapsed_ns")?;
        let start = handles::get::<EventObject>(start, "start")?;
        let end = handles::get::<EventObject>(end, "end")?;
        start.device.check_same(&end.device, "start")?;
        let (start, end) = (start.timestamp_ns("start")?, end.timestamp_ns("end")?);
        place.write(end as i64 - start as i64);
        Ok(())
    })
}
