//! What Julia changes of the process when it starts, and how it is put back: the process belongs to the host program.
//!
//! Seen with 1.5.3, where `--handle-signals=no` leaves out the fault handlers only: a handler for SIGUSR2 (stops threads, for
//! profiling), the signal mask of the starting thread, `setlocale(LC_ALL, "")`, and `O_NONBLOCK` on standard streams that are pipes
//! (libuv), which would make large writes of the host fail with `EAGAIN`.

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;

/// POSIX signals and Linux real-time signals.
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;
const STANDARD_STREAMS: std::ops::RangeInclusive<c_int> = 0..=2;

/// Signals a thread raises by its own fault: blocking them would kill the process without a word.
const FAULTS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// The state before the start.
pub(crate) struct Guest {
    dispositions: Vec<(c_int, libc::sigaction)>,
    stream_flags: Vec<(c_int, c_int)>,
    locale: Option<CString>,
}

impl Guest {
    pub(crate) fn arrive() -> Self {
        Self {
            dispositions: SIGNALS
                .filter_map(|signal| Some((signal, disposition(signal)?)))
                .collect(),
            stream_flags: STANDARD_STREAMS
                .filter_map(|stream| Some((stream, flags(stream)?)))
                .collect(),
            locale: locale(),
        }
    }

    /// Put back what changed. Handlers count as Julia's when their code lies in a file whose name starts with one of `libraries`;
    /// others were installed meanwhile by the host.
    pub(crate) fn tidy_up(self, libraries: &[&str]) {
        for (signal, before) in &self.dispositions {
            let foreign = disposition(*signal).is_some_and(|now| {
                now.sa_sigaction != before.sa_sigaction && lies_in(now.sa_sigaction, libraries)
            });
            if foreign {
                // SAFETY: `before` was filled in by the kernel for this signal.
                unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
            }
        }
        for (stream, before) in &self.stream_flags {
            if flags(*stream).is_some_and(|now| now != *before) {
                // SAFETY: plain system call on a descriptor number.
                unsafe { libc::fcntl(*stream, libc::F_SETFL, *before) };
            }
        }
        if let Some(before) = &self.locale
            && locale().as_ref() != Some(before)
        {
            // SAFETY: the text came from setlocale itself.
            unsafe { libc::setlocale(libc::LC_ALL, before.as_ptr()) };
        }
        block_signals();
    }
}

/// Signals sent to the process are for the host's threads; the calling thread takes none but its own faults.
fn block_signals() {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initialises the set; the other calls read it.
    unsafe {
        libc::sigfillset(mask.as_mut_ptr());
        for signal in FAULTS {
            libc::sigdelset(mask.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), std::ptr::null_mut());
    }
}

/// `None` for numbers that name no signal.
fn disposition(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null new action the call only fills in `action`, which is valid when it returns 0.
    unsafe {
        (libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0)
            .then(|| action.assume_init())
    }
}

/// `None` for a closed descriptor.
fn flags(stream: c_int) -> Option<c_int> {
    // SAFETY: plain system call on a descriptor number.
    let flags = unsafe { libc::fcntl(stream, libc::F_GETFL) };
    (flags >= 0).then_some(flags)
}

fn locale() -> Option<CString> {
    // SAFETY: a null locale only asks; the answer is copied before anything else can call setlocale on this thread.
    unsafe {
        let current = libc::setlocale(libc::LC_ALL, std::ptr::null());
        (!current.is_null()).then(|| CStr::from_ptr(current).to_owned())
    }
}

fn lies_in(address: usize, libraries: &[&str]) -> bool {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address; on success `dli_fname` is null or a string of the loader.
    unsafe {
        if libc::dladdr(address as *const _, info.as_mut_ptr()) == 0 {
            return false;
        }
        let name = info.assume_init().dli_fname;
        if name.is_null() {
            return false;
        }
        let path = CStr::from_ptr(name).to_string_lossy();
        let file = path.rsplit('/').next().unwrap_or_default();
        libraries.iter().any(|library| file.starts_with(library))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn handler(_: c_int) {}

    #[test]
    fn only_handlers_of_the_named_library_are_put_back() {
        let own_file = std::env::current_exe().unwrap();
        let own_file = own_file.file_name().unwrap().to_str().unwrap();
        let guest = || {
            let guest = Guest::arrive();
            let mut action = disposition(libc::SIGUSR2).unwrap();
            action.sa_sigaction = handler as *const () as usize;
            // SAFETY: the handler does nothing, and nobody sends SIGUSR2 here.
            unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) };
            guest
        };
        // The mask of the test's thread changes; run on one of its own.
        let before = disposition(libc::SIGUSR2).unwrap().sa_sigaction;
        std::thread::scope(|scope| {
            scope.spawn(|| guest().tidy_up(&["libjulia"]));
        });
        assert_eq!(
            disposition(libc::SIGUSR2).unwrap().sa_sigaction,
            handler as *const () as usize
        );
        let restored = Guest {
            dispositions: Guest::arrive()
                .dispositions
                .into_iter()
                .map(|(signal, mut action)| {
                    if signal == libc::SIGUSR2 {
                        action.sa_sigaction = before;
                    }
                    (signal, action)
                })
                .collect(),
            stream_flags: Vec::new(),
            locale: None,
        };
        std::thread::scope(|scope| {
            scope.spawn(|| restored.tidy_up(&[own_file]));
        });
        assert_eq!(disposition(libc::SIGUSR2).unwrap().sa_sigaction, before);
    }
}
