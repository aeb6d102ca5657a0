//! Signal handlers on the first thread, during waits and in the middle of kernels. A program of its own, because the hook belongs to the
//! process and runs on that thread only.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod endless;
    pub mod usage;
}

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use amdgpu_hal::cpu::stop_everything;
use amdgpu_hal::{DevicePointer, Error, LaunchConfig, Stream, attention};

use scene::endless::{PATIENCE, Scene, hold, is_cancelled};
use scene::usage::processor_time;

static LOOKS: AtomicU64 = AtomicU64::new(0);
static ENDS_WAITS: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Ends a wait once for each time that it is asked to.
fn hook() -> bool {
    assert!(attention::is_first_thread());
    LOOKS.fetch_add(1, Ordering::Relaxed);
    ENDS_WAITS.swap(false, Ordering::Relaxed)
}

extern "C" fn count_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if signal == libc::SIGURG && !info.is_null() && !context.is_null() {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
}

fn looks() -> u64 {
    LOOKS.load(Ordering::Relaxed)
}

fn interrupt() {
    ENDS_WAITS.store(true, Ordering::Relaxed);
}

/// Host code that goes on until the hook was called once more, or for a few looks without it.
fn keep_busy(stream: &dyn Stream) {
    let before = looks();
    let busy = move || {
        for _ in 0..100 {
            if looks() > before {
                return Ok(());
            }
            thread::sleep(attention::INTERVAL / 10);
        }
        Ok(())
    };
    stream.call(Box::new(busy)).unwrap();
}

fn main() {
    // SAFETY: there is no other thread yet. The handler only counts.
    unsafe {
        std::env::set_var("AMDGPU_CPU_THREADS", "2");
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut());
    }
    assert!(!attention::is_needed() && !attention::is_wait_over());
    attention::set_hook(hook);
    attention::set_hook(|| panic!("only the first hook counts"));
    assert!(attention::is_needed());
    let elsewhere = || {
        (
            attention::is_needed(),
            attention::is_wait_over(),
            attention::is_first_thread(),
        )
    };
    assert_eq!(
        thread::spawn(elsewhere).join().unwrap(),
        (false, false, false)
    );
    let scene = Scene::new();
    the_hook_runs_while_the_first_thread_waits(&scene);
    a_deferral_keeps_the_hook_away(&scene);
    an_interrupted_wait_cancels_what_it_was_for(&scene);
    the_hook_runs_in_the_middle_of_a_kernel(&scene);
    a_kernel_on_the_first_thread_is_left(&scene);
    a_wait_for_threads_of_the_pool_is_interrupted(&scene);
    an_idle_first_thread_gets_no_signals_and_its_next_kernel_is_watched(&scene);
    signals_of_others_reach_their_handler();
    println!("ok");
}

fn the_hook_runs_while_the_first_thread_waits(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    for wait_for_event in [false, true] {
        let before = looks();
        keep_busy(stream.as_ref());
        if wait_for_event {
            scene.record(stream.as_ref()).synchronize().unwrap();
        } else {
            stream.synchronize().unwrap();
        }
        assert!(looks() > before);
    }
}

fn a_deferral_keeps_the_hook_away(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    let before = looks();
    let outer = attention::defer();
    let inner = attention::defer();
    assert!(!attention::is_wait_over());
    drop(inner);
    interrupt();
    keep_busy(stream.as_ref());
    stream.synchronize().unwrap();
    assert_eq!(looks(), before);
    drop(outer);
    assert!(attention::is_wait_over());
    assert_eq!(looks(), before + 1);
}

