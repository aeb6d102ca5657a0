use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use amdgpu_hal::{Device, Stream};

use super::backend::Backend;

fn both_streams(device: &Arc<dyn Device>) -> [Arc<dyn Stream>; 2] {
    [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ]
}

/// Occupies a stream until the returned sender is used or dropped.
pub fn block(stream: &Arc<dyn Stream>) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    stream
        .call(Box::new(move || {
            // An error means that the sender is gone, which opens the gate as well.
            let _ = gate.recv();
            Ok(())
        }))
        .unwrap();
    release
}

pub fn commands_of_one_stream_run_in_order(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 0..1000 {
            let order = Arc::clone(&order);
            stream
                .call(Box::new(move || {
                    order.lock().unwrap().push(number);
                    Ok(())
                }))
                .unwrap();
        }
        stream.synchronize().unwrap();
        assert!(stream.is_idle().unwrap());
        assert_eq!(stream.depth(), 0);
        assert_eq!(*order.lock().unwrap(), (0..1000).collect::<Vec<_>>());
    }
}

pub fn streams_have_identities_of_their_own(backend: &Backend) {
    let (first, second) = (backend.open(), backend.open());
    let mut ids: Vec<u64> = [&first, &second]
        .into_iter()
        .flat_map(both_streams)
        .map(|stream| stream.id())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

pub fn an_explicit_stream_does_not_hold_its_submitter(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let release = block(&stream);
    let ran = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ran);
    stream
        .call(Box::new(move || {
            flag.store(true, Ordering::Relaxed);
            Ok(())
        }))
        .unwrap();
    // Both commands are submitted and this thread goes on, though the first cannot end before it does.
    assert!(!stream.is_idle().unwrap());
    assert_eq!(stream.depth(), 2);
    assert!(!ran.load(Ordering::Relaxed));
    release.send(()).unwrap();
    stream.synchronize().unwrap();
    assert!(ran.load(Ordering::Relaxed));
}

pub fn an_idle_default_stream_runs_on_the_calling_thread(backend: &Backend) {
    let device = backend.open();
    let (sender, receiver) = mpsc::channel();
    device
        .default_stream()
        .call(Box::new(move || {
            sender.send(thread::current().id()).unwrap();
            Ok(())
        }))
        .unwrap();
    // No synchronisation: the command has run when the call returns.
    assert_eq!(receiver.try_recv().unwrap(), thread::current().id());
}

pub fn a_busy_default_stream_does_not_hold_its_submitter(backend: &Backend) {
    let device = backend.open();
    let stream = Arc::clone(device.default_stream());
    let (started, has_started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let occupied = Arc::clone(&stream);
    let occupant = thread::spawn(move || {
        occupied
            .call(Box::new(move || {
                started.send(()).unwrap();
                gate.recv().unwrap();
                Ok(())
            }))
            .unwrap();
    });
    has_started.recv().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..3 {
        let order = Arc::clone(&order);
        stream
            .call(Box::new(move || {
                order.lock().unwrap().push(number);
                Ok(())
            }))
            .unwrap();
    }
    assert!(order.lock().unwrap().is_empty());
    release.send(()).unwrap();
    stream.synchronize().unwrap();
    occupant.join().unwrap();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
}

pub fn a_command_may_submit_to_its_own_stream(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        let (sender, receiver) = mpsc::channel();
        let inner = Arc::clone(&stream);
        stream
            .call(Box::new(move || {
                inner.call(Box::new(move || {
                    sender.send(5).unwrap();
                    Ok(())
                }))
            }))
            .unwrap();
        assert_eq!(receiver.recv().unwrap(), 5);
        stream.synchronize().unwrap();
    }
}

pub fn waiting_orders_two_streams(backend: &Backend) {
    let device = backend.open();
    let producer = device.create_stream().unwrap();
    for consumer in both_streams(&device) {
        let value = Arc::new(AtomicU64::new(0));
        let release = block(&producer);
        let written = Arc::clone(&value);
        producer
            .call(Box::new(move || {
                written.store(1, Ordering::Relaxed);
                Ok(())
            }))
            .unwrap();
        let event = device.create_event().unwrap();
        producer.record(&event).unwrap();
        assert!(!event.is_complete());
        assert_eq!(event.timestamp_ns(), None);
        consumer.wait(&event).unwrap();
        let seen = Arc::new(AtomicU64::new(u64::MAX));
        let (source, target) = (Arc::clone(&value), Arc::clone(&seen));
        consumer
            .call(Box::new(move || {
                target.store(source.load(Ordering::Relaxed), Ordering::Relaxed);
                Ok(())
            }))
            .unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), u64::MAX);
        release.send(()).unwrap();
        consumer.synchronize().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        assert!(event.is_complete());
    }
}

