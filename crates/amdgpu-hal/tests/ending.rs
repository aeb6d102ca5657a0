//! The end of a process whose streams still run. A program of its own, because it ends once, and the first thread plays a part in it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod endless;
}

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use amdgpu_hal::cpu::{end, is_ending, stop_everything};

use scene::endless::{PATIENCE, Scene, hold, is_cancelled};

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_signal: c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGURG, count_signal as *const () as usize) };
    let scene = Scene::new();
    what_ends_in_time_is_not_cancelled(&scene);
    signals_of_others_reach_their_handler(&scene);
    a_stream_is_stopped_however_many_came_and_went_after_it(&scene);
    pool_threads_leave_their_blocks_too(&scene);
    what_does_not_end_is_left(&scene);
    println!("ok");
}

fn what_ends_in_time_is_not_cancelled(scene: &Scene) {
    assert!(end(Duration::ZERO, Duration::ZERO), "nothing runs");
    assert!(!is_ending());
    let stream = scene.device.create_stream().unwrap();
    let pause = || {
        thread::sleep(Duration::from_millis(30));
        Ok(())
    };
    stream.call(Box::new(pause)).unwrap();
    assert!(end(PATIENCE, Duration::ZERO));
    assert!(!is_ending());
    stream.synchronize().unwrap();
    scene.check_usable(stream.as_ref());
}

fn signals_of_others_reach_their_handler(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    scene.occupy(stream.as_ref(), 1);
    assert!(stop_everything(PATIENCE), "from here on the signal is ours");
    assert!(is_cancelled(&stream.synchronize()));
    let before = SIGNALS.load(Ordering::Relaxed);
    // SAFETY: the handlers only count, and look where this thread was.
    unsafe { libc::raise(libc::SIGURG) };
    assert_eq!(SIGNALS.load(Ordering::Relaxed), before + 1);
}

fn pool_threads_leave_their_blocks_too(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    // The first block ends at once, so that all others are shared out.
    scene.stop.store(1, Ordering::Relaxed);
    let threads = amdgpu_hal::cpu::pool::global().thread_count();
    scene.launch(stream.as_ref(), scene.endless.as_ref(), 1);
    stream.synchronize().unwrap();
    scene.stop.store(0, Ordering::Relaxed);
    let streams: Vec<_> = (0..=threads)
        .map(|_| scene.device.create_stream().unwrap())
        .collect();
    for stream in &streams {
        scene.occupy(stream.as_ref(), 1000);
    }
    assert!(stop_everything(PATIENCE));
    for stream in &streams {
        assert!(is_cancelled(&stream.synchronize()));
        scene.check_usable(stream.as_ref());
    }
}

fn a_stream_is_stopped_however_many_came_and_went_after_it(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    scene.occupy(stream.as_ref(), 1);
    for _ in 0..300 {
        drop(scene.device.create_stream().unwrap());
    }
    assert!(stop_everything(PATIENCE));
    assert!(is_cancelled(&stream.synchronize()));
    // Each device keeps its own list, for those who wait for all of it.
    scene.occupy(stream.as_ref(), 1);
    for _ in 0..300 {
        drop(scene.device.create_stream().unwrap());
    }
    assert_eq!(stream.cancel(), Ok(true));
    assert!(is_cancelled(&scene.device.synchronize()));
    scene.check_usable(stream.as_ref());
}

fn what_does_not_end_is_left(scene: &Scene) {
    let (stream, other) = (
        scene.device.create_stream().unwrap(),
        scene.device.create_stream().unwrap(),
    );
    let release = hold(stream.as_ref());
    let release_other = hold(other.as_ref());
    let word = Box::new(AtomicU64::new(5));
    let ptr = amdgpu_hal::DevicePointer::from_host(word.as_ptr());
    // SAFETY: the word outlives the stream.
    unsafe { stream.fill(ptr, 0xff, 8) }.unwrap();
    let event = scene.record(stream.as_ref());
    assert!(!stop_everything(Duration::ZERO), "host code goes on");
    assert!(!is_ending(), "streams can be used again");
    assert!(!end(Duration::ZERO, Duration::from_millis(5)));
    assert!(is_ending());
    // Threads that waited for what was cancelled do not go on, except the first.
    let has_returned = Arc::new(AtomicBool::new(false));
    for wait_for_event in [false, true] {
        let (stream, event) = (Arc::clone(&stream), Arc::clone(&event));
        let told = Arc::clone(&has_returned);
        thread::spawn(move || {
            if wait_for_event {
                let _ = event.synchronize();
            } else {
                let _ = stream.synchronize();
            }
            told.store(true, Ordering::Release);
        });
    }
    release.send(()).unwrap();
    assert!(is_cancelled(&event.synchronize()));
    while stream.depth() > 0 {
        thread::yield_now();
    }
    // One that is not kept returns in far less.
    thread::sleep(Duration::from_millis(50));
    assert!(!has_returned.load(Ordering::Acquire));
    assert_eq!(
        word.load(Ordering::Relaxed),
        5,
        "what was behind is left out"
    );
    // Dropping a stream waits for nothing any more: the command of this one is still held.
    drop(other);
    release_other.send(()).unwrap();
}
