//! The two moments at which a process changes what it is: its end, and a fork.

use std::sync::atomic::{AtomicBool, Ordering};

use super::server;

extern "C" fn at_exit() {
    server::stop();
}

extern "C" fn before_fork() {
    server::hold();
}

extern "C" fn in_parent() {
    server::release();
}

extern "C" fn in_child() {
    server::forget();
}

/// Once for each process; a child inherits the handlers.
pub(super) fn install() {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    if IS_INSTALLED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the handlers are functions of this library that take no argument and do not unwind. The library stays loaded until the
    // process ends. A failure means that memory is out: the socket then stays behind, and whoever finds it removes it.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child));
    }
}
