//! Time, injected: the system's monotonic clock in programs, a hand-wound one in tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Where a hub takes its time from.
pub trait Clock: Send + Sync {
    /// Nanoseconds that never run backwards.
    fn now_ns(&self) -> u64;
    /// Nanoseconds since 1970, to place monotonic times in the calendar.
    fn unix_ns(&self) -> u64;
    /// Processor time of all threads of the process so far.
    fn process_cpu_ns(&self) -> u64;
    /// Processor time of the calling thread so far.
    fn thread_cpu_ns(&self) -> u64;
}

/// `CLOCK_MONOTONIC`, the clock of Python's `time.monotonic_ns()`: one time line for every process of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer. The clocks read here exist on every supported system, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Clock for SystemClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        read(libc::CLOCK_MONOTONIC)
    }

    fn unix_ns(&self) -> u64 {
        read(libc::CLOCK_REALTIME)
    }

    fn process_cpu_ns(&self) -> u64 {
        read(libc::CLOCK_PROCESS_CPUTIME_ID)
    }

    fn thread_cpu_ns(&self) -> u64 {
        read(libc::CLOCK_THREAD_CPUTIME_ID)
    }
}

/// A clock that moves only when told to; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Calendar time at monotonic time zero.
    pub const UNIX_AT_ZERO_NS: u64 = 1_700_000_000_000_000_000;

    pub fn advance_ns(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn unix_ns(&self) -> u64 {
        Self::UNIX_AT_ZERO_NS + self.now_ns()
    }

    /// One busy thread since time zero.
    fn process_cpu_ns(&self) -> u64 {
        self.now_ns()
    }

    fn thread_cpu_ns(&self) -> u64 {
        self.now_ns()
    }
}

/// The system clock without a virtual call, because it is read twice per span.
pub(crate) enum ClockSource {
    System,
    Injected(Box<dyn Clock>),
}

impl ClockSource {
    #[inline]
    pub(crate) fn get(&self) -> &dyn Clock {
        match self {
            Self::System => &SystemClock,
            Self::Injected(clock) => &**clock,
        }
    }

    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Self::System => SystemClock.now_ns(),
            Self::Injected(clock) => clock.now_ns(),
        }
    }

    /// The moment of the system's last tick, at most some milliseconds ago: takes an eighth of the time.
    #[inline]
    pub(crate) fn last_tick_ns(&self) -> u64 {
        match self {
            Self::System => read(libc::CLOCK_MONOTONIC_COARSE),
            Self::Injected(clock) => clock.now_ns(),
        }
    }
}

/// One instant on both time lines, so that a reader can turn `start_ns` of a record into a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOrigin {
    pub monotonic_ns: u64,
    pub unix_ns: u64,
}

impl ClockOrigin {
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        Self {
            monotonic_ns: clock.now_ns(),
            unix_ns: clock.unix_ns(),
        }
    }

    /// Calendar time of a monotonic time.
    #[must_use]
    pub fn unix_ns_at(&self, monotonic_ns: u64) -> u64 {
        self.unix_ns
            .wrapping_add(monotonic_ns.wrapping_sub(self.monotonic_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_never_runs_backwards() {
        let mut last = SystemClock.now_ns();
        for _ in 0..10_000 {
            let now = SystemClock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn origin_places_earlier_and_later_times_in_the_calendar() {
        let clock = ManualClock::default();
        clock.advance_ns(500);
        let origin = ClockOrigin::of(&clock);
        assert_eq!(origin.unix_ns_at(0), ManualClock::UNIX_AT_ZERO_NS);
        assert_eq!(origin.unix_ns_at(750), ManualClock::UNIX_AT_ZERO_NS + 750);
    }
}
