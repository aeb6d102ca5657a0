//! The process after the start of Julia is the process before it: handlers, masks, locale, standard streams.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;

#[path = "support/runtime.rs"]
mod runtime;

extern "C" fn own_handler(_: c_int) {}

fn handler(signal: c_int) -> Option<usize> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks.
    unsafe {
        (libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0)
            .then(|| action.assume_init().sa_sigaction)
    }
}

fn locale() -> String {
    // SAFETY: only asks; no other thread changes the locale now.
    unsafe { CStr::from_ptr(libc::setlocale(libc::LC_ALL, std::ptr::null())) }
        .to_str()
        .unwrap()
        .to_owned()
}

fn blocked_signals(task: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{task}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:"))
        .unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

/// All in one test: the state belongs to the process.
#[test]
fn starting_julia_leaves_signals_locale_and_streams_alone() {
    // A pipe as standard output, as under a test runner or `| less`.
    let mut pipe = [0; 2];
    // SAFETY: plain system calls on descriptors of this test; the original output is put back below.
    let output = unsafe {
        libc::pipe(pipe.as_mut_ptr());
        let output = libc::dup(1);
        libc::dup2(pipe[1], 1);
        libc::setlocale(libc::LC_ALL, c"C".as_ptr());
        libc::signal(libc::SIGINT, own_handler as *const () as usize);
        output
    };
    let handlers: Vec<_> = (1..=64).map(handler).collect();
    // SAFETY: as above.
    let flags = || unsafe {
        [
            libc::fcntl(0, libc::F_GETFL),
            libc::fcntl(1, libc::F_GETFL),
            libc::fcntl(2, libc::F_GETFL),
        ]
    };
    let flags_before = flags();
    let own_mask = blocked_signals("../../thread-self");
    let locale_before = locale();

    let started = runtime::math().map(|math| math.evaluate("1 + 1").unwrap());
    let flags_after = flags();
    // SAFETY: as above.
    unsafe { libc::dup2(output, 1) };
    let Some(answer) = started else { return };

    assert_eq!(answer, "2");
    assert_eq!((1..=64).map(handler).collect::<Vec<_>>(), handlers);
    assert_eq!(flags_after, flags_before);
    assert_eq!(locale(), locale_before);
    assert_eq!(blocked_signals("../../thread-self"), own_mask);
    // The thread that owns Julia leaves SIGINT (2) and SIGTERM (15) to the others.
    let owner = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| {
            std::fs::read_to_string(entry.path().join("comm"))
                .unwrap()
                .trim()
                == "agpu-julia"
        })
        .unwrap();
    let mask = blocked_signals(owner.file_name().to_str().unwrap());
    assert_eq!(mask >> 1 & 1, 1);
    assert_eq!(mask >> 14 & 1, 1);
}
