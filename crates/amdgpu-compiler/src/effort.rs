//! The work that one compile may do: a counter that every phase adds to, with a limit that grows linearly with the source.
//!
//! A source can ask for far more than its length: nested templates, macros and structs double with each level, unrolling and inlining
//! multiply, and a graph of blocks can be made that an algorithm is quadratic in. Every loop whose length does not follow from the length
//! of the source counts its work here. Past the limit the compile ends with [`Error::TooMuchWork`], from wherever it is: the
//! compile's thread is unwound to its start, as rustc does for fatal errors, without a panic message.
//!
//! The counter belongs to the thread. A thread that did not call [`within`] has no limit (the device library, tests of single phases).

use std::cell::Cell;
use std::panic;

use crate::error::Error;

/// Units that every source may use, however short: about half a second. No kernel of `tests/kernels` uses a hundredth.
const BASE_UNITS: u64 = 12_000_000;
/// Units for each byte of the source. The kernels of `tests/kernels` use 5 in the median and 30 at most.
const UNITS_PER_BYTE: u64 = 100;
/// Units that no source gets more than: about 20 seconds.
const MAX_UNITS: u64 = 400_000_000;

/// LLVM code that every source may become, however short: twice that of the largest kernel of `tests/kernels`, which LLVM takes 2 seconds for.
const BASE_LLVM_BYTES: usize = 600_000;
/// LLVM code for each byte of the source. The kernels of `tests/kernels` have 113 at most.
const LLVM_BYTES_PER_BYTE: usize = 200;
/// What multiplies, for the message.
const ADVICE: &str = "look for macros, templates, nested structs, calls or unrolled loops that multiply, or cut it into several sources";

#[derive(Clone, Copy)]
struct Counter {
    left: u64,
    phase: &'static str,
}

thread_local! {
    static COUNTER: Cell<Counter> = const { Cell::new(Counter { left: u64::MAX, phase: "" }) };
}

/// What a thread is unwound with.
struct OutOfWork {
    phase: &'static str,
}

/// The units that a source of a length may use.
pub fn limit(source_bytes: usize) -> u64 {
    (source_bytes as u64)
        .saturating_mul(UNITS_PER_BYTE)
        .saturating_add(BASE_UNITS)
        .min(MAX_UNITS)
}

/// Counts work; one unit is about what one token or one instruction takes in one phase, 20 to 100 ns. Does not return where the limit is passed.
#[inline]
pub(crate) fn spend(units: usize) {
    COUNTER.with(|cell| {
        let mut counter = cell.get();
        match counter.left.checked_sub(units as u64) {
            Some(left) => counter.left = left,
            None => panic::resume_unwind(Box::new(OutOfWork {
                phase: counter.phase,
            })),
        }
        cell.set(counter);
    });
}

/// Names what the compiler does from here on, for the message.
pub(crate) fn phase(name: &'static str) {
    COUNTER.with(|cell| {
        cell.set(Counter {
            phase: name,
            ..cell.get()
        });
    });
}

/// Units used so far by what [`within`] runs.
pub(crate) fn used(limit: u64) -> u64 {
    limit - COUNTER.with(|cell| cell.get().left.min(limit))
}

/// Refuses code whose size is out of all proportion to the source: LLVM's time would be so, too.
pub(crate) fn check_llvm_bytes(
    name: &str,
    source_bytes: usize,
    llvm_bytes: usize,
) -> Result<(), Error> {
    let limit = source_bytes
        .saturating_mul(LLVM_BYTES_PER_BYTE)
        .saturating_add(BASE_LLVM_BYTES);
    if llvm_bytes <= limit {
        return Ok(());
    }
    Err(Error::TooMuchWork {
        message: format!(
            "{name}: this source of {source_bytes} bytes becomes {llvm_bytes} bytes of LLVM code, of which it may become {limit}: {ADVICE}"
        ),
    })
}

/// Runs a compile within its limit.
pub(crate) fn within<T>(
    name: &str,
    source_bytes: usize,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let limit = limit(source_bytes);
    COUNTER.with(|cell| {
        cell.set(Counter {
            left: limit,
            phase: "reading",
        });
    });
    let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
    COUNTER.with(|cell| {
        cell.set(Counter {
            left: u64::MAX,
            phase: "",
        });
    });
    result.unwrap_or_else(|payload| match payload.downcast::<OutOfWork>() {
        Ok(out) => Err(Error::TooMuchWork {
            message: format!(
                "{name}: {} this source takes more work than its {source_bytes} bytes may ask for ({limit} steps): {ADVICE}",
                out.phase
            ),
        }),
        Err(other) => panic::resume_unwind(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_past_the_limit_ends_with_a_sentence_and_the_next_compile_starts_anew() {
        for _ in 0..2 {
            let result = within("a.hip", 10, || {
                phase("inlining in");
                for _ in 0..u64::MAX {
                    spend(1000);
                }
                Ok(())
            });
            let message = result.expect_err("the limit").to_string();
            assert!(
                message.starts_with(
                    "a.hip: inlining in this source takes more work than its 10 bytes"
                ),
                "{message}"
            );
        }
        spend(usize::MAX);
    }

    #[test]
    fn limits_grow_with_the_source_and_end() {
        assert_eq!(limit(0), BASE_UNITS);
        assert_eq!(limit(1000) - limit(0), 1000 * UNITS_PER_BYTE);
        assert_eq!(limit(usize::MAX), MAX_UNITS);
    }
}
