//! Whether this thread traces a function: operations compute as always, and are noted besides.
//!
//! What a function does must follow from what it is given by operations alone. So its values are not to be looked at meanwhile, which
//! [`check_values_unseen`] refuses; operations themselves may, within [`inside`].

use std::cell::Cell;

use amdgpu_abi::ErrorCode;

use crate::{Error, Result};

thread_local! {
    /// 0: nothing is traced; 1: the function itself runs; more: an operation of it does.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether what this thread asks for next is to be noted.
#[inline]
#[must_use]
pub fn is_tracing() -> bool {
    DEPTH.get() == 1
}

/// Whether this thread traces a function, inside of its operations too.
#[inline]
#[must_use]
pub fn is_active() -> bool {
    DEPTH.get() > 0
}

/// Goes back by one level when it is dropped.
#[derive(Debug)]
pub struct Level(());

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Begins to trace, until the level is dropped.
///
/// # Errors
///
/// `not-capturable` where this thread traces already.
pub fn begin() -> Result<Level> {
    if DEPTH.get() > 0 {
        return Err(Error::refused(
            ErrorCode::NotCapturable,
            "this thread traces a function already",
        ));
    }
    DEPTH.set(1);
    Ok(Level(()))
}

/// Until the level is dropped, what is asked for belongs to an operation that is noted as a whole. Called while this thread traces.
#[must_use]
pub fn inside() -> Level {
    debug_assert!(DEPTH.get() > 0, "nothing is traced");
    DEPTH.set(DEPTH.get() + 1);
    Level(())
}

/// Refuses to show values that depend on the arguments of a function that is traced, which `are_traced` says, to the function.
///
/// # Errors
///
/// `not-capturable` while this thread traces one.
pub fn check_values_unseen(what: &str, are_traced: bool) -> Result<()> {
    if !is_tracing() || !are_traced {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::NotCapturable,
        format!(
            "{what} is not possible inside a function that is traced: its graph is made once for all values of a shape. Return the array \
             and look at it outside, or choose by `where`"
        ),
    ))
}