fn an_interrupted_wait_cancels_what_it_was_for(scene: &Scene) {
    let streams: Vec<_> = (0..2)
        .map(|_| scene.device.create_stream().unwrap())
        .collect();
    let (stream, other) = (&streams[0], &streams[1]);
    scene.occupy(stream.as_ref(), 1);
    interrupt();
    assert_eq!(stream.synchronize(), Err(Error::Interrupted));
    scene.check_usable(stream.as_ref());
    // Waiting for a mark in it.
    scene.occupy(stream.as_ref(), 1);
    let event = scene.record(stream.as_ref());
    interrupt();
    assert_eq!(event.synchronize(), Err(Error::Interrupted));
    assert!(is_cancelled(&stream.synchronize()));
    // Waiting for the whole device: all of it is cancelled.
    for stream in &streams {
        scene.occupy(stream.as_ref(), 1);
    }
    interrupt();
    assert_eq!(scene.device.synchronize(), Err(Error::Interrupted));
    for stream in &streams {
        while stream.depth() > 0 {
            thread::yield_now();
        }
        let _ = stream.synchronize();
        scene.check_usable(stream.as_ref());
    }
    // Another thread's wait is not interrupted: its stream goes on until it is let go.
    let release = hold(other.as_ref());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| other.synchronize());
        interrupt();
        keep_busy(stream.as_ref());
        assert_eq!(stream.synchronize(), Err(Error::Interrupted));
        release.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    scene.check_usable(stream.as_ref());
}

fn the_hook_runs_in_the_middle_of_a_kernel(scene: &Scene) {
    let before = looks();
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            // Lets the kernel go once the hook has been there, or after a long time without it.
            for _ in 0..PATIENCE.as_millis() {
                if looks() > before + 1 || stop.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            scene.stop.store(1, Ordering::Relaxed);
        });
        let stream = scene.device.default_stream();
        scene.launch(stream.as_ref(), scene.endless.as_ref(), 1);
        stream.synchronize().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(looks() > before + 1);
    scene.stop.store(0, Ordering::Relaxed);
}

fn a_kernel_on_the_first_thread_is_left(scene: &Scene) {
    let stream = scene.device.default_stream();
    for blocks in [1, 50] {
        interrupt();
        scene.launch(stream.as_ref(), scene.endless.as_ref(), blocks);
        assert!(is_cancelled(&stream.synchronize()));
        scene.check_usable(stream.as_ref());
    }
    let graph = scene.endless_graph(1);
    interrupt();
    // SAFETY: the kernels use the two words of the scene, which outlives them.
    unsafe { stream.replay(graph.as_ref()) }.unwrap();
    assert!(is_cancelled(&stream.synchronize()));
    scene.check_usable(stream.as_ref());
    assert_eq!(scene.stop.load(Ordering::Relaxed), 0, "nobody let them go");
    assert!(stop_everything(Duration::ZERO), "nothing is left");
}

/// The first thread has done its own share, and sleeps until the others have done theirs.
fn a_wait_for_threads_of_the_pool_is_interrupted(scene: &Scene) {
    let stream = scene.device.default_stream();
    let before = looks();
    scene.count.store(0, Ordering::Relaxed);
    let mut arguments = scene.arguments();
    let mut stack = 0_u8;
    arguments.extend(
        DevicePointer::from_host(&raw mut stack)
            .address()
            .to_le_bytes(),
    );
    interrupt();
    // SAFETY: the kernel uses the two words of the scene, which outlives it.
    unsafe {
        let config = LaunchConfig::linear(3, 1);
        stream.launch(scene.elsewhere.as_ref(), &config, &arguments)
    }
    .unwrap();
    assert!(is_cancelled(&stream.synchronize()));
    assert!(looks() > before && scene.count.load(Ordering::Relaxed) > 0);
    scene.check_usable(stream.as_ref());
}

/// Long enough for the watcher to fall asleep: 20 looks.
fn an_idle_first_thread_gets_no_signals_and_its_next_kernel_is_watched(scene: &Scene) {
    let before = (SIGNALS.load(Ordering::Relaxed), looks());
    let busy_before = processor_time();
    for _ in 0..25 {
        thread::sleep(attention::INTERVAL);
    }
    let busy = processor_time().saturating_sub(busy_before);
    assert_eq!((SIGNALS.load(Ordering::Relaxed), looks()), before);
    assert!(busy < attention::INTERVAL * 5, "{busy:?}");
    the_hook_runs_in_the_middle_of_a_kernel(scene);
}

fn signals_of_others_reach_their_handler() {
    let before = SIGNALS.load(Ordering::Relaxed);
    // SAFETY: the handlers only count, and look where this thread was.
    unsafe { libc::raise(libc::SIGURG) };
    assert_eq!(SIGNALS.load(Ordering::Relaxed), before + 1);
}
