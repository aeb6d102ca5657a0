//! Waiting for streams and stopping them, and launches of kernels that the C compiler made. Those of our own compiler are tested from
//! Python, where the code generator is.

mod launching;
mod recording;
mod replaying;
pub(crate) mod scene;
mod watching;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use amdgpu_hal::{Device, Error as HalError, Stream, registry};

use super::Kernel;

/// Runs until the sender is used or dropped.
fn occupy(stream: &dyn Stream) -> Sender<()> {
    let (release, held) = channel::<()>();
    let (begun, running) = channel();
    let wait = move || {
        begun.send(()).unwrap();
        let _ = held.recv();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    running.recv().unwrap();
    release
}

fn told_behind(stream: &dyn Stream) -> Receiver<()> {
    let (sender, told) = channel();
    let tell = move || {
        sender.send(()).unwrap();
        Ok(())
    };
    stream.call(Box::new(tell)).unwrap();
    told
}

fn cpu() -> (Arc<dyn Device>, Arc<dyn Stream>) {
    let device = registry::open_device("cpu:0").unwrap();
    let stream = device.create_stream().unwrap();
    (device, stream)
}

#[test]
fn a_wait_with_a_limit_tells_whether_the_stream_became_idle() {
    let (_device, stream) = cpu();
    let short = Some(Duration::from_millis(20));
    assert!(Kernel::wait(stream.as_ref(), short).unwrap());
    let release = occupy(stream.as_ref());
    assert!(!Kernel::wait(stream.as_ref(), short).unwrap());
    assert!(!Kernel::wait(stream.as_ref(), Some(Duration::ZERO)).unwrap());
    drop(release);
    assert!(Kernel::wait(stream.as_ref(), Some(Duration::MAX)).unwrap());
    assert!(Kernel::wait(stream.as_ref(), None).unwrap());
}

#[test]
fn a_wait_gives_the_error_of_the_stream_once() {
    for limit in [None, Some(Duration::from_secs(60))] {
        let (_device, stream) = cpu();
        let failure = HalError::Panicked {
            message: "on purpose".to_owned(),
        };
        stream.call(Box::new(move || Err(failure))).unwrap();
        let error = Kernel::wait(stream.as_ref(), limit).unwrap_err();
        assert!(error.to_string().contains("on purpose"), "{error}");
        assert!(Kernel::wait(stream.as_ref(), limit).unwrap());
    }
}

/// What waits for another stream ends, what stands behind it is left out, and the stream is as good as new.
#[test]
fn a_stopped_stream_is_idle_and_free_of_errors() {
    let (device, stream) = cpu();
    let other = device.create_stream().unwrap();
    let release = occupy(other.as_ref());
    let event = device.create_event().unwrap();
    other.record(&event).unwrap();
    stream.wait(&event).unwrap();
    let behind = told_behind(stream.as_ref());
    assert!(!stream.is_idle().unwrap());
    assert!(Kernel::stop(stream.as_ref()));
    assert!(stream.is_idle().unwrap());
    stream.synchronize().unwrap();
    assert!(behind.recv().is_err());
    told_behind(stream.as_ref()).recv().unwrap();
    drop(release);
    other.synchronize().unwrap();
}

#[test]
fn host_code_that_does_not_end_is_not_called_stopped() {
    let (_device, stream) = cpu();
    let release = occupy(stream.as_ref());
    assert!(!Kernel::stop(stream.as_ref()));
    drop(release);
}

#[test]
fn streams_that_cannot_be_stopped_are_not() {
    let device = registry::open_device("null:gfx1100").unwrap();
    assert!(!Kernel::stop(device.default_stream().as_ref()));
}
