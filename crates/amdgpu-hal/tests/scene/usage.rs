//! What a test program takes of the machine.

use std::time::Duration;

/// Processor time of all threads of this process so far.
pub fn processor_time() -> Duration {
    // SAFETY: `time` is a valid place for the result.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        let status = libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        assert_eq!(status, 0);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}
