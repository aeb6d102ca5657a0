//! Waiting without sleep, for a time: how long a pause of the processor takes differs tenfold from one to another.

use std::time::{Duration, Instant};

/// Looks between two readings of the clock, which take as long as several of them.
const LOOKS: u32 = 32;

/// Whether `is_done` became true within `limit`.
pub(super) fn until(limit: Duration, is_done: impl Fn() -> bool) -> bool {
    let mut started = None;
    loop {
        for _ in 0..LOOKS {
            if is_done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if started.get_or_insert_with(Instant::now).elapsed() >= limit {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_already_is_seen_and_what_stays_false_is_given_up() {
        assert!(until(Duration::ZERO, || true));
        assert!(!until(Duration::ZERO, || false));
    }
}