pub fn recording_again_does_not_move_earlier_waits(backend: &Backend) {
    let device = backend.open();
    let (first, second, consumer) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let event = device.create_event().unwrap();
    let release = block(&first);
    first.record(&event).unwrap();
    consumer.wait(&event).unwrap();
    // The second recording completes at once; the wait submitted before it still means the first.
    second.record(&event).unwrap();
    event.synchronize().unwrap();
    assert!(event.is_complete());
    assert!(!consumer.is_idle().unwrap());
    release.send(()).unwrap();
    consumer.synchronize().unwrap();
}

pub fn an_event_never_recorded_is_complete(backend: &Backend) {
    let device = backend.open();
    let event = device.create_event().unwrap();
    assert!(event.is_complete());
    assert_eq!(event.timestamp_ns(), None);
    event.synchronize().unwrap();
    for stream in both_streams(&device) {
        stream.wait(&event).unwrap();
        stream.synchronize().unwrap();
    }
}

pub fn event_times_follow_the_order_of_the_stream(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        let before_ns = amdgpu_hal::clock::now_ns();
        let events: Vec<_> = (0..10).map(|_| device.create_event().unwrap()).collect();
        for event in &events {
            stream.record(event).unwrap();
        }
        stream.synchronize().unwrap();
        let times: Vec<u64> = events
            .iter()
            .map(|event| event.timestamp_ns().unwrap())
            .collect();
        assert!(times.is_sorted());
        assert!(before_ns <= times[0] && times[9] <= amdgpu_hal::clock::now_ns());
    }
}

pub fn dropping_a_stream_drains_it(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    for _ in 0..100 {
        let count = Arc::clone(&count);
        stream
            .call(Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }))
            .unwrap();
    }
    drop(stream);
    assert_eq!(count.load(Ordering::Relaxed), 100);
    device.synchronize().unwrap();
}

pub fn a_stream_may_be_dropped_by_its_own_command(backend: &Backend) {
    let device = backend.open();
    let stream = device.create_stream().unwrap();
    let (sender, receiver) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let handle = Arc::clone(&stream);
    if backend.lacks(super::backend::Need::Asynchrony).is_some() {
        release.send(()).unwrap();
    }
    stream
        .call(Box::new(move || {
            gate.recv().unwrap();
            drop(handle);
            Ok(())
        }))
        .unwrap();
    stream
        .call(Box::new(move || {
            sender.send(()).unwrap();
            Ok(())
        }))
        .unwrap();
    drop(stream);
    // The command holds the last handle now. On a backend without asynchrony it is gone already.
    let _ = release.send(());
    receiver.recv().unwrap();
}

pub fn the_device_waits_for_all_its_streams(backend: &Backend) {
    let device = backend.open();
    let streams: Vec<_> = (0..4).map(|_| device.create_stream().unwrap()).collect();
    let count = Arc::new(AtomicU64::new(0));
    for stream in streams.iter().chain([device.default_stream()]) {
        for _ in 0..50 {
            let count = Arc::clone(&count);
            stream
                .call(Box::new(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }))
                .unwrap();
        }
    }
    device.synchronize().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 250);
}

pub fn many_threads_share_one_stream(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        // Only one command runs at a time, so a plain load and store lose nothing.
        let count = Arc::new(AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let count = Arc::clone(&count);
                        stream
                            .call(Box::new(move || {
                                let value = count.load(Ordering::Relaxed);
                                count.store(value + 1, Ordering::Relaxed);
                                Ok(())
                            }))
                            .unwrap();
                    }
                });
            }
        });
        stream.synchronize().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 4000);
    }
}

pub fn notifications_come_after_their_event(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        let event = device.create_event().unwrap();
        stream.record(&event).unwrap();
        let (sender, receiver) = mpsc::channel();
        let reached = Arc::clone(&event);
        let notification = Box::new(move || {
            sender
                .send((reached.is_complete(), reached.timestamp_ns()))
                .unwrap();
        });
        stream.notify(&event, notification).unwrap();
        let (is_complete, timestamp_ns) = receiver.recv().unwrap();
        assert!(is_complete);
        assert_eq!(timestamp_ns, event.timestamp_ns());
        assert!(timestamp_ns.is_some());
        stream.synchronize().unwrap();
    }
}

pub fn streams_without_a_driver_lend_nothing(backend: &Backend) {
    let device = backend.open();
    for stream in both_streams(&device) {
        let name = Arc::from("work");
        let mut calls = 0;
        // SAFETY: `work` submits nothing.
        let lent = unsafe {
            stream.lend(&name, &mut |_| {
                calls += 1;
                Ok(())
            })
        };
        assert_eq!(lent.unwrap(), stream.native_handle().is_some());
        assert_eq!(calls > 0, stream.native_handle().is_some());
        stream.synchronize().unwrap();
    }
    let mut runs = 0;
    device.with_current(&mut || runs += 1).unwrap();
    assert_eq!(runs, 1);
    assert!(!device.is_lost());
}
