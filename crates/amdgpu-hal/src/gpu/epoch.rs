//! The error that sticks to a stream, and up to where.
//!
//! Commands of a stream are numbered. An epoch keeps the first error with its number, so that an event recorded earlier does not carry it.
//! Reporting the error ends the epoch: the stream starts a new one, and events recorded before keep the one they were recorded in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{Error, Result};

#[derive(Debug, Default)]
pub(super) struct Epoch {
    /// Fast answer for submissions; set after `first`.
    has_failed: AtomicBool,
    /// Whether anything was submitted that can fail: a host function, or a wait for a stream with one.
    may_fail: AtomicBool,
    first: Mutex<Option<(u64, Error)>>,
}

impl Epoch {
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    pub fn may_fail(&self) -> bool {
        self.may_fail.load(Ordering::Relaxed)
    }

    pub fn expect_failures(&self) {
        self.may_fail.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(u64, Error)>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Command `number` failed. An error of an earlier command stays.
    pub fn fail(&self, number: u64, error: Error) {
        let mut first = self.lock();
        if first.as_ref().is_none_or(|(earlier, _)| *earlier > number) {
            *first = Some((number, error));
        }
        self.has_failed.store(true, Ordering::Release);
    }

    /// The error that sticks.
    pub fn failure(&self) -> Option<Error> {
        self.failure_before(u64::MAX)
    }

    /// The error of a command before `number`.
    pub fn failure_before(&self, number: u64) -> Option<Error> {
        if !self.has_failed() {
            return None;
        }
        let first = self.lock();
        first
            .as_ref()
            .filter(|(failed, _)| *failed < number)
            .map(|(_, error)| error.clone())
    }

    /// The error that sticks, as a result.
    pub fn check(&self) -> Result<()> {
        self.failure().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str) -> Error {
        Error::Panicked {
            message: message.to_string(),
        }
    }

    #[test]
    fn the_earliest_command_gives_the_error() {
        let epoch = Epoch::default();
        assert_eq!(epoch.check(), Ok(()));
        epoch.fail(7, error("seventh"));
        epoch.fail(9, error("ninth"));
        assert_eq!(epoch.check(), Err(error("seventh")));
        epoch.fail(3, error("third"));
        assert_eq!(epoch.failure(), Some(error("third")));
    }

    #[test]
    fn what_came_before_the_failing_command_is_clean() {
        let epoch = Epoch::default();
        epoch.fail(7, error("seventh"));
        assert_eq!(epoch.failure_before(7), None);
        assert_eq!(epoch.failure_before(8), Some(error("seventh")));
    }
}
