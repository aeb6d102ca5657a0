//! The monotonic clock that dates events.

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock that Python's `time.monotonic_ns` and the Linux tracing tools use too.
#[must_use]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result, and CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn now_never_goes_back() {
        let first = super::now_ns();
        assert!(first > 0);
        assert!(super::now_ns() >= first);
    }
}
