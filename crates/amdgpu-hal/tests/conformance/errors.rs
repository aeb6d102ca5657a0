use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{Error, Event, Function, LaunchConfig, Result, Stream};

use super::backend::Backend;

fn fault(message: &str) -> Error {
    Error::HostFunction {
        code: ErrorCode::ShapeMismatch,
        message: message.to_string(),
    }
}

fn fail(stream: &Arc<dyn Stream>, message: &'static str) {
    stream.call(Box::new(move || Err(fault(message)))).unwrap();
}

pub fn an_error_sticks_until_it_is_reported(backend: &Backend) {
    let device = backend.open();
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        let ran = Arc::new(AtomicU64::new(0));
        fail(&stream, "first");
        for _ in 0..10 {
            let ran = Arc::clone(&ran);
            // Either the error is known already and refuses the command, or the command is skipped when its turn comes.
            let outcome = stream.call(Box::new(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                Err(fault("second"))
            }));
            assert!(outcome.is_ok() || outcome == Err(fault("first")));
        }
        let error = stream.synchronize().unwrap_err();
        assert_eq!(error, fault("first"));
        assert_eq!(error.code(), ErrorCode::ShapeMismatch);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        stream.synchronize().unwrap();
        stream.call(Box::new(|| Ok(()))).unwrap();
        stream.synchronize().unwrap();
    }
}

pub fn a_panic_in_a_command_is_an_error_of_its_stream(backend: &Backend) {
    let device = backend.open();
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        stream.call(Box::new(|| panic!("number {}", 13))).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert_eq!(
            error,
            Error::Panicked {
                message: "number 13".to_string()
            }
        );
        assert_eq!(error.code(), ErrorCode::KernelFault);
        stream.synchronize().unwrap();
    }
}

pub fn events_carry_the_error_to_their_waiters(backend: &Backend) {
    let device = backend.open();
    let (failing, waiting) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let (before, after) = (
        device.create_event().unwrap(),
        device.create_event().unwrap(),
    );
    failing.record(&before).unwrap();
    fail(&failing, "broken");
    failing.record(&after).unwrap();
    before.synchronize().unwrap();
    assert_eq!(after.synchronize(), Err(fault("broken")));
    assert!(after.is_complete());
    waiting.wait(&before).unwrap();
    waiting.synchronize().unwrap();
    waiting.wait(&after).unwrap();
    assert_eq!(waiting.synchronize(), Err(fault("broken")));
    assert_eq!(failing.synchronize(), Err(fault("broken")));
    // The first error is the one that is reported.
    fail(&waiting, "own");
    waiting.wait(&after).unwrap();
    assert_eq!(waiting.synchronize(), Err(fault("own")));
}

pub fn the_device_reports_the_error_of_any_stream(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    fail(&stream, "somewhere");
    assert_eq!(device.synchronize(), Err(fault("somewhere")));
    device.synchronize().unwrap();
    stream.synchronize().unwrap();
}

pub fn waiting_for_idleness_leaves_errors_in_place(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    fail(&stream, "kept");
    device.wait_idle().unwrap();
    assert!(stream.is_idle().unwrap());
    assert_eq!(stream.synchronize(), Err(fault("kept")));
}

pub fn waiting_for_oneself_is_refused(backend: &Backend) {
    let device = backend.open();
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        let own = Arc::downgrade(&stream);
        stream
            .call(Box::new(move || {
                own.upgrade().map_or(Ok(()), |stream| stream.synchronize())
            }))
            .unwrap();
        assert!(matches!(
            stream.synchronize(),
            Err(Error::WouldDeadlock { .. })
        ));
    }
}

#[derive(Debug)]
struct Foreign;

impl Event for Foreign {
    fn is_complete(&self) -> bool {
        true
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
    fn timestamp_ns(&self) -> Option<u64> {
        None
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Function for Foreign {
    fn name(&self) -> &'static str {
        "foreign"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub fn objects_of_other_backends_are_refused(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let event: Arc<dyn Event> = Arc::new(Foreign);
    let config = LaunchConfig::linear(1, 1);
    // SAFETY: the function is refused, so nothing runs.
    let launched = unsafe { stream.launch(&Foreign, &config, &[]) };
    for outcome in [stream.record(&event), stream.wait(&event), launched] {
        assert!(matches!(outcome, Err(Error::WrongBackend { .. })));
    }
    stream.synchronize().unwrap();
}
